/*
 * meaning.h - what the place of a cursor means in the language: which mapping of keys.def, which part of a node's
 * config and the schemas that apply there, which language a string contains.
 *
 *     struct meaning meaning;
 *     meaning_find(assist, offset, &meaning);
 *     if (meaning.kind == MEANING_KEYS) offer_keys(meaning.mapping);
 *     else if (meaning.kind == MEANING_CONFIG) meaning_each_schema(&meaning, false, visit, user);
 *     meaning_finish(&meaning);
 *
 * A meaning borrows the assist. It holds a copy of one node's config, never of the document.
 */
#ifndef TENON_ADL_ASSIST_MEANING_H
#define TENON_ADL_ASSIST_MEANING_H

#include "adl/assist/assist.h"
#include "adl/assist/cursor.h"
#include "adl/document/document.h"
#include "adl/document/keys.h"
#include "adl/value/buffer.h"

#define MEANING_VARIABLES_MAX 64u     /* names of x-tenon-variables that are looked at */
#define MEANING_CONFIG_MAX    262144u /* bytes of a config in a text that is not valid; a longer one counts as empty */

enum meaning_kind {
    MEANING_NOTHING,
    MEANING_KEYS,   /* a key of `mapping`; `key` is its row if it is known */
    MEANING_VALUE,  /* the value of `key`, or an item of it */
    MEANING_ROLE,   /* a key of `models` */
    MEANING_CONFIG, /* a key or a value inside a config, or the options of a model */
    MEANING_SCHEMA, /* inside a JSON Schema of the document; the steps from `config_step` on lead to the place */
};

enum meaning_language {
    LANGUAGE_NONE,
    LANGUAGE_CONDITION, /* an expression of an edge that is true or false */
    LANGUAGE_EDGE,      /* another expression of an edge */
    LANGUAGE_CONFIG,    /* an expression of a node's config */
    LANGUAGE_TEMPLATE,
};

struct meaning {
    const struct assist *assist;
    struct cursor cursor;
    enum meaning_kind kind;
    enum keys_mapping mapping;
    const struct document_key *key;
    bool item; /* VALUE: an item of the list of `key`, or a value of its mapping of names */
    const struct component_info *component; /* CONFIG: the node type or the provider; NULL if it is not known */
    /* CONFIG, SCHEMA: the step whose value is the config or the schema; UINT32_MAX: the whole text is the config. */
    uint32_t config_step;
    bool option;                    /* CONFIG: it consists of the options of a model */
    tn_value instance;              /* CONFIG: the config, as far as it can be read; an object */
    struct buffer pointer;          /* CONFIG: the JSON Pointer of the value, or of the mapping of the key */
    enum meaning_language language; /* of the scalar at the cursor */
    tn_value variables;             /* x-tenon-variables of it, borrowed from the schema; may be NULL */
};

/* Fills `meaning`; finish it in any case. A text that is larger than TREE_SIZE_MAX has no meaning. */
void meaning_find(const struct assist *assist, uint32_t offset, struct meaning *meaning);
void meaning_finish(struct meaning *meaning); /* keeps the struct reusable */

/*
 * Visits the subschemas that apply at the place: for a key those of its mapping; `inner` adds the key itself, so that
 * those of its value are visited. Nothing is visited for other kinds than MEANING_CONFIG.
 */
void meaning_each_schema(const struct meaning *meaning, bool inner, void (*visit)(void *user, tn_value schema),
                         void *user);
/* True if a subschema at the place has this value of x-tenon. `on_key`: as propertyNames, for a key. */
bool meaning_has_annotation(const struct meaning *meaning, bool on_key, const char *annotation);

/* The tool whose arguments are the members of the mapping at the place; NULL for other mappings. */
const struct component_info *meaning_tool(const struct meaning *meaning);

/*
 * The document that the node of the cursor runs, if the key or the value at the cursor names one of its channels: in
 * `input` and `output` of the config, on the side that the schema does not annotate as a channel of this document. NULL
 * elsewhere, and if that document cannot be read. It lives as long as the assist.
 */
const struct document *meaning_inner_document(const struct meaning *meaning);

/* The text of a sibling of step `at`, "" when it is absent; free it with cursor_text_finish. */
void meaning_sibling_text(const struct cursor *cursor, uint32_t at, const char *key, struct cursor_text *out);

#endif
