/*
 * command_kernel.h - what `tenon task`, `tenon artifact` and `tenon memory` share: they open a host, or connect to one,
 * call methods (task/get is the operation task.get of the state kernel), and print the result.
 *
 *     struct command_kernel kernel;
 *     int code = command_kernel_open(&kernel, arguments);
 *     if (!code && (code = command_kernel_call_take(&kernel, "task/get", given, &task)) == COMMAND_OK) show(task);
 *     return command_kernel_close(&kernel, code);
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_KERNEL_H
#define TENON_HOST_PROGRAM_COMMAND_KERNEL_H

#include "host/program/command.h"
#include "host/program/method_caller.h"

struct command_kernel {
    const struct arguments *arguments;
    struct method_caller *caller;
};

/* Opens the host, or connects to one. Returns COMMAND_OK; on failure prints an error and returns the exit code. */
int command_kernel_open(struct command_kernel *kernel, const struct arguments *arguments);
int command_kernel_close(struct command_kernel *kernel, int code);
/* Calls a method; takes `given`. *out is a new reference. Failures as above. */
int command_kernel_call_take(struct command_kernel *kernel, const char *method, tn_value given, tn_value *out);

/*
 * ---- Options as members of an operation's arguments ----
 *
 * They add a member to *given, or leave it unchanged if the option was not given. On failure they print an error and
 * return false.
 */

void command_kernel_set_text(tn_value *given, const char *member, const char *text);
/* The values of an option that may be repeated, as an array. */
void command_kernel_set_texts(const struct command_kernel *kernel, tn_value *given, const char *member,
                              const char *option);
bool command_kernel_set_json(const struct command_kernel *kernel, tn_value *given, const char *member,
                             const char *option);
bool command_kernel_set_number(const struct command_kernel *kernel, tn_value *given, const char *member,
                               const char *option);
/* The options --limit and --after of lists. */
bool command_kernel_set_page(const struct command_kernel *kernel, tn_value *given);
bool command_kernel_json(const struct command_kernel *kernel); /* --json is given */
/* Splits names that are separated by slashes; a new reference. */
tn_value command_kernel_path(const char *text);

/* ---- Printing ---- */

/* Prints as JSON with --json, otherwise one "name: value" line per member. Takes `value`; returns COMMAND_OK. */
int command_kernel_print_take(const struct command_kernel *kernel, tn_value value);
const char *command_kernel_text(tn_value object, const char *member); /* borrowed; "" if the member is not a string */
/* Prints a hint if the result is one page of a longer list. */
void command_kernel_more(tn_value result);

#endif
