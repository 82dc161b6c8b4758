/*
 * count.c - estimates tokens and computes vectors of texts.
 */
#include "count.h"
#include <math.h>

/* ---- Tokens ---- */

int64_t count_text_tokens(tn_value text) {
    uint64_t length = 0, characters = 0;
    const char *bytes = tn_chars(text, &length);
    for (uint64_t i = 0; i < length; i++) characters += ((unsigned char)bytes[i] & 0xc0) != 0x80;
    return (int64_t)((characters + 3) / 4);
}

static int64_t count_json_tokens(tn_value value) {
    tn_value json = tn.value->kind(value) == TN_STRING ? tn_retain(value) : tn_to_json(value);
    int64_t tokens = count_text_tokens(json);
    tn_release(json);
    return tokens;
}

int64_t count_message_tokens(tn_value message) {
    tn_value content = tn_get(message, "content"), calls = tn_message_calls(message);
    int64_t tokens = count_text_tokens(content);
    for (uint64_t i = 0, count = tn.value->count(content); i < count; i++) {
        tn_value part = tn.value->at(content, i), text = tn_get(part, "text");
        tokens += tn.value->kind(text) == TN_STRING ? count_text_tokens(text) : TOKENS_PER_PART;
    }
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) {
        tn_value call = tn.value->at(calls, i);
        tokens += count_text_tokens(tn_get(call, "name")) + count_json_tokens(tn_get(call, "arguments"));
    }
    return tokens;
}

int64_t count_tools_tokens(tn_value tools) {
    int64_t tokens = 0;
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++)
        tokens += count_json_tokens(tn.value->at(tools, i));
    return tokens;
}

tn_value usage_build(int64_t input, int64_t output, tn_value given) {
    static const char *const members[] = {"input_tokens", "output_tokens", "total_tokens"};
    tn_builder *builder = tn_builder_new();
    input = tn_get_int(given, members[0], input);
    output = tn_get_int(given, members[1], output);
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, members[0], input);
    tn_put_int(builder, members[1], output);
    tn_put_int(builder, members[2], tn_get_int(given, members[2], (int64_t)((uint64_t)input + (uint64_t)output)));
    for (uint64_t i = 0, count = tn.value->count(given); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(given, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, NULL);
        if (strcmp(name, members[0]) == 0 || strcmp(name, members[1]) == 0 || strcmp(name, members[2]) == 0) continue;
        tn_put(builder, name, value);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}

/* ---- Vectors ---- */

#define BLANK ' '

/* Returns the code point at *at and advances *at to the next one. The text is UTF-8. */
static uint32_t embedding_next_character(const char *text, uint64_t length, uint64_t *at) {
    uint32_t first = (unsigned char)text[(*at)++], code = first;
    if (first >= 0xc0) code = first & (first >= 0xf0 ? 0x07u : first >= 0xe0 ? 0x0fu : 0x1fu);
    while (*at < length && ((unsigned char)text[*at] & 0xc0) == 0x80)
        code = code << 6 | ((unsigned char)text[(*at)++] & 0x3fu);
    if (code >= 'A' && code <= 'Z') code += 'a' - 'A';
    return code == '\t' || code == '\n' || code == '\r' ? BLANK : code;
}

/* FNV-1a over the trigram, then mixed so that all bits are equally distributed. */
static uint64_t embedding_hash_trigram(const uint32_t trigram[3]) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < 3; i++)
        for (int shift = 0; shift < 24; shift += 8) hash = (hash ^ (trigram[i] >> shift & 0xffu)) * 0x100000001b3u;
    hash = (hash ^ hash >> 31) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static void embedding_count_trigrams(tn_value text, double *sums, uint64_t dimensions) {
    uint64_t length = 0, at = 0;
    const char *bytes = tn_chars(text, &length);
    uint32_t trigram[3] = {BLANK, BLANK, BLANK};
    for (int blanks_after = 0; blanks_after < 2;) { /* two blanks before the text, two after it */
        trigram[0] = trigram[1];
        trigram[1] = trigram[2];
        if (at < length)
            trigram[2] = embedding_next_character(bytes, length, &at);
        else
            trigram[2] = BLANK, blanks_after++;
        uint64_t hash = embedding_hash_trigram(trigram);
        sums[(hash >> 1) % dimensions] += hash & 1 ? 1.0 : -1.0;
    }
}

tn_value embedding_from_text(tn_value text, uint64_t dimensions) {
    double *sums = dimensions > 0 ? tn.core->alloc(tn.host, dimensions * sizeof *sums) : NULL, squares = 0;
    if (sums == NULL) return NULL;
    for (uint64_t i = 0; i < dimensions; i++) sums[i] = 0;
    embedding_count_trigrams(text, sums, dimensions);
    for (uint64_t i = 0; i < dimensions; i++) squares += sums[i] * sums[i];
    if (squares == 0) sums[0] = squares = 1; /* all terms cancelled out */
    tn_builder *vector = tn_builder_new();
    tn.value->begin(vector, TN_ARRAY);
    for (uint64_t i = 0; i < dimensions; i++) tn_put_num(vector, NULL, sums[i] / sqrt(squares));
    tn.value->end(vector);
    tn.core->release(tn.host, sums);
    return tn_finish(vector);
}
