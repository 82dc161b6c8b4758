/*
 * authority.h - who may call what: a chain from the operator through documents to the component that calls.
 *
 * Each component instance and each document has a *frame*. A frame points to the next one outwards: a node to its
 * document, a tool to the component that bound it, a document to the component or document that opened it. NULL is the
 * operator, who may do everything. A frame only ever narrows what the frames around it allow:
 *
 *   component   calls what its manifest declares (`calls.KIND:PATTERN` among its effects) if the callee's effects are
 *               among its own, and what its configuration names in a member annotated `x-tenon`, because the author
 *               of that configuration has chosen it. The author must be allowed to call it, too.
 *   document    its list `tools` is an allow-list for everything inside it, however deep.
 *   session     the client that has started a run, around its document: which role uses the binding of which other
 *               one, and which tools are of this session. A tool whose name begins with AUTHORITY_SESSION_TOOLS is one
 *               that a client has added for its own runs; others cannot use it.
 *
 * sdk/guide/authority.md has the rule for authors and operators. binder.c checks every bound name with authority_check;
 * engine/tool applies authority_allows_tool and the approval rules to each use.
 *
 *     struct authority *node = authority_of_component(document, info, config, "judge");
 *     if (authority_check(node, "tool", "shell.run", callee, &error) != TN_OK) refuse(&error);
 *     authority_unref(node);
 *
 * Frames are immutable and counted. Thread: [loop]; references may be released on any OS thread.
 */
#ifndef TENON_HOST_PLUGIN_CALL_AUTHORITY_H
#define TENON_HOST_PLUGIN_CALL_AUTHORITY_H

#include "adl/document/catalog.h"
#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define AUTHORITY_SESSION_TOOLS "acp." /* the start of the names of tools that belong to a session */

enum authority_kind { AUTHORITY_DOCUMENT, AUTHORITY_COMPONENT, AUTHORITY_SESSION };

struct authority {
    _Atomic uint32_t references;
    enum authority_kind kind;
    struct authority *outer; /* NULL: the operator */
    char *name;              /* a document's name; a node's id; NULL for other frames */
    /* A document. */
    tn_value tools;  /* [{name, …}] as tool_entries returns it; NULL if the document allows every tool */
    tn_value models; /* {role: binding}, set by the builder of the document; NULL if it binds none */
    tn_value budget; /* as the document has it, set by its builder; NULL if there is none */
    bool from_text;  /* a component passed it as a text at run time: a model may have written it */
    /* A session. */
    tn_value roles;     /* {role: the role whose binding it uses}; or NULL */
    tn_value own_tools; /* [pattern]; or NULL */
    bool starts_programs;
    /* A component. */
    const struct component_info *info;
    tn_value config; /* as its author wrote it, without defaults; NULL if there is none */
};

/* Each returns a new reference; `outer`, `config` and `tools` are borrowed and may be NULL. `node` may be NULL. */
struct authority *authority_of_component(struct authority *outer, const struct component_info *info, tn_value config,
                                         const char *node);
struct authority *authority_of_document(struct authority *outer, const char *name, tn_value tools, bool from_text);
/*
 * `roles` is {role: role}, `tools` an array of patterns; each may be NULL. `starts_programs`: nodes may start programs
 * that their configuration names (tool_policy.h).
 */
struct authority *authority_of_session(struct authority *outer, tn_value roles, tn_value tools, bool starts_programs);
bool authority_starts_programs(const struct authority *authority);
struct authority *authority_ref(struct authority *authority); /* NULL is allowed */
void authority_unref(struct authority *authority);            /* NULL is allowed */

/*
 * Checks that the component `caller` may call the component, role or document `name`. `callee` is what is known about
 * it, or NULL if it is not a component (a role, a document). Returns TN_OK, or TN_INVALID with the code
 * PERMISSION_DENIED and a message that names both sides.
 */
int32_t authority_check(const struct authority *caller, const char *kind, const char *name,
                        const struct component_info *callee, struct error *error);
/*
 * Checks what `caller` adds to the binding of a model (its address, credentials, headers): `settings` is an object, or
 * NULL. The author of the caller's configuration must have set each member there, because a model is bound by the
 * operator, and another address would receive data and credentials. A component that may send requests with secrets by
 * itself may set them. Fails with PERMISSION_DENIED.
 */
int32_t authority_check_settings(const struct authority *caller, const char *model, tn_value settings,
                                 struct error *error);
/* Checks that a document may contain this node type or reducer. Only documents that a component has made are limited.
 */
int32_t authority_check_node(const struct authority *document, const struct component_info *type, struct error *error);
/* The role whose binding `role` uses: that of the nearest session which names it, or `role` itself. Borrowed. */
const char *authority_role(const struct authority *authority, const char *role);
/*
 * True if no document on the chain has a list of tools without this one, and the tool belongs to no other session. NULL
 * allows every tool.
 */
bool authority_allows_tool(const struct authority *authority, const char *name);
/* Visits the names and patterns of the nearest list of tools on the chain. Returns false if there is none. */
bool authority_each_tool_pattern(const struct authority *authority, void (*visit)(void *user, const char *pattern),
                                 void *user);
/* True if the component may grant the approval of a use: the author of its config has named the tool in a member
 * annotated `x-tenon: approval`, or its manifest declares "calls.approved", which passes on what a user has approved.
 * The same must hold for the component that wrote the config, if one did. NULL may. */
bool authority_grants_approval(const struct authority *caller, const char *tool);
/* The next document outwards, `authority` itself included; NULL if there is none. */
const struct authority *authority_document(const struct authority *authority);
/*
 * True if the user has named it: the configuration of `caller` does, and if a component wrote that, its own one does,
 * and so on. NULL is the user.
 */
bool authority_is_named(const struct authority *caller, const char *kind, const char *name);
/*
 * True if the component, and no author of a document, has chosen this tool, and no user was asked for the component:
 * then a destructive tool is asked for. A pattern in a configuration chooses no tool. NULL is the user.
 */
bool authority_chooses_tool(const struct authority *caller, const char *name);
/* True if a component made the document, or passed it as a text, so that the user did not write it. */
bool authority_is_made(const struct authority *document);
/* True if a document on the chain came as a text at run time. */
bool authority_is_from_text(const struct authority *authority);
/*
 * What limits a document that `caller` opens by `path`: `caller` itself if the path is its own choice; otherwise the
 * nearest document around it that limits tools or has a budget, or else the session, or NULL. Borrowed.
 */
struct authority *authority_around_document(struct authority *caller, const char *path);
/*
 * The nearest document on the chain that counts what its run uses: it has a `budget`, or a tool with `max_calls`. Then
 * *limit is the limit as a text for messages, a new reference. NULL if no document does. Borrowed.
 */
const struct authority *authority_counting_document(const struct authority *authority, tn_value *limit);
/* The number of documents on the chain. */
uint32_t authority_document_count(const struct authority *authority);
/* True if the component may call something, so that its instances depend on their caller. */
bool authority_matters(const struct component_info *info);

/*
 * The chain, innermost first: [{kind: "tool", id, plugin, node?} or {kind: "document", name}, …]. A new reference.
 */
tn_value authority_chain(const struct authority *authority);
/* "node `acme.judge` of plugin `acme`", or "plugin `acme`" for the rights of a manifest's `plugin`. A new reference. */
tn_value authority_component_text(const struct component_info *info);
/* The chain as a text: "for `words.title` (tool of plugin `x`), for node `a` of document `d`"; "" for the operator. */
tn_value authority_chain_text(const struct authority *authority);

#endif
