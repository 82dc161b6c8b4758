/*
 * command_input.h - what several commands read from the command line: inputs (--input, --set) and answers (ID=VALUE).
 *
 *     tn_value input = command_read_input(arguments, &error);
 *     if (!input) return fail(&error);
 *     start(input);
 *     value_unref(input);
 *
 * A VALUE is read as JSON if it is valid JSON, otherwise as a string. All results are new references. On failure, the
 * result is NULL and `error` is INVALID_INPUT, or what command_json sets.
 */
#ifndef TENON_HOST_PROGRAM_COMMAND_INPUT_H
#define TENON_HOST_PROGRAM_COMMAND_INPUT_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stddef.h>

struct arguments;

/* Reads --input, or {} if it is not given, and applies each --set to it. */
tn_value command_read_input(const struct arguments *arguments, struct error *error);
/* Applies each --set to `base`, which is borrowed and which `what` names in messages. */
tn_value command_apply_set(const struct arguments *arguments, tn_value base, const char *what, struct error *error);
/* Reads {id: answer} from the operands ID=VALUE, starting at the operand `first`. */
tn_value command_read_answers(const struct arguments *arguments, size_t first, struct error *error);
/* Reads {id: answer} from each --answer ID=VALUE. */
tn_value command_read_answer_options(const struct arguments *arguments, struct error *error);
/* Reads a VALUE. Returns NULL, without an error, if it is neither JSON nor valid UTF-8. */
tn_value command_parse_value(const char *text);

#endif
