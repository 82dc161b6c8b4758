/*
 * check_scalar.c - the keywords of numbers and strings, and enum and const.
 *
 * Comparisons are exact between integers and doubles. The length of a string is in code points; they are counted only
 * if the length in bytes does not decide the result.
 */
#include <string.h>

#include "adl/schema/internal.h"

/* "found the number 3, expected …": the message of all keywords that compare with the keyword's value. */
static bool fail_comparison(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                            const struct place *place, const char *expected) {
    if (!run->errors) return false;
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    buffer_text(&message, "found ");
    describe(&message, instance);
    buffer_format(&message, ", expected %s", expected);
    describe_short(&message, check->value);
    const struct finding finding = {node, check->keyword, place, instance, check->value, NULL, 0, NULL};
    fail_finding(run, &finding, buffer_cstr(&message));
    buffer_finish(&message);
    return false;
}

CHECK_FUNCTION(check_minimum) {
    (void)marks;
    return value_compare_numbers(instance, check->value) >= 0 ||
           fail_comparison(run, node, check, instance, place, "at least ");
}

CHECK_FUNCTION(check_maximum) {
    (void)marks;
    return value_compare_numbers(instance, check->value) <= 0 ||
           fail_comparison(run, node, check, instance, place, "at most ");
}

CHECK_FUNCTION(check_exclusive_minimum) {
    (void)marks;
    return value_compare_numbers(instance, check->value) > 0 ||
           fail_comparison(run, node, check, instance, place, "more than ");
}

CHECK_FUNCTION(check_exclusive_maximum) {
    (void)marks;
    return value_compare_numbers(instance, check->value) < 0 ||
           fail_comparison(run, node, check, instance, place, "less than ");
}

CHECK_FUNCTION(check_multiple_of) {
    (void)marks;
    if (value_is(instance, TN_INT) && value_is(check->value, TN_INT)) {
        if (value_to_int(instance) % value_to_int(check->value) == 0) return true;
    } else if (decimal_divides(check->as.decimal, decimal_of(instance))) {
        return true;
    }
    return fail_comparison(run, node, check, instance, place, "a multiple of ");
}

/* Counts the bytes that do not continue a character (10xxxxxx), eight at once. */
size_t count_code_points(const char *text, size_t length) {
    const uint64_t ones = 0x0101010101010101u;
    size_t count = length, at = 0;
    for (; at + 8 <= length; at += 8) {
        uint64_t word;
        memcpy(&word, text + at, sizeof word);
        count -= (word >> 7 & ~(word >> 6) & ones) * ones >> 56;
    }
    for (; at < length; at++) count -= ((unsigned char)text[at] & 0xc0) == 0x80;
    return count;
}

static bool fail_length(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                        const struct place *place, size_t found, const char *expected) {
    if (!run->errors) return false;
    struct buffer text;
    buffer_init(&text, SCHEMA_MESSAGE_MAX);
    describe(&text, instance);
    fail(run, node, check, instance, place, "found %s of %zu character%s, expected at %s %llu", buffer_cstr(&text),
         found, found == 1 ? "" : "s", expected, (unsigned long long)check->as.count);
    buffer_finish(&text);
    return false;
}

CHECK_FUNCTION(check_min_length) {
    (void)marks;
    size_t bytes;
    const char *text = value_chars(instance, &bytes);
    if (check->as.count == 0 || bytes / 4 >= check->as.count) return true; /* a character has at most four bytes */
    size_t found = bytes < check->as.count && !run->errors ? bytes : count_code_points(text, bytes);
    return found >= check->as.count || fail_length(run, node, check, instance, place, found, "least");
}

CHECK_FUNCTION(check_max_length) {
    (void)marks;
    size_t bytes;
    const char *text = value_chars(instance, &bytes);
    if (bytes <= check->as.count) return true;
    size_t found = count_code_points(text, bytes);
    return found <= check->as.count || fail_length(run, node, check, instance, place, found, "most");
}

CHECK_FUNCTION(check_format) {
    (void)marks;
    size_t length;
    const char *text = value_chars(instance, &length);
    return check->as.format(text, length) || fail_comparison(run, node, check, instance, place, "the format ");
}

static bool fail_enum(struct run *run, const struct node *node, const struct check *check, tn_value instance,
                      const struct place *place) {
    if (!run->errors) return false;
    struct buffer message;
    buffer_init(&message, SCHEMA_MESSAGE_MAX);
    buffer_text(&message, "found ");
    describe(&message, instance);
    buffer_text(&message, ", expected ");
    buffer_text(&message, value_count(check->value) > 1 ? "one of " : "");
    describe_values(&message, check->value);
    struct nearest near = {0};
    if (value_is(instance, TN_STRING)) {
        size_t length;
        const char *text = value_chars(instance, &length);
        nearest_init(&near, text, length);
        for (size_t i = 0; i < value_count(check->as.values.strings); i++) {
            text = value_chars(value_key_at(check->as.values.strings, i), &length);
            nearest_add_candidate(&near, text, length);
        }
        if (near.best) buffer_format(&message, "; did you mean \"%s\"?", near.best);
    }
    const struct finding finding = {node,      check->keyword,   place, instance, check->value,
                                    near.best, near.best_length, NULL};
    fail_finding(run, &finding, buffer_cstr(&message));
    buffer_finish(&message);
    return false;
}

CHECK_FUNCTION(check_enum) {
    (void)marks;
    if (value_is(instance, TN_STRING)) {
        if (value_get_key(check->as.values.strings, instance)) return true;
    } else {
        tn_value others = check->as.values.others;
        size_t count = value_count(others);
        if (!spend(run, place, count)) return false;
        for (size_t i = 0; i < count; i++)
            if (value_equal(instance, value_at(others, i))) return true;
    }
    return fail_enum(run, node, check, instance, place);
}

CHECK_FUNCTION(check_const) {
    (void)marks;
    return value_equal(instance, check->value) || fail_comparison(run, node, check, instance, place, "");
}
