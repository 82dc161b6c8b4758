/*
 * violations.h - errors of a validation as a sentence and as data, for messages that name the value themselves.
 *
 *     if (schema_validate(schema, value, &errors) != TN_OK) violations_text(&errors, &text);
 *
 * Thread: any.
 */
#ifndef TENON_ADL_SCHEMA_VIOLATIONS_H
#define TENON_ADL_SCHEMA_VIOLATIONS_H

#include "adl/schema/schema.h"
#include "adl/value/buffer.h"

#define VIOLATIONS_SHOWN 8u /* violations in the sentence; the data has all of them */

/* Appends place, found and expected of each violation. */
void violations_text(const struct schema_errors *errors, struct buffer *out);
/* {violations: [{pointer, message}], more?: true}, a new reference. */
tn_value violations_value(const struct schema_errors *errors);

#endif
