/*
 * tenon.h - the plugin contract: everything that a plugin needs and may rely on.
 *
 * A plugin is one shared object. It exports one function, tn_plugin_entry_1, and imports no symbol of the host: it gets
 * the host's interfaces through tn_host.get and offers its own through tn_plugin.get. Both sides name an interface by a
 * versioned id ("tenon.value/1"). A released interface never changes, not by a single member; a change is a new
 * interface with a new id, and hosts always continue to serve the old one. For an unknown id, get returns NULL.
 *
 * This header is C99 and C++11 and needs no library. tenon/easy.h makes it convenient.
 *
 *     static const void *TN_ABI offer(void *self, const char *id) {
 *         return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
 *     }
 *     static const tn_plugin plugin = {sizeof(tn_plugin), NULL, offer};
 *     TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *host) { ... return &plugin; }
 *
 * Conventions for every function below, unless its comment states otherwise:
 *   Receiver   The first argument is what the function belongs to: the tn_host that the entry received, a task, a
 *              binder, a value, a builder, or what the plugin itself has handed out (self, an instance).
 *   Status     A function that can fail returns an int32_t: TN_OK, or one of the negative TN_ statuses. Outputs are
 *              untouched on failure.
 *   Errors     A reason is the same object everywhere, an ERROR: {code, message, retryable?, retry_after_ms?,
 *              detail?}. `code` is upper case: one of the reference's table or your own. `message` says what was
 *              found, what was expected and what to do. A retry waits for retry_after_ms, but at most 60 s or
 *              `retry.max` of the document, whichever is longer. `detail` is any value. A function with an argument
 *              `error` stores an ERROR there when it returns TN_FAILED, and only then; `error` may be NULL.
 *   Ownership  Arguments are borrowed for the call: retain a value to keep it. A value that is returned, or stored
 *              through an out pointer, carries one reference that the receiver releases, unless the comment says
 *              "borrowed". Memory is freed by the side that allocated it.
 *   NULL       A NULL tn_value is "no value", not JSON null. If a value is required, NULL results in TN_INVALID (or
 *              the function's failure result); it never crashes the host.
 *   Text       UTF-8, as a pointer and a length; the length TN_Z means that the text is NUL-terminated. Names and
 *              keys may contain U+0000. Only interface ids, which are constants, are always NUL-terminated.
 *   Units      Lengths and sizes are in bytes, and everything else has its unit in its name.
 *   Threads    [any] any thread, at any time; [loop] the thread that runs this plugin's async components, inside a
 *              call by the host; [worker] the worker thread of a blocking task, inside start; [create] inside create.
 *   Layout     Only fixed-width integers, double and pointers; no padding. `size` is sizeof the struct and must be
 *              equal on both sides: a difference means a broken build, not a newer version.
 */
#ifndef TENON_H
#define TENON_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * TN_EXPORT is for the one symbol that a plugin exports; compile everything else with -fvisibility=hidden. TN_ABI is
 * the calling convention of every function that crosses the boundary: the platform's own, except where it has several.
 * TN_FN(name) declares `name` as a pointer to such a function.
 */
#if defined(_WIN32)
#define TN_EXPORT __declspec(dllexport)
#define TN_ABI    __cdecl
#elif defined(__GNUC__)
#define TN_EXPORT __attribute__((visibility("default")))
#define TN_ABI
#else
#define TN_EXPORT
#define TN_ABI
#endif

/* clang-format off */
#define TN_FN(name) (TN_ABI *name) /* NOLINT(bugprone-macro-parentheses): `name` is declared */
/* clang-format on */

#define TN_Z UINT64_MAX /* as a text's length: it ends at its NUL */

/* ---- Statuses ------------------------------------------------------------------------------------------------ */

#define TN_OK           0
#define TN_ERROR        (-1)  /* failed for a reason that no other status describes */
#define TN_INVALID      (-2)  /* an argument is NULL, malformed or out of range */
#define TN_TYPE         (-3)  /* a value is of another kind than required */
#define TN_NOT_FOUND    (-4)  /* no such name, key, index or component */
#define TN_LIMIT        (-5)  /* a documented bound was reached */
#define TN_NO_MEMORY    (-6)  /* allocation failed */
#define TN_AGAIN        (-7)  /* above the high-water mark: not accepted, wait for ready */
#define TN_CANCELLED    (-8)  /* the task was cancelled; finish soon */
#define TN_STALE        (-9)  /* the task has already ended, or never belonged to this plugin */
#define TN_WRONG_THREAD (-10) /* not allowed on this thread (see the function's tag) */
#define TN_UNSUPPORTED  (-11) /* not supported by this host or for this kind of task */
#define TN_FAILED       (-12) /* failed for a reason that an ERROR describes */
#define TN_CHUNK        1     /* not a failure: a chunk of a call that has not ended (tn_call_handler) */

/* ---- Entry and negotiation ----------------------------------------------------------------------------------- */

/* The host's side. Valid until the plugin's deinit, and the drops of posted calls after it, have returned. Frozen. */
typedef struct tn_host {
    uint64_t size; /* sizeof(tn_host) */
    void *self;    /* belongs to the host; pass it as the first argument of get */
    /* [any] The interface, or NULL if this host does not offer it. Valid as long as the host. */
    const void *TN_FN(get)(void *self, const char *interface_id);
} tn_host;

/* The plugin's side. Must stay valid until deinit, and may be static. Frozen. */
typedef struct tn_plugin {
    uint64_t size; /* sizeof(tn_plugin) */
    void *self;    /* belongs to the plugin; the host passes it back */
    /* [loop] The interface, or NULL. Called once for each id, before every other function. */
    const void *TN_FN(get)(void *self, const char *interface_id);
} tn_plugin;

/*
 * The one exported function. [loop] Called once per load. Get the interfaces that the plugin needs from `host`, and
 * return soon. To decline, call core_1.refuse with the reason and return NULL: the host does not load the plugin.
 */
TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *host);

/* ---- Values -------------------------------------------------------------------------------------------------- */

/* A JSON value, or bytes: immutable, reference-counted, shareable between threads. Never dereference it. */
typedef const struct tn_value_s *tn_value;

#define TN_NONE   0 /* kind of NULL */
#define TN_NULL   1
#define TN_BOOL   2
#define TN_INT    3 /* int64_t: a JSON number without fraction or exponent that fits */
#define TN_DOUBLE 4 /* any other JSON number; never NaN or infinite */
#define TN_STRING 5
#define TN_BYTES  6 /* in JSON text: {"$bytes": "base64"} */
#define TN_ARRAY  7
#define TN_OBJECT 8 /* keys unique, in insertion order */

/* Builds one value; see value_1.builder. */
typedef struct tn_builder tn_builder;

#define TN_VALUE_1 "tenon.value/1"
/*
 * tenon.value/1, from the host. Everything is [any]. `host` is the argument of the entry; a program around the host
 * passes NULL. If memory runs out, functions without a status return NULL.
 */
typedef struct tn_value_1 {
    uint64_t size;
    tn_value TN_FN(retain)(tn_value value); /* adds a reference; returns its argument, also NULL */
    void TN_FN(release)(tn_value value);    /* removes a reference; NULL does nothing */
    int32_t TN_FN(kind)(tn_value value);    /* one of the kinds above */
    int32_t TN_FN(as_bool)(tn_value value, int32_t *out);
    int32_t TN_FN(as_int)(tn_value value, int64_t *out);   /* TN_TYPE unless TN_INT, or a TN_DOUBLE equal to one */
    int32_t TN_FN(as_double)(tn_value value, double *out); /* a TN_INT becomes the nearest double */
    /* Borrowed; NULL unless it is a string, or bytes. `length` may be NULL. A string is followed by a NUL. */
    const char *TN_FN(as_text)(tn_value value, uint64_t *length);
    const void *TN_FN(as_bytes)(tn_value value, uint64_t *length);
    uint64_t TN_FN(count)(tn_value value);                                  /* items or keys; 0 for any other kind */
    tn_value TN_FN(at)(tn_value array, uint64_t index);                     /* borrowed; NULL past the end */
    tn_value TN_FN(get)(tn_value object, const char *key, uint64_t length); /* borrowed; NULL if absent */
    int32_t TN_FN(entry)(tn_value object, uint64_t index, tn_value *key, tn_value *value); /* both borrowed */
    int32_t TN_FN(equal)(tn_value a, tn_value b); /* 1 or 0; deep; 1 equals 1.0; the order of keys is ignored */

    tn_value TN_FN(make_null)(const tn_host *host);
    tn_value TN_FN(make_bool)(const tn_host *host, int32_t truth);
    tn_value TN_FN(make_int)(const tn_host *host, int64_t number);
    int32_t TN_FN(make_double)(const tn_host *host, double number, tn_value *out); /* TN_INVALID: NaN, infinite */
    /* TN_INVALID: not UTF-8. */
    int32_t TN_FN(make_text)(const tn_host *host, const char *utf8, uint64_t length, tn_value *out);
    int32_t TN_FN(make_bytes)(const tn_host *host, const void *bytes, uint64_t length, tn_value *out);

    /*
     * Edits. Each consumes the caller's reference to *value and stores one to the result, so that items without another
     * reference are changed in place, and all others are shared. On failure *value is untouched.
     */
    /* A replaced key keeps its place. */
    int32_t TN_FN(set)(tn_value *object, const char *key, uint64_t length, tn_value item);
    /* TN_NOT_FOUND: no such key. Constant time for the newest key; else it grows with the keys. */
    int32_t TN_FN(remove)(tn_value *object, const char *key, uint64_t length);
    /*
     * Takes constant time: the items are shared with the array before. The exception is a second append to one array
     * that has another reference, which copies the items.
     */
    int32_t TN_FN(append)(tn_value *array, tn_value item);
    /* Replaces `count` items from `index` on by those of the array `items`, or NULL. TN_NOT_FOUND: past the end. */
    int32_t TN_FN(splice)(tn_value *array, uint64_t index, uint64_t count, tn_value items);
    int32_t TN_FN(concat)(tn_value *value, tn_value more); /* two arrays, strings or bytes */
    /* `count` items from `index` on, or bytes of a string (TN_INVALID inside a character) or of bytes. */
    int32_t TN_FN(slice)(tn_value value, uint64_t index, uint64_t count, tn_value *out);

    /*
     * Call begin(TN_ARRAY | TN_OBJECT), key (inside objects, before each value), add and end in the order of JSON text.
     * After a mistake the rest is ignored, and finish reports the first one as INVALID_VALUE with detail.at, a JSON
     * Pointer to it. finish always frees the builder. One thread at a time.
     */
    tn_builder *TN_FN(builder)(const tn_host *host);
    void TN_FN(begin)(tn_builder *builder, int32_t kind);
    void TN_FN(key)(tn_builder *builder, const char *key, uint64_t length);
    void TN_FN(add)(tn_builder *builder, tn_value value);
    void TN_FN(add_text)(tn_builder *builder, const char *utf8, uint64_t length);
    void TN_FN(end)(tn_builder *builder);
    int32_t TN_FN(finish)(tn_builder *builder, tn_value *out, tn_value *error);
    /* TN_FAILED: the error is PARSE or LIMIT, and its detail {offset in bytes, line, column in characters}. */
    int32_t TN_FN(from_json)(const tn_host *host, const char *json, uint64_t length, tn_value *out, tn_value *error);
    /* A string. `options`: NULL for compact text, or {pretty: bool, sorted: bool (keys by their bytes)} and no others.
     */
    int32_t TN_FN(to_json)(tn_value value, tn_value options, tn_value *out);
} tn_value_1;

/* ---- Core ---------------------------------------------------------------------------------------------------- */

#define TN_LOG_DEBUG 0
#define TN_LOG_INFO  1
#define TN_LOG_WARN  2
#define TN_LOG_ERROR 3

#define TN_CORE_1 "tenon.core/1"
/* tenon.core/1, from the host. `host` is the argument of the entry. */
typedef struct tn_core_1 {
    uint64_t size;
    /* [any] One line; cut at 4 KiB. */
    void TN_FN(log)(const tn_host *host, int32_t level, const char *message, uint64_t length);
    /* [any] ms since 1970 UTC; a task that is replayed uses `now` of its context. */
    int64_t TN_FN(wall_ms)(const tn_host *host);
    int64_t TN_FN(monotonic_ns)(const tn_host *host); /* [any] for measuring */
    /* [any] The host's allocator, accounted to this plugin. As malloc, realloc, free. May return NULL. */
    void *TN_FN(alloc)(const tn_host *host, uint64_t size);
    void *TN_FN(resize)(const tn_host *host, void *memory, uint64_t size);
    void TN_FN(release)(const tn_host *host, void *memory);
    /*
     * [any] Calls function(argument) on the loop thread after at least delay_ms: to return to the loop from another
     * thread, and as a timer. With 0 it is called soon, in the order of posting. Instead drop(argument) is called if
     * function never will be: inside unpost [loop], and after deinit has returned [loop]. drop may be NULL. *id, which
     * may be NULL, is never 0. If the status is not TN_OK, neither is called. TN_LIMIT: too many calls are posted.
     */
    int32_t TN_FN(post)(const tn_host *host, uint64_t delay_ms, void TN_FN(function)(void *argument),
                        void TN_FN(drop)(void *argument), void *argument, uint64_t *id);
    /* [loop] Cancels a posted call. TN_NOT_FOUND if it has been made already. */
    int32_t TN_FN(unpost)(const tn_host *host, uint64_t id);
    /*
     * [loop] Inside the entry, init or create: why it fails, an ERROR. Returns TN_FAILED, for `return core->refuse(…)`.
     * Anywhere else: TN_UNSUPPORTED. In create, detail.at may be a JSON Pointer to the member of the configuration that
     * the message is about.
     */
    int32_t TN_FN(refuse)(const tn_host *host, tn_value error);
} tn_core_1;

/* ---- Lifecycle ----------------------------------------------------------------------------------------------- */

#define TN_LIFECYCLE_1 "tenon.lifecycle/1"
/* tenon.lifecycle/1, from the plugin. Optional, and each function in it may be NULL. */
typedef struct tn_lifecycle_1 {
    uint64_t size;
    /* [loop] Once, before the first create. `config` is the plugin's section of tenon.yaml, an object. If the result is
     * not TN_OK, the plugin is refused; core_1.refuse reports why. */
    int32_t TN_FN(init)(void *self, tn_value config);
    /* [loop] No new instance will be created; release what only new work needs. */
    void TN_FN(quiesce)(void *self);
    /* [loop] The last call: every instance is destroyed, every task has ended. The code stays mapped. */
    void TN_FN(deinit)(void *self);
} tn_lifecycle_1;

/* ---- Components ---------------------------------------------------------------------------------------------- */

/*
 * One invocation of a component: a token that can be used from any thread, at any time. After the task has ended, every
 * function returns TN_STALE for it (or its failure result). 0 is never a task.
 */
typedef uint64_t tn_task;

/* A call that a task has made, by its number in this task; never 0. */
typedef uint64_t tn_call;

/* For binding names in create; valid until create returns. */
typedef struct tn_binder tn_binder;

#define TN_COMPONENT_1 "tenon.component/1"
/*
 * tenon.component/1, from the plugin: for node types, models, tools, runners and reducers. They differ in the shape of
 * input and output, which the manifest and the schemas in share/tenon/schema describe:
 *   node    input: null, or the value that was sent to it. Output: NULL or {writes?: {channel: value}, goto?: id |
 *           [id], send?: [{to, input}]}; it reads channels with task_1.read, and may write them with task_1.write.
 *   model   {messages, tools?, options?, response_schema?} -> {message, usage, finish_reason}; emits deltas.
 *   tool    its arguments, validated -> its result.
 *   runner  {task, runner_id, options} -> a RunResult.
 *   reducer {current, writes: [...]} -> the channel's new value; must complete inside start.
 *
 * Style, per component, from the manifest:
 *   async     start, cancel and ready are [loop] and must not block: a check reports calls of more than 5 ms of CPU
 *             time, or a wait of more than 200 ms. Several tasks of an instance may be open at once.
 *   blocking  start is [worker] and may block. cancel and ready are not called: poll task_1.cancelled; emit waits. One
 *             task at a time per instance, unless the manifest has "reentrant". create and destroy are [loop].
 */
typedef struct tn_component_1 {
    uint64_t size;
    /*
     * [loop] Creates an instance of the component `id` of the manifest. `config` has been validated against its schema
     * and has the schema's defaults. Bind names here, through `binder`. On failure return the status of the bind that
     * failed, or of core_1.refuse; destroy is not called then.
     */
    int32_t TN_FN(create)(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                          void **instance);
    /*
     * Starts `task`. The plugin ends it exactly once, with complete, fail or interrupt of task_1, from any thread,
     * possibly before start returns. If start returns another status than TN_OK, the task has failed with that status,
     * and the plugin must not use it any more.
     */
    int32_t TN_FN(start)(void *instance, tn_task task, tn_value input);
    /* Called at most once: end the task soon, in any way. After a grace period the host abandons it. May be NULL. */
    void TN_FN(cancel)(void *instance, tn_task task);
    /* After emit returned TN_AGAIN: there is room now. May be NULL if the component never emits. */
    void TN_FN(ready)(void *instance, tn_task task);
    /* [loop] No task of the instance is open. */
    void TN_FN(destroy)(void *instance);
} tn_component_1;

/*
 * What a call reports. TN_CHUNK, only if the call's option `chunks` is "receive": a chunk; return TN_AGAIN to receive
 * no more until resume_call, otherwise TN_OK. Then exactly once the end: TN_OK with the output, TN_FAILED with an
 * ERROR, or TN_CANCELLED with NULL. `value` is borrowed. [loop] Never called inside a function of tn_task_1.
 */
typedef int32_t TN_FN(tn_call_handler)(void *user, int32_t status, tn_value value);

#define TN_TASK_1 "tenon.task/1"
/*
 * tenon.task/1, from the host.
 *
 * The `options` of a call are NULL or {chunks?: "forward" (default: the callee's chunks are emitted as this task's, in
 * order) | "receive" | "drop", timeout_ms?: int (then the call is cancelled and fails with TIMEOUT)}.
 */
typedef struct tn_task_1 {
    uint64_t size;
    /* [any] Ends the task with its output, which may be NULL. TN_STALE if it had ended already. */
    int32_t TN_FN(complete)(tn_task task, tn_value output);
    /* [any] Ends the task with an ERROR. Without a code it is NODE_EXECUTION; NULL ends the task with that, too. */
    int32_t TN_FN(fail)(tn_task task, tn_value error);
    /*
     * [any] Ends this attempt and waits for an answer from outside. When it arrives, start is called again with
     * {continuation, answer}. `answer_schema` (may be NULL) validates the answer.
     */
    int32_t TN_FN(interrupt)(tn_task task, tn_value payload, tn_value answer_schema, tn_value continuation);
    /* [any] One chunk of streamed output, in order. TN_AGAIN: not accepted, wait for ready; on a [worker] it waits. */
    int32_t TN_FN(emit)(tn_task task, tn_value chunk);
    /* [any] 1 if the task should end soon, else 0; TN_STALE if it has ended. */
    int32_t TN_FN(cancelled)(tn_task task);
    /*
     * [loop, worker] {task_id, attempt, run_id, thread_id, runner_id, node, path, step, now, seed, tags, metadata,
     * configurable}; resumed: true, if start was called with {continuation, answer}: other input can look alike.
     * task_id stays the same across attempts and resumes, and no other task has it, also in a fork of the thread: use
     * it as the idempotency key. It has at most 96 letters, digits, `-`, `.` and `_`.
     */
    int32_t TN_FN(context)(tn_task task, tn_value *out);
    /* [loop, worker] The channel bound as `index`, as it was when the super-step started; NULL if it has no value. */
    int32_t TN_FN(read)(tn_task task, uint32_t index, tn_value *out);
    /* [any] Writes the channel bound as `index`; applied if the task completes. */
    int32_t TN_FN(write)(tn_task task, uint32_t index, tn_value value);
    /*
     * [loop] Starts the component bound as `callee`. Every call is cancelled with this task, which must not end before
     * its calls have. If the callee needs an answer from outside, the handler receives the error INTERRUPTED: end the
     * task with it. When the answer arrives, start is called again from the beginning, and calls that had ended report
     * their recorded results, without chunks and without being made. Therefore make the same calls in the same order.
     * The same happens after a crash. *call may be NULL.
     */
    int32_t TN_FN(call)(tn_task task, uint32_t callee, tn_value input, tn_value options, tn_call_handler handler,
                        void *user, tn_call *call);
    /* [loop] Cancels one call; its handler receives TN_CANCELLED. TN_NOT_FOUND if it has ended. */
    int32_t TN_FN(cancel_call)(tn_task task, tn_call call);
    /* [loop] After the handler has returned TN_AGAIN: it accepts chunks again. TN_NOT_FOUND if the call has ended. */
    int32_t TN_FN(resume_call)(tn_task task, tn_call call);
    /* [worker] Calls and waits for the end; chunks cannot be received. On the loop: TN_WRONG_THREAD. */
    int32_t TN_FN(call_wait)(tn_task task, uint32_t callee, tn_value input, tn_value options, tn_value *out,
                             tn_value *error);

    /* [create] Bind names to indices for read, write and call. On failure the host reports the reason and the place in
     * the document: return the status. */
    int32_t TN_FN(bind_read)(tn_binder *binder, const char *channel, uint64_t length, uint32_t *index);
    int32_t TN_FN(bind_write)(tn_binder *binder, const char *channel, uint64_t length, uint32_t *index);
    /* kind: "node", "model", "tool" or "runner". `config` may be NULL. The name of a model may be a role of the
     * document. */
    int32_t TN_FN(bind_call)(tn_binder *binder, const char *kind, uint64_t kind_length, const char *name,
                             uint64_t name_length, tn_value config, uint32_t *callee);
} tn_task_1;

/* ---- Layout, checked on every build --------------------------------------------------------------------------- */

#if UINTPTR_MAX == UINT64_MAX && (defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L))
#ifdef __cplusplus
#define TN_STATIC_ASSERT(condition, message) static_assert(condition, message)
#else
#define TN_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#endif
#define TN_SLOTS(type, count) TN_STATIC_ASSERT(sizeof(type) == 8 + 8 * (count), #type " has no padding")
TN_SLOTS(tn_host, 2);
TN_SLOTS(tn_plugin, 2);
TN_SLOTS(tn_value_1, 34);
TN_SLOTS(tn_core_1, 9);
TN_SLOTS(tn_lifecycle_1, 3);
TN_SLOTS(tn_component_1, 5);
TN_SLOTS(tn_task_1, 15);
#endif

#ifdef __cplusplus
}
#endif
#endif
