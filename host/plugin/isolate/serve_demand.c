/*
 * serve_demand.c - the host looks for components: passes it on to the plugin's function for tenon/demand.h.
 *
 * A plugin says that something more may come by what its function returns, so the function is called again until it
 * says that nothing does; then the host gets `demanded`.
 */
#include "adl/value/memory.h"
#include "host/plugin/isolate/serve_internal.h"
#include <string.h>

#define SERVE_DEMAND_MS 20 /* between two calls of the function */

struct served_demand {
    struct served_demand *next;
    tn_value params;
};

static bool served_demand_asks(tn_value params, int32_t how) {
    size_t kind_length, length;
    const char *kind = value_chars(value_get(params, "kind"), &kind_length);
    const char *pattern = value_chars(value_get(params, "pattern"), &length);
    return registry_demand_one(server.plugin, kind, kind_length, pattern, length, how);
}

static void served_demand_end(tn_value params) {
    tn_value about = value_set_take(value_object_reserve(2), "kind", value_ref(value_get(params, "kind")));
    serve_notify_take("demanded", value_set_take(about, "pattern", value_ref(value_get(params, "pattern"))));
}

static void served_demand_free(struct served_demand *demand) {
    value_unref(demand->params);
    mem_free(demand);
}

static void served_demands_check(struct loop_timer *timer) {
    for (struct served_demand **at = &server.demands; *at;) {
        struct served_demand *demand = *at;
        if (served_demand_asks(demand->params, TN_DEMAND_START)) {
            at = &demand->next;
            continue;
        }
        *at = demand->next;
        served_demand_end(demand->params);
        served_demand_free(demand);
    }
    if (server.demands) loop_timer_start(server.loop, timer, SERVE_DEMAND_MS, served_demands_check);
}

void serve_demand(tn_value id, tn_value params) {
    tn_value how = value_get(params, "how");
    if (!server.plugin || !value_is(value_get(params, "kind"), TN_STRING) ||
        !value_is(value_get(params, "pattern"), TN_STRING))
        return;
    if (id) {
        bool more = served_demand_asks(params, value_text_is(how, "known") ? TN_DEMAND_KNOWN : TN_DEMAND_QUERY);
        serve_respond_take(id, value_set_take(value_object_reserve(1), "more", value_bool(more)));
        return;
    }
    struct served_demand *demand = mem_zalloc(sizeof *demand);
    *demand = (struct served_demand){server.demands, value_ref(params)};
    server.demands = demand;
    loop_timer_stop(server.loop, &server.demand_timer);
    served_demands_check(&server.demand_timer);
}

void serve_discard_demands(void) {
    loop_timer_stop(server.loop, &server.demand_timer);
    while (server.demands) {
        struct served_demand *demand = server.demands;
        server.demands = demand->next;
        served_demand_free(demand);
    }
}
