/*
 * command_ask.c - `tenon ask`: a Task of a user's request, from its creation to its output.
 *
 *     ask_begin                   work/ask creates the Task, and starts a worker for it
 *     ask_drive                   until the Task has ended, or waits for an answer that cannot be given here:
 *         ask_await_worker        work/wait
 *         ask_look                task/get: done, failed; otherwise one of these, and again
 *             ask_answer          asks at the terminal, then thread/answer
 *             ask_pause           it is tried again later, or another worker was faster
 *             ask_continue        work/ask with the id
 *     ask_report
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/program/approve.h"
#include "host/program/command.h"
#include "host/program/method_caller.h"
#include "host/program/questions.h"
#include <string.h>
#include <unistd.h>

#define ASK_PAUSE_MS 200
#define SHOWN_MAX    (1u << 20)

struct ask {
    const struct arguments *arguments;
    struct method_caller *caller;
    const char *type;
    bool json, stream;
    int64_t reported;    /* the attempt whose error was printed */
    struct buffer shown; /* the tokens that were printed, at most SHOWN_MAX bytes */
    bool line_open;      /* tokens were printed, and no line end after them */
    tn_value task_id;    /* owned */
    tn_value worker_id;  /* NULL while no worker of this host handles it; owned */
    tn_value task;       /* as task/get has returned it; owned */
    tn_value waits;      /* the interrupts that were not answered here; owned; NULL without them */
    struct approver approver;
    struct loop_timer pause;
    bool paused; /* the pause has ended */
};

/* ---- Events ---- */

static void ask_close_line(struct ask *ask) {
    if (ask->line_open) fputc('\n', stderr);
    ask->line_open = false;
}

static void ask_show_tokens(struct ask *ask, tn_value event) {
    tn_value words = value_get(value_get(event, "delta"), "content");
    size_t length;
    if (!words || !value_is(words, TN_STRING)) return;
    const char *text = value_chars(words, &length);
    if (!length) return;
    command_put(stderr, text, length);
    buffer_append(&ask->shown, text, length);
    ask->line_open = text[length - 1] != '\n';
}

static void ask_on_event(void *user, const char *event, tn_value params) {
    struct ask *ask = user;
    tn_value id = value_get(params, "worker_id"), inner = value_get(params, "event");
    if (!ask->worker_id || !id || !value_equal(id, ask->worker_id) || strcmp(event, "task/event") != 0) return;
    if (!ask->json) {
        ask_show_tokens(ask, inner);
        return;
    }
    command_put_json(stdout, inner, JSON_COMPACT);
    (void)command_flush();
}

static int ask_subscribe(struct ask *ask) {
    tn_value result = NULL, events = value_push_take(value_array(), value_text("task/event"));
    int code = method_caller_call_take(ask->caller, "event/subscribe",
                                       value_set_take(value_object_reserve(1), "events", events), &result);
    value_unref(result);
    return code;
}

/* ---- Start ---- */

/* Sets `text` or `payload`. On failure prints an error, and returns false. */
static bool ask_read_request(const struct arguments *arguments, tn_value *params) {
    const char *operand = operand_at(arguments, 0), *payload = argument_text(arguments, "payload");
    struct error error = ERROR_INIT;
    char *text = NULL;
    size_t length = 0;
    tn_value request = NULL;
    if (!operand == !payload) {
        command_warn("expected either TEXT, which can be - for standard input, or --payload JSON");
        return false;
    }
    if (payload) {
        request = command_json(arguments, payload, "--payload", &error);
    } else if (strcmp(operand, "-") != 0) {
        request = value_string(operand, strlen(operand));
        if (!request) error_set(&error, TN_INVALID, "INVALID_INPUT", "TEXT is not valid UTF-8");
    } else if (command_read_file("-", &text, &length, &error)) {
        while (length && (text[length - 1] == '\n' || text[length - 1] == '\r')) length--;
        request = value_string(text, length);
        if (!request) error_set(&error, TN_INVALID, "INVALID_INPUT", "standard input is not valid UTF-8");
        mem_free(text);
    }
    if (request)
        *params = value_set_take(*params, payload ? "payload" : "text", request);
    else
        command_warn_error(&error);
    error_finish(&error);
    return request != NULL;
}

/*
 * Calls work/ask with the request, or with the id of the Task. Takes `params`. A signal does not end the call: a Task
 * whose creation was cancelled too late would exist without anyone knowing its id. ask_await_worker notices the signal.
 */
static int ask_call_take(struct ask *ask, tn_value params) {
    int code = COMMAND_OK;
    params = value_set_take(params, "type", value_string_lossy(ask->type, strlen(ask->type)));
    if (ask->stream) params = value_set_take(params, "modes", value_push_take(value_array(), value_text("messages")));
    struct called *called = method_caller_begin_take(ask->caller, "work/ask", params);
    if (!method_caller_wait_for(ask->caller, called_has_ended, called)) { /* nothing can end it any more */
        called_cancel(called);
        (void)method_caller_wait_for(ask->caller, called_has_ended, called);
    }
    tn_value result = called_result(called);
    if (result) {
        value_unref(ask->task_id);
        value_unref(ask->worker_id);
        ask->task_id = value_ref(value_get(result, "task_id"));
        ask->worker_id = value_ref(value_get(result, "worker_id"));
    } else {
        code = method_caller_report(method_caller_exit_code(called_error(called)), called_error(called));
    }
    called_free(called);
    return code;
}

/* With a signal before it, no Task is created. Takes `params`. */
static int ask_create_take(struct ask *ask, tn_value params) {
    if (!command_got_signal()) return ask_call_take(ask, params);
    value_unref(params);
    return command_report(COMMAND_CANCELLED, "cancelled; no Task was created");
}

static tn_value ask_named(const struct ask *ask, const char *member) {
    return value_set_take(value_object_reserve(3), member, value_ref(ask->task_id));
}

static int ask_continue(struct ask *ask) { return ask_call_take(ask, ask_named(ask, "task_id")); }

/* Calls a method about the Task; takes `params`. After a signal it reports nothing: ask_report does. */
static int ask_method_take(struct ask *ask, const char *method, tn_value params, tn_value *result) {
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    if (method_caller_try_take(ask->caller, method, params, result, &error) != TN_OK) {
        code = method_caller_exit_code(&error);
        if (code != COMMAND_CANCELLED) code = method_caller_report(code, &error);
    }
    error_finish(&error);
    return code;
}

/* ---- Until the end ---- */

/* After a signal: the Task returns to the queue. A host with the scope `run` refuses that; then the worker continues.
 */
static void ask_stop(struct ask *ask, struct called *wait) {
    tn_value params = value_set_take(value_object_reserve(2), "worker_id", value_ref(ask->worker_id));
    struct called *called =
        method_caller_begin_take(ask->caller, "work/stop", value_set_take(params, "cancel", value_bool(true)));
    (void)method_caller_wait_for(ask->caller, called_has_ended, called);
    if (!called_result(called)) called_cancel(wait);
    called_free(called);
}

/* Its worker, if it has one that has not ended. */
static int ask_await_worker(struct ask *ask) {
    if (!ask->worker_id) return COMMAND_OK;
    tn_value params = value_set_take(value_object_reserve(1), "worker_id", value_ref(ask->worker_id));
    struct called *called = method_caller_begin_take(ask->caller, "work/wait", params);
    int code = COMMAND_OK;
    if (!method_caller_wait(ask->caller, called_has_ended, called)) {
        code = command_got_signal() ? COMMAND_CANCELLED : COMMAND_OK;
        if (code) ask_stop(ask, called);
        (void)method_caller_wait_for(ask->caller, called_has_ended, called); /* the Task is in the queue again then */
    }
    if (!code && !called_result(called)) code = command_report_error(COMMAND_RUN_FAILED, called_error(called));
    called_free(called);
    value_unref(ask->worker_id);
    ask->worker_id = NULL;
    return code;
}

static void ask_on_pause_ended(struct loop_timer *timer) {
    struct ask *ask = CONTAINER_OF(timer, struct ask, pause);
    ask->paused = true;
    loop_wake(method_caller_loop(ask->caller));
}

static bool ask_pause_is_over(void *user) { return ((const struct ask *)user)->paused; }

static int ask_pause(struct ask *ask) {
    struct loop *loop = method_caller_loop(ask->caller);
    ask->paused = false;
    loop_timer_start(loop, &ask->pause, ASK_PAUSE_MS, ask_on_pause_ended);
    bool over = method_caller_wait(ask->caller, ask_pause_is_over, ask);
    loop_timer_stop(loop, &ask->pause);
    if (over) return COMMAND_OK;
    return command_got_signal() ? COMMAND_CANCELLED : method_caller_report_lost(ask->caller);
}

/* Saves the answers, which it takes. A pause has none: then the Task only becomes claimable. */
static int ask_save_answers(struct ask *ask, tn_value answers) {
    tn_value result = NULL;
    int code;
    if (value_count(answers)) {
        code = ask_method_take(ask, "thread/answer", value_set_take(ask_named(ask, "thread_id"), "answers", answers),
                               &result);
    } else {
        value_unref(answers);
        code = ask_method_take(ask, "task/wake", ask_named(ask, "task_id"), &result);
    }
    value_unref(result);
    return code;
}

/* Returns COMMAND_WAITING if the questions cannot be answered here. */
static int ask_answer(struct ask *ask) {
    tn_value record = NULL;
    int code = ask_method_take(ask, "thread/get", ask_named(ask, "thread_id"), &record);
    if (code) return code;
    tn_value interrupts = value_get(record, "interrupts");
    ask_close_line(ask);
    tn_value answers = ask->json ? NULL : approver_prompt(&ask->approver, interrupts);
    if (answers) {
        code = ask_save_answers(ask, answers);
    } else {
        code = COMMAND_WAITING;
        ask->waits = interrupts ? value_ref(interrupts) : value_array();
    }
    value_unref(record);
    return code ? code : ask_continue(ask);
}

static bool ask_has_ended(const struct ask *ask) {
    tn_value state = value_get(ask->task, "state");
    return value_text_is(state, "done") || value_text_is(state, "failed");
}

/* It is in the queue, and can be claimed now: each work/ask opens the strategy. */
static bool ask_is_due(const struct ask *ask) {
    char now[TIME_TEXT];
    time_text(loop_wall_ms(method_caller_loop(ask->caller)), now);
    return value_text_is(value_get(ask->task, "state"), "queued") &&
           strcmp(command_text(ask->task, "not_before", ""), now) <= 0;
}

/* The error of an attempt that is tried again, once. */
static void ask_report_attempt(struct ask *ask) {
    tn_value error = value_get(ask->task, "error");
    int64_t attempt = value_to_int(value_get(ask->task, "attempts"));
    if (ask->json || !value_is(error, TN_OBJECT) || attempt <= ask->reported) return;
    if (!value_text_is(value_get(ask->task, "state"), "queued")) return;
    ask->reported = attempt;
    ask_close_line(ask);
    command_warn("the attempt %lld has failed, and the Task is tried again: %s [%s]", (long long)attempt,
                 command_text(error, "message", ""), command_text(error, "code", ""));
}

static int ask_look(struct ask *ask) {
    tn_value task = NULL;
    int code = ask_method_take(ask, "task/get", ask_named(ask, "task_id"), &task);
    if (code) return code;
    value_unref(ask->task);
    ask->task = task;
    if (ask_has_ended(ask)) return COMMAND_OK;
    ask_report_attempt(ask);
    if (value_to_bool(value_get(task, "waiting"))) return ask_answer(ask);
    code = ask_pause(ask);
    return code || !ask_is_due(ask) ? code : ask_continue(ask);
}

static int ask_drive(struct ask *ask) {
    int code = COMMAND_OK;
    while (!code && !ask_has_ended(ask)) {
        code = ask_await_worker(ask);
        if (!code) code = ask_look(ask);
    }
    return code;
}

/* ---- The outcome ---- */

static int ask_report_failed(const struct ask *ask) {
    struct error error = ERROR_INIT;
    error_from_value(&error, value_get(ask->task, "error"));
    if (!ask->json) command_warn_error(&error);
    error_finish(&error);
    return COMMAND_RUN_FAILED;
}

static void ask_report_waiting(const struct ask *ask) {
    const char *id = value_chars(ask->task_id, NULL);
    tn_value how = value_format("tenon thread answer %s ", id);
    if (!ask->json) {
        questions_print(stderr, ask->waits, NULL, value_chars(how, NULL));
        command_warn(
            "the Task %s waits for an answer; after it, a worker continues the Task (tenon work --types %s), and "
            "`tenon task watch %s` shows the outcome",
            id, ask->type, id);
    }
    value_unref(how);
}

/* {"type": "result", "task": …, "interrupts"?: …} */
static void ask_print_result(const struct ask *ask) {
    tn_value line = value_set_take(value_object_reserve(3), "type", value_text("result"));
    line = value_set_take(line, "task", value_ref(ask->task));
    if (ask->waits) line = value_set_take(line, "interrupts", value_ref(ask->waits));
    command_put_json(stdout, line, JSON_COMPACT);
    value_unref(line);
}

/* What happens to the Task after a signal, or after a failure of anything but the Task. */
static void ask_report_unknown(struct ask *ask, int code) {
    const char *id = value_chars(ask->task_id, NULL), *begin = code == COMMAND_CANCELLED ? "cancelled; the" : "the";
    tn_value task = NULL;
    struct error error = ERROR_INIT;
    (void)method_caller_try_take(ask->caller, "task/get", ask_named(ask, "task_id"), &task, &error);
    tn_value state = value_get(task, "state");
    if (value_text_is(state, "queued") && value_to_bool(value_get(task, "waiting")))
        command_warn("%s Task %s waits for an answer: tenon thread show %s", begin, id, id);
    else if (value_text_is(state, "queued"))
        command_warn("%s Task %s is in the queue, and a worker continues it: tenon work --types %s", begin, id,
                     ask->type);
    else if (value_text_is(state, "running"))
        command_warn("%s Task %s is handled by the worker %s: tenon task watch %s", begin, id,
                     command_text(task, "claimed_by", "of another process"), id);
    else if (task)
        command_warn("%s Task %s has ended: tenon task show %s", begin, id, id);
    else
        command_warn("%s Task %s is not known to have ended: tenon task watch %s", begin, id, id);
    value_unref(task);
    error_finish(&error);
}

/* The terminal shows the output already: it was the end of the text of the models. */
static bool ask_has_shown(const struct ask *ask, tn_value output) {
    size_t length;
    if (!isatty(STDOUT_FILENO) || !isatty(STDERR_FILENO) || ask->shown.overflow) return false;
    const char *text = value_chars(output, &length);
    return length && length <= ask->shown.length &&
           memcmp(buffer_cstr(&ask->shown) + ask->shown.length - length, text, length) == 0;
}

/* `code` is that of ask_drive. */
static int ask_report(struct ask *ask, int code) {
    tn_value output = value_get(ask->task, "user_output");
    ask_close_line(ask);
    if (code && code != COMMAND_WAITING) return ask_report_unknown(ask, code), code;
    if (ask->json) ask_print_result(ask);
    if (code) return ask_report_waiting(ask), code;
    if (value_text_is(value_get(ask->task, "state"), "failed")) return ask_report_failed(ask);
    if (!ask->json && value_is(output, TN_STRING) && !ask_has_shown(ask, output)) command_put_line(output);
    return COMMAND_OK;
}

int command_ask(const struct arguments *arguments) {
    const char *type = argument_text(arguments, "type");
    struct ask ask = {.arguments = arguments,
                      .type = type ? type : "user_request",
                      .json = argument_given(arguments, "json"),
                      .stream = argument_given(arguments, "stream")};
    tn_value params = value_object();
    if (!ask_read_request(arguments, &params)) return value_unref(params), COMMAND_USAGE;
    approver_init(&ask.approver);
    buffer_init(&ask.shown, SHOWN_MAX);
    int code = method_caller_open(&ask.caller, arguments, ask_on_event, &ask);
    if (!code) method_caller_watch_signals(ask.caller);
    if (!code && ask.stream) code = ask_subscribe(&ask);
    if (code)
        value_unref(params);
    else
        code = ask_create_take(&ask, params);
    if (!code) code = ask_report(&ask, ask_drive(&ask));
    method_caller_free(ask.caller);
    approver_finish(&ask.approver);
    buffer_finish(&ask.shown);
    value_unref(ask.task_id);
    value_unref(ask.worker_id);
    value_unref(ask.task);
    value_unref(ask.waits);
    return code;
}
