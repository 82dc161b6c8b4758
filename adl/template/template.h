/*
 * template.h - text with holes: "Tell {name} about {state.topic}, in {size(items)} points; {{ and }} are braces."
 *
 * A hole holds an expression (expr.h); most are a name. Compiled once, with every hole's names resolved, and rendered
 * any number of times, from any thread. Strings are inserted as they are, anything else as compact JSON.
 *
 *     struct template *template;
 *     if (template_compile(text, length, &scope, NULL, &template, &error) != TN_OK) return report(&error);
 *     struct buffer out;
 *     buffer_init(&out, TEMPLATE_OUTPUT);
 *     int32_t status = template_render(template, &env, &out, &error);     // MISSING_VARIABLE names what is missing
 *     template_unref(template);
 *
 * A name that is no variable of the scope is a mistake found while compiling, unless the scope is open: then it is
 * looked up by expr_env.name while rendering. `{topic}` for `{state.topic}` is expr_variable.bare.
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

#define TEMPLATE_TEXT_MAX  1048576u /* bytes of a template's text */
#define TEMPLATE_HOLES_MAX 1000u
#define TEMPLATE_OUTPUT    1048576u /* what a rendered text is best limited to */

/*
 * As expr_compile; spans, in `error` and in scope->problem, are within `text`. All mistakes of all holes are reported.
 * A brace without its partner is EXPR_MISTAKE_SYNTAX and says how to write one. Codes: TEMPLATE_ERROR for the braces,
 * MISSING_VARIABLE for an unknown name, EXPRESSION_ERROR for the rest; TN_INVALID, or TN_LIMIT with LIMIT.
 */
int32_t template_compile(const char *text, size_t length, const struct expr_scope *scope,
                         const struct expr_limits *limits, struct template **out, struct error *error);
struct template *template_ref(const struct template *template); /* NULL gives NULL. [any] */
void template_unref(const struct template *template);           /* NULL is allowed. [any] */

/*
 * Appends to `out`, whose limit is the text's (TN_LIMIT, code LIMIT); on failure it keeps what was appended. A name,
 * field or key that is not there: TN_FAILED with MISSING_VARIABLE, naming it, with its span and the nearest there is.
 * Any other failure of a hole is the expression's own, its span within the template.
 */
int32_t template_render(const struct template *template, const struct expr_env *env, struct buffer *out,
                        struct error *error);

/* True where there is no hole: the text is always the same. */
bool template_constant(const struct template *template);

struct template_hole {
    struct span span;        /* with its braces */
    uint32_t start;          /* of the expression's text: what its spans are relative to */
    const struct expr *expr; /* as long as the template lives; expr_use_at says what it reads */
};
size_t template_hole_count(const struct template *template);
const struct template_hole *template_hole_at(const struct template *template, size_t index);

#endif
