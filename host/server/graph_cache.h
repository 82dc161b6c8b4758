/*
 * graph_cache.h - descriptions of served graphs, as long as the files from which they were made have not changed.
 *
 *     tn_value shown = graph_cache_find(cache, "support");             // a new reference, or NULL
 *     struct graph_files *files = graph_files_new(&engine->catalog);
 *     ... document_read(source, graph_files_catalog(files), …) ...     // notes each file that it reads
 *     graph_cache_put_take(cache, "support", files, shown);
 *
 * A file is the same if its inode, size and times are. One that was changed less than GRAPH_CACHE_SETTLED_MS ago may
 * change again without another time, so nothing is kept then. All functions are [loop].
 */
#ifndef TENON_HOST_SERVER_GRAPH_CACHE_H
#define TENON_HOST_SERVER_GRAPH_CACHE_H

#include "adl/value/value.h"

#define GRAPH_CACHE_SETTLED_MS 2000
#define GRAPH_CACHE_FILES_MAX  1000 /* of one graph; with more it is not kept */

struct catalog;
struct graph_cache;
struct graph_files;

struct graph_cache *graph_cache_new(void);
void graph_cache_free(struct graph_cache *cache);  /* NULL is allowed */
void graph_cache_clear(struct graph_cache *cache); /* components have changed */

/* The description, a new reference; NULL if there is none, or one of its files has changed. */
tn_value graph_cache_find(struct graph_cache *cache, const char *name);
/* Takes `files`; `shown` is retained. Keeps nothing if a file could not be read, or has just changed. */
void graph_cache_put_take(struct graph_cache *cache, const char *name, struct graph_files *files, tn_value shown,
                          int64_t now_ms);

/* `inner` is borrowed as long as the catalog is used. */
struct graph_files *graph_files_new(const struct catalog *inner);
const struct catalog *graph_files_catalog(const struct graph_files *files);
void graph_files_free(struct graph_files *files); /* NULL is allowed */

#endif
