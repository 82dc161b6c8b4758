/*
 * hint.c - recognises the commonest mistakes in expressions: a text without quotes, braces around the expression, and
 * words that mean `default`.
 *
 * Each of them would otherwise be reported as several mistakes of syntax, which do not say what to do.
 */
#include "adl/document/hint.h"
#include "adl/expr/lex.h"
#include "adl/tree/tree.h"
#include <string.h>
#include <strings.h>

static bool token_is_word(const char *text, const struct token *token, const char *const *words, size_t count) {
    size_t length = token->end - token->start;
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], text + token->start, length) == 0) return true;
    return false;
}

/* Words that are operators or literals, here or elsewhere: what surrounds them is an expression. */
static bool is_word_of_expressions(const char *text, const struct token *token) {
    static const char *const words[] = {"and", "or", "not", "is", "true", "false", "null", "none", "eq", "ne"};
    return token_is_word(text, token, words, sizeof words / sizeof *words);
}

/* A letter that is not ASCII cannot be in a name. */
static bool is_foreign_letter(const char *text, const struct token *token) {
    return token->kind == LEX_INVALID && ((unsigned char)text[token->start] & 0x80) != 0;
}

/* True for `high-priority` and `N/A`, unless one of the words is known. */
static bool joins_words(const char *text, size_t length, bool (*known)(void *, const char *, size_t), void *self) {
    struct lexer lexer = {.text = text, .length = length};
    for (size_t count = 1;; count++) {
        struct token word = lex(&lexer), sign = lex(&lexer);
        if (word.kind != LEX_NAME || known(self, text + word.from, word.to - word.from)) return false;
        if (sign.kind == LEX_END) return count > 1;
        if (sign.kind != LEX_SUB && sign.kind != LEX_DIV) return false;
        if (sign.start > word.end || sign.end >= length || text[sign.end] == ' ') return false;
    }
}

enum hint_text hint_text_form(const char *text, size_t length, bool (*known)(void *, const char *, size_t),
                              void *self) {
    struct lexer lexer = {.text = text, .length = length};
    struct token first = lex(&lexer);
    if (is_foreign_letter(text, &first)) return HINT_TEXT_WORDS;
    struct token second = lex(&lexer);
    if (first.kind == LEX_INT && second.kind == LEX_MOD && lex(&lexer).kind == LEX_END) return HINT_TEXT_WORDS;
    if (first.kind == LEX_INT && second.kind == LEX_NAME && !is_word_of_expressions(text, &second))
        return HINT_TEXT_WORDS;
    if (first.kind != LEX_NAME || is_word_of_expressions(text, &first)) return HINT_TEXT_NOT;
    if (second.kind == LEX_END)
        return known(self, text + first.from, first.to - first.from) ? HINT_TEXT_NOT : HINT_TEXT_WORD;
    if (joins_words(text, length, known, self)) return HINT_TEXT_WORDS;
    switch (second.kind) {
    case LEX_OPEN_MAP: /* a template */ return HINT_TEXT_WORDS;
    case LEX_NAME: return is_word_of_expressions(text, &second) ? HINT_TEXT_NOT : HINT_TEXT_WORDS;
    case LEX_INT:
    case LEX_DOUBLE:
    case LEX_STRING:
    case LEX_COMMA:
    case LEX_COLON:
    case LEX_NOT:
    case LEX_INVALID: return HINT_TEXT_WORDS;
    case LEX_DOT:
    case LEX_QUESTION: return lex(&lexer).kind == LEX_END ? HINT_TEXT_WORDS : HINT_TEXT_NOT;
    default: return HINT_TEXT_NOT;
    }
}

static bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* `{name}` is not a map here: only a name inside single braces counts. */
static bool is_path(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!is_name_character(text[i])) return false;
    return length > 0;
}

const char *hint_inside_braces(const char *text, size_t *length) {
    static const struct {
        const char *open, *close;
        bool name; /* only if a name is inside */
    } braces[] = {{"${{", "}}", false}, {"{{", "}}", false},  {"${", "}", false},
                  {"{%", "%}", false},  {"<%=", "%>", false}, {"{", "}", true}};
    size_t size = *length;
    while (size > 0 && text[size - 1] == ' ') size--;
    while (size > 0 && *text == ' ') text++, size--;
    for (size_t i = 0; i < sizeof braces / sizeof *braces; i++) {
        size_t open = strlen(braces[i].open), close = strlen(braces[i].close);
        if (size <= open + close || memcmp(text, braces[i].open, open) != 0 ||
            memcmp(text + size - close, braces[i].close, close) != 0)
            continue;
        text += open;
        size -= open + close;
        while (size > 0 && text[size - 1] == ' ') size--;
        while (size > 0 && *text == ' ') text++, size--;
        if (braces[i].name && !is_path(text, size)) return NULL;
        *length = size;
        return size ? text : NULL;
    }
    return NULL;
}

bool hint_next_braces(const char *text, size_t length, struct hint_braces *braces) {
    for (size_t at = braces->end; at + 1 < length; at++) {
        if (text[at] != '{' || text[at + 1] != '{') continue;
        size_t from = at + 2, to, end;
        while (from < length && text[from] == ' ') from++;
        for (to = from; to < length && is_name_character(text[to]);) to++;
        for (end = to; end < length && text[end] == ' ';) end++;
        if (to > from && end + 1 < length && text[end] == '}' && text[end + 1] == '}') {
            *braces = (struct hint_braces){at, end + 2, from, to};
            return true;
        }
        at++;
    }
    return false;
}

bool hint_conditional(const char *text, size_t length, struct hint_conditional *out) {
    struct lexer lexer = {.text = text, .length = length};
    size_t depth = 0, words = 0, at[2][2] = {{0}};
    static const char *const word[] = {"if", "else"};
    for (struct token token = lex(&lexer); token.kind != LEX_END && token.kind != LEX_INVALID; token = lex(&lexer)) {
        depth += token.kind == LEX_OPEN || token.kind == LEX_OPEN_LIST || token.kind == LEX_OPEN_MAP;
        depth -= depth && (token.kind == LEX_CLOSE || token.kind == LEX_CLOSE_LIST || token.kind == LEX_CLOSE_MAP);
        if (depth || words == 2 || token.kind != LEX_NAME || !token_is_word(text, &token, &word[words], 1)) continue;
        at[words][0] = token.start;
        at[words++][1] = token.end;
    }
    if (words < 2 || at[0][0] == 0 || at[1][1] >= length) return false;
    *out = (struct hint_conditional){{0, at[0][0]}, {at[0][1], at[1][0]}, {at[1][1], length}};
    size_t *parts[] = {out->then, out->condition, out->otherwise};
    for (size_t i = 0; i < 3; i++) {
        while (parts[i][0] < parts[i][1] && text[parts[i][0]] == ' ') parts[i][0]++;
        while (parts[i][0] < parts[i][1] && text[parts[i][1] - 1] == ' ') parts[i][1]--;
        if (parts[i][0] == parts[i][1]) return false;
    }
    return true;
}

bool hint_is_default(const char *text, size_t length) {
    static const char *const words[] = {"default", "else", "otherwise", "always", "*", "_"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], text, length) == 0) return true;
    return false;
}

char hint_quote(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\\' || (unsigned char)text[i] < ' ') return '\0';
    if (!memchr(text, '"', length)) return '"';
    return memchr(text, '\'', length) ? '\0' : '\'';
}
