/*
 * structured.c - JSON found in text, in one pass for each way of looking; nothing is repaired, only found.
 *
 * A candidate that is balanced and yet no JSON is passed over whole, so that a text of braces costs no more than its
 * length: what begins inside of it is not tried.
 */
#include "structured.h"

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static tn_value read_json(const char *text, uint64_t length) {
    tn_value value = NULL;
    return tn.value->from_json(text, length, &value) == TN_OK ? value : NULL;
}

/* How many bytes the object or array at `text` takes, by its brackets; 0 where they do not close. */
static uint64_t balanced(const char *text, uint64_t length) {
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

tn_value structured_at(const char *text, uint64_t length, uint64_t *taken) {
    if (length == 0 || (*text != '{' && *text != '[')) return NULL;
    *taken = balanced(text, length);
    return *taken > 0 ? read_json(text, *taken) : NULL;
}

bool structured_fence(const char *text, uint64_t length, uint64_t *at, struct fence *out) {
    for (uint64_t i = *at; i + 3 <= length; i++) {
        if (memcmp(text + i, "```", 3) != 0) continue;
        uint64_t word = i + 3, line = word;
        while (line < length && text[line] != '\n' && text[line] != '`') line++;
        if (line >= length || text[line] != '\n') { /* a fence within a line is code in prose */
            i += 2;
            continue;
        }
        uint64_t end = line + 1;
        while (end + 3 <= length && memcmp(text + end, "```", 3) != 0) end++;
        bool closed = end + 3 <= length;
        if (!closed) end = length; /* the model ran out of tokens, or of patience */
        uint64_t word_end = line;
        while (word_end > word && is_space(text[word_end - 1])) word_end--;
        *out = (struct fence){text + word, word_end - word, text + line + 1, end - line - 1, i, closed ? end + 3 : end};
        *at = out->ends;
        return true;
    }
    return false;
}

tn_value structured_find(const char *text, uint64_t length) {
    while (length > 0 && is_space(*text)) text++, length--;
    while (length > 0 && is_space(text[length - 1])) length--;
    tn_value value = length > 0 ? read_json(text, length) : NULL;
    struct fence fence;
    for (uint64_t at = 0; value == NULL && structured_fence(text, length, &at, &fence);)
        value = read_json(fence.body, fence.body_length);
    for (uint64_t i = 0, taken = 0; value == NULL && i<length; i += taken> 0 ? taken : 1) {
        taken = 0;
        value = structured_at(text + i, length - i, &taken);
        if (value == NULL && taken == 0 && (text[i] == '{' || text[i] == '['))
            break; /* open to the end, as all after */
    }
    return value;
}
