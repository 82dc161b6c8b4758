/*
 * config.h - references in configs: `{file: prompts/planner.md}` and `{secret: NAME}` in the place of a string.
 *
 * An object with only that key is a reference if the component's schema allows a string and not an object; otherwise it
 * is a plain object. `{file: schemas/plan.json}` is also a reference where the schema has `x-tenon: schema`: it stands
 * for the JSON in the file.
 */
#ifndef TENON_ADL_DOCUMENT_CONFIG_H
#define TENON_ADL_DOCUMENT_CONFIG_H

#include "adl/value/value.h"
#include <stdint.h>

struct schema;

struct catalog;
struct document;
struct error;

#define CONFIG_SCHEMA_FILE "schema" /* the kind of a file that must be JSON */

/*
 * Returns the replacement for a reference of `kind` "file", CONFIG_SCHEMA_FILE or "secret" as a new reference; NULL
 * leaves it unchanged.
 */
typedef tn_value (*config_reference_fn)(void *self, const char *pointer, const char *kind, tn_value name);

/* Returns `config` with its references replaced. Pointers are JSON Pointers into it. */
tn_value config_resolve_take(const struct schema *schema, tn_value config, config_reference_fn resolve, void *self);
/* Returns `config` with the value at `pointer` replaced; unchanged if the pointer does not exist. Takes both values. */
tn_value config_replace_take(tn_value config, const char *pointer, tn_value value);

/* Reads the JSON in the text of such a file. NULL with the error, which shows nothing of the text. */
tn_value config_schema_read(tn_value text, struct error *error);

/* Like document_node_config, without the defaults. */
tn_value document_written_config(const struct document *document, uint32_t node, const struct catalog *catalog,
                                 struct error *error);

#endif
