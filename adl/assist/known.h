/*
 * known.h - the channels, nodes and roles that a text has, also while parts of it cannot be read.
 *
 *     known_each_node(assist, offer_node, completer);
 *     const struct document_channel *channel = known_channel(assist, "score", 5);   // NULL when undeclared
 *
 * The names are those of the present document. If a part of their section cannot be read, those of the last good
 * version are added. Everything that is returned lives as long as the assist.
 */
#ifndef TENON_ADL_ASSIST_KNOWN_H
#define TENON_ADL_ASSIST_KNOWN_H

#include "adl/assist/assist.h"
#include "adl/document/document.h"

/* Visitors return false to stop. */
void known_each_channel(const struct assist *assist, bool (*visit)(void *user, const struct document_channel *channel),
                        void *user);
void known_each_node(const struct assist *assist, bool (*visit)(void *user, const struct document_node *node),
                     void *user);
/* The roles of the document (with its binding), then those that only the operator binds (with `model`). */
struct known_role {
    const char *name;
    const struct document_model *bound; /* NULL when only the operator binds it */
    const char *model;                  /* by the operator; NULL when only the document binds it */
};
void known_each_role(const struct assist *assist, void (*visit)(void *user, const struct known_role *role), void *user);

/* NULL when no version of the text declares a channel, or node, with this name. */
const struct document_channel *known_channel(const struct assist *assist, const char *name, size_t length);
const struct document_node *known_node(const struct assist *assist, const char *id, size_t length);
/* Fills `out`, whose names are valid while the operator's configuration is. False if the role is not bound. */
bool known_role(const struct assist *assist, const char *name, size_t length, struct known_role *out);

/* NULL when the catalog has no such component, or the world has no catalog. */
const struct component_info *known_component(const struct assist *assist, const char *kind, const char *id,
                                             size_t length);

#endif
