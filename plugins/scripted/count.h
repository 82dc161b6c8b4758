/*
 * count.h - tokens and vectors without a model: functions of the text alone, the same on every machine.
 *
 * A text has one token for every four characters begun. A message has those of its texts, of the names and the
 * arguments (as JSON) of its tool calls, and TOKENS_OF_PART for every part that is no text; a tool those of its JSON.
 *
 * A vector counts the text's trigrams of characters, upper case in ASCII as lower case, each by its hash in one
 * dimension with a sign, and has length 1: texts that have much in common are near each other.
 */
#ifndef TENON_PLUGINS_SCRIPTED_COUNT_H
#define TENON_PLUGINS_SCRIPTED_COUNT_H

#include <tenon/message.h>

#define TOKENS_OF_PART    64 /* an image, a file, audio */
#define DIMENSIONS_MAX    4096
#define EMBED_TEXTS_MAX   2048
#define EMBED_NUMBERS_MAX 1048576 /* texts times dimensions */

int64_t count_text(tn_value text); /* 0 where it is none */
int64_t count_message(tn_value message);
int64_t count_tools(tn_value tools);

/* {input_tokens, output_tokens, total_tokens}, each as in `given` (may be NULL) where it is there. */
tn_value count_usage(int64_t input, int64_t output, tn_value given);

/* The vector of a text, as an array; NULL without memory. 1 <= dimensions <= DIMENSIONS_MAX. */
tn_value embed_text(tn_value text, uint64_t dimensions);

#endif
