/*
 * completion.c - the completions that bash, zsh and fish offer after `tenon`, from the table of commands.
 *
 * The values of an option or operand follow from its choices, or from its name in the table: FILE, PATH, DIR and JSON,
 * which can be `@FILE`. For other names nothing is offered.
 */
#include "host/program/completion.h"
#include "host/program/command_reference.h"
#include "host/server/method.h"
#include <stdio.h>
#include <string.h>

#define GROUP_MAX 32 /* bytes of a first word */

/* ---- Offers ---- */

static struct offer offer_of_name(const char *name) {
    static const struct {
        const char *name;
        enum value value;
    } known[] = {{"FILE", VALUE_FILE}, {"PATH", VALUE_FILE}, {"DIR", VALUE_FOLDER}, {"JSON", VALUE_JSON}};
    size_t length = 0; /* length of the name without "]" and "…" */
    while (name[length] == '=' || (name[length] >= 'A' && name[length] <= 'Z')) length++;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0)
            return (struct offer){known[i].value, NULL};
    return (struct offer){VALUE_ANY, NULL};
}

struct offer offer_of_option(const struct command_option *option) {
    if (!option->argument) return (struct offer){VALUE_NONE, NULL};
    if (option->choices) return (struct offer){strchr(option->choices, '|') ? VALUE_ONE : VALUE_SOME, option->choices};
    return offer_of_name(option->argument);
}

struct offer offer_of_operand(const struct command *command) {
    if (!*command->operands) return (struct offer){VALUE_NONE, NULL};
    const char *name = command->operands + (*command->operands == '[');
    if (strncmp(name, "TOPIC", strlen("TOPIC")) == 0) return (struct offer){VALUE_ONE, reference_topics()};
    if (strncmp(name, "SCHEMA", strlen("SCHEMA")) == 0) return (struct offer){VALUE_ONE, schema_names()};
    if (strncmp(name, "METHOD", strlen("METHOD")) == 0) return (struct offer){VALUE_ONE, method_names()};
    return offer_of_name(name);
}

void offer_print_words(const char *words) {
    for (; *words; words++) putchar(*words == '|' || *words == ',' ? ' ' : *words);
}

/* ---- Commands ---- */

/* The length of the first of two words; 0 if there is only one word. */
static size_t group_length(const char *name) {
    const char *space = strchr(name, ' ');
    return space ? (size_t)(space - name) : 0;
}

/* True if the command is the first listed one of its group. */
static bool opens_group(const struct command *command) {
    size_t length = group_length(command->name);
    if (command->hidden || !length) return false;
    for (const struct command *before = commands; before < command; before++)
        if (!before->hidden && group_length(before->name) == length && !memcmp(before->name, command->name, length))
            return false;
    return true;
}

void completion_each(const char *group, void (*call)(void *user, const char *word, const char *summary), void *user) {
    for (size_t i = 0; i < command_count; i++) {
        const struct command *command = &commands[i];
        size_t length = group_length(command->name);
        char word[GROUP_MAX];
        if (command->hidden) continue;
        if (group) {
            if (length && strlen(group) == length && memcmp(command->name, group, length) == 0)
                call(user, command->name + length + 1, command->summary);
        } else if (!length) {
            call(user, command->name, command->summary);
        } else if (opens_group(command)) {
            snprintf(word, sizeof word, "%.*s", (int)length, command->name);
            call(user, word, "a group of commands");
        }
    }
}

void completion_each_group(void (*call)(void *user, const char *group), void *user) {
    for (size_t i = 0; i < command_count; i++) {
        char word[GROUP_MAX];
        if (!opens_group(&commands[i])) continue;
        snprintf(word, sizeof word, "%.*s", (int)group_length(commands[i].name), commands[i].name);
        call(user, word);
    }
}

void print_quoted(const char *text, const char *special) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            printf("%s%c", strchr(special, *text) ? "\\" : "", *text);
    }
}

/* ---- The shells ---- */

void completion_print(const char *shell) {
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", completion_bash}, {"zsh", completion_zsh}, {"fish", completion_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].shell, shell) == 0) shells[i].print();
}
