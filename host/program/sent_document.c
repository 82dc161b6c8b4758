/*
 * sent_document.c - documents that are sent to a running host, and diagnostics that come back as JSON.
 */
#include "host/program/sent_document.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/document/inner_file.h"
#include "adl/source/source.h"
#include "adl/value/memory.h"
#include "host/base/files.h"
#include "host/program/command_run.h"
#include "host/program/method_caller.h"
#include "host/server/document_open.h"
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define PLACE_MAX 1000000 /* a line or a character of a text that only the host has */

/* ---- The document ---- */

/* Symbolic links are kept: the end of the name selects JSON. */
static tn_value absolute_name(const char *name) {
    char folder[PATH_MAX];
    if (*name == '/' || !getcwd(folder, sizeof folder)) return value_string_lossy(name, strlen(name));
    tn_value whole = value_format("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    return whole ? whole : value_string_lossy(name, strlen(name)); /* not UTF-8 */
}

/* A text that is not UTF-8 cannot be sent, and needs no host to be refused. */
static void refuse_malformed(struct source *source, struct error *error) {
    struct diagnostics *found = diagnostics_new();
    document_unref(document_read(source, NULL, found));
    (void)document_refuse(source_name(source), found, error);
    diagnostics_free(found);
}

bool sent_document_open(struct sent_document *sent, const char *path, struct error *error) {
    *sent = (struct sent_document){0};
    if (files_is_special_name(path)) {
        sent->name = value_string_lossy(path, strlen(path));
        return true;
    }
    sent->source = command_source(path, error);
    if (!sent->source) return false;
    sent->name = absolute_name(source_name(sent->source));
    sent->text = value_string(source_text(sent->source), source_length(sent->source));
    if (!sent->text) refuse_malformed(sent->source, error);
    return sent->text != NULL;
}

void sent_document_finish(struct sent_document *sent) {
    source_unref(sent->source);
    value_unref(sent->text);
    value_unref(sent->name);
}

tn_value sent_document_params(const struct sent_document *sent) {
    tn_value params = value_object_reserve(8);
    if (!sent->source) return value_set_take(params, "document", value_ref(sent->name));
    params = value_set_take(params, "text", value_ref(sent->text));
    return value_set_take(params, "name", value_ref(sent->name));
}

/* ---- Its diagnostics ---- */

struct diagnostics_reading {
    const struct sent_document *sent;
    struct diagnostics *found;
    struct source *last; /* of another file; the next diagnostic is often in the same one */
};

static uint32_t place_number(tn_value place, const char *member) {
    tn_value number = value_get(place, member);
    int64_t found = number && value_is(number, TN_INT) ? value_to_int(number) : 0;
    return found < 0 || found > PLACE_MAX ? 0 : (uint32_t)found;
}

/* Text with the places of a range, for a file that this process cannot read. Its lines are not shown. */
static struct source *source_of_places(const char *name, tn_value range) {
    tn_value start = value_get(range, "start"), end = value_get(range, "end");
    uint32_t line = place_number(start, "line"), column = place_number(start, "character");
    uint32_t last = place_number(end, "line"), last_column = place_number(end, "character");
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    for (uint32_t i = 0; i < line; i++) buffer_char(&text, '\n');
    for (uint32_t i = 0; i < column; i++) buffer_char(&text, ' ');
    for (uint32_t i = line; i < last; i++) buffer_char(&text, '\n');
    for (uint32_t i = last > line ? 0 : column; i < last_column; i++) buffer_char(&text, ' ');
    struct source *source = source_new(name, buffer_cstr(&text), text.length);
    source_set_view(source, SOURCE_LINES_HIDDEN);
    buffer_finish(&text);
    return source;
}

/* A new reference to the source of a file that the document contains; NULL if it cannot be read. */
static struct source *source_of_file(struct diagnostics_reading *reading, const char *file) {
    struct error ignored = ERROR_INIT;
    if (reading->last && strcmp(source_name(reading->last), file) == 0) return source_ref(reading->last);
    struct source *source = *file == '/' ? command_source(file, &ignored) : NULL;
    error_finish(&ignored);
    if (!source) return NULL;
    if (!inner_file_resembles_document(source)) source_set_view(source, SOURCE_LINES_HIDDEN);
    source_unref(reading->last);
    reading->last = source_ref(source);
    return source;
}

/* A new reference; NULL if the diagnostic is not in a text. */
static struct source *source_of_diagnostic(struct diagnostics_reading *reading, tn_value diagnostic) {
    const struct sent_document *sent = reading->sent;
    const char *file = command_text(diagnostic, "file", NULL);
    if (!file) return NULL;
    bool same = sent->source &&
                (strcmp(file, value_chars(sent->name, NULL)) == 0 || strcmp(file, source_name(sent->source)) == 0);
    if (same) return source_ref(sent->source);
    struct source *source = source_of_file(reading, file);
    return source ? source : source_of_places(file, value_get(diagnostic, "range"));
}

static uint32_t offset_of(const struct source *source, tn_value place) {
    return source_offset(source, place_number(place, "line"), place_number(place, "character"), SOURCE_UTF16);
}

static struct span span_of(const struct source *source, tn_value range) {
    if (!source || !range) return (struct span){0, 0};
    return (struct span){offset_of(source, value_get(range, "start")), offset_of(source, value_get(range, "end"))};
}

static void add_related(struct diagnostics_reading *reading, tn_value list, struct diagnostic *to) {
    for (size_t i = 0; i < value_count(list); i++) {
        tn_value one = value_at(list, i);
        struct source *source = source_of_diagnostic(reading, one);
        diagnostic_relate(to, source, span_of(source, value_get(one, "range")), "%s", command_text(one, "message", ""));
        source_unref(source);
    }
}

static void add_diagnostic(struct diagnostics_reading *reading, tn_value from) {
    const struct diagnostic_info *info = diagnostic_info_find(command_text(from, "code", ""));
    if (!info) return; /* of a newer host */
    struct source *source = source_of_diagnostic(reading, from);
    enum diagnostic_code code = (enum diagnostic_code)(info - diagnostic_info((enum diagnostic_code)0));
    struct diagnostic *to = diagnostics_add(reading->found, code, source, span_of(source, value_get(from, "range")),
                                            "%s", command_text(from, "message", ""));
    const char *suggestion = command_text(from, "suggestion", NULL);
    tn_value fix = value_get(from, "fix"), replacement = value_get(fix, "replacement");
    if (suggestion) diagnostic_suggest(to, "%s", suggestion);
    if (replacement && value_is(replacement, TN_STRING)) {
        size_t length;
        const char *text = value_chars(replacement, &length);
        diagnostic_set_fix(to, span_of(source, value_get(fix, "range")), text, length, "%s",
                           command_text(fix, "title", ""));
    }
    add_related(reading, value_get(from, "related"), to);
    source_unref(source);
}

void sent_document_read(const struct sent_document *sent, tn_value diagnostics, struct diagnostics *found) {
    struct diagnostics_reading reading = {sent, found, NULL};
    for (size_t i = 0; i < value_count(diagnostics); i++) add_diagnostic(&reading, value_at(diagnostics, i));
    source_unref(reading.last);
}

bool sent_document_read_refusal(const struct sent_document *sent, const struct error *error,
                                struct diagnostics *found) {
    tn_value list = value_get(value_get(error->more, "detail"), "diagnostics");
    sent_document_read(sent, list, found);
    return value_count(list) > 0;
}

int sent_document_report(const struct arguments *arguments, const struct sent_document *sent,
                         const struct error *error) {
    struct diagnostics *found = diagnostics_new();
    int code = COMMAND_USAGE;
    if (sent_document_read_refusal(sent, error, found)) {
        command_print_diagnostics(arguments, found, argument_given(arguments, "json"));
        code = command_code_of_diagnostics(found);
    } else {
        if (strcmp(error->code, "IO") != 0) code = method_caller_exit_code(error);
        if (command_is_plugin_error(error)) code = COMMAND_PLUGIN_PROBLEM;
        (void)method_caller_report(code, error);
    }
    diagnostics_free(found);
    return code;
}

void sent_document_print_warnings(const struct arguments *arguments, const struct sent_document *sent,
                                  struct method_caller *caller) {
    struct error ignored = ERROR_INIT; /* of the check; the work itself has succeeded */
    tn_value result = NULL;
    if (argument_given(arguments, "quiet") || argument_given(arguments, "json")) return;
    (void)method_caller_try_take(caller, "document/check", sent_document_params(sent), &result, &ignored);
    struct diagnostics *found = diagnostics_new();
    sent_document_read(sent, value_get(result, "diagnostics"), found);
    if (diagnostics_warnings(found) && !diagnostics_errors(found)) command_print_diagnostics(arguments, found, false);
    diagnostics_free(found);
    value_unref(result);
    error_finish(&ignored);
}
