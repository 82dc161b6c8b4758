/*
 * text.h - a text that grows, for tools that make one.
 *
 * Past its limit, or without memory, nothing more is added, and that is remembered.
 *
 *     struct text out = {.limit = 20000};
 *     text_add(&out, "- ", 2);
 *     tn_value made = text_finish(&out);      // NULL where there was no memory
 */
#ifndef TENON_PLUGINS_STATE_TEXT_H
#define TENON_PLUGINS_STATE_TEXT_H

#include <stdbool.h>
#include <tenon/easy.h>

struct text {
    char *data;
    uint64_t length, capacity, limit; /* limit 0: none */
    bool full, failed;
};

void text_add(struct text *text, const char *bytes, uint64_t length);
void text_put(struct text *text, const char *chars);
tn_value text_finish(struct text *text); /* a string; gives the memory back */
void text_free(struct text *text);

#endif
