/*
 * command_check.c - `tenon check` and `tenon fmt`: commands for documents that run nothing. With --connect, the running
 * host checks the texts.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/document.h"
#include "adl/document/strategy.h"
#include "adl/format/format.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/files.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/graph_check.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/program/check_files.h"
#include "host/program/command.h"
#include "host/program/method_caller.h"
#include "host/program/sent_document.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void warn(void *user, const char *message) {
    command_warn("warning: %s", message);
    ++*(size_t *)user;
}

struct check {
    const struct arguments *arguments;
    struct method_caller *caller;
    struct host *host; /* NULL with --connect */
    struct check_files files;
    struct diagnostics *found;
    size_t checked, warnings; /* documents; warnings that are not diagnostics */
    int code;
};

/* In the host that runs. Warnings about its tenon.yaml are not for this user, who may have another one. */
static void check_sent_file(struct check *check, const char *path) {
    struct error error = ERROR_INIT;
    struct sent_document sent;
    tn_value result = NULL;
    bool good = sent_document_open(&sent, path, &error);
    if (good) {
        tn_value params = sent_document_params(&sent);
        if (argument_given(check->arguments, "strategy")) params = value_set_take(params, "strategy", value_bool(true));
        good = method_caller_try_take(check->caller, "document/check", params, &result, &error) == TN_OK;
    }
    if (good) sent_document_read(&sent, value_get(result, "diagnostics"), check->found);
    if (good || sent_document_read_refusal(&sent, &error, check->found))
        check->checked++;
    else
        check->code = sent_document_report(check->arguments, &sent, &error);
    value_unref(result);
    sent_document_finish(&sent);
    error_finish(&error);
}

static void check_file(struct check *check, const char *path, bool last) {
    struct error error = ERROR_INIT;
    struct host *host = check->host;
    struct source *source = command_document(check->arguments, host, path, &error);
    if (source) {
        struct document *document = graph_check(host_engine(host), source, &(struct graph_origin){0}, check->found);
        if (argument_given(check->arguments, "strategy")) document_check_strategy(document, check->found);
        config_lint_budget(host, document, warn, &check->warnings);
        /* A role can be declared by any of the documents. */
        if (last && config_lint_role(host, document, "--model", &error) != TN_OK)
            check->code = command_report_error(COMMAND_USAGE, &error);
        document_unref(document);
        check->checked++;
    } else {
        check->code = command_report_error(COMMAND_USAGE, &error);
    }
    source_unref(source);
    error_finish(&error);
}

/* A document that another one contains is reported under its canonical path, and once more as a file of the list. */
static bool is_reported_by_list(void *user, const struct diagnostic *diagnostic) {
    struct check_files *files = user;
    const char *name = diagnostic->source ? source_name(diagnostic->source) : "";
    return *name == '/' && check_files_have(files, name);
}

static void check_summary(const struct check *check, size_t errors, size_t warnings) {
    char documents[64] = "";
    if (check->files.folders)
        snprintf(documents, sizeof documents, "%zu document%s: ", check->checked, check->checked == 1 ? "" : "s");
    if (errors || warnings)
        fprintf(stderr, "%s%zu error%s, %zu warning%s\n", documents, errors, errors == 1 ? "" : "s", warnings,
                warnings == 1 ? "" : "s");
    else if (check->code == COMMAND_OK)
        fprintf(stderr, "%sno problems found\n", documents);
}

static void check_all(struct check *check) {
    const struct arguments *arguments = check->arguments;
    for (size_t i = 0; i < operand_count(arguments); i++) {
        struct error error = ERROR_INIT;
        if (!check_files_add(&check->files, operand_at(arguments, i), &error))
            check->code = command_report_error(COMMAND_USAGE, &error);
        error_finish(&error);
    }
    for (size_t i = 0; i < check->files.count; i++) {
        if (check->host)
            check_file(check, check->files.items[i].path, i + 1 == check->files.count);
        else
            check_sent_file(check, check->files.items[i].path);
    }
    diagnostics_remove(check->found, is_reported_by_list, &check->files);
}

static int check_report(const struct check *check) {
    const struct arguments *arguments = check->arguments;
    bool json = argument_given(arguments, "json");
    command_print_diagnostics(arguments, check->found, json);
    size_t errors = diagnostics_errors(check->found), warnings = diagnostics_warnings(check->found) + check->warnings;
    if (check->host) {
        config_lint_providers(check->host, warn, &warnings);
        config_lint_tools(check->host, warn, &warnings);
        config_lint_files(check->host, warn, &warnings);
        config_lint_work(check->host, warn, &warnings);
        config_lint_schedules(check->host, warn, &warnings);
        config_lint_serve(check->host, warn, &warnings);
    }
    if (!json && !argument_given(arguments, "quiet")) check_summary(check, errors, warnings);
    bool bad = errors || (warnings && argument_given(arguments, "strict"));
    return check->code == COMMAND_OK && bad ? COMMAND_INVALID : check->code;
}

int command_check(const struct arguments *arguments) {
    struct check check = {.arguments = arguments};
    int code = method_caller_open(&check.caller, arguments, NULL, NULL);
    if (!code) {
        check.host = method_caller_host(check.caller);
        check.found = diagnostics_new();
        check_all(&check);
        code = check_report(&check);
        diagnostics_free(check.found);
        check_files_finish(&check.files);
    }
    method_caller_free(check.caller);
    return code;
}

/* ---- fmt ---- */

/* Replaces the file atomically: on a full disk the old file stays. A symbolic link is kept, and its target replaced. */
static bool fmt_replace_file(const char *given, const char *text, size_t length, struct error *error) {
    char path[PATH_MAX];
    struct stat status;
    if (stat(given, &status) != 0 || !S_ISREG(status.st_mode) || !realpath(given, path)) {
        error_set(error, TN_ERROR, "IO",
                  "%s is not a regular file and cannot be replaced; print the result with --stdout", given);
        return false;
    }
    tn_value name = value_format("%s.tenon-fmt-%ld", path, (long)getpid());
    const char *temporary = value_chars(name, NULL);
    mode_t mode = status.st_mode & 07777;
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    bool good = descriptor >= 0;
    for (size_t done = 0; good && done < length;) {
        ssize_t written = write(descriptor, text + done, length - done);
        if (written < 0 && errno != EINTR) good = false;
        if (written > 0) done += (size_t)written;
    }
    if (good && fchown(descriptor, status.st_uid, status.st_gid) != 0)
        mode &= 0777; /* the new file then has another owner */
    if (good) good = fchmod(descriptor, mode) == 0 && fsync(descriptor) == 0;
    int failure = errno;
    if (descriptor >= 0 && close(descriptor) != 0 && good) {
        good = false;
        failure = errno;
    }
    if (good && rename(temporary, path) != 0) {
        good = false;
        failure = errno;
    }
    if (!good) {
        if (descriptor >= 0) unlink(temporary);
        error_set(error, TN_ERROR, "IO", "cannot write %s: %s; the file is unchanged", given, strerror(failure));
    }
    value_unref(name);
    return good;
}

static int format_one(const struct arguments *arguments, const char *path, struct diagnostics *found) {
    struct error error = ERROR_INIT;
    if (files_is_special_name(path))
        return command_report(COMMAND_USAGE,
                              "%s has the form of an installed file's name, and is not a file of yours; it is not "
                              "formatted; a file whose name begins like that is named ./%s",
                              path, path);
    bool prints = strcmp(path, "-") == 0 || argument_given(arguments, "check") || argument_given(arguments, "stdout");
    if (!prints && packs_contain(path))
        return command_report(
            COMMAND_USAGE,
            "%s belongs to an installed pack, and is not a file of yours; it is not formatted, because "
            "the pack could then not be used; --stdout prints the result",
            path);
    struct source *source = command_source(path, &error);
    int code = COMMAND_OK;
    char *text = NULL;
    size_t length = 0;
    if (!source) {
        code = command_report_error(COMMAND_USAGE, &error);
    } else if (format_source(source, found, &text, &length) != TN_OK) {
        code = COMMAND_INVALID;
    } else {
        bool same = length == source_length(source) && memcmp(text, source_text(source), length) == 0;
        if (argument_given(arguments, "check")) {
            if (!same) code = command_report(COMMAND_RUN_FAILED, "%s is not formatted", source_name(source));
        } else if (strcmp(path, "-") == 0 || argument_given(arguments, "stdout")) {
            command_put(stdout, text, length);
        } else if (!same && !fmt_replace_file(path, text, length, &error)) {
            code = command_report_error(COMMAND_RUN_FAILED, &error);
        }
    }
    mem_free(text);
    source_unref(source);
    error_finish(&error);
    return code;
}

int command_fmt(const struct arguments *arguments) {
    struct diagnostics *found = diagnostics_new();
    int code = COMMAND_OK;
    for (size_t i = 0; i < operand_count(arguments); i++) {
        int one = format_one(arguments, operand_at(arguments, i), found);
        if (one > code) code = one;
    }
    if (diagnostics_count(found)) command_print_diagnostics(arguments, found, false);
    diagnostics_free(found);
    return code;
}
