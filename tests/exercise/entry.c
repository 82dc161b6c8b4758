/*
 * entry.c - a plugin that can be exercised but has the defect that DEFECT names, outside its components, for
 * tests/e2e/exercise.sh.
 */
#define NONE            0
#define OFFERS_ANYTHING 1 /* returns an interface for every id */
#define NEVER_ENDS      2 /* what init starts does not end */
#define HOST_SYMBOL     3 /* imports a symbol of the host */
#define UNIQUE_SYMBOL   4 /* shares a variable with all other versions of itself */
#define NOTHING         5 /* has no component */
#define GETS_DRAFT      6 /* requests a draft without declaring it */
#define RESERVED        7 /* has a reserved name */
#define OPTIONAL_DRAFT  8 /* declares a draft as optional */

#if DEFECT == NEVER_ENDS || DEFECT == GETS_DRAFT
#define LIFECYCLE (&lifecycle)
#endif
#include "../plugins/plugin.h"
#include <tenon/state.h>

#if DEFECT == NEVER_ENDS
static void tick(void *argument) {
    const tn_core_1 *core = (const tn_core_1 *)host->get(host->self, TN_CORE_1);
    (void)core->post(host, 5, tick, NULL, argument, NULL);
}
#endif

#if DEFECT == NEVER_ENDS || DEFECT == GETS_DRAFT
static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
#if DEFECT == NEVER_ENDS
    tick(NULL);
#else
    (void)host->get(host->self, TN_STATE_DRAFT);
#endif
    return TN_OK;
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, NULL, NULL};
#endif

#if DEFECT == HOST_SYMBOL
extern int tn_secret;
int *const secret __attribute__((used)) = &tn_secret;
#elif DEFECT == UNIQUE_SYMBOL
__asm__(".data\n.globl shared_by_all\n.type shared_by_all, %gnu_unique_object\n.size shared_by_all, 4\n"
        "shared_by_all: .long 0\n.text\n");
#endif

#if DEFECT == OPTIONAL_DRAFT
MANIFEST("test.entry", "1.0.0", ",\"licence\":\"MIT\",\"optional\":[\"" TN_STATE_DRAFT "\"]")
#elif DEFECT == RESERVED
MANIFEST("tenon.entry", "1.0.0", ",\"licence\":\"MIT\",\"requires\":[\"" TN_TASK_1 "\"]")
#else
MANIFEST("test.entry", "1.0.0", ",\"licence\":\"MIT\",\"requires\":[\"" TN_TASK_1 "\"]")
#endif
#if DEFECT != NOTHING
COMPONENT(node, "test.entry")
#endif

#if DEFECT == OFFERS_ANYTHING
static const tn_component_1 components = {sizeof(tn_component_1), component_create, component_start, NULL, NULL,
                                          component_destroy};
static const tn_lifecycle_1 nothing = {sizeof(tn_lifecycle_1), NULL, NULL, NULL};
static const void *offer(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? (const void *)&components : &nothing;
}
static const tn_plugin plugin = {sizeof(tn_plugin), NULL, offer};
TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *given) {
    host = given;
    return &plugin;
}
#else
ENTRY
#endif
