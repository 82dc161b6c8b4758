/*
 * help.c - prints the output of --help from the table of commands.
 */
#include "host/program/help.h"
#include "host/program/command.h"
#include <string.h>

#define COLUMNS 110 /* the longest line of text */

static void print_exit_codes(FILE *out) {
    int column = fprintf(out, "Exit codes:");
    for (size_t i = 0; i < exit_code_count; i++) {
        char text[80];
        int length = snprintf(text, sizeof text, "%d %s%c", exit_codes[i].code, exit_codes[i].name,
                              i + 1 < exit_code_count ? ',' : '.');
        bool wraps = column + 1 + length > COLUMNS;
        column = wraps ? length : column + 1 + length;
        fprintf(out, "%c%s", wraps ? '\n' : ' ', text);
    }
    fputc('\n', out);
}

void help_overview(FILE *out) {
    fputs("tenon runs agent graphs: plugins provide node types, models and tools; ADL documents connect them.\n\n"
          "Usage: tenon COMMAND [OPTION…] [OPERAND…]\n\nCommands:\n",
          out);
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden) fprintf(out, "  %-15s %s\n", commands[i].name, commands[i].summary);
    fputs("\nExample:\n$ tenon eval '1 + 2'\n3\n"
          "\n`tenon COMMAND --help` explains a command, with an example. `tenon --version` prints the version.\n",
          out);
    print_exit_codes(out);
}

void help_group(const char *group, FILE *out) {
    size_t length = strlen(group);
    const char *example = NULL;
    fprintf(out, "Usage: tenon %s COMMAND [OPTION…] [OPERAND…]\n\nCommands:\n", group);
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i].hidden || strncmp(commands[i].name, group, length) != 0 || commands[i].name[length] != ' ')
            continue;
        fprintf(out, "  %-15s %s\n", commands[i].name, commands[i].summary);
        if (!example) example = commands[i].example;
    }
    fprintf(out, "\n`tenon %s COMMAND --help` explains a command.\n\nExample:\n%s", group, example ? example : "");
}

static void print_options(const struct command_option *options, FILE *out) {
    for (; options && options->name; options++) {
        char form[64];
        int length = options->letter ? snprintf(form, sizeof form, "-%c, ", options->letter)
                                     : snprintf(form, sizeof form, "    ");
        snprintf(form + length, sizeof form - (size_t)length, "--%s%s%s", options->name, options->argument ? " " : "",
                 options->argument ? options->argument : "");
        fprintf(out, "  %-30s %s%s%s\n", form, options->help, options->choices ? ": " : "",
                options->choices ? options->choices : "");
    }
}

void help_command(const struct command *command, FILE *out) {
    fprintf(out, "%s\n\nUsage: tenon %s [OPTION…] %s\n", command->summary, command->name, command->operands);
    if (command->details) fprintf(out, "\n%s\n", command->details);
    if (command->options && command->options->name) fputs("\nOptions:\n", out);
    print_options(command->options, out);
    fputs("\nOptions of every command:\n", out);
    print_options(global_options, out);
    fprintf(out, "\nExample:\n%s", command->example);
}
