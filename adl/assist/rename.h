/*
 * rename.h - new names for nodes, channels, items, roles and anchors, and for files, in all documents that name them.
 *
 * A rename changes every place that assist_symbol_each knows: also templates in files, documents that map channels of
 * the renamed document, and tenon.yaml for a role that it binds. A name that only a default of a schema mentions is
 * written into the config. The style of each place is kept. In an expression, a name that is not an identifier becomes
 * state.`a b`.
 *
 *     struct assist_rename_target target;
 *     if (!assist_rename_prepare(names, offset, &workspace, &target)) return say(target.refusal);
 *     struct assist_edits *edits = assist_rename(names, offset, text, length, &workspace);       // or a refusal
 *     assist_rename_target_finish(&target);
 *
 * The result is certain: the changed documents are read again, and the rename is refused unless they have the same
 * names in the same number, and no new diagnostics. A rename is refused as well if a place might be missed
 * (syntax errors, unknown components), or if the new name exists.
 */
#ifndef TENON_ADL_ASSIST_RENAME_H
#define TENON_ADL_ASSIST_RENAME_H

#include "adl/assist/edit.h"
#include "adl/assist/symbol.h"

struct assist_rename_target {
    struct span span; /* the name at the offset */
    char *text;       /* the present name; owned */
    char *refusal;    /* why it cannot be renamed; owned; NULL if it can */
};

/* Returns true if the name at the offset can be renamed. Fills `target` in both cases; finish it. */
bool assist_rename_prepare(const struct assist_names *names, uint32_t offset, const struct assist_workspace *workspace,
                           struct assist_rename_target *target);
void assist_rename_target_finish(struct assist_rename_target *target);

/* Never returns NULL; `refusal` says why nothing can be changed. The new name need not be NUL-terminated. */
struct assist_edits *assist_rename(const struct assist_names *names, uint32_t offset, const char *text, size_t length,
                                   const struct assist_workspace *workspace);
/* The same for a symbol, such as a role in tenon.yaml (assist_symbol_in_config). */
struct assist_edits *assist_rename_symbol(const struct assist_symbol *symbol, const char *text, size_t length,
                                          const struct assist_workspace *workspace);

/* A file or a folder that will be moved. Paths are compared with those of the workspace (symbol.h). */
struct assist_move {
    const char *from, *to;
};
/*
 * Returns the edits in all documents that name moved files, and in moved documents that name others. Names that are not
 * paths ("pack:acme/triage.yaml") are not changed. Never returns NULL.
 */
struct assist_edits *assist_rename_files(const struct assist_move *moves, size_t count,
                                         const struct assist_workspace *workspace);

#endif
