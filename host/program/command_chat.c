/*
 * command_chat.c - `tenon chat`: a conversation with a document, one run per user message.
 *
 * A user message is written to the document's channel of messages; the messages that the run adds there are the answer.
 * Between two turns the state is kept in memory or, with --thread, in the store. Ctrl-C cancels an answer, and the
 * conversation continues; a second Ctrl-C, or one at a prompt or question, ends it. A turn that was cancelled or has
 * failed is not part of the conversation: the next turn removes its messages. Standard output contains only answers, so
 * that it can be piped. On a terminal, notifications are shown between the lines. Every line of a pipe is answered; the
 * exit code is that of the first one that failed.
 */
#include "adl/document/document.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution_thread.h"
#include "host/engine/graph/graph.h"
#include "host/program/approve.h"
#include "host/program/command_chat_input.h"
#include "host/program/command_chat_notice.h"
#include "host/program/command_chat_show.h"
#include "host/program/command_input.h"
#include "host/program/command_run.h"
#include "host/program/paste.h"
#include "host/program/questions.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHANNEL     "messages"
#define MESSAGE_MAX (16u << 20) /* bytes of one user message */
#define UNSENT_MAX  1000u       /* the most lines of a pipe that are counted after the conversation stopped */

struct chat {
    const struct arguments *arguments;
    struct host *host;
    struct graph *graph;
    const char *channel, *thread;
    bool terminal; /* standard input is a terminal, and --json is not given */
    bool json, quiet, ended, cancelled;
    bool removes;             /* the channel accepts the removal of messages */
    bool unfinished;          /* the last turn of the thread has not completed, so the thread is not done */
    tn_value input;           /* --input and --set, for the first turn; NULL afterwards */
    tn_value saved;           /* without a thread: the saved run of the last turn; NULL before the first turn */
    tn_value messages, usage; /* after the last turn */
    tn_value completed;       /* the messages after the last turn that completed; NULL before the first turn */
    tn_value waits;           /* the interrupts of the last turn; NULL when it ended without a question */
    struct chat_show show;
    struct approver approver;
    struct chat_input *typed;
    struct chat_notices *notices; /* NULL: none are shown */
    int failure; /* exit code of the first line of a pipe that failed; the lines after it are still answered */
};

/* ---- One turn ---- */

static bool chat_on_event(void *user, tn_value event) {
    struct chat *chat = user;
    if (chat->json)
        run_print_line(event);
    else
        chat_show_event(&chat->show, event);
    return true;
}

static void chat_on_ended(struct run *run, void *user) {
    struct chat *chat = user;
    (void)run;
    chat->ended = true;
    loop_wake(host_loop(chat->host));
}

struct turn {
    struct chat *chat;
    struct run *run;
};

static bool chat_turn_has_ended(void *user) {
    const struct turn *turn = user;
    struct chat *chat = turn->chat;
    if (command_got_signal() && !chat->cancelled) {
        chat->cancelled = true;
        run_cancel(turn->run);
    }
    return chat->ended;
}

/* Runs until the turn ends, or waits for answers that cannot be requested here. */
static int32_t drive_turn(struct turn *turn, struct error *error) {
    struct chat *chat = turn->chat;
    for (;;) {
        if (!chat->ended && !loop_run(host_loop(chat->host), chat_turn_has_ended, turn))
            return error_set(error, TN_ERROR, "STALLED",
                             "the run has not ended, and no event is pending that could end it");
        if (run_status(turn->run) != RUN_INTERRUPTED || chat->thread || !chat->terminal) return TN_OK;
        chat_show_line(&chat->show);
        tn_value waits = run_interrupts(turn->run), answers = approver_prompt(&chat->approver, waits);
        value_unref(waits);
        if (!answers) return TN_OK;
        int32_t status = run_resume(turn->run, answers, &chat->ended, error);
        value_unref(answers);
        if (status != TN_OK) return status;
    }
}

static size_t message_count(const struct chat *chat) { return chat->messages ? value_count(chat->messages) : 0; }

/*
 * Keeps the results of a turn: its messages, and the state for the next turn. Without a thread, a turn that did not
 * complete keeps only its usage, and the next turn starts from the same state as this one.
 */
static void keep_turn(struct chat *chat, struct run *run, tn_value messages) {
    bool complete = run_status(run) == RUN_DONE || run_status(run) == RUN_STOPPED;
    if (complete || chat->thread) {
        value_unref(chat->messages);
        chat->messages = messages ? value_ref(messages) : NULL;
    }
    if (complete) {
        value_unref(chat->completed);
        chat->completed = messages ? value_ref(messages) : NULL;
    }
    chat->unfinished = chat->thread && run_status(run) != RUN_DONE;
    if (complete && !chat->thread) {
        value_unref(chat->saved);
        chat->saved = run_save(run);
    }
    value_unref(chat->usage);
    chat->usage = run_usage(run);
    value_unref(chat->waits);
    chat->waits = run_status(run) == RUN_INTERRUPTED ? run_interrupts(run) : NULL;
}

static void print_turn(struct run *run, tn_value messages, size_t before) {
    tn_value event = value_set_take(value_object_reserve(5), "type", value_text("turn")), fresh = value_array();
    tn_value usage = run_usage(run);
    for (size_t i = before; messages && i < value_count(messages); i++)
        fresh = value_push_take(fresh, value_ref(value_at(messages, i)));
    event = value_set_take(event, "status", value_text(run_status_name(run_status(run))));
    event = value_set_take(event, "messages", fresh);
    if (usage) event = value_set_take(event, "usage", usage);
    if (run_status(run) == RUN_FAILED) event = value_set_take(event, "error", error_to_value(run_error(run)));
    if (run_status(run) == RUN_INTERRUPTED) event = value_set_take(event, "interrupts", run_interrupts(run));
    run_print_line(event);
    value_unref(event);
}

/* Prints the commands that answer the open questions and continue the conversation. A pause needs no answer. */
static void print_answer_commands(const struct chat *chat) {
    struct buffer line;
    buffer_init(&line, SIZE_MAX);
    bool asked = paste_thread_answer(&line, chat->arguments, chat->thread, chat->waits) > 0;
    if (!asked) {
        buffer_clear(&line);
        paste_run(&line, chat->arguments, chat->thread, false);
        paste_resume(&line, NULL);
    }
    buffer_text(&line, " && ");
    paste_chat(&line, chat->arguments, chat->thread);
    command_warn("%s with: %s", asked ? "answer" : "continue", buffer_cstr(&line));
    buffer_finish(&line);
}

/* Prints the error of a turn that could not start and, if the document has changed, the command that accepts that. */
static void report_turn_error(const struct chat *chat, const struct error *error) {
    struct buffer line;
    command_warn_error(error);
    if (!error->code || strcmp(error->code, "GRAPH_CHANGED") != 0) return;
    buffer_init(&line, SIZE_MAX);
    paste_chat(&line, chat->arguments, chat->thread);
    command_warn("continue with the changed document: %s --accept-changes", buffer_cstr(&line));
    buffer_finish(&line);
}

static int report_waiting(const struct chat *chat) {
    questions_warn(chat->waits);
    if (chat->thread)
        print_answer_commands(chat);
    else
        command_warn("run the chat on a terminal to answer it, or with --thread to answer it later");
    return command_got_sigint() ? COMMAND_CANCELLED : COMMAND_WAITING;
}

static int cancel_turn(struct chat *chat) {
    if (!chat->terminal || command_got_sigterm()) return COMMAND_CANCELLED;
    chat->cancelled = true;
    fputs("(cancelled; Ctrl-D ends the conversation)\n", stderr);
    return COMMAND_OK;
}

/* Returns COMMAND_OK if the conversation continues. */
static int end_turn(struct chat *chat, struct run *run) {
    size_t before = message_count(chat);
    tn_value state = run_state(run), messages = value_get(state, chat->channel);
    if (chat->json)
        print_turn(run, messages, before);
    else
        chat_show_rest(&chat->show, messages, before);
    keep_turn(chat, run, messages);
    value_unref(state);
    switch (run_status(run)) {
    case RUN_FAILED: command_warn_error(run_error(run)); return chat->terminal ? COMMAND_OK : COMMAND_RUN_FAILED;
    case RUN_CANCELLED: return cancel_turn(chat);
    case RUN_INTERRUPTED:
        /* The user did not answer. Without a thread, the question cannot be answered later. */
        if (chat->thread || !chat->terminal) return COMMAND_WAITING;
        if (!command_got_sigint()) return cancel_turn(chat);
        return command_report(COMMAND_CANCELLED,
                              "the chat was cancelled: it waited for an answer, and without --thread it is not saved");
    default: return COMMAND_OK;
    }
}

/* Runs one turn. `request` is NULL without a thread. */
static int run_turn(struct chat *chat, struct thread_request *request, tn_value input, struct error *error) {
    struct run_options options = RUN_OPTIONS_INIT;
    struct turn turn = {.chat = chat};
    int code = COMMAND_RUN_FAILED;
    options.modes = CHAT_MODES;
    options.event = chat_on_event;
    options.ended = chat_on_ended;
    options.user = chat;
    chat->ended = chat->cancelled = false;
    int32_t status =
        request ? thread_prepare_wait(host_engine(chat->host), chat->graph, request, &options, error) : TN_OK;
    if (status != TN_OK) return code;
    struct run *run = turn.run = run_new(chat->graph, &options);
    if (request) {
        status = thread_begin(run, request, input, &chat->ended, error);
    } else {
        if (chat->saved) status = run_restore(run, chat->saved, error);
        if (chat->usage) run_set_usage(run, chat->usage); /* includes turns that did not complete */
        if (status == TN_OK) chat->ended = run_start(run, input);
    }
    if (status == TN_OK) status = drive_turn(&turn, error);
    if (status == TN_OK) code = end_turn(chat, run);
    run_cancel_wait(run); /* the loop may have stopped before the end; the run borrows its log and the chat */
    run_free(run);
    thread_log_free(options.log);
    value_unref(options.loaded);
    return code;
}

/* Runs a turn of a thread. While the thread waits for answers after a turn, asks for them and resumes it. */
static int run_thread_turns(struct chat *chat, enum thread_mode mode, tn_value input, struct error *error) {
    struct thread_request request = {.id = chat->thread,
                                     .mode = mode,
                                     .accept_changes = argument_given(chat->arguments, "accept-changes"),
                                     .document = operand_at(chat->arguments, 0)};
    int code = chat->waits ? COMMAND_WAITING : run_turn(chat, &request, input, error);
    while (code == COMMAND_WAITING && chat->terminal) {
        tn_value answers = approver_prompt(&chat->approver, chat->waits);
        if (!answers) break;
        request.mode = THREAD_RESUME;
        request.answers = answers;
        code = run_turn(chat, &request, NULL, error);
        value_unref(answers);
    }
    return code;
}

static bool has_message(tn_value messages, tn_value id) {
    for (size_t i = 0; i < value_count(messages); i++) {
        tn_value known = value_get(value_at(messages, i), "id");
        if (known && value_equal(known, id)) return true;
    }
    return false;
}

/*
 * Returns messages that remove those of a turn that did not complete from the thread, so that the next turn starts from
 * the same conversation as without a thread: a call of a tool without its result, for example, would be refused by
 * models.
 */
static tn_value remove_unfinished_turn(struct chat *chat) {
    tn_value removed = value_array();
    if (!chat->unfinished || !chat->removes) return removed;
    for (size_t i = 0; i < message_count(chat); i++) {
        tn_value id = value_get(value_at(chat->messages, i), "id"), message;
        if (!value_is(id, TN_STRING) || has_message(chat->completed, id)) continue;
        message = value_set_take(value_object_reserve(2), "type", value_text("remove"));
        removed = value_push_take(removed, value_set_take(message, "id", value_ref(id)));
    }
    value_unref(chat->messages);
    chat->messages = chat->completed ? value_ref(chat->completed) : NULL;
    return removed;
}

static int send_message(struct chat *chat, const char *text, size_t length) {
    struct error error = ERROR_INIT;
    tn_value words = value_string(text, length);
    if (!words) return command_report(chat->terminal ? COMMAND_OK : COMMAND_USAGE, "the message is not valid UTF-8");
    tn_value message = value_set_take(value_object_reserve(2), "type", value_text("user"));
    message = value_set_take(message, "content", words);
    tn_value input = chat->input ? chat->input : value_object(), messages = value_get(input, chat->channel);
    chat->input = NULL;
    messages = value_is(messages, TN_ARRAY) ? value_ref(messages) : value_array();
    messages = value_concat_take(remove_unfinished_turn(chat), messages);
    input = value_set_take(input, chat->channel, value_push_take(messages, message));
    enum thread_mode mode = chat->unfinished ? THREAD_REPLACE : THREAD_INPUT;
    int code = chat->thread ? run_thread_turns(chat, mode, input, &error) : run_turn(chat, NULL, input, &error);
    if (error.code) {
        report_turn_error(chat, &error);
        if (chat->terminal) code = COMMAND_OK;
    }
    error_finish(&error);
    value_unref(input);
    return code == COMMAND_WAITING ? report_waiting(chat) : code;
}

/* ---- Input ---- */

static void print_chat_help(void) {
    fputs("  /history   show the messages of the conversation\n"
          "  /usage     show the tokens used and their cost\n"
          "  /help      show this help\n"
          "  /exit      end the conversation; also /quit, /bye and Ctrl-D\n"
          "A line that ends with \\ continues on the next line. Ctrl-C cancels an answer.\n",
          stderr);
}

static void print_chat_usage(const struct chat *chat) {
    char *text = chat->usage ? json_text(chat->usage, JSON_COMPACT) : mem_text("no model has been called");
    command_printf(stderr, "%s\n", text);
    mem_free(text);
}

/* Runs a chat command such as /help. Returns false if the line is a message. */
static bool run_chat_command(struct chat *chat, const char *line, bool *exits) {
    if (!chat->terminal || line[0] != '/') return false;
    *exits = strcmp(line, "/exit") == 0 || strcmp(line, "/quit") == 0 || strcmp(line, "/bye") == 0;
    if (strcmp(line, "/history") == 0) {
        chat_show_history(chat->messages);
        if (!message_count(chat)) fputs("there are no messages yet\n", stderr);
    } else if (strcmp(line, "/usage") == 0) {
        print_chat_usage(chat);
    } else if (!*exits) {
        if (strcmp(line, "/help") != 0) command_printf(stderr, "unknown command %s; the commands are:\n", line);
        print_chat_help();
    }
    return true;
}

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

static int converse(struct chat *chat) {
    struct buffer message;
    int code = COMMAND_OK;
    bool exits = false;
    buffer_init(&message, MESSAGE_MAX);
    while (code == COMMAND_OK && !exits && read_message(chat, &message)) {
        const char *line = buffer_cstr(&message);
        if (message.overflow)
            code = continue_after(chat,
                                  command_report(chat->terminal ? COMMAND_OK : COMMAND_USAGE,
                                                 "the message is longer than %u bytes; it was not sent", MESSAGE_MAX));
        else if (!is_blank_line(line) && !run_chat_command(chat, line, &exits))
            code = continue_after(chat, send_message(chat, line, message.length));
        if (chat->terminal && chat->cancelled && code == COMMAND_OK) command_reset_sigint();
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

/* The messages before the last one of the user, with which the unfinished turn of a thread began; a new reference. */
static tn_value messages_before_turn(tn_value messages) {
    size_t count = value_count(messages);
    while (count > 0 && !value_text_is(value_get(value_at(messages, count - 1), "type"), "user")) count--;
    return value_slice(messages, 0, count ? count - 1 : 0);
}

/* Continues an existing thread: its unfinished run is resumed before the first message. */
static int continue_thread(struct chat *chat) {
    struct error error = ERROR_INIT;
    struct store *store = host_store(chat->host, &error);
    tn_value record = NULL, state = NULL;
    bool there = store && thread_show_wait(store, chat->thread, &record, &error) == TN_OK &&
                 thread_state_wait(store, chat->thread, THREAD_HEAD, &state, &error) == TN_OK;
    tn_value messages = there ? value_get(state, chat->channel) : NULL;
    bool interrupted = there && value_text_is(value_get(record, "status"), "interrupted");
    /* If the interrupts have been answered by now, the run is resumed; otherwise the questions are asked first. */
    bool answered = interrupted && value_is(value_get(record, "answers"), TN_OBJECT);
    tn_value waits = interrupted && !answered ? value_get(record, "interrupts") : NULL;
    int code = COMMAND_OK;
    chat->unfinished = there && !value_text_is(value_get(record, "status"), "done");
    if (messages && value_is(messages, TN_ARRAY)) {
        chat->messages = value_ref(messages);
        chat->completed = chat->unfinished ? messages_before_turn(messages) : value_ref(messages);
        if (chat->terminal && !chat->quiet)
            command_printf(stderr, "thread %s: %zu messages so far; /history shows them\n", chat->thread,
                           value_count(messages));
    }
    if (!there && error.code && strcmp(error.code, "NOT_FOUND") != 0)
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    if (chat->unfinished) {
        struct error why = ERROR_INIT;
        if (interrupted && !chat->json) chat_show_waiting(&chat->show, value_get(record, "interrupts"));
        chat->waits = waits ? value_ref(waits) : NULL;
        code = run_thread_turns(chat, THREAD_RESUME, NULL, &why);
        if (why.code) report_turn_error(chat, &why);
        code = code == COMMAND_WAITING ? report_waiting(chat) : why.code ? code : continue_after(chat, code);
        error_finish(&why);
    }
    value_unref(record);
    value_unref(state);
    return code;
}

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
    approver_init(&chat->approver);
    command_watch_signals(chat->host);
    if (chat->terminal && !chat->quiet)
        command_printf(stderr, "%s: type a message; /help shows the commands\n",
                       value_chars(chat->graph->document->name, NULL));
    if (chat->terminal && !chat->quiet && !argument_given(arguments, "no-notifications"))
        chat->notices = chat_notices_new(chat->host);
    int code = chat->thread ? continue_thread(chat) : COMMAND_OK;
    if (code == COMMAND_OK) code = converse(chat);
    chat_notices_free(chat->notices);
    if (code == COMMAND_WAITING && !chat->terminal) report_unsent(chat);
    approver_finish(&chat->approver);
    chat_show_finish(&chat->show);
    chat_input_free(chat->typed);
    value_unref(chat->completed);
    value_unref(chat->input);
    value_unref(chat->saved);
    value_unref(chat->messages);
    value_unref(chat->usage);
    value_unref(chat->waits);
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
