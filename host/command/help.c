/*
 * help.c - what --help prints.
 */
#include "host/command/help.h"
#include "host/command/command.h"
#include <string.h>

void help_overview(FILE *out) {
    fputs("tenon runs agent graphs: plugins offer node types, models and tools; ADL documents join them.\n\n"
          "Usage: tenon COMMAND [OPTION…] [OPERAND…]\n\nCommands:\n",
          out);
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden) fprintf(out, "  %-15s %s\n", commands[i].name, commands[i].summary);
    fputs("\nExample:\n$ tenon eval '1 + 2'\n3\n"
          "\n`tenon COMMAND --help` explains a command, with an example. `tenon --version` prints the version.\n"
          "Exit codes: 0 done, 1 run failed, 2 usage, 3 document invalid, 4 plugin problem, 5 waiting for an answer,\n"
          "130 cancelled by Ctrl-C.\n",
          out);
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

static void print_options(const struct option *options, FILE *out) {
    for (; options && options->name; options++) {
        char form[64];
        int length = options->letter ? snprintf(form, sizeof form, "-%c, ", options->letter)
                                     : snprintf(form, sizeof form, "    ");
        snprintf(form + length, sizeof form - (size_t)length, "--%s%s%s", options->name, options->argument ? " " : "",
                 options->argument ? options->argument : "");
        fprintf(out, "  %-30s %s\n", form, options->help);
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
