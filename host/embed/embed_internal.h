/*
 * embed_internal.h - the handles of tenon/embed.h. Only files of this folder include this.
 */
#ifndef TENON_HOST_EMBED_EMBED_INTERNAL_H
#define TENON_HOST_EMBED_EMBED_INTERNAL_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <tenon/embed.h>

struct callable;
struct diagnostics;
struct host;

struct tenon {
    struct host *host;
    struct diagnostics *diagnostics; /* diagnostics of the last document; may be NULL */
    struct error error;              /* error of the last call that failed */
    tn_value error_value;            /* the same as a value; created by tenon_error_value */
    _Atomic bool cancel;             /* set by any thread */
    bool cancelling;                 /* the run has been cancelled */
    uint64_t components;             /* the number of node types that builders have registered */
    struct embed_node_type *node_types;
};

struct tenon_runnable {
    uint32_t references;
    tenon *host;
    struct callable *callable;
};

/* Starts a call of the API: clears the last error, and makes the host's log the current log of the thread. */
void embed_enter(tenon *handle);
/* Sets the error and returns false if the runnable is NULL or belongs to another host. */
bool embed_check_runnable(tenon *handle, const tenon_runnable *runnable);
/* Checks and builds a document. Returns NULL with the error; the diagnostics stay in the handle. */
tenon_runnable *embed_graph(tenon *handle, const char *name, const char *text, size_t length);

#endif
