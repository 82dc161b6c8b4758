/*
 * tenon/eval.h - the host's expressions, templates and JSON Schemas, for plugins.
 *
 * Bind a text in create: it is compiled, its names are resolved to channels, and mistakes are reported at their
 * position in the document. Evaluate it in start. The component then reads the channels that the text names; the
 * schema of its configuration marks such texts with `"x-tenon": "expression"` or `"template"`, and lists the variables
 * of a template beside it: `"x-tenon-variables": ["rank"]`.
 */
#ifndef TENON_EVAL_H
#define TENON_EVAL_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_EVAL_1 "tenon.eval/1"
/* tenon.eval/1, from the host. A bound index is valid for the life of the instance. */
typedef struct tn_eval_1 {
    uint64_t size;
    /* [create] A CEL expression over `state`, `input` (the task's), `item`, `config` and `run`. */
    int32_t TN_FN(bind_expression)(tn_binder *binder, const char *text, uint64_t length, uint32_t *index);
    /* [create] A text with {holes}. Each hole is the name of a channel or an expression. */
    int32_t TN_FN(bind_template)(tn_binder *binder, const char *text, uint64_t length, uint32_t *index);
    /* [create] A JSON Schema 2020-12, as a value. */
    int32_t TN_FN(bind_schema)(tn_binder *binder, tn_value schema, uint32_t *index);
    /* [loop, worker] `item` is the variable of that name, and may be NULL. */
    int32_t TN_FN(evaluate)(tn_task task, uint32_t expression, tn_value item, tn_value *out, tn_value *error);
    /* [loop, worker] A string. `variables`, an object or NULL, are looked up before channels. */
    int32_t TN_FN(render)(tn_task task, uint32_t text, tn_value variables, tn_value *out, tn_value *error);
    /* [loop, worker] The error's detail lists every violation. */
    int32_t TN_FN(validate)(tn_task task, uint32_t schema, tn_value instance, tn_value *error);
} tn_eval_1;

#ifdef __cplusplus
}
#endif
#endif
