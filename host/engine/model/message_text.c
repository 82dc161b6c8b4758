/* message_text.c - the text of a message's content. */
#include "host/engine/model/message_text.h"
#include "adl/value/buffer.h"

tn_value message_text(tn_value content) {
    struct buffer text;
    if (content && value_is(content, TN_STRING)) return value_ref(content);
    buffer_init(&text, SIZE_MAX);
    for (size_t i = 0; content && value_is(content, TN_ARRAY) && i < value_count(content); i++) {
        tn_value part = value_at(content, i), words = value_get(part, "text");
        if (value_text_is(value_get(part, "type"), "text") && value_is(words, TN_STRING))
            buffer_text(&text, value_chars(words, NULL));
    }
    tn_value joined = value_string_lossy(buffer_cstr(&text), text.length);
    buffer_finish(&text);
    return joined;
}
