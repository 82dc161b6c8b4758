/*
 * run.h - the two halves of `tenon run`: run.c (the document, batches) and run_single.c (one run).
 */
#ifndef TENON_COMMAND_RUN_H
#define TENON_COMMAND_RUN_H

#include "host/command/command.h"
#include "host/engine/run.h"

struct graph;
struct host;

int run_single(const struct arguments *arguments, struct host *host, struct graph *graph, struct run_options *options);
/* --input and --set; NULL with error set where they are wrong. A new reference. */
tn_value command_input(const struct arguments *arguments, struct error *error);
/* --set alone, over what was given as `what`, which is borrowed. */
tn_value command_input_on(const struct arguments *arguments, tn_value given, const char *what, struct error *error);
/* {id: answer} of operands ID=VALUE, from the one at `first` on; likewise. */
tn_value command_answers(const struct arguments *arguments, size_t first, struct error *error);
/* The document that the first operand names, as a graph; NULL: said on standard error, *code is what to end with. */
struct graph *command_open_graph(const struct arguments *arguments, struct host *host, int *code);
void run_print_line(tn_value value); /* as compact JSON, on standard output */

#endif
