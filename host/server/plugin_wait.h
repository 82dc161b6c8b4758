/*
 * plugin_wait.h - tries again, without blocking the loop, what has failed because plugins are adding components:
 * servers of MCP that list their tools, documents that are fetched, processes of isolated plugins that start.
 *
 *     plugin_wait_init(&wait, host, again);
 *     plugin_wait_defer_loads(&wait, true);
 *     ... status = graph_open(...);
 *     plugin_wait_defer_loads(&wait, false);
 *     if (status != TN_OK && plugin_wait_helps(&wait)) plugin_wait_start(&wait);  // later: again(&wait), once
 *
 * The number of attempts is finite: after components are known, or after REGISTRY_EXPECT_MS, there is one more, and one
 * for each process that it starts. Thread: that of the host.
 */
#ifndef TENON_HOST_SERVER_PLUGIN_WAIT_H
#define TENON_HOST_SERVER_PLUGIN_WAIT_H

#include "host/base/loop.h"
#include <stdbool.h>
#include <stdint.h>

struct host;

struct plugin_wait {
    struct loop_timer timer;
    struct host *host; /* NULL: no wait can be running */
    void (*again)(struct plugin_wait *wait);
    int64_t started_ms; /* of the first attempt */
    bool last_try;      /* not again because of announced components */
    bool defers;        /* plugin_wait_defer_loads was used */
    bool awaits_load;   /* it waits for processes of isolated plugins, not for announced components */
};

void plugin_wait_init(struct plugin_wait *wait, struct host *host, void (*again)(struct plugin_wait *wait));
/* On: the attempt fails instead of waiting for the process of an isolated plugin (registry_defer_loads). */
void plugin_wait_defer_loads(struct plugin_wait *wait, bool on);
/* After a failed attempt: true if another one can succeed. */
bool plugin_wait_helps(struct plugin_wait *wait);
void plugin_wait_start(struct plugin_wait *wait);
void plugin_wait_stop(struct plugin_wait *wait); /* no effect if it is not running */
bool plugin_wait_is_running(const struct plugin_wait *wait);

#endif
