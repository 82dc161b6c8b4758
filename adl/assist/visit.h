/*
 * visit.h - visits the values of a document's tree with their rows of keys.def, and the strings of configs with their
 * x-tenon annotations.
 *
 *     static const struct assist_visitor visitor = {.range = {0, UINT32_MAX}, .value = on_value};
 *     assist_visit(assist, &visitor, user);
 *
 * Only parts that touch the range are visited; a part that cannot be read is left out.
 */
#ifndef TENON_ADL_ASSIST_VISIT_H
#define TENON_ADL_ASSIST_VISIT_H

#include "adl/assist/assist.h"
#include "adl/document/keys.h"
#include "adl/tree/tree.h"

#define VISIT_COMPONENTS_MAX 512u /* node types whose schemas are searched once; others are not skipped */

struct assist_visitor {
    struct span range;
    const char *const *annotations; /* NULL-terminated: configs whose schemas have none of them are skipped */
    /* A value of a key, or an item of its list. May be NULL. */
    void (*value)(void *user, const struct document_key *key, const struct tree_node *node);
    /* A string of a config, or a key of it. `annotation` is the value of x-tenon. May be NULL. */
    void (*annotated)(void *user, const char *annotation, const struct tree_node *node, struct span span);
    /* A mapping in a config with the only key `file`, and its value. May be NULL. */
    void (*file)(void *user, const struct tree_node *node);
};

void assist_visit(const struct assist *assist, const struct assist_visitor *visitor, void *user);

#endif
