/*
 * approve.h - asking whoever sits at the terminal what a run waits for: approvals of tools, and any other answer.
 *
 *     struct approver approver;
 *     approver_init(&approver);
 *     tn_value answers = approver_ask(&approver, interrupts);   // NULL: nobody is there, or they left
 *     run_resume(run, answers, …);
 *     approver_finish(&approver);
 *
 * Questions go to standard error, answers come from standard input where that is a terminal, else from /dev/tty.
 */
#ifndef TENON_HOST_COMMAND_APPROVE_H
#define TENON_HOST_COMMAND_APPROVE_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdio.h>

struct approver {
    FILE *from;      /* NULL: there is no terminal */
    bool opened;     /* `from` is ours to close */
    tn_value always; /* {tool: true}: approved from now on */
};

void approver_init(struct approver *approver);
void approver_finish(struct approver *approver);
/* Of `interrupts` those that ask whether a tool may be used; a new reference. */
tn_value approvals_of(tn_value interrupts);
/*
 * `interrupts` as of run_interrupts; {id: answer}, a new reference, for each that has an id. NULL where there is no
 * terminal, or it has ended before all was answered.
 */
tn_value approver_ask(struct approver *approver, tn_value interrupts);

#endif
