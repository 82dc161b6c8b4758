/*
 * embed.c - Tenon inside a C program: a pipe of C functions, a graph built by calls, its events, a graph from a file.
 *
 *     cc embed.c $(pkg-config --cflags --libs tenon) -o embed && ./embed
 */
#include <stdio.h>
#include <string.h>
#include <tenon/embed.h>

static const tn_value_1 *value;

static void print(const char *what, tn_value result) {
    tn_value text = NULL;
    value->to_json(result, NULL, &text);
    printf("%s: %s\n", what, text ? value->as_text(text, NULL) : "nothing");
    value->release(text);
}

/* Functions for runnables. They return a new value, which the host releases. */
static tn_value add_one(void *user, tn_value input, tn_value *error) {
    int64_t number = 0;
    (void)user, (void)error;
    value->as_int(input, &number);
    return value->make_int(NULL, number + 1);
}

static tn_value doubled(void *user, tn_value input, tn_value *error) {
    int64_t number = 0;
    (void)user, (void)error;
    value->as_int(input, &number);
    return value->make_int(NULL, number * 2);
}

/* A runnable that is used as a node receives the state and returns its writes. */
static tn_value count_up(void *user, tn_value state, tn_value *error) {
    int64_t count = 0;
    (void)user;
    value->as_int(value->get(state, "count", TN_Z), &count);
    tn_builder *builder = value->builder(NULL);
    value->begin(builder, TN_OBJECT);
    tn_value next = value->make_int(NULL, count + 1);
    value->key(builder, "count", TN_Z);
    value->add(builder, next);
    value->end(builder);
    value->release(next);
    tn_value writes = NULL;
    value->finish(builder, &writes, error);
    return writes;
}

static int32_t show_event(void *user, tn_value event) {
    (void)user;
    print("event", event);
    return 1;
}

/* Adds one, then doubles the result and adds one to it, in parallel. */
static void compose(tenon *host) {
    tenon_runnable *one = tenon_lambda(host, add_one, NULL), *twice = tenon_lambda(host, doubled, NULL);
    tenon_runnable *branches[] = {twice, one};
    tenon_runnable *both = tenon_parallel(host, branches, NULL, 2);
    tenon_runnable *stages[] = {one, both};
    tenon_runnable *pipe = tenon_pipe(host, stages, 2);
    tn_value inputs = NULL;
    value->from_json(NULL, "[1, 2, 3]", TN_Z, &inputs, NULL);
    tn_value results = tenon_batch(pipe, inputs, NULL, 2, NULL, NULL);
    print("batch", results);
    value->release(results);
    value->release(inputs);
    tenon_release(pipe);
    tenon_release(both);
    tenon_release(twice);
    tenon_release(one);
}

/* A loop that counts to three. */
static int build(tenon *host) {
    const char *const expressions[] = {"state.count < 3", "default"};
    const char *const targets[] = {"count", TENON_END};
    tenon_builder *builder = tenon_builder_new(host, "counter");
    tenon_runnable *node = tenon_lambda(host, count_up, NULL);
    tn_value zero = value->make_int(NULL, 0);
    tenon_add_channel(builder, "count", "last_value", zero);
    tenon_add_node_runnable(builder, "count", node);
    tenon_set_entry_point(builder, "count");
    tenon_add_conditional_edges(builder, "count", expressions, targets, 2);
    tenon_runnable *graph = tenon_compile(builder);
    int failed = graph == NULL;
    if (failed) {
        fprintf(stderr, "%s\n", tenon_error(host));
    } else {
        tn_value result = tenon_stream(graph, NULL, NULL, "values", show_event, NULL);
        failed = result == NULL;
        if (failed) fprintf(stderr, "%s\n", tenon_error(host));
        value->release(result);
    }
    tenon_release(graph);
    tenon_builder_free(builder);
    tenon_release(node);
    value->release(zero);
    return failed;
}

int main(int argc, char **argv) {
    char *why = NULL;
    tenon *host = tenon_open(NULL, &why);
    if (!host) {
        fprintf(stderr, "%s\n", why);
        tenon_free(why);
        return 1;
    }
    value = tenon_values();
    compose(host);
    int failed = build(host);
    if (argc > 1) {
        tenon_runnable *graph = tenon_graph_file(host, argv[1]);
        char *result = graph ? tenon_invoke_json(graph, "{\"name\": \"Ada\"}") : NULL;
        printf("file: %s\n", result ? result : tenon_error(host));
        failed |= !result;
        tenon_free(result);
        tenon_release(graph);
    }
    tenon_close(host);
    return failed;
}
