/*
 * signature.h - the function whose arguments are written at an offset, inside an expression or a template.
 *
 *     struct assist_signature *signature = assist_signature(assist, offset);      // "state.name.substring(1, ‸)"
 *     if (signature) show(signature->label, signature->parameters[signature->active]);
 *     assist_signature_free(signature);
 */
#ifndef TENON_ADL_ASSIST_SIGNATURE_H
#define TENON_ADL_ASSIST_SIGNATURE_H

#include "adl/assist/assist.h"

#define SIGNATURE_PARAMETERS_MAX 8u

struct assist_signature {
    const char *label;                                /* "string.substring(start [, end]) -> string"; static */
    const char *documentation;                        /* Markdown; static */
    struct span parameters[SIGNATURE_PARAMETERS_MAX]; /* parts of the label */
    uint32_t parameter_count;
    uint32_t active; /* the parameter at the cursor; parameter_count behind the last one */
};

/* NULL when the offset is not between the brackets of a known function. Any thread. */
struct assist_signature *assist_signature(const struct assist *assist, uint32_t offset);
void assist_signature_free(struct assist_signature *signature); /* NULL is allowed */

#endif
