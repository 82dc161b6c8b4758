/*
 * method_types.h - types for clients in TypeScript and Python, generated from the schemas of the method table.
 *
 * First the table becomes a model: the shared schemas, parameters, results and events as named types. Then the writer
 * of a language prints the model. The names of shared schemas are type names; thread/list adds ThreadListParams and
 * ThreadListResult, run/ended RunEndedEvent.
 *
 *     struct error error = ERROR_INIT;
 *     tn_value model = types_model(&error);          // NULL on failure
 *     types_write(&out, model, TYPES_TYPESCRIPT);
 *     value_unref(model);
 *
 * A type accepts every value that the schema accepts. It accepts more if the language cannot express a rule (`minimum`,
 * `pattern`); method_type_read.c lists these keywords. A keyword that is not listed is an error, so a row cannot lose a
 * rule unnoticed. Thread: any.
 */
#ifndef TENON_HOST_SERVER_METHOD_TYPES_H
#define TENON_HOST_SERVER_METHOD_TYPES_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"

enum types_language { TYPES_TYPESCRIPT, TYPES_PYTHON };

/*
 * The model of the table: a new reference. NULL if a schema cannot be expressed: INVALID, whose message names the
 * schema and the keyword.
 */
tn_value types_model(struct error *error);
/* The same for other rows, for tests: {schemas?, methods?, events?} as in a file of methods/. */
tn_value types_model_of(tn_value file, struct error *error);

void types_write(struct buffer *out, tn_value model, enum types_language language);

#endif
