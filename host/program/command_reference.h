/*
 * command_reference.h - prints the parts of the reference to standard output, from the tables that the code uses.
 *
 *     reference_commands();      // Markdown
 *     manual_print();            // troff
 *
 * These functions do not report failures; command_close reports lost output.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_REFERENCE_H
#define TENON_HOST_PROGRAM_COMMAND_REFERENCE_H

#include <stddef.h>

/* Topics, as Markdown. */
void reference_commands(void);
void reference_diagnostics(void);
void reference_adl(void);
void reference_expressions(void);
void reference_errors(void);
void reference_config(void);

/* "commands|diagnostics|…": the operands of `tenon reference` that are not codes. */
const char *reference_topics(void);
/* "list|adl|…": the operands of `tenon schema`. */
const char *schema_names(void);

/* The manual page tenon(1). */
void manual_print(void);
/* The completions of "bash", "zsh" or "fish". */
void completion_print(const char *shell);

#endif
