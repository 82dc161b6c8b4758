/*
 * host.h - one instance of Tenon: configuration, log, loop, registry of plugins, HTTP, store and engine.
 *
 * A process can have several hosts; they are independent, also in different threads. They share only the worker
 * threads: the host that was opened last with `limits.workers` sets their number. Hosts that are opened `beside`
 * another one share its store and its limits, too. The library's handle (tenon/embed.h) and each command own one host.
 * Thread: all functions belong to the thread of the host's loop, which is the one of host_new.
 *
 *     struct host *host = host_new(&(struct host_options){.plugin_paths = paths}, &error);
 *     graph_open(host_engine(host), NULL, "triage.yaml", 0, NULL, &graph, &error);
 *     host_free(host);
 */
#ifndef TENON_HOST_ASSEMBLY_HOST_H
#define TENON_HOST_ASSEMBLY_HOST_H

#include "adl/document/catalog.h"
#include "adl/value/error.h"

struct config;
struct engine;
struct host;
struct http;
struct log;
struct plugin;
struct loop;
struct registry;
struct secrets;
struct kernel_source;
struct store;

struct host_options {
    const char *const *plugin_paths; /* searched first; NULL-terminated; may be NULL */
    bool no_installed;               /* do not search the user's folder and the bundled plugins */
    const char *config_file;         /* NULL means tenon.yaml, searched upwards from the working directory */
    bool no_config;                  /* read no tenon.yaml, and record no deaths of plugins */
    const char *const *isolate;      /* ids of plugins to run in separate processes; NULL-terminated; may be NULL */
    bool loads_later;                /* plugins may be loaded later: an unknown id in `isolate` is only a warning */
    const char *const *models;       /* --model, see model_bind; NULL-terminated; may be NULL */
    tn_value bindings;               /* {role: binding}, in addition to `models`; may be NULL */
    const char *const *file_roots;   /* added to files.roots, see base/files.h; NULL-terminated; may be NULL */
    bool check_plugins;              /* check mode: validate all calls of plugins, see plugin/conformance/guard.h */
    /* registry_options.requested. May be NULL. */
    void (*requested)(const struct plugin *plugin, const char *interface_id, bool offered);
    const char *known_plugin;  /* an id that tenon.yaml may name although no such plugin is found; may be NULL */
    bool allow_drafts;         /* draft interfaces for plugins that are not bundled */
    const char *const *drafts; /* ids of plugins that may use them, in addition to plugins.drafts; may be NULL */
    bool quiet;                /* log errors only, whatever tenon.yaml sets */
    bool known_only;           /* registry_options.known_only: nothing is started to find components */
    /*
     * Folders to which all HTTP exchanges are recorded, or from which they are answered without a network; see
     * net/http_recording.h. At most one of them. If both are NULL, TENON_HTTP_RECORD and TENON_HTTP_REPLAY apply.
     */
    const char *record_dir, *replay_dir;
    /*
     * The folder in which what plugins' manifests say is cached (plugin/registry/manifest_cache.h); NULL: the files are
     * read. `refresh_manifests`: they are read, and the cache is written.
     */
    const char *manifest_cache;
    bool refresh_manifests;
    /*
     * Another host of this process, for whose runs the new one is a second loop (host/loops): its configuration and its
     * store are used instead of reading and opening them again, and limits apply to both together. The members above
     * that change the configuration are ignored. Its store must be open (host_store) to be shared. It must not be used
     * during host_new, and must be freed later. May be NULL.
     */
    struct host *beside;
};

/*
 * Opens a host; the calling thread becomes the thread of its loop, and its log the current log. Returns NULL with the
 * error of the configuration, the search for plugins or the recordings.
 */
struct host *host_new(const struct host_options *options, struct error *error);
/* NULL is allowed. No run or call may be active. */
void host_free(struct host *host);

/* The parts; borrowed until host_free. */
struct log *host_log(const struct host *host);
struct loop *host_loop(const struct host *host);
struct registry *host_registry(const struct host *host);
struct config *host_config(const struct host *host);
struct engine *host_engine(const struct host *host);
const struct catalog *host_catalog(const struct host *host);
struct search;
const struct search *host_plugin_search(const struct host *host); /* where it has searched plugins when it was opened */
/*
 * Resolves `pack:NAME/FILE`, `tenon:NAME` or `graph:NAME`, and verifies the file: *path becomes its path, to be freed
 * with mem_free. TN_NOT_FOUND if the name is an ordinary one. `host` is a struct host, as for registry_options.locate.
 */
int32_t host_locate_file(void *host, const char *name, char **path, struct error *error);
/* Visits the documents that every document may name: `tenon:NAME`, and those of packs in use, `pack:NAME/FILE`. [any]
 */
void host_each_document(const struct host *host, void (*visit)(void *user, const char *name, const char *title),
                        void *user);
struct http *host_http(const struct host *host);
struct secrets *host_secrets(const struct host *host);
const struct kernel_source *host_state(const struct host *host); /* for the state kernel */
struct method_source;
/*
 * What tenon.host works on (plugin/abi/abi_host.h): a server sets it once (server/server.h), and host_free calls its
 * `free`. It is copied, and the copy lives as long as the host, because workers use it. NULL removes it. Without it,
 * plugins get UNSUPPORTED.
 */
void host_set_methods(struct host *host, const struct method_source *methods);
const struct method_source *host_method_source(const struct host *host); /* NULL if it has none */
struct route_source;
/* What tenon.server works on (plugin/abi/abi_server.h): server/web sets it; copied. NULL: the host serves nothing. */
void host_set_routes(struct host *host, const struct route_source *routes);
/*
 * The store that tenon.yaml configures. The default is SQLite in .tenon/ beside tenon.yaml or, without that file, in
 * the user's data folder. It is opened by the first call and closed by host_free. NULL with the error if it cannot be
 * opened.
 */
struct store *host_store(struct host *host, struct error *error);
/* These replace the configured store. Call one of them before the first host_store. */
void host_set_store_take(struct host *host, struct store *store);
void host_set_store_options_take(struct host *host, tn_value options); /* {use, path, …}, as in tenon.yaml */
void host_allow_drafts(struct host *host); /* for registries that are created afterwards with host_registry_options */
/* True if this plugin may use drafts, although it is not bundled. */
bool host_allows_drafts(const struct host *host, const char *plugin_id);
/* True if the operator lets this plugin call methods that change the host (plugins.admin). */
bool host_allows_admin(const struct host *host, const char *plugin_id);
/* Binds roles to models as --model does: {role: binding}. INVALID_CONFIG. */
int32_t host_bind_roles(struct host *host, tn_value bindings, struct error *error);
/* {role: binding}: the bindings of --model, or of host_bind_roles, that no document has used yet. */
tn_value host_unbound_roles(const struct host *host);

/*
 * The number of loops, that is of hosts, that share the runs of this process: this one and those that are beside it. It
 * divides what plugins.processes allows. 1 at first; set it before a plugin is loaded.
 */
void host_set_loops(struct host *host, uint32_t count);
uint32_t host_loops(const struct host *host);
/*
 * The host ends: from `by_ms` on (base/clock.h, clock_now_ms), isolated plugins must answer within
 * PROCESS_LAST_CALL_MS, also the calls that wait then; the process of one that does not is killed. So a store that does
 * not answer cannot hold up the end. It holds for the hosts beside this one, too. Thread: any.
 */
void host_limit_end(struct host *host, int64_t by_ms);
bool host_records(const struct host *host); /* it records exchanges of HTTP, or replays them */

/* Why a plugin runs in a separate process: a static text for people. NULL if it does not. */
const char *host_isolation_reason(const struct host *host, const struct plugin *plugin);
/* What hosts of this user have recorded about the deaths of its processes (remote_deaths.h); a new reference, or NULL.
 */
tn_value host_plugin_deaths(const struct host *host, const char *plugin_id);
struct registry_options;
/* The options of this host's registry: used to create a second one, in which a plugin is checked. */
void host_registry_options(struct host *host, struct registry_options *out);

#endif
