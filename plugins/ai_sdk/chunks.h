/*
 * chunks.h - the events of a run as chunks of the UI message stream (AI SDK).
 *
 * It is a machine without input and output: events go in, chunks come out in an order that the clients accept. One of
 * it makes one leg of an answer: everything between a POST and the end of its run. An answer that waits for an approval
 * is continued by another leg, with the same message id.
 *
 *     start
 *       start-step
 *         text-*, reasoning-*, file, source-*     of models; parallel models have parts of their own
 *         tool-input-*  …  tool-output-*          a call and its result
 *       finish-step                               what follows a result begins another step
 *       data-NAME                                 anywhere: events that nodes emit
 *       tool-approval-request, data-interrupt     what the run waits for
 *     error                                       only if the run has failed
 *     finish, or abort if it was cancelled
 *
 * Only chunk types of version 6 are used, because a client of version 6 rejects a stream with an unknown one; version 7
 * accepts them. With `resets`, `reset-step` of version 7 takes back what comes again: a model that is asked again, or
 * events that are lost. [loop]
 */
#ifndef AI_SDK_CHUNKS_H
#define AI_SDK_CHUNKS_H

#include <serving.h>

#define CHUNKS_STREAMS_MAX   256        /* models that stream at the same time; the answers of others come whole */
#define CHUNKS_CALLS_MAX     4096       /* calls of one answer; further ones are not shown */
#define CHUNKS_SENT_MAX      256        /* texts that are known as sent; older ones could be repeated at the end */
#define CHUNKS_ARGUMENTS_MAX (1u << 20) /* bytes of the arguments of one call that are streamed */
#define CHUNKS_STEP_MAX      (1u << 20) /* bytes of a step that can be taken back */
#define CHUNKS_OUTPUT_MAX    (1u << 20) /* bytes of the output of a tool; the rest is left out */

/* `chunk` is borrowed. */
typedef void chunks_handler(void *user, tn_value chunk);

struct chunks_options {
    const struct serving_graph *graph; /* copied; its item is retained */
    const char *message_id;            /* of the answer */
    tn_value known;                    /* the messages of the thread before the run, with its input; or NULL */
    tn_value parts;                    /* of the answer that is continued, as the client has sent them; or NULL */
    tn_value used;                     /* object as a set: ids of calls in the whole chat; or NULL */
    bool resets;                       /* the client is of version 7 */
    chunks_handler *handler;
    void *user;
};

struct chunks;

/* NULL if memory runs out. */
struct chunks *chunks_new(const struct chunks_options *options);
void chunks_free(struct chunks *chunks); /* NULL is allowed */
/* `metadata` of the message, or NULL. Once, first. */
void chunks_start(struct chunks *chunks, tn_value metadata);
/* The leg continues an answer: what the approvals of `parts` were for, and no tool reports itself, is ended. */
void chunks_continue(struct chunks *chunks, tn_value parts);
/* An event as `tenon schema event` describes it. */
void chunks_event(struct chunks *chunks, tn_value event);
/* Events are lost. What models stream from here on comes whole, at the end. */
void chunks_missed(struct chunks *chunks);
/* The report of the run. Once, last. */
void chunks_end(struct chunks *chunks, tn_value report);

/* ---- Parts that the client has ---- */

/* The name of the tool of a part, "tool-NAME" or "dynamic-tool"; NULL: it is not a call. Borrowed. */
const char *part_tool_name(tn_value part);
/* Sends the chunks from which a client builds these parts. For a client that reads the answer from its start. */
void parts_replay(tn_value parts, chunks_handler *handler, void *user);

/* ---- Interrupts ---- */

/* The document stops before or after a node, and asks nothing. */
bool interrupt_is_pause(tn_value interrupt);
/*
 * {kind: "client_tool", tool, arguments}, which is the payload or its `detail` (the node `ask`): the client executes
 * the tool, and its output is the answer. NULL: the interrupt is another question. Borrowed.
 */
tn_value interrupt_client_tool(tn_value interrupt);
/* The id of a call that exists only for this interrupt: "PREFIX-ID". */
#define CALL_OF_APPROVAL "approval-"
#define CALL_OF_TOOL     "ask-"

#endif
