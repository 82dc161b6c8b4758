/*
 * tenon.h - the plugin contract: everything a plugin needs, and all it may rely on.
 *
 * A plugin is one shared object that exports one function, tn_plugin_entry_1, and imports no symbol of the host:
 * what it uses arrives through tn_host.get, what it offers leaves through tn_plugin.get. Both sides name an
 * interface by a versioned id ("tenon.value/1"). A released interface never changes, by so much as a member; what
 * changes is a new id, and hosts serve the old ones for ever. An id the other side does not know gives NULL.
 *
 * This header is C99 and C++11, needs nothing linked, and is enough by itself. tenon/easy.h is sugar over it.
 *
 *     static const void *offer(void *self, const char *id) {
 *         return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
 *     }
 *     static const tn_plugin plugin = {sizeof(tn_plugin), 0, NULL, offer};
 *     TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) { ... return &plugin; }
 *
 * Conventions, true for every function below unless it says otherwise:
 *   Status     int32_t results are TN_OK or one of the negative TN_ statuses; outputs are untouched on failure.
 *   Ownership  Arguments are borrowed for the call: retain a value to keep it. A value that is *returned*, or
 *              stored through an out pointer, carries one reference that the receiver releases, except where a
 *              function says "borrowed". Nothing is freed on the other side than the one that made it.
 *   NULL       A NULL tn_value is "no value", not JSON null. Passing one where a value is needed is TN_INVALID
 *              (or the function's failure result); it never crashes the host.
 *   Text       UTF-8, and NUL-terminated besides its length. A `const char *` without a length is NUL-terminated.
 *   Threads    [any] any thread, at any time; [loop] the thread that runs this plugin's async components, inside a
 *              call the host made; [worker] the worker thread of a blocking task, inside start; [create] inside create.
 *   Layout     Only fixed-width integers, double and pointers cross; no padding; `size` is sizeof the struct, and is
 *              compared for equality as a tripwire: a mismatch means a broken build, not a newer version.
 */
#ifndef TENON_H
#define TENON_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The one symbol a plugin exports needs this; everything else is best compiled with -fvisibility=hidden. */
#if defined(__GNUC__)
#define TN_EXPORT __attribute__((visibility("default")))
#else
#define TN_EXPORT
#endif

/* ---- Statuses ------------------------------------------------------------------------------------------------ */

#define TN_OK           0
#define TN_ERROR        (-1)  /* failed, and no other status fits */
#define TN_INVALID      (-2)  /* an argument is NULL, malformed or out of range */
#define TN_TYPE         (-3)  /* a value is not of the kind asked for */
#define TN_NOT_FOUND    (-4)  /* no such name, key, index or component */
#define TN_LIMIT        (-5)  /* a documented bound was reached */
#define TN_NO_MEMORY    (-6)  /* allocation failed */
#define TN_AGAIN        (-7)  /* above the high-water mark: nothing was taken, wait for ready */
#define TN_CANCELLED    (-8)  /* the task was cancelled; finish soon */
#define TN_STALE        (-9)  /* the token's task has already ended, or never was this plugin's */
#define TN_WRONG_THREAD (-10) /* not callable from this thread (see the function's tag) */
#define TN_UNSUPPORTED  (-11) /* this host, or this kind of task, cannot do that */
#define TN_FAILED       (-12) /* a called component failed; the error is in the out value */

/* ---- Entry and negotiation ----------------------------------------------------------------------------------- */

/* The host's end. It stays valid until the plugin's deinit has returned. Frozen. */
typedef struct tn_host {
    uint32_t size;     /* sizeof(tn_host) */
    uint32_t reserved; /* 0 */
    void *self;        /* the host's; pass it as the first argument of get */
    /* [any] The interface named, or NULL where this host does not offer it. Static for the host's life. */
    const void *(*get)(void *self, const char *interface_id);
} tn_host;

/* The plugin's end. It must stay valid until deinit, and may be static. Frozen. */
typedef struct tn_plugin {
    uint32_t size;     /* sizeof(tn_plugin) */
    uint32_t reserved; /* 0 */
    void *self;        /* the plugin's own pointer; the host passes it back unread */
    /* [loop] The interface named, or NULL. Asked once for each id, before anything else is called. */
    const void *(*get)(void *self, const char *interface_id);
} tn_plugin;

/*
 * The one exported function. [loop] Called once per load. Take the interfaces you need from `host`; do nothing that
 * takes long. Return NULL to decline (log why first): the host reports it and loads nothing.
 */
TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host);

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

/* Builds one value from the outside in; see value_1.builder. */
typedef struct tn_builder tn_builder;

#define TN_VALUE_1 "tenon.value/1"
/* tenon.value/1, from the host. Everything is [any]. */
typedef struct tn_value_1 {
    uint32_t size;
    uint32_t reserved;
    tn_value (*retain)(tn_value value); /* one more reference; returns its argument; NULL gives NULL */
    void (*release)(tn_value value);    /* one fewer; NULL does nothing */
    int32_t (*kind)(tn_value value);    /* one of the kinds above */
    int32_t (*as_bool)(tn_value value, int32_t *out);
    int32_t (*as_int)(tn_value value, int64_t *out);     /* TN_TYPE unless a TN_INT, or a TN_DOUBLE equal to an int64 */
    int32_t (*as_double)(tn_value value, double *out);   /* TN_INT converts, to the nearest double */
    const char *(*as_text)(tn_value, uint64_t *length);  /* borrowed; NULL unless a string; length may be NULL */
    const void *(*as_bytes)(tn_value, uint64_t *length); /* borrowed; NULL unless bytes */
    uint64_t (*count)(tn_value value);                   /* items or keys; 0 for every other kind */
    tn_value (*at)(tn_value array, uint64_t index);      /* borrowed; NULL past the end */
    tn_value (*get)(tn_value object, const char *key);   /* borrowed; NULL where absent */
    int32_t (*entry)(tn_value object, uint64_t index, tn_value *key, tn_value *value); /* both borrowed */
    int32_t (*equal)(tn_value a, tn_value b); /* 1 or 0; deep; 1 equals 1.0; key order does not count */
    tn_value (*make_null)(void);
    tn_value (*make_bool)(int32_t truth);
    tn_value (*make_int)(int64_t number);
    tn_value (*make_double)(double number);                   /* NULL for NaN and infinities */
    tn_value (*make_text)(const char *utf8, uint64_t length); /* NULL where not UTF-8 */
    tn_value (*make_bytes)(const void *bytes, uint64_t length);
    tn_value (*append)(tn_value array, tn_value item); /* a new array; constant time on the newest one */
    tn_value (*set)(tn_value object, const char *key, tn_value value); /* a new object with the key replaced or added */
    /*
     * A builder takes begin(TN_ARRAY | TN_OBJECT), key (inside objects, before each value), add and end in the order of
     * JSON text. Mistakes are remembered: finish then gives NULL. finish always frees the builder. One thread at a
     * time.
     */
    tn_builder *(*builder)(void);
    void (*begin)(tn_builder *builder, int32_t kind);
    void (*key)(tn_builder *builder, const char *key);
    void (*add)(tn_builder *builder, tn_value value);
    void (*end)(tn_builder *builder);
    tn_value (*finish)(tn_builder *builder);
    int32_t (*from_json)(const char *json, uint64_t length, tn_value *out); /* TN_INVALID where it is not JSON */
    tn_value (*to_json)(tn_value value);                                    /* a string: compact JSON */
} tn_value_1;

/* ---- Core ---------------------------------------------------------------------------------------------------- */

#define TN_LOG_DEBUG 0
#define TN_LOG_INFO  1
#define TN_LOG_WARN  2
#define TN_LOG_ERROR 3

#define TN_CORE_1 "tenon.core/1"
/* tenon.core/1, from the host. `host` is the one given to the entry. */
typedef struct tn_core_1 {
    uint32_t size;
    uint32_t reserved;
    void (*log)(const tn_host *host, int32_t level, const char *message); /* [any] one line; cut at 4 KiB */
    int64_t (*wall_ms)(const tn_host *host);      /* [any] ms since 1970 UTC; a task that replays uses context's now */
    int64_t (*monotonic_ns)(const tn_host *host); /* [any] for measuring */
    /* [any] The host's allocator, accounted to this plugin. Contents as malloc, realloc, free. May return NULL. */
    void *(*alloc)(const tn_host *host, uint64_t size);
    void *(*resize)(const tn_host *host, void *memory, uint64_t size);
    void (*release)(const tn_host *host, void *memory);
    /*
     * [any] Calls function(argument) on the loop thread, after at least delay_ms: the way back onto the loop from a
     * thread of your own, and the timer. 0 is soon, and keeps order. Returns an id, 0 on failure. What has not run when
     * deinit has returned never will.
     */
    uint64_t (*post)(const tn_host *host, uint64_t delay_ms, void (*function)(void *argument), void *argument);
    /* [loop] Takes a posted call back. TN_NOT_FOUND where it has run already. */
    int32_t (*unpost)(const tn_host *host, uint64_t id);
} tn_core_1;

/* ---- Lifecycle ----------------------------------------------------------------------------------------------- */

#define TN_LIFECYCLE_1 "tenon.lifecycle/1"
/* tenon.lifecycle/1, from the plugin; optional, as is each function in it (NULL). */
typedef struct tn_lifecycle_1 {
    uint32_t size;
    uint32_t reserved;
    /* [loop] Once, before the first create. `config` is the plugin's section of tenon.yaml, an object. Not TN_OK:
     * refused. */
    int32_t (*init)(void *self, tn_value config);
    /* [loop] No new instance will be created; let go of what only new work needs. */
    void (*quiesce)(void *self);
    /* [loop] Last call of all: every instance is destroyed, every task has ended. The code stays mapped. */
    void (*deinit)(void *self);
} tn_lifecycle_1;

/* ---- Components ---------------------------------------------------------------------------------------------- */

/*
 * One invocation of a component: a token, safe to use from any thread and for ever. Once its task has ended, every
 * function given it returns TN_STALE (or its failure result). 0 is never a task.
 */
typedef uint64_t tn_task;

/* What create may bind names with; valid until create returns. */
typedef struct tn_binder tn_binder;

#define TN_COMPONENT_1 "tenon.component/1"
/*
 * tenon.component/1, from the plugin: node types, models, tools, runners and reducers alike. What differs is the shape
 * of input and output, which the manifest publishes:
 *   node    input: null, or the value sent to it. Output: NULL or {writes?: {channel: value}, goto?: id | [id],
 *           send?: [{to, input}]}; it reads channels with task_1.read, and may write them with task_1.write instead.
 *   model   {messages, tools?, options?, response_schema?} -> {message, usage, finish_reason}; emits deltas.
 *   tool    its arguments, validated -> its result.
 *   runner  a Task -> a RunResult.
 *   reducer {current, writes: [...]} -> the channel's new value; must complete inside start.
 *
 * Style, per component, from the manifest:
 *   async     start, cancel and ready are [loop], must not block, and may be interleaved between tasks of an instance.
 *   blocking  start is [worker] and may block; cancel and ready are never called (poll task_1.cancelled; emit waits).
 *             One task at a time per instance, unless the manifest says "reentrant"; create and destroy are [loop].
 */
typedef struct tn_component_1 {
    uint32_t size;
    uint32_t reserved;
    /*
     * [loop] Makes an instance of the manifest's component `id`. `config` has been validated against its schema, with
     * the schema's defaults filled in. Resolve names here, through `binder`. On failure call task_1.refuse and return
     * its result; *instance is then not destroyed.
     */
    int32_t (*create)(void *self, const char *id, tn_value config, tn_binder *binder, void **instance);
    /*
     * Begins `task`. It ends by task_1 complete, fail or interrupt, exactly once, from any thread, possibly before
     * start returns. If start returns anything but TN_OK the task has failed with that status, and nothing may follow.
     */
    int32_t (*start)(void *instance, tn_task task, tn_value input);
    /* Once at most: end the task soon, in any way. After a grace period it is abandoned. May be NULL. */
    void (*cancel)(void *instance, tn_task task);
    /* emit said TN_AGAIN and there is room now. May be NULL where the component never emits. */
    void (*ready)(void *instance, tn_task task);
    /* [loop] No task of it is open. */
    void (*destroy)(void *instance);
} tn_component_1;

/* How a called component ended: TN_OK with its output, TN_FAILED with its error object, or TN_CANCELLED with NULL.
 * `result` is borrowed. [loop] */
typedef void (*tn_call_done)(void *user, int32_t status, tn_value result);

#define TN_TASK_1 "tenon.task/1"
/* tenon.task/1, from the host. */
typedef struct tn_task_1 {
    uint32_t size;
    uint32_t reserved;
    /* [any] Ends the task with its output, which may be NULL. TN_STALE where it had ended. */
    int32_t (*complete)(tn_task task, tn_value output);
    /*
     * [any] Ends the task with an error. `code` is upper case (the table of codes is in the reference; your own are
     * welcome), `message` says what was found, what was expected and what to do. `more` may be NULL or an object:
     * {retryable: bool, retry_after_ms: int, detail: any}.
     */
    int32_t (*fail)(tn_task task, const char *code, const char *message, tn_value more);
    /*
     * [any] Ends this attempt to wait for an answer from outside. When it comes, start is called again with
     * {continuation, answer}: nothing runs again by itself. `answer_schema` (may be NULL) validates the answer.
     */
    int32_t (*interrupt)(tn_task task, tn_value payload, tn_value answer_schema, tn_value continuation);
    /* [any] One chunk of streamed output, in order. TN_AGAIN: not taken, wait for ready; a [worker] waits inside. */
    int32_t (*emit)(tn_task task, tn_value chunk);
    /* [any] 1 when the task should end soon, 0 when not, TN_STALE when it has ended. */
    int32_t (*cancelled)(tn_task task);
    /*
     * [loop, worker] {task_id, attempt, run_id, thread_id, runner_id, node, path, step, now, seed, tags, metadata,
     * configurable}. task_id is the same across attempts and resumes: the idempotency key. NULL where the task has
     * ended.
     */
    tn_value (*context)(tn_task task);
    /* [loop, worker] The channel bound as `index`, as of the step's start. NULL where the task has ended. */
    tn_value (*read)(tn_task task, uint32_t index);
    /* [any] Writes the channel bound as `index`; takes effect if the task completes. */
    int32_t (*write)(tn_task task, uint32_t index, tn_value value);
    /*
     * [loop] Starts the component bound as `callee`; done is called exactly once, never inside call. It is cancelled
     * with this task, which must not end before it. Where the callee asks for an answer, done gets the error
     * INTERRUPTED: let the task end with it. With the answer, start is called again from the top, and calls that had
     * ended end as they did, without being made: make the same calls in the same order. So it is after a crash.
     */
    int32_t (*call)(tn_task task, uint32_t callee, tn_value input, tn_call_done done, void *user);
    /* [worker] The same, waiting. *result as for tn_call_done, but owned. On the loop: TN_WRONG_THREAD. */
    int32_t (*call_wait)(tn_task task, uint32_t callee, tn_value input, tn_value *result);

    /* [create] Names to indices, for read, write and call. The host names the place in the document if it fails. */
    int32_t (*bind_read)(tn_binder *binder, const char *channel, uint32_t *index);
    int32_t (*bind_write)(tn_binder *binder, const char *channel, uint32_t *index);
    /* kind: "node", "model", "tool" or "runner". `config` may be NULL. A model's name may be a role of the document. */
    int32_t (*bind_call)(tn_binder *binder, const char *kind, const char *name, tn_value config, uint32_t *callee);
    /* [create] Says why create fails; returns TN_INVALID, for `return task->refuse(...)`. */
    int32_t (*refuse)(tn_binder *binder, const char *code, const char *message);
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
TN_SLOTS(tn_value_1, 29);
TN_SLOTS(tn_core_1, 8);
TN_SLOTS(tn_lifecycle_1, 3);
TN_SLOTS(tn_component_1, 5);
TN_SLOTS(tn_task_1, 14);
#endif

#ifdef __cplusplus
}
#endif
#endif
