/*
 * exercise_generate.h - generates values from a JSON Schema: most of them fit it; mutants mostly do not.
 *
 * It follows type, enum, const, default, examples, properties, required, additionalProperties, items, prefixItems,
 * bounds, $ref within the schema, allOf, anyOf and oneOf. A text with `x-tenon` is always a name. It ignores other
 * keywords (pattern, not, if), so the caller must validate the result.
 *
 *     struct generator generator = {.state = seed};
 *     tn_value config = generate(&generator, schema);          // validate it: it may not fit
 *     tn_value wrong = generate_mutant(&generator, schema, config);
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_EXERCISE_GENERATE_H
#define TENON_HOST_PLUGIN_CONFORMANCE_EXERCISE_GENERATE_H

#include "adl/value/value.h"

struct generator {
    uint64_t state;
};

uint64_t generate_number(struct generator *generator, uint64_t below); /* below > 0 */
tn_value generate(struct generator *generator, tn_value schema);       /* a new reference; without a schema: a text */
/*
 * Returns `value` with one change, at any depth: a member is missing, unknown, out of its bounds or of another type.
 * Most mutants do not fit the schema. A new reference.
 */
tn_value generate_mutant(struct generator *generator, tn_value schema, tn_value value);

#endif
