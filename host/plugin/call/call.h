/*
 * call.h - one invocation of a callable: start, stream chunks, cancel, time out, end.
 *
 * A *callable* is anything that can be invoked: an instance of a component (instance.h), a graph, a pipe, a C function.
 * A *call* is one invocation of it. A plugin sees the call as a task, which it names by a token (tenon.h, tn_task).
 *
 * Each call occupies a slot of a table that never shrinks. The token is the index of the slot and its generation, which
 * changes whenever the slot is freed. A plugin can therefore keep a token and use it on any OS thread: a late or
 * repeated completion is detected and rejected. The fields that other OS threads change are guarded by the slot's lock.
 * Only the loop that started the call uses the others.
 *
 * A call ends when its callable ends the task. If a plugin does not end the task in time after the call was cancelled,
 * the call is *abandoned*: the owner is notified of the end, and the slot is kept until the plugin ends the task.
 * slot.h draws the states.
 *
 *     struct call *call = call_new(loop, callable, &my_ops, owner);
 *     call_set_time_limits(call, 30000, 0);
 *     if (call_start(call, input)) my_ended(call);   // it ended inside start: there will be no callback
 *     ...                                            // else the loop calls my_ops.ended(call) once
 *     static void my_ended(struct call *call) { use(call_outcome(call), call_output(call)); call_free(call); }
 *
 * Thread: [loop] means only on the thread of the call's loop, [any] means on any thread. A function without a mark is
 * [loop].
 */
#ifndef TENON_HOST_PLUGIN_CALL_CALL_H
#define TENON_HOST_PLUGIN_CALL_CALL_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct call;
struct callable;
struct component;
struct loop;
struct loop_work;

#define CALL_GRACE_MS    5000   /* time to end a cancelled task before its call is abandoned */
#define CALL_CHUNKS_HIGH 64u    /* queued chunks at which emit returns AGAIN */
#define CALL_CHUNKS_LOW  16u    /* queued chunks at which `ready` is called */
#define CALL_DEPTH_MAX   64u    /* nesting depth of calls */
#define CALL_WRITES_MAX  65536u /* writes of one task; further writes fail with TN_LIMIT */
/*
 * Bytes of a task_id, of letters, digits, `-`, `.` and `_`: what identifies the call at the top, and the path from it
 * to this call, or a hash of a longer path. The path of the calls that a node makes itself has at most 11 bytes.
 */
#define CALL_ID_MAX      96u
#define CALL_ID_PATH_MAX 32u
#define CALL_ID_ROOT_MAX (CALL_ID_MAX - CALL_ID_PATH_MAX) /* of the id that the owner of a call sets in its context */

enum call_outcome { CALL_OPEN, CALL_COMPLETED, CALL_FAILED, CALL_CANCELLED, CALL_INTERRUPTED };

/* ---- What can be invoked ---- */

/* Whether the result of a call is saved with the task that made it. A resumed task does not repeat a saved call. */
enum callable_saving {
    CALLABLE_SAVED_BY_EFFECTS, /* saved, unless the component declares no effects: then a repeat is harmless */
    CALLABLE_SAVED,
    CALLABLE_NOT_SAVED
};

/* How a call counts against `max_calls` of a tool's policy, and whether a retry of the caller may repeat it. */
struct callable_use {
    const char *count_name; /* the name under which the call is counted; borrowed; NULL if it is not counted */
    bool unrepeatable;      /* the caller must not be retried automatically after this call */
};

struct callable_ops {
    /*
     * Starts the task, as tn_component_1.start does. If it returns a status other than TN_OK, the host fails the call
     * with that status; the callable need not call call_fail.
     */
    int32_t (*start)(struct callable *callable, struct call *call, tn_value input);
    void (*cancel)(struct callable *callable, struct call *call); /* may be NULL */
    void (*ready)(struct callable *callable, struct call *call);  /* may be NULL */
    void (*free)(struct callable *callable);
    enum callable_saving saving;
    /* Fills *out for a call with `input`; *out is zero at first. May be NULL: not counted, and repeatable. */
    void (*use)(struct callable *callable, tn_value input, struct callable_use *out);
    /*
     * The context of a call that no other call and no run has made; a new reference. May be NULL: task_id and now.
     */
    tn_value (*context)(const struct callable *callable, const struct call *call);
    /* Returns the component that determines the effects of a callable that is not an instance. May be NULL. */
    struct component *(*component)(const struct callable *callable);
    /* A wrapper: it calls one other callable and returns its result. Only the result of the wrapper is saved. */
    bool is_wrapper;
    /* Returns the callable that a wrapper calls, borrowed. NULL: it is not always the same. */
    struct callable *(*wrapped)(const struct callable *callable);
    /* The host ends the tasks, but with data of others: secrets are removed from it, as from results of plugins. */
    bool from_outside;
    /* It ends calls at the time limit of their options itself (call_options_of): the host of an isolated plugin does.
     */
    bool keeps_time;
    /* Code of a plugin ends the tasks, so a task may never end. Only such callables have the next two functions. */
    bool external;
    /* Called when the callable has ended the task, even if the call was abandoned before. May be NULL. */
    void (*finished)(struct callable *callable, struct call *call);
    /* Called if the callable has not ended the task CALL_GRACE_MS after `cancel`. May be NULL. */
    void (*hung)(struct callable *callable, struct call *call);
};

/* Embed as the first member; start with one reference. */
struct callable {
    const struct callable_ops *ops;
    uint32_t references; /* atomic */
};

struct callable *callable_ref(struct callable *callable); /* [any] NULL is allowed */
/* [any] Releasing the last reference calls ops->free on the current thread. NULL is allowed. */
void callable_unref(struct callable *callable);

/* ---- The owner: who started the call ---- */

struct call_ops {
    void (*ended)(struct call *call);
    /*
     * Receives the chunks in order, before `ended`; each is borrowed. It may be called from inside call_start, if the
     * task has ended there. Return false to pause until call_resume. If this member is NULL, chunks are dropped.
     */
    bool (*chunk)(struct call *call, tn_value chunk);
    /* Returns false if a chunk has no subscriber: it is dropped early. If NULL, chunks are wanted if `chunk` is set. */
    bool (*wants_chunks)(const struct call *call);
    /*
     * Returns a state field as it was when the call started, borrowed, or NULL if the field is unset. If this member is
     * NULL, the call has no state.
     */
    tn_value (*read)(struct call *call, uint32_t field);
    /*
     * Returns the object for tn_task_1.context, a new reference. If this member is NULL, the object contains only
     * task_id and now.
     */
    tn_value (*context)(struct call *call);
    /* Returns the variable `run` of expressions, a new reference. May be NULL. */
    tn_value (*run_value)(struct call *call);
    /*
     * The host uses the following members only of a call without a parent (call_root). They are about the calls that
     * its task makes, directly or through other calls. `path` identifies such a call by its position: "0" is the first
     * call of the task, "1.0" is the first call that the task's second call makes.
     *
     * recall: called before a call is made. Returns what was saved about it, a new reference, or NULL:
     *   {output} or {error}   the call has ended with this result, and is not repeated
     *   {asked}               the call still waits for an answer, and is not repeated
     *   {input}               the call must be started with this input; call_resumed then returns true
     */
    tn_value (*recall)(struct call *call, const char *path, struct callable *callee);
    /*
     * Called when a call has ended, before its caller is notified. Returns true if the call is interrupted and can be
     * answered: its caller then receives the error INTERRUPTED, otherwise UNSUPPORTED.
     */
    bool (*record)(struct call *call, const char *path, struct call *ended);
    /* Called before a call is made or recalled, if the callee's callable_ops have `use`. */
    void (*on_use)(struct call *call, const char *path, struct callable *callee, tn_value input);
    /* Returns the number of calls that were counted under this name, including the current one. */
    int64_t (*use_count)(struct call *call, const char *count_name);
    /* Called before a model, or a tool that can spend, is called. If the budget is used up, sets the error and returns
     * its status. */
    int32_t (*check_budget)(struct call *call, struct error *error);
    /*
     * Adds what a model or a tool has used, after `record`: the USAGE of tenon/message.h, with `cost` or the name of
     * the `model` for its price; NULL if it is not known. The output is new, or was saved and recalled. `path` is NULL
     * if the node itself made the call, so that the call is not below another one.
     */
    void (*add_usage)(struct call *call, const char *path, tn_value used);
    /* The id of the span that the call belongs to (base/trace.h), a new reference; NULL: none. */
    tn_value (*trace_id)(struct call *call);
};

/* One write of a task to a channel. call_writes returns them in the order in which they were made. */
struct call_write {
    uint32_t channel; /* the index that the instance's binder (binder.h) resolved the name to */
    tn_value value;
};

/* Creates a call; it keeps a reference to the callable. `ops` must outlive it. Free it with call_free. */
struct call *call_new(struct loop *loop, struct callable *callable, const struct call_ops *ops, void *owner);
/*
 * Sets the time limits; 0 means unlimited. `total_ms` limits the time until the task ends, `idle_ms` the time between
 * two chunks. Call it before call_start. When a limit passes, the call fails with TIMEOUT, which is retryable. An
 * external callable is cancelled and abandoned at once; a callable of the host (a graph, a pipe) is cancelled and
 * waited for. The limits do not apply after the task has ended: chunks that are still queued then are delivered, also
 * if the owner pauses for longer.
 */
void call_set_time_limits(struct call *call, int64_t total_ms, int64_t idle_ms);
/*
 * Starts the call. `input` is borrowed; NULL means the value null. Returns true if the call has ended already: read the
 * outcome now, ended() is not called. Returns false if ended() will be called later.
 */
bool call_start(struct call *call, tn_value input);
/*
 * Cancels the call and the calls that its task has made; those end first. The outcome is CALL_CANCELLED, whatever the
 * callable reports, unless a time limit has passed before: then the call fails with TIMEOUT. Queued chunks are dropped.
 * If an external callable does not end the task within CALL_GRACE_MS, the call is abandoned; ended() is called in both
 * cases. If the task has ended already and only chunks are still queued, the outcome does not change. The call must
 * have been started. Can be called repeatedly.
 */
void call_cancel(struct call *call);
/* Allows chunk() to be called again. Does nothing if the call is not paused. */
void call_resume(struct call *call);
/* Frees a call that has ended or was never started. NULL is allowed. */
void call_free(struct call *call);

void *call_owner(const struct call *call);
struct loop *call_loop(const struct call *call);
struct callable *call_callable(const struct call *call);
uint64_t call_token(const struct call *call);
uint32_t call_depth(const struct call *call); /* 0 if no other call started it */
tn_value call_input(const struct call *call); /* borrowed */
/* The object that tn_task_1.context returns: the owner's, or one with task_id and now. A new reference. */
tn_value call_context(struct call *call);
/* The call whose task made this one (tn_task_1.call), or NULL. A nested run uses it to find the run around it. */
struct call *call_parent(const struct call *call);
const struct call_ops *call_ops_of(const struct call *call);
/* Returns false if a chunk would have no effect: it has no subscriber, and there is no idle timeout to restart. */
bool call_wants_chunks(const struct call *call);

/*
 * True if the input of the call is the one that `recall` returned. It contains what the callable saved when it was
 * interrupted, for example a graph its state.
 */
bool call_resumed(const struct call *call);
/* Makes call_resumed return true. Call it before call_start. For the child process that runs an isolated plugin. */
void call_set_resumed(struct call *call);
/* The path that `recall` and `record` receive; "" for a call without a parent. Owned by the caller. */
char *call_path(const struct call *call);
/* The call at the top of the chain of parents; the call itself if it has no parent. */
struct call *call_root(const struct call *call);

/* One pointer that the callable can use as it likes; NULL at first. */
void call_set_data(struct call *call, void *data);
void *call_data(const struct call *call);
/* Sets the time limit of each call that the task makes from now on; 0 means unlimited. */
void call_set_child_time_limit(struct call *call, int64_t total_ms);

/* The outcome. Use these after the end; the results are borrowed until call_free. */
enum call_outcome call_outcome(const struct call *call); /* CALL_OPEN until the owner has been notified */
tn_value call_output(const struct call *call);           /* valid for CALL_COMPLETED; NULL if the task has no output */
const struct error *call_error(const struct call *call); /* valid for CALL_FAILED and CALL_CANCELLED (code CANCELLED) */
const struct call_write *call_writes(const struct call *call, uint32_t *count);
tn_value call_interrupt_value(const struct call *call); /* {payload, schema?, continuation?} */

/* ---- The callable's side: what tn_task_1 does, for callables of the host. [any] unless stated ---- */

/* These end the task. They return TN_STALE if it has ended already. For an abandoned call they also return TN_STALE,
 * because the outcome has been reported; the task has ended nevertheless. */
int32_t call_complete(uint64_t token, tn_value output);
int32_t call_fail(uint64_t token, const struct error *error);
/* The `done` of a child: ends the call whose token is `user` as the child has ended. */
void call_end_alike(void *user, int32_t status, tn_value result);
int32_t call_interrupt(uint64_t token, tn_value payload, tn_value schema, tn_value continuation);
int32_t call_interrupt_take(uint64_t token, tn_value value); /* takes `value`, an object as of call_interrupt_value */
/* Queues the chunk. Returns TN_AGAIN if the queue is full now: do not emit again before `ready` is called. */
int32_t call_emit(uint64_t token, tn_value chunk);
/* Returns 1 if the call was cancelled or has timed out, 0 if not, TN_STALE if the task has ended or its call was
 * abandoned. */
int32_t call_cancelled(uint64_t token);
/* [loop] The open call of a token, or NULL. */
struct call *call_lookup_open(uint64_t token);

/* TN_OK with the output, TN_FAILED with an error object, or TN_CANCELLED with NULL; the value is borrowed. */
typedef void (*call_done)(void *user, int32_t status, tn_value result);

/*
 * [loop] Calls a callable from a task. `done` is called once, never from inside call_child. The callee's chunks go to
 * the task's owner, those of a model as {"messages": chunk}. If it returns TN_STALE, TN_LIMIT (CALL_DEPTH_MAX),
 * TN_CANCELLED or TN_WRONG_THREAD, `done` is not called.
 */
int32_t call_child(uint64_t token, struct callable *callee, bool model, tn_value input, call_done done, void *user);

/* What becomes of the callee's chunks. */
enum call_chunks { CALL_CHUNKS_FORWARD, CALL_CHUNKS_RECEIVE, CALL_CHUNKS_DROP };
struct call_options {
    enum call_chunks chunks;
    int64_t timeout_ms; /* 0: none */
};
/* Reads the `options` of tn_task_1.call. TN_INVALID: unknown or malformed. */
int32_t call_options_read(tn_value options, struct call_options *out);
/* For a worker that waits: it cannot receive chunks. */
int32_t call_options_read_to_wait(tn_value options, struct call_options *out);
/* [loop] tn_task_1.call: call_child with options, for the handler of a plugin. */
int32_t call_child_with(uint64_t token, struct callable *callee, bool model, tn_value input,
                        const struct call_options *options, tn_call_handler handler, void *user, tn_call *number);
/* [loop] tn_task_1.cancel_call and resume_call. */
int32_t call_child_cancel(uint64_t token, tn_call number);
int32_t call_child_resume(uint64_t token, tn_call number);
/* True if the caller has cancelled this call alone: a resumed task finds it cancelled. */
bool call_cancelled_by_caller(const struct call *call);
/* [loop] The options of a call that a task has made. */
const struct call_options *call_options_of(const struct call *call);
/* [loop] The same for a wrapper: a blocking callee runs on the worker that waits for the wrapper's call, if there is
 * one. */
int32_t call_wrapped(uint64_t token, struct callable *callee, tn_value input, call_done done, void *user);

/* [any] The number of calls in use in this process, including abandoned ones. */
uint64_t call_open_count(void);

#endif
