/*
 * tool_validate.h - validates arguments and results with a tool's schemas. The error has what the caller (often a
 * model) needs to correct the value.
 *
 *     if (tool_validate(info->input, arguments, TOOL_ARGUMENTS, info->id, &error) != TN_OK) report_to_model(&error);
 */
#ifndef TENON_HOST_ENGINE_TOOL_TOOL_VALIDATE_H
#define TENON_HOST_ENGINE_TOOL_TOOL_VALIDATE_H

#include "adl/value/error.h"
#include "adl/value/value.h"

struct schema;

enum tool_side { TOOL_ARGUMENTS, TOOL_RESULT };

/*
 * Fails with INVALID_INPUT or INVALID_OUTPUT. The message lists place, found and expected for each violation. The
 * detail is {violations: [{pointer, message}], more?: true}. A NULL schema allows every value. Thread: any.
 */
int32_t tool_validate(const struct schema *schema, tn_value value, enum tool_side side, const char *name,
                      struct error *error);

#endif
