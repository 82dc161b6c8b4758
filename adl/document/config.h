/*
 * config.h - references in configs: `{file: prompts/planner.md}` and `{secret: NAME}` where a text is wanted.
 *
 * An object with that one key is a reference exactly where the component's schema says text and does not say object;
 * elsewhere it is what it looks like.
 */
#ifndef TENON_ADL_DOCUMENT_CONFIG_H
#define TENON_ADL_DOCUMENT_CONFIG_H

#include "adl/value/value.h"
#include <stdint.h>

struct schema;

/* What to put in place of a reference of `kind` "file" or "secret": a new reference; NULL leaves it as it is. */
typedef tn_value (*config_reference_fn)(void *self, const char *pointer, const char *kind, tn_value name);

/* `config` with its references replaced. Pointers are JSON Pointers into it. */
tn_value config_resolve_take(const struct schema *schema, tn_value config, config_reference_fn resolve, void *self);
/* `config` with the value at `pointer` replaced; a pointer that leads nowhere changes nothing. Takes both values. */
tn_value config_replace_take(tn_value config, const char *pointer, tn_value value);

struct catalog;
struct document;
struct error;
/* document_node_config without the defaults. */
tn_value document_written_config(const struct document *document, uint32_t node, const struct catalog *catalog,
                                 struct error *error);

#endif
