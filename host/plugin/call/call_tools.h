/*
 * call_tools.h - a tool set as a callable, which the interface tenon.tool describes and calls. The tools may be in this
 * process or in another one.
 *
 *     tn_value definitions = tool_set_describe(set);
 *     callable_unref(set);
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_PLUGIN_CALL_CALL_TOOLS_H
#define TENON_HOST_PLUGIN_CALL_CALL_TOOLS_H

#include "host/plugin/call/call.h"

/* The first member of every tool set. Two kinds exist: of this process (engine/tool), and of a child (isolate). */
struct tool_set {
    struct callable callable;
    tn_value (*describe)(struct tool_set *set); /* a new reference */
};

/* The definitions by name, at most TN_TOOL_SET_MAX. A new reference; the same value until a tool is added or removed.
 */
tn_value tool_set_describe(struct callable *set);
/* A callable whose output are the definitions, for code that waits on a worker. A new reference. */
struct callable *tool_set_describer(struct callable *set);

#endif
