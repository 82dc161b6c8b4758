/*
 * batch_keys.h - the threads of a batch: which thread saves the run of each line (`tenon run --batch FILE --thread …`).
 *
 * `--thread q` names the threads q/1, q/2, … by the numbers of the lines. A text with `${{ … }}` is the id of the
 * thread, in which each `${{ expression }}` is replaced by its value; `input` is the input of the line.
 *
 *     tn_value ids = batch_keys("orders/${{ input.order }}", inputs, lines, "orders.jsonl", &error);
 *     if (!ids) return report(&error);
 *     value_unref(ids);
 */
#ifndef TENON_HOST_PROGRAM_BATCH_KEYS_H
#define TENON_HOST_PROGRAM_BATCH_KEYS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stddef.h>

#define BATCH_KEY_PARTS_MAX 32u /* expressions in one text */

/*
 * The ids of the threads of all inputs, an array of strings, which all differ. `lines` has the number of the line of
 * each input, and `path` names the file in messages. NULL with EXPRESSION_ERROR, or with INVALID_INPUT: `text` is not
 * valid, a value is neither text nor a whole number, an id is not valid, or two lines have the same id. The message
 * names the first line that is wrong.
 */
tn_value batch_keys(const char *text, tn_value inputs, const size_t *lines, const char *path, struct error *error);

#endif
