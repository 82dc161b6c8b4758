/*
 * reference.h - the parts of the reference: each prints its own to standard output, from the tables that the code uses.
 *
 *     reference_commands();      // Markdown
 *     manual_print();            // troff
 *
 * Nothing here fails: what is printed is constant, and command_close says where it could not be written.
 */
#ifndef TENON_HOST_COMMAND_REFERENCE_H
#define TENON_HOST_COMMAND_REFERENCE_H

#include <stddef.h>

/* Topics, as Markdown. */
void reference_commands(void);
void reference_diagnostics(void);
void reference_adl(void);
void reference_expressions(void);
void reference_errors(void);
void reference_config(void);

/* "commands|diagnostics|…": what the operand of `tenon reference` may be, apart from codes. */
const char *reference_topics(void);

/* The manual page tenon(1). */
void manual_print(void);
/* The completions of "bash", "zsh" or "fish". */
void completion_print(const char *shell);

#endif
