/*
 * serving_graph.c - the graphs that a user may run, and which of their channels receives what a client sends.
 */
#include "serving.h"
#include <stdio.h>

static const char messages_name[] = "messages", tools_name[] = "tools";

/* ---- Reading a description ---- */

static tn_value find_channel(tn_value item, const char *name) {
    tn_value channels = tn_get(item, "channels");
    for (uint64_t i = 0, count = tn.value->count(channels); i < count; i++)
        if (serving_is(tn_get(tn.value->at(channels, i), "name"), name)) return tn.value->at(channels, i);
    return NULL;
}

static bool channel_keeps_messages(tn_value channel) {
    const char *type = tn_get_text(channel, "type", "");
    return strcmp(type, "append") == 0 ||
           (strcmp(type, "reduce") == 0 && serving_is(tn_get(channel, "reducer"), messages_name));
}

/* The only member of the input that is a text; NULL if there is none, or several. */
static const char *only_text(tn_value input) {
    tn_value members = tn_get(input, "properties"), key, member;
    const char *found = NULL;
    for (uint64_t i = 0, count = tn.value->count(members); i < count; i++) {
        if (tn.value->entry(members, i, &key, &member) != TN_OK || !serving_is(tn_get(member, "type"), "string"))
            continue;
        if (found != NULL) return NULL;
        found = tn_chars(key, NULL);
    }
    return found;
}

void serving_graph_read(tn_value item, struct serving_graph *graph) {
    tn_value channel = find_channel(item, messages_name);
    const char *text = only_text(tn_get(item, "input"));
    *graph = (struct serving_graph){.item = item,
                                    .name = tn_get_text(item, "name", ""),
                                    .title = tn_get_text(item, "title", NULL),
                                    .description = tn_get_text(item, "description", NULL),
                                    .document = tn_get_text(item, "document", ""),
                                    .input = SERVING_JSON_INPUT,
                                    .has_tools = find_channel(item, tools_name) != NULL};
    if (channel != NULL && channel_keeps_messages(channel)) {
        graph->input = SERVING_MESSAGES;
        graph->channel = messages_name;
        graph->removes = serving_is(tn_get(channel, "type"), "reduce");
    } else if (text != NULL) {
        graph->input = SERVING_ONE_TEXT;
        graph->channel = text;
    }
}

tn_value serving_graph_find(tn_value graphs, const char *name) {
    if (name == NULL) return tn.value->at(graphs, 0);
    for (uint64_t i = 0, count = tn.value->count(graphs); i < count; i++)
        if (serving_is(tn_get(tn.value->at(graphs, i), "name"), name)) return tn.value->at(graphs, i);
    return NULL;
}

tn_value serving_graph_missing(const char *name, const char *path) {
    char text[200];
    if (name != NULL)
        (void)snprintf(text, sizeof text, "this server has no graph `%.*s`", SERVING_NAME_MAX, name);
    else
        (void)snprintf(text, sizeof text, "this server has not exactly one graph: name it, %.100s", path);
    return tn_build("{s:s, s:V}", "code", "NOT_FOUND", "message", tn_text_lossy(text, strlen(text)));
}

/* ---- The result ---- */

/* The members of the state that are not the input, and not null. A new reference. */
static tn_value result_members(const struct serving_graph *graph, tn_value state) {
    tn_builder *builder = tn_builder_new();
    tn_value key, member;
    tn_put_begin(builder, NULL, TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(state); i < count; i++) {
        if (tn.value->entry(state, i, &key, &member) != TN_OK || tn.value->kind(member) == TN_NULL) continue;
        if (graph->input == SERVING_ONE_TEXT && serving_is(key, graph->channel)) continue;
        if (!(graph->has_tools && serving_is(key, tools_name))) tn_put_key(builder, key, member);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value serving_result_text(const struct serving_graph *graph, tn_value state) {
    static const char *const names[] = {"answer", "output", "result", "response", "text"};
    if (tn.value->kind(state) == TN_STRING) return tn_retain(state);
    if (tn.value->kind(state) != TN_OBJECT) return state != NULL ? tn_to_json(state) : NULL;
    tn_value rest = result_members(graph, state), text = NULL, key, member;
    for (size_t i = 0; text == NULL && i < sizeof names / sizeof *names; i++)
        if (tn_chars(tn_get(rest, names[i]), NULL) != NULL) text = tn_retain(tn_get(rest, names[i]));
    if (text == NULL && tn.value->count(rest) == 1 && tn.value->entry(rest, 0, &key, &member) == TN_OK &&
        tn_chars(member, NULL) != NULL)
        text = tn_retain(member);
    if (text == NULL && tn.value->count(rest) > 0) text = tn_to_json(rest);
    tn_release(rest);
    return text;
}

/* ---- Listing ---- */

struct serving_lookup {
    const struct serving *serving;
    uint64_t caller, number; /* of the call that is open */
    serving_graphs_handler *handler;
    void *user;
    tn_value graphs, read; /* the items; those that have been completed */
    bool named;            /* one graph is looked up */
};

void serving_graphs_cancel(struct serving_lookup *lookup) {
    if (lookup == NULL) return;
    serving_cancel(lookup->serving, lookup->number);
    tn_release(lookup->graphs);
    tn_release(lookup->read);
    serving_free(lookup);
}

static void lookup_end(struct serving_lookup *lookup, tn_value error) {
    tn_value graphs = error == NULL ? tn_retain(lookup->read) : NULL;
    serving_graphs_handler *handler = lookup->handler;
    void *user = lookup->user;
    lookup->number = 0;
    serving_graphs_cancel(lookup);
    handler(user, graphs, error);
    tn_release(graphs);
}

static void describe_next(struct serving_lookup *lookup);

/* A document that cannot be described now is listed without channels, and its run reports why. */
static void TN_ABI on_described(void *user, int32_t status, tn_value value) {
    struct serving_lookup *lookup = user;
    tn_value item = tn_retain(tn.value->at(lookup->graphs, tn.value->count(lookup->read)));
    static const char *const members[] = {"description", "input", "channels"};
    for (size_t i = 0; status == TN_OK && i < sizeof members / sizeof *members; i++) {
        tn_value member = tn_get(value, members[i]);
        if (member != NULL && item != NULL && tn_get(item, members[i]) == NULL)
            item = tn_set_take(item, members[i], tn_retain(member));
    }
    if (item == NULL || tn_append_take(&lookup->read, item) != TN_OK) {
        tn_value error = tn_error("NO_MEMORY", "memory ran out");
        lookup_end(lookup, error);
        tn_release(error);
        return;
    }
    describe_next(lookup);
}

/* graph/list describes the documents itself, in newer hosts. */
static void describe_next(struct serving_lookup *lookup) {
    uint64_t at = tn.value->count(lookup->read);
    tn_value item = tn.value->at(lookup->graphs, at);
    if (item == NULL) {
        lookup_end(lookup, NULL);
    } else if (tn_get(item, "channels") != NULL || tn_get(item, "error") != NULL) {
        on_described(lookup, TN_FAILED, NULL);
    } else {
        serving_call_take(lookup->serving, lookup->caller, "document/describe",
                          tn_build("{s:v}", "document", tn_get(item, "document")), on_described, lookup,
                          &lookup->number);
    }
}

static void TN_ABI on_list(void *user, int32_t status, tn_value value) {
    struct serving_lookup *lookup = user;
    bool absent = status != TN_OK && lookup->named && serving_is(tn_get(value, "code"), "NOT_FOUND");
    if (status != TN_OK && !absent) {
        lookup_end(lookup, value);
        return;
    }
    lookup->graphs = absent ? tn_build("[]") : tn_retain(tn_get(value, "graphs"));
    lookup->read = tn_build("[]");
    describe_next(lookup);
}

static struct serving_lookup *look_up(const struct serving *serving, uint64_t caller, const char *name,
                                      serving_graphs_handler *handler, void *user) {
    struct serving_lookup *lookup = serving_alloc(sizeof *lookup);
    if (lookup == NULL) return NULL;
    *lookup = (struct serving_lookup){
        .serving = serving, .caller = caller, .handler = handler, .user = user, .named = name != NULL};
    serving_call_take(serving, caller, "graph/list", tn_build("{s:s*}", "name", name), on_list, lookup,
                      &lookup->number);
    return lookup;
}

struct serving_lookup *serving_graphs(const struct serving *serving, uint64_t caller, serving_graphs_handler *handler,
                                      void *user) {
    return look_up(serving, caller, NULL, handler, user);
}

struct serving_lookup *serving_graph_named(const struct serving *serving, uint64_t caller, const char *name,
                                           serving_graphs_handler *handler, void *user) {
    bool possible = *name != '\0' && strlen(name) <= SERVING_NAME_MAX && tn_utf8_is_valid(name, strlen(name));
    return look_up(serving, caller, possible ? name : "-", handler, user); /* no graph has that name */
}
