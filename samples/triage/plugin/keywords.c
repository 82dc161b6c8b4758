/*
 * keywords.c - `text.keywords`: scores a text by its keywords, as {score, matched}.
 *
 * The score is the sum of the weights of the keywords that occur, each counted at most three times, and at most 100.
 * Case is ignored. A keyword in letters must be at the start of a word ("refund" matches "refunds", not
 * "unrefunded"); a keyword in a script without blanks may be anywhere.
 */
#include "text.h"
#include <tenon/easy.h>

#define COUNTED_MAX 3
#define SCORE_MAX   100

static bool at_word_start(const char *text, size_t at) {
    if (at == 0) return true;
    size_t start = at - 1, size;
    while (start > 0 && ((unsigned char)text[start] & 0xc0) == 0x80) start--;
    uint32_t before = utf8_at(text + start, at - start, &size);
    return !((before < 0x80 && (is_letter((char)before) || is_digit((char)before))) ||
             (before >= 0xc0 && before <= 0x24f));
}

static int64_t occurrences(const char *text, const char *keyword) {
    int64_t count = 0;
    size_t length = strlen(keyword), size;
    bool worded = utf8_at(keyword, length, &size) < 0x250;
    for (const char *at = text; (at = strstr(at, keyword)) != NULL; at += length)
        count += !worded || at_word_start(text, (size_t)(at - text));
    return count < COUNTED_MAX ? count : COUNTED_MAX;
}

TN_NODE(keywords, "text.keywords", "Scores a text by keywords.", TN_PURE, (READ, input_key, "the text's channel"),
        (VALUE, keywords, "the keywords, in lower case, and the weight of each: {refund: 20}"),
        (WRITE, output_key, "gets {score, matched}: 0 to 100, and how often each keyword was found")) {
    uint64_t length;
    tn_value text = tn_read_text(task, config->input_key);
    if (text == NULL) return TN_FAILED;
    const char *chars = tn_chars(text, &length);
    struct text lower = {0};
    text_add_lower(&lower, chars, length);
    tn_release(text);
    int64_t score = 0;
    tn_builder *result = tn_builder_new();
    tn.value->begin(result, TN_OBJECT);
    tn_put_begin(result, "matched", TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(config->keywords); i < count; i++) {
        tn_value keyword, weight;
        int64_t points = 0;
        if (tn.value->entry(config->keywords, i, &keyword, &weight) != TN_OK) break;
        (void)tn.value->as_int(weight, &points);
        const char *word = tn_chars(keyword, NULL);
        int64_t found = word[0] != '\0' ? occurrences(text_string(&lower), word) : 0;
        if (found > 0) tn_put_int(result, word, found);
        score += found * points;
    }
    tn.value->end(result);
    tn_put_int(result, "score", score < 0 ? 0 : score > SCORE_MAX ? SCORE_MAX : score);
    tn.value->end(result);
    text_free(&lower);
    return tn_done_written(task, tn_write_take(task, config->output_key, tn_finish(result)));
}
