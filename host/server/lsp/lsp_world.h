/*
 * lsp_world.h - what is outside a document while it is checked: components, files, roles, and the texts of the other
 * open documents, which count instead of the files on the disk.
 *
 * A world does not change, except that it remembers which files were read. It may be used by one thread at a time; it
 * is made on the loop. Its host must live as long as it.
 *
 *     struct lsp_world *world = lsp_world_new(host, copy, open);                                       // [loop]
 *     struct assist *assist = assist_new(source, lsp_world_assist(world), before);                     // any thread
 *     lsp_world_unref(world);
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_WORLD_H
#define TENON_HOST_SERVER_LSP_LSP_WORLD_H

#include "adl/value/value.h"
#include <stdbool.h>

struct assist_world;
struct catalog_copy;
struct host;
struct lsp_world;
struct schema;
struct source;

/*
 * `open` is {canonical path: text}; NULL: no file is read, because the client may not name files, except those that are
 * installed with Tenon (`tenon:NAME`). Keeps a reference to both. *users is incremented, and decremented when the world
 * is freed, by any thread: the host must live until then.
 */
struct lsp_world *lsp_world_new(struct host *host, struct catalog_copy *components, tn_value open, size_t *users);
/*
 * The text is a tenon.yaml with this schema (config_names.h); `roles` is {role: …} of those that documents use, in
 * addition to those that the configuration binds. Keeps references. Does nothing if `schema` is NULL. To be called
 * before the world is used.
 */
void lsp_world_set_form(struct lsp_world *world, struct schema *schema, tn_value roles);
void lsp_world_unref(struct lsp_world *world); /* NULL is allowed; any thread */
const struct assist_world *lsp_world_assist(const struct lsp_world *world);
bool lsp_world_has_read(const struct assist_world *world, const char *path); /* [loop] */
size_t lsp_world_reads(const struct lsp_world *world); /* how often documents have asked for files */
/* True if a file with this canonical path was read in the world, and had another text than the source. [loop] */
bool lsp_world_has_read_other(const struct assist_world *world, const char *path, const struct source *source);

#endif
