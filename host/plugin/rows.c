/*
 * rows.c - the registry's components: a hash table by kind and id, sorted lists, schemas compiled when first needed.
 *
 * A row is made from a manifest and stays until the registry goes, so that a document may keep what it found. A row
 * that was removed is out of the table; the same component coming back gets its old row again, so that one that comes
 * and goes for ever costs nothing.
 */
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/log.h"
#include "host/plugin/loader.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin_internal.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table ---- */

static uint64_t hash_of(const char *kind, const char *id, size_t length) { /* FNV-1a */
    uint64_t hash = 14695981039346656037u;
    for (; *kind; kind++) hash = (hash ^ (unsigned char)*kind) * 1099511628211u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)id[i]) * 1099511628211u;
    return hash ^ hash >> 32;
}

static struct row **bucket_of(const struct registry *registry, const char *kind, const char *id, size_t length) {
    return &registry->buckets[hash_of(kind, id, length) & (registry->bucket_count - 1)];
}

static void table_insert(struct registry *registry, struct row *row) {
    struct row **bucket = bucket_of(registry, row->info.kind, row->info.id, strlen(row->info.id));
    row->next = *bucket;
    *bucket = row;
}

struct row *row_find(const struct registry *registry, const char *kind, const char *id, size_t length) {
    if (registry->bucket_count == 0) return NULL;
    struct row *row = *bucket_of(registry, kind, id, length);
    while (row &&
           !(strncmp(row->info.id, id, length) == 0 && !row->info.id[length] && strcmp(row->info.kind, kind) == 0))
        row = row->next;
    return row;
}

/* A removed row of this very component. */
static struct row *row_resurrect(struct plugin *plugin, tn_value component) {
    struct registry *registry = plugin->registry;
    for (size_t i = 0; registry->removed > 0 && i < registry->row_count; i++) {
        struct row *row = registry->rows[i];
        if (!row->component.removed || row->component.plugin != plugin) continue;
        if (!value_equal(row->info.manifest, component)) continue;
        row->component.removed = false;
        registry->removed--;
        return row;
    }
    return NULL;
}

static struct row *row_new(struct plugin *plugin, tn_value component) {
    struct row *row = mem_zalloc(sizeof *row);
    tn_value reentrant = value_get(component, "reentrant");
    row->info = (struct component_info){.id = manifest_text(component, "id"),
                                        .kind = manifest_text(component, "kind"),
                                        .title = manifest_text(component, "title"),
                                        .documentation = manifest_text(component, "documentation"),
                                        .plugin_id = plugin->id,
                                        .plugin_version = plugin->version,
                                        .manifest = value_ref(component),
                                        .effects = value_get(component, "effects")};
    row->component =
        (struct component){.info = &row->info,
                           .plugin = plugin,
                           /* In a process of its own it blocks that one. */
                           .blocking = !plugin->isolated && strcmp(manifest_text(component, "style"), "blocking") == 0,
                           .reentrant = value_is(reentrant, TN_BOOL) && value_to_bool(reentrant)};
    return row;
}

int32_t row_add(struct plugin *plugin, tn_value component, struct row **out, struct error *error) {
    struct registry *registry = plugin->registry;
    struct row *row = row_resurrect(plugin, component);
    if (!row) {
        if (registry->row_count == REGISTRY_COMPONENTS_MAX)
            return error_set(error, TN_LIMIT, "LIMIT", "%s: plugin `%s`: a host knows at most %u components",
                             plugin->path, plugin->id, REGISTRY_COMPONENTS_MAX);
        row = row_new(plugin, component);
        if ((registry->row_count & (registry->row_count - 1)) == 0)
            registry->rows = mem_array((void *)registry->rows, registry->row_count ? registry->row_count * 2 : 1,
                                       sizeof *registry->rows);
        registry->rows[registry->row_count++] = row;
        registry->sorted = false;
    }
    if (registry->row_count > registry->bucket_count) {
        mem_free((void *)registry->buckets);
        registry->bucket_count = registry->bucket_count ? registry->bucket_count * 4 : 64;
        registry->buckets = mem_zalloc(registry->bucket_count * sizeof *registry->buckets);
        for (size_t i = 0; i < registry->row_count; i++) {
            struct row *other = registry->rows[i];
            struct row *first = row_find(registry, other->info.kind, other->info.id, strlen(other->info.id));
            if (other != row && !other->component.removed && !first) table_insert(registry, other);
        }
    }
    struct row *there = row_find(registry, row->info.kind, row->info.id, strlen(row->info.id));
    if (there) { /* the caller decides whether that is allowed */
        there->rival = row;
        row->rival = there;
    } else {
        table_insert(registry, row);
    }
    registry->generation++;
    if (out) *out = row;
    return TN_OK;
}

/* After a row that had rivals is gone: the table gets one of those that are left, and rivals know each other. */
static void settle_rivals(struct registry *registry, const struct row *gone) {
    struct row *first = row_find(registry, gone->info.kind, gone->info.id, strlen(gone->info.id));
    if (first) first->rival = NULL;
    for (size_t i = 0; i < registry->row_count; i++) {
        struct row *row = registry->rows[i];
        if (row == first || row->component.removed || strcmp(row->info.id, gone->info.id) != 0 ||
            strcmp(row->info.kind, gone->info.kind) != 0)
            continue;
        row->rival = first;
        if (first)
            first->rival = row;
        else
            table_insert(registry, first = row);
    }
}

void row_remove(struct registry *registry, struct row *row) {
    if (row->component.removed) return;
    bool rivals = row->rival != NULL;
    row->component.removed = true;
    row->rival = NULL;
    registry->removed++;
    registry->generation++;
    for (struct row **at = bucket_of(registry, row->info.kind, row->info.id, strlen(row->info.id)); *at;
         at = &(*at)->next) {
        if (*at != row) continue;
        *at = row->next;
        row->next = NULL;
        break;
    }
    if (rivals) settle_rivals(registry, row);
}

void row_restore(struct registry *registry, struct row *row) {
    row->component.removed = false;
    registry->removed--;
    registry->generation++;
    table_insert(registry, row);
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
    mem_free((void *)registry->rows);
    mem_free((void *)registry->buckets);
    schema_unref(registry->nothing);
    schema_unref(registry->anything);
}

int32_t row_conflict(const struct row *row, const struct row *rival, struct error *error) {
    const struct plugin *a = row->component.plugin, *b = rival->component.plugin;
    return error_set(
        error, TN_INVALID, "PLUGIN_DUPLICATE",
        "two plugins claim the %s `%s`: %s %s (%s) and %s %s (%s); take one of them out of the search path",
        row->info.kind, row->info.id, a->id, a->version, a->path, b->id, b->version, b->path);
}

/* ---- Schemas ---- */

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

static struct schema *row_schema(struct row *row, const char *member) {
    tn_value document = value_get(row->info.manifest, member);
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    if (!document) return NULL;
    if (schema_compile(document, NULL, &schema, &error) != TN_OK)
        error_set(&row->broken, TN_INVALID, "MANIFEST_INVALID", "%s: manifest: component `%s` (%s): `%s`: %s",
                  row->component.plugin->path, row->info.id, row->info.kind, member, error.message);
    error_finish(&error);
    return schema;
}

/* A schema that does not compile allows everything: what is at fault is the plugin, and resolving says so. */
static void row_compile(struct row *row) {
    struct registry *registry = row->component.plugin->registry;
    if (row->compiled) return;
    row->compiled = true;
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

/* ---- Finding ---- */

static int compare_rows(const void *a, const void *b) {
    const struct row *left = *(const struct row *const *)a, *right = *(const struct row *const *)b;
    int order = strcmp(left->info.id, right->info.id);
    return order ? order : strcmp(left->info.kind, right->info.kind);
}

static void sort_rows(struct registry *registry) {
    if (registry->sorted || registry->row_count == 0) return;
    qsort((void *)registry->rows, registry->row_count, sizeof *registry->rows, compare_rows);
    registry->sorted = true;
}

/* ---- Components that only running code knows ---- */

static bool is_dynamic(const struct plugin *plugin, const char *kind) {
    tn_value dynamic = value_get(manifest_plugin(plugin->manifest), "dynamic");
    for (size_t i = 0; i < value_count(dynamic); i++)
        if (value_text_is(value_at(dynamic, i), kind)) return true;
    return false;
}

/* What it has said is about components of this kind, or it is taking leave. */
static bool is_expecting(const struct plugin *plugin, const char *kind) {
    bool there = plugin->state == PLUGIN_LOADED || plugin->state == PLUGIN_QUIESCED;
    return plugin->expecting && there && !plugin->replaced && (!kind || is_dynamic(plugin, kind));
}

bool registry_expecting(const struct registry *registry, const char *kind) {
    for (size_t i = 0; i < registry->plugin_count; i++)
        if (is_expecting(registry->plugins[i], kind)) return true;
    return false;
}

/* What somebody waits for. */
struct awaited {
    const struct registry *registry;
    const char *kind; /* NULL: of any */
    const char *id;   /* NULL: all that there will be */
    size_t length;
};

static bool has_come(void *of) {
    const struct awaited *awaited = of;
    if (awaited->id && row_find(awaited->registry, awaited->kind, awaited->id, awaited->length)) return true;
    return !registry_expecting(awaited->registry, awaited->kind);
}

static void await(const struct registry *registry, struct awaited awaited) {
    if (!registry->options.wait || has_come(&awaited)) return;
    if (registry->options.wait(registry->options.user, has_come, &awaited)) return;
    for (size_t i = 0; i < registry->plugin_count; i++)
        if (is_expecting(registry->plugins[i], awaited.kind))
            log_write(LOG_WARN, registry->plugins[i]->id,
                      "it says that it will add components, and has not done so within %d s",
                      REGISTRY_EXPECT_MS / 1000);
}

void registry_take_leave(struct registry *registry) {
    for (size_t i = 0; i < registry->plugin_count; i++)
        if (registry->plugins[i]->expects) plugin_quiesce(registry->plugins[i]);
    await(registry, (struct awaited){.registry = registry});
}

/*
 * Loads every plugin that adds components of the kind at run time, and has not been loaded; waits for `id`, or where
 * that is NULL for all that they will add.
 */
static void load_dynamic(struct registry *registry, const char *kind, const char *id, size_t length, bool only_asked) {
    for (size_t i = 0; i < registry->plugin_count; i++) {
        struct plugin *plugin = registry->plugins[i];
        bool safe = !only_asked || plugin->isolated || plugin->bundled;
        struct error error = ERROR_INIT;
        if (plugin->state != PLUGIN_KNOWN || plugin->replaced || !safe || !is_dynamic(plugin, kind)) continue;
        /* Whoever resolves is told by not_found. */
        if (plugin_load(plugin, &error) != TN_OK && only_asked) log_write(LOG_ERROR, NULL, "%s", error.message);
        error_finish(&error);
    }
    await(registry, (struct awaited){registry, kind, id, length});
}

bool registry_knows_all(const struct registry *registry, const char *kind) {
    for (size_t i = 0; i < registry->plugin_count; i++) {
        const struct plugin *plugin = registry->plugins[i];
        if (!plugin->replaced && plugin->state != PLUGIN_LOADED && is_dynamic(plugin, kind)) return false;
    }
    return !registry_expecting(registry, kind);
}

void registry_load_dynamic(struct registry *registry, const char *kind) {
    load_dynamic(registry, kind, NULL, 0, true);  /* says what went wrong */
    load_dynamic(registry, kind, NULL, 0, false); /* whoever asks means to use them */
}

const struct component_info *registry_known(const struct registry *registry, const char *kind, const char *id) {
    const struct row *row = row_find(registry, kind, id, strlen(id));
    return row ? &row->info : NULL;
}

/* The row; a name that no manifest has may be one of a plugin that was not loaded. */
static struct row *row_search(struct registry *registry, const char *kind, const char *id, size_t length,
                              bool only_asked) {
    struct row *row = row_find(registry, kind, id, length);
    if (row) return row;
    load_dynamic(registry, kind, id, length, only_asked);
    return row_find(registry, kind, id, length);
}

static void tell_refused(const struct registry *registry, const char *kind, struct buffer *text) {
    for (size_t i = 0; i < registry->plugin_count; i++) {
        const struct plugin *plugin = registry->plugins[i];
        if (plugin->state != PLUGIN_REFUSED || plugin->replaced || !is_dynamic(plugin, kind)) continue;
        buffer_format(text, "; plugin `%s`, which may have it, could not be used: %s", plugin->id,
                      plugin->refusal.message);
    }
}

/* The command that lists what there is of a kind. */
static const char *lister(const char *kind) {
    if (strcmp(kind, "model") == 0) return "tenon model list";
    return strcmp(kind, "tool") == 0 ? "tenon tool list" : "tenon plugin list";
}

static int32_t not_found(struct registry *registry, const char *kind, const char *id, struct error *error) {
    struct buffer text;
    struct nearest near;
    buffer_init(&text, ERROR_MESSAGE_MAX);
    nearest_init(&near, id, strlen(id));
    sort_rows(registry);
    size_t count = 0;
    for (size_t i = 0; i < registry->row_count; i++) {
        const struct row *row = registry->rows[i];
        if (row->component.removed || strcmp(row->info.kind, kind) != 0) continue;
        nearest_offer(&near, row->info.id, strlen(row->info.id));
        count++;
    }
    buffer_format(&text, "no plugin offers the %s `%.200s`", kind, id);
    if (nearest_result(&near))
        buffer_format(&text, "; did you mean `%s`?", nearest_result(&near));
    else if (count == 0)
        buffer_format(&text, ": none offers any %s; `tenon plugin list` shows where plugins are looked for", kind);
    else
        buffer_format(&text, "; `%s` shows what there is", lister(kind));
    tell_refused(registry, kind, &text);
    if (registry->problem_count > 0) {
        buffer_format(&text, "; besides, %zu plugin%s could not be used: %s",
                      registry->problem_count + registry->problems_dropped,
                      registry->problem_count + registry->problems_dropped == 1 ? "" : "s, the first",
                      registry->problems[0].message);
    }
    error_set(error, TN_NOT_FOUND, strcmp(kind, "tool") == 0 ? "TOOL_NOT_FOUND" : "NOT_FOUND", "%s",
              buffer_cstr(&text));
    buffer_finish(&text);
    return TN_NOT_FOUND;
}

int32_t registry_resolve(struct registry *registry, const char *kind, const char *id, struct component **out,
                         struct error *error) {
    struct row *row = row_search(registry, kind, id, strlen(id), false);
    if (!row) return not_found(registry, kind, id, error);
    if (row->rival) return row_conflict(row, row->rival, error);
    int32_t status = plugin_load(row->component.plugin, error);
    if (status != TN_OK) return status;
    /* init may have added components, and this one may be gone. */
    if (row->component.removed) return not_found(registry, kind, id, error);
    status = row_check(row, error);
    if (status != TN_OK) return status;
    row->component.vtable = row->component.plugin->components;
    row->component.self = row->component.plugin->plugin->self;
    *out = &row->component;
    return TN_OK;
}

/* ---- The catalog ---- */

static const struct component_info *catalog_find(void *self, const char *kind, const char *id, size_t length) {
    struct row *row = row_find(self, kind, id, length);
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

static void catalog_each(void *self, const char *kind, catalog_visit visit, void *user) {
    struct registry *registry = self;
    const struct row *last = NULL;
    sort_rows(registry);
    for (size_t i = 0; i < registry->row_count; i++) {
        struct row *row = registry->rows[i];
        if (row->component.removed || (kind && strcmp(kind, row->info.kind) != 0)) continue;
        if (last && compare_rows(&last, &registry->rows[i]) == 0) continue; /* two claim it: shown once */
        last = row;
        row_compile(row);
        if (!visit(user, &row->info)) return;
    }
}

static const char *catalog_version(void *self, const char *plugin_id) {
    const struct plugin *plugin = registry_plugin(self, plugin_id);
    return plugin ? plugin->version : NULL;
}

struct plugin_names {
    void (*visit)(void *user, const char *plugin_id);
    void *user;
};

static void visit_name(void *user, struct plugin *plugin) {
    struct plugin_names *names = user;
    names->visit(names->user, plugin->id);
}

static void catalog_plugins(void *self, void (*visit)(void *user, const char *plugin_id), void *user) {
    registry_each_plugin(self, visit_name, &(struct plugin_names){visit, user});
}

static bool catalog_usable(void *self, const struct component_info *component, struct error *error) {
    (void)self;
    const struct row *row = (const struct row *)(const void *)((const char *)component - offsetof(struct row, info));
    const struct plugin *plugin = row->component.plugin;
    if (row->rival) return row_conflict(row, row->rival, error) == TN_OK;
    if (plugin->state == PLUGIN_KNOWN) return loader_preflight(plugin, error) == TN_OK;
    if (plugin->state == PLUGIN_REFUSED) error_copy(error, &plugin->refusal);
    return plugin->state != PLUGIN_REFUSED;
}

void registry_catalog(struct registry *registry, struct catalog *catalog) {
    catalog->self = registry;
    catalog->find = catalog_find;
    catalog->each = catalog_each;
    catalog->usable = catalog_usable;
    catalog->plugin_version = catalog_version;
    catalog->each_plugin = catalog_plugins;
}
