/*
 * main.c - the tenon program. Commands are rows of the table in command_table.c.
 */
#include "host/program/command.h"

int main(int argc, char **argv) { return command_main(argc, argv); }
