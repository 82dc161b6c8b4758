/*
 * binding.h - resolves what a component may call: other components, models by role, tools, and documents.
 *
 * A role of the document (`models:`) names a provider and its options; tenon.yaml may bind the role to another one. The
 * list `tools:` of a document is an allow-list: other tools cannot be bound.
 *
 *     struct callable *model = binding_callee(graph, caller, "model", "writer", NULL, &error);
 */
#ifndef TENON_HOST_ENGINE_GRAPH_BINDING_H
#define TENON_HOST_ENGINE_GRAPH_BINDING_H

#include "adl/value/error.h"
#include "host/plugin/call/instance.h"

struct authority;
struct callable;
struct graph;
struct engine;

#define BINDING_DEPTH_MAX 16u /* tools that call tools that call … */

/* Returns a new reference, or NULL with the error set. `config` may be NULL. `caller` is the frame that binds. */
struct callable *binding_callee(struct graph *graph, struct authority *caller, const char *kind, const char *name,
                                tn_value config, struct error *error);

/*
 * The binding of a role in the innermost document on the chain that the user wrote, borrowed; NULL if it has none.
 */
tn_value binding_role_around(const struct authority *authority, const char *role);

/*
 * The binding of a role: in tenon.yaml, or else in the document, or for a document that the user did not write, in one
 * around it that the user wrote. If a document binds it to another role of this document, the binding of that one.
 * Borrowed; NULL if there is none.
 */
tn_value binding_of_role(const struct engine *engine, const struct authority *authority, const char *name);

/*
 * The scope of a component outside of any graph, such as a tool: models by the roles of tenon.yaml or by provider:name,
 * tools under the policy of the operator, documents by path. It has no state. `engine` must outlive the instance.
 */
struct instance_scope binding_scope_of_host(struct engine *engine, const char *where);

#endif
