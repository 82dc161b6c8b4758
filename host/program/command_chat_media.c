/* command_chat_media.c - saves the images and the audio of an answer, and shows the images. */
#include "host/program/command_chat_media.h"
#include "adl/value/base64.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include "host/program/media.h"
#include "host/program/state_path.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KITTY_CHUNK 4096u /* bytes of base64 in one sequence, as the protocol limits it */

bool chat_media_mode_read(const char *text, enum chat_media_mode *mode) {
    static const char *const words[] = {"auto", "kitty", "sixel", "link"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) return *mode = (enum chat_media_mode)i, true;
    return false;
}

/* ---- Files ---- */

static bool write_all(int file, const char *bytes, size_t length) {
    size_t at = 0;
    while (at < length) {
        ssize_t put = write(file, bytes + at, length - at);
        if (put < 0 && errno != EINTR) return false;
        if (put > 0) at += (size_t)put;
    }
    return true;
}

/* Creates a file with a new name. Returns its path, which the caller frees; NULL with errno set. */
static char *save_media(struct chat_media *media, const char *bytes, size_t length, const char *extension) {
    struct buffer path;
    struct tm now;
    time_t seconds = time(NULL);
    char name[64], *folder = state_path("chat/");
    int file = -1;
    if (!folder) return errno = ENOENT, NULL;
    localtime_r(&seconds, &now);
    strftime(name, sizeof name, "%Y%m%d-%H%M%S", &now);
    buffer_init(&path, SIZE_MAX);
    /* Another process can have taken the name. */
    for (unsigned attempts = 0; file < 0 && attempts < 100; attempts++) {
        buffer_clear(&path);
        buffer_format(&path, "%s%s-%u.%s", folder, name, ++media->count, extension);
        file = open(buffer_cstr(&path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST) break;
    }
    mem_free(folder);
    bool good = file >= 0 && write_all(file, bytes, length);
    int why = errno;
    if (file >= 0 && close(file) != 0 && good) {
        good = false;
        why = errno;
    }
    if (good) return buffer_detach(&path, NULL);
    if (file >= 0) (void)unlink(buffer_cstr(&path));
    buffer_finish(&path);
    return errno = why, NULL;
}

/* ---- Terminals ---- */

/* True if the environment says that the terminal has kitty's protocol. A multiplexer does not pass it on. */
static bool terminal_has_kitty(void) {
    static const char *const programs[] = {"ghostty", "WezTerm"}, *const terms[] = {"xterm-kitty", "xterm-ghostty"};
    const char *program = getenv("TERM_PROGRAM"), *term = getenv("TERM");
    if (getenv("TMUX") || getenv("STY")) return false;
    if (getenv("KITTY_WINDOW_ID")) return true;
    for (size_t i = 0; i < 2; i++)
        if ((program && strcmp(program, programs[i]) == 0) || (term && strcmp(term, terms[i]) == 0)) return true;
    return false;
}

/* Terminals whose name says that they have sixels. Others have to be chosen with --images. */
static bool terminal_has_sixel(void) {
    static const char *const names[] = {"mlterm", "foot", "yaft", "contour"};
    const char *term = getenv("TERM");
    for (size_t i = 0; term && i < sizeof names / sizeof *names; i++)
        if (strncmp(term, names[i], strlen(names[i])) == 0) return true;
    return term && strstr(term, "sixel") != NULL;
}

static enum chat_media_mode chosen_mode(const struct chat_media *media) {
    if (media->mode != CHAT_MEDIA_AUTO) return media->mode;
    return terminal_has_kitty() ? CHAT_MEDIA_KITTY : terminal_has_sixel() ? CHAT_MEDIA_SIXEL : CHAT_MEDIA_LINK;
}

/* Sends a PNG to the terminal. base64 is the only alphabet that is sent, so nothing in it can be a command. */
static void show_kitty(const char *base64, size_t length) {
    for (size_t at = 0; at < length; at += KITTY_CHUNK) {
        size_t size = length - at < KITTY_CHUNK ? length - at : KITTY_CHUNK;
        fprintf(stderr, "\033_G%sm=%d;", at == 0 ? "a=T,f=100,q=2," : "", at + size < length);
        fwrite(base64 + at, 1, size, stderr);
        fputs("\033\\", stderr);
    }
    fputc('\n', stderr);
}

/* Starts img2sixel, which writes to the terminal. Without it, the link is enough. */
static void show_sixel(const char *path) {
    const char *const words[] = {"img2sixel", "-w", "800", "--", path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    fflush(stderr);
    if (posix_spawnp(&child, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ) == 0)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    posix_spawn_file_actions_destroy(&actions);
}

static void show_image(const struct chat_media *media, const char *path, const char *type,
                       const struct buffer *base64) {
    switch (chosen_mode(media)) {
    case CHAT_MEDIA_KITTY:
        if (strcmp(type, "image/png") == 0) show_kitty(buffer_cstr(base64), base64->length);
        break;
    case CHAT_MEDIA_SIXEL: show_sixel(path); break;
    default: break;
    }
}

/* ---- Parts ---- */

/* The link of a terminal is a URL, in which most characters are escaped. */
static void put_file_url(const char *path) {
    fputs("file://", stderr);
    for (; *path; path++)
        fprintf(stderr, isalnum((unsigned char)*path) || strchr("/-._~", *path) ? "%c" : "%%%02X",
                (unsigned char)*path);
}

static void print_link(const struct chat_media *media, const char *type, size_t length, const char *path) {
    command_printf(stderr, "· %s, %zu bytes: ", type, length);
    if (media->links) {
        fputs("\033]8;;", stderr);
        put_file_url(path);
        fputs("\033\\", stderr);
    }
    command_printf(stderr, "%s", path);
    fprintf(stderr, "%s\n", media->links ? "\033]8;;\033\\" : "");
}

static void show_bytes(struct chat_media *media, const char *bytes, size_t length, const char *declared) {
    const char *type = media_type_of_part(bytes, length, declared);
    char *path = save_media(media, bytes, length, type ? media_extension(type) : "bin");
    struct buffer base64;
    if (!path) {
        command_warn("the answer has a file that cannot be saved: %s", strerror(errno));
        return;
    }
    buffer_init(&base64, SIZE_MAX);
    base64_write(&base64, bytes, length);
    if (type && strncmp(type, "image/", 6) == 0) show_image(media, path, type, &base64);
    print_link(media, type ? type : "a file of an unknown type", length, path);
    buffer_finish(&base64);
    mem_free(path);
}

void chat_media_show(struct chat_media *media, tn_value part) {
    tn_value data = value_get(part, "data"), url = value_get(part, "url"), bytes = NULL;
    size_t length;
    if (value_is(data, TN_STRING)) {
        const char *text = value_chars(data, &length);
        bytes = base64_read(text, length);
        if (!bytes) command_warn("the answer has a file whose data is not base64; it is not shown");
    } else if (value_is(data, TN_BYTES)) {
        bytes = value_ref(data);
    } else if (value_is(url, TN_STRING)) {
        command_print_line(stderr, "· %s: %s", command_text(part, "type", "file"), value_chars(url, NULL));
    }
    if (bytes) {
        const char *start = value_data(bytes, &length), *declared = command_text(part, "media_type", "");
        struct buffer wav;
        buffer_init(&wav, SIZE_MAX);
        if (media_write_wav(&wav, start, length, declared))
            show_bytes(media, buffer_cstr(&wav), wav.length, declared);
        else
            show_bytes(media, start, length, declared);
        buffer_finish(&wav);
    }
    value_unref(bytes);
}
