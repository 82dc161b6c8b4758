/* text_editor.c - starts the user's editor on a temporary file. */
#include "host/program/text_editor.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *editor_command(void) {
    const char *visual = getenv("VISUAL"), *editor = getenv("EDITOR");
    return visual && *visual ? visual : editor && *editor ? editor : NULL;
}

bool text_editor_is_set(void) { return editor_command() != NULL; }

/* Creates a file with the text. Returns its path, which the caller frees, or NULL. */
static char *create_draft(const char *text, struct error *error) {
    const char *folder = getenv("TMPDIR");
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    buffer_format(&path, "%s/tenon-XXXXXX.md", folder && *folder ? folder : "/tmp");
    char *name = buffer_detach(&path, NULL);
    int file = mkstemps(name, 3);
    size_t length = strlen(text), at = 0;
    ssize_t put = file < 0 ? -1 : 0;
    while (put >= 0 && at < length) {
        put = write(file, text + at, length - at);
        if (put > 0) at += (size_t)put;
    }
    if (file >= 0 && (close(file) != 0 || put < 0)) {
        (void)unlink(name);
        file = -1;
    }
    if (file >= 0) return name;
    error_set(error, TN_ERROR, "ERROR", "cannot create the file to edit, %s: %s", name, strerror(errno));
    mem_free(name);
    return NULL;
}

/* The editor is a command of a shell, as for git: EDITOR can have options. */
static int32_t run_editor(const char *path, struct error *error) {
    const char *command = editor_command();
    struct buffer line;
    buffer_init(&line, SIZE_MAX);
    buffer_format(&line, "%s \"$1\"", command);
    const char *const words[] = {"sh", "-c", buffer_cstr(&line), "sh", path, NULL};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    sigaction(SIGINT, &ignore, &before);
    pid_t child;
    int failure = posix_spawnp(&child, "sh", NULL, &attributes, (char *const *)(uintptr_t)words, environ), status = 0;
    while (!failure && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    sigaction(SIGINT, &before, NULL);
    posix_spawnattr_destroy(&attributes);
    buffer_finish(&line);
    if (failure)
        return error_set(error, TN_ERROR, "ERROR", "cannot start the editor `%s`: %s", command, strerror(failure));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(error, TN_ERROR, "ERROR",
                         "the editor `%s` has failed, so the text is not used; VISUAL or EDITOR names the editor",
                         command);
    return TN_OK;
}

static int32_t read_draft(const char *path, char **text, size_t *length, struct error *error) {
    if (!command_read_file(path, text, length, error)) return TN_ERROR;
    if (*length > TEXT_EDITOR_MAX) {
        mem_free(*text);
        *text = NULL;
        return error_set(error, TN_LIMIT, "LIMIT", "the text has more than %u MiB", TEXT_EDITOR_MAX >> 20);
    }
    while (*length > 0 && strchr("\r\n", (*text)[*length - 1])) (*text)[--*length] = '\0';
    return TN_OK;
}

int32_t text_editor_run(const char *before, char **text, size_t *length, struct error *error) {
    char *path = create_draft(before, error);
    if (!path) return TN_ERROR;
    int32_t status = run_editor(path, error);
    if (status == TN_OK) status = read_draft(path, text, length, error);
    (void)unlink(path);
    mem_free(path);
    return status;
}
