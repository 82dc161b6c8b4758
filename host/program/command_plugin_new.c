/*
 * command_plugin_new.c - `tenon plugin new`: copies parts of the SDK's template and inserts the plugin's names.
 *
 * The template is installed in share/tenon/template. A project is made of the folders `common`, `kind/KIND`,
 * `LANGUAGE/common` and `LANGUAGE/KIND`, copied over each other. In its texts and file names, @NAME@ is the project's
 * name ("acme-text"), @IDENT@ the same as an identifier ("acme_text") and @ID@ the plugin's id ("acme.text");
 * @FILE:PATH@ is replaced by the text of a file of the template. The new folder must not exist. If copying fails, it is
 * removed.
 */
#include "adl/value/memory.h"
#include "host/plugin/registry/manifest.h"
#include "host/program/command.h"
#include "host/program/paste.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX        8                           /* folders within folders of a template */
#define PROJECT_NAME_MAX ((MANIFEST_ID_MAX - 1) / 2) /* bytes; a name of one word is twice in the id */

struct project {
    char name[MANIFEST_ID_MAX + 1], id[MANIFEST_ID_MAX + 1], identifier[MANIFEST_ID_MAX + 1];
    const char *template; /* its folder */
};

/* The steps to build and test a project in each language, in which @IDENT@ and @NAME@ are replaced. */
static const struct {
    const char *name, *steps;
} languages[] = {
    {"c", "cmake -B build\n  cmake --build build\n  ctest --test-dir build --output-on-failure"},
    {"cpp", "cmake -B build\n  cmake --build build\n  ctest --test-dir build --output-on-failure"},
    {"rust", "cargo build --release\n  tenon plugin check target/release/lib@IDENT@.so\n"
             "  sh test/run.sh tenon target/release/lib@IDENT@.so"},
    {"python", "tenon plugin check ./@NAME@\n  sh test/run.sh tenon ./@NAME@"},
};

/* Derives both names from "acme-text" or "acme.text". A single word is used as vendor and as name. */
static bool plugin_new_read_name(const char *given, struct project *project) {
    size_t length = strlen(given);
    if (!length || length > PROJECT_NAME_MAX || given[0] < 'a' || given[0] > 'z') return false;
    const char *last = given;
    for (const char *at = given; *at; at++) {
        bool mark = *at == '-' || *at == '.' || *at == '_';
        if (!mark && !(*at >= 'a' && *at <= 'z') && !(*at >= '0' && *at <= '9')) return false;
        if (mark && (*last == '-' || *last == '.' || *last == '_' || !at[1])) return false;
        last = at;
    }
    snprintf(project->name, sizeof project->name, "%s", given);
    for (char *at = project->name; *at; at++)
        if (*at == '.') *at = '-';
    if (strchr(given, '.')) {
        snprintf(project->id, sizeof project->id, "%s", given);
    } else {
        const char *dash = strchr(given, '-');
        if (dash)
            snprintf(project->id, sizeof project->id, "%.*s.%s", (int)(dash - given), given, dash + 1);
        else
            snprintf(project->id, sizeof project->id, "%s.%s", given, given);
    }
    snprintf(project->identifier, sizeof project->identifier, "%s", project->name);
    for (char *at = project->identifier; *at; at++)
        if (*at == '-') *at = '_';
    return true;
}

static bool substitute(struct buffer *out, const char *text, const struct project *project, struct error *error);

/* Inserts the file of @FILE:PATH@, which `text` begins with. Returns the mark's length, or 0 with the error. */
static size_t substitute_file(struct buffer *out, const char *text, const struct project *project,
                              struct error *error) {
    int length = (int)strcspn(text + 6, "@");
    tn_value path = value_format("%s/%.*s", project->template, length, text + 6);
    char *part = NULL;
    size_t part_length;
    bool good =
        command_read_file(value_chars(path, NULL), &part, &part_length, error) && substitute(out, part, project, error);
    value_unref(path);
    mem_free(part);
    return good ? (size_t)length + 7 : 0;
}

/* Appends the text with its placeholders replaced. Returns false with the error if a part cannot be read. */
static bool substitute(struct buffer *out, const char *text, const struct project *project, struct error *error) {
    const struct {
        const char *mark, *text;
    } names[] = {{"@NAME@", project->name}, {"@ID@", project->id}, {"@IDENT@", project->identifier}};
    while (*text) {
        size_t plain = strcspn(text, "@"), mark = 0;
        buffer_append(out, text, plain);
        text += plain;
        for (size_t i = 0; !mark && i < sizeof names / sizeof *names; i++) {
            if (strncmp(text, names[i].mark, strlen(names[i].mark)) != 0) continue;
            buffer_text(out, names[i].text);
            mark = strlen(names[i].mark);
        }
        if (strncmp(text, "@FILE:", 6) == 0 && !(mark = substitute_file(out, text, project, error))) return false;
        if (!mark && *text) buffer_append(out, text, mark = 1);
        text += mark;
    }
    return true;
}

static bool template_write_file(const char *path, const struct buffer *text, mode_t mode, struct error *error) {
    int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    bool good = descriptor >= 0;
    for (size_t done = 0; good && done < text->length;) {
        ssize_t written = write(descriptor, text->data + done, text->length - done);
        if (written < 0 && errno != EINTR) good = false;
        if (written > 0) done += (size_t)written;
    }
    int failure = errno;
    if (descriptor >= 0 && close(descriptor) != 0 && good) {
        good = false;
        failure = errno;
    }
    if (!good) error_set(error, TN_ERROR, "IO", "cannot write %s: %s", path, strerror(failure));
    return good;
}

static bool copy_file(const char *from, const char *to, mode_t mode, const struct project *project,
                      struct error *error) {
    char *text;
    size_t length;
    if (!command_read_file(from, &text, &length, error)) return false;
    struct buffer out;
    buffer_init(&out, COMMAND_FILE_MAX);
    bool good = substitute(&out, text, project, error) && template_write_file(to, &out, mode, error);
    buffer_finish(&out);
    mem_free(text);
    return good;
}

static bool copy_folder(const char *from, const char *to, int depth, const struct project *project,
                        struct error *error) {
    DIR *folder = opendir(from);
    if (!folder || (mkdir(to, 0777) != 0 && errno != EEXIST)) {
        error_set(error, TN_ERROR, "IO", "cannot %s %s: %s", folder ? "make" : "read", folder ? to : from,
                  strerror(errno));
        if (folder) closedir(folder);
        return false;
    }
    bool good = true;
    for (struct dirent *item; good && (item = readdir(folder));) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
        struct buffer name;
        buffer_init(&name, PATH_MAX);
        (void)substitute(&name, item->d_name, project, error); /* a file's name contains no @FILE:PATH@ */
        tn_value source = value_format("%s/%s", from, item->d_name);
        tn_value target = value_format("%s/%s", to, buffer_cstr(&name));
        const char *source_path = value_chars(source, NULL), *target_path = value_chars(target, NULL);
        struct stat status;
        if (stat(source_path, &status) != 0) {
            error_set(error, TN_ERROR, "IO", "cannot read %s: %s", source_path, strerror(errno));
            good = false;
        } else if (S_ISDIR(status.st_mode)) {
            good = depth < DEPTH_MAX && copy_folder(source_path, target_path, depth + 1, project, error);
        } else {
            good = copy_file(source_path, target_path, status.st_mode & 0777, project, error);
        }
        value_unref(source);
        value_unref(target);
        buffer_finish(&name);
    }
    closedir(folder);
    return good;
}

static bool copy_project(const char *kind, const char *language, const char *target, const struct project *project,
                         struct error *error) {
    tn_value parts[] = {value_format("%s/common", project->template),
                        value_format("%s/kind/%s", project->template, kind),
                        value_format("%s/%s/common", project->template, language),
                        value_format("%s/%s/%s", project->template, language, kind)};
    bool good = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        good = good && copy_folder(value_chars(parts[i], NULL), target, 0, project, error);
        value_unref(parts[i]);
    }
    return good;
}

static void print_steps(const char *target, const char *language, const struct project *project) {
    struct buffer folder, steps;
    size_t i = 0;
    buffer_init(&folder, SIZE_MAX);
    paste_word(&folder, target);
    while (strcmp(languages[i].name, language) != 0) i++;
    buffer_init(&steps, SIZE_MAX);
    (void)substitute(&steps, languages[i].steps, project, NULL);
    fprintf(stderr, "created %s, the plugin %s. Build and test it:\n\n  cd %s\n  %s\n", target, project->id,
            buffer_cstr(&folder), buffer_cstr(&steps));
    buffer_finish(&folder);
    buffer_finish(&steps);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}

int command_plugin_new(const struct arguments *arguments) {
    struct project project;
    const char *given = operand_at(arguments, 0), *target = argument_text(arguments, "directory");
    if (strlen(given) > PROJECT_NAME_MAX)
        return command_report(COMMAND_USAGE, "found a name of %zu bytes, expected at most %u", strlen(given),
                              PROJECT_NAME_MAX);
    if (!plugin_new_read_name(given, &project))
        return command_report(COMMAND_USAGE,
                              "found the name `%s`, expected lower-case letters and digits, with - or . between words: "
                              "the vendor, then the plugin, as in acme-text",
                              given);
    if (strncmp(project.id, "tenon.", 6) == 0)
        return command_report(COMMAND_USAGE,
                              "the name `%s` means the plugin `%s`, but ids that begin with `tenon.` are reserved for "
                              "the plugins that are installed with Tenon; choose another vendor, as in acme-text",
                              given, project.id);
    if (!target) target = project.name;
    if (!*target)
        return command_report(COMMAND_USAGE, "--directory is empty; expected the name of a folder that does not exist");
    struct stat status;
    if (lstat(target, &status) == 0)
        return command_report(COMMAND_USAGE,
                              "%s already exists; nothing was changed. Name another folder with --directory", target);
    const char *kind = argument_text(arguments, "kind"), *language = argument_text(arguments, "language");
    if (!kind) kind = "node";
    if (!language) language = "c";
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    char *template = command_data_folder("template");
    project.template = template;
    if (!template)
        error_set(&error, TN_NOT_FOUND, "NOT_FOUND",
                  "this installation has no share/tenon/template: it has no SDK; install Tenon completely");
    if (!template || !copy_project(kind, language, target, &project, &error)) {
        if (template) nftw(target, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    } else {
        print_steps(target, language, &project);
    }
    mem_free(template);
    error_finish(&error);
    return code;
}
