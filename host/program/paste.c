/*
 * paste.c - command lines that the user can paste.
 */
#include "host/program/paste.h"
#include "host/program/command.h"
#include <string.h>

#define ANSWERS_MAX 20u /* answers in one command line; the questions are listed before it */

void paste_word(struct buffer *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
    if (*word && word[strspn(word, plain)] == '\0') {
        buffer_text(out, word);
        return;
    }
    buffer_char(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buffer_text(out, "'\\''");
        else
            buffer_char(out, *word);
    }
    buffer_char(out, '\'');
}

static void paste_option(struct buffer *out, const struct arguments *arguments, const char *name, bool flag) {
    for (size_t i = 0; i < argument_count(arguments, name); i++) {
        buffer_format(out, " --%s", name);
        if (flag) continue;
        buffer_char(out, ' ');
        paste_word(out, argument_at(arguments, name, i));
    }
}

/* Appends the options of every command, except those that change nothing in the run. */
static void paste_global_options(struct buffer *out, const struct arguments *arguments) {
    static const char *const shown_only[] = {"color", "help"};
    for (const struct command_option *option = global_options; option->name; option++) {
        bool needed = true;
        for (size_t i = 0; i < sizeof shown_only / sizeof *shown_only; i++)
            needed &= strcmp(option->name, shown_only[i]) != 0;
        if (needed) paste_option(out, arguments, option->name, !option->argument);
    }
}

void paste_run(struct buffer *out, const struct arguments *arguments, const char *thread, bool input) {
    buffer_text(out, "tenon run ");
    paste_word(out, operand_at(arguments, 0));
    paste_global_options(out, arguments);
    paste_option(out, arguments, "connect", false);
    paste_option(out, arguments, "run-config", false);
    paste_option(out, arguments, "durability", false);
    paste_option(out, arguments, "batch", false);
    paste_option(out, arguments, "concurrency", false);
    if (input) paste_option(out, arguments, "input", false);
    if (input) paste_option(out, arguments, "set", false);
    buffer_text(out, " --thread ");
    paste_word(out, thread);
}

/* Appends ID=VALUE, with `before` before it, for each interrupt that asks for an answer. Returns their number. */
static size_t paste_answers(struct buffer *out, tn_value interrupts, const char *before) {
    size_t asked = 0;
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), payload = value_get(entry, "payload");
        if (!payload || asked++ >= ANSWERS_MAX) continue;
        bool approval = value_text_is(value_get(payload, "kind"), "approval");
        buffer_format(out, "%s%s=%s", before, command_text(entry, "id", "ID"), approval ? "yes" : "VALUE");
    }
    return asked;
}

size_t paste_resume(struct buffer *out, tn_value interrupts) {
    buffer_text(out, " --resume");
    return paste_answers(out, interrupts, " --answer ");
}

void paste_chat(struct buffer *out, const struct arguments *arguments, const char *thread) {
    buffer_text(out, "tenon chat ");
    paste_word(out, operand_at(arguments, 0));
    paste_global_options(out, arguments);
    paste_option(out, arguments, "channel", false);
    buffer_text(out, " --thread ");
    paste_word(out, thread);
}

size_t paste_thread_answer(struct buffer *out, const struct arguments *arguments, const char *thread,
                           tn_value interrupts) {
    buffer_text(out, "tenon thread answer ");
    paste_word(out, thread);
    size_t asked = paste_answers(out, interrupts, " ");
    paste_global_options(out, arguments);
    return asked;
}
