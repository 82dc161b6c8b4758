/*
 * count.h - estimates token counts and computes embeddings without a model. The results depend only on the text.
 *
 * A text has one token for every four characters (rounded up). A message has the tokens of its texts, and of the names
 * and the arguments (as JSON) of its tool calls, and TOKENS_PER_PART for every part that is not text. A tool has the
 * tokens of its JSON.
 *
 * An embedding is a vector that counts the trigrams of characters of the text, ignoring ASCII case. The hash of a
 * trigram selects its dimension and sign. The vector has length 1. Texts that share many trigrams have similar vectors.
 */
#ifndef TENON_PLUGINS_SCRIPTED_COUNT_H
#define TENON_PLUGINS_SCRIPTED_COUNT_H

#include <tenon/message.h>

#define TOKENS_PER_PART   64 /* an image, a file, audio */
#define DIMENSIONS_MAX    4096
#define EMBED_TEXTS_MAX   2048
#define EMBED_NUMBERS_MAX 1048576 /* texts times dimensions */

int64_t count_text_tokens(tn_value text); /* 0 if the value is not a text */
int64_t count_message_tokens(tn_value message);
int64_t count_tools_tokens(tn_value tools);

/* Returns {input_tokens, output_tokens, total_tokens}. Members of `given` (may be NULL) take precedence. */
tn_value usage_build(int64_t input, int64_t output, tn_value given);

/* Returns the vector of a text as an array. NULL if allocation fails. 1 <= dimensions <= DIMENSIONS_MAX. */
tn_value embedding_from_text(tn_value text, uint64_t dimensions);

#endif
