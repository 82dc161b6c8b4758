/*
 * host.h - what one host is made of: a loop, a registry of components, configuration, and the documents it has open.
 *
 * One thing in it is the process's: `limits.workers`, the threads that all hosts share; the last host that sets it
 * wins.
 *
 * The library's handle (tenon/embed.h) and every command hold one. All of it belongs to the loop's thread.
 *
 *     struct host *host = host_new(&(struct host_options){.plugin_path = path}, &error);
 *     graph_open(host, NULL, "triage.yaml", 0, &graph, &error);
 *     host_free(host);
 */
#ifndef TENON_HOST_HOST_H
#define TENON_HOST_HOST_H

#include "adl/document/catalog.h"
#include "adl/value/error.h"

struct config;
struct diagnostics;
struct graph;
struct http;
struct loop;
struct recorder;
struct registry;
struct replayer;
struct store;
struct tools;

struct host_options {
    const char *const *plugin_paths; /* searched first; NULL-terminated; NULL: none */
    bool no_installed;               /* look for plugins neither in the user's folder nor where the host's own are */
    const char *config_file;         /* NULL: tenon.yaml, searched upwards from the working directory */
    bool no_config;                  /* read none */
    const char *const *isolate;      /* ids of plugins to run in processes of their own; NULL-terminated; NULL: none */
    const char *const *models;       /* --model, see model_bind; NULL-terminated; NULL: none */
    bool check_plugins;              /* watch them for what the contract forbids: interface/guard.h */
    bool allow_drafts;               /* draft interfaces for plugins that are not bundled */
    /*
     * Folders: every exchange over HTTP is written there, or answered from there, without network (http/recording.h);
     * not both. NULL: what the environment says by TENON_HTTP_RECORD and TENON_HTTP_REPLAY, else none.
     */
    const char *record_dir, *replay_dir;
};

struct host {
    struct loop *loop;
    struct registry *registry;
    struct config *config;
    struct catalog catalog;       /* the registry, and files */
    struct graph *graphs;         /* what graph_open has given and is still in use */
    struct graph *building;       /* the innermost graph that is being built; NULL: none */
    struct http *http;            /* for plugins: interface/http.c */
    struct recorder *http_record; /* NULL: nothing is recorded */
    struct replayer *http_replay; /* NULL: requests go out */
    struct store *store;          /* NULL until host_store is first asked for it */
    struct tools *tools;          /* what the tool kernel keeps; NULL until tools_of is first asked for it */
    uint32_t callee_depth;        /* of components that are made for each other just now: engine/binding.h */
    bool allow_drafts, check_plugins;
    tn_value isolate;        /* the options' `isolate`, an array */
    tn_value fallbacks_told; /* {run and model: true}: of what has been warned; NULL: of nothing (model/model.c) */
    /* {role: binding}: what --model binds that tenon.yaml has not, and no document has asked about yet: unknown.h */
    tn_value roles_unheard;
    /* `limits` of tenon.yaml: the most a run gets, whatever its document asks for; UINT32_MAX where nothing is said. */
    uint32_t concurrency_max, recursion_max;
    /* Diagnostics of documents opened on the way (subgraphs), for whoever reports; may be NULL. */
    struct diagnostics *found;
};

struct host *host_new(const struct host_options *options, struct error *error);
void host_free(struct host *host);
/* Why a plugin runs in a process of its own, for people; a static text, NULL where it does not. */
struct plugin;
const char *host_isolation_reason(const struct host *host, const struct plugin *plugin);
/* What a registry of this host is made with: for one more, that a plugin is checked in. */
struct registry_options;
void host_registry_options(struct host *host, struct registry_options *out);

#endif
