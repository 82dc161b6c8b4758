/*
 * session.h - sessions for graphs: the parts that need neither a server nor a loop.
 *
 *     request.c  SessionData as the input of a graph, and as answers to what a run asks
 *     events.c   the items of a run as StreamResponseData and AgentResponseData
 *     schema.c   checks a value against schema/session_data.schema.json, which is compiled in
 */
#ifndef SESSION_SERVER_SESSION_H
#define SESSION_SERVER_SESSION_H

#include <serving.h>

#define SESSION_ID_MAX    100 /* bytes; also in the schema */
#define SESSION_LEGS_MAX  100 /* runs that follow each other because their tools are approved in advance */
#define SESSION_DEPTH_MAX 16  /* of a schema */

/* ---- Requests ---- */

struct session {
    tn_value data; /* SessionData */
    const char *id;
    char reason[512]; /* why it is refused */
};

/* False, with the reason, if the value does not match the schema. session_finish in both cases. */
bool session_read(struct session *session, tn_value data);
void session_finish(struct session *session);
/* The input of a run: new. NULL, with the reason, if the graph cannot use the session. */
tn_value session_input(struct session *session, const struct serving_graph *graph);
/* {id: answer} to all interrupts, from marks in the last message of the user, its text, and `auto_approve`: new. NULL
 * if one of them has no answer. `only_config`: only from `auto_approve`. */
tn_value session_answers(const struct session *session, tn_value interrupts, bool only_config);

/* NULL, or why the value does not match: new. Of JSON Schema: type, enum, required, properties, additionalProperties,
 * items, minItems, maxItems, minLength, maxLength. */
tn_value schema_check(tn_value schema, tn_value value);

/* ---- Events ---- */

/* `data` is borrowed. */
typedef void session_handler(void *user, tn_value data);

struct session_events {
    tn_value session;         /* SessionData; borrowed */
    session_handler *handler; /* gets StreamResponseData */
    void *user;
    struct tn_text_buffer text; /* of the message that is open */
    uint64_t message;
    tn_value messages;           /* that are complete */
    tn_value calls;              /* {id: call}: without a result */
    bool continues;              /* another run follows: its end is not that of the answer */
    const char *status, *finish; /* after the end */
    tn_value usage;              /* after the end */
};

void session_events_open(struct session_events *events, tn_value session, session_handler *handler, void *user);
void session_events_item(void *events, const struct serving_item *item); /* a serving_item_handler */
tn_value session_events_response(const struct session_events *events);   /* AgentResponseData, after the end: new */
void session_events_close(struct session_events *events);
/* AgentResponseData of a request that was refused: new. `session` may be anything. */
tn_value session_refusal(tn_value session, const char *message);

#endif
