/*
 * exercise_internal.h - one plugin under exercise, as its files see it: exercise.c (the process), exercise_create.c
 * (instances), exercise_run.c (tasks), exercise_compare.c (the same run elsewhere). All of it is in the child.
 */
#ifndef TENON_HOST_EXERCISE_INTERNAL_H
#define TENON_HOST_EXERCISE_INTERNAL_H

#include "host/check/generate.h"
#include "host/clock.h"
#include "host/host.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"

#define EXERCISE_ROUNDS      1000 /* of create and destroy */
#define EXERCISE_CONFIGS     8    /* kept for each component, and as many mutants */
#define EXERCISE_TRIES       64   /* to make one that fits */
#define EXERCISE_FIELDS      16u  /* different values in the state */
#define EXERCISE_RUNS        5    /* to their end */
#define EXERCISE_REPEATS     40   /* of one run, to count what is left behind */
#define EXERCISE_CANCELS     20   /* each after another number of turns */
#define EXERCISE_COMPARED    8    /* runs */
#define EXERCISE_TOGETHER    12   /* runs at once */
#define EXERCISE_ALLOCATIONS 64   /* of one run that fail, each in turn */
#define EXERCISE_RUN_MS      100  /* for one run to end by itself */
#define EXERCISE_COMPARE_MS  2000 /* likewise, where its outcome matters */
#define EXERCISE_DEAF_MS     1000 /* from its cancel to the end of a run */

/* What may be found: code, severity. */
#define EXERCISE_CODES(X)                                                                                              \
    X(CONTRACT, CHECK_ERROR)         /* check mode's findings */                                                       \
    X(LEAK, CHECK_ERROR)             /* something is left of each instance, or of each failed allocation */            \
    X(CRASHED, CHECK_ERROR)          /* the process is gone */                                                         \
    X(HUNG, CHECK_ERROR)             /* the time is up, and it is still at something */                                \
    X(DEAF, CHECK_WARNING)           /* works on when cancelled */                                                     \
    X(STDOUT, CHECK_WARNING)         /* printed */                                                                     \
    X(CONFIG_REFUSED, CHECK_WARNING) /* create takes nothing that the schema allows: it is not tried */                \
    X(EXAMPLE_REFUSED, CHECK_ERROR)  /* create does not take an example of the manifest */                             \
    X(EXAMPLE_FAILED, CHECK_ERROR)   /* another output than the example says */                                        \
    X(IMPURE, CHECK_ERROR)           /* no effects are declared, and one input gives two outputs */                    \
    X(NOT_THREAD_SAFE, CHECK_ERROR)  /* another output when others run at the same time */                             \
    X(DIFFERS, CHECK_ERROR)          /* another outcome in a process of its own */                                     \
    X(NOT_COMPARED, CHECK_NOTE)      /* it cannot run in a process of its own */                                       \
    X(NOT_TRIED, CHECK_NOTE)         /* the time was up before */

#define EXERCISE_CODE(code, severity) EXERCISE_##code,
enum exercise_code { EXERCISE_CODES(EXERCISE_CODE) EXERCISE_CODE_COUNT };
#undef EXERCISE_CODE

struct exercised {
    struct host *host;
    struct host *apart; /* where the plugin runs in a process of its own; made when first wanted */
    const char *path;
    int64_t over_ms; /* when components are given no more time */
    int64_t end_ms;  /* likewise the one that is tried now: nothing more of it is begun */
    uint32_t left;   /* components that are still to be tried */
    uint64_t seed;
    struct generator generator;
    struct component *component;
    tn_value configs[EXERCISE_CONFIGS]; /* that create has taken */
    uint32_t config_count;
    tn_value reads[EXERCISE_FIELDS];
    bool deaf;     /* a run of the component did not end when it was cancelled */
    bool leaked;   /* values have been found left behind, and of whom */
    bool no_apart; /* it cannot be made */
};

/* What is tried must not be done to anybody's store: the host gets one of its own, in memory. */
void exercise_store(struct host *host);

/* exercise.c */
static inline bool exercise_has_time(const struct exercised *it) { return clock_now_ms() < it->end_ms; }
/* What the plugin is asked to do now, for when it dies of it: an infinitive. */
void exercise_doing(const char *format, ...) __attribute__((format(printf, 1, 2)));
void exercise_find(const struct exercised *it, enum exercise_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* exercise_create.c */
struct callable *exercise_make(struct component *component, tn_value config, struct error *error);
struct schema;
tn_value exercise_with_defaults(const struct schema *schema, tn_value value); /* takes `value`; a new reference */
void exercise_configs(struct exercised *it);
void exercise_lifetimes(struct exercised *it);
struct holdings {
    int64_t memory;     /* bytes of tn_core_1.alloc */
    int64_t references; /* to values */
    int64_t heap;       /* bytes of malloc, host and all; 0 where that is not known */
};
struct holdings exercise_holdings(const struct exercised *it);

/* exercise_run.c */
bool exercise_harmless(const struct exercised *it); /* declares no effects but `clock` and `random`: may be run */
bool exercise_pure(const struct exercised *it);     /* declares no effects: gives one output for one input */
void exercise_reads(struct exercised *it);          /* makes the state anew */
tn_value exercise_input(struct exercised *it);      /* a new reference */
/*
 * Runs to the end and gives what could be seen of it, {outcome, output | error | interrupt, writes, chunks}; NULL where
 * there is no instance, or the time was up.
 */
tn_value exercise_record(struct exercised *it, struct host *host, struct component *component, tn_value config,
                         tn_value input);
/* Likewise `count` inputs at once, by one instance: told[i] of inputs[i]. */
void exercise_record_together(struct exercised *it, struct host *host, struct component *component, tn_value config,
                              const tn_value *inputs, tn_value *told, uint32_t count);
void exercise_examples(struct exercised *it);
void exercise_runs(struct exercised *it);
void exercise_allocations(struct exercised *it);

/* exercise_compare.c */
void exercise_compare(struct exercised *it);

#endif
