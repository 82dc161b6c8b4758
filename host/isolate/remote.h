/*
 * remote.h - a plugin that runs in a process of its own, as the registry and the call layer see it: like any other.
 *
 * What plugin_load would get from the plugin's entry is made here: a tn_plugin whose components forward over the
 * component protocol (sdk/protocol.md). Its process is started when it is first needed. When it dies, every open task
 * fails with PLUGIN_CRASHED, and it is started again for the next one: after a pause that doubles with each death, and,
 * after REMOTE_DEATHS_MAX within REMOTE_DEATHS_MS, not at all.
 *
 *     const tn_plugin *end = remote_open(host, plugin);
 *     if (remote_start(end, config, &error) != TN_OK) return report(&error);
 *     ...
 *     remote_close(end);                        // the lifecycle's deinit does it
 *
 * Everything is [loop]. Starting a process, and creating an instance in it, is waited for (REMOTE_START_MS at most);
 * everything else is not.
 */
#ifndef TENON_HOST_REMOTE_H
#define TENON_HOST_REMOTE_H

#include "adl/value/error.h"
#include <stdbool.h>
#include <tenon.h>

struct host;
struct plugin;

#define REMOTE_START_MS   10000 /* for a process to start, load its plugin and initialise it */
#define REMOTE_CREATE_MS  5000  /* for one instance */
#define REMOTE_CANCEL_MS  2000  /* from cancel to the end of the process that does not heed it */
#define REMOTE_PAUSE_MS   100   /* after the first death; doubles */
#define REMOTE_DEATHS_MAX 5u    /* within … */
#define REMOTE_DEATHS_MS  60000 /* … this long, and the plugin is given up */

const tn_plugin *remote_open(struct host *host, struct plugin *plugin);
/* Starts the process and initialises the plugin with its section of the configuration. */
int32_t remote_start(const tn_plugin *end, tn_value config, struct error *error);
void remote_close(const tn_plugin *end);

/* For `tenon doctor` and tests: the process's id, 0 while there is none; how often it has died. */
int64_t remote_process(const tn_plugin *end);
uint32_t remote_deaths(const tn_plugin *end);

#endif
