/*
 * results.h - the results of an evaluation in a file, one JSON object on each line, written as soon as a run has ended.
 *
 *     struct results *results;
 *     if (results_open("results.jsonl", true, &results, &error) != TN_OK) return report(&error);
 *     tn_value known = results_lookup(results, key);             // from an earlier process; or NULL
 *     bool written = results_append(results, result);
 *     results_close(results);
 *
 * One process writes to a file at a time: a second one fails, instead of paying for the same runs. What is read is kept
 * in short form (result_shorten), because the answers of all runs may not fit into memory. Thread: [loop].
 */
#ifndef TENON_HOST_EVALUATION_RESULTS_H
#define TENON_HOST_EVALUATION_RESULTS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>

#define RESULT_LINE_MAX ((size_t)64 << 20) /* bytes of a result that is read */

struct results;

/*
 * Opens the file, and creates it if it does not exist. With `resume` it reads what is there, and removes the part of a
 * line that a killed process has left. Without it, the file must not exist, unless it is a device or a pipe.
 * INVALID_INPUT if it exists, has a line that is not a result, or if another process writes to it; IO.
 */
int32_t results_open(const char *path, bool resume, struct results **out, struct error *error);
/* The short form of the result with this key, unless it is an error, which may be gone now. Borrowed, or NULL. */
tn_value results_lookup(const struct results *results, tn_value key);
/* Returns false, with errno set, if the result could not be written. */
bool results_append(struct results *results, tn_value result);
void results_close(struct results *results); /* NULL is allowed */

/* Reads a file, an array of short forms: of several results of one run, the last. NULL with an error. */
tn_value results_read(const char *path, struct error *error);

/*
 * {document, model, case, repeat, key, status, ms, usage?, judge_usage?, why?}: a result without its answer. `why` is
 * the error, or the reason of the first check that failed. A new reference.
 */
tn_value result_shorten(tn_value result);

#endif
