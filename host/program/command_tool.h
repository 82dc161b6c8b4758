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

struct arguments;
struct component;
struct host;

/*
 * Opens a host and resolves the tool that the first operand names. On failure, prints an error, sets *code to the exit
 * code and returns NULL.
 */
struct host *command_tool_open(const struct arguments *arguments, struct component **component, int *code);

#endif
