/*
 * lex.h - the tokens of an expression: found one at a time, copied freely, nothing allocated but decoded strings.
 *
 *     struct lexer lexer = {.text = text, .length = length};
 *     for (struct token token = lex(&lexer); token.kind != LEX_END; token = lex(&lexer)) …
 *
 * A copy of the lexer looks ahead. LEX_INVALID carries what is wrong, and is the last token.
 */
#ifndef TENON_ADL_EXPR_LEX_H
#define TENON_ADL_EXPR_LEX_H

#include "adl/value/buffer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LEX(name, text): operators and punctuation, longer ones first where one begins another. */
#define LEX_SIGNS(LEX)                                                                                                 \
    LEX(AND, "&&")                                                                                                     \
    LEX(OR, "||")                                                                                                      \
    LEX(EQ, "==")                                                                                                      \
    LEX(NE, "!=")                                                                                                      \
    LEX(LE, "<=")                                                                                                      \
    LEX(GE, ">=")                                                                                                      \
    LEX(LT, "<")                                                                                                       \
    LEX(GT, ">")                                                                                                       \
    LEX(NOT, "!")                                                                                                      \
    LEX(ADD, "+")                                                                                                      \
    LEX(SUB, "-")                                                                                                      \
    LEX(MUL, "*")                                                                                                      \
    LEX(DIV, "/")                                                                                                      \
    LEX(MOD, "%")                                                                                                      \
    LEX(QUESTION, "?")                                                                                                 \
    LEX(COLON, ":")                                                                                                    \
    LEX(DOT, ".")                                                                                                      \
    LEX(COMMA, ",")                                                                                                    \
    LEX(OPEN, "(")                                                                                                     \
    LEX(CLOSE, ")")                                                                                                    \
    LEX(OPEN_LIST, "[")                                                                                                \
    LEX(CLOSE_LIST, "]")                                                                                               \
    LEX(OPEN_MAP, "{")                                                                                                 \
    LEX(CLOSE_MAP, "}")

enum lex_kind {
    LEX_END,
    LEX_INVALID,
    LEX_COMMENT, /* only where the lexer was asked for them */
    LEX_NAME,    /* keywords too, but `in` */
    LEX_QUOTED,  /* `name` */
    LEX_IN,
    LEX_INT,
    LEX_UINT,
    LEX_DOUBLE,
    LEX_STRING,
    LEX_BYTES,
#define LEX_ENUM(name, text) LEX_##name,
    LEX_SIGNS(LEX_ENUM)
#undef LEX_ENUM
};

struct token {
    enum lex_kind kind;
    uint32_t start, end;
    const char *wrong; /* of LEX_INVALID */
    uint64_t natural;  /* of LEX_INT and LEX_UINT; an int may be 2^63, which only `-` before it makes one */
    double real;
    bool raw;          /* of LEX_STRING, LEX_BYTES: no escapes … */
    uint32_t from, to; /* … and what is between the quotes; of a name, the name */
};

struct lexer {
    const char *text;
    size_t length, at;
    bool comments;
};

struct token lex(struct lexer *lexer);
/* What a string token stands for, appended to `out`: NULL, or what is wrong with it, at *where. */
const char *lex_decode(const struct lexer *lexer, const struct token *token, struct buffer *out, uint32_t *where);
/* Words that no variable can have as a name: CEL keeps them for languages around it. */
bool lex_reserved(const char *name, size_t length);

#endif
