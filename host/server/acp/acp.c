/*
 * acp.c - the connection of an editor: its methods, and its end.
 *
 *     open --initialize--> initialized --end of the input--> open prompts are answered --> closing --> closed
 *                              └───────────── acp_close: open prompts are stopped ────────────┘
 *
 * `initialize` reads the document, because its answer says what a prompt may contain. Every other method but
 * `initialize` is refused before it is answered.
 */
#include "host/server/acp/acp.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/server/acp/acp_internal.h"
#include "host/server/acp/acp_prompt.h"
#include "host/server/client.h"
#include "host/server/rpc/rpc_peer.h"
#include "host/server/rpc/rpc_stream.h"
#include "host/server/server.h"
#include <string.h>

#define MESSAGES     "messages"
#define CHANGED_HINT "; with `tenon acp --accept-changes`, sessions continue with a changed document"

/* ---- Answers and notifications ---- */

void acp_fail(struct peer_request *request, const struct error *error) {
    bool cancelled = error && error->code && strcmp(error->code, "CANCELLED") == 0;
    if (cancelled)
        peer_refuse(request, RPC_CANCELLED, "the request was cancelled");
    else
        peer_refuse(request, RPC_INTERNAL_ERROR, "%s%s [%s]", error && error->message ? error->message : "failed",
                    error && error->code && strcmp(error->code, "GRAPH_CHANGED") == 0 ? CHANGED_HINT : "",
                    error && error->code ? error->code : "FAILED");
}

void acp_notify_take(struct acp *acp, const char *method, tn_value params) {
    if (acp->peer) {
        peer_notify_take(acp->peer, method, params);
        if (!acp->closing && peer_is_full(acp->peer)) client_pause(acp->client, true);
    } else {
        value_unref(params);
    }
}

tn_value acp_document_params(const struct acp *acp) {
    return value_set_take(value_object_reserve(6), "document", value_text(acp->document));
}

/* ---- initialize ---- */

static bool is_message_channel(tn_value channel) {
    tn_value type = value_get(channel, "type");
    return value_text_is(type, "append") ||
           (value_text_is(type, "reduce") && value_text_is(value_get(channel, "reducer"), "messages"));
}

static tn_value find_channel(const struct acp *acp, const char *name) {
    tn_value channels = value_get(acp->description, "channels");
    for (size_t i = 0; i < value_count(channels); i++)
        if (value_text_is(value_get(value_at(channels, i), "name"), name)) return value_at(channels, i);
    return NULL;
}

/* The only member of the input that is a text; NULL when no member is, or several are. */
static const char *only_text(tn_value input) {
    tn_value members = value_get(input, "properties");
    const char *found = NULL;
    for (size_t i = 0; members && i < value_count(members); i++) {
        if (!value_text_is(value_get(value_value_at(members, i), "type"), "string")) continue;
        if (found) return NULL;
        found = value_chars(value_key_at(members, i), NULL);
    }
    return found;
}

static void choose_channel(struct acp *acp, const char *name) {
    char *channel = mem_text(name);
    mem_free(acp->channel);
    acp->channel = channel;
}

/* `channel` was given, or is `messages`; or the text of the input is found in its schema. */
void acp_set_description(struct acp *acp, tn_value description) {
    value_unref(acp->description);
    acp->description = value_ref(description);
    choose_channel(acp, acp->given_channel ? acp->given_channel : MESSAGES);
    tn_value channel = find_channel(acp, acp->channel);
    const char *text = only_text(value_get(description, "input"));
    acp->input = ACP_INPUT_JSON;
    if (channel && is_message_channel(channel)) {
        acp->input = ACP_INPUT_MESSAGES;
        acp->removes = value_text_is(value_get(channel, "type"), "reduce");
    } else if (acp->given_channel && channel) {
        acp->input = ACP_INPUT_TEXT;
    } else if (text) {
        acp->input = ACP_INPUT_TEXT;
        choose_channel(acp, text);
    }
}

static tn_value flag_object(const char *const *names, bool value) {
    tn_value object = value_object();
    for (; *names; names++) object = value_set_take(object, *names, value_bool(value));
    return object;
}

static tn_value agent_capabilities(const struct acp *acp) {
    static const char *const prompt[] = {"image", "audio", NULL}, *const sessions[] = {"list",
                                                                                       "delete",
                                                                                       "resume",
                                                                                       "close",
                                                                                       "additionalDirectories",
                                                                                       NULL};
    tn_value session = value_object(), mcp = value_set_take(value_object(), "http", value_bool(!acp->options.no_mcp));
    tn_value prompts = flag_object(prompt, acp->input == ACP_INPUT_MESSAGES);
    prompts = value_set_take(prompts, "embeddedContext", value_bool(true));
    for (const char *const *name = sessions; *name; name++) session = value_set_take(session, *name, value_object());
    tn_value all = value_set_take(value_object_reserve(4), "loadSession", value_bool(true));
    all = value_set_take(all, "promptCapabilities", prompts);
    all = value_set_take(all, "mcpCapabilities", value_set_take(mcp, "sse", value_bool(false)));
    return value_set_take(all, "sessionCapabilities", session);
}

static void answer_initialize(struct acp *acp, struct peer_request *request) {
    tn_value name = value_get(acp->description, "name"), title = value_get(acp->description, "description");
    tn_value info = value_set_take(value_object_reserve(3), "name", value_ref(name));
    info = value_set_take(info, "title", value_ref(title ? title : name));
    info = value_set_take(info, "version", value_text(TENON_VERSION));
    tn_value result = value_set_take(value_object_reserve(4), "protocolVersion", value_int(ACP_VERSION));
    result = value_set_take(result, "agentCapabilities", agent_capabilities(acp));
    result = value_set_take(result, "authMethods", value_array());
    acp->initialized = true;
    peer_reply_take(request, value_set_take(result, "agentInfo", info));
}

static void acp_on_described(void *user, tn_value description, const struct error *error) {
    struct peer_request *request = user;
    struct acp *acp = peer_request_data(request);
    acp->starting = false;
    if (!description) {
        acp_fail(request, error);
        return;
    }
    acp_set_description(acp, description);
    answer_initialize(acp, request);
}

/* Only version 1 is spoken. A client that wants another one gets 1 as the answer, and decides whether it continues. */
static void acp_initialize(struct acp *acp, struct peer_request *request) {
    tn_value capabilities = value_get(peer_request_params(request), "clientCapabilities");
    if (acp->initialized || acp->starting) {
        peer_refuse(request, RPC_INVALID_REQUEST, "`initialize` was sent twice");
        return;
    }
    value_unref(acp->capabilities);
    acp->capabilities = capabilities && value_is(capabilities, TN_OBJECT) ? value_ref(capabilities) : NULL;
    acp->starting = true;
    peer_request_hold(request, acp, NULL);
    acp_call_take(acp, "document/describe", acp_document_params(acp), acp_on_described, request);
}

/* ---- Authentication: there is none ---- */

static void acp_authenticate(struct acp *acp, struct peer_request *request) {
    (void)acp;
    peer_refuse(request, RPC_INVALID_PARAMS, "`methodId`: this agent has no methods of authentication; it needs none");
}

static void acp_logout(struct acp *acp, struct peer_request *request) {
    (void)acp;
    peer_reply_take(request, value_object());
}

/* ---- Messages ---- */

static const struct acp_method {
    const char *name;
    void (*start)(struct acp *acp, struct peer_request *request);
} acp_methods[] = {
    {"initialize", acp_initialize},
    {"authenticate", acp_authenticate},
    {"logout", acp_logout},
    {"session/new", acp_session_new},
    {"session/load", acp_session_load},
    {"session/resume", acp_session_resume},
    {"session/list", acp_session_list},
    {"session/close", acp_session_close},
    {"session/delete", acp_session_delete},
    {"session/prompt", acp_prompt},
    {"session/set_mode", acp_set_mode},
    {"session/set_config_option", acp_set_config_option},
};

static void acp_on_request(void *user, struct peer_request *request) {
    struct acp *acp = user;
    const char *name = peer_request_method(request);
    for (size_t i = 0; i < sizeof acp_methods / sizeof *acp_methods; i++) {
        if (strcmp(acp_methods[i].name, name) != 0) continue;
        if (acp->closing)
            peer_refuse(request, RPC_INTERNAL_ERROR, "the agent ends, and takes no more requests [CANCELLED]");
        else if (!acp->initialized && i != 0)
            peer_refuse(request, RPC_INVALID_REQUEST, "`%s` needs `initialize` before it", name);
        else if (acp_params_check(request))
            acp_methods[i].start(acp, request);
        acp_look_finished(acp);
        return;
    }
    peer_refuse(request, RPC_METHOD_NOT_FOUND, "`%.100s` is not a method of the Agent Client Protocol, version %d",
                name, ACP_VERSION);
}

static void acp_on_notification(void *user, const char *method, tn_value params) {
    struct acp *acp = user;
    if (strcmp(method, "session/cancel") != 0 || !acp_params_match(method, params)) return;
    struct acp_session *session = acp_session_find(acp, acp_text(params, "sessionId"));
    if (session) acp_prompt_cancel(session);
}

static void acp_on_event(void *user, uint64_t subscription, const char *event, tn_value params) {
    struct acp *acp = user;
    const char *run = acp_text(params, "run_id");
    (void)subscription;
    if (run) acp_prompt_event(acp, run, event, params);
}

static void acp_on_drained(void *user) { client_pause(((struct acp *)user)->client, false); }

/* ---- The end ---- */

void acp_look_finished(struct acp *acp) { loop_defer(server_loop(acp->options.server), &acp->finish); }

static void acp_free(struct acp *acp) {
    struct loop *loop = server_loop(acp->options.server);
    void (*closed)(void *user) = acp->options.closed;
    void *user = acp->options.user;
    while (acp->sessions) acp_session_free(acp->sessions);
    loop_timer_stop(loop, &acp->linger);
    loop_undefer(loop, &acp->finish);
    client_free(acp->client);
    value_unref(acp->capabilities);
    value_unref(acp->description);
    mem_free(acp->document);
    mem_free(acp->given_channel);
    mem_free(acp->channel);
    mem_free(acp);
    if (closed) closed(user);
}

static bool has_turn(const struct acp *acp) {
    for (const struct acp_session *session = acp->sessions; session; session = session->next)
        if (session->turn) return true;
    return false;
}

/* Calls can end after the peer. */
static void acp_finish(struct loop_work *work) {
    struct acp *acp = CONTAINER_OF(work, struct acp, finish);
    if (!acp->peer && !acp->calls)
        acp_free(acp);
    else if (acp->peer && acp->closing && !has_turn(acp))
        peer_close(acp->peer);
    else if (acp->peer && acp->input_ended && peer_open_requests(acp->peer) == 0)
        acp_close(acp);
}

static void acp_on_linger(struct loop_timer *timer) { acp_close(CONTAINER_OF(timer, struct acp, linger)); }

static void acp_on_overdue(struct loop_timer *timer) {
    const struct acp *acp = CONTAINER_OF(timer, struct acp, linger);
    acp->options.overdue(acp->options.user);
}

static void acp_on_ended(void *user, const struct error *why) {
    struct acp *acp = user;
    acp->input_ended = true;
    if (why) {
        acp_close(acp);
        return;
    }
    loop_timer_start(server_loop(acp->options.server), &acp->linger, ACP_LINGER_MS, acp_on_linger);
    acp_look_finished(acp);
}

static void acp_on_closed(void *user) {
    struct acp *acp = user;
    acp->peer = NULL;
    acp_look_finished(acp);
}

void acp_close(struct acp *acp) {
    if (acp->closing) return;
    acp->closing = true;
    loop_timer_start(server_loop(acp->options.server), &acp->linger, ACP_STOP_MS, acp_on_overdue);
    for (struct acp_session *session = acp->sessions, *next; session; session = next) {
        next = session->next;
        acp_servers_cancel(session);
        acp_prompt_stop(session);
    }
    client_pause(acp->client, false); /* the ends of runs must arrive, although the client reads nothing */
    acp_look_finished(acp);
}

static const struct peer_ops acp_peer_ops = {.request = acp_on_request,
                                             .notification = acp_on_notification,
                                             .drained = acp_on_drained,
                                             .ended = acp_on_ended,
                                             .closed = acp_on_closed};

struct acp *acp_new(int input, int output, const struct acp_options *options, struct error *error) {
    struct rpc_stream *stream = rpc_stream_open(server_loop(options->server), input, output, error);
    if (!stream) return NULL;
    struct acp *acp = mem_zalloc(sizeof *acp);
    acp->options = *options;
    if (acp->options.context_tokens <= 0) acp->options.context_tokens = ACP_CONTEXT_TOKENS;
    acp->document = mem_text(options->document);
    acp->given_channel = options->channel ? mem_text(options->channel) : NULL;
    acp->finish.run = acp_finish;
    acp->client = client_new(
        options->server, &(struct client_options){
                             .name = "acp", .scope = METHOD_ADMIN, .files = true, .notify = acp_on_event, .user = acp});
    acp->peer = peer_new(server_loop(options->server), stream, RPC_FRAMING_LINES, &acp_peer_ops, acp);
    return acp;
}
