/*
 * structured.c - finds JSON in text. Each search is one pass. Invalid JSON is not repaired.
 *
 * If a candidate has balanced brackets but is not JSON, the search continues after its end. Candidates inside of it are
 * not tried, so the time is linear in the length of the text.
 */
#include "structured.h"

static bool structured_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Returns the number of bytes of the object or array at `text`, by its brackets. 0 if they are not balanced. */
static uint64_t structured_balanced_length(const char *text, uint64_t length) {
    uint64_t depth = 0;
    bool quoted = false;
    for (uint64_t i = 0; i < length; i++) {
        char c = text[i];
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

tn_value structured_parse_at(const char *text, uint64_t length, uint64_t *taken) {
    if (length == 0 || (*text != '{' && *text != '[')) return NULL;
    *taken = structured_balanced_length(text, length);
    return *taken > 0 ? tn_from_json(text, *taken) : NULL;
}

bool structured_next_fence(const char *text, uint64_t length, uint64_t *at, struct fence *out) {
    for (uint64_t i = *at; i + 3 <= length; i++) {
        if (memcmp(text + i, "```", 3) != 0) continue;
        uint64_t word = i + 3, line = word;
        while (line < length && text[line] != '\n' && text[line] != '`') line++;
        if (line >= length || text[line] != '\n') { /* a fence inside a line is inline code */
            i += 2;
            continue;
        }
        uint64_t end = line + 1;
        while (end + 3 <= length && memcmp(text + end, "```", 3) != 0) end++;
        bool closed = end + 3 <= length;
        if (!closed) end = length; /* the fence is not closed, for example because the model reached its token limit */
        uint64_t word_end = line;
        while (word_end > word && structured_is_space(text[word_end - 1])) word_end--;
        *out = (struct fence){text + word, word_end - word, text + line + 1, end - line - 1, i, closed ? end + 3 : end};
        *at = out->end_offset;
        return true;
    }
    return false;
}

tn_value structured_find(const char *text, uint64_t length) {
    while (length > 0 && structured_is_space(*text)) text++, length--;
    while (length > 0 && structured_is_space(text[length - 1])) length--;
    tn_value value = length > 0 ? tn_from_json(text, length) : NULL;
    struct fence fence;
    for (uint64_t at = 0; value == NULL && structured_next_fence(text, length, &at, &fence);)
        value = tn_from_json(fence.body, fence.body_length);
    for (uint64_t i = 0, taken = 0; value == NULL && i<length; i += taken> 0 ? taken : 1) {
        taken = 0;
        value = structured_parse_at(text + i, length - i, &taken);
        if (value == NULL && taken == 0 && (text[i] == '{' || text[i] == '['))
            break; /* not closed; a later bracket would be inside of it */
    }
    return value;
}
