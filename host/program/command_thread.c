/*
 * command_thread.c - `tenon thread`: lists, shows, forks, answers, updates, exports, imports and deletes threads.
 *
 * These commands open only the host's store; to show a thread, neither its document nor a plugin is needed. `update`
 * also needs the document, which defines the channels and the next nodes.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/data/kernel/kernel.h"
#include "host/data/store/store.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/execution/execution_thread.h"
#include "host/engine/graph/graph.h"
#include "host/program/command.h"
#include "host/program/command_input.h"
#include "host/program/command_run.h"
#include "host/program/questions.h"
#include <stdio.h>
#include <string.h>

#define HISTORY_DEFAULT 20
#define LIST_DEFAULT    50

/* What all commands here use. */
struct thread_command {
    struct host *host;
    struct store *store;
    struct error error; /* of the operation */
};

/* Opens a host and its store. Returns COMMAND_OK; on failure prints an error and returns the exit code. */
static int thread_command_open(struct thread_command *command, const struct arguments *arguments) {
    *command = (struct thread_command){.host = command_host(arguments), .error = ERROR_INIT};
    if (!command->host) return COMMAND_PLUGIN_PROBLEM;
    command->store = host_store(command->host, &command->error);
    if (command->store) return COMMAND_OK;
    int code = command_report_error(COMMAND_RUN_FAILED, &command->error);
    error_finish(&command->error);
    host_free(command->host);
    return code;
}

static int thread_command_finish(struct thread_command *command, int code) {
    error_finish(&command->error);
    host_free(command->host);
    return command_close(code);
}

/* Prints the error of the operation if it failed. Returns the exit code. */
static int thread_command_end(struct thread_command *command, int32_t status) {
    return thread_command_finish(command, status == TN_OK ? COMMAND_OK
                                                          : command_report_error(COMMAND_RUN_FAILED, &command->error));
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

/* Reads --at, a checkpoint's number; THREAD_HEAD if it is not given. Returns false if it is not a number. */
static bool read_seq(const struct arguments *arguments, int64_t *seq) {
    return argument_number(arguments, "at", 0, UINT32_MAX, THREAD_HEAD, seq);
}

/*
 * Reads an option in days before now and formats it in `text` as records contain times. *out is `text`, or NULL if
 * neither the option nor `otherwise` (>= 0) is given. Returns false if the option is invalid.
 */
static bool read_days(const struct arguments *arguments, const struct host *host, const char *option, int64_t otherwise,
                      char text[TIME_TEXT], const char **out) {
    int64_t days;
    *out = NULL;
    if (!argument_number(arguments, option, 0, 36500, otherwise, &days)) return false;
    if (days < 0) return true;
    time_text_days_before(loop_wall_ms(host_loop(host)), days, text);
    *out = text;
    return true;
}

/* The status to display: "expired" if the thread has waited too long for an answer. */
static const char *displayed_status(const struct host *host, tn_value record) {
    return thread_check_expiry(host_engine(host), record, NULL) == TN_OK ? command_text(record, "status", "?")
                                                                         : "expired";
}

/* ---- list, show, history, state ---- */

int command_thread_list(const struct arguments *arguments) {
    struct thread_command command;
    struct threads_filter filter = {.status = argument_text(arguments, "status"),
                                    .agent = argument_text(arguments, "agent"),
                                    .after = argument_text(arguments, "after")};
    if (!argument_number(arguments, "limit", 1, 10000, LIST_DEFAULT, &filter.limit)) return COMMAND_USAGE;
    char before[TIME_TEXT], since[TIME_TEXT];
    int code = thread_command_open(&command, arguments);
    if (code != COMMAND_OK) return code;
    if (!read_days(arguments, command.host, "older-than", -1, before, &filter.before) ||
        !read_days(arguments, command.host, "newer-than", -1, since, &filter.since))
        return thread_command_finish(&command, COMMAND_USAGE);
    tn_value page = NULL;
    int32_t status = threads_list_wait(command.store, &filter, &page, &command.error);
    tn_value threads = value_get(page, "threads"), more = value_get(page, "more");
    for (size_t i = 0; i < value_count(threads); i++) {
        tn_value record = value_at(threads, i);
        if (argument_given(arguments, "json"))
            run_print_line(record);
        else
            command_printf(stdout, "%-24s %-12s step %-6lld %s  %s\n", command_text(record, "thread_id", "?"),
                           displayed_status(command.host, record), number_of(record, "step"),
                           command_text(record, "updated_at", "?"), command_text(record, "agent", ""));
    }
    if (status == TN_OK && value_count(threads) == 0) command_printf(stderr, "no threads\n");
    if (more && value_is(more, TN_BOOL) && value_to_bool(more))
        command_printf(stderr, "there are more: continue with --after %s\n",
                       command_text(value_at(threads, value_count(threads) - 1), "thread_id", "?"));
    value_unref(page);
    return thread_command_end(&command, status);
}

static void print_record(const struct host *host, tn_value record) {
    static const char *const members[] = {"agent", "document", "created_at", "updated_at", "run_id"};
    command_printf(stdout, "%s\n", command_text(record, "thread_id", "?"));
    command_printf(stdout, "  %-12s %s\n", "status", displayed_status(host, record));
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
    int code = thread_command_open(&command, arguments);
    if (code != COMMAND_OK) return code;
    tn_value record = NULL;
    int32_t status = thread_show_wait(command.store, operand_at(arguments, 0), &record, &command.error);
    if (status == TN_OK && argument_given(arguments, "json"))
        run_print_line(record);
    else if (status == TN_OK)
        print_record(command.host, record);
    value_unref(record);
    return thread_command_end(&command, status);
}

int command_thread_history(const struct arguments *arguments) {
    struct thread_command command;
    int64_t limit;
    if (!argument_number(arguments, "limit", 1, 10000, HISTORY_DEFAULT, &limit)) return COMMAND_USAGE;
    int code = thread_command_open(&command, arguments);
    if (code != COMMAND_OK) return code;
    tn_value lines = NULL;
    int32_t status = thread_history_wait(command.store, operand_at(arguments, 0), limit, &lines, &command.error);
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
    value_unref(lines);
    return thread_command_end(&command, status);
}

int command_thread_state(const struct arguments *arguments) {
    struct thread_command command;
    int64_t seq;
    if (!read_seq(arguments, &seq)) return COMMAND_USAGE;
    int code = thread_command_open(&command, arguments);
    if (code != COMMAND_OK) return code;
    tn_value state = NULL;
    int32_t status = thread_state_wait(command.store, operand_at(arguments, 0), seq, &state, &command.error);
    if (status == TN_OK) command_print(state);
    value_unref(state);
    return thread_command_end(&command, status);
}

/* ---- fork, answer, update ---- */

int command_thread_fork(const struct arguments *arguments) {
    struct thread_command command;
    int64_t seq;
    if (!read_seq(arguments, &seq)) return COMMAND_USAGE;
    int code = thread_command_open(&command, arguments);
    if (code != COMMAND_OK) return code;
    int32_t status =
        thread_fork_wait(command.store, operand_at(arguments, 0), seq, operand_at(arguments, 1), &command.error);
    return thread_command_end(&command, status);
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
    int code = thread_command_open(&command, arguments);
    if (code != COMMAND_OK) {
        value_unref(answers);
        return code;
    }
    tn_value record = NULL;
    int32_t status = thread_show_wait(command.store, operand_at(arguments, 0), &record, &command.error);
    if (status == TN_OK)
        status = thread_answer_wait(host_engine(command.host), operand_at(arguments, 0), answers, &command.error);
    if (status == TN_OK) report_replaced_answers(record, answers);
    value_unref(record);
    value_unref(answers);
    return thread_command_end(&command, status);
}

static int thread_update_run(const struct arguments *arguments, struct host *host, tn_value channels) {
    struct error error = ERROR_INIT;
    struct graph *graph = NULL;
    const char *document = operand_at(arguments, 1);
    struct thread_request request = {.id = operand_at(arguments, 0),
                                     .mode = THREAD_UPDATE,
                                     .as = argument_text(arguments, "as"),
                                     .accept_changes = argument_given(arguments, "accept-changes"),
                                     .force = argument_given(arguments, "force"),
                                     .document = document};
    int32_t status = graph_open(host_engine(host), NULL, document, &(struct graph_origin){0}, &graph, &error);
    int code = status == TN_OK ? COMMAND_OK : command_report_error(COMMAND_INVALID, &error);
    if (status == TN_OK && thread_update_wait(host_engine(host), graph, &request, channels, &error) != TN_OK)
        code = command_report_error(COMMAND_RUN_FAILED, &error);
    graph_unref(graph);
    error_finish(&error);
    return code;
}

int command_thread_update(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    tn_value channels = command_read_input(arguments, &error);
    if (!channels) {
        command_warn_error(&error);
        error_finish(&error);
        return COMMAND_USAGE;
    }
    struct host *host = command_host(arguments);
    int code = host ? thread_update_run(arguments, host, channels) : COMMAND_PLUGIN_PROBLEM;
    value_unref(channels);
    host_free(host);
    return code;
}

/* ---- delete, export, import, gc ---- */

int command_thread_delete(const struct arguments *arguments) {
    struct thread_command command;
    int code = thread_command_open(&command, arguments);
    if (code != COMMAND_OK) return code;
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < operand_count(arguments); i++)
        status = thread_delete_wait(command.store, operand_at(arguments, i), argument_given(arguments, "force"),
                                    &command.error);
    return thread_command_end(&command, status);
}

int command_thread_export(const struct arguments *arguments) {
    struct thread_command command;
    int code = thread_command_open(&command, arguments);
    if (code != COMMAND_OK) return code;
    tn_value exported = NULL;
    int32_t status = thread_export_wait(command.store, operand_at(arguments, 0), &exported, &command.error);
    if (status == TN_OK) command_print(exported);
    value_unref(exported);
    return thread_command_end(&command, status);
}

int command_thread_import(const struct arguments *arguments) {
    struct thread_command command;
    struct error error = ERROR_INIT;
    char *text = NULL;
    size_t length = 0;
    tn_value exported = NULL;
    if (!command_read_named(arguments, operand_at(arguments, 0), &text, &length, &error) ||
        json_read(text, length, NULL, &exported, &error) != TN_OK) {
        mem_free(text);
        int code = command_report_error(COMMAND_USAGE, &error);
        error_finish(&error);
        return code;
    }
    mem_free(text);
    const char *id = operand_count(arguments) > 1 ? operand_at(arguments, 1)
                                                  : command_text(value_get(exported, "record"), "thread_id", "");
    int code = thread_command_open(&command, arguments);
    if (code != COMMAND_OK) {
        value_unref(exported);
        return code;
    }
    int32_t status =
        thread_import_wait(command.store, id, exported, argument_given(arguments, "replace"), &command.error);
    value_unref(exported);
    return thread_command_end(&command, status);
}

int command_thread_gc(const struct arguments *arguments) {
    struct thread_command command;
    char before[TIME_TEXT], expired[TIME_TEXT];
    const char *status_given = argument_text(arguments, "status");
    struct threads_policy policy = {.status = status_given ? status_given : "done",
                                    .dry_run = argument_given(arguments, "dry-run")};
    if (!argument_number(arguments, "keep", 0, INT32_MAX, -1, &policy.keep)) return COMMAND_USAGE;
    int code = thread_command_open(&command, arguments);
    if (code != COMMAND_OK) return code;
    int64_t days = policy.keep < 0 ? config_limit(host_config(command.host), "thread_days", -1) : -1;
    if (!read_days(arguments, command.host, "older-than", days, before, &policy.before))
        return thread_command_finish(&command, COMMAND_USAGE);
    policy.expired_before = thread_expiry_limit(host_engine(command.host), expired);
    if (!policy.before && policy.keep < 0 && !policy.expired_before) {
        command_warn("expected --older-than DAYS, --keep N, or limits.thread_days in tenon.yaml: they say which "
                     "threads are old");
        return thread_command_finish(&command, COMMAND_USAGE);
    }
    tn_value removed = NULL;
    int32_t status = threads_collect_wait(command.store, &policy, &removed, &command.error);
    long long threads = number_of(removed, "threads"), graphs = number_of(removed, "graphs");
    value_unref(removed);
    if (status == TN_OK && !policy.dry_run)
        kernel_maintain(&(struct kernel){host_loop(command.host), command.store}, NULL, NULL);
    if (status == TN_OK)
        command_printf(stdout, "%s %lld thread%s and %lld saved graph description%s\n",
                       policy.dry_run ? "would remove" : "removed", threads, threads == 1 ? "" : "s", graphs,
                       graphs == 1 ? "" : "s");
    return thread_command_end(&command, status);
}
