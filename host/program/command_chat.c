/*
 * command_chat.c - `tenon chat`: a conversation with a document, one run per user message.
 *
 * Ctrl-C cancels an answer or discards a line, and the conversation continues. At an empty prompt it ends, but only
 * after a second Ctrl-C if it would be lost. Standard output contains only answers, so that it can be piped. On a
 * terminal, notifications are shown between the lines. Every line of a pipe is answered; the exit code is that of the
 * first one that failed.
 */
#include "adl/document/document.h"
#include "host/assembly/host.h"
#include "host/engine/graph/graph.h"
#include "host/program/command_chat_input.h"
#include "host/program/command_chat_notice.h"
#include "host/program/command_chat_turn.h"
#include "host/program/command_chat_words.h"
#include "host/program/command_input.h"
#include "host/program/command_run.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHANNEL     "messages"
#define MESSAGE_MAX (16u << 20) /* bytes of one user message */
#define UNSENT_MAX  1000u       /* the most lines of a pipe that are counted after the conversation stopped */

/* ---- Input ---- */

static bool is_blank_line(const char *line) { return !line[strspn(line, " \t\n")]; }

/* Reports the messages of a pipe that were not sent because the run waits for an answer. */
static void report_unsent(struct chat *chat) {
    struct buffer message;
    size_t count = 0;
    buffer_init(&message, MESSAGE_MAX);
    chat_input_stop(chat->typed);
    while (count < UNSENT_MAX && chat_input_read(chat->typed, &message) && !message.overflow)
        count += !is_blank_line(buffer_cstr(&message));
    buffer_finish(&message);
    if (!count) return;
    command_warn("%s%zu more %s not sent; %s", count == UNSENT_MAX ? "at least " : "", count,
                 count == 1 ? "line was" : "lines were",
                 chat->thread ? "send them to `tenon chat` again after the answer"
                              : "with --thread, the conversation can continue with them after the answer");
}

/* Returns COMMAND_OK if the conversation continues after a line that ended with `code`. */
static int continue_after(struct chat *chat, int code) {
    bool failed = code == COMMAND_RUN_FAILED || code == COMMAND_USAGE;
    if (failed && !chat->failure) chat->failure = code;
    return failed ? COMMAND_OK : code;
}

/* Notifications are shown before the prompt, and while the user types. */
static bool read_message(struct chat *chat, struct buffer *message) {
    chat_notices_begin(chat->notices, chat->typed);
    bool read = chat_input_read(chat->typed, message);
    chat_notices_end(chat->notices);
    return read;
}

/* After Ctrl-C at the prompt: true if the conversation continues. */
static bool continue_after_sigint(struct chat *chat) {
    if (!chat->terminal || !command_got_sigint() || command_got_sigterm()) return false;
    bool discards = chat_input_was_interrupted(chat->typed);
    bool warns = !discards && !chat->warned && !chat->thread && chat_turn_messages(chat) > 0;
    if (discards || warns) command_reset_sigint();
    if (warns) fputs("\n(Ctrl-C again or Ctrl-D ends the conversation, which is not saved; /save saves it)", stderr);
    if (discards || warns) fputc('\n', stderr);
    chat->warned = warns;
    return discards || warns;
}

static bool read_next_message(struct chat *chat, struct buffer *message) {
    bool read;
    do {
        read = read_message(chat, message);
    } while (!read && continue_after_sigint(chat));
    chat->warned = false;
    return read;
}

static int converse(struct chat *chat) {
    struct buffer message;
    int code = COMMAND_OK;
    bool exits = false;
    buffer_init(&message, MESSAGE_MAX);
    while (code == COMMAND_OK && !exits && read_next_message(chat, &message)) {
        const char *line = buffer_cstr(&message);
        bool again = chat->edits && chat->said;
        chat->edits = false;
        if (message.overflow)
            code = continue_after(chat,
                                  command_report(chat->terminal ? COMMAND_OK : COMMAND_USAGE,
                                                 "the message is longer than %u bytes; it was not sent", MESSAGE_MAX));
        else if (!is_blank_line(line) && !chat_words_run(chat, line, &code, &exits))
            code = continue_after(chat, chat_turn_send_typed(chat, line, message.length, again));
        /* Ctrl-C can come when the answer has just ended: it does not end the conversation. */
        if (chat->terminal && code == COMMAND_OK) command_reset_sigint();
        /* Answers can no longer be printed, and each of them can cost money. */
        if (!command_flush() && code == COMMAND_OK) code = COMMAND_RUN_FAILED;
    }
    if (chat->terminal && code == COMMAND_OK && !exits) fputc('\n', stderr);
    buffer_finish(&message);
    if (code == COMMAND_OK) code = command_got_sigint() ? COMMAND_CANCELLED : chat->failure;
    return code;
}

/* ---- The command ---- */

static bool check_message_channel(struct chat *chat) {
    const struct document *document = chat->graph->document;
    int32_t channel = document_find_channel(document, chat->channel, strlen(chat->channel));
    if (channel < 0) {
        command_warn(
            "the document has no channel `%s` for messages; add {name: messages, type: reduce, reducer: messages} to "
            "its channels, or name another channel with --channel",
            chat->channel);
        return false;
    }
    const struct document_channel *def = &document->channels[channel];
    bool list = def->type == CHANNEL_APPEND || (def->type == CHANNEL_REDUCE && def->reducer == REDUCER_MESSAGES);
    if (!list)
        command_warn(
            "the channel `%s` does not collect messages: its type must be append, or reduce with the reducer messages",
            chat->channel);
    chat->removes = def->type == CHANNEL_REDUCE;
    return list;
}

static char *ask_with_editor(void *user, const char *prompt) { return chat_input_ask(user, prompt); }

static int run_chat(struct chat *chat) {
    const struct arguments *arguments = chat->arguments;
    struct error error = ERROR_INIT;
    chat->input = command_read_input(arguments, &error);
    if (!chat->input) {
        command_warn_error(&error);
        error_finish(&error);
        return COMMAND_USAGE;
    }
    chat->terminal = isatty(STDIN_FILENO) && !chat->json;
    chat->typed = chat_input_new(chat->terminal);
    chat_show_init(&chat->show, command_colour(arguments, STDERR_FILENO), isatty(STDOUT_FILENO));
    chat->show.quiet = chat->quiet;
    chat->show.terminal = chat->terminal && isatty(STDERR_FILENO) && !chat->quiet;
    chat->show.media.links = chat->show.colour;
    if (argument_given(arguments, "images"))
        (void)chat_media_mode_read(argument_text(arguments, "images"), &chat->show.media.mode);
    approver_init(&chat->approver);
    if (chat->terminal && chat_input_can_ask(chat->typed)) {
        chat->approver.read = ask_with_editor;
        chat->approver.user = chat->typed;
    }
    command_watch_signals(chat->host);
    if (chat->terminal && !chat->quiet)
        command_printf(stderr, "%s: type a message; /help shows the commands\n",
                       value_chars(chat->graph->document->name, NULL));
    if (chat->terminal && !chat->quiet && !argument_given(arguments, "no-notifications"))
        chat->notices = chat_notices_new(chat->host);
    int code = chat->thread ? chat_turn_resume(chat) : COMMAND_OK;
    if (code == COMMAND_OK) code = converse(chat);
    chat_notices_free(chat->notices);
    if (code == COMMAND_WAITING && !chat->terminal) report_unsent(chat);
    approver_finish(&chat->approver);
    chat_show_finish(&chat->show);
    chat_input_free(chat->typed);
    chat_turn_finish(chat);
    return code;
}

int command_chat(const struct arguments *arguments) {
    if (argument_given(arguments, "accept-changes") && !argument_given(arguments, "thread"))
        return command_report(COMMAND_USAGE, "--accept-changes needs --thread ID");
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    const char *channel = argument_text(arguments, "channel");
    struct chat chat = {.arguments = arguments,
                        .host = host,
                        .channel = channel ? channel : CHANNEL,
                        .thread = argument_text(arguments, "thread"),
                        .json = argument_given(arguments, "json"),
                        .quiet = argument_given(arguments, "quiet")};
    int code = COMMAND_INVALID;
    chat.graph = command_open_graph(arguments, host, &code);
    if (chat.graph) code = check_message_channel(&chat) ? run_chat(&chat) : COMMAND_INVALID;
    if (chat.graph) graph_unref(chat.graph);
    host_free(host);
    return code;
}
