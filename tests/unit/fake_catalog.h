/*
 * fake_catalog.h - a catalog with a fixed table of components, and with files that the test adds. It lets tests of
 * the language run without plugins.
 *
 *     struct fake_catalog fake;
 *     fake_catalog_init(&fake);
 *     fake_catalog_file(&fake, "prompts/hello.md", "Hello {topic}");
 *     struct document *document = document_read(source, &fake.catalog, found);
 *     fake_catalog_finish(&fake);
 *
 * A file is looked up by its path relative to the folder of the document that refers to it. If the test has not added
 * the file and `folder` is set, the file is read from `folder` on disk. Header-only.
 */
#ifndef TENON_TESTS_FAKE_CATALOG_H
#define TENON_TESTS_FAKE_CATALOG_H

#include "adl/document/catalog.h"
#include "adl/schema/schema.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *kind, *id, *title, *documentation, *config;
} fake_components[] = {
    {"model", "openai", "OpenAI", "",
     "{\"type\":\"object\",\"properties\":{\"model\":{\"type\":\"string\"},\"max_tokens\":{\"type\":\"integer\","
     "\"minimum\":1},\"temperature\":{\"type\":\"number\"}},\"required\":[\"model\"],\"additionalProperties\":false}"},
    {"model", "scripted", "Preset replies", "", "{}"},
    {"node", "llm", "Asks a model", "Sends `input_key` to a model and writes its answer to `output_key`.",
     "{\"type\":\"object\",\"properties\":{"
     "\"model\":{\"type\":\"string\",\"description\":\"A role, or provider:model.\",\"x-tenon\":\"model\"},"
     "\"system_prompt\":{\"type\":\"string\",\"x-tenon\":\"template\",\"x-tenon-variables\":[]},"
     "\"input_key\":{\"type\":\"string\",\"x-tenon\":\"channel-read\"},"
     "\"output_key\":{\"type\":\"string\",\"x-tenon\":\"channel-write\"},"
     "\"output_schema\":{\"type\":[\"object\",\"boolean\"],\"x-tenon\":\"schema\"},"
     "\"tools\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"x-tenon\":\"tool\"}},"
     "\"api_key\":{\"type\":\"string\",\"minLength\":8},"
     "\"temperature\":{\"type\":\"number\",\"minimum\":0,\"maximum\":2}},"
     "\"required\":[\"output_key\"],\"additionalProperties\":false}"},
    {"node", "passthrough", "Does nothing", "",
     "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"},
    {"node", "set", "Sets channels", "",
     "{\"type\":\"object\",\"properties\":{\"values\":{\"type\":\"object\","
     "\"propertyNames\":{\"x-tenon\":\"channel-write\"},"
     "\"additionalProperties\":{\"x-tenon\":\"expression\",\"x-tenon-variables\":[]}}},"
     "\"required\":[\"values\"],\"additionalProperties\":false}"},
    {"node", "transform", "Copies channels", "",
     "{\"type\":\"object\",\"properties\":{\"mapping\":{\"type\":\"object\","
     "\"propertyNames\":{\"x-tenon\":\"channel-write\"},"
     "\"additionalProperties\":{\"type\":\"string\",\"x-tenon\":\"channel-read\"}}},"
     "\"additionalProperties\":false}"},
    {"node", "subgraph", "Runs another document", "",
     "{\"type\":\"object\",\"properties\":{\"document\":{\"type\":\"string\",\"x-tenon\":\"document\"},"
     "\"input\":{\"type\":\"object\",\"propertyNames\":{\"x-tenon\":\"channel-read\"},"
     "\"additionalProperties\":{\"type\":\"string\"}},"
     "\"output\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\",\"x-tenon\":\"channel-write\"}}},"
     "\"required\":[\"document\"],\"additionalProperties\":false}"},
    {"node", "go", "Goes to a node that it names", "",
     "{\"type\":\"object\",\"properties\":{\"to\":{\"type\":\"string\",\"x-tenon\":\"node\"}},\"required\":[\"to\"],"
     "\"additionalProperties\":false}"},
    {"node", "act", "Ends the run after some tools", "",
     "{\"type\":\"object\",\"properties\":{\"ends\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
     "\"x-tenon\":\"end\"}}},\"additionalProperties\":false}"},
    {"node", "load", "Reads a file", "",
     "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"x-tenon\":\"file\"},"
     "\"output_key\":{\"type\":\"string\",\"x-tenon\":\"channel-write\",\"default\":\"text\"}},"
     "\"required\":[\"path\"],\"additionalProperties\":false}"},
    {"node", "chat", "Declares variables of its templates", "",
     "{\"type\":\"object\",\"properties\":{"
     "\"some\":{\"type\":\"string\",\"x-tenon\":\"template\",\"x-tenon-variables\":[\"history\"]},"
     "\"any\":{\"type\":\"string\",\"x-tenon\":\"template\",\"x-tenon-variables\":true}},"
     "\"additionalProperties\":false}"},
    {"node", "old", "Did something once", "", "{}"},
    {"node", "claimed", "Provided by two plugins", "", "{}"},
    {"node", "command", "Goes anywhere", "", "{}"},
    {"node", "tool", "Calls a tool", "",
     "{\"type\":\"object\",\"properties\":{\"tool\":{\"type\":\"string\",\"x-tenon\":\"tool\"},"
     "\"arguments\":{\"type\":\"object\",\"additionalProperties\":{\"x-tenon\":\"expression\",\"x-tenon-variables\":[]}"
     ","
     "\"x-tenon\":\"arguments\",\"default\":{}}}}"},
    {"node", "converse", "Appends messages, or removes them", "",
     "{\"type\":\"object\",\"properties\":{\"append_key\":{\"type\":\"string\",\"allOf\":[{\"x-tenon\":\"channel-"
     "write\"},"
     "{\"x-tenon\":\"channel-append\"}]},\"remove_key\":{\"type\":\"string\",\"allOf\":[{\"x-tenon\":\"channel-write\"}"
     ","
     "{\"x-tenon\":\"channel-messages\"}]}},\"additionalProperties\":false}"},
    {"reducer", "acme.longest", "Keeps the longest", "", "{}"},
    {"tool", "calc.add", "Adds", "", "{}"},
    {"tool", "files.read", "Reads a file", "", "{}"},
    {"tool", "files.write", "Writes a file", "", "{}"},
    {"tool", "ledger.pay", "Pays once for each call", "", "{}"},
    {"tool", "ledger.refund", "Refunds once for each call", "", "{}"},
};

#define FAKE_COMPONENTS (sizeof fake_components / sizeof *fake_components)
#define FAKE_FILES_MAX  300

struct fake_catalog {
    struct catalog catalog;
    struct component_info components[FAKE_COMPONENTS];
    struct {
        char *path;
        tn_value text;
    } files[FAKE_FILES_MAX];
    size_t file_count;
    const char *folder; /* other files are read from this folder; may be NULL */
};

static inline const struct component_info *fake_catalog_find(void *self, const char *kind, const char *id,
                                                             size_t length) {
    const struct fake_catalog *fake = (const struct fake_catalog *)self;
    for (size_t i = 0; i < FAKE_COMPONENTS; i++) {
        const struct component_info *info = &fake->components[i];
        if (strcmp(info->kind, kind) == 0 && strlen(info->id) == length && memcmp(info->id, id, length) == 0)
            return info;
    }
    return NULL;
}

static inline void fake_catalog_each(void *self, const char *kind, catalog_visit visit, void *user) {
    const struct fake_catalog *fake = (const struct fake_catalog *)self;
    for (size_t i = 0; i < FAKE_COMPONENTS; i++)
        if (!kind || strcmp(fake->components[i].kind, kind) == 0)
            if (!visit(user, &fake->components[i])) return;
}

static inline const char *fake_catalog_plugin_version(void *self, const char *plugin_id) {
    (void)self;
    return strcmp(plugin_id, "tenon.core") == 0 ? "1.2.0" : NULL;
}

static inline void fake_catalog_each_plugin(void *self, void (*visit)(void *user, const char *plugin_id), void *user) {
    (void)self;
    visit(user, "tenon.core");
}

static inline tn_value fake_catalog_found(tn_value text, const char *path, struct catalog_file *found) {
    if (text) *found = (struct catalog_file){mem_text(path), mem_text(".")};
    return text;
}

static inline tn_value fake_catalog_read_disk(const char *folder, const char *name) {
    char full[4096], text[65536];
    snprintf(full, sizeof full, "%s/%s", folder, name);
    FILE *file = fopen(full, "rb");
    if (!file) return NULL;
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    return value_string(text, length);
}

static inline tn_value fake_catalog_read(void *self, const struct source *from, const char *file,
                                         struct catalog_file *found, struct error *error) {
    const struct fake_catalog *fake = (const struct fake_catalog *)self;
    const char *name = source_name(from), *slash = strrchr(name, '/');
    char full[1024];
    snprintf(full, sizeof full, "%.*s%s", slash ? (int)(slash - name + 1) : 0, name, file);
    for (size_t i = 0; i < fake->file_count; i++)
        if (strcmp(fake->files[i].path, full) == 0)
            return fake_catalog_found(value_ref(fake->files[i].text), full, found);
    tn_value text = fake->folder ? fake_catalog_read_disk(fake->folder, full) : NULL;
    if (!text) error_set(error, TN_NOT_FOUND, "IO", "no such file");
    return fake_catalog_found(text, full, found);
}

static inline void fake_catalog_file(struct fake_catalog *fake, const char *path, const char *text) {
    if (fake->file_count == FAKE_FILES_MAX) abort();
    fake->files[fake->file_count].path = mem_text(path);
    fake->files[fake->file_count++].text = value_text(text);
}

static inline void fake_catalog_clear_files(struct fake_catalog *fake) {
    for (size_t i = 0; i < fake->file_count; i++) {
        mem_free(fake->files[i].path);
        value_unref(fake->files[i].text);
    }
    fake->file_count = 0;
}

static inline struct schema *fake_schema(const char *json) {
    tn_value document = NULL;
    struct schema *schema = NULL;
    if (json_read(json, strlen(json), NULL, &document, NULL) != TN_OK ||
        schema_compile(document, NULL, &schema, NULL) != TN_OK)
        abort();
    value_unref(document);
    return schema;
}

/* Two plugins provide the node type "claimed", so it is unusable. */
static inline bool fake_catalog_usable(void *self, const struct component_info *component, struct error *error) {
    (void)self;
    if (strcmp(component->id, "claimed") != 0) return true;
    return error_set(error, TN_INVALID, "PLUGIN_DUPLICATE", "two plugins claim it: a (a.so) and b (b.so)") == TN_OK;
}

static inline void fake_catalog_init(struct fake_catalog *fake) {
    memset(fake, 0, sizeof *fake);
    fake->catalog = (struct catalog){.self = fake,
                                     .find = fake_catalog_find,
                                     .each = fake_catalog_each,
                                     .usable = fake_catalog_usable,
                                     .plugin_version = fake_catalog_plugin_version,
                                     .each_plugin = fake_catalog_each_plugin,
                                     .read = fake_catalog_read,
                                     .read_self = fake};
    for (size_t i = 0; i < FAKE_COMPONENTS; i++) {
        fake->components[i] = (struct component_info){.id = fake_components[i].id,
                                                      .kind = fake_components[i].kind,
                                                      .title = fake_components[i].title,
                                                      .documentation = fake_components[i].documentation,
                                                      .plugin_id = "tenon.core",
                                                      .plugin_version = "1.2.0",
                                                      .manifest = value_object(),
                                                      .effects = value_array(),
                                                      .config = fake_schema(fake_components[i].config)};
        if (strcmp(fake_components[i].id, "old") == 0)
            fake->components[i].manifest = value_set_take(value_object(), "deprecated", value_text("use `set`"));
        if (strncmp(fake_components[i].id, "ledger.", 7) == 0) {
            fake->components[i].manifest = value_set_take(value_object(), "idempotency_key", value_bool(false));
            fake->components[i].effects = value_push_take(value_array(), value_text("destructive"));
        }
        if (strcmp(fake_components[i].id, "files.read") == 0)
            fake->components[i].input = fake_schema(
                "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"limit\":{\"type\":\"integer\"},"
                "\"form\":{\"enum\":[\"text\",\"lines\"]}},\"required\":[\"path\"],\"additionalProperties\":false,"
                "\"not\":{\"properties\":{\"form\":{\"const\":\"text\"}},\"required\":[\"form\",\"limit\"]}}");
        if (strcmp(fake_components[i].id, "command") != 0) continue;
        fake->components[i].effects = value_push_take(value_array(), value_text("destructive"));
        fake->components[i].output =
            fake_schema("{\"type\":\"object\",\"properties\":{\"goto\":{\"type\":\"string\"}}}");
    }
}

static inline void fake_catalog_finish(struct fake_catalog *fake) {
    fake_catalog_clear_files(fake);
    for (size_t i = 0; i < FAKE_COMPONENTS; i++) {
        struct schema *schemas[3]; /* memcpy removes the const */
        memcpy(&schemas[0], &fake->components[i].config, sizeof schemas[0]);
        memcpy(&schemas[1], &fake->components[i].output, sizeof schemas[1]);
        memcpy(&schemas[2], &fake->components[i].input, sizeof schemas[2]);
        schema_unref(schemas[0]);
        schema_unref(schemas[1]);
        schema_unref(schemas[2]);
        value_unref(fake->components[i].manifest);
        value_unref(fake->components[i].effects);
    }
}

#endif
