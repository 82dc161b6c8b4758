/*
 * remote.h - the host's side of an isolated plugin: a tn_plugin that forwards every call to a child process.
 *
 * The registry and the call layer use it like the entry of any other plugin; it speaks the component protocol
 * (sdk/guide/protocol.md) to its processes. Async components share one process. Each task of a blocking component has a
 * process to itself, from a pool of at most `processes`. They are started when they are first needed. When one ends,
 * the tasks in it fail with PLUGIN_CRASHED. Other tasks wait for a process within their own time limits. A process is
 * started again after a pause that doubles with each death in a row, up to REMOTE_PAUSE_MAX_MS, without end.
 *
 *     const tn_plugin *remote = remote_open(&services, plugin);
 *     if (remote_start(remote, config, &error) != TN_OK) return report(&error);
 *     ...
 *     remote_close(remote);                        // called by the lifecycle's deinit
 *
 * Thread: loop. remote_start, remote_close, the first `create` of an instance and reducers block the loop
 * (REMOTE_START_MS, REMOTE_CREATE_MS at most); nothing else does. They do not wait for a pause: they start a process at
 * once.
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_REMOTE_H
#define TENON_HOST_PLUGIN_ISOLATE_REMOTE_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <tenon.h>
#include <tenon/document.h>
#include <tenon/host.h>
#include <tenon/http.h>
#include <tenon/server.h>
#include <tenon/state.h>

struct callable;
struct config;
struct loop;
struct plugin;
struct secrets;

/* The services of the host that isolated plugins use. Borrowed until the last remote is closed. */
struct remote_services {
    struct loop *loop;
    const struct config *config; /* resolves the secrets that manifests name */
    struct secrets *secrets;     /* learns these, and removes them from the output of child processes */
    bool secrets_optional;       /* a replay: a secret that cannot be resolved is skipped */
    const tn_http_1 *http;
    const tn_host_1 *methods;
    const tn_server_draft *server;
    const tn_state_draft *state;
    const tn_document_draft *document;
    struct callable *(*http_request)(struct plugin *plugin); /* makes a callable for one HTTP request */
    /* True if the plugin must not start without a filter of system calls. NULL if no plugin needs one. */
    bool (*requires_filter)(void *user, const struct plugin *plugin);
    void *requires_filter_user;
    /* The most processes for blocking components of the plugin, 1 to REMOTE_PROCESSES_MAX. NULL means the default. */
    uint32_t (*processes)(void *user, const struct plugin *plugin);
    void *processes_user;
    const _Atomic int64_t *ends_by_ms; /* as in process.h; NULL: never */
    const char *state_folder;          /* where deaths are recorded (remote_deaths.h); NULL if they are not */
};

#define REMOTE_START_MS      10000 /* limit for starting a process, and loading and initialising its plugin */
#define REMOTE_CREATE_MS     5000  /* limit for creating one instance, and for shutting down */
#define REMOTE_CANCEL_MS     2000  /* a process that has not ended a cancelled task after this time is killed */
#define REMOTE_PING_MS       10000 /* a process that serves requests over HTTP must answer `ping` within this time */
#define REMOTE_PING_TICK_MS  2000  /* it is asked this often, and its time is counted in these steps */
#define REMOTE_PAUSE_MS      100   /* pause before the restart after the first death; doubles with each one in a row */
#define REMOTE_PAUSE_MAX_MS  30000 /* the longest pause */
#define REMOTE_RESET_MS      500   /* how often a host that pauses looks for a reset */
#define REMOTE_STARTS_MAX    5u    /* a task that waits fails after so many starts that failed */
#define REMOTE_REPORT_DEATHS 3u    /* from this many deaths in a row, the log line states their number */
#define REMOTE_IDLE_MS       60000 /* an idle process ends after this time; the last used one stays */
/* The default limit of processes for blocking components: the number of workers, but at most this. */
#define REMOTE_POOL_DEFAULT_MAX 16u
/* Processes of one pool, including those whose tasks wait for calls that they made, which no other limit counts. */
#define REMOTE_PROCESSES_MAX 256u

/* [any] The default limit now: REMOTE_POOL_DEFAULT_MAX, or fewer workers. */
uint32_t remote_processes_default(void);
/* Creates a remote without starting its process. `plugin` is borrowed until remote_close. */
const tn_plugin *remote_open(const struct remote_services *services, struct plugin *plugin);
/* Starts the process, and initialises the plugin with its section of tenon.yaml. */
int32_t remote_start(const tn_plugin *remote, tn_value config, struct error *error);
/* The same without waiting: see struct isolation. */
int32_t remote_start_later(const tn_plugin *remote, tn_value config,
                           void (*started)(struct plugin *plugin, const struct error *error), struct error *error);
/* Shuts the child down, or kills it if tasks are still open, and frees the remote. */
void remote_close(const tn_plugin *remote);

/* Clears the pause and the number of deaths: what waits is started at once. */
void remote_reset(const tn_plugin *remote);

/* For tests: the id of a process (the shared one, if it runs), 0 if none runs; how many run; the number of deaths. */
int64_t remote_process(const tn_plugin *remote);
uint32_t remote_process_count(const tn_plugin *remote);
uint32_t remote_deaths(const tn_plugin *remote);

#endif
