/*
 * command_run.h - what `tenon run` shares between command_run.c (the document), command_run_single.c (one run),
 * command_run_batch.c (batches), command_run_sent.c (--connect) and other commands that open documents or print events.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_RUN_H
#define TENON_HOST_PROGRAM_COMMAND_RUN_H

#include "host/engine/graph/run.h"
#include "host/program/command.h"

#define RUN_DRAIN_MS 10000 /* time from SIGTERM until the run is cancelled */

struct graph;
struct host;

/* Runs the graph once, with the options of the command line added to `options`. Returns the exit code. */
int run_single(const struct arguments *arguments, struct host *host, struct graph *graph,
               const struct run_options *options);
/* The same for each line of the file that --batch names. */
int run_batch(const struct arguments *arguments, struct host *host, struct graph *graph,
              const struct run_options *options);
/* The same for one run in the host that --connect names. */
int command_run_sent(const struct arguments *arguments);
/*
 * Builds a graph from the document that the first operand names. On failure, prints an error, sets *code to the exit
 * code and returns NULL.
 */
struct graph *command_open_graph(const struct arguments *arguments, struct host *host, int *code);
/* The same for another document. */
struct command_graph_options {
    const char *path;   /* of the document */
    const char *binder; /* what binds models to roles, for an error: "--model" */
    bool quiet;         /* print no warnings */
};
struct graph *command_open_graph_file(const struct arguments *arguments, struct host *host,
                                      const struct command_graph_options *options, int *code);
/*
 * The exit code for diagnostics with errors: COMMAND_PLUGIN_PROBLEM if the document itself is valid, and all errors are
 * about plugins that cannot be used; otherwise COMMAND_INVALID.
 */
int command_code_of_diagnostics(const struct diagnostics *found);
/* True if the code of the error says that a plugin cannot be used. */
bool command_is_plugin_error(const struct error *error);
/* Prints a value as compact JSON and a line end on standard output. */
void run_print_line(tn_value value);

#endif
