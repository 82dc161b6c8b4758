/* results.c - reads and writes files of results. */
#include "host/evaluation/results.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESULT_DEPTH_MAX (2 * JSON_DEPTH_MAX) /* a result contains an answer that can be as deep as JSON may be */

struct results {
    FILE *file;
    tn_value known; /* {key: short result} */
};

/* ---- One result ---- */

static tn_value result_why(tn_value result) {
    tn_value checks = value_get(result, "checks"), error = value_get(result, "error");
    if (error) return value_get(error, "message");
    for (size_t i = 0; value_is(checks, TN_ARRAY) && i < value_count(checks); i++) {
        tn_value check = value_at(checks, i), passed = value_get(check, "passed"), why = value_get(check, "why");
        if (passed && !value_to_bool(passed)) return value_is(why, TN_STRING) ? why : value_get(check, "kind");
    }
    return NULL;
}

tn_value result_shorten(tn_value result) {
    static const char *const members[] = {"document", "model", "case",  "repeat",     "key",
                                          "status",   "ms",    "usage", "judge_usage"};
    tn_value out = value_object_reserve(10), why = value_get(result, "why");
    if (!why) why = result_why(result);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value value = value_get(result, members[i]);
        if (value) out = value_set_take(out, members[i], value_ref(value));
    }
    return value_is(why, TN_STRING) ? value_set_take(out, "why", value_ref(why)) : out;
}

static bool is_text(tn_value object, const char *name) { return value_is(value_get(object, name), TN_STRING); }

static bool is_number(tn_value object, const char *name) {
    tn_value value = value_get(object, name);
    return value && value_is_number(value);
}

static bool is_result(tn_value value) {
    return is_text(value, "document") && is_text(value, "model") && is_text(value, "case") && is_text(value, "key") &&
           is_text(value, "status") && is_number(value, "repeat") && is_number(value, "ms");
}

/* ---- Reading ---- */

/* What is done with each result of a file; borrowed. */
typedef void results_visit(void *user, tn_value result);

/* Reads the rest of a line. Returns false at the end of the file; then the buffer has a line without an end. */
static bool read_line(FILE *file, struct buffer *line) {
    int next;
    buffer_clear(line);
    while ((next = getc_unlocked(file)) != EOF && next != '\n' && !line->overflow) buffer_char(line, (char)next);
    return next == '\n';
}

/* *whole is the length of the complete lines. */
static int32_t read_results(FILE *file, const char *path, off_t *whole, results_visit *visit, void *user,
                            struct error *error) {
    static const struct json_limits limits = {.depth = RESULT_DEPTH_MAX, .length = RESULT_LINE_MAX};
    struct buffer line;
    int32_t status = TN_OK;
    *whole = 0;
    buffer_init(&line, RESULT_LINE_MAX);
    for (size_t number = 1; status == TN_OK && (read_line(file, &line) || line.overflow); number++) {
        struct error inner = ERROR_INIT;
        tn_value one = NULL;
        if (line.overflow)
            error_set(&inner, TN_LIMIT, "LIMIT", "the line is longer than %zu MiB", RESULT_LINE_MAX >> 20);
        else if (json_read(buffer_cstr(&line), line.length, &limits, &one, &inner) == TN_OK && !is_result(one))
            error_set(&inner, TN_INVALID, "INVALID_INPUT", "this is not a result of `tenon evaluate`");
        if (inner.code)
            status = error_set(error, TN_INVALID, "INVALID_INPUT", "%s:%zu: %s", path, number, inner.message);
        else
            visit(user, one);
        *whole += (off_t)line.length + 1;
        value_unref(one);
        error_finish(&inner);
    }
    if (status == TN_OK && ferror(file))
        status = error_set(error, TN_ERROR, "IO", "cannot read %s: %s", path, strerror(errno));
    buffer_finish(&line);
    return status;
}

/* An object whose values are the last results of each run. */
static void keep_last(void *user, tn_value result) {
    tn_value *runs = user;
    tn_value repeat = value_get(result, "repeat");
    tn_value run = value_array_reserve(4);
    run = value_push_take(run, value_ref(value_get(result, "document")));
    run = value_push_take(run, value_ref(value_get(result, "model")));
    run = value_push_take(run, value_ref(value_get(result, "case")));
    run = value_push_take(run, value_ref(repeat));
    char *name = json_text(run, JSON_COMPACT);
    *runs = value_set_key_take(*runs, value_text(name), result_shorten(result));
    mem_free(name);
    value_unref(run);
}

tn_value results_read(const char *path, struct error *error) {
    FILE *file = fopen(path, "re");
    tn_value runs = value_object(), list = value_array();
    off_t whole;
    int32_t status = file ? read_results(file, path, &whole, keep_last, &runs, error)
                          : error_set(error, TN_NOT_FOUND, "IO", "cannot open %s: %s", path, strerror(errno));
    for (size_t i = 0; status == TN_OK && i < value_count(runs); i++)
        list = value_push_take(list, value_ref(value_value_at(runs, i)));
    if (file) fclose(file);
    value_unref(runs);
    if (status == TN_OK) return list;
    value_unref(list);
    return NULL;
}

/* ---- A file that is written ---- */

static void keep_known(void *user, tn_value result) {
    struct results *results = user;
    if (value_text_is(value_get(result, "status"), "error")) return;
    results->known = value_set_key_take(results->known, value_ref(value_get(result, "key")), result_shorten(result));
}

static int32_t fail_exists(const char *path, struct error *error) {
    return error_set(error, TN_INVALID, "INVALID_INPUT",
                     "%s exists already: continue it with --resume, or name another file", path);
}

/* A device or a pipe has no earlier results, and is not locked. */
static int32_t open_file(const char *path, bool resume, bool *regular, FILE **out, struct error *error) {
    struct stat status;
    bool there = stat(path, &status) == 0;
    *regular = !there || S_ISREG(status.st_mode);
    if (there && *regular && !resume) return fail_exists(path, error);
    int flags = *regular ? O_RDWR | O_CREAT | (resume ? 0 : O_EXCL) : O_WRONLY;
    int descriptor = open(path, flags | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno == EEXIST) return fail_exists(path, error);
    if (descriptor < 0) return error_set(error, TN_ERROR, "IO", "cannot write %s: %s", path, strerror(errno));
    if (*regular && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(descriptor);
        return error_set(error, TN_INVALID, "INVALID_INPUT",
                         "another process writes to %s: wait until it has ended, or name another file", path);
    }
    *out = fdopen(descriptor, *regular ? "a+" : "a");
    return TN_OK;
}

int32_t results_open(const char *path, bool resume, struct results **out, struct error *error) {
    bool regular = false;
    FILE *file = NULL;
    off_t whole = 0;
    int32_t status = open_file(path, resume, &regular, &file, error);
    if (status != TN_OK) return status;
    struct results *results = mem_zalloc(sizeof *results);
    results->file = file;
    results->known = value_object();
    if (regular) {
        rewind(file);
        status = read_results(file, path, &whole, keep_known, results, error);
        if (status == TN_OK && (fseeko(file, 0, SEEK_END) != 0 || ftruncate(fileno(file), whole) != 0))
            status = error_set(error, TN_ERROR, "IO", "cannot write %s: %s", path, strerror(errno));
    }
    if (status == TN_OK)
        *out = results;
    else
        results_close(results);
    return status;
}

tn_value results_lookup(const struct results *results, tn_value key) { return value_get_key(results->known, key); }

bool results_append(struct results *results, tn_value result) {
    char *line = json_text(result, JSON_COMPACT);
    bool written = fputs(line, results->file) >= 0 && fputc('\n', results->file) != EOF && fflush(results->file) == 0;
    mem_free(line);
    return written;
}

void results_close(struct results *results) {
    if (!results) return;
    fclose(results->file);
    value_unref(results->known);
    mem_free(results);
}
