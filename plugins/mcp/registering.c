/*
 * registering.c - adds tools to the registry and removes them.
 *
 * A tool that cannot be registered (no name, a schema that does not compile, an id of another plugin) is left out with
 * a warning that names it. The other tools are not affected.
 */
#include "registering.h"
#include <tenon/util/tool_pattern.h>

static bool is_id_taken(void *user, const char *id, const char *name) {
    const struct server *server = user;
    for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next)
        if (strcmp(tool->id, id) == 0 && (tool->method != NULL || strcmp(tool->name, name) != 0)) return true;
    return servers_have_tool_id(id, server);
}

static struct tool_naming server_get_tool_naming(struct server *server) {
    return (struct tool_naming){.prefix = server_prefix(server),
                                .effect = server->effect,
                                .http = strncmp(server->effect, "network.http", 12) == 0,
                                .role = server_sampling_role(server),
                                .server = server->name,
                                .trusted = value_is(tn_get(server->config, "unannotated"), "auto"),
                                .taken = is_id_taken,
                                .user = server};
}

/* ---- The allow-list ---- */

static bool is_tool_allowed(const struct server *server, const char *name) {
    tn_value list = tn_get(server->config, "tools");
    if (tn.value->kind(list) != TN_ARRAY) return true;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        uint64_t length = 0;
        const char *pattern = tn_chars(tn.value->at(list, i), &length);
        if (pattern != NULL && tn_pattern_matches(pattern, length, name)) return true;
    }
    return false;
}

/* ---- Registration ---- */

static void skip_tool(struct server *server, const char *name, const char *why) {
    server->skipped++;
    if (server->skipped <= MCP_STRAYS_MAX)
        log_format(TN_LOG_WARN, "server `%s`: tool `%.128s` is left out: %s%s", server->name, name, why,
                   server->skipped == MCP_STRAYS_MAX ? "; further ones are not logged" : "");
}

static void append_tool(struct server *server, struct tool *tool) {
    struct tool **last = &server->tools;
    while (*last != NULL) last = &(*last)->next;
    *last = tool;
    tool->next = NULL;
    tool->server = server;
    tool->left = &server->tools_left;
    server->tool_count++;
    server->tools_left++;
}

/* Takes the reference. */
static bool register_tool(struct server *server, struct tool *tool) {
    if (server->added++ >= MCP_ADDED_MAX) {
        skip_tool(server, tool->name, "the server has changed its tools too often");
    } else if (mcp_registry->add(tn.host, tool->component, NULL) != TN_OK) {
        skip_tool(server, tool->name, "the host rejected it (see the previous line)");
    } else {
        append_tool(server, tool);
        return true;
    }
    tool_unref(tool);
    return false;
}

static void unregister_tool(struct server *server, struct tool *tool) {
    struct tool **at = &server->tools;
    while (*at != tool) at = &(*at)->next;
    *at = tool->next;
    server->tool_count--;
    (void)mcp_registry->remove(tn.host, "tool", TN_Z, tool->id, TN_Z);
    tool_unref(tool);
}

static struct tool *find_server_tool(struct server *server, const char *name) {
    struct tool *tool = server->tools;
    while (tool != NULL && (tool->method != NULL || strcmp(tool->name, name) != 0)) tool = tool->next;
    return tool;
}

static void register_definition(struct server *server, tn_value definition) {
    const char *name = tn_get_text(definition, "name", "(without a name)");
    struct tool *known = find_server_tool(server, name);
    char why[200];
    if (!is_tool_allowed(server, name)) return;
    if (value_is(tn_get(server->config, "unannotated"), "deny") && !tool_is_annotated(definition)) {
        skip_tool(server, name, "the server does not declare what it does, and `unannotated` is `deny`");
        return;
    }
    if (known != NULL && known->listed) {
        skip_tool(server, name, "the name occurs twice");
        return;
    }
    if (known != NULL && tn.value->equal(known->definition, definition)) {
        known->listed = true;
        return;
    }
    const struct tool_naming naming = server_get_tool_naming(server);
    struct tool *tool = tool_new(&naming, definition, why, sizeof why);
    if (known != NULL) unregister_tool(server, known);
    if (tool == NULL)
        skip_tool(server, name, why);
    else if (register_tool(server, tool))
        tool->listed = true;
}

void registering_begin(struct server *server) {
    server->skipped = 0;
    for (struct tool *tool = server->tools; tool != NULL; tool = tool->next) tool->listed = tool->method != NULL;
}

bool registering_page(struct server *server, tn_value tools) {
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) {
        uint32_t listed_count = 0;
        if (server->tool_count >= MCP_TOOLS_MAX)
            for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next) listed_count += tool->listed;
        if (listed_count >= MCP_TOOLS_MAX) {
            log_format(TN_LOG_WARN,
                       "server `%s`: it has more than %d tools; the others are left out (use `tools` to select the "
                       "tools that are needed)",
                       server->name, MCP_TOOLS_MAX);
            return false;
        }
        register_definition(server, tn.value->at(tools, i));
    }
    return true;
}

void registering_end(struct server *server) {
    for (struct tool *tool = server->tools, *next; tool != NULL; tool = next) {
        next = tool->next;
        if (!tool->listed) unregister_tool(server, tool);
    }
}

void registering_keep_all(struct server *server) {
    for (struct tool *tool = server->tools; tool != NULL; tool = tool->next) tool->listed = true;
}

void registering_remove_all(struct server *server) {
    while (server->tools != NULL) unregister_tool(server, server->tools);
}

void registering_clear(struct server *server) {
    while (server->tools != NULL) {
        struct tool *tool = server->tools;
        server->tools = tool->next;
        tool->left = NULL; /* the server ends before it */
        tool_unref(tool);
    }
    server->tool_count = 0;
}

void registering_methods(struct server *server, tn_value capabilities) {
    tn_value wanted = tn_get(server->config, "resources");
    for (size_t i = 0; i < tool_method_count; i++) {
        const struct tool_method *method = &mcp_tool_methods[i];
        bool there = false, has = tn.value->kind(tn_get(capabilities, method->capability)) == TN_OBJECT;
        for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next) there |= tool->method == method;
        if (there || !has || (wanted != NULL && !value_is_true(wanted))) continue;
        const struct tool_naming naming = server_get_tool_naming(server);
        struct tool *tool = tool_new_method(&naming, method);
        if (tool == NULL)
            skip_tool(server, method->suffix, "it has no valid id, or memory ran out");
        else
            (void)register_tool(server, tool);
    }
}

void registering_known(struct server *server, tn_value catalogue) {
    registering_begin(server);
    (void)registering_page(server, tn_get(catalogue, "tools"));
    registering_end(server);
    registering_methods(server, tn_get(catalogue, "capabilities"));
}
