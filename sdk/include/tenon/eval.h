/*
 * tenon/eval.h - draft: the host's expressions, templates and JSON Schemas, for plugins.
 *
 * Bind a text in create: it is compiled, its names are resolved to channels, and mistakes are reported at their
 * position in the document. Evaluate it in start. The component then reads the channels that the text names; the
 * schema of its configuration marks such texts with `"x-tenon": "expression"` or `"template"`.
 */
#ifndef TENON_EVAL_H
#define TENON_EVAL_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_EVAL_DRAFT "tenon.eval/1-draft.1"
/* From the host. A bound index is valid for the life of the instance. */
typedef struct tn_eval_draft {
    uint32_t size;
    uint32_t reserved;
    /* [create] A CEL expression over `state`, `input` (the task's), `item`, `config` and `run`. */
    int32_t (*bind_expression)(tn_binder *binder, const char *text, uint32_t *index);
    /* [create] A text with {holes}. Each hole is the name of a channel or an expression. */
    int32_t (*bind_template)(tn_binder *binder, const char *text, uint32_t *index);
    /* [create] A JSON Schema 2020-12, as a value. */
    int32_t (*bind_schema)(tn_binder *binder, tn_value schema, uint32_t *index);
    /* [loop, worker] On TN_FAILED *out is an error object {code, message}; end the task with fail_with. */
    int32_t (*evaluate)(tn_task task, uint32_t expression, tn_value item, tn_value *out); /* item: `item`, or NULL */
    int32_t (*render)(tn_task task, uint32_t text, tn_value variables,
                      tn_value *out); /* variables: looked up before channels; may be NULL */
    /* [loop, worker] TN_OK, or TN_FAILED with an error object whose detail lists every violation. */
    int32_t (*validate)(tn_task task, uint32_t schema, tn_value instance, tn_value *error);
    /* [any] Ends the task with an error object that one of the functions above returned. */
    int32_t (*fail_with)(tn_task task, tn_value error);
} tn_eval_draft;

#ifdef __cplusplus
}
#endif
#endif
