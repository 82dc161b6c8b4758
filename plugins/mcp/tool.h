/*
 * tool.h - a server's tools as components, and its resources and prompts as additional tools.
 *
 * A tool is shared by its server's list, each instance and each open call. Its name is the server's; its id consists of
 * the server's prefix and the valid characters of that name.
 *
 *     struct tool *tool = tool_new(&naming, definition, why, sizeof why);
 *     if (tool == NULL) log_format(TN_LOG_WARN, "server `%s`: tool `%s` is left out: %s", server, name, why);
 *     tool_unref(tool);
 */
#ifndef MCP_TOOL_H
#define MCP_TOOL_H

#include "base.h"

struct server;

/* Tools for resources and prompts: one row each. */
struct tool_method {
    const char *suffix;     /* of the id: SERVER.resources.list */
    const char *capability; /* which the server must have */
    const char *method;
    const char *title, *documentation, *input, *output; /* the last two are JSON */
    tn_value (*result)(tn_value result);                /* converts the server's result */
};
extern TN_EASY_HIDDEN const struct tool_method mcp_tool_methods[];
extern TN_EASY_HIDDEN const size_t tool_method_count;

struct tool {
    struct tool *next;
    struct server *server; /* NULL after the server has dropped the tool */
    uint32_t references;
    uint32_t *left; /* counts the tools of its server that exist; NULL before it belongs to one */
    char *name;     /* the server's name for it */
    char id[MCP_ID_MAX + 1];
    tn_value definition;              /* from the server; NULL for a method */
    tn_value component;               /* for the registry */
    const struct tool_method *method; /* NULL: one of the server's tools */
    bool listed;                      /* it is in the list that is being read */
    bool structured;                  /* it returns structuredContent */
};

struct tool_naming {
    const char *prefix;
    const char *effect; /* of contacting the server: "process.spawn", "network.http:HOST" */
    bool http;          /* parameters may be headers; every call uses the network */
    const char *role;   /* the model that answers the server's questions, or NULL */
    const char *server; /* the server's name, for the effect of a tool about which it declares nothing */
    bool trusted;       /* such a tool counts as one that writes, instead of as one with unknown effects */
    /* Returns true if another tool has this id. */
    bool (*taken)(void *user, const char *id, const char *name);
    void *user;
};

/* Returns true if the server declares what the tool does: that it only reads, or whether it is destructive. */
bool tool_is_annotated(tn_value definition);
/* Returns one reference, or NULL with the reason in `why`. */
struct tool *tool_new(const struct tool_naming *naming, tn_value definition, char *why, size_t size);
struct tool *tool_new_method(const struct tool_naming *naming, const struct tool_method *method);
struct tool *tool_ref(struct tool *tool);
void tool_unref(struct tool *tool); /* NULL is allowed */

/* Makes an id of a prefix and a name; adds `number` if it is above 1. Returns false if the id would be too long or
 * empty. */
bool tool_id(char id[MCP_ID_MAX + 1], const char *prefix, const char *name, unsigned number);

#endif
