/*
 * completion.h - what the shells' completions share: the values of options and operands, and lists of commands.
 *
 *     struct offer offer = offer_of_option(option);
 *     if (offer.value == VALUE_FILE) …
 *
 * The scripts are printed by completion_bash.c, completion_zsh.c and completion_fish.c.
 */
#ifndef TENON_HOST_PROGRAM_COMPLETION_H
#define TENON_HOST_PROGRAM_COMPLETION_H

#include "host/program/command.h"

enum value {
    VALUE_NONE, /* no operand, or the option is a flag */
    VALUE_ANY,  /* unknown: nothing is offered */
    VALUE_FILE,
    VALUE_FOLDER,
    VALUE_JSON, /* a file name after @ */
    VALUE_ONE,  /* one of a few words */
    VALUE_SOME, /* several of them, separated by commas */
};

struct offer {
    enum value value;
    const char *words; /* for ONE and SOME: the words, separated by | or ,; otherwise NULL */
};

struct offer offer_of_option(const struct command_option *option);
struct offer offer_of_operand(const struct command *command);
/* Prints the words of an offer, separated by spaces. */
void offer_print_words(const char *words);

/* Visits every first word ("run", "plugin") or, if a group is given, every second word of it ("list"). */
void completion_each(const char *group, void (*call)(void *user, const char *word, const char *summary), void *user);
/* Visits every group: "plugin". */
void completion_each_group(void (*call)(void *user, const char *group), void *user);

/* Prints a text in a shell's single quotes: ' becomes '\'', and characters of `special` get a backslash. */
void print_quoted(const char *text, const char *special);

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

#endif
