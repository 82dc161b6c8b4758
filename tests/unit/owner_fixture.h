/*
 * owner_fixture.h - a server with the operator and two users, a and b, and documents that it serves.
 *
 *     struct users users;
 *     users_open(&users, "memory");
 *     users_write("hello", HELLO);                                       // the document graph:hello
 *     tn_value made = call_as(&users, users.a, "task/create", "{…}");    // the result
 *     users_close(&users);
 *
 * Everything secret of a contains SECRET. Events of b are in users.events_of_b.
 */
#ifndef TENON_TESTS_OWNER_FIXTURE_H
#define TENON_TESTS_OWNER_FIXTURE_H

#include "tests/unit/server_run_fixture.h"

#include "adl/value/buffer.h"
#include "host/plugin/call/owner.h"
#include <ftw.h>

#define SECRET "zq9secret"

struct users {
    struct served served; /* its client is the operator */
    struct client *a, *b;
    tn_value events_of_b;
    char folder[64], before[4096];
};

/* ---- Documents ---- */

#define TOOLS "tools: [{name: \"*\", approval: auto}]\n"
#define PATH  "edges: [{from: START, to: n}, {from: n, to: END}]\n"
/* Calls a tool with arguments, which are expressions, and keeps the result in the channel `out`. */
#define USES(tool, arguments)                                                                                          \
    "version: \"1.0\"\nagent: {name: uses}\n" TOOLS "channels: [{name: out, type: last_value}]\nnodes: [{id: n, "      \
    "type: tool, config: {tool: " tool ", arguments: " arguments ", output_key: out}}]\n" PATH

FIXTURE_UNUSED static void users_file(const char *name, const char *text) {
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The documents that tenon.yaml serves; a test writes those that it needs. */
#define SERVED "{hello: hello.yaml, asks: asks.yaml, part: part.yaml, use: use.yaml}"

/* The document graph:NAME. */
FIXTURE_UNUSED static void users_write(const char *name, const char *text) {
    char path[96];
    snprintf(path, sizeof path, "%s.yaml", name);
    users_file(path, text);
}

/* ---- The server ---- */

static void users_on_event(void *user, uint64_t subscription, const char *event, tn_value params) {
    struct users *users = user;
    (void)subscription;
    tn_value entry = value_set_take(value_object(), "event", value_text(event));
    users->events_of_b = value_push_take(users->events_of_b, value_set_take(entry, "params", value_ref(params)));
}

FIXTURE_UNUSED static struct client *user_client(struct users *users, const char *owner, enum method_scope scope) {
    bool is_b = strcmp(owner, "b") == 0;
    return client_new(users->served.server, &(struct client_options){.name = owner,
                                                                     .scope = scope,
                                                                     .owner = owner,
                                                                     .notify = is_b ? users_on_event : served_on_event,
                                                                     .user = is_b ? (void *)users : &users->served});
}

/* As served_add_loops, with the plugins of these tests. */
static void users_add_loops(struct users *users, const struct host_options *host) {
    const char *text = getenv("TENON_TEST_LOOPS");
    struct loops_options options = {.count = text ? (uint32_t)strtoul(text, NULL, 10) : 1, .host = *host};
    struct error error = ERROR_INIT;
    if (options.count <= 1) return;
    struct loops *loops = loops_new(users->served.host, &options, &error);
    if (!loops) fail_msg("%s", error.message);
    server_set_loops_take(users->served.server, loops);
}

/* `tools` is `serve: {tools}` of tenon.yaml, `more` are other sections. */
FIXTURE_UNUSED static void users_open_with(struct users *users, const char *store, const char *tools,
                                           const char *more) {
    static const char *const plugins[] = {"memory", "sqlite", "state", "document"};
    static char files[sizeof plugins / sizeof *plugins][4096];
    static const char *paths[sizeof plugins / sizeof *plugins + 4];
    char text[4096];
    size_t count = 0;
    struct error error = ERROR_INIT;
    *users = (struct users){.events_of_b = value_array(), .folder = "/tmp/tenon-owner-XXXXXX"};
    assert_non_null(getcwd(users->before, sizeof users->before));
    assert_non_null(mkdtemp(users->folder));
    assert_int_equal(chdir(users->folder), 0);
    for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++) {
        snprintf(files[i], sizeof files[i], "%s/%s.so", TENON_STORE_PLUGINS, plugins[i]);
        if (access(files[i], R_OK) == 0) paths[count++] = files[i];
    }
    paths[count++] = TENON_TEST_NODES;
    paths[count++] = TENON_CORE_PLUGIN;
    paths[count++] = TENON_TEST_METHODS;
    paths[count] = NULL;
    snprintf(text, sizeof text, "store: {use: %s, path: %s/store}\nserve: {graphs: " SERVED ", tools: %s}\n%s", store,
             users->folder, tools, more);
    users_file("tenon.yaml", text);
    users->served = (struct served){.events = value_array()};
    const struct host_options options = {
        .plugin_paths = paths, .no_installed = true, .config_file = "tenon.yaml", .quiet = true, .allow_drafts = true};
    users->served.host = host_new(&options, &error);
    if (!users->served.host) fail_msg("%s", error.message);
    users->served.server = server_new(users->served.host);
    users_add_loops(users, &options);
    server_validate_results(users->served.server, true);
    users->served.client = served_client(&users->served, "operator", METHOD_ADMIN);
    users->a = user_client(users, "a", METHOD_RUN);
    users->b = user_client(users, "b", METHOD_ADMIN);
}

FIXTURE_UNUSED static void users_open(struct users *users, const char *store) {
    users_open_with(users, store, "[]", "");
}

static int users_remove(const char *path, const struct stat *what, int type, struct FTW *where) {
    (void)what, (void)type, (void)where;
    return remove(path);
}

FIXTURE_UNUSED static void users_close(struct users *users) {
    served_close(&users->served);
    value_unref(users->events_of_b);
    assert_int_equal(chdir(users->before), 0);
    (void)nftw(users->folder, users_remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- Calls ---- */

FIXTURE_UNUSED static char *shown(tn_value value) { return json_text(value, JSON_COMPACT); }

/* {result} or {error}. */
FIXTURE_UNUSED static tn_value outcome_as(struct users *users, struct client *client, const char *method,
                                          const char *params) {
    return served_call_as(&users->served, client, method, served_json(params));
}

/* The result; a new reference. */
FIXTURE_UNUSED static tn_value call_as(struct users *users, struct client *client, const char *method,
                                       const char *params) {
    tn_value outcome = outcome_as(users, client, method, params), result = value_ref(value_get(outcome, "result"));
    if (!result) {
        char *text = shown(outcome);
        fail_msg("%s %s: %s", method, params, text);
        mem_free(text);
    }
    value_unref(outcome);
    return result;
}

/* The call must have this result. */
FIXTURE_UNUSED static void expect_as(struct users *users, struct client *client, const char *method, const char *params,
                                     const char *expected) {
    tn_value result = call_as(users, client, method, params), wanted = served_json(expected);
    char *text = shown(result);
    if (!value_equal(result, wanted)) fail_msg("%s %s: found %s, expected %s", method, params, text, expected);
    mem_free(text);
    value_unref(wanted);
    value_unref(result);
}

/* Copies a text of the result of a call. */
FIXTURE_UNUSED static void text_as(struct users *users, struct client *client, const char *method, const char *params,
                                   const char *member, char out[256]) {
    tn_value result = call_as(users, client, method, params), text = value_get(result, member);
    if (!value_is(text, TN_STRING)) fail_msg("%s: there is no %s", method, member);
    snprintf(out, 256, "%s", value_chars(text, NULL));
    value_unref(result);
}

/* The call must fail with this code. */
FIXTURE_UNUSED static void fails_as(struct users *users, struct client *client, const char *method, const char *params,
                                    const char *code) {
    tn_value outcome = outcome_as(users, client, method, params);
    char *text = shown(outcome);
    if (!value_text_is(value_get(value_get(outcome, "error"), "code"), code))
        fail_msg("%s %s: found %s, expected %s", method, params, text, code);
    mem_free(text);
    value_unref(outcome);
}

/* Runs graph:NAME to its end or interrupt; the result of run/wait. */
FIXTURE_UNUSED static tn_value run_as(struct users *users, struct client *client, const char *name, const char *more) {
    char id[256];
    tn_value params = served_json(more);
    params = value_set_take(params, "document", value_format("graph:%s", name));
    char *text = shown(params);
    text_as(users, client, "run/start", text, "run_id", id);
    mem_free(text);
    value_unref(params);
    params = value_set_take(value_object(), "run_id", value_text(id));
    text = shown(params);
    tn_value ended = call_as(users, client, "run/wait", text);
    mem_free(text);
    value_unref(params);
    return ended;
}

#endif
