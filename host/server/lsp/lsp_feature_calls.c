/*
 * lsp_feature_calls.c - the call hierarchy, as which editors show the flow of data: a node is called by the nodes
 * before it, and calls those after it.
 */
#include "adl/assist/calls.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"

/* CallHierarchyItem. `detail` may be "". */
static tn_value hierarchy_item(const struct lsp_query *query, const struct assist_call_item *item, const char *detail) {
    tn_value shown = value_set_take(value_object_reserve(6), "name", lsp_string(item->name));
    shown = value_set_take(shown, "kind", value_int(item->kind == USE_NODE ? 12 : 13)); /* Function, Variable */
    if (*detail) shown = value_set_take(shown, "detail", lsp_string(detail));
    shown = value_set_take(shown, "uri", value_text(query->text->uri));
    shown = value_set_take(shown, "range", lsp_range(query->text->checked, item->span, query->lsp->unit));
    return value_set_take(shown, "selectionRange", lsp_range(query->text->checked, item->name_span, query->lsp->unit));
}

static tn_value prepare_calls(const struct lsp_query *query, struct error *error) {
    struct assist_call_item item;
    (void)error;
    if (!assist_calls_prepare(lsp_text_names(query->text), query->offset, &item)) return NULL;
    return value_push_take(value_array(), hierarchy_item(query, &item, ""));
}

static tn_value call_ranges(const struct lsp_query *query, const struct assist_call *call) {
    tn_value list = value_array();
    for (size_t i = 0; i < call->range_count; i++)
        list = value_push_take(list, lsp_range(query->text->checked, call->ranges[i], query->lsp->unit));
    return list;
}

/* The calls of params.item, whose name is at selectionRange. */
static tn_value calls_of(const struct lsp_query *query, enum assist_calls_direction direction, const char *member) {
    const struct assist_names *names = lsp_text_names(query->text);
    struct assist_call_item item;
    struct span name;
    tn_value given = value_get(query->params, "item"), list = value_array();
    if (!lsp_read_range(query->text->checked, value_get(given, "selectionRange"), query->lsp->unit, &name) ||
        !assist_calls_prepare(names, name.start, &item))
        return list;
    struct assist_calls *calls = assist_calls(names, &item, direction);
    for (size_t i = 0; i < calls->count; i++) {
        const struct assist_call *call = &calls->items[i];
        tn_value shown =
            value_set_take(value_object_reserve(2), member, hierarchy_item(query, &call->item, call->channels));
        list = value_push_take(list, value_set_take(shown, "fromRanges", call_ranges(query, call)));
    }
    assist_calls_free(calls);
    return list;
}

static tn_value incoming_calls(const struct lsp_query *query, struct error *error) {
    (void)error;
    return calls_of(query, ASSIST_CALLS_INCOMING, "from");
}

static tn_value outgoing_calls(const struct lsp_query *query, struct error *error) {
    (void)error;
    return calls_of(query, ASSIST_CALLS_OUTGOING, "to");
}

const struct lsp_row lsp_call_rows[] = {
    {"textDocument/prepareCallHierarchy", LSP_OF_DOCUMENT | LSP_NOT_NEWEST | LSP_AT_POSITION, LSP_EMPTY, prepare_calls,
     "callHierarchyProvider", "true"},
    {"callHierarchy/incomingCalls", LSP_OF_DOCUMENT, LSP_EMPTY, incoming_calls, NULL, NULL},
    {"callHierarchy/outgoingCalls", LSP_OF_DOCUMENT, LSP_EMPTY, outgoing_calls, NULL, NULL},
    {NULL, 0, LSP_NULL, NULL, NULL, NULL},
};
