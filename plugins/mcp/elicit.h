/*
 * elicit.h - a server's question to a person: the interrupt's payload and schema, and the result for the server.
 *
 * The answer to a form is its content; the answer to a page is true after a visit; null declines. Fields that the
 * answer leaves out get the form's defaults.
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
/* Interrupts the task with both. Returns false if the task continues, because memory ran out or the host refused. Takes
 * `continuation`. */
bool elicit_ask_take(tn_task task, tn_value params, const char *server, const char *tool, tn_value continuation);
tn_value elicit_result(tn_value params, tn_value answer);
/* Returns true if this plugin asks for permission to use the server; the answer may then be a URL. */
bool elicit_authorizes(tn_value params);
/* Returns true if the message and the requested data are the same. */
bool elicit_same(tn_value params, tn_value others);

#endif
