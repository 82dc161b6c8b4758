/*
 * lsp_feature_names.c - definition, references, highlights and renaming of names, over all documents of the workspace.
 */
#include "adl/assist/rename.h"
#include "adl/assist/symbol.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/server/lsp/lsp_gather.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- Places ---- */

static tn_value location_of_place(const struct lsp *lsp, const struct assist_place *place) {
    if (place->source) return lsp_location(lsp, place->source, place->span);
    struct source *unread = source_new(place->path, "", 0);
    tn_value location = lsp_location(lsp, unread, (struct span){0, 0});
    source_unref(unread);
    return location;
}

/* Takes `places`; NULL without any. */
static tn_value locations_take(const struct lsp *lsp, struct assist_places *places) {
    tn_value list = NULL;
    if (places && places->count) {
        list = value_array();
        for (size_t i = 0; i < places->count; i++)
            list = value_push_take(list, location_of_place(lsp, &places->items[i]));
    }
    assist_places_free(places);
    return list;
}

/* The reference of a component, which is not in a file; NULL if the client cannot show it. */
static tn_value component_location(const struct lsp *lsp, const struct assist_places *places) {
    if (!*places->component_id || !lsp->can.shows_content) return NULL;
    struct source *empty = source_new("", "", 0);
    tn_value location =
        value_set_take(value_object_reserve(2), "uri", lsp_reference_uri(places->component_kind, places->component_id));
    location = value_set_take(location, "range", lsp_range(empty, (struct span){0, 0}, lsp->unit));
    source_unref(empty);
    return value_push_take(value_array(), location);
}

static tn_value find_definition(const struct lsp_query *query, struct error *error) {
    struct lsp_gathered all;
    (void)error;
    lsp_gather(query->lsp, query->text, &all);
    struct assist_places *places = assist_definition(lsp_text_names(query->text), query->offset, &all.workspace);
    tn_value found = places ? component_location(query->lsp, places) : NULL;
    if (found)
        assist_places_free(places);
    else
        found = locations_take(query->lsp, places);
    lsp_gathered_finish(&all);
    return found;
}

static tn_value find_references(const struct lsp_query *query, struct error *error) {
    struct lsp_gathered all;
    tn_value with = value_get(value_get(query->params, "context"), "includeDeclaration");
    bool definitions = !with || !value_is(with, TN_BOOL) || value_to_bool(with);
    (void)error;
    lsp_gather(query->lsp, query->text, &all);
    struct assist_places *places =
        assist_references(lsp_text_names(query->text), query->offset, &all.workspace, definitions);
    tn_value found = locations_take(query->lsp, places);
    lsp_gathered_finish(&all);
    return found;
}

/* DocumentHighlightKind: 1 text, 2 read, 3 write. */
static int highlight_kind(uint32_t access) {
    return access & (USE_WRITES | USE_DEFINES) ? 3 : access & USE_READS ? 2 : 1;
}

static tn_value find_highlights(const struct lsp_query *query, struct error *error) {
    struct assist_places *places = assist_highlight(lsp_text_names(query->text), query->offset);
    tn_value list = NULL;
    (void)error;
    for (size_t i = 0; places && i < places->count; i++) {
        if (!list) list = value_array();
        tn_value range = lsp_range(query->text->checked, places->items[i].span, query->lsp->unit);
        tn_value highlight = value_set_take(value_object_reserve(2), "range", range);
        list = value_push_take(list,
                               value_set_take(highlight, "kind", value_int(highlight_kind(places->items[i].access))));
    }
    assist_places_free(places);
    return list;
}

/* ---- Renaming ---- */

static tn_value prepare_rename(const struct lsp_query *query, struct error *error) {
    struct assist_rename_target target = {0};
    struct lsp_gathered all;
    tn_value result = NULL;
    lsp_gather(query->lsp, query->text, &all);
    if (assist_rename_prepare(lsp_text_names(query->text), query->offset, &all.workspace, &target)) {
        tn_value range = lsp_range(query->text->checked, target.span, query->lsp->unit);
        result = value_set_take(value_object_reserve(2), "range", range);
        result = value_set_take(result, "placeholder", value_string_lossy(target.text, strlen(target.text)));
    } else if (target.refusal) {
        (void)error_set(error, TN_FAILED, "FAILED", "%s", target.refusal);
    }
    assist_rename_target_finish(&target);
    lsp_gathered_finish(&all);
    return result;
}

/* In a document, or at a role in tenon.yaml. NULL if there is no name. */
static struct assist_edits *rename_at(const struct lsp_query *query, const struct lsp_gathered *all, const char *text,
                                      size_t length) {
    struct assist_symbol symbol;
    if (!query->text->is_config)
        return assist_rename(lsp_text_names(query->text), query->offset, text, length, &all->workspace);
    if (!all->config || !assist_symbol_in_config(all->config, query->offset, &symbol)) return NULL;
    return assist_rename_symbol(&symbol, text, length, &all->workspace);
}

static tn_value rename_name(const struct lsp_query *query, struct error *error) {
    tn_value name = value_get(query->params, "newName"), result = NULL;
    struct lsp_gathered all;
    size_t length;
    if (!name || !value_is(name, TN_STRING)) {
        (void)error_set(error, TN_INVALID, "INVALID_INPUT", "`newName` must be a text");
        return NULL;
    }
    if (!query->assist && !query->text->is_config) return NULL;
    const char *text = value_chars(name, &length);
    lsp_gather(query->lsp, query->text, &all);
    struct assist_edits *edits = rename_at(query, &all, text, length);
    if (edits) result = lsp_workspace_edit(query->lsp, edits, error);
    assist_edits_free(edits);
    lsp_gathered_finish(&all);
    return result;
}

/* ---- Moved files ---- */

/* The path with its folder in the canonical form, as documents have it. Takes `path`. */
static char *in_canonical_folder_take(char *path) {
    char resolved[PATH_MAX], *slash = strrchr(path, '/');
    struct buffer whole;
    if (slash == path) return path;
    *slash = '\0';
    bool known = realpath(path, resolved) != NULL;
    *slash = '/';
    if (!known) return path;
    buffer_init(&whole, SIZE_MAX);
    buffer_format(&whole, "%s%s", resolved[1] ? resolved : "", slash);
    mem_free(path);
    return buffer_detach(&whole, NULL);
}

/* The path that an entry of params.files names; free it with mem_free. */
static char *moved_path(const struct lsp *lsp, tn_value entry, const char *member) {
    tn_value uri = value_get(entry, member);
    char *path = uri && value_is(uri, TN_STRING) ? lsp_uri_path(value_chars(uri, NULL)) : NULL;
    return path && lsp->files ? in_canonical_folder_take(path) : path;
}

static tn_value will_rename_files(const struct lsp_query *query, struct error *error) {
    tn_value files = value_get(query->params, "files"), result = NULL;
    size_t given = files && value_is(files, TN_ARRAY) ? value_count(files) : 0, count = 0;
    struct assist_move *moves = mem_array(NULL, given + 1, sizeof *moves);
    struct lsp_gathered all;
    for (size_t i = 0; i < given; i++) {
        tn_value entry = value_at(files, i);
        char *from = moved_path(query->lsp, entry, "oldUri"), *to = moved_path(query->lsp, entry, "newUri");
        if (from && to)
            moves[count++] = (struct assist_move){from, to};
        else
            mem_free(from), mem_free(to);
    }
    lsp_gather(query->lsp, NULL, &all);
    struct assist_edits *edits = assist_rename_files(moves, count, &all.workspace);
    if (edits->count) result = lsp_workspace_edit(query->lsp, edits, error);
    assist_edits_free(edits);
    lsp_gathered_finish(&all);
    for (size_t i = 0; i < count; i++) {
        mem_free((char *)(uintptr_t)moves[i].from);
        mem_free((char *)(uintptr_t)moves[i].to);
    }
    mem_free(moves);
    return result;
}

const struct lsp_row lsp_name_rows[] = {
    {"textDocument/definition", LSP_OF_DOCUMENT | LSP_AT_POSITION | LSP_OF_WORKSPACE, LSP_EMPTY, find_definition,
     "definitionProvider", "true"},
    {"textDocument/references", LSP_OF_DOCUMENT | LSP_AT_POSITION | LSP_OF_WORKSPACE, LSP_EMPTY, find_references,
     "referencesProvider", "true"},
    {"textDocument/documentHighlight", LSP_OF_DOCUMENT | LSP_NOT_NEWEST | LSP_AT_POSITION, LSP_EMPTY, find_highlights,
     "documentHighlightProvider", "true"},
    {"textDocument/prepareRename", LSP_OF_DOCUMENT | LSP_AT_POSITION | LSP_OF_WORKSPACE, LSP_NULL, prepare_rename, NULL,
     NULL},
    {"textDocument/rename", LSP_OF_TEXT | LSP_AT_POSITION | LSP_OF_WORKSPACE, LSP_NULL, rename_name, "renameProvider",
     "{\"prepareProvider\": true}"},
    {"workspace/willRenameFiles", LSP_OF_WORKSPACE, LSP_NULL, will_rename_files, NULL, NULL},
    {NULL, 0, LSP_NULL, NULL, NULL, NULL},
};
