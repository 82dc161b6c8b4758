/*
 * graph.c - a graph that is built by calls: a task for each item of a list, a join, a route that a C function chooses,
 * and settings of a node. An edge of the document that comes of it is printed at the end.
 *
 *     cc graph.c $(pkg-config --cflags --libs tenon) -o graph && ./graph
 */
#include <stdio.h>
#include <string.h>
#include <tenon/embed.h>

static const tn_value_1 *value;

static tn_value json(const char *text) {
    tn_value made = NULL;
    value->from_json(NULL, text, TN_Z, &made, NULL);
    return made;
}

static void add_node(tenon_builder *builder, const char *id, const char *type, const char *config) {
    tn_value made = json(config);
    tenon_add_node(builder, id, type, made);
    value->release(made);
}

/* Chooses the next node by the state: the name of a target. */
static tn_value by_length(void *user, tn_value state, tn_value *error) {
    tn_value next = NULL;
    (void)user, (void)error;
    int longer = value->count(value->get(state, "sizes", TN_Z)) > 2;
    value->make_text(NULL, longer ? "many" : "few", TN_Z, &next);
    return next;
}

/* A graph: sizes of the words, one task each; after both them and the note, a route. */
static tenon_builder *build(tenon *host) {
    static const char *const both[] = {"size", "note"}, *const targets[] = {"few", "many"};
    tenon_builder *builder = tenon_builder_new(host, "words");
    tenon_add_channel(builder, "words", "last_value", NULL);
    tenon_add_channel(builder, "sizes", "append", NULL);
    tenon_add_channel(builder, "notes", "append", NULL);
    tenon_add_channel(builder, "verdict", "last_value", NULL);
    add_node(builder, "note", "set", "{\"values\": {\"notes\": \"'started'\"}}");
    add_node(builder, "size", "set", "{\"values\": {\"sizes\": \"size(item)\"}}");
    add_node(builder, "done", "passthrough", "{}");
    add_node(builder, "few", "prompt", "{\"template\": \"few: {sizes}\", \"output_key\": \"verdict\"}");
    add_node(builder, "many", "prompt", "{\"template\": \"many: {sizes}\", \"output_key\": \"verdict\"}");
    tn_value settings = json("{\"retry\": {\"max_attempts\": 2}, \"timeout\": \"5s\"}");
    tenon_set_node(builder, "size", settings);
    value->release(settings);
    tenon_set_entry_point(builder, "note");
    tenon_add_map_edge(builder, TENON_START, "state.words", NULL, "size", TENON_END);
    tenon_add_join(builder, both, 2, "done");
    tenon_add_route(builder, "done", by_length, NULL, targets, 2);
    return builder;
}

int main(void) {
    tenon *host = tenon_open(NULL, NULL);
    value = tenon_values();
    tenon_builder *builder = build(host);
    tenon_runnable *graph = tenon_compile(builder);
    if (!graph) printf("error: %s\n", tenon_error(host));
    const char *const inputs[] = {"{\"words\": [\"owl\", \"ant\"]}", "{\"words\": [\"a\", \"bc\", \"def\"]}"};
    for (int i = 0; graph && i < 2; i++) {
        char *result = tenon_invoke_json(graph, inputs[i]);
        printf("%s\n", result ? result : tenon_error(host));
        tenon_free(result);
    }
    tenon_release(graph);

    /* A mistake names its place in the document. */
    tenon_add_edge(builder, "few", "nowhere");
    if (!tenon_compile(builder)) printf("%s\n", tenon_error(host));

    tn_value document = tenon_builder_document(builder), text = NULL;
    value->to_json(value->at(value->get(document, "edges", TN_Z), 1), NULL, &text);
    printf("%s\n", value->as_text(text, NULL));
    value->release(text);
    value->release(document);
    tenon_builder_free(builder);
    tenon_close(host);
    return 0;
}
