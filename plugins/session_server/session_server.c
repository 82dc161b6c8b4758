/*
 * session_server.c - the plugin `tenon.session_server`: graphs for clients that send sessions. README.md describes the
 * protocol.
 */
#include "exchange.h"

TN_PLUGIN("tenon.session_server", "0.1.0", "Graphs for clients that send sessions")

/* The state of the plugin, which the host initialises once in a process. */
static struct exchanges session_server;

static void TN_ABI on_post(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user;
    switch (event) {
    case TN_SERVER_REQUEST: exchange_begin(&session_server, request, value); break;
    case TN_SERVER_ROOM: exchange_on_room(&session_server, request); break;
    case TN_SERVER_CLOSED: exchange_on_closed(&session_server, request, tn_get_text(value, "reason", "client")); break;
    case TN_SERVER_REFUSED:
        exchange_refuse(&session_server.serving, request, (int32_t)tn_get_int(value, "status", 500), NULL,
                        tn_get_text(value, "message", "the request was refused"));
        break;
    default: break; /* DRAIN: the run ends soon, and its stream with it */
    }
}

static int32_t TN_ABI init(void *self, tn_value config) {
    static const char *const paths[] = {"/session", "/session/{graph}"};
    static const char more[] = "{\"refusals\": true, \"summary\": \"Answers a session\", "
                               "\"body\": {\"max\": 16777216, \"types\": [\"application/json\"]}}";
    (void)self, (void)config;
    if (!serving_open(&session_server.serving)) return TN_OK; /* the host serves nothing */
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int32_t status = serving_route(&session_server.serving, "POST", paths[i], "run", more, on_post, NULL);
        if (status == TN_UNSUPPORTED) return TN_OK;
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

static void TN_ABI deinit(void *self) {
    (void)self;
    exchanges_finish(&session_server);
}

TN_LIFECYCLE(init, NULL, deinit)
