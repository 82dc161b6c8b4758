/*
 * command.h - what every command of the tenon program has: a row in a table, parsed arguments, a host, a way out.
 *
 * The table is the program's whole knowledge of its commands: help, the reference, the man page and the completions of
 * three shells are made from it (reference.c, manual.c, completion.c), so they cannot be wrong. Adding a command is
 * adding a row.
 *
 * Standard output is for results only; everything else goes to standard error.
 */
#ifndef TENON_HOST_COMMAND_H
#define TENON_HOST_COMMAND_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
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

struct diagnostics;
struct host;
struct source;

struct option {
    const char *name;     /* "input": --input; NULL ends a table */
    char letter;          /* 'i': -i; 0: none */
    const char *argument; /* what its argument is called, "JSON"; NULL: a flag */
    const char *help;
    const char *choices; /* "text|json": one of these words; "values,tasks": some of them; NULL: anything */
};

/* What the program reads of the environment. */
struct variable {
    const char *name, *meaning;
};

struct exit_code {
    int code;
    const char *name, *meaning; /* "run failed"; a sentence */
};

/* Options and operands as given. Everything in it is borrowed from argv. */
struct arguments;

struct command {
    const char *name;     /* "run"; of a subcommand "plugin list" */
    const char *operands; /* "FILE", "FILE…", "[EXPR]" */
    const char *summary;  /* one line */
    const char *details;  /* a paragraph or several, Markdown */
    const char *example;  /* lines of a terminal; each command line begins with "$ " */
    const struct option *options;
    uint32_t operands_min, operands_max;
    int (*run)(const struct arguments *arguments);
    bool hidden; /* not listed */
};

/* The table, in the order of the help; the global options that every command takes. */
extern const struct command commands[];
extern const size_t command_count;
extern const struct option global_options[];
extern const struct exit_code exit_codes[];
extern const size_t exit_code_count;
extern const struct variable environment[];
extern const size_t environment_count;

void command_tell_crashes(void); /* from here on, in the thread that calls it or any other */

/* Each returns the exit code. */
int command_run(const struct arguments *arguments);
int command_chat(const struct arguments *arguments);
int command_replay(const struct arguments *arguments);
int command_test(const struct arguments *arguments);
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
int command_artifact_write(const struct arguments *arguments);
int command_artifact_read(const struct arguments *arguments);
int command_artifact_list(const struct arguments *arguments);
int command_artifact_search(const struct arguments *arguments);
int command_memory_put(const struct arguments *arguments);
int command_memory_get(const struct arguments *arguments);
int command_memory_search(const struct arguments *arguments);
int command_memory_delete(const struct arguments *arguments);
int command_model_list(const struct arguments *arguments);
int command_model_test(const struct arguments *arguments);
int command_tool_list(const struct arguments *arguments);
int command_tool_show(const struct arguments *arguments);
int command_tool_search(const struct arguments *arguments);
int command_tool_call(const struct arguments *arguments);
int command_plugin_list(const struct arguments *arguments);
int command_plugin_show(const struct arguments *arguments);
int command_plugin_new(const struct arguments *arguments);
int command_plugin_check(const struct arguments *arguments);
int command_plugin_upgrade(const struct arguments *arguments);
int command_plugin_serve(const struct arguments *arguments);
int command_pack_build(const struct arguments *arguments);
int command_pack_keygen(const struct arguments *arguments);
int command_pack_sign(const struct arguments *arguments);
int command_pack_verify(const struct arguments *arguments);
int command_pack_install(const struct arguments *arguments);
int command_pack_list(const struct arguments *arguments);
int command_pack_remove(const struct arguments *arguments);
int command_doctor(const struct arguments *arguments);
int command_reference(const struct arguments *arguments);

/* ---- Arguments ---- */

bool argument_given(const struct arguments *arguments, const char *option);
const char *argument_text(const struct arguments *arguments, const char *option); /* the last; NULL where not given */
size_t argument_count(const struct arguments *arguments, const char *option);
const char *argument_at(const struct arguments *arguments, const char *option, size_t index);
size_t operand_count(const struct arguments *arguments);
const char *operand_at(const struct arguments *arguments, size_t index);
/* A number of an option between two bounds, `otherwise` where not given; false: said on standard error. */
bool argument_number(const struct arguments *arguments, const char *option, int64_t min, int64_t max, int64_t otherwise,
                     int64_t *out);
const struct command *arguments_command(const struct arguments *arguments);

/* Whether `word` of `length` bytes is one of the words of `choices`. */
bool choices_have(const char *choices, const char *word, size_t length);

/* Parses argv[1…] and runs; returns the exit code. */
int command_main(int argc, char **argv);

/* ---- What commands share ---- */

/* One line on standard error, "tenon: …"; returns `code`. */
int command_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Formatted text, safe for a terminal whatever it holds; line ends stay. */
void command_say(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
int command_fail_error(int code, const struct error *error); /* the same for an error; empties nothing */
/* Opens the host as the global options say; NULL with error. */
struct host *command_open(const struct arguments *arguments, struct error *error);
/* The same; NULL: said on standard error. */
struct host *command_host(const struct arguments *arguments);
/* JSON, "@file" or "-"; NULL with error. `what` names the option in messages. */
tn_value command_json(const char *text, const char *what, struct error *error);
/* A whole file, or standard input for "-"; bounded by COMMAND_FILE_MAX; false with error. Freed with mem_free. */
#define COMMAND_FILE_MAX (64u << 20)
bool command_read_file(const char *path, char **text, size_t *length, struct error *error);
/* What json_read says of one line of a file, with the place in the file instead of the place in the line. */
int32_t command_line_error(const char *path, size_t line, const char *message, struct error *error);
/* A document, by the name that the user gave it; "-" is standard input, which is YAML. NULL with error. */
struct source *command_source(const char *path, struct error *error);
/* Prints a value as JSON and a line end on standard output: indented on a terminal, else compact. */
void command_print(tn_value value);
/* A member's text, borrowed; `otherwise` where there is none, or it is no text. */
const char *command_text(tn_value object, const char *key, const char *otherwise);
/* False where anything written to standard output has been lost; of what is printed piece by piece. */
bool command_flush(void);
/* The last thing a command does: `code`, or, where output was lost and all else is well, COMMAND_RUN_FAILED; says so.
 */
int command_close(int code);
bool command_colour(const struct arguments *arguments, int descriptor);
/* Prints diagnostics on standard error as compilers do, or with `json` on standard output. */
void command_print_diagnostics(const struct arguments *arguments, struct diagnostics *found, bool json);
/* True once after Ctrl-C (SIGINT) or SIGTERM; a second one ends the process. */
bool command_interrupted(void);
bool command_terminated(void); /* SIGTERM has come: end when it is convenient; a second one counts as an interrupt */
void command_forget_interrupt(void); /* Ctrl-C has been heeded: the next one is a first one again */
/*
 * Before a line is read from a terminal, where nothing of it has been read yet: waits until there is one. False: a
 * signal that is watched came first, however short before.
 */
bool command_wait_line(int descriptor);
void command_watch_signals(struct host *host);
/* The same, and sets *flag at the first. */
void command_watch_signals_flag(struct host *host, _Atomic bool *flag);

#endif
