/*
 * session_server.c - the plugin `tenon.session_server`: graphs for clients that send sessions. README.md describes the
 * protocol.
 */
#include "exchange.h"

TN_PLUGIN("tenon.session_server", "0.1.0", "Graphs for clients that send sessions")

/* The state of the plugin, which the host initialises once in a process. */
static struct session_server session_server;

static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    if (!serving_open(&session_server.serving)) return TN_OK; /* the host serves nothing */
    return serving_exchanges_open(&session_server.exchanges, &session_server.serving, &session_protocol,
                                  &session_server);
}

static void TN_ABI deinit(void *self) {
    (void)self;
    serving_exchanges_close(&session_server.exchanges);
}

TN_LIFECYCLE(init, NULL, deinit)
