/*
 * main.c - the tenon program: the table of commands (table.c) does the rest.
 */
#include "host/command/command.h"

int main(int argc, char **argv) { return command_main(argc, argv); }
