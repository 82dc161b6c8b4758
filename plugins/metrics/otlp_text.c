/*
 * otlp_text.c - texts of OTLP's JSON.
 */
#include "otlp.h"
#include <string.h>

void otlp_write_text(struct tn_text_buffer *out, const char *text) {
    size_t length = strlen(text);
    if (length > OTLP_TEXT_MAX) {
        length = OTLP_TEXT_MAX;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
    }
    tn_value value = tn_text_lossy(text, length), json = value != NULL ? tn_to_json(value) : NULL;
    (void)tn_text_append_value(out, json);
    tn_release(value);
    tn_release(json);
}
