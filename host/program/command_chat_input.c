/*
 * command_chat_input.c - reads messages from standard input, with its own buffer, so that a signal ends the wait for a
 * line. The rest of a message that is longer than the buffer is skipped, so that the next line can be read.
 */
#include "host/program/command_chat_input.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include "host/program/line_editor.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct chat_input {
    bool terminal;
    struct line_editor *editor; /* NULL without a terminal, or without an editor for it */
    bool stopped;               /* do not wait for more standard input */
    bool begun;                 /* the last message had a line when it ended */
    bool skips;                 /* the last message was too long, and its rest has not been read */
    size_t at, end;             /* bytes that have been read and not yet consumed */
    char bytes[4096];
};

struct chat_input *chat_input_new(bool terminal) {
    struct chat_input *input = mem_zalloc(sizeof *input);
    input->terminal = terminal;
    if (terminal) input->editor = line_editor_new();
    return input;
}

void chat_input_free(struct chat_input *input) {
    line_editor_free(input->editor);
    mem_free(input);
}

void chat_input_stop(struct chat_input *input) { input->stopped = true; }

void chat_input_interject(struct chat_input *input, void (*print)(void *user), void *user) {
    if (input->editor) line_editor_interject(input->editor, print, user);
}

bool chat_input_prefill(struct chat_input *input, const char *text) {
    if (input->editor) line_editor_prefill(input->editor, text);
    return input->editor != NULL;
}

char *chat_input_ask(struct chat_input *input, const char *prompt) {
    return line_editor_read(input->editor, prompt, false);
}

bool chat_input_can_ask(const struct chat_input *input) { return input->editor != NULL; }

bool chat_input_was_interrupted(struct chat_input *input) {
    return command_got_sigint() && (input->begun || (input->editor && line_editor_has_text(input->editor)));
}

/* Returns the next byte of standard input. EOF: the input has ended or, if `stopped`, nothing is available now. */
static int chat_input_byte(struct chat_input *input) {
    if (input->at == input->end) {
        struct pollfd there = {.fd = STDIN_FILENO, .events = POLLIN};
        if (input->stopped ? poll(&there, 1, 0) <= 0 : !command_wait_line(STDIN_FILENO)) return EOF;
        ssize_t got = read(STDIN_FILENO, input->bytes, sizeof input->bytes);
        if (got <= 0) return EOF;
        input->at = 0;
        input->end = (size_t)got;
    }
    return (unsigned char)input->bytes[input->at++];
}

/*
 * Appends a line without its end, up to the buffer's limit. Returns false at the end of input. On overflow, the byte
 * that did not fit is the next byte of the input.
 */
static bool chat_input_line(struct chat_input *input, struct buffer *message) {
    size_t before = message->length, returns = 0; /* carriage returns that can belong to the end of the line */
    int c = 0;
    while (!message->overflow && (c = chat_input_byte(input)) != EOF && c != '\n') {
        if (c == '\r') {
            returns++;
            continue;
        }
        for (; returns > 0; returns--) buffer_char(message, '\r');
        buffer_char(message, (char)c);
    }
    if (message->overflow) input->at--; /* it can be a backslash, which chat_input_skip must see */
    return c != EOF || message->length > before;
}

/* Skips the rest of a message that did not fit into the buffer: up to a line end without a backslash before it. */
static void chat_input_skip(struct chat_input *input) {
    int c, last = 0;
    while ((c = chat_input_byte(input)) != EOF && (c != '\n' || last == '\\'))
        if (c != '\r') last = c;
}

static bool chat_input_prompt_line(struct chat_input *input, const char *prompt, struct buffer *message) {
    if (input->editor) {
        char *line = line_editor_read(input->editor, prompt, true);
        buffer_text(message, line ? line : "");
        mem_free(line);
        return line != NULL;
    }
    if (input->terminal) fputs(prompt, stderr);
    return chat_input_line(input, message);
}

bool chat_input_read(struct chat_input *input, struct buffer *message) {
    bool more = true, any = false;
    buffer_clear(message);
    if (input->skips) chat_input_skip(input);
    while (more && !message->overflow) {
        size_t before = message->length;
        if (!chat_input_prompt_line(input, any ? "... " : "> ", message)) break;
        any = true;
        more = message->length > before && message->data[message->length - 1] == '\\';
        if (more) message->data[message->length - 1] = '\n';
    }
    input->begun = any;
    input->skips = message->overflow && !input->editor;
    return any && !command_got_sigint();
}
