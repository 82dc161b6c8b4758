/*
 * mcp.c - the plugin `tenon.mcp`: servers of the Model Context Protocol, whose tools are tools of Tenon.
 *
 *     plugins:
 *       config:
 *         tenon.mcp:
 *           servers:
 *             files: {command: [npx, -y, "@modelcontextprotocol/server-filesystem", /data]}
 *             web: {url: "https://mcp.example/mcp", headers: {authorization: ["Bearer ", {secret: EXAMPLE_KEY}]}}
 *
 * init starts the servers, on the loop, and says that more components are coming until each has told what it has, or
 * has failed. One component is always there: `mcp.servers`, which says how they all are.
 */
#include "call.h"
#include "elicit.h"
#include "orphans.h"
#include "stdio.h"

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;
TN_EASY_HIDDEN const tn_poll_draft *mcp_poll;
TN_EASY_HIDDEN const tn_http_draft *mcp_http;
TN_EASY_HIDDEN const tn_registry_draft *mcp_registry;

static const tn_expect_draft *expecting; /* NULL where the host cannot wait */
static struct server *servers;
static uint32_t unsettled; /* servers whose tools are not known yet */

/* ---- Servers ---- */

void servers_settled(struct server *server) {
    (void)server;
    if (unsettled > 0 && --unsettled == 0 && expecting != NULL) (void)expecting->expect(tn.host, 0);
}

bool servers_have(const char *id, const struct server *besides) {
    for (const struct server *server = servers; server != NULL; server = server->next) {
        if (server == besides) continue;
        for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next)
            if (strcmp(tool->id, id) == 0) return true;
    }
    return false;
}

static void forget(void) {
    struct server *leaving = servers;
    servers = NULL;
    unsettled = 0;
    while (leaving != NULL) {
        struct server *server = leaving;
        leaving = server->next;
        server_free(server);
    }
}

static bool is_eager(const struct server *server) {
    return !value_is(tn.value->get(server->config, "connect"), "on_demand");
}

static int32_t init(void *self, tn_value config) {
    tn_value list = tn.value->get(config, "servers");
    struct server **last = &servers;
    const char *folder = tn_get_text(config, "tokens", NULL);
    int32_t keeps = 1;
    (void)self;
    (void)tn.value->as_bool(tn.value->get(config, "keep_tokens"), &keeps);
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        tn_value name, entry;
        if (tn.value->entry(list, i, &name, &entry) != TN_OK) break;
        if (tn.value->kind(entry) == TN_NULL) continue; /* left out by the host, which has said so */
        *last = server_new(tn_chars(name, NULL), entry, folder, keeps);
        if (*last == NULL) {
            forget();
            return TN_NO_MEMORY;
        }
        if (is_eager(*last))
            unsettled++;
        else
            (*last)->settled = true;
        last = &(*last)->next;
    }
    if (unsettled > 0 && expecting != NULL) (void)expecting->expect(tn.host, 1);
    for (struct server *server = servers; server != NULL; server = server->next)
        if (is_eager(server)) server_connect(server);
    return TN_OK;
}

/* ---- Leaving: servers behind a URL that keep a session are told, where nobody uses them any more ---- */

static uint32_t goodbyes;
static uint64_t patience; /* a posted call */

static void done_leaving(void) {
    if (patience != 0) (void)tn.core->unpost(tn.host, patience);
    patience = 0;
    goodbyes = 0;
    for (struct server *server = servers; server != NULL; server = server->next)
        if (!server_in_use(server)) server_stop(server);
    if (expecting != NULL) (void)expecting->expect(tn.host, 0);
}

static void out_of_patience(void *argument) {
    (void)argument;
    patience = 0;
    done_leaving();
}

static void left(void) {
    if (goodbyes > 0 && --goodbyes == 0 && patience != 0) {
        (void)tn.core->unpost(tn.host, patience); /* not from inside what a transport says */
        patience = tn.core->post(tn.host, 0, out_of_patience, NULL);
    }
}

static void quiesce(void *self) {
    (void)self;
    stdio_last();
    for (struct server *server = servers; expecting != NULL && server != NULL; server = server->next)
        if (server->session != NULL && !server_in_use(server)) goodbyes += session_leave(server->session, left);
    if (goodbyes > 0) patience = tn.core->post(tn.host, MCP_LEAVE_MS, out_of_patience, NULL);
    if (patience != 0 && expecting != NULL)
        (void)expecting->expect(tn.host, 1);
    else
        done_leaving();
}

static void deinit(void *self) {
    (void)self;
    if (patience != 0) (void)tn.core->unpost(tn.host, patience);
    patience = 0;
    forget();
    stdio_end_all();
    orphans_finish();
}

/* ---- mcp.servers ---- */

static void complete_about(tn_task task) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "servers", TN_ARRAY);
    for (const struct server *server = servers; server != NULL; server = server->next)
        tn_put_take(builder, NULL, server_about(server));
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value about = tn.value->finish(builder);
    if (about != NULL)
        (void)tn.task->complete(task, about);
    else
        (void)tn_fail(task, "NO_MEMORY", "there is no memory left");
    tn_release(about);
}

/* Somebody who has asked for a server, and is told once it is there, or cannot be. */
struct waiter {
    struct waiter *next;
    struct server *server;
    tn_task task;
    int64_t asked; /* times that a person was asked for it */
};
static struct waiter *waiters;

#define OURS "tenon.mcp"

/* The person's permission, by the way that all questions take. False: nobody needs to be asked, or can be. */
static bool ask_person(const struct waiter *waiter) {
    tn_value question = waiter->asked < OAUTH_ASKS_MAX ? server_question(waiter->server) : NULL;
    if (question == NULL) return false;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, OURS, TN_OBJECT);
    tn_put_text(builder, "server", waiter->server->name);
    tn_put(builder, "question", question);
    tn_put_int(builder, "asked", waiter->asked + 1);
    tn.value->end(builder);
    tn.value->end(builder);
    bool asked =
        elicit_ask_take(waiter->task, question, waiter->server->name, "mcp.servers", tn.value->finish(builder));
    tn_release(question);
    return asked;
}

void servers_arrived(const struct server *server) {
    for (struct waiter **at = &waiters; *at != NULL;) {
        struct waiter *waiter = *at;
        if (waiter->server != server) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        if (server->state == SERVER_READY || !ask_person(waiter)) complete_about(waiter->task);
        give(waiter);
        at = &waiters; /* whoever was told may have asked again */
    }
}

static void stop_waiting(tn_task task) {
    for (struct waiter **at = &waiters; *at != NULL; at = &(*at)->next) {
        struct waiter *waiter = *at;
        if (waiter->task != task) continue;
        *at = waiter->next;
        give(waiter);
        (void)tn_fail(task, "CANCELLED", "cancelled");
        return;
    }
}

/* `server` NULL: for nothing. */
static int32_t wait_for(struct server *server, tn_task task, int64_t asked) {
    if (server == NULL || server->state == SERVER_READY) {
        complete_about(task);
        return TN_OK;
    }
    struct waiter *waiter = take(sizeof *waiter);
    if (waiter == NULL) return TN_NO_MEMORY;
    *waiter = (struct waiter){waiters, server, task, asked};
    waiters = waiter;
    if (server->state == SERVER_IDLE) server->failures = 0; /* somebody asks for it: no rest first */
    server_connect(server);
    return TN_OK;
}

/* A person has answered. */
static int32_t go_on(struct server *server, tn_task task, tn_value ours, tn_value answer) {
    char why[OAUTH_WHY_MAX];
    if (tn.value->kind(answer) == TN_NULL) {
        if (server->oauth != NULL) oauth_decline(server->oauth);
        return tn_fail(task, "AUTH", "the permission was declined");
    }
    if (server->oauth == NULL || oauth_answer(server->oauth, tn.value->get(ours, "question"), answer, why, sizeof why))
        return wait_for(server, task, tn_get_int(ours, "asked", OAUTH_ASKS_MAX));
    tn_value message = format_value("server `%s`: %s", server->name, why);
    (void)tn.task->fail(task, "AUTH", message != NULL ? tn_chars(message, NULL) : "no permission has come", NULL);
    tn_release(message);
    return TN_FAILED;
}

static int32_t start_servers(tn_task task, tn_value input) {
    tn_value ours = value_in(input, "continuation", OURS);
    const char *name = ours != NULL ? tn_get_text(ours, "server", "") : tn_get_text(input, "connect", NULL);
    struct server *server = servers;
    while (name != NULL && server != NULL && strcmp(server->name, name) != 0) server = server->next;
    if (name != NULL && server == NULL)
        return tn_fail(task, "NOT_FOUND", "`connect`: no server of this name is configured");
    if (ours != NULL) return go_on(server, task, ours, tn.value->get(input, "answer"));
    return wait_for(name != NULL ? server : NULL, task, 0);
}

/* ---- Components: an instance is a tool, and what its server's questions to a model go to ---- */

struct instance {
    struct tool *tool; /* NULL: mcp.servers */
    uint32_t model;
};

static struct tool *find_tool(const char *id) {
    for (struct server *server = servers; server != NULL; server = server->next)
        for (struct tool *tool = server->tools; tool != NULL; tool = tool->next)
            if (strcmp(tool->id, id) == 0) return tool;
    return NULL;
}

static int32_t create(void *self, const char *id, tn_value config, tn_binder *binder, void **out) {
    struct tool *tool = strcmp(id, "mcp.servers") != 0 ? find_tool(id) : NULL;
    uint32_t model = TN_UNBOUND;
    (void)self, (void)config;
    if (tool == NULL && strcmp(id, "mcp.servers") != 0)
        return tn.task->refuse(binder, "NOT_FOUND", "its server does not have this tool any more");
    const char *role = tool != NULL ? server_sampling(tool->server) : NULL;
    if (role != NULL) {
        int32_t status = tn.task->bind_call(binder, "model", role, NULL, &model);
        if (status != TN_OK) return status;
    }
    struct instance *instance = take(sizeof *instance);
    if (instance == NULL) return TN_NO_MEMORY;
    instance->tool = tool != NULL ? tool_ref(tool) : NULL;
    instance->model = model;
    *out = instance;
    return TN_OK;
}

static int32_t start(void *self, tn_task task, tn_value input) {
    const struct instance *instance = self;
    int32_t status =
        instance->tool != NULL ? call_start(instance->tool, task, input, instance->model) : start_servers(task, input);
    return status == TN_FAILED ? TN_OK : status; /* the task has been ended */
}

static void cancel(void *self, tn_task task) {
    const struct instance *instance = self;
    if (instance->tool != NULL)
        call_cancel(instance->tool->server, task);
    else
        stop_waiting(task);
}

static void destroy(void *self) {
    struct instance *instance = self;
    tool_unref(instance->tool);
    give(instance);
}

static const tn_component_1 components = {sizeof(tn_component_1), 0, create, start, cancel, NULL, destroy};
static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), 0, init, quiesce, deinit};

/* ---- Entry ---- */

static const void *get(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof(tn_plugin), 0, NULL, get};
    if (tn_easy_entry(host) == NULL) return NULL; /* it fills `tn` */
    mcp_poll = tn_easy_interface(host, TN_POLL_DRAFT, sizeof *mcp_poll);
    mcp_http = tn_easy_interface(host, TN_HTTP_DRAFT, sizeof *mcp_http);
    mcp_registry = tn_easy_interface(host, TN_REGISTRY_DRAFT, sizeof *mcp_registry);
    expecting = tn_easy_interface(host, TN_EXPECT_DRAFT, sizeof *expecting);
    if (mcp_poll != NULL && mcp_registry != NULL) return &plugin;
    tn.core->log(host, TN_LOG_ERROR, "declined: the host does not offer " TN_POLL_DRAFT " and " TN_REGISTRY_DRAFT);
    return NULL;
}
