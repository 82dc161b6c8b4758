/*
 * keys.h - the table of all keys that ADL documents have: what the reader checks by, and what documentation is made of.
 *
 *     struct keys slots;
 *     keys_read(reader, KEYS_NODE, node, "a node", &slots);       // reports what is unknown, missing or of a wrong
 * kind const struct tree_item *id = slots.items[KEY_NODE_ID];      // NULL where absent, or reported
 *
 * The rows are in keys.def. Keys that begin with `x-` belong to nobody, and are passed over everywhere.
 */
#ifndef TENON_ADL_DOCUMENT_KEYS_H
#define TENON_ADL_DOCUMENT_KEYS_H

#include "adl/text/tree.h"
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

/* What a key's value may be; TEXTS and MAPPINGS say what the items of a LIST may be. */
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
#define KEY_NAMES        (1u << 11) /* a mapping of names to what the other forms say */
#define KEY_POSITIVE     (1u << 12) /* of numbers and durations: more than 0 */
#define KEY_AT_LEAST_ONE (1u << 13)

struct document_key {
    enum keys_mapping mapping;
    enum key key;
    const char *name;
    bool required;
    uint32_t forms;
    enum keys_mapping of;     /* the mapping that the value, or each item of it, is; KEYS_NONE */
    const char *const *words; /* the texts there are, NULL-terminated; NULL where any will do */
    const char *example;      /* YAML */
    const char *documentation;
};

struct document_mapping {
    const char *name; /* "a node" */
    const char *documentation;
    const struct document_key *keys; /* key_count of them */
    uint32_t key_count;
    bool open; /* other keys are somebody else's: a model's options */
};

const struct document_key *document_key(enum key key);
const struct document_mapping *document_mapping(enum keys_mapping mapping);
/* Calls `callback` for every key of every mapping, in the order of the reference. */
void document_each_key(void (*callback)(void *user, const struct document_mapping *mapping,
                                        const struct document_key *key),
                       void *user);
/* The index of `text` in words, or -1. */
int32_t key_word(const struct document_key *key, const char *text, size_t length);

struct reader;

struct keys {
    const struct tree_item *items[KEYS]; /* set for the mapping's own keys only */
    bool whole;                          /* nothing of the mapping was unreadable */
};

/*
 * Sorts the items of `node` into slots, and reports what the table does not allow. False where the node is no mapping
 * (reported, unless it is broken); the slots are then all NULL. `span` is where a missing key is reported.
 */
bool keys_read(struct reader *reader, enum keys_mapping mapping, const struct tree_node *node, struct span span,
               struct keys *slots);
/* Whether an unknown key of `node` is probably this one, mistyped: then it is not missing. */
bool key_mistyped(const struct document_key *key, const struct tree_node *node);

#endif
