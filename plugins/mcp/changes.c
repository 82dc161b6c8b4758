/*
 * changes.c - the stream that reports changes of lists, from 2026-07-28 on: the request subscriptions/listen stays
 * open.
 */
#include "handshake.h"

static void on_listen_delay_over(void *argument) {
    struct session *session = argument;
    session->listen_timer = 0;
    session_listen(session);
}

#define LISTEN_STEADY_MS 10000 /* a stream that lived longer is opened again soon */
#define LISTEN_DOUBLINGS 5     /* of the delay before it is opened again: at most 32 s */

/* A stream that has ended is opened again, unless several in a row have delivered nothing; a refused one is not. */
static void on_listen_response(void *user, const struct rpc_answer *answer) {
    struct session *session = user;
    session->listening = 0;
    if (session->state != SESSION_READY) return;
    if (answer->result == NULL && (answer->code != 0 || (answer->status != 0 && answer->status < 500))) {
        log_format(TN_LOG_INFO, "server `%s`: it does not report changes: %s", session->options.name, answer->message);
    } else if (session->options.http && session->listen_empty++ < MCP_RECONNECTS_MAX) {
        bool steady = tn.core->monotonic_ns(tn.host) / 1000000 - session->listen_ms > LISTEN_STEADY_MS;
        session->listen_short = steady ? 0 : session->listen_short + 1;
        if (session->listen_short > LISTEN_DOUBLINGS) session->listen_short = LISTEN_DOUBLINGS;
        session->listen_timer = tn_post((uint64_t)1000 << session->listen_short, on_listen_delay_over, session);
    }
}

static bool put_change_subscription(const struct session *session, tn_builder *builder, const char *capability,
                                    const char *name) {
    if (!value_is_true(value_get_nested(session->capabilities, capability, "listChanged"))) return false;
    tn_put_bool(builder, name, 1);
    return true;
}

void session_listen(struct session *session) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "notifications", TN_OBJECT);
    bool any = put_change_subscription(session, builder, "tools", "toolsListChanged");
    any |= put_change_subscription(session, builder, "prompts", "promptsListChanged");
    any |= put_change_subscription(session, builder, "resources", "resourcesListChanged");
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value params = tn_finish(builder);
    session->listen_ms = tn.core->monotonic_ns(tn.host) / 1000000;
    if (any)
        session->listening =
            session_request(session, "subscriptions/listen", params, NULL, false, 0, on_listen_response, session);
    tn_release(params);
}
