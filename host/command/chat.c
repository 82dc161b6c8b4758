/*
 * chat.c - `tenon chat`: a conversation with a document, a run for each thing said.
 *
 * What is said goes into the document's channel of messages; what the run adds there is the answer. Between two turns
 * the state is kept in memory, or, with --thread, in the store. Ctrl-C gives an answer up, and the conversation goes
 * on; a second one ends it. Standard output has nothing but answers, so that a pipe can be talked to as well.
 */
#include "adl/document/document.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/command/approve.h"
#include "host/command/chat_show.h"
#include "host/command/run.h"
#include "host/engine/graph.h"
#include "host/host.h"
#include "host/loop/loop.h"
#include "host/runnable/thread_run.h"
#include "host/store/store.h"
#include "host/thread/admin.h"
#include "host/thread/log.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHANNEL     "messages"
#define SPOKEN_MAX  (16u << 20) /* bytes of what is said at once */
#define UNHEARD_MAX 1000u       /* lines of a pipe that are counted though nobody hears them */

/* What has been read of standard input and not yet looked at. */
struct typed {
    size_t at, end;
    char bytes[4096];
};

struct chat {
    const struct arguments *arguments;
    struct host *host;
    struct graph *graph;
    const char *channel, *thread;
    bool terminal; /* somebody types */
    bool json, ended, cancelled;
    tn_value input;           /* --input and --set: of the first turn; NULL afterwards */
    tn_value saved;           /* of the last turn, without a thread; NULL before the first */
    tn_value messages, usage; /* as of the last turn */
    tn_value waits;           /* interrupts that the last turn ended with; NULL: none */
    struct chat_show show;
    struct approver approver;
    struct typed typed;
    bool stopped; /* nothing more is said: of standard input, only what is there already is of interest */
};

/* ---- One turn ---- */

static bool on_event(void *user, tn_value event) {
    struct chat *chat = user;
    if (chat->json)
        run_print_line(event);
    else
        chat_show_event(&chat->show, event);
    return true;
}

static void on_ended(struct run *run, void *user) {
    struct chat *chat = user;
    (void)run;
    chat->ended = true;
    loop_wake(chat->host->loop);
}

struct turn {
    struct chat *chat;
    struct run *run;
};

static bool is_over(void *user) {
    const struct turn *turn = user;
    struct chat *chat = turn->chat;
    if ((command_interrupted() || command_terminated()) && !chat->cancelled) {
        chat->cancelled = true;
        run_cancel(turn->run);
    }
    return chat->ended;
}

/* Runs until it has ended, or waits for answers that nobody here can give. */
static int32_t drive(struct turn *turn, struct error *error) {
    struct chat *chat = turn->chat;
    for (;;) {
        if (!chat->ended && !loop_run(chat->host->loop, is_over, turn))
            return error_set(error, TN_ERROR, "STALLED", "nothing is left that could bring the answer");
        if (run_status(turn->run) != RUN_INTERRUPTED || chat->thread || !chat->terminal) return TN_OK;
        chat_show_line(&chat->show);
        tn_value waits = run_interrupts(turn->run), answers = approver_ask(&chat->approver, waits);
        value_unref(waits);
        if (!answers) return TN_OK;
        int32_t status = run_resume(turn->run, answers, &chat->ended, error);
        value_unref(answers);
        if (status != TN_OK) return status;
    }
}

static size_t message_count(const struct chat *chat) { return chat->messages ? value_count(chat->messages) : 0; }

/*
 * What is left of a turn: the messages, and where the next one begins. Without a thread a turn that came to no end
 * leaves nothing but what it used up: the next one begins where this one did.
 */
static void keep(struct chat *chat, struct run *run, tn_value messages) {
    bool over = run_status(run) == RUN_DONE || run_status(run) == RUN_STOPPED;
    if (over || chat->thread) {
        value_unref(chat->messages);
        chat->messages = messages ? value_ref(messages) : NULL;
    }
    if (over && !chat->thread) {
        value_unref(chat->saved);
        chat->saved = run_save(run);
    }
    value_unref(chat->usage);
    chat->usage = run_used(run);
    value_unref(chat->waits);
    chat->waits = run_status(run) == RUN_INTERRUPTED ? run_interrupts(run) : NULL;
}

static void print_turn(struct run *run, tn_value messages, size_t before) {
    tn_value event = value_set_take(value_object_reserve(5), "type", value_text("turn")), fresh = value_array();
    tn_value usage = run_used(run);
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

static int tell_waiting(const struct chat *chat) {
    char *text = json_text(chat->waits, JSON_COMPACT);
    command_fail(0, "the answer waits for somebody: %s", text);
    if (chat->thread)
        command_fail(0, "say it with: tenon thread answer %s ID=VALUE, then tenon chat %s --thread %s", chat->thread,
                     operand_at(chat->arguments, 0), chat->thread);
    else
        command_fail(0, "it can be said on a terminal, or later with --thread");
    mem_free(text);
    return COMMAND_WAITING;
}

static int give_up(struct chat *chat) {
    if (!chat->terminal || command_terminated()) return COMMAND_CANCELLED;
    chat->cancelled = true;
    fputs("(given up; Ctrl-D ends the conversation)\n", stderr);
    return COMMAND_OK;
}

/* COMMAND_OK: the conversation goes on. */
static int end_turn(struct chat *chat, struct run *run) {
    size_t before = message_count(chat);
    tn_value state = run_state(run), messages = value_get(state, chat->channel);
    if (chat->json)
        print_turn(run, messages, before);
    else
        chat_show_rest(&chat->show, messages, before);
    keep(chat, run, messages);
    value_unref(state);
    switch (run_status(run)) {
    case RUN_FAILED: command_fail_error(0, run_error(run)); return chat->terminal ? COMMAND_OK : COMMAND_RUN_FAILED;
    case RUN_CANCELLED: return give_up(chat);
    case RUN_INTERRUPTED:
        /* Somebody was asked, and has not answered: what is not in a thread cannot be answered later. */
        if (chat->thread || !chat->approver.from) return COMMAND_WAITING;
        return give_up(chat);
    default: return COMMAND_OK;
    }
}

/* A run of one turn. `request` is NULL without a thread. */
static int take_turn(struct chat *chat, struct thread_request *request, tn_value input, struct error *error) {
    struct run_options options = RUN_OPTIONS_INIT;
    struct turn turn = {.chat = chat};
    int code = COMMAND_RUN_FAILED;
    options.modes = CHAT_MODES;
    options.event = on_event;
    options.ended = on_ended;
    options.user = chat;
    chat->ended = chat->cancelled = false;
    int32_t status = request ? thread_prepare_wait(chat->host, chat->graph, request, &options, error) : TN_OK;
    if (status != TN_OK) return code;
    struct run *run = turn.run = run_new(chat->graph, &options);
    if (request) {
        status = thread_begin(run, request, input, &chat->ended, error);
    } else {
        if (chat->saved) status = run_restore(run, chat->saved, error);
        if (chat->usage) run_set_used(run, chat->usage); /* with what turns used that left nothing */
        if (status == TN_OK) chat->ended = run_start(run, input);
    }
    if (status == TN_OK) status = drive(&turn, error);
    if (status == TN_OK) code = end_turn(chat, run);
    run_free(run);
    thread_log_free(options.log);
    value_unref(options.loaded);
    return code;
}

/* A thread may wait for answers after a turn: they are asked for, and it goes on, until it waits no more. */
static int take_thread_turns(struct chat *chat, enum thread_mode mode, tn_value input, struct error *error) {
    struct thread_request request = {.id = chat->thread, .mode = mode, .document = operand_at(chat->arguments, 0)};
    int code = chat->waits ? COMMAND_WAITING : take_turn(chat, &request, input, error);
    while (code == COMMAND_WAITING && chat->terminal) {
        tn_value answers = approver_ask(&chat->approver, chat->waits);
        if (!answers) break;
        request.mode = THREAD_RESUME;
        request.answers = answers;
        code = take_turn(chat, &request, NULL, error);
        value_unref(answers);
    }
    return code;
}

static int say(struct chat *chat, const char *text, size_t length) {
    struct error error = ERROR_INIT;
    tn_value words = value_string(text, length);
    if (!words) return command_fail(chat->terminal ? COMMAND_OK : COMMAND_USAGE, "what was said is not UTF-8");
    tn_value message = value_set_take(value_object_reserve(2), "type", value_text("user"));
    message = value_set_take(message, "content", words);
    tn_value input = chat->input ? chat->input : value_object(), said = value_get(input, chat->channel);
    chat->input = NULL;
    said = value_is(said, TN_ARRAY) ? value_ref(said) : value_array();
    input = value_set_take(input, chat->channel, value_push_take(said, message));
    int code =
        chat->thread ? take_thread_turns(chat, THREAD_INPUT, input, &error) : take_turn(chat, NULL, input, &error);
    if (error.code) {
        command_fail_error(0, &error);
        if (chat->terminal) code = COMMAND_OK;
    }
    error_finish(&error);
    value_unref(input);
    return code == COMMAND_WAITING ? tell_waiting(chat) : code;
}

/* ---- What is typed ---- */

static void show_help(void) {
    fputs("  /history   what has been said\n"
          "  /usage     tokens used, and what they cost\n"
          "  /help      this\n"
          "  /exit      end the conversation, as /quit, /bye and Ctrl-D do\n"
          "A line that ends with \\ goes on with the next one; Ctrl-C gives an answer up.\n",
          stderr);
}

static void show_usage(const struct chat *chat) {
    char *text = chat->usage ? json_text(chat->usage, JSON_COMPACT) : mem_text("no model has been called");
    command_say(stderr, "%s\n", text);
    mem_free(text);
}

/* A command of the conversation itself; false: something to say. */
static bool is_command(struct chat *chat, const char *line, bool *exits) {
    if (!chat->terminal || line[0] != '/') return false;
    *exits = strcmp(line, "/exit") == 0 || strcmp(line, "/quit") == 0 || strcmp(line, "/bye") == 0;
    if (strcmp(line, "/history") == 0) {
        chat_show_history(chat->messages);
        if (!message_count(chat)) fputs("nothing has been said\n", stderr);
    } else if (strcmp(line, "/usage") == 0) {
        show_usage(chat);
    } else if (!*exits) {
        if (strcmp(line, "/help") != 0)
            command_say(stderr, "there is no command %s; a line that begins with / is one of these:\n", line);
        show_help();
    }
    return true;
}

/* The next byte of what is typed or piped; EOF: there is none, or, where nobody waits for it, none yet. */
static int next_byte(struct chat *chat) {
    struct typed *typed = &chat->typed;
    if (typed->at == typed->end) {
        struct pollfd there = {.fd = STDIN_FILENO, .events = POLLIN};
        if (chat->stopped && poll(&there, 1, 0) <= 0) return EOF;
        ssize_t got = read(STDIN_FILENO, typed->bytes, sizeof typed->bytes);
        if (got <= 0) return EOF;
        typed->at = 0;
        typed->end = (size_t)got;
    }
    return (unsigned char)typed->bytes[typed->at++];
}

/* A line without its end, as much of it as there is room for. False: there is none. */
static bool read_line(struct chat *chat, struct buffer *said) {
    size_t before = said->length;
    int c;
    while ((c = next_byte(chat)) != EOF && c != '\n' && !said->overflow) buffer_char(said, (char)c);
    bool any = c != EOF || said->length > before;
    while (said->length > before && said->data[said->length - 1] == '\r') said->data[--said->length] = 0;
    return any;
}

/* One thing said, without its line end: lines that end with a backslash are joined. False: there is no more. */
static bool read_said(struct chat *chat, struct buffer *said) {
    bool more = true, any = false;
    buffer_clear(said);
    while (more && !said->overflow) {
        size_t before = said->length;
        if (chat->terminal) fputs(any ? "... " : "> ", stderr);
        if ((chat->terminal && !command_wait_line(STDIN_FILENO)) || !read_line(chat, said)) break;
        any = true;
        more = said->length > before && said->data[said->length - 1] == '\\';
        if (more) said->data[said->length - 1] = '\n';
    }
    return any && !command_interrupted();
}

static bool is_blank(const char *line) { return !line[strspn(line, " \t\n")]; }

/* What a pipe has still to say when an answer waits for somebody: it is not said, and that is. */
static void tell_unheard(struct chat *chat) {
    struct buffer said;
    size_t count = 0;
    buffer_init(&said, SPOKEN_MAX);
    chat->stopped = true;
    while (count < UNHEARD_MAX && read_said(chat, &said) && !said.overflow) count += !is_blank(buffer_cstr(&said));
    buffer_finish(&said);
    if (!count) return;
    command_fail(0, "%s%zu more %s not been said, because of that; %s", count == UNHEARD_MAX ? "at least " : "", count,
                 count == 1 ? "line has" : "lines have",
                 chat->thread ? "give them to `tenon chat` again when the answer is there"
                              : "with --thread the conversation can go on with them when the answer is there");
}

static int converse(struct chat *chat) {
    struct buffer said;
    int code = COMMAND_OK;
    bool exits = false;
    buffer_init(&said, SPOKEN_MAX);
    while (code == COMMAND_OK && !exits && read_said(chat, &said)) {
        const char *line = buffer_cstr(&said);
        if (said.overflow)
            code = command_fail(COMMAND_USAGE, "what was said is longer than %u bytes", SPOKEN_MAX);
        else if (!is_blank(line) && !is_command(chat, line, &exits))
            code = say(chat, line, said.length);
        if (chat->terminal && chat->cancelled && code == COMMAND_OK) command_forget_interrupt();
        /* Nobody hears the answers any more, and each may cost something. */
        if (!command_flush() && code == COMMAND_OK) code = COMMAND_RUN_FAILED;
    }
    if (chat->terminal && code == COMMAND_OK && !exits) fputc('\n', stderr);
    buffer_finish(&said);
    return command_interrupted() && code == COMMAND_OK ? COMMAND_CANCELLED : code;
}

/* ---- The command ---- */

static bool check_channel(const struct chat *chat) {
    const struct document *document = chat->graph->document;
    int32_t channel = document_find_channel(document, chat->channel, strlen(chat->channel));
    if (channel < 0) {
        command_fail(
            0,
            "the document has no channel `%s` to put what is said into; give it {name: messages, type: reduce, "
            "reducer: messages}, or name another one with --channel",
            chat->channel);
        return false;
    }
    const struct document_channel *def = &document->channels[channel];
    bool list = def->type == CHANNEL_APPEND || (def->type == CHANNEL_REDUCE && def->reducer == REDUCER_MESSAGES);
    if (!list)
        command_fail(
            0,
            "the channel `%s` does not collect messages: it must be of type append, or reduce with the reducer "
            "messages",
            chat->channel);
    return list;
}

/* A thread that is there already is gone on with: what it was at comes first. */
static int take_up(struct chat *chat) {
    struct error error = ERROR_INIT;
    struct store *store = host_store(chat->host, &error);
    tn_value record = NULL, state = NULL;
    bool there = store && thread_show(store, chat->thread, &record, &error) == TN_OK &&
                 thread_state(store, chat->thread, THREAD_HEAD, &state, &error) == TN_OK;
    tn_value messages = there ? value_get(state, chat->channel) : NULL;
    bool interrupted = there && value_text_is(value_get(record, "status"), "interrupted");
    /* What has been answered meanwhile is gone on with; else it is asked for first. */
    bool answered = interrupted && value_is(value_get(record, "answers"), TN_OBJECT);
    tn_value waits = interrupted && !answered ? value_get(record, "interrupts") : NULL;
    int code = COMMAND_OK;
    if (messages && value_is(messages, TN_ARRAY)) {
        chat->messages = value_ref(messages);
        if (chat->terminal)
            command_say(stderr, "thread %s: %zu messages so far; /history shows them\n", chat->thread,
                        value_count(messages));
    }
    if (!there && error.code && strcmp(error.code, "NOT_FOUND") != 0)
        code = command_fail_error(COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    if (there && !value_text_is(value_get(record, "status"), "done")) {
        struct error why = ERROR_INIT;
        if (interrupted && !chat->json) chat_show_waiting(&chat->show, value_get(record, "interrupts"));
        chat->waits = waits ? value_ref(waits) : NULL;
        code = take_thread_turns(chat, THREAD_RESUME, NULL, &why);
        if (why.code) command_fail_error(0, &why);
        if (code == COMMAND_WAITING) tell_waiting(chat);
        error_finish(&why);
    }
    value_unref(record);
    value_unref(state);
    return code;
}

static int chat_on(struct chat *chat) {
    const struct arguments *arguments = chat->arguments;
    struct error error = ERROR_INIT;
    chat->input = command_input(arguments, &error);
    if (!chat->input) {
        command_fail_error(0, &error);
        error_finish(&error);
        return COMMAND_USAGE;
    }
    chat->terminal = isatty(STDIN_FILENO) && !chat->json;
    chat_show_init(&chat->show, command_colour(arguments, STDERR_FILENO), isatty(STDOUT_FILENO));
    approver_init(&chat->approver);
    command_watch_signals(chat->host);
    if (chat->terminal)
        command_say(stderr, "%s: say something; /help has the rest\n", value_chars(chat->graph->document->name, NULL));
    int code = chat->thread ? take_up(chat) : COMMAND_OK;
    if (code == COMMAND_OK) code = converse(chat);
    if (code == COMMAND_WAITING && !chat->terminal) tell_unheard(chat);
    approver_finish(&chat->approver);
    chat_show_finish(&chat->show);
    value_unref(chat->input);
    value_unref(chat->saved);
    value_unref(chat->messages);
    value_unref(chat->usage);
    value_unref(chat->waits);
    return code;
}

int command_chat(const struct arguments *arguments) {
    struct host *host = command_host(arguments);
    if (!host) return COMMAND_PLUGIN_PROBLEM;
    const char *channel = argument_text(arguments, "channel");
    struct chat chat = {.arguments = arguments,
                        .host = host,
                        .channel = channel ? channel : CHANNEL,
                        .thread = argument_text(arguments, "thread"),
                        .json = argument_given(arguments, "json")};
    int code = COMMAND_INVALID;
    chat.graph = command_open_graph(arguments, host, &code);
    if (chat.graph) code = check_channel(&chat) ? chat_on(&chat) : COMMAND_INVALID;
    if (chat.graph) graph_unref(chat.graph);
    host_free(host);
    return code;
}
