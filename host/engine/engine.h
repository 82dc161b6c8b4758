/*
 * engine.h - the services and limits that the graphs, models and tools of one host share.
 *
 * The assembly fills the struct before the first document is opened. The state of each sub-room is behind an opaque
 * pointer: only engine/model, engine/tool and engine/graph look inside theirs. Thread: loop.
 */
#ifndef TENON_HOST_ENGINE_ENGINE_H
#define TENON_HOST_ENGINE_ENGINE_H

#include "adl/document/catalog.h"
#include "adl/value/error.h"
#include "host/plugin/call/instance.h"
#include <tenon/util/sha256.h>

struct config;
struct graphs;
struct loop;
struct models;
struct registry;
struct store;
struct thread_cache;
struct tools;

#define ENGINE_GRAPHS_NOTED 16

/* A description of a graph that is in the store. */
struct graph_note {
    char identity[TN_SHA256_TEXT]; /* "": none */
    int64_t at_ms;                 /* when it was put there, as loop_now_ms */
};

/* Whether runs that end now end because of the host. Those that have `served` are continued by the next one. */
enum engine_end {
    ENGINE_STAYS,
    ENGINE_DRAINS, /* runs are asked to stop */
    ENGINE_CANCELS /* runs are cancelled */
};

struct engine {
    /* Services, borrowed. They do not change. */
    struct loop *loop;
    struct registry *registry;
    const struct config *config;
    struct catalog catalog;                                  /* looks up components and reads files */
    struct store *(*store)(void *user, struct error *error); /* borrowed, opened on first use; NULL with error */
    void *store_user;
    /* What a component outside of a graph may call (binding_scope_of_host). */
    struct instance_scope (*scope)(struct engine *engine, const char *where);
    /* Limits of a run; UINT32_MAX if tenon.yaml sets no limit. */
    uint32_t concurrency_max, recursion_max;
    /* Owned. Each is private to its sub-room. */
    struct models *models;
    struct tools *tools;
    struct graphs *graphs;
    struct thread_cache *threads; /* data/thread */
    struct graph_note graphs_noted[ENGINE_GRAPHS_NOTED];
    enum engine_end end; /* set by the server */
};

#endif
