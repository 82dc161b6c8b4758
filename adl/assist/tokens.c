/*
 * tokens.c - the tokens of expressions and templates, merged with the names.
 *
 * A name takes precedence over a token of an expression at its place. The walk over the tree meets the expressions in
 * the order of the text, in which they are sorted.
 */
#include "adl/assist/tokens.h"
#include "adl/assist/walk.h"
#include "adl/document/place.h"
#include "adl/expr/expr.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>

struct token_writer {
    const struct assist_names *names;
    const struct source *source;
    struct span range;
    struct assist_tokens *tokens;
    const struct assist_name **texts; /* expressions and templates, by position */
    size_t text_count, text_next;
    size_t name_next; /* the first name that can overlap the next token */
};

/* Adds a token, as one for each line. */
static void token_add(struct token_writer *writer, struct span span, enum assist_token_type type, uint32_t modifiers) {
    const char *text = source_text(writer->source);
    struct assist_tokens *tokens = writer->tokens;
    while (span.start < span.end) {
        struct span line = span;
        line.end = line.start;
        while (line.end < span.end && text[line.end] != '\n' && text[line.end] != '\r') line.end++;
        while (line.start < line.end && (text[line.start] == ' ' || text[line.start] == '\t')) line.start++;
        if (line.start < line.end && line.end > writer->range.start && line.start < writer->range.end) {
            MEM_GROW(tokens->items, tokens->count, tokens->capacity);
            tokens->items[tokens->count++] = (struct assist_token){line, type, modifiers};
        }
        span.start = line.end < span.end ? line.end + 1 : span.end;
    }
}

/* ---- Names ---- */

static void add_name(struct token_writer *writer, const struct assist_name *name) {
    static const enum assist_token_type types[USE_KINDS] = {
        [USE_NODE] = ASSIST_TOKEN_FUNCTION,
        [USE_CHANNEL] = ASSIST_TOKEN_VARIABLE,
        [USE_ITEM] = ASSIST_TOKEN_PARAMETER,
        [USE_ROLE] = ASSIST_TOKEN_ENUM_MEMBER,
        [USE_TOOL] = ASSIST_TOKEN_METHOD,
        [USE_NODE_TYPE] = ASSIST_TOKEN_TYPE,
        [USE_PROVIDER] = ASSIST_TOKEN_TYPE,
        [USE_REDUCER] = ASSIST_TOKEN_TYPE,
        [USE_DOCUMENT] = ASSIST_TOKEN_STRING,
        [USE_FILE] = ASSIST_TOKEN_STRING,
        [USE_INNER_CHANNEL] = ASSIST_TOKEN_PROPERTY,
    };
    uint32_t modifiers = 0;
    if (name->kind == USE_ANCHOR) return;
    if (name->access & USE_DEFINES) modifiers |= ASSIST_TOKEN_DECLARATION | ASSIST_TOKEN_DEFINITION;
    if (name->access & USE_WRITES) modifiers |= ASSIST_TOKEN_MODIFICATION;
    if (name->kind >= USE_TOOL && name->kind <= USE_FILE) modifiers |= ASSIST_TOKEN_READONLY;
    token_add(writer, name->span, types[name->kind], modifiers);
}

/* Adds the names before an offset. */
static void add_names_before(struct token_writer *writer, uint32_t offset) {
    const struct assist_names *names = writer->names;
    while (writer->name_next < names->own_count && names->items[writer->name_next].span.start < offset) {
        const struct assist_name *name = &names->items[writer->name_next++];
        bool again = writer->name_next > 1 && name[-1].span.end > name->span.start; /* one place with two meanings */
        if (!again) add_name(writer, name);
    }
}

static bool is_name(const struct token_writer *writer, struct span span) {
    const struct assist_names *names = writer->names;
    if (writer->name_next < names->own_count && names->items[writer->name_next].span.start < span.end) return true;
    return writer->name_next > 0 && names->items[writer->name_next - 1].span.end > span.start;
}

/* ---- Expressions ---- */

/* One expression or template. */
struct token_text {
    struct token_writer *writer;
    struct place_cursor cursor;
    const char *text;
    uint32_t offset; /* of the expression within the text */
    uint32_t depth;  /* open braces of a hole */
    uint32_t end;    /* where the hole ended; 0 before that */
    bool hole, first;
};

/* `for`, `if`, `else` and `end` begin a mark of a template; `if` follows `else`, too. */
static bool is_mark(const struct token_text *text, struct span span) {
    static const char *const words[] = {"for", "if", "else", "end"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (length == span.end - span.start && memcmp(text->text + span.start, words[i], length) == 0) return true;
    }
    return false;
}

static enum assist_token_type type_of(enum expr_token_kind kind) {
    switch (kind) {
    case EXPR_TOKEN_PROPERTY: return ASSIST_TOKEN_PROPERTY;
    case EXPR_TOKEN_FUNCTION:
    case EXPR_TOKEN_MACRO: return ASSIST_TOKEN_FUNCTION;
    case EXPR_TOKEN_KEYWORD: return ASSIST_TOKEN_KEYWORD;
    case EXPR_TOKEN_NUMBER: return ASSIST_TOKEN_NUMBER;
    case EXPR_TOKEN_STRING: return ASSIST_TOKEN_STRING;
    case EXPR_TOKEN_OPERATOR: return ASSIST_TOKEN_OPERATOR;
    case EXPR_TOKEN_COMMENT: return ASSIST_TOKEN_COMMENT;
    default: return ASSIST_TOKEN_VARIABLE;
    }
}

static bool on_token(void *self, enum expr_token_kind kind, struct span span) {
    struct token_text *text = self;
    span = (struct span){span.start + text->offset, span.end + text->offset};
    bool brace = kind == EXPR_TOKEN_PUNCTUATION;
    if (text->hole && brace && text->text[span.start] == '}' && text->depth-- == 0) {
        text->end = span.end;
        return false;
    }
    if (brace && text->text[span.start] == '{') text->depth++;
    bool mark = text->hole && text->first && is_mark(text, span);
    text->first = mark;
    if (brace || kind == EXPR_TOKEN_INVALID) return true;
    struct span place = place_cursor_find(&text->cursor, span);
    if (text->cursor.failed) return true;
    add_names_before(text->writer, place.start);
    if (!is_name(text->writer, place))
        token_add(text->writer, place, mark ? ASSIST_TOKEN_KEYWORD : type_of(kind), 0);
    else if (kind == EXPR_TOKEN_STRING)
        add_names_before(text->writer, place.end); /* `state["name"]`: the name without its quotes */
    return true;
}

static void add_template(struct token_text *text, size_t length) {
    for (size_t at = 0; at < length; at++) {
        if (text->text[at] != '{') continue;
        if (at + 1 < length && text->text[at + 1] == '{') {
            at++;
            continue;
        }
        size_t rest = length - at - 1;
        text->offset = (uint32_t)at + 1;
        text->depth = text->end = 0;
        text->hole = text->first = true;
        expr_each_token(text->text + at + 1, rest > EXPR_TEXT_MAX ? EXPR_TEXT_MAX : rest, on_token, text);
        if (!text->end) return; /* the hole is not closed: what follows is unknown */
        at = text->end - 1;
    }
}

static bool token_visit(void *self, const struct walk_step *step) {
    struct token_writer *writer = self;
    struct span span = step->node->span;
    if (span.end <= writer->range.start || span.start >= writer->range.end) return false;
    while (writer->text_next < writer->text_count && writer->texts[writer->text_next]->span.start < span.start)
        writer->text_next++;
    if (writer->text_next == writer->text_count) return false;
    const struct assist_name *next = writer->texts[writer->text_next];
    struct token_text text = {.writer = writer};
    size_t length = 0;
    bool here = next->span.start == span.start && next->span.end == span.end;
    text.text = here ? tree_text(writer->names->assist->tree, step->node, &length) : NULL;
    if (!text.text) return true;
    place_cursor_init(&text.cursor, writer->source, step->node, text.text, length);
    if (next->kind == USE_TEMPLATE)
        add_template(&text, length);
    else
        expr_each_token(text.text, length, on_token, &text);
    return true;
}

static int compare_texts(const void *a, const void *b) {
    const struct assist_name *left = *(const struct assist_name *const *)a,
                             *right = *(const struct assist_name *const *)b;
    return left->span.start < right->span.start ? -1 : left->span.start > right->span.start;
}

static void gather_texts(struct token_writer *writer) {
    const struct assist_names *names = writer->names;
    size_t rest = names->count - names->text_count;
    writer->texts = mem_array(NULL, rest + 1, sizeof *writer->texts);
    for (size_t i = names->text_count; i < names->count; i++) {
        const struct assist_name *item = &names->items[i];
        bool text = item->kind == USE_EXPRESSION || item->kind == USE_TEMPLATE;
        if (text && item->file == 0) writer->texts[writer->text_count++] = item;
    }
    qsort(writer->texts, writer->text_count, sizeof *writer->texts, compare_texts);
}

struct assist_tokens *assist_tokens(const struct assist_names *names, struct span range) {
    struct token_writer writer = {.names = names, .source = names->sources[0], .range = range};
    writer.tokens = mem_zalloc(sizeof *writer.tokens);
    writer.name_next = assist_names_after(names, range.start);
    gather_texts(&writer);
    assist_walk(names->assist->tree, token_visit, &writer);
    add_names_before(&writer, range.end);
    mem_free(writer.texts);
    return writer.tokens;
}

void assist_tokens_free(struct assist_tokens *tokens) {
    if (!tokens) return;
    mem_free(tokens->items);
    mem_free(tokens);
}

const char *assist_token_type_name(enum assist_token_type type) {
#define TOKEN_TYPE_NAME(constant, name) name,
    static const char *const types[] = {ASSIST_TOKEN_TYPES(TOKEN_TYPE_NAME)};
#undef TOKEN_TYPE_NAME
    return types[type];
}

const char *assist_token_modifier_name(uint32_t bit) {
    static const char *const modifiers[] = {"declaration", "definition", "readonly", "modification"};
    return modifiers[bit];
}
