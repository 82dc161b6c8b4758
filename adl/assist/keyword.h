/*
 * keyword.h - the keywords of JSON Schema that a person writes into a document, and where they can be.
 *
 *     const struct schema_keyword *row;
 *     for (size_t i = 0; (row = schema_keyword_at(i)); i++) offer(row->name, row->documentation);
 */
#ifndef TENON_ADL_ASSIST_KEYWORD_H
#define TENON_ADL_ASSIST_KEYWORD_H

#include "adl/assist/meaning.h"

enum keyword_form {
    KEYWORD_OTHER, /* a number, a boolean, any value */
    KEYWORD_TEXT,
    KEYWORD_LIST, /* of values */
    KEYWORD_SCHEMA,
    KEYWORD_NAMES,   /* a mapping of names to schemas */
    KEYWORD_SCHEMAS, /* a list of schemas */
};

struct schema_keyword {
    const char *name;
    enum keyword_form form;
    const char *documentation;
};

const struct schema_keyword *schema_keyword_at(size_t index); /* NULL past the last */
const struct schema_keyword *schema_keyword_find(const char *name, size_t length);
/*
 * For MEANING_SCHEMA: true if the key at the cursor, or a key of the mapping that starts there, is a keyword; false for
 * names of members, and inside values.
 */
bool keyword_place(const struct meaning *meaning);

#endif
