/*
 * lsp_text.c - open documents, kept equal to the client's by its changes.
 *
 * A YAML or JSON file that is not ADL is kept, too, because later changes can make it one; nothing is reported about
 * it.
 */
#include "adl/assist/names.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/files.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static tn_value text_uri(tn_value params) {
    tn_value uri = value_get(value_get(params, "textDocument"), "uri");
    if (!uri) uri = value_get(value_get(params, "item"), "uri"); /* of a call hierarchy */
    if (!uri) uri = value_get(value_get(params, "data"), "uri"); /* of a code action */
    return uri && value_is(uri, TN_STRING) ? uri : NULL;
}

struct lsp_text *lsp_text_of_uri(const struct lsp *lsp, const char *uri) {
    struct lsp_text *text = lsp->texts;
    while (text && strcmp(text->uri, uri) != 0) text = text->next;
    return text;
}

struct lsp_text *lsp_text_of(const struct lsp *lsp, tn_value params) {
    tn_value uri = text_uri(params);
    return uri ? lsp_text_of_uri(lsp, value_chars(uri, NULL)) : NULL;
}

struct lsp_text *lsp_text_at_path(const struct lsp *lsp, const char *path) {
    struct lsp_text *text = lsp->texts;
    while (text && !(text->path && strcmp(text->path, path) == 0)) text = text->next;
    return text;
}

bool lsp_text_is_ready(const struct lsp_text *text) { return !text->dirty && !text->checking; }

const struct assist_names *lsp_text_names(struct lsp_text *text) {
    if (!text->names && text->assist) text->names = assist_names_new(text->assist);
    return text->names;
}

/* ---- Is it ADL? ---- */

/* True if a line of the text begins with `key`. */
static bool has_section(const char *text, const char *key) {
    for (const char *at = text; (at = strstr(at, key)) != NULL; at++)
        if (at == text || at[-1] == '\n' || at[-1] == '\r') return true;
    return false;
}

bool lsp_looks_like_document(const struct source *source) {
    const char *content = source_text(source);
    if (tree_name_is_json(source_name(source))) return strstr(content, "\"nodes\"") && strstr(content, "\"edges\"");
    return has_section(content, "nodes:") &&
           (has_section(content, "edges:") || has_section(content, "agent:") || has_section(content, "channels:"));
}

/* ---- Changes ---- */

/* Takes the source. */
static void text_set(struct lsp_text *text, struct source *source) {
    source_unref(text->source);
    value_unref(text->content);
    text->source = source;
    text->content = NULL;
    text->is_document = !text->is_config && (text->declared || lsp_looks_like_document(source));
    text->changed = ++text->lsp->last_change;
    text->dirty = true;
}

static struct source *make_source(const struct lsp_text *text, const char *content, size_t length) {
    struct source *source = source_new(text->path ? text->path : text->uri, content, length);
    if (!text->path) source_set_origin(source, SOURCE_WITHOUT_FILE, NULL);
    return source;
}

/* One entry of contentChanges: a range is replaced, or the whole text. Returns false if it has another form. */
static bool apply_change(struct lsp_text *text, tn_value change) {
    tn_value content = value_get(change, "text"), range = value_get(change, "range");
    struct span span;
    size_t length;
    if (!content || !value_is(content, TN_STRING)) return false;
    const char *chars = value_chars(content, &length);
    if (!range) {
        text_set(text, make_source(text, chars, length));
        return true;
    }
    if (!lsp_read_range(text->source, range, text->lsp->unit, &span)) return false;
    struct buffer all;
    buffer_init(&all, SOURCE_LENGTH_MAX);
    buffer_append(&all, source_text(text->source), span.start);
    buffer_append(&all, chars, length);
    buffer_append(&all, source_text(text->source) + span.end, source_length(text->source) - span.end);
    if (!all.overflow) text_set(text, make_source(text, buffer_cstr(&all), all.length));
    buffer_finish(&all);
    return true;
}

void lsp_text_change(struct lsp *lsp, tn_value params) {
    struct lsp_text *text = lsp_text_of(lsp, params);
    tn_value changes = value_get(params, "contentChanges"),
             version = value_get(value_get(params, "textDocument"), "version");
    if (!text || !changes || !value_is(changes, TN_ARRAY)) return;
    for (size_t i = 0; i < value_count(changes); i++)
        if (!apply_change(text, value_at(changes, i))) break;
    if (version) (void)value_as_int(version, &text->version);
    text->dirty = true; /* diagnostics follow each version, even one without a change */
    lsp_check_next(lsp);
}

/* ---- Opening and closing ---- */

static char *canonical_path(const char *uri) {
    char resolved[PATH_MAX], *path = lsp_uri_path(uri);
    if (!path || !realpath(path, resolved)) return path;
    mem_free(path);
    return mem_text(resolved);
}

char *lsp_project_of(const char *path) {
    char *folder = files_folder_of(path), *project = NULL;
    (void)config_find_project(folder, &project, NULL);
    mem_free(folder);
    return project;
}

void lsp_text_find_project(struct lsp_text *text) {
    mem_free(text->project);
    text->project = text->path ? lsp_project_of(text->path) : NULL;
}

static bool is_language(tn_value id) {
    return id && (value_text_is(id, "adl") || value_text_is(id, "tenon") || value_text_is(id, "tenon-adl"));
}

/* Returns false if no further document can be open; the first time, the person sees a message. */
static bool has_room(struct lsp *lsp) {
    if (lsp->text_count < LSP_DOCUMENTS_MAX) return true;
    if (!lsp->told_limit) {
        tn_value message = value_format("%u documents are open; further ones are not checked", LSP_DOCUMENTS_MAX);
        tn_value params = value_set_take(value_object_reserve(2), "type", value_int(2));
        peer_notify_take(lsp->peer, "window/showMessage", value_set_take(params, "message", message));
    }
    lsp->told_limit = true;
    return false;
}

/* Names that only documents have. */
static bool is_document_name(const char *uri) {
    static const char *const endings[] = {".adl.yaml", ".adl.yml", ".adl.json"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(uri), end = strlen(endings[i]);
        if (length > end && strcmp(uri + length - end, endings[i]) == 0) return true;
    }
    return false;
}

void lsp_text_open(struct lsp *lsp, tn_value params) {
    tn_value uri = text_uri(params), item = value_get(params, "textDocument"), content = value_get(item, "text");
    tn_value version = value_get(item, "version");
    if (!uri || !content || !value_is(content, TN_STRING) || !has_room(lsp)) return;
    if (lsp_text_of_uri(lsp, value_chars(uri, NULL))) lsp_text_close(lsp, params); /* the client has opened it twice */
    struct lsp_text *text = mem_zalloc(sizeof *text);
    size_t length;
    const char *chars = value_chars(content, &length);
    text->lsp = lsp;
    text->opened = ++lsp->last_change;
    text->uri = mem_text(value_chars(uri, NULL));
    text->path = canonical_path(text->uri);
    text->is_config = text->path && lsp_is_config_path(text->path);
    lsp_text_find_project(text);
    text->declared = is_language(value_get(item, "languageId")) || is_document_name(text->uri);
    if (version) (void)value_as_int(version, &text->version);
    text->next = lsp->texts;
    lsp->texts = text;
    lsp->text_count++;
    text_set(text, make_source(text, chars, length < SOURCE_LENGTH_MAX ? length : 0));
    lsp_check_next(lsp);
}

static void text_free(struct lsp_text *text) {
    assist_names_free(text->names);
    assist_unref(text->assist);
    diagnostics_free(text->found);
    source_unref(text->source);
    source_unref(text->checked);
    value_unref(text->content);
    mem_free(text->project);
    mem_free(text->uri);
    mem_free(text->path);
    mem_free(text);
}

void lsp_text_close(struct lsp *lsp, tn_value params) {
    struct lsp_text *text = lsp_text_of(lsp, params), **link = &lsp->texts;
    if (!text) return;
    while (*link != text) link = &(*link)->next;
    *link = text->next;
    lsp->text_count--;
    if (text->checked) lsp_publish_none(lsp, text->uri);
    lsp_check_release(text);
    text_free(text);
    lsp_check_all(lsp); /* others that contain it now get the file on the disk */
}

void lsp_texts_free(struct lsp *lsp) {
    while (lsp->texts) {
        struct lsp_text *text = lsp->texts;
        lsp->texts = text->next;
        text_free(text);
    }
}
