/*
 * server.c - the life of a server, and its list of tools.
 *
 *     idle --connect--> starting --ready--> listing --> ready --lost--> idle
 *                          \__failed__> idle, or resting: calls wait until it is restarted
 *
 * Tools are identified by the server's names. A tool that is unchanged in a new list stays registered; a changed one is
 * removed and added again; a missing one is removed.
 */
#include "server.h"
#include "call.h"
#include "catalogue.h"
#include "http.h"
#include "registering.h"
#include "stdio.h"
#include <limits.h>

#define TIMEOUT_MS         60000
#define CONNECT_TIMEOUT_MS 60000
#define STEADY_MS          10000 /* after this time without failure, the next failure counts as the first */

static void server_start(struct server *server);
static void server_start_session(struct server *server);

static int64_t server_now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

/* ---- Configuration ---- */

const char *server_prefix(const struct server *server) { return tn_get_text(server->config, "prefix", server->name); }
int64_t server_timeout_ms(const struct server *server) { return tn_get_int(server->config, "timeout_ms", TIMEOUT_MS); }
const char *server_sampling_role(const struct server *server) { return tn_get_text(server->config, "sampling", NULL); }
tn_value server_roots(const struct server *server) { return server->roots; }

static int64_t connect_timeout_ms(const struct server *server) {
    return tn_get_int(server->config, "connect_timeout_ms", CONNECT_TIMEOUT_MS);
}

static bool server_is_http(const struct server *server) { return tn_get(server->config, "url") != NULL; }

static bool needs_escape(unsigned char c) {
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/-._~", c) != NULL);
}

/* Returns a path as a file URI; a file URI is returned unchanged. */
static tn_value root_uri(const char *root) {
    char resolved[PATH_MAX], uri[3 * PATH_MAX + 8] = "file://";
    size_t used = 7;
    if (strncmp(root, "file://", 7) == 0) return tn_text(root);
    const char *path = realpath(root, resolved) != NULL ? resolved : root;
    for (; *path != '\0' && used < sizeof uri - 4; path++) {
        if (needs_escape((unsigned char)*path))
            used += (size_t)snprintf(uri + used, 4, "%%%02X", (unsigned)(unsigned char)*path);
        else
            uri[used++] = *path;
    }
    return tn_text_n(uri, used);
}

static tn_value server_read_roots(tn_value list) {
    if (tn.value->count(list) == 0) return NULL;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        const char *root = tn_chars(tn.value->at(list, i), NULL);
        const char *slash = root != NULL ? strrchr(root, '/') : NULL;
        if (root == NULL) continue;
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put_take(builder, "uri", root_uri(root));
        tn_put_text(builder, "name", slash != NULL && slash[1] != '\0' ? slash + 1 : root);
        tn.value->end(builder);
    }
    tn.value->end(builder);
    return tn_finish(builder);
}

/* An authorization header of the operator, or `oauth: false`, disables OAuth. */
static bool server_uses_oauth(const struct server *server) {
    tn_value headers = tn_get(server->config, "headers"), oauth = tn_get(server->config, "oauth");
    for (uint64_t i = 0, count = tn.value->count(headers); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(headers, i, &key, &value) != TN_OK) break;
        if (strcasecmp(tn_chars(key, NULL), "authorization") == 0) return false;
    }
    return server_is_http(server) && mcp_http != NULL && tn.value->kind(oauth) != TN_BOOL;
}

static struct oauth *server_open_oauth(const struct server *server, const char *folder, bool keeps) {
    const struct oauth_options options = {.name = server->name,
                                          .url = tn_get_text(server->config, "url", ""),
                                          .config = tn_get(server->config, "oauth"),
                                          .folder = folder,
                                          .keeps = keeps,
                                          .oldest = value_is(tn_get(server->config, "era"), "2025-03-26")};
    return oauth_new(&options);
}

tn_value server_question(const struct server *server) {
    return server->oauth != NULL ? oauth_question(server->oauth) : NULL;
}

struct server *server_new(const char *name, tn_value config, const char *folder, bool keeps) {
    struct server *server = mcp_alloc(sizeof *server);
    char host[200];
    if (server == NULL) return NULL;
    server->name = copy_text(name);
    server->config = tn_retain(config);
    server->roots = server_read_roots(tn_get(config, "roots"));
    if (!server_is_http(server))
        (void)snprintf(server->effect, sizeof server->effect, "process.spawn");
    else if (http_copy_host(tn_get_text(config, "url", ""), host, sizeof host))
        (void)snprintf(server->effect, sizeof server->effect, "network.http:%s", host);
    else
        (void)snprintf(server->effect, sizeof server->effect, "network.http");
    bool authorized = server->name != NULL && server_uses_oauth(server);
    if (authorized) server->oauth = server_open_oauth(server, folder, keeps);
    if (server->name != NULL && (!authorized || server->oauth != NULL)) return server;
    server_free(server);
    return NULL;
}

/* ---- End of a connection ---- */

static void server_set_error(struct server *server, const char *why) {
    mcp_free(server->why);
    server->why = copy_text(why);
}

static void server_settle(struct server *server) {
    if (server->settled) return;
    server->settled = true;
    servers_report_settled(server);
}

static void server_drop_session(struct server *server) {
    struct session *session = server->session;
    server->session = NULL;
    if (server->list_timer != 0) (void)tn.core->unpost(tn.host, server->list_timer);
    server->list_timer = 0;
    tn_release(server->cursor);
    server->cursor = NULL;
    session_free(session);
}

static bool server_has_waiting_calls(const struct server *server) {
    for (const struct call *call = server->calls; call != NULL; call = mcp_call_next(call))
        if (mcp_call_is_waiting(call)) return true;
    return false;
}

static void on_server_restart_delay_over(void *argument) {
    struct server *server = argument;
    server->timer = 0;
    server->state = SERVER_IDLE;
    if (server_has_waiting_calls(server)) server_start(server);
}

/* The server could not be started: notify all waiters. */
static void server_fail_start(struct server *server, const char *code, const char *why) {
    bool asks = strcmp(code, OAUTH_NEEDED) == 0; /* needs a person, but the server works: it need not rest */
    server->state = SERVER_IDLE;
    if (!asks) server->failures++;
    server_set_error(server, why);
    log_format(asks ? TN_LOG_WARN : TN_LOG_ERROR, "server `%s`: %s", server->name, why);
    calls_fail_waiting(server, code, why);
    server_settle(server);
    servers_notify_waiters(server);
}

/* True if the server may have only the transport of 2024-11-05, which is detected as the SDKs do: it answers a POST
 * with a 4xx status that is not about permission. */
static bool server_may_need_sse(const struct server *server) {
    const char *era = tn_get_text(server->config, "era", "auto");
    int64_t status = session_refused_status(server->session);
    return server_is_http(server) && !server->sse && strcmp(era, MCP_MODERN) != 0 &&
           tn_get(server->config, "transport") == NULL && status >= 400 && status < 500 && status != 401 &&
           status != 403;
}

/* The server has neither transport. The next start detects it again. */
static void server_fail_sse(struct server *server, const char *code, const char *why) {
    char text[600];
    (void)snprintf(text, sizeof text, "%.200s%s%.300s", server->refused != NULL ? server->refused : "",
                   server->refused != NULL ? "; and with the transport of 2024-11-05: " : "", why);
    server->sse = server->legacy = false;
    server_fail_start(server, code, text);
}

static void on_session_failed(void *user, const char *code, const char *why) {
    struct server *server = user;
    bool maybe_sse = server->state == SERVER_STARTING && server_may_need_sse(server);
    bool was_ready = server->state == SERVER_READY || server->state == SERVER_LISTING;
    bool maybe_legacy = !was_ready && !server->legacy && !server_is_http(server) && strcmp(code, "SERVER_LOST") == 0 &&
                        session_is_probing(server->session) && value_is(tn_get(server->config, "era"), "auto");
    server->state = SERVER_STARTING; /* nothing may start during the callbacks */
    session_fail_all(server->session, "SERVER_LOST", why);
    calls_handle_session_end(server);
    server_drop_session(server);
    if (maybe_legacy) { /* an old server may end at any request before `initialize` */
        server->legacy = true;
        server_start_session(server); /* within the remaining time */
    } else if (maybe_sse) {
        mcp_free(server->refused);
        server->refused = copy_text(why);
        server->sse = server->legacy = true;
        server_start_session(server);
    } else if (!was_ready && server->sse) {
        server_fail_sse(server, code, why);
    } else if (!was_ready) {
        server_fail_start(server, code, why);
    } else {
        server->state = SERVER_IDLE;
        server->failures = server_now_ms() - server->ready_ms > STEADY_MS ? 0 : server->failures + 1;
        server_set_error(server, why);
        log_format(TN_LOG_WARN, "server `%s`: %s; it is restarted when it is needed", server->name, why);
        if (server_has_waiting_calls(server)) server_connect(server);
        server_settle(server);
        servers_notify_waiters(server);
    }
}

void server_stop(struct server *server) {
    if (server->timer != 0) (void)tn.core->unpost(tn.host, server->timer);
    server->timer = 0;
    server->state = SERVER_IDLE;
    server_drop_session(server);
    calls_handle_session_end(server);
    if (server->oauth != NULL) oauth_stop_listening(server->oauth);
}

bool server_in_use(const struct server *server) {
    for (const struct call *call = server->calls; call != NULL; call = mcp_call_next(call))
        if (mcp_call_has_task(call)) return true;
    for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next)
        if (tool->references > 1 + calls_count_for_tool(server, tool)) return true;
    return false;
}

void server_leave(struct server *server) {
    static const char why[] = "the server was disconnected";
    server->gone = true;
    registering_remove_all(server);
    if (server->timer != 0) (void)tn.core->unpost(tn.host, server->timer);
    server->timer = 0;
    server->state = SERVER_STARTING; /* nothing may start during the callbacks */
    if (server->session != NULL) session_fail_all(server->session, "SERVER_LOST", why);
    calls_handle_session_end(server);
    server_drop_session(server);
    server->state = SERVER_IDLE;
    calls_fail_waiting(server, "CONNECT", why);
    if (server->oauth != NULL) oauth_stop_listening(server->oauth);
}

void server_free(struct server *server) {
    if (server == NULL) return;
    server_stop(server);
    calls_free(server);
    registering_clear(server);
    oauth_free(server->oauth);
    tn_release(server->config);
    tn_release(server->roots);
    mcp_free(server->why);
    mcp_free(server->refused);
    mcp_free(server->name);
    mcp_free(server);
}

/* ---- The list of tools ---- */

static void server_request_list_page(struct server *server);

static void server_list_again(struct server *server) {
    server->listing = true;
    server->until_ms = server_now_ms() + connect_timeout_ms(server);
    server_request_list_page(server);
}

static void on_list_delay_over(void *argument) {
    struct server *server = argument;
    server->list_timer = 0;
    if (!server->listing && server->state == SERVER_READY && !servers_are_ending()) server_list_again(server);
}

/* The list has changed while it is not being read. */
static void server_schedule_list(struct server *server) {
    int64_t delay_ms = server->listed_ms + MCP_LIST_MS - server_now_ms();
    if (server->list_timer != 0) return;
    if (delay_ms > 0) server->list_timer = tn_post((uint64_t)delay_ms, on_list_delay_over, server);
    if (server->list_timer == 0) server_list_again(server);
}

static void on_tools_listed(struct server *server) {
    bool changed = server->list_changed;
    registering_end(server);
    server->list_changed = false;
    if (changed && server->lists_at_once < MCP_LISTS_AT_ONCE) {
        server->lists_at_once++;
        if (server->settled) server->until_ms = server_now_ms() + connect_timeout_ms(server);
        server_request_list_page(server);
        return;
    }
    server->listing = false;
    server->listed_ms = server_now_ms();
    server->state = SERVER_READY;
    if (!server->removable && server->complete) catalogue_store(server);
    if (changed) server_schedule_list(server);
    server_settle(server);
    servers_notify_waiters(server);
    calls_start_waiting(server);
}

/* The server answers `initialize` without a token, but lists its tools only with one. */
static void server_fail_unauthorized(struct server *server, const char *message) {
    char why[OAUTH_WHY_MAX];
    (void)snprintf(why, sizeof why, "%s", message);
    registering_keep_all(server);
    registering_end(server);
    server->listing = false;
    server->state = SERVER_STARTING;
    session_fail_all(server->session, OAUTH_NEEDED, why);
    calls_handle_session_end(server);
    server_drop_session(server);
    server_fail_start(server, OAUTH_NEEDED, why);
}

static void on_list_page(void *user, const struct rpc_answer *answer) {
    struct server *server = user;
    tn_value cursor = tn_get(answer->result, "nextCursor"), tools = tn_get(answer->result, "tools");
    bool more = tn.value->kind(cursor) == TN_STRING;
    if (servers_are_ending()) return;
    if (answer->result == NULL) {
        if (answer->failure != NULL && strcmp(answer->failure, "SERVER_LOST") == 0)
            return; /* on_session_failed reports it */
        if (answer->failure != NULL && strcmp(answer->failure, OAUTH_NEEDED) == 0) {
            server_fail_unauthorized(server, answer->message);
            return;
        }
        log_format(TN_LOG_ERROR, "server `%s`: cannot list its tools: %s", server->name, answer->message);
        registering_keep_all(server);
        server->complete = false;
        on_tools_listed(server);
        return;
    }
    bool room = registering_page(server, tools);
    if (more && server->cursor != NULL && tn.value->equal(cursor, server->cursor))
        more = false; /* the cursor repeats */
    tn_release(server->cursor);
    server->cursor = more ? tn_retain(cursor) : NULL;
    if (more && room && ++server->pages < MCP_PAGES_MAX)
        server_request_list_page(server);
    else
        on_tools_listed(server);
}

static void server_request_list_page(struct server *server) {
    tn_value params = NULL;
    if (server->cursor == NULL) {
        server->pages = 0;
        server->complete = true;
        registering_begin(server);
    } else {
        params = tn_build("{s:v}", "cursor", server->cursor);
    }
    int64_t left_ms = server->until_ms - server_now_ms();
    if (session_request(server->session, "tools/list", params, NULL, false, left_ms > 0 ? left_ms : 1, on_list_page,
                        server) == 0) {
        registering_keep_all(server);
        server->complete = false;
        on_tools_listed(server);
    }
    tn_release(params);
}

static void on_session_ready(void *user) {
    struct server *server = user;
    tn_value info = session_info(server->session);
    log_format(TN_LOG_INFO, "server `%s`: %s %s, version %s of the protocol", server->name,
               tn_get_text(info, "name", "?"), tn_get_text(info, "version", ""), session_version(server->session));
    server->ready_ms = server_now_ms();
    server->failures = 0;
    server->complete = true;
    server->lists_at_once = 0;
    server->listed_ms = 0;
    server_set_error(server, NULL);
    server->state = SERVER_LISTING;
    if (servers_are_ending()) return;
    registering_methods(server, session_capabilities(server->session));
    server->listing = session_has_capability(server->session, "tools");
    if (server->listing)
        server_request_list_page(server);
    else
        on_tools_listed(server);
}

static void on_server_list_changed(void *user, enum session_list list) {
    struct server *server = user;
    if (list != LIST_TOOLS) return; /* other lists are not stored */
    if (server->listing)
        server->list_changed = true;
    else
        server_schedule_list(server);
}

static void on_server_progress(void *user, int64_t request, tn_value params) { calls_progress(user, request, params); }
static void on_server_withdrawn(void *user, tn_value id) { calls_withdraw_question(user, id); }
static void on_server_request(void *user, tn_value id, const char *method, tn_value params, int64_t origin) {
    calls_add_question(user, id, method, params, origin);
}

/* ---- Start of a connection ---- */

static struct transport *server_open_transport(struct server *server, char *why, size_t size) {
    const struct transport_events events = session_transport_events(server->session);
    if (server_is_http(server)) {
        const struct http_options options = {server->name, tn_get_text(server->config, "url", ""),
                                             tn_get(server->config, "headers"), server->oauth,
                                             server->sse || value_is(tn_get(server->config, "transport"), "sse")};
        return http_new(&options, &events, why, size);
    }
    const struct stdio_options options = {server->name, tn_get(server->config, "command"),
                                          tn_get(server->config, "env"), tn_get(server->config, "inherit_env"),
                                          tn_get_text(server->config, "cwd", NULL)};
    return stdio_new(&options, &events, why, size);
}

static void server_start_session(struct server *server) {
    const struct session_options options = {.name = server->name,
                                            .era = tn_get_text(server->config, "era", "auto"),
                                            .log_level = tn_get_text(server->config, "log", "warning"),
                                            .roots = server->roots,
                                            .sampling = server_sampling_role(server) != NULL,
                                            .legacy =
                                                server->legacy || value_is(tn_get(server->config, "transport"), "sse"),
                                            .http = server_is_http(server),
                                            .until_ms = server->until_ms,
                                            .connect_timeout_ms = connect_timeout_ms(server)};
    const struct session_events events = {server,
                                          on_session_ready,
                                          on_session_failed,
                                          on_server_list_changed,
                                          on_server_progress,
                                          on_server_request,
                                          on_server_withdrawn,
                                          NULL};
    char why[400] = "not enough memory";
    server->state = SERVER_STARTING;
    server->list_changed = server->listing = false;
    server->session = session_new(&options, &events);
    struct transport *transport = server->session != NULL ? server_open_transport(server, why, sizeof why) : NULL;
    if (transport != NULL) {
        session_start(server->session, transport);
        return;
    }
    server_drop_session(server);
    server_fail_start(server, "CONNECT", why);
}

static void server_start(struct server *server) {
    server->until_ms = server_now_ms() + connect_timeout_ms(server);
    server_start_session(server);
}

void server_connect(struct server *server) {
    if (server->state != SERVER_IDLE) return;
    if (server->gone) {
        calls_fail_waiting(server, "CONNECT", "the server was disconnected");
        return;
    }
    if (server->failures == 0) {
        server_start(server);
        return;
    }
    uint32_t doublings = server->failures < 10 ? server->failures - 1 : 9;
    int64_t delay = (int64_t)MCP_RESTART_MS << doublings;
    if (delay > MCP_RESTART_MAX_MS) delay = MCP_RESTART_MAX_MS;
    server->state = SERVER_RESTING;
    server->timer = tn_post((uint64_t)delay, on_server_restart_delay_over, server);
    if (server->timer == 0) server_start(server);
}

void server_add_known(struct server *server) {
    if (server->known || server->settled || server->state != SERVER_IDLE) return;
    tn_value catalogue = catalogue_load(server);
    server->known = catalogue != NULL;
    if (catalogue != NULL) registering_known(server, catalogue);
    tn_release(catalogue);
}

bool server_is_busy(const struct server *server) {
    return server->state == SERVER_STARTING || server->state == SERVER_LISTING;
}

/* ---- Status ---- */

static const char *server_state_name(const struct server *server) {
    switch (server->state) {
    case SERVER_STARTING:
    case SERVER_LISTING: return "starting";
    case SERVER_READY: return "ready";
    case SERVER_RESTING: return "resting";
    case SERVER_IDLE: break;
    }
    tn_value question = server->why != NULL ? server_question(server) : NULL;
    bool asks = question != NULL;
    tn_release(question);
    return asks ? "unauthorized" : server->why != NULL ? "failed" : "idle";
}

tn_value server_describe(const struct server *server) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "name", server->name);
    tn_put_text(builder, "transport", server_is_http(server) ? "http" : "stdio");
    tn_put_text(builder, "state", server_state_name(server));
    if (server->why != NULL) tn_put_text(builder, "why", server->why);
    if (server->session != NULL && server->state == SERVER_READY) {
        tn_value info = session_info(server->session), instructions = session_instructions(server->session);
        tn_put_text(builder, "protocol", session_version(server->session));
        if (info != NULL) tn_put(builder, "server", info);
        if (instructions != NULL) tn_put(builder, "instructions", instructions);
    }
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next) tn_put_text(builder, NULL, tool->id);
    tn.value->end(builder);
    if (server->skipped > 0) tn_put_int(builder, "skipped", server->skipped);
    tn.value->end(builder);
    return tn_finish(builder);
}
