/*
 * answer_rights.h - which answers a component may give: an approval is a person's, so a component gives one only if its
 * authority grants it.
 *
 * A client that is a person's tool may answer everything. A component that calls methods may answer questions. It may
 * answer a request for the approval of a tool if it may call the tool with `approved` (tool_grant_counts). The rules
 * for nodes are the operator's alone, so no component approves a node.
 *
 *     if (answer_rights_check(engine, caller, interrupts, answers, &error) != TN_OK) refuse(&error);
 *
 * Thread: loop.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_ANSWER_RIGHTS_H
#define TENON_HOST_ENGINE_GRAPH_ANSWER_RIGHTS_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct authority;
struct engine;

/*
 * `interrupts` as of run_interrupts, `answers` by their ids; NULL is allowed for `answers`. `by` is the frame of the
 * component that gives them; NULL is the operator, who may give all. PERMISSION_DENIED for the first one that `by` may
 * not give. An id without an interrupt is not an error here.
 */
int32_t answer_rights_check(struct engine *engine, const struct authority *by, tn_value interrupts, tn_value answers,
                            struct error *error);

#endif
