/*
 * connect.c - the node `mcp.connect`.
 */
#include "connect.h"

struct connector {
    tn_value config;
    uint32_t out;
};

/* A task that waits for its servers. */
struct joining {
    struct joining *next;
    const struct connector *connector;
    tn_task task;
};
static struct joining *joinings;

int32_t connect_create(tn_value config, tn_binder *binder, struct connector **out) {
    struct connector *connector = mcp_alloc(sizeof *connector);
    const char *key = tn_get_text(config, "output_key", NULL);
    int32_t status = TN_OK;
    if (connector == NULL) return TN_NO_MEMORY;
    connector->out = TN_UNBOUND;
    if (key != NULL) status = tn.task->bind_write(binder, key, TN_Z, &connector->out);
    if (status == TN_OK) {
        connector->config = tn_retain(config);
        *out = connector;
    } else {
        mcp_free(connector);
    }
    return status;
}

void connect_destroy(struct connector *connector) {
    if (connector == NULL) return;
    tn_release(connector->config);
    mcp_free(connector);
}

static struct server *connect_server_at(const struct connector *connector, uint64_t index) {
    tn_value name, entry;
    if (tn.value->entry(tn_get(connector->config, "servers"), index, &name, &entry) != TN_OK) return NULL;
    return servers_find(tn_chars(name, NULL));
}

static uint64_t connect_server_count(const struct connector *connector) {
    return tn.value->count(tn_get(connector->config, "servers"));
}

static bool connect_is_settled(const struct connector *connector) {
    for (uint64_t i = 0; i < connect_server_count(connector); i++) {
        const struct server *server = connect_server_at(connector, i);
        if (server != NULL && server_is_busy(server)) return false;
    }
    return true;
}

static int32_t connect_complete(const struct connector *connector, tn_task task) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0; i < connect_server_count(connector); i++) {
        const struct server *server = connect_server_at(connector, i);
        if (server != NULL) tn_put_take(builder, NULL, server_describe(server));
    }
    tn.value->end(builder);
    tn_value described = tn_finish(builder);
    if (described == NULL) return TN_NO_MEMORY;
    if (connector->out != TN_UNBOUND) tn_write(task, connector->out, described);
    tn_release(described);
    return tn_done(task);
}

void connect_notify(void) {
    for (struct joining **at = &joinings; *at != NULL;) {
        struct joining *joining = *at;
        if (!connect_is_settled(joining->connector)) {
            at = &joining->next;
            continue;
        }
        *at = joining->next;
        if (connect_complete(joining->connector, joining->task) == TN_NO_MEMORY)
            (void)tn_fail(joining->task, "NO_MEMORY", "not enough memory");
        mcp_free(joining);
        at = &joinings; /* the end of a task may have started another one */
    }
}

void connect_cancel(tn_task task) {
    for (struct joining **at = &joinings; *at != NULL; at = &(*at)->next) {
        struct joining *joining = *at;
        if (joining->task != task) continue;
        *at = joining->next;
        mcp_free(joining);
        (void)tn_fail(task, "CANCELLED", "cancelled");
        return;
    }
}

/* Returns the code of the error, or NULL. */
static const char *connect_add_servers(const struct connector *connector) {
    tn_value list = tn_get(connector->config, "servers");
    for (uint64_t i = 0, count = connect_server_count(connector); i < count; i++) {
        tn_value name, entry;
        if (tn.value->entry(list, i, &name, &entry) != TN_OK) break;
        if (servers_find(tn_chars(name, NULL)) != NULL) return "EXISTS";
    }
    if (servers_count() + connect_server_count(connector) > MCP_SERVERS_MAX) return "LIMIT";
    for (uint64_t i = 0, count = connect_server_count(connector); i < count; i++) {
        tn_value name, entry;
        if (tn.value->entry(list, i, &name, &entry) != TN_OK) break;
        if (!servers_add(tn_chars(name, NULL), entry)) return "NO_MEMORY";
    }
    return NULL;
}

int32_t connect_start(struct connector *connector, tn_task task) {
    tn_value leaving = tn_get(connector->config, "disconnect");
    for (uint64_t i = 0, count = tn.value->count(leaving); i < count; i++)
        servers_remove(tn_chars(tn.value->at(leaving, i), NULL));
    const char *code = connect_add_servers(connector);
    if (code != NULL)
        return tn_fail(task, code,
                       strcmp(code, "EXISTS") == 0  ? "a server of this name exists already"
                       : strcmp(code, "LIMIT") == 0 ? "there are too many servers; disconnect some of them"
                                                    : "not enough memory");
    if (connect_is_settled(connector)) return connect_complete(connector, task);
    struct joining *joining = mcp_alloc(sizeof *joining);
    if (joining == NULL) return TN_NO_MEMORY;
    *joining = (struct joining){joinings, connector, task};
    joinings = joining;
    return TN_OK;
}
