/*
 * run_outcome.h - what `tenon run` reads and prints in the same way for a run in its own host and for one in a host
 * that runs (--connect): the options of one run, its events, and its outcome.
 *
 *     if (!run_read_modes(arguments, &modes) || !run_read_thread_request(arguments, &request)) return COMMAND_USAGE;
 *     run_print_event(event, modes, json, quiet, NULL);
 *     struct run_outcome outcome = {.arguments = arguments, .report = report, .request = &request, .json = json};
 *     return run_outcome_print(&outcome);
 */
#ifndef TENON_HOST_PROGRAM_RUN_OUTCOME_H
#define TENON_HOST_PROGRAM_RUN_OUTCOME_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/engine/execution/execution_thread.h"

struct arguments;
struct live;

/* The events to print: the modes of --stream, or the default of --json. On failure, prints an error. */
bool run_read_modes(const struct arguments *arguments, unsigned *modes);
/* Called without --thread. Prints an error and returns true if an option was given that needs it. */
bool run_lacks_thread(const struct arguments *arguments);
/* Reads the thread options into `request`, whose answers the caller unrefs. On failure, prints an error. */
bool run_read_thread_request(const struct arguments *arguments, struct thread_request *request);
/*
 * With `json`, events of these modes are lines on standard output, which is flushed, otherwise on standard error.
 * Warnings are printed unless they are among these events. `live` may be NULL.
 */
void run_print_event(tn_value event, unsigned modes, bool json, bool quiet, struct live *live);

struct run_outcome {
    const struct arguments *arguments; /* of the command */
    tn_value report;                   /* invocation_report; borrowed */
    const struct thread_request *request;
    bool json;
    bool draining; /* SIGTERM has stopped the run */
};

/* True if the run has not begun, because its thread cannot be used. */
bool run_outcome_is_refusal(const struct run_outcome *outcome);
int run_outcome_print(const struct run_outcome *outcome); /* returns the exit code */

#endif
