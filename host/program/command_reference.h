/*
 * command_reference.h - prints the parts of the reference to standard output, from the tables that the code uses.
 *
 *     reference_commands(NULL);  // Markdown
 *     manual_print();            // troff
 *
 * These functions do not report failures; command_close reports lost output.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_REFERENCE_H
#define TENON_HOST_PROGRAM_COMMAND_REFERENCE_H

#include <stddef.h>

struct command;
struct diagnostic_info;
struct document_key;
struct error_code;
struct finding_info;
struct config_key;
struct host;

struct reference_topic {
    const char *name, *summary;
    void (*print)(struct host *host);
};

/* Topics, as Markdown. Only those of components use the host. */
void reference_commands(struct host *host);
void reference_diagnostics(struct host *host);
void reference_adl(struct host *host);
void reference_expressions(struct host *host);
void reference_nodes(struct host *host);
void reference_tools(struct host *host);
void reference_models(struct host *host);
void reference_reducers(struct host *host);
void reference_plugins(struct host *host);
void reference_events(struct host *host);
void reference_methods(struct host *host);
void reference_annotations(struct host *host);
void reference_errors(struct host *host);
void reference_findings(struct host *host);
void reference_config(struct host *host);

/* Single entries. Those of a name print all entries of that name. */
void reference_command(const struct command *command);
void reference_diagnostic(const struct diagnostic_info *info);
void reference_error(const struct error_code *row);
void reference_finding(const struct finding_info *info);
void reference_function(const char *name);
void reference_key(const char *name);
/* The keys of a mapping; `edge` is the noun of "an edge", NULL if it is called as the key that contains it. */
struct document_mapping;
void reference_mapping(const struct document_mapping *mapping);
const char *reference_mapping_noun(const struct document_mapping *mapping);
void reference_config_key(const char *name);

/* The topics in the order of the index; NULL past the end. */
const struct reference_topic *reference_topic_at(size_t index);
/* "commands|diagnostics|…": their names. */
const char *reference_topics(void);
/* "list|adl|…": the operands of `tenon schema`. */
const char *schema_names(void);

/* The manual page tenon(1). */
void manual_print(void);
/* The completions of "bash", "zsh" or "fish". */
void completion_print(const char *shell);

#endif
