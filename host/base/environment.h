/*
 * environment.h - the environment of this process as a source of secrets, and what of it a child process receives.
 *
 * A variable whose value is a secret can be read by every process of the same user in /proc/PID/environ, and is
 * inherited by every child. environment_take moves the value to memory of the host, overwrites it where the kernel
 * shows it, and removes the variable. Only the program opts in, with environment_protect: the library never changes the
 * environment of the program that embeds it. While a protected process holds a secret it is not dumpable: other
 * processes of the user cannot read its memory, and it leaves no core file. TENON_DUMPABLE=1 keeps it dumpable, for a
 * debugger.
 *
 *     environment_protect();                       // in main, before there are other threads
 *     environment_take("OPENAI_API_KEY");          // as soon as tenon.yaml was read
 *     tn_value key = environment_get("OPENAI_API_KEY");
 *
 * The environment belongs to the process, so this state does, too. Thread: any; environment_protect and
 * environment_take: before the process has other threads.
 */
#ifndef TENON_HOST_BASE_ENVIRONMENT_H
#define TENON_HOST_BASE_ENVIRONMENT_H

#include "adl/value/value.h"
#include <stdbool.h>

/* The variables that every child process receives: HOME, PATH, LANG, TERM, USER, SHELL, TMPDIR. NULL-terminated. */
extern const char *const environment_basic[];
bool environment_is_basic(const char *name);

void environment_protect(void);
/*
 * Moves the value to memory of the host. Does nothing if the process is not protected, if the variable is not set, or
 * if it is one of environment_basic or begins with TENON_.
 */
void environment_take(const char *name);
/*
 * Returns the value, a new reference: a string, or bytes if it is not UTF-8. NULL if the variable is not set. If the
 * process is protected, the value is moved as by environment_take, except that an empty variable remains, because other
 * threads may read the environment.
 */
tn_value environment_get(const char *name);
/* The same without moving it: for a variable that is passed on, and is not known to be a secret. */
tn_value environment_peek(const char *name);
/* Moves the value, and leaves an empty variable, as environment_get does. */
void environment_overwrite(const char *name);
bool environment_has(const char *name);
bool environment_is_secret(const char *name); /* true if its value was moved */
/* The host now holds a secret, from any source: a protected process becomes not dumpable. */
void environment_hide_memory(void);

#endif
