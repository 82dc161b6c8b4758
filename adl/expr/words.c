/*
 * words.c - words that other languages have for operators and literals of CEL, for "did you mean".
 */
#include "adl/expr/compile.h"
#include <string.h>
#include <strings.h>

static const struct {
    const char *word, *meant;
} operators[] = {{"and", "&&"}, {"or", "||"}, {"is", "=="}, {"equals", "=="}, {"eq", "=="}, {"ne", "!="}},
  literals[] = {{"true", "true"}, {"false", "false"},    {"null", "null"},
                {"nil", "null"},  {"undefined", "null"}, {"none", "null"}};

#define LENGTH(table) (sizeof(table) / sizeof *(table))

static bool word_is(const char *word, const char *text, size_t length) {
    return strlen(word) == length && strncasecmp(word, text, length) == 0;
}

const char *word_meant_operator(const char *text, size_t length) {
    for (size_t i = 0; i < LENGTH(operators); i++)
        if (word_is(operators[i].word, text, length)) return operators[i].meant;
    return NULL;
}

const char *word_meant_literal(const char *text, size_t length) {
    for (size_t i = 0; i < LENGTH(literals); i++)
        if (word_is(literals[i].word, text, length)) return literals[i].meant;
    return NULL;
}

bool word_is_not(const char *text, size_t length) { return word_is("not", text, length); }

/* True if the token can start an operand. */
static bool starts_operand(enum lex_kind kind) {
    return (kind >= LEX_NAME && kind <= LEX_BYTES && kind != LEX_IN) || kind == LEX_NOT;
}

bool word_not_precedes_operand(const struct compiler *compiler) {
    const struct token *token = &compiler->token;
    struct lexer ahead = compiler->lexer;
    return word_is_not(compiler->lexer.text + token->from, token->to - token->from) && starts_operand(lex(&ahead).kind);
}
