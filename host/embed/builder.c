/*
 * builder.c - builds a graph by function calls. The calls make a document as a value, which is then read, checked and
 * built like a document from a file, so both ways have the same rules.
 *
 * Each node that calls a runnable, and each route, gets its own node type, registered with a generated id.
 */
#include "host/embed/builder.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/embed/embed_node.h"
#include "host/engine/graph/graph.h"
#include <string.h>

tenon_builder *tenon_builder_new(tenon *host, const char *name) {
    if (!embed_enter(host)) return NULL;
    tn_value text = value_string(name ? name : "graph", strlen(name ? name : "graph"));
    if (!text) {
        error_set(&host->error, TN_INVALID, "INVALID_INPUT", "the graph's name is not UTF-8");
        return NULL;
    }
    tenon_builder *builder = mem_zalloc(sizeof *builder);
    tn_value agent = value_set_take(value_object_reserve(1), "name", value_ref(text));
    *builder = (tenon_builder){host,          text,          value_set_take(value_object_reserve(1), "agent", agent),
                               value_array(), value_array(), value_array()};
    embed_object_add(host);
    return builder;
}

void tenon_builder_free(tenon_builder *builder) {
    if (!builder || !embed_check_thread(builder->host)) return;
    tenon *handle = builder->host;
    value_unref(builder->name);
    value_unref(builder->sections);
    value_unref(builder->channels);
    value_unref(builder->nodes);
    value_unref(builder->edges);
    mem_free(builder);
    embed_object_remove(handle);
}

int32_t builder_fail(tenon_builder *builder, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int32_t status = error_vset(&builder->host->error, TN_INVALID, "INVALID_INPUT", format, args);
    va_end(args);
    return status;
}

tn_value builder_text(tenon_builder *builder, const char *what, const char *text) {
    tn_value value = text ? value_string(text, strlen(text)) : NULL;
    if (!value) builder_fail(builder, "%s is %s", what, text ? "not UTF-8" : "NULL");
    return value;
}

/* ---- Sections ---- */

static const char *const sections[] = {"agent", "defaults", "models", "tools", "budget", "input", "output", "requires"};

int32_t tenon_builder_set(tenon_builder *builder, const char *section, tn_value value) {
    struct nearest nearest;
    if (!embed_enter_of(builder)) return TN_INVALID;
    if (!section || !value)
        return builder_fail(builder, "tenon_builder_set: the %s is NULL", section ? "value" : "section's name");
    nearest_init(&nearest, section, strlen(section));
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        nearest_add_candidate(&nearest, sections[i], strlen(sections[i]));
        if (strcmp(sections[i], section) != 0) continue;
        tn_value whole = value_ref(value);
        bool unnamed = i == 0 && value_is(value, TN_OBJECT) && !value_get(value, "name");
        if (unnamed) whole = value_set_take(whole, "name", value_ref(builder->name));
        builder->sections = value_set_take(builder->sections, section, whole);
        return TN_OK;
    }
    return builder_fail(builder, "tenon_builder_set: a document has no section `%s`%s", section,
                        nearest_hint(&nearest).text);
}

int32_t tenon_add_model(tenon_builder *builder, const char *role, tn_value binding) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    tn_value name = builder_text(builder, "a model's role", role);
    if (!name) return TN_INVALID;
    tn_value models = value_get(builder->sections, "models");
    if (!binding || (models && !value_is(models, TN_OBJECT))) {
        value_unref(name);
        return builder_fail(builder,
                            binding ? "the section `models`, set before the role `%s`, is not an object"
                                    : "the model of the role `%s` is NULL",
                            role);
    }
    models = value_set_key_take(models ? value_ref(models) : value_object(), name, value_ref(binding));
    builder->sections = value_set_take(builder->sections, "models", models);
    return TN_OK;
}

int32_t tenon_add_tool(tenon_builder *builder, const char *name, tn_value options) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    tn_value id = builder_text(builder, "a tool's name", name), tools = value_get(builder->sections, "tools");
    if (!id) return TN_INVALID;
    if ((options && !value_is(options, TN_OBJECT)) || (tools && !value_is(tools, TN_ARRAY))) {
        value_unref(id);
        return builder_fail(builder, "the %s of the tool `%s` %s not %s", options ? "options" : "section `tools`", name,
                            options ? "are" : "is", options ? "an object" : "a list");
    }
    tn_value tool = value_set_take(options ? value_ref(options) : value_object(), "name", id);
    tools = value_push_take(tools ? value_ref(tools) : value_array(), tool);
    builder->sections = value_set_take(builder->sections, "tools", tools);
    return TN_OK;
}

/* ---- Channels and nodes ---- */

/* The item of a list of objects whose `key` is this text, or -1. */
static ptrdiff_t builder_find(tn_value list, const char *key, const char *text) {
    for (size_t i = 0, n = value_count(list); i < n; i++)
        if (value_text_is(value_get(value_at(list, i), key), text)) return (ptrdiff_t)i;
    return -1;
}

bool builder_has_node(const tenon_builder *builder, const char *id) {
    return builder_find(builder->nodes, "id", id) >= 0;
}

int32_t tenon_add_channel(tenon_builder *builder, const char *name, const char *type, tn_value initial) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    tn_value id = builder_text(builder, "a channel's name", name),
             kind = id ? builder_text(builder, "a channel's type", type) : NULL;
    if (id && kind && builder_find(builder->channels, "name", name) >= 0) {
        builder_fail(builder, "the graph has the channel `%s` already", name);
        value_unref(kind);
        kind = NULL;
    }
    if (!id || !kind) {
        value_unref(id);
        return TN_INVALID;
    }
    tn_value channel = value_set_take(value_object_reserve(4), "name", id);
    if (strncmp(type, "reduce:", 7) == 0) {
        channel = value_set_take(channel, "type", value_text("reduce"));
        channel = value_set_take(channel, "reducer", value_string(type + 7, strlen(type + 7)));
        value_unref(kind);
    } else {
        channel = value_set_take(channel, "type", kind);
    }
    if (initial) channel = value_set_take(channel, "default", value_ref(initial));
    builder->channels = value_push_take(builder->channels, channel);
    return TN_OK;
}

int32_t builder_add_node(tenon_builder *builder, const char *id, const char *type, tn_value config) {
    tn_value name = builder_text(builder, "a node's id", id),
             kind = name ? builder_text(builder, "a node's type", type) : NULL;
    if (name && kind && builder_has_node(builder, id)) {
        builder_fail(builder, "the graph has the node `%s` already", id);
        value_unref(kind);
        kind = NULL;
    }
    if (!name || !kind) {
        value_unref(name);
        return TN_INVALID;
    }
    tn_value node = value_set_take(value_object_reserve(3), "id", name);
    node = value_set_take(node, "type", kind);
    if (config) node = value_set_take(node, "config", value_ref(config));
    builder->nodes = value_push_take(builder->nodes, node);
    return TN_OK;
}

int32_t tenon_add_node(tenon_builder *builder, const char *id, const char *type, tn_value config) {
    return embed_enter_of(builder) ? builder_add_node(builder, id, type, config) : TN_INVALID;
}

int32_t tenon_add_node_runnable(tenon_builder *builder, const char *id, tenon_runnable *runnable) {
    const char *type;
    if (!embed_enter_of(builder)) return TN_INVALID;
    if (!embed_check_runnable(builder->host, runnable)) return TN_INVALID;
    if (id && builder_has_node(builder, id)) return builder_fail(builder, "the graph has the node `%s` already", id);
    int32_t status = embed_node_register(builder->host, runnable->callable, &type);
    return status == TN_OK ? builder_add_node(builder, id, type, NULL) : status;
}

int32_t tenon_set_node(tenon_builder *builder, const char *id, tn_value members) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    ptrdiff_t at = id ? builder_find(builder->nodes, "id", id) : -1;
    if (at < 0) return builder_fail(builder, "the graph has no node `%s`; add it first", id ? id : "NULL");
    if (!members || !value_is(members, TN_OBJECT))
        return builder_fail(builder, "the members of the node `%s` are %s, expected an object", id,
                            members ? value_kind_name(value_kind(members)) : "NULL");
    if (value_get(members, "id")) return builder_fail(builder, "the id of the node `%s` cannot be changed", id);
    tn_value node = value_ref(value_at(builder->nodes, (size_t)at));
    for (size_t i = 0, n = value_count(members); i < n; i++)
        node = value_set_key_take(node, value_ref(value_key_at(members, i)), value_ref(value_value_at(members, i)));
    builder->nodes = value_replace_take(builder->nodes, (size_t)at, node);
    return TN_OK;
}

int32_t tenon_builder_add(tenon_builder *builder, const char *list, tn_value item) {
    static const char *const names[] = {"channels", "nodes", "edges"}, *const keys[] = {"name", "id", NULL};
    if (!embed_enter_of(builder)) return TN_INVALID;
    if (!list) return builder_fail(builder, "tenon_builder_add: the list's name is NULL");
    if (!item || !value_is(item, TN_OBJECT))
        return builder_fail(builder, "tenon_builder_add: an item of `%s` is %s, expected an object", list,
                            item ? value_kind_name(value_kind(item)) : "NULL");
    tn_value *lists[] = {&builder->channels, &builder->nodes, &builder->edges};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(names[i], list) != 0) continue;
        tn_value name = keys[i] ? value_get(item, keys[i]) : NULL;
        if (value_is(name, TN_STRING) && builder_find(*lists[i], keys[i], value_chars(name, NULL)) >= 0)
            return builder_fail(builder, "the graph has the %s `%s` already", i ? "node" : "channel",
                                value_chars(name, NULL));
        *lists[i] = value_push_take(*lists[i], value_ref(item));
        return TN_OK;
    }
    return builder_fail(builder, "tenon_builder_add: found the list `%s`, expected channels, nodes or edges", list);
}

/* ---- The document ---- */

static tn_value builder_document(const tenon_builder *builder) {
    tn_value document = value_set_take(value_object_reserve(8), "version", value_text("1.0"));
    for (size_t i = 0, n = value_count(builder->sections); i < n; i++)
        document = value_set_key_take(document, value_ref(value_key_at(builder->sections, i)),
                                      value_ref(value_value_at(builder->sections, i)));
    document = value_set_take(document, "channels", value_ref(builder->channels));
    document = value_set_take(document, "nodes", value_ref(builder->nodes));
    return value_set_take(document, "edges", value_ref(builder->edges));
}

tn_value tenon_builder_document(tenon_builder *builder) {
    return embed_enter_of(builder) ? builder_document(builder) : NULL;
}

tenon_runnable *tenon_compile(tenon_builder *builder) {
    if (!embed_enter_of(builder)) return NULL;
    tn_value document = builder_document(builder);
    char *text = json_text(document, JSON_INDENTED);
    tn_value name = value_format("%s.json", value_chars(builder->name, NULL));
    tenon_runnable *runnable =
        embed_graph(builder->host, value_chars(name, NULL), text, strlen(text), &(struct graph_origin){0});
    if (!runnable) builder_explain(builder, value_chars(name, NULL), text, document);
    value_unref(name);
    value_unref(document);
    mem_free(text);
    return runnable;
}
