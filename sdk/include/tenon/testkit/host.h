/*
 * tenon/testkit/host.h - the interfaces of the fake host: core, task, eval, graph; include <tenon/testkit.h>.
 */
#ifndef TENON_TESTKIT_HOST_H
#define TENON_TESTKIT_HOST_H

#include <tenon/eval.h>
#include <tenon/graph.h>
#include <tenon/testkit/base.h>

#ifndef TN_TEST_VALUES
#include <tenon/testkit/json.h>
#define TN_TEST_VALUES     (&tn_test_values)
#define TN_TEST_OWN_VALUES 1
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TN_TEST_MAX 64 /* channels, tasks, calls, callees, texts and posted calls */

enum tn_test_state { TN_TEST_OPEN, TN_TEST_COMPLETED, TN_TEST_FAILED, TN_TEST_INTERRUPTED };

struct tn_test_task {
    enum tn_test_state state;
    tn_value output; /* owned; of an interrupt: its payload */
    tn_value error, continuation;
    bool cancelled;
};

struct tn_test_channel {
    char name[32];
    tn_value value, written; /* written: NULL if it was not */
    bool readable, writable; /* bound as such */
};

struct tn_test_posted {
    uint64_t id, due;
    void TN_FN(function)(void *argument);
    void TN_FN(drop)(void *argument);
    void *argument;
};

struct tn_test_callee { /* bound as index `i`; the kind of a bound document is "graph" */
    char kind[16], name[64];
};

struct tn_test_called { /* its number is the index + 1 */
    const struct tn_test_callee *callee;
    tn_task task;
    tn_value input;
    tn_call_handler handler;
    void *user;
    char chunks[16];    /* the option, or its default */
    int64_t timeout_ms; /* the option, or 0 */
    bool open, cancelled, paused;
};

static struct tn_test_host {
    struct tn_test_channel channels[TN_TEST_MAX];
    uint32_t channel_count;
    struct tn_test_task tasks[TN_TEST_MAX]; /* a token is an index + 1 */
    uint32_t task_count;
    char *texts[TN_TEST_MAX]; /* bound expressions and templates */
    uint32_t text_count;
    struct tn_test_posted posts[TN_TEST_MAX];
    uint64_t post_count, next_post, now;
    struct tn_test_callee callees[TN_TEST_MAX];
    uint32_t callee_count;
    struct tn_test_called calls[TN_TEST_MAX];
    uint32_t call_count;
    tn_value emitted;                        /* an array */
    uint32_t room;                           /* chunks that emit still takes */
    uint64_t deny;                           /* the allocation that fails: 1 is the next; 0: none */
    bool in_start;                           /* a task is being started: refuse is not allowed */
    char refusal[512];                       /* CODE: message, of the last refuse or failed bind */
    char refused_at[256];                    /* its detail.at, the member of the configuration; "" without one */
    char logged[512];                        /* LEVEL: message, of the last log line */
    char missing[64];                        /* an interface that the host does not offer */
    const void *TN_FN(more)(const char *id); /* further interfaces; may be NULL */
    bool started;
    const tn_component_1 *components;
    void *self, *instance;
} tn_test;

static inline const void *TN_ABI tn_test_interface(void *self, const char *id);
static const tn_host tn_test_the_host = {sizeof(tn_host), NULL, tn_test_interface};

/* ---- Helpers ---- */

/* NULL if it is not JSON. */
static inline tn_value tn_test_json(const char *text) {
    tn_value value = NULL;
    (void)TN_TEST_VALUES->from_json(&tn_test_the_host, text, TN_Z, &value, NULL);
    return value;
}

static inline tn_value tn_test_error(const char *code, const char *message) {
    tn_builder *builder = TN_TEST_VALUES->builder(&tn_test_the_host);
    tn_value error = NULL;
    TN_TEST_VALUES->begin(builder, TN_OBJECT);
    TN_TEST_VALUES->key(builder, "code", TN_Z);
    TN_TEST_VALUES->add_text(builder, code, TN_Z);
    TN_TEST_VALUES->key(builder, "message", TN_Z);
    TN_TEST_VALUES->add_text(builder, message, TN_Z);
    TN_TEST_VALUES->end(builder);
    (void)TN_TEST_VALUES->finish(builder, &error, NULL);
    TN_TEST_ASSERT(error != NULL);
    return error;
}

/* The text of a member; NULL if it is missing or no string. */
static inline const char *tn_test_member(tn_value object, const char *key) {
    return TN_TEST_VALUES->as_text(TN_TEST_VALUES->get(object, key, TN_Z), NULL);
}

static inline bool tn_test_is_error(tn_value error) {
    return tn_test_member(error, "code") != NULL && tn_test_member(error, "message") != NULL;
}

/* TN_FAILED, with an error for those who want one. */
static inline int32_t tn_test_give(tn_value *error, const char *code, const char *message) {
    if (error != NULL) *error = tn_test_error(code, message);
    return TN_FAILED;
}

static inline void tn_test_copy(char *out, size_t room, const char *text, uint64_t length) {
    length = tn_test_length(text, length);
    TN_TEST_ASSERT(length < room);
    memcpy(out, text, TN_UTIL_CAST(size_t, length));
    out[length] = '\0';
}

/* ---- Core ---- */

static inline void TN_ABI tn_test_log(const tn_host *host, int32_t level, const char *message, uint64_t length) {
    (void)host;
    length = tn_test_length(message, length);
    (void)snprintf(tn_test.logged, sizeof(tn_test.logged), "%d: %.*s", TN_UTIL_CAST(int, level),
                   TN_UTIL_CAST(int, length < 400 ? length : 400), message);
}

static inline int64_t TN_ABI tn_test_wall_ms(const tn_host *host) {
    (void)host;
    return TN_UTIL_CAST(int64_t, tn_test.now);
}

static inline int64_t TN_ABI tn_test_monotonic_ns(const tn_host *host) { return tn_test_wall_ms(host) * 1000000; }

static inline bool tn_test_denies(void) { return tn_test.deny > 0 && --tn_test.deny == 0; }

static inline void *TN_ABI tn_test_resize(const tn_host *host, void *memory, uint64_t size) {
    (void)host;
    return tn_test_denies() ? NULL : realloc(memory, TN_UTIL_CAST(size_t, size > 0 ? size : 1));
}

static inline void *TN_ABI tn_test_alloc(const tn_host *host, uint64_t size) {
    return tn_test_resize(host, NULL, size);
}

static inline void TN_ABI tn_test_free(const tn_host *host, void *memory) {
    (void)host;
    free(memory);
}

static inline int32_t TN_ABI tn_test_post(const tn_host *host, uint64_t delay_ms, void TN_FN(function)(void *argument),
                                          void TN_FN(drop)(void *argument), void *argument, uint64_t *id) {
    struct tn_test_posted *post = &tn_test.posts[tn_test.post_count];
    (void)host;
    if (function == NULL) return TN_INVALID;
    if (tn_test.post_count == TN_TEST_MAX) return TN_LIMIT;
    tn_test.post_count++;
    post->id = ++tn_test.next_post;
    post->due = tn_test.now + delay_ms;
    post->function = function;
    post->drop = drop;
    post->argument = argument;
    if (id != NULL) *id = post->id;
    return TN_OK;
}

static inline struct tn_test_posted tn_test_take_post(uint64_t index) {
    struct tn_test_posted post = tn_test.posts[index];
    tn_test.posts[index] = tn_test.posts[--tn_test.post_count];
    return post;
}

static inline int32_t TN_ABI tn_test_unpost(const tn_host *host, uint64_t id) {
    (void)host;
    for (uint64_t i = 0; i < tn_test.post_count; i++) {
        struct tn_test_posted post;
        if (tn_test.posts[i].id != id) continue;
        post = tn_test_take_post(i);
        if (post.drop != NULL) post.drop(post.argument);
        return TN_OK;
    }
    return TN_NOT_FOUND;
}

static inline int32_t TN_ABI tn_test_refuse(const tn_host *host, tn_value error) {
    const char *at;
    (void)host;
    if (error == NULL) return TN_INVALID;
    if (tn_test.in_start) return TN_UNSUPPORTED;
    TN_TEST_ASSERT(tn_test_is_error(error));
    at = tn_test_member(TN_TEST_VALUES->get(error, "detail", TN_Z), "at");
    (void)snprintf(tn_test.refusal, sizeof(tn_test.refusal), "%.63s: %.400s", tn_test_member(error, "code"),
                   tn_test_member(error, "message"));
    (void)snprintf(tn_test.refused_at, sizeof(tn_test.refused_at), "%.250s", at != NULL ? at : "");
    return TN_FAILED;
}

static const tn_core_1 tn_test_core = {sizeof(tn_core_1), tn_test_log,    tn_test_wall_ms, tn_test_monotonic_ns,
                                       tn_test_alloc,     tn_test_resize, tn_test_free,    tn_test_post,
                                       tn_test_unpost,    tn_test_refuse};

/* ---- Tasks ---- */

/* NULL if the task has ended. */
static inline struct tn_test_task *tn_test_task_of(tn_task token) {
    struct tn_test_task *task = token > 0 && token <= tn_test.task_count ? &tn_test.tasks[token - 1] : NULL;
    return task != NULL && task->state == TN_TEST_OPEN ? task : NULL;
}

/* Ends a task, which must not have open calls; NULL if it had ended. */
static inline struct tn_test_task *tn_test_end_task(tn_task token, enum tn_test_state state) {
    struct tn_test_task *task = tn_test_task_of(token);
    if (task == NULL) return NULL;
    for (uint32_t i = 0; i < tn_test.call_count; i++)
        TN_TEST_ASSERT(tn_test.calls[i].task != token || !tn_test.calls[i].open);
    task->state = state;
    return task;
}

static inline int32_t TN_ABI tn_test_complete(tn_task token, tn_value output) {
    struct tn_test_task *task = tn_test_end_task(token, TN_TEST_COMPLETED);
    if (task == NULL) return TN_STALE;
    task->output = TN_TEST_VALUES->retain(output);
    return TN_OK;
}

static inline int32_t TN_ABI tn_test_fail(tn_task token, tn_value error) {
    struct tn_test_task *task = tn_test_end_task(token, TN_TEST_FAILED);
    if (task == NULL) return TN_STALE;
    task->error = tn_test_is_error(error) ? TN_TEST_VALUES->retain(error)
                                          : tn_test_error("NODE_EXECUTION", "the task failed without a reason");
    return TN_OK;
}

static inline int32_t TN_ABI tn_test_interrupt(tn_task token, tn_value payload, tn_value schema,
                                               tn_value continuation) {
    struct tn_test_task *task = tn_test_end_task(token, TN_TEST_INTERRUPTED);
    (void)schema;
    if (task == NULL) return TN_STALE;
    task->output = TN_TEST_VALUES->retain(payload);
    task->continuation = TN_TEST_VALUES->retain(continuation);
    return TN_OK;
}

static inline int32_t TN_ABI tn_test_emit(tn_task token, tn_value chunk) {
    struct tn_test_task *task = tn_test_task_of(token);
    if (task == NULL) return TN_STALE;
    if (task->cancelled) return TN_CANCELLED;
    if (chunk == NULL) return TN_INVALID;
    if (tn_test.room == 0) return TN_AGAIN;
    tn_test.room--;
    return TN_TEST_VALUES->append(&tn_test.emitted, chunk);
}

static inline int32_t TN_ABI tn_test_cancelled(tn_task token) {
    const struct tn_test_task *task = tn_test_task_of(token);
    return task == NULL ? TN_STALE : task->cancelled ? 1 : 0;
}

static inline int32_t TN_ABI tn_test_context(tn_task token, tn_value *out) {
    char text[64];
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    (void)snprintf(text, sizeof(text), "{\"task_id\":\"task-%llu\",\"attempt\":1}",
                   TN_UTIL_CAST(unsigned long long, token));
    *out = tn_test_json(text);
    return TN_OK;
}

static inline int32_t TN_ABI tn_test_read(tn_task token, uint32_t index, tn_value *out) {
    TN_TEST_ASSERT(index < tn_test.channel_count && tn_test.channels[index].readable); /* only what was bound */
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    *out = TN_TEST_VALUES->retain(tn_test.channels[index].value);
    return TN_OK;
}

static inline int32_t TN_ABI tn_test_write_channel(tn_task token, uint32_t index, tn_value value) {
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    if (value == NULL) return TN_INVALID;
    TN_TEST_ASSERT(index < tn_test.channel_count && tn_test.channels[index].writable);
    TN_TEST_VALUES->release(tn_test.channels[index].written);
    tn_test.channels[index].written = TN_TEST_VALUES->retain(value);
    return TN_OK;
}

/* NULL unless the call belongs to the task and is open. */
static inline struct tn_test_called *tn_test_call_of(tn_task token, tn_call number) {
    struct tn_test_called *call = number > 0 && number <= tn_test.call_count ? &tn_test.calls[number - 1] : NULL;
    return call != NULL && call->task == token && call->open ? call : NULL;
}

static inline int32_t TN_ABI tn_test_call(tn_task token, uint32_t callee, tn_value input, tn_value options,
                                          tn_call_handler handler, void *user, tn_call *number) {
    struct tn_test_called *call = &tn_test.calls[tn_test.call_count];
    const char *chunks = tn_test_member(options, "chunks");
    int64_t timeout_ms = 0;
    uint64_t known = chunks != NULL;
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    known += TN_TEST_VALUES->as_int(TN_TEST_VALUES->get(options, "timeout_ms", TN_Z), &timeout_ms) == TN_OK;
    if (handler == NULL || TN_TEST_VALUES->count(options) != known) return TN_INVALID;
    if (callee >= tn_test.callee_count) return TN_NOT_FOUND;
    TN_TEST_ASSERT(tn_test.call_count < TN_TEST_MAX);
    tn_test.call_count++;
    call->callee = &tn_test.callees[callee];
    call->task = token;
    call->input = TN_TEST_VALUES->retain(input);
    call->handler = handler;
    call->user = user;
    call->open = true;
    tn_test_copy(call->chunks, sizeof(call->chunks), chunks != NULL ? chunks : "forward", TN_Z);
    call->timeout_ms = timeout_ms;
    if (number != NULL) *number = tn_test.call_count;
    return TN_OK;
}

static inline int32_t TN_ABI tn_test_cancel_call(tn_task token, tn_call number) {
    struct tn_test_called *call = tn_test_call_of(token, number);
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    if (call == NULL) return TN_NOT_FOUND;
    call->cancelled = true;
    return TN_OK;
}

static inline int32_t TN_ABI tn_test_resume_call(tn_task token, tn_call number) {
    struct tn_test_called *call = tn_test_call_of(token, number);
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    if (call == NULL) return TN_NOT_FOUND;
    call->paused = false;
    return TN_OK;
}

static inline int32_t TN_ABI tn_test_call_wait(tn_task token, uint32_t callee, tn_value input, tn_value options,
                                               tn_value *out, tn_value *error) {
    (void)token, (void)callee, (void)input, (void)options, (void)out, (void)error;
    return TN_WRONG_THREAD;
}

static inline int32_t tn_test_find_channel(const char *name, uint64_t length, uint32_t *index) {
    length = tn_test_length(name, length);
    for (uint32_t i = 0; i < tn_test.channel_count; i++) {
        const char *found = tn_test.channels[i].name;
        if (strlen(found) != length || memcmp(found, name, TN_UTIL_CAST(size_t, length)) != 0) continue;
        *index = i;
        return TN_OK;
    }
    (void)snprintf(tn_test.refusal, sizeof(tn_test.refusal), "no channel `%.*s`",
                   TN_UTIL_CAST(int, length < 400 ? length : 400), name);
    return TN_NOT_FOUND;
}

static inline int32_t TN_ABI tn_test_bind_read(tn_binder *binder, const char *channel, uint64_t length,
                                               uint32_t *index) {
    int32_t status = tn_test_find_channel(channel, length, index);
    (void)binder;
    if (status == TN_OK) tn_test.channels[*index].readable = true;
    return status;
}

static inline int32_t TN_ABI tn_test_bind_write(tn_binder *binder, const char *channel, uint64_t length,
                                                uint32_t *index) {
    int32_t status = tn_test_find_channel(channel, length, index);
    (void)binder;
    if (status == TN_OK) tn_test.channels[*index].writable = true;
    return status;
}

static inline int32_t TN_ABI tn_test_bind_call(tn_binder *binder, const char *kind, uint64_t kind_length,
                                               const char *name, uint64_t length, tn_value config, uint32_t *callee) {
    struct tn_test_callee *bound = &tn_test.callees[tn_test.callee_count];
    (void)binder, (void)config;
    TN_TEST_ASSERT(tn_test.callee_count < TN_TEST_MAX);
    tn_test_copy(bound->kind, sizeof(bound->kind), kind, kind_length);
    tn_test_copy(bound->name, sizeof(bound->name), name, length);
    *callee = tn_test.callee_count++;
    return TN_OK;
}

static const tn_task_1 tn_test_tasks = {
    sizeof(tn_task_1),     tn_test_complete,  tn_test_fail,        tn_test_interrupt,
    tn_test_emit,          tn_test_cancelled, tn_test_context,     tn_test_read,
    tn_test_write_channel, tn_test_call,      tn_test_cancel_call, tn_test_resume_call,
    tn_test_call_wait,     tn_test_bind_read, tn_test_bind_write,  tn_test_bind_call};

/* ---- Expressions, templates, schemas, graphs ---- */

static inline int32_t TN_ABI tn_test_bind_text(tn_binder *binder, const char *text, uint64_t length, uint32_t *index) {
    char *copy;
    (void)binder;
    length = tn_test_length(text, length);
    copy = TN_UTIL_CAST(char *, malloc(TN_UTIL_CAST(size_t, length) + 1));
    TN_TEST_ASSERT(copy != NULL && tn_test.text_count < TN_TEST_MAX);
    tn_test_copy(copy, TN_UTIL_CAST(size_t, length) + 1, text, length);
    if (strcmp(copy, "invalid(") == 0) {
        free(copy);
        (void)snprintf(tn_test.refusal, sizeof(tn_test.refusal), "EXPRESSION: it does not end");
        return TN_INVALID;
    }
    *index = tn_test.text_count;
    tn_test.texts[tn_test.text_count++] = copy;
    return TN_OK;
}

static inline int32_t TN_ABI tn_test_bind_schema(tn_binder *binder, tn_value schema, uint32_t *index) {
    (void)schema;
    return tn_test_bind_text(binder, "schema", TN_Z, index);
}

/* `item`, `item.MEMBER`, `state.CHANNEL`, or JSON. */
static inline int32_t TN_ABI tn_test_evaluate(tn_task token, uint32_t expression, tn_value item, tn_value *out,
                                              tn_value *error) {
    const char *text = tn_test.texts[expression];
    uint32_t index;
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    if (strcmp(text, "item") == 0)
        *out = TN_TEST_VALUES->retain(item);
    else if (strncmp(text, "item.", 5) == 0)
        *out = TN_TEST_VALUES->retain(TN_TEST_VALUES->get(item, text + 5, TN_Z));
    else if (strncmp(text, "state.", 6) == 0 && tn_test_find_channel(text + 6, TN_Z, &index) == TN_OK)
        *out = TN_TEST_VALUES->retain(tn_test.channels[index].value);
    else
        *out = tn_test_json(text);
    return *out != NULL ? TN_OK : tn_test_give(error, "EXPRESSION_ERROR", text);
}

/* Each hole is the name of a variable or a channel; what is not a string is rendered as JSON. */
static inline int32_t TN_ABI tn_test_render(tn_task token, uint32_t text, tn_value variables, tn_value *out,
                                            tn_value *error) {
    char made[4096];
    size_t length = 0;
    if (tn_test_task_of(token) == NULL) return TN_STALE;
    for (const char *at = tn_test.texts[text]; *at != '\0' && length < sizeof(made) - 1;) {
        char name[32] = "";
        const char *chars;
        tn_value found, shown = NULL;
        uint32_t index;
        size_t size = strcspn(at, "}");
        if (*at != '{') {
            made[length++] = *at++;
            continue;
        }
        (void)snprintf(name, sizeof(name), "%.*s", TN_UTIL_CAST(int, size > 0 ? size - 1 : 0), at + 1);
        at += at[size] == '}' ? size + 1 : size;
        found = TN_TEST_VALUES->get(variables, name, TN_Z);
        if (found == NULL && tn_test_find_channel(name, TN_Z, &index) == TN_OK) found = tn_test.channels[index].value;
        if (found == NULL) return tn_test_give(error, "MISSING_VARIABLE", name);
        chars = TN_TEST_VALUES->as_text(found, NULL);
        if (chars == NULL && TN_TEST_VALUES->to_json(found, NULL, &shown) == TN_OK)
            chars = TN_TEST_VALUES->as_text(shown, NULL);
        TN_TEST_ASSERT(chars != NULL && strlen(chars) < sizeof(made) - length);
        memcpy(made + length, chars, strlen(chars));
        length += strlen(chars);
        TN_TEST_VALUES->release(shown);
    }
    return TN_TEST_VALUES->make_text(&tn_test_the_host, made, length, out);
}

/* Every schema requires an object. */
static inline int32_t TN_ABI tn_test_validate(tn_task token, uint32_t schema, tn_value instance, tn_value *error) {
    (void)token, (void)schema;
    if (TN_TEST_VALUES->kind(instance) == TN_OBJECT) return TN_OK;
    return tn_test_give(error, "SCHEMA", "an object was expected");
}

static const tn_eval_1 tn_test_eval = {sizeof(tn_eval_1), tn_test_bind_text, tn_test_bind_text, tn_test_bind_schema,
                                       tn_test_evaluate,  tn_test_render,    tn_test_validate};

static inline int32_t TN_ABI tn_test_bind_document(tn_binder *binder, const char *document, uint64_t length,
                                                   uint32_t *callee) {
    return tn_test_bind_call(binder, "graph", TN_Z, document, length, NULL, callee);
}

static inline int32_t TN_ABI tn_test_bind_value(tn_binder *binder, tn_value document, const char *name, uint64_t length,
                                                uint32_t *callee) {
    return tn_test_bind_call(binder, "graph", TN_Z, name, length, document, callee);
}

static const tn_graph_draft tn_test_graph = {sizeof(tn_graph_draft), tn_test_bind_document, tn_test_bind_value};

static inline const void *TN_ABI tn_test_interface(void *self, const char *id) {
    (void)self;
    if (strcmp(id, tn_test.missing) == 0) return NULL;
    if (strcmp(id, TN_VALUE_1) == 0) return TN_TEST_VALUES;
    if (strcmp(id, TN_CORE_1) == 0) return &tn_test_core;
    if (strcmp(id, TN_TASK_1) == 0) return &tn_test_tasks;
    if (strcmp(id, TN_EVAL_1) == 0) return &tn_test_eval;
    if (strcmp(id, TN_GRAPH_DRAFT) == 0) return &tn_test_graph;
    return tn_test.more != NULL ? tn_test.more(id) : NULL;
}

#ifdef __cplusplus
}
#endif
#endif
