/*
 * work_view.h - what a worker does, as it is printed: a live view on a terminal, one line per Task in a log, or JSON
 * lines.
 *
 *     struct work_view *view = work_view_new(arguments);
 *     work_view_event(view, "task/ended", params);        // of the worker
 *     work_view_counts(view, worker, now_ms);             // `Worker` of methods/work.yaml; draws the live view
 *     work_view_end(view, worker);                        // prints the outcome, and frees the view
 *
 * Everything except JSON is written to standard error.
 */
#ifndef TENON_HOST_PROGRAM_WORK_VIEW_H
#define TENON_HOST_PROGRAM_WORK_VIEW_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct arguments;
struct work_view;

#define WORK_VIEW_MS     500 /* between two calls of work_view_counts */
#define WORK_VIEW_ERRORS 3u  /* the newest errors that the live view shows */

/* Reads --json and --quiet; whether standard error is a terminal decides between the view and the log. */
struct work_view *work_view_new(const struct arguments *arguments);
bool work_view_is_live(const struct work_view *view); /* it needs work_view_counts */
/* The worker has started. */
void work_view_begin(struct work_view *view, tn_value worker);
/* An event of the worker: its name, and its parameters. Returns false if standard output takes no more. */
bool work_view_event(struct work_view *view, const char *event, tn_value params);
/* Draws the live view. `now_ms` is of any clock that does not go back. */
void work_view_counts(struct work_view *view, tn_value worker, int64_t now_ms);
/* A message about the end, without disturbing the view. */
void work_view_note(struct work_view *view, const char *message);
/* `worker` is NULL if the end is not known: nothing is printed then. */
void work_view_end(struct work_view *view, tn_value worker);

/* The sum of a member of the counts over all types: "done". */
int64_t work_view_total(tn_value worker, const char *member);

#endif
