/*
 * holes.c - {input}, {last}, {call} and {model} in the texts of a reply.
 *
 * Replies are often JSON, so that braces need no escaping: what is not one of these four, to the letter, stays.
 */
#include "speech.h"

struct filling {
    const struct holes *holes;
    bool failed, too_long;
};

/* What the hole at `at` stands for, and its length there; false where it is none. */
static bool hole_at(const struct holes *holes, const char *at, const char *end, tn_value *value, uint64_t *length) {
    const struct {
        const char *name;
        tn_value value;
    } known[] = {
        {"{input}", holes->input}, {"{last}", holes->last}, {"{call}", holes->call}, {"{model}", holes->model}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        *length = strlen(known[i].name);
        if ((uint64_t)(end - at) < *length || memcmp(at, known[i].name, *length) != 0) continue;
        *value = known[i].value;
        return true;
    }
    return false;
}

/* Copies the text with its holes filled to `out`, or only measures it where that is NULL. */
static uint64_t fill_text(const struct holes *holes, const char *text, uint64_t length, char *out) {
    uint64_t size = 0, hole, piece;
    tn_value value;
    for (const char *at = text, *end = text + length; at < end;) {
        const char *from = at;
        if (*at == '{' && hole_at(holes, at, end, &value, &hole)) {
            at += hole;
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

static tn_value filled_text(struct filling *filling, tn_value value) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    if (memchr(text, '{', length) == NULL) return tn_retain(value);
    uint64_t size = fill_text(filling->holes, text, length, NULL);
    filling->too_long = filling->too_long || size > HOLES_TEXT_MAX;
    char *out = filling->too_long ? NULL : tn.core->alloc(tn.host, size + 1);
    if (out == NULL) {
        filling->failed = true;
        return NULL;
    }
    (void)fill_text(filling->holes, text, length, out);
    tn_value made = tn_text_n(out, size);
    tn.core->release(tn.host, out);
    return made;
}

static void fill_into(struct filling *filling, tn_builder *builder, const char *key, tn_value value, int depth) {
    int32_t kind = tn.value->kind(value);
    if (kind == TN_STRING) {
        tn_put_take(builder, key, filled_text(filling, value));
    } else if ((kind != TN_OBJECT && kind != TN_ARRAY) || depth == HOLES_DEPTH_MAX) {
        tn_put(builder, key, value);
    } else {
        tn_put_begin(builder, key, kind);
        for (uint64_t i = 0, count = tn.value->count(value); i < count && !filling->failed; i++) {
            tn_value name = NULL, item = tn.value->at(value, i);
            if (kind == TN_OBJECT && tn.value->entry(value, i, &name, &item) != TN_OK) break;
            fill_into(filling, builder, tn_chars(name, NULL), item, depth + 1);
        }
        tn.value->end(builder);
    }
}

tn_value holes_fill(const struct holes *holes, tn_value value, bool *too_long) {
    struct filling filling = {.holes = holes};
    tn_builder *builder = tn.value->builder();
    fill_into(&filling, builder, NULL, value, 0);
    tn_value made = tn.value->finish(builder);
    *too_long = filling.too_long;
    if (!filling.failed) return made;
    tn_release(made);
    return NULL;
}
