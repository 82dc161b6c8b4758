/*
 * lsp_feature_action.c - code actions: fixes of diagnostics, declarations, and changes of the graph.
 */
#include "adl/assist/action.h"
#include "adl/diagnostic/diagnostic.h"
#include "host/server/lsp/lsp_gather.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <string.h>

/* CodeActionKind. */
static const char *const action_kinds[] = {
    [ASSIST_ACTION_FIX] = "quickfix",
    [ASSIST_ACTION_FIX_ALL] = "source.fixAll.tenon",
    [ASSIST_ACTION_DECLARE] = "quickfix",
    [ASSIST_ACTION_REMOVE] = "quickfix",
    [ASSIST_ACTION_ROUTER] = "refactor.rewrite",
    [ASSIST_ACTION_EXTRACT] = "refactor.extract",
};

/* True if `kind` is one of params.context.only, or below one of them; or if there is no such list. */
static bool is_wanted(tn_value only, const char *kind) {
    if (!only || !value_is(only, TN_ARRAY)) return true;
    for (size_t i = 0; i < value_count(only); i++) {
        tn_value entry = value_at(only, i);
        size_t length;
        if (!value_is(entry, TN_STRING)) continue;
        const char *text = value_chars(entry, &length);
        if (strncmp(kind, text, length) == 0 && (length == 0 || kind[length] == '.' || kind[length] == '\0'))
            return true;
    }
    return false;
}

/* Takes the list. */
static tn_value push_action_take(const struct lsp_query *query, tn_value list, const struct assist_action *action) {
    struct error error = ERROR_INIT;
    const struct diagnostics *found = query->assist->found;
    tn_value edit = lsp_workspace_edit(query->lsp, action->edits, &error);
    if (edit || query->lsp->can.disabled_actions) {
        tn_value shown = value_set_take(value_object_reserve(5), "title", lsp_string(action->title));
        shown = value_set_take(shown, "kind", value_text(action_kinds[action->kind]));
        if (action->diagnostic < diagnostics_count(found)) {
            tn_value fixed = lsp_diagnostic(query->text, diagnostics_at(found, action->diagnostic));
            shown = value_set_take(shown, "diagnostics", value_push_take(value_array(), fixed));
        }
        if (action->kind == ASSIST_ACTION_FIX) shown = value_set_take(shown, "isPreferred", value_bool(true));
        if (edit)
            shown = value_set_take(shown, "edit", edit);
        else
            shown = value_set_take(shown, "disabled",
                                   value_set_take(value_object_reserve(1), "reason", lsp_string(error.message)));
        list = value_push_take(list, shown);
    }
    error_finish(&error);
    return list;
}

static tn_value code_actions(const struct lsp_query *query, struct error *error) {
    struct lsp_gathered all;
    struct span range;
    tn_value only = value_get(value_get(query->params, "context"), "only"), list = value_array();
    if (!lsp_read_range(query->text->checked, value_get(query->params, "range"), query->lsp->unit, &range)) {
        value_unref(list);
        (void)error_set(error, TN_INVALID, "INVALID_INPUT", "`range` must have `start` and `end`");
        return NULL;
    }
    if (!query->lsp->can.code_action_literals) return list; /* such a client knows only commands */
    lsp_gather(query->lsp, query->text, &all);
    struct assist_actions *actions = assist_actions(lsp_text_names(query->text), range, &all.workspace);
    for (size_t i = 0; i < actions->count; i++)
        if (is_wanted(only, action_kinds[actions->items[i].kind]))
            list = push_action_take(query, list, &actions->items[i]);
    assist_actions_free(actions);
    lsp_gathered_finish(&all);
    return list;
}

const struct lsp_row lsp_action_rows[] = {
    {"textDocument/codeAction", LSP_OF_DOCUMENT | LSP_OF_WORKSPACE, true, code_actions, "codeActionProvider",
     "{\"codeActionKinds\": [\"quickfix\", \"source.fixAll.tenon\", \"refactor.rewrite\", \"refactor.extract\"]}"},
    {NULL, 0, false, NULL, NULL, NULL},
};
