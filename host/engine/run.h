/*
 * run.h - one execution of a graph: Pregel super-steps over channels.
 *
 * A step: every triggered node is called on one snapshot of the state, concurrently up to a limit; when all have
 * ended, their writes are applied together, in task order whatever order they ended in; then the successors are routed
 * on the new state. The run ends when none are left. Results never depend on which task finishes first.
 *
 *     struct run *run = run_new(graph, &(struct run_options){.ended = my_ended, .user = me});
 *     if (run_start(run, input)) my_ended(run, me);     // it ended inside: no callback will come
 *     ...
 *     static void my_ended(struct run *run, void *user) { use(run_status(run), run_result(run)); run_free(run); }
 *
 * Everything is [loop]. A run holds its graph. Nothing here blocks.
 */
#ifndef TENON_HOST_RUN_H
#define TENON_HOST_RUN_H

#include "adl/document/document.h"
#include "adl/value/error.h"
#include "adl/value/value.h"

struct call;
struct graph;
struct run;
struct replay;
struct thread_log;

#define RUN_INLINE_MAX    64u      /* inline completions before a run yields to the others, */
#define RUN_INLINE_US     1000     /* or this long, looked at now and then */
#define RUN_STEPS_DEFAULT 25u      /* recursion_limit, of the first seed */
#define RUN_TASKS_MAX     1000000u /* tasks of one step: map edges and sends can be enlarged by data */

enum run_status {
    RUN_NEW,
    RUN_RUNNING,
    RUN_DONE,
    RUN_FAILED,
    RUN_CANCELLED,
    RUN_INTERRUPTED, /* waits for answers: run_resume */
    RUN_STOPPED      /* strategy stop_at_nonlinear, or drained: run_resume goes on */
};
const char *run_status_name(enum run_status status); /* "done", "failed", … */

/* What a subscriber wants: names as in LangGraph's stream modes. */
enum run_mode {
    RUN_MODE_VALUES = 1 << 0,      /* {type, step, state}: the whole state after each step */
    RUN_MODE_UPDATES = 1 << 1,     /* {type, step, node, writes}: what each task wrote, in task order */
    RUN_MODE_MESSAGES = 1 << 2,    /* {type, step, node, delta}: tokens as models give them */
    RUN_MODE_CUSTOM = 1 << 3,      /* {type, step, node, data}: chunks that nodes emit */
    RUN_MODE_TASKS = 1 << 4,       /* {type, step, node, event: start|end|retry|reset|cached, …} */
    RUN_MODE_CHECKPOINTS = 1 << 5, /* {type, step, next, state}: what is committed, and what comes next */
    RUN_MODE_DEBUG = 1 << 6        /* {type, step, event, level?, node?, message?}: routing, joins; level: "warning" */
};
#define RUN_MODE_ALL 0x7fu
const char *run_mode_name(enum run_mode mode);
/* "values,updates", "all": 0 and an error naming the nearest where one is unknown. */
unsigned run_modes_parse(const char *text, struct error *error);

enum run_durability {
    RUN_DURABLE_SYNC, /* every step is written before the next begins */
    RUN_DURABLE_EXIT  /* the end is */
};

struct run_options {
    /* The first seed's RunnableConfig. Borrowed during run_new; NULL and 0 are the defaults. */
    tn_value tags, metadata, configurable; /* array, object, object */
    const char *run_id, *thread_id, *runner_id;
    uint32_t recursion_limit; /* 0: the document's */
    uint32_t concurrency;     /* 0: the document's */
    int64_t timeout_ms;       /* 0: the document's */
    int strategy;             /* enum run_strategy, or -1 (run_options_init) for the document's */
    uint64_t seed;            /* of the tasks' `seed` */
    unsigned modes;
    /*
     * One event, borrowed, in order. false: the reader is full; the run starts nothing more and waits for run_continue.
     * The ends of tasks that are open already, `concurrency` at most, may still be told. Cancelling from inside is
     * fine.
     */
    bool (*event)(void *user, tn_value event);
    void (*ended)(struct run *run, void *user); /* once for every run_start or run_resume that returned false */
    void *user;
    /* A run of a thread that stays: its log (thread/log.h), borrowed until run_free, and what was loaded of it. */
    struct thread_log *log; /* NULL: nothing is written */
    tn_value loaded;
    enum run_durability durability;
    const char *document;  /* where the document is, for whoever goes on; may be NULL */
    struct replay *replay; /* instead of a log: what was recorded (replay.h); borrowed until run_free */
};
#define RUN_OPTIONS_INIT                                                                                               \
    { .strategy = -1 }

struct run *run_new(struct graph *graph, const struct run_options *options);
/*
 * Writes `input` (an object of channels; NULL is {}) and runs. True: ended inside. An input that does not fit ends the
 * run as RUN_FAILED with INVALID_INPUT.
 */
bool run_start(struct run *run, tn_value input);
/*
 * The same for a thread: an input that does not fit, or after which no node can be chosen, is refused before anything
 * of it is written; the run is then of no more use. *ended as run_start's result.
 */
int32_t run_begin(struct run *run, tn_value input, bool *ended, struct error *error);
/*
 * After RUN_INTERRUPTED: `answers` is {interrupt id: answer}, of some of them or of all; after RUN_STOPPED, or
 * RUN_FAILED by RECURSION_LIMIT: NULL. One more invocation: it has recursion_limit steps and its timeout anew.
 * INVALID_INPUT names unknown ids, and answers that do not fit; the run then stays as it was. *ended as run_start's
 * result.
 */
int32_t run_resume(struct run *run, tn_value answers, bool *ended, struct error *error);
/* Ends soon as RUN_CANCELLED, full reader or not; what was committed stays. Repeatable; nothing on a run that has
 * ended. */
void run_cancel(struct run *run);
/* Ends at the next step's boundary as RUN_STOPPED. */
void run_drain(struct run *run);
void run_continue(struct run *run); /* after event() said false */
/* Not while running. NULL is allowed. */
void run_free(struct run *run);

enum run_status run_status(const struct run *run);
const struct error *run_error(const struct run *run); /* RUN_FAILED, RUN_CANCELLED */
tn_value run_state(const struct run *run);            /* the committed state; a new reference */
tn_value run_result(struct run *run);                 /* a new reference: what `output` names, or the state */
/* [{id, node, path?, when?, payload?, schema?}], those of graphs inside as well; a new reference. */
tn_value run_interrupts(const struct run *run);
/* Whether these answers, by id, may be given to those that wait. */
int32_t interrupts_check(tn_value interrupts, tn_value answers, struct error *error);

/*
 * All that another process needs to go on, as one value (saved.c says what is in it); a new reference. Not while
 * running.
 */
tn_value run_save(struct run *run);
/*
 * Instead of run_start: the run stands where the saved one stood; run_resume goes on, or run_start does with another
 * input, where that one was done. INVALID_STATE where it does not fit the graph.
 */
int32_t run_restore(struct run *run, tn_value saved, struct error *error);
/*
 * After run_restore: writes channels from outside, as an input does. With `as`, a node's id, what comes next is what
 * would after that node; else what was next stays. What tasks of the step under way have done is given up. Ends as
 * RUN_STOPPED, or RUN_DONE where nothing is next; *ended as run_start's result.
 */
int32_t run_update(struct run *run, tn_value channels, const char *as, bool *ended, struct error *error);
/* After run_restore: what it was at is given up, its state stays; then run_start. */
void run_give_up_plan(struct run *run);
tn_value run_loaded(const struct run *run); /* of its options; borrowed */
/*
 * The nodes that have started and not ended, inside graphs that nodes call as well: [{node, component?, plugin?}], node
 * being "research/judge" for one inside; a new reference.
 */
tn_value run_open(const struct run *run);
const char *run_id(struct run *run);
uint32_t run_steps(const struct run *run);
/* What models have used up for it, runs inside included: model/usage.h's value; a new reference, NULL where nothing. */
tn_value run_used(const struct run *run);
/*
 * Before run_start, after run_restore where there is one: what has been used up already, as run_used gave it, in the
 * place of what was saved. Its budget goes on from there, though the run that used it up left nothing else.
 */
void run_set_used(struct run *run, tn_value used);
struct graph *run_graph(const struct run *run);

/* The run and task of a call that the engine started, or that was started inside one; NULL for others. */
struct run *run_of_call(const struct call *call);

#endif
