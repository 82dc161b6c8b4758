/*
 * tokens.c - the tokens of an expression for syntax colouring in editors, classified by their form and their
 * neighbours.
 */
#include "adl/expr/kinds.h"
#include "adl/expr/lex.h"
#include <string.h>

static bool is_keyword(const char *name, size_t length) {
    static const char *const words[] = {"true", "false", "null", "default"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], name, length) == 0) return true;
    return false;
}

static enum expr_token_kind name_kind(const struct lexer *lexer, const struct token *token, bool after_dot) {
    const char *name = lexer->text + token->from;
    size_t length = token->to - token->from;
    struct lexer ahead = *lexer;
    ahead.comments = false;
    if (lex(&ahead).kind == LEX_OPEN) {
        int32_t row = function_find(name, length, after_dot, SIZE_MAX);
        return row >= 0 && expr_function_at((size_t)row)->macro ? EXPR_TOKEN_MACRO : EXPR_TOKEN_FUNCTION;
    }
    if (after_dot) return EXPR_TOKEN_PROPERTY;
    return is_keyword(name, length) ? EXPR_TOKEN_KEYWORD : EXPR_TOKEN_VARIABLE;
}

static enum expr_token_kind token_kind(const struct lexer *lexer, const struct token *token, bool after_dot) {
    switch (token->kind) {
    case LEX_NAME: return name_kind(lexer, token, after_dot);
    case LEX_QUOTED: return EXPR_TOKEN_PROPERTY;
    case LEX_IN: return EXPR_TOKEN_KEYWORD;
    case LEX_INT:
    case LEX_UINT:
    case LEX_DOUBLE: return EXPR_TOKEN_NUMBER;
    case LEX_STRING:
    case LEX_BYTES: return EXPR_TOKEN_STRING;
    case LEX_COMMENT: return EXPR_TOKEN_COMMENT;
    case LEX_INVALID: return EXPR_TOKEN_INVALID;
    default: return token->kind >= LEX_DOT ? EXPR_TOKEN_PUNCTUATION : EXPR_TOKEN_OPERATOR;
    }
}

void expr_each_token(const char *text, size_t length, bool (*token)(void *self, enum expr_token_kind kind, struct span),
                     void *self) {
    if (length > EXPR_TEXT_MAX) return;
    struct lexer lexer = {.text = text, .length = length, .comments = true};
    bool after_dot = false;
    for (;;) {
        struct token found = lex(&lexer);
        if (found.kind == LEX_END) return;
        if (!token(self, token_kind(&lexer, &found, after_dot), (struct span){found.start, found.end})) return;
        if (found.kind == LEX_INVALID) return;
        if (found.kind != LEX_COMMENT) after_dot = found.kind == LEX_DOT;
    }
}
