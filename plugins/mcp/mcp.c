/*
 * mcp.c - the plugin `tenon.mcp`: servers of the Model Context Protocol, whose tools become tools of Tenon.
 *
 *     plugins:
 *       config:
 *         tenon.mcp:
 *           servers:
 *             files: {command: [npx, -y, "@modelcontextprotocol/server-filesystem", /data]}
 *             web: {url: "https://mcp.example/mcp", headers: {authorization: ["Bearer ", {secret: EXAMPLE_KEY}]}}
 *
 * A server is started when its tools are wanted (tenon.demand), or, if the host does not offer that draft, in init.
 * The plugin expects more components until each started server has listed its tools or has failed. The component
 * `mcp.servers` always exists; it starts all servers, and reports their states.
 */
#include "call.h"
#include "connect.h"
#include "elicit.h"
#include "orphans.h"
#include "stdio.h"

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;
TN_EASY_HIDDEN const tn_poll_1 *mcp_poll;
TN_EASY_HIDDEN const tn_launch_draft *mcp_launch;
TN_EASY_HIDDEN const tn_http_1 *mcp_http;
TN_EASY_HIDDEN const tn_registry_1 *mcp_registry;

static struct server *servers;
static struct server *gone; /* servers that were removed, but have a tool that an instance still uses */
static uint32_t unsettled;  /* servers that were started, and whose tools are not known yet */
static bool is_ending;      /* quiesce was called: nothing is started or added any more */
static const tn_demand_draft *demand;

/* ---- Servers ---- */

void servers_report_settled(struct server *server) {
    (void)server;
    if (unsettled > 0 && --unsettled == 0) (void)mcp_registry->expect(tn.host, 0);
}

bool servers_are_ending(void) { return is_ending; }

bool servers_have_tool_id(const char *id, const struct server *besides) {
    for (const struct server *server = servers; server != NULL; server = server->next) {
        if (server == besides) continue;
        for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next)
            if (strcmp(tool->id, id) == 0) return true;
    }
    return false;
}

struct server *servers_find(const char *name) {
    struct server *server = servers;
    while (server != NULL && strcmp(server->name, name) != 0) server = server->next;
    return server;
}

uint32_t servers_count(void) {
    uint32_t count = 0;
    for (const struct server *server = servers; server != NULL; server = server->next) count++;
    return count;
}

/* Frees those that nothing uses any more. */
static void sweep_gone(void) {
    for (struct server **at = &gone; *at != NULL;) {
        struct server *server = *at;
        if (server->tools_left > 0 || server->calls != NULL) {
            at = &server->next;
            continue;
        }
        *at = server->next;
        server_free(server);
    }
}

bool servers_add(const char *name, tn_value config) {
    struct server **last = &servers, *server = server_new(name, config, NULL, 0);
    sweep_gone();
    if (server == NULL) return false;
    server->removable = server->settled = true; /* the plugin does not expect its tools: mcp.connect waits for them */
    while (*last != NULL) last = &(*last)->next;
    *last = server;
    server_connect(server);
    return true;
}

void servers_remove(const char *name) {
    struct server **at = &servers;
    while (*at != NULL && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    struct server *server = *at;
    if (server == NULL || !server->removable) return;
    *at = server->next;
    server->next = gone;
    gone = server;
    server_leave(server);
    connect_notify(); /* a node that waits for it has ended with it */
    sweep_gone();
}

static void free_all(struct server **list) {
    struct server *remaining = *list;
    *list = NULL;
    while (remaining != NULL) {
        struct server *server = remaining;
        remaining = server->next;
        server_free(server);
    }
}

static void mcp_free_servers(void) {
    unsettled = 0;
    free_all(&servers);
    free_all(&gone);
}

static bool connects_at_start(const struct server *server) {
    return !value_is(tn_get(server->config, "connect"), "on_demand");
}

/* ---- Demand ---- */

static void demand_server(struct server *server) {
    if (server->demanded || server->settled || !connects_at_start(server) || is_ending) return;
    server->demanded = true;
    if (unsettled++ == 0) (void)mcp_registry->expect(tn.host, 1);
    server_connect(server);
}

/* True if an id that matches the pattern may begin with the server's prefix and a dot. */
static bool server_may_have(const struct server *server, const char *pattern, uint64_t length) {
    const char *prefix = server_prefix(server);
    size_t prefix_length = strlen(prefix);
    for (uint64_t i = 0; i < length; i++) {
        if (pattern[i] == '*') return true;
        if (i == prefix_length) return pattern[i] == '.';
        if (pattern[i] != prefix[i]) return false;
    }
    return false;
}

static int32_t on_demand(void *user, const char *kind, uint64_t kind_length, const char *pattern,
                         uint64_t pattern_length, int32_t how) {
    bool more = false;
    (void)user;
    if (kind_length != strlen("tool") || memcmp(kind, "tool", kind_length) != 0 || is_ending) return 0;
    for (struct server *server = servers; server != NULL; server = server->next) {
        if (!server_may_have(server, pattern, pattern_length)) continue;
        if (how == TN_DEMAND_KNOWN)
            server_add_known(server);
        else if (how == TN_DEMAND_START)
            demand_server(server);
        more |= how == TN_DEMAND_START ? server->demanded && !server->settled : !server->settled && !server->known;
    }
    return more;
}

static int32_t mcp_init(void *self, tn_value config) {
    tn_value list = tn_get(config, "servers");
    struct server **last = &servers;
    const char *folder = tn_get_text(config, "tokens", NULL);
    int32_t keeps = 1;
    (void)self;
    (void)tn.value->as_bool(tn_get(config, "keep_tokens"), &keeps);
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value name, entry;
        if (tn.value->entry(list, i, &name, &entry) != TN_OK) break;
        if (tn.value->kind(entry) == TN_NULL) continue; /* the host has logged it and left it out */
        *last = server_new(tn_chars(name, NULL), entry, folder, keeps);
        if (*last == NULL) {
            mcp_free_servers();
            return TN_NO_MEMORY;
        }
        last = &(*last)->next;
    }
    is_ending = false;
    if (demand != NULL && demand->watch(tn.host, on_demand, NULL) == TN_OK) return TN_OK;
    for (struct server *server = servers; server != NULL; server = server->next) demand_server(server);
    return TN_OK;
}

/* ---- Shutdown: sessions over HTTP are ended at the server ---- */

static uint32_t sessions_ending;
static uint64_t quiesce_timer; /* a posted call */

static void mcp_finish_quiesce(void) {
    if (quiesce_timer != 0) (void)tn.core->unpost(tn.host, quiesce_timer);
    quiesce_timer = 0;
    sessions_ending = 0;
    for (struct server *server = servers; server != NULL; server = server->next)
        if (!server_in_use(server)) server_stop(server);
    (void)mcp_registry->expect(tn.host, 0);
}

static void on_quiesce_timeout(void *argument) {
    (void)argument;
    quiesce_timer = 0;
    mcp_finish_quiesce();
}

static void on_server_session_ended(void) {
    if (sessions_ending > 0 && --sessions_ending == 0 && quiesce_timer != 0) {
        (void)tn.core->unpost(tn.host, quiesce_timer); /* not from inside a transport's callback */
        quiesce_timer = tn_post(0, on_quiesce_timeout, NULL);
    }
}

static void mcp_quiesce(void *self) {
    (void)self;
    is_ending = true;
    stdio_stop_timers();
    for (struct server *server = servers; server != NULL; server = server->next)
        if (server_is_busy(server) && !server_in_use(server)) server_stop(server); /* its tools would come too late */
    for (struct server *server = servers; server != NULL; server = server->next)
        if (server->session != NULL && !server_in_use(server))
            sessions_ending += session_end_at_server(server->session, on_server_session_ended);
    if (sessions_ending > 0) quiesce_timer = tn_post(MCP_END_SESSION_MS, on_quiesce_timeout, NULL);
    if (quiesce_timer != 0)
        (void)mcp_registry->expect(tn.host, 1);
    else
        mcp_finish_quiesce();
}

static void mcp_deinit(void *self) {
    (void)self;
    if (quiesce_timer != 0) (void)tn.core->unpost(tn.host, quiesce_timer);
    quiesce_timer = 0;
    mcp_free_servers();
    stdio_end_all();
    orphans_finish();
}

/* ---- mcp.servers ---- */

static void complete_servers_task(tn_task task) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "servers", TN_ARRAY);
    for (const struct server *server = servers; server != NULL; server = server->next)
        tn_put_take(builder, NULL, server_describe(server));
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value about = tn_finish(builder);
    if (about != NULL)
        (void)tn.task->complete(task, about);
    else
        (void)tn_fail(task, "NO_MEMORY", "not enough memory");
    tn_release(about);
}

/* A task that waits until a server is ready or has failed. */
struct waiter {
    struct waiter *next;
    struct server *server; /* NULL: until no server is starting */
    tn_task task;
    int64_t asked; /* how often a person was asked for permission */
};
static struct waiter *waiters;

#define OURS "tenon.mcp"

/* Asks a person for permission with an interrupt. Returns false if it is not necessary or not possible. */
static bool waiter_request_permission(const struct waiter *waiter) {
    tn_value question = waiter->asked < OAUTH_QUESTIONS_MAX ? server_question(waiter->server) : NULL;
    if (question == NULL) return false;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, OURS, TN_OBJECT);
    tn_put_text(builder, "server", waiter->server->name);
    tn_put(builder, "question", question);
    tn_put_int(builder, "asked", waiter->asked + 1);
    tn.value->end(builder);
    tn.value->end(builder);
    bool asked = elicit_ask_take(waiter->task, question, waiter->server->name, "mcp.servers", tn_finish(builder));
    tn_release(question);
    return asked;
}

static bool any_server_is_busy(void) {
    for (const struct server *server = servers; server != NULL; server = server->next)
        if (server_is_busy(server)) return true;
    return false;
}

void servers_notify_waiters(const struct server *server) {
    for (struct waiter **at = &waiters; *at != NULL;) {
        struct waiter *waiter = *at;
        if (waiter->server != NULL ? waiter->server != server : any_server_is_busy()) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        if (waiter->server == NULL || server->state == SERVER_READY || !waiter_request_permission(waiter))
            complete_servers_task(waiter->task);
        mcp_free(waiter);
        at = &waiters; /* a notified waiter may have started another wait */
    }
    connect_notify();
}

static void waiter_cancel(tn_task task) {
    for (struct waiter **at = &waiters; *at != NULL; at = &(*at)->next) {
        struct waiter *waiter = *at;
        if (waiter->task != task) continue;
        *at = waiter->next;
        mcp_free(waiter);
        (void)tn_fail(task, "CANCELLED", "cancelled");
        return;
    }
}

/* `server` may be NULL: all that connect at the start. */
static int32_t wait_for_server(struct server *server, tn_task task, int64_t asked) {
    for (struct server *at = servers; server == NULL && at != NULL; at = at->next) demand_server(at);
    if (server == NULL ? !any_server_is_busy() : server->state == SERVER_READY) {
        complete_servers_task(task);
        return TN_OK;
    }
    struct waiter *waiter = mcp_alloc(sizeof *waiter);
    if (waiter == NULL) return TN_NO_MEMORY;
    *waiter = (struct waiter){waiters, server, task, asked};
    waiters = waiter;
    if (server == NULL) return TN_OK;
    if (server->state == SERVER_IDLE) server->failures = 0; /* connect at once, without the delay after failures */
    server_connect(server);
    return TN_OK;
}

/* A person has answered. */
static int32_t resume_server_task(struct server *server, tn_task task, tn_value continuation, tn_value answer) {
    char why[OAUTH_WHY_MAX];
    if (tn.value->kind(answer) == TN_NULL) {
        if (server->oauth != NULL) oauth_decline(server->oauth);
        return tn_fail(task, "AUTH", "the permission was declined");
    }
    if (server->oauth == NULL || oauth_answer(server->oauth, tn_get(continuation, "question"), answer, why, sizeof why))
        return wait_for_server(server, task, tn_get_int(continuation, "asked", OAUTH_QUESTIONS_MAX));
    tn_value message = format_value("server `%s`: %s", server->name, why);
    int32_t status = tn_fail(task, "AUTH", message != NULL ? tn_chars(message, NULL) : "no permission was given");
    tn_release(message);
    return status;
}

static int32_t start_servers_task(tn_task task, tn_value input) {
    tn_value continuation = value_get_nested(input, "continuation", OURS);
    const char *name =
        continuation != NULL ? tn_get_text(continuation, "server", "") : tn_get_text(input, "connect", NULL);
    struct server *server = servers;
    while (name != NULL && server != NULL && strcmp(server->name, name) != 0) server = server->next;
    if (name != NULL && server == NULL)
        return tn_fail(task, "NOT_FOUND", "`connect`: no server of this name is configured");
    if (continuation != NULL) return resume_server_task(server, task, continuation, tn_get(input, "answer"));
    return wait_for_server(name != NULL ? server : NULL, task, 0);
}

/* ---- Components: an instance is a tool, and the model for questions of its server ---- */

struct instance {
    struct tool *tool;           /* NULL: mcp.servers or mcp.connect */
    struct connector *connector; /* of mcp.connect; else NULL */
    uint32_t model;
};

static struct tool *find_registered_tool(const char *id, uint64_t length) {
    for (struct server *server = servers; server != NULL; server = server->next)
        for (struct tool *tool = server->tools; tool != NULL; tool = tool->next)
            if (strlen(tool->id) == length && memcmp(tool->id, id, length) == 0) return tool;
    return NULL;
}

static int32_t mcp_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder, void **out) {
    static const char servers_id[] = "mcp.servers";
    bool shows_servers = length == sizeof servers_id - 1 && memcmp(id, servers_id, length) == 0;
    bool connects = length == strlen("mcp.connect") && memcmp(id, "mcp.connect", length) == 0;
    struct tool *tool = shows_servers || connects ? NULL : find_registered_tool(id, length);
    struct connector *connector = NULL;
    uint32_t model = TN_UNBOUND;
    (void)self;
    if (tool == NULL && !shows_servers && !connects)
        return tn_refuse("NOT_FOUND", "the server no longer has this tool");
    const char *role = tool != NULL ? server_sampling_role(tool->server) : NULL;
    if (role != NULL) {
        int32_t status = tn.task->bind_call(binder, "model", TN_Z, role, TN_Z, NULL, &model);
        if (status != TN_OK) return status;
    }
    if (connects) {
        int32_t status = connect_create(config, binder, &connector);
        if (status != TN_OK) return status;
    }
    struct instance *instance = mcp_alloc(sizeof *instance);
    if (instance == NULL) {
        connect_destroy(connector);
        return TN_NO_MEMORY;
    }
    instance->connector = connector;
    instance->tool = tool != NULL ? tool_ref(tool) : NULL;
    instance->model = model;
    *out = instance;
    return TN_OK;
}

static int32_t mcp_start(void *self, tn_task task, tn_value input) {
    const struct instance *instance = self;
    if (instance->connector != NULL) {
        int32_t started = connect_start(instance->connector, task);
        return started == TN_FAILED ? TN_OK : started;
    }
    int32_t status = instance->tool != NULL ? mcp_call_start(instance->tool, task, input, instance->model)
                                            : start_servers_task(task, input);
    return status == TN_FAILED ? TN_OK : status; /* the task has already ended */
}

static void mcp_cancel(void *self, tn_task task) {
    const struct instance *instance = self;
    if (instance->tool != NULL)
        mcp_call_cancel(instance->tool->server, task);
    else if (instance->connector != NULL)
        connect_cancel(task);
    else
        waiter_cancel(task);
}

static void mcp_destroy(void *self) {
    struct instance *instance = self;
    tool_unref(instance->tool);
    connect_destroy(instance->connector);
    mcp_free(instance);
}

static const tn_component_1 components = {sizeof(tn_component_1), mcp_create, mcp_start, mcp_cancel, NULL, mcp_destroy};
static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), mcp_init, mcp_quiesce, mcp_deinit};

/* ---- Entry ---- */

static const void *mcp_get_interface(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof(tn_plugin), NULL, mcp_get_interface};
    if (tn_easy_entry(host) == NULL) return NULL; /* also fills `tn` */
    mcp_poll = tn_easy_interface(host, TN_POLL_1, sizeof *mcp_poll);
    mcp_launch = tn_easy_interface(host, TN_LAUNCH_DRAFT, sizeof *mcp_launch);
    mcp_http = tn_easy_interface(host, TN_HTTP_1, sizeof *mcp_http);
    mcp_registry = tn_easy_interface(host, TN_REGISTRY_1, sizeof *mcp_registry);
    demand = tn_easy_interface(host, TN_DEMAND_DRAFT, sizeof *demand);
    if (mcp_poll != NULL && mcp_registry != NULL) return &plugin;
    tn_log(TN_LOG_ERROR, "declined: the host does not offer " TN_POLL_1 " and " TN_REGISTRY_1);
    return NULL;
}
