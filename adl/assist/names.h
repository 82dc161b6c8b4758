/*
 * names.h - every place of a document that defines or uses a name, sorted, with lookup by offset and by name.
 *
 * The places come from the reader itself (adl/document/uses.h), which has resolved each name: in the structure, inside
 * expressions and templates, and in the texts and keys of configs that a schema annotates. Templates in files that the
 * document names belong to it, too. The list is built on request from what assist_new has recorded. It keeps a
 * reference to the assist, does not change, and may be shared by threads.
 *
 *     struct assist_names *names = assist_names_new(assist);
 *     const struct assist_name *name = assist_names_at(names, offset);
 *     if (name && name->kind == USE_CHANNEL) show(name->text, name->span);
 *     assist_names_free(names);
 *
 * A part that cannot be read is an item of kind USE_UNREAD, because names may be in it that are not in the list.
 */
#ifndef TENON_ADL_ASSIST_NAMES_H
#define TENON_ADL_ASSIST_NAMES_H

#include "adl/assist/assist.h"
#include "adl/document/uses.h"
#include <stddef.h>
#include <stdint.h>

struct assist_name {
    enum use_kind kind;
    enum use_form form;
    uint32_t access;     /* mask of USE_DEFINES, USE_READS, USE_WRITES */
    uint32_t file;       /* 0: the document; else an index into `sources` */
    struct span span;    /* exactly the name, in that source */
    struct span token;   /* with its quotes */
    uint32_t node;       /* the node in whose definition it is, or UINT32_MAX */
    uint32_t text_id;    /* equal for equal texts of one list */
    uint32_t length;     /* of `text` */
    const char *text;    /* the name, NUL-terminated; this and the rest are borrowed from the list */
    const char *pointer; /* JSON Pointer of the place in the node's config; NULL elsewhere, and in templates of files */
    const char *path;    /* documents, files, inner channels: the file, if it can be read; else NULL */
};

struct assist_names {
    struct assist *assist;
    /*
     * First the names in the text of the document, then those in its files, both by position; then what is not a place
     * of a name: defaults of schemas (USE_DEFAULT), texts that could not be read (USE_UNREAD) and the like.
     */
    const struct assist_name *items;
    size_t own_count;        /* in the document's text */
    size_t text_count;       /* with those in files */
    size_t count;            /* with all others */
    struct source **sources; /* [0] is the document's */
    size_t source_count;
    const struct assist_names_index *index;
};

/* Never returns NULL. Any thread. */
struct assist_names *assist_names_new(struct assist *assist);
void assist_names_free(struct assist_names *names); /* NULL is allowed */

/*
 * Returns the name at an offset of the document: the one whose quotes, or whose own text, contain it or end there. NULL
 * when the offset is in no name.
 */
const struct assist_name *assist_names_at(const struct assist_names *names, uint32_t offset);
/* Returns the index in `items` of the first name of the document that ends after `offset`; `own_count` if none does. */
size_t assist_names_after(const struct assist_names *names, uint32_t offset);
/* Returns the indices of all items with this text, of every kind, ascending; borrowed. */
const uint32_t *assist_names_with(const struct assist_names *names, const char *text, size_t length, size_t *count);
/* Returns the first item that defines the name (USE_DEFINES); NULL when the document does not define it. */
const struct assist_name *assist_names_definition(const struct assist_names *names, enum use_kind kind,
                                                  const char *text, size_t length);
#define ASSIST_ROLES_MAX 100u
/* {role: null} of the roles that the text names, ASSIST_ROLES_MAX at most; a new reference. Any thread. */
tn_value assist_used_roles(const struct assist *assist);
/* "channel", "node", "role" … for messages. */
const char *assist_kind_name(enum use_kind kind);

/* ---- For assist.c ---- */

struct assist_uses;
struct assist_uses *assist_uses_new(struct source *source);
void assist_uses_free(struct assist_uses *uses);
/* The observer that records into `uses`. */
struct use_observer assist_uses_observer(struct assist_uses *uses);

#endif
