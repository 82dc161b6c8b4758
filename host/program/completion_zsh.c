/*
 * completion_zsh.c - the completion for zsh: a file for a folder of functions, or to be sourced.
 *
 * The words of the command's name are removed, so that _arguments sees only options and operands.
 */
#include "host/program/completion.h"
#include <stdio.h>

#define SPECIAL ":[]\\" /* characters with a meaning inside a specification */

static void zsh_print_described(void *user, const char *word, const char *summary) {
    (void)user;
    printf("            '%s:", word);
    print_quoted(summary, ":\\");
    puts("'");
}

/* Prints a command that offers only the words of a group. */
static void zsh_print_list(const char *group, bool help) {
    puts("        offered=(");
    completion_each(group, zsh_print_described, NULL);
    if (help) puts("            'help:explain a command'");
    puts("        )");
}

static void zsh_print_action(struct offer offer) {
    switch (offer.value) {
    case VALUE_FILE: fputs("_files", stdout); break;
    case VALUE_FOLDER: fputs("_files -/", stdout); break;
    case VALUE_JSON: fputs("_tenon_json", stdout); break;
    case VALUE_ONE:
        putchar('(');
        offer_print_words(offer.words);
        putchar(')');
        break;
    case VALUE_SOME:
        fputs("_values -s , mode ", stdout);
        offer_print_words(offer.words);
        break;
    default: putchar(' ');
    }
}

static void zsh_print_option(const struct command_option *option) {
    const char *argument = option->argument ? "=" : "";
    fputs("        ", stdout);
    if (option->argument) /* the option can be repeated */
        fputs("'*'", stdout);
    else if (option->letter)
        printf("'(-%c --%s)'", option->letter, option->name);
    if (option->letter)
        printf("{-%c%s,--%s%s}", option->letter, option->argument ? "+" : "", option->name, argument);
    else
        printf("--%s%s", option->name, argument);
    fputs("'[", stdout);
    print_quoted(option->help, SPECIAL);
    putchar(']');
    if (option->argument) {
        putchar(':');
        print_quoted(option->argument, SPECIAL);
        putchar(':');
        zsh_print_action(offer_of_option(option));
    }
    puts("'");
}

static void zsh_print_options(const struct command_option *options) {
    for (; options && options->name; options++) zsh_print_option(options);
}

static void zsh_print_command(const struct command *command) {
    struct offer offer = offer_of_operand(command);
    printf("    '%s')\n        specifications+=(\n", command->name);
    zsh_print_options(command->options);
    if (offer.value != VALUE_NONE) {
        printf("        '%s:", command->operands_max == 1 ? "1" : "*");
        print_quoted(command->operands, SPECIAL);
        putchar(':');
        zsh_print_action(offer);
        puts("'");
    }
    puts("        )\n        ;;");
}

static void zsh_print_group(void *user, const char *group) {
    (void)user;
    printf("    if [[ $command == '%s' ]]; then\n", group);
    zsh_print_list(group, false);
    puts("        if (( CURRENT == first )); then\n            _describe -t commands command offered\n            "
         "return\n"
         "        fi\n        command+=\" $words[first]\"\n        (( first++ ))\n    fi");
}

void completion_zsh(void) {
    puts("#compdef tenon\n"
         "# Completion of tenon for zsh, printed by `tenon reference --completion zsh`.\n\n"
         "_tenon_json() { compset -P '@' && _files }\n\n"
         "_tenon() {\n"
         "    local command=$words[2] context state line\n"
         "    local -i first=3 help=0\n"
         "    local -a offered specifications\n"
         "    local -A opt_args\n"
         "    if [[ $command == help ]] && (( CURRENT > 2 )); then\n"
         "        command=$words[3] first=4 help=1\n"
         "    fi\n"
         "    if (( CURRENT == first - 1 )); then");
    zsh_print_list(NULL, true);
    puts("        _describe -t commands command offered\n"
         "        (( help )) || _arguments '(- *)'{-h,--help}'[explain]' '(- *)'{-V,--version}'[print the version]'\n"
         "        return\n    fi");
    completion_each_group(zsh_print_group, NULL);
    puts("    (( help )) && return\n    specifications=(");
    zsh_print_options(global_options);
    puts("    )\n    case $command in");
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden) zsh_print_command(&commands[i]);
    puts("    *) return 1 ;;\n    esac\n"
         "    words=(\"tenon $command\" \"${(@)words[first,-1]}\")\n"
         "    (( CURRENT -= first - 2 ))\n"
         "    _arguments -s -S : \"${(@)specifications}\"\n"
         "}\n\n"
         "if [[ $funcstack[1] == _tenon ]]; then _tenon \"$@\"; else compdef _tenon tenon; fi");
}
