/*
 * remote.h - the host's side of an isolated plugin: a tn_plugin that forwards every call to a child process.
 *
 * The registry and the call layer use it like the entry of any other plugin; it speaks the component protocol
 * (sdk/protocol.md) to the child. The child is started when it is first needed. If it ends, every open task fails with
 * PLUGIN_CRASHED, and the next task starts it again, after a pause that doubles with each death. After
 * REMOTE_DEATHS_MAX deaths within REMOTE_DEATHS_MS it is not started again.
 *
 *     const tn_plugin *remote = remote_open(&services, plugin);
 *     if (remote_start(remote, config, &error) != TN_OK) return report(&error);
 *     ...
 *     remote_close(remote);                        // called by the lifecycle's deinit
 *
 * Thread: loop. Starting a process and creating an instance block the loop (REMOTE_START_MS, REMOTE_CREATE_MS at most);
 * nothing else does.
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_REMOTE_H
#define TENON_HOST_PLUGIN_ISOLATE_REMOTE_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <tenon.h>
#include <tenon/document.h>
#include <tenon/http.h>
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
    bool allow_drafts;
    bool secrets_optional; /* a replay: a secret that cannot be resolved is skipped */
    const tn_http_draft *http;
    const tn_state_draft *state;
    const tn_document_draft *document;
    struct callable *(*http_request)(struct plugin *plugin); /* makes a callable for one HTTP request */
    /* True if the plugin must not start without a filter of system calls. NULL if no plugin needs one. */
    bool (*requires_filter)(void *user, const struct plugin *plugin);
    void *requires_filter_user;
};

#define REMOTE_START_MS   10000 /* limit for starting a process, and loading and initialising its plugin */
#define REMOTE_CREATE_MS  5000  /* limit for creating one instance */
#define REMOTE_CANCEL_MS  2000  /* a process that has not ended a cancelled task after this time is killed */
#define REMOTE_PAUSE_MS   100   /* pause before the restart after the first death; doubles with each one */
#define REMOTE_DEATHS_MAX 5u    /* deaths within REMOTE_DEATHS_MS before the plugin is given up */
#define REMOTE_DEATHS_MS  60000

/* Creates a remote without starting its process. `plugin` is borrowed until remote_close. */
const tn_plugin *remote_open(const struct remote_services *services, struct plugin *plugin);
/* Starts the process, and initialises the plugin with its section of tenon.yaml. */
int32_t remote_start(const tn_plugin *remote, tn_value config, struct error *error);
/* Shuts the child down, or kills it if tasks are still open, and frees the remote. */
void remote_close(const tn_plugin *remote);

/* For `tenon doctor` and tests: the process id, 0 if no process runs; the number of deaths. */
int64_t remote_process(const tn_plugin *remote);
uint32_t remote_deaths(const tn_plugin *remote);

#endif
