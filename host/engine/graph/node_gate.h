/*
 * node_gate.h - the operator's policy for nodes: `deny` refuses the document, `ask` interrupts before the node starts.
 *
 * The rules are those of `tools.approval` in tenon.yaml for effects ("effect:PATTERN") and for node types
 * ("node:PATTERN"). The gate of a node with `ask` is a callable that is called in the place of the node: it interrupts
 * with {kind: "approval", node, type, effects, title, why, chain, caller}. When the answer approves, the activation
 * calls the node; when it refuses, the gate is called with the answer and fails.
 *
 *     if (node_gate_new(graph, node_callable, info, &gate, &error) != TN_OK) refuse(&error);   // gate is NULL: no rule
 *     if (node_gate_approves(input)) call_the_node();
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_NODE_GATE_H
#define TENON_HOST_ENGINE_GRAPH_NODE_GATE_H

#include "adl/document/catalog.h"
#include "adl/value/error.h"
#include <stdbool.h>

struct callable;
struct engine;

/*
 * The same rules for a node that a component calls: *node, an instance, is replaced by a wrapper that asks before each
 * call. PERMISSION_DENIED if it is denied; then *node stays as it is.
 */
int32_t node_gate_wrap(struct engine *engine, struct callable **node, struct error *error);
/* A gate that only refuses: for an answer that comes after the rule was removed. A new reference. */
struct callable *node_gate_refusal(const struct component_info *type);
/* *out is a new reference, or NULL if the node needs no approval. PERMISSION_DENIED if it is denied. */
int32_t node_gate_new(struct engine *engine, const struct callable *node, const struct component_info *type,
                      struct callable **out, struct error *error);
/* True if `input`, {continuation, answer}, answers the question of a gate. NULL is allowed. */
bool node_gate_is_answer(tn_value input);
/* True if that answer approves. */
bool node_gate_approves(tn_value input);

#endif
