/*
 * schema_pattern_test.c - a pattern that is a table matches what PCRE2 matches.
 *
 * Random patterns of everything that the grammar has, over few characters of one to four bytes so that texts and
 * patterns meet, match random texts in both ways (PATTERN_SEED repeats a run; the seed is printed). Then the limits: a
 * pattern or a schema that is too large stays with PCRE2, and has the same result.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "adl/schema/pattern.h"
#include "adl/schema/pattern_quick.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"

#define PATTERNS 4000
#define TEXTS    25

static uint64_t state;

static uint32_t below(uint32_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % limit);
}

static bool one_in(uint32_t count) { return below(count) == 0; }

#define ONE_OF(list) (list)[below(sizeof(list) / sizeof *(list))]

static const char *const characters[] = {"a",
                                         "b",
                                         "b",
                                         "c",
                                         "-",
                                         "1",
                                         " ",
                                         "\n",
                                         "\xc3\xa9",
                                         "\xe2\x82\xac",
                                         "\xe2\x80\xa8",
                                         "\xf0\x9f\x98\x80",
                                         "_",
                                         "\xc2\xa0",
                                         "\xea\xb0\x80",
                                         "\xef\xbf\xbd"};

/* ---- Random patterns ------------------------------------------------------------------------------------------- */

static void put_class(struct buffer *out) {
    static const char *const members[] = {"a",
                                          "b-c",
                                          "a-z",
                                          "0-9",
                                          "\\d",
                                          "\\w",
                                          "\\s",
                                          "\\S",
                                          "\\W",
                                          "\\D",
                                          "-",
                                          "\\-",
                                          "\\]",
                                          "\xc3\xa9",
                                          "\\u00e0-\\u00ff",
                                          "\\u2000-\\u20ff",
                                          "\\x61",
                                          "\\n",
                                          "\xe2\x82\xac-\xf0\x9f\x98\x80",
                                          "^",
                                          "_",
                                          "\\u0080-\\uabff",
                                          "\\b",
                                          "."};
    buffer_text(out, one_in(3) ? "[^" : "[");
    for (uint32_t i = below(4) + (one_in(20) ? 0 : 1); i > 0; i--) buffer_text(out, ONE_OF(members));
    buffer_text(out, "]");
}

static void put_alternatives(struct buffer *out, unsigned depth);

static void put_item(struct buffer *out, unsigned depth) {
    static const char *const escapes[] = {"\\d", "\\w", "\\s",   "\\S",     "\\W", "\\D",
                                          "\\.", "\\-", "\\x61", "\\u00e9", "\\n", "\\cJ"};
    static const char *const quantifiers[] = {"*", "+", "?", "{2}", "{1,3}", "{0}", "{2,}", "*?", "+?", "{0,2}"};
    static const char *const groups[] = {"(", "(?:", "(?<name>"};
    static const char *const others[] = {"\\b", "(?=a)", "(?!b)", "\\B"}; /* for PCRE2 only */
    bool repeatable = true;
    switch (below(12)) {
    case 0:
    case 1:
    case 2:
    case 3: buffer_text(out, ONE_OF(characters)); break;
    case 4: buffer_text(out, "."); break;
    case 5: buffer_text(out, ONE_OF(escapes)); break;
    case 6:
    case 7: put_class(out); break;
    case 8:
    case 9:
        if (depth == 0) return;
        buffer_text(out, groups[below(strstr(buffer_cstr(out), "<name>") ? 2 : 3)]);
        put_alternatives(out, depth - 1);
        buffer_text(out, ")");
        break;
    case 10:
        buffer_text(out, one_in(2) ? "^" : "$");
        repeatable = false;
        break;
    default:
        buffer_text(out, one_in(6) ? ONE_OF(others) : "a");
        repeatable = false;
        break;
    }
    if (repeatable && one_in(3)) buffer_text(out, ONE_OF(quantifiers));
}

static void put_alternatives(struct buffer *out, unsigned depth) {
    for (uint32_t left = one_in(3) ? 1 + below(3) : 1; left > 0; left--) {
        for (uint32_t i = below(4); i > 0; i--) put_item(out, depth);
        if (left > 1) buffer_text(out, "|");
    }
}

static void put_text(struct buffer *out) {
    for (uint32_t i = below(9); i > 0; i--) buffer_text(out, ONE_OF(characters));
}

/* ---- Both ways ------------------------------------------------------------------------------------------------- */

static int match(const struct pattern *pattern, const char *text, size_t length) {
    void *scratch = NULL;
    int found = pattern_match(pattern, text, length, &scratch);
    pattern_scratch_free(scratch);
    return found;
}

/* Returns 1 or 0, or -1 if the pattern is invalid. *table is set to whether the pattern is a table. */
static int both_match(const char *pattern_text, const char *text, size_t length, bool *table) {
    char reason[256];
    struct pattern *pattern;
    size_t size = strlen(pattern_text);
    *table = false;
    if (!pattern_new(pattern_text, size, &pattern, reason, sizeof reason)) return -1;
    int slow = match(pattern, text, length);
    pattern_free(pattern);
    struct quick_budget budget = QUICK_BUDGET_INIT;
    struct quick *quick = quick_new(pattern_text, size, &budget);
    *table = quick != NULL;
    if (quick && slow >= 0 && quick_matches(quick, text, length) != (slow == 1))
        fail_msg("/%s/ of `%s`: PCRE2 returned %d", pattern_text, text, slow);
    quick_free(quick);
    return slow;
}

static void random_patterns_agree(void **unused) {
    (void)unused;
    uint32_t valid = 0, tables = 0, found = 0, all = 0;
    for (int i = 0; i < PATTERNS; i++) {
        struct buffer pattern_text;
        buffer_init(&pattern_text, 4000);
        if (one_in(3)) buffer_text(&pattern_text, "^");
        put_alternatives(&pattern_text, 2);
        if (one_in(3)) buffer_text(&pattern_text, "$");
        char reason[256];
        struct pattern *pattern;
        const char *chars = buffer_cstr(&pattern_text);
        if (pattern_new(chars, pattern_text.length, &pattern, reason, sizeof reason)) {
            valid++;
            struct quick_budget budget = QUICK_BUDGET_INIT;
            struct quick *quick = quick_new(chars, pattern_text.length, &budget);
            tables += quick != NULL;
            for (int j = 0; j < TEXTS && quick; j++) {
                struct buffer text;
                buffer_init(&text, 4000);
                put_text(&text);
                int slow = match(pattern, buffer_cstr(&text), text.length);
                bool fast = quick_matches(quick, buffer_cstr(&text), text.length);
                if (slow >= 0 && fast != (slow == 1))
                    fail_msg("/%s/ of `%s`: PCRE2 returned %d", chars, buffer_cstr(&text), slow);
                found += fast;
                all++;
                buffer_finish(&text);
            }
            quick_free(quick);
            pattern_free(pattern);
        }
        buffer_finish(&pattern_text);
    }
    (void)printf("%u patterns, %u tables, %u of %u texts match\n", valid, tables, found, all);
    assert_true(tables > valid / 2 && tables < valid);
    assert_true(found > all / 10 && found < all - all / 10);
}

/* The patterns that schemas have. */
static void usual_patterns_are_tables(void **unused) {
    (void)unused;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"^[a-z][a-z0-9_-]*$", "some-name_9", true},
        {"^[a-z][a-z0-9_-]*$", "some-name_9\n", false}, /* `$` is only at the end */
        {"^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$", "ann@example.org", true},
        {"^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?(Z|[+-]\\d{2}:\\d{2})?)?$", "2026-11-27T10:00:00.5Z",
         true},
        {"^(debug|info|warn|error)$", "information", false},
        {"^(?:[a-z]+\\.)*[a-z]+$", "a.bc.d", true},
        {"^(a|aa)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false}, /* no limit */
        {"^.{1,3}$", "\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9", true}, /* characters, not bytes */
        {"^.{1,3}$",
         "\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9"
         "a",
         false},
        {"^[\\u0400-\\u04ff]+$", "\xd0\xbf\xd1\x80", true},
        {"", "", true},
        {"$", "abc", true},
        {"^$", "a", false},
        {"[^]", "", false},
        {"[]", "a", false},
        {"a|^b|c$", "xxc", true},
        {"^\\$\\{[A-Z_]+\\}$", "${NAME}", true},
        {"^a{,2}$", "a{,2}", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct quick_budget budget = QUICK_BUDGET_INIT;
        struct quick *quick = quick_new(cases[i].pattern, strlen(cases[i].pattern), &budget);
        if (!quick) fail_msg("/%s/ is not a table", cases[i].pattern);
        if (quick_matches(quick, cases[i].text, strlen(cases[i].text)) != cases[i].matches)
            fail_msg("/%s/ of `%s`", cases[i].pattern, cases[i].text);
        quick_free(quick);
        bool table;
        (void)both_match(cases[i].pattern, cases[i].text, strlen(cases[i].text), &table);
    }
}

static void others_stay_with_pcre2(void **unused) {
    (void)unused;
    static const char *const patterns[] = {"(?=a)a",  "(?<!a)b",       "(a)\\1",       "\\bword",
                                           "\\p{L}",  "(?<n>a)\\k<n>", "$^",           "(^a)*b",
                                           "[\\d-z]", "\\u{1f600}",    "a{900}b{900}", "(a|b)*a(a|b){12}"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        bool table = true;
        int found = both_match(patterns[i], "ab", 2, &table);
        if (table) fail_msg("/%s/ is a table (PCRE2 returned %d)", patterns[i], found);
    }
}

/* NUL is a character; a text ends at its length. */
static void texts_may_contain_nul(void **unused) {
    (void)unused;
    bool table;
    assert_int_equal(both_match("^a\\0b$", "a\0b", 3, &table), 1);
    assert_true(table);
    assert_int_equal(both_match("^a$", "a\0", 2, &table), 0);
}

/* Patterns that need large tables use up the budget of their schema, and then no more work. */
static void work_is_bounded(void **unused) {
    (void)unused;
    struct quick_budget budget = QUICK_BUDGET_INIT;
    int tables = 0, refused = 0;
    for (int i = 0; i < 20000; i++) {
        const char *pattern = i % 2 ? "^[a-z]+$" : "(a|b)*a(a|b){12}[a-z]*c";
        struct quick *quick = quick_new(pattern, strlen(pattern), &budget);
        tables += quick != NULL;
        refused += quick == NULL;
        quick_free(quick);
    }
    assert_true(tables > 0 && refused > 10000);
    assert_int_equal(budget.work, 0);
    budget = (struct quick_budget){QUICK_WORK_MAX, 100}; /* not enough memory for any table */
    assert_null(quick_new("^[a-z]+$", 8, &budget));
}

int main(void) {
    const char *given = getenv("PATTERN_SEED");
    state = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    (void)printf("PATTERN_SEED=%llu\n", (unsigned long long)state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_patterns_agree),  cmocka_unit_test(usual_patterns_are_tables),
        cmocka_unit_test(others_stay_with_pcre2), cmocka_unit_test(texts_may_contain_nul),
        cmocka_unit_test(work_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
