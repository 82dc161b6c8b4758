/*
 * server_fixture.h - a server with one client, calls of methods as JSON, and the events that the client received.
 *
 *     struct served served;
 *     served_open(&served, METHOD_ADMIN);
 *     served_expect(&served, "run/list", "{}", "{\"runs\":[],\"more\":false}");
 *     served_expect_error(&served, "run/get", "{\"run_id\":\"x\"}", "NOT_FOUND", "has no run `x`");
 *     served_close(&served);
 *
 * Results and events are validated with the schemas of the table.
 */
#ifndef TENON_TESTS_SERVER_FIXTURE_H
#define TENON_TESTS_SERVER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "host/loops/loops.h"
#include "host/plugin/call/call.h"
#include "host/server/client.h"
#include "host/server/method_call.h"
#include "host/server/server.h"
#include "tests/unit/engine_fixture.h"

struct served {
    struct host *host;
    struct server *server;
    struct client *client;
    tn_value events; /* [{event, params}] */
};

struct served_call {
    struct call *call;
    bool ended;
};

FIXTURE_UNUSED static void served_on_event(void *user, uint64_t subscription, const char *event, tn_value params) {
    struct served *served = user;
    struct error error = ERROR_INIT;
    assert_int_equal(value_to_int(value_get(params, "subscription")), subscription);
    if (method_check_event(event, params, &error) != TN_OK) fail_msg("%s", error.message);
    tn_value entry = value_set_take(value_object(), "event", value_text(event));
    served->events = value_push_take(served->events, value_set_take(entry, "params", value_ref(params)));
}

FIXTURE_UNUSED static struct client *served_client(struct served *served, const char *name, enum method_scope scope) {
    return client_new(served->server,
                      &(struct client_options){
                          .name = name, .scope = scope, .files = true, .notify = served_on_event, .user = served});
}

/* The server has as many loops as TENON_TEST_LOOPS says: ctest runs some tests again with it. */
FIXTURE_UNUSED static void served_add_loops(struct served *served) {
    const char *text = getenv("TENON_TEST_LOOPS");
    struct loops_options options = {.count = text ? (uint32_t)strtoul(text, NULL, 10) : 1};
    struct error error = ERROR_INIT;
    if (options.count <= 1) return;
    options.host = host_options_for_tests();
    struct loops *loops = loops_new(served->host, &options, &error);
    if (!loops) fail_msg("%s", error.message);
    server_set_loops_take(served->server, loops);
}

FIXTURE_UNUSED static void served_open(struct served *served, enum method_scope scope) {
    *served = (struct served){.host = host_for_tests(), .events = value_array()};
    served->server = server_new(served->host);
    served_add_loops(served);
    server_validate_results(served->server, true);
    served->client = served_client(served, "test", scope);
}

/* The same with this tenon.yaml. */
FIXTURE_UNUSED static void served_open_with(struct served *served, enum method_scope scope, const char *yaml) {
    char file[] = "/tmp/tenon-server-XXXXXX";
    const char *const paths[] = {TENON_TEST_NODES, TENON_CORE_PLUGIN, NULL};
    int descriptor = mkstemp(file);
    assert_int_equal(write(descriptor, yaml, strlen(yaml)), (ssize_t)strlen(yaml));
    close(descriptor);
    *served = (struct served){.events = value_array()};
    served->host = host_new(
        &(struct host_options){
            .plugin_paths = paths, .no_installed = true, .config_file = file, .quiet = true, .allow_drafts = true},
        NULL);
    unlink(file);
    assert_non_null(served->host);
    served->server = server_new(served->host);
    server_validate_results(served->server, true);
    served->client = served_client(served, "test", scope);
}

FIXTURE_UNUSED static void served_close(struct served *served) {
    server_free(served->server);
    value_unref(served->events);
    host_free(served->host);
}

FIXTURE_UNUSED static tn_value served_json(const char *json) {
    tn_value value = NULL;
    if (json_read(json, strlen(json), NULL, &value, NULL) != TN_OK) fail_msg("not JSON: %s", json);
    return value;
}

FIXTURE_UNUSED static void served_on_ended(struct call *call) {
    ((struct served_call *)call_owner(call))->ended = true;
}

FIXTURE_UNUSED static bool served_has_ended(void *user) { return ((struct served_call *)user)->ended; }

/* Starts a call; free it with served_finish. */
FIXTURE_UNUSED static void served_start(struct served *served, struct client *client, const char *name,
                                        tn_value params_take, struct served_call *call) {
    static const struct call_ops ops = {.ended = served_on_ended};
    const struct method *method = method_find(name);
    if (!method) fail_msg("there is no method %s", name);
    struct callable *callable = method_call_new(client, method, NULL);
    *call = (struct served_call){call_new(host_loop(served->host), callable, &ops, call), false};
    callable_unref(callable);
    if (call_start(call->call, params_take)) call->ended = true;
    value_unref(params_take);
}

/* Waits for the end: {result} or {error}, a new reference. */
FIXTURE_UNUSED static tn_value served_finish(struct served *served, struct served_call *call) {
    if (!call->ended) (void)loop_run(host_loop(served->host), served_has_ended, call);
    assert_true(call->ended);
    bool done = call_outcome(call->call) == CALL_COMPLETED;
    tn_value output = done ? value_ref(call_output(call->call)) : error_to_value(call_error(call->call));
    call_free(call->call);
    return value_set_take(value_object(), done ? "result" : "error", output);
}

FIXTURE_UNUSED static tn_value served_call_as(struct served *served, struct client *client, const char *name,
                                              tn_value params_take) {
    struct served_call call;
    served_start(served, client, name, params_take, &call);
    return served_finish(served, &call);
}

/* The result, a new reference. Fails if the method does. */
FIXTURE_UNUSED static tn_value served_result_take(struct served *served, const char *name, tn_value params_take) {
    tn_value outcome = served_call_as(served, served->client, name, params_take), result = value_get(outcome, "result");
    if (!result) {
        char *text = json_text(outcome, JSON_COMPACT);
        fail_msg("%s: %s", name, text);
    }
    result = value_ref(result);
    value_unref(outcome);
    return result;
}

FIXTURE_UNUSED static tn_value served_result(struct served *served, const char *name, const char *params) {
    return served_result_take(served, name, served_json(params));
}

FIXTURE_UNUSED static void served_expect(struct served *served, const char *name, const char *params,
                                         const char *expected) {
    tn_value result = served_result(served, name, params);
    char *text = json_text(result, JSON_COMPACT);
    if (strcmp(text, expected) != 0) fail_msg("%s: %s\nexpected: %s", name, text, expected);
    mem_free(text);
    value_unref(result);
}

/* The call of `client` fails with this code, and a message that contains `part`. */
FIXTURE_UNUSED static void served_expect_error_as(struct served *served, struct client *client, const char *name,
                                                  const char *params, const char *code, const char *part) {
    tn_value outcome = served_call_as(served, client, name, served_json(params)), error = value_get(outcome, "error");
    char *text = json_text(outcome, JSON_COMPACT);
    if (!error || !value_text_is(value_get(error, "code"), code) ||
        !strstr(value_chars(value_get(error, "message"), NULL), part))
        fail_msg("%s: %s\nexpected: %s, %s", name, text, code, part);
    mem_free(text);
    value_unref(outcome);
}

FIXTURE_UNUSED static void served_expect_error(struct served *served, const char *name, const char *params,
                                               const char *code, const char *part) {
    served_expect_error_as(served, served->client, name, params, code, part);
}

#define SETTLE_ROUNDS 100 /* messages to each other loop and back: more than a run that can continue needs */

struct settling {
    struct loops *loops;
    uint32_t index, rounds;
    bool over;
};

FIXTURE_UNUSED static void settle_on_first(void *user, struct host *host);

FIXTURE_UNUSED static void settle_on_member(void *user, struct host *host) {
    struct settling *settling = user;
    (void)host;
    loops_post(settling->loops, 0, settle_on_first, settling);
}

FIXTURE_UNUSED static void settle_on_first(void *user, struct host *host) {
    struct settling *settling = user;
    (void)host;
    settling->over = settling->rounds-- == 0;
    if (!settling->over) loops_post(settling->loops, settling->index, settle_on_member, settling);
}

FIXTURE_UNUSED static bool has_settled(void *user) { return ((struct settling *)user)->over; }

/* Runs the loop until nothing is left to do. */
FIXTURE_UNUSED static void served_settle(struct served *served) {
    struct loops *loops = server_loops(served->server);
    if (!loops) (void)loop_run(host_loop(served->host), NULL, NULL);
    for (uint32_t i = 1; loops && i < loops_count(loops); i++) {
        struct settling settling = {loops, i, SETTLE_ROUNDS, false};
        loop_hold(host_loop(served->host)); /* it waits for messages */
        settle_on_first(&settling, served->host);
        (void)loop_run(host_loop(served->host), has_settled, &settling);
        loop_release(host_loop(served->host));
    }
}

/* For what is the same only with one loop. */
FIXTURE_UNUSED static void served_skip_with_loops(void) {
    if (getenv("TENON_TEST_LOOPS")) skip();
}

/* The number of events of this name so far. */
FIXTURE_UNUSED static size_t served_count(const struct served *served, const char *event) {
    size_t count = 0;
    for (size_t i = 0; i < value_count(served->events); i++)
        count += value_text_is(value_get(value_at(served->events, i), "event"), event);
    return count;
}

/* The params of the last event of this name, borrowed; NULL if there was none. */
FIXTURE_UNUSED static tn_value served_last(const struct served *served, const char *event) {
    for (size_t i = value_count(served->events); i-- > 0;)
        if (value_text_is(value_get(value_at(served->events, i), "event"), event))
            return value_get(value_at(served->events, i), "params");
    return NULL;
}

#endif
