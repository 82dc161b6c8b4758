/*
 * method_call_test.c - calls of methods: their client ends, their handler ends them, and the rights that remain.
 */
#include "tests/unit/server_fixture.h"

#include "host/plugin/call/authority.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"

#define STRANGE                                                                                                        \
    "{\"text\":\"version: \\\"1.0\\\"\\nagent: {name: waits}\\nnodes: [{id: w, type: acme.none}]\\nedges: [{from: "    \
    "START, to: w}, {from: w, to: END}]\\n\"}"

/* A plugin says that it will add components, so calls that miss some wait. */
static struct plugin *expect_components(struct served *served) {
    struct plugin *plugin = registry_plugin(host_registry(served->host), "test.nodes");
    assert_int_equal(plugin_load(plugin, NULL), TN_OK);
    registry_expect(plugin, true);
    return plugin;
}

static void ends_cancelled(struct served *served, struct served_call *call) {
    tn_value outcome = served_finish(served, call), code = value_get(value_get(outcome, "error"), "code");
    assert_true(value_text_is(code, "CANCELLED"));
    value_unref(outcome);
}

static void calls_end_with_their_client(void **state) {
    struct served served;
    struct served_call calls[3], other;
    (void)state;
    served_open(&served, METHOD_RUN);
    struct plugin *plugin = expect_components(&served);
    struct client *client = served_client(&served, "gone", METHOD_RUN);
    for (size_t i = 0; i < 3; i++) served_start(&served, client, "run/start", served_json(STRANGE), &calls[i]);
    served_start(&served, served.client, "run/start", served_json(STRANGE), &other);
    call_cancel(calls[1].call);
    client_free(client);
    for (size_t i = 0; i < 3; i++) ends_cancelled(&served, &calls[i]);
    assert_false(other.ended);
    registry_expect(plugin, false);
    tn_value outcome = served_finish(&served, &other);
    assert_true(value_text_is(value_get(value_get(outcome, "error"), "code"), "INVALID_GRAPH"));
    value_unref(outcome);
    served_close(&served);
}

static void calls_end_with_their_server(void **state) {
    struct served served;
    struct served_call call;
    (void)state;
    served_open(&served, METHOD_RUN);
    struct plugin *plugin = expect_components(&served);
    served_start(&served, served.client, "run/start", served_json(STRANGE), &call);
    server_free(served.server);
    ends_cancelled(&served, &call);
    registry_expect(plugin, false);
    value_unref(served.events);
    host_free(served.host);
}

/* ---- The frame ---- */

static bool was_limited;

static int32_t end_and_look(const struct method_call *call, struct error *error) {
    (void)error;
    (void)method_done_take(call, value_object());
    const struct authority *authority = method_authority(call);
    was_limited = authority && authority->info && strcmp(authority->info->id, "x.caller") == 0;
    return TN_OK;
}

static void note_call_end(struct call *call) { *(bool *)call_owner(call) = true; }

/* A handler that has ended its call is limited as before. */
static void handlers_stay_limited(void **state) {
    static const struct call_ops ops = {.ended = note_call_end};
    struct served served;
    bool ended = false;
    (void)state;
    served_open(&served, METHOD_READ);
    server_validate_results(served.server, false);
    const struct component_info caller = {.id = "x.caller",
                                          .kind = "tool",
                                          .title = "x",
                                          .documentation = "",
                                          .plugin_id = "x.plugin",
                                          .plugin_version = "1.0.0",
                                          .effects = served_json("[\"host.method\"]")};
    struct client *plugin =
        client_new(served.server, &(struct client_options){.name = "plugin x", .scope = METHOD_ADMIN, .plugin = true});
    const struct method *found = method_find("host/info");
    struct method *method; /* the table is not constant */
    memcpy(&method, &found, sizeof method);
    method_start_fn *start = method->start;
    method->start = end_and_look;
    struct callable *callable = method_call_new(plugin, method, &caller);
    struct call *call = call_new(host_loop(served.host), callable, &ops, &ended);
    callable_unref(callable);
    ended = call_start(call, NULL) || ended;
    method->start = start;
    assert_true(ended);
    assert_true(was_limited);
    call_free(call);
    value_unref(caller.effects);
    served_close(&served);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_end_with_their_client),
        cmocka_unit_test(calls_end_with_their_server),
        cmocka_unit_test(handlers_stay_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
