/*
 * usage.h - the tokens that model calls used, and their cost if prices are configured.
 *
 * Numbers saturate instead of overflowing, because providers report them.
 *
 *     struct usage total = {0};
 *     usage_add_call(&total, value_get(output, "usage"));
 *     tn_value shown = usage_to_value(&total);    // {llm_calls, input_tokens, …}
 */
#ifndef TENON_HOST_ENGINE_MODEL_USAGE_H
#define TENON_HOST_ENGINE_MODEL_USAGE_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

struct usage {
    int64_t calls;
    int64_t input, output;   /* tokens */
    int64_t cached, written; /* input tokens read from, and written to, the provider's cache */
    int64_t reasoning;       /* part of the output */
    double cost;             /* in the currency of the prices in tenon.yaml */
    bool priced;             /* at least one call had a price */
};

/* Adds one call with the USAGE of tenon/message.h and an optional `cost`. Missing and malformed members count as 0. */
void usage_add_call(struct usage *usage, tn_value value);
void usage_add(struct usage *usage, const struct usage *more);
void usage_take_back(struct usage *usage, const struct usage *less); /* subtracts what was added before */
/* {llm_calls, input_tokens, output_tokens, total_tokens, cached_tokens?, cache_write_tokens?, reasoning_tokens?, cost?}
 */
tn_value usage_to_value(const struct usage *usage);
void usage_from_value(struct usage *usage, tn_value value); /* the inverse of usage_to_value */
int64_t usage_tokens(const struct usage *usage);            /* input and output */
/* A rough number of tokens for a request: a quarter of the bytes of all texts, and `options.max_tokens`. */
int64_t usage_estimate_tokens(tn_value input);

/*
 * Computes the cost of a call. `prices` is {pattern: {input, output, cached?, cache_write?}} per million tokens, from
 * tenon.yaml. `model` is "provider:name". The longest matching pattern wins. Returns false if no pattern matches.
 */
bool usage_price(tn_value prices, const char *model, tn_value usage, double *cost);

#endif
