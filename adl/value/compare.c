/*
 * compare.c - equality and order of values.
 *
 * Equality walks both values with an explicit stack, so that nesting cannot exhaust the thread's stack. Integers and
 * doubles are compared by their mathematical values: converting an int64 to double would make 2^53 and 2^53 + 1 equal.
 */
#include <math.h>
#include <string.h>

#include "adl/value/block.h"
#include "adl/value/memory.h"

static int compare_int_double(int64_t integer, double real) {
    if (real >= 0x1p63) return -1;
    if (real < -0x1p63) return 1;
    double whole = trunc(real); /* fits int64 */
    int64_t other = (int64_t)whole;
    if (integer != other) return integer < other ? -1 : 1;
    return real > whole ? -1 : real < whole ? 1 : 0;
}

int value_compare_numbers(tn_value a, tn_value b) {
    assert(value_is_number(a) && value_is_number(b));
    bool a_int = value_is(a, TN_INT), b_int = value_is(b, TN_INT);
    if (a_int && b_int) {
        int64_t x = value_to_int(a), y = value_to_int(b);
        return (x > y) - (x < y);
    }
    if (a_int) return compare_int_double(value_to_int(a), value_to_double(b));
    if (b_int) return -compare_int_double(value_to_int(b), value_to_double(a));
    double x = value_to_double(a), y = value_to_double(b);
    return (x > y) - (x < y);
}

int value_compare_strings(tn_value a, tn_value b) {
    size_t a_length, b_length;
    const char *a_chars = value_chars(a, &a_length), *b_chars = value_chars(b, &b_length);
    size_t shared = a_length < b_length ? a_length : b_length;
    int order = memcmp(a_chars, b_chars, shared);
    if (order != 0) return order < 0 ? -1 : 1;
    return (a_length > b_length) - (a_length < b_length);
}

/* Compares two values that are not both containers. */
static bool same_scalar(tn_value a, tn_value b, int a_kind, int b_kind, bool identical) {
    bool numbers = (a_kind == TN_INT || a_kind == TN_DOUBLE) && (b_kind == TN_INT || b_kind == TN_DOUBLE);
    if (a_kind != b_kind && (identical || !numbers)) return false;
    if (a_kind == TN_DOUBLE && identical)
        return signbit(value_to_double(a)) == signbit(value_to_double(b)) && value_compare_numbers(a, b) == 0;
    if (numbers) return value_compare_numbers(a, b) == 0;
    if (a_kind == TN_STRING || a_kind == TN_BYTES) return string_same(a, b);
    return a == b;
}

struct pair {
    tn_value a, b;
    size_t next;
};

#define PAIRS_HERE 32

static bool values_same(tn_value a, tn_value b, bool identical) {
    struct pair here[PAIRS_HERE], *pairs = here;
    size_t depth = 0, capacity = PAIRS_HERE;
    bool result = false;
    for (;;) {
        int a_kind = value_kind(a), b_kind = value_kind(b);
        if (a != b && a_kind >= TN_ARRAY && a_kind == b_kind) {
            if (value_count(a) != value_count(b)) goto out;
            MEM_GROW_FROM(pairs, here, depth, capacity);
            pairs[depth++] = (struct pair){a, b, 0};
        } else if (a != b && !same_scalar(a, b, a_kind, b_kind, identical)) {
            goto out;
        }
        while (depth > 0 && pairs[depth - 1].next == value_count(pairs[depth - 1].a)) depth--;
        if (depth == 0) break;
        struct pair *top = &pairs[depth - 1];
        size_t i = top->next++;
        if (value_is(top->a, TN_ARRAY)) {
            a = value_at(top->a, i);
            b = value_at(top->b, i);
            continue;
        }
        tn_value key = value_key_at(top->a, i);
        if (string_same(key, value_key_at(top->b, i)))
            b = value_value_at(top->b, i);
        else
            b = identical ? NULL : value_get_key(top->b, key);
        if (b == NULL) goto out;
        a = value_value_at(top->a, i);
    }
    result = true;
out:
    if (pairs != here) mem_free(pairs);
    return result;
}

bool value_equal(tn_value a, tn_value b) { return values_same(a, b, false); }

bool value_identical(tn_value a, tn_value b) { return values_same(a, b, true); }
