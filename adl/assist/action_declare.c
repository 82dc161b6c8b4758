/*
 * action_declare.c - declares an unknown name, and removes what nothing names.
 */
#include "adl/assist/action_internal.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/tree/tree.h"
#include <string.h>

/* ---- Declaring ---- */

static bool is_declared(const struct assist_names *names, const struct assist_name *name,
                        const struct assist_workspace *workspace) {
    const struct document *document = names->assist->document;
    const struct catalog *catalog = names->assist->world->catalog;
    switch (name->kind) {
    case USE_CHANNEL: return document_find_field(document, name->text, name->length) >= 0;
    case USE_NODE: return document_find_node(document, name->text, name->length) >= 0;
    case USE_ROLE:
        return assist_names_definition(names, USE_ROLE, name->text, name->length) ||
               assist_role_in_config(workspace->config, name->text, name->length) ||
               (catalog && catalog->role_bound && catalog->role_bound(catalog->role_self, name->text, name->length)) ||
               (catalog && catalog->find(catalog->self, "model", name->text, name->length));
    default: return true;
    }
}

static struct assist_edits *declare_item(const struct assist_names *names, const char *section, const char *key,
                                         const char *name, const char *type) {
    struct buffer name_text, type_text;
    struct assist_edits *edits = assist_edits_new();
    buffer_init(&name_text, SIZE_MAX);
    buffer_init(&type_text, SIZE_MAX);
    action_scalar(&name_text, names->sources[0], name);
    action_scalar(&type_text, names->sources[0], type);
    const struct action_field fields[] = {{key, buffer_cstr(&name_text)}, {"type", buffer_cstr(&type_text)}};
    if (!action_append(edits, names->assist, section, fields, 2))
        assist_edits_refuse(edits, "`%s` cannot be extended: it is not a list, or has an alias at its end", section);
    buffer_finish(&name_text);
    buffer_finish(&type_text);
    return action_verify(names, edits);
}

/* The text of the first binding of the document, or of the first provider. */
struct binding_choice {
    struct buffer *out;
    bool found;
};

static bool choose_provider(void *user, const struct component_info *component) {
    struct binding_choice *choice = user;
    buffer_format(choice->out, "%s:MODEL", component->id);
    choice->found = true;
    return false;
}

static bool choose_binding(const struct assist_names *names, struct buffer *out) {
    const struct tree_node *models = tree_get(tree_root(names->assist->tree), "models");
    const struct catalog *catalog = names->assist->world->catalog;
    for (uint32_t i = 0; models && models->kind == TN_OBJECT && i < models->count; i++) {
        size_t length;
        const char *text = tree_text(names->assist->tree, models->items[i].node, &length);
        if (!text) continue;
        buffer_append(out, text, length);
        return true;
    }
    struct binding_choice choice = {out, false};
    if (catalog && catalog->each) catalog->each(catalog->self, "model", choose_provider, &choice);
    return choice.found;
}

static struct assist_edits *declare_role(const struct assist_names *names, const char *role) {
    struct buffer binding, value;
    struct assist_edits *edits = assist_edits_new();
    buffer_init(&binding, SIZE_MAX);
    buffer_init(&value, SIZE_MAX);
    if (!choose_binding(names, &binding)) {
        assist_edits_refuse(edits, "no plugin provides a model");
    } else {
        action_scalar(&value, names->sources[0], buffer_cstr(&binding));
        if (!action_add_member(edits, names->assist, "models", role, buffer_cstr(&value)))
            assist_edits_refuse(edits, "`models` cannot be extended: it is not a mapping");
    }
    buffer_finish(&binding);
    buffer_finish(&value);
    return action_verify(names, edits);
}

/* The index of the diagnostic whose span contains the name; SIZE_MAX when nothing was reported there. */
static size_t diagnostic_of(const struct assist_names *names, const struct assist_name *name) {
    const struct diagnostics *found = names->assist->found;
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *diagnostic = diagnostics_at(found, i);
        if (diagnostic->source == names->sources[0] && diagnostic->span.start <= name->span.start &&
            diagnostic->span.end >= name->span.end)
            return i;
    }
    return SIZE_MAX;
}

void action_declare(struct assist_actions *actions, const struct assist_names *names, const struct assist_name *name,
                    const struct assist_workspace *workspace) {
    struct assist_edits *edits = NULL;
    if (is_declared(names, name, workspace)) return;
    /* Its declaration can be in a part that cannot be read; then nothing was reported. */
    if (!tree_is_whole(names->assist->tree) && diagnostic_of(names, name) == SIZE_MAX) return;
    switch (name->kind) {
    case USE_CHANNEL: edits = declare_item(names, "channels", "name", name->text, "last_value"); break;
    case USE_NODE: edits = declare_item(names, "nodes", "id", name->text, "passthrough"); break;
    default: edits = declare_role(names, name->text);
    }
    action_add(actions, ASSIST_ACTION_DECLARE, diagnostic_of(names, name), edits, "declare the %s `%s`",
               assist_kind_name(name->kind), name->text);
}

/* ---- Removing ---- */

static void count_use(void *self, const struct assist_names *names, const struct assist_name *name) {
    (void)names;
    *(size_t *)self += !(name->access & USE_DEFINES);
}

/* The index of the item of a list that contains the offset, or `count`. */
static uint32_t item_at(const struct tree_node *list, uint32_t offset) {
    uint32_t i = 0;
    while (i < list->count && (offset < list->items[i].node->span.start || offset > list->items[i].node->span.end)) i++;
    return i;
}

/* True if a part of the document that cannot be read, or that uses the whole state, may name it. */
static bool may_be_named(const struct assist_names *names, const struct assist_name *name) {
    if (!tree_is_whole(names->assist->tree)) return true;
    for (size_t i = names->text_count; i < names->count; i++) {
        const struct assist_name *text = &names->items[i];
        bool whole = text->kind == USE_WHOLE_STATE && name->kind == USE_CHANNEL;
        if ((text->kind == USE_UNREAD || whole) &&
            assist_has_word(names->sources[text->file], text->span, name->text, name->length, whole))
            return true;
    }
    return false;
}

static struct assist_edits *remove_definition(const struct assist_names *names, const struct assist_name *name) {
    struct source *source = names->sources[0];
    const char *section = name->kind == USE_NODE ? "nodes" : "channels";
    const struct tree_item *place = tree_find(tree_root(names->assist->tree), section);
    if (!place || place->node->kind != TN_ARRAY) return NULL;
    const struct tree_node *list = place->node;
    uint32_t index = item_at(list, name->span.start);
    if (index == list->count || (name->kind == USE_NODE && list->count == 1)) return NULL;
    struct assist_edits *edits = assist_edits_new();
    if (list->count == 1 && list->style != TREE_FLOW)
        assist_edit_add(edits, source, assist_lines_of(source, (struct span){place->key_span.start, list->span.end}),
                        "", 0);
    else if (!assist_edit_remove_item(edits, source, list, index))
        assist_edits_refuse(edits, "`%s` is an alias, or before one", name->text);
    return action_verify(names, edits);
}

void action_remove(struct assist_actions *actions, const struct assist_names *names, const struct assist_name *name,
                   const struct assist_workspace *workspace) {
    struct assist_symbol symbol;
    size_t count = 0;
    bool removable = name->kind == USE_NODE || name->kind == USE_CHANNEL;
    if (!removable || !(name->access & USE_DEFINES) || may_be_named(names, name)) return;
    if (!assist_symbol_of(names, name, workspace, &symbol)) return;
    assist_symbol_each(&symbol, workspace, count_use, &count);
    struct assist_edits *edits = count == 0 ? remove_definition(names, name) : NULL;
    if (edits)
        action_add(actions, ASSIST_ACTION_REMOVE, diagnostic_of(names, name), edits, "remove the unused %s `%s`",
                   assist_kind_name(name->kind), name->text);
}
