/*
 * chunks_internal.h - the state of the machine, and how its files send chunks.
 */
#ifndef AI_SDK_CHUNKS_INTERNAL_H
#define AI_SDK_CHUNKS_INTERNAL_H

#include "chunks.h"

#define ID_MAX 24u /* of a text or reasoning part */

enum call_state {
    CALL_STREAMS, /* its arguments are not complete */
    CALL_OPEN,    /* the client has its input */
    CALL_ASKS,    /* an approval of it is open */
    CALL_ENDED
};

struct call {
    struct call *next;
    char *own, *id, *name; /* the id that the model gave; the id that the client has */
    tn_value input;
    struct tn_text_buffer arguments; /* while it streams */
    const struct stream *stream;     /* while it streams */
    int64_t index;
    enum call_state state;
};

/* What the model of one activation has sent of its current message. */
struct stream {
    struct stream *next;
    tn_value key;
    int64_t attempt;
    char text[ID_MAX], reasoning[ID_MAX]; /* ids of open parts; "" */
    uint64_t print, print_rest;           /* fingerprints of the text, and of the other parts */
    bool any;                             /* has content */
};

struct chunks {
    struct serving_graph graph;
    tn_value item;             /* of the graph */
    char *message_id, *finish; /* finish: why the last model has ended */
    chunks_handler *handler;
    void *user;
    struct stream *streams;
    struct call *calls;             /* the last one first */
    tn_value seen, nested, used;    /* objects as sets: messages; graphs that have reported; ids of calls */
    uint64_t known;                 /* messages of the thread before the run */
    uint64_t sent[CHUNKS_SENT_MAX]; /* fingerprints; a ring */
    uint64_t sent_count, stream_count, call_count, part_count;
    bool in_step, step_has_output, missed, knows; /* knows: the messages before the run */
};

/* Takes the chunk; NULL is nothing. */
void send_take(struct chunks *chunks, tn_value chunk);

/* All messages that stream are complete, or do not count. */
void streams_end(struct chunks *chunks, bool discarded);
/* True if the message has an id that is known; otherwise it is known from now on. */
bool message_was_seen(struct chunks *chunks, tn_value message);

/* ---- Content ---- */

/* Opens a step, if none is open; another one if this one has the result of a tool. Before each part. */
void step_for_part(struct chunks *chunks);
void step_end(struct chunks *chunks);
void parts_close(struct chunks *chunks); /* open texts and reasoning */
void part_send(struct chunks *chunks, tn_value part);
/* A whole message, unless its content was streamed. */
void content_send(struct chunks *chunks, tn_value content);
void text_send(struct chunks *chunks, tn_value text);

/* A fingerprint: FNV-1a of the text, plus that of each other part. Only equal contents of one answer would be missed.
 */
#define PRINT_START UINT64_C(0xcbf29ce484222325)
uint64_t print_add(uint64_t print, const char *text, uint64_t length);
uint64_t print_of_part(tn_value part);
void print_note(struct chunks *chunks, uint64_t print);

/* ---- Calls ---- */

void calls_delta(struct chunks *chunks, const struct stream *stream, tn_value delta);
/* The deltas of a message are complete, or do not count. */
void calls_stream_end(struct chunks *chunks, const struct stream *stream, bool discarded);
/* A call in a message of a model. */
void calls_start(struct chunks *chunks, tn_value tool_call);
/* A message of the type tool. */
void calls_result(struct chunks *chunks, tn_value message);
/* The client gets no more of the call with this id. */
void calls_end(struct chunks *chunks, const char *id);
/* What a tool has returned, from the content of its message. A new reference. */
tn_value calls_output(tn_value content);
/* The calls of the client's parts. */
void calls_read(struct chunks *chunks, tn_value parts);
/* The call that an interrupt is about; one is made if there is none. NULL if memory runs out. */
struct call *calls_of_interrupt(struct chunks *chunks, tn_value interrupt, const char *prefix);
/* The client has one of these calls, and so the message that made them. */
bool calls_are_known(const struct chunks *chunks, tn_value calls);
bool calls_are_open(const struct chunks *chunks);
void calls_free(struct chunks *chunks);

#endif
