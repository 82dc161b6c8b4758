/*
 * preset.c - see preset.h: the entries of a manifest with presets, and the merge of configurations.
 */
#include "host/plugin/registry/preset.h"
#include "adl/value/memory.h"
#include "host/base/url.h"
#include "host/plugin/registry/manifest.h"
#include <string.h>

/* ---- Rows ---- */

tn_value preset_config(const struct component_info *info) {
    tn_value preset = value_get(info->manifest, "preset");
    if (!preset) preset = value_get(value_get(info->manifest, "presets"), info->id);
    tn_value config = value_get(preset, "config");
    return value_is(config, TN_OBJECT) ? config : NULL;
}

const char *preset_component(const struct component_info *info) {
    tn_value of = value_get(value_get(info->manifest, "preset"), "of");
    return value_is(of, TN_STRING) ? value_chars(of, NULL) : info->id;
}

/* ---- Merging ---- */

static bool is_secret_reference(tn_value value) {
    return value_is(value, TN_OBJECT) && value_count(value) == 1 && value_get(value, "secret");
}

static bool contains_secret(tn_value value) {
    bool object = value_is(value, TN_OBJECT);
    if (is_secret_reference(value)) return true;
    for (size_t i = 0; (object || value_is(value, TN_ARRAY)) && i < value_count(value); i++)
        if (contains_secret(object ? value_value_at(value, i) : value_at(value, i))) return true;
    return false;
}

/* False if one of them is missing or not a URL: then it is not known where requests go. */
static bool have_same_origin(tn_value a, tn_value b) {
    struct url first = {0}, second = {0};
    size_t first_length = 0, second_length = 0;
    if (!value_is(a, TN_STRING) || !value_is(b, TN_STRING)) return false;
    const char *first_text = value_chars(a, &first_length), *second_text = value_chars(b, &second_length);
    bool same = !url_read(&first, first_text, first_length, NULL) &&
                !url_read(&second, second_text, second_length, NULL) && url_same_origin(&first, &second);
    url_finish(&first);
    url_finish(&second);
    return same;
}

/* A key in plain text is a secret, too; so is each header, because `authorization` is one. */
static bool is_credential(const char *name, tn_value value) {
    return strcmp(name, "api_key") == 0 || strcmp(name, "headers") == 0 || contains_secret(value);
}

static tn_value merge_members(tn_value under, tn_value over) {
    tn_value both = value_ref(under);
    for (size_t i = 0; i < value_count(over); i++) {
        tn_value key = value_key_at(over, i), value = value_value_at(over, i), there = value_get_key(both, key);
        bool inside = value_is(there, TN_OBJECT) && value_is(value, TN_OBJECT) && !is_secret_reference(there) &&
                      !is_secret_reference(value);
        tn_value merged = inside ? merge_members(there, value) : value_ref(value);
        both = value_set_key_take(both, value_ref(key), merged);
    }
    return both;
}

tn_value preset_merge(tn_value under, tn_value over) {
    if (!under) return over ? value_ref(over) : value_object();
    if (!over) return value_ref(under);
    tn_value moved = value_get(over, "base_url"), kept = value_ref(under);
    if (moved && !have_same_origin(value_get(under, "base_url"), moved))
        for (size_t i = 0; i < value_count(under); i++) {
            tn_value key = value_key_at(under, i);
            if (is_credential(value_chars(key, NULL), value_value_at(under, i)))
                kept = value_remove_take(kept, value_ref(key));
        }
    tn_value both = merge_members(kept, over);
    value_unref(kept);
    return both;
}

/* ---- Entries of a manifest ---- */

static tn_value presets_of(tn_value component) {
    tn_value presets = strcmp(manifest_text(component, "kind"), "model") == 0 ? value_get(component, "presets") : NULL;
    return value_is(presets, TN_OBJECT) ? presets : NULL;
}

static size_t preset_count(tn_value component) {
    tn_value presets = presets_of(component);
    size_t count = presets ? value_count(presets) : 0;
    return count && value_get(presets, manifest_text(component, "id")) ? count - 1 : count;
}

size_t manifest_entry_count(tn_value manifest) {
    tn_value components = manifest_components(manifest);
    size_t count = value_count(components), total = count;
    for (size_t i = 0; i < count; i++) total += preset_count(value_at(components, i));
    return total;
}

/* Returns the component of an entry; *name is that of its preset, or NULL if the entry is the component itself. */
static tn_value manifest_find_entry(tn_value manifest, size_t index, tn_value *name) {
    tn_value components = manifest_components(manifest);
    size_t count = value_count(components);
    *name = NULL;
    if (index < count) return value_at(components, index);
    index -= count;
    for (size_t i = 0; i < count; i++) {
        tn_value component = value_at(components, i), presets = presets_of(component);
        size_t here = preset_count(component);
        for (size_t j = 0; index < here && j < value_count(presets); j++) {
            tn_value key = value_key_at(presets, j);
            if (value_text_is(key, manifest_text(component, "id"))) continue;
            if (index-- > 0) continue;
            *name = key;
            return component;
        }
        index -= here;
    }
    return NULL;
}

void manifest_entry_names(tn_value manifest, size_t index, const char **kind, const char **id) {
    tn_value name, component = manifest_find_entry(manifest, index, &name);
    *kind = manifest_text(component, "kind");
    *id = name ? value_chars(name, NULL) : manifest_text(component, "id");
}

tn_value preset_entry(tn_value component, tn_value name, tn_value preset, tn_value config) {
    tn_value of = value_get(value_get(component, "preset"), "of"), entry = value_ref(component);
    tn_value title = value_get(preset, "title"), documentation = value_get(preset, "documentation");
    tn_value row = value_set_take(value_object_reserve(2), "of", value_ref(of ? of : value_get(component, "id")));
    row = value_set_take(row, "config", value_ref(config));
    entry = value_remove_take(entry, value_text("presets"));
    entry = value_remove_take(entry, value_text("examples"));
    entry = value_remove_take(entry, value_text("documentation"));
    entry = value_set_take(entry, "id", value_ref(name));
    if (title) entry = value_set_take(entry, "title", value_ref(title));
    if (documentation) entry = value_set_take(entry, "documentation", value_ref(documentation));
    return value_set_take(entry, "preset", row);
}

tn_value manifest_entry_at(tn_value manifest, size_t index) {
    tn_value name, component = manifest_find_entry(manifest, index, &name);
    if (!component) return NULL;
    if (!name) return value_ref(component);
    tn_value preset = value_get_key(presets_of(component), name);
    return preset_entry(component, name, preset, value_get(preset, "config"));
}

/* ---- Checking ---- */

static bool is_preset_name(tn_value name) {
    size_t length = 0;
    const char *text = value_chars(name, &length);
    bool letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
    return letter && length <= MANIFEST_ID_MAX && strlen(text) == length &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

int32_t preset_check(const char *place, tn_value component, struct error *error) {
    tn_value presets = value_get(component, "presets");
    const char *id = manifest_text(component, "id");
    if (!presets) return TN_OK;
    if (!value_is(presets, TN_OBJECT) || value_count(presets) > PRESETS_MAX ||
        strcmp(manifest_text(component, "kind"), "model") != 0)
        return error_set(
            error, TN_INVALID, "MANIFEST_INVALID",
            "%s: component `%.200s`: `presets`: expected a mapping of at most %u names to {config: {…}}, in "
            "a component of the kind `model`",
            place, id, PRESETS_MAX);
    for (size_t i = 0; i < value_count(presets); i++) {
        tn_value name = value_key_at(presets, i), preset = value_value_at(presets, i);
        tn_value title = value_get(preset, "title"), text = value_get(preset, "documentation");
        bool good = is_preset_name(name) && value_is(value_get(preset, "config"), TN_OBJECT) &&
                    (!title || (value_is(title, TN_STRING) && *value_chars(title, NULL))) &&
                    (!text || value_is(text, TN_STRING));
        if (!good)
            return error_set(
                error, TN_INVALID, "MANIFEST_INVALID",
                "%s: component `%.200s`: the preset `%.100s`: expected a name of letters, digits, '.', '_' "
                "and '-', and {config: {…}} with an optional title and documentation",
                place, id, value_chars(name, NULL));
    }
    return TN_OK;
}
