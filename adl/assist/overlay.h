/*
 * overlay.h - reads documents as they would be after some edits, to verify a change before it is offered; private to
 * adl/assist.
 *
 *     struct overlay overlay;
 *     overlay_init(&overlay, edits);
 *     overlay_use(&overlay, assist->world->catalog);
 *     struct assist *after = overlay_read(&overlay, assist->source);
 *     assist_unref(after);                                        // before overlay_finish
 *     overlay_finish(&overlay);
 */
#ifndef TENON_ADL_ASSIST_OVERLAY_H
#define TENON_ADL_ASSIST_OVERLAY_H

#include "adl/assist/assist.h"
#include "adl/assist/edit.h"
#include "adl/document/names.h"

struct overlay {
    const struct assist_edits *edits;
    const struct catalog *base; /* of the document that is read; may be NULL */
    struct catalog catalog;     /* the same with the changed files */
    struct assist_world world;
    struct names paths; /* of changed files; the index of a name is that in `sources` */
    const struct source **sources;
};

/* The edits must be finished, and live as long as the overlay. */
void overlay_init(struct overlay *overlay, const struct assist_edits *edits);
void overlay_finish(struct overlay *overlay);
/* Sets the catalog for the next overlay_read. The caller may then change functions of overlay->catalog. */
void overlay_use(struct overlay *overlay, const struct catalog *base);
/* Reads the text of a document with its edits. */
struct assist *overlay_read(struct overlay *overlay, const struct source *before);
/* True if the file is changed. */
bool overlay_changes(const struct overlay *overlay, const char *path);

#endif
