/*
 * action.c - the list of actions: fixes of diagnostics, and those of the other files.
 */
#include "adl/assist/action.h"
#include "adl/assist/action_internal.h"
#include "adl/assist/overlay.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/memory.h"
#include <string.h>

void action_add(struct assist_actions *actions, enum assist_action_kind kind, size_t diagnostic,
                struct assist_edits *edits, const char *format, ...) {
    if (actions->count == ASSIST_ACTIONS_MAX) {
        assist_edits_free(edits);
        return;
    }
    struct buffer title;
    va_list arguments;
    buffer_init(&title, SIZE_MAX);
    va_start(arguments, format);
    buffer_vformat(&title, format, arguments);
    va_end(arguments);
    MEM_EXTEND(actions->items, actions->count);
    actions->items[actions->count++] = (struct assist_action){kind, mem_text(buffer_cstr(&title)), diagnostic, edits};
    buffer_finish(&title);
}

void assist_actions_free(struct assist_actions *actions) {
    if (!actions) return;
    for (size_t i = 0; i < actions->count; i++) {
        mem_free(actions->items[i].title);
        assist_edits_free(actions->items[i].edits);
    }
    mem_free(actions->items);
    mem_free(actions);
}

/* ---- Verifying ---- */

/* The first error of the changed document. */
static const char *first_error(const struct diagnostics *found) {
    for (size_t i = 0; i < diagnostics_count(found); i++)
        if (diagnostics_at(found, i)->severity == DIAGNOSTIC_ERROR) return diagnostics_at(found, i)->message;
    return "";
}

struct assist_edits *action_verify(const struct assist_names *names, struct assist_edits *edits) {
    assist_edits_finish(edits);
    if (edits->refusal) return edits;
    struct overlay overlay;
    overlay_init(&overlay, edits);
    overlay_use(&overlay, names->assist->world->catalog);
    struct assist *after = overlay_read(&overlay, names->sources[0]);
    bool worse = diagnostics_errors(after->found) > diagnostics_errors(names->assist->found);
    if (worse)
        assist_edits_refuse(edits, "the changed document would have a mistake: %.300s", first_error(after->found));
    assist_unref(after);
    overlay_finish(&overlay);
    return edits;
}

/* ---- Fixes ---- */

static bool is_fixable(const struct assist_names *names, const struct diagnostic *diagnostic) {
    return diagnostic->fix && diagnostic->source == names->sources[0];
}

static bool overlaps(struct span a, struct span b) { return a.start <= b.end && b.start <= a.end; }

static void add_fix(struct assist_edits *edits, const struct diagnostic *diagnostic) {
    const struct diagnostic_fix *fix = diagnostic->fix;
    assist_edit_add(edits, diagnostic->source, fix->span, fix->replacement, strlen(fix->replacement));
}

/* Fixes of one place exclude each other: the first one is taken. Diagnostics are sorted by position. */
static struct assist_edits *fix_all(const struct assist_names *names, enum diagnostic_code code, size_t *count) {
    const struct diagnostics *found = names->assist->found;
    struct assist_edits *edits = assist_edits_new();
    uint32_t end = 0;
    *count = 0;
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *diagnostic = diagnostics_at(found, i);
        if (diagnostic->code != code || !is_fixable(names, diagnostic)) continue;
        if (*count && diagnostic->fix->span.start < end) continue;
        end = diagnostic->fix->span.end;
        add_fix(edits, diagnostic);
        ++*count;
    }
    return assist_edits_finish(edits);
}

static void add_fix_all(struct assist_actions *actions, const struct assist_names *names, enum diagnostic_code code,
                        bool offered[DIAGNOSTIC_CODES]) {
    if (offered[code]) return;
    offered[code] = true;
    size_t count;
    struct assist_edits *edits = fix_all(names, code, &count);
    if (count < 2) {
        assist_edits_free(edits);
        return;
    }
    const struct diagnostic_info *info = diagnostic_info(code);
    action_add(actions, ASSIST_ACTION_FIX_ALL, SIZE_MAX, edits, "fix all: %s (%s, %zu places)", info->title, info->code,
               count);
}

static void add_fixes(struct assist_actions *actions, const struct assist_names *names, struct span selection) {
    const struct diagnostics *found = names->assist->found;
    bool offered[DIAGNOSTIC_CODES] = {false}, chosen[DIAGNOSTIC_CODES] = {false};
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *diagnostic = diagnostics_at(found, i);
        if (!is_fixable(names, diagnostic) || !overlaps(diagnostic->span, selection)) continue;
        struct assist_edits *edits = assist_edits_new();
        add_fix(edits, diagnostic);
        chosen[diagnostic->code] = true;
        action_add(actions, ASSIST_ACTION_FIX, i, edits, "%s", diagnostic->fix->title);
    }
    for (int code = 0; code < DIAGNOSTIC_CODES; code++)
        if (chosen[code]) add_fix_all(actions, names, (enum diagnostic_code)code, offered);
}

/* ---- The list ---- */

static bool touches_nodes(const struct assist_names *names, struct span selection) {
    const struct tree_node *nodes = tree_get(tree_root(names->assist->tree), "nodes");
    return nodes && selection.start < selection.end && selection.start < nodes->span.end &&
           selection.end > nodes->span.start;
}

struct assist_actions *assist_actions(const struct assist_names *names, struct span selection,
                                      const struct assist_workspace *workspace) {
    struct assist_actions *actions = mem_zalloc(sizeof *actions);
    const struct assist_name *name = assist_names_at(names, selection.start);
    add_fixes(actions, names, selection);
    action_conflicts(actions, names, selection);
    if (name) action_declare(actions, names, name, workspace);
    if (name) action_remove(actions, names, name, workspace);
    if (assist_has_conditions(names, selection.start))
        action_add(actions, ASSIST_ACTION_ROUTER, SIZE_MAX, NULL,
                   "let a model choose: convert the conditions to a router");
    if (assist_has_router(names, selection.start))
        action_add(actions, ASSIST_ACTION_CONDITIONS, SIZE_MAX, NULL,
                   "let expressions choose: convert the router to conditions");
    if (touches_nodes(names, selection))
        action_add(actions, ASSIST_ACTION_EXTRACT, SIZE_MAX, NULL, "extract the nodes to a document");
    return actions;
}

char *assist_action_obstacle(const struct assist_action *action, const struct assist_names *names,
                             struct span selection) {
    struct assist_edits *edits = NULL;
    if (action->edits) return action->edits->refusal ? mem_text(action->edits->refusal) : NULL;
    switch (action->kind) {
    case ASSIST_ACTION_ROUTER: edits = action_draft_router(names, selection.start); break;
    case ASSIST_ACTION_CONDITIONS: edits = action_draft_conditions(names, selection.start); break;
    default: edits = action_draft_extract(names, selection);
    }
    char *reason = edits && edits->refusal ? mem_text(edits->refusal) : NULL;
    assist_edits_free(edits);
    return reason;
}

void assist_action_resolve(struct assist_action *action, const struct assist_names *names, struct span selection) {
    if (action->edits) return;
    switch (action->kind) {
    case ASSIST_ACTION_ROUTER: action->edits = assist_to_router(names, selection.start); break;
    case ASSIST_ACTION_CONDITIONS: action->edits = assist_to_conditions(names, selection.start); break;
    default: action->edits = assist_extract(names, selection);
    }
}
