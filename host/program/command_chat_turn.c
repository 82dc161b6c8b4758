/*
 * command_chat_turn.c - runs the turns of a conversation.
 *
 * A user message is written to the document's channel of messages; the messages that the run adds there are the answer.
 * Between two turns the state is kept in memory or, with --thread, in the store.
 */
#include "host/program/command_chat_turn.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution_thread.h"
#include "host/engine/graph/graph.h"
#include "host/program/command_chat_message.h"
#include "host/program/command_run.h"
#include "host/program/paste.h"
#include "host/program/questions.h"
#include <string.h>

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

size_t chat_turn_messages(const struct chat *chat) { return chat->messages ? value_count(chat->messages) : 0; }

static void set_value_take(tn_value *at, tn_value value) {
    value_unref(*at);
    *at = value;
}

static tn_value ref_or_null(tn_value value) { return value ? value_ref(value) : NULL; }

/* Keeps a turn that completed, and what was before it. */
static void keep_complete_turn(struct chat *chat, struct run *run, tn_value messages) {
    set_value_take(&chat->before, chat->completed);
    chat->completed = ref_or_null(messages);
    chat->repeatable = true;
    if (chat->thread) return;
    set_value_take(&chat->run_before, chat->saved);
    chat->saved = run_save(run);
}

/*
 * Keeps the results of a turn: its messages, and the state for the next turn. Without a thread, a turn that did not
 * complete keeps only its usage, and the next turn starts from the same state as this one.
 */
static void keep_turn(struct chat *chat, struct run *run, tn_value messages) {
    bool complete = run_status(run) == RUN_DONE || run_status(run) == RUN_STOPPED;
    chat->repeatable = false;
    if (complete || chat->thread) set_value_take(&chat->messages, ref_or_null(messages));
    if (complete) keep_complete_turn(chat, run, messages);
    chat->unfinished = chat->thread && run_status(run) != RUN_DONE;
    set_value_take(&chat->usage, run_usage(run));
    set_value_take(&chat->waits, run_status(run) == RUN_INTERRUPTED ? run_interrupts(run) : NULL);
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
    size_t before = chat_turn_messages(chat);
    tn_value state = run_state(run), messages = value_get(state, chat->channel);
    if (chat->json)
        print_turn(run, messages, before);
    else
        chat_show_rest(&chat->show, messages, before);
    tn_value used = run_usage(run);
    chat_show_usage(&chat->show, chat->usage, used);
    value_unref(used);
    keep_turn(chat, run, messages);
    value_unref(state);
    switch (run_status(run)) {
    case RUN_FAILED: command_warn_error(run_error(run)); return chat->terminal ? COMMAND_OK : COMMAND_RUN_FAILED;
    case RUN_CANCELLED: return cancel_turn(chat);
    case RUN_INTERRUPTED:
        /* The user did not answer. Without a thread, the question cannot be answered later. */
        return chat->thread || !chat->terminal ? COMMAND_WAITING : cancel_turn(chat);
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
    chat_show_begin(&chat->show);
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

/* ---- Messages ---- */

static bool has_message(tn_value messages, tn_value id) {
    for (size_t i = 0; i < value_count(messages); i++) {
        tn_value known = value_get(value_at(messages, i), "id");
        if (known && value_equal(known, id)) return true;
    }
    return false;
}

/*
 * Returns messages that remove from the thread what is not in `kept`, so that the next turn starts from the same
 * conversation as without a thread: a call of a tool without its result, for example, would be refused by models.
 */
static tn_value discard_messages(struct chat *chat, tn_value kept) {
    tn_value removed = value_array();
    for (size_t i = 0; i < chat_turn_messages(chat); i++) {
        tn_value id = value_get(value_at(chat->messages, i), "id"), message;
        if (!value_is(id, TN_STRING) || has_message(kept, id)) continue;
        message = value_set_take(value_object_reserve(2), "type", value_text("remove"));
        removed = value_push_take(removed, value_set_take(message, "id", value_ref(id)));
    }
    set_value_take(&chat->messages, ref_or_null(kept));
    return removed;
}

static tn_value user_message(tn_value content) {
    tn_value message = value_set_take(value_object_reserve(2), "type", value_text("user"));
    return value_set_take(message, "content", value_ref(content));
}

/* The input of the next turn. */
static tn_value turn_input_take(struct chat *chat, tn_value messages, tn_value content) {
    tn_value input = chat->begun ? value_object() : value_ref(chat->input), given = value_get(input, chat->channel);
    if (value_is(given, TN_ARRAY)) messages = value_concat_take(messages, value_ref(given));
    return value_set_take(input, chat->channel, value_push_take(messages, user_message(content)));
}

/* Sends `messages`, which discard others, and a user's message. */
static int send_after_take(struct chat *chat, tn_value messages, tn_value content) {
    struct error error = ERROR_INIT;
    tn_value input = turn_input_take(chat, messages, content);
    enum thread_mode mode = chat->unfinished ? THREAD_REPLACE : THREAD_INPUT;
    set_value_take(&chat->said, value_ref(content));
    int code = chat->thread ? run_thread_turns(chat, mode, input, &error) : run_turn(chat, NULL, input, &error);
    chat->first = !chat->begun;
    /* Without a thread, a turn that did not complete leaves nothing behind, nor its input. */
    chat->begun = chat->begun || (chat->thread ? !error.code : chat->saved != NULL);
    if (error.code) {
        report_turn_error(chat, &error);
        if (chat->terminal) code = COMMAND_OK;
    }
    error_finish(&error);
    value_unref(input);
    return code == COMMAND_WAITING ? report_waiting(chat) : code;
}

int chat_turn_send(struct chat *chat, tn_value content) {
    bool discards = chat->unfinished && chat->removes;
    if (discards && chat->first) chat->begun = false; /* the messages of `input` are discarded, too */
    return send_after_take(chat, discards ? discard_messages(chat, chat->completed) : value_array(), content);
}

/* Discards the last turn, which completed. Returns the messages to send for that. */
static tn_value discard_last_turn(struct chat *chat) {
    tn_value removed = value_array();
    if (chat->thread) {
        value_unref(removed);
        removed = discard_messages(chat, chat->before);
    } else {
        set_value_take(&chat->saved, chat->run_before);
        chat->run_before = NULL;
        set_value_take(&chat->messages, ref_or_null(chat->before));
    }
    set_value_take(&chat->completed, chat->before);
    chat->before = NULL;
    chat->repeatable = false;
    chat->begun = !chat->first;
    return removed;
}

int chat_turn_repeat(struct chat *chat, tn_value content) {
    if (!chat->repeatable) return chat_turn_send(chat, content); /* the last turn is not part of the conversation */
    if (chat->thread && !chat->removes)
        return command_report(COMMAND_OK,
                              "the last turn cannot be replaced: the channel `%s` of a thread needs the type reduce "
                              "with the reducer messages",
                              chat->channel);
    return send_after_take(chat, discard_last_turn(chat), content);
}

int chat_turn_send_typed(struct chat *chat, const char *text, size_t length, bool again) {
    struct error error = ERROR_INIT;
    tn_value content = chat_message_content(text, length, chat->terminal, &error);
    int code = COMMAND_OK;
    if (content) {
        set_value_take(&chat->said_text, value_string(text, length));
        code = again ? chat_turn_repeat(chat, content) : chat_turn_send(chat, content);
    } else {
        command_warn_error(&error);
        if (!chat->terminal) code = COMMAND_USAGE;
    }
    value_unref(content);
    error_finish(&error);
    return code;
}

/* ---- A thread that exists ---- */

/* The index of the last message of the user; the number of messages if there is none. */
static size_t last_user_message(tn_value messages) {
    size_t count = value_count(messages);
    for (size_t i = count; i > 0; i--)
        if (value_text_is(value_get(value_at(messages, i - 1), "type"), "user")) return i - 1;
    return count;
}

/* Takes over the messages of a thread. Its last turn began with the last message of the user. */
static void take_messages(struct chat *chat, tn_value messages) {
    size_t last = last_user_message(messages);
    bool found = last < value_count(messages);
    tn_value before = value_slice(messages, 0, found ? last : chat->unfinished ? 0 : value_count(messages));
    chat->messages = value_ref(messages);
    chat->completed = chat->unfinished ? value_ref(before) : value_ref(messages);
    chat->repeatable = found && !chat->unfinished;
    chat->before = chat->repeatable ? value_ref(before) : NULL;
    if (found) chat->said = ref_or_null(value_get(value_at(messages, last), "content"));
    value_unref(before);
    if (chat->terminal && !chat->quiet)
        command_printf(stderr, "thread %s: %zu messages so far; /history shows them\n", chat->thread,
                       value_count(messages));
}

/* Resumes the unfinished run of a thread. If it waits for answers, the questions are asked first. */
static int resume_turn(struct chat *chat, tn_value record) {
    struct error error = ERROR_INIT;
    bool interrupted = value_text_is(value_get(record, "status"), "interrupted");
    /* If the interrupts have been answered by now, the run is resumed. */
    bool answered = interrupted && value_is(value_get(record, "answers"), TN_OBJECT);
    tn_value waits = interrupted && !answered ? value_get(record, "interrupts") : NULL;
    if (interrupted && !chat->json) chat_show_waiting(&chat->show, value_get(record, "interrupts"));
    chat->waits = ref_or_null(waits);
    int code = run_thread_turns(chat, THREAD_RESUME, NULL, &error);
    bool failed = error.code != NULL;
    if (failed) report_turn_error(chat, &error);
    error_finish(&error);
    if (code == COMMAND_WAITING) return report_waiting(chat);
    if (!failed && code == COMMAND_RUN_FAILED) {
        chat->failure = code;
        code = COMMAND_OK;
    }
    return code;
}

int chat_turn_resume(struct chat *chat) {
    struct error error = ERROR_INIT;
    struct store *store = host_store(chat->host, &error);
    tn_value record = NULL, state = NULL;
    bool there = store && thread_show_wait(store, chat->thread, &record, &error) == TN_OK &&
                 thread_state_wait(store, chat->thread, THREAD_HEAD, &state, &error) == TN_OK;
    tn_value messages = there ? value_get(state, chat->channel) : NULL, status = value_get(record, "status");
    int code = COMMAND_OK;
    chat->unfinished = there && !value_text_is(status, "done");
    if (messages && value_is(messages, TN_ARRAY)) take_messages(chat, messages);
    if (!there && error.code && strcmp(error.code, "NOT_FOUND") != 0)
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    if (chat->unfinished && !value_text_is(status, "cancelled")) code = resume_turn(chat, record);
    value_unref(record);
    value_unref(state);
    return code;
}

void chat_turn_finish(struct chat *chat) {
    tn_value *const owned[] = {&chat->input, &chat->saved, &chat->messages,  &chat->usage,  &chat->completed,
                               &chat->waits, &chat->said,  &chat->said_text, &chat->before, &chat->run_before};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) set_value_take(owned[i], NULL);
}
