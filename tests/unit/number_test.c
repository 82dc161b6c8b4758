/*
 * number_test.c - doubles to text and back: every double is restored from its shortest text, in any locale.
 *
 * The reference is the C library in the C locale: printf with 1, 2, … 17 digits until strtod returns the same double.
 * Inputs are random bit patterns (NUMBER_SEED repeats a run; the seed is printed), decimals of few digits, and the
 * limits of every kind.
 */
#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "adl/value/json.h"
#include "adl/value/number_powers.h"
#include "adl/value/value.h"

static uint64_t state;

static uint64_t random_64(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t high = state >> 32;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return high << 32 | state >> 32;
}

static void seed_from_environment(void) {
    const char *given = getenv("NUMBER_SEED");
    state = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    (void)printf("NUMBER_SEED=%llu\n", (unsigned long long)state);
}

static bool same_bits(double a, double b) {
    uint64_t bits[2];
    memcpy(&bits[0], &a, sizeof a);
    memcpy(&bits[1], &b, sizeof b);
    return bits[0] == bits[1];
}

/*
 * The text that json_double_text has always written: of the digits that printf rounds to 1, 2, … 17 places, the first
 * ones that read back.
 */
static void reference(double number, char out[64]) {
    char printed[64], digits[32] = "0";
    int count = 1, exponent = 0;
    bool negative = signbit(number);
    number = fabs(number);
    for (int places = 1; places <= 17 && number != 0; places++) {
        (void)snprintf(printed, sizeof printed, "%.*e", places - 1, number);
        if (strtod(printed, NULL) != number) continue;
        exponent = atoi(strchr(printed, 'e') + 1);
        digits[0] = printed[0];
        memcpy(digits + 1, printed + 2, (size_t)places - 1);
        for (count = places; count > 1 && digits[count - 1] == '0';) count--;
        break;
    }
    digits[count] = '\0';
    int point = exponent + 1;
    if (negative) *out++ = '-';
    if (point > -4 && point <= 0)
        (void)snprintf(out, 63, "0.%.*s%s", -point, "0000", digits);
    else if (point > 0 && point <= 16 && count <= point)
        (void)snprintf(out, 63, "%s%.*s.0", digits, point - count, "0000000000000000");
    else if (point > 0 && point <= 16)
        (void)snprintf(out, 63, "%.*s.%s", point, digits, digits + point);
    else
        (void)snprintf(out, 63, "%.1s%s%se%d", digits, count > 1 ? "." : "", digits + 1, exponent);
}

/* The digits of the significand without zeros at either end. */
static int digits_of(const char *text) {
    int count = 0, zeros = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (!isdigit((unsigned char)*text)) continue;
        if (*text == '0') {
            zeros += count > 0;
        } else {
            count += zeros + 1;
            zeros = 0;
        }
    }
    return count;
}

static int fewest_digits(double number) {
    char text[64];
    for (int count = 1; count < 17; count++) {
        (void)snprintf(text, sizeof text, "%.*e", count - 1, number);
        if (strtod(text, NULL) == number) return count;
    }
    return 17;
}

static void check(double number) {
    char text[32];
    size_t length = json_double_text(number, text);
    double back = 0;
    if (strlen(text) != length || length > 25) fail_msg("%a: length %zu", number, length);
    if (strpbrk(text, ".e") == NULL) fail_msg("%a: `%s` reads as an integer", number, text);
    if (!json_double_read(text, length, &back) || !same_bits(back, number))
        fail_msg("%a: `%s` is %a", number, text, back);
    if (!same_bits(strtod(text, NULL), number)) fail_msg("%a: `%s`, says strtod", number, text);
    char expected[64];
    reference(number, expected);
    if (strcmp(text, expected) != 0) fail_msg("%a: `%s`, expected `%s`", number, text, expected);
    if (number != 0 && digits_of(text) > fewest_digits(number)) fail_msg("%a: `%s` is not the shortest", number, text);
    tn_value value = NULL; /* and it is JSON */
    if (json_read(text, length, NULL, &value, NULL) != TN_OK || !value_is(value, TN_DOUBLE)) fail_msg("`%s`", text);
    value_unref(value);
}

static void check_both(double number) {
    check(number);
    check(-number);
}

static void the_forms(void **unused) {
    (void)unused;
    static const struct {
        double number;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.30000000000000004, "0.30000000000000004"},
        {100, "100.0"},
        {1e15, "1000000000000000.0"},
        {9007199254740992, "9007199254740992.0"},
        {1e16, "1e16"},
        {1.5e16, "1.5e16"},
        {1e300, "1e300"},
        {0.0001, "0.0001"},
        {0.00012345678901234567, "0.00012345678901234567"},
        {0.00001, "1e-5"},
        {5e-324, "5e-324"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1e23, "1e23"},
        {9e22, "9e22"},
        {123456789012345680, "1.2345678901234568e17"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        (void)json_double_text(cases[i].number, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void edge_cases(void **unused) {
    (void)unused;
    for (int exponent = -1074; exponent <= 1023; exponent++) { /* powers of two and their neighbours */
        double power = ldexp(1, exponent);
        check_both(power);
        check_both(nextafter(power, 0) != 0 ? nextafter(power, 0) : power);
        if (isfinite(nextafter(power, INFINITY))) check_both(nextafter(power, INFINITY));
    }
    for (int exponent = -323; exponent <= 308; exponent++) {
        char text[16];
        (void)snprintf(text, sizeof text, "1e%d", exponent);
        double power = strtod(text, NULL);
        check_both(power);
        check_both(nextafter(power, INFINITY));
        if (nextafter(power, 0) > 0) check_both(nextafter(power, 0));
    }
}

static void random_bits(void **unused) {
    (void)unused;
    seed_from_environment();
    for (int i = 0; i < 15000; i++) {
        uint64_t bits = random_64();
        if (i % 8 == 0) bits &= UINT64_MAX >> 12; /* subnormal */
        double number;
        memcpy(&number, &bits, sizeof number);
        if (isfinite(number)) check(number);
    }
}

/* Typical numbers: few digits, small exponents; and their sums, which need all digits. */
static void typical_numbers(void **unused) {
    (void)unused;
    seed_from_environment();
    double sum = 0;
    for (int i = 0; i < 12000; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%d.%0*d", (int)(random_64() % 1000), 1 + i % 6, (int)(random_64() % 10));
        double number = strtod(text, NULL);
        check(number);
        sum += number;
        check(sum);
        check((double)(int64_t)(random_64() >> (random_64() % 63)));
    }
}

/* Reading returns the result of strtod for any number of digits. */
static void reading(void **unused) {
    (void)unused;
    seed_from_environment();
    for (int i = 0; i < 20000; i++) {
        char text[1200];
        size_t at = 0;
        if (random_64() % 2 == 0) text[at++] = '-';
        size_t digits = 1 + random_64() % (i % 100 == 0 ? 1000 : 25), point = random_64() % (digits + 1);
        for (size_t j = 0; j < digits; j++) {
            if (j == point && j > 0) text[at++] = '.';
            text[at++] = (char)('0' + (random_64() % 3 == 0 ? 0 : random_64() % 10));
        }
        if (random_64() % 2 == 0) at += (size_t)snprintf(text + at, 16, "e%d", (int)(random_64() % 700) - 350);
        text[at] = '\0';
        double expected = strtod(text, NULL), got = 0;
        bool fits = json_double_read(text, at, &got);
        if (fits != (bool)isfinite(expected) || (fits && !same_bits(got, expected))) fail_msg("%s: %a", text, got);
    }
    for (int i = 0; i < 20000; i++) { /* exactly between two doubles, in at most 19 digits, and beside that */
        char text[64];
        unsigned long long whole = ((uint64_t)1 << 52) + (random_64() >> 12);
        double expected, got;
        (void)snprintf(text, sizeof text, "%llu.5", whole);
        if (i % 3 == 1) (void)snprintf(text, sizeof text, "%llue%d", (2 * whole + 1) % 9999999999999999, i % 24);
        if (i % 3 == 2) (void)snprintf(text, sizeof text, "%llu.50%d", whole, i % 2);
        expected = strtod(text, NULL);
        if (!json_double_read(text, strlen(text), &got) || !same_bits(got, expected)) fail_msg("%s: %a", text, got);
    }
    double number;
    static const char *const halfway[] = {"9007199254740993",
                                          "9007199254740992.99999999999999999999",
                                          "9007199254740993.00000000000000000000000000000000000000001",
                                          "2.2250738585072011e-308",
                                          "2.4703282292062327e-324",
                                          "1e-99999999999999999999",
                                          "0e99999999999999999999",
                                          "1.7976931348623158e308",
                                          "0.000000000000000000000e9"};
    for (size_t i = 0; i < sizeof halfway / sizeof *halfway; i++) {
        assert_true(json_double_read(halfway[i], strlen(halfway[i]), &number));
        if (!same_bits(number, strtod(halfway[i], NULL))) fail_msg("%s: %a", halfway[i], number);
    }
    number = 7;
    assert_false(json_double_read("1.7976931348623159e308", 22, &number));
    assert_false(json_double_read("-1e999999999999999999999", 24, &number));
    assert_true(number == 7);
}

/* ---- The table ---- */

#define WORDS 96 /* 3,072 bits */

struct big {
    uint32_t words[WORDS]; /* the lowest first */
};

static void big_multiply(struct big *big, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)big->words[i] * factor;
        big->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    assert_true(carry == 0);
}

static struct big big_shifted(const struct big *big, int bits) {
    struct big result = {{0}};
    for (int i = bits / 32; i < WORDS; i++) result.words[i] = big->words[i - bits / 32];
    big_multiply(&result, (uint32_t)1 << (bits % 32));
    return result;
}

static struct big big_of(uint64_t high, uint64_t low) {
    return (struct big){{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)}};
}

static int big_compare(const struct big *a, const struct big *b) {
    for (int i = WORDS - 1; i >= 0; i--)
        if (a->words[i] != b->words[i]) return a->words[i] < b->words[i] ? -1 : 1;
    return 0;
}

/* (entry - 1) × 2^e < 10^power <= entry × 2^e, for each entry; both sides are multiplied by what makes them whole. */
static void powers_are_exact(void **unused) {
    (void)unused;
    for (int power = NUMBER_POWER_MIN; power <= NUMBER_POWER_MAX; power++) {
        const struct number_power *entry = number_power_of_ten(power);
        assert_true(entry->high >> 63 == 1);
        struct big upper = big_of(entry->high, entry->low), ten = big_of(0, 1);
        struct big lower = big_of(entry->low == 0 ? entry->high - 1 : entry->high, entry->low - 1);
        int shift = number_log2_of_ten(power) - 127;
        for (int i = 0; i < power; i++) big_multiply(&ten, 10);
        for (int i = 0; i > power; i--) {
            big_multiply(&upper, 10);
            big_multiply(&lower, 10);
        }
        if (shift > 0) {
            upper = big_shifted(&upper, shift);
            lower = big_shifted(&lower, shift);
        } else {
            ten = big_shifted(&ten, -shift);
        }
        if (big_compare(&lower, &ten) >= 0 || big_compare(&ten, &upper) > 0) fail_msg("10^%d", power);
        assert_true(power <= NUMBER_POWER_EXACT || entry->low > 0);
        bool exact = big_compare(&ten, &upper) == 0;
        if (exact != (power >= 0 && power <= NUMBER_POWER_EXACT))
            fail_msg("10^%d is%s exact", power, exact ? "" : " not");
    }
}

static void locale_has_no_effect(void **unused) {
    (void)unused;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE", "fr_FR"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && found == NULL; i++) found = setlocale(LC_ALL, names[i]);
    if (found == NULL) {
        (void)printf("no locale with a decimal comma is installed\n");
        skip();
    }
    char text[32];
    (void)json_double_text(1.0 / 3, text);
    assert_string_equal(text, "0.3333333333333333");
    (void)json_double_text(5e-324, text);
    assert_string_equal(text, "5e-324");
    double number;
    assert_true(json_double_read("0.3333333333333333", 18, &number));
    assert_true(number == 1.0 / 3);
    (void)setlocale(LC_ALL, "C");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_forms),        cmocka_unit_test(edge_cases), cmocka_unit_test(random_bits),
        cmocka_unit_test(typical_numbers),  cmocka_unit_test(reading),    cmocka_unit_test(locale_has_no_effect),
        cmocka_unit_test(powers_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
