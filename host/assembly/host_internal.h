/*
 * host_internal.h - the parts of a host. Only host.c includes this.
 */
#ifndef TENON_HOST_ASSEMBLY_HOST_INTERNAL_H
#define TENON_HOST_ASSEMBLY_HOST_INTERNAL_H

#include "host/assembly/host.h"
#include "host/data/kernel/kernel.h"
#include "host/engine/engine.h"
#include "host/plugin/abi/abi_host.h"
#include "host/plugin/abi/abi_server.h"
#include "host/plugin/isolate/remote.h"
#include "host/plugin/registry/plugin_search.h"
#include <stdatomic.h>

struct recorder;
struct replayer;

struct host {
    struct log *log;
    struct loop *loop;
    struct config *config;
    struct secrets *secrets;
    struct registry *registry;
    struct search search; /* where plugins were searched */
    struct files *files;
    struct http *http;
    struct recorder *recorder; /* NULL if not recording */
    struct replayer *replayer; /* NULL if not replaying */
    struct store *store;       /* NULL until host_store is first called */
    tn_value store_options;    /* used instead of the configured store; NULL to use that */
    struct kernel_source state;
    struct callable *memory_model; /* of `memory.embed`; NULL until it is first used */
    struct remote_services remote;
    struct engine *engine;
    struct method_source method_source;      /* of its server; kept after its end, because workers may be using it */
    _Atomic(struct method_source *) methods; /* `method_source` while the server exists; else NULL */
    struct route_source routes;              /* of its web, while `serves` */
    bool serves;
    bool allow_drafts, check_plugins, known_only;
    uint32_t loops; /* host_set_loops */
    void (*requested)(const struct plugin *plugin, const char *interface_id, bool offered);
    _Atomic int64_t ends_by_ms; /* host_limit_end; 0 before */
    char *state_folder;         /* of the records of deaths; NULL if there are none */
    char *manifest_cache;       /* host_options.manifest_cache */
    tn_value isolate;           /* ids, copied from the options */
    tn_value drafts;            /* {id: true}, copied from the options */
    tn_value unbound_roles;     /* see host_unbound_roles */
};

/* What documents of this host may read; `roots` are those of host_options. Needs the configuration; host_free frees it.
 */
struct files *host_files_new(struct host *host, const char *const *roots);

#endif
