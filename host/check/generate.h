/*
 * generate.h - values made from a JSON Schema: such as fit it, most of them, and mutants, which do not.
 *
 *     struct generator generator = {.state = seed};
 *     tn_value config = generate(&generator, document, 0);         // may not fit: validate it
 *     tn_value wrong = generate_mutant(&generator, document, config);
 */
#ifndef TENON_HOST_GENERATE_H
#define TENON_HOST_GENERATE_H

#include "adl/value/value.h"

struct generator {
    uint64_t state;
};

uint64_t generate_number(struct generator *generator, uint64_t below); /* below > 0 */
/* A new reference. Follows type, enum, const, default, examples, properties, required, items and bounds. */
tn_value generate(struct generator *generator, tn_value schema, unsigned depth);
/* `value`, an object, with one thing wrong: a key that is missing, unknown, or of another kind; a new reference. */
tn_value generate_mutant(struct generator *generator, tn_value value);

#endif
