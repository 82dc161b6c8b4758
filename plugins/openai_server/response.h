/*
 * response.h - a response that this process knows: its run, its events, and the clients that follow it.
 *
 * A response that is stored is a thread with the same id. When it is not known, it is loaded from its thread
 * (response_load.c): its events are then made again from the saved conversation, or its run is continued.
 */
#ifndef OPENAI_RESPONSE_H
#define OPENAI_RESPONSE_H

#include "openai_server.h"

/* A client that waits for a response, or receives its events. */
struct follower {
    struct follower *next;
    struct exchange *exchange;
    struct response *response;
    uint64_t position; /* number of the next event */
    uint64_t shift;    /* is added to the numbers that this client receives */
    bool streams;      /* it receives events; otherwise the Response, when it has ended */
    bool begun, full;
    bool first; /* its request has started the run */
};

struct response {
    struct response *next;
    struct openai *openai;
    char *owner;
    uint64_t caller;
    struct response_events events;
    struct serving_items *items;
    struct serving_run *run;
    tn_value before; /* messages that another process has sent, or NULL */
    tn_value log;    /* what the server sends: [{event, data}], and more for place_again */
    uint64_t log_first, log_size;
    uint64_t shift_from, shift; /* with `again`: what the last client was sent from this number on; 0: no client yet */
    struct follower *followers;
    bool store, started, ended;
    bool again;   /* made from its thread: another process has sent events of it */
    bool unsaved; /* it has failed because it could not be saved here: its run is continued, or another host runs it */
};

/* A response without a run, in the table. NULL if memory runs out or there are too many. */
struct response *response_new(struct exchange *exchange, const char *id, const char *model, tn_value echo, bool store);
struct response *response_find(const struct exchange *exchange, const char *id);
/* Starts its run. Takes `params`. */
bool response_run(struct response *response, const struct serving_graph *graph, const struct openai_request *request,
                  const char *method, tn_value params);
/* The same with a run that the host has continued. */
bool response_follow_run(struct response *response, const struct serving_graph *graph,
                         const struct openai_request *request, const char *run_id);
/* The end without a run: its events are made from the saved conversation. */
void response_replay(struct response *response, const struct serving_graph *graph, const char *last_input,
                     tn_value messages, tn_value report);
/*
 * The client receives the events from the number `position` on, or the Response when it has ended. If its events are
 * those of another process, it continues with what it may not have, as these numbers; an item begins again with its
 * `response.output_item.added`.
 */
bool response_follow(struct response *response, struct exchange *exchange, bool streams, uint64_t position, bool first);
/* Forgets a response that no client follows, with its run. */
void response_free(struct response *response);

/* Finds a response, or loads it. `then` is called once with it, or not at all: the exchange was refused, or is closed.
 */
typedef void response_then(struct exchange *exchange, struct response *response);
void response_load(struct exchange *exchange, const char *id, response_then *then);
void response_not_found(struct exchange *exchange, const char *id);

/* What the metadata of a thread has for the response; NULL if it is not a response. Borrowed. */
tn_value response_saved(tn_value thread);
/* True if it is that of this response, and not of one that has answered it. */
bool response_is_saved(tn_value saved, const char *id);
/* The thread of `resp_ID` and of `resp_ID_N`: `resp_ID`; "-" if it is not the id of a response. And N, or 0. */
void response_thread(const char *id, char out[RESPONSE_ID_MAX]);
int64_t response_number(const char *id);

#endif
