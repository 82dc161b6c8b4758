/*
 * assistants.c - assistants: one for each graph that is served, and those that users have made (assistants_made.c). The
 * id of a graph's own is made from the graph's name, and the name can be used instead of it.
 */
#include "langgraph.h"

/* ---- Finding a graph ---- */

static bool is_assistant(tn_value graph, const char *assistant) {
    char id[UUID_TEXT];
    const char *name = tn_get_text(graph, "name", "");
    uuid_of_name(name, id);
    return strcmp(name, assistant) == 0 || strcmp(id, assistant) == 0;
}

bool select_graph(struct exchange *exchange, const char *assistant) {
    for (uint64_t i = 0, count = tn.value->count(exchange->graphs); i < count; i++) {
        if (!is_assistant(tn.value->at(exchange->graphs, i), assistant)) continue;
        serving_graph_read(tn.value->at(exchange->graphs, i), &exchange->graph);
        return true;
    }
    return false;
}

static void not_found(struct exchange *exchange) {
    refuse(exchange, 404, "Assistant '%.100s' not found",
           tn_get_text(exchange->body, "assistant_id", param(exchange, "assistant")));
}

/* One that a user has made. */
static void on_made(struct exchange *exchange, bool ok, tn_value value) {
    exchange->assistant = ok && tn.value->kind(value) == TN_OBJECT ? tn_retain(value) : NULL;
    if (!ok)
        refuse_error(exchange, value);
    else if (exchange->assistant != NULL && select_graph(exchange, tn_get_text(tn_get(value, "value"), "graph_id", "")))
        exchange->with_graph(exchange);
    else
        not_found(exchange);
}

static void on_graphs(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    const char *assistant = tn_get_text(exchange->body, "assistant_id", param(exchange, "assistant"));
    exchange->lookup = NULL;
    exchange->graphs = tn_retain(graphs);
    if (graphs == NULL)
        refuse_error(exchange, error);
    else if (select_graph(exchange, assistant))
        exchange->with_graph(exchange);
    else if (is_uuid(assistant))
        ask(exchange, "memory/get", tn_build("{s:V, s:s}", "namespace", assistants_namespace(), "key", assistant),
            on_made);
    else
        not_found(exchange);
}

void find_graph(struct exchange *exchange, void (*then)(struct exchange *exchange)) {
    exchange->with_graph = then;
    exchange->lookup = serving_graphs(&exchange->langgraph->serving, exchange->caller, on_graphs, exchange);
    if (exchange->lookup == NULL) refuse(exchange, 503, "memory ran out");
}

void find_in_path(struct exchange *exchange, void (*then)(struct exchange *exchange)) {
    exchange->body = NULL;
    find_graph(exchange, then);
}

/* ---- Schemas ---- */

/* A schema of any object, with the channels as members. */
static tn_value schema_of(tn_value given, tn_value channels) {
    if (tn.value->kind(given) == TN_OBJECT) return tn_retain(given);
    tn_value members = tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(channels); i < count; i++)
        members = tn_set_take(members, tn_get_text(tn.value->at(channels, i), "name", ""), tn_build("{}"));
    return tn_build("{s:s, s:V}", "type", "object", "properties", members);
}

static void schemas_then(struct exchange *exchange) {
    tn_value item = exchange->graph.item, channels = tn_get(item, "channels");
    reply(exchange, 200,
          tn_build("{s:s, s:V, s:V, s:V, s:{s:s}, s:{s:s}}", "graph_id", exchange->graph.name, "input_schema",
                   schema_of(tn_get(item, "input"), channels), "output_schema",
                   schema_of(tn_get(item, "output"), channels), "state_schema", schema_of(NULL, channels),
                   "config_schema", "type", "object", "context_schema", "type", "object"));
}
void assistant_schemas(struct exchange *exchange) { find_in_path(exchange, schemas_then); }

/* ---- The picture of a graph ---- */

static tn_value node_value(const char *id) {
    return tn_build("{s:s, s:s, s:{s:s}}", "id", id, "type", "runnable", "data", "name", id);
}

static const char *end_name(const char *name) {
    return strcmp(name, "START") == 0 ? "__start__" : strcmp(name, "END") == 0 ? "__end__" : name;
}

static void add_edge(tn_value *edges, const char *from, tn_value to, bool conditional) {
    const char *target = tn_chars(to, NULL);
    if (target != NULL)
        (void)tn_append_take(edges, tn_build("{s:s, s:s, s:b}", "source", end_name(from), "target", end_name(target),
                                             "conditional", (int)conditional));
}

static void answer_graph(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok) {
        refuse_error(exchange, value);
        return;
    }
    tn_value nodes = tn_build("[VV]", node_value("__start__"), node_value("__end__")), edges = tn_build("[]");
    tn_value given = tn_get(tn_get(value, "graph"), "nodes"), arrows = tn_get(tn_get(value, "graph"), "edges");
    for (uint64_t i = 0, count = tn.value->count(given); i < count; i++)
        (void)tn_append_take(&nodes, node_value(tn_get_text(tn.value->at(given, i), "id", "")));
    for (uint64_t i = 0, count = tn.value->count(arrows); i < count; i++) {
        tn_value edge = tn.value->at(arrows, i), to = tn_get(edge, "to");
        const char *from = tn_get_text(edge, "from", "");
        bool conditional = serving_true(tn_get(edge, "dashed"));
        add_edge(&edges, from, to, conditional);
    }
    reply(exchange, 200, tn_build("{s:V, s:V}", "nodes", nodes, "edges", edges));
}

static void graph_then(struct exchange *exchange) {
    ask(exchange, "document/graph", tn_build("{s:s, s:s}", "document", exchange->graph.document, "format", "json"),
        answer_graph);
}
void assistant_graph(struct exchange *exchange) { find_in_path(exchange, graph_then); }

static void subgraphs_then(struct exchange *exchange) { reply(exchange, 200, tn_build("{}")); }
void assistant_subgraphs(struct exchange *exchange) { find_in_path(exchange, subgraphs_then); }
