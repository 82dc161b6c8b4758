/*
 * conversation.h - lists of messages (tenon/message.h) as nodes find them in channels, and what can be asked of them.
 *
 * A conversation is an array of messages in the normal form: what is given in another accepted form (a text, one
 * message, `role` for `type`, …) becomes that when it is read, and what is no message is refused with its place.
 *
 *     tn_value messages = conversation_read(task, channel, "messages");
 *     if (messages == NULL) return TN_FAILED;                // the task has been failed
 *     int64_t last = conversation_last_ai(messages);
 */
#ifndef TENON_PLUGINS_AGENTS_CONVERSATION_H
#define TENON_PLUGINS_AGENTS_CONVERSATION_H

#include "agents.h"

/* The messages that a channel holds, which may be none. A new reference; NULL: the task has been failed. */
tn_value conversation_read(tn_task task, uint32_t channel, const char *name);
/* The same of a value: null is none, a text a user's message. */
tn_value conversation_of(tn_task task, tn_value value, const char *name);
/* One after the other; takes `first`. NULL without memory. */
tn_value conversation_join_take(tn_value first, tn_value second);
/* Its messages from `first` on; a new reference. */
tn_value conversation_from(tn_value messages, uint64_t first);

/* The last of a type, or -1. */
int64_t conversation_last(tn_value messages, const char *type);
/* ai messages with tool calls since the last user's message. */
uint64_t conversation_turns(tn_value messages);
/* Whether message `from` or a later one is the answer to that call. */
bool conversation_answered(tn_value messages, uint64_t from, const char *tool_call_id);

#endif
