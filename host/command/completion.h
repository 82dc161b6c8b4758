/*
 * completion.h - what the shells' completions have in common: what an option or an operand may be, and lists of
 * commands.
 *
 *     struct offer offer = offer_of_option(option);
 *     if (offer.value == VALUE_FILE) …
 *
 * The scripts are printed by completion_bash.c, completion_zsh.c and completion_fish.c.
 */
#ifndef TENON_HOST_COMMAND_COMPLETION_H
#define TENON_HOST_COMMAND_COMPLETION_H

#include "host/command/command.h"

enum value {
    VALUE_NONE, /* there is no operand, or the option is a flag */
    VALUE_ANY,  /* nobody can say */
    VALUE_FILE,
    VALUE_FOLDER,
    VALUE_JSON, /* a file where it begins with @ */
    VALUE_ONE,  /* a word of a few */
    VALUE_SOME, /* several of them, with commas between */
};

struct offer {
    enum value value;
    const char *words; /* of ONE and SOME: with | or , between; else NULL */
};

struct offer offer_of_option(const struct option *option);
struct offer offer_of_operand(const struct command *command);
/* The words of an offer, with spaces between. */
void offer_print_words(const char *words);

/* Calls for every word that may be the first ("run", "plugin"), or, with a group, the second ("list"). */
void completion_each(const char *group, void (*call)(void *user, const char *word, const char *summary), void *user);
/* Calls for every group: "plugin". */
void completion_each_group(void (*call)(void *user, const char *group), void *user);

/* In single quotes of a shell: ' is written as '\'', and what is in `special` behind a backslash. */
void print_quoted(const char *text, const char *special);

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

#endif
