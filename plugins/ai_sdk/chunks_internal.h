/*
 * chunks_internal.h - the state of the machine, and how its files send chunks.
 */
#ifndef AI_SDK_CHUNKS_INTERNAL_H
#define AI_SDK_CHUNKS_INTERNAL_H

#include "chunks.h"

#define ID_MAX           24u /* of a text or reasoning part */
#define CHUNKS_DEPTH_MAX 8   /* graphs in graphs whose retries are noticed */

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

/* Which stream has sent a chunk. number 0: none, it is not taken back. */
struct step_owner {
    uint64_t place; /* of the activation: a fingerprint */
    uint64_t number;
    uint64_t around[CHUNKS_DEPTH_MAX]; /* fingerprints of the nodes around its graph; 0 */
    int64_t attempt;
    bool dropped;
};

/* What the client has of the current step; only if `resets`. */
struct step {
    struct step_entry *entries;
    uint64_t count, room, bytes;
    bool whole; /* a step is open, and all of it is here */
};

/* What the model of one activation has sent of its current message. */
struct stream {
    struct stream *next;
    tn_value key;
    struct step_owner owner;
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
    bool resets;                                  /* the client knows reset-step */
    struct step step;
    struct step_owner owner; /* of what is sent now */
    uint64_t stream_number;
};

/* Takes the chunk; NULL is nothing. */
void send_take(struct chunks *chunks, tn_value chunk);

/* Closes the parts that are open. */
void stream_close(struct chunks *chunks, struct stream *stream);
/* A message that streams is complete; or it does not count, and stays visible; or it comes again. */
enum stream_end { STREAM_COMPLETE, STREAM_DISCARDED, STREAM_REPEATED };
void streams_end(struct chunks *chunks, enum stream_end how);
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
void print_forget(struct chunks *chunks, uint64_t print);

/* ---- Steps that are taken back ---- */

/* A chunk that is sent. */
void step_note(struct chunks *chunks, tn_value chunk);
/* The content of the stream is complete. */
void step_note_print(struct chunks *chunks, const struct stream *stream);
/*
 * Takes back what the stream with this number has sent in the current step, or earlier attempts of the same activation,
 * or all that is inside of the node `owner->place`. False if there is nothing, or the client cannot take it back.
 */
enum step_which { STEP_STREAM, STEP_EARLIER, STEP_INSIDE };
bool step_is_meant(const struct step_owner *of, const struct step_owner *owner, enum step_which which);
bool step_take_back(struct chunks *chunks, const struct step_owner *owner, enum step_which which);
/* Another step begins, or none. */
void step_forget(struct chunks *chunks, bool begins);

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
