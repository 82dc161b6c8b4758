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
/* `tenon tool call --connect`. Returns the exit code. */
int command_tool_call_sent(const struct arguments *arguments);

#endif
