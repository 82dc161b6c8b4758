/*
 * symbol.c - decides which names mean the same thing.
 */
#include "adl/assist/symbol.h"
#include "adl/document/place.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include <stdio.h>
#include <string.h>

static const char *own_name(const struct assist_names *names) { return source_name(names->sources[0]); }

static bool is_file_kind(enum use_kind kind) { return kind == USE_DOCUMENT || kind == USE_FILE; }

const struct tree_item *assist_role_in_config(const struct tree *config, const char *role, size_t length) {
    return config ? tree_find_n(tree_get(tree_root(config), "models"), role, length) : NULL;
}

/* From the last definition before the name to the next one. */
static struct span scope_of_anchor(const struct assist_names *names, const struct assist_name *name) {
    struct span scope = {0, UINT32_MAX};
    size_t count;
    const uint32_t *with = assist_names_with(names, name->text, name->length, &count);
    for (size_t i = 0; i < count; i++) {
        const struct assist_name *other = &names->items[with[i]];
        if (other->kind != USE_ANCHOR || !(other->access & USE_DEFINES)) continue;
        if (other->span.start <= name->span.start)
            scope.start = other->span.start;
        else if (other->span.start < scope.end)
            scope.end = other->span.start;
    }
    return scope;
}

bool assist_symbol_of(const struct assist_names *names, const struct assist_name *name,
                      const struct assist_workspace *workspace, struct assist_symbol *symbol) {
    *symbol = (struct assist_symbol){.kind = name->kind, .text = name->text, .length = name->length};
    switch (name->kind) {
    case USE_NODE:
    case USE_CHANNEL:
    case USE_ITEM: symbol->path = own_name(names); return true;
    case USE_ANCHOR:
        symbol->path = own_name(names);
        symbol->scope = scope_of_anchor(names, name);
        return true;
    case USE_INNER_CHANNEL:
        symbol->kind = USE_CHANNEL;
        symbol->path = name->path;
        return true;
    case USE_ROLE:
        if (!assist_role_in_config(workspace->config, name->text, name->length)) symbol->path = own_name(names);
        return true;
    case USE_DOCUMENT:
    case USE_FILE:
        if (!name->path) {
            symbol->path = own_name(names);
            return true;
        }
        symbol->text = name->path;
        symbol->length = strlen(name->path);
        return true;
    case USE_UNREAD:
    case USE_WHOLE_STATE:
    case USE_EXPRESSION:
    case USE_TEMPLATE:
    case USE_KINDS: return false;
    default: return true;
    }
}

bool assist_symbol_at(const struct assist_names *names, uint32_t offset, const struct assist_workspace *workspace,
                      struct assist_symbol *symbol) {
    const struct assist_name *name = assist_names_at(names, offset);
    return name && assist_symbol_of(names, name, workspace, symbol);
}

bool assist_symbol_in_config(const struct tree *config, uint32_t offset, struct assist_symbol *symbol) {
    const struct tree_node *models = tree_get(tree_root(config), "models");
    if (!models || models->kind != TN_OBJECT) return false;
    for (uint32_t i = 0; i < models->count; i++) {
        const struct tree_item *item = &models->items[i];
        if (offset < item->key_span.start || offset > item->key_span.end) continue;
        *symbol = (struct assist_symbol){.kind = USE_ROLE};
        symbol->text = value_chars(item->key, &symbol->length);
        return true;
    }
    return false;
}

/* ---- All names of a symbol ---- */

static bool symbol_is_named(const struct assist_symbol *symbol, const struct assist_names *names,
                            const struct assist_name *name) {
    bool own = !symbol->path || strcmp(symbol->path, own_name(names)) == 0;
    if (symbol->kind == USE_CHANNEL && name->kind == USE_INNER_CHANNEL)
        return name->path && symbol->path && strcmp(name->path, symbol->path) == 0;
    if (symbol->kind == USE_ANCHOR && (name->span.start < symbol->scope.start || name->span.start >= symbol->scope.end))
        return false;
    return own && name->kind == symbol->kind;
}

static bool file_is_named(const struct assist_symbol *symbol, const struct assist_names *names,
                          const struct assist_name *name) {
    if (!is_file_kind(name->kind)) return false;
    if (symbol->path)
        return !name->path && strcmp(symbol->path, own_name(names)) == 0 && strcmp(symbol->text, name->text) == 0;
    return name->path && strcmp(symbol->text, name->path) == 0;
}

static void each_in_list(const struct assist_symbol *symbol, const struct assist_names *names,
                         assist_symbol_visit visit, void *self) {
    size_t count;
    if (is_file_kind(symbol->kind)) {
        for (size_t i = 0; i < names->count; i++)
            if (file_is_named(symbol, names, &names->items[i])) visit(self, names, &names->items[i]);
        return;
    }
    const uint32_t *with = assist_names_with(names, symbol->text, symbol->length, &count);
    for (size_t i = 0; i < count; i++) {
        const struct assist_name *name = &names->items[with[i]];
        if (symbol_is_named(symbol, names, name)) visit(self, names, name);
    }
}

void assist_symbol_each(const struct assist_symbol *symbol, const struct assist_workspace *workspace,
                        assist_symbol_visit visit, void *self) {
    for (size_t i = 0; i < workspace->count; i++) each_in_list(symbol, workspace->names[i], visit, self);
}

/* ---- Places ---- */

static void add_symbol_place(struct assist_places *places, const char *path, struct source *source, struct span span,
                             uint32_t access) {
    if (places->count == ASSIST_PLACES_MAX) return;
    MEM_EXTEND(places->items, places->count);
    places->items[places->count++] = (struct assist_place){mem_text(path), source_ref(source), span, access};
}

void assist_places_free(struct assist_places *places) {
    if (!places) return;
    for (size_t i = 0; i < places->count; i++) {
        mem_free(places->items[i].path);
        source_unref(places->items[i].source);
    }
    mem_free(places->items);
    mem_free(places);
}

static struct assist_places *places_at(const struct assist_names *names, uint32_t offset,
                                       const struct assist_workspace *workspace, struct assist_symbol *symbol) {
    if (!assist_symbol_at(names, offset, workspace, symbol)) return NULL;
    struct assist_places *places = mem_zalloc(sizeof *places);
    places->origin = assist_names_at(names, offset)->span;
    return places;
}

/* Which of the names become places. */
struct place_filter {
    struct assist_places *places;
    bool definitions, others, own_only;
};

static void visit_place(void *self, const struct assist_names *names, const struct assist_name *name) {
    const struct place_filter *filter = self;
    bool defines = (name->access & USE_DEFINES) != 0;
    bool uses = !defines || (name->access & (USE_READS | USE_WRITES)) != 0; /* both: by an alias */
    if (name->form >= USE_DEFAULT || !((defines && filter->definitions) || (uses && filter->others))) return;
    if (filter->own_only && name->file) return;
    struct source *source = names->sources[name->file];
    add_symbol_place(filter->places, source_name(source), source, name->span, name->access);
}

static void add_config_place(struct assist_places *places, const struct assist_symbol *symbol,
                             const struct tree *config) {
    const struct tree_item *item =
        symbol->kind == USE_ROLE ? assist_role_in_config(config, symbol->text, symbol->length) : NULL;
    if (!item) return;
    struct source *source = tree_source(config);
    add_symbol_place(places, source_name(source), source, place_in_quotes(source, item->key_span), USE_DEFINES);
}

struct assist_places *assist_references(const struct assist_names *names, uint32_t offset,
                                        const struct assist_workspace *workspace, bool definitions) {
    struct assist_symbol symbol;
    struct assist_places *places = places_at(names, offset, workspace, &symbol);
    if (!places) return NULL;
    struct place_filter filter = {places, definitions, true, false};
    assist_symbol_each(&symbol, workspace, visit_place, &filter);
    if (definitions) add_config_place(places, &symbol, workspace->config);
    return places;
}

struct assist_places *assist_highlight(const struct assist_names *names, uint32_t offset) {
    const struct assist_workspace workspace = {&names, 1, NULL};
    struct assist_symbol symbol;
    struct assist_places *places = places_at(names, offset, &workspace, &symbol);
    if (!places) return NULL;
    struct place_filter filter = {places, true, true, true};
    assist_symbol_each(&symbol, &workspace, visit_place, &filter);
    return places;
}

/* ---- Definitions ---- */

/* The channel of a document inside this one that is not in the workspace. */
static void add_inner_channel(struct assist_places *places, const struct assist_names *names,
                              const struct assist_name *name) {
    const struct document *document = names->assist->document;
    const struct document *inner = name->node < document->node_count ? document_subgraph(document, name->node) : NULL;
    int32_t channel = inner ? document_find_channel(inner, name->text, name->length) : -1;
    if (channel < 0 || inner->channels[channel].implicit) return;
    struct span span = place_in_quotes(inner->source, inner->channels[channel].name_span);
    add_symbol_place(places, source_name(inner->source), inner->source, span, USE_DEFINES);
}

static void set_component(struct assist_places *places, const char *kind, const struct assist_symbol *symbol,
                          const struct catalog *catalog) {
    if (!catalog || !catalog->find(catalog->self, kind, symbol->text, symbol->length)) return;
    snprintf(places->component_kind, sizeof places->component_kind, "%s", kind);
    snprintf(places->component_id, sizeof places->component_id, "%s", symbol->text);
}

struct assist_places *assist_definition(const struct assist_names *names, uint32_t offset,
                                        const struct assist_workspace *workspace) {
    struct assist_symbol symbol;
    struct assist_places *places = places_at(names, offset, workspace, &symbol);
    if (!places) return NULL;
    const struct assist_name *name = assist_names_at(names, offset);
    const struct catalog *catalog = names->assist->world->catalog;
    struct place_filter filter = {places, true, false, false};
    switch (symbol.kind) {
    case USE_NODE_TYPE: set_component(places, "node", &symbol, catalog); break;
    case USE_PROVIDER: set_component(places, "model", &symbol, catalog); break;
    case USE_REDUCER: set_component(places, "reducer", &symbol, catalog); break;
    case USE_TOOL: set_component(places, "tool", &symbol, catalog); break;
    case USE_DOCUMENT:
    case USE_FILE:
        if (name->path) add_symbol_place(places, name->path, NULL, (struct span){0, 0}, 0);
        break;
    case USE_ROLE: {
        const struct assist_workspace own = {&names, 1, workspace->config};
        assist_symbol_each(&symbol, &own, visit_place, &filter);
        add_config_place(places, &symbol, workspace->config);
        break;
    }
    default:
        assist_symbol_each(&symbol, workspace, visit_place, &filter);
        if (!places->count && name->kind == USE_INNER_CHANNEL) add_inner_channel(places, names, name);
    }
    return places;
}
