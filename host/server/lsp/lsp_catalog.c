/*
 * lsp_catalog.c - copies the rows of a catalog, and answers from the copy.
 *
 * Rows are in the order of the registry, which is that of the ids. An index, sorted by kind and id, finds one.
 */
#include "host/server/lsp/lsp_catalog.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>
#include <tenon/util/tool_pattern.h>

struct copied_component {
    struct component_info info; /* first: catalog_usable gets a pointer to it */
    bool usable;
    struct error why; /* if it is not usable */
};

struct copied_plugin {
    char *id, *version;
};

/* Kinds of which a plugin that is not loaded may add components. */
static const char *const kinds[] = {"node", "model", "tool", "runner", "reducer", "store", "http"};
#define KINDS (sizeof kinds / sizeof *kinds)

struct catalog_copy {
    uint32_t references; /* atomic */
    uint64_t generation;
    struct copied_component **components; /* each allocated: documents point to them */
    size_t count;
    const struct copied_component **index;
    struct copied_plugin *plugins;
    size_t plugin_count;
    char *missing;
    bool unloaded[KINDS];
    const struct catalog *from; /* while it is made */
};

/* ---- Making a copy ---- */

static char *copy_text(const char *text) { return text ? mem_text(text) : NULL; }

/* The catalog borrows const schemas; their references are atomic. */
static const struct schema *copy_schema(const struct schema *schema) {
    return schema ? schema_ref((struct schema *)(uintptr_t)schema) : NULL;
}

static bool copy_component(void *user, const struct component_info *info) {
    struct catalog_copy *copy = user;
    struct copied_component *component = mem_zalloc(sizeof *component);
    component->info = (struct component_info){.id = copy_text(info->id),
                                              .kind = copy_text(info->kind),
                                              .title = copy_text(info->title),
                                              .documentation = copy_text(info->documentation),
                                              .plugin_id = copy_text(info->plugin_id),
                                              .plugin_version = copy_text(info->plugin_version),
                                              .manifest = info->manifest ? value_ref(info->manifest) : NULL,
                                              .effects = info->effects ? value_ref(info->effects) : NULL,
                                              .config = copy_schema(info->config),
                                              .input = copy_schema(info->input),
                                              .output = copy_schema(info->output)};
    component->usable = !copy->from->usable || copy->from->usable(copy->from->self, info, &component->why);
    MEM_EXTEND(copy->components, copy->count);
    copy->components[copy->count++] = component;
    return true;
}

static void copy_plugin(void *user, const char *id) {
    struct catalog_copy *copy = user;
    const char *version = copy->from->plugin_version(copy->from->self, id);
    MEM_EXTEND(copy->plugins, copy->plugin_count);
    copy->plugins[copy->plugin_count++] = (struct copied_plugin){mem_text(id), copy_text(version)};
}

static int compare_names(const char *kind, const char *id, size_t length, const struct component_info *with) {
    int order = strcmp(kind, with->kind);
    if (order == 0) order = strncmp(id, with->id, length);
    return order != 0 ? order : with->id[length] ? -1 : 0;
}

static int compare_components(const void *a, const void *b) {
    const struct component_info *first = &(*(const struct copied_component *const *)a)->info;
    return compare_names(first->kind, first->id, strlen(first->id),
                         &(*(const struct copied_component *const *)b)->info);
}

struct catalog_copy *catalog_copy_new(const struct catalog *from, uint64_t generation) {
    struct catalog_copy *copy = mem_zalloc(sizeof *copy);
    copy->references = 1;
    copy->generation = generation;
    copy->from = from;
    from->each(from->self, NULL, copy_component, copy);
    copy->index = mem_array(NULL, copy->count ? copy->count : 1, sizeof(struct copied_component *));
    for (size_t i = 0; i < copy->count; i++) copy->index[i] = copy->components[i];
    qsort((void *)copy->index, copy->count, sizeof *copy->index, compare_components);
    if (from->each_plugin) from->each_plugin(from->self, copy_plugin, copy);
    copy->missing = mem_text(from->missing ? from->missing(from->self) : "");
    for (size_t i = 0; i < KINDS; i++) copy->unloaded[i] = from->unloaded && from->unloaded(from->self, kinds[i]);
    copy->from = NULL;
    return copy;
}

static void component_free(struct copied_component *component) {
    const struct component_info *info = &component->info;
    const char *const texts[] = {info->id,        info->kind,          info->title, info->documentation,
                                 info->plugin_id, info->plugin_version};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) mem_free((char *)(uintptr_t)texts[i]);
    const struct schema *const schemas[] = {info->config, info->input, info->output};
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) schema_unref((struct schema *)(uintptr_t)schemas[i]);
    value_unref(info->manifest);
    value_unref(info->effects);
    error_finish(&component->why);
    mem_free(component);
}

struct catalog_copy *catalog_copy_ref(struct catalog_copy *copy) {
    __atomic_add_fetch(&copy->references, 1, __ATOMIC_RELAXED);
    return copy;
}

void catalog_copy_unref(struct catalog_copy *copy) {
    if (!copy || __atomic_sub_fetch(&copy->references, 1, __ATOMIC_ACQ_REL) != 0) return;
    for (size_t i = 0; i < copy->count; i++) component_free(copy->components[i]);
    for (size_t i = 0; i < copy->plugin_count; i++) {
        mem_free(copy->plugins[i].id);
        mem_free(copy->plugins[i].version);
    }
    mem_free((void *)copy->components);
    mem_free((void *)copy->index);
    mem_free(copy->plugins);
    mem_free(copy->missing);
    mem_free(copy);
}

uint64_t catalog_copy_generation(const struct catalog_copy *copy) { return copy->generation; }

/* ---- Answering ---- */

static const struct component_info *copy_lookup(const struct catalog_copy *copy, const char *kind, const char *id,
                                                size_t length) {
    size_t low = 0, high = copy->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_names(kind, id, length, &copy->index[middle]->info);
        if (order == 0) return &copy->index[middle]->info;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* A tool is also found by its original name, as in the registry. */
static const struct component_info *copy_find(void *self, const char *kind, const char *name, size_t length) {
    const struct component_info *found = copy_lookup(self, kind, name, length);
    char id[TN_TOOL_PATTERN_MAX];
    for (uint32_t form = 0; !found && strcmp(kind, "tool") == 0 && form < TN_TOOL_ID_FORMS; form++) {
        size_t size = tn_tool_id(name, length, form, id, sizeof id);
        if (size) found = copy_lookup(self, kind, id, size);
    }
    return found;
}

static void copy_each(void *self, const char *kind, catalog_visit visit, void *user) {
    const struct catalog_copy *copy = self;
    for (size_t i = 0; i < copy->count; i++) {
        const struct component_info *info = &copy->components[i]->info;
        if ((!kind || strcmp(kind, info->kind) == 0) && !visit(user, info)) return;
    }
}

static bool copy_usable(void *self, const struct component_info *info, struct error *error) {
    const struct copied_component *component = (const struct copied_component *)(const void *)info;
    (void)self;
    if (!component->usable) error_copy(error, &component->why);
    return component->usable;
}

static const char *copy_plugin_version(void *self, const char *id) {
    const struct catalog_copy *copy = self;
    for (size_t i = 0; i < copy->plugin_count; i++)
        if (strcmp(copy->plugins[i].id, id) == 0) return copy->plugins[i].version;
    return NULL;
}

static void copy_each_plugin(void *self, void (*visit)(void *user, const char *id), void *user) {
    const struct catalog_copy *copy = self;
    for (size_t i = 0; i < copy->plugin_count; i++) visit(user, copy->plugins[i].id);
}

static const char *copy_missing(void *self) { return ((const struct catalog_copy *)self)->missing; }

static bool copy_unloaded(void *self, const char *kind) {
    const struct catalog_copy *copy = self;
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i], kind) == 0) return copy->unloaded[i];
    return false;
}

void catalog_copy_fill(struct catalog_copy *copy, struct catalog *out) {
    out->self = copy;
    out->find = copy_find;
    out->each = copy_each;
    out->usable = copy_usable;
    out->plugin_version = copy_plugin_version;
    out->each_plugin = copy_each_plugin;
    out->missing = copy_missing;
    out->unloaded = copy_unloaded;
}
