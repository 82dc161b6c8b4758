/*
 * template.h - text with holes and blocks: "Tell {name} about {for x in topics}{x}, {end}{{ and }} are braces."
 *
 * A hole contains an expression (expr.h), usually a name. A block repeats or omits a part of the text:
 *
 *     {for x in LIST}…{end}   for each item of a list, or key of a map
 *     {for i, x in LIST}…     with its index from 0, or for a map: key and value
 *     {if CONDITION}…{else if CONDITION}…{else}…{end}
 *
 * A line with nothing but one of these marks is left out. A template is compiled once, with every name resolved, and
 * rendered any number of times, from any thread. Strings are inserted unchanged, everything else as compact JSON.
 *
 *     struct template *template;
 *     if (template_compile(text, length, &scope, NULL, &template, &error) != TN_OK) return report(&error);
 *     struct buffer out;
 *     buffer_init(&out, TEMPLATE_OUTPUT);
 *     int32_t status = template_render(template, &env, &out, &error);     // MISSING_VARIABLE names what is missing
 *     template_unref(template);
 *
 * A name that is not a variable of the scope is a mistake at compile time, unless the scope is open: then expr_env.name
 * resolves it at render time. expr_variable.bare allows `{topic}` for `{state.topic}`.
 */
#ifndef TENON_ADL_TEMPLATE_H
#define TENON_ADL_TEMPLATE_H

#include "adl/expr/expr.h"
#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct template;

#define TEMPLATE_TEXT_MAX   1048576u  /* bytes of a template's text */
#define TEMPLATE_HOLES_MAX  1000u     /* with the expressions of blocks */
#define TEMPLATE_BLOCKS_MAX 16u       /* open at once */
#define TEMPLATE_OUTPUT     1048576u  /* recommended limit of a rendered text */
#define TEMPLATE_STEPS      100000u   /* of a template with loops: each text, hole and mark of a block is one */
#define TEMPLATE_OPERATIONS 10000000u /* of all expressions of a template with loops */

/*
 * Like expr_compile; spans in `error`, in scope->problem and in scope->field refer to `text`. The mistakes of all holes
 * are reported. A brace without its partner is EXPR_MISTAKE_SYNTAX, with a hint how to write a literal brace. Codes:
 * TEMPLATE_ERROR for braces, MISSING_VARIABLE for an unknown name, EXPRESSION_ERROR for other mistakes; the status is
 * TN_INVALID, or TN_LIMIT with code LIMIT.
 */
int32_t template_compile(const char *text, size_t length, const struct expr_scope *scope,
                         const struct expr_limits *limits, struct template **out, struct error *error);
struct template *template_ref(const struct template *template); /* NULL returns NULL; any thread */
void template_unref(const struct template *template);           /* NULL is allowed; any thread */

/*
 * Appends the rendered text to `out`, whose limit bounds it (TN_LIMIT, code LIMIT). On failure `out` keeps the text so
 * far. A missing name, field or key is TN_FAILED with MISSING_VARIABLE; the message contains its name and the nearest
 * known name, and the span refers to the template. Any other failure of a hole is the expression's own error, with a
 * span within the template.
 */
int32_t template_render(const struct template *template, const struct expr_env *env, struct buffer *out,
                        struct error *error);

/* True if there are no holes: the text is always the same. */
bool template_constant(const struct template *template);

struct template_hole {
    struct span span;        /* includes the braces; of a block, its first mark */
    uint32_t start;          /* start of the expression's text; its spans are relative to it */
    const struct expr *expr; /* valid while the template lives; expr_use_at lists what it reads */
};
size_t template_hole_count(const struct template *template);
const struct template_hole *template_hole_at(const struct template *template, size_t index);

#endif
