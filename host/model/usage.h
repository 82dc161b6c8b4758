/*
 * usage.h - what calls of models have used up: tokens, and money where prices are configured.
 *
 * Numbers only grow, and stop at the largest there is: what providers say is an outsider's.
 *
 *     struct usage spent = {0};
 *     usage_add_value(&spent, value_get(output, "usage"));
 *     tn_value shown = usage_to_value(&spent);    // {llm_calls, input_tokens, …}
 */
#ifndef TENON_HOST_MODEL_USAGE_H
#define TENON_HOST_MODEL_USAGE_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct usage {
    int64_t calls;
    int64_t input, output;   /* tokens */
    int64_t cached, written; /* of the input: taken from, and put into, the provider's cache */
    int64_t reasoning;       /* of the output */
    double cost;             /* in the currency of tenon.yaml's prices */
    bool priced;             /* at least one call had a price */
};

/* One call more, with the USAGE of tenon/message.h, and `cost` where it has one; anything that is not so counts 0. */
void usage_add_call(struct usage *usage, tn_value value);
void usage_add(struct usage *usage, const struct usage *more);
void usage_take_back(struct usage *usage, const struct usage *less); /* what was added before */
/* {llm_calls, input_tokens, output_tokens, total_tokens, cached_tokens?, cache_write_tokens?, reasoning_tokens?, cost?}
 */
tn_value usage_to_value(const struct usage *usage);
void usage_from_value(struct usage *usage, tn_value value); /* as usage_to_value made it */
int64_t usage_tokens(const struct usage *usage);            /* input and output */

/*
 * What a call with this USAGE costs: `prices` is tenon.yaml's {pattern: {input, output, cached?, cache_write?}}, each
 * per million tokens, `model` is "provider:name". The longest pattern that fits counts. False: none does.
 */
bool usage_price(tn_value prices, const char *model, tn_value usage, double *cost);

#endif
