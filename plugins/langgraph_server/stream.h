/*
 * stream.h - a run that was started here, and the clients that follow it.
 */
#ifndef LANGGRAPH_STREAM_H
#define LANGGRAPH_STREAM_H

#include "langgraph.h"

enum follow_kind { FOLLOW, WAIT, TELL };

struct follower {
    struct follower *next;
    struct run *run;
    struct exchange *exchange;
    enum follow_kind kind;
    uint64_t position; /* the number of the next event */
    bool full, begun;
    bool with_start; /* the client has started the run */
};

struct run {
    struct run *next;
    struct langgraph *langgraph;
    uint64_t caller;
    char id[UUID_TEXT], thread[ID_MAX];
    char created[TIME_TEXT_SIZE], updated[TIME_TEXT_SIZE];
    char *owner, *assistant, *graph, *method, *strategy;
    tn_value params, metadata, kwargs;
    const char *status;
    struct serving_run *serving; /* NULL: it waits for another one */
    struct events events;
    struct follower *followers;
    tn_value log; /* [{id, event, data}] */
    uint64_t log_first, log_size;
    tn_value result;
    bool stateless, cancel_on_disconnect;
    bool unsaved; /* its thread was deleted */
    bool started, ended;
    bool stopped; /* the host ends, and the thread can be continued */
};

#endif
