/*
 * manual.c - the manual page tenon(1), as troff with the macros of man(7), from the table of commands.
 *
 * The tables contain Markdown: `code` becomes bold, lines of a paragraph are filled, and characters that troff would
 * read as a request or an escape are escaped. Non-ASCII characters are written as escapes, so that the page does not
 * depend on an encoding.
 */
#include "adl/value/json.h"
#include "host/program/command.h"
#include "host/program/command_reference.h"
#include <stdio.h>
#include <string.h>

#define ELLIPSIS 0x2026u

static void put_character(uint32_t character) {
    switch (character) {
    case '\\': fputs("\\e", stdout); break;
    case '-': fputs("\\-", stdout); break; /* the dash of options, not a hyphen */
    case '\'': fputs("\\(aq", stdout); break;
    case '"': fputs("\\(dq", stdout); break;
    case '`': fputs("\\(ga", stdout); break;
    case '^': fputs("\\(ha", stdout); break;
    case '~': fputs("\\(ti", stdout); break;
    case ELLIPSIS: fputs("...", stdout); break;
    default:
        if (character < 0x80)
            putchar((int)character);
        else
            printf("\\[u%04X]", (unsigned)character);
    }
}

/* Prints text unchanged, including line ends. */
static void put_text(const char *text) {
    bool starts = true;
    for (size_t left = strlen(text); left;) {
        uint32_t character = 0;
        size_t length = utf8_decode(text, left, &character);
        if (!length) return; /* the tables are UTF-8 */
        if (starts && (character == '.' || character == '\'')) fputs("\\&", stdout);
        put_character(character);
        starts = character == '\n';
        text += length;
        left -= length;
    }
}

/* Prints one paragraph of Markdown with `code` in bold, and a line end. */
static void put_prose(const char *text) {
    bool code = false;
    char piece[512];
    fputs("\\&", stdout); /* the line is never read as a request */
    while (*text) {
        size_t length = strcspn(text, "`");
        if (length >= sizeof piece) length = sizeof piece - 1;
        while (length && ((unsigned char)text[length] & 0xc0) == 0x80) length--; /* not inside a character */
        memcpy(piece, text, length);
        piece[length] = 0;
        put_text(piece);
        text += length;
        if (*text != '`') continue;
        code = !code;
        fputs(code ? "\\fB" : "\\fR", stdout);
        text++;
    }
    putchar('\n');
}

static void put_heading(const char *text) { printf(".SH %s\n", text); }

/* ---- Parts ---- */

static void put_choices(const char *choices) {
    bool one = strchr(choices, '|') != NULL;
    fputs(one ? "One of " : "One or more, separated by commas, of ", stdout);
    for (const char *word = choices; word;) {
        size_t length = strcspn(word, "|,");
        bool last = !word[length];
        printf("%s\\fB%.*s\\fR", word == choices ? "" : !last ? ", " : one ? " or " : " and ", (int)length, word);
        word = last ? NULL : word + length + 1;
    }
    fputs(".\n", stdout);
}

static void put_options(const struct command_option *options) {
    for (; options && options->name; options++) {
        fputs(".TP\n", stdout);
        if (options->letter) printf("\\fB\\-%c\\fR, ", options->letter);
        fputs("\\fB\\-\\-", stdout);
        put_text(options->name);
        fputs("\\fR", stdout);
        if (options->argument) {
            fputs(" \\fI", stdout);
            put_text(options->argument);
            fputs("\\fR", stdout);
        }
        putchar('\n');
        put_prose(options->help);
        if (options->choices) {
            fputs(".br\n", stdout);
            put_choices(options->choices);
        }
    }
}

static void put_command(const struct command *command) {
    printf(".SS tenon %s\n", command->name);
    put_prose(command->summary);
    printf(".PP\n\\fBtenon %s\\fR [\\fIOPTION\\fR...]%s\\fI", command->name, *command->operands ? " " : "");
    put_text(command->operands);
    fputs("\\fR\n", stdout);
    if (command->details) {
        fputs(".PP\n", stdout);
        put_prose(command->details);
    }
    put_options(command->options);
    if (!*command->example) return;
    fputs(".PP\n.EX\n", stdout);
    put_text(command->example);
    fputs(".EE\n", stdout);
}

static void put_files(void) {
    static const char *const files[][2] = {
        {"tenon.yaml", "The project's configuration: the nearest one, from the working directory upwards."},
        {"~/.config/tenon/tenon.yaml", "The user's configuration; the project's keys win."},
        {"~/.local/share/tenon/plugins", "The user's plugins."},
    };
    put_heading("FILES");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        fputs(".TP\n\\fI", stdout);
        put_text(files[i][0]);
        fputs("\\fR\n", stdout);
        put_prose(files[i][1]);
    }
}

void manual_print(void) {
    fputs(".TH TENON 1 \"\" \"tenon " TENON_VERSION "\" \"User Commands\"\n"
          ".SH NAME\ntenon \\- run agent graphs\n"
          ".SH SYNOPSIS\n\\fBtenon\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]\n"
          ".SH DESCRIPTION\n"
          "Plugins provide node types, models and tools. Documents in ADL, a YAML or JSON language, connect them to "
          "graphs.\n"
          "\\fBtenon\\fR checks documents, builds the graphs and runs them.\n"
          ".PP\n"
          "An option may come anywhere after the command.\n"
          "\\fB\\-\\-\\fR ends the options; the operand \\fB\\-\\fR is standard input.\n"
          "Standard output contains only results; everything else is written to standard error.\n"
          ".PP\n"
          "\\fBtenon reference\\fR prints the rest: the language of documents, expressions, the configuration, and "
          "every\n"
          "diagnostic and error code.\n",
          stdout);
    put_heading("COMMANDS");
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden) put_command(&commands[i]);
    put_heading("OPTIONS");
    fputs("Every command accepts these options.\n", stdout);
    put_options(global_options);
    put_heading("EXIT STATUS");
    for (size_t i = 0; i < exit_code_count; i++) {
        printf(".TP\n\\fB%d\\fR\n", exit_codes[i].code);
        put_prose(exit_codes[i].meaning);
    }
    put_heading("ENVIRONMENT");
    for (size_t i = 0; i < environment_variable_count; i++) {
        fputs(".TP\n\\fB", stdout);
        put_text(environment_variables[i].name);
        fputs("\\fR\n", stdout);
        put_prose(environment_variables[i].meaning);
    }
    put_files();
}
