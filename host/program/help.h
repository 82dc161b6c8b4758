/*
 * help.h - prints help texts from the table of commands.
 */
#ifndef TENON_HOST_PROGRAM_HELP_H
#define TENON_HOST_PROGRAM_HELP_H

#include <stdio.h>

struct command;

void help_overview(FILE *out);
void help_group(const char *group, FILE *out); /* lists the commands that begin with `group` */
void help_command(const struct command *command, FILE *out);

#endif
