/*
 * completion_fish.c - the completion for fish: one line per word, option and kind of operand.
 */
#include "host/program/completion.h"
#include <stdio.h>

#define SPECIAL "\\" /* characters with a meaning inside single quotes */

static const char functions[] =
    "# Completion of tenon for fish, printed by `tenon reference --completion fish`.\n"
    "\n"
    "# Whether the words before the cursor's are these, and no more.\n"
    "function __tenon_at\n"
    "    set -l given (commandline -opc)\n"
    "    test \"$given[2..-1]\" = \"$argv\"\n"
    "end\n"
    "\n"
    "# Whether the command line is of this command.\n"
    "function __tenon_on\n"
    "    set -l given (commandline -opc)\n"
    "    set -l last (math (count $argv) + 1)\n"
    "    test (count $given) -ge $last; and test \"$given[2..$last]\" = \"$argv\"\n"
    "end\n"
    "\n"
    "function __tenon_json\n"
    "    set -l word (string replace -r -- '^--[^=]*=' '' (commandline -ct))\n"
    "    string match -q -- '@*' $word; and printf '@%s\\n' (__fish_complete_path (string sub -s 2 -- $word))\n"
    "end\n"
    "\n"
    "complete -c tenon -f\n"
    "complete -c tenon -n '__tenon_at' -s h -l help -d 'explain'\n"
    "complete -c tenon -n '__tenon_at' -s V -l version -d 'print the version'\n"
    "complete -c tenon -n '__tenon_at' -a help -d 'explain a command'\n";

static void fish_print_at(const char *before, const char *group, const char *word, const char *summary) {
    printf("complete -c tenon -n '__tenon_at%s%s%s' -a %s -d '", before, group ? " " : "", group ? group : "", word);
    print_quoted(summary, SPECIAL);
    puts("'");
}

/* `user` points to the group's name, or is NULL. */
static void fish_print_word(void *user, const char *word, const char *summary) {
    const char *const *group = user;
    fish_print_at("", group ? *group : NULL, word, summary);
    fish_print_at(" help", group ? *group : NULL, word, summary);
}

static void fish_print_group(void *user, const char *group) {
    (void)user;
    completion_each(group, fish_print_word, &group);
}

static void fish_print_offer(struct offer offer) {
    switch (offer.value) {
    case VALUE_NONE: break;
    case VALUE_FILE: fputs(" -r -F", stdout); break;
    case VALUE_FOLDER: fputs(" -x -a '(__fish_complete_directories)'", stdout); break;
    case VALUE_JSON: fputs(" -x -a '(__tenon_json)'", stdout); break;
    case VALUE_ONE:
        fputs(" -x -a '", stdout);
        offer_print_words(offer.words);
        putchar('\'');
        break;
    case VALUE_SOME:
        fputs(" -x -a '(__fish_append , ", stdout);
        offer_print_words(offer.words);
        fputs(")'", stdout);
        break;
    default: fputs(" -x", stdout);
    }
}

static void fish_print_options(const struct command *command, const struct command_option *options) {
    for (; options && options->name; options++) {
        printf("complete -c tenon -n '__tenon_on %s' -l %s", command->name, options->name);
        if (options->letter) printf(" -s %c", options->letter);
        fish_print_offer(offer_of_option(options));
        fputs(" -d '", stdout);
        print_quoted(options->help, SPECIAL);
        puts("'");
    }
}

static void fish_print_operands(const struct command *command) {
    struct offer offer = offer_of_operand(command);
    if (offer.value == VALUE_FILE) printf("complete -c tenon -n '__tenon_on %s' -F\n", command->name);
    if (offer.value != VALUE_ONE) return;
    printf("complete -c tenon -n '__tenon_on %s' -a '", command->name);
    offer_print_words(offer.words);
    puts("'");
}

void completion_fish(void) {
    fputs(functions, stdout);
    completion_each(NULL, fish_print_word, NULL);
    completion_each_group(fish_print_group, NULL);
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i].hidden) continue;
        fish_print_options(&commands[i], commands[i].options);
        fish_print_options(&commands[i], global_options);
        fish_print_operands(&commands[i]);
    }
}
