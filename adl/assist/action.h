/*
 * action.h - code actions: fixes of diagnostics, declarations of unknown names, removal of unused ones, and larger
 * changes of a graph.
 *
 *     struct assist_actions *actions = assist_actions(names, selection, &workspace);
 *     for (size_t i = 0; i < actions->count; i++) offer(actions->items[i].title);
 *     assist_action_resolve(&actions->items[chosen], names, selection);
 *     apply(actions->items[chosen].edits);
 *     assist_actions_free(actions);
 *
 * Everything but the fixes is verified: the document with the edits has no more errors than before. This costs as much
 * as a check, so the larger changes are made only by assist_action_resolve. A change that is not possible has the
 * reason in `edits->refusal`.
 */
#ifndef TENON_ADL_ASSIST_ACTION_H
#define TENON_ADL_ASSIST_ACTION_H

#include "adl/assist/edit.h"
#include "adl/assist/symbol.h"

#define ASSIST_ACTIONS_MAX 100u

enum assist_action_kind {
    ASSIST_ACTION_FIX,        /* of one diagnostic */
    ASSIST_ACTION_FIX_ALL,    /* of all diagnostics with one code */
    ASSIST_ACTION_DECLARE,    /* an unknown channel, role or node */
    ASSIST_ACTION_REMOVE,     /* an unused channel or node */
    ASSIST_ACTION_ROUTER,     /* the conditions of an edge become a node `router`, in which a model chooses */
    ASSIST_ACTION_CONDITIONS, /* a node `router` becomes conditions of the edges that lead to it */
    ASSIST_ACTION_EXTRACT,    /* nodes become a separate document */
};

struct assist_action {
    enum assist_action_kind kind;
    char *title;
    size_t diagnostic;          /* the index of the diagnostic that it fixes; SIZE_MAX for others */
    struct assist_edits *edits; /* NULL before assist_action_resolve for the larger changes */
};

struct assist_actions {
    struct assist_action *items;
    size_t count;
};

/* The actions for a part of the document; an empty span is a cursor. Never returns NULL. */
struct assist_actions *assist_actions(const struct assist_names *names, struct span selection,
                                      const struct assist_workspace *workspace);
/* Makes the edits if the action has none. `names` and `selection` are those of assist_actions. */
void assist_action_resolve(struct assist_action *action, const struct assist_names *names, struct span selection);
/*
 * The reason why the action is not possible, as far as it can be found without a check of the changed document; to be
 * freed with mem_free. NULL when none was found: assist_action_resolve may still refuse it.
 */
char *assist_action_obstacle(const struct assist_action *action, const struct assist_names *names,
                             struct span selection);
void assist_actions_free(struct assist_actions *actions); /* NULL is allowed */

/*
 * Moves the nodes that the selection touches to a new document beside this one, with the edges between them and
 * declarations of the channels that they use. One node `subgraph` replaces them.
 *
 * The nodes must be entered at one node, and be left to the same nodes everywhere, or by one edge. A channel that the
 * nodes read comes in with its value; one that they write goes out with it. Refused: map edges across the border,
 * `goto` or `on_error` to the outside, the item of a task or the input of the run in an expression, and channels whose
 * reducer would merge a value twice.
 */
struct assist_edits *assist_extract(const struct assist_names *names, struct span selection);
/* Replaces the conditional edge at an offset by a node `router`. NULL without such an edge, or a component `router`. */
struct assist_edits *assist_to_router(const struct assist_names *names, uint32_t offset);
bool assist_has_conditions(const struct assist_names *names, uint32_t offset);
/*
 * The reverse: replaces the node `router` at an offset by conditions of the edges that lead to it. Returns NULL without
 * such a node. Its targets keep their order, so several conditions of one target follow each other. A description that
 * is not an expression becomes `false // DESCRIPTION`, and `note` names its target.
 */
struct assist_edits *assist_to_conditions(const struct assist_names *names, uint32_t offset);
bool assist_has_router(const struct assist_names *names, uint32_t offset);

#endif
