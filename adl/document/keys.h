/*
 * keys.h - the table of all keys of ADL documents, which is the basis of the reader's checks and of the documentation.
 *
 *     struct keys slots;
 *     keys_read(reader, KEYS_NODE, node, span, &slots);            // reports unknown, missing and malformed keys
 *     const struct tree_item *id = slots.items[KEY_NODE_ID];       // NULL if absent or reported
 *
 * The rows are in keys.def. Keys that start with `x-` are ignored everywhere.
 */
#ifndef TENON_ADL_DOCUMENT_KEYS_H
#define TENON_ADL_DOCUMENT_KEYS_H

#include "adl/tree/tree.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum keys_mapping {
    KEYS_NONE,
#define DOCUMENT_MAPPING(mapping, first, last, name, documentation) KEYS_##mapping,
#include "adl/document/keys.def"
    KEYS_MAPPINGS
};

enum key {
#define DOCUMENT_KEY(mapping, key, name, need, forms, of, words, example, documentation) KEY_##key,
#include "adl/document/keys.def"
    KEYS
};

/* The allowed forms of a key's value; TEXTS and MAPPINGS describe the items of a LIST. */
#define KEY_TEXT         (1u << 0)
#define KEY_INTEGER      (1u << 1)
#define KEY_NUMBER       (1u << 2)
#define KEY_BOOL         (1u << 3)
#define KEY_DURATION     (1u << 4) /* "30s", "500ms", or a number of seconds */
#define KEY_LIST         (1u << 5)
#define KEY_MAPPING      (1u << 6)
#define KEY_ANY          (1u << 7)
#define KEY_SCHEMA       (1u << 8) /* a JSON Schema: a mapping, true or false */
#define KEY_TEXTS        (1u << 9)
#define KEY_MAPPINGS     (1u << 10)
#define KEY_NAMES        (1u << 11) /* a mapping of names to the other forms */
#define KEY_POSITIVE     (1u << 12) /* numbers and durations must be above 0 */
#define KEY_AT_LEAST_ONE (1u << 13)

struct document_key {
    enum keys_mapping mapping;
    enum key key;
    const char *name;
    bool required;
    uint32_t forms;
    enum keys_mapping of;     /* the mapping of the value or of each item; or KEYS_NONE */
    const char *const *words; /* the allowed words, NULL-terminated; NULL means any string */
    const char *example;      /* YAML */
    const char *documentation;
};

struct document_mapping {
    const char *name; /* "a node" */
    const char *documentation;
    const struct document_key *keys; /* key_count entries */
    uint32_t key_count;
    bool open; /* other keys are allowed: a model's options */
};

const struct document_key *document_key(enum key key);
const struct document_mapping *document_mapping(enum keys_mapping mapping);
/* Calls `callback` for every key of every mapping, in reference order. */
void document_each_key(void (*callback)(void *user, const struct document_mapping *mapping,
                                        const struct document_key *key),
                       void *user);
/* Returns the index of `text` in words, or -1. */
int32_t key_word(const struct document_key *key, const char *text, size_t length);

struct reader;

struct keys {
    const struct tree_item *items[KEYS]; /* set for the mapping's own keys only */
    bool whole;                          /* the whole mapping could be read */
};

/*
 * Sorts the items of `node` into slots and reports what the table does not allow. Returns false if the node is not a
 * mapping (reported, unless it is broken); all slots are then NULL. `span` is the place for reporting missing keys.
 */
bool keys_read(struct reader *reader, enum keys_mapping mapping, const struct tree_node *node, struct span span,
               struct keys *slots);
/* True if an unknown key of `node` is probably this one, mistyped: then it is not reported as missing. */
bool key_mistyped(const struct document_key *key, const struct tree_node *node);

#endif
