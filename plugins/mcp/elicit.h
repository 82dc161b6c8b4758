/*
 * elicit.h - a server asks a person: the question as an interrupt's payload and schema, the answer as the result.
 *
 * A form is answered with its content, a page that the person is sent to with true once it has been visited; both with
 * null by somebody who declines. Defaults of the form's fields stand for what the answer leaves out.
 *
 *     tn_value payload = elicit_payload(params, server, tool), schema = elicit_schema(params);
 *     tn_value result = elicit_result(params, answer);       // {action: "accept", content}
 */
#ifndef MCP_ELICIT_H
#define MCP_ELICIT_H

#include "base.h"

/* {question, server, tool, mode, schema? | url?} */
tn_value elicit_payload(tn_value params, const char *server, const char *tool);
tn_value elicit_schema(tn_value params);
tn_value elicit_result(tn_value params, tn_value answer);
/* It is not the server that asks, but we, for permission to use it: the answer may be an address, too. */
bool elicit_authorizes(tn_value params);
/* The same question: its words, and what it wants to know. */
bool elicit_same(tn_value params, tn_value others);

#endif
