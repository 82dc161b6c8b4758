/*
 * anthropic.h - what the files of this plugin share: how messages become blocks, and blocks become a message.
 *
 * The service's messages are lists of blocks, ours are content and tool calls. What has a place there goes there:
 * texts, thinking, tool calls. Any other block (of the service's own tools, of compaction, of what is yet to come) is
 * kept as it came, in `blocks` of the message's extra.anthropic: {parts: N, list: [{part: I} | {call: ID} | BLOCK …]},
 * the order of all. It is there only where it says more than "the content, then the calls", and is heeded when the
 * message is sent back only while the content still has N parts: a message that somebody has changed is what it is.
 *
 *     request.c    the request's options          blocks.c     messages to blocks
 *     answer.c     events and answers to ours     structure.c  JSON Schemas as the service takes them
 */
#ifndef TENON_PLUGINS_ANTHROPIC_H
#define TENON_PLUGINS_ANTHROPIC_H

#include "model.h"

#define ANTHROPIC_MAX_TOKENS  16384          /* of an answer, where nobody says; the service must be told */
#define ANTHROPIC_ANSWER_TOOL "tenon_answer" /* stands for the answer, with `structured_output: tool` */

/* Pieces of a text, joined when all of them have come. At most MODEL_TEXT_MAX bytes. */
struct pieces {
    const char *key; /* the block's member that they are of; NULL: there are none yet */
    tn_value list;   /* an array, or NULL */
    uint64_t length;
};

/* What has been read of one answer. */
struct reading {
    bool began, stopped;   /* message_start, message_stop */
    tn_value block;        /* the open one, as it began; NULL: none is open */
    int64_t index;         /* its number */
    bool shown;            /* it has a part of the content */
    struct pieces pieces;  /* of its input, as JSON, its signature, or a text of a kind that is not known */
    tn_value citations;    /* an array, or NULL */
    tn_value order;        /* `list` of extra.anthropic.blocks */
    uint64_t parts;        /* of the content */
    bool calls, strange;   /* there was a tool call; the order says more than ours */
    tn_value stop_reason;  /* NULL: not yet told */
    tn_value stop_details; /* why it declined */
    struct counts {
        int64_t input, output, read, written, thought, more_input, more_output;
    } counts; /* -1: not told; more: of compactions, which the service counts apart */
};

/* anthropic.c */
void anthropic_put(tn_builder *builder, const char *key, tn_value value); /* nothing where value is NULL or null */
bool anthropic_is(tn_value object, const char *type);                     /* its `type` is that */

/* request.c: the body of a request; a new reference. After a failure of the call it may be anything. */
tn_value anthropic_request(struct model_call *call);

/* blocks.c: `system` and `messages` into the body. */
void anthropic_put_messages(struct model_call *call, tn_builder *builder);

/* structure.c: the schema with what the service cannot do said in descriptions instead; a new reference. */
tn_value anthropic_structure(tn_value schema);

/* answer.c */
void anthropic_event(struct model_call *call, const char *name, tn_value json);
void anthropic_answer(struct model_call *call, tn_value json);
void anthropic_release(struct model_call *call);

#endif
