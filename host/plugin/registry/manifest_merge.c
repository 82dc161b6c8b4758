/*
 * manifest_merge.c - merges notes into one manifest.
 *
 * The linker decides the order of notes, so merging is commutative. Two notes that contradict each other are an error,
 * which shows both. Notes that name a component only by its id are merged last, when every kind is known.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/registry/manifest.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

struct manifest_merging {
    const char *file;
    tn_value plugin; /* NULL until a note has one */
    tn_value others; /* unknown members of notes, for manifest_validate */
    tn_value *components;
    size_t count, capacity;
    tn_value index;   /* "kind id" -> place in components */
    tn_value pending; /* components whose notes omit the kind */
    struct error *error;
    int32_t failed; /* the status if merge_values returned NULL */
};

static int32_t merge_fail(const struct manifest_merging *merge, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int32_t merge_fail(const struct manifest_merging *merge, const char *format, ...) {
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(merge->error, TN_INVALID, "MANIFEST_INVALID", "%s: manifest: %s", merge->file, text);
}

/* ---- Values ---- */

static tn_value merge_sets(struct manifest_merging *merge, const char *member, tn_value a, tn_value b) {
    if (value_count(a) + value_count(b) > MANIFEST_SET_MAX) {
        merge->failed = error_set(merge->error, TN_LIMIT, "LIMIT",
                                  "%s: manifest: `%s`: the notes together have more than %u members", merge->file,
                                  member, MANIFEST_SET_MAX);
        return NULL;
    }
    tn_value all = value_ref(a);
    for (size_t i = 0; i < value_count(b); i++) {
        bool there = false;
        for (size_t j = 0; !there && j < value_count(a); j++) there = value_equal(value_at(a, j), value_at(b, i));
        if (!there) all = value_push_take(all, value_ref(value_at(b, i)));
    }
    return all;
}

static void print_short(tn_value value, char out[64]) {
    char *text = json_text(value, JSON_COMPACT);
    snprintf(out, 64, "%.56s%s", text, strlen(text) > 56 ? "…" : "");
    mem_free(text);
}

/* Merges `b` into `a`. Returns a new reference, or NULL with the error set if they differ. `sets`: merge lists as sets.
 */
static tn_value merge_values(struct manifest_merging *merge, const char *where, const char *member, tn_value a,
                             tn_value b, bool sets) {
    if (value_is(a, TN_OBJECT) && value_is(b, TN_OBJECT)) {
        tn_value all = value_ref(a);
        for (size_t i = 0; i < value_count(b); i++) {
            tn_value key = value_key_at(b, i), theirs = value_value_at(b, i), ours = value_get_key(a, key);
            tn_value both =
                ours ? merge_values(merge, where, value_chars(key, NULL), ours, theirs, sets) : value_ref(theirs);
            if (!both) {
                value_unref(all);
                return NULL;
            }
            all = value_set_key_take(all, value_ref(key), both);
        }
        return all;
    }
    static const char *const set_members[] = {"requires", "optional", "provides", "dynamic", "dynamic_from", "effects"};
    for (size_t i = 0; sets && i < sizeof set_members / sizeof *set_members; i++)
        if (strcmp(member, set_members[i]) == 0 && value_is(a, TN_ARRAY) && value_is(b, TN_ARRAY))
            return merge_sets(merge, member, a, b);
    if (value_equal(a, b)) return value_ref(a);
    char left[64], right[64];
    print_short(a, left);
    print_short(b, right);
    merge->failed =
        merge_fail(merge, "%s: `%.100s` is %s in one note and %s in another; say it once", where, member, left, right);
    return NULL;
}

static int32_t merge_into(struct manifest_merging *merge, const char *where, tn_value *into, tn_value more, bool sets) {
    tn_value both = *into ? merge_values(merge, where, where, *into, more, sets) : value_ref(more);
    if (!both) return merge->failed;
    value_unref(*into);
    *into = both;
    return TN_OK;
}

/* ---- Components ---- */

static int32_t merge_at(struct manifest_merging *merge, size_t place, tn_value component) {
    assert(place < merge->count);
    tn_value where = value_format("component `%s`", manifest_text(component, "id"));
    int32_t status = merge_into(merge, value_chars(where, NULL), &merge->components[place], component, false);
    value_unref(where);
    return status;
}

static int32_t merge_component(struct manifest_merging *merge, tn_value component) {
    tn_value id = value_get(component, "id"), kind = value_get(component, "kind");
    if (!value_is(component, TN_OBJECT))
        return merge_fail(merge, "a component: found %s, expected an object", value_kind_name(value_kind(component)));
    if (!value_is(id, TN_STRING))
        return merge_fail(merge, "a component without an id: `id` is missing or not a string");
    if (!kind) {
        merge->pending = value_push_take(merge->pending, value_ref(component));
        return TN_OK;
    }
    if (!value_is(kind, TN_STRING))
        return merge_fail(merge, "component `%.200s`: `kind`: found %s, expected a string", value_chars(id, NULL),
                          value_kind_name(value_kind(kind)));
    tn_value key = value_format("%s %s", value_chars(kind, NULL), value_chars(id, NULL));
    tn_value place = value_get_key(merge->index, key);
    int32_t status = TN_OK;
    if (place) {
        status = merge_at(merge, (size_t)value_to_int(place), component);
    } else if (merge->count == MANIFEST_COMPONENTS_MAX) {
        status = error_set(merge->error, TN_LIMIT, "LIMIT", "%s: manifest: found more than %u components", merge->file,
                           MANIFEST_COMPONENTS_MAX);
    } else {
        MEM_GROW(merge->components, merge->count, merge->capacity);
        merge->index = value_set_key_take(merge->index, value_ref(key), value_int((int64_t)merge->count));
        merge->components[merge->count++] = value_ref(component);
    }
    value_unref(key);
    return status;
}

/* Merges the notes that omit the kind: each must match exactly one component. */
static int32_t merge_pending(struct manifest_merging *merge) {
    for (size_t i = 0; i < value_count(merge->pending); i++) {
        tn_value component = value_at(merge->pending, i);
        const char *id = manifest_text(component, "id");
        size_t found = 0, place = 0;
        for (size_t j = 0; j < merge->count; j++)
            if (value_text_is(value_get(merge->components[j], "id"), id)) found++, place = j;
        if (found != 1)
            return merge_fail(merge, "component `%.200s`: a note omits its `kind`, and %s has that id", id,
                              found ? "more than one component" : "no other note");
        int32_t status = merge_at(merge, place, component);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

/* ---- Notes ---- */

static int32_t merge_note(struct manifest_merging *merge, tn_value note) {
    if (!value_is(note, TN_OBJECT))
        return merge_fail(merge, "a note: found %s, expected an object", value_kind_name(value_kind(note)));
    int32_t status = TN_OK;
    size_t known = 0;
    for (size_t i = 0; status == TN_OK && i < value_count(note); i++) {
        tn_value key = value_key_at(note, i), value = value_value_at(note, i);
        if (value_text_is(key, "plugin")) {
            known++;
            if (!value_is(value, TN_OBJECT))
                return merge_fail(merge, "`plugin`: found %s, expected an object", value_kind_name(value_kind(value)));
            status = merge_into(merge, "plugin", &merge->plugin, value, true);
        } else if (value_text_is(key, "component")) {
            known++;
            status = merge_component(merge, value);
        } else if (value_text_is(key, "components")) {
            known++;
            if (!value_is(value, TN_ARRAY))
                return merge_fail(merge, "`components`: found %s, expected a list", value_kind_name(value_kind(value)));
            for (size_t j = 0; status == TN_OK && j < value_count(value); j++)
                status = merge_component(merge, value_at(value, j));
        } else if (!value_text_is(key, "$schema")) {
            merge->others = value_set_key_take(merge->others, value_ref(key), value_ref(value));
        }
    }
    if (status == TN_OK && known == 0)
        return merge_fail(merge, "a note lacks `plugin`, `component` and `components`; it needs one of them");
    return status;
}

int32_t manifest_merge(const char *file, const struct manifest_note *notes, size_t count, tn_value *out,
                       struct error *error) {
    struct manifest_merging merge = {
        .file = file, .others = value_object(), .index = value_object(), .pending = value_array(), .error = error};
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        struct json_limits limits = {.depth = MANIFEST_DEPTH_MAX,
                                     .length = count > 1 ? MANIFEST_NOTE_MAX : MANIFEST_SIDECAR_MAX};
        struct error inner = ERROR_INIT;
        tn_value note = NULL;
        status = json_read(notes[i].text, notes[i].length, &limits, &note, &inner);
        if (status == TN_LIMIT)
            error_set(error, status, "LIMIT", "%s: manifest: note %zu: %s", file, i + 1, inner.message);
        else if (status != TN_OK)
            status = merge_fail(&merge, "note %zu is not valid JSON: %s", i + 1, inner.message);
        error_finish(&inner);
        if (status == TN_OK) status = merge_note(&merge, note);
        value_unref(note);
    }
    if (status == TN_OK) status = merge_pending(&merge);
    if (status == TN_OK) {
        tn_value components = value_array_reserve(merge.count);
        for (size_t i = 0; i < merge.count; i++)
            components = value_push_take(components, value_ref(merge.components[i]));
        tn_value manifest = merge.others;
        merge.others = NULL;
        if (merge.plugin) manifest = value_set_take(manifest, "plugin", value_ref(merge.plugin));
        manifest = value_set_take(manifest, "components", components);
        status = manifest_check(file, manifest, error);
        if (status == TN_OK)
            *out = manifest;
        else
            value_unref(manifest);
    }
    for (size_t i = 0; i < merge.count; i++) value_unref(merge.components[i]);
    mem_free((void *)merge.components);
    value_unref(merge.plugin);
    value_unref(merge.others);
    value_unref(merge.index);
    value_unref(merge.pending);
    return status;
}
