/*
 * validate.h - a value against the schema that a tool publishes, with an error that whoever made the value can act on.
 *
 *     if (tool_validate(info->input, arguments, TOOL_ARGUMENTS, info->id, &error) != TN_OK) tell_the_model(&error);
 */
#ifndef TENON_HOST_TOOL_VALIDATE_H
#define TENON_HOST_TOOL_VALIDATE_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct schema;

#define TOOL_VIOLATIONS_SHOWN 8u /* in the message; the detail has them all, as far as SCHEMA_ERRORS_MAX goes */

enum tool_side { TOOL_ARGUMENTS, TOOL_RESULT };

/*
 * INVALID_INPUT or INVALID_OUTPUT: the message says of each violation where it is, what was found and expected; the
 * detail is {violations: [{pointer, message}], more?: true}. A NULL schema takes anything. [any]
 */
int32_t tool_validate(const struct schema *schema, tn_value value, enum tool_side side, const char *name,
                      struct error *error);

#endif
