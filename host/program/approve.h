/*
 * approve.h - asks the user at the terminal for what a run waits for: approvals of tools, and other answers.
 *
 *     struct approver approver;
 *     approver_init(&approver);
 *     tn_value answers = approver_prompt(&approver, interrupts);   // NULL if it cannot read answers
 *     run_resume(run, answers, …); approver_finish(&approver);
 *
 * Questions are written to standard error. Answers are read from standard input if that is a terminal, else from
 * /dev/tty.
 */
#ifndef TENON_HOST_PROGRAM_APPROVE_H
#define TENON_HOST_PROGRAM_APPROVE_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdio.h>

struct approver {
    FILE *from;      /* NULL without a terminal */
    bool opened;     /* approver_finish closes `from` */
    tn_value always; /* {tool: true}: tools that are approved without another question */
    /* Reads a line with an editor, as approver_read_line does; NULL: the terminal itself edits it. */
    char *(*read)(void *user, const char *prompt);
    void *user;
};

void approver_init(struct approver *approver);
void approver_finish(struct approver *approver);
/* Reads a line without its line end; free it with mem_free. Returns NULL at the end of input and after Ctrl-C. */
char *approver_read_line(const struct approver *approver, const char *prompt);
/* Returns the entries of `interrupts` that request the approval of a tool call; a new reference. */
tn_value approval_questions(tn_value interrupts);
/*
 * Asks each question of `interrupts` (as run_interrupts returns them). Returns {id: answer} for those that have an id,
 * a new reference. Returns NULL if there is no terminal, if its input ends before the last answer, or after SIGINT or
 * SIGTERM.
 */
tn_value approver_prompt(struct approver *approver, tn_value interrupts);

#endif
