/*
 * lsp_workspace.c - changes outside the open documents: files that the client watches, and saved tenon.yaml files.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/files.h"
#include "host/base/log.h"
#include "host/server/lsp/lsp_index.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_position.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Everything that a check may read: documents, the files that they name, the configuration, and plugins. */
#define WATCHERS                                                                                                       \
    "{\"registrations\": [{\"id\": \"files\", \"method\": \"workspace/didChangeWatchedFiles\", "                       \
    "\"registerOptions\": {\"watchers\": [{\"globPattern\": \"**/*.{yaml,yml,json,md,txt,adl,so}\"}]}}]}"

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

/* ---- tenon.yaml ---- */

/* The canonical path of the tenon.yaml that the URI names, even if it does not exist any more; NULL for other URIs. */
static char *config_of_uri(const struct lsp *lsp, tn_value uri) {
    char *path = lsp->files && uri && value_is(uri, TN_STRING) ? lsp_uri_path(value_chars(uri, NULL)) : NULL;
    char resolved[PATH_MAX], *folder = path && lsp_is_config_path(path) ? files_folder_of(path) : NULL;
    if (folder && realpath(folder, resolved)) {
        tn_value config = value_format("%s/tenon.yaml", resolved[1] ? resolved : ""); /* "/" */
        mem_free(path);
        path = mem_text(value_chars(config, NULL));
        value_unref(config);
    } else if (!folder) {
        mem_free(path);
        path = NULL;
    }
    mem_free(folder);
    return path;
}

/*
 * Adds the tenon.yaml of the URI to the object {path: true}, and retires its host; *all becomes true if that retires
 * all. Returns false for other URIs.
 */
static bool forget_config(struct lsp *lsp, tn_value *configs, tn_value uri, bool *all) {
    char *config = config_of_uri(lsp, uri);
    if (!config) return false;
    if (lsp_hosts_forget(lsp->hosts, config)) *all = true;
    *configs = value_set_take(*configs, config, value_bool(true));
    mem_free(config);
    return true;
}

/* Checks the documents of the changed projects, and those that belong to another project now. Takes `configs`. */
static void check_projects_take(struct lsp *lsp, tn_value configs, bool all) {
    for (struct lsp_text *text = lsp->texts; text && value_count(configs); text = text->next) {
        char *before = text->project;
        text->project = NULL;
        lsp_text_find_project(text);
        if (all || !lsp_same_project(before, text->project) || (before && value_get(configs, before)))
            lsp_text_set_due(text);
        mem_free(before);
    }
    if (all)
        lsp_index_drop(lsp);
    else if (value_count(configs))
        lsp_index_drop_projects(lsp, configs);
    value_unref(configs);
    lsp_check_next(lsp);
}

/* ---- Files that have changed ---- */

static bool ends_in_so(tn_value uri) {
    size_t length;
    const char *text = uri && value_is(uri, TN_STRING) ? value_chars(uri, &length) : NULL;
    return text && length > 3 && strcmp(text + length - 3, ".so") == 0;
}

void lsp_watched_files(struct lsp *lsp, tn_value params) {
    tn_value changes = value_get(params, "changes"), configs = value_object();
    bool all = false, others = false;
    for (size_t i = 0; changes && value_is(changes, TN_ARRAY) && i < value_count(changes); i++) {
        tn_value uri = value_get(value_at(changes, i), "uri");
        if (!forget_config(lsp, &configs, uri, &all) && !ends_in_so(uri)) others = true;
    }
    if (lsp->files) lsp_hosts_look(lsp->hosts);
    if (others) lsp_index_touch(lsp);
    check_projects_take(lsp, configs, all);
    if (others) lsp_check_all(lsp);
}

/* For clients that watch no files. */
void lsp_text_saved(struct lsp *lsp, tn_value params) {
    tn_value configs = value_object();
    bool all = false;
    (void)forget_config(lsp, &configs, value_get(value_get(params, "textDocument"), "uri"), &all);
    check_projects_take(lsp, configs, all);
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
