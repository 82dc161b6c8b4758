/*
 * interface.h - what the host offers to plugins: one row for each interface id, released ones for ever.
 *
 * Adding an interface is adding a row. Everything a plugin can reach of the host is behind these tables.
 */
#ifndef TENON_HOST_INTERFACE_H
#define TENON_HOST_INTERFACE_H

#include "host/plugin/registry.h"
#include <tenon.h>
#include <tenon/document.h>
#include <tenon/eval.h>
#include <tenon/graph.h>
#include <tenon/http.h>
#include <tenon/poll.h>
#include <tenon/registry.h>
#include <tenon/state.h>
#include <tenon/tool.h>

struct callable;

extern const tn_value_1 interface_value;
extern const tn_core_1 interface_core;
void interface_core_ended(struct plugin *plugin); /* [loop] takes back all that it has posted */
extern const tn_task_1 interface_task;
extern const tn_eval_draft interface_eval;
extern const tn_graph_draft interface_graph;
extern const tn_graph_draft_2 interface_graph_2;
extern const tn_http_draft interface_http;
void interface_http_ended(struct plugin *plugin); /* [loop] cancels all of its exchanges */
/* Where set, exchanges are its, and `send_wait` is an operation of that name: in a process that has no network. */
extern const tn_http_draft *interface_http_elsewhere;
#define INTERFACE_HTTP_SEND "http.send"
/* [loop] One request of the plugin's as a callable, for one call; its output is END's value. */
struct callable *interface_http_call(struct plugin *plugin);
extern const tn_poll_draft interface_poll;
void interface_poll_ended(struct plugin *plugin); /* [loop] ends all of its watches */
extern const tn_document_draft interface_document;
extern const tn_state_draft interface_state;
extern const tn_tool_draft interface_tool;
/* Where set, operations of the state kernel, and of documents, are what it makes of their names: in a process that has
 * no store. */
extern struct callable *(*interface_state_elsewhere)(const char *operation);

/* Check mode (guard.h): told when a plugin is called back, by a post, a watch or an exchange. NULL: nobody is. */
struct interface_watch {
    void *(*enter)(const struct plugin *plugin);
    void (*leave)(void *before);
};
extern const struct interface_watch *interface_watch;
static inline void *interface_enter(const struct plugin *plugin) {
    return interface_watch ? interface_watch->enter(plugin) : NULL;
}
static inline void interface_leave(void *before) {
    if (interface_watch) interface_watch->leave(before);
}

/* Ends with a row whose id is NULL. */
extern const struct registry_interface interface_table[];
/* The vtable of an id, or NULL; drafts as well: for the host's own components. */
const void *interface_find(const char *id);

#endif
