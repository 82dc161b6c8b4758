/*
 * placeholders.c - replaces {input}, {last}, {call} and {model} in the texts of a reply.
 *
 * Replies are often JSON, so braces need no escaping: only these four placeholders are replaced.
 */
#include "deltas.h"

struct replacement {
    const struct placeholders *placeholders;
    bool failed, too_long;
};

/* Reads the placeholder at `at`: its value and its length in the text. Returns false if `at` is not a placeholder. */
static bool placeholders_read_at(const struct placeholders *placeholders, const char *at, const char *end,
                                 tn_value *value, uint64_t *length) {
    const struct {
        const char *name;
        tn_value value;
    } known[] = {{"{input}", placeholders->input},
                 {"{last}", placeholders->last},
                 {"{call}", placeholders->call},
                 {"{model}", placeholders->model}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        *length = strlen(known[i].name);
        if ((uint64_t)(end - at) < *length || memcmp(at, known[i].name, *length) != 0) continue;
        *value = known[i].value;
        return true;
    }
    return false;
}

/* Copies the text with replaced placeholders to `out`, which may be NULL. Returns the length of the result. */
static uint64_t placeholders_copy_text(const struct placeholders *placeholders, const char *text, uint64_t length,
                                       char *out) {
    uint64_t size = 0, name_length, piece;
    tn_value value;
    for (const char *at = text, *end = text + length; at < end;) {
        const char *from = at;
        if (*at == '{' && placeholders_read_at(placeholders, at, end, &value, &name_length)) {
            at += name_length;
            piece = 0;
            from = tn_chars(value, &piece);
        } else {
            const char *next = memchr(at + 1, '{', (size_t)(end - at - 1));
            at = next != NULL ? next : end;
            piece = (uint64_t)(at - from);
        }
        if (out != NULL && piece > 0) memcpy(out + size, from, piece);
        size += piece;
    }
    return size;
}

static tn_value placeholders_replace_text(struct replacement *replacement, tn_value value) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    if (memchr(text, '{', length) == NULL) return tn_retain(value);
    uint64_t size = placeholders_copy_text(replacement->placeholders, text, length, NULL);
    replacement->too_long = replacement->too_long || size > PLACEHOLDERS_TEXT_MAX;
    char *out = replacement->too_long ? NULL : tn.core->alloc(tn.host, size + 1);
    if (out == NULL) {
        replacement->failed = true;
        return NULL;
    }
    (void)placeholders_copy_text(replacement->placeholders, text, length, out);
    tn_value text_value = tn_text_n(out, size);
    tn.core->release(tn.host, out);
    return text_value;
}

static void placeholders_replace_value(struct replacement *replacement, tn_builder *builder, tn_value value,
                                       int depth) {
    int32_t kind = tn.value->kind(value);
    if (kind == TN_STRING) {
        tn_put_take(builder, NULL, placeholders_replace_text(replacement, value));
    } else if ((kind != TN_OBJECT && kind != TN_ARRAY) || depth == PLACEHOLDERS_DEPTH_MAX) {
        tn.value->add(builder, value);
    } else {
        tn.value->begin(builder, kind);
        for (uint64_t i = 0, count = tn.value->count(value); i < count && !replacement->failed; i++) {
            tn_value name = NULL, item = tn.value->at(value, i);
            if (kind == TN_OBJECT && tn.value->entry(value, i, &name, &item) != TN_OK) break;
            if (name != NULL) {
                uint64_t length = 0;
                const char *key = tn_chars(name, &length);
                tn.value->key(builder, key, length);
            }
            placeholders_replace_value(replacement, builder, item, depth + 1);
        }
        tn.value->end(builder);
    }
}

tn_value placeholders_replace(const struct placeholders *placeholders, tn_value value, bool *too_long) {
    struct replacement replacement = {.placeholders = placeholders};
    tn_builder *builder = tn_builder_new();
    placeholders_replace_value(&replacement, builder, value, 0);
    tn_value result = tn_finish(builder);
    *too_long = replacement.too_long;
    if (!replacement.failed) return result;
    tn_release(result);
    return NULL;
}
