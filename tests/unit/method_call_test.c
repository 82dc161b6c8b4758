/*
 * method_call_test.c - calls of methods: their client or their server ends, and the rights that remain.
 */
#include "tests/unit/server_fixture.h"

#include "host/assembly/host.h"
#include "host/plugin/abi/abi_host.h"
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

/* A worker can have made the callable of a call before the server was freed, and can make one later. */
static void tasks_call_without_a_server(void **state) {
    static const struct call_ops ops = {.ended = served_on_ended};
    struct served served;
    struct component *component;
    struct callable *early = NULL, *late = NULL;
    (void)state;
    served_open(&served, METHOD_RUN);
    const struct method_source *source = host_method_source(served.host);
    assert_int_equal(registry_resolve(host_registry(served.host), "tool", "t.add", &component, NULL), TN_OK);
    assert_int_equal(source->make(component, "run/list", &early), TN_OK);
    server_free(served.server);
    assert_null(host_method_source(served.host));
    assert_int_equal(source->make(component, "no/such", &late), TN_NOT_FOUND);
    assert_int_equal(source->make(component, "run/list", &late), TN_OK);
    struct callable *const made[] = {early, late};
    for (size_t i = 0; i < 2; i++) {
        struct served_call call = {.ended = false};
        call.call = call_new(host_loop(served.host), made[i], &ops, &call);
        callable_unref(made[i]);
        call.ended = call_start(call.call, NULL);
        tn_value outcome = served_finish(&served, &call), code = value_get(value_get(outcome, "error"), "code");
        assert_true(value_text_is(code, "UNSUPPORTED"));
        value_unref(outcome);
    }
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
        cmocka_unit_test(tasks_call_without_a_server),
        cmocka_unit_test(handlers_stay_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
