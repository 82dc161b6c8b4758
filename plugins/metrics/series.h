/*
 * series.h - what is counted: families of series, one series for each combination of label values.
 *
 *     const char *labels[] = {"support", "done"};
 *     series_add(&set, FAMILY_RUNS, labels, 1);
 *     series_observe(&set, FAMILY_RUN_SECONDS, labels, 0.2);
 *
 * The number of series is bounded: when SERIES_MAX exist, or SERIES_FAMILY_MAX of one family, new combinations are
 * counted in the series of the family whose labels are all "other". Thread: [loop].
 */
#ifndef METRICS_SERIES_H
#define METRICS_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#define SERIES_MAX        5000
#define SERIES_FAMILY_MAX 1000
#define SERIES_LABELS     4
#define SERIES_LABEL_MAX  128u /* bytes of a value; what is longer is cut */
#define SERIES_BOUNDS     16
#define SERIES_TABLE      1024

enum family_id {
    FAMILY_RUNS,
    FAMILY_RUN_SECONDS,
    FAMILY_STEPS,
    FAMILY_STEP_SECONDS,
    FAMILY_NODES,
    FAMILY_NODE_SECONDS,
    FAMILY_MODEL_CALLS,
    FAMILY_MODEL_SECONDS,
    FAMILY_MODEL_TOKENS,
    FAMILY_MODEL_ATTEMPTS,
    FAMILY_MODEL_COST,
    FAMILY_TOOL_CALLS,
    FAMILY_TOOL_SECONDS,
    FAMILY_REQUESTS,
    FAMILY_REQUEST_SECONDS,
    FAMILY_RECEIVED,
    FAMILY_SENT,
    FAMILY_STORE,
    FAMILY_STORE_SECONDS,
    FAMILY_TASKS,
    FAMILY_TASK_SECONDS,
    FAMILY_MISSED,
    FAMILY_EXPORT,
    FAMILIES
};

struct family {
    const char *name, *help; /* for Prometheus */
    const char *otlp, *unit; /* the name and unit for OTLP */
    const char *labels[SERIES_LABELS + 1];
    const char *attributes[SERIES_LABELS]; /* the names of the labels for OTLP; NULL: the same */
    const double *bounds;                  /* of a histogram; NULL: a counter */
};

extern const struct family families[FAMILIES];

struct series {
    struct series *next, *later; /* in its bucket; in the order of creation */
    enum family_id family;
    uint64_t count;                      /* of a histogram */
    double value;                        /* of a counter; of a histogram, the sum */
    uint64_t buckets[SERIES_BOUNDS + 1]; /* not cumulative; the last one is above all bounds */
    char *labels[SERIES_LABELS];         /* point into `text` */
    char text[];
};

struct series_set {
    struct series *table[SERIES_TABLE];
    struct series *first, **last;
    uint32_t count, counts[FAMILIES];
    int64_t started_ms;
};

bool series_init(struct series_set *set);
void series_finish(struct series_set *set);
/* `labels`: as many as the family has; NULL is "". Nothing happens if memory runs out. */
void series_add(struct series_set *set, enum family_id family, const char *const *labels, double by);
void series_observe(struct series_set *set, enum family_id family, const char *const *labels, double value);

#endif
