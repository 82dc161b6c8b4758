/*
 * registry_preset.c - rows of presets: the component that a row stands for, and the rows of `providers` in tenon.yaml.
 *
 * A row of tenon.yaml hides a component or a preset of the same name, which it may itself be based on. It is made when
 * it is searched for the first time, is in no table, and lives as long as the registry. If its base is replaced, for
 * example by another build of the plugin, it is made again; the old row stays for those who have it.
 */
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/preset.h"
#include <string.h>
#include <tenon/util/tool_pattern.h>

static tn_value configured_providers(const struct registry *registry) {
    return registry->options.providers ? registry->options.providers(registry->options.user) : NULL;
}

/* The members of a row but `provider`; a new reference. */
static tn_value provider_config(tn_value row) { return value_remove_take(value_ref(row), value_text("provider")); }

static struct row *row_resolve_name(struct registry *registry, const char *id, size_t length, uint32_t depth);

/* The row that `id` is based on. NULL if there is none, or the chain does not end. */
static struct row *configured_base(struct registry *registry, tn_value configured, const char *id, size_t length,
                                   uint32_t depth) {
    size_t base_length = 0;
    tn_value provider = value_get(configured, "provider");
    const char *base = value_is(provider, TN_STRING) ? value_chars(provider, &base_length) : "";
    bool own = base_length == length && memcmp(base, id, length) == 0; /* it changes a row of a plugin */
    if (depth >= PRESET_CHAIN_MAX) return NULL;
    return own ? row_find(registry, "model", id, length) : row_resolve_name(registry, base, base_length, depth + 1);
}

static struct row *configured_row_new(struct registry *registry, tn_value configured, tn_value name, struct row *base) {
    struct row *row = mem_zalloc(sizeof *row);
    tn_value own = provider_config(configured), config = preset_merge(preset_config(&base->info), own);
    tn_value title = value_format("`%.100s` with the configuration of tenon.yaml", base->info.id);
    tn_value preset = value_set_take(value_object_reserve(1), "title", title);
    tn_value manifest = preset_entry(base->info.manifest, name, preset, config);
    row->info = base->info;
    row->info.manifest = manifest;
    row->info.id = manifest_text(manifest, "id");
    row->info.title = manifest_text(manifest, "title");
    row->info.documentation = "";
    row->info.effects = value_get(manifest, "effects");
    row->component = base->component;
    row->component.info = &row->info;
    row->rival = base->rival;
    row->base = base;
    MEM_EXTEND(registry->configured, registry->configured_count);
    registry->configured[registry->configured_count++] = row;
    value_unref(preset);
    value_unref(config);
    value_unref(own);
    return row;
}

/* The row of `providers` in tenon.yaml with this name; NULL if there is none, or it has no base. */
static struct row *configured_row(struct registry *registry, const char *id, size_t length, uint32_t depth) {
    tn_value configured = value_get_n(configured_providers(registry), id, length);
    struct row *base = configured ? configured_base(registry, configured, id, length, depth) : NULL;
    if (!base) return NULL;
    row_realise(base);
    for (size_t i = registry->configured_count; i > 0; i--) {
        struct row *row = registry->configured[i - 1];
        if (row->base == base && strncmp(row->info.id, id, length) == 0 && !row->info.id[length]) return row;
    }
    tn_value name = value_string(id, length);
    struct row *row = configured_row_new(registry, configured, name, base);
    value_unref(name);
    return row;
}

static struct row *row_resolve_name(struct registry *registry, const char *id, size_t length, uint32_t depth) {
    if (value_get_n(configured_providers(registry), id, length)) return configured_row(registry, id, length, depth);
    return row_find(registry, "model", id, length);
}

bool row_is_configured(const struct registry *registry, const char *kind, const char *id, size_t length) {
    return strcmp(kind, "model") == 0 && value_get_n(configured_providers(registry), id, length);
}

/* A tool is also found by its original name, such as an operationId. */
static struct row *row_find_original(const struct registry *registry, const char *name, size_t length) {
    struct row *row = NULL;
    char id[TN_TOOL_PATTERN_MAX];
    for (uint32_t form = 0; !row && form < TN_TOOL_ID_FORMS; form++) {
        size_t size = tn_tool_id(name, length, form, id, sizeof id);
        if (size) row = row_find(registry, "tool", id, size);
    }
    return row;
}

struct row *row_find_named(struct registry *registry, const char *kind, const char *id, size_t length) {
    if (strcmp(kind, "model") == 0) return row_resolve_name(registry, id, length, 0);
    struct row *row = row_find(registry, kind, id, length);
    return row || strcmp(kind, "tool") != 0 ? row : row_find_original(registry, id, length);
}

struct row *row_component(struct registry *registry, struct row *row) {
    row_realise(row);
    const char *id = preset_component(&row->info);
    if (strcmp(id, row->info.id) == 0 && !row->base) return row;
    return row_find(registry, "model", id, strlen(id));
}

void rows_each_configured(struct registry *registry, void (*visit)(void *user, struct row *row), void *user) {
    tn_value providers = configured_providers(registry);
    for (size_t i = 0; i < value_count(providers); i++) {
        size_t length;
        const char *id = value_chars(value_key_at(providers, i), &length);
        struct row *row = configured_row(registry, id, length, 0);
        if (row) visit(user, row);
    }
}

void rows_free_configured(struct registry *registry) {
    for (size_t i = 0; i < registry->configured_count; i++) {
        struct row *row = registry->configured[i];
        schema_unref(row->config);
        schema_unref(row->input);
        schema_unref(row->output);
        value_unref(row->info.manifest);
        mem_free(row);
    }
    mem_free((void *)registry->configured);
}
