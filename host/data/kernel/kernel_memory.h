/*
 * kernel_memory.h - memories: values by namespace and key that outlive threads and runs, found by words, filters or
 * vectors.
 *
 * A namespace is a path of names, for example ["users", "ada"]. Searches in a namespace cover the namespaces below it.
 * A value is any JSON value; a put replaces it. A memory with a time to live is deleted when that has passed. `text` is
 * the text that a search by words covers: by default all strings in the value; false excludes the memory. `vector` is
 * for search by similarity (UNSUPPORTED if the store does not have it). If tenon.yaml has a model for that,
 * kernel_embed.h adds the vector of `text` to a put without `vector`, and replaces `similar` of a search by its vector.
 * `vector: false` stores no vector.
 *
 * The key in the store is the names and the key, joined with `/`; in each of them `%` and `/` are written %25 and %2F.
 * A namespace and all namespaces below it are therefore one range of keys.
 */
#ifndef TENON_HOST_DATA_KERNEL_KERNEL_MEMORY_H
#define TENON_HOST_DATA_KERNEL_KERNEL_MEMORY_H

#include "host/data/kernel/kernel_request.h"

#define MEMORY_DEPTH_MAX      32                /* names in a namespace */
#define MEMORY_NAME_MAX       256               /* bytes of a name and of a key; together at most TN_STORE_KEY_MAX */
#define MEMORY_VALUE_MAX      (4 * 1024 * 1024) /* bytes of a value, as JSON */
#define MEMORY_TEXT_MAX       (512 * 1024)      /* bytes of `text`; the strings of a value are cut there */
#define MEMORY_LIST           100
#define MEMORY_LIST_MAX       1000
#define MEMORY_NAMESPACES_MAX 10000 /* number of namespaces in one result */

kernel_operation_fn memory_put, memory_get, memory_delete, memory_search, memory_namespaces;

#endif
