/*
 * command_tool.h - what the commands of `tenon tool` share.
 *
 *     struct component *component;
 *     int code;
 *     struct host *host = command_tool_open(arguments, &component, &code);
 *     if (!host) return code;
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_TOOL_H
#define TENON_HOST_PROGRAM_COMMAND_TOOL_H

#include "adl/value/value.h"

struct approver;
struct arguments;
struct component;
struct host;

/*
 * Opens a host and resolves the tool that the first operand names. On failure, prints an error, sets *code to the exit
 * code and returns NULL.
 */
struct host *command_tool_open(const struct arguments *arguments, struct component **component, int *code);

/*
 * The arguments of a call, a new reference: the second operand, to which --set is applied. On failure, prints an error
 * and returns NULL.
 */
tn_value command_tool_arguments(const struct arguments *arguments);
/*
 * Asks whether the tool may be called: `payload` and `schema` (may be NULL) are those of the approval. Returns
 * COMMAND_OK if the call is approved, and replaces *given if the answer has other arguments. Otherwise prints why not,
 * and returns the exit code.
 */
int command_tool_approve(struct approver *approver, const char *tool, tn_value payload, tn_value schema,
                         tn_value *given);
/* `tenon tool call --connect`. Returns the exit code. */
int command_tool_call_sent(const struct arguments *arguments);

#endif
