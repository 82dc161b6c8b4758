/*
 * tool.h - what a server offers, as components: its tools, and its resources and prompts as tools of their own.
 *
 * A tool is shared: by its server's list while the server has it, by each instance and each open call. Its name is the
 * server's; its id is made of the server's prefix and that name, in the letters that ids may have.
 *
 *     struct tool *tool = tool_new(&naming, definition, why, sizeof why);
 *     if (tool == NULL) say(TN_LOG_WARN, "server `%s`: tool `%s` is left out: %s", server, name, why);
 *     tool_unref(tool);
 */
#ifndef MCP_TOOL_H
#define MCP_TOOL_H

#include "base.h"

struct server;

/* Resources and prompts: one row each. */
struct tool_method {
    const char *suffix;     /* of the id: SERVER.resources.list */
    const char *capability; /* that the server must have */
    const char *method;
    const char *title, *documentation, *input, *output; /* the last two are JSON */
    tn_value (*result)(tn_value result);                /* the server's, as ours */
};
extern TN_EASY_HIDDEN const struct tool_method tool_methods[];
extern TN_EASY_HIDDEN const size_t tool_method_count;

struct tool {
    struct tool *next;
    struct server *server; /* NULL once it has been forgotten */
    uint32_t references;
    char *name; /* the server's own */
    char id[MCP_ID_MAX + 1];
    tn_value definition;              /* as the server gave it; NULL for a method's */
    tn_value component;               /* as the registry takes it */
    const struct tool_method *method; /* NULL: one of the server's tools */
    bool kept;                        /* it is in the list that is being read */
    bool structured;                  /* it promises structuredContent */
};

struct tool_naming {
    const char *prefix;
    const char *effect; /* of talking to the server at all: "process.spawn", "network.http:HOST" */
    bool http;          /* parameters may be headers; it reaches the world by itself */
    /* Whether an id is another tool's already. */
    bool (*taken)(void *user, const char *id, const char *name);
    void *user;
};

/* One reference; NULL: `why` says why. */
struct tool *tool_new(const struct tool_naming *naming, tn_value definition, char *why, size_t size);
struct tool *tool_new_method(const struct tool_naming *naming, const struct tool_method *method);
struct tool *tool_ref(struct tool *tool);
void tool_unref(struct tool *tool); /* NULL is allowed */

/* An id from a prefix and a name; `number` above 1 is added to it. False: it would be too long, or empty. */
bool tool_id(char id[MCP_ID_MAX + 1], const char *prefix, const char *name, unsigned number);

#endif
