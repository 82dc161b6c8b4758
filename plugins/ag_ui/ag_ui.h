/*
 * ag_ui.h - graphs for pages that speak AG-UI 1.0: the parts that need neither a server nor a loop.
 *
 *     request.c, content.c                      RunAgentInput, and its messages as messages of Tenon
 *     plan.c, plan_index.c                      what a request does to its thread
 *     events.c, events_calls.c, events_graph.c  the items of a run as events; patch.c, its state as JSON Patch
 */
#ifndef AG_UI_H
#define AG_UI_H

#include <serving.h>

#define AG_UI_ID_MAX       128   /* bytes of an id that a client chooses */
#define AG_UI_MESSAGES_MAX 10000 /* of a request */
#define AG_UI_TOOLS_MAX    128
#define AG_UI_RESUME_MAX   256
#define AG_UI_CALLS_MAX    4096 /* of a run; further ones are not shown */
#define AG_UI_AGENTS_MAX   1024 /* sub-agents of a run; what further ones do is of the agent around them */
#define AG_UI_PATCH_MAX    1000 /* operations of one STATE_DELTA; a larger change is a STATE_SNAPSHOT */
#define AG_UI_PATCH_DEPTH  8    /* deeper values are replaced as a whole */

/* ---- Requests ---- */

struct ag_request {
    const char *thread_id, *run_id; /* borrowed from the body, as are messages, state and resume */
    tn_value body, messages, state, resume;
    tn_value tools, tool_names, context; /* new; tools and context: NULL if there are none */
    tn_value calls;                      /* new: ids of the calls that the client has, as members */
    int32_t status;                      /* why it is refused */
    char reason[512];
};

/* False, with status and reason, if the body is not a RunAgentInput. ag_request_finish in both cases. */
bool ag_request_read(struct ag_request *request, tn_value body);
void ag_request_finish(struct ag_request *request);
bool ag_request_refuse(struct ag_request *request, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4))); /* false */

/* The content of a message: new. NULL, and the reason, if it has a part that is not known or not complete. */
tn_value ag_content(struct ag_request *request, tn_value content, uint64_t index);
/* A message of the client: new. NULL: refused if *wrong, otherwise it is one that graphs do not get. */
tn_value ag_message(struct ag_request *request, tn_value message, uint64_t index, bool *wrong);

/* ---- The plan ---- */

struct ag_plan {
    const char *method; /* "run/start" or "run/resume"; NULL: no run */
    tn_value params;    /* new */
    bool cancelled;     /* without a run: the person has cancelled what the thread waits for */
    tn_value asked;     /* interrupts that are answered; borrowed from the thread; or NULL */
    tn_value state;     /* new: the channels that the run begins with */
    char last_input[AG_UI_ID_MAX + 1];
};

/* `thread` of thread/get and `state` of thread/state; NULL if they do not exist. False: refused. */
bool ag_plan_make(struct ag_plan *plan, struct ag_request *request, const struct serving_graph *graph, tn_value thread,
                  tn_value state);
void ag_plan_finish(struct ag_plan *plan);
/* The channels that a client sees as state: without messages and tools, and those without a value. New. */
tn_value ag_visible_state(const struct serving_graph *graph, tn_value state);

/* ---- JSON Patch ---- */

/* The operations that make `after` of `before`: new; NULL if there are too many. Both are objects. */
tn_value ag_patch(tn_value before, tn_value after);

/* ---- Events ---- */

/* `event` is borrowed. */
typedef void ag_handler(void *user, tn_value event);

struct ag_options {
    const struct serving_graph *graph; /* its item is kept by the caller, as the other members */
    const char *thread_id, *run_id;
    const char *prefix;    /* of ids of messages, short */
    tn_value calls;        /* ids of calls that the client has, as members; or NULL */
    tn_value client_state; /* what the client has as state; or NULL */
    tn_value state;        /* visible state that the run begins with; or NULL */
    ag_handler *handler;
    void *user;
};

struct ag_events;

struct ag_events *ag_events_new(const struct ag_options *options);  /* NULL if memory runs out */
void ag_events_free(struct ag_events *events);                      /* NULL is allowed */
void ag_events_start(struct ag_events *events);                     /* RUN_STARTED, and the state */
void ag_events_item(void *events, const struct serving_item *item); /* a serving_item_handler */
/* Each event of the run, before and after serving_items_event: steps and sub-agents begin and end. */
void ag_events_before(struct ag_events *events, tn_value event);
void ag_events_after(struct ag_events *events, tn_value event);
/* The end of a run that was not started because the person has cancelled. */
void ag_events_cancelled(struct ag_events *events);

/* {type: RUN_ERROR, message, code}: new. */
tn_value ag_error(const char *message, const char *code);

#endif
