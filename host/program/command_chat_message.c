/*
 * command_chat_message.c - finds the files that a message attaches, and reads them.
 */
#include "host/program/command_chat_message.h"
#include "adl/value/base64.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/program/media.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The files of a message while they are collected. */
struct attachments {
    tn_value parts;
    size_t count, bytes;
};

/* ---- One file ---- */

char *chat_message_expand_home(const char *path, size_t length) {
    const char *home = getenv("HOME");
    struct buffer whole;
    buffer_init(&whole, SIZE_MAX);
    bool of_home = length > 1 && path[0] == '~' && path[1] == '/' && home;
    if (of_home) buffer_text(&whole, home);
    buffer_append(&whole, path + (of_home ? 1 : 0), length - (of_home ? 1 : 0));
    return buffer_detach(&whole, NULL);
}

static bool is_regular_file(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* Reads at most what is left of CHAT_ATTACHED_BYTES_MAX. */
static int32_t read_attachment(const char *path, size_t left, struct buffer *out, struct error *error) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = file < 0 ? -1 : 1;
    char bytes[65536];
    while (got > 0 && !out->overflow && out->length <= left) {
        got = read(file, bytes, sizeof bytes);
        if (got > 0) buffer_append(out, bytes, (size_t)got);
    }
    int why = errno;
    if (file >= 0) close(file);
    if (got < 0) return error_set(error, TN_INVALID, "INVALID_INPUT", "cannot read @%s: %s", path, strerror(why));
    if (out->length > left)
        return error_set(error, TN_LIMIT, "LIMIT",
                         "@%s does not fit: the files of one message may have at most %u MiB together", path,
                         CHAT_ATTACHED_BYTES_MAX >> 20);
    return TN_OK;
}

static tn_value attachment_part(const char *path, const char *type, const struct buffer *bytes) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool image = strncmp(type, "image/", 6) == 0, audio = strncmp(type, "audio/", 6) == 0;
    struct buffer data;
    buffer_init(&data, SIZE_MAX);
    base64_write(&data, buffer_cstr(bytes), bytes->length);
    tn_value part = value_set_take(value_object_reserve(4), "type",
                                   value_text(image   ? "image"
                                              : audio ? "audio"
                                                      : "file"));
    part = value_set_take(part, "media_type", value_text(type));
    if (!image && !audio) part = value_set_take(part, "name", value_string_lossy(name, strlen(name)));
    part = value_set_take(part, "data", value_string(buffer_cstr(&data), data.length));
    buffer_finish(&data);
    return part;
}

static int32_t attach_file(struct attachments *attached, const char *path, struct error *error) {
    struct buffer bytes;
    if (attached->count >= CHAT_ATTACHED_FILES_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "@%s: a message may attach at most %u files", path,
                         CHAT_ATTACHED_FILES_MAX);
    buffer_init(&bytes, SIZE_MAX);
    int32_t status = read_attachment(path, CHAT_ATTACHED_BYTES_MAX - attached->bytes, &bytes, error);
    const char *type = status == TN_OK ? media_type_of(buffer_cstr(&bytes), bytes.length) : NULL;
    if (type) {
        attached->parts = value_push_take(attached->parts, attachment_part(path, type, &bytes));
        attached->count++;
        attached->bytes += bytes.length;
    } else if (status == TN_OK) {
        status = error_set(error, TN_INVALID, "INVALID_INPUT",
                           "@%s is neither an image, a PDF nor audio, and cannot be attached; remove the @ to send the "
                           "name as a text",
                           path);
    }
    buffer_finish(&bytes);
    return status;
}

/* ---- The words of a message ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/* True if a word that names no file is a mistake, and not a text such as "@home". */
static bool looks_like_path(const char *path) {
    return *path == '/' || strncmp(path, "./", 2) == 0 || strncmp(path, "../", 3) == 0 || strncmp(path, "~/", 2) == 0 ||
           media_has_extension(path);
}

/* Attaches the file that a word after "@" names, with or without the punctuation at its end. */
static int32_t attach_word(struct attachments *attached, const char *word, size_t length, bool quoted,
                           struct error *error) {
    char *path = chat_message_expand_home(word, length);
    size_t end = strlen(path);
    while (!quoted && end > 1 && !is_regular_file(path) && strchr(".,;:!?)", path[end - 1])) path[--end] = '\0';
    int32_t status = TN_OK;
    if (is_regular_file(path))
        status = attach_file(attached, path, error);
    else if (quoted || looks_like_path(path))
        status = error_set(error, TN_INVALID, "INVALID_INPUT",
                           "@%s: found %s; the message was not sent. Correct the name, or remove the @", path,
                           access(path, F_OK) == 0 ? "no regular file of this name" : "no such file");
    mem_free(path);
    return status;
}

static int32_t attach_words(struct attachments *attached, const char *text, size_t length, struct error *error) {
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < length; i++) {
        if (text[i] != '@' || (i > 0 && !is_blank(text[i - 1]))) continue;
        size_t start = i + 1, end = start;
        bool quoted = start < length && text[start] == '"';
        if (quoted) start = end = start + 1;
        while (end < length && (quoted ? text[end] != '"' && text[end] != '\n' : !is_blank(text[end]))) end++;
        if (end > start) status = attach_word(attached, text + start, end - start, quoted, error);
        i = end > start ? end - 1 : i;
    }
    return status;
}

tn_value chat_message_content(const char *text, size_t length, bool attaches, struct error *error) {
    struct attachments attached = {0};
    tn_value words = value_string(text, length);
    if (!words) {
        error_set(error, TN_INVALID, "INVALID_INPUT", "the message is not valid UTF-8");
        return NULL;
    }
    if (!attaches) return words;
    tn_value part = value_set_take(value_object_reserve(2), "type", value_text("text"));
    attached.parts = value_push_take(value_array(), value_set_take(part, "text", value_ref(words)));
    tn_value content = NULL;
    if (attach_words(&attached, text, length, error) == TN_OK)
        content = value_ref(attached.count ? attached.parts : words);
    value_unref(attached.parts);
    value_unref(words);
    return content;
}
