/*
 * ag_ui.c - the plugin `tenon.ag_ui`: graphs for pages that speak AG-UI. README.md describes the protocol.
 */
#include "exchange.h"

TN_PLUGIN("tenon.ag_ui", "0.1.0", "Graphs for pages that speak AG-UI")

/* The state of the plugin, which the host initialises once in a process. */
static struct ag_ui ag_ui;

static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    if (!serving_open(&ag_ui.serving)) return TN_OK; /* the host serves nothing */
    return serving_exchanges_open(&ag_ui.exchanges, &ag_ui.serving, &ag_ui_protocol, &ag_ui);
}

static void TN_ABI deinit(void *self) {
    (void)self;
    serving_exchanges_close(&ag_ui.exchanges);
}

TN_LIFECYCLE(init, NULL, deinit)
