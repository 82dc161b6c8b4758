/*
 * tokens.h - semantic tokens: names, and what is inside expressions and templates.
 *
 *     struct assist_tokens *tokens = assist_tokens(names, (struct span){0, UINT32_MAX});
 *     for (size_t i = 0; i < tokens->count; i++) encode(tokens->items[i].span, tokens->items[i].type);
 *     assist_tokens_free(tokens);
 *
 * Tokens are sorted, do not overlap, and are within one line each. Keys, anchors and other scalars of YAML have none:
 * the grammar of the editor colours them.
 */
#ifndef TENON_ADL_ASSIST_TOKENS_H
#define TENON_ADL_ASSIST_TOKENS_H

#include "adl/assist/names.h"

/* TOKEN_TYPE(constant, name in the protocol) */
#define ASSIST_TOKEN_TYPES(TOKEN_TYPE)                                                                                 \
    TOKEN_TYPE(VARIABLE, "variable") /* channels; variables of expressions */                                          \
    TOKEN_TYPE(PROPERTY, "property") /* fields of values */                                                            \
    TOKEN_TYPE(FUNCTION, "function") /* nodes; functions of expressions */                                             \
    TOKEN_TYPE(METHOD, "method")     /* tools */                                                                       \
    TOKEN_TYPE(KEYWORD, "keyword")                                                                                     \
    TOKEN_TYPE(OPERATOR, "operator")                                                                                   \
    TOKEN_TYPE(STRING, "string") /* documents and files; texts in expressions */                                       \
    TOKEN_TYPE(NUMBER, "number")                                                                                       \
    TOKEN_TYPE(ENUM_MEMBER, "enumMember") /* roles of models */                                                        \
    TOKEN_TYPE(TYPE, "type")              /* components */                                                             \
    TOKEN_TYPE(PARAMETER, "parameter")    /* items of map edges */                                                     \
    TOKEN_TYPE(COMMENT, "comment")

enum assist_token_type {
#define TOKEN_TYPE_ENUM(constant, name) ASSIST_TOKEN_##constant,
    ASSIST_TOKEN_TYPES(TOKEN_TYPE_ENUM)
#undef TOKEN_TYPE_ENUM
        ASSIST_TOKEN_TYPE_COUNT
};

/* Bits of `modifiers`, in this order: declaration, definition, readonly, modification. */
#define ASSIST_TOKEN_DECLARATION    (1u << 0)
#define ASSIST_TOKEN_DEFINITION     (1u << 1)
#define ASSIST_TOKEN_READONLY       (1u << 2) /* a component, a document: defined elsewhere */
#define ASSIST_TOKEN_MODIFICATION   (1u << 3) /* a channel that is written there */
#define ASSIST_TOKEN_MODIFIER_COUNT 4u

struct assist_token {
    struct span span;
    enum assist_token_type type;
    uint32_t modifiers;
};

struct assist_tokens {
    struct assist_token *items;
    size_t count, capacity;
};

/* The tokens that overlap the range. Never returns NULL. */
struct assist_tokens *assist_tokens(const struct assist_names *names, struct span range);
void assist_tokens_free(struct assist_tokens *tokens); /* NULL is allowed */

const char *assist_token_type_name(enum assist_token_type type); /* "enumMember" */
const char *assist_token_modifier_name(uint32_t bit);            /* 0: "declaration" … */

#endif
