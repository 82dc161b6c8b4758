/*
 * reference.c - `tenon reference`: the reference, printed from the tables the program itself uses.
 */
#include "host/command/command.h"
#include <stdio.h>

int command_reference(const struct arguments *arguments) {
    (void)arguments;
    for (size_t i = 0; i < command_count; i++) printf("%s: %s\n", commands[i].name, commands[i].summary);
    return COMMAND_OK;
}
