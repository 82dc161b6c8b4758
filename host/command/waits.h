/*
 * waits.h - what a run or a thread waits for, told to people: a block for each question, with the id and a way to
 * answer it that can be typed as it stands.
 *
 *     waits_print(stderr, interrupts, answers, "--answer ");
 *
 *     1f0c…  node tools: may shop.order be called? tenon.yaml says `ask` for `shop.*`
 *         with      {"item":"tea"}
 *         answer    --answer 1f0c…=yes, or =no, or ='{"approved": false, "reason": "…"}'
 */
#ifndef TENON_HOST_COMMAND_WAITS_H
#define TENON_HOST_COMMAND_WAITS_H

#include "adl/value/value.h"
#include <stdio.h>

/*
 * `interrupts` as of run_interrupts; `answers` {id: answer}, those that have been given already, or NULL; `how` stands
 * before ID=VALUE, NULL: there is no way to answer.
 */
void waits_print(FILE *out, tn_value interrupts, tn_value answers, const char *how);

#endif
