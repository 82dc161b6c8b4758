/*
 * tenon/testkit.h - a host in one header, for testing a plugin without Tenon.
 *
 * A test includes the plugin's sources and this header, so that the plugin's entry is in the same program. The fake
 * host has channels, tasks, a clock and posted calls. Nothing happens by itself: tn_test_advance runs posted calls,
 * tn_test_call_end ends a component that the plugin called, and emit returns TN_AGAIN while `tn_test.room` is 0. An
 * expression is `state.NAME`, JSON, or anything else, which fails; `{NAME}` in a template is a channel.
 *
 *     #include "../src/plugin.c"
 *     #include <tenon/testkit.h>
 *     int main(void) {
 *         tn_test_set_channel("text", "\"a b\"");
 *         tn_test_run("acme.words", "{\"input_key\": \"text\", \"output_key\": \"n\"}", "null");
 *         TN_TEST_ASSERT(tn_test_wrote("n", "2"));
 *         tn_test_finish();                              // also fails if a value or a posted call is left
 *     }
 *
 * A test framework may define TN_TEST_ASSERT(condition) before it includes this header; by default a failure prints the
 * condition and aborts. Everything runs on one thread. One such host for each source file that includes this header.
 * What the host has noted is in `tn_test` (tenon/testkit/host.h).
 */
#ifndef TENON_TESTKIT_H
#define TENON_TESTKIT_H

#include <tenon/testkit/host.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enters the plugin. NULL if it declined. */
static inline const tn_plugin *tn_test_enter(void) {
    const tn_plugin *plugin = tn_plugin_entry_1(&tn_test_the_host);
    const void *components = plugin != NULL ? plugin->get(plugin->self, TN_COMPONENT_1) : NULL;
    tn_test.components = TN_UTIL_CAST(const tn_component_1 *, components);
    tn_test.self = plugin != NULL ? plugin->self : NULL;
    return plugin;
}

/* Sets a channel's value, and makes the channel if there is none of that name. */
static inline void tn_test_set_channel(const char *name, const char *json) {
    uint32_t index = tn_test.channel_count;
    if (tn_test_find_channel(name, TN_Z, &index) != TN_OK) {
        TN_TEST_ASSERT(tn_test.channel_count < TN_TEST_MAX);
        index = tn_test.channel_count++;
        tn_test_copy(tn_test.channels[index].name, sizeof(tn_test.channels[index].name), name, TN_Z);
    }
    TN_TEST_VALUES->release(tn_test.channels[index].value);
    tn_test.channels[index].value = tn_test_json(json);
    TN_TEST_ASSERT(tn_test.channels[index].value != NULL);
}

/* Creates the instance that tn_test_start uses. Returns what the plugin's create returned. */
static inline int32_t tn_test_create(const char *id, const char *config) {
    tn_value value = tn_test_json(config);
    int32_t status;
    TN_TEST_ASSERT(value != NULL);
    if (!tn_test.started) TN_TEST_ASSERT(tn_test_enter() != NULL);
    tn_test.started = true;
    if (tn_test.emitted == NULL) tn_test.emitted = tn_test_json("[]");
    status = tn_test.components->create(tn_test.self, id, strlen(id), value, NULL, &tn_test.instance);
    TN_TEST_VALUES->release(value);
    return status;
}

/* Starts a task with the input. If start fails, the task has failed with its status as the code. */
static inline struct tn_test_task *tn_test_start(const char *input) {
    tn_value value = tn_test_json(input), error;
    struct tn_test_task *task = &tn_test.tasks[tn_test.task_count];
    int32_t status;
    TN_TEST_ASSERT(tn_test.task_count < TN_TEST_MAX && tn_test.components->start != NULL);
    tn_test.task_count++;
    task->state = TN_TEST_OPEN;
    tn_test.in_start = true;
    status = tn_test.components->start(tn_test.instance, tn_test.task_count, value);
    tn_test.in_start = false;
    if (status != TN_OK) {
        char code[16];
        (void)snprintf(code, sizeof(code), "%d", TN_UTIL_CAST(int, status));
        error = tn_test_error(code, "start failed");
        status = tn_test_fail(tn_test.task_count, error);
        TN_TEST_ASSERT(status == TN_OK); /* it must not have ended as well */
        TN_TEST_VALUES->release(error);
    }
    TN_TEST_VALUES->release(value);
    return task;
}

/* Both: creates an instance and starts a task of it. */
static inline struct tn_test_task *tn_test_run(const char *id, const char *config, const char *input) {
    int32_t status = tn_test_create(id, config);
    TN_TEST_ASSERT(status == TN_OK);
    return tn_test_start(input);
}

static inline tn_task tn_test_token(const struct tn_test_task *task) {
    return TN_UTIL_CAST(tn_task, task - tn_test.tasks) + 1;
}

static inline void tn_test_cancel(struct tn_test_task *task) {
    task->cancelled = true;
    tn_test.components->cancel(tn_test.instance, tn_test_token(task));
}

/* There is room for so many chunks again. */
static inline void tn_test_ready(const struct tn_test_task *task, uint32_t room) {
    tn_test.room = room;
    tn_test.components->ready(tn_test.instance, tn_test_token(task));
}

/* Moves the clock, and runs the posted calls that are due, the earliest first. */
static inline void tn_test_advance(uint64_t ms) {
    tn_test.now += ms;
    for (;;) {
        uint64_t first = tn_test.post_count;
        struct tn_test_posted post;
        for (uint64_t i = 0; i < tn_test.post_count; i++) {
            const struct tn_test_posted *one = &tn_test.posts[i], *best = &tn_test.posts[first];
            if (one->due > tn_test.now) continue;
            if (first == tn_test.post_count || one->due < best->due || (one->due == best->due && one->id < best->id))
                first = i;
        }
        if (first == tn_test.post_count) return;
        post = tn_test_take_post(first);
        post.function(post.argument);
    }
}

/* The call that the plugin made last. */
static inline struct tn_test_called *tn_test_last_call(void) {
    TN_TEST_ASSERT(tn_test.call_count > 0);
    return &tn_test.calls[tn_test.call_count - 1];
}

/* The called component emits a chunk: it is emitted as the task's, passed to the handler or dropped, as `chunks` says.
 * A plugin that has paused its call, or has no room, gets nothing: TN_AGAIN. */
static inline int32_t tn_test_call_emit(struct tn_test_called *call, const char *json) {
    tn_value chunk = tn_test_json(json);
    int32_t status = TN_OK;
    TN_TEST_ASSERT(call->open && chunk != NULL);
    if (strcmp(call->chunks, "forward") == 0) {
        status = tn_test_emit(call->task, chunk);
    } else if (strcmp(call->chunks, "receive") == 0) {
        status = call->paused ? TN_AGAIN : TN_OK;
        if (!call->paused) call->paused = call->handler(call->user, TN_CHUNK, chunk) == TN_AGAIN;
    }
    TN_TEST_VALUES->release(chunk);
    return status;
}

/* Ends a component that the plugin called. `json` may be NULL: no result. */
static inline void tn_test_call_end(struct tn_test_called *call, int32_t status, const char *json) {
    tn_value result = json != NULL ? tn_test_json(json) : NULL;
    TN_TEST_ASSERT(call->open && (json == NULL || result != NULL));
    TN_TEST_VALUES->release(call->input);
    call->input = NULL;
    call->open = false;
    (void)call->handler(call->user, status, result);
    TN_TEST_VALUES->release(result);
}

/* True if the value is this JSON, compact and with its members in this order; else both are printed. */
static inline bool tn_test_is(tn_value value, const char *json) {
    tn_value text = NULL;
    const char *chars;
    bool same;
    (void)TN_TEST_VALUES->to_json(value, NULL, &text);
    chars = text != NULL ? TN_TEST_VALUES->as_text(text, NULL) : "nothing";
    same = strcmp(chars, json) == 0;
    if (!same) (void)fprintf(stderr, "found:    %s\nexpected: %s\n", chars, json);
    TN_TEST_VALUES->release(text);
    return same;
}

static inline bool tn_test_wrote(const char *channel, const char *json) {
    uint32_t index;
    return tn_test_find_channel(channel, TN_Z, &index) == TN_OK && tn_test_is(tn_test.channels[index].written, json);
}

/* True if the task has completed with this output, as for tn_test_is. */
static inline bool tn_test_completed(const struct tn_test_task *task, const char *json) {
    if (task->state == TN_TEST_COMPLETED) return tn_test_is(task->output, json);
    (void)fprintf(stderr, "found:    state %d, %s\nexpected: %s\n", TN_UTIL_CAST(int, task->state),
                  task->error != NULL ? tn_test_member(task->error, "code") : "no error", json);
    return false;
}

static inline bool tn_test_failed(const struct tn_test_task *task, const char *code) {
    const char *found = tn_test_member(task->error, "code");
    bool same = task->state == TN_TEST_FAILED && found != NULL && strcmp(found, code) == 0;
    if (!same)
        (void)fprintf(stderr, "found:    state %d, %s\nexpected: %s\n", TN_UTIL_CAST(int, task->state),
                      found != NULL ? found : "no error", code);
    return same;
}

static inline void tn_test_clear_calls(void) {
    for (uint32_t i = 0; i < tn_test.call_count; i++) TN_TEST_VALUES->release(tn_test.calls[i].input);
    while (tn_test.post_count > 0) {
        struct tn_test_posted post = tn_test_take_post(0);
        TN_TEST_ASSERT(post.drop != NULL); /* else its argument may leak */
        post.drop(post.argument);
    }
}

/* Destroys the instance and clears everything. Every task must have ended, no value be left, and no posted call without
 * a drop. */
static inline void tn_test_finish(void) {
    for (uint32_t i = 0; i < tn_test.task_count; i++) {
        TN_TEST_ASSERT(tn_test.tasks[i].state != TN_TEST_OPEN);
        TN_TEST_VALUES->release(tn_test.tasks[i].output);
        TN_TEST_VALUES->release(tn_test.tasks[i].error);
        TN_TEST_VALUES->release(tn_test.tasks[i].continuation);
    }
    if (tn_test.instance != NULL) tn_test.components->destroy(tn_test.instance);
    tn_test_clear_calls();
    for (uint32_t i = 0; i < tn_test.channel_count; i++) {
        TN_TEST_VALUES->release(tn_test.channels[i].value);
        TN_TEST_VALUES->release(tn_test.channels[i].written);
    }
    for (uint32_t i = 0; i < tn_test.text_count; i++) free(tn_test.texts[i]);
    TN_TEST_VALUES->release(tn_test.emitted);
    memset(&tn_test, 0, sizeof(tn_test));
#ifdef TN_TEST_OWN_VALUES
    TN_TEST_ASSERT(tn_test_value_count == 0);
#endif
}

#ifdef __cplusplus
}
#endif
#endif
