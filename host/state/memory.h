/*
 * memory.h - memories: values by namespace and key, kept across threads and runs, found by words, filters or likeness.
 *
 * A namespace is a path of names, ["users", "ada"]; what is asked of one is asked of all below it. A value is any JSON;
 * a put replaces it whole. With a time to live it is gone when that is up, without one it stays. It is found by `text`:
 * where none is given, by every string in the value; false: by none. `vector` is what search by likeness goes by, where
 * the store has that (UNSUPPORTED where it has not).
 *
 * In the store the key is the names and the key, each with % and / written as %25 and %2F, with / between them: the
 * memories of a namespace and all below it are one range.
 */
#ifndef TENON_HOST_STATE_MEMORY_H
#define TENON_HOST_STATE_MEMORY_H

#include "host/state/request.h"

#define MEMORY_DEPTH_MAX      32                /* names of a namespace */
#define MEMORY_NAME_MAX       256               /* bytes of a name, and of a key; TN_STORE_KEY_MAX for all together */
#define MEMORY_VALUE_MAX      (4 * 1024 * 1024) /* as JSON */
#define MEMORY_TEXT_MAX       (512 * 1024)      /* that it is found by; what is collected of a value is cut there */
#define MEMORY_LIST           100
#define MEMORY_LIST_MAX       1000
#define MEMORY_NAMESPACES_MAX 10000 /* of one answer */

operation_fn memory_put, memory_get, memory_delete, memory_search, memory_namespaces;

#endif
