/*
 * usage.c - adds up the usage that providers report.
 */
#include "host/engine/model/usage.h"
#include "adl/value/wildcard.h"
#include <float.h>
#include <math.h>

static int64_t token_count(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    int64_t number;
    return value && value_is_number(value) && value_as_int(value, &number) && number > 0 ? number : 0;
}

static double usage_amount(tn_value object, const char *key, double otherwise) {
    tn_value value = value_get(object, key);
    double number;
    return value && value_is_number(value) && (number = value_to_double(value)) >= 0 ? number : otherwise;
}

static int64_t saturating_add(int64_t a, int64_t b) {
    int64_t both;
    return __builtin_add_overflow(a, b, &both) ? INT64_MAX : both;
}

void usage_add(struct usage *usage, const struct usage *more) {
    usage->calls = saturating_add(usage->calls, more->calls);
    usage->input = saturating_add(usage->input, more->input);
    usage->output = saturating_add(usage->output, more->output);
    usage->cached = saturating_add(usage->cached, more->cached);
    usage->written = saturating_add(usage->written, more->written);
    usage->reasoning = saturating_add(usage->reasoning, more->reasoning);
    usage->cost = fmin(usage->cost + more->cost, DBL_MAX);
    usage->priced |= more->priced;
}

/* A saturated number stays saturated. */
static int64_t saturating_subtract(int64_t from, int64_t less) {
    return from == INT64_MAX || from < less ? from : from - less;
}

void usage_take_back(struct usage *usage, const struct usage *less) {
    usage->calls = saturating_subtract(usage->calls, less->calls);
    usage->input = saturating_subtract(usage->input, less->input);
    usage->output = saturating_subtract(usage->output, less->output);
    usage->cached = saturating_subtract(usage->cached, less->cached);
    usage->written = saturating_subtract(usage->written, less->written);
    usage->reasoning = saturating_subtract(usage->reasoning, less->reasoning);
    usage->cost = usage->cost >= DBL_MAX ? usage->cost : usage->cost - less->cost;
}

void usage_from_value(struct usage *usage, tn_value value) {
    *usage = (struct usage){.calls = token_count(value, "llm_calls"),
                            .input = token_count(value, "input_tokens"),
                            .output = token_count(value, "output_tokens"),
                            .cached = token_count(value, "cached_tokens"),
                            .written = token_count(value, "cache_write_tokens"),
                            .reasoning = token_count(value, "reasoning_tokens"),
                            .cost = usage_amount(value, "cost", 0),
                            .priced = value_get(value, "cost") != NULL};
}

void usage_add_call(struct usage *usage, tn_value value) {
    struct usage call;
    usage_from_value(&call, value);
    call.calls = 1;
    usage_add(usage, &call);
}

static tn_value set_if_nonzero_take(tn_value object, const char *key, int64_t number) {
    return number ? value_set_take(object, key, value_int(number)) : object;
}

tn_value usage_to_value(const struct usage *usage) {
    tn_value object = value_set_take(value_object_reserve(8), "llm_calls", value_int(usage->calls));
    object = value_set_take(object, "input_tokens", value_int(usage->input));
    object = value_set_take(object, "output_tokens", value_int(usage->output));
    object = value_set_take(object, "total_tokens", value_int(usage_tokens(usage)));
    object = set_if_nonzero_take(object, "cached_tokens", usage->cached);
    object = set_if_nonzero_take(object, "cache_write_tokens", usage->written);
    object = set_if_nonzero_take(object, "reasoning_tokens", usage->reasoning);
    return usage->priced ? value_set_take(object, "cost", value_double(usage->cost)) : object;
}

int64_t usage_tokens(const struct usage *usage) { return saturating_add(usage->input, usage->output); }

static int64_t estimate_text(tn_value value, uint32_t depth) {
    size_t length = 0;
    int64_t sum = 0;
    bool object = value_is(value, TN_OBJECT);
    if (value_is(value, TN_STRING)) return value_chars(value, &length) ? (int64_t)length : 0;
    if ((!object && !value_is(value, TN_ARRAY)) || depth == 0) return 0;
    for (size_t i = 0; i < value_count(value); i++)
        sum += estimate_text(object ? value_value_at(value, i) : value_at(value, i), depth - 1);
    return sum;
}

int64_t usage_estimate_tokens(tn_value input) {
    tn_value most = value_get(value_get(input, "options"), "max_tokens");
    int64_t output = most && value_is(most, TN_INT) && value_to_int(most) > 0 ? value_to_int(most) : 0;
    int64_t estimate = estimate_text(input, 32) / 4;
    return saturating_add(estimate, output);
}

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
    double input = usage_amount(price, "input", 0);
    int64_t plain = call.input - call.cached - call.written;
    double total = (double)(plain > 0 ? plain : 0) * input +
                   (double)call.cached * usage_amount(price, "cached", input) +
                   (double)call.written * usage_amount(price, "cache_write", input) +
                   (double)call.output * usage_amount(price, "output", 0);
    *cost = total / 1e6;
    return isfinite(*cost);
}
