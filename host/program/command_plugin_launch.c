/*
 * command_plugin_launch.c - `tenon plugin launch`: enters the sandbox, and executes a program that a plugin starts.
 *
 * The sandbox's log goes to descriptor TN_LAUNCH_LOG, which the program does not inherit: the program cannot write
 * lines that look as if they came from the sandbox. The watch process of the sandbox keeps it as its standard error.
 * What goes wrong before the program runs is printed to the program's standard error.
 */
#include "adl/value/error.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/plugin/sandbox/sandbox.h"
#include "host/program/command.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <tenon/launch.h>
#include <unistd.h>

/* The exit codes of a shell for a program that cannot be executed. */
#define NOT_EXECUTED 126
#define NOT_FOUND    127

static void launch_write_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)who;
    char text[LOG_LINE_MAX + 8];
    int length = snprintf(text, sizeof text, "%d%s\n", (int)level, line);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0) return;
}

static tn_value option_list(const struct arguments *arguments, const char *option) {
    tn_value list = value_array();
    for (size_t i = 0; i < argument_count(arguments, option); i++) {
        const char *text = argument_at(arguments, option, i);
        list = value_push_take(list, value_string_lossy(text, strlen(text)));
    }
    return list;
}

static int32_t enter_sandbox(const struct arguments *arguments, struct error *error) {
    struct sandbox_plan plan;
    tn_value effects = option_list(arguments, "effect"), files = option_list(arguments, "file");
    sandbox_plan_init_program(&plan, effects, operand_at(arguments, 0), files);
    int32_t status = sandbox_enter(&plan, false, error);
    sandbox_plan_finish(&plan);
    value_unref(effects);
    value_unref(files);
    return status;
}

/* The operands after the program's path. The process ends or executes the program, so they are not freed. */
static char **program_words(const struct arguments *arguments) {
    size_t count = operand_count(arguments) - 1;
    char **words = mem_zalloc((count + 1) * sizeof *words);
    for (size_t i = 0; i < count; i++) words[i] = mem_text(operand_at(arguments, i + 1));
    return words;
}

int command_plugin_launch(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    const char *program = operand_at(arguments, 0);
    closefrom(TN_LAUNCH_LOG + 1); /* what the host itself has inherited is not for the program */
    int errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    if (errors < 0 || dup2(TN_LAUNCH_LOG, STDERR_FILENO) < 0) {
        command_warn("only a host runs this command; it needs descriptor %d", TN_LAUNCH_LOG);
        return COMMAND_USAGE;
    }
    (void)close(TN_LAUNCH_LOG);
    log_set_sink(NULL, launch_write_log, NULL);
    int32_t status = enter_sandbox(arguments, &error);
    if (dup2(errors, STDERR_FILENO) < 0) return NOT_EXECUTED;
    if (status == TN_OK) {
        (void)execv(program, program_words(arguments));
        status = errno == ENOENT ? NOT_FOUND : NOT_EXECUTED;
        (void)fprintf(stderr, "%s cannot be executed in the sandbox: %s\n", program, strerror(errno));
        return status;
    }
    (void)fprintf(stderr, "%s\n", error.message);
    error_finish(&error);
    return NOT_EXECUTED;
}
