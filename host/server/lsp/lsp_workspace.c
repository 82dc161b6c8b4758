/*
 * lsp_workspace.c - changes outside the open documents: files that the client watches, and saved tenon.yaml files.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/server/lsp/lsp_index.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <string.h>

/* Everything that a check may read: documents, the files that they name, and the configuration. */
#define WATCHERS                                                                                                       \
    "{\"registrations\": [{\"id\": \"files\", \"method\": \"workspace/didChangeWatchedFiles\", "                       \
    "\"registerOptions\": {\"watchers\": [{\"globPattern\": \"**/*.{yaml,yml,json,md,txt,adl}\"}]}}]}"

/* A client that refuses does not report changes. */
void lsp_watch_files(struct lsp *lsp) {
    tn_value params;
    if (!lsp->files || !lsp->can.watches_files || json_read(WATCHERS, strlen(WATCHERS), NULL, &params, NULL) != TN_OK)
        return;
    (void)peer_call_take(lsp->peer, "client/registerCapability", params, NULL, NULL);
}

bool lsp_is_config_path(const char *path) {
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, "tenon.yaml") == 0;
}

/* Documents may belong to another project now. */
static void config_changed(struct lsp *lsp) {
    lsp_hosts_forget(lsp->hosts);
    for (struct lsp_text *text = lsp->texts; text; text = text->next) lsp_text_find_project(text);
}

static bool names_config(const struct lsp *lsp, tn_value uri) {
    char *path = lsp->files && uri && value_is(uri, TN_STRING) ? lsp_uri_path(value_chars(uri, NULL)) : NULL;
    bool config = path && lsp_is_config_path(path);
    mem_free(path);
    return config;
}

void lsp_watched_files(struct lsp *lsp, tn_value params) {
    tn_value changes = value_get(params, "changes");
    bool config = false;
    for (size_t i = 0; changes && value_is(changes, TN_ARRAY) && i < value_count(changes); i++)
        config = config || names_config(lsp, value_get(value_at(changes, i), "uri"));
    if (config) config_changed(lsp);
    if (config) lsp_index_drop(lsp);
    lsp_check_all(lsp);
}

/* ---- Folders ---- */

static bool has_folder(const struct lsp *lsp, const char *path) {
    for (size_t i = 0; i < value_count(lsp->folders); i++)
        if (value_text_is(value_at(lsp->folders, i), path)) return true;
    return false;
}

/* Once. */
static void tell_folders(struct lsp *lsp, const char *path) {
    if (!lsp->told_folders)
        log_write(LOG_WARN, NULL, "%s and further folders are not searched: %u are open, which is the limit", path,
                  LSP_FOLDERS_MAX);
    lsp->told_folders = true;
}

static void add_folder(struct lsp *lsp, tn_value uri) {
    char *path = uri && value_is(uri, TN_STRING) ? lsp_uri_path(value_chars(uri, NULL)) : NULL;
    if (path && lsp->files && !has_folder(lsp, path)) {
        if (value_count(lsp->folders) < LSP_FOLDERS_MAX)
            lsp->folders = value_push_take(lsp->folders, value_string_lossy(path, strlen(path)));
        else
            tell_folders(lsp, path);
    }
    mem_free(path);
}

static void add_folders(struct lsp *lsp, tn_value list) {
    for (size_t i = 0; list && value_is(list, TN_ARRAY) && i < value_count(list); i++)
        add_folder(lsp, value_get(value_at(list, i), "uri"));
}

void lsp_read_folders(struct lsp *lsp, tn_value params) {
    add_folders(lsp, value_get(params, "workspaceFolders"));
    if (value_count(lsp->folders) == 0) add_folder(lsp, value_get(params, "rootUri"));
}

static bool lists_folder(tn_value list, tn_value path) {
    for (size_t i = 0; list && value_is(list, TN_ARRAY) && i < value_count(list); i++) {
        tn_value uri = value_get(value_at(list, i), "uri");
        char *removed = uri && value_is(uri, TN_STRING) ? lsp_uri_path(value_chars(uri, NULL)) : NULL;
        bool same = removed && value_text_is(path, removed);
        mem_free(removed);
        if (same) return true;
    }
    return false;
}

void lsp_change_folders(struct lsp *lsp, tn_value params) {
    tn_value event = value_get(params, "event"), removed = value_get(event, "removed"), kept = value_array();
    for (size_t i = 0; i < value_count(lsp->folders); i++)
        if (!lists_folder(removed, value_at(lsp->folders, i)))
            kept = value_push_take(kept, value_ref(value_at(lsp->folders, i)));
    value_unref(lsp->folders);
    lsp->folders = kept;
    add_folders(lsp, value_get(event, "added"));
    lsp_index_drop(lsp);
}

/* ---- Files ---- */

/* For clients that watch no files. */
void lsp_text_saved(struct lsp *lsp, tn_value params) {
    if (names_config(lsp, value_get(value_get(params, "textDocument"), "uri"))) {
        config_changed(lsp);
        lsp_index_drop(lsp);
        lsp_check_all(lsp);
    }
}
