/*
 * events_internal.h - the state of the events of a run, and what their files share.
 */
#ifndef AG_UI_EVENTS_INTERNAL_H
#define AG_UI_EVENTS_INTERNAL_H

#include "ag_ui.h"

#define MESSAGE_ID_MAX 64u

/* One invocation of a graph inside of a nested graph. */
struct agent {
    struct agent *next;
    tn_value key;  /* its path as JSON */
    tn_value path; /* NULL when it has begun again: what comes is of another invocation */
    char id[MESSAGE_ID_MAX];
    bool ended;
};

struct ag_events {
    struct ag_options options;
    uint64_t ids;                                         /* of messages, results, agents */
    uint64_t message;                                     /* of the items, that is open */
    char text[MESSAGE_ID_MAX], reasoning[MESSAGE_ID_MAX]; /* open ones, or "" */
    char text_agent[MESSAGE_ID_MAX], reasoning_agent[MESSAGE_ID_MAX];
    char parent[MESSAGE_ID_MAX], parent_agent[MESSAGE_ID_MAX]; /* the message that has just ended: its calls follow */
    tn_value calls;      /* {id of the graph: {id, name, arguments, agent}}: without a result */
    tn_value used;       /* ids of calls that the client has, as members */
    tn_value pending;    /* ids of calls that the client executes */
    tn_value interrupts; /* as the client gets them */
    tn_value steps;      /* {node: how many activations are open} */
    tn_value state;      /* what the client has; NULL: nothing */
    uint64_t call_count, agent_count;
    bool has_sent_state;  /* a change can be a STATE_DELTA */
    struct agent *agents; /* the last one first */
};

/* Takes the event. `agent`: its subagentRunId, NULL or "": the agent itself. */
void ag_send(struct ag_events *events, tn_value event, const char *agent);
void ag_next_id(struct ag_events *events, char *out); /* MESSAGE_ID_MAX bytes */

/* ---- Calls ---- */

void ag_call(struct ag_events *events, const struct serving_item *item, const char *agent);
void ag_client_call(struct ag_events *events, const struct serving_item *item, const char *agent);
void ag_result(struct ag_events *events, const struct serving_item *item, const char *agent);
void ag_ask(struct ag_events *events, const struct serving_item *item, const char *agent);

/* ---- The graph: agents, steps, state ---- */

/* The sub-agent of a path, which begins if it has not; "" if it is the agent itself. */
const char *ag_agent(struct ag_events *events, tn_value path);
void ag_agents_end(struct ag_events *events);
void ag_agents_free(struct ag_events *events);
void ag_steps_end(struct ag_events *events);
/* The client gets what `visible` has. Takes it. */
void ag_state_take(struct ag_events *events, tn_value visible);
void ag_writes(struct ag_events *events, const struct serving_item *item, const char *agent);

#endif
