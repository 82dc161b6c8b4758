/*
 * phrase.c - finds the expression around a cursor, its tokens, and the variables of macros and loops.
 */
#include "adl/assist/phrase.h"
#include "adl/value/memory.h"
#include <string.h>

#define LOOPS_MAX 16u /* open blocks of a template; TEMPLATE_BLOCKS_MAX */

static bool phrase_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* ---- Holes of a template ---- */

/* The end of the hole that opens at `open`: its closing brace, or the end of its line. */
static uint32_t phrase_hole_end(const struct cursor_text *text, uint32_t open) {
    uint32_t depth = 0;
    char quote = 0;
    for (uint32_t i = open + 1; i < text->length; i++) {
        char c = text->text[i];
        if (c == '\n' && depth == 0 && !quote) return i;
        if (quote) {
            if (c == '\\')
                i++;
            else if (c == quote)
                quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '{') {
            depth++;
        } else if (c == '}' && depth-- == 0) {
            return i;
        }
    }
    return (uint32_t)text->length;
}

static bool phrase_starts_with(const char *text, uint32_t length, const char *word) {
    size_t size = strlen(word);
    return length >= size && memcmp(text, word, size) == 0;
}

static void phrase_add_local(struct phrase *phrase, struct phrase_local local) {
    if (phrase->local_count < PHRASE_LOCALS_MAX) phrase->locals[phrase->local_count++] = local;
}

/* The start of the list in `for x in LIST`; `end` when ` in ` is not written yet. */
static uint32_t loop_list(const struct cursor_text *text, uint32_t from, uint32_t end) {
    for (uint32_t i = from; i + 4 <= end; i++)
        if (memcmp(text->text + i, " in ", 4) == 0) return i + 4;
    return end;
}

/* Adds the variables of `for i, x in LIST`. */
static void add_loop(struct phrase *phrase, uint32_t from, uint32_t end) {
    const struct cursor_text *text = &phrase->text;
    uint32_t list = loop_list(text, from, end), at = from;
    struct span names[2];
    uint32_t count = 0;
    while (count < 2 && at < list) {
        while (at < list && !phrase_word_char(text->text[at])) at++;
        uint32_t start = at;
        while (at < list && phrase_word_char(text->text[at])) at++;
        if (at == start || at + 3 > list) break;
        names[count++] = (struct span){start, at};
        while (at < list && text->text[at] == ' ') at++;
        if (at >= list || text->text[at] != ',') break;
    }
    for (uint32_t i = 0; i < count; i++)
        phrase_add_local(phrase, (struct phrase_local){names[i], UINT32_MAX, {list, end}, count == 2 && i == 0});
}

/* Opens or closes a block, for the hole from `from` to `end`. */
static void take_block(struct phrase *phrase, uint32_t from, uint32_t end, uint32_t loops[LOOPS_MAX], uint32_t *depth) {
    const char *text = phrase->text.text + from;
    uint32_t length = end - from;
    if (phrase_starts_with(text, length, "for ") || phrase_starts_with(text, length, "if ")) {
        if (*depth < LOOPS_MAX) loops[(*depth)++] = phrase->local_count;
        if (*text == 'f') add_loop(phrase, from + 4, end);
    } else if (length == 3 && memcmp(text, "end", 3) == 0 && *depth > 0) {
        phrase->local_count = loops[--*depth];
    }
}

/* Sets the expression of the hole around the cursor. */
static void set_hole(struct phrase *phrase, uint32_t from, uint32_t end) {
    const char *text = phrase->text.text;
    uint32_t start = from;
    if (phrase_starts_with(text + from, end - from, "for "))
        start = loop_list(&phrase->text, from + 4, end);
    else if (phrase_starts_with(text + from, end - from, "if "))
        start = from + 3;
    else if (phrase_starts_with(text + from, end - from, "else if "))
        start = from + 8;
    phrase->expression = (struct span){start, end};
    phrase->first = start == from;
    for (uint32_t i = from; i < phrase->at; i++) phrase->first &= phrase_word_char(text[i]);
}

static bool find_hole(struct phrase *phrase) {
    const struct cursor_text *text = &phrase->text;
    uint32_t loops[LOOPS_MAX], depth = 0;
    for (uint32_t i = 0; i < phrase->at && i < text->length; i++) {
        char c = text->text[i];
        if (c != '{' && c != '}') continue;
        if (i + 1 < text->length && text->text[i + 1] == c && i + 1 < phrase->at) {
            i++;
            continue;
        }
        if (c == '}') continue;
        uint32_t end = phrase_hole_end(text, i), from = i + 1;
        while (from < end && from < phrase->at && text->text[from] == ' ') from++;
        if (phrase->at <= end) {
            set_hole(phrase, from, end);
            return phrase->expression.start <= phrase->at;
        }
        take_block(phrase, from, end, loops, &depth);
        i = end;
    }
    return false;
}

/* ---- Tokens ---- */

struct token_reader {
    struct phrase *phrase;
    uint32_t capacity;
};

static bool add_token(void *user, enum expr_token_kind kind, struct span span) {
    struct token_reader *reader = user;
    struct phrase *phrase = reader->phrase;
    if (phrase->count == PHRASE_TOKENS_MAX) return false;
    MEM_GROW(phrase->tokens, phrase->count, reader->capacity);
    uint32_t start = phrase->expression.start;
    phrase->tokens[phrase->count++] = (struct phrase_token){kind, {span.start + start, span.end + start}};
    return true;
}

char phrase_char(const struct phrase *phrase, uint32_t token) {
    return token < phrase->count ? phrase->text.text[phrase->tokens[token].span.start] : '\0';
}

struct span phrase_name(const struct phrase *phrase, uint32_t token) {
    struct span span = phrase->tokens[token].span;
    const char *text = phrase->text.text;
    bool marks = span.end - span.start >= 2 && text[span.start] == '`' && text[span.end - 1] == '`';
    return marks ? (struct span){span.start + 1, span.end - 1} : span;
}

bool phrase_token_is(const struct phrase *phrase, uint32_t token, const char *text) {
    if (token >= phrase->count) return false;
    struct span span = phrase->tokens[token].span;
    return strlen(text) == span.end - span.start && memcmp(phrase->text.text + span.start, text, strlen(text)) == 0;
}

uint32_t phrase_token_at(const struct phrase *phrase, uint32_t at) {
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < phrase->count && phrase->tokens[i].span.start <= at; i++)
        if (at <= phrase->tokens[i].span.end) found = i;
    return found;
}

static bool is_punctuation(const struct phrase *phrase, uint32_t token, char c) {
    return token < phrase->count && phrase->tokens[token].kind == EXPR_TOKEN_PUNCTUATION &&
           phrase_char(phrase, token) == c;
}

uint32_t phrase_opening(const struct phrase *phrase, uint32_t token) {
    uint32_t depth = 0;
    for (uint32_t i = token + 1; i-- > 0;) {
        if (phrase->tokens[i].kind != EXPR_TOKEN_PUNCTUATION) continue;
        char c = phrase_char(phrase, i);
        if (c == ')' || c == ']' || c == '}') depth++;
        if ((c == '(' || c == '[' || c == '{') && --depth == 0) return i;
    }
    return UINT32_MAX;
}

const struct expr_function *phrase_function(const struct phrase *phrase, uint32_t token) {
    if (token >= phrase->count) return NULL;
    struct span span = phrase->tokens[token].span;
    bool receiver = token >= 2 && is_punctuation(phrase, token - 1, '.');
    /* A function in a namespace: `regex.extract`. */
    char name[64];
    struct span all = span;
    if (receiver && phrase->tokens[token - 2].kind == EXPR_TOKEN_VARIABLE)
        all.start = phrase->tokens[token - 2].span.start;
    if (all.end - all.start >= sizeof name) return NULL;
    const struct expr_function *found = NULL;
    for (size_t i = 0; i < expr_function_count(); i++) {
        const struct expr_function *row = expr_function_at(i);
        const char *text = phrase->text.text;
        size_t length = strlen(row->name);
        bool whole = length == all.end - all.start && memcmp(row->name, text + all.start, length) == 0;
        bool last = length == span.end - span.start && memcmp(row->name, text + span.start, length) == 0;
        if (whole && !row->receiver && all.start != span.start) return row;
        if (last && row->receiver == receiver && !found) found = row;
    }
    return found;
}

/* The start of a macro's arguments is before the cursor: adds its variables. */
static void find_macros(struct phrase *phrase, uint32_t before) {
    uint32_t open[PHRASE_LOCALS_MAX], depth = 0;
    for (uint32_t i = 0; i < phrase->count && phrase->tokens[i].span.end <= before; i++) {
        if (phrase->tokens[i].kind != EXPR_TOKEN_PUNCTUATION) continue;
        char c = phrase_char(phrase, i);
        if ((c == '(' || c == '[' || c == '{') && depth < PHRASE_LOCALS_MAX) open[depth++] = i;
        if ((c == ')' || c == ']' || c == '}') && depth > 0) depth--;
    }
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t at = open[i];
        const struct expr_function *row =
            at >= 3 && phrase_char(phrase, at) == '(' ? phrase_function(phrase, at - 1) : NULL;
        if (!row || !row->macro || !row->receiver) continue;
        bool two = phrase_char(phrase, at + 2) == ',' && phrase_char(phrase, at + 4) == ',';
        bool both =
            two && (strncmp(row->name, "transform", 9) == 0 || row->maximum == 3) && strcmp(row->name, "map") != 0;
        for (uint32_t j = 0; j < 1u + both; j++) {
            uint32_t name = at + 1 + 2 * j;
            if (name + 1 >= phrase->count || phrase->tokens[name].kind != EXPR_TOKEN_VARIABLE ||
                phrase_char(phrase, name + 1) != ',' || phrase->tokens[name + 1].span.end > before)
                break;
            phrase_add_local(phrase, (struct phrase_local){phrase->tokens[name].span, at - 3, {0, 0}, both && j == 0});
        }
    }
}

bool phrase_find(const struct meaning *meaning, bool whole, struct phrase *phrase) {
    *phrase = (struct phrase){.meaning = meaning};
    cursor_text(&meaning->cursor, &phrase->text);
    const struct cursor_text *text = &phrase->text;
    if (meaning->cursor.offset > text->at[text->length]) return false; /* behind CURSOR_SCALAR_MAX */
    phrase->at = (uint32_t)cursor_text_index(text, meaning->cursor.offset);
    phrase->expression = (struct span){0, (uint32_t)text->length};
    if (meaning->language == LANGUAGE_TEMPLATE && !find_hole(phrase)) return false;
    uint32_t start = phrase->at, end = phrase->at;
    while (start > phrase->expression.start && phrase_word_char(text->text[start - 1])) start--;
    while (end < phrase->expression.end && phrase_word_char(text->text[end])) end++;
    phrase->word = (struct span){start, end};
    uint32_t last = whole ? phrase->expression.end : end;
    struct token_reader reader = {phrase, 0};
    expr_each_token(text->text + phrase->expression.start, last - phrase->expression.start, add_token, &reader);
    find_macros(phrase, start);
    return true;
}

void phrase_finish(struct phrase *phrase) {
    cursor_text_finish(&phrase->text);
    mem_free(phrase->tokens);
    phrase->tokens = NULL;
    phrase->count = 0;
}

struct span phrase_place(const struct phrase *phrase, struct span part) {
    uint32_t start = phrase->text.at[part.start];
    uint32_t end = part.end > part.start ? phrase->text.at[part.end - 1] + 1 : start;
    return (struct span){start, end};
}
