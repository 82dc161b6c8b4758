/*
 * binding.h - what a node's component may call: other components, models by role, and documents.
 *
 * A role of the document (`models:`) leads to a provider and its options; the host's configuration may bind the role to
 * another one. A document's `tools:` is an allow-list: a tool that it does not name cannot be bound.
 */
#ifndef TENON_HOST_BINDING_H
#define TENON_HOST_BINDING_H

#include "adl/value/error.h"

#include "host/call/instance.h"

struct callable;
struct graph;
struct host;

#define BINDING_DEPTH_MAX 16u /* tools that are made of tools */

/* A new reference; NULL with error set. `config` may be NULL. */
struct callable *binding_callee(struct graph *graph, const char *kind, const char *name, tn_value config,
                                struct error *error);

/*
 * What a component may call that stands in no graph, a tool above all: models, by tenon.yaml's roles or provider:name;
 * tools, under the operator's policy; documents, by their path. It has no state. `host` must outlive the instance.
 */
struct instance_scope binding_scope_of_host(struct host *host, const char *where);

#endif
