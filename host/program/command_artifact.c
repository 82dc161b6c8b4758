/*
 * command_artifact.c - `tenon artifact`: copies files into the store and back, in parts, so that a large file needs
 * little memory.
 */
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/data/kernel/kernel_artifact.h"
#include "host/program/command_kernel.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- write ---- */

static const struct {
    const char *suffix, *type;
} types[] = {{".md", "text/markdown"},         {".txt", "text/plain"},       {".json", "application/json"},
             {".html", "text/html"},           {".csv", "text/csv"},         {".xml", "application/xml"},
             {".yaml", "application/yaml"},    {".yml", "application/yaml"}, {".jsonl", "application/x-ndjson"},
             {".pdf", "application/pdf"},      {".png", "image/png"},        {".jpg", "image/jpeg"},
             {".jpeg", "image/jpeg"},          {".svg", "image/svg+xml"},    {".gif", "image/gif"},
             {".zip", "application/zip"},      {".mp3", "audio/mpeg"},       {".wav", "audio/wav"},
             {".js", "application/javascript"}};

static const char *type_of(const char *path) {
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t suffix = strlen(types[i].suffix);
        if (length > suffix && strcasecmp(path + length - suffix, types[i].suffix) == 0) return types[i].type;
    }
    return "application/octet-stream";
}

/* Reads until the buffer is full or the input ends. On failure, prints an error and returns -1. */
static ssize_t artifact_read_part(int file, const char *path, char *out, size_t size) {
    size_t had = 0;
    while (had < size) {
        ssize_t got = read(file, out + had, size - had);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            command_warn("cannot read %s: %s", path, strerror(errno));
            return -1;
        }
        if (got == 0) break;
        had += (size_t)got;
    }
    return (ssize_t)had;
}

/* Sets media_type and metadata. */
static bool read_options(const struct command_kernel *kernel, const char *path, tn_value *given) {
    const char *type = argument_text(kernel->arguments, "type");
    command_kernel_set_text(given, "media_type", type ? type : type_of(path));
    return command_kernel_set_json(kernel, given, "metadata", "metadata");
}

static int write_whole(struct command_kernel *kernel, const char *data, size_t length, tn_value given, tn_value *out) {
    bool text = artifact_is_text(command_kernel_text(given, "media_type")) && utf8_valid(data, length);
    command_kernel_set_text(&given, "idempotency_key", argument_text(kernel->arguments, "key"));
    given = value_set_take(given, "body", text ? value_text_n(data, length) : value_bytes(data, length));
    return command_kernel_call_take(kernel, "artifact/write", given, out);
}

static tn_value of_upload(const char *id) { return value_set_take(value_object(), "artifact_id", value_text(id)); }

static int append_parts(struct command_kernel *kernel, int file, const char *path, const char *id, char *part,
                        size_t length) {
    int64_t offset = 0;
    int code = COMMAND_OK;
    while (code == COMMAND_OK && length > 0) {
        tn_value given = value_set_take(of_upload(id), "offset", value_int(offset)), size = NULL;
        given = value_set_take(given, "data", value_bytes(part, length));
        code = command_kernel_call_take(kernel, "artifact/append", given, &size);
        value_unref(size);
        offset += (int64_t)length;
        ssize_t got = code ? 0 : artifact_read_part(file, path, part, ARTIFACT_PART_MAX);
        if (got < 0 || command_got_sigint()) code = got < 0 ? COMMAND_USAGE : COMMAND_CANCELLED;
        length = got > 0 ? (size_t)got : 0;
    }
    return code;
}

static int write_parts(struct command_kernel *kernel, int file, const char *path, char *part, size_t length,
                       tn_value given, tn_value *out) {
    tn_value opened = NULL, nothing = NULL;
    int code = command_kernel_call_take(kernel, "artifact/open", given, &opened);
    if (code) return code;
    const char *id = command_kernel_text(opened, "artifact_id");
    code = append_parts(kernel, file, path, id, part, length);
    if (code == COMMAND_OK)
        code = command_kernel_call_take(kernel, "artifact/finish", of_upload(id), out);
    else if (command_kernel_call_take(kernel, "artifact/abandon", of_upload(id), &nothing) == COMMAND_OK)
        command_warn("nothing was written");
    value_unref(nothing);
    value_unref(opened);
    return code;
}

static int artifact_write_from(struct command_kernel *kernel, const char *path, int file, tn_value *out) {
    tn_value given = value_object();
    if (!read_options(kernel, path, &given)) {
        value_unref(given);
        return COMMAND_USAGE;
    }
    char *part = mem_alloc(ARTIFACT_PART_MAX);
    ssize_t got = artifact_read_part(file, path, part, ARTIFACT_PART_MAX);
    int code = COMMAND_USAGE;
    bool key = argument_given(kernel->arguments, "key");
    if (got >= 0 && (got < ARTIFACT_PART_MAX || key)) {
        char more;
        if (got == ARTIFACT_PART_MAX && artifact_read_part(file, path, &more, 1) != 0)
            command_warn("--key cannot be used: a file of more than %d KiB is uploaded in parts",
                         ARTIFACT_PART_MAX >> 10);
        else
            code = write_whole(kernel, part, (size_t)got, value_ref(given), out);
    } else if (got >= 0) {
        code = write_parts(kernel, file, path, part, (size_t)got, value_ref(given), out);
    }
    value_unref(given);
    mem_free(part);
    return code;
}

int command_artifact_write(const struct arguments *arguments) {
    const char *path = operand_at(arguments, 0);
    bool standard = strcmp(path, "-") == 0;
    struct error error = ERROR_INIT;
    char *located = command_locate(arguments, path, &error);
    int file = standard ? STDIN_FILENO : located ? open(located, O_RDONLY | O_CLOEXEC) : -1;
    int failure = errno;
    mem_free(located);
    if (file < 0) {
        int code = error.code ? command_report_error(COMMAND_USAGE, &error)
                              : command_report(COMMAND_USAGE, "cannot open %s: %s", path, strerror(failure));
        error_finish(&error);
        return code;
    }
    struct command_kernel kernel;
    tn_value result = NULL;
    int code = command_kernel_open(&kernel, arguments);
    if (!code) {
        method_caller_watch_signals(kernel.caller);
        code = artifact_write_from(&kernel, standard ? "standard input" : path, file, &result);
    }
    if (!standard) close(file);
    if (!code && command_kernel_json(&kernel))
        command_print(result);
    else if (!code)
        command_printf(stdout, "%s\n", command_kernel_text(result, "artifact_id"));
    value_unref(result);
    return command_kernel_close(&kernel, code);
}

/* ---- read ---- */

/* [offset, end) to a file, a part at a time. */
static int copy_out(struct command_kernel *kernel, const char *id, int64_t offset, int64_t end, FILE *out) {
    int code = COMMAND_OK;
    while (code == COMMAND_OK && offset < end) {
        int64_t want = end - offset < ARTIFACT_PART_MAX ? end - offset : ARTIFACT_PART_MAX;
        tn_value given = value_set_take(of_upload(id), "offset", value_int(offset)), artifact = NULL;
        code = command_kernel_call_take(kernel, "artifact/read", value_set_take(given, "length", value_int(want)),
                                        &artifact);
        if (code == COMMAND_OK) {
            size_t length;
            const void *data = value_data(value_get(artifact, "body"), &length);
            command_put(out, data, length);
            if (ferror(out)) code = COMMAND_RUN_FAILED;
            offset += (int64_t)length;
            if (length == 0) break;
        }
        value_unref(artifact);
    }
    return code;
}

static int write_out(struct command_kernel *kernel, const char *id, int64_t offset, int64_t end, const char *path) {
    FILE *file = path ? fopen(path, "wbe") : stdout;
    if (!file) return command_report(COMMAND_USAGE, "cannot write %s: %s", path, strerror(errno));
    int code = copy_out(kernel, id, offset, end, file);
    if (!path) return code; /* command_close looks at it */
    if (fclose(file) != 0 && code == COMMAND_OK)
        code = command_report(COMMAND_RUN_FAILED, "cannot write %s: %s", path, strerror(errno));
    return code;
}

static int read_artifact(struct command_kernel *kernel) {
    const struct arguments *arguments = kernel->arguments;
    const char *id = operand_at(arguments, 0);
    int64_t offset, length, size = 0;
    tn_value found = NULL;
    if (!argument_number(arguments, "offset", 0, ARTIFACT_SIZE_MAX, 0, &offset) ||
        !argument_number(arguments, "length", 0, ARTIFACT_SIZE_MAX, ARTIFACT_SIZE_MAX, &length))
        return COMMAND_USAGE;
    if (command_kernel_json(kernel)) {
        tn_value given = of_upload(id);
        if (argument_given(arguments, "offset")) given = value_set_take(given, "offset", value_int(offset));
        if (argument_given(arguments, "length")) given = value_set_take(given, "length", value_int(length));
        int code = command_kernel_call_take(kernel, "artifact/read", given, &found);
        return code ? code : command_kernel_print_take(kernel, found);
    }
    tn_value given = value_set_take(of_upload(id), "length", value_int(0));
    int code = command_kernel_call_take(kernel, "artifact/read", given, &found);
    if (code) return code;
    (void)value_as_int(value_get(found, "size"), &size);
    value_unref(found);
    if (offset > size) offset = size;
    if (length > size - offset) length = size - offset;
    return write_out(kernel, id, offset, offset + length, argument_text(arguments, "output"));
}

int command_artifact_read(const struct arguments *arguments) {
    struct command_kernel kernel;
    int code = command_kernel_open(&kernel, arguments);
    return command_kernel_close(&kernel, code ? code : read_artifact(&kernel));
}

/* ---- list, search ---- */

static int artifact_print_list(const struct command_kernel *kernel, tn_value result) {
    tn_value list = value_get(result, "artifacts");
    if (command_kernel_json(kernel)) return command_kernel_print_take(kernel, result);
    for (size_t i = 0; i < value_count(list); i++) {
        tn_value artifact = value_at(list, i), metadata = value_get(artifact, "metadata");
        int64_t size = 0;
        (void)value_as_int(value_get(artifact, "size"), &size);
        char *json = value_count(metadata) ? json_text(metadata, JSON_COMPACT) : NULL;
        command_printf(stdout, "%s  %s  %10lld  %s%s%s\n", command_kernel_text(artifact, "artifact_id"),
                       command_kernel_text(artifact, "created_at"), (long long)size,
                       command_kernel_text(artifact, "media_type"), json ? "  " : "", json ? json : "");
        mem_free(json);
    }
    if (value_count(list) == 0) fprintf(stderr, "no Artifacts\n");
    command_kernel_more(result);
    value_unref(result);
    return COMMAND_OK;
}

static int search(const struct arguments *arguments, const char *query) {
    struct command_kernel kernel;
    tn_value given = value_object(), result = NULL;
    int code = command_kernel_open(&kernel, arguments);
    command_kernel_set_text(&given, "query", query);
    if (!code &&
        (!command_kernel_set_json(&kernel, &given, "filter", "filter") || !command_kernel_set_page(&kernel, &given)))
        code = COMMAND_USAGE;
    if (code)
        value_unref(given);
    else
        code = command_kernel_call_take(&kernel, "artifact/search", given, &result);
    return command_kernel_close(&kernel, code ? code : artifact_print_list(&kernel, result));
}

int command_artifact_list(const struct arguments *arguments) { return search(arguments, NULL); }
int command_artifact_search(const struct arguments *arguments) { return search(arguments, operand_at(arguments, 0)); }
