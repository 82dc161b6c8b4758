/*
 * demand-1-draft.1.c - the exhibit of tenon.demand/1-draft.1: a tool that is added when it is looked for.
 */
#include "exhibit.h"
#include <tenon/demand-1-draft.1.h>
#include <tenon/registry.h>

MANIFEST("demand", "Uses everything of tenon.demand/1-draft.1", TN_DEMAND_DRAFT "\",\"" TN_REGISTRY_1,
         ",\"dynamic\":[\"tool\"]")
NODE(wants, "museum.wants", PROPERTY("out", "channel-write"))

static const tn_demand_draft *subject;
static const tn_registry_1 *registry;

struct instance {
    int32_t is_tool;
    uint32_t wanted, out;
    tn_task task;
};

static int64_t watched, added = 1;
static int32_t asked, others;

static void add_tool(void) {
    tn_value component =
        from_json("{\"kind\":\"tool\",\"id\":\"museum.wanted\",\"title\":\"Is added when it is wanted\","
                  "\"documentation\":\"Says so.\",\"style\":\"async\",\"effects\":[],\"input\":{"
                  "\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}}");
    added = registry->add(host, component, NULL);
    values->release(component);
}

static int32_t TN_ABI demand(void *user, const char *kind, uint64_t kind_length, const char *pattern,
                             uint64_t pattern_length, int32_t how) {
    int32_t all = pattern_length == 1 && pattern[0] == '*';
    if (user != &asked || kind_length != 4 || memcmp(kind, "tool", 4) != 0) others++;
    if (all == 0 && is_id(pattern, pattern_length, "museum.wanted") == 0) return 0;
    if (how == TN_DEMAND_QUERY) return added != TN_OK;
    if (asked == 0) add_tool();
    asked = 1;
    return 0;
}

static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    registry = (const tn_registry_1 *)host->get(host->self, TN_REGISTRY_1);
    if (registry == NULL) return TN_ERROR;
    watched = subject->watch(host, demand, NULL);
    watched += subject->watch(host, NULL, NULL);
    watched += subject->watch(host, demand, &asked);
    return TN_OK;
}

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    struct instance made;
    int32_t status = TN_OK;
    (void)self;
    memset(&made, 0, sizeof(made));
    made.is_tool = !is_id(id, length, "museum.wants");
    if (!made.is_tool) {
        status = bind_out(binder, config, &made.out);
        if (status == TN_OK) status = tasks->bind_call(binder, "tool", TN_Z, "museum.wanted", TN_Z, NULL, &made.wanted);
    }
    return keep_instance(status, &made, sizeof(made), instance);
}

static int32_t TN_ABI called(void *user, int32_t status, tn_value result) {
    struct instance *self = (struct instance *)user;
    tn_value said = from_json("{}");
    say_int(&said, "watch", watched);
    say_int(&said, "add", added);
    say_int(&said, "demands of something else", others);
    say_int(&said, "call", status);
    say(&said, "its result", values->retain(result));
    (void)end_said(self->task, self->out, said);
    return TN_OK;
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    (void)input;
    if (self->is_tool) {
        tn_value here = from_json("\"here\"");
        int32_t status = tasks->complete(task, here);
        values->release(here);
        return status;
    }
    self->task = task;
    tn_value none = from_json("{}");
    int32_t status = tasks->call(task, self->wanted, none, NULL, called, self, NULL);
    values->release(none);
    return status;
}

static void TN_ABI destroy(void *instance) { core->release(host, instance); }

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, NULL, NULL};

EXHIBIT(TN_DEMAND_DRAFT, tn_demand_draft, &lifecycle)
