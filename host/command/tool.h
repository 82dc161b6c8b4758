/*
 * tool.h - what the commands of `tenon tool` share.
 *
 *     struct component *component;
 *     int code;
 *     struct host *host = command_tool_open(arguments, &component, &code);
 *     if (!host) return code;
 */
#ifndef TENON_HOST_COMMAND_TOOL_H
#define TENON_HOST_COMMAND_TOOL_H

#include "host/tool/policy.h"

struct arguments;
struct component;
struct component_info;
struct host;

/* The host, and the tool that the first operand names; NULL: said on standard error, *code is what to end with. */
struct host *command_tool_open(const struct arguments *arguments, struct component **component, int *code);
/* As where a model chooses it, and no document says anything of it; tool_policy_finish it. */
void command_tool_policy(const struct host *host, const struct component_info *info, struct tool_policy *policy);

#endif
