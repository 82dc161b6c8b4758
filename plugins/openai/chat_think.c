/*
 * chat_think.c - turns <think>…</think> at the start of an answer into reasoning.
 *
 * Many open models write their thoughts so, and not every server moves them to a member of their own. Only the start of
 * an answer is searched, so that a text about such tags, or code with them, stays as it is. A tag can arrive in pieces:
 * what may be its start is kept until it is decided.
 */
#include "dialect.h"
#include "openai.h"

enum { THINK_START, THINK_INSIDE, THINK_AFTER, THINK_OFF };

static const char tag_open[] = "<think>", tag_close[] = "</think>";
#define OPEN_LENGTH  (sizeof tag_open - 1)
#define CLOSE_LENGTH (sizeof tag_close - 1)

static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static void think_add_n(struct model_call *call, bool reasoning, const char *chars, uint64_t length) {
    if (length == 0) return;
    tn_value text = tn_text_n(chars, length);
    if (reasoning)
        model_add_reasoning(call, text);
    else
        model_add_text(call, text);
    tn_release(text);
}

static void think_flush(struct model_call *call, struct chat_think *think, bool reasoning) {
    think_add_n(call, reasoning, think->pending, think->length);
    think->length = 0;
}

/* Returns the number of bytes that were used; the state may have changed. */
static uint64_t think_at_start(struct model_call *call, struct chat_think *think, const char *chars, uint64_t length) {
    for (uint64_t i = 0; i < length; i++) {
        uint64_t spaces = 0;
        if (think->length == sizeof think->pending) { /* only spaces so far */
            think_flush(call, think, false);
            think->state = THINK_OFF;
            return i;
        }
        think->pending[think->length++] = chars[i];
        while (spaces < think->length && is_space(think->pending[spaces])) spaces++;
        uint64_t tag = think->length - spaces;
        if (tag > 0 && strncmp(think->pending + spaces, tag_open, tag) != 0) {
            think->state = THINK_OFF;
            if (think->length != i + 1) { /* some of it came in an earlier piece */
                think_flush(call, think, false);
                return i + 1;
            }
            think->length = 0;
            think_add_n(call, false, chars, length);
            return length;
        }
        if (tag == OPEN_LENGTH) {
            think->length = 0;
            think->state = THINK_INSIDE;
            return i + 1;
        }
    }
    return length;
}

/* The same; `pending` is a part of the closing tag. */
static uint64_t think_inside(struct model_call *call, struct chat_think *think, const char *chars, uint64_t length) {
    uint64_t from = 0; /* chars[from, i) are reasoning that was not added yet */
    for (uint64_t i = 0; i < length; i++) {
        if (think->length > 0 && chars[i] != tag_close[think->length]) {
            think_flush(call, think, true);
            from = i;
        }
        if (chars[i] != tag_close[think->length]) continue;
        if (think->length == 0) think_add_n(call, true, chars + from, i - from);
        think->pending[think->length++] = chars[i];
        from = i + 1;
        if (think->length < CLOSE_LENGTH) continue;
        think->length = 0;
        think->state = THINK_AFTER;
        return i + 1;
    }
    if (think->length == 0) think_add_n(call, true, chars + from, length - from);
    return length;
}

void openai_think_add(struct model_call *call, tn_value text) {
    struct chat_think *think = &((struct openai_call *)call->provider_data)->think;
    const char *mode = openai_dialect(call)->think;
    uint64_t length = 0, at = 0;
    const char *chars = tn_chars(text, &length);
    if (chars == NULL || length == 0) return;
    if (mode == NULL || strcmp(mode, "never") == 0) think->state = THINK_OFF;
    if (think->state == THINK_START && strcmp(mode, "open") == 0) think->state = THINK_INSIDE;
    if (think->state == THINK_OFF) {
        model_add_text(call, text);
        return;
    }
    while (at < length && think->state == THINK_START) at += think_at_start(call, think, chars + at, length - at);
    while (at < length && think->state == THINK_INSIDE) at += think_inside(call, think, chars + at, length - at);
    while (at < length && think->state == THINK_AFTER) /* the lines between the thoughts and the answer */
        if (is_space(chars[at]))
            at++;
        else
            think->state = THINK_OFF;
    think_add_n(call, false, chars + at, length - at);
}

void openai_think_end(struct model_call *call) {
    struct chat_think *think = &((struct openai_call *)call->provider_data)->think;
    think_flush(call, think, think->state == THINK_INSIDE);
}
