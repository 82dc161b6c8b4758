/*
 * server_run_fixture.h - documents, and calls that start and wait for runs, for the tests of server_run.h.
 *
 *     tn_value id = run_of(&served, COUNTS, "{\"input\": {\"n\": 5}}"), run = waited(&served, id);
 *     is_text(run, "status", "done");
 */
#ifndef TENON_TESTS_SERVER_RUN_FIXTURE_H
#define TENON_TESTS_SERVER_RUN_FIXTURE_H

#include "host/server/server_run.h"
#include "tests/unit/server_fixture.h"

#define HELLO                                                                                                          \
    "version: \"1.0\"\nagent: {name: hello}\nchannels: [{name: name, type: last_value, default: world}, "              \
    "{name: greeting, type: last_value}]\nnodes: [{id: greet, type: prompt, config: {template: \"Hello, {name}!\", "   \
    "output_key: greeting}}]\nedges: [{from: START, to: greet}, {from: greet, to: END}]\n"
/* Waits before its node. */
#define ASKS                                                                                                           \
    "version: \"1.0\"\nagent: {name: asks}\nchannels: [{name: name, type: last_value, default: world}, "               \
    "{name: greeting, type: last_value}]\nnodes: [{id: greet, type: prompt, interrupt: before, config: {template: "    \
    "\"Hello, {name}!\", output_key: greeting}}]\nedges: [{from: START, to: greet}, {from: greet, to: END}]\n"
/* Counts to `n` in as many super-steps. */
#define COUNTS                                                                                                         \
    "version: \"1.0\"\nagent: {name: counts, recursion_limit: 5000}\nchannels: [{name: i, type: last_value, default: " \
    "0}, {name: n, type: last_value, default: 10}]\nnodes: [{id: add, type: set, config: {values: {i: state.i + "      \
    "1}}}]\nedges:\n  - {from: START, to: add}\n  - from: add\n    type: conditional\n    conditions: [{expression: "  \
    "state.i < state.n, to: add}, {expression: default, to: END}]\n"

/* The same, with a channel for a text. */
#define COUNTS_MORE                                                                                                    \
    "version: \"1.0\"\nagent: {name: counts}\nchannels: [{name: i, type: last_value, default: 0}, {name: n, type: "    \
    "last_value, default: 10}, {name: more, type: last_value}]\nnodes: [{id: add, type: set, config: {values: {i: "    \
    "state.i + 1}}}]\nedges:\n  - {from: START, to: add}\n  - from: add\n    type: conditional\n    conditions: "      \
    "[{expression: state.i < state.n, to: add}, {expression: default, to: END}]\n"

FIXTURE_UNUSED static tn_value text_params(const char *text, const char *more) {
    tn_value params = served_json(more);
    return value_set_take(params, "text", value_text(text));
}

/* Starts a run; returns its id, as a new value. */
FIXTURE_UNUSED static tn_value run_of(struct served *served, const char *text, const char *more) {
    tn_value started = served_result_take(served, "run/start", text_params(text, more));
    tn_value id = value_ref(value_get(started, "run_id"));
    value_unref(started);
    return id;
}

FIXTURE_UNUSED static tn_value with_id(tn_value id) { return value_set_take(value_object(), "run_id", value_ref(id)); }

FIXTURE_UNUSED static tn_value waited(struct served *served, tn_value id) {
    return served_result_take(served, "run/wait", with_id(id));
}

FIXTURE_UNUSED static void is_text(tn_value object, const char *member, const char *expected) {
    if (!value_text_is(value_get(object, member), expected)) {
        char *text = json_text(object, JSON_COMPACT);
        fail_msg("%s: expected %s: %s", text, member, expected);
    }
}

#endif
