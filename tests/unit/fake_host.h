/*
 * fake_host.h - a host of a hundred lines, for testing plugins without one: every interface, over the real values.
 *
 * A test includes the plugin's sources, so that its entry is the program's own. State is a list of named channels;
 * tasks are rows of a table, and remember how they ended. An expression is `state.NAME`, JSON, or `fail`, which fails;
 * a template's holes are channels. Nothing happens by itself: posted calls run by fake_advance, called components end
 * by fake_call_end, and an emitted chunk is refused while `room` is 0.
 *
 *     struct fake_task *task = fake_run("set", "{\"values\": {\"done\": true}}", "null");
 *     assert_true(fake_wrote("done", "true"));
 *     fake_finish();
 */
#ifndef TENON_TESTS_FAKE_HOST_H
#define TENON_TESTS_FAKE_HOST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon.h>
#include <tenon/eval.h>
#include <tenon/graph.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"

#define FAKE_MAX 64

enum fake_end { FAKE_OPEN, FAKE_COMPLETED, FAKE_FAILED };

struct fake_task {
    enum fake_end end;
    tn_value output, error; /* owned; error: {code, message, ...more} */
    bool cancelled;
};

static struct fake {
    struct {
        char name[32];
        tn_value value, written; /* written: NULL where it was not */
        bool readable, writable; /* bound so */
    } channels[FAKE_MAX];
    uint32_t channel_count;
    struct fake_task tasks[FAKE_MAX]; /* a token is an index + 1 */
    uint32_t task_count;
    char *texts[FAKE_MAX]; /* bound expressions and templates */
    uint32_t text_count;
    struct {
        uint64_t id, due;
        void (*function)(void *argument);
        void *argument;
    } posts[FAKE_MAX];
    uint64_t post_count, next_post, now;
    struct {
        char kind[16], name[64];
        tn_task task;
        tn_value input;
        tn_call_done done;
        void *user;
    } call;           /* the last one */
    tn_value emitted; /* an array */
    uint32_t room;    /* chunks that emit will still take */
    uint64_t deny;    /* the allocation that fails: 1 is the next; 0: none does */
    char refusal[512];
    char missing[64];                    /* an interface that get does not give */
    const void *(*more)(const char *id); /* interfaces of the test's own; may be NULL */
    bool started;
    const tn_component_1 *components;
    void *self, *instance;
} fake;

/* ---- Values ---- */

static int32_t fake_as_bool(tn_value value, int32_t *out) {
    if (!value_is(value, TN_BOOL)) return TN_TYPE;
    *out = value_to_bool(value);
    return TN_OK;
}
static int32_t fake_as_int(tn_value value, int64_t *out) { return value_as_int(value, out) ? TN_OK : TN_TYPE; }
static int32_t fake_as_double(tn_value value, double *out) {
    if (!value_is_number(value)) return TN_TYPE;
    *out = value_to_double(value);
    return TN_OK;
}
static const char *fake_as_text(tn_value value, uint64_t *length) {
    size_t size;
    if (!value_is(value, TN_STRING)) return NULL;
    const char *chars = value_chars(value, &size);
    if (length) *length = size;
    return chars;
}
static const void *fake_as_bytes(tn_value value, uint64_t *length) {
    size_t size;
    if (!value_is(value, TN_BYTES)) return NULL;
    const void *data = value_data(value, &size);
    if (length) *length = size;
    return data;
}
static uint64_t fake_count(tn_value value) { return value_count(value); }
static tn_value fake_at(tn_value array, uint64_t index) {
    return value_is(array, TN_ARRAY) && index < value_count(array) ? value_at(array, index) : NULL;
}
static tn_value fake_get(tn_value object, const char *key) { return value_get(object, key); }
static int32_t fake_entry(tn_value object, uint64_t index, tn_value *key, tn_value *value) {
    if (!value_is(object, TN_OBJECT) || index >= value_count(object)) return TN_NOT_FOUND;
    *key = value_key_at(object, index);
    *value = value_value_at(object, index);
    return TN_OK;
}
static int32_t fake_kind(tn_value value) { return value_kind(value); }
static int32_t fake_equal(tn_value a, tn_value b) { return value_equal(a, b); }
static tn_value fake_null(void) { return value_null(); }
static tn_value fake_bool(int32_t truth) { return value_bool(truth != 0); }
static tn_value fake_text(const char *text, uint64_t length) { return value_string(text, length); }
static tn_value fake_bytes(const void *bytes, uint64_t length) { return value_bytes(bytes, length); }
static tn_value fake_append(tn_value array, tn_value item) {
    return value_push_take(value_ref(array), value_ref(item));
}
static tn_value fake_set(tn_value object, const char *key, tn_value value) {
    return value_set_take(value_ref(object), key, value_ref(value));
}
static tn_value fake_json(const char *text) {
    tn_value value = NULL;
    return json_read(text, strlen(text), NULL, &value, NULL) == TN_OK ? value : NULL;
}
static int32_t fake_from_json(const char *json, uint64_t length, tn_value *out) {
    return json_read(json, length, NULL, out, NULL) == TN_OK ? TN_OK : TN_INVALID;
}
static tn_value fake_to_json(tn_value value) {
    if (!value) return NULL;
    char *text = json_text(value, JSON_COMPACT);
    tn_value result = value_text(text);
    mem_free(text);
    return result;
}

/* A builder writes JSON text: what it accepts is what JSON does. */
struct tn_builder {
    struct buffer text;
    bool comma, bad;
    int depth;
    char closing[32];
};
static tn_builder *fake_builder(void) {
    tn_builder *builder = calloc(1, sizeof *builder);
    if (!builder) abort();
    buffer_init(&builder->text, SIZE_MAX);
    return builder;
}
static void fake_comma(tn_builder *builder) {
    if (builder->comma) buffer_char(&builder->text, ',');
    builder->comma = true;
}
static void fake_begin(tn_builder *builder, int32_t kind) {
    fake_comma(builder);
    buffer_char(&builder->text, kind == TN_ARRAY ? '[' : '{');
    builder->closing[builder->depth++] = kind == TN_ARRAY ? ']' : '}';
    builder->comma = false;
}
static void fake_key(tn_builder *builder, const char *key) {
    fake_comma(builder);
    json_write_string(&builder->text, key, strlen(key));
    buffer_char(&builder->text, ':');
    builder->comma = false;
}
static void fake_add(tn_builder *builder, tn_value value) {
    fake_comma(builder);
    if (value) json_write(&builder->text, value, JSON_COMPACT);
    builder->bad |= value == NULL;
}
static void fake_end(tn_builder *builder) {
    if (builder->depth > 0) buffer_char(&builder->text, builder->closing[--builder->depth]);
    builder->comma = true;
}
static tn_value fake_finish_builder(tn_builder *builder) {
    tn_value value = builder->bad ? NULL : fake_json(buffer_cstr(&builder->text));
    buffer_finish(&builder->text);
    free(builder);
    return value;
}

static const tn_value_1 fake_values = {
    sizeof(tn_value_1), 0,           value_ref,      value_unref,         fake_kind,
    fake_as_bool,       fake_as_int, fake_as_double, fake_as_text,        fake_as_bytes,
    fake_count,         fake_at,     fake_get,       fake_entry,          fake_equal,
    fake_null,          fake_bool,   value_int,      value_double,        fake_text,
    fake_bytes,         fake_append, fake_set,       fake_builder,        fake_begin,
    fake_key,           fake_add,    fake_end,       fake_finish_builder, fake_from_json,
    fake_to_json};

/* ---- Core ---- */

static void fake_log(const tn_host *host, int32_t level, const char *message) {
    (void)host;
    snprintf(fake.refusal, sizeof fake.refusal, "log %d: %s", level, message);
}
static int64_t fake_wall(const tn_host *host) { return (void)host, (int64_t)fake.now; }
static int64_t fake_monotonic(const tn_host *host) { return (void)host, (int64_t)fake.now * 1000000; }
static bool fake_denies(void) { return fake.deny > 0 && --fake.deny == 0; }
static void *fake_alloc(const tn_host *host, uint64_t size) {
    (void)host;
    return fake_denies() ? NULL : malloc(size);
}
static void *fake_resize(const tn_host *host, void *memory, uint64_t size) {
    (void)host;
    return fake_denies() ? NULL : realloc(memory, size);
}
static void fake_release(const tn_host *host, void *memory) { (void)host, free(memory); }
static uint64_t fake_post(const tn_host *host, uint64_t delay_ms, void (*function)(void *), void *argument) {
    (void)host;
    uint64_t i = fake.post_count++;
    fake.posts[i].id = ++fake.next_post;
    fake.posts[i].due = fake.now + delay_ms;
    fake.posts[i].function = function;
    fake.posts[i].argument = argument;
    return fake.next_post;
}
static int32_t fake_unpost(const tn_host *host, uint64_t id) {
    (void)host;
    for (uint64_t i = 0; i < fake.post_count; i++) {
        if (fake.posts[i].id != id) continue;
        fake.posts[i] = fake.posts[--fake.post_count];
        return TN_OK;
    }
    return TN_NOT_FOUND;
}
static const tn_core_1 fake_core = {sizeof(tn_core_1), 0,           fake_log,     fake_wall, fake_monotonic,
                                    fake_alloc,        fake_resize, fake_release, fake_post, fake_unpost};

/* ---- Tasks ---- */

static struct fake_task *fake_open(tn_task task) {
    struct fake_task *found = task > 0 && task <= fake.task_count ? &fake.tasks[task - 1] : NULL;
    return found && found->end == FAKE_OPEN ? found : NULL;
}
static int32_t fake_complete(tn_task task, tn_value output) {
    struct fake_task *found = fake_open(task);
    if (!found) return TN_STALE;
    found->end = FAKE_COMPLETED;
    found->output = value_ref(output);
    return TN_OK;
}
static int32_t fake_end_with(tn_task task, tn_value error_take) {
    struct fake_task *found = fake_open(task);
    if (!found) {
        value_unref(error_take);
        return TN_STALE;
    }
    found->end = FAKE_FAILED;
    found->error = error_take;
    return TN_OK;
}
static int32_t fake_fail(tn_task task, const char *code, const char *message, tn_value more) {
    tn_value error =
        value_set_take(value_set_take(value_object(), "code", value_text(code)), "message", value_text(message));
    for (size_t i = 0; i < value_count(more); i++)
        error = value_set_key_take(error, value_ref(value_key_at(more, i)), value_ref(value_value_at(more, i)));
    return fake_end_with(task, error);
}
static int32_t fake_interrupt(tn_task task, tn_value payload, tn_value schema, tn_value continuation) {
    (void)task, (void)payload, (void)schema, (void)continuation;
    return TN_UNSUPPORTED;
}
static int32_t fake_emit(tn_task task, tn_value chunk) {
    struct fake_task *found = fake_open(task);
    if (!found) return TN_STALE;
    if (found->cancelled) return TN_CANCELLED;
    if (fake.room == 0) return TN_AGAIN;
    fake.room--;
    fake.emitted = value_push_take(fake.emitted, value_ref(chunk));
    return TN_OK;
}
static int32_t fake_cancelled(tn_task task) { return fake_open(task) ? fake_open(task)->cancelled : TN_STALE; }
static tn_value fake_context(tn_task task) { return fake_open(task) ? value_object() : NULL; }
static tn_value fake_read(tn_task task, uint32_t index) {
    assert_true(index < fake.channel_count && fake.channels[index].readable); /* only what was bound */
    return fake_open(task) ? value_ref(fake.channels[index].value) : NULL;
}
static int32_t fake_write(tn_task task, uint32_t index, tn_value value) {
    if (!fake_open(task)) return TN_STALE;
    if (!value) return TN_INVALID;
    assert_true(index < fake.channel_count && fake.channels[index].writable);
    value_unref(fake.channels[index].written);
    fake.channels[index].written = value_ref(value);
    return TN_OK;
}
static int32_t fake_call(tn_task task, uint32_t callee, tn_value input, tn_call_done done, void *user) {
    if (!fake_open(task) || callee != 7) return TN_INVALID;
    fake.call.task = task;
    fake.call.input = value_ref(input);
    fake.call.done = done;
    fake.call.user = user;
    return TN_OK;
}
static int32_t fake_call_wait(tn_task task, uint32_t callee, tn_value input, tn_value *result) {
    (void)task, (void)callee, (void)input, (void)result;
    return TN_WRONG_THREAD;
}
static int32_t fake_channel(const char *name, uint32_t *index) {
    for (uint32_t i = 0; i < fake.channel_count; i++) {
        if (strcmp(fake.channels[i].name, name) != 0) continue;
        *index = i;
        return TN_OK;
    }
    snprintf(fake.refusal, sizeof fake.refusal, "no channel `%s`", name);
    return TN_NOT_FOUND;
}
static int32_t fake_bind_read(tn_binder *binder, const char *channel, uint32_t *index) {
    (void)binder;
    int32_t status = fake_channel(channel, index);
    if (status == TN_OK) fake.channels[*index].readable = true;
    return status;
}
static int32_t fake_bind_write(tn_binder *binder, const char *channel, uint32_t *index) {
    (void)binder;
    int32_t status = fake_channel(channel, index);
    if (status == TN_OK) fake.channels[*index].writable = true;
    return status;
}
static int32_t fake_bind_call(tn_binder *binder, const char *kind, const char *name, tn_value config,
                              uint32_t *callee) {
    (void)binder, (void)config;
    snprintf(fake.call.kind, sizeof fake.call.kind, "%s", kind);
    snprintf(fake.call.name, sizeof fake.call.name, "%s", name);
    *callee = 7;
    return TN_OK;
}
static int32_t fake_refuse(tn_binder *binder, const char *code, const char *message) {
    (void)binder;
    snprintf(fake.refusal, sizeof fake.refusal, "%s: %s", code, message);
    return TN_INVALID;
}
static const tn_task_1 fake_tasks = {
    sizeof(tn_task_1), 0,          fake_complete, fake_fail, fake_interrupt, fake_emit,      fake_cancelled,
    fake_context,      fake_read,  fake_write,    fake_call, fake_call_wait, fake_bind_read, fake_bind_write,
    fake_bind_call,    fake_refuse};

/* ---- Expressions, templates, schemas, graphs ---- */

static int32_t fake_bind_text(tn_binder *binder, const char *text, uint32_t *index) {
    (void)binder;
    if (strcmp(text, "invalid(") == 0) return fake_refuse(binder, "EXPRESSION", "it does not end");
    *index = fake.text_count;
    fake.texts[fake.text_count++] = strdup(text);
    return TN_OK;
}
static int32_t fake_bind_schema(tn_binder *binder, tn_value schema, uint32_t *index) {
    (void)schema;
    return fake_bind_text(binder, "schema", index);
}
static tn_value fake_error(const char *code, const char *message) {
    return value_set_take(value_set_take(value_object(), "code", value_text(code)), "message", value_text(message));
}
static int32_t fake_evaluate(tn_task task, uint32_t expression, tn_value item, tn_value *out) {
    const char *text = fake.texts[expression];
    uint32_t index;
    (void)item;
    if (!fake_open(task)) return TN_STALE;
    if (strncmp(text, "state.", 6) == 0 && fake_channel(text + 6, &index) == TN_OK) {
        *out = value_ref(fake.channels[index].value);
        return TN_OK;
    }
    *out = fake_json(text);
    if (*out) return TN_OK;
    *out = fake_error("EXPRESSION_ERROR", text);
    return TN_FAILED;
}
static int32_t fake_render(tn_task task, uint32_t template, tn_value variables, tn_value *out) {
    struct buffer text;
    (void)variables;
    if (!fake_open(task)) return TN_STALE;
    buffer_init(&text, SIZE_MAX);
    for (const char *at = fake.texts[template]; *at; at++) {
        char name[32] = "";
        uint32_t index;
        if (*at != '{') {
            buffer_char(&text, *at);
            continue;
        }
        sscanf(at, "{%31[^}]}", name);
        at += strlen(name) + 1;
        if (fake_channel(name, &index) != TN_OK) {
            buffer_finish(&text);
            *out = fake_error("MISSING_VARIABLE", name);
            return TN_FAILED;
        }
        buffer_text(&text, value_chars(fake.channels[index].value, NULL));
    }
    *out = value_text(buffer_cstr(&text));
    buffer_finish(&text);
    return TN_OK;
}
/* Every schema wants an object. */
static int32_t fake_validate(tn_task task, uint32_t schema, tn_value instance, tn_value *error) {
    (void)task, (void)schema;
    if (value_is(instance, TN_OBJECT)) return TN_OK;
    *error = fake_error("SCHEMA", "an object was expected");
    return TN_FAILED;
}
static int32_t fake_fail_with(tn_task task, tn_value error) { return fake_end_with(task, value_ref(error)); }
static const tn_eval_draft fake_eval = {
    sizeof(tn_eval_draft), 0,           fake_bind_text, fake_bind_text, fake_bind_schema,
    fake_evaluate,         fake_render, fake_validate,  fake_fail_with};

static int32_t fake_bind_document(tn_binder *binder, const char *document, uint32_t *callee) {
    return fake_bind_call(binder, "graph", document, NULL, callee);
}
static const tn_graph_draft fake_graph = {sizeof(tn_graph_draft), 0, fake_bind_document};

/* ---- The host ---- */

static const void *fake_interface(void *self, const char *id) {
    (void)self;
    if (strcmp(id, fake.missing) == 0) return NULL;
    if (strcmp(id, TN_VALUE_1) == 0) return &fake_values;
    if (strcmp(id, TN_CORE_1) == 0) return &fake_core;
    if (strcmp(id, TN_TASK_1) == 0) return &fake_tasks;
    if (strcmp(id, TN_EVAL_DRAFT) == 0) return &fake_eval;
    if (strcmp(id, TN_GRAPH_DRAFT) == 0) return &fake_graph;
    return fake.more ? fake.more(id) : NULL;
}
static const tn_host fake_host = {sizeof(tn_host), 0, NULL, fake_interface};

/* Enters the plugin; NULL where it declined. */
static const tn_plugin *fake_enter(void) {
    const tn_plugin *plugin = tn_plugin_entry_1(&fake_host);
    fake.components = plugin ? plugin->get(plugin->self, TN_COMPONENT_1) : NULL;
    fake.self = plugin ? plugin->self : NULL;
    return plugin;
}

static inline void fake_set_channel(const char *name, const char *json) {
    uint32_t index = fake.channel_count;
    for (uint32_t i = 0; i < fake.channel_count; i++)
        if (strcmp(fake.channels[i].name, name) == 0) index = i;
    if (index == fake.channel_count) fake.channel_count++;
    snprintf(fake.channels[index].name, sizeof fake.channels[index].name, "%s", name);
    value_unref(fake.channels[index].value);
    fake.channels[index].value = fake_json(json);
    assert_non_null(fake.channels[index].value);
}

/* Creates the instance that fake_start uses. */
static int32_t fake_create(const char *id, const char *config) {
    tn_value value = fake_json(config);
    assert_non_null(value);
    if (!fake.started) assert_non_null(fake_enter());
    fake.started = true;
    if (!fake.emitted) fake.emitted = value_array();
    int32_t status = fake.components->create(fake.self, id, value, NULL, &fake.instance);
    value_unref(value);
    return status;
}

static struct fake_task *fake_start(const char *input) {
    tn_value value = fake_json(input);
    struct fake_task *task = &fake.tasks[fake.task_count++];
    task->end = FAKE_OPEN;
    int32_t status = fake.components->start(fake.instance, fake.task_count, value);
    if (status != TN_OK) {
        char code[16];
        snprintf(code, sizeof code, "%d", status);
        assert_int_equal(fake_fail(fake.task_count, code, "start failed", NULL),
                         TN_OK); /* it must not have ended too */
    }
    value_unref(value);
    return task;
}

static inline struct fake_task *fake_run(const char *id, const char *config, const char *input) {
    assert_int_equal(fake_create(id, config), TN_OK);
    return fake_start(input);
}

static inline void fake_cancel(struct fake_task *task) {
    task->cancelled = true;
    fake.components->cancel(fake.instance, (tn_task)(task - fake.tasks) + 1);
}

static inline void fake_ready(struct fake_task *task, uint32_t room) {
    fake.room = room;
    fake.components->ready(fake.instance, (tn_task)(task - fake.tasks) + 1);
}

static inline void fake_advance(uint64_t ms) {
    fake.now += ms;
    for (uint64_t i = 0; i < fake.post_count;) {
        if (fake.posts[i].due > fake.now) {
            i++;
            continue;
        }
        void (*function)(void *) = fake.posts[i].function;
        void *argument = fake.posts[i].argument;
        fake.posts[i] = fake.posts[--fake.post_count];
        function(argument);
        i = 0;
    }
}

static inline void fake_call_end(int32_t status, const char *json) {
    tn_value result = json ? fake_json(json) : NULL;
    value_unref(fake.call.input);
    fake.call.input = NULL;
    fake.call.done(fake.call.user, status, result);
    value_unref(result);
}

static bool fake_is(tn_value value, const char *json) {
    char *text = value ? json_text(value, JSON_COMPACT) : NULL;
    bool same = text && strcmp(text, json) == 0;
    if (!same) print_message("found:    %s\nexpected: %s\n", text ? text : "nothing", json);
    mem_free(text);
    return same;
}

static inline bool fake_wrote(const char *channel, const char *json) {
    uint32_t index;
    return fake_channel(channel, &index) == TN_OK && fake_is(fake.channels[index].written, json);
}

static inline bool fake_failed(const struct fake_task *task, const char *code) {
    bool same = task->end == FAKE_FAILED && value_text_is(value_get(task->error, "code"), code);
    if (!same)
        print_message("ended %d, with %s\n", (int)task->end,
                      task->error ? value_chars(value_get(task->error, "code"), NULL) : "no error");
    return same;
}

/* Destroys the instance and forgets everything; every task must have ended, and no posted call be left. */
static void fake_finish(void) {
    for (uint32_t i = 0; i < fake.task_count; i++) {
        assert_int_not_equal(fake.tasks[i].end, FAKE_OPEN);
        value_unref(fake.tasks[i].output);
        value_unref(fake.tasks[i].error);
    }
    assert_int_equal(fake.post_count, 0);
    if (fake.instance) fake.components->destroy(fake.instance);
    for (uint32_t i = 0; i < fake.channel_count; i++) {
        value_unref(fake.channels[i].value);
        value_unref(fake.channels[i].written);
    }
    for (uint32_t i = 0; i < fake.text_count; i++) free(fake.texts[i]);
    value_unref(fake.emitted);
    value_unref(fake.call.input);
    memset(&fake, 0, sizeof fake);
}

#endif
