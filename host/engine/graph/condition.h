/*
 * condition.h - evaluates the expressions of edges on the state of a run: conditions, and the lists of map edges.
 */
#ifndef TENON_HOST_ENGINE_GRAPH_CONDITION_H
#define TENON_HOST_ENGINE_GRAPH_CONDITION_H

#include "adl/document/document.h"

struct run;

/* The message of an EXPRESSION_ERROR names the edge, the file, line and column. */
int32_t condition_holds(struct run *run, const struct document_condition *condition, int32_t from, bool *out,
                        struct error *error);
/* The items of a map edge: an array, a new reference. */
int32_t condition_items(struct run *run, const struct document_edge *edge, int32_t from, tn_value *out,
                        struct error *error);

#endif
