/*
 * generate.h - values made from a JSON Schema: such as fit it, most of them, and mutants, which do not.
 *
 * Follows type, enum, const, default, examples, properties, required, additionalProperties, items, prefixItems, bounds,
 * $ref within the schema, allOf, anyOf, oneOf; what `x-tenon` marks is a name. What it cannot follow (pattern, not, if)
 * the caller finds by validating.
 *
 *     struct generator generator = {.state = seed};
 *     tn_value config = generate(&generator, schema);          // may not fit: validate it
 *     tn_value wrong = generate_mutant(&generator, schema, config);
 */
#ifndef TENON_HOST_GENERATE_H
#define TENON_HOST_GENERATE_H

#include "adl/value/value.h"

struct generator {
    uint64_t state;
};

uint64_t generate_number(struct generator *generator, uint64_t below); /* below > 0 */
tn_value generate(struct generator *generator, tn_value schema);       /* NULL schema: any text; a new reference */
/*
 * `value` with one thing wrong: a member that is missing, unknown, out of its bounds or of another kind, at any depth.
 * Most of them do not fit the schema. A new reference.
 */
tn_value generate_mutant(struct generator *generator, tn_value schema, tn_value value);

#endif
