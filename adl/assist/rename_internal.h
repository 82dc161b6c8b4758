/*
 * rename_internal.h - a rename in progress; private to rename.c, rename_write.c and rename_verify.c.
 */
#ifndef TENON_ADL_ASSIST_RENAME_INTERNAL_H
#define TENON_ADL_ASSIST_RENAME_INTERNAL_H

#include "adl/assist/rename.h"

/* A place with the old name. */
struct renamed {
    const struct assist_names *names;
    const struct assist_name *name;
};

struct rename {
    const struct assist_symbol *symbol;
    const struct assist_workspace *workspace;
    const char *text; /* the new name, NUL-terminated */
    size_t length;
    struct renamed *items;
    size_t count, capacity;
    bool qualified; /* templates name channels as `state.name`, because `{name}` has another meaning there */
    struct assist_edits *edits;
    const struct assist_names *failed; /* the document that would not mean the same */
};

/* Adds the edits of all places, or refuses. */
void rename_write(struct rename *rename);
/* Reads the changed documents again, and refuses unless they mean the same. True if they do. */
bool rename_verify(struct rename *rename);

#endif
