/*
 * bad_store.c - samples/store with a defect, which the name of its file chooses: wrong.so, for example.
 *
 *   wrong    a search finds nothing
 *   lenient  an invalid query has another code
 *   crashes  a search ends the process
 *   late     a commit is saved when the store is closed
 *   half     changes of the check's batches are saved one by one, and the process is killed between two of them
 *   away     its log is outside of its location, where an isolated store may not write
 *   alone    what other processes have saved is not read
 */
#include "lines.c"
#include "log.c"
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <tenon/store/backend.h>

static bool is_bad(const char *defect) {
    Dl_info own;
    size_t length = strlen(defect);
    if (dladdr(&tn, &own) == 0) return false;
    const char *slash = strrchr(own.dli_fname, '/'), *name = slash != NULL ? slash + 1 : own.dli_fname;
    return strncmp(name, defect, length) == 0 && strcmp(name + length, ".so") == 0;
}

static tn_value bad_search(const struct tn_store_map *map, const struct tn_store_selection *selection, int64_t now,
                           struct tn_store_page *page) {
    if (is_bad("crashes")) abort();
    return is_bad("wrong") ? NULL : tn_store_map_search(map, selection, now, page);
}

static tn_value bad_read(struct log *log, log_line *line, void *user) {
    bool again = log->file >= 0;
    return again && (is_bad("alone") || is_bad("late")) ? NULL : log_read(log, line, user);
}

/* A line that begins with two changes is saved in two lines. */
static tn_value append_halves(struct log *log, const char *json, uint64_t length) {
    static int commits;
    const char *second = strstr(json, "},{");
    char first[512];
    if (second == NULL || strstr(json, "\"c\":\"check\"") == NULL || (size_t)(second - json) + 3 > sizeof(first))
        return log_append(log, json, length);
    (void)snprintf(first, sizeof(first), "%.*s}]", (int)(second - json), json);
    tn_value why = log_append(log, first, strlen(first));
    if (why == NULL && ++commits == 10) (void)raise(SIGKILL);
    return why != NULL ? why : log_append(log, json, length);
}

/* Instead of FOLDER/store the log is in FOLDER-away; the location exists, and is empty. */
static tn_value bad_open(struct log *log, const char *path, uint64_t length) {
    char away[512];
    if (!is_bad("away") || length >= sizeof(away)) return log_open(log, path, length);
    (void)mkdir(path, 0700);
    (void)snprintf(away, sizeof(away), "%.*s-away", (int)(length - strlen("/store")), path);
    return log_open(log, away, strlen(away));
}

static struct tn_text_buffer unsaved;

static tn_value bad_append(struct log *log, const char *json, uint64_t length) {
    if (is_bad("late")) {
        log_make_line(&unsaved, json, length);
        return NULL;
    }
    return is_bad("half") ? append_halves(log, json, length) : log_append(log, json, length);
}

static void bad_close(struct log *log) {
    if (unsaved.length > 0) (void)write_all(log->file, unsaved.bytes, unsaved.length, log->known, false);
    tn_text_free(&unsaved);
    log_close(log);
}

static int32_t bad_query(const struct tn_store_backend *backend, tn_store *store, tn_value query, tn_value *result,
                         tn_value *error) {
    int32_t status = tn_store_backend_query(backend, store, query, result, error);
    if (status == TN_OK || !is_bad("lenient") || strcmp(tn_get_text(*error, "code", ""), "INVALID") != 0) return status;
    tn_release(*error);
    *error = tn_error("STORE_ERROR", "the query is wrong");
    return status;
}

#define tn_store_map_search bad_search
#define log_read            bad_read
#define log_append          bad_append
#define log_close           bad_close
#define log_open            bad_open

#define tn_store_backend_query bad_query
#include "folder.c"
