/*
 * config_places.h - places in the configs of a document's nodes, for mistakes that are found after the document was
 * read: when a component is created, or in a document that a component makes from its config.
 *
 *     struct config_places *places = config_places_new(document);
 *     struct span span;
 *     if (!config_places_named(places, node, "`retry` is too long", &span)) span = document->nodes[node].config_span;
 *     config_places_free(places);
 *
 * The source is read again by the first lookup. The functions return false if there is no such place.
 */
#ifndef TENON_ADL_DOCUMENT_CONFIG_PLACES_H
#define TENON_ADL_DOCUMENT_CONFIG_PLACES_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <stdint.h>

struct config_places;
struct document;
struct source;

struct config_places *config_places_new(struct document *document); /* keeps a reference */
void config_places_free(struct config_places *places);              /* NULL is allowed */

/* The value at a JSON Pointer in the node's config, or the innermost value around it that exists. */
bool config_places_at(struct config_places *places, uint32_t node, const char *pointer, struct span *out);
/* The first member of the node's config that the message names in backquotes. */
bool config_places_named(struct config_places *places, uint32_t node, const char *message, struct span *out);
/*
 * `made` is a document that the node made from its config, in which `span` is a mistake. Finds the member of the config
 * that was copied there: the one with the longest common end of the path, and the same text.
 */
bool config_places_copied(struct config_places *places, uint32_t node, struct source *made, struct span span,
                          struct span *out);

#endif
