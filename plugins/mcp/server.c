/*
 * server.c - the life of a server, and the list of its tools.
 *
 *     idle --connect--> starting --ready--> listing --> ready --lost--> idle
 *                          \__failed__> idle, or resting, where calls wait, until it is started again
 *
 * Tools are kept by the server's own names: one that comes again as it was stays as it is, one that has changed is
 * taken out and put in anew, and what a new list does not have is gone.
 */
#include "server.h"
#include "call.h"
#include "http.h"
#include "registering.h"
#include "stdio.h"
#include <limits.h>

#define TIMEOUT_MS         60000
#define CONNECT_TIMEOUT_MS 60000
#define STEADY_MS          10000 /* it ran so long: the next death is not the same trouble */

static void start(struct server *server);
static void begin(struct server *server);

static int64_t now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

/* ---- What the configuration says ---- */

const char *server_prefix(const struct server *server) { return tn_get_text(server->config, "prefix", server->name); }
int64_t server_timeout_ms(const struct server *server) { return tn_get_int(server->config, "timeout_ms", TIMEOUT_MS); }
const char *server_sampling(const struct server *server) { return tn_get_text(server->config, "sampling", NULL); }
tn_value server_roots(const struct server *server) { return server->roots; }

static int64_t connect_timeout_ms(const struct server *server) {
    return tn_get_int(server->config, "connect_timeout_ms", CONNECT_TIMEOUT_MS);
}

static bool is_http(const struct server *server) { return tn.value->get(server->config, "url") != NULL; }

static bool needs_escape(unsigned char c) {
    return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/-._~", c) != NULL);
}

/* A path as a file URI; what is one already stays. */
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

static tn_value read_roots(tn_value list) {
    if (tn.value->count(list) == 0) return NULL;
    tn_builder *builder = tn.value->builder();
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
    return tn.value->finish(builder);
}

/* The operator's own header is all that is sent, and `oauth: false` means what it says. */
static bool authorizes(const struct server *server) {
    tn_value headers = tn.value->get(server->config, "headers"), oauth = tn.value->get(server->config, "oauth");
    for (uint64_t i = 0, count = tn.value->count(headers); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(headers, i, &key, &value) != TN_OK) break;
        if (strcasecmp(tn_chars(key, NULL), "authorization") == 0) return false;
    }
    return is_http(server) && mcp_http != NULL && tn.value->kind(oauth) != TN_BOOL;
}

static struct oauth *open_oauth(const struct server *server, const char *folder, bool keeps) {
    const struct oauth_options options = {.name = server->name,
                                          .url = tn_get_text(server->config, "url", ""),
                                          .config = tn.value->get(server->config, "oauth"),
                                          .folder = folder,
                                          .keeps = keeps,
                                          .oldest = value_is(tn.value->get(server->config, "era"), "2025-03-26")};
    return oauth_new(&options);
}

tn_value server_question(const struct server *server) {
    return server->oauth != NULL ? oauth_question(server->oauth) : NULL;
}

struct server *server_new(const char *name, tn_value config, const char *folder, bool keeps) {
    struct server *server = take(sizeof *server);
    char host[200];
    if (server == NULL) return NULL;
    server->name = copy_text(name);
    server->config = tn_retain(config);
    server->roots = read_roots(tn.value->get(config, "roots"));
    if (!is_http(server))
        (void)snprintf(server->effect, sizeof server->effect, "process.spawn");
    else if (http_host(tn_get_text(config, "url", ""), host, sizeof host))
        (void)snprintf(server->effect, sizeof server->effect, "network.http:%s", host);
    else
        (void)snprintf(server->effect, sizeof server->effect, "network.http");
    bool authorized = server->name != NULL && authorizes(server);
    if (authorized) server->oauth = open_oauth(server, folder, keeps);
    if (server->name != NULL && (!authorized || server->oauth != NULL)) return server;
    server_free(server);
    return NULL;
}

/* ---- The end of a connection ---- */

static void set_why(struct server *server, const char *why) {
    give(server->why);
    server->why = copy_text(why);
}

static void settle(struct server *server) {
    if (server->settled) return;
    server->settled = true;
    servers_settled(server);
}

static void drop_session(struct server *server) {
    struct session *session = server->session;
    server->session = NULL;
    tn_release(server->cursor);
    server->cursor = NULL;
    session_free(session);
}

static bool calls_wait(const struct server *server) {
    for (const struct call *call = server->calls; call != NULL; call = call_after(call))
        if (call_waits(call)) return true;
    return false;
}

static void rested(void *argument) {
    struct server *server = argument;
    server->timer = 0;
    server->state = SERVER_IDLE;
    if (calls_wait(server)) start(server);
}

/* It did not come up: whoever waits is told. */
static void give_up(struct server *server, const char *code, const char *why) {
    bool asks = strcmp(code, OAUTH_NEEDED) == 0; /* which is no trouble of the server's: it need not rest */
    server->state = SERVER_IDLE;
    if (!asks) server->failures++;
    set_why(server, why);
    say(asks ? TN_LOG_WARN : TN_LOG_ERROR, "server `%s`: %s", server->name, why);
    calls_fail(server, code, why);
    settle(server);
    servers_arrived(server);
}

static void on_failed(void *user, const char *code, const char *why) {
    struct server *server = user;
    bool was_ready = server->state == SERVER_READY || server->state == SERVER_LISTING;
    bool old_one = !was_ready && !server->legacy && !is_http(server) && strcmp(code, "SERVER_LOST") == 0 &&
                   session_probing(server->session) && value_is(tn.value->get(server->config, "era"), "auto");
    server->state = SERVER_STARTING; /* nothing begins meanwhile */
    session_fail_all(server->session, "SERVER_LOST", why);
    calls_lost(server);
    drop_session(server);
    if (old_one) { /* perhaps it cannot bear to be asked anything before `initialize` */
        server->legacy = true;
        begin(server); /* in the time that it has */
    } else if (!was_ready) {
        give_up(server, code, why);
    } else {
        server->state = SERVER_IDLE;
        server->failures = now_ms() - server->ready_ms > STEADY_MS ? 0 : server->failures + 1;
        set_why(server, why);
        say(TN_LOG_WARN, "server `%s`: %s; it is started again when it is needed", server->name, why);
        if (calls_wait(server)) server_connect(server);
        settle(server);
    }
}

void server_stop(struct server *server) {
    if (server->timer != 0) (void)tn.core->unpost(tn.host, server->timer);
    server->timer = 0;
    server->state = SERVER_IDLE;
    drop_session(server);
    calls_lost(server);
    if (server->oauth != NULL) oauth_rest(server->oauth);
}

bool server_in_use(const struct server *server) {
    for (const struct call *call = server->calls; call != NULL; call = call_after(call))
        if (call_is_open(call)) return true;
    for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next)
        if (tool->references > 1 + calls_of(server, tool)) return true;
    return false;
}

void server_free(struct server *server) {
    if (server == NULL) return;
    server_stop(server);
    calls_free(server);
    registering_forget(server);
    oauth_free(server->oauth);
    tn_release(server->config);
    tn_release(server->roots);
    give(server->why);
    give(server->name);
    give(server);
}

/* ---- The list of tools ---- */

static void list_page(struct server *server);

static void on_listed(struct server *server) {
    registering_end(server);
    if (server->again) {
        server->again = false;
        if (server->settled) server->until_ms = now_ms() + connect_timeout_ms(server);
        list_page(server);
        return;
    }
    server->listing = false;
    server->state = SERVER_READY;
    settle(server);
    servers_arrived(server);
    calls_ready(server);
}

/* It says who it is to anybody, and what it has to none that it does not know. */
static void locked(struct server *server, const char *message) {
    char why[OAUTH_WHY_MAX];
    (void)snprintf(why, sizeof why, "%s", message);
    registering_keep_all(server);
    registering_end(server);
    server->listing = false;
    server->state = SERVER_STARTING;
    session_fail_all(server->session, OAUTH_NEEDED, why);
    calls_lost(server);
    drop_session(server);
    give_up(server, OAUTH_NEEDED, why);
}

static void listed(void *user, const struct rpc_answer *answer) {
    struct server *server = user;
    tn_value cursor = tn.value->get(answer->result, "nextCursor"), tools = tn.value->get(answer->result, "tools");
    bool more = tn.value->kind(cursor) == TN_STRING;
    if (answer->result == NULL) {
        if (answer->failure != NULL && strcmp(answer->failure, "SERVER_LOST") == 0) return; /* on_failed says it */
        if (answer->failure != NULL && strcmp(answer->failure, OAUTH_NEEDED) == 0) {
            locked(server, answer->message);
            return;
        }
        say(TN_LOG_ERROR, "server `%s`: its tools cannot be listed: %s", server->name, answer->message);
        registering_keep_all(server);
        on_listed(server);
        return;
    }
    bool room = registering_page(server, tools);
    if (more && server->cursor != NULL && tn.value->equal(cursor, server->cursor)) more = false; /* in circles */
    tn_release(server->cursor);
    server->cursor = more ? tn_retain(cursor) : NULL;
    if (more && room && ++server->pages < MCP_PAGES_MAX)
        list_page(server);
    else
        on_listed(server);
}

static void list_page(struct server *server) {
    tn_value params = NULL;
    if (server->cursor == NULL) {
        server->pages = 0;
        registering_begin(server);
    } else {
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_OBJECT);
        tn_put(builder, "cursor", server->cursor);
        tn.value->end(builder);
        params = tn.value->finish(builder);
    }
    int64_t left_ms = server->until_ms - now_ms();
    if (session_request(server->session, "tools/list", params, NULL, false, left_ms > 0 ? left_ms : 1, listed,
                        server) == 0) {
        registering_keep_all(server);
        on_listed(server);
    }
    tn_release(params);
}

static void on_ready(void *user) {
    struct server *server = user;
    tn_value info = session_info(server->session);
    say(TN_LOG_INFO, "server `%s`: %s %s, version %s of the protocol", server->name, tn_get_text(info, "name", "?"),
        tn_get_text(info, "version", ""), session_version(server->session));
    server->ready_ms = now_ms();
    server->failures = 0;
    server->lists = 0;
    set_why(server, NULL);
    server->state = SERVER_LISTING;
    registering_methods(server);
    server->listing = session_can(server->session, "tools");
    if (server->listing)
        list_page(server);
    else
        on_listed(server);
}

static void on_changed(void *user, enum session_list list) {
    struct server *server = user;
    if (list != LIST_TOOLS || ++server->lists > MCP_LISTS_MAX) return; /* others are asked for each time */
    if (server->listing) {
        server->again = true;
    } else {
        server->listing = true;
        server->until_ms = now_ms() + connect_timeout_ms(server);
        list_page(server);
    }
}

static void on_progress(void *user, int64_t request, tn_value params) { calls_progress(user, request, params); }
static void on_withdrawn(void *user, tn_value id) { calls_withdrawn(user, id); }
static void on_asked(void *user, tn_value id, const char *method, tn_value params, int64_t origin) {
    calls_asked(user, id, method, params, origin);
}

/* ---- The beginning of one ---- */

static struct transport *open_transport(struct server *server, char *why, size_t size) {
    const struct transport_events events = session_transport_events(server->session);
    if (is_http(server)) {
        const struct http_options options = {server->name, tn_get_text(server->config, "url", ""),
                                             tn.value->get(server->config, "headers"), server->oauth};
        return http_new(&options, &events, why, size);
    }
    const struct stdio_options options = {server->name, tn.value->get(server->config, "command"),
                                          tn.value->get(server->config, "env"),
                                          tn_get_text(server->config, "cwd", NULL)};
    return stdio_new(&options, &events, why, size);
}

static void begin(struct server *server) {
    const struct session_options options = {.name = server->name,
                                            .era = tn_get_text(server->config, "era", "auto"),
                                            .log_level = tn_get_text(server->config, "log", "warning"),
                                            .roots = server->roots,
                                            .sampling = server_sampling(server) != NULL,
                                            .legacy = server->legacy,
                                            .http = is_http(server),
                                            .until_ms = server->until_ms,
                                            .connect_timeout_ms = connect_timeout_ms(server)};
    const struct session_events events = {server,      on_ready, on_failed,    on_changed,
                                          on_progress, on_asked, on_withdrawn, NULL};
    char why[400] = "there is no memory left";
    server->state = SERVER_STARTING;
    server->again = server->listing = false;
    server->session = session_new(&options, &events);
    struct transport *transport = server->session != NULL ? open_transport(server, why, sizeof why) : NULL;
    if (transport != NULL) {
        session_start(server->session, transport);
        return;
    }
    drop_session(server);
    give_up(server, "CONNECT", why);
}

static void start(struct server *server) {
    server->until_ms = now_ms() + connect_timeout_ms(server);
    begin(server);
}

void server_connect(struct server *server) {
    if (server->state != SERVER_IDLE) return;
    if (server->failures == 0) {
        start(server);
        return;
    }
    uint32_t doublings = server->failures < 10 ? server->failures - 1 : 9;
    int64_t delay = (int64_t)MCP_RESTART_MS << doublings;
    if (delay > MCP_RESTART_MAX_MS) delay = MCP_RESTART_MAX_MS;
    server->state = SERVER_RESTING;
    server->timer = tn.core->post(tn.host, (uint64_t)delay, rested, server);
    if (server->timer == 0) start(server);
}

/* ---- For people ---- */

static const char *state_name(const struct server *server) {
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

tn_value server_about(const struct server *server) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "name", server->name);
    tn_put_text(builder, "transport", is_http(server) ? "http" : "stdio");
    tn_put_text(builder, "state", state_name(server));
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
    return tn.value->finish(builder);
}
