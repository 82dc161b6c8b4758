/*
 * action_internal.h - what the files of code actions share; private to action*.c and extract*.c.
 */
#ifndef TENON_ADL_ASSIST_ACTION_INTERNAL_H
#define TENON_ADL_ASSIST_ACTION_INTERNAL_H

#include "adl/assist/action.h"

/* One member of an item that is written; the value is YAML or JSON already. */
struct action_field {
    const char *key, *value;
};
#define ACTION_FIELDS_MAX 4

/* Writes the mapping in flow style, or in block style with its later lines at `indent`. */
void action_write(struct buffer *out, const struct source *source, bool block, uint32_t indent,
                  const struct action_field *fields, size_t count);
/* Appends a text as a scalar in the style of the source. */
void action_scalar(struct buffer *out, const struct source *source, const char *text);
/* Appends an item to the list under a key of the document, which is created if it is absent. False if it cannot be. */
bool action_append(struct assist_edits *edits, const struct assist *assist, const char *section,
                   const struct action_field *fields, size_t count);
/* Adds a member to the mapping under a key of the document, which is created if it is absent. */
bool action_add_member(struct assist_edits *edits, const struct assist *assist, const char *section, const char *key,
                       const char *value);
/* Returns `base`, or `base_2` …: an id that no node has. The caller frees it. */
char *action_unique_id(const struct assist *assist, const char *base);
/* Finishes the edits, and refuses them if the document, or a new one, would have more errors. Returns `edits`. */
struct assist_edits *action_verify(const struct assist_names *names, struct assist_edits *edits);

/* assist_extract, assist_to_router and assist_to_conditions before the edits are verified; NULL like these. */
struct assist_edits *action_draft_extract(const struct assist_names *names, struct span selection);
struct assist_edits *action_draft_router(const struct assist_names *names, uint32_t offset);
struct assist_edits *action_draft_conditions(const struct assist_names *names, uint32_t offset);

/* action_conflict.c. Adds the ways to resolve the merge conflicts that the selection touches. */
void action_conflicts(struct assist_actions *actions, const struct assist_names *names, struct span selection);
/* action_declare.c. Each adds one action, or none. */
void action_declare(struct assist_actions *actions, const struct assist_names *names, const struct assist_name *name,
                    const struct assist_workspace *workspace);
void action_remove(struct assist_actions *actions, const struct assist_names *names, const struct assist_name *name,
                   const struct assist_workspace *workspace);
/* Adds the action; takes the edits. */
void action_add(struct assist_actions *actions, enum assist_action_kind kind, size_t diagnostic,
                struct assist_edits *edits, const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
