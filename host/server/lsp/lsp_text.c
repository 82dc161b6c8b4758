/*
 * lsp_text.c - open documents, kept equal to the client's by its changes.
 *
 * A YAML or JSON file that is not ADL is kept, too, because later changes can make it one; nothing is reported about
 * it.
 */
#include "adl/assist/names.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/inner_file.h"
#include "adl/value/memory.h"
#include "host/base/files.h"
#include "host/base/log.h"
#include "host/server/lsp/lsp_draft.h"
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

/* ---- The table ---- */

static size_t bucket_of(const char *name) {
    uint32_t hash = 2166136261u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
    return (hash ^ hash >> 16) % LSP_BUCKETS;
}

static void table_add_path(struct lsp_text *text) {
    struct lsp_text **bucket = text->path ? &text->lsp->by_path[bucket_of(text->path)] : NULL;
    if (!bucket) return;
    text->next_of_path = *bucket;
    *bucket = text;
}

static void table_remove_path(struct lsp_text *text) {
    struct lsp_text **link = text->path ? &text->lsp->by_path[bucket_of(text->path)] : NULL;
    while (link && *link != text) link = &(*link)->next_of_path;
    if (link) *link = text->next_of_path;
}

static void table_add(struct lsp_text *text) {
    struct lsp *lsp = text->lsp;
    struct lsp_text **bucket = &lsp->by_uri[bucket_of(text->uri)];
    text->next_of_uri = *bucket;
    *bucket = text;
    table_add_path(text);
    text->next = lsp->texts;
    lsp->texts = text;
    lsp->text_count++;
}

static void table_remove(struct lsp_text *text) {
    struct lsp *lsp = text->lsp;
    struct lsp_text **link = &lsp->texts;
    while (*link != text) link = &(*link)->next;
    *link = text->next;
    link = &lsp->by_uri[bucket_of(text->uri)];
    while (*link != text) link = &(*link)->next_of_uri;
    *link = text->next_of_uri;
    table_remove_path(text);
    lsp->text_count--;
    lsp->text_size -= source_length(text->source);
}

struct lsp_text *lsp_text_of_uri(const struct lsp *lsp, const char *uri) {
    struct lsp_text *text = lsp->by_uri[bucket_of(uri)];
    while (text && strcmp(text->uri, uri) != 0) text = text->next_of_uri;
    return text;
}

struct lsp_text *lsp_text_of(const struct lsp *lsp, tn_value params) {
    tn_value uri = text_uri(params);
    return uri ? lsp_text_of_uri(lsp, value_chars(uri, NULL)) : NULL;
}

struct lsp_text *lsp_text_at_path(const struct lsp *lsp, const char *path) {
    struct lsp_text *text = lsp->by_path[bucket_of(path)];
    while (text && strcmp(text->path, path) != 0) text = text->next_of_path;
    return text;
}

void lsp_text_prefer(struct lsp_text *text) {
    table_remove_path(text);
    table_add_path(text);
}

/* ---- Checked versions ---- */

void lsp_text_set_due(struct lsp_text *text) {
    text->dirty = true;
    text->due++;
}

bool lsp_text_is_ready(const struct lsp_text *text) { return !text->dirty && !text->checking; }

const struct assist_names *lsp_text_names(struct lsp_text *text) {
    if (!text->names && text->assist) text->names = assist_names_new(text->assist);
    return text->names;
}

/* ---- Changes ---- */

/* Takes the source. */
static void text_set(struct lsp_text *text, struct source *source) {
    struct lsp *lsp = text->lsp;
    if (text->source) lsp->text_size -= source_length(text->source);
    lsp->text_size += source_length(source);
    source_unref(text->source);
    value_unref(text->content);
    text->source = source;
    text->content = NULL;
    text->is_document = !text->is_config && (text->declared || inner_file_looks_like_document(source));
    text->changed = ++lsp->last_change;
    lsp_text_set_due(text);
}

static struct source *make_source(const struct lsp_text *text, const char *content, size_t length) {
    struct source *source = source_new(text->path ? text->path : text->uri, content, length);
    if (!text->path) source_set_origin(source, SOURCE_WITHOUT_FILE, NULL);
    return source;
}

/* One entry of contentChanges: a range is replaced, or the whole text. Returns false if it has another form. */
static bool apply_change(struct lsp_draft *draft, enum source_unit unit, tn_value change) {
    tn_value content = value_get(change, "text"), range = value_get(change, "range");
    struct lsp_place start, end;
    size_t length;
    if (!content || !value_is(content, TN_STRING)) return false;
    const char *chars = value_chars(content, &length);
    if (range && !value_is(range, TN_NULL)) {
        if (!lsp_read_place(value_get(range, "start"), &start) || !lsp_read_place(value_get(range, "end"), &end))
            return false;
        lsp_draft_replace(draft, start, end, unit, chars, length);
    } else if (length <= SOURCE_LENGTH_MAX) {
        lsp_draft_finish(draft);
        lsp_draft_init(draft, chars, length);
    }
    return true;
}

/* A change that cannot be read ends the list: those after it refer to it. */
static void apply_changes(struct lsp_text *text, tn_value changes) {
    struct lsp_draft draft;
    size_t count = value_count(changes), applied = 0, length;
    lsp_draft_init(&draft, source_text(text->source), source_length(text->source));
    while (applied < count && apply_change(&draft, text->lsp->unit, value_at(changes, applied))) applied++;
    if (applied < count)
        log_write(LOG_WARN, NULL, "a change of %s has another form than {range, text}; its text may be wrong now",
                  text->uri);
    const char *chars = lsp_draft_text(&draft, &length);
    if (applied > 0) text_set(text, make_source(text, chars, length));
    lsp_draft_finish(&draft);
}

/* ---- Room ---- */

/* The client shows a message the first time. */
static void tell_limit(struct lsp *lsp) {
    if (lsp->told_limit) return;
    lsp->told_limit = true;
    tn_value message =
        lsp->text_count >= LSP_DOCUMENTS_MAX
            ? value_format("%u documents are open; further ones are not checked", LSP_DOCUMENTS_MAX)
            : value_format("the open documents have %zu bytes, and may have at most %zu; further ones are not checked",
                           lsp->text_size, lsp_hosts_texts_max(lsp->hosts));
    tn_value params = value_set_take(value_object_reserve(2), "type", value_int(2)); /* Warning */
    peer_notify_take(lsp->peer, "window/showMessage", value_set_take(params, "message", message));
}

/* ---- Opening and closing ---- */

static char *canonical_path(const char *uri) {
    char resolved[PATH_MAX], *path = lsp_uri_path(uri);
    if (!path || !realpath(path, resolved)) return path;
    mem_free(path);
    return mem_text(resolved);
}

char *lsp_project_of(const char *path) {
    char *folder = files_folder_of(path), *project = lsp_project_of_folder(folder);
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

/* Names that only documents have. */
static bool is_document_name(const char *uri) {
    static const char *const endings[] = {".adl.yaml", ".adl.yml", ".adl.json"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(uri), end = strlen(endings[i]);
        if (length > end && strcmp(uri + length - end, endings[i]) == 0) return true;
    }
    return false;
}

static struct lsp_text *text_new(struct lsp *lsp, const char *uri, tn_value item) {
    struct lsp_text *text = mem_zalloc(sizeof *text);
    tn_value version = value_get(item, "version");
    text->lsp = lsp;
    text->opened = ++lsp->last_change;
    text->uri = mem_text(uri);
    text->path = lsp->files ? canonical_path(uri) : NULL;
    text->is_config = text->path && lsp_is_config_path(text->path);
    lsp_text_find_project(text);
    text->declared = is_language(value_get(item, "languageId")) || is_document_name(text->uri);
    if (version) (void)value_as_int(version, &text->version);
    return text;
}

static void text_free(struct lsp_text *text) {
    lsp_text_forget_tokens(text);
    assist_names_free(text->names);
    assist_unref(text->assist);
    assist_unref(text->form);
    value_unref(text->roles);
    diagnostics_free(text->found);
    source_unref(text->source);
    source_unref(text->checked);
    value_unref(text->content);
    mem_free(text->project);
    mem_free(text->uri);
    mem_free(text->path);
    mem_free(text);
}

static void text_close(struct lsp_text *text) {
    struct lsp *lsp = text->lsp;
    table_remove(text);
    lsp_check_readers(text); /* they now get the file on the disk */
    if (text->checked) lsp_publish_none(lsp, text->uri);
    lsp_check_release(text);
    text_free(text);
    lsp_check_next(lsp);
}

void lsp_text_open(struct lsp *lsp, tn_value params) {
    tn_value uri = text_uri(params), item = value_get(params, "textDocument"), content = value_get(item, "text");
    size_t length;
    if (!uri || !content || !value_is(content, TN_STRING)) return;
    lsp_text_close(lsp, params); /* if the client has opened it twice */
    const char *chars = value_chars(content, &length);
    if (lsp->text_count >= LSP_DOCUMENTS_MAX || length > lsp_hosts_texts_max(lsp->hosts) - lsp->text_size) {
        tell_limit(lsp);
        return;
    }
    struct lsp_text *text = text_new(lsp, value_chars(uri, NULL), item);
    text_set(text, make_source(text, chars, length));
    table_add(text);
    lsp_check_next(lsp);
}

void lsp_text_change(struct lsp *lsp, tn_value params) {
    struct lsp_text *text = lsp_text_of(lsp, params);
    tn_value changes = value_get(params, "contentChanges"),
             version = value_get(value_get(params, "textDocument"), "version");
    if (!text || !changes || !value_is(changes, TN_ARRAY)) return;
    apply_changes(text, changes);
    if (lsp->text_size > lsp_hosts_texts_max(lsp->hosts)) {
        tell_limit(lsp);
        text_close(text);
        return;
    }
    if (version) (void)value_as_int(version, &text->version);
    lsp_text_set_due(text); /* diagnostics follow each version, even one without a change */
    lsp_check_next(lsp);
}

void lsp_text_close(struct lsp *lsp, tn_value params) {
    struct lsp_text *text = lsp_text_of(lsp, params);
    if (text) text_close(text);
}

void lsp_texts_free(struct lsp *lsp) {
    while (lsp->texts) {
        struct lsp_text *text = lsp->texts;
        table_remove(text);
        text_free(text);
    }
}
