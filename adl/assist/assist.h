/*
 * assist.h - one version of a text as editors ask about it: its tree, its diagnostics and its document.
 *
 * The features of an editor are functions of (struct assist, offset) in the other headers of this folder. They do no
 * I/O: everything outside the text is asked of a struct assist_world. Offsets and spans are bytes of the source; the
 * caller converts them to the positions of its protocol (source_locate, source_offset). The caller owns what a feature
 * returns; it is valid after the assist was freed.
 *
 *     struct assist *assist = assist_new(source, &world, before);
 *     for (size_t i = 0; i < diagnostics_count(assist->found); i++) show(diagnostics_at(assist->found, i));
 *     struct assist_completions *list = assist_complete(assist, offset);         // complete.h
 *     assist_unref(assist);
 *
 * An assist does not change after assist_new, so threads may share it. While a person types, the text is usually
 * incomplete: a part that cannot be read is missing from the tree and from the document. `good` then is an earlier
 * version that was complete; a feature may look up there what the present text lacks, but only names, never positions.
 */
#ifndef TENON_ADL_ASSIST_H
#define TENON_ADL_ASSIST_H

#include "adl/document/catalog.h"
#include "adl/source/source.h"
#include <stdbool.h>
#include <stdint.h>

struct diagnostics;
struct document;
struct tree;
struct assist_uses;

/* What is outside the text. It must live as long as an assist that was made with it: see `ref`. */
struct assist_world {
    const struct catalog *catalog; /* may be NULL: components and files are not known */
    /*
     * NULL: the text is a document. Otherwise it is another text, such as a tenon.yaml, that has the schema
     * `form->config`: completion, hover, outline and folds know the schema, and `document` is empty. `each_role` then
     * visits the roles that can be its keys.
     */
    const struct component_info *form;
    void *self;                /* for the functions below, which may be NULL */
    void (*ref)(void *self);   /* called by each new assist … */
    void (*unref)(void *self); /* … and when it is freed, on any thread */
    /* Visits the roles that the configuration binds, each with its model ("openai:gpt-4o-mini", or ""). */
    void (*each_role)(void *self, void (*visit)(void *user, const char *role, const char *model), void *user);
    /*
     * Visits the entries of a folder, given relative to the folder of the document `from` ("", "prompts/"), as far as
     * the document may name files there.
     */
    void (*each_file)(void *self, const struct source *from, const char *folder,
                      void (*visit)(void *user, const char *name, bool is_folder), void *user);
    /* Visits the names of documents that can be used everywhere: "pack:acme/triage.yaml", "tenon:single_turn". */
    void (*each_document)(void *self, void (*visit)(void *user, const char *name, const char *title), void *user);
};

struct assist {
    uint32_t references; /* atomic */
    struct source *source;
    struct tree *tree;
    struct document *document; /* never NULL; incomplete if the text has errors */
    struct diagnostics *found; /* sorted */
    struct assist_uses *uses;  /* the names, for names.h */
    const struct assist_world *world;
    struct assist *good; /* the newest earlier version with a whole tree; NULL when this tree is whole, or none was */
    struct schema **message_schema; /* compiled by the first assist_message_schema; in a cell, as the rest is const */
};

/* Reads and checks a text. `before` is the version before it, NULL for the first. Never returns NULL. Any thread. */
struct assist *assist_new(struct source *source, const struct assist_world *world, struct assist *before);
/* The same, but takes the reference to `before`, which is freed early if it is the last one and not needed. */
struct assist *assist_next_take(struct source *source, const struct assist_world *world, struct assist *before);
struct assist *assist_ref(struct assist *assist);
void assist_unref(struct assist *assist); /* NULL is allowed */
/* The version in which to look up names: `good`, or the assist itself. */
const struct assist *assist_names_from(const struct assist *assist);
/* The schema of a message, which an item of a channel with the reducer `messages` is. Borrowed; any thread. */
const struct schema *assist_message_schema(const struct assist *assist);

#endif
