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
 *     static const void *offer(void *self, const char *id) {
 *         return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
 *     }
 *     static const tn_plugin plugin = {sizeof(tn_plugin), 0, NULL, offer};
 *     TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) { ... return &plugin; }
 *
 * Conventions for every function below, unless its comment states otherwise:
 *   Status     int32_t results are TN_OK or one of the negative TN_ statuses; outputs are untouched on failure.
 *   Ownership  Arguments are borrowed for the call: retain a value to keep it. A value that is returned, or stored
 *              through an out pointer, carries one reference that the receiver releases, unless the comment says
 *              "borrowed". Memory is freed by the side that allocated it.
 *   NULL       A NULL tn_value is "no value", not JSON null. If a value is required, NULL results in TN_INVALID (or
 *              the function's failure result); it never crashes the host.
 *   Text       UTF-8, with a length and a terminating NUL. A `const char *` without a length is NUL-terminated.
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

/* For the one symbol that a plugin exports. Compile everything else with -fvisibility=hidden. */
#if defined(__GNUC__)
#define TN_EXPORT __attribute__((visibility("default")))
#else
#define TN_EXPORT
#endif

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
#define TN_FAILED       (-12) /* a called component failed; the error is in the out value */

/* ---- Entry and negotiation ----------------------------------------------------------------------------------- */

/* The host's side. Valid until the plugin's deinit has returned. Frozen. */
typedef struct tn_host {
    uint32_t size;     /* sizeof(tn_host) */
    uint32_t reserved; /* 0 */
    void *self;        /* belongs to the host; pass it as the first argument of get */
    /* [any] The interface, or NULL if this host does not offer it. Valid as long as the host. */
    const void *(*get)(void *self, const char *interface_id);
} tn_host;

/* The plugin's side. Must stay valid until deinit, and may be static. Frozen. */
typedef struct tn_plugin {
    uint32_t size;     /* sizeof(tn_plugin) */
    uint32_t reserved; /* 0 */
    void *self;        /* belongs to the plugin; the host passes it back */
    /* [loop] The interface, or NULL. Called once for each id, before every other function. */
    const void *(*get)(void *self, const char *interface_id);
} tn_plugin;

/*
 * The one exported function. [loop] Called once per load. Get the interfaces that the plugin needs from `host`, and
 * return soon. Return NULL to decline, after logging the reason: the host reports it and does not load the plugin.
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

/* Builds one value; see value_1.builder. */
typedef struct tn_builder tn_builder;

#define TN_VALUE_1 "tenon.value/1"
/* tenon.value/1, from the host. Everything is [any]. */
typedef struct tn_value_1 {
    uint32_t size;
    uint32_t reserved;
    tn_value (*retain)(tn_value value); /* adds a reference; returns its argument, also NULL */
    void (*release)(tn_value value);    /* removes a reference; NULL does nothing */
    int32_t (*kind)(tn_value value);    /* one of the kinds above */
    int32_t (*as_bool)(tn_value value, int32_t *out);
    int32_t (*as_int)(tn_value value, int64_t *out);     /* TN_TYPE unless TN_INT, or a TN_DOUBLE equal to an int64 */
    int32_t (*as_double)(tn_value value, double *out);   /* a TN_INT becomes the nearest double */
    const char *(*as_text)(tn_value, uint64_t *length);  /* borrowed; NULL unless a string; length may be NULL */
    const void *(*as_bytes)(tn_value, uint64_t *length); /* borrowed; NULL unless bytes */
    uint64_t (*count)(tn_value value);                   /* items or keys; 0 for every other kind */
    tn_value (*at)(tn_value array, uint64_t index);      /* borrowed; NULL past the end */
    tn_value (*get)(tn_value object, const char *key);   /* borrowed; NULL if absent */
    int32_t (*entry)(tn_value object, uint64_t index, tn_value *key, tn_value *value); /* both borrowed */
    int32_t (*equal)(tn_value a, tn_value b); /* 1 or 0; deep; 1 equals 1.0; the order of keys is ignored */
    tn_value (*make_null)(void);
    tn_value (*make_bool)(int32_t truth);
    tn_value (*make_int)(int64_t number);
    tn_value (*make_double)(double number);                   /* NULL for NaN and infinities */
    tn_value (*make_text)(const char *utf8, uint64_t length); /* NULL if not UTF-8 */
    tn_value (*make_bytes)(const void *bytes, uint64_t length);
    tn_value (*append)(tn_value array, tn_value item); /* a new array; constant time on the newest one */
    tn_value (*set)(tn_value object, const char *key, tn_value value); /* a new object with the key replaced or added */
    /*
     * Call begin(TN_ARRAY | TN_OBJECT), key (inside objects, before each value), add and end in the order of JSON text.
     * After a mistake, finish returns NULL. finish always frees the builder. One thread at a time.
     */
    tn_builder *(*builder)(void);
    void (*begin)(tn_builder *builder, int32_t kind);
    void (*key)(tn_builder *builder, const char *key);
    void (*add)(tn_builder *builder, tn_value value);
    void (*end)(tn_builder *builder);
    tn_value (*finish)(tn_builder *builder);
    int32_t (*from_json)(const char *json, uint64_t length, tn_value *out); /* TN_INVALID if it is not JSON */
    tn_value (*to_json)(tn_value value);                                    /* a string: compact JSON */
} tn_value_1;

/* ---- Core ---------------------------------------------------------------------------------------------------- */

#define TN_LOG_DEBUG 0
#define TN_LOG_INFO  1
#define TN_LOG_WARN  2
#define TN_LOG_ERROR 3

#define TN_CORE_1 "tenon.core/1"
/* tenon.core/1, from the host. `host` is the argument of the entry. */
typedef struct tn_core_1 {
    uint32_t size;
    uint32_t reserved;
    void (*log)(const tn_host *host, int32_t level, const char *message); /* [any] one line; cut at 4 KiB */
    int64_t (*wall_ms)(
        const tn_host *host); /* [any] ms since 1970 UTC; a task that is replayed uses `now` of its context */
    int64_t (*monotonic_ns)(const tn_host *host); /* [any] for measuring */
    /* [any] The host's allocator, accounted to this plugin. As malloc, realloc, free. May return NULL. */
    void *(*alloc)(const tn_host *host, uint64_t size);
    void *(*resize)(const tn_host *host, void *memory, uint64_t size);
    void (*release)(const tn_host *host, void *memory);
    /*
     * [any] Calls function(argument) on the loop thread after at least delay_ms: to return to the loop from another
     * thread, and as a timer. With 0 it is called soon, in the order of posting. Returns an id, or 0 on failure.
     * Functions that have not been called when deinit returns are never called.
     */
    uint64_t (*post)(const tn_host *host, uint64_t delay_ms, void (*function)(void *argument), void *argument);
    /* [loop] Cancels a posted call. TN_NOT_FOUND if it has been made already. */
    int32_t (*unpost)(const tn_host *host, uint64_t id);
} tn_core_1;

/* ---- Lifecycle ----------------------------------------------------------------------------------------------- */

#define TN_LIFECYCLE_1 "tenon.lifecycle/1"
/* tenon.lifecycle/1, from the plugin. Optional, and each function in it may be NULL. */
typedef struct tn_lifecycle_1 {
    uint32_t size;
    uint32_t reserved;
    /* [loop] Once, before the first create. `config` is the plugin's section of tenon.yaml, an object. If the result is
     * not TN_OK, the plugin is refused. */
    int32_t (*init)(void *self, tn_value config);
    /* [loop] No new instance will be created; release what only new work needs. */
    void (*quiesce)(void *self);
    /* [loop] The last call: every instance is destroyed, every task has ended. The code stays mapped. */
    void (*deinit)(void *self);
} tn_lifecycle_1;

/* ---- Components ---------------------------------------------------------------------------------------------- */

/*
 * One invocation of a component: a token that can be used from any thread, at any time. After the task has ended, every
 * function returns TN_STALE for it (or its failure result). 0 is never a task.
 */
typedef uint64_t tn_task;

/* For binding names in create; valid until create returns. */
typedef struct tn_binder tn_binder;

#define TN_COMPONENT_1 "tenon.component/1"
/*
 * tenon.component/1, from the plugin: for node types, models, tools, runners and reducers. They differ in the shape of
 * input and output, which the manifest describes:
 *   node    input: null, or the value that was sent to it. Output: NULL or {writes?: {channel: value}, goto?: id |
 * [id], send?: [{to, input}]}; it reads channels with task_1.read, and may write them with task_1.write instead. model
 * {messages, tools?, options?, response_schema?} -> {message, usage, finish_reason}; emits deltas. tool    its
 * arguments, validated -> its result. runner  a Task -> a RunResult. reducer {current, writes: [...]} -> the channel's
 * new value; must complete inside start.
 *
 * Style, per component, from the manifest:
 *   async     start, cancel and ready are [loop] and must not block. Several tasks of an instance may be open at once.
 *   blocking  start is [worker] and may block. cancel and ready are not called: poll task_1.cancelled; emit waits. One
 *             task at a time per instance, unless the manifest has "reentrant". create and destroy are [loop].
 */
typedef struct tn_component_1 {
    uint32_t size;
    uint32_t reserved;
    /*
     * [loop] Creates an instance of the component `id` of the manifest. `config` has been validated against its schema
     * and has the schema's defaults. Bind names here, through `binder`. On failure call task_1.refuse and return its
     * result; destroy is not called then.
     */
    int32_t (*create)(void *self, const char *id, tn_value config, tn_binder *binder, void **instance);
    /*
     * Starts `task`. The plugin ends it exactly once, with complete, fail or interrupt of task_1, from any thread,
     * possibly before start returns. If start returns another status than TN_OK, the task has failed with that status,
     * and the plugin must not use it any more.
     */
    int32_t (*start)(void *instance, tn_task task, tn_value input);
    /* Called at most once: end the task soon, in any way. After a grace period the host abandons it. May be NULL. */
    void (*cancel)(void *instance, tn_task task);
    /* After emit returned TN_AGAIN: there is room now. May be NULL if the component never emits. */
    void (*ready)(void *instance, tn_task task);
    /* [loop] No task of the instance is open. */
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
    /* [any] Ends the task with its output, which may be NULL. TN_STALE if it had ended already. */
    int32_t (*complete)(tn_task task, tn_value output);
    /*
     * [any] Ends the task with an error. `code` is upper case: one of the reference's table or your own. `message`
     * states what was found, what was expected and what to do. `more` may be NULL or an object:
     * {retryable: bool, retry_after_ms: int, detail: any}. A retry waits for retry_after_ms, but at most 60 s or
     * `retry.max` of the document, whichever is longer.
     */
    int32_t (*fail)(tn_task task, const char *code, const char *message, tn_value more);
    /*
     * [any] Ends this attempt and waits for an answer from outside. When it arrives, start is called again with
     * {continuation, answer}. `answer_schema` (may be NULL) validates the answer.
     */
    int32_t (*interrupt)(tn_task task, tn_value payload, tn_value answer_schema, tn_value continuation);
    /* [any] One chunk of streamed output, in order. TN_AGAIN: not accepted, wait for ready; on a [worker] emit waits.
     */
    int32_t (*emit)(tn_task task, tn_value chunk);
    /* [any] 1 if the task should end soon, else 0; TN_STALE if it has ended. */
    int32_t (*cancelled)(tn_task task);
    /*
     * [loop, worker] {task_id, attempt, run_id, thread_id, runner_id, node, path, step, now, seed, tags, metadata,
     * configurable}. task_id stays the same across attempts and resumes, and no other task has it: use it as the
     * idempotency key. It has at most 96 letters, digits, `-`, `.` and `_`. NULL if the task has ended.
     */
    tn_value (*context)(tn_task task);
    /* [loop, worker] The channel bound as `index`, as it was when the super-step started. NULL if the task has ended.
     */
    tn_value (*read)(tn_task task, uint32_t index);
    /* [any] Writes the channel bound as `index`; applied if the task completes. */
    int32_t (*write)(tn_task task, uint32_t index, tn_value value);
    /*
     * [loop] Starts the component bound as `callee`; done is called exactly once, never inside call. The callee is
     * cancelled with this task, which must not end before it. If the callee needs an answer from outside, done receives
     * the error INTERRUPTED: end the task with it. When the answer arrives, start is called again from the beginning,
     * and calls that had ended return their recorded results without being made. Therefore make the same calls in the
     * same order. The same happens after a crash.
     */
    int32_t (*call)(tn_task task, uint32_t callee, tn_value input, tn_call_done done, void *user);
    /* [worker] Waits for the result. *result is as for tn_call_done, but owned. On the loop: TN_WRONG_THREAD. */
    int32_t (*call_wait)(tn_task task, uint32_t callee, tn_value input, tn_value *result);

    /* [create] Bind names to indices for read, write and call. On failure the host reports the place in the document.
     */
    int32_t (*bind_read)(tn_binder *binder, const char *channel, uint32_t *index);
    int32_t (*bind_write)(tn_binder *binder, const char *channel, uint32_t *index);
    /* kind: "node", "model", "tool" or "runner". `config` may be NULL. The name of a model may be a role of the
     * document. */
    int32_t (*bind_call)(tn_binder *binder, const char *kind, const char *name, tn_value config, uint32_t *callee);
    /* [create] Reports why create fails; returns TN_INVALID, for `return task->refuse(...)`. */
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
