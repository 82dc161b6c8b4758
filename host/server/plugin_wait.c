/* plugin_wait.c - looks from time to time: plugins add their components in other turns of the loop. */
#include "host/server/plugin_wait.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/plugin/registry/registry.h"

#define RETRY_MS 10 /* between two looks */

void plugin_wait_init(struct plugin_wait *wait, struct host *host, void (*again)(struct plugin_wait *wait)) {
    *wait = (struct plugin_wait){.host = host, .again = again, .started_ms = loop_now_ms(host_loop(host))};
}

void plugin_wait_defer_loads(struct plugin_wait *wait, bool on) {
    registry_defer_loads(host_registry(wait->host), on);
    wait->defers |= on;
}

bool plugin_wait_helps(struct plugin_wait *wait) {
    const struct registry *registry = host_registry(wait->host);
    wait->awaits_load = wait->defers && registry_has_deferred(registry);
    return wait->awaits_load || (!wait->last_try && registry_is_expecting(registry));
}

static void plugin_wait_look(struct loop_timer *timer) {
    struct plugin_wait *wait = CONTAINER_OF(timer, struct plugin_wait, timer);
    const struct registry *registry = host_registry(wait->host);
    bool late = loop_now_ms(host_loop(wait->host)) - wait->started_ms >= REGISTRY_EXPECT_MS;
    if (wait->awaits_load ? registry_is_loading(registry) : registry_is_expecting(registry) && !late) {
        plugin_wait_start(wait);
        return;
    }
    wait->last_try = !wait->awaits_load; /* it may need another plugin, which is loaded then */
    wait->again(wait);
}

void plugin_wait_start(struct plugin_wait *wait) {
    loop_timer_start(host_loop(wait->host), &wait->timer, RETRY_MS, plugin_wait_look);
}

void plugin_wait_stop(struct plugin_wait *wait) {
    if (plugin_wait_is_running(wait)) loop_timer_stop(host_loop(wait->host), &wait->timer);
}

bool plugin_wait_is_running(const struct plugin_wait *wait) { return loop_timer_is_running(&wait->timer); }
