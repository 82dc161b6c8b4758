/*
 * phrase.h - the expression at a cursor: its tokens, also if it is not complete, and what its names stand for.
 *
 *     struct phrase phrase;
 *     if (phrase_find(&meaning, false, &phrase)) {                 // "state.mails.filter(m, m.sub‸)"
 *         struct phrase_value value;
 *         phrase_resolve(&phrase, phrase.count - 3, &value);       // `m`: an item of the channel `mails`
 *         phrase_each_member(&value, offer, user);
 *     }
 *     phrase_finish(&phrase);
 *
 * Values are known as far as schemas describe them: channels, the input, the config. A phrase borrows the meaning.
 */
#ifndef TENON_ADL_ASSIST_PHRASE_H
#define TENON_ADL_ASSIST_PHRASE_H

#include "adl/assist/known.h"
#include "adl/assist/meaning.h"
#include "adl/assist/shape.h"
#include "adl/expr/expr.h"

#define PHRASE_TOKENS_MAX  4096u /* of one expression; later ones are not looked at */
#define PHRASE_STEPS_MAX   16u   /* members within members */
#define PHRASE_LOCALS_MAX  32u   /* variables of macros and loops */
#define PHRASE_RESOLVE_MAX 32u   /* variables of macros within the values of others */

struct phrase_token {
    enum expr_token_kind kind;
    struct span span; /* in the text of the scalar */
};

/* A variable of a macro, or of a loop of a template. */
struct phrase_local {
    struct span name;
    uint32_t list_end; /* the last token of the list that it goes through; UINT32_MAX if it is not in the tokens */
    struct span list;  /* for a loop of a template: the text of its list */
    bool index;        /* the index or key, not the item */
};

struct phrase {
    const struct meaning *meaning;
    struct cursor_text text; /* of the whole scalar */
    uint32_t at;             /* the cursor, as an index of the text */
    struct span word;        /* the name around it; empty when no letter is beside the cursor */
    struct span expression;  /* the part of the text that is the expression */
    bool first;              /* template: the word is the first one of its hole, where a mark of a block may be */
    struct phrase_token *tokens;
    uint32_t count;
    struct phrase_local locals[PHRASE_LOCALS_MAX]; /* innermost last */
    uint32_t local_count;
};

/*
 * Finds the expression in the scalar of the meaning, which must have a language. `whole` reads all of its tokens;
 * otherwise only those up to the end of the word at the cursor. Returns false if the cursor is in the text of a
 * template, outside of its holes. Finish it in any case.
 */
bool phrase_find(const struct meaning *meaning, bool whole, struct phrase *phrase);
void phrase_finish(struct phrase *phrase); /* keeps the struct reusable */

/* The span in the source of a part of the text. */
struct span phrase_place(const struct phrase *phrase, struct span part);
/* The index of the token that contains or ends at `at`; UINT32_MAX when a blank is there. */
uint32_t phrase_token_at(const struct phrase *phrase, uint32_t at);
/* The first character of a token. */
char phrase_char(const struct phrase *phrase, uint32_t token);
bool phrase_token_is(const struct phrase *phrase, uint32_t token, const char *text);
/* The name that a token is, without the marks of `a b`. */
struct span phrase_name(const struct phrase *phrase, uint32_t token);
/* The index of the bracket that opens the one at `token`; UINT32_MAX when the text does not open it. */
uint32_t phrase_opening(const struct phrase *phrase, uint32_t token);
/* The row of the function or macro whose name is the token; NULL for other names. */
const struct expr_function *phrase_function(const struct phrase *phrase, uint32_t token);

enum phrase_root { ROOT_UNKNOWN, ROOT_STATE, ROOT_RUN, ROOT_INPUT, ROOT_CONFIG, ROOT_CHANNEL, ROOT_ITEM };

struct phrase_step {
    const char *name; /* NULL: an item of a list */
    uint32_t length;
};

/* What is known of a value. */
struct phrase_value {
    enum phrase_root root;
    const struct assist *assist;
    const struct document_channel *channel; /* CHANNEL; ITEM if the list is a channel */
    const struct schema *schema;            /* from which `steps` lead to the value; NULL if nothing describes it */
    struct phrase_step steps[PHRASE_STEPS_MAX];
    uint32_t step_count;
    uint32_t kinds; /* EXPR_KIND mask of the result of a function; 0 if it is not known */
};

/* The value of the operand that ends with `token`. False if nothing is known of it. */
bool phrase_resolve(const struct phrase *phrase, uint32_t token, struct phrase_value *value);
/* Visits the members of a value; `shape` describes one, and is valid during the call. */
typedef void (*phrase_member_fn)(void *user, const char *name, size_t length, const struct shape *shape);
void phrase_each_member(const struct phrase_value *value, phrase_member_fn visit, void *user);
/* Adds the schemas of the value itself. */
void phrase_shape(const struct phrase_value *value, struct shape *shape);

/* The names that map edges give the items of the node of the cursor: `mail` for `as: mail`. */
void phrase_each_item_name(const struct meaning *meaning, void (*visit)(void *user, const char *name), void *user);

/* The members of `run`. */
struct phrase_run_member {
    const char *name, *type, *documentation;
};
const struct phrase_run_member *phrase_run_member(size_t index); /* NULL past the last */

#endif
