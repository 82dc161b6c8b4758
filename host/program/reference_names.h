/*
 * reference_names.h - `tenon reference NAME`: finds what has a name, in all tables and in the manifests of plugins.
 *
 *     return reference_print_name(arguments, "llm");          // or "node:llm"
 */
#ifndef TENON_HOST_PROGRAM_REFERENCE_NAMES_H
#define TENON_HOST_PROGRAM_REFERENCE_NAMES_H

struct arguments;

/* Prints the entry, or the list of all entries that have this name. Returns the exit code. */
int reference_print_name(const struct arguments *arguments, const char *name);

#endif
