/*
 * registering.c - tools into the registry and out of it.
 *
 * What cannot be taken (no name, a schema that does not compile, an id that is another plugin's) is left out with a
 * warning that names it; the others are not concerned.
 */
#include "registering.h"

static bool taken(void *user, const char *id, const char *name) {
    const struct server *server = user;
    for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next)
        if (strcmp(tool->id, id) == 0 && (tool->method != NULL || strcmp(tool->name, name) != 0)) return true;
    return servers_have(id, server);
}

static struct tool_naming naming_of(struct server *server) {
    return (struct tool_naming){.prefix = server_prefix(server),
                                .effect = server->effect,
                                .http = strncmp(server->effect, "network.http", 12) == 0,
                                .taken = taken,
                                .user = server};
}

/* ---- The allow-list ---- */

static bool fits(const char *pattern, const char *name) {
    const char *star = NULL, *from = NULL;
    while (*name != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            from = name;
        } else if (*pattern == *name) {
            pattern++, name++;
        } else if (star != NULL) {
            pattern = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return *pattern == '\0';
}

static bool allowed(const struct server *server, const char *name) {
    tn_value list = tn.value->get(server->config, "tools");
    if (tn.value->kind(list) != TN_ARRAY) return true;
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++) {
        const char *pattern = tn_chars(tn.value->at(list, i), NULL);
        if (pattern != NULL && fits(pattern, name)) return true;
    }
    return false;
}

/* ---- In and out ---- */

static void skip(struct server *server, const char *name, const char *why) {
    server->skipped++;
    if (server->skipped <= MCP_STRAYS_MAX)
        say(TN_LOG_WARN, "server `%s`: tool `%.128s` is left out: %s%s", server->name, name, why,
            server->skipped == MCP_STRAYS_MAX ? "; further ones are not named" : "");
}

static void append(struct server *server, struct tool *tool) {
    struct tool **last = &server->tools;
    while (*last != NULL) last = &(*last)->next;
    *last = tool;
    tool->next = NULL;
    tool->server = server;
    server->tool_count++;
}

/* Takes the reference. */
static bool put_in(struct server *server, struct tool *tool) {
    if (server->added++ >= MCP_ADDED_MAX) {
        skip(server, tool->name, "its server has changed its tools too often");
    } else if (mcp_registry->add(tn.host, tool->component) != TN_OK) {
        skip(server, tool->name, "the host refuses it, see above");
    } else {
        append(server, tool);
        return true;
    }
    tool_unref(tool);
    return false;
}

static void take_out(struct server *server, struct tool *tool) {
    struct tool **at = &server->tools;
    while (*at != tool) at = &(*at)->next;
    *at = tool->next;
    server->tool_count--;
    (void)mcp_registry->remove(tn.host, "tool", tool->id);
    tool_unref(tool);
}

static struct tool *find(struct server *server, const char *name) {
    struct tool *tool = server->tools;
    while (tool != NULL && (tool->method != NULL || strcmp(tool->name, name) != 0)) tool = tool->next;
    return tool;
}

static void register_one(struct server *server, tn_value definition) {
    const char *name = tn_get_text(definition, "name", "(without a name)");
    struct tool *known = find(server, name);
    char why[200];
    if (!allowed(server, name)) return;
    if (known != NULL && known->kept) {
        skip(server, name, "there are two of this name");
        return;
    }
    if (known != NULL && tn.value->equal(known->definition, definition)) {
        known->kept = true;
        return;
    }
    const struct tool_naming naming = naming_of(server);
    struct tool *tool = tool_new(&naming, definition, why, sizeof why);
    if (known != NULL) take_out(server, known);
    if (tool == NULL)
        skip(server, name, why);
    else if (put_in(server, tool))
        tool->kept = true;
}

void registering_begin(struct server *server) {
    server->skipped = 0;
    for (struct tool *tool = server->tools; tool != NULL; tool = tool->next) tool->kept = tool->method != NULL;
}

bool registering_page(struct server *server, tn_value tools) {
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++) {
        uint32_t kept = 0;
        if (server->tool_count >= MCP_TOOLS_MAX)
            for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next) kept += tool->kept;
        if (kept >= MCP_TOOLS_MAX) {
            say(TN_LOG_WARN,
                "server `%s`: it has more than %d tools; the others are left out (`tools` names those that "
                "are wanted)",
                server->name, MCP_TOOLS_MAX);
            return false;
        }
        register_one(server, tn.value->at(tools, i));
    }
    return true;
}

void registering_end(struct server *server) {
    for (struct tool *tool = server->tools, *next; tool != NULL; tool = next) {
        next = tool->next;
        if (!tool->kept) take_out(server, tool);
    }
}

void registering_keep_all(struct server *server) {
    for (struct tool *tool = server->tools; tool != NULL; tool = tool->next) tool->kept = true;
}

void registering_forget(struct server *server) {
    while (server->tools != NULL) {
        struct tool *tool = server->tools;
        server->tools = tool->next;
        tool_unref(tool);
    }
    server->tool_count = 0;
}

void registering_methods(struct server *server) {
    tn_value wanted = tn.value->get(server->config, "resources");
    for (size_t i = 0; i < tool_method_count; i++) {
        const struct tool_method *method = &tool_methods[i];
        bool there = false, has = session_can(server->session, method->capability);
        for (const struct tool *tool = server->tools; tool != NULL; tool = tool->next) there |= tool->method == method;
        if (there || !has || (wanted != NULL && !value_true(wanted))) continue;
        const struct tool_naming naming = naming_of(server);
        struct tool *tool = tool_new_method(&naming, method);
        if (tool == NULL)
            skip(server, method->suffix, "it has no id, or there is no memory left");
        else
            (void)put_in(server, tool);
    }
}
