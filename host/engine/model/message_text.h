/*
 * message_text.h - the text of a message's content (tenon/message.h).
 */
#ifndef TENON_HOST_ENGINE_MODEL_MESSAGE_TEXT_H
#define TENON_HOST_ENGINE_MODEL_MESSAGE_TEXT_H

#include "adl/value/value.h"

/* The content itself, or its text parts, joined; "" for any other value and for NULL. A new reference. Thread: any. */
tn_value message_text(tn_value content);

#endif
