/*
 * command_reference.c - `tenon reference`: the table of topics, and the topics commands, diagnostics and errors.
 *
 * Everything is printed from the tables that the program uses. command_reference_language.c prints the topics adl,
 * expressions and config, manual.c the manual page, and completion.c the completions.
 */
#include "host/program/command_reference.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/codes.h"
#include "adl/value/nearest.h"
#include "host/program/command.h"
#include <stdio.h>
#include <string.h>

#define TOPICS(TOPIC)                                                                                                  \
    TOPIC(commands, "every command and option of the program, exit codes, and the environment")                        \
    TOPIC(diagnostics, "every diagnostic of documents: what it means and what to do")                                  \
    TOPIC(adl, "the language of documents: every section and key")                                                     \
    TOPIC(expressions, "conditions and templates: operators, functions and limits")                                    \
    TOPIC(errors, "every error code of runs and components")                                                           \
    TOPIC(config, "tenon.yaml: every key")

static const struct topic {
    const char *name, *summary;
    void (*print)(void);
} topics[] = {
#define TOPIC(name, summary) {#name, summary, reference_##name},
    TOPICS(TOPIC)
#undef TOPIC
};

const char *reference_topics(void) {
#define TOPIC(name, summary) "|" #name
    return &(TOPICS(TOPIC))[1];
#undef TOPIC
}

/* ---- Commands ---- */

static void print_option_rows(const struct command_option *options) {
    for (; options && options->name; options++) {
        fputs("- `", stdout);
        if (options->letter) printf("-%c, ", options->letter);
        printf("--%s%s%s`: %s", options->name, options->argument ? " " : "", options->argument ? options->argument : "",
               options->help);
        for (const char *word = options->choices; word;) {
            size_t length = strcspn(word, "|,");
            printf("%s`%.*s`", word == options->choices ? ": " : ", ", (int)length, word);
            word = word[length] ? word + length + 1 : NULL;
        }
        putchar('\n');
    }
}

static void print_command(const struct command *command) {
    printf("\n## tenon %s\n\n%s\n\n    tenon %s [OPTION…]%s%s\n", command->name, command->summary, command->name,
           *command->operands ? " " : "", command->operands);
    if (command->details) printf("\n%s\n", command->details);
    if (command->options && command->options->name) fputs("\nOptions:\n\n", stdout);
    print_option_rows(command->options);
    if (*command->example) printf("\n```console\n%s```\n", command->example);
}

void reference_commands(void) {
    fputs(
        "# Commands\n\n"
        "`tenon COMMAND [OPTION…] [OPERAND…]`. An option may come anywhere after the command: `--name VALUE`,\n"
        "`--name=VALUE`, `-n VALUE` or `-nVALUE`. `--` ends the options; the operand `-` is standard input. Standard\n"
        "output contains only results; everything else is written to standard error.\n",
        stdout);
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden) print_command(&commands[i]);
    fputs("\n## Options of every command\n\n", stdout);
    print_option_rows(global_options);
    fputs("\n## Exit codes\n\n| Code | Meaning |\n|---:|---|\n", stdout);
    for (size_t i = 0; i < exit_code_count; i++) printf("| %d | %s |\n", exit_codes[i].code, exit_codes[i].meaning);
    fputs("\n## Environment\n\n", stdout);
    for (size_t i = 0; i < environment_variable_count; i++)
        printf("- `%s`: %s\n", environment_variables[i].name, environment_variables[i].meaning);
}

/* ---- Diagnostics ---- */

static void print_diagnostic(const struct diagnostic_info *info) {
    printf("## %s: %s\n\nSeverity: %s. Kind: %s.\n\n%s", info->code, info->title,
           diagnostic_severity_name(info->severity), diagnostic_kind_name(info->kind), info->explanation);
}

void reference_diagnostics(void) {
    fputs(
        "# Diagnostics\n\n"
        "The diagnostics of `tenon check` and of every other command that reads a document. A code never changes its\n"
        "meaning. E is an error, W a warning, H a hint. A document with errors cannot run.\n",
        stdout);
    for (int i = 0; i < DIAGNOSTIC_CODES; i++) {
        putchar('\n');
        print_diagnostic(diagnostic_info((enum diagnostic_code)i));
    }
}

/* ---- Errors ---- */

static void print_error(const struct error_code *row) {
    printf("## %s\n\n%s\n\nRetryable: %s. Family: `%s`.\n", row->code, row->explanation, row->retryable ? "yes" : "no",
           row->family);
}

void reference_errors(void) {
    fputs("# Errors\n\n"
          "The error codes of a run, in `error.code` of a result, of an event, and of `state.error`. A code never "
          "changes\n"
          "its meaning. Components can define further codes. If a node has `retry`, a retryable error is retried, "
          "unless\n"
          "the component says otherwise.\n",
          stdout);
    for (size_t i = 0; i < error_code_count(); i++) {
        putchar('\n');
        print_error(error_code_at(i));
    }
}

/* ---- The command ---- */

static void print_index(void) {
    fputs("# Reference\n\n", stdout);
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        printf("- `tenon reference %s`: %s\n", topics[i].name, topics[i].summary);
    fputs("\n`tenon reference CODE` explains one code, for example ADL-E021 or TIMEOUT.\n", stdout);
}

static int unknown_topic(const char *name) {
    struct nearest nearest;
    nearest_init(&nearest, name, strlen(name));
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        nearest_add_candidate(&nearest, topics[i].name, strlen(topics[i].name));
    for (size_t i = 0; i < error_code_count(); i++)
        nearest_add_candidate(&nearest, error_code_at(i)->code, strlen(error_code_at(i)->code));
    for (int i = 0; i < DIAGNOSTIC_CODES; i++) {
        const char *code = diagnostic_info((enum diagnostic_code)i)->code;
        nearest_add_candidate(&nearest, code, strlen(code));
    }
    command_warn("the reference has no topic or code `%s`%s", name, nearest_hint(&nearest).text);
    fputs("See `tenon reference`, which lists the topics.\n", stderr);
    return COMMAND_USAGE;
}

static int print_topic(const char *name) {
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
        if (strcmp(topics[i].name, name) != 0) continue;
        topics[i].print();
        return COMMAND_OK;
    }
    const struct diagnostic_info *info = diagnostic_info_find(name);
    const struct error_code *code = error_code_find(name);
    if (info)
        print_diagnostic(info);
    else if (code)
        print_error(code);
    else
        return unknown_topic(name);
    return COMMAND_OK;
}

int command_reference(const struct arguments *arguments) {
    const char *topic = operand_at(arguments, 0), *shell = argument_text(arguments, "completion");
    bool manual = argument_given(arguments, "man");
    if ((topic != NULL) + (shell != NULL) + manual > 1) {
        command_warn("a topic, --man and --completion cannot be used together; give one of them");
        fputs("See `tenon reference --help`.\n", stderr);
        return COMMAND_USAGE;
    }
    if (manual)
        manual_print();
    else if (shell)
        completion_print(shell);
    else if (topic)
        return print_topic(topic);
    else
        print_index();
    return COMMAND_OK;
}
