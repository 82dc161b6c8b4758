/*
 * call.h - one use of a defined tool: what implements it is called with the arguments filled in.
 *
 * An instance is a definition and what it has bound; each kind of implementation starts and cancels its own calls, all
 * of which are in one list. Everything is [loop].
 */
#ifndef TENON_PLUGINS_DEFINE_CALL_H
#define TENON_PLUGINS_DEFINE_CALL_H

#include "definition.h"
#include <tenon/http.h>
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
    uint64_t exchange;       /* BY_HTTP: 0 where nothing is sent */
    struct command *command; /* BY_COMMAND */
};

extern TN_EASY_HIDDEN const tn_http_draft *call_http;
extern TN_EASY_HIDDEN const tn_poll_draft *call_poll;

int32_t call_create(const struct definition *definition, tn_binder *binder, void **instance);
void call_destroy(void *instance);
int32_t call_start(void *instance, tn_task task, tn_value input);
void call_cancel(void *instance, tn_task task);

/* For each kind: ends the call, and frees it. `output` is borrowed; the definition's `result` is applied. */
void call_complete(struct call *call, tn_value output);
void call_fail(struct call *call, const char *code, const char *message, tn_value more);

/* command.c: TN_OK, or a status with which nothing was begun. */
int32_t command_start(struct call *call, tn_value input);
void command_cancel(struct call *call); /* kills it; the call ends soon */

#endif
