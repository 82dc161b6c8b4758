/*
 * question_form.h - asks for the fields of a form one by one, with validation, at the terminal.
 *
 *     tn_value answer = NULL;
 *     if (question_form_is(schema)) more = question_form_ask(approver, schema, &answer);
 *
 * A form is an object whose fields are texts, numbers, truth values, choices or lists of choices, as MCP servers and
 * the node `ask` request them. If the schema also allows null, the person can decline.
 */
#ifndef TENON_HOST_PROGRAM_QUESTION_FORM_H
#define TENON_HOST_PROGRAM_QUESTION_FORM_H

#include "adl/value/value.h"
#include <stdbool.h>

struct approver;

/* True if the schema describes a form, alone or as a branch of anyOf. */
bool question_form_is(tn_value schema);
/*
 * Returns false at the end of input and after Ctrl-C. *answer is a new reference: the object, or null if the person
 * declines.
 */
bool question_form_ask(const struct approver *approver, tn_value schema, tn_value *answer);

#endif
