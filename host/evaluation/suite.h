/*
 * suite.h - a suite: a document, or versions of it, a table of inputs and expectations, and models to compare.
 *
 *     struct suite *suite = suite_read(source, read_file, user, &error);     // YAML or JSON: suite.schema.json
 *     for (size_t i = 0; i < suite->case_count; i++) …
 *     suite_free(suite);
 *
 * A suite is immutable. Thread: any.
 */
#ifndef TENON_HOST_EVALUATION_SUITE_H
#define TENON_HOST_EVALUATION_SUITE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stddef.h>
#include <stdint.h>

struct source;

#define SUITE_CASES_MAX 100000u
#define SUITE_RUNS_MAX  1000000u /* runs of one evaluation */

/* One case, as the suite and its own members say; owned by the suite. */
struct suite_case {
    tn_value id;     /* unique */
    tn_value input;  /* {} without one */
    tn_value answer; /* an expression, or NULL */
    tn_value expect; /* [{kind: "equals" | …, with the expectation as `value`}] */
};

struct suite {
    tn_value documents; /* {name: path relative to the suite} */
    tn_value models;    /* {name: {role: binding}}, or {"": {}} */
    tn_value judge;     /* a binding, or NULL */
    struct suite_case *cases;
    size_t case_count;
    uint32_t repeat, concurrency;
    double pass_rate;    /* thresholds */
    double cost, p95_ms; /* -1: none */
    bool judges;         /* a case has a rubric */
};

/* Reads a file that the suite names, relative to it: a new reference to its text, or NULL with an error. */
typedef tn_value suite_read_fn(void *user, const char *path, struct error *error);

/*
 * Returns NULL with INVALID_SUITE, whose message has the place, with LIMIT, or with the error of `read`. `read` is
 * called only here.
 */
struct suite *suite_read(struct source *source, suite_read_fn *read, void *user, struct error *error);
void suite_free(struct suite *suite); /* NULL is allowed */
/* The schema of a suite; a new reference. */
tn_value suite_schema(void);

#endif
