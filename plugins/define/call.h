/*
 * call.h - one call of a defined tool: calls the tool's implementation with its arguments filled in.
 *
 * An instance is a definition and the callee that it is bound to. All running calls are in one list. Thread: loop.
 */
#ifndef TENON_PLUGINS_DEFINE_CALL_H
#define TENON_PLUGINS_DEFINE_CALL_H

#include "definition.h"
#include <tenon/graph.h>
#include <tenon/http.h>
#include <tenon/launch.h>
#include <tenon/poll.h>

struct instance {
    const struct definition *definition;
    uint32_t callee; /* BY_TOOL, BY_DOCUMENT */
};

struct command;

struct call {
    struct call *next, *previous;
    const struct definition *definition;
    tn_task task;
    uint64_t exchange;       /* BY_HTTP; 0 before the request is sent */
    struct command *command; /* BY_COMMAND */
};

extern TN_EASY_HIDDEN const tn_http_1 *define_http;
extern TN_EASY_HIDDEN const tn_poll_1 *define_poll;
extern TN_EASY_HIDDEN const tn_graph_draft *define_graph;
extern TN_EASY_HIDDEN const tn_launch_draft *define_launch;

int32_t define_call_create(const struct definition *definition, tn_binder *binder, void **instance);
void define_call_destroy(void *instance);
int32_t define_call_start(void *instance, tn_task task, tn_value input);
void define_call_cancel(void *instance, tn_task task);

/* Each ends the call and frees it. `output` is borrowed; the definition's `result` is applied to it. */
void define_call_complete(struct call *call, tn_value output);
void define_call_fail(struct call *call, const char *code, const char *message);
void define_call_fail_with(struct call *call, tn_value error); /* borrowed */

/* In command_start.c and command.c. If command_start does not return TN_OK, nothing was started and the caller frees
 * the call. */
int32_t command_start(struct call *call, tn_value input);
void command_cancel(struct call *call); /* kills the program; the call ends soon afterwards */

#endif
