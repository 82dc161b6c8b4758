/*
 * store_cases.c - see store_cases.h. A case that has failed runs no further line.
 */
#include "host/plugin/conformance/store_cases.h"
#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MESSAGE_MAX 1500 /* bytes of a report */

extern const char store_cases_commit_text[], store_cases_filter_text[], store_cases_query_text[],
    store_cases_search_text[], store_cases_wrong_text[];

const struct store_cases_file store_cases_files[] = {
    {"commit.txt", store_cases_commit_text}, {"filter.txt", store_cases_filter_text},
    {"query.txt", store_cases_query_text},   {"search.txt", store_cases_search_text},
    {"wrong.txt", store_cases_wrong_text},
};
const size_t store_cases_file_count = sizeof store_cases_files / sizeof *store_cases_files;

/* The case that is running. */
struct store_case {
    struct store_cases *cases;
    const char *file, *name;
    tn_value options; /* with the path; owned */
    tn_store *store;
    const char *call;       /* the last commit, query or maintain */
    tn_value result, error; /* of that call; one of them is NULL */
    int64_t elapsed_ms;     /* of the clock */
    bool unchecked;         /* the call's result has not been compared */
    bool failed;
};

/* ---- Reporting ---- */

static void case_fail(struct store_case *it, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void case_fail(struct store_case *it, const char *format, ...) {
    char where[256];
    struct buffer text;
    va_list args;
    if (it->failed) return;
    it->failed = true;
    buffer_init(&text, MESSAGE_MAX);
    if (it->call) buffer_format(&text, "`%.300s%s`: ", it->call, strlen(it->call) > 300 ? "…" : "");
    va_start(args, format);
    buffer_vformat(&text, format, args);
    va_end(args);
    snprintf(where, sizeof where, "%s: `%s`", it->file, it->name);
    it->cases->failed(it->cases->user, where, buffer_cstr(&text));
    buffer_finish(&text);
}

/* Reports that the call had another outcome than `expected`. */
static void case_fail_outcome(struct store_case *it, const char *expected) {
    char *found = it->result ? json_text(it->result, JSON_COMPACT) : json_text(it->error, JSON_COMPACT);
    case_fail(it, "expected %.500s; found %s%.500s", expected, it->result ? "" : "the error ", found);
    mem_free(found);
}

static tn_value case_json(struct store_case *it, const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) case_fail(it, "not JSON: %s", error.message);
    error_finish(&error);
    return value;
}

/* ---- Calls ---- */

static const char *error_text(tn_value error, const char *member) {
    tn_value text = value_get(error, member);
    return value_is(text, TN_STRING) ? value_chars(text, NULL) : "";
}

/* Checks that a call has stored a result, or a complete error, as its status says. */
static void case_check_outcome(struct store_case *it, int32_t status, bool has_result) {
    if (status != TN_OK && status != TN_FAILED)
        case_fail(it, "it returned the status %d; expected TN_OK or TN_FAILED", (int)status);
    else if (has_result != (status == TN_OK) || (it->error != NULL) != (status == TN_FAILED))
        case_fail(it, "TN_OK requires a result and no error, and TN_FAILED an error and no result");
    else if (status == TN_FAILED && (!*error_text(it->error, "code") || !*error_text(it->error, "message")))
        case_fail(it, "the error has no `code` or no `message`");
}

static void case_open(struct store_case *it) {
    it->store = it->cases->shared;
    it->cases->shared = NULL;
    if (it->store) return;
    it->call = "open";
    value_unref(it->error);
    it->error = NULL;
    int32_t status = it->cases->vtable->open(it->cases->self, it->options, &it->store, &it->error);
    case_check_outcome(it, status, it->store != NULL);
    if (!it->failed && status != TN_OK)
        case_fail(it, "%s: %s", error_text(it->error, "code"), error_text(it->error, "message"));
}

static void case_close(struct store_case *it) {
    if (it->store) it->cases->vtable->close(it->store);
    it->store = NULL;
}

static void case_call(struct store_case *it, const char *line) {
    const tn_store_draft *vtable = it->cases->vtable;
    const char *argument = strchr(line, ' ');
    value_unref(it->result);
    value_unref(it->error);
    it->result = it->error = NULL;
    it->call = line;
    it->unchecked = true;
    tn_value value = argument ? case_json(it, argument + 1) : NULL;
    if (it->failed) return;
    int32_t status = *line == 'c'   ? vtable->commit(it->store, value, &it->result, &it->error)
                     : *line == 'q' ? vtable->query(it->store, value, &it->result, &it->error)
                                    : vtable->maintain(it->store, &it->result, &it->error);
    value_unref(value);
    case_check_outcome(it, status, it->result != NULL);
}

/* ---- Expectations ---- */

/* Returns the result without what differs between stores: scores, which must not increase, and the size in bytes. */
static tn_value case_comparable(struct store_case *it) {
    tn_value records = value_get(it->result, "records");
    if (value_get(it->result, "bytes")) return value_remove_take(value_ref(it->result), value_text("bytes"));
    if (!value_is(records, TN_ARRAY)) return value_ref(it->result);
    tn_value list = value_array();
    double before = 0;
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value record = value_at(records, i), score = value_get(record, "score");
        double now = score ? value_to_double(score) : before;
        if (i > 0 && now > before) case_fail(it, "the scores are not in order");
        before = now;
        list = value_push_take(list,
                               score ? value_remove_take(value_ref(record), value_text("score")) : value_ref(record));
    }
    return value_set_take(value_ref(it->result), "records", list);
}

static void case_expect_result(struct store_case *it, const char *text) {
    tn_value expected = case_json(it, text);
    it->unchecked = false;
    if (it->failed) return;
    tn_value found = it->result ? case_comparable(it) : NULL;
    if (!found || !value_identical(expected, found)) case_fail_outcome(it, text);
    value_unref(expected);
    value_unref(found);
}

/* `text` is a code and, after a blank, a part of the message. */
static void case_expect_error(struct store_case *it, const char *text) {
    size_t length = strcspn(text, " ");
    const char *code = it->error ? error_text(it->error, "code") : "", *part = text + length + (text[length] != 0);
    it->unchecked = false;
    if (strlen(code) != length || memcmp(code, text, length) != 0 ||
        (it->cases->messages && !strstr(error_text(it->error, "message"), part)))
        case_fail_outcome(it, text);
}

static void case_expect_detail(struct store_case *it, const char *text) {
    tn_value expected = case_json(it, text), found = value_get(it->error, "detail");
    if (!it->failed && (!found || !value_equal(expected, found))) case_fail_outcome(it, text);
    value_unref(expected);
}

/* ---- Lines and cases ---- */

static void case_line(struct store_case *it, const char *line) {
    bool expectation = strncmp(line, "=> ", 3) == 0 || strncmp(line, "!! ", 3) == 0;
    if (it->unchecked && !expectation)
        case_fail(it, "the case expects nothing of this call");
    else if (strncmp(line, "commit ", 7) == 0 || strncmp(line, "query ", 6) == 0 || strcmp(line, "maintain") == 0)
        case_call(it, line);
    else if (strncmp(line, "=> ", 3) == 0)
        case_expect_result(it, line + 3);
    else if (expectation)
        case_expect_error(it, line + 3);
    else if (strncmp(line, "detail ", 7) == 0)
        case_expect_detail(it, line + 7);
    else if (strncmp(line, "advance ", 8) == 0)
        it->cases->set_elapsed(it->cases->user, it->elapsed_ms += strtoll(line + 8, NULL, 10));
    else if (strcmp(line, "reopen") == 0)
        case_close(it), case_open(it);
    else
        case_fail(it, "the case has an unknown line: %.60s", line);
}

/* Ends the line at *at, with the lines that continue it, and moves *at to the next one. Changes the text. */
static char *take_line(char **at) {
    char *line = *at, *end = strchr(line, '\n');
    while (end && (end[1] == ' ' || end[1] == '\n')) {
        *end = ' ';
        end = strchr(end, '\n');
    }
    *at = end ? end + 1 : line + strlen(line);
    if (end) *end = 0;
    for (size_t i = strlen(line); i > 0 && line[i - 1] == ' ';) line[--i] = 0;
    return line;
}

/* Returns what follows the line `marker` in the text, which it cuts there; NULL if there is no such line. */
static char *take_section(char *text, const char *marker) {
    char *at = strstr(text, marker);
    if (!at) return NULL;
    *at = 0;
    return at + strlen(marker);
}

/* Removes the records of every collection that the case names. */
static void case_clear(struct store_case *it, const char *lines) {
    static const char name[] = "\"collection\": \"";
    for (const char *at = strstr(lines, name); at && !it->failed; at = strstr(at + 1, name)) {
        char batch[256];
        const char *begin = at + strlen(name);
        snprintf(batch, sizeof batch, "commit [{\"op\": \"delete_range\", \"collection\": \"%.*s\"}]",
                 (int)strcspn(begin, "\""), begin);
        case_call(it, batch);
        it->unchecked = false;
        it->call = NULL;
    }
}

static void case_run(struct store_cases *cases, const struct store_cases_file *file, char *text) {
    if (!cases->set_elapsed && strstr(text, "\nadvance ")) return;
    char *end = strchr(text, '\n'), *lines = end ? end + 1 : text + strlen(text);
    char *options = take_section(lines, "\n--- options\n");
    struct store_case it = {.cases = cases, .file = file->name, .name = text};
    if (end) *end = 0;
    tn_value folder = value_format("%s/%u", cases->folder, cases->shares_store ? 0 : cases->count);
    tn_value path = value_format("%s/store", value_chars(folder, NULL));
    if (mkdir(value_chars(folder, NULL), 0700) != 0 && errno != EEXIST) case_fail(&it, "mkdir: %s", strerror(errno));
    value_unref(folder);
    cases->count++;
    it.options = options ? case_json(&it, options) : value_object();
    it.options = value_set_take(it.options ? it.options : value_object(), "path", path);
    for (size_t i = 0; i < value_count(cases->options); i++) {
        const char *name = value_chars(value_key_at(cases->options, i), NULL);
        it.options = value_set_take(it.options, name, value_ref(value_get(cases->options, name)));
    }
    if (cases->set_elapsed) cases->set_elapsed(cases->user, 0);
    if (!it.failed) case_open(&it);
    for (char *at = lines; *at && !it.failed;) {
        const char *line = take_line(&at);
        if (*line && *line != '#') case_line(&it, line);
    }
    if (it.unchecked) case_fail(&it, "the case expects nothing of this call");
    if (cases->shares_store) {
        case_clear(&it, file->text);
        cases->shared = it.store;
    } else {
        case_close(&it);
    }
    value_unref(it.options);
    value_unref(it.result);
    value_unref(it.error);
}

void store_cases_run(struct store_cases *cases, const struct store_cases_file *file) {
    char *text = mem_text(file->text), *at = take_section(text, "\n=== ");
    while (at) {
        char *next = take_section(at, "\n=== ");
        case_run(cases, file, at);
        at = next;
    }
    mem_free(text);
}

void store_cases_finish(struct store_cases *cases) {
    if (cases->shared) cases->vtable->close(cases->shared);
    cases->shared = NULL;
}
