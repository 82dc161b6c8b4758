/*
 * embed_alone.c - a node by itself, as a graph of one node.
 *
 * The channels of the graph are the names that the node binds. To find them, its document is first checked without
 * channels; only names that are missing are no mistakes then. After that the node is created once with a scope that has
 * every name, and in which every component that it calls does nothing. Nodes that a router may choose become nodes that
 * write their own name to `goto`.
 *
 * A node of the program binds every channel of its graph, so its names are known only when it runs. Its graph has one
 * channel for all of them (GRAPH_WHOLE_STATE).
 *
 * Its input needs a channel if a template requires a value of it, or if the configuration names it as a channel that
 * the node reads and does not write. A null in other channels is a value to the node.
 */
#include "host/embed/embed_alone.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/schema/schema.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/embed/embed_program.h"
#include "host/engine/execution/compose.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

#define GOTO "goto" /* the channel that receives the name of the chosen node */

/* ---- What the node binds ---- */

/* The names of fields by index; those of them that are read, or written; and those whose value a template needs. */
struct alone_names {
    tn_value fields, reads, writes, needed;
};

static int32_t list_find(tn_value list, const char *name) {
    for (size_t i = 0, n = value_count(list); i < n; i++)
        if (value_text_is(value_at(list, i), name)) return (int32_t)i;
    return -1;
}

static int32_t alone_field(void *self, const char *name) {
    struct alone_names *names = self;
    int32_t found = list_find(names->fields, name);
    if (found >= 0) return found;
    names->fields = value_push_take(names->fields, value_text(name));
    return (int32_t)value_count(names->fields) - 1;
}

static int32_t alone_channel(void *self, const char *name) {
    struct alone_names *names = self;
    if (list_find(names->writes, name) < 0) names->writes = value_push_take(names->writes, value_text(name));
    return alone_field(self, name);
}

/* A template asks this for a name that must have a value. */
static bool alone_nullable(void *self, uint32_t field) {
    struct alone_names *names = self;
    names->needed = value_push_take(names->needed, value_ref(value_at(names->fields, field)));
    return true;
}

static const char *alone_field_name(void *self, uint32_t field) {
    return value_chars(value_at(((struct alone_names *)self)->fields, field), NULL);
}

static struct callable *alone_callee(void *self, struct authority *caller, const char *kind, const char *name,
                                     tn_value config, struct error *error) {
    (void)self, (void)caller, (void)kind, (void)name, (void)config, (void)error;
    return identity_new();
}

static int32_t alone_tools(void *self, struct authority *caller, tn_value names, struct callable **out,
                           struct error *error) {
    (void)self, (void)caller, (void)names, (void)error;
    *out = identity_new();
    return TN_OK;
}

/* `config` is checked and complete. */
static int32_t alone_collect(struct alone_names *names, struct component *component, tn_value config,
                             struct error *error) {
    const struct instance_scope scope = {.self = names,
                                         .field = alone_field,
                                         .channel = alone_channel,
                                         .callee = alone_callee,
                                         .tools = alone_tools,
                                         .field_name = alone_field_name,
                                         .nullable = alone_nullable,
                                         .where = "a node by itself",
                                         .node = component->info->id};
    struct callable *instance = NULL;
    int32_t status = instance_new(component, config, &scope, &instance, error);
    if (status != TN_OK) return status;
    uint32_t count;
    const uint32_t *reads = instance_reads(instance, &count);
    for (uint32_t i = 0; i < count; i++)
        names->reads = value_push_take(names->reads, value_ref(value_at(names->fields, reads[i])));
    callable_unref(instance);
    return TN_OK;
}

/* The nodes that the configuration names. */
static void alone_on_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    tn_value *targets = self;
    (void)pointer, (void)on_key;
    if (!value_text_is(annotation, "node") || !value_is(where, TN_STRING)) return;
    const char *name = value_chars(where, NULL);
    if (strcmp(name, "END") == 0 || strcmp(name, TENON_END) == 0 || list_find(*targets, name) >= 0) return;
    *targets = value_push_take(*targets, value_ref(where));
}

/* The channels that the configuration names, by what the node does with them; and names that its templates define. */
struct alone_given {
    tn_value reads, writes, variables;
};

static void alone_on_channel(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct alone_given *given = self;
    (void)pointer, (void)on_key;
    if (!value_is(where, TN_STRING)) return;
    if (value_text_is(annotation, "channel-read")) given->reads = value_push_take(given->reads, value_ref(where));
    if (value_text_is(annotation, "channel-write")) given->writes = value_push_take(given->writes, value_ref(where));
}

static void alone_on_variables(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct alone_given *given = self;
    (void)pointer, (void)on_key, (void)where;
    for (size_t i = 0, n = value_is(annotation, TN_ARRAY) ? value_count(annotation) : 0; i < n; i++)
        given->variables = value_push_take(given->variables, value_ref(value_at(annotation, i)));
}

static tn_value names_add_take(tn_value names, tn_value name) {
    return list_find(names, value_chars(name, NULL)) < 0 ? value_push_take(names, value_ref(name)) : names;
}

/* The channels that need a value in the input. `config` is as the program gave it, or NULL. A new reference. */
static tn_value alone_required(const struct component_info *info, tn_value config, const struct alone_names *names) {
    struct alone_given given = {value_array(), value_array(), value_array()};
    tn_value required = value_array();
    if (config) {
        schema_each_annotation(info->config, config, "x-tenon", alone_on_channel, &given);
        schema_each_annotation(info->config, config, "x-tenon-variables", alone_on_variables, &given);
    }
    for (size_t i = 0, n = value_count(given.reads); i < n; i++) {
        tn_value name = value_at(given.reads, i);
        if (list_find(given.writes, value_chars(name, NULL)) < 0) required = names_add_take(required, name);
    }
    for (size_t i = 0, n = value_count(names->needed); i < n; i++) {
        tn_value name = value_at(names->needed, i);
        if (list_find(given.variables, value_chars(name, NULL)) < 0) required = names_add_take(required, name);
    }
    value_unref(given.reads);
    value_unref(given.writes);
    value_unref(given.variables);
    return required;
}

/* ---- Its schemas ---- */

/* An object with these channels. New references, as are the results of the next functions. */
static tn_value schema_of_channels(tn_value type, tn_value names) {
    tn_value properties = value_object();
    for (size_t i = 0, n = value_count(names); i < n; i++)
        properties = value_set_key_take(properties, value_ref(value_at(names, i)), value_object());
    tn_value schema = value_set_take(value_object_reserve(4), "type", type);
    return value_set_take(schema, "properties", properties);
}

/* Null is an empty object. NULL for a node that accepts anything: one that writes nothing, and needs nothing. */
static tn_value alone_input_schema(const struct alone_names *names, tn_value required, bool transparent) {
    bool any = value_count(required) == 0;
    if (any && transparent) return NULL;
    tn_value type = value_text("object");
    if (any) type = value_push_take(value_push_take(value_array(), type), value_text("null"));
    tn_value schema = schema_of_channels(type, names->reads);
    return any ? schema : value_set_take(schema, "required", value_ref(required));
}

static tn_value alone_output_schema(tn_value writes) {
    return value_set_take(schema_of_channels(value_text("object"), writes), "additionalProperties", value_bool(false));
}

/* ---- The graph ---- */

static tn_value object_of(const char *key, tn_value value) {
    return value_set_take(value_object_reserve(4), key, value);
}

static tn_value alone_channel_value(tn_value name) {
    return value_set_take(object_of("name", value_ref(name)), "type", value_text("last_value"));
}

/* The two channels of GRAPH_WHOLE_STATE. */
static tn_value alone_whole_channels(void) {
    tn_value state = value_set_take(object_of("name", value_text("state")), "type", value_text("reduce"));
    state = value_set_take(value_set_take(state, "reducer", value_text("merge")), "default", value_object());
    tn_value output = value_set_take(object_of("name", value_text("output")), "type", value_text("ephemeral"));
    output = value_set_take(output, "default", value_object());
    return value_push_take(value_push_take(value_array(), state), output);
}

static tn_value alone_edge(tn_value from, tn_value to) { return value_set_take(object_of("from", from), "to", to); }

/* {id: NAME, type: set, config: {values: {goto: "NAME"}}} */
static tn_value alone_target(tn_value name) {
    char *text = json_text(name, JSON_COMPACT);
    tn_value values = object_of(GOTO, value_text(text));
    mem_free(text);
    tn_value node = value_set_take(object_of("id", value_ref(name)), "type", value_text("set"));
    return value_set_take(node, "config", object_of("values", values));
}

/* The id of the node: that of its type, unless a target has it. */
static tn_value alone_id(const char *type, tn_value targets) {
    return list_find(targets, type) < 0 ? value_text(type) : value_format("%s (itself)", type);
}

/* `names` is NULL for a node of the program. */
static tn_value alone_document(const struct component_info *info, tn_value config, const struct alone_names *names,
                               tn_value targets) {
    tn_value channels = names ? value_array() : alone_whole_channels();
    tn_value nodes = value_array(), edges = value_array(), properties = value_object();
    tn_value id = alone_id(info->id, targets);
    for (size_t i = 0, n = names ? value_count(names->fields) : 0; i < n; i++)
        channels = value_push_take(channels, alone_channel_value(value_at(names->fields, i)));
    for (size_t i = 0, n = names ? value_count(names->writes) : 0; i < n; i++)
        properties = value_set_key_take(properties, value_ref(value_at(names->writes, i)), value_object());
    tn_value node = value_set_take(object_of("id", value_ref(id)), "type", value_text(info->id));
    if (config) node = value_set_take(node, "config", value_ref(config));
    nodes = value_push_take(nodes, node);
    edges = value_push_take(edges, alone_edge(value_text("START"), value_ref(id)));
    if (value_count(targets) == 0) edges = value_push_take(edges, alone_edge(value_ref(id), value_text("END")));
    for (size_t i = 0, n = value_count(targets); i < n; i++)
        nodes = value_push_take(nodes, alone_target(value_at(targets, i)));
    if (value_count(targets) && names && list_find(names->fields, GOTO) < 0) {
        tn_value name = value_text(GOTO);
        channels = value_push_take(channels, value_set_take(alone_channel_value(name), "default", value_text("END")));
        value_unref(name);
    }
    if (value_count(targets)) properties = value_set_take(properties, GOTO, value_object());
    tn_value document = value_set_take(object_of("version", value_text("1.0")), "channels", channels);
    document = value_set_take(value_set_take(document, "nodes", nodes), "edges", edges);
    if (value_count(properties)) {
        tn_value output = value_set_take(object_of("type", value_text("object")), "properties", properties);
        document = value_set_take(document, "output", output);
    } else {
        value_unref(properties);
    }
    value_unref(id);
    return document;
}

/* ---- Building ---- */

/* The text of a document, and its name for messages. */
struct alone_text {
    tn_value name;
    char *text;
};

static struct alone_text alone_text(const struct component_info *info, tn_value document) {
    return (struct alone_text){value_format("%s.json", info->id), json_text(document, JSON_INDENTED)};
}

static void alone_text_finish(struct alone_text *text) {
    value_unref(text->name);
    mem_free(text->text);
}

/* What is reported only because the document has no channels yet. */
static bool is_missing_name(void *user, const struct diagnostic *diagnostic) {
    (void)user;
    return diagnostic->code == ADL_E041 || diagnostic->code == ADL_E047 || diagnostic->code == ADL_E059;
}

/* The configuration with its defaults, and with the texts of files; NULL with the error of the handle. */
static tn_value alone_config(tenon *handle, const struct component_info *info, tn_value document_value) {
    const struct catalog *catalog = host_catalog(handle->host);
    struct alone_text text = alone_text(info, document_value);
    struct source *source = source_new(value_chars(text.name, NULL), text.text, strlen(text.text));
    tn_value config = NULL;
    source_set_origin(source, SOURCE_WITHOUT_FILE, NULL);
    diagnostics_free(handle->diagnostics);
    handle->diagnostics = diagnostics_new();
    struct document *document = document_read(source, catalog, handle->diagnostics);
    diagnostics_remove(handle->diagnostics, is_missing_name, NULL);
    if (diagnostics_errors(handle->diagnostics))
        graph_refuse(&handle->error, source_name(source), handle->diagnostics);
    else
        config = document_node_config(document, 0, catalog, &handle->error);
    document_unref(document);
    source_unref(source);
    alone_text_finish(&text);
    return config;
}

static tenon_runnable *alone_build(tenon *handle, const struct component_info *info, tn_value document, bool whole) {
    struct alone_text text = alone_text(info, document);
    const struct graph_origin origin = {.alone = true, .whole = whole};
    tenon_runnable *runnable = embed_graph(handle, value_chars(text.name, NULL), text.text, strlen(text.text), &origin);
    alone_text_finish(&text);
    return runnable;
}

/* The nodes that the configuration names. A new reference. */
static tn_value alone_targets(const struct component_info *info, tn_value config) {
    tn_value targets = value_array(), filled = schema_with_defaults(info->config, config ? config : value_object());
    schema_each_annotation(info->config, filled, "x-tenon", alone_on_annotation, &targets);
    value_unref(filled);
    return targets;
}

/* A node of the program: its schemas are those that it declares. */
static tenon_runnable *alone_of_program(tenon *handle, const struct component_info *info, tn_value config) {
    tn_value targets = value_array(), document = alone_document(info, config, NULL, targets);
    tenon_runnable *runnable = alone_build(handle, info, document, true);
    tn_value input = value_get(info->manifest, "input");
    value_unref(document);
    value_unref(targets);
    if (!runnable) return NULL;
    tn_value kinds = value_push_take(value_push_take(value_array(), value_text("object")), value_text("null"));
    runnable->input = input ? value_ref(input) : object_of("type", value_ref(kinds));
    runnable->output = value_ref(value_get(info->manifest, "output"));
    value_unref(kinds);
    return runnable;
}

static void alone_set_schemas(tenon_runnable *runnable, const struct component_info *info, tn_value config,
                              const struct alone_names *names, bool chooses) {
    tn_value writes = value_ref(names->writes), required = alone_required(info, config, names);
    if (chooses) writes = value_push_take(writes, value_text(GOTO));
    runnable->transparent = value_count(writes) == 0;
    runnable->input = alone_input_schema(names, required, runnable->transparent);
    runnable->output = runnable->transparent ? NULL : alone_output_schema(writes);
    value_unref(required);
    value_unref(writes);
}

tenon_runnable *embed_alone(tenon *handle, struct component *component, tn_value config) {
    const struct component_info *info = component->info;
    if (strcmp(plugin_id(component->plugin), EMBED_PROGRAM_ID) == 0) return alone_of_program(handle, info, config);
    struct alone_names names = {value_array(), value_array(), value_array(), value_array()};
    tenon_runnable *runnable = NULL;
    tn_value targets = alone_targets(info, config), document = alone_document(info, config, &names, targets);
    tn_value whole = alone_config(handle, info, document);
    if (whole && alone_collect(&names, component, whole, &handle->error) == TN_OK) {
        value_unref(document);
        document = alone_document(info, config, &names, targets);
        runnable = alone_build(handle, info, document, false);
    }
    if (runnable) alone_set_schemas(runnable, info, config, &names, value_count(targets) > 0);
    value_unref(whole);
    value_unref(document);
    value_unref(targets);
    value_unref(names.fields);
    value_unref(names.reads);
    value_unref(names.writes);
    value_unref(names.needed);
    return runnable;
}
