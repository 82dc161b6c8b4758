/*
 * reference_component.h - prints components and plugins as Markdown, from their manifests.
 *
 *     reference_print_component("#", info);     // "# llm", then its sections
 */
#ifndef TENON_HOST_PROGRAM_REFERENCE_COMPONENT_H
#define TENON_HOST_PROGRAM_REFERENCE_COMPONENT_H

#include "adl/document/catalog.h"

struct plugin;

/* `mark` is "#" or more: the level of the heading. */
void reference_print_component(const char *mark, const struct component_info *info);
void reference_print_plugin(const char *mark, const struct plugin *plugin);
/* "node type", "tool", …: the words for a kind. */
const char *reference_kind_words(const char *kind);

#endif
