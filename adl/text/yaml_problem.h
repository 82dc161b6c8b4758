/*
 * yaml_problem.h - what libyaml could not read, said clearly; private to adl/text.
 *
 * libyaml has some fifty messages in terms of its own grammar ("did not find expected <document start>"). This turns
 * one into a diagnostic with found, expected, and what to do, at the place where the mistake is rather than where it
 * was noticed, as far as that is known.
 */
#ifndef TENON_ADL_YAML_PROBLEM_H
#define TENON_ADL_YAML_PROBLEM_H

#include "adl/diagnostic/diagnostic.h"

struct yaml_problem {
    const char *problem, *context; /* libyaml's own texts, static; context may be NULL */
    uint32_t at, context_at;       /* byte offsets */
    uint32_t limit;                /* of YAML_PROBLEM_DEPTH */
};

/* Ours: a top-level section that is no `key: value`, and one that is nested too deeply. */
#define YAML_PROBLEM_NO_COLON "a section without a colon"
#define YAML_PROBLEM_DEPTH    "nested too deeply"

/* `range` is what was read: a problem at its end is shown after its last text. */
void yaml_problem_report(struct diagnostics *found, struct source *source, struct span range,
                         const struct yaml_problem *problem);

#endif
