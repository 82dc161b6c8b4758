/*
 * complete_internal.h - the collector of items that the files complete_*.c share.
 *
 * All offers are made once for each rank: first only those that begin with the typed text are taken, then the others
 * that contain it, and near names only if nothing was found. So the cap keeps the best ones, and an offer costs little
 * if it is not taken.
 */
#ifndef TENON_ADL_ASSIST_COMPLETE_INTERNAL_H
#define TENON_ADL_ASSIST_COMPLETE_INTERNAL_H

#include "adl/assist/complete.h"
#include "adl/assist/known.h"
#include "adl/assist/meaning.h"
#include "adl/assist/shape.h"

enum complete_rank { RANK_PREFIX, RANK_INSIDE, RANK_NEAR, RANKS };

/* How an expression names a channel or a member. */
enum complete_naming {
    NAMING_TEXT,   /* in quotes: `state["name"]`; outside of expressions as a value */
    NAMING_MEMBER, /* behind a dot: `state.name`, or `state.`a b`` */
    NAMING_BARE,   /* alone in a template: `{name}`, or `{state.name}` if the name alone means something else */
};

#define LISTED_MAX 64u /* other items of a list that are not offered again */

struct completer {
    const struct assist *assist;
    struct meaning meaning;
    struct assist_completions *list;
    struct span span;   /* what an item replaces */
    const char *prefix; /* what is typed of it */
    size_t prefix_length;
    bool raw; /* texts are inserted as they are: parts of expressions, of paths */
    enum complete_naming naming;
    enum complete_rank rank;
    uint32_t looked;                       /* offers of this rank, for RANK_NEAR */
    uint32_t order;                        /* of the next item with a fixed order */
    struct cursor_text listed[LISTED_MAX]; /* the other items of the list of the cursor */
    uint32_t listed_count;
    const struct present *present; /* while keys are offered: those that the mapping has */
};

/* An item that may be taken. Texts are copied. */
struct offer {
    enum completion_kind kind;
    const char *label;
    size_t label_length; /* 0: it is NUL-terminated */
    const char *detail, *documentation;
    const char *text;    /* NULL: the label, or the snippet without placeholders */
    const char *snippet; /* NULL: the text; with `written` it is complete */
    char group;          /* items are sorted by group ('0' … '9'), then as `ordered` says; 0 means '5' */
    bool ordered;        /* in the order of the offers; otherwise by label */
    bool written;        /* text and snippet are complete; otherwise they are quoted as the place needs it */
    bool deprecated, again;
};

/* True if an item with this label would be taken: call it before anything costly is made. */
bool offer_fits(struct completer *completer, const char *label, size_t length);
/* Takes the item if it fits. */
void offer(struct completer *completer, const struct offer *made);
/* Appends a string as a value of the document: with quotes and escapes as the place needs them. */
void complete_write_value(const struct completer *completer, const char *text, size_t length, struct buffer *out);
/* Appends `text` with the characters escaped that have a meaning in a snippet. */
void complete_write_escaped(struct buffer *out, const char *text, size_t length);
/* Appends a name as the present expression needs it. */
void complete_write_name(const struct completer *completer, const char *name, size_t length, struct buffer *out);
/* True if the cursor is in a list that has the text as another item. */
bool complete_is_listed(const struct completer *completer, const char *text, size_t length);
/* Sets what is replaced. */
void complete_set_span(struct completer *completer, struct span span);

/* complete_key.c: keys of mappings, members of configs, whole items, JSON Schemas. */
bool complete_is_present(const struct completer *completer, const char *key, size_t length);
void complete_keys(struct completer *completer);
/* A JSON document without any text has no place for a key: its braces are offered with the first keys. */
bool complete_is_empty_json(const struct completer *completer);
void complete_empty_json(struct completer *completer);
void complete_items(struct completer *completer); /* where a mapping or an item may start */
/* complete_value.c: scalars. */
void complete_value(struct completer *completer);
/* The channels of this document; as keys, without those that the mapping has. */
void complete_channels(struct completer *completer, bool as_key);
/* The same for the channels of the document that the node of the cursor runs. */
void complete_inner_channels(struct completer *completer, const struct document *inner, bool as_key);
/* complete_anchor.c: behind `*`. */
void complete_anchors(struct completer *completer);
/* The nodes and END as keys, without those that the mapping has. */
void complete_node_keys(struct completer *completer);
/* complete_expr.c: inside expressions and templates. */
void complete_expression(struct completer *completer);

#endif
