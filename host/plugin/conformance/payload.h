/*
 * payload.h - the shapes of payloads: what components receive, return, emit and fail with, and the events of a run.
 *
 * The shapes are the JSON Schemas in sdk/schema/component/1, which are installed and compiled into the host. A shape is
 * named as in `$ref`: "model#output" is the part with that anchor in model.schema.json, and "error" is the whole of
 * error.schema.json. A shape is compiled when it is first used. Normal runs use none.
 *
 *     char *wrong = payload_check("model#output", output);
 *     if (wrong) report("`%s` returns an output that is not valid: %s", id, wrong);
 *     mem_free(wrong);
 *
 * Thread: any.
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_PAYLOAD_H
#define TENON_HOST_PLUGIN_CONFORMANCE_PAYLOAD_H

#include "adl/value/value.h"
#include <stddef.h>

#define PAYLOAD_VERSION   "1" /* of tenon.component, and of the schemas */
#define PAYLOAD_SHAPE_MAX 40u /* bytes of a shape's name */

/* The names of the schemas, "node", …, in the order of the documentation. NULL past the end. */
const char *payload_name(size_t index);
/* "node|model|…": all names. */
const char *payload_names(void);
/* The schema of a name; a new reference. NULL if there is no such schema. */
tn_value payload_schema(const char *name);
/*
 * NULL if the value has the shape, or if there is no such shape. Otherwise the first difference, for a message: "at
 * `/usage/input_tokens`: found …, expected …"; release it with mem_free. NULL as the value means that there is none; it
 * is valid if null is.
 */
char *payload_check(const char *shape, tn_value value);

#endif
