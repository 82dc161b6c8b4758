/*
 * call_fixture.h - a host with a loop of fake time, and components made of functions, for tests of calls.
 *
 * A component is a row of `fake_components`: create binds the channel "score" to read and "out" to write if the
 * scope has them, and the component that `callee` names. Its start is any function; tests reach the interfaces through
 * `task_1` and `core_1` exactly as a plugin does.
 *
 *     fixture_begin();
 *     struct callable *node = fixture_instance("inline");
 *     struct call *call = fixture_call(node);           // ops that record: ended, chunks
 *     assert_true(call_start(call, NULL));
 *     call_free(call); callable_unref(node);
 *     fixture_end();                                    // checks that all instances and values are freed
 */
#ifndef TENON_TESTS_CALL_FIXTURE_H
#define TENON_TESTS_CALL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#undef fail /* the tests call task_1->fail */
#undef fail_msg
#define fail_msg(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"

#define FIXTURE_UNUSED __attribute__((unused))

struct fake_component {
    const char *id;
    const char *style;
    bool reentrant;
    int32_t (*start)(void *instance, tn_task task, tn_value input);
    void (*cancel)(void *instance, tn_task task);
    void (*ready)(void *instance, tn_task task);
    const char *callee_kind, *callee; /* to bind, or NULL */
};

/* Defined by the test; ends with a row whose id is NULL. */
extern const struct fake_component fake_components[];

struct fake_instance {
    const struct fake_component *component;
    uint32_t in, out, callee;
    _Atomic int busy; /* tasks inside start */
};

static struct {
    struct loop *loop;
    struct registry *registry;
    struct config *config;
    struct http *http;
} fixture_host;
static const tn_task_1 *const task_1 = &interface_task;
static const tn_core_1 *const core_1 = &interface_core;
static const tn_host *fixture_plugin_host;
static struct plugin *fixture_plugin;
static _Atomic int fixture_instances;
static int64_t fixture_values;
static tn_value fixture_in; /* the channel "score" */

/* Ends the task with an error, as tn_fail of a plugin. */
static FIXTURE_UNUSED int32_t fixture_fail(tn_task task, const char *code, const char *message) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_FAILED, code, "%s", message);
    tn_value object = error_to_value(&error);
    error_finish(&error);
    int32_t status = task_1->fail(task, object);
    value_unref(object);
    return status;
}

/* ---- The plugin ---- */

static int32_t fixture_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                              void **instance) {
    (void)self, (void)config;
    struct fake_instance *made = calloc(1, sizeof *made);
    made->component = fake_components;
    while (strlen(made->component->id) != length || memcmp(made->component->id, id, length) != 0) made->component++;
    int32_t status = task_1->bind_read(binder, "score", TN_Z, &made->in);
    if (status == TN_OK) status = task_1->bind_write(binder, "out", TN_Z, &made->out);
    if (status == TN_OK && made->component->callee)
        status = task_1->bind_call(binder, made->component->callee_kind, TN_Z, made->component->callee, TN_Z, NULL,
                                   &made->callee);
    if (status != TN_OK) {
        free(made);
        return status;
    }
    fixture_instances++;
    *instance = made;
    return TN_OK;
}

static int32_t fixture_start(void *instance, tn_task task, tn_value input) {
    struct fake_instance *made = instance;
    int busy = made->busy++;
    if (!made->component->reentrant && strcmp(made->component->style, "blocking") == 0) assert_int_equal(busy, 0);
    int32_t status = made->component->start(instance, task, input);
    made->busy--;
    return status;
}

static void fixture_cancel(void *instance, tn_task task) {
    const struct fake_instance *made = instance;
    if (made->component->cancel) made->component->cancel(instance, task);
}

static void fixture_ready(void *instance, tn_task task) {
    const struct fake_instance *made = instance;
    if (made->component->ready) made->component->ready(instance, task);
}

static void fixture_destroy(void *instance) {
    fixture_instances--;
    free(instance);
}

static const void *fixture_offer(void *self, const char *id) {
    static const tn_component_1 components = {sizeof components, fixture_create, fixture_start,
                                              fixture_cancel,    fixture_ready,  fixture_destroy};
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
}

/* ---- The host ---- */

static void fixture_begin(void) {
    static const tn_plugin plugin = {sizeof plugin, NULL, fixture_offer};
    struct error error = ERROR_INIT;
    fixture_values = value_live_count();
    fixture_host.loop = loop_new(&error);
    loop_fake_clock(fixture_host.loop);
    loop_enter(fixture_host.loop);
    fixture_host.registry =
        registry_new(&(struct registry_options){.interfaces = interface_table, .loop = fixture_host.loop});
    tn_value components = value_array();
    for (const struct fake_component *row = fake_components; row->id; row++) {
        tn_value text = value_format("{\"kind\": \"node\", \"id\": \"%s\", \"title\": \"Fake\", \"documentation\": "
                                     "\"Fake.\", \"style\": \"%s\", \"reentrant\": %s, \"effects\": [], \"config\": "
                                     "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {}}}",
                                     row->id, row->style, row->reentrant ? "true" : "false");
        tn_value component = NULL;
        size_t length;
        const char *chars = value_chars(text, &length);
        assert_int_equal(json_read(chars, length, NULL, &component, NULL), TN_OK);
        components = value_push_take(components, component);
        value_unref(text);
    }
    static const char head[] = "{\"id\": \"test.fake\", \"version\": \"1.0.0\", \"title\": \"Fakes\"}";
    tn_value about = NULL;
    assert_int_equal(json_read(head, sizeof head - 1, NULL, &about, NULL), TN_OK);
    tn_value manifest = value_set_take(value_set_take(value_object(), "plugin", about), "components", components);
    int32_t status = registry_add_native(fixture_host.registry, manifest, &plugin, "test", &error);
    if (status != TN_OK) fail_msg("%s", error.message);
    value_unref(manifest);
    fixture_plugin = registry_plugin(fixture_host.registry, "test.fake");
    fixture_plugin_host = plugin_host(fixture_plugin);
    fixture_in = value_int(20);
}

/* Runs queued work without waiting and without advancing the clock: permanent work keeps the loop busy. */
static int fixture_turns;
static void fixture_repeat_work(struct loop_work *work) {
    if (fixture_turns-- > 0) loop_defer(fixture_host.loop, work);
}
static bool fixture_turns_are_over(void *user) { return (void)user, fixture_turns < 0; }
static FIXTURE_UNUSED void fixture_run_turns(void) {
    static struct loop_work work = {.run = fixture_repeat_work};
    fixture_turns = 12;
    loop_defer(fixture_host.loop, &work);
    assert_true(loop_run(fixture_host.loop, fixture_turns_are_over, NULL));
}

static FIXTURE_UNUSED void fixture_advance(int64_t ms) {
    loop_fake_advance(fixture_host.loop, ms);
    fixture_run_turns();
}

static void fixture_end(void) {
    workers_stop();
    fixture_run_turns(); /* runs what workers posted last */
    registry_free(fixture_host.registry);
    loop_free(fixture_host.loop);
    value_unref(fixture_in);
    fixture_in = NULL;
    assert_int_equal(fixture_instances, 0);
    assert_int_equal(value_live_count(), fixture_values);
}

static int32_t fixture_field(void *self, const char *name) {
    (void)self;
    return strcmp(name, "score") == 0 ? 7 : -1;
}

static int32_t fixture_channel(void *self, const char *name) {
    (void)self;
    return strcmp(name, "out") == 0 ? 3 : -1;
}

static void fixture_each_field(void *self, void (*offer)(void *user, const char *name), void *user) {
    (void)self;
    offer(user, "score");
}

static struct callable *fixture_instance(const char *id);

static struct callable *fixture_callee(void *self, struct authority *caller, const char *kind, const char *name,
                                       tn_value config, struct error *error) {
    (void)self, (void)caller, (void)kind, (void)config, (void)error;
    return fixture_instance(name);
}

static const struct instance_scope fixture_scope = {.field = fixture_field,
                                                    .channel = fixture_channel,
                                                    .callee = fixture_callee,
                                                    .each_field = fixture_each_field,
                                                    .where = "a test",
                                                    .checked_before = true}; /* authority_test.c is about checks */

static struct callable *fixture_instance(const char *id) {
    struct component *component;
    struct callable *callable;
    struct error error = ERROR_INIT;
    if (registry_resolve(fixture_host.registry, "node", id, &component, &error) != TN_OK) fail_msg("%s", error.message);
    if (instance_new(component, NULL, &fixture_scope, &callable, &error) != TN_OK) fail_msg("%s", error.message);
    return callable;
}

/* ---- Calls that record their callbacks ---- */

struct record {
    int ended;
    int64_t at_ms; /* time of the end */
    int chunks;
    int64_t last;     /* the last chunk, an integer */
    bool ordered;     /* each chunk was the previous one plus 1 */
    bool refuse;      /* chunk() returns false */
    bool free_inside; /* the owner frees the call in ended() */
    enum call_outcome outcome;
};

static tn_value record_read(struct call *call, uint32_t field) {
    (void)call;
    return field == 7 ? fixture_in : NULL;
}

static bool record_chunk(struct call *call, tn_value chunk) {
    struct record *record = call_owner(call);
    assert_int_equal(record->ended, 0);
    int64_t number = value_is(chunk, TN_INT) ? value_to_int(chunk) : -1;
    record->ordered = record->chunks == 0 ? number == 0 : record->ordered && number == record->last + 1;
    record->last = number;
    record->chunks++;
    return !record->refuse;
}

static void record_ended(struct call *call) {
    struct record *record = call_owner(call);
    record->ended++;
    record->at_ms = loop_now_ms(call_loop(call));
    record->outcome = call_outcome(call);
    if (record->free_inside) call_free(call);
}

static const struct call_ops record_ops = {.ended = record_ended, .chunk = record_chunk, .read = record_read};

static FIXTURE_UNUSED struct call *fixture_call(struct callable *callable, struct record *record) {
    memset(record, 0, sizeof *record);
    return call_new(fixture_host.loop, callable, &record_ops, record);
}

static bool record_has_ended(void *user) { return ((const struct record *)user)->ended > 0; }

static FIXTURE_UNUSED void fixture_wait(struct record *record) {
    assert_true(loop_run(fixture_host.loop, record_has_ended, record));
}

static FIXTURE_UNUSED const char *code_of(const struct call *call) {
    return call_error(call) ? call_error(call)->code : "";
}

#endif
