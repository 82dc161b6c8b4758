/*
 * run_internal.h - the fields of a run and its state machine, for the files of this folder.
 *
 *     run.c            creates, starts, cancels and frees a run; the state setter
 *     run_step.c       drives the run: begins, applies and reports super-steps; ends the run
 *     run_input.c      writes channels from outside: the input of an invocation, run_update
 *     interrupt.c      what an interrupted run waits for; run_resume
 *     activation.c     calls nodes               route.c     plans the next step
 *     event.c          reports to subscribers    durable.c   writes checkpoints
 *     run_move.c       continues on another loop
 *     run_saved.c      saves and restores        run_usage.c, run_tool_uses.c   count what the run used
 *
 * README.md of this folder draws the states. All functions are [loop].
 */
#ifndef TENON_HOST_ENGINE_GRAPH_RUN_INTERNAL_H
#define TENON_HOST_ENGINE_GRAPH_RUN_INTERNAL_H

#include "host/base/loop.h"
#include "host/engine/graph/activation.h"
#include "host/engine/graph/channels.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/run.h"
#include "host/plugin/call/call.h"
#include <assert.h>

#define RUN_INLINE_TRIGGERED 4u

/*
 * What the run is doing. Only run_set_state writes it. Only run_advance and the functions that start the run change
 * the state. In PLANNING, WAITING and REPORTING run_advance continues the run; in the other states it returns at once.
 */
enum run_state {
    RUN_STATE_IDLE,        /* not started, ended, interrupted or stopped: see `status` */
    RUN_STATE_STARTING,    /* an invocation begins: its input is written and routed, or its answers are applied */
    RUN_STATE_PLANNING,    /* between two steps: the plan is complete, no activation exists */
    RUN_STATE_WAITING,     /* in a step: activations are open, or can be started */
    RUN_STATE_DISPATCHING, /* in a step: activations are being started; those that end are only noted */
    RUN_STATE_APPLYING,    /* every activation has ended: their writes are applied and their successors planned */
    RUN_STATE_COMMITTING,  /* the store is writing a checkpoint; `state_after_commit` follows */
    RUN_STATE_REPORTING,   /* the step is committed: its events are being reported, perhaps over many turns */
    RUN_STATE_ENDING       /* the store is writing the end of the run */
};

/* A request to stop, by increasing urgency. From RUN_STOP_CANCEL on the run starts no activation. */
enum run_stop {
    RUN_STOP_NONE,
    RUN_STOP_MOVE,   /* at the end of the step: RUN_STOPPED, to continue on another loop */
    RUN_STOP_DRAIN,  /* at the end of the step: RUN_STOPPED */
    RUN_STOP_CANCEL, /* as soon as no activation is open: RUN_CANCELLED */
    RUN_STOP_TIMEOUT /* the same, but RUN_FAILED with TIMEOUT */
};

struct plan {
    struct plan_entry *items;
    uint32_t count, capacity;
};

struct run {
    struct graph *graph;
    struct loop *loop;
    struct run_options options;
    char *id;              /* NULL until run_id is called, if the options have none */
    tn_value input;        /* input of this invocation */
    uint64_t *incarnation; /* outermost run; NULL until run_incarnation is called */

    enum run_state state;
    enum run_state state_after_commit;
    enum run_stop stop;
    enum run_status status; /* how the run ended; valid in RUN_STATE_IDLE and RUN_STATE_ENDING */
    struct error error;     /* set if the status is RUN_FAILED or RUN_CANCELLED */
    struct loop_work work;  /* calls run_advance in the next turn of the loop */
    struct loop_timer timeout;

    /* The state of the graph, and the step whose activations exist (from 1; 0 is the input). */
    struct channels channels;
    uint32_t step;
    uint32_t applied_step;    /* the last step whose writes are in the channels */
    uint32_t recursion_limit; /* maximum number of steps of one invocation */
    uint32_t limit_step;      /* the last step before RECURSION_LIMIT */
    uint32_t step_before;     /* the steps that earlier runs of the thread took */
    uint32_t concurrency;
    enum run_strategy strategy;

    struct activation *activations; /* activations of the current step */
    uint32_t activation_count, activation_capacity;
    uint32_t next_activation;             /* index of the next activation to start */
    uint32_t open, retrying, interrupted; /* numbers of activations in these states */
    uint32_t first_failed;                /* index of the first activation that failed, or NO_INDEX */
    uint32_t report_next;                 /* RUN_STATE_REPORTING: number of the next event, see run_report_next */

    /* The plan of the next step. */
    struct plan triggered;
    struct plan mapped;      /* items of map edges, and sends; ordered by source and item */
    uint32_t *triggered_in;  /* [node]: the step that the node was triggered for last */
    uint32_t *join_fired_in; /* [join]: the step after which it fired last; activations of one source count once */
    uint32_t *join_count;    /* [join]: how many of its members have arrived */
    uint8_t *join_arrived;   /* [join member] */
    bool *deferred;          /* [node]: triggered, and waits until nothing else is planned */
    uint32_t deferred_count;
    bool subscriber_full;    /* outermost run: event() returned false; the run waits for run_continue */
    bool triggered_unsorted; /* `triggered` is not in document order */
    bool carried;            /* it has moved to this loop, and has not taken a step here: it does not move again */
    bool unrepeatable;       /* it has used a tool whose effects must not be repeated by a retry */
    /* The ids of the nodes of the last step with `interrupt: after`: the run is interrupted before this plan. Or NULL.
     */
    tn_value interrupt_after;

    /* Most steps have one activation and few successors: these make an allocation unnecessary. */
    struct activation inline_activation;
    struct plan_entry inline_triggered[RUN_INLINE_TRIGGERED];

    /* Nested runs. */
    struct run *outer;                /* the run around this one, or NULL */
    uint32_t outer_activation;        /* index of the activation around this run */
    uint32_t nested_checkpoint;       /* restored run: number of its checkpoints in the log */
    tn_value path;                    /* array of node ids, "id[item]" for mapped ones; NULL for the outermost run */
    uint64_t scope;                   /* hash that identifies the call around the run; 0 for the outermost run */
    struct run *nested, *next_nested; /* outermost run: all runs inside it */

    struct durable *durable;    /* NULL if nothing is logged or replayed */
    struct run_trace *trace;    /* NULL if no span is wanted; run_trace.c */
    int64_t planned_ms, now_ms; /* wall clock of the next step's planning, and of this step; 0 if not yet read */

    /* What the run and its nested runs used: in total, and up to the last committed step. NULL if nothing. */
    struct usage *usage, *usage_settled;   /* usage of models; run_usage.c */
    struct usage *usage_before;            /* the part of `usage` that earlier runs of the thread used */
    tn_value tool_uses, tool_uses_settled; /* owned; {tool: count}; run_tool_uses.c */
};

/* ---- run.c ---- */

bool run_may_enter(enum run_state from, enum run_state to); /* the table of legal transitions */
/* The only writer of run->state. Debug builds check the transition. */
static inline void run_set_state(struct run *run, enum run_state state) {
    assert(run_may_enter(run->state, state));
    run->state = state;
}
/* The activations of a step exist, and their writes have not been applied. */
static inline bool run_in_step(const struct run *run) {
    return run->activation_count > 0 && run->applied_step != run->step;
}
static inline void run_set_interrupt_after_take(struct run *run, tn_value nodes) {
    if (run->interrupt_after) value_unref(run->interrupt_after);
    run->interrupt_after = nodes;
}

static inline bool run_has_plan(const struct run *run) { return run->triggered.count || run->mapped.count; }
static inline bool run_is_cancelled(const struct run *run) { return run->stop >= RUN_STOP_CANCEL; }
/* Returns false if the run has no subscriber. Cheaper than run_has_subscriber, but not exact. */
static inline bool run_may_report(const struct run *run) { return run->options.modes || run->outer; }
void run_request_stop(struct run *run, enum run_stop stop);
/* A new invocation may take recursion_limit steps; `counted` of them have been taken. */
void run_start_step_limit(struct run *run, uint32_t counted);
int64_t run_timeout_ms(const struct run *run); /* the time limit of the run; 0: none */
void run_start_timeout(struct run *run);
void run_start_timeout_after(struct run *run, int64_t ms); /* the time that is left of it */
tn_value run_context(struct run *run);                     /* the run's part of activation_context; a new reference */
uint64_t run_mix(uint64_t hash, uint64_t more);

/* ---- run_incarnation.c ---- */

/* The two halves of the incarnation that the run and the runs around it have now. */
const uint64_t *run_incarnation(struct run *run);
void run_set_incarnation(struct run *run, const char *text); /* of an outermost run without a thread */
tn_value run_loaded_incarnation(const struct run *run);      /* to be saved with the thread; borrowed, or NULL */

/* ---- run_step.c ---- */

/* Continues the run in its current state for as long as it can. Reports its end to the owner, who may free the run. */
void run_advance(struct run *run);
/* The same for functions that return *ended to the owner. Returns true if the run has ended. */
bool run_drive(struct run *run);
/* Commits a checkpoint, if the run is logged, and enters state `next` when it is written. See durable_commit. */
void run_commit(struct run *run, const char *source, enum run_state next);
/* Ends the run: now, or when the store has written its end. `source` names the last checkpoint: "end" or "update". */
void run_terminate(struct run *run, enum run_status status, const char *source);
void run_fail(struct run *run, struct error *error); /* drops pending writes; takes the contents of `error` */
/* Called by durable.c when the store has written. `error` is not NULL if it failed. The run may be freed. */
void run_on_written(struct run *run, const struct error *error);
bool run_has_ended_badly(const struct run *run); /* its end is being written, and it keeps its own error */
void run_create_activations(struct run *run);    /* creates them from the plan and empties it */
void run_clear_activations(struct run *run);     /* requires that none of them is open */
void run_release_activations(struct run *run);   /* frees the array, or keeps it for the next run of the graph */

/* True if the document, or the options of the run, stop it before or after this node. */
bool run_stops_before(const struct run *run, uint32_t node);
bool run_stops_after(const struct run *run, uint32_t node);

/* ---- run_input.c ---- */

/* Writes and routes the input. On failure nothing is pending or planned. `input` may be NULL. */
int32_t run_apply_input(struct run *run, tn_value input, struct error *error);

/* ---- run_saved.c ---- */

/* {step, plan, joins?, deferred?, after?}: the position of the run between two steps; a new reference. */
tn_value run_position(const struct run *run);

/*
 * After durable_start of a restored run: the state and the plan become those of an older checkpoint of the thread. Its
 * steps continue to be counted, because the journal has their outcomes.
 */
int32_t run_rewind(struct run *run, tn_value saved, struct error *error);

/* ---- interrupt.c ---- */

/* What run_interrupts returns when the run is interrupted in its present position. */
tn_value run_pending_interrupts(const struct run *run);

/* ---- route.c ---- */

void plan_push_triggered(struct run *run, uint32_t node);
void plan_push_mapped_take(struct run *run, struct plan_entry entry);
int32_t route_start(struct run *run, struct error *error);
int32_t route_activation(struct run *run, struct activation *activation, struct error *error);
/* Sorts the plan in document order. Deferred nodes join it if it is empty. */
void plan_finish(struct run *run);
void plan_clear(struct run *run);

/* ---- nested.c ---- */

struct run *run_outermost(const struct run *run);

/* ---- event.c ---- */

/* True if the outermost run has a subscriber for at least one of these modes. */
bool run_has_subscriber(const struct run *run, unsigned modes);
void emit_activation(struct activation *activation, const char *what);
void emit_chunk(struct activation *activation, tn_value chunk);
/* Emits the next event about the committed step. Returns false if there are no more. */
bool run_report_next(struct run *run);
/* `node` may be DOCUMENT_NOWHERE, `message` may be NULL. */
void emit_debug(struct run *run, const char *what, int32_t node, const char *message);
/* The same with "level": "warning": the author of the document probably made a mistake. */
void emit_warning(struct run *run, const char *what, int32_t node, const char *message);

/* ---- run_trace.c ---- */

/* Each has no effect unless its run reports spans; trace_activation_start notes the time in any case. */
void trace_activation_start(struct activation *activation);
void trace_activation_end(struct activation *activation); /* of an attempt */
/* The context of its call, with the traceparent of what it causes. Takes and returns it. */
tn_value trace_activation_context_take(struct activation *activation, tn_value context);
/* Has no effect if the span of the step has begun. */
void trace_step_start(struct run *run);
/* Of a run with a `trace`: has no effect if no step has begun. */
void trace_step_end(struct run *run, const char *outcome);
void trace_run_start(struct run *run);
/* Of a run with a `trace`, which it frees. */
void trace_run_end(struct run *run);
void trace_run_free(struct run *run);                           /* without a report */
tn_value trace_id_of_activation(struct activation *activation); /* a new reference; NULL: it reports none */

/* ---- run_usage.c, run_tool_uses.c: see activation.h ---- */

void run_settle_usage(struct run *run);                          /* call it when the step is committed */
void run_restore_usage(struct run *run, tn_value usage);         /* sets usage_settled; NULL means nothing was used */
void run_start_budget(struct run *run);                          /* a new input: `budget` counts from here */
tn_value run_save_usage_before(const struct run *run);           /* {step, used?}; NULL if there is nothing to save */
void run_restore_usage_before(struct run *run, tn_value before); /* NULL means nothing was used */
int32_t run_check_step_budget(struct run *run, struct error *error); /* fails if one more step would exceed it */
void run_warn_over_budget(struct run *run);                          /* if the last call of the run exceeded it */
void run_settle_tool_uses(struct run *run);
void run_clear_tool_uses(struct run *run);
void run_restore_tool_uses(struct run *run, tn_value uses);
bool run_saved_unrepeatable(const struct run *run);
void run_set_unrepeatable(struct run *run); /* also for the activations and runs around it */

#endif
