/*
 * served_graph_test.c - documents that a host serves: what graph:NAME means, for whom, and what their mistakes show.
 */
#include "tests/unit/server_fixture.h"

#include "adl/value/json.h"
#include "host/base/config/config.h"

static char folder[64];

static void put_file(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#define DOCUMENT(name, node)                                                                                           \
    "version: \"1.0\"\nagent: {name: " name "}\nchannels: [{name: text, type: last_value}]\n"                          \
    "nodes: [" node "]\nedges: [{from: START, to: a}, {from: a, to: END}]\n"
#define SETS "{id: a, type: set, config: {values: {text: '\"done\"'}}}"

static int make_files(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tenon-graphs-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    put_file("hello.yaml", DOCUMENT("hello", SETS));
    put_file("bad.yaml", "version: \"1.0\"\n");
    put_file("names.yaml", DOCUMENT("names", "{id: a, type: subgraph, config: {document: \"graph:hello\"}}"));
    return 0;
}

static int remove_files(void **state) {
    static const char *const names[] = {"hello.yaml", "bad.yaml", "names.yaml"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static void open_graphs(struct served *served) {
    tn_value yaml = value_format("serve: {graphs: {hello: %s/hello.yaml, bad: %s/bad.yaml, gone: %s/gone.yaml, names: "
                                 "%s/names.yaml}}\n",
                                 folder, folder, folder, folder);
    served_open_with(served, METHOD_ADMIN, value_chars(yaml, NULL));
    value_unref(yaml);
}

static struct client *user_of(struct served *served) {
    return client_new(served->server, &(struct client_options){.name = "a user", .scope = METHOD_RUN, .owner = "ada"});
}

/* The outcome of a call as JSON; free it. */
static char *outcome_of(struct served *served, struct client *client, const char *method, const char *params) {
    tn_value outcome = served_call_as(served, client, method, served_json(params));
    char *text = json_text(outcome, JSON_COMPACT);
    value_unref(outcome);
    return text;
}

static void expect_in(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("expected %s in %s", part, text);
}

static void graphs_are_listed(void **state) {
    struct served served;
    (void)state;
    open_graphs(&served);
    served_expect(&served, "graph/list", "{\"name\":\"hello\"}",
                  "{\"graphs\":[{\"name\":\"hello\",\"document\":\"graph:hello\",\"title\":\"hello\",\"channels\":["
                  "{\"name\":\"text\",\"type\":\"last_value\"}]}]}");
    served_expect_error(&served, "graph/list", "{\"name\":\"helo\"}", "NOT_FOUND",
                        "no graph `helo` is served; did you mean `hello`?");
    char *all = outcome_of(&served, served.client, "graph/list", "{}");
    expect_in(all, "\"document\":\"graph:bad\",\"error\":\"");
    expect_in(all, "/bad.yaml:1:1: the document has no");
    expect_in(all, "\"document\":\"graph:gone\",\"error\":\"the document of the graph `gone` cannot be read");
    mem_free(all);
    /* A graph that the command line adds. */
    char path[128];
    snprintf(path, sizeof path, "%s/hello.yaml", folder);
    config_add_graph(host_config(served.host), "more", path);
    char *more = outcome_of(&served, served.client, "graph/list", "{\"name\":\"more\"}");
    expect_in(more, "\"document\":\"graph:more\",\"title\":\"hello\"");
    mem_free(more);
    served_close(&served);
}

/* A document is read again by each run; one that does not exist, or has mistakes, fails. */
static void graphs_are_run(void **state) {
    struct served served;
    (void)state;
    open_graphs(&served);
    served_expect_error(&served, "run/start", "{\"document\":\"graph:none\"}", "NOT_FOUND",
                        "no graph `none` is served");
    served_expect_error(&served, "run/start", "{\"document\":\"graph:\"}", "NOT_FOUND", "is served");
    served_expect_error(&served, "run/start", "{\"document\":\"graph:bad\"}", "INVALID_GRAPH", "bad.yaml:1:1");
    served_expect_error(&served, "run/start", "{\"document\":\"graph:gone\"}", "IO", "gone.yaml");
    tn_value started = served_result_take(&served, "run/start", served_json("{\"document\":\"graph:hello\"}"));
    tn_value which = value_set_take(value_object(), "run_id", value_ref(value_get(started, "run_id")));
    tn_value ended = served_result_take(&served, "run/wait", which);
    char *text = json_text(ended, JSON_COMPACT);
    expect_in(text, "\"text\":\"done\"");
    mem_free(text);
    value_unref(ended);
    value_unref(started);
    put_file("hello.yaml", "version: \"1.0\"\n");
    served_expect_error(&served, "run/start", "{\"document\":\"graph:hello\"}", "INVALID_GRAPH", "hello.yaml:1:1");
    put_file("hello.yaml", DOCUMENT("hello", SETS));
    value_unref(served_result_take(&served, "run/start", served_json("{\"document\":\"graph:hello\"}")));
    served_close(&served);
}

/* A document that a model or another user writes must not read a served one. */
static void documents_cannot_name_graphs(void **state) {
    struct served served;
    (void)state;
    open_graphs(&served);
    served_expect_error(&served, "run/start", "{\"document\":\"graph:names\"}", "INVALID_GRAPH",
                        "only a client can name a served graph as `graph:NAME`");
    tn_value text = value_text(DOCUMENT("t", "{id: a, type: subgraph, config: {document: \"graph:hello\"}}"));
    tn_value params = value_set_take(value_object(), "text", text);
    tn_value outcome = served_call_as(&served, served.client, "run/start", params);
    char *json = json_text(outcome, JSON_COMPACT);
    expect_in(json, "only a client can name a served graph");
    mem_free(json);
    value_unref(outcome);
    served_close(&served);
}

/* Paths and lines of documents are the operator's. */
static void mistakes_show_users_no_paths(void **state) {
    static const char *const methods[] = {"run/start", "document/describe", "document/graph"};
    static const char *const graphs[] = {"bad", "gone", "names"};
    struct served served;
    (void)state;
    open_graphs(&served);
    struct client *user = user_of(&served);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        for (size_t j = 0; j < sizeof graphs / sizeof *graphs; j++) {
            char params[64];
            snprintf(params, sizeof params, "{\"document\":\"graph:%s\"}", graphs[j]);
            char *outcome = outcome_of(&served, user, methods[i], params);
            if (strstr(outcome, "/tmp/") || strstr(outcome, ".yaml")) fail_msg("%s %s", methods[i], outcome);
            if (strcmp(graphs[j], "names") != 0) expect_in(outcome, "\"error\":{\"code\":");
            mem_free(outcome);
        }
    char *all = outcome_of(&served, user, "graph/list", "{}");
    if (strstr(all, "/tmp/") || strstr(all, ".yaml")) fail_msg("graph/list %s", all);
    expect_in(all, "\"document\":\"graph:bad\",\"error\":\"the document has a mistake");
    mem_free(all);
    client_free(user);
    served_close(&served);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_are_listed),
        cmocka_unit_test(graphs_are_run),
        cmocka_unit_test(documents_cannot_name_graphs),
        cmocka_unit_test(mistakes_show_users_no_paths),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
