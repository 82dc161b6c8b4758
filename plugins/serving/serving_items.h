/*
 * serving_items.h - what the two files of items share: serving_items.c, the texts; serving_messages.c, the messages
 * that nodes write, with their calls of tools, and the result.
 */
#ifndef SERVING_ITEMS_H
#define SERVING_ITEMS_H

#include "serving.h"
#include <tenon/message.h>

/* What one activation receives from its model. */
struct items_stream {
    struct items_stream *next;
    tn_value key, waiting; /* deltas */
    uint64_t size;         /* of them */
    char *node;
    bool ended; /* the activation has ended */
    bool lost;  /* too much waited: the message is sent when it is complete */
};

struct serving_items {
    struct serving_items_options options;
    struct serving_graph graph;
    tn_value item, client_tools, asked;
    char *last_input;
    struct items_stream *streams, *current;
    tn_value path; /* of what is being sent; borrowed */
    uint64_t waiting_size, message, whole;
    struct tn_text_buffer text; /* of the message that is open */
    bool open, ended, missed;
    const char *finish;
    tn_value sent;            /* texts, as keys */
    tn_value seen;            /* ids of messages, as keys */
    tn_value nested;          /* activations whose nested graph has reported events, as keys */
    tn_value calls;           /* CALLs without a result: {id: call} */
    tn_value results;         /* ids of calls that have a result, as keys */
    tn_value held, held_path; /* calls of which it is not known who executes them, and the graph that they are in */
};

void items_emit(struct serving_items *items, struct serving_item item);
void items_note_sent(struct serving_items *items, tn_value text);
bool items_was_sent(const struct serving_items *items, tn_value text);
/* A message that was not streamed, unless its text was sent. */
void items_send_whole(struct serving_items *items, tn_value message, const char *node);

void items_note_path(struct serving_items *items, tn_value path);
void items_take_writes(struct serving_items *items, tn_value event);
/* Another activation of the graph at `path` starts: it executes the calls that were held. */
void items_calls_continue(struct serving_items *items, tn_value path);
void items_take_result(struct serving_items *items, tn_value report);

#endif
