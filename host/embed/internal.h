/*
 * internal.h - the handles of tenon/embed.h, for the files of this folder.
 */
#ifndef TENON_HOST_EMBED_INTERNAL_H
#define TENON_HOST_EMBED_INTERNAL_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <tenon/embed.h>

struct callable;
struct diagnostics;
struct host;

struct tenon {
    struct host *host;
    struct diagnostics *found; /* of the last document */
    struct error error;        /* of the last call that failed */
    tn_value error_value;      /* of it, made when asked for */
    _Atomic bool cancel;       /* set by any thread */
    bool cancelling;
    uint64_t components; /* counts the node types that builders have registered */
    struct node_type *node_types;
};

struct tenon_runnable {
    uint32_t references;
    tenon *host;
    struct callable *callable;
};

void embed_forget(tenon *handle); /* the last error */
/* Takes the callable's reference; NULL gives NULL. */
tenon_runnable *embed_runnable_take(tenon *handle, struct callable *callable);
/* False, with the error, where it is NULL or another host's. */
bool embed_is_here(tenon *handle, const tenon_runnable *runnable);
tenon_runnable *embed_graph(tenon *handle, const char *name, const char *text, size_t length);

#endif
