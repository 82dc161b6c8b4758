/*
 * kernel.h - what `tenon task`, `tenon artifact` and `tenon memory` share: a host, its store, an operation, an answer.
 *
 *     struct kernel kernel;
 *     int code = kernel_open(&kernel, arguments);
 *     if (!code && (code = kernel_ask_take(&kernel, "task.get", given, &task)) == COMMAND_OK) show(task);
 *     return kernel_close(&kernel, code);
 */
#ifndef TENON_HOST_COMMAND_KERNEL_H
#define TENON_HOST_COMMAND_KERNEL_H

#include "host/command/command.h"
#include "host/state/state.h"

struct kernel {
    const struct arguments *arguments;
    struct host *host; /* NULL where it could not be opened */
    struct state state;
};

/* COMMAND_OK, or the exit code; said on standard error. */
int kernel_open(struct kernel *kernel, const struct arguments *arguments);
int kernel_close(struct kernel *kernel, int code);
/* Likewise. *out is a new reference. */
int kernel_ask_take(struct kernel *kernel, const char *operation, tn_value given, tn_value *out);

/* ---- Options to members of an operation's arguments; *given is replaced. False: said on standard error ---- */

void kernel_set_text(tn_value *given, const char *member, const char *text); /* NULL: nothing */
/* An option that may be repeated, as an array; nothing where it is not given. */
void kernel_set_texts(const struct kernel *kernel, tn_value *given, const char *member, const char *option);
bool kernel_set_json(const struct kernel *kernel, tn_value *given, const char *member, const char *option);
bool kernel_set_number(const struct kernel *kernel, tn_value *given, const char *member, const char *option);
/* limit, after, reverse: of lists. */
bool kernel_set_page(const struct kernel *kernel, tn_value *given);
bool kernel_json(const struct kernel *kernel); /* --json is given */
/* The names that slashes separate. */
tn_value kernel_path(const char *text);

/* ---- Printing ---- */

/* "name: value" for each member: texts as they are, anything else as JSON. */
void kernel_show(tn_value object);
/* As JSON with --json, else by kernel_show. Takes it; returns COMMAND_OK. */
int kernel_print_take(const struct kernel *kernel, tn_value value);
const char *kernel_text(tn_value object, const char *member); /* borrowed; "" where it is no text */
/* Says that there are more, where there are. */
void kernel_more(tn_value result);

#endif
