/*
 * call.h - one invocation of anything invocable: started, streaming, cancelled, timed out and ended in one way.
 *
 * A *callable* is what can be invoked: an instance of a component (instance.h), a graph, a pipe, a C function. A *call*
 * is one invocation of it, and the task that a plugin knows by token (tenon.h, tn_task). A call is a slot of a table
 * that never shrinks: a token is slot and generation, so that a plugin may use one from any thread, for ever, and a
 * late or double completion finds that the generation has moved on. All that other threads touch lies in the slot,
 * under its lock; the rest belongs to the loop that started the call.
 *
 *     struct call *call = call_new(loop, callable, &my_ops, owner);
 *     call_timeout(call, 30000, 0);
 *     if (call_start(call, input)) my_ended(call);   // it ended inside start: no callback will come
 *     ...                                            // else my_ops.ended(call) comes, from the loop, once
 *     static void my_ended(struct call *call) { use(call_outcome(call), call_output(call)); call_free(call); }
 *
 * Everything is [loop] unless it says otherwise.
 */
#ifndef TENON_HOST_CALL_H
#define TENON_HOST_CALL_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct call;
struct callable;
struct component;
struct loop;
struct loop_work;

#define CALL_GRACE_MS    5000   /* from cancel to abandonment */
#define CALL_CHUNKS_HIGH 64u    /* emitted chunks waiting before emit says AGAIN */
#define CALL_CHUNKS_LOW  16u    /* ready comes when so few are left */
#define CALL_DEPTH_MAX   64u    /* calls inside calls */
#define CALL_WRITES_MAX  65536u /* writes of one task; more is LIMIT */

enum call_outcome { CALL_OPEN, CALL_COMPLETED, CALL_FAILED, CALL_CANCELLED, CALL_INTERRUPTED };

/* ---- What can be invoked ---- */

/* Whether what a call of it gives is kept with the task that made it, so that the call is not made again. */
enum callable_memory {
    CALLABLE_BY_EFFECTS, /* unless its component declares none: computed again it would be the same */
    CALLABLE_KEPT,
    CALLABLE_FORGOTTEN
};

struct callable_use {
    const char *counted; /* a name, borrowed; NULL */
    bool unrepeatable;
};

struct callable_ops {
    /* As tn_component_1: not TN_OK means it failed at once (call_fail was not called). */
    int32_t (*start)(struct callable *callable, struct call *call, tn_value input);
    void (*cancel)(struct callable *callable, struct call *call); /* may be NULL */
    void (*ready)(struct callable *callable, struct call *call);  /* may be NULL */
    void (*free)(struct callable *callable);
    enum callable_memory memory;
    /* What a call with `input` uses, where that is counted, or must not be done again. May be NULL. */
    void (*use)(struct callable *callable, tn_value input, struct callable_use *out);
    /* The component whose effects it has, where it is no instance itself. May be NULL. */
    struct component *(*component)(const struct callable *callable);
    /* It stands before another callable, which its one call calls: what that gives is kept as this one's alone. */
    bool stands_before;
    /* For callables whose calls end by code that is not the host's, so that an end may never come: */
    bool outside;
    /* A call has really ended, abandoned ones included, be it late. May be NULL. */
    void (*over)(struct callable *callable, struct call *call);
    /* CALL_GRACE_MS have passed since cancel, and nothing has come. May be NULL. */
    void (*hung)(struct callable *callable, struct call *call);
};

/* Embed as the first member; made with one reference. */
struct callable {
    const struct callable_ops *ops;
    uint32_t references; /* atomic */
};

struct callable *callable_ref(struct callable *callable);
void callable_unref(
    struct callable *callable); /* [any]; free is called on the thread of the last one; NULL is allowed */

/* ---- Its owner: who started the call ---- */

struct call_ops {
    void (*ended)(struct call *call);
    /* One chunk, in order, before `ended`; borrowed. false: no more until call_resume. NULL: chunks are dropped. */
    bool (*chunk)(struct call *call, tn_value chunk);
    /* Whether a chunk would go any further now; where not, nobody on its way gives it on. NULL: it would. */
    bool (*hears)(const struct call *call);
    /* A state field as of the call's start; borrowed; NULL where there is none. NULL: the call has no state. */
    tn_value (*read)(struct call *call, uint32_t field);
    /* The context object of tn_task_1.context; a new reference. NULL: an object with task_id and now alone. */
    tn_value (*context)(struct call *call);
    /* `config`, `run`, `input` and `item` for expressions come from the call and from this: a new reference. */
    tn_value (*run_value)(struct call *call);
    /*
     * Of a call without a parent: the calls that its task makes, and those that these make. `path` says which: "0" is
     * its first, "1.0" the first of its second.
     * What is known of one before it is made: {output} or {error}: it has ended so, and is not made; {asked}: it waits,
     * likewise; {input}: it is started with that, see call_resumed. A new reference; NULL: nothing is.
     */
    tn_value (*recall)(struct call *call, const char *path, struct callable *callee);
    /* One has ended, and its caller is going to be told. True: an interrupt, and an answer can come. */
    bool (*record)(struct call *call, const char *path, struct call *ended);
    /* Likewise. One is about to be made, or recalled: for what its callable uses. */
    void (*uses)(struct call *call, struct callable *callee, tn_value input);
    /* How many of `counted` there have been, that one included. */
    int64_t (*used)(struct call *call, const char *counted);
    /* Likewise. A model is about to be called: not TN_OK, with the error set, where its budget is used up. */
    int32_t (*may_spend)(struct call *call, struct error *error);
    /* A model has answered with `output`, now or, as `recall` had it, before: what that has used up. */
    void (*spent)(struct call *call, tn_value output);
};

/* A write by index, in the order made. */
struct call_write {
    uint32_t channel; /* as the instance's binder resolved it */
    tn_value value;
};

struct call *call_new(struct loop *loop, struct callable *callable, const struct call_ops *ops, void *owner);
/*
 * Before call_start. 0: none. `idle` is between chunks. Passing it fails the call with TIMEOUT, retryable: what runs
 * outside the host is asked to end and abandoned at once, what runs in it (a graph, a pipe) is waited for.
 */
void call_timeout(struct call *call, int64_t total_ms, int64_t idle_ms);
/* True: ended within start, read the outcome now. False: ended() comes later. `input` is borrowed, NULL is null. */
bool call_start(struct call *call, tn_value input);
/*
 * Asks the callable to end; ended() comes with CALL_CANCELLED, however it ends, after CALL_GRACE_MS at the latest, when
 * it is abandoned. Chunks that wait are dropped. Calls that its task has made are cancelled with it, and end before it.
 * Not before call_start. Repeatable; nothing on a call that has ended.
 */
void call_cancel(struct call *call);
void call_resume(struct call *call); /* chunk() may be called again */
/* After the end (or before the start): gives the slot back. NULL is allowed. */
void call_free(struct call *call);

void *call_owner(const struct call *call);
struct loop *call_loop(const struct call *call);
struct callable *call_callable(const struct call *call);
uint64_t call_token(const struct call *call);
uint32_t call_depth(const struct call *call); /* 0 for one that no other call started */
tn_value call_input(const struct call *call);
/* The call whose task started this one (tn_task_1.call), or NULL; how a nested run finds the run around it. */
struct call *call_parent(const struct call *call);
const struct call_ops *call_ops_of(const struct call *call);
/* Does a chunk of the call come to anybody now, or put off its idle timeout? */
bool call_hears(const struct call *call);

/* Started with what `recall` had as its input: for a graph, what it saved. */
bool call_resumed(const struct call *call);
/* Before call_start: another process knows that it is. */
void call_set_resumed(struct call *call);
/* Of a call with a parent: the path that `recall` and `record` are given; "" of others. Owned by the caller. */
char *call_path(const struct call *call);
/* The call without a parent that this one is made for; itself, where it is that. */
struct call *call_root(const struct call *call);

/* One pointer for the callable that runs it, NULL at first. */
void call_set_data(struct call *call, void *data);
void *call_data(const struct call *call);

/* After the end; borrowed until call_free. */
enum call_outcome call_outcome(const struct call *call);
tn_value call_output(const struct call *call);           /* CALL_COMPLETED: NULL where there was none */
const struct error *call_error(const struct call *call); /* CALL_FAILED, and CALL_CANCELLED (code CANCELLED) */
const struct call_write *call_writes(const struct call *call, uint32_t *count);
tn_value call_interrupt_value(const struct call *call); /* {payload, schema?, continuation?} */

/* ---- The callable's side: what tn_task_1 does, for callables written in the host. [loop, or any by token] ---- */

int32_t call_complete(uint64_t token, tn_value output);
int32_t call_fail(uint64_t token, const struct error *error);
/* Takes the chunk whatever the answer; TN_AGAIN: above the mark now, give no more until `ready`. */
int32_t call_emit(uint64_t token, tn_value chunk);
int32_t call_cancelled(uint64_t token);
int32_t call_interrupt(uint64_t token, tn_value payload, tn_value schema, tn_value continuation);
int32_t call_interrupt_take(uint64_t token, tn_value value); /* call_interrupt_value as it is given */
/* The open call of a token, or NULL. [loop] */
struct call *call_of(uint64_t token);

/*
 * Calls a callable from a task (tn_task_1.call). `done` comes once, never from inside: TN_OK with the output, TN_FAILED
 * with an error object, or TN_CANCELLED with NULL; borrowed. The chunks of the callee go to the task's owner, those of
 * a model as {"messages": chunk}. TN_STALE, TN_LIMIT (CALL_DEPTH_MAX), TN_CANCELLED, TN_WRONG_THREAD: done never comes.
 */
int32_t call_child(uint64_t token, struct callable *callee, bool model, tn_value input, tn_call_done done, void *user);

/* Calls of the process that are in use, abandoned ones included. [any] */
uint64_t call_open_count(void);

#endif
