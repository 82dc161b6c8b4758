/*
 * activation.h - one node scheduled in one super-step of a run.
 *
 * A run creates its activations when it begins a step, and keeps them until the step has been committed and reported.
 * An activation makes one call for each attempt. The call is kept after its end because it holds the writes.
 *
 *     activation_init(activation, run, index, plan_entry);
 *     activation_start(activation);                    // it has ended now, or run_advance is called after its end
 *     activation_each_write(activation, write, user, &error);
 *     activation_finish(activation);
 *
 * The array of activations does not move during a step, because calls point into it. Only the files of this folder use
 * this header. Thread: the loop's.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_ACTIVATION_H
#define TENON_HOST_ENGINE_GRAPH_ACTIVATION_H

#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include <string.h>

#define NO_INDEX UINT32_MAX

struct cache_use;
struct run;
struct usage;

enum activation_state {
    ACTIVATION_WAITING,  /* not started, or waiting for its next attempt to be started */
    ACTIVATION_LOOKING,  /* its outcome is being looked up in the store */
    ACTIVATION_OPEN,     /* its call is open */
    ACTIVATION_RETRYING, /* its retry timer is running */
    ACTIVATION_DONE,
    ACTIVATION_FAILED,
    ACTIVATION_CANCELLED,
    ACTIVATION_INTERRUPTED
};

/* An activation of the next step, as routing plans it. */
struct plan_entry {
    uint32_t node;
    uint32_t map_edge; /* the edge that maps over a list; NO_INDEX for a plain edge or a send (an output with `send`) */
    uint32_t item;     /* index among the items of the map edge, or among the sends of the source */
    uint32_t source;   /* index of the activation whose end caused this one */
    uint32_t as_field; /* the state field under which the node reads its item, or NO_INDEX */
    tn_value input;    /* owned; NULL for a plain edge */
};

struct activation {
    struct run *run;
    struct call *call; /* NULL before the first attempt, between two attempts, and if the outcome was known */
    struct plan_entry plan;
    uint32_t index;   /* index in run->activations */
    uint32_t attempt; /* number of this attempt; the first is 1 */
    uint32_t round;   /* number of this round, from 0; a retry and the node's own interrupt begin a new one */
    enum activation_state state;
    bool looked_up;               /* the store has no outcome: the next start makes an attempt */
    bool passed_interrupt_before; /* the run was resumed here: `interrupt: before` does not interrupt it again */
    bool agreed;                  /* a person has approved the node (node_gate.h) */
    bool refused;                 /* a channel has refused its writes: a resumed run starts it again */
    bool resumed;                 /* the call starts with `answer` as its input */
    bool waits_for_child_call;    /* a call that it made waits for an answer; then the activation is started again */
    bool unrepeatable;            /* in this round it has used a tool whose effects must not be repeated by a retry */
    bool unrepeatable_before;     /* the same in an earlier round: only a retry of an activation around it repeats it */
    tn_value answer;              /* owned; {continuation, answer}, if `resumed` */
    tn_value restored_interrupt;  /* owned; the value of an interrupt that was restored from a checkpoint, or NULL */
    tn_value known_outcome; /* owned; {writes: [[channel, value]], output?} from the cache or the journal, or NULL */
    struct cache_use *cache_use; /* owned; NULL unless the outcome is to be cached (activation_cache.c) */

    /* The calls that it made. A new round forgets the calls before it: paths start again at "0". */
    tn_value child_calls; /* owned; {path: entry}, see call_ops.recall; or NULL */
    tn_value call_usage;  /* owned; {path: USAGE} of the models and nested runs called in this attempt, or NULL */
    tn_value unrepeatable_calls; /* owned; {path: true}: the calls of this attempt that used such a tool; or NULL */

    /* What it used in total, and what of that is settled: used in earlier rounds. Owned; NULL if nothing was used. */
    struct usage *usage, *usage_settled;   /* usage of models; run_usage.c */
    tn_value tool_uses, tool_uses_settled; /* {tool: count} for tools with `max_calls`; run_tool_uses.c */

    struct error error; /* of ACTIVATION_FAILED, and of the failed attempt in ACTIVATION_RETRYING */
    struct loop_timer retry_timer;
    int64_t started_us; /* of the attempt, if something is reported about it */
};

extern const struct call_ops activation_call_ops;

/* Takes `plan.input`. */
void activation_init(struct activation *activation, struct run *run, uint32_t index, struct plan_entry plan);
void activation_finish(struct activation *activation);
/*
 * Starts an attempt, or ends the activation at once with an outcome from the cache or the journal. If the attempt ends
 * inside its start, the activation has ended, and run_advance is not called. Requires ACTIVATION_WAITING, and that
 * `call` is NULL: activation_fail and run_resume free the call of the attempt before.
 */
void activation_start(struct activation *activation);
/* Cancels the activations of the run from index `from` on. Calls that are open end in a later turn of the loop. */
void activation_cancel_all_from(struct run *run, uint32_t from);

/* A hash of the activations around the run, the step, node, edge, item and source. It is the same in each execution. */
uint64_t activation_hash(const struct activation *activation);
/* Writes the id that plugins and events see as `task_id`, and returns `out`. All attempts have the same id. */
#define ACTIVATION_ID_SIZE 33 /* 32 hexadecimal digits and NUL */
char *activation_id(struct activation *activation, char out[ACTIVATION_ID_SIZE]);
/* True if its outcome is saved, so that a replay does not repeat it. False if its component declares no effects. */
bool activation_outcome_is_saved(const struct activation *activation);

/*
 * Calls write(channel, value) for each write of an activation that is done: those of tn_task_1.write in their order,
 * then `writes` of its output. Stops at the first failure. Returns INVALID_OUTPUT or CHANNEL if the output does not
 * fit.
 */
typedef int32_t activation_write_fn(void *user, struct activation *activation, uint32_t channel, tn_value value,
                                    struct error *error);
int32_t activation_each_write(struct activation *activation, activation_write_fn *write, void *user,
                              struct error *error);
tn_value activation_output(const struct activation *activation); /* borrowed; NULL without an output */
/* ACTIVATION_DONE: {writes: [[channel, value]], output?}; a new reference. */
tn_value activation_outcome(const struct activation *activation);
/* Of ACTIVATION_INTERRUPTED: {payload, …}, borrowed; NULL if one of its calls is interrupted instead of the node. */
tn_value activation_interrupt_value(const struct activation *activation);

/* What was saved about the call with this path (call_ops.recall); borrowed, or NULL. */
tn_value activation_child_entry(const struct activation *activation, const char *path);
/* A hash that identifies the interrupt of the call with this path, or the nested run that the call started. */
uint64_t activation_child_hash(const struct activation *activation, const char *path);

/* True for the path itself and for the calls that the call `above` makes. */
static inline bool call_path_is_within(const char *path, const char *above) {
    size_t length = strlen(above);
    return strncmp(path, above, length) == 0 && (path[length] == '.' || path[length] == 0);
}

/* run_saved.c */
tn_value activation_save(const struct activation *activation); /* a new reference */
/* True if the node's on_error is for failures with the code of this one. */
bool activation_failure_is_handled(const struct activation *activation);
/* Returns INVALID_STATE if `entry` does not fit the graph. */
int32_t activation_restore(struct activation *activation, tn_value entry, struct error *error);

/* activation_cache.c: the outcome of the same node for equal input. */
enum activation_cache_result {
    ACTIVATION_NOT_CACHED, /* start an attempt */
    ACTIVATION_CACHED,     /* it has ended with a cached outcome */
    ACTIVATION_CACHE_ASKED /* the store is asked: ACTIVATION_LOOKING */
};
/* Looks into the cache; requires that the node has one. */
enum activation_cache_result activation_use_cache(struct activation *activation);
void activation_cancel_lookup(struct activation *activation); /* of ACTIVATION_LOOKING */
void activation_fill_cache(struct activation *activation);    /* it is done: keeps its outcome */
void activation_clear_cache_use(struct activation *activation);
/* A field of the state as the node sees it: a channel, or its item of a map edge. Borrowed; NULL if it is unset. */
tn_value activation_field(const struct activation *activation, uint32_t field);

/* run_usage.c: what models used. The functions for calls are members of activation_call_ops. */
int32_t activation_check_budget(struct call *call, struct error *error);
void activation_add_usage(struct call *call, const char *path, tn_value used);
/* A nested run has ended or is interrupted. */
void activation_note_nested_usage(struct activation *activation, const char *path, const struct run *nested);
/*
 * What the nested run of the call with this path and everything below that call have used in this attempt: it is saved
 * with the call, because a recalled call makes none of its calls. For a model's own usage see call_ops.add_usage. A new
 * reference, or NULL.
 */
tn_value activation_call_usage(const struct activation *activation, const char *path);
/* Adds the usage that was saved with a recalled call. `usage` may be NULL. */
void activation_add_recalled_usage(struct activation *activation, const char *path, tn_value usage);
/* Subtracts what the current round used, because the activation is started again and repeats its calls. */
void activation_reset_usage(struct activation *activation);
/* Makes the usage of the current round permanent: activation_reset_usage does not subtract it. */
void activation_settle_usage(struct activation *activation);
tn_value activation_saved_usage(const struct activation *activation);         /* a new reference, or NULL */
void activation_restore_usage(struct activation *activation, tn_value usage); /* `usage` may be NULL */

/* run_tool_uses.c: the same for the use of tools with `max_calls`. */
void activation_count_tool_use(struct call *call, const char *path, struct callable *callee, tn_value input);
int64_t activation_tool_use_count(struct call *call, const char *count_name);
void activation_reset_tool_uses(struct activation *activation);
void activation_settle_tool_uses(struct activation *activation);
void activation_clear_tool_uses(struct activation *activation);           /* part of activation_finish */
tn_value activation_saved_tool_uses(const struct activation *activation); /* borrowed, or NULL */
void activation_restore_tool_uses(struct activation *activation, tn_value uses);
/* The call with this path, or one below it, has used a tool whose effects must not be repeated. */
void activation_set_unrepeatable(struct activation *activation, const char *path);
bool activation_call_is_unrepeatable(const struct activation *activation, const char *path);
void activation_settle_unrepeatable(struct activation *activation); /* a new round begins */
bool activation_saved_unrepeatable(const struct activation *activation);
void activation_restore_unrepeatable(struct activation *activation);

#endif
