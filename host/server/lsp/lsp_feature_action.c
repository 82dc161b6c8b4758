/*
 * lsp_feature_action.c - code actions: fixes of diagnostics, declarations, and changes of the graph.
 */
#include "adl/assist/action.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/memory.h"
#include "host/server/lsp/lsp_gather.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <string.h>

#define LSP_ACTION_VERIFIED_MAX 32768u /* bytes of a document in which offered actions are verified */

/* CodeActionKind. */
static const char *const action_kinds[] = {
    [ASSIST_ACTION_FIX] = "quickfix",
    [ASSIST_ACTION_FIX_ALL] = "source.fixAll.tenon",
    [ASSIST_ACTION_DECLARE] = "quickfix",
    [ASSIST_ACTION_REMOVE] = "quickfix",
    [ASSIST_ACTION_ROUTER] = "refactor.rewrite",
    [ASSIST_ACTION_CONDITIONS] = "refactor.rewrite",
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

/* What codeAction/resolve needs to find the action again. */
static tn_value action_data(const struct lsp_query *query, const struct assist_action *action, struct span selection) {
    tn_value data = value_set_take(value_object_reserve(4), "uri", value_text(query->text->uri));
    data = value_set_take(data, "version", value_int(query->text->version));
    data = value_set_take(data, "range", lsp_range(query->text->checked, selection, query->lsp->unit));
    return value_set_take(data, "action", value_int((int64_t)action->kind));
}

/* The action with the reason why it is not possible; NULL if the client cannot show that. Takes `shown`. */
static tn_value disabled_take(const struct lsp_query *query, tn_value shown, const char *message) {
    if (!query->lsp->can.disabled_actions) {
        value_unref(shown);
        return NULL;
    }
    tn_value reason = value_set_take(value_object_reserve(1), "reason", lsp_string(message));
    return value_set_take(shown, "disabled", reason);
}

/* Adds the edit; if the client cannot apply it, the reason. Takes `shown`. Returns NULL if nothing can be shown. */
static tn_value with_edit_take(const struct lsp_query *query, tn_value shown, const struct assist_action *action) {
    struct error error = ERROR_INIT;
    tn_value edit = lsp_workspace_edit(query->lsp, action->edits, &error);
    shown = edit ? value_set_take(shown, "edit", edit) : disabled_take(query, shown, error.message);
    error_finish(&error);
    return shown;
}

/*
 * An action whose edit is made when the client asks for it. Takes `shown`; returns NULL if nothing can be shown. In a
 * short document the edit is verified now; in a longer one, only what needs no check is.
 */
static tn_value with_data_take(const struct lsp_query *query, tn_value shown, struct assist_action *action,
                               struct span selection) {
    const struct assist_names *names = lsp_text_names(query->text);
    if (action->kind == ASSIST_ACTION_EXTRACT && !lsp_can_create_files(query->lsp))
        return disabled_take(query, shown, LSP_CANNOT_CREATE);
    if (source_length(query->text->checked) <= LSP_ACTION_VERIFIED_MAX) assist_action_resolve(action, names, selection);
    char *obstacle = assist_action_obstacle(action, names, selection);
    shown = obstacle ? disabled_take(query, shown, obstacle)
                     : value_set_take(shown, "data", action_data(query, action, selection));
    mem_free(obstacle);
    return shown;
}

/* Takes the list. Large changes are made when the client asks for them, if it can. */
static tn_value push_action_take(const struct lsp_query *query, tn_value list, struct assist_action *action,
                                 struct span selection) {
    const struct diagnostics *found = query->assist->found;
    tn_value shown = value_set_take(value_object_reserve(6), "title", lsp_string(action->title));
    shown = value_set_take(shown, "kind", value_text(action_kinds[action->kind]));
    if (action->diagnostic < diagnostics_count(found)) {
        tn_value fixed = lsp_diagnostic(query->text, diagnostics_at(found, action->diagnostic));
        shown = value_set_take(shown, "diagnostics", value_push_take(value_array(), fixed));
    }
    if (action->kind == ASSIST_ACTION_FIX) shown = value_set_take(shown, "isPreferred", value_bool(true));
    if (!action->edits && query->lsp->can.resolves_actions) {
        shown = with_data_take(query, shown, action, selection);
    } else {
        assist_action_resolve(action, lsp_text_names(query->text), selection);
        shown = with_edit_take(query, shown, action);
    }
    return shown ? value_push_take(list, shown) : list;
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
            list = push_action_take(query, list, &actions->items[i], range);
    assist_actions_free(actions);
    lsp_gathered_finish(&all);
    return list;
}

/* ---- Resolving ---- */

/* Makes the edit of the action with this number. NULL with the error. */
static tn_value make_edit(const struct lsp_query *query, struct span range, int64_t number, struct error *error) {
    const struct assist_workspace alone = {(const struct assist_names *const[]){lsp_text_names(query->text)}, 1, NULL};
    struct assist_actions *actions = assist_actions(lsp_text_names(query->text), range, &alone);
    tn_value edit = NULL;
    for (size_t i = 0; i < actions->count && !edit; i++) {
        if ((int64_t)actions->items[i].kind != number) continue;
        assist_action_resolve(&actions->items[i], lsp_text_names(query->text), range);
        edit = lsp_workspace_edit(query->lsp, actions->items[i].edits, error);
        if (!edit) break;
    }
    assist_actions_free(actions);
    return edit;
}

/* `params` is the action as the client got it. */
static tn_value resolve_action(const struct lsp_query *query, struct error *error) {
    tn_value data = value_get(query->params, "data"), version = value_get(data, "version"), edit = NULL;
    tn_value number = value_get(data, "action");
    struct span range;
    int64_t of, action;
    if (!version || !value_as_int(version, &of) || of != query->text->version || !number ||
        !value_as_int(number, &action) ||
        !lsp_read_range(query->text->checked, value_get(data, "range"), query->lsp->unit, &range)) {
        (void)error_set(error, TN_STALE, "FAILED", "the document has changed or is closed: ask for code actions again");
        return NULL;
    }
    edit = make_edit(query, range, action, error);
    if (edit) return value_set_take(value_ref(query->params), "edit", edit);
    if (!error->code) (void)error_set(error, TN_STALE, "FAILED", "this code action is not there any more");
    return NULL;
}

const struct lsp_row lsp_action_rows[] = {
    {"textDocument/codeAction", LSP_OF_DOCUMENT | LSP_OF_WORKSPACE, LSP_EMPTY, code_actions, "codeActionProvider",
     "{\"codeActionKinds\": [\"quickfix\", \"source.fixAll.tenon\", \"refactor.rewrite\", \"refactor.extract\"], "
     "\"resolveProvider\": true}"},
    {"codeAction/resolve", LSP_OF_DOCUMENT, LSP_REFUSED, resolve_action, NULL, NULL},
    {NULL, 0, LSP_NULL, NULL, NULL, NULL},
};
