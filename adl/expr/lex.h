/*
 * lex.h - the tokens of an expression. The lexer finds one at a time and allocates only for decoded strings.
 *
 *     struct lexer lexer = {.text = text, .length = length};
 *     for (struct token token = lex(&lexer); token.kind != LEX_END; token = lex(&lexer)) …
 *
 * Copy the lexer to look ahead. A LEX_INVALID token contains a description of the problem and is always the last one.
 */
#ifndef TENON_ADL_EXPR_LEX_H
#define TENON_ADL_EXPR_LEX_H

#include "adl/value/buffer.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LEX(name, text): operators and punctuation. A longer one precedes its prefixes. */
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
    LEX_COMMENT, /* only if the lexer was configured to return them */
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
    const char *wrong; /* LEX_INVALID: the problem */
    uint64_t natural;  /* LEX_INT and LEX_UINT; an int may be 2^63, which is valid only after `-` */
    double real;
    bool raw;          /* LEX_STRING, LEX_BYTES: no escapes */
    uint32_t from, to; /* the text between the quotes; for a name, the name */
};

struct lexer {
    const char *text;
    size_t length, at;
    bool comments;
};

struct token lex(struct lexer *lexer);
/* Appends the decoded text of a string token to `out`. Returns NULL, or a description of the problem at *where. */
const char *lex_decode(const struct lexer *lexer, const struct token *token, struct buffer *out, uint32_t *where);
/* True for words that CEL reserves: no variable can have such a name. */
bool lex_reserved(const char *name, size_t length);

#endif
