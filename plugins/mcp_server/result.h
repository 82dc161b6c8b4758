/*
 * result.h - the end of a run as the result of a call, a prompt or a resource.
 *
 * A graph that declares entries in `x-mcp` writes the result itself, to the channel `mcp_result`. The result of any
 * other graph becomes content: the last messages, or the text of its result, and its members as structured content.
 */
#ifndef MCPS_RESULT_H
#define MCPS_RESULT_H

#include "base.h"

/* Each returns a new reference, or NULL and *problem. `report` is the run's (type `result`). */
tn_value result_of_tool(tn_value entry, tn_value report, struct problem *problem);
tn_value result_of_prompt(tn_value report, struct problem *problem);
tn_value result_of_resource(tn_value report, const char *uri, bool modern, struct problem *problem);
/* The output of a tool of the host, or an ERROR, as a result of tools/call. */
tn_value result_of_output(tn_value output, bool structured);
tn_value result_of_error(tn_value error);
/* The result of artifact/read. */
tn_value result_of_artifact(tn_value artifact, const char *uri);

#endif
