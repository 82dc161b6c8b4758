/*
 * request.h - the body of POST: what the client has sent, as messages of the graph.
 *
 * A client sends the whole conversation each time. The thread of the server is the truth: of the body, only the last
 * message counts, and the ids of the others; if the thread does not exist, the texts of the others are its beginning.
 */
#ifndef AI_SDK_REQUEST_H
#define AI_SDK_REQUEST_H

#include <serving.h>

#define CHAT_ID_MAX       128   /* bytes of the id of a chat */
#define CHAT_MESSAGES_MAX 10000 /* of a body */
#define CHAT_PARTS_MAX    10000 /* of a message */
#define CHAT_BODY_MAX     (32u << 20)

struct chat_request {
    const char *chat_id, *graph; /* graph: NULL if the client names none. Borrowed from body and query */
    tn_value body, query;
    bool regenerate;
    tn_value user;    /* {type: user, id, content}: what the person has said; NULL if `parts` continue an answer */
    tn_value history; /* the messages before it, for a thread that does not exist yet */
    const char *message_id; /* of the answer that is continued */
    tn_value parts;         /* of the answer that is continued; borrowed; or NULL */
    tn_value answers;       /* {id of an interrupt: answer}: parts data-answer */
    tn_value input;         /* channels: the member `input` of the body and parts data-input */
    tn_value used;          /* ids of all calls, as members of an object */
    char reason[512];       /* why it is refused */
};

/* True if the body is valid; otherwise `reason` says why not. chat_request_finish in both cases. */
bool chat_request_read(struct chat_request *request, tn_value body, tn_value query);
void chat_request_finish(struct chat_request *request);
/* Graphs other than `graph` cannot use everything: false, with the reason. */
bool chat_request_fits(struct chat_request *request, const struct serving_graph *graph);

/* `chat_id` can be the id of a chat. */
bool chat_id_is_valid(const char *chat_id, uint64_t length);

#endif
