/*
 * check_config.h - the check of one node's config, in two parts; private to adl/document.
 *
 * check_config.c reads the files that the config refers to, validates it, and visits its annotations. check_annotated.c
 * knows what each annotation means.
 */
#ifndef TENON_ADL_CHECK_CONFIG_H
#define TENON_ADL_CHECK_CONFIG_H

#include "adl/document/reader.h"
#include "adl/schema/schema.h"

/* A reference in the config that is being checked. */
struct config_reference {
    char *pointer;         /* owned; JSON Pointer of its place in the config */
    struct source *source; /* owned; the file's text; NULL for secrets and unreadable files */
};

/* The check of one node's config. */
struct config_check {
    struct reader *reader;
    uint32_t node; /* index of the node in the document */
    const struct node_type *type;
    const struct tree_node *tree;        /* the config in the document; NULL if absent */
    struct span span;                    /* span of its key or of the node's type: the fallback for reports */
    struct tree_finder finder;           /* of members of `tree` */
    struct config_reference *references; /* owned */
    uint32_t reference_count;
    tn_value reference_index; /* owned; object: the pointer of a reference → its index */
    tn_value filled;          /* owned; the config with defaults and with the texts of files */
    tn_value variables;       /* owned; object: a pointer → x-tenon-variables there; NULL until the first use */
    tn_value expressions;     /* owned; object whose keys are pointers of expressions; NULL until the first use */
    char document[1024];      /* pointer of the string that names a document; "" without one */
    struct document *inner;   /* borrowed; that document, or NULL */
    char arguments[256];      /* pointer of the arguments of the tool that the node calls; "" without them */
};

/* NULL when the member is not a reference. */
const struct config_reference *config_reference_at(const struct config_check *check, const char *pointer);
/* The member of the config in the document, or NULL for a default. *item is the item that contains it, or NULL. */
const struct tree_node *config_member(struct config_check *check, const char *pointer, const struct tree_item **item);
/* The text of the document to report for a member of the config: its key if `on_key`, else its value. */
struct span config_span_of(const struct config_check *check, const struct tree_node *node, const struct tree_item *item,
                           bool on_key);
struct span config_span_at(struct config_check *check, const char *pointer, bool on_key);

/* ---- Annotations (check_annotated.c) ---- */

/* A string or a key of the config, to which an annotation of the schema assigns a meaning. Borrowed by the checks. */
struct annotated_string {
    struct config_check *check;
    const char *pointer; /* JSON Pointer of the member */
    bool on_key;         /* the key of the member is meant, not its value */
    const char *text;
    size_t length;
    const struct tree_node *node; /* the member in the document, and the item that has it; NULL for a default */
    const struct tree_item *item;
    struct span span;   /* to report */
    tn_value subschema; /* that annotates it */
};

struct annotated_string annotated_string_at(struct config_check *check, const char *pointer, bool on_key,
                                            tn_value where, tn_value subschema);
/* Calls the observer with the name, unless the name is in a file. */
void annotated_tell(const struct annotated_string *string, enum use_kind kind, uint32_t access, const char *path);

/* schema_annotated_fn: checks one annotated member. `self` is the struct config_check. */
void config_on_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value subschema);
/* Checks the arguments of the tool that the node calls, after all annotations. */
void config_check_arguments(struct config_check *check);

#endif
