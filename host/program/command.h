/*
 * command.h - what the commands of the tenon program share: the table of commands, parsed arguments, opening a host,
 * printing and signals.
 *
 * The help, the reference, the manual page and the shell completions are generated from the table (command_reference.c,
 * manual.c, completion.c). To add a command, add a row and a function. Commands write only results to standard output;
 * everything else goes to standard error.
 *
 *     int command_example(const struct arguments *arguments) {
 *         struct host *host = command_host(arguments);
 *         if (!host) return COMMAND_PLUGIN_PROBLEM;
 *         command_print(result);
 *         host_free(host);
 *         return COMMAND_OK;
 *     }
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_H
#define TENON_HOST_PROGRAM_COMMAND_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/json.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit codes, the same for every command. */
#define COMMAND_OK             0
#define COMMAND_RUN_FAILED     1
#define COMMAND_USAGE          2
#define COMMAND_INVALID        3 /* a document has errors */
#define COMMAND_PLUGIN_PROBLEM 4
#define COMMAND_WAITING        5 /* a run waits for an answer */
#define COMMAND_CANCELLED      130

/* Defaults of options, which the help names with COMMAND_TEXT_OF. */
#define COMMAND_THREADS       50  /* thread list --limit */
#define COMMAND_CHECKPOINTS   20  /* thread history --limit */
#define COMMAND_CLAIM_SECONDS 300 /* task claim and task renew --ttl */
#define COMMAND_DRAIN_SECONDS 10  /* serve --drain */

/* The text of a macro's value. */
#define COMMAND_TEXT_OF(macro)       COMMAND_TEXT_OF_VALUE(macro)
#define COMMAND_TEXT_OF_VALUE(value) #value

struct diagnostics;
struct host;
struct loops;
struct source;

struct command_option {
    const char *name;     /* "input": --input; NULL ends a table */
    const char *argument; /* the name of its argument, "JSON"; NULL for a flag */
    char letter;          /* short form: 'i' for -i; 0 when the option has only a name */
    const char *help;
    const char *choices; /* "text|json": one of these words; "values,tasks": any of them; NULL allows any value */
};

/* An environment variable that the program reads. */
struct environment_variable {
    const char *name, *meaning;
};

struct exit_code {
    int code;
    const char *name, *meaning; /* "run failed"; a sentence */
};

/* Parsed options and operands. All texts are borrowed from argv. */
struct arguments;

struct command {
    const char *name;                     /* "run", or "plugin list" for a subcommand */
    const char *operands;                 /* "FILE", "FILE…", "[EXPR]" */
    const char *summary;                  /* one line */
    const char *details;                  /* one or more paragraphs, Markdown */
    const char *example;                  /* a terminal session; each command line begins with "$ " */
    const struct command_option *options; /* NULL when the command has only those of all commands */
    uint32_t operands_min, operands_max;  /* the fewest and the most operands; UINT32_MAX: any number */
    int (*run)(const struct arguments *arguments);
    bool hidden;                    /* not listed */
    const char *instead_of_connect; /* for a command without --connect: what to do in a host that runs; may be NULL */
};

/* The table, in the order of the help, and the options that every command accepts. */
extern const struct command commands[];
extern const size_t command_count;
extern const struct command_option global_options[];
extern const struct exit_code exit_codes[];
extern const size_t exit_code_count;
extern const struct environment_variable environment_variables[];
extern const size_t environment_variable_count;

/* Installs handlers that print a message if the process crashes on any OS thread (crash.c). */
void command_report_crashes(void);

/* Each returns the exit code. */
int command_run(const struct arguments *arguments);
int command_chat(const struct arguments *arguments);
int command_replay(const struct arguments *arguments);
int command_test(const struct arguments *arguments);
int command_evaluate(const struct arguments *arguments);
int command_thread_list(const struct arguments *arguments);
int command_thread_show(const struct arguments *arguments);
int command_thread_history(const struct arguments *arguments);
int command_thread_state(const struct arguments *arguments);
int command_thread_fork(const struct arguments *arguments);
int command_thread_answer(const struct arguments *arguments);
int command_thread_update(const struct arguments *arguments);
int command_thread_delete(const struct arguments *arguments);
int command_thread_export(const struct arguments *arguments);
int command_thread_import(const struct arguments *arguments);
int command_thread_gc(const struct arguments *arguments);
int command_check(const struct arguments *arguments);
int command_graph(const struct arguments *arguments);
int command_fmt(const struct arguments *arguments);
int command_schema(const struct arguments *arguments);
int command_eval(const struct arguments *arguments);
int command_task_create(const struct arguments *arguments);
int command_task_list(const struct arguments *arguments);
int command_task_show(const struct arguments *arguments);
int command_task_update(const struct arguments *arguments);
int command_task_claim(const struct arguments *arguments);
int command_task_renew(const struct arguments *arguments);
int command_task_complete(const struct arguments *arguments);
int command_task_fail(const struct arguments *arguments);
int command_task_release(const struct arguments *arguments);
int command_task_wake(const struct arguments *arguments);
int command_task_watch(const struct arguments *arguments);
int command_ask(const struct arguments *arguments);
int command_work(const struct arguments *arguments);
int command_schedule_list(const struct arguments *arguments);
int command_schedule_run(const struct arguments *arguments);
int command_key_create(const struct arguments *arguments);
int command_key_list(const struct arguments *arguments);
int command_key_revoke(const struct arguments *arguments);
int command_artifact_write(const struct arguments *arguments);
int command_artifact_read(const struct arguments *arguments);
int command_artifact_list(const struct arguments *arguments);
int command_artifact_search(const struct arguments *arguments);
int command_memory_put(const struct arguments *arguments);
int command_memory_get(const struct arguments *arguments);
int command_memory_search(const struct arguments *arguments);
int command_memory_delete(const struct arguments *arguments);
int command_model_list(const struct arguments *arguments);
/* True if a model could not be opened; other errors of its methods are those of its answer. */
bool command_model_is_closed(const struct error *error);
int command_model_embed(const struct arguments *arguments);
int command_model_test(const struct arguments *arguments);
int command_node_list(const struct arguments *arguments);
int command_node_show(const struct arguments *arguments);
int command_tool_list(const struct arguments *arguments);
int command_tool_show(const struct arguments *arguments);
int command_tool_search(const struct arguments *arguments);
int command_tool_call(const struct arguments *arguments);
int command_plugin_list(const struct arguments *arguments);
int command_plugin_show(const struct arguments *arguments);
int command_plugin_new(const struct arguments *arguments);
int command_plugin_check(const struct arguments *arguments);
int command_plugin_reset(const struct arguments *arguments);
int command_plugin_load(const struct arguments *arguments);
int command_plugin_unload(const struct arguments *arguments);
int command_plugin_install(const struct arguments *arguments);
int command_plugin_remove(const struct arguments *arguments);
int command_plugin_upgrade(const struct arguments *arguments);
int command_plugin_serve(const struct arguments *arguments);
int command_plugin_launch(const struct arguments *arguments);
int command_pack_build(const struct arguments *arguments);
int command_pack_keygen(const struct arguments *arguments);
int command_pack_sign(const struct arguments *arguments);
int command_pack_push(const struct arguments *arguments);
int command_pack_pull(const struct arguments *arguments);
int command_pack_verify(const struct arguments *arguments);
int command_pack_install(const struct arguments *arguments);
int command_pack_list(const struct arguments *arguments);
int command_pack_remove(const struct arguments *arguments);
int command_call(const struct arguments *arguments);
int command_serve(const struct arguments *arguments);
int command_lsp(const struct arguments *arguments);
int command_acp(const struct arguments *arguments);
int command_store_copy(const struct arguments *arguments);
int command_store_migrate(const struct arguments *arguments);
int command_doctor(const struct arguments *arguments);
int command_reference(const struct arguments *arguments);

/* ---- Arguments ---- */

const char *argument_command_name(const struct arguments *arguments); /* "task watch" */
bool argument_given(const struct arguments *arguments, const char *option);
/* The value of the option's last occurrence, or NULL if the option was not given. */
const char *argument_text(const struct arguments *arguments, const char *option);
size_t argument_count(const struct arguments *arguments, const char *option);
const char *argument_at(const struct arguments *arguments, const char *option, size_t index);
size_t operand_count(const struct arguments *arguments);
const char *operand_at(const struct arguments *arguments, size_t index);
/*
 * Stores an option's number, or `otherwise` if the option was not given. If the value is not a number from `min` to
 * `max`, prints an error and returns false.
 */
bool argument_number(const struct arguments *arguments, const char *option, int64_t min, int64_t max, int64_t otherwise,
                     int64_t *out);

/* Parses argv[1…] and runs the command; returns the exit code. */
int command_main(int argc, char **argv);

/* ---- What commands share ---- */

/* Prints one line on standard error, "tenon: …", and returns `code`. Control characters are replaced. */
int command_report(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for an error, which the caller still owns. An unusable store makes COMMAND_RUN_FAILED
 * COMMAND_PLUGIN_PROBLEM. */
int command_report_error(int code, const struct error *error);
/* The same two without an exit code, for messages that do not end the command. */
void command_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void command_warn_error(const struct error *error);
/* Prints formatted text. Control characters except line ends are replaced, so the text cannot control the terminal. */
void command_printf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same on one line, and a line end: for rows of a list, whose texts come from plugins and services. */
void command_print_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The path of a folder of the installation, share/tenon/NAME, found from the running program; NULL if it does not
 * exist. Free it with mem_free. */
char *command_data_folder(const char *name);
/* For a command whose input is a terminal, but which an editor starts: prints an error, and returns COMMAND_USAGE. */
int command_refuse_terminal(const char *protocol);
/* Opens a host with the global options. Returns NULL and sets `error` on failure. */
struct host *command_open(const struct arguments *arguments, struct error *error);
/* The same for a host that stays up, so that plugins may be loaded later. `config` may be NULL, or another
 * configuration. */
struct host *command_open_served(const struct arguments *arguments, const char *config, struct error *error);
/* The same, but its log has only errors, as with --quiet. */
struct host *command_open_quiet(const struct arguments *arguments, struct error *error);
/* The same, but prints the error on failure. */
struct host *command_host(const struct arguments *arguments);
/* The same, for a command about a plugin that need not be in the search path: tenon.yaml may have a section for it. */
struct host *command_host_for_plugin(const struct arguments *arguments, const char *id);
/*
 * The number of loops that --loops or tenon.yaml ask for, which the host is prepared for (host_set_loops): call it
 * before documents are opened. False after a message.
 */
bool command_loops_count(const struct arguments *arguments, struct host *host, uint32_t *count);
/* Opens the other loops of a host that command_host has opened; to be freed with loops_free before the host. */
struct loops *command_loops(const struct arguments *arguments, struct host *host, uint32_t count, struct error *error);
/* Opens them for the server of the host, which frees them. Returns an exit code. */
int command_server_loops(const struct arguments *arguments, struct host *host);
/* Reads JSON, "@file" or "-". Returns NULL and sets `error` on failure. `what` names the option in messages. */
tn_value command_json(const struct arguments *arguments, const char *text, const char *what, struct error *error);
/*
 * Reads a whole file, or standard input for "-", of at most COMMAND_FILE_MAX bytes. Returns false and sets `error` on
 * failure. Free *text with mem_free.
 */
#define COMMAND_FILE_MAX (64u << 20)
bool command_read_file(const char *path, char **text, size_t *length, struct error *error);
/* The same for a file that the command line names as data, which may also be `pack:NAME/FILE` or `tenon:NAME`. */
bool command_read_named(const struct arguments *arguments, const char *name, char **text, size_t *length,
                        struct error *error);
/*
 * Reads the file of an exported thread, which may be much larger: at most COMMAND_EXPORTED_MAX bytes, with a value for
 * each 8 of them. *exported is a new reference. Returns a status.
 */
#define COMMAND_EXPORTED_MAX ((size_t)16 << 30)
int32_t command_read_exported(const struct arguments *arguments, const char *name, tn_value *exported,
                              struct error *error);
/* The path of such a file, whose bytes have been verified; any other name is copied. Free it with mem_free; NULL and
 * `error` on failure. */
char *command_locate(const struct arguments *arguments, const char *name, struct error *error);
/* Sets `error` to a message of json_read about one line of a file, with the position in the file. */
int32_t command_line_error(const char *path, size_t line, const char *message, struct error *error);
/* Reads a document; "-" is standard input, read as YAML. Returns NULL and sets `error` on failure. */
struct source *command_source(const char *path, struct error *error);
struct host;
/*
 * The same for a document that is run, checked or drawn, which may also be `pack:NAME/FILE` or `tenon:NAME`. `host` may
 * be NULL: then a host is opened if it is needed.
 */
struct source *command_document(const struct arguments *arguments, struct host *host, const char *path,
                                struct error *error);
/*
 * Prints data: as it is into a pipe or a file; on a terminal in the form of terminal_text, so that it cannot control
 * the terminal. command_printf is for everything else, and always replaces what is not safe.
 */
void command_put(FILE *out, const char *text, size_t length);
/* The same for a text on standard output, and a line end. */
void command_put_line(tn_value text);
/* The same for a line of JSON, and a line end. On a terminal it is the same JSON with more escapes. */
void command_put_json(FILE *out, tn_value value, enum json_style style);
/* Prints a value as JSON and a line end on standard output: indented on a terminal, otherwise compact. */
void command_print(tn_value value);
/* Returns a member's text, borrowed; `otherwise` if the member is missing or is not a string. */
const char *command_text(tn_value object, const char *key, const char *otherwise);
/* Flushes standard output. Returns false if any output has been lost. */
bool command_flush(void);
/*
 * Every command ends with it: flushes standard output and returns the exit code. If output was lost, prints an error
 * and turns COMMAND_OK into COMMAND_RUN_FAILED.
 */
int command_close(int code);
bool command_colour(const struct arguments *arguments, int descriptor);
/* Prints diagnostics on standard error in the style of compilers, or as JSON on standard output if `json` is true. */
void command_print_diagnostics(const struct arguments *arguments, struct diagnostics *found, bool json);
/* True after the first SIGINT (Ctrl-C). A second one ends the process. */
bool command_got_sigint(void);
/* True after the first SIGTERM: end at the next convenient point. A second SIGTERM counts as SIGINT. */
bool command_got_sigterm(void);
bool command_got_signal(void); /* one of them */
/* Makes command_got_sigint false again: the next Ctrl-C counts as the first one. */
void command_reset_sigint(void);
/*
 * Limits the end of a host that stays up, even if its loop is stuck, for example in a plugin. The process exits with 1
 * if the end has not begun (command_end_began) `seconds` after the first signal, or 1 second after the second one; or
 * if it takes 15 seconds longer than that, or than a later signal.
 */
void command_limit_end(unsigned seconds);
void command_end_began(void);
/* Waits until input is available on a terminal. Returns false if a watched signal arrives first. */
bool command_wait_line(int descriptor);
/* Handles SIGINT and SIGTERM as above and wakes the host's loop. Ignores SIGPIPE. */
void command_watch_signals(struct host *host);
/* The same for a loop without a host. */
struct loop;
void command_watch_signals_in(struct loop *loop);
/* The same as command_watch_signals; also sets *flag when the first signal arrives. */
void command_watch_signals_flag(struct host *host, _Atomic bool *flag);

#endif
