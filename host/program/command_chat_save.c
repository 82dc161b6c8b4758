/* command_chat_save.c - writes a conversation as Markdown or JSON. */
#include "host/program/command_chat_save.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A part of a message: its text, or what else it is. */
static void save_part(struct buffer *out, tn_value part) {
    tn_value type = value_get(part, "type"), text = value_get(part, "text"), url = value_get(part, "url");
    if (value_text_is(type, "reasoning") || !value_is(type, TN_STRING)) return;
    if (value_text_is(type, "source") && value_is(url, TN_STRING))
        buffer_format(out, "\n\n- <%s>", value_chars(url, NULL));
    else if (value_is(text, TN_STRING))
        buffer_text(out, value_chars(text, NULL));
    else
        buffer_format(out, "\n\n(%s)", value_chars(type, NULL));
}

static void save_calls(struct buffer *out, tn_value calls) {
    for (size_t i = 0; value_is(calls, TN_ARRAY) && i < value_count(calls); i++) {
        tn_value name = value_get(value_at(calls, i), "name"), arguments = value_get(value_at(calls, i), "arguments");
        char *text = arguments ? json_text(arguments, JSON_COMPACT) : mem_text("");
        if (value_is(name, TN_STRING)) buffer_format(out, "\n\n→ `%s` `%s`", value_chars(name, NULL), text);
        mem_free(text);
    }
}

static void save_markdown(struct buffer *out, tn_value messages) {
    for (size_t i = 0; i < value_count(messages); i++) {
        tn_value message = value_at(messages, i), type = value_get(message, "type");
        tn_value content = value_get(message, "content");
        if (!value_is(type, TN_STRING)) continue;
        buffer_format(out, "%s## %s\n\n", out->length ? "\n\n" : "", value_chars(type, NULL));
        if (value_is(content, TN_STRING)) buffer_text(out, value_chars(content, NULL));
        for (size_t k = 0; value_is(content, TN_ARRAY) && k < value_count(content); k++)
            save_part(out, value_at(content, k));
        save_calls(out, value_get(message, "tool_calls"));
    }
    buffer_char(out, '\n');
}

static int32_t create_file(const char *path, const struct buffer *text, struct error *error) {
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST)
        return error_set(error, TN_ERROR, "ERROR", "%s exists already, and is not replaced: choose another name", path);
    size_t written = 0;
    bool good = file >= 0;
    while (good && written < text->length) {
        ssize_t put = write(file, text->data + written, text->length - written);
        good = put > 0 || (put < 0 && errno == EINTR);
        if (put > 0) written += (size_t)put;
    }
    int why = errno;
    if (file >= 0 && close(file) != 0 && good) {
        why = errno;
        good = false;
    }
    if (good) return TN_OK;
    if (file >= 0) (void)unlink(path); /* this call has created it */
    return error_set(error, TN_ERROR, "ERROR", "cannot write %s: %s", path, strerror(why));
}

int32_t chat_save(tn_value messages, const char *path, struct error *error) {
    size_t length = strlen(path);
    bool json = length > 5 && strcmp(path + length - 5, ".json") == 0;
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    if (json) {
        char *whole = json_text(messages, JSON_INDENTED);
        buffer_format(&text, "%s\n", whole);
        mem_free(whole);
    } else {
        save_markdown(&text, messages);
    }
    int32_t status = create_file(path, &text, error);
    buffer_finish(&text);
    return status;
}
