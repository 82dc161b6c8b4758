/*
 * work_type.h - how Tasks of one type are handled: the settings of `work:` in tenon.yaml, and the document or component
 * that they name.
 *
 *     struct work_types *types;
 *     if (work_types_new(engine, NULL, &types, &error) != TN_OK) return report(&error);
 *     const struct work_type *type = work_types_at(types, 0);          // the one with the highest priority
 *     work_types_free(types);
 *
 * Every document is opened and checked when the types are created, so that a mistake is reported before a Task is
 * claimed. The types that tenon.yaml does not name have the defaults of WORK_DEFAULTS. Thread: loop.
 */
#ifndef TENON_HOST_WORK_WORK_TYPE_H
#define TENON_HOST_WORK_WORK_TYPE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct authority;
struct callable;
struct engine;
struct graph;
struct work_types;

#define WORK_TYPES_MAX 64u /* types of one worker: those of a claim's filter */

/* Defaults of `retries`: the delay before the second attempt, and the longest one. */
#define WORK_RETRY_MS     1000
#define WORK_RETRY_MAX_MS 300000

/* A Task type that can be handled without a tenon.yaml, and its strategy. */
#define WORK_DEFAULTS(TYPE)                                                                                            \
    TYPE("user_request", "tenon:single_turn")                                                                          \
    TYPE("notification", "tenon:notify")                                                                               \
    TYPE("work", "tenon:pdca")

/* The strategy of a type that tenon.yaml does not name; NULL if the type has none. [any] */
const char *work_default_strategy(const char *type);

struct work_type {
    char *name;
    char *strategy;                 /* the document, as tenon.yaml names it; NULL: `runner` */
    char *runner;                   /* the id of a component of kind `runner`; NULL: `strategy` */
    int64_t ttl_ms;                 /* of a claim */
    int64_t priority;               /* types with a larger number are claimed first */
    uint32_t concurrency;           /* Tasks of this type at the same time; UINT32_MAX: no limit for this type */
    uint32_t max_attempts;          /* of one Task */
    double retry_factor;            /* by which each delay grows */
    int64_t retry_ms, retry_max_ms; /* before the second attempt; the longest delay */
    tn_value options;               /* an object */
    struct graph *graph;            /* of the strategy; NULL: `runner` */
    struct callable *callable;      /* the graph, or the instance of the runner */
    struct authority *authority;    /* the allow-list `tools`, around the callable; NULL: everything is allowed */
};

/*
 * Opens the types in `names` (an array), or all that tenon.yaml and WORK_DEFAULTS have if it is NULL. NOT_FOUND for a
 * type that neither has; INVALID_CONFIG or the error of the document or component, with the type in the message. If
 * `names` is NULL, a default whose document cannot be opened is left out (its error is that of the function if nothing
 * is left, and a warning otherwise), and so is `notification` unless tenon.yaml names it: notifications are for people,
 * and a worker without a person would use them up.
 */
int32_t work_types_new(struct engine *engine, tn_value names, struct work_types **out, struct error *error);
void work_types_free(struct work_types *types); /* NULL is allowed */
size_t work_types_count(const struct work_types *types);
/* In the order of their priority, then as configured; NULL past the end. */
const struct work_type *work_types_at(const struct work_types *types, size_t index);
/* How long the next attempt waits after `attempts` have failed. */
int64_t work_type_retry_delay_ms(const struct work_type *type, int64_t attempts);

#endif
