/*
 * run_internal.h - a run as its own files see it: run.c drives, task.c calls nodes, route.c finds successors,
 * event.c tells subscribers. Nothing else includes this.
 *
 * Phases of a step: plan (what the last step's routing left) -> tasks -> all ended -> writes applied -> routed -> plan.
 * Between steps there are no tasks; during one, `tasks` does not move in memory, because calls point into it.
 */
#ifndef TENON_HOST_RUN_INTERNAL_H
#define TENON_HOST_RUN_INTERNAL_H

#include "host/call/call.h"
#include "host/engine/graph.h"
#include "host/engine/run.h"
#include "host/engine/state.h"
#include "host/loop/loop.h"

#define NO_INDEX          UINT32_MAX
#define RUN_FEW_TRIGGERED 4u

enum task_state {
    TASK_WAITING,
    TASK_OPEN,
    TASK_RETRYING, /* its timer is running */
    TASK_DONE,
    TASK_FAILED,
    TASK_CANCELLED,
    TASK_INTERRUPTED
};

/* A task of the next step, as routing leaves it. */
struct planned {
    uint32_t node;
    uint32_t edge;     /* of a map edge; NO_INDEX for triggered and sent ones */
    uint32_t item;     /* its place among the items or sends of its source */
    uint32_t source;   /* the task that it comes from */
    uint32_t as_field; /* the name its item is read by; NO_INDEX */
    tn_value input;    /* owned; NULL for a triggered one */
};

struct task {
    struct run *run;
    struct call *call; /* while open, and after the end until the step is applied: it holds the outcome */
    struct planned plan;
    uint32_t index;
    uint32_t attempt; /* from 1 */
    enum task_state state;
    bool approved;      /* its `interrupt: before` has been passed */
    bool resumed;       /* start gets {continuation, answer} */
    bool waits;         /* a call that it made waits for an answer: it is started again when that has come */
    tn_value answer;    /* owned; with `resumed` */
    tn_value asked;     /* owned; TASK_INTERRUPTED: call_interrupt_value of a task that another process started */
    tn_value children;  /* owned; {path: what is known of a call that it made}, see call_ops.recall; or NULL */
    tn_value inside;    /* owned; {path: USAGE} of runs inside that have ended, until their call is noted; or NULL */
    uint32_t round;     /* how often it has been started anew, from the top: paths of its calls begin again */
    tn_value cached;    /* owned; an outcome that came from the cache: {writes: [[channel, value]], output} */
    tn_value cache_key; /* owned; where the outcome is to be put into the cache */
    tn_value uses, kept_uses;  /* owned; likewise of tools that may be used so often: {name: number}; NULL: of none */
    bool unrepeatable;         /* it has used what must not be used again by itself */
    struct usage *used, *kept; /* by models it called; of earlier rounds alone. NULL: nothing */
    struct error error;        /* TASK_FAILED */
    struct loop_timer retry_timer;
    int64_t started_ms;
};

struct plan {
    struct planned *items;
    uint32_t count, capacity;
};

struct run {
    struct graph *graph;
    struct loop *loop;
    struct run_options options;
    char *id; /* made when first asked for, where none was given */
    tn_value input;
    enum run_status status;
    struct error error;
    struct state state;

    uint32_t step;            /* of the tasks that run, from 1; 0 is the input */
    uint32_t recursion_limit; /* steps of one invocation */
    uint32_t limit_step;      /* the last step allowed before RECURSION_LIMIT */
    uint32_t concurrency;
    enum run_strategy strategy;

    struct task *tasks;
    uint32_t task_count, task_capacity;
    uint32_t next_task; /* the first that has not been started */
    uint32_t open, retrying, interrupted;
    uint32_t failed_at; /* the first failing task in task order; NO_INDEX */

    struct task one_task; /* where `tasks` begin: most steps have one, and allocate nothing */
    struct planned few_triggered[RUN_FEW_TRIGGERED]; /* likewise of `triggered` */
    struct plan triggered, mapped;                   /* the next step's; `mapped` by (source, item) */
    uint32_t *planned_in;                            /* [node]: the step it was triggered for last */
    uint32_t *fired_in; /* [join]: the step it fired after last; several tasks of a source count once */
    uint8_t *arrived;   /* [join member] */
    bool *deferred;     /* [node]: triggered, and waiting for the rest to end */
    uint32_t deferred_count;
    bool sorted; /* `triggered` is in document order so far */

    bool advancing, cancelling, draining, timed_out, in_start;
    bool paused;          /* the reader of the outermost run is full */
    bool interrupt_after; /* a task of the last step asked to be interrupted after it */
    bool at_limit;        /* RUN_FAILED by RECURSION_LIMIT: the plan is kept, run_resume goes on */
    bool telling;         /* the last step is committed, and subscribers are still being told of it */
    bool planning_done;   /* tasks of this step are laid out */
    bool applied;         /* … and what they have written is in the state */
    bool updating;        /* run_update: its end is a checkpoint of that kind */
    uint32_t told;        /* while `telling`: how much of it has been told, see emit_next */
    struct loop_work work;
    struct loop_timer timeout;

    /* A nested run: the run and task around it, and its path from the outermost. */
    struct run *outer;
    tn_value path;               /* array of node ids, "id[item]" of mapped ones; NULL for an outermost run */
    uint64_t scope;              /* hash of the task around it; 0 for an outermost run */
    uint32_t outer_task;         /* the task around it, by index */
    struct durable *durable;     /* NULL where no log is written */
    struct usage *used;          /* by models, runs inside included; NULL: nothing. spend.c */
    tn_value uses, settled_uses; /* owned; as of a task. uses.c */
    struct usage *settled;       /* … until the last step that was committed */
    struct usage *before;        /* of that, what runs of the same thread had used before this one; NULL: nothing */
    uint32_t step_before;        /* … and the steps that they had taken */
    uint32_t nested_seq;         /* of a nested run that is restored: its checkpoints until then */
    int64_t planned_ms, now_ms;  /* the wall clock when the next step was planned; in this step. 0: not yet asked for */
    struct run *nested, *next_nested; /* on the outermost run: all runs inside it, so that run_continue finds them */
};

extern const struct call_ops task_call_ops;

/* run.c */
void run_advance(struct run *run);
void run_begin_limit(struct run *run, uint32_t counted); /* the steps of an invocation, of which some are counted */
void run_begin_time(struct run *run);                    /* starts the run's timeout: of every invocation anew */
void run_fail(struct run *run, struct error *error);     /* takes what `error` holds; at a step's boundary */
uint64_t run_mix(uint64_t hash, uint64_t more);          /* one round of mixing */

/* task.c */
void task_init(struct task *task, struct run *run, uint32_t index, struct planned plan);
void task_finish(struct task *task);
void task_begin(struct task *task); /* starts, or ends at once from the cache */
/* Cancels tasks [from, …), in whatever state they are; run_advance is the caller's affair. */
void run_stop_tasks(struct run *run, uint32_t from);
uint64_t
task_hash(const struct task *task); /* of the tasks around it, step, node, edge, item, source: equal in every run */
char *task_id(struct task *task, char out[40]);
/* Calls write(channel, value) for each write of a task that is done, in order; stops at the first failure. */
typedef int32_t task_write_fn(void *user, struct task *task, uint32_t channel, tn_value value, struct error *error);
int32_t task_each_write(struct task *task, task_write_fn *write, void *user, struct error *error);
tn_value task_output(const struct task *task); /* borrowed; NULL where it gave none */
tn_value task_context(struct task *task);
tn_value run_context(struct run *run); /* the part of it that is the run's */

/* What a call made by the task is kept for: NULL, or its entry of `children`; borrowed. */
tn_value task_child(const struct task *task, const char *path);
void task_set_child_take(struct task *task, const char *path, tn_value entry);
tn_value
task_outcome(const struct task *task);        /* of TASK_DONE: {writes: [[channel, value]], output?}; a new reference */
tn_value task_asked(const struct task *task); /* of TASK_INTERRUPTED: {payload, …}, or NULL where its calls asked */
/* An id for what a call of the task asks, or for what runs in it. */
uint64_t task_child_hash(const struct task *task, const char *path);

/* saved.c */
tn_value task_save(const struct task *task); /* a new reference */
int32_t task_restore(struct task *task, tn_value entry, struct error *error);

/* run.c */
void run_lay_out(struct run *run); /* tasks of what is planned */
/* An object of channels into the state, committed there; NULL is {}. */
int32_t run_write_channels(struct run *run, tn_value input, struct error *error);
void run_drop_tasks(struct run *run); /* none of them open */
/* Stands inside a step, whose tasks have not all been applied. */
static inline bool run_in_step(const struct run *run) { return run->planning_done && !run->applied; }
void run_end(struct run *run, enum run_status status); /* tells the owner; the run may then be gone */
void run_break(struct run *run, struct error *error);  /* ends as RUN_FAILED, and writes no more; takes `error` */
tn_value run_interrupts_now(const struct run *run);    /* run_interrupts of one that is about to wait */
/* {step, plan, joins?, deferred?, after?}: where it stands between two steps; a new reference. */
tn_value run_position(const struct run *run);
bool task_is_pure(const struct task *task); /* its component declares no effects */

/* spend.c */
int32_t task_may_spend(struct call *call, struct error *error);
void task_spent(struct call *call, tn_value output);
/* A run inside has ended: what it has used goes with the note of its call, and is counted where that is recalled. */
void task_spent_inside(struct task *task, const char *path, const struct run *inside);
tn_value task_take_inside(struct task *task, const char *path); /* a new reference, or NULL */
void task_recall_used(struct task *task, tn_value used);        /* NULL is nothing */
void task_recount_used(struct task *task);                      /* it is started once more, and makes the same calls */
void task_settle(struct task *task);                            /* what it calls from now on is another round's */
void run_settle(struct run *run);                               /* the step is committed */
tn_value
task_kept(const struct task *task); /* what is saved of it: all, of one that is done; a new reference, or NULL */
void task_restore_used(struct task *task, tn_value used);      /* as task_kept made it; NULL is nothing */
void run_restore_used(struct run *run, tn_value used);         /* as of `settled` */
void run_begin_spending(struct run *run);                      /* its budget counts from here: there is a new input */
tn_value run_before(const struct run *run);                    /* {step, used?}, to be saved; NULL: nothing before */
void run_restore_before(struct run *run, tn_value before);     /* NULL is nothing */
int32_t run_check_steps(struct run *run, struct error *error); /* may it take one step more? */
void run_warn_overspent(struct run *run);                      /* it is done, and its last call went past the budget */

/* uses.c */
void task_uses(struct call *call, struct callable *callee, tn_value input);
int64_t task_used(struct call *call, const char *counted);
/* Where `uses` is NULL so is the other: there is nothing to settle or forget then. */
void task_settle_uses(struct task *task);
void task_forget_uses(struct task *task);
void run_settle_uses(struct run *run);
void task_recount_uses(struct task *task);        /* it is started once more, and makes the same calls */
tn_value task_kept_uses(const struct task *task); /* borrowed, or NULL; as task_kept */
void task_restore_uses(struct task *task, tn_value uses);
void run_forget_uses(struct run *run);
void run_restore_uses(struct run *run, tn_value uses);

/* route.c */
void plan_push_triggered(struct run *run, uint32_t node);
void plan_push_mapped_take(struct run *run, struct planned planned);

int32_t route_start(struct run *run, struct error *error);
int32_t route_task(struct run *run, struct task *task, struct error *error);
void plan_finish(struct run *run); /* document order; deferred nodes when nothing else is left */
void plan_clear(struct run *run);

/* nested.c */
struct run *run_outermost(const struct run *run);

/* event.c */
bool run_wants(const struct run *run, unsigned modes);
/* Takes `event`, an object without type, step and path; adds them and hands it on. */
void run_emit_take(struct run *run, enum run_mode mode, tn_value event);
void emit_task(struct task *task, const char *what);
void emit_chunk(struct task *task, tn_value chunk);
/* The next event of those that tell of a committed step, `told` counting them; false: there is no more to tell. */
bool emit_next(struct run *run);
void emit_debug(struct run *run, const char *what, int32_t node, const char *message);
/* The same with "level": "warning": what whoever wrote the document has probably not meant. */
void emit_warning(struct run *run, const char *what, int32_t node, const char *message);

#endif
