/*
 * acp_mcp.c - MCP servers that the client names: they belong to one session.
 *
 * The plugin tenon.mcp has the node type `mcp.connect`, which adds servers while the host runs. A document of one such
 * node is run with the method run/start, so the rules of the operator for nodes apply. The tools of a server begin with
 * `acp.NAME.`; the runs of the session get them with `session.tools` of run/start, and no other run can use them.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/server/acp/acp_internal.h"
#include <string.h>
#include <tenon.h>

#define PREFIX             "acp."
#define PREFIX_NAME_MAX    40u
#define CONNECT_TIMEOUT_MS 20000 /* for the answer to session/new */

struct servers_start {
    struct acp_session *session;
    void (*done)(struct acp_session *session);
};

bool acp_servers_check(tn_value servers, struct error *error) {
    if (value_count(servers) > ACP_SERVERS_MAX) {
        error_set(error, TN_LIMIT, "LIMIT", "found %zu servers, expected at most %u", value_count(servers),
                  ACP_SERVERS_MAX);
        return false;
    }
    for (size_t i = 0; i < value_count(servers); i++) {
        if (!value_text_is(value_get(value_at(servers, i), "type"), "sse")) continue;
        error_set(error, TN_UNSUPPORTED, "UNSUPPORTED",
                  "the server `%.100s` has the transport `sse`, expected stdio or http (`mcpCapabilities` says so)",
                  acp_text(value_at(servers, i), "name"));
        return false;
    }
    return true;
}

tn_value acp_servers_tools(const struct acp_session *session) {
    tn_value patterns = value_array();
    for (size_t i = 0; i < value_count(session->servers); i++)
        patterns = value_push_take(patterns, value_format("%s.*", acp_text(value_at(session->servers, i), "prefix")));
    return patterns;
}

/* ---- The configuration of a server ---- */

/* [{name, value}] as {name: value}. */
static tn_value object_of_pairs(tn_value server, const char *member) {
    tn_value pairs = value_get(server, member), object = value_object();
    for (size_t i = 0; pairs && i < value_count(pairs); i++) {
        tn_value pair = value_at(pairs, i);
        object = value_set_key_take(object, value_ref(value_get(pair, "name")), value_ref(value_get(pair, "value")));
    }
    return object;
}

static tn_value server_command(tn_value server) {
    tn_value command = value_push_take(value_array(), value_ref(value_get(server, "command")));
    return value_concat_take(command, acp_array(server, "args"));
}

static tn_value server_roots_of(const struct acp_session *session) {
    tn_value roots = value_push_take(value_array(), value_text(session->cwd));
    return value_concat_take(roots, value_ref(session->directories));
}

static tn_value server_config(const struct acp_session *session, tn_value server, const char *prefix) {
    bool http = value_text_is(value_get(server, "type"), "http");
    tn_value config = value_set_take(value_object_reserve(6), "prefix", value_text(prefix));
    config = value_set_take(config, "connect_timeout_ms", value_int(CONNECT_TIMEOUT_MS));
    config = value_set_take(config, "roots", server_roots_of(session));
    if (http) {
        config = value_set_take(config, "url", value_ref(value_get(server, "url")));
        return value_set_take(config, "headers", object_of_pairs(server, "headers"));
    }
    config = value_set_take(config, "command", server_command(server));
    config = value_set_take(config, "cwd", value_text(session->cwd));
    return value_set_take(config, "env", object_of_pairs(server, "env"));
}

static bool prefix_is_used(const struct acp *acp, const char *prefix) {
    for (const struct acp_session *session = acp->sessions; session; session = session->next)
        for (size_t i = 0; i < value_count(session->servers); i++)
            if (value_text_is(value_get(value_at(session->servers, i), "prefix"), prefix)) return true;
    return false;
}

/* `acp.NAME`, where NAME has only characters of ids; with a number if another server has it. A new reference. */
static tn_value choose_prefix(const struct acp *acp, const char *name) {
    char safe[PREFIX_NAME_MAX + 1];
    size_t length = 0;
    for (; name[length] && length < PREFIX_NAME_MAX; length++) {
        char c = name[length];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        safe[length] = plain || (length && (c == '_' || c == '-')) ? c : length ? '-' : 'x';
    }
    safe[length] = '\0';
    tn_value prefix = value_format(PREFIX "%s", safe);
    for (unsigned number = 2; prefix_is_used(acp, value_chars(prefix, NULL)); number++) {
        value_unref(prefix);
        prefix = value_format(PREFIX "%s-%u", safe, number);
    }
    return prefix;
}

/* ---- Runs of mcp.connect ---- */

static tn_value connect_edge(const char *from, const char *to) {
    tn_value made = value_set_take(value_object_reserve(2), "from", value_text(from));
    return value_set_take(made, "to", value_text(to));
}

/* The parameters of run/start for a document with one node. Takes `config`. */
static tn_value connect_params_take(tn_value config) {
    tn_value channel = value_set_take(value_object_reserve(2), "name", value_text("servers"));
    channel = value_set_take(channel, "type", value_text("last_value"));
    tn_value node = value_set_take(value_object_reserve(3), "id", value_text("connect"));
    node = value_set_take(node, "type", value_text("mcp.connect"));
    node = value_set_take(node, "config", value_set_take(config, "output_key", value_text("servers")));
    tn_value edges = value_push_take(value_array(), connect_edge("START", "connect"));
    tn_value agent = value_set_take(value_object_reserve(1), "name", value_text("acp-servers"));
    tn_value document = value_set_take(value_object_reserve(5), "version", value_text("1.0"));
    document = value_set_take(document, "agent", agent);
    document = value_set_take(document, "channels", value_push_take(value_array(), channel));
    document = value_set_take(document, "nodes", value_push_take(value_array(), node));
    document = value_set_take(document, "edges", value_push_take(edges, connect_edge("connect", "END")));
    char *text = json_text(document, JSON_COMPACT);
    tn_value params = value_set_take(value_object_reserve(3), "text", value_text(text));
    params = value_set_take(params, "name", value_text("acp-servers.json"));
    mem_free(text);
    value_unref(document);
    tn_value session = value_set_take(value_object_reserve(1), "starts_programs", value_bool(true));
    params = value_set_take(params, "session", session);
    return value_set_take(params, "modes", value_array());
}

static void start_over(struct servers_start *start) {
    struct acp_session *session = start->session;
    void (*done)(struct acp_session * session) = start->done;
    mem_free(session->connecting);
    session->connecting = NULL;
    mem_free(start);
    done(session);
}

/* ---- Servers that cannot be used ---- */

/* The person sees it with the next prompt: an editor shows no log. */
static void note_take(struct acp_session *session, tn_value text) {
    log_write(TN_LOG_WARN, NULL, "%s", value_chars(text, NULL));
    session->notices = value_push_take(session->notices, text);
}

static void note_all(struct acp_session *session, const char *why) {
    note_take(session, value_format("MCP servers of the client cannot be used: %s", why));
}

/* As the client calls the server with this name at the plugin. */
static const char *server_title(const struct acp_session *session, const char *name) {
    for (size_t i = 0; i < value_count(session->servers); i++)
        if (value_text_is(value_get(value_at(session->servers, i), "name"), name))
            return acp_text(value_at(session->servers, i), "title");
    return name;
}

static void note_servers(struct acp_session *session, tn_value run) {
    tn_value report = value_get(run, "report"), servers = value_get(value_get(report, "state"), "servers");
    const char *message = acp_text(value_get(report, "error"), "message");
    if (!value_text_is(value_get(run, "status"), "done"))
        note_all(session, message ? message : acp_text(run, "status"));
    for (size_t i = 0; servers && i < value_count(servers); i++) {
        tn_value server = value_at(servers, i);
        const char *why = acp_text(server, "why"), *name = acp_text(server, "name");
        if (value_text_is(value_get(server, "state"), "ready")) continue;
        note_take(session,
                  value_format("MCP server `%s` of the client cannot be used: %s",
                               name ? server_title(session, name) : "", why ? why : acp_text(server, "state")));
    }
}

/* ---- Starting and stopping ---- */

static void start_on_waited(void *user, tn_value run, const struct error *error) {
    const struct servers_start *start = user;
    if (run)
        note_servers(start->session, run);
    else
        note_all(start->session, error->message);
    start_over(user);
}

static void start_on_started(void *user, tn_value result, const struct error *error) {
    struct servers_start *start = user;
    if (!result) {
        note_all(start->session, error->message);
        start_over(start);
        return;
    }
    mem_free(start->session->connecting);
    start->session->connecting = mem_text(acp_text(result, "run_id"));
    if (start->session->acp->closing) acp_servers_cancel(start->session);
    tn_value params = value_set_take(value_object_reserve(1), "run_id", value_ref(value_get(result, "run_id")));
    acp_call_take(start->session->acp, "run/wait", params, start_on_waited, start);
}

void acp_servers_start(struct acp_session *session, tn_value servers, void (*done)(struct acp_session *session)) {
    struct acp *acp = session->acp;
    if (value_count(servers) == 0 || acp->options.no_mcp) {
        if (value_count(servers)) log_write(TN_LOG_INFO, NULL, "the MCP servers of the client are not used (--no-mcp)");
        done(session);
        return;
    }
    tn_value configs = value_object();
    for (size_t i = 0; i < value_count(servers); i++) {
        tn_value server = value_at(servers, i), prefix = choose_prefix(acp, acp_text(server, "name"));
        tn_value name = value_format("acp-%llu", (unsigned long long)++acp->servers_started);
        tn_value config = server_config(session, server, value_chars(prefix, NULL));
        configs = value_set_key_take(configs, value_ref(name), config);
        tn_value kept = value_set_take(value_object_reserve(3), "name", name);
        kept = value_set_take(kept, "title", value_ref(value_get(server, "name")));
        session->servers = value_push_take(session->servers, value_set_take(kept, "prefix", prefix));
    }
    struct servers_start *start = mem_zalloc(sizeof *start);
    *start = (struct servers_start){session, done};
    tn_value config = value_set_take(value_object_reserve(2), "servers", configs);
    acp_call_take(acp, "run/start", connect_params_take(config), start_on_started, start);
}

static void servers_ignore_result(void *user, tn_value result, const struct error *error) {
    (void)user, (void)result, (void)error;
}

void acp_servers_cancel(struct acp_session *session) {
    if (!session->connecting) return;
    tn_value params = value_set_take(value_object_reserve(1), "run_id", value_text(session->connecting));
    acp_call_take(session->acp, "run/cancel", params, servers_ignore_result, NULL);
}

/* When the connection has ended, the host ends, and stops them. */
void acp_servers_stop(struct acp_session *session) {
    tn_value names = value_array();
    if (session->acp->peer)
        for (size_t i = 0; i < value_count(session->servers); i++)
            names = value_push_take(names, value_ref(value_get(value_at(session->servers, i), "name")));
    if (value_count(names)) {
        tn_value config = value_set_take(value_object_reserve(2), "disconnect", names);
        acp_call_take(session->acp, "run/start", connect_params_take(config), servers_ignore_result, NULL);
    } else {
        value_unref(names);
    }
}
