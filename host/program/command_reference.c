/*
 * command_reference.c - `tenon reference`: the table of topics, and the topics commands, diagnostics and errors.
 *
 * Everything is printed from the tables that the program uses, and from the manifests of plugins.
 * command_reference_language.c prints the topics adl, expressions and config, command_reference_parts.c those of
 * components, events and annotations, reference_method.c that of methods, reference_names.c a single entry, manual.c
 * the manual page, and completion.c the completions.
 */
#include "host/program/command_reference.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/codes.h"
#include "host/plugin/conformance/finding.h"
#include "host/program/command.h"
#include "host/program/reference_names.h"
#include <stdio.h>
#include <string.h>

#define TOPICS(TOPIC)                                                                                                  \
    TOPIC(commands, "every command and option of the program, exit codes, and the environment")                        \
    TOPIC(diagnostics, "every diagnostic of documents: what it means and what to do")                                  \
    TOPIC(adl, "the language of documents: every section and key")                                                     \
    TOPIC(expressions, "conditions and templates: operators, functions and limits")                                    \
    TOPIC(nodes, "every node type: configuration, effects, errors, examples")                                          \
    TOPIC(tools, "every tool: arguments, result, effects, errors, examples")                                           \
    TOPIC(models, "every provider of models: configuration, effects, errors, examples")                                \
    TOPIC(reducers, "how channels merge writes")                                                                       \
    TOPIC(plugins, "every plugin: its section of tenon.yaml, and its components")                                      \
    TOPIC(events, "the events of a run and of a chat: every type and member")                                          \
    TOPIC(methods, "what clients can ask of a host: parameters, results, errors, examples, and the events of a host")  \
    TOPIC(annotations, "every value of `x-tenon` in the schemas of plugins")                                           \
    TOPIC(errors, "every error code of runs and components")                                                           \
    TOPIC(findings, "every finding of `tenon plugin check`: what it means and what to do")                             \
    TOPIC(config, "tenon.yaml: every key")

static const struct reference_topic topics[] = {
#define TOPIC(name, summary) {#name, summary, reference_##name},
    TOPICS(TOPIC)
#undef TOPIC
};

const char *reference_topics(void) {
#define TOPIC(name, summary) "|" #name
    return &(TOPICS(TOPIC))[1];
#undef TOPIC
}

const struct reference_topic *reference_topic_at(size_t index) {
    return index < sizeof topics / sizeof *topics ? &topics[index] : NULL;
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

void reference_command(const struct command *command) {
    printf("## tenon %s\n\n%s\n\n    tenon %s [OPTION…]%s%s\n", command->name, command->summary, command->name,
           *command->operands ? " " : "", command->operands);
    if (command->details) printf("\n%s\n", command->details);
    if (command->options && command->options->name) fputs("\nOptions:\n\n", stdout);
    print_option_rows(command->options);
    if (*command->example) printf("\n```console\n%s```\n", command->example);
}

void reference_commands(struct host *host) {
    (void)host;
    fputs(
        "# Commands\n\n"
        "`tenon COMMAND [OPTION…] [OPERAND…]`. An option may come anywhere after the command: `--name VALUE`,\n"
        "`--name=VALUE`, `-n VALUE` or `-nVALUE`. `--` ends the options; the operand `-` is standard input. Standard\n"
        "output contains only results; everything else is written to standard error.\n",
        stdout);
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden) putchar('\n'), reference_command(&commands[i]);
    fputs("\n## Options of every command\n\n", stdout);
    print_option_rows(global_options);
    fputs("\n## Exit codes\n\n| Code | Meaning |\n|---:|---|\n", stdout);
    for (size_t i = 0; i < exit_code_count; i++) printf("| %d | %s |\n", exit_codes[i].code, exit_codes[i].meaning);
    fputs("\n## Environment\n\n", stdout);
    for (size_t i = 0; i < environment_variable_count; i++)
        printf("- `%s`: %s\n", environment_variables[i].name, environment_variables[i].meaning);
}

/* ---- Diagnostics ---- */

void reference_diagnostic(const struct diagnostic_info *info) {
    printf("## %s: %s\n\nSeverity: %s. Kind: %s.\n\n%s", info->code, info->title,
           diagnostic_severity_name(info->severity), diagnostic_kind_name(info->kind), info->explanation);
}

void reference_diagnostics(struct host *host) {
    (void)host;
    fputs(
        "# Diagnostics\n\n"
        "The diagnostics of `tenon check` and of every other command that reads a document. A code never changes its\n"
        "meaning. E is an error, W a warning, H a hint. A document with errors cannot run.\n",
        stdout);
    for (int i = 0; i < DIAGNOSTIC_CODES; i++) {
        putchar('\n');
        reference_diagnostic(diagnostic_info((enum diagnostic_code)i));
    }
}

/* ---- Errors ---- */

void reference_error(const struct error_code *row) {
    printf("## %s\n\n%s\n\nRetryable: %s. Family: `%s`.\n", row->code, row->explanation, row->retryable ? "yes" : "no",
           row->family);
}

void reference_errors(struct host *host) {
    (void)host;
    fputs("# Errors\n\n"
          "The error codes of a run, in `error.code` of a result, of an event, and of `state.error`. A code never "
          "changes\n"
          "its meaning. Components can define further codes. If a node has `retry`, a retryable error is retried, "
          "unless\n"
          "the component says otherwise.\n",
          stdout);
    for (size_t i = 0; i < error_code_count(); i++) {
        putchar('\n');
        reference_error(error_code_at(i));
    }
}

/* ---- Findings ---- */

void reference_finding(const struct finding_info *info) {
    printf("## %s\n\n%s\n\nSeverity: %s.\n", info->code, info->meaning, conformance_severity_name(info->severity));
}

void reference_findings(struct host *host) {
    (void)host;
    fputs("# Findings\n\n"
          "What `tenon plugin check` reports. An error is a defect: hosts refuse the plugin, or it breaks the "
          "contract. A\n"
          "warning is something that users will notice, a note only information. A code never changes its meaning. A\n"
          "finding that depends on random choices has a seed: `--seed N` repeats them.\n",
          stdout);
    for (int i = 0; i < FINDING_COUNT; i++) {
        putchar('\n');
        reference_finding(finding_info((enum finding)i));
    }
}

/* ---- The command ---- */

static void print_index(void) {
    fputs("# Reference\n\n", stdout);
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        printf("- `tenon reference %s`: %s\n", topics[i].name, topics[i].summary);
    fputs(
        "\n`tenon reference NAME` prints one entry: a node type, tool, provider, reducer, plugin, event, method, "
        "annotation,\nfunction, key, command, diagnostic, error code or finding. If several entries have the name, it "
        "lists them. For\nexample: `llm`, `extract`, `openai`, `updates`, `run/start`, `channel-read`, `ADL-E021`, "
        "`TIMEOUT`.\n`tenon schema list` lists the JSON Schemas.\n",
        stdout);
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
        return reference_print_name(arguments, topic);
    else
        print_index();
    return COMMAND_OK;
}
