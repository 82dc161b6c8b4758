/*
 * history.h - the messages of a thread as the client would have built them from the stream.
 */
#ifndef AI_SDK_HISTORY_H
#define AI_SDK_HISTORY_H

#include <serving.h>

/* The index of the message behind the last one of the user; 0 if there is none. */
uint64_t history_last_answer(tn_value messages);
/* The parts of the messages of one answer, from `from` up to the next message of the user. A new reference. */
tn_value history_parts(tn_value messages, uint64_t from);
/* The index behind the last `step-start` of a message of the client; 0 if it has none. */
uint64_t history_last_step(tn_value parts);
/*
 * The index behind the last part that the messages of the thread contain, or that is of an earlier step: what follows
 * was not finished.
 */
uint64_t history_committed(tn_value parts, tn_value messages);
/* [UIMessage]: all of them; those of the assistant between two of the user are one. A new reference. */
tn_value history_messages(tn_value messages);

#endif
