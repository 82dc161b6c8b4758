/*
 * cursor_flow.c - JSON, and brackets in YAML: tokens up to the cursor with a stack of open brackets.
 */
#include "adl/assist/cursor_internal.h"
#include <string.h>

enum flow_kind { FLOW_END, FLOW_OPEN, FLOW_CLOSE, FLOW_COMMA, FLOW_COLON, FLOW_TEXT, FLOW_COMMENT, FLOW_ANCHOR };

struct flow_token {
    enum flow_kind kind;
    struct span span, inner;
};

struct flow_reader {
    const char *text;
    uint32_t at, end;
    bool json, after_quote; /* after_quote: the last token is in quotes, so that a colon needs no space behind it */
};

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool flow_colon(const struct flow_reader *reader, uint32_t at) {
    if (reader->text[at] != ':') return false;
    if (reader->json || at + 1 >= reader->end) return true;
    char next = reader->text[at + 1];
    return is_blank(next) || strchr(",[]{}", next);
}

/* The end of a string of JSON: its closing quote, or the end of its line. */
static uint32_t flow_json_end(const char *text, uint32_t from, uint32_t end) {
    uint32_t at = from + 1;
    while (at < end && text[at] != '"' && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
    return at < end ? at : end;
}

/* A string that is not closed ends with its line; in JSON, a string has only one line. */
static struct flow_token flow_quoted(struct flow_reader *reader) {
    uint32_t from = reader->at, end = reader->end;
    const char *text = reader->text;
    if (end - from > CURSOR_SCALAR_MAX) end = from + CURSOR_SCALAR_MAX;
    uint32_t close = reader->json ? flow_json_end(text, from, end) : quote_end(text, from, end);
    bool closed = close < end && text[close] == text[from];
    const char *newline = closed || reader->json ? NULL : memchr(text + from, '\n', close - from);
    if (newline) close = (uint32_t)(newline - text);
    reader->at = closed ? close + 1 : close;
    reader->after_quote = true;
    return (struct flow_token){FLOW_TEXT, {from, reader->at}, {from + 1, close}};
}

static bool flow_ends_plain(const struct flow_reader *reader, uint32_t at) {
    switch (reader->text[at]) {
    case ',':
    case '[':
    case ']':
    case '{':
    case '}':
    case '\n':
    case '\r':
    case '\0': return true;
    case ':': return flow_colon(reader, at);
    case '#': return is_blank(reader->text[at - 1]);
    default: return false;
    }
}

static struct flow_token flow_plain(struct flow_reader *reader) {
    uint32_t from = reader->at, at = from;
    while (at < reader->end && !flow_ends_plain(reader, at)) at++;
    if (at == from) at++; /* a NUL character */
    reader->at = at;
    while (at > from && is_blank(reader->text[at - 1])) at--;
    return (struct flow_token){FLOW_TEXT, {from, at}, {from, at}};
}

static struct flow_token flow_next(struct flow_reader *reader) {
    const char *text = reader->text;
    while (reader->at < reader->end && is_blank(text[reader->at])) reader->at++;
    uint32_t at = reader->at;
    if (at >= reader->end) return (struct flow_token){.span = {at, at}};
    char c = text[at];
    bool quoted = reader->after_quote;
    reader->after_quote = false;
    enum flow_kind kind = c == '{' || c == '['                             ? FLOW_OPEN
                          : c == '}' || c == ']'                           ? FLOW_CLOSE
                          : c == ','                                       ? FLOW_COMMA
                          : c == ':' && (quoted || flow_colon(reader, at)) ? FLOW_COLON
                                                                           : FLOW_TEXT;
    if (c == '#' && !reader->json && (at == 0 || is_blank(text[at - 1]))) {
        while (reader->at < reader->end && text[reader->at] != '\n') reader->at++;
        return (struct flow_token){FLOW_COMMENT, {at, reader->at}, {at, reader->at}};
    }
    if (c == '&' && !reader->json) {
        reader->at = anchor_end(text, at, reader->end);
        return (struct flow_token){FLOW_ANCHOR, {at, reader->at}, {at, reader->at}};
    }
    if (kind == FLOW_TEXT) return c == '"' || (c == '\'' && !reader->json) ? flow_quoted(reader) : flow_plain(reader);
    reader->at++;
    return (struct flow_token){kind, {at, at + 1}, {at, at + 1}};
}

/* ---- The place of a cursor ---- */

struct flow_frame {
    bool map, has_key, after_colon, done;
    uint32_t open, index;
    uint32_t entry; /* the start of the entry that contains the cursor */
    struct span key, key_inner;
};

struct flow_stack {
    struct flow_frame frames[CURSOR_DEPTH_MAX];
    uint32_t depth, beyond; /* beyond: brackets that are deeper than the stack */
};

static void flow_push(struct flow_stack *stack, bool map, uint32_t open) {
    if (stack->depth == CURSOR_DEPTH_MAX)
        stack->beyond++;
    else
        stack->frames[stack->depth++] = (struct flow_frame){.map = map, .open = open, .entry = open};
}

static void flow_pop(struct flow_stack *stack) {
    if (stack->beyond > 0)
        stack->beyond--;
    else if (stack->depth > 0)
        stack->depth--;
    if (stack->depth > 0) stack->frames[stack->depth - 1].done = true;
}

static void flow_take(struct flow_stack *stack, const struct flow_token *token) {
    struct flow_frame *top = &stack->frames[stack->depth - 1];
    if (stack->beyond) return;
    if (token->kind == FLOW_COMMA) {
        *top = (struct flow_frame){.map = top->map, .open = top->open, .index = top->index + 1};
    } else if (token->kind == FLOW_COLON) {
        top->after_colon = true;
    } else if (top->map && !top->after_colon) {
        top->has_key = true;
        top->key = token->span;
        top->key_inner = token->inner;
    } else {
        top->done = true;
    }
}

/* Appends the steps of all frames; the last one of a mapping is `key`. */
static bool flow_steps(struct cursor *cursor, const struct flow_stack *stack, const struct flow_token *key) {
    const char *text = source_text(cursor->source);
    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct flow_frame *frame = &stack->frames[i];
        bool last = i + 1 == stack->depth;
        struct span inner = last && key ? key->inner : frame->key_inner;
        struct cursor_step step = {.index = frame->index, .flow = true, .open = frame->open};
        if (frame->map) {
            step.key = text + inner.start;
            step.length = inner.end - inner.start;
            step.span = last && key ? key->span : frame->key;
        }
        if (!cursor_push(cursor, step)) return false;
    }
    return true;
}

static enum cursor_quote quote_of(const char *text, const struct flow_token *token) {
    if (token->span.start == token->inner.start) return CURSOR_PLAIN;
    return text[token->span.start] == '"' ? CURSOR_DOUBLE : CURSOR_SINGLE;
}

/* The cursor is in `token`, or where a token may be: then it is empty. */
static void flow_set(struct cursor *cursor, const struct flow_stack *stack, const struct flow_token *token,
                     struct flow_reader ahead) {
    const struct flow_frame *top = &stack->frames[stack->depth - 1];
    bool empty = token->span.start == token->span.end;
    bool key = top->map && !top->after_colon;
    cursor->flow = true;
    if (stack->beyond || (empty && (top->done || (key && top->has_key)))) return;
    cursor->quote = empty ? CURSOR_PLAIN : quote_of(source_text(cursor->source), token);
    cursor->span = token->span;
    cursor->inner = token->inner;
    cursor->colon = key && flow_next(&ahead).kind == FLOW_COLON;
    if (!flow_steps(cursor, stack, key ? token : NULL)) return;
    cursor->kind = key ? CURSOR_KEY : CURSOR_VALUE;
    bool alias = !key && !empty && !cursor->json && source_text(cursor->source)[token->span.start] == '*';
    if (alias && !cursor_set_alias(cursor, token->span.start, token->span.end)) cursor->kind = CURSOR_NOTHING;
}

/* True if a quote at `at` starts a string: elsewhere it is a part of a plain scalar. */
static bool starts_string(const struct flow_reader *reader, uint32_t at) {
    char before = at > 0 ? reader->text[at - 1] : ' ';
    return reader->json || is_blank(before) || strchr(",[]{}:", before);
}

/*
 * Finds the brackets that are open at `offset`, and the entry of each that contains it. Only brackets, commas, strings
 * and comments matter for this, so a large text is passed quickly. Returns false if all brackets close before it.
 */
static bool flow_open(struct flow_reader *reader, uint32_t offset, struct flow_stack *stack) {
    const char *text = reader->text;
    for (uint32_t at = reader->at; at < offset && at < reader->end; at++) {
        switch (text[at]) {
        case '\'':
        case '"':
            if ((text[at] == '\'' && reader->json) || !starts_string(reader, at)) break;
            reader->at = at;
            flow_quoted(reader);
            at = reader->at > at ? reader->at - 1 : at;
            break;
        case '#':
            if (reader->json || (at > 0 && !is_blank(text[at - 1]))) break;
            while (at + 1 < offset && text[at + 1] != '\n') at++;
            break;
        case '{':
        case '[': flow_push(stack, text[at] == '{', at + 1); break;
        case '}':
        case ']':
            flow_pop(stack);
            if (stack->depth == 0) return false;
            break;
        case ',':
            if (stack->beyond > 0 || stack->depth == 0) break;
            stack->frames[stack->depth - 1].index++;
            stack->frames[stack->depth - 1].entry = at + 1;
            break;
        default: break;
        }
    }
    return stack->depth > 0;
}

/* Reads the key of the entry of a frame, up to the next bracket. */
static void flow_read_entry(const struct flow_reader *reader, struct flow_stack *stack, uint32_t depth) {
    struct flow_reader entry = *reader;
    entry.at = stack->frames[depth].entry;
    entry.end = stack->frames[depth + 1].open - 1;
    entry.after_quote = false;
    struct flow_stack one;
    one.frames[0] = stack->frames[depth];
    one.frames[0].done = false;
    one.depth = 1;
    one.beyond = 0;
    for (struct flow_token token = flow_next(&entry); token.kind != FLOW_END; token = flow_next(&entry))
        if (token.kind == FLOW_COLON || token.kind == FLOW_TEXT) flow_take(&one, &token);
    stack->frames[depth] = one.frames[0];
}

bool flow_find(struct cursor *cursor, uint32_t from) {
    struct flow_reader reader = {source_text(cursor->source), from, (uint32_t)source_length(cursor->source),
                                 cursor->json, false};
    struct flow_stack stack;
    uint32_t offset = cursor->offset;
    stack.depth = stack.beyond = 0;
    if (!flow_open(&reader, offset, &stack)) return false;
    for (uint32_t i = 0; i + 1 < stack.depth; i++) flow_read_entry(&reader, &stack, i);
    stack.frames[stack.depth - 1].done = false;
    reader.at = stack.frames[stack.depth - 1].entry;
    reader.after_quote = false;
    for (;;) {
        struct flow_token token = flow_next(&reader);
        bool plain = token.kind == FLOW_TEXT && token.span.start == token.inner.start;
        if (plain && token.span.end < offset && offset <= reader.at) token.span.end = token.inner.end = offset;
        bool here = token.kind == FLOW_TEXT && token.span.start <= offset && offset <= token.span.end;
        bool closed = token.inner.end < token.span.end && token.inner.start > token.span.start;
        if (here && closed && offset == token.span.end) here = false; /* behind the closing quote */
        bool silent = token.kind == FLOW_COMMENT || token.kind == FLOW_ANCHOR;
        if (silent && token.span.start < offset && offset <= token.span.end) {
            cursor->flow = true;
            return true;
        }
        if (here && stack.depth > 0) {
            flow_set(cursor, &stack, &token, reader);
            return true;
        }
        if (token.span.start >= offset || token.kind == FLOW_END) break;
        if (token.kind == FLOW_OPEN) flow_push(&stack, reader.text[token.span.start] == '{', token.span.end);
        if (token.kind == FLOW_CLOSE) flow_pop(&stack);
        if (stack.depth == 0) return false;
        if (token.kind == FLOW_COMMA || token.kind == FLOW_COLON || token.kind == FLOW_TEXT) flow_take(&stack, &token);
    }
    if (stack.depth == 0) return false;
    struct flow_token gap = {FLOW_TEXT, {offset, offset}, {offset, offset}};
    reader.at = offset;
    cursor->space = !cursor->json && offset > 0 && reader.text[offset - 1] == ':';
    flow_set(cursor, &stack, &gap, reader);
    return true;
}

void flow_each_key(const struct source *source, bool json, uint32_t open,
                   bool (*visit)(void *user, const struct cursor_entry *entry), void *user) {
    struct flow_reader reader = {source_text(source), open, (uint32_t)source_length(source), json, false};
    struct span key = {0, 0};
    bool has_key = false;
    for (uint32_t depth = 0;;) {
        struct flow_token token = flow_next(&reader);
        if (token.kind == FLOW_END) return;
        if (token.kind == FLOW_CLOSE && depth-- == 0) return;
        if (token.kind == FLOW_OPEN) depth++;
        if (depth > 0) continue;
        if (token.kind == FLOW_COMMA) has_key = false;
        if (token.kind == FLOW_TEXT && !has_key) {
            key = token.inner;
            has_key = true;
        }
        if (token.kind != FLOW_COLON) continue;
        while (reader.at < reader.end && is_blank(reader.text[reader.at])) reader.at++;
        const struct cursor_entry entry = {key, reader.at};
        if (!visit(user, &entry)) return;
    }
}

void flow_each_item(const struct source *source, bool json, uint32_t open, bool (*visit)(void *user, uint32_t value),
                    void *user) {
    struct flow_reader reader = {source_text(source), open, (uint32_t)source_length(source), json, false};
    bool start = true;
    for (uint32_t depth = 0;;) {
        struct flow_token token = flow_next(&reader);
        if (token.kind == FLOW_END) return;
        if (token.kind == FLOW_CLOSE && depth-- == 0) return;
        if (token.kind == FLOW_COMMENT || token.kind == FLOW_ANCHOR) continue;
        if (depth == 0 && start && token.kind == FLOW_TEXT && !visit(user, token.span.start)) return;
        start = depth == 0 && token.kind == FLOW_COMMA;
        if (token.kind == FLOW_OPEN) depth++;
    }
}
