/*
 * builder_edge.c - the edges of a graph that is built by calls.
 *
 * Edges may be added before their nodes, so their ends are checked when the graph is compiled.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/embed/builder.h"
#include "host/embed/embed_function.h"
#include <string.h>

static void builder_add_edge_take(tenon_builder *builder, tn_value edge) {
    builder->edges = value_push_take(builder->edges, edge);
}

/* The strings of a list; NULL with the error set if the list, or one of them, is NULL or not UTF-8. */
static tn_value builder_names(tenon_builder *builder, const char *of, const char *what, const char *const *names,
                              uint32_t count) {
    if (!names || !count) {
        builder_fail(builder, "%s: the list of its %s is %s", of, what, names ? "empty" : "NULL");
        return NULL;
    }
    tn_value list = value_array_reserve(count);
    for (uint32_t i = 0; i < count; i++) {
        tn_value name = names[i] ? value_string(names[i], strlen(names[i])) : NULL;
        if (!name) {
            builder_fail(builder, "%s: %s %u is %s", of, what, i, names[i] ? "not UTF-8" : "NULL");
            value_unref(list);
            return NULL;
        }
        list = value_push_take(list, name);
    }
    return list;
}

int32_t tenon_add_edge(tenon_builder *builder, const char *from, const char *to) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    tn_value source = builder_text(builder, "an edge's source", from),
             target = source ? builder_text(builder, "an edge's target", to) : NULL;
    if (!source || !target) {
        value_unref(source);
        return TN_INVALID;
    }
    builder_add_edge_take(builder,
                          value_set_take(value_set_take(value_object_reserve(2), "from", source), "to", target));
    return TN_OK;
}

int32_t tenon_add_join(tenon_builder *builder, const char *const *from, uint32_t count, const char *to) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    tn_value target = builder_text(builder, "a join's target", to);
    if (!target) return TN_INVALID;
    tn_value where = value_format("the join to `%s`", to);
    tn_value sources = builder_names(builder, value_chars(where, NULL), "sources", from, count);
    value_unref(where);
    if (!sources) {
        value_unref(target);
        return TN_INVALID;
    }
    builder_add_edge_take(builder,
                          value_set_take(value_set_take(value_object_reserve(2), "from", sources), "to", target));
    return TN_OK;
}

int32_t tenon_add_map_edge(tenon_builder *builder, const char *from, const char *over, const char *as, const char *to,
                           const char *empty) {
    static const char *const keys[] = {"from", "over", "to", "as", "empty"};
    static const char *const names[] = {"a map edge's source", "a map edge's expression `over`", "a map edge's target",
                                        "the name of a map edge's items", "a map edge's target for an empty list"};
    const char *const texts[] = {from, over, to, as, empty};
    if (!embed_enter_of(builder)) return TN_INVALID;
    tn_value edge = value_set_take(value_object_reserve(6), "type", value_text("map"));
    for (size_t i = 0; i < 5; i++) {
        if (i >= 3 && !texts[i]) continue;
        tn_value text = builder_text(builder, names[i], texts[i]);
        if (!text) {
            value_unref(edge);
            return TN_INVALID;
        }
        edge = value_set_take(edge, keys[i], text);
    }
    builder_add_edge_take(builder, edge);
    return TN_OK;
}

int32_t tenon_add_conditional_edges(tenon_builder *builder, const char *from, const char *const *expressions,
                                    const char *const *targets, uint32_t count) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    tn_value source = builder_text(builder, "an edge's source", from), where = NULL, texts = NULL, names = NULL;
    if (!source) return TN_INVALID;
    where = value_format("the conditional edge from `%s`", from);
    texts = builder_names(builder, value_chars(where, NULL), "conditions", expressions, count);
    if (texts) names = builder_names(builder, value_chars(where, NULL), "targets", targets, count);
    value_unref(where);
    if (!names) {
        value_unref(texts);
        value_unref(source);
        return TN_INVALID;
    }
    tn_value conditions = value_array_reserve(count);
    for (uint32_t i = 0; i < count; i++) {
        tn_value condition = value_set_take(value_object_reserve(2), "expression", value_ref(value_at(texts, i)));
        conditions = value_push_take(conditions, value_set_take(condition, "to", value_ref(value_at(names, i))));
    }
    value_unref(texts);
    value_unref(names);
    tn_value edge = value_set_take(value_object_reserve(3), "from", source);
    edge = value_set_take(edge, "type", value_text("conditional"));
    builder_add_edge_take(builder, value_set_take(edge, "conditions", conditions));
    return TN_OK;
}

int32_t tenon_set_entry_point(tenon_builder *builder, const char *node) {
    return tenon_add_edge(builder, TENON_START, node);
}

int32_t tenon_set_finish_point(tenon_builder *builder, const char *node) {
    return tenon_add_edge(builder, node, TENON_END);
}

/* ---- Routes ---- */

struct route {
    tenon_function function;
    void *user;
};

static tn_value route_call(void *user, tenon_task *task, tn_value state, tn_value *error) {
    const struct route *route = user;
    (void)task;
    return route->function(route->user, state, error);
}

/* Registers the node type of a route. Returns its id, or NULL with the error set. */
static const char *route_register(tenon *handle, tenon_function function, void *user) {
    struct route *route = mem_alloc(sizeof *route);
    *route = (struct route){function, user};
    char *id = embed_program_name(handle, "embed.route.");
    static const char text[] =
        "{\"kind\": \"node\", \"title\": \"A route of the program\", \"style\": \"async\", \"effects\": [],"
        " \"documentation\": \"Calls a function with the state, which names the next nodes.\","
        " \"config\": {\"type\": \"object\", \"additionalProperties\": false, \"properties\": {\"targets\":"
        " {\"type\": \"array\", \"description\": \"What it may choose.\","
        " \"items\": {\"type\": \"string\", \"x-tenon\": \"node\"}}}}}";
    tn_value component = NULL;
    (void)json_read(text, sizeof text - 1, NULL, &component, NULL);
    component = value_set_take(component, "id", value_text(id));
    int32_t status = embed_function_add(handle, FUNCTION_ROUTE, id, component, route_call, route, mem_free);
    value_unref(component);
    return status == TN_OK ? id : NULL;
}

int32_t tenon_add_route(tenon_builder *builder, const char *from, tenon_function function, void *user,
                        const char *const *targets, uint32_t count) {
    if (!embed_enter_of(builder)) return TN_INVALID;
    tn_value source = builder_text(builder, "a route's source", from);
    if (!source) return TN_INVALID;
    tn_value where = value_format("the route after `%s`", from), names = NULL;
    if (!function)
        builder_fail(builder, "%s: its function is NULL", value_chars(where, NULL));
    else
        names = builder_names(builder, value_chars(where, NULL), "targets", targets, count);
    value_unref(where);
    const char *type = names ? route_register(builder->host, function, user) : NULL;
    int32_t status = TN_INVALID;
    if (type) {
        tn_value id = value_format("%s.route", from);
        tn_value config = value_set_take(value_object_reserve(1), "targets", value_ref(names));
        status = builder_add_node(builder, value_chars(id, NULL), type, config);
        value_unref(config);
        tn_value edge = value_set_take(value_object_reserve(2), "from", value_ref(source));
        edge = value_set_take(edge, "to", id);
        if (status == TN_OK)
            builder_add_edge_take(builder, edge);
        else
            value_unref(edge);
    }
    value_unref(names);
    value_unref(source);
    return status;
}
