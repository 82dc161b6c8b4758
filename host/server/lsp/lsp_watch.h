/*
 * lsp_watch.h - reports changes of files in folders, some of which may not exist yet.
 *
 *     struct lsp_watch *watch = lsp_watch_new(loop, look, hosts);
 *     lsp_watch_begin(watch);                       // the places added from here on replace those before
 *     lsp_watch_add(watch, "/home/me/.local/share/tenon/plugins");
 *     lsp_watch_end(watch);
 *     lsp_watch_free(watch);
 *
 * A place is a folder or a file. For a file, its folder is watched; for a place that does not exist, the nearest folder
 * above it that exists. A place whose folder cannot be watched (the limit of the system) is never reported. Thread:
 * every function is [loop].
 */
#ifndef TENON_HOST_SERVER_LSP_LSP_WATCH_H
#define TENON_HOST_SERVER_LSP_LSP_WATCH_H

#include <stdbool.h>

struct loop;
struct lsp_watch;

#define LSP_WATCHES_MAX    200u /* places; more are not watched */
#define LSP_WATCH_DELAY_MS 100  /* from a change until it is reported: a file is written in several steps */

/* Called LSP_WATCH_DELAY_MS after a change, and, as long as it returns true, again after the same time. */
typedef bool lsp_watch_look(void *user);

struct lsp_watch *lsp_watch_new(struct loop *loop, lsp_watch_look *look, void *user);
void lsp_watch_begin(struct lsp_watch *watch);
void lsp_watch_add(struct lsp_watch *watch, const char *place);
void lsp_watch_end(struct lsp_watch *watch);
/* The client says that something has changed. */
void lsp_watch_touch(struct lsp_watch *watch);
void lsp_watch_free(struct lsp_watch *watch); /* NULL is allowed */

#endif
