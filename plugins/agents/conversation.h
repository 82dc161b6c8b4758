/*
 * conversation.h - reads lists of messages (tenon/message.h) from channels, and searches them.
 *
 * A conversation is an array of messages in the normal form. Other accepted forms (a text, one message, `role` for
 * `type`, …) are normalised when they are read. Any other value fails the task, with an error that names its position.
 *
 *     tn_value messages = conversation_read(task, channel, "messages");
 *     if (messages == NULL) return TN_FAILED;                // the task has failed
 *     int64_t last = conversation_find_last(messages, "ai");
 */
#ifndef TENON_PLUGINS_AGENTS_CONVERSATION_H
#define TENON_PLUGINS_AGENTS_CONVERSATION_H

#include "agents.h"

/* Returns the messages of a channel; may be an empty list. A new reference. NULL if the task has failed. `name` is the
 * channel's name, for the error. */
tn_value conversation_read(tn_task task, uint32_t channel, const char *name);
/* Returns the messages of a value: null is an empty list, a text is a user's message. A new reference. NULL if the task
 * has failed. */
tn_value conversation_normalise(tn_task task, tn_value value, const char *name);
/* Returns both lists, concatenated. Takes `first`. NULL if allocation fails. */
tn_value conversation_join_take(tn_value first, tn_value second);
/* Returns the messages from index `first` to the end. A new reference. */
tn_value conversation_slice(tn_value messages, uint64_t first);

/*
 * Returns the conversation in the form that providers accept: the results of tool calls directly follow the message
 * with the calls, one for each. A later result is moved there. A call without a result receives one that says so. A
 * result without a call, for example of a client that keeps only texts, becomes a user's message. A new reference, to
 * the same value if it has this form already. NULL if allocation fails.
 */
tn_value conversation_pair_results(tn_value messages);

/* Returns the index of the last message of this type, or -1. */
int64_t conversation_find_last(tn_value messages, const char *type);
/* Returns the number of ai messages with tool calls after the last user's message. */
uint64_t conversation_count_turns(tn_value messages);
/* True if a tool message at index `from` or later answers this call. */
bool conversation_has_answer(tn_value messages, uint64_t from, const char *tool_call_id);

#endif
