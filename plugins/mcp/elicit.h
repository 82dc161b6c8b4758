/*
 * elicit.h - a server asks a person: the question as an interrupt's payload and schema, the answer as the result.
 *
 * A form is answered with its content, a page that the person is sent to with true once it has been visited; both with
 * null by somebody who declines. Defaults of the form's fields stand for what the answer leaves out.
 *
 *     bool asked = elicit_ask_take(task, params, server, tool, continuation);
 *     tn_value result = elicit_result(params, answer);       // {action: "accept", content}
 */
#ifndef MCP_ELICIT_H
#define MCP_ELICIT_H

#include "base.h"

/* {question, server, tool, mode, schema? | url?} */
tn_value elicit_payload(tn_value params, const char *server, const char *tool);
tn_value elicit_schema(tn_value params);
/* Interrupts the task with both. False: it goes on, as there is no memory or the host refuses; `continuation` is taken.
 */
bool elicit_ask_take(tn_task task, tn_value params, const char *server, const char *tool, tn_value continuation);
tn_value elicit_result(tn_value params, tn_value answer);
/* It is not the server that asks, but we, for permission to use it: the answer may be an address, too. */
bool elicit_authorizes(tn_value params);
/* The same question: its words, and what it wants to know. */
bool elicit_same(tn_value params, tn_value others);

#endif
