/*
 * exercise_internal.h - the state of an exercise, shared by exercise.c (the process), exercise_create.c (instances),
 * exercise_run.c (tasks), exercise_outcome.c (what they end with), exercise_compare.c (the same run in other
 * circumstances) and exercise_program.c (programs). All of it is in the child.
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_EXERCISE_INTERNAL_H
#define TENON_HOST_PLUGIN_CONFORMANCE_EXERCISE_INTERNAL_H

#include "adl/document/catalog.h"
#include "host/base/clock.h"
#include "host/base/loop.h"
#include "host/plugin/conformance/conformance_internal.h"
#include "host/plugin/conformance/exercise.h"
#include "host/plugin/conformance/exercise_generate.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"

#define EXERCISE_ROUNDS      1000               /* instances that are created and destroyed */
#define EXERCISE_CONFIGS     8                  /* configurations for each component, and as many mutants */
#define EXERCISE_REFUSALS    200                /* repetitions of what create refuses */
#define EXERCISE_TRIES       64                 /* attempts to generate a value that fits the schema */
#define EXERCISE_FIELDS      16u                /* different values in the channels */
#define EXERCISE_RUNS        5                  /* runs that are not cancelled */
#define EXERCISE_REPEATS     40                 /* repetitions of one run, to measure leaks */
#define EXERCISE_HEAP_PARTS  24                 /* the heap must grow in each of these parts of further repetitions, */
#define EXERCISE_HEAP_RUNS   20                 /* which have so many runs; */
#define EXERCISE_HEAP_MAX    (int64_t)(1 << 28) /* bytes; so much in a quarter of the parts is enough */
#define EXERCISE_CANCELS     20                 /* runs that are cancelled after a random number of loop turns */
#define EXERCISE_COMPARED    8                  /* runs that are compared */
#define EXERCISE_TOGETHER    12                 /* runs at the same time */
#define EXERCISE_ALLOCATIONS 64                 /* allocations of one run that fail, one after another */
#define EXERCISE_TURN_MS     2                  /* the longest turn, while a cancel is due */
#define EXERCISE_RUN_MS      100                /* time for one run to end */
#define EXERCISE_COMPARE_MS  2000               /* the same, if its outcome is compared */
#define EXERCISE_DEAF_MS     1000 /* time for a task to end after it was cancelled, in EXERCISE_DEAF_PARTS */
#define EXERCISE_SILENT_MS   5000 /* a function that has not returned after this time hangs */
#define EXERCISE_BEAT_MS     250  /* how often the child reports that it is alive, while its loop runs */
/* The same as EXERCISE_SILENT_MS while a process of the plugin is started: the host has its own limits for that. */
#define EXERCISE_PROCESS_MS 30000
#define EXERCISE_KILL_PARTS 80 /* the same parts, until the host has killed the process of a cancelled task */
#define EXERCISE_DEAF_PARTS 20 /* one after another, so that a machine that stands still uses up only one of them */

struct exercise {
    const struct exercise_options *options;
    struct exercise_host *host;
    struct exercise_host isolated_host; /* isolates the plugin; opened when it is first needed */
    const char *path;
    int64_t deadline_ms;           /* deadline of all components */
    int64_t component_deadline_ms; /* for the current component: nothing more is started afterwards */
    uint32_t components_left;      /* not tried yet */
    uint64_t seed;
    struct generator generator;
    struct component *component;
    tn_value configs[EXERCISE_CONFIGS]; /* configurations that create has accepted */
    uint32_t config_count;
    tn_value refusals[EXERCISE_CONFIGS]; /* configurations that create has refused */
    uint32_t refusal_count;
    tn_value reads[EXERCISE_FIELDS];
    bool ignores_cancel; /* a task of the component continued for EXERCISE_DEAF_MS after its end was requested */
    bool
        leaks_explained; /* a component's leak was reported, or a task did not end: what remains is not a new finding */
    bool leak_reported;  /* of the component: what other measurements find is not a new finding */
    bool no_isolated_host; /* it cannot be opened */
    bool refused;          /* it cannot be loaded */
    bool remote;           /* the plugin runs in a separate process: a program, or its manifest requests it */
    bool unusable;         /* its process has ended, or it answers nonsense: reported, nothing more is tried */
    bool shape_reported;
    bool end_reported; /* a program has ended a task twice */
    char step[512];    /* the last one */
    uint64_t reports;  /* findings so far */
    struct loop_timer beat;
};

/* exercise.c */
/* False if nothing more is to be started with the component. */
static inline bool exercise_has_time(const struct exercise *it) {
    return clock_now_ms() < it->component_deadline_ms && !it->unusable;
}
/* Reports what the plugin has to do next, as an infinitive; it is used in the finding if the process ends. */
void exercise_report_step(struct exercise *it, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports that the child is alive, in a step that takes long without a turn of the loop. */
void exercise_report_alive(void);
void exercise_report(struct exercise *it, enum finding finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* exercise_create.c */
struct callable *exercise_create_instance(struct component *component, tn_value config, struct error *error);
struct schema;
tn_value exercise_add_defaults(const struct schema *schema,
                               tn_value value); /* takes `value`; returns a new reference */
void exercise_try_configs(struct exercise *it);
void exercise_try_lifetimes(struct exercise *it);
void exercise_try_refusals(struct exercise *it);
struct exercise_usage {
    int64_t memory;     /* bytes of tn_core_1.alloc */
    int64_t references; /* number of references to values */
    int64_t heap;       /* bytes of malloc in the whole process; 0 if unknown; see exercise_prepare_heap */
};
struct exercise_usage exercise_measure(const struct exercise *it);
/* Before other threads start: from now on, the heap that is measured is that of all threads. */
void exercise_prepare_heap(void);

/* exercise_run.c */
bool exercise_may_run(const struct exercise *it);  /* declares no effects except `clock` and `random` */
bool exercise_is_pure(const struct exercise *it);  /* declares no effects: the output depends only on the input */
void exercise_fill_channels(struct exercise *it);  /* generates new values for the channels */
tn_value exercise_make_input(struct exercise *it); /* a new reference */
/*
 * Runs to the end and returns what is visible of it: {outcome, output | error | interrupt, writes, chunks}. Returns
 * NULL if create fails, or if the time was up.
 */
tn_value exercise_record(struct exercise *it, struct exercise_host *host, struct component *component, tn_value config,
                         tn_value input);
/* Runs `count` inputs at the same time with one instance: records[i] belongs to inputs[i]. */
void exercise_record_together(struct exercise *it, struct exercise_host *host, struct component *component,
                              tn_value config, const tn_value *inputs, tn_value *records, uint32_t count);
void exercise_run_examples(struct exercise *it);
void exercise_run_and_cancel(struct exercise *it);
void exercise_fail_allocations(struct exercise *it);

/* exercise_outcome.c */
struct call;
/* Reports an output that the manifest does not allow; and what a program sends that its kind does not allow. */
void exercise_check_outcome(struct exercise *it, const struct call *call, tn_value chunks);

/* exercise_program.c: a plugin that runs in a separate process */
/* Reports that the process has ended since the last call of this function, if so. Call it after each step. */
void exercise_check_process(struct exercise *it);
/* A line of the host's log: keeps the reason why the process has ended, and reports a task that it has ended twice. */
void exercise_note_log(struct exercise *it, const char *who, const char *line);
/* Reports a result of `create` that does not have the form of the protocol. */
void exercise_check_answer(struct exercise *it, const struct error *error);
/* Measures the memory of the process while instances are created, and tasks run. */
void exercise_measure_growth(struct exercise *it);
void exercise_report_program(struct exercise *it);

/* exercise_compare.c */
void exercise_compare(struct exercise *it);

#endif
