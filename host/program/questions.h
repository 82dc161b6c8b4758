/*
 * questions.h - prints the interrupts that a run or a thread waits for: on a terminal one block per question, with its
 * id and with the option that answers it; in a pipe one line per question.
 *
 *     questions_print(stderr, interrupts, answers, "--answer ");
 *
 *     1f0c…  node tools: may shop.order be called? tenon.yaml sets `ask` for `shop.*`
 *         arguments {"item":"tea"}
 *         answer    --answer 1f0c…=yes, or =no, or ='{"approved": false, "reason": "…"}'
 */
#ifndef TENON_HOST_PROGRAM_QUESTIONS_H
#define TENON_HOST_PROGRAM_QUESTIONS_H

#include "adl/value/buffer.h"
#include "adl/value/value.h"
#include <stdio.h>

/*
 * `interrupts` is what run_interrupts returns. `answers` is {id: answer}, the answers that are already saved; NULL when
 * none are. `how` is printed before ID=VALUE; if NULL, no way to answer is printed.
 */
void questions_print(FILE *out, tn_value interrupts, tn_value answers, const char *how);
/*
 * Appends one interrupt as one line for people, without a line end; wrapped here:
 *     waiting for an approval: node agent/tools: may shop.order be called with {"item":"tea"}? the
 *     document sets `ask` for `shop.order` (id 1f0c…)
 */
void question_line(struct buffer *out, tn_value interrupt);
/* Prints question_line of each interrupt as a warning of the command. */
void questions_warn(tn_value interrupts);

#endif
