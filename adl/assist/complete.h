/*
 * complete.h - what can be written at an offset of a text: keys, node types, words, names, expressions, files.
 *
 *     struct assist_completions *list = assist_complete(assist, offset);
 *     for (uint32_t i = 0; i < list->count; i++) show(list->items[i].label, list->items[i].detail);
 *     replace(list->items[0].span, list->items[0].text);
 *     assist_completions_free(list);
 *
 * An item replaces `span`, which contains the offset and is on one line. Lines of its text after the first one contain
 * their complete indentation: the client must insert them as they are. Where nothing fits (comments, plain prose), the
 * list is empty. Items that begin with what is typed come first; then those that contain it, or its characters in
 * order. If there are none, names that are near are offered, as for a typing mistake.
 */
#ifndef TENON_ADL_ASSIST_COMPLETE_H
#define TENON_ADL_ASSIST_COMPLETE_H

#include "adl/assist/assist.h"

#define COMPLETE_ITEMS_MAX 1000u /* items of one list; if there are more, `incomplete` is set */
#define COMPLETE_FILES_MAX 5000u /* entries of a folder that are looked at */

enum completion_kind {
    COMPLETION_KEY,
    COMPLETION_NODE_TYPE,
    COMPLETION_WORD,  /* one of a fixed set of values */
    COMPLETION_VALUE, /* an example, or a default */
    COMPLETION_CHANNEL,
    COMPLETION_FIELD, /* a member of a value in an expression */
    COMPLETION_VARIABLE,
    COMPLETION_FUNCTION,
    COMPLETION_OPERATOR,
    COMPLETION_NODE,
    COMPLETION_ROLE,
    COMPLETION_MODEL,
    COMPLETION_TOOL,
    COMPLETION_REDUCER,
    COMPLETION_PLUGIN,
    COMPLETION_FILE,
    COMPLETION_FOLDER,
    COMPLETION_DOCUMENT,
    COMPLETION_ANCHOR,  /* behind the `*` of an alias */
    COMPLETION_SNIPPET, /* several lines, or a whole item */
};
/* "key", "node_type", …: the names above in lower case. */
const char *completion_kind_name(enum completion_kind kind);

struct assist_completion {
    enum completion_kind kind;
    const char *label;
    const char *detail;        /* one line; NULL if absent */
    const char *documentation; /* Markdown; NULL if absent */
    const char *sort;          /* items are ordered by it */
    const char *filter;        /* what the typed text is compared with */
    struct span span;
    const char *text;    /* plain text */
    const char *snippet; /* the same with placeholders (${1:name}, $0); NULL if `text` has nothing to fill in */
    bool deprecated;
    bool again; /* after it was inserted, completion has more to offer there */
};

struct assist_completions {
    struct assist_completion *items; /* in the order of `sort` */
    uint32_t count, capacity;
    bool incomplete; /* there are more items: ask again when more is typed */
    void *memory;    /* of the texts; private */
};

/* Never returns NULL. The result is valid without the assist. Any thread. */
struct assist_completions *assist_complete(const struct assist *assist, uint32_t offset);
void assist_completions_free(struct assist_completions *list); /* NULL is allowed */

#endif
