/*
 * ag_ui.c - the plugin `tenon.ag_ui`: graphs for pages that speak AG-UI. README.md describes the protocol.
 */
#include "exchange.h"

TN_PLUGIN("tenon.ag_ui", "0.1.0", "Graphs for pages that speak AG-UI")

/* The state of the plugin, which the host initialises once in a process. */
static struct exchanges ag_ui;

static void TN_ABI on_post(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user;
    switch (event) {
    case TN_SERVER_REQUEST: exchange_begin(&ag_ui, request, value); break;
    case TN_SERVER_ROOM: exchange_on_room(&ag_ui, request); break;
    case TN_SERVER_CLOSED: exchange_on_closed(&ag_ui, request, tn_get_text(value, "reason", "client")); break;
    case TN_SERVER_REFUSED:
        exchange_refuse(&ag_ui.serving, request, (int32_t)tn_get_int(value, "status", 500),
                        tn_get_text(value, "message", "the request was refused"), tn_get_text(value, "code", NULL));
        break;
    default: break; /* DRAIN: the run ends soon, and its stream with it */
    }
}

static int32_t TN_ABI init(void *self, tn_value config) {
    static const char *const paths[] = {"/ag-ui", "/ag-ui/{graph}"};
    static const char more[] = "{\"refusals\": true, \"summary\": \"Runs a graph as an agent of AG-UI\", "
                               "\"body\": {\"max\": 33554432, \"types\": [\"application/json\"]}}";
    (void)self, (void)config;
    if (!serving_open(&ag_ui.serving)) return TN_OK; /* the host serves nothing */
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int32_t status = serving_route(&ag_ui.serving, "POST", paths[i], "run", more, on_post, NULL);
        if (status == TN_UNSUPPORTED) return TN_OK;
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

static void TN_ABI deinit(void *self) {
    (void)self;
    exchanges_finish(&ag_ui);
}

TN_LIFECYCLE(init, NULL, deinit)
