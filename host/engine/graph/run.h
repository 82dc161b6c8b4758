/*
 * run.h - one execution of a graph: super-steps over channels, as in Pregel.
 *
 * In a step every scheduled node is called with one snapshot of the state, concurrently up to a limit. When all have
 * ended, their writes are applied together, in a fixed order; then the successors are routed on the new state. The run
 * ends when no node is scheduled. Its result never depends on which node ends first.
 *
 *     struct run *run = run_new(graph, &(struct run_options){.ended = my_ended, .user = me});
 *     if (run_start(run, input)) my_ended(run, me);     // ended at once: my_ended is not called
 *     ...
 *     static void my_ended(struct run *run, void *user) { use(run_status(run), run_result(run)); run_free(run); }
 *
 * A run holds a reference to its graph. No function blocks. All functions are [loop].
 */
#ifndef TENON_HOST_ENGINE_GRAPH_RUN_H
#define TENON_HOST_ENGINE_GRAPH_RUN_H

#include "adl/document/document.h"
#include "adl/value/error.h"
#include "adl/value/value.h"

struct call;
struct graph;
struct run;
struct replay;
struct thread_log;

/* A run lets others have a turn after so many activations that ended inside their start, or after so much time. */
#define RUN_INLINE_MAX    64u
#define RUN_INLINE_US     1000
#define RUN_STEPS_DEFAULT 25u      /* recursion_limit */
#define RUN_TASKS_MAX     1000000u /* activations of one step; bounds what data can cause through map edges and sends */

enum run_status {
    RUN_NEW,
    RUN_RUNNING,
    RUN_DONE,
    RUN_FAILED,
    RUN_CANCELLED,
    RUN_INTERRUPTED, /* waits for answers: run_resume continues */
    RUN_STOPPED      /* drained, or strategy stop_at_nonlinear: run_resume continues */
};
const char *run_status_name(enum run_status status); /* "done", "failed", … */

/* What a subscriber receives. The names are those of LangGraph's stream modes. */
enum run_mode {
    RUN_MODE_VALUES = 1 << 0,      /* {type, step, state}: the whole state after each step */
    RUN_MODE_UPDATES = 1 << 1,     /* {type, step, node, writes}: what each activation wrote, in activation order */
    RUN_MODE_MESSAGES = 1 << 2,    /* {type, step, node, delta}: tokens as models emit them */
    RUN_MODE_CUSTOM = 1 << 3,      /* {type, step, node, data}: chunks that nodes emit */
    RUN_MODE_TASKS = 1 << 4,       /* {type, step, node, event: start|end|retry|reset|cached, …} */
    RUN_MODE_CHECKPOINTS = 1 << 5, /* {type, step, next, state}: the committed state and the next plan */
    RUN_MODE_DEBUG = 1 << 6        /* {type, step, event, level?, node?, message?}: routing, joins */
};
#define RUN_MODE_ALL 0x7fu
/* Not a mode of events: the run reports spans (run_trace.c). run_new sets it, if a client is subscribed to them. */
#define RUN_MODE_TRACE (1u << 7)
/* The delta of a model in a chunk {messages: delta}; NULL for any other chunk, which belongs to mode `custom`. */
tn_value chunk_delta(tn_value chunk);
/* Parses "values,updates" or "all". Returns 0 with an error that suggests the nearest name if one is unknown. */
unsigned run_modes_parse(const char *text, struct error *error);
/* The names of the modes: ["values", "updates"]. */
tn_value run_modes_names(unsigned modes);

enum run_durability {
    RUN_DURABLE_SYNC, /* each step is written before the next begins */
    RUN_DURABLE_EXIT  /* only the end is written */
};

struct run_options {
    /* Borrowed by run_new, which copies what it needs. NULL and 0 are the defaults. */
    tn_value tags, metadata, configurable; /* array, object, object */
    /* Arrays of node ids, or "*", at which the run stops as at `interrupt: before` and `after`. Not saved. */
    tn_value interrupt_before, interrupt_after;
    const char *run_id, *thread_id, *runner_id;
    uint32_t recursion_limit; /* 0 means the document's limit */
    uint32_t concurrency;     /* 0 means the document's value */
    int64_t timeout_ms;       /* 0 means the document's value */
    int strategy;             /* enum run_strategy, or -1 (RUN_OPTIONS_INIT) for the document's */
    unsigned modes;           /* of the events that `event` receives; here, so that no space is lost to alignment */
    uint64_t seed;            /* determines the `seed` of each activation */
    /*
     * Receives one event at a time, borrowed, in order. It returns false if the subscriber is full: the run then starts
     * nothing more and waits for run_continue; events of activations that are already open may still come. It may call
     * run_cancel.
     */
    bool (*event)(void *user, tn_value event);
    /* Called once for each run_start, run_resume and run_update that has not ended at once. It may free the run. */
    void (*ended)(struct run *run, void *user);
    void *user;
    /* A run with a thread: its log (data/thread/thread_log.h), borrowed until run_free, and what was loaded of it. */
    struct thread_log *log; /* NULL if nothing is written */
    tn_value loaded;        /* its `incarnation` is saved with the thread; run_incarnation.c */
    enum run_durability durability;
    bool refresh_cache;            /* nodes with `cache` run, and their results replace those in the cache */
    const char *document;          /* path of the document, stored in the thread; may be NULL */
    tn_value served;               /* THREAD_SERVED of the record, for a run that its host continues; or NULL */
    struct replay *replay;         /* instead of a log: the recorded thread (run_replay.h); borrowed until run_free */
    _Atomic uint32_t *shown_steps; /* receives run_steps at each super-step, for another thread; may be NULL */
};
#define RUN_OPTIONS_INIT                                                                                               \
    { .strategy = -1 }

struct run *run_new(struct graph *graph, const struct run_options *options);
/*
 * Writes `input` (an object of channels; NULL is {}) and runs. Returns true if the run has ended already. An input that
 * does not fit ends the run as RUN_FAILED with INVALID_INPUT.
 */
bool run_start(struct run *run, tn_value input);
/*
 * The same, but returns an error and writes nothing if the input does not fit or no first node can be chosen. The run
 * must then be freed. *ended receives what run_start would return.
 */
int32_t run_try_start(struct run *run, tn_value input, bool *ended, struct error *error);
/*
 * Continues a run as a new invocation, with its recursion_limit and timeout from the start. After RUN_INTERRUPTED:
 * `answers` is {interrupt id: answer} for some or all interrupts. After RUN_STOPPED, or RUN_FAILED by a limit of steps:
 * NULL. Returns INVALID_INPUT, and leaves the run as it was, if an id is unknown or an answer does not fit. *ended
 * receives what run_start would return.
 */
int32_t run_resume(struct run *run, tn_value answers, bool *ended, struct error *error);
/*
 * Ends the run soon as RUN_CANCELLED, even if its subscriber is full. What was committed stays. May be called
 * repeatedly; does nothing if the run has ended.
 */
void run_cancel(struct run *run);
/*
 * Cancels the run and runs the loop until it has ended, so that it can be freed; for a caller whose loop stopped before
 * that. The run ends even if the tasks of plugins do not, because their calls are abandoned after CALL_GRACE_MS. Does
 * nothing if the run is not running. options.ended must not free the run.
 */
void run_cancel_wait(struct run *run);
/*
 * Moving a run to another loop of the process (run_move.c): after run_request_move the run ends before its next
 * super-step as RUN_STOPPED, and run_has_moved returns true; unless it ends otherwise before. run_may_move returns
 * false for a run that cannot move: it has subscribers, a log or a replay, is nested, has ended, or was asked to stop.
 * The log of a thread would have one invocation more.
 */
bool run_may_move(const struct run *run);
void run_request_move(struct run *run);
bool run_has_moved(const struct run *run);
/* The run that has moved, as a value; a new reference. */
tn_value run_carry(struct run *run);
/*
 * Instead of run_start: continues, in the same invocation, what run_carry returned on another loop. `run` is new, with
 * the same options and a graph of the same document. *ended receives what run_start would return. INVALID_STATE if it
 * does not fit the graph.
 */
int32_t run_carry_on(struct run *run, tn_value carried, bool *ended, struct error *error);
void run_drain(struct run *run);    /* ends the run after the present step, as RUN_STOPPED */
void run_continue(struct run *run); /* the subscriber has room again, after event() returned false */
void run_free(struct run *run);     /* not while running; NULL is allowed */

enum run_status run_status(const struct run *run);
const struct error *run_error(const struct run *run); /* RUN_FAILED, RUN_CANCELLED */
tn_value run_state(const struct run *run);            /* the committed state; a new reference */
/* The same, to show it: with all items of the saved lists that the run has not needed. NULL if they cannot be read. */
tn_value run_state_read(const struct run *run, struct error *error);
tn_value run_result(struct run *run); /* the properties of `output`, or the state; a new reference */
/* [{id, node, path?, when?, payload?, schema?}], with those of nested runs; a new reference. */
tn_value run_interrupts(const struct run *run);

/* Everything that another process needs to continue, as one value (see run_saved.c); a new reference. Not while
 * running. */
tn_value run_save(struct run *run);
/*
 * Puts a new run into the position of the saved one. Continue with run_resume, or with run_start and a new input.
 * Returns INVALID_STATE if `saved` does not fit the graph.
 */
int32_t run_restore(struct run *run, tn_value saved, struct error *error);
/* What run_update does besides writing channels; each member may be NULL. */
struct run_change {
    tn_value from;  /* a saved run, of an older checkpoint: its state and its plan come first */
    const char *as; /* a node id: what follows this node replaces the plan */
    tn_value next;  /* [node id | {node, input}]: these nodes replace the plan; a node with `input` receives it */
};
/*
 * After run_restore, or for a new thread: writes channels from outside, as an input does. The outcomes of an unfinished
 * step are discarded. Ends as RUN_STOPPED, or as RUN_DONE if the plan is empty. *ended receives what run_start would
 * return.
 */
int32_t run_update(struct run *run, tn_value channels, const struct run_change *change, bool *ended,
                   struct error *error);
/* After run_restore and before run_start: discards the plan and the unfinished step. The state stays. */
void run_discard_plan(struct run *run);
tn_value run_loaded(const struct run *run); /* options.loaded; borrowed */
/* The number of items for which a map edge activates the node in the current step; 0 if it is not mapped to. */
uint32_t run_mapped_items(const struct run *run, tn_value node);
/*
 * The nodes whose activation is open, in nested runs too: [{node, component?, plugin?}], where a node of a nested run
 * is "research/judge"; a new reference.
 */
tn_value run_open_nodes(const struct run *run);
const char *run_id(struct run *run);
uint32_t run_steps(const struct run *run);
/* The ids of the nodes that the next step starts, each once, in the order of the document; a new reference. */
tn_value run_next_nodes(const struct run *run);
/* What models used for the run and its nested runs (engine/model/usage.h); a new reference, or NULL if nothing. */
tn_value run_usage(const struct run *run);
/*
 * Before run_start and after run_restore: sets what was used already, as run_usage returned it, instead of what was
 * saved. The sums continue from there.
 */
void run_set_usage(struct run *run, tn_value usage);
struct graph *run_graph(const struct run *run);

#endif
