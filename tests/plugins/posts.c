/*
 * posts.c - work that it starts in init continues until quiesce, and needs a moment to end.
 */
#define LIFECYCLE (&lifecycle)
#include "plugin.h"

static const tn_core_1 *core;
static int quiesced;

static void tick(void *argument) {
    if (!quiesced) (void)core->post(host, 5, tick, NULL, argument, NULL);
}

static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    core = (const tn_core_1 *)host->get(host->self, TN_CORE_1);
    return core && core->post(host, 0, tick, NULL, NULL, NULL) == TN_OK ? TN_OK : TN_ERROR;
}

static void quiesce(void *self) {
    (void)self;
    quiesced = 1;
}

/* Never run: it is posted too late. */
static void deinit(void *self) {
    (void)self;
    (void)core->post(host, 0, tick, NULL, NULL, NULL);
}

static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), init, quiesce, deinit};

MANIFEST("test.posts", "1.0.0", "")
COMPONENT(one, "test.posting")
ENTRY
