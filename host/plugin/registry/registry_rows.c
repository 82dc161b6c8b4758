/*
 * registry_rows.c - the registry's components: a hash table by kind and id, a sorted list, and schemas compiled on
 * first use.
 *
 * A row is created from a manifest and lives as long as the registry, so a document may keep a pointer to it. A removed
 * row is not in the table. If the same component is added again, it gets its old row back, so adding and removing it
 * repeatedly uses no more memory.
 *
 * The table has one row for each kind and id. If several plugins claim one, they are rivals: one of their rows is in
 * the table, each of them has `rival` set to another, and none of them can be resolved. When all but one are removed,
 * the last one has no rival any more.
 */
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/plugin/registry/loader.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/preset.h"
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table ---- */

uint64_t row_hash(const char *kind, const char *id, size_t length) { /* FNV-1a */
    uint64_t hash = 14695981039346656037u;
    for (; *kind; kind++) hash = (hash ^ (unsigned char)*kind) * 1099511628211u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)id[i]) * 1099511628211u;
    return hash ^ hash >> 32;
}

static struct row **row_bucket(const struct registry *registry, const char *kind, const char *id, size_t length) {
    return &registry->buckets[row_hash(kind, id, length) & (registry->bucket_count - 1)];
}

/* The table must have no row of this kind and id. */
static void row_insert(struct registry *registry, struct row *row) {
    assert(!row->component.removed && !row_lookup(registry, row->info.kind, row->info.id, strlen(row->info.id)));
    struct row **bucket = row_bucket(registry, row->info.kind, row->info.id, strlen(row->info.id));
    row->next = *bucket;
    *bucket = row;
}

struct row *row_lookup(const struct registry *registry, const char *kind, const char *id, size_t length) {
    if (registry->bucket_count == 0) return NULL;
    struct row *row = *row_bucket(registry, kind, id, length);
    while (row &&
           !(strncmp(row->info.id, id, length) == 0 && !row->info.id[length] && strcmp(row->info.kind, kind) == 0))
        row = row->next;
    return row;
}

/* The table is const to the caller, who does not see that the row is new. */
struct row *row_find(const struct registry *registry, const char *kind, const char *id, size_t length) {
    struct row *row = row_lookup(registry, kind, id, length);
    if (row || registry->named_count == 0) return row;
    return named_take((struct registry *)(uintptr_t)registry, kind, id, length);
}

static struct row *row_new(struct plugin *plugin, const char *kind, const char *id) {
    struct row *row = mem_zalloc(sizeof *row);
    row->info = (struct component_info){.id = id,
                                        .kind = kind,
                                        .title = "",
                                        .documentation = "",
                                        .plugin_id = plugin->id,
                                        .plugin_version = plugin->version};
    row->component = (struct component){.info = &row->info, .plugin = plugin};
    return row;
}

/* Sets what is in the component of the manifest. Its kind and id are those of the row. */
static void row_describe(struct row *row, tn_value component) {
    tn_value reentrant = value_get(component, "reentrant");
    row->info.title = manifest_text(component, "title");
    row->info.documentation = manifest_text(component, "documentation");
    row->info.manifest = value_ref(component);
    row->info.effects = value_get(component, "effects");
    /* An isolated component blocks only its own process. */
    row->component.blocking =
        !plugin_isolated(row->component.plugin) && strcmp(manifest_text(component, "style"), "blocking") == 0;
    row->component.reentrant = value_is(reentrant, TN_BOOL) && value_to_bool(reentrant);
}

void row_realise(struct row *row) {
    if (!row->named_only) return;
    row->named_only = false;
    tn_value entry = manifest_entry_at(plugin_manifest(row->component.plugin), row->component_place);
    if (entry) {
        row_describe(row, entry);
        value_unref(entry);
        return;
    }
    tn_value names = value_set_take(value_object_reserve(3), "kind", value_text(row->info.kind));
    names = value_set_take(names, "id", value_text(row->info.id));
    row_describe(row, names);
    value_unref(names);
}

/* Restores the removed row of an equal component, or returns NULL. */
static struct row *row_reuse(struct plugin *plugin, tn_value component) {
    struct registry *registry = plugin->registry;
    for (size_t i = 0; registry->removed > 0 && i < registry->row_count; i++) {
        struct row *row = registry->rows[i];
        if (!row->component.removed || row->component.plugin != plugin) continue;
        row_realise(row);
        if (!value_equal(row->info.manifest, component)) continue;
        row->component.removed = false;
        registry->removed--;
        return row;
    }
    return NULL;
}

/* Allocates a larger table if there are more rows than buckets. `new_row`, if it is in `rows`, is not inserted yet. */
static void rows_grow_table(struct registry *registry, const struct row *new_row) {
    if (registry->row_count <= registry->bucket_count) return;
    mem_free((void *)registry->buckets);
    registry->bucket_count = registry->bucket_count ? registry->bucket_count * 4 : 64;
    registry->buckets = mem_zalloc(registry->bucket_count * sizeof *registry->buckets);
    for (size_t i = 0; i < registry->row_count; i++) {
        struct row *row = registry->rows[i];
        if (row == new_row || row->component.removed) continue;
        bool has_rival_in_table = row_lookup(registry, row->info.kind, row->info.id, strlen(row->info.id)) != NULL;
        if (!has_rival_in_table) row_insert(registry, row);
    }
}

/* Appends a new row to the list. NULL after REGISTRY_COMPONENTS_MAX. */
static struct row *rows_append(struct plugin *plugin, const char *kind, const char *id, struct error *error) {
    struct registry *registry = plugin->registry;
    if (registry->row_count + registry->named_count >= REGISTRY_COMPONENTS_MAX) {
        error_set(error, TN_LIMIT, "LIMIT", "%s: plugin `%s`: a host knows at most %u components", plugin->path,
                  plugin->id, REGISTRY_COMPONENTS_MAX);
        return NULL;
    }
    struct row *row = row_new(plugin, kind, id);
    MEM_EXTEND(registry->rows, registry->row_count);
    registry->rows[registry->row_count++] = row;
    registry->sorted = false;
    return row;
}

/* Adds the row to the table, beside a rival if there is one. */
static void rows_enter(struct registry *registry, struct row *row) {
    rows_grow_table(registry, row);
    struct row *there = row_find(registry, row->info.kind, row->info.id, strlen(row->info.id));
    if (there) { /* the caller decides whether a rival is allowed */
        there->rival = row;
        row->rival = there;
    } else {
        row_insert(registry, row);
    }
}

int32_t row_add(struct plugin *plugin, tn_value component, struct row **out, struct error *error) {
    struct row *row = row_reuse(plugin, component);
    if (!row) {
        row = rows_append(plugin, manifest_text(component, "kind"), manifest_text(component, "id"), error);
        if (!row) return TN_LIMIT;
        row_describe(row, component);
    }
    rows_enter(plugin->registry, row);
    registry_note_change(plugin->registry);
    if (out) *out = row;
    return TN_OK;
}

int32_t row_add_named(struct plugin *plugin, uint32_t place, struct row **out, struct error *error) {
    const struct cached_component *component = &plugin->cached->components[place];
    struct row *row = rows_append(plugin, component->kind, component->id, error);
    if (!row) return TN_LIMIT;
    row->named_only = true;
    row->component_place = place;
    rows_enter(plugin->registry, row);
    *out = row;
    return TN_OK;
}

/* After removing a row with rivals: inserts one of the rest, and links it with the others. */
static void rows_relink_rivals(struct registry *registry, const struct row *removed) {
    struct row *first = row_lookup(registry, removed->info.kind, removed->info.id, strlen(removed->info.id));
    if (first) first->rival = NULL;
    for (size_t i = 0; i < registry->row_count; i++) {
        struct row *row = registry->rows[i];
        if (row == first || row->component.removed || strcmp(row->info.id, removed->info.id) != 0 ||
            strcmp(row->info.kind, removed->info.kind) != 0)
            continue;
        row->rival = first;
        if (first)
            first->rival = row;
        else
            row_insert(registry, first = row);
    }
}

void row_remove(struct registry *registry, struct row *row) {
    if (row->component.removed) return;
    bool rivals = row->rival != NULL;
    row->component.removed = true;
    row->rival = NULL;
    registry->removed++;
    registry_note_change(registry);
    struct row **at = row_bucket(registry, row->info.kind, row->info.id, strlen(row->info.id));
    while (*at && *at != row) at = &(*at)->next;
    if (*at) { /* a row with rivals may not be in the table */
        *at = row->next;
        row->next = NULL;
    }
    if (rivals) rows_relink_rivals(registry, row);
}

void row_restore(struct registry *registry, struct row *row) {
    assert(row->component.removed && registry->removed > 0);
    row->component.removed = false;
    registry->removed--;
    registry_note_change(registry);
    row_insert(registry, row);
}

void rows_free(struct registry *registry) {
    for (size_t i = 0; i < registry->row_count; i++) {
        struct row *row = registry->rows[i];
        schema_unref(row->config);
        schema_unref(row->input);
        schema_unref(row->output);
        value_unref(row->info.manifest);
        error_finish(&row->broken);
        mem_free(row);
    }
    rows_free_configured(registry);
    mem_free((void *)registry->rows);
    mem_free((void *)registry->buckets);
    mem_free(registry->named);
    schema_unref(registry->nothing);
    schema_unref(registry->anything);
}

int32_t row_conflict(const struct row *row, const struct row *rival, struct error *error) {
    const struct plugin *a = row->component.plugin, *b = rival->component.plugin;
    return error_set(
        error, TN_INVALID, "PLUGIN_DUPLICATE",
        "two plugins claim the %s `%s`: %s %s (%s) and %s %s (%s); remove one of them from the search path",
        row->info.kind, row->info.id, a->id, a->version, a->path, b->id, b->version, b->path);
}

/* ---- Schemas ---- */

/* The registry's schema for rows without their own: {"type": "object", KEYWORD: value}, or {} without a keyword. */
static struct schema *shared_schema(struct schema **shared, const char *keyword, tn_value value) {
    if (!*shared) {
        tn_value document = value_object();
        if (keyword) {
            document = value_set_take(document, "type", value_text("object"));
            document = value_set_take(document, keyword, value);
        }
        (void)schema_compile(document, NULL, shared, NULL);
        value_unref(document);
    }
    return *shared ? schema_ref(*shared) : NULL;
}

/* Compiles one schema of the manifest. Returns NULL if it is absent, or does not compile: then `broken` is set. */
static struct schema *row_schema(struct row *row, const char *member) {
    tn_value document = value_get(row->info.manifest, member);
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    if (!document) return NULL;
    if (schema_compile(document, NULL, &schema, &error) != TN_OK)
        error_set(&row->broken, TN_INVALID, "MANIFEST_INVALID", "%s: %s: component `%s` (%s): `%s`: %s",
                  row->at_run_time ? row->component.plugin->id : row->component.plugin->path,
                  row->at_run_time ? "at run time" : "manifest", row->info.id, row->info.kind, member, error.message);
    error_finish(&error);
    return schema;
}

static struct schema *schema_ref_or_null(struct schema *schema) { return schema ? schema_ref(schema) : NULL; }

static void row_compile(struct row *row);

/* A preset has the schemas of its component, so that they are compiled once. */
static bool row_share_schemas(struct registry *registry, struct row *row) {
    struct row *component = row_component(registry, row);
    if (!component || component == row || component->component.plugin != row->component.plugin) return false;
    row_compile(component);
    row->config = schema_ref_or_null(component->config);
    row->input = schema_ref_or_null(component->input);
    row->output = schema_ref_or_null(component->output);
    return true;
}

/* A schema that does not compile accepts everything: resolving reports the plugin's mistake. */
static void row_compile(struct row *row) {
    struct registry *registry = row->component.plugin->registry;
    row_realise(row);
    if (row->compiled) return;
    row->compiled = true;
    if (row_share_schemas(registry, row)) {
        row->info.config = row->config;
        row->info.input = row->input;
        row->info.output = row->output;
        return;
    }
    row->config = row_schema(row, "config");
    row->input = row_schema(row, "input");
    row->output = row_schema(row, "output");
    if (!row->config)
        row->config = row->broken.code ? shared_schema(&registry->anything, NULL, NULL)
                                       : shared_schema(&registry->nothing, "additionalProperties", value_bool(false));
    row->info.config = row->config;
    row->info.input = row->input;
    row->info.output = row->output;
}

int32_t row_check(struct row *row, struct error *error) {
    row_compile(row);
    if (!row->broken.code) return TN_OK;
    error_copy(error, &row->broken);
    return TN_INVALID;
}

void row_forget_schemas(struct row *row) {
    schema_unref(row->config);
    schema_unref(row->input);
    schema_unref(row->output);
    row->config = row->input = row->output = NULL;
    row->info.config = row->info.input = row->info.output = NULL;
    row->compiled = false;
}

/* ---- The sorted list ---- */

static int compare_rows(const void *a, const void *b) {
    const struct row *left = *(const struct row *const *)a, *right = *(const struct row *const *)b;
    int order = strcmp(left->info.id, right->info.id);
    return order ? order : strcmp(left->info.kind, right->info.kind);
}

static void rows_sort(struct registry *registry) {
    named_take_all(registry);
    if (registry->sorted || registry->row_count == 0) return;
    qsort((void *)registry->rows, registry->row_count, sizeof *registry->rows, compare_rows);
    registry->sorted = true;
}

/* ---- Resolving ---- */

const struct component_info *registry_known(const struct registry *registry, const char *kind, const char *id) {
    /* The rows of tenon.yaml are made when they are searched: the registry is const to the caller, who does not see it.
     */
    struct row *row = row_find_named((struct registry *)(uintptr_t)registry, kind, id, strlen(id));
    if (row) row_realise(row);
    return row ? &row->info : NULL;
}

/* Appends the plugins that were refused although they might add the component at run time. */
static void describe_refused(const struct registry *registry, const char *kind, struct buffer *text) {
    for (size_t i = 0; i < registry->plugin_count; i++) {
        const struct plugin *plugin = registry->plugins[i];
        if (plugin->state != PLUGIN_REFUSED || plugin->replaced || !plugin_is_dynamic(plugin, kind)) continue;
        buffer_format(text, "; the plugin `%s`, which may have it, was refused: %s", plugin->id,
                      plugin->refusal.message);
    }
}

/* Appends the number of plugins that have problems, and the first reason. registry_altered names those of altered
 * packs.
 */
static void describe_problems(const struct registry *registry, struct buffer *text) {
    size_t count = registry->problems_dropped;
    const char *first = NULL;
    for (size_t i = 0; i < registry->problem_count; i++) {
        if (strcmp(registry->problems[i].code, "PACK_ALTERED") == 0) continue;
        if (!first) first = registry->problems[i].message;
        count++;
    }
    if (first)
        buffer_format(text, "; %zu plugin%s could not be used: %s", count, count == 1 ? "" : "s, the first", first);
}

/* The command that lists the components of a kind. */
static const char *list_command(const char *kind) {
    if (strcmp(kind, "model") == 0) return "tenon model list";
    return strcmp(kind, "tool") == 0 ? "tenon tool list" : "tenon plugin list";
}

static void nearest_add_row(void *user, struct row *row) {
    nearest_add_candidate(user, row->info.id, strlen(row->info.id));
}

static int32_t row_not_found(struct registry *registry, const char *kind, const char *id, struct error *error) {
    struct buffer text;
    struct nearest near;
    buffer_init(&text, ERROR_MESSAGE_MAX);
    nearest_init(&near, id, strlen(id));
    rows_sort(registry);
    size_t count = 0;
    for (size_t i = 0; i < registry->row_count; i++) {
        const struct row *row = registry->rows[i];
        if (row->component.removed || strcmp(row->info.kind, kind) != 0) continue;
        nearest_add_candidate(&near, row->info.id, strlen(row->info.id));
        count++;
    }
    if (strcmp(kind, "model") == 0) rows_each_configured(registry, nearest_add_row, &near);
    buffer_format(&text, "no plugin offers the %s `%.200s`", kind, id);
    if (nearest_result(&near))
        buffer_text(&text, nearest_hint(&near).text);
    else if (count == 0)
        buffer_format(&text, ": none offers any %s; `tenon plugin list` shows the search path", kind);
    else
        buffer_format(&text, "; `%s` lists what is available", list_command(kind));
    describe_refused(registry, kind, &text);
    buffer_text(&text, registry_altered(registry));
    describe_problems(registry, &text);
    error_set(error, TN_NOT_FOUND, strcmp(kind, "tool") == 0 ? "TOOL_NOT_FOUND" : "NOT_FOUND", "%s",
              buffer_cstr(&text));
    buffer_finish(&text);
    return TN_NOT_FOUND;
}

int32_t registry_resolve(struct registry *registry, const char *kind, const char *id, struct component **out,
                         struct error *error) {
    struct row *row = row_search(registry, kind, id, strlen(id), false);
    if (row) row = row_component(registry, row);
    if (!row) return row_not_found(registry, kind, id, error);
    if (row->rival) return row_conflict(row, row->rival, error);
    int32_t status = plugin_load(row->component.plugin, error);
    if (status != TN_OK) return status;
    /* The plugin's init may have added components and removed this one. */
    if (row->component.removed) return row_not_found(registry, kind, id, error);
    status = row_check(row, error);
    if (status != TN_OK) return status;
    row->component.vtable = row->component.plugin->components;
    row->component.self = row->component.plugin->plugin->self;
    *out = &row->component;
    return TN_OK;
}

/* ---- The catalog ---- */

static const struct component_info *catalog_find(void *self, const char *kind, const char *id, size_t length) {
    struct row *row = row_find_named(self, kind, id, length);
    if (!row) return NULL;
    row_compile(row);
    return &row->info;
}

const struct component_info *registry_find(void *registry, const char *kind, const char *id, size_t length) {
    struct row *row = row_search(registry, kind, id, length, true);
    if (!row) return NULL;
    row_compile(row);
    return &row->info;
}

struct row_list {
    struct row **rows;
    size_t count;
};

static void list_add_row(void *user, struct row *row) {
    struct row_list *list = user;
    MEM_EXTEND(list->rows, list->count);
    list->rows[list->count++] = row;
}

/* The next row of a plugin to visit, from `*at`; NULL after the last one. */
static struct row *rows_next(const struct registry *registry, const char *kind, size_t *at, const struct row *last) {
    for (; *at < registry->row_count; ++*at) {
        struct row *row = registry->rows[*at];
        if (row->component.removed || (kind && strcmp(kind, row->info.kind) != 0)) continue;
        if (last && compare_rows(&last, &registry->rows[*at]) == 0) continue; /* two plugins claim it: visit it once */
        if (!row_is_configured(registry, row->info.kind, row->info.id, strlen(row->info.id))) return row;
    }
    return NULL;
}

/* Visits all rows in order: those of plugins, and those of tenon.yaml, which hide others of their name. */
static void rows_visit(const struct registry *registry, const char *kind, const struct row_list *configured,
                       catalog_visit visit, void *user) {
    const struct row *last = NULL;
    size_t at = 0, next = 0;
    for (;;) {
        struct row *plain = rows_next(registry, kind, &at, last);
        struct row *own = next < configured->count ? configured->rows[next] : NULL;
        bool takes_own = own && (!plain || compare_rows(&own, &plain) < 0);
        struct row *row = takes_own ? own : plain;
        if (!row) return;
        if (takes_own)
            next++;
        else
            last = row;
        row_compile(row);
        if (!visit(user, &row->info)) return;
    }
}

static void catalog_each(void *self, const char *kind, catalog_visit visit, void *user) {
    struct registry *registry = self;
    struct row_list configured = {NULL, 0};
    rows_sort(registry);
    if (!kind || strcmp(kind, "model") == 0) rows_each_configured(registry, list_add_row, &configured);
    if (configured.count) qsort((void *)configured.rows, configured.count, sizeof *configured.rows, compare_rows);
    rows_visit(registry, kind, &configured, visit, user);
    mem_free((void *)configured.rows);
}

static const char *catalog_version(void *self, const char *plugin_id) {
    const struct plugin *plugin = registry_plugin(self, plugin_id);
    return plugin && !plugin->aside ? plugin->version : NULL;
}

struct catalog_plugin_visit {
    void (*visit)(void *user, const char *plugin_id);
    void *user;
};

static void catalog_visit_plugin(void *user, struct plugin *plugin) {
    struct catalog_plugin_visit *names = user;
    names->visit(names->user, plugin->id);
}

static void catalog_plugins(void *self, void (*visit)(void *user, const char *plugin_id), void *user) {
    registry_each_plugin(self, catalog_visit_plugin, &(struct catalog_plugin_visit){visit, user});
}

static const struct row *row_of(const struct component_info *component) {
    return (const struct row *)(const void *)((const char *)component - offsetof(struct row, info));
}

bool registry_offers(const struct component_info *component) {
    return row_of(component)->component.plugin->state != PLUGIN_QUIESCED;
}

static bool catalog_usable(void *self, const struct component_info *component, struct error *error) {
    (void)self;
    const struct row *row = row_of(component);
    const struct plugin *plugin = row->component.plugin;
    if (row->rival) return row_conflict(row, row->rival, error) == TN_OK;
    if (plugin->state == PLUGIN_KNOWN) return loader_preflight(plugin, error) == TN_OK;
    if (plugin->state == PLUGIN_QUIESCED) return plugin_refuse_state(plugin, error) == TN_OK;
    if (plugin->state == PLUGIN_REFUSED) error_copy(error, &plugin->refusal);
    return plugin->state != PLUGIN_REFUSED;
}

static const char *catalog_missing_text(void *self) { return registry_altered(self); }

static bool catalog_unloaded(void *self, const char *kind) { return registry_has_unloaded(self, kind); }

void registry_catalog(struct registry *registry, struct catalog *catalog) {
    catalog->self = registry;
    catalog->find = catalog_find;
    catalog->each = catalog_each;
    catalog->usable = catalog_usable;
    catalog->plugin_version = catalog_version;
    catalog->each_plugin = catalog_plugins;
    catalog->missing = catalog_missing_text;
    catalog->unloaded = catalog_unloaded;
}
