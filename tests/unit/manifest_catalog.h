/*
 * manifest_catalog.h - a catalog of the components that the manifests of the bundled plugins describe, read from their
 * files in the source tree, and of those in one more file of the test. No plugin is loaded.
 *
 *     struct manifest_catalog *catalog = manifest_catalog_new("tests/corpus/assist/acme.json");
 *     struct assist_world world = {.catalog = &catalog->catalog};
 *     manifest_catalog_free(catalog);
 *
 * The plugin of a component is "tenon." and the name of its folder, version 1.2.0. Header-only.
 */
#ifndef TENON_TESTS_MANIFEST_CATALOG_H
#define TENON_TESTS_MANIFEST_CATALOG_H

#include "adl/document/catalog.h"
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "tests/unit/corpus.h"
#include <dirent.h>

#define MANIFEST_COMPONENTS_MAX 200u

struct manifest_catalog {
    struct catalog catalog;
    struct component_info components[MANIFEST_COMPONENTS_MAX];
    size_t count;
};

static inline const struct component_info *manifest_find(void *self, const char *kind, const char *id, size_t length) {
    const struct manifest_catalog *catalog = self;
    for (size_t i = 0; i < catalog->count; i++) {
        const struct component_info *info = &catalog->components[i];
        if (strcmp(info->kind, kind) == 0 && strlen(info->id) == length && memcmp(info->id, id, length) == 0)
            return info;
    }
    return NULL;
}

static inline void manifest_each(void *self, const char *kind, catalog_visit visit, void *user) {
    const struct manifest_catalog *catalog = self;
    for (size_t i = 0; i < catalog->count; i++)
        if ((!kind || strcmp(catalog->components[i].kind, kind) == 0) && !visit(user, &catalog->components[i])) return;
}

static inline const char *manifest_version(void *self, const char *plugin) {
    (void)self;
    return strncmp(plugin, "tenon.", 6) == 0 || strcmp(plugin, "acme.sentiment") == 0 ? "1.2.0" : NULL;
}

static inline void manifest_each_plugin(void *self, void (*visit)(void *user, const char *plugin), void *user) {
    (void)self;
    visit(user, "acme.sentiment");
    visit(user, "tenon.agents");
    visit(user, "tenon.core");
}

static inline struct schema *manifest_schema(tn_value document) {
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    if (schema_compile(document, NULL, &schema, &error) != TN_OK) fail_msg("%s", error.message);
    return schema;
}

static inline const char *manifest_text(tn_value component, const char *key) {
    tn_value text = value_get(component, key);
    return value_is(text, TN_STRING) ? value_chars(text, NULL) : "";
}

static inline void manifest_add(struct manifest_catalog *catalog, tn_value component, const char *plugin) {
    assert_true(catalog->count < MANIFEST_COMPONENTS_MAX);
    tn_value config = value_get(component, "config"), input = value_get(component, "input");
    catalog->components[catalog->count++] =
        (struct component_info){.id = manifest_text(component, "id"),
                                .kind = manifest_text(component, "kind"),
                                .title = manifest_text(component, "title"),
                                .documentation = manifest_text(component, "documentation"),
                                .plugin_id = mem_text(plugin),
                                .plugin_version = "1.2.0",
                                .manifest = value_ref(component),
                                .effects = value_ref(value_get(component, "effects")),
                                .config = manifest_schema(config ? config : value_object()),
                                .input = input ? manifest_schema(input) : NULL};
}

/* A note that only has presets: each is a provider. Of the options of their component, which is elsewhere, `model`. */
static inline void manifest_add_presets(struct manifest_catalog *catalog, tn_value component, const char *plugin) {
    tn_value presets = value_get(component, "presets");
    for (size_t i = 0; i < value_count(presets); i++) {
        tn_value config = NULL, entry = value_set_take(value_object(), "kind", value_text("model"));
        static const char options[] =
            "{\"properties\":{\"model\":{\"type\":\"string\",\"examples\":[\"gpt-5-mini\"]}}}";
        assert_int_equal(json_read(options, sizeof options - 1, NULL, &config, NULL), TN_OK);
        entry = value_set_take(entry, "id", value_ref(value_key_at(presets, i)));
        entry = value_set_take(entry, "title", value_ref(value_get(value_value_at(presets, i), "title")));
        entry = value_set_take(entry, "config", config);
        entry = value_set_take(entry, "preset", value_ref(value_value_at(presets, i)));
        manifest_add(catalog, entry, plugin);
        value_unref(entry);
    }
}

static inline void manifest_read(struct manifest_catalog *catalog, const char *path, const char *plugin) {
    size_t length;
    char *text = corpus_load(path, &length);
    tn_value manifest = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, length, NULL, &manifest, &error) != TN_OK) fail_msg("%s: %s", path, error.message);
    tn_value one = value_get(manifest, "component"), all = value_get(manifest, "components");
    if (one && value_get(one, "presets") && !value_get(one, "title"))
        manifest_add_presets(catalog, one, plugin);
    else if (one)
        manifest_add(catalog, one, plugin);
    for (size_t i = 0; value_is(all, TN_ARRAY) && i < value_count(all); i++)
        manifest_add(catalog, value_at(all, i), plugin);
    value_unref(manifest);
    free(text);
}

static inline int manifest_compare(const void *a, const void *b) {
    const struct component_info *x = a, *y = b;
    return strcmp(x->id, y->id);
}

static inline void manifest_read_folder(struct manifest_catalog *catalog, const char *folder, const char *plugin) {
    DIR *files = opendir(folder);
    char path[8192];
    for (const struct dirent *file; files && (file = readdir(files));) {
        size_t length = strlen(file->d_name);
        if (length < 6 || strcmp(file->d_name + length - 5, ".json") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, file->d_name);
        manifest_read(catalog, path, plugin);
    }
    if (files) closedir(files);
}

static inline struct manifest_catalog *manifest_catalog_new(const char *further) {
    static const char *const folders[] = {"agents", "anthropic", "core", "document", "openai", "scripted", "state"};
    struct manifest_catalog *catalog = mem_zalloc(sizeof *catalog);
    catalog->catalog = (struct catalog){.self = catalog,
                                        .find = manifest_find,
                                        .each = manifest_each,
                                        .plugin_version = manifest_version,
                                        .each_plugin = manifest_each_plugin};
    char path[2048], plugin[64], full[4096];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "plugins/%s", folders[i]);
        snprintf(plugin, sizeof plugin, "tenon.%s", folders[i]);
        corpus_path(path, full, sizeof full);
        manifest_read_folder(catalog, full, plugin);
    }
    corpus_path(further, full, sizeof full);
    manifest_read(catalog, full, "acme.sentiment");
    qsort(catalog->components, catalog->count, sizeof *catalog->components, manifest_compare);
    return catalog;
}

static inline void manifest_catalog_free(struct manifest_catalog *catalog) {
    for (size_t i = 0; i < catalog->count; i++) {
        struct component_info *info = &catalog->components[i];
        struct schema *schemas[2]; /* memcpy removes the const */
        memcpy(&schemas[0], &info->config, sizeof schemas[0]);
        memcpy(&schemas[1], &info->input, sizeof schemas[1]);
        schema_unref(schemas[0]);
        schema_unref(schemas[1]);
        char *plugin;
        memcpy(&plugin, &info->plugin_id, sizeof plugin);
        mem_free(plugin);
        value_unref(info->effects);
        value_unref(info->manifest);
    }
    mem_free(catalog);
}

#endif
