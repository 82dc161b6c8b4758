/*
 * usage.c - adding up what providers say.
 */
#include "host/model/usage.h"
#include "adl/value/wildcard.h"
#include <float.h>
#include <math.h>

static int64_t tokens(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    int64_t number;
    return value && value_is_number(value) && value_as_int(value, &number) && number > 0 ? number : 0;
}

static double money(tn_value object, const char *key, double otherwise) {
    tn_value value = value_get(object, key);
    double number;
    return value && value_is_number(value) && (number = value_to_double(value)) >= 0 ? number : otherwise;
}

static int64_t sum(int64_t a, int64_t b) {
    int64_t both;
    return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

void usage_add(struct usage *usage, const struct usage *more) {
    usage->calls = sum(usage->calls, more->calls);
    usage->input = sum(usage->input, more->input);
    usage->output = sum(usage->output, more->output);
    usage->cached = sum(usage->cached, more->cached);
    usage->written = sum(usage->written, more->written);
    usage->reasoning = sum(usage->reasoning, more->reasoning);
    usage->cost = fmin(usage->cost + more->cost, DBL_MAX);
    usage->priced |= more->priced;
}

/* What has come to the largest number has lost how it came there, and stays. */
static int64_t difference(int64_t from, int64_t less) { return from == INT64_MAX || from < less ? from : from - less; }

void usage_take_back(struct usage *usage, const struct usage *less) {
    usage->calls = difference(usage->calls, less->calls);
    usage->input = difference(usage->input, less->input);
    usage->output = difference(usage->output, less->output);
    usage->cached = difference(usage->cached, less->cached);
    usage->written = difference(usage->written, less->written);
    usage->reasoning = difference(usage->reasoning, less->reasoning);
    usage->cost = usage->cost >= DBL_MAX ? usage->cost : usage->cost - less->cost;
}

void usage_from_value(struct usage *usage, tn_value value) {
    *usage = (struct usage){.calls = tokens(value, "llm_calls"),
                            .input = tokens(value, "input_tokens"),
                            .output = tokens(value, "output_tokens"),
                            .cached = tokens(value, "cached_tokens"),
                            .written = tokens(value, "cache_write_tokens"),
                            .reasoning = tokens(value, "reasoning_tokens"),
                            .cost = money(value, "cost", 0),
                            .priced = value_get(value, "cost") != NULL};
}

void usage_add_call(struct usage *usage, tn_value value) {
    struct usage call;
    usage_from_value(&call, value);
    call.calls = 1;
    usage_add(usage, &call);
}

static tn_value with(tn_value object, const char *key, int64_t number) {
    return number ? value_set_take(object, key, value_int(number)) : object;
}

tn_value usage_to_value(const struct usage *usage) {
    tn_value object = value_set_take(value_object_reserve(8), "llm_calls", value_int(usage->calls));
    object = value_set_take(object, "input_tokens", value_int(usage->input));
    object = value_set_take(object, "output_tokens", value_int(usage->output));
    object = value_set_take(object, "total_tokens", value_int(usage_tokens(usage)));
    object = with(object, "cached_tokens", usage->cached);
    object = with(object, "cache_write_tokens", usage->written);
    object = with(object, "reasoning_tokens", usage->reasoning);
    return usage->priced ? value_set_take(object, "cost", value_double(usage->cost)) : object;
}

int64_t usage_tokens(const struct usage *usage) { return sum(usage->input, usage->output); }

bool usage_price(tn_value prices, const char *model, tn_value usage, double *cost) {
    tn_value price = NULL;
    size_t longest = 0;
    for (size_t i = 0; prices && i < value_count(prices); i++) {
        size_t length;
        const char *pattern = value_chars(value_key_at(prices, i), &length);
        if (length < longest || !wildcard_matches(pattern, model)) continue;
        price = value_value_at(prices, i);
        longest = length;
    }
    if (!price) return false;
    struct usage call;
    usage_from_value(&call, usage);
    double input = money(price, "input", 0);
    int64_t plain = call.input - call.cached - call.written;
    double sum_of = (double)(plain > 0 ? plain : 0) * input + (double)call.cached * money(price, "cached", input) +
                    (double)call.written * money(price, "cache_write", input) +
                    (double)call.output * money(price, "output", 0);
    *cost = sum_of / 1e6;
    return isfinite(*cost);
}
