/*
 * events.h - events of a run as notifications of MCP: one table for both eras.
 *
 *   engine event                              notification
 *   custom {mcp: {progress: {progress, …}}}   notifications/progress, if the request has a progressToken
 *   custom {mcp: {log: {level, data, …}}}     notifications/message, if the level is wanted
 *   custom {mcp: {changed: LIST}}             notifications/LIST/list_changed, to those who listen
 *   custom {mcp: {updated: URI}}              notifications/resources/updated, to those who have subscribed
 *   custom {mcp: {disconnect: true}}          closes the stream of a session; the client comes back
 *   tasks, end of an activation               notifications/progress, unless the graph reports its own
 *   all others                                nothing: the result has them
 */
#ifndef MCPS_EVENTS_H
#define MCPS_EVENTS_H

#include "base.h"

struct events_handler {
    void (*notify)(void *user, tn_value notification); /* about this request; borrowed */
    void (*changed)(void *user, const char *list);     /* "tools", "prompts" or "resources" */
    void (*updated)(void *user, const char *uri);
    void (*disconnect)(void *user);
};

/* The state of one request. Zero and set: token (borrowed, may be NULL), log_level. */
struct events {
    tn_value token;
    int32_t log_level; /* the lowest that is wanted; EVENTS_NO_LOG: none */
    bool counts;       /* report the progress of activations */
    bool reported;     /* the graph has reported its own progress */
    double progress;   /* the last one */
};

#define EVENTS_NO_LOG 8

/* debug 0 … emergency 7; -1 for any other text. */
int32_t events_log_level(const char *name);
/* `event` as `tenon schema event` describes it. */
void events_map(struct events *events, tn_value event, const struct events_handler *handler, void *user);

#endif
