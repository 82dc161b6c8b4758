/*
 * violations.h - reports the errors of a validation as one error, for callers that name the value themselves.
 *
 *     if (schema_validate(schema, value, &errors) != TN_OK)
 *         status = violations_refuse(&errors, "INVALID_INPUT", "the arguments do not match their schema", error);
 *
 * Thread: any.
 */
#ifndef TENON_ADL_SCHEMA_VIOLATIONS_H
#define TENON_ADL_SCHEMA_VIOLATIONS_H

#include "adl/schema/schema.h"

#define VIOLATIONS_SHOWN 8u /* violations in the message; the detail has all of them */

/*
 * Sets an error whose message is "WHAT: place, found and expected of each violation", and whose detail is {violations:
 * [{pointer, message}], more?: true}. Returns TN_INVALID.
 */
int32_t violations_refuse(const struct schema_errors *errors, const char *code, const char *what, struct error *error);

#endif
