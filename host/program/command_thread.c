/*
 * command_thread.c - `tenon thread`: lists, shows, forks, answers, updates and deletes threads, by methods.
 *
 * To show a thread, neither its document nor a plugin is needed. `update` also needs the document, which defines the
 * channels and the next nodes. command_thread_store.c has the other commands.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include "host/program/command_input.h"
#include "host/program/command_run.h"
#include "host/program/method_caller.h"
#include "host/program/questions.h"
#include <stdio.h>
#include <string.h>

/* One method, and the end of the command. */
struct thread_command {
    struct method_caller *caller;
    int code;
};

static void thread_command_open(struct thread_command *command, const struct arguments *arguments) {
    command->code = method_caller_open(&command->caller, arguments, NULL, NULL);
}

/* Calls a method, unless something has failed before. Takes `params`. Returns a new reference; NULL on failure. */
static tn_value thread_call_take(struct thread_command *command, const char *method, tn_value params) {
    struct error error = ERROR_INIT;
    tn_value result = NULL;
    if (command->code != COMMAND_OK)
        value_unref(params);
    else if (method_caller_try_take(command->caller, method, params, &result, &error) != TN_OK)
        command->code = method_caller_report(COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    return result;
}

static int thread_command_end(struct thread_command *command) {
    method_caller_free(command->caller);
    return command_close(command->code);
}

/* {thread_id} of the operand. */
static tn_value thread_params(const struct arguments *arguments, size_t index) {
    const char *id = operand_at(arguments, index);
    return value_set_take(value_object_reserve(4), "thread_id", value_string_lossy(id, strlen(id)));
}

/* Adds a text, if it is not NULL. */
static void thread_set_text(tn_value *params, const char *member, const char *text) {
    if (text) *params = value_set_take(*params, member, value_string_lossy(text, strlen(text)));
}

static long long number_of(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    return value && value_is(value, TN_INT) ? (long long)value_to_int(value) : 0;
}

/* Prints a list of texts as "a, b". */
static void print_names(tn_value names) {
    for (size_t i = 0; i < value_count(names); i++)
        command_printf(stdout, "%s%s", i ? ", " : "", value_chars(value_at(names, i), NULL));
}

/* Adds the number of an option, if it is given. Returns false if it is not one. */
static bool thread_set_number(const struct arguments *arguments, const char *option, int64_t max, tn_value *params,
                              const char *member) {
    int64_t number;
    if (!argument_number(arguments, option, 0, max, -1, &number)) return false;
    if (number >= 0) *params = value_set_take(*params, member, value_int(number));
    return true;
}

/* The status to display: "expired" if the thread has waited too long for an answer. */
static const char *displayed_status(tn_value record) {
    return value_get(record, "expired") ? "expired" : command_text(record, "status", "?");
}

/* ---- list, show, history, state ---- */

static void thread_print_page(const struct arguments *arguments, tn_value page) {
    tn_value threads = value_get(page, "threads"), more = value_get(page, "more");
    for (size_t i = 0; i < value_count(threads); i++) {
        tn_value record = value_at(threads, i);
        if (argument_given(arguments, "json"))
            run_print_line(record);
        else
            command_printf(stdout, "%-24s %-12s step %-6lld %s  %s\n", command_text(record, "thread_id", "?"),
                           displayed_status(record), number_of(record, "step"), command_text(record, "updated_at", "?"),
                           command_text(record, "agent", ""));
    }
    if (value_count(threads) == 0) command_printf(stderr, "no threads\n");
    if (more && value_is(more, TN_BOOL) && value_to_bool(more))
        command_printf(stderr, "there are more: continue with --after %s\n",
                       command_text(value_at(threads, value_count(threads) - 1), "thread_id", "?"));
}

int command_thread_list(const struct arguments *arguments) {
    struct thread_command command;
    int64_t limit;
    if (!argument_number(arguments, "limit", 1, 10000, COMMAND_THREADS, &limit)) return COMMAND_USAGE;
    tn_value params = value_set_take(value_object_reserve(6), "limit", value_int(limit));
    thread_set_text(&params, "status", argument_text(arguments, "status"));
    thread_set_text(&params, "agent", argument_text(arguments, "agent"));
    thread_set_text(&params, "after", argument_text(arguments, "after"));
    if (!thread_set_number(arguments, "older-than", 36500, &params, "before") ||
        !thread_set_number(arguments, "newer-than", 36500, &params, "since")) {
        value_unref(params);
        return COMMAND_USAGE;
    }
    thread_command_open(&command, arguments);
    tn_value page = thread_call_take(&command, "thread/list", params);
    if (page) thread_print_page(arguments, page);
    value_unref(page);
    return thread_command_end(&command);
}

static void print_record(tn_value record) {
    static const char *const members[] = {"agent", "document", "created_at", "updated_at", "run_id"};
    command_printf(stdout, "%s\n", command_text(record, "thread_id", "?"));
    command_printf(stdout, "  %-12s %s\n", "status", displayed_status(record));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (*command_text(record, members[i], ""))
            command_printf(stdout, "  %-12s %s\n", members[i], command_text(record, members[i], ""));
    command_printf(stdout, "  %-12s %lld, checkpoint %lld\n", "step", number_of(record, "step"),
                   number_of(record, "head"));
    tn_value parent = value_get(record, "parent"), failure = value_get(record, "error");
    if (value_count(parent))
        command_printf(stdout, "  %-12s %s, checkpoint %lld\n", "fork of", command_text(parent, "thread_id", "?"),
                       number_of(parent, "seq"));
    if (value_count(value_get(record, "next"))) {
        command_printf(stdout, "  %-12s ", "next");
        print_names(value_get(record, "next"));
        command_printf(stdout, "\n");
    }
    if (value_count(failure))
        command_printf(stdout, "  %-12s %s: %s\n", "error", command_text(failure, "code", "?"),
                       command_text(failure, "message", ""));
    tn_value interrupts = value_get(record, "interrupts"), answers = value_get(record, "answers");
    if (!value_count(interrupts)) return;
    tn_value how = value_format("tenon thread answer %s ", command_text(record, "thread_id", "?"));
    command_printf(stdout, "  waits for\n");
    questions_print(stdout, interrupts, value_is(answers, TN_OBJECT) ? answers : NULL, value_chars(how, NULL));
    value_unref(how);
}

int command_thread_show(const struct arguments *arguments) {
    struct thread_command command;
    thread_command_open(&command, arguments);
    tn_value record = thread_call_take(&command, "thread/get", thread_params(arguments, 0));
    if (record && argument_given(arguments, "json"))
        run_print_line(record);
    else if (record)
        print_record(record);
    value_unref(record);
    return thread_command_end(&command);
}

int command_thread_history(const struct arguments *arguments) {
    struct thread_command command;
    int64_t limit;
    if (!argument_number(arguments, "limit", 1, 10000, COMMAND_CHECKPOINTS, &limit)) return COMMAND_USAGE;
    thread_command_open(&command, arguments);
    tn_value params = value_set_take(thread_params(arguments, 0), "limit", value_int(limit));
    tn_value found = thread_call_take(&command, "thread/history", params), lines = value_get(found, "checkpoints");
    for (size_t i = 0; i < value_count(lines); i++) {
        tn_value line = value_at(lines, i);
        if (argument_given(arguments, "json")) {
            run_print_line(line);
            continue;
        }
        command_printf(stdout, "%6lld  step %-6lld %-7s ", number_of(line, "seq"), number_of(line, "step"),
                       command_text(line, "source", "?"));
        print_names(value_get(line, "ran"));
        if (value_count(value_get(line, "next"))) {
            command_printf(stdout, "  then ");
            print_names(value_get(line, "next"));
        }
        command_printf(stdout, "\n");
    }
    value_unref(found);
    return thread_command_end(&command);
}

int command_thread_state(const struct arguments *arguments) {
    struct thread_command command;
    tn_value params = thread_params(arguments, 0);
    if (!thread_set_number(arguments, "at", UINT32_MAX, &params, "seq")) {
        value_unref(params);
        return COMMAND_USAGE;
    }
    thread_command_open(&command, arguments);
    tn_value found = thread_call_take(&command, "thread/state", params);
    if (found) command_print(value_get(found, "state"));
    value_unref(found);
    return thread_command_end(&command);
}

/* ---- fork, answer, update, delete ---- */

int command_thread_fork(const struct arguments *arguments) {
    struct thread_command command;
    tn_value params = thread_params(arguments, 0);
    thread_set_text(&params, "new_thread_id", operand_at(arguments, 1));
    if (!thread_set_number(arguments, "at", UINT32_MAX, &params, "seq")) {
        value_unref(params);
        return COMMAND_USAGE;
    }
    thread_command_open(&command, arguments);
    value_unref(thread_call_take(&command, "thread/fork", params));
    return thread_command_end(&command);
}

/* Reports answers that replace earlier ones; until the thread is resumed, an answer can be changed. */
static void report_replaced_answers(tn_value record, tn_value answers) {
    tn_value before = value_get(record, "answers");
    for (size_t i = 0; value_is(before, TN_OBJECT) && i < value_count(answers); i++) {
        tn_value id = value_key_at(answers, i), was = value_get_key(before, id);
        if (!was || value_equal(was, value_value_at(answers, i))) continue;
        char *text = json_text(was, JSON_COMPACT);
        command_warn("replaced the earlier answer to %s, which was %.200s", value_chars(id, NULL), text);
        mem_free(text);
    }
}

int command_thread_answer(const struct arguments *arguments) {
    struct thread_command command;
    struct error error = ERROR_INIT;
    tn_value answers = command_read_answers(arguments, 1, &error);
    if (!answers) {
        command_warn_error(&error);
        error_finish(&error);
        return COMMAND_USAGE;
    }
    thread_command_open(&command, arguments);
    tn_value record = thread_call_take(&command, "thread/get", thread_params(arguments, 0));
    tn_value params = value_set_take(thread_params(arguments, 0), "answers", value_ref(answers));
    tn_value answered = thread_call_take(&command, "thread/answer", params);
    if (answered) report_replaced_answers(record, answers);
    value_unref(answered);
    value_unref(record);
    value_unref(answers);
    return thread_command_end(&command);
}

/* A document that cannot be opened is an invalid one; then the thread was not looked at. */
static int thread_update_code(const struct error *error) {
    return strcmp(error->code, "INVALID_GRAPH") == 0 || strcmp(error->code, "IO") == 0 ? COMMAND_INVALID
                                                                                       : COMMAND_RUN_FAILED;
}

int command_thread_update(const struct arguments *arguments) {
    struct thread_command command;
    struct error error = ERROR_INIT;
    tn_value channels = command_read_input(arguments, &error);
    if (!channels) {
        command_warn_error(&error);
        error_finish(&error);
        return COMMAND_USAGE;
    }
    thread_command_open(&command, arguments);
    tn_value params = value_set_take(thread_params(arguments, 0), "channels", channels), result = NULL;
    thread_set_text(&params, "as", argument_text(arguments, "as"));
    if (argument_given(arguments, "accept-changes"))
        params = value_set_take(params, "accept_changes", value_bool(true));
    if (argument_given(arguments, "force")) params = value_set_take(params, "force", value_bool(true));
    params = value_set_take(params, "document", method_caller_path(command.caller, operand_at(arguments, 1)));
    if (command.code != COMMAND_OK)
        value_unref(params);
    else if (method_caller_try_take(command.caller, "thread/update", params, &result, &error) != TN_OK)
        command.code = method_caller_report(thread_update_code(&error), &error);
    value_unref(result);
    error_finish(&error);
    return thread_command_end(&command);
}

int command_thread_delete(const struct arguments *arguments) {
    struct thread_command command;
    thread_command_open(&command, arguments);
    for (size_t i = 0; command.code == COMMAND_OK && i < operand_count(arguments); i++) {
        tn_value params = thread_params(arguments, i);
        params = value_set_take(params, "force", value_bool(argument_given(arguments, "force")));
        value_unref(thread_call_take(&command, "thread/delete", params));
    }
    return thread_command_end(&command);
}
