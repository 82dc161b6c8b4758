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

#include "host/engine/tool/tool_policy.h"

struct arguments;
struct component;
struct component_info;
struct host;

/*
 * Opens a host and resolves the tool that the first operand names. On failure, prints an error, sets *code to the exit
 * code and returns NULL.
 */
struct host *command_tool_open(const struct arguments *arguments, struct component **component, int *code);
/* The tool's policy when a model calls it and no document restricts it. Call tool_policy_finish on it. */
void command_tool_policy(const struct host *host, const struct component_info *info, struct tool_policy *policy);

#endif
