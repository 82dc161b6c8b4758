/*
 * expects.c - a plugin for tests/e2e/quiesce.sh: it adds one tool and expects more, until quiesce, which the logs show.
 * Afterwards it finishes at once, late, or never, as its configuration says.
 */
#include <string.h>
#include <tenon/easy.h>
#include <tenon/registry.h>

TN_NOTE("{\"plugin\": {\"id\": \"test.expects\", \"version\": \"1.0.0\", \"title\": \"Expects more tools\","
        " \"requires\": [\"tenon.core/1\", \"tenon.value/1\", \"tenon.task/1\", \"tenon.eval/1\","
        " \"tenon.registry/1\"], \"dynamic\": [\"tool\"], \"config\": {\"type\": \"object\", \"properties\":"
        " {\"finishes\": {\"enum\": [\"at once\", \"late\", \"never\"]}}}}}")

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;
TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *host) { return tn_easy_entry(host); }

static const tn_registry_1 *registry;
static char finishes[16];

static int32_t TN_ABI init(void *self, tn_value config) {
    static const char tool[] =
        "{\"kind\": \"tool\", \"id\": \"test.added\", \"title\": \"Added\", \"style\": \"async\","
        " \"effects\": [], \"input\": {\"type\": \"object\"}}";
    tn_value component = NULL;
    (void)self;
    registry = tn_easy_interface(tn.host, TN_REGISTRY_1, sizeof *registry);
    if (registry == NULL) return TN_UNSUPPORTED;
    strncpy(finishes, tn_get_text(config, "finishes", "at once"), sizeof finishes - 1);
    if (tn.value->from_json(tn.host, tool, TN_Z, &component, NULL) != TN_OK) return TN_ERROR;
    (void)registry->add(tn.host, component, NULL);
    tn_release(component);
    return registry->expect(tn.host, 1);
}

static void TN_ABI finish(void *argument) {
    (void)argument;
    tn_log(TN_LOG_WARN, "has finished late");
    (void)registry->expect(tn.host, 0);
}

static void TN_ABI quiesce(void *self) {
    (void)self;
    tn_log(TN_LOG_WARN, "quiesces");
    if (strcmp(finishes, "at once") == 0) (void)registry->expect(tn.host, 0);
    if (strcmp(finishes, "late") == 0 && tn_post(200, finish, NULL) != 0) (void)registry->expect(tn.host, 1);
    if (strcmp(finishes, "never") == 0) (void)registry->expect(tn.host, 1);
}

TN_LIFECYCLE(init, quiesce, NULL)

static int32_t create(const char *id, uint64_t length, tn_value config, tn_binder *binder, void **self) {
    (void)id, (void)length, (void)config, (void)binder;
    *self = NULL;
    return TN_OK;
}

static int32_t start(void *self, tn_task task, tn_value input) {
    (void)self, (void)input;
    return tn_done(task);
}

TN_DYNAMIC(tool, create, start, NULL, NULL, NULL)
