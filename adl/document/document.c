/* document.c - a document after it was read: references, names, and configs for components. */
#include "adl/document/document.h"
#include "adl/document/config.h"
#include "adl/document/reader.h"
#include "adl/expr/expr.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include <string.h>

static const struct document_whole *whole_of(const struct document *document) {
    return (const struct document_whole *)document; /* its first member */
}

struct document *document_ref(struct document *document) {
    if (document) __atomic_add_fetch(&document->references, 1, __ATOMIC_RELAXED);
    return document;
}

static void channel_finish(struct document_channel *channel) {
    value_unref(channel->name);
    value_unref(channel->initial);
    value_unref(channel->schema_value);
    schema_unref(channel->schema);
}

static void edge_finish(struct document_edge *edge) {
    for (uint32_t i = 0; i < edge->condition_count; i++) {
        value_unref(edge->conditions[i].text);
        expr_unref(edge->conditions[i].expression);
    }
    mem_free(edge->conditions);
    mem_free(edge->from);
    mem_free(edge->to);
    value_unref(edge->over_text);
    expr_unref(edge->over);
}

static void document_free(struct document *document) {
    struct document_whole *whole = (struct document_whole *)document;
    value_unref(document->name);
    value_unref(document->description);
    value_unref(document->input_value);
    value_unref(document->output_value);
    value_unref(document->budget);
    schema_unref(document->input);
    schema_unref(document->output);
    for (uint32_t i = 0; i < document->channel_count; i++) channel_finish(&document->channels[i]);
    for (uint32_t i = 0; i < document->local_count; i++) value_unref(document->locals[i]);
    for (uint32_t i = 0; i < document->node_count; i++) {
        value_unref(document->nodes[i].id);
        value_unref(document->nodes[i].type);
        value_unref(document->nodes[i].config);
    }
    for (uint32_t i = 0; i < document->edge_count; i++) edge_finish(&document->edges[i]);
    for (uint32_t i = 0; i < document->model_count; i++) {
        value_unref(document->models[i].role);
        value_unref(document->models[i].binding);
    }
    for (uint32_t i = 0; i < document->tool_count; i++) {
        value_unref(document->tools[i].pattern);
        value_unref(document->tools[i].options);
    }
    for (uint32_t i = 0; i < document->requirement_count; i++) {
        value_unref(document->requirements[i].plugin);
        value_unref(document->requirements[i].constraint);
    }
    for (uint32_t i = 0; i < whole->subgraph_count; i++) document_unref(whole->subgraphs[i]);
    mem_free(whole->subgraphs);
    mem_free(whole->subgraph_nodes);
    mem_free(document->channels);
    mem_free(document->locals);
    mem_free(document->nodes);
    mem_free(document->edges);
    mem_free(document->links);
    mem_free(document->models);
    mem_free(document->tools);
    mem_free(document->requirements);
    names_finish(&whole->nodes);
    names_finish(&whole->fields);
    names_finish(&whole->models);
    mem_free(whole->node_of_name);
    source_unref(document->source);
    mem_free(whole);
}

void document_unref(struct document *document) {
    if (document && __atomic_sub_fetch(&document->references, 1, __ATOMIC_ACQ_REL) == 0) document_free(document);
}

int32_t document_find_node(const struct document *document, const char *id, size_t length) {
    int32_t name = names_find(&whole_of(document)->nodes, id, length);
    return name < 0 ? -1 : (int32_t)whole_of(document)->node_of_name[name];
}

int32_t document_find_field(const struct document *document, const char *name, size_t length) {
    return names_find(&whole_of(document)->fields, name, length);
}

int32_t document_find_channel(const struct document *document, const char *name, size_t length) {
    int32_t field = document_find_field(document, name, length);
    return field >= 0 && (uint32_t)field < document->channel_count ? field : -1;
}

/* Does not use names_nearest, which builds its index on first use: runs on several threads share a document. */
static void document_offer(struct nearest *nearest, tn_value name) {
    size_t length;
    const char *text = value_chars(name, &length);
    nearest_add_candidate(nearest, text, length);
}

struct nearest_hint document_node_hint(const struct document *document, const char *id, size_t length) {
    struct nearest nearest;
    nearest_init(&nearest, id, length);
    for (uint32_t i = 0; i < document->node_count; i++) document_offer(&nearest, document->nodes[i].id);
    return nearest_hint(&nearest);
}

struct nearest_hint document_channel_hint(const struct document *document, const char *name, size_t length) {
    struct nearest nearest;
    nearest_init(&nearest, name, length);
    for (uint32_t i = 0; i < document->channel_count; i++)
        if (!document->channels[i].implicit) document_offer(&nearest, document->channels[i].name);
    return nearest_hint(&nearest);
}

const struct document_model *document_find_model(const struct document *document, const char *role) {
    int32_t index = names_find(&whole_of(document)->models, role, strlen(role));
    return index < 0 ? NULL : &document->models[index];
}

struct document *document_subgraph(const struct document *document, uint32_t node) {
    const struct document_whole *whole = whole_of(document);
    for (uint32_t i = 0; i < whole->subgraph_count; i++)
        if (whole->subgraph_nodes[i] == node) return whole->subgraphs[i];
    return NULL;
}

/* ---- Configs ---- */

struct node_files {
    const struct document *document;
    const struct catalog *catalog;
    struct error *error;
    bool failed;
};

static tn_value document_read_file(void *self, const char *pointer, const char *kind, tn_value name) {
    struct node_files *files = self;
    bool is_schema = strcmp(kind, CONFIG_SCHEMA_FILE) == 0;
    if (strcmp(kind, "file") != 0 && !is_schema) return NULL; /* the host resolves secrets */
    const struct catalog *catalog = files->catalog;
    const char *file = value_chars(name, NULL);
    struct catalog_file found = {NULL, NULL};
    struct error error = ERROR_INIT;
    tn_value text = NULL;
    if (catalog && catalog->read)
        text = catalog->read(catalog->read_self, files->document->source, file, &found, &error);
    else
        error_set(&error, TN_UNSUPPORTED, "UNSUPPORTED", "files are not read here");
    if (text && is_schema) {
        tn_value schema = config_schema_read(text, &error);
        value_unref(text);
        text = schema;
    }
    if (!text && !files->failed) {
        files->failed = true;
        error_set(files->error, TN_NOT_FOUND, "INVALID_GRAPH", "cannot read the file `%s`, named at `%s`: %s", file,
                  pointer, error.message);
    }
    catalog_file_finish(&found);
    error_finish(&error);
    return text;
}

tn_value document_written_config(const struct document *document, uint32_t node, const struct catalog *catalog,
                                 struct error *error) {
    const struct document_node *def = &document->nodes[node];
    tn_value config = value_ref(def->config);
    if (!def->component) return config;
    struct node_files files = {document, catalog, error, false};
    config = config_resolve_take(def->component->config, config, document_read_file, &files);
    if (!files.failed) return config;
    value_unref(config);
    return NULL;
}

tn_value document_node_config(const struct document *document, uint32_t node, const struct catalog *catalog,
                              struct error *error) {
    const struct document_node *def = &document->nodes[node];
    tn_value config = document_written_config(document, node, catalog, error);
    if (!config || !def->component) return config;
    tn_value filled = schema_with_defaults(def->component->config, config);
    value_unref(config);
    return filled;
}

bool document_uses_run(const struct expr *expr) {
    return expr_uses_beyond(expr, DOCUMENT_VARIABLE_RUN, "configurable") || expr_uses_now(expr);
}
