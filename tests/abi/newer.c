/*
 * newer.c - newer plugins for old_host.sh. They use an interface that this host does not have; each WAY handles that
 * differently.
 *
 *   REQUIRES  its manifest requires the interface, so it is never loaded (loading it would end the process)
 *   DEGRADES  the interface is optional: it works without, and reports which way it took
 *   DECLINES  declines in its entry point, because it needs graph, with a reason
 *   TRUSTS    uses what its manifest declares as optional without a check: a defect
 */
#include <stdlib.h>
#include <string.h>
#include <tenon.h>
#include <tenon/graph.h>
#include <tenon/note.h>

#define TASK_2 "tenon.task/2" /* of a day to come */

#define REQUIRES 1
#define DEGRADES 2
#define DECLINES 3
#define TRUSTS   4

#if WAY == REQUIRES
#define NEEDS "\"requires\":[\"" TN_VALUE_1 "\",\"" TASK_2 "\"]"
__attribute__((constructor)) static void at_load(void) { abort(); }
#else
#define NEEDS                                                                                                          \
    "\"requires\":[\"" TN_CORE_1 "\",\"" TN_VALUE_1 "\",\"" TN_TASK_1 "\"],\"optional\":[\"" TASK_2                    \
    "\",\"" TN_GRAPH_DRAFT "\"]"
#endif

TN_NOTE_AS(plugin,
           "{\"plugin\":{\"id\":\"test.newer\",\"version\":\"2.0.0\",\"title\":\"From a later day\",\"licence\":"
           "\"MIT\"," NEEDS "}}");
TN_NOTE_AS(node,
           "{\"component\":{\"kind\":\"node\",\"id\":\"test.newer\",\"title\":\"Says which way it went\","
           "\"documentation\":\"Writes the channel out.\",\"style\":\"async\",\"effects\":[],\"config\":{\"type\":"
           "\"object\",\"additionalProperties\":false}}}");

static const tn_host *host;
static const tn_value_1 *values;
static const tn_task_1 *tasks;
static const tn_graph_draft *graph;
static int32_t newest; /* is tenon.task/2 there? */

static int32_t create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                      void **instance) {
    (void)self, (void)id, (void)length, (void)config, (void)binder;
    *instance = NULL;
    return TN_OK;
}

static int32_t start(void *instance, tn_task task, tn_value input) {
    const char *way = newest  ? "{\"writes\":{\"out\":\"task/2\"}}"
                      : graph ? "{\"writes\":{\"out\":\"task/1 with graph\"}}"
                              : "{\"writes\":{\"out\":\"task/1 alone\"}}";
    tn_value output = NULL;
    (void)instance, (void)input;
    int32_t status = values->from_json(host, way, TN_Z, &output, NULL);
    if (status == TN_OK) status = tasks->complete(task, output);
    values->release(output);
    return status;
}

static void destroy(void *instance) { (void)instance; }

static const void *offer(void *self, const char *id) {
    static const tn_component_1 components = {sizeof(tn_component_1), create, start, NULL, NULL, destroy};
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *given) {
    static const tn_plugin plugin = {sizeof(tn_plugin), NULL, offer};
    host = given;
    values = (const tn_value_1 *)host->get(host->self, TN_VALUE_1);
    tasks = (const tn_task_1 *)host->get(host->self, TN_TASK_1);
    graph = (const tn_graph_draft *)host->get(host->self, TN_GRAPH_DRAFT);
    newest = host->get(host->self, TASK_2) != NULL;
    if (WAY == DECLINES && graph == NULL) {
        static const char why[] =
            "{\"code\":\"INTERFACE_MISSING\",\"message\":\"it needs " TN_GRAPH_DRAFT " for what it does\"}";
        const tn_core_1 *core = (const tn_core_1 *)host->get(host->self, TN_CORE_1);
        tn_value error = NULL;
        if (values->from_json(host, why, TN_Z, &error, NULL) == TN_OK) (void)core->refuse(host, error);
        values->release(error);
        return NULL;
    }
    return WAY != TRUSTS || graph->size == sizeof(tn_graph_draft) ? &plugin : NULL;
}
