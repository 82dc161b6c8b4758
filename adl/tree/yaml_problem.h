/*
 * yaml_problem.h - clear messages for libyaml's errors; private to adl/tree.
 *
 * libyaml has about fifty messages in terms of its grammar ("did not find expected <document start>"). This module
 * turns one into a diagnostic with found, expected, and what to do. If possible, it reports the place of the mistake
 * instead of the place where libyaml noticed it.
 */
#ifndef TENON_ADL_YAML_PROBLEM_H
#define TENON_ADL_YAML_PROBLEM_H

#include "adl/diagnostic/diagnostic.h"

struct yaml_problem {
    const char *problem, *context; /* libyaml's own static texts; context may be NULL */
    uint32_t at, context_at;       /* byte offsets */
    uint32_t limit;                /* limit of YAML_PROBLEM_DEPTH */
};

/* Our own problems: text in a mapping that is not `key: value`, text in a list without `-`, and too much nesting. */
#define YAML_PROBLEM_NO_COLON    "text without a colon"
#define YAML_PROBLEM_NO_DASH     "did not find expected '-' indicator"
#define YAML_PROBLEM_MISFIT      "did not find expected key"
#define YAML_PROBLEM_DEPTH       "nested too deeply"
#define YAML_PROBLEM_DASH_COLUMN "an item in another column"
#define YAML_PROBLEM_LOST_DASH   "an item without its dash"

/* `range` is the range that was read: a problem at its end is shown after its last text. */
void yaml_problem_report(struct diagnostics *found, struct source *source, struct span range,
                         const struct yaml_problem *problem);

/*
 * Reports a text without quotes that braces or brackets, `: ` or `[` in it end, if there is one at `at`, where libyaml
 * expects a comma (yaml_flow.c). Returns false if something else is wrong.
 */
bool yaml_flow_report(struct diagnostics *found, struct source *source, struct span range, uint32_t at);
/* The start of the text without quotes in braces or brackets that contains `at`, or that ends there. */
uint32_t yaml_flow_start(struct source *source, struct span range, uint32_t at);

#endif
