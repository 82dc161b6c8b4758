/*
 * binding.h - what a node's component may call: other components, models by role, and documents.
 *
 * A role of the document (`models:`) leads to a provider and its options; the host's configuration may bind the role to
 * another one. A document's `tools:` is an allow-list: a tool that it does not name cannot be bound.
 */
#ifndef TENON_HOST_BINDING_H
#define TENON_HOST_BINDING_H

#include "adl/value/error.h"

struct callable;
struct graph;

/* A new reference; NULL with error set. `config` may be NULL. */
struct callable *binding_callee(struct graph *graph, const char *kind, const char *name, tn_value config,
                                struct error *error);

#endif
