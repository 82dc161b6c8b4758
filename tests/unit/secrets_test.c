/*
 * secrets_test.c - finding secrets: in each form, in values, many at once, and in texts that arrive in pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* After those: */
#include "adl/value/base64.h"
#include "adl/value/json.h"
#include "host/base/loop.h"
#include "host/base/secrets/secrets.h"
#include "host/base/secrets/secrets_search.h"
#include "host/base/secrets/secrets_stream.h"
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET "s3cret/of+the\"caf\xc3\xa9\""

static struct secrets *make_secrets(const char *name, const char *text) {
    struct secrets *secrets = secrets_new(NULL, NULL);
    tn_value section = value_set_take(value_object_reserve(1), "secret", value_text(name)), revealed = value_text(text);
    secrets_learn(secrets, section, revealed);
    value_unref(section);
    value_unref(revealed);
    return secrets;
}

static void free_secrets(struct secrets *secrets) {
    secrets_close(secrets);
    secrets_free(secrets);
}

static void expect_scrubbed(struct secrets *secrets, const char *text, const char *expected) {
    tn_value value = value_text(text), safe = secrets_scrub(secrets, value, SECRETS_RESULT_MIN);
    assert_string_equal(value_chars(safe, NULL), expected);
    value_unref(value);
    value_unref(safe);
}

static void finds_each_form(void **state) {
    static const char *const texts[][2] = {
        {"the " SECRET ".", "the {secret:KEY}."},
        {SECRET SECRET, "{secret:KEY}{secret:KEY}"},
        {"k=s3cret%2Fof%2Bthe%22caf%C3%A9%22&", "k={secret:KEY}&"},
        {"k=s3cret%2fof%2bthe%22caf%c3%a9%22&", "k={secret:KEY}&"},
        {"{\"k\":\"s3cret/of+the\\\"caf\xc3\xa9\\\"\"}", "{\"k\":\"{secret:KEY}\"}"},
        {"{\"k\":\"s3cret\\/of+the\\\"caf\xc3\xa9\\\"\"}", "{\"k\":\"{secret:KEY}\"}"},
        {"k=s3cret/of%2Bthe%22caf%C3%A9%22", "k={secret:KEY}"},                        /* Python: quote */
        {"k=s3cret/of+the%22caf%C3%A9%22", "k={secret:KEY}"},                          /* JavaScript: encodeURI */
        {"{\"k\":\"s3cret/of+the\\\"caf\\u00e9\\\"\"}", "{\"k\":\"{secret:KEY}\"}"},   /* Python: json */
        {"{\"k\":\"s3cret\\/of+the\\\"caf\\u00e9\\\"\"}", "{\"k\":\"{secret:KEY}\"}"}, /* PHP: json_encode */
        {"<b>s3cret/of+the&quot;caf\xc3\xa9&quot;</b>", "<b>{secret:KEY}</b>"},
        {"s3cret/of+th", "s3cret/of+th"},
        {"", ""}};
    struct secrets *secrets = make_secrets("KEY", SECRET);
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_scrubbed(secrets, texts[i][0], texts[i][1]);
    free_secrets(secrets);
}

/* The same for a secret with the characters in which libraries differ. */
static void finds_rare_characters(void **state) {
    static const char *const texts[] = {"a b<c>&d!'\xf0\x9f\x94\x91*",
                                        "a%20b%3Cc%3E%26d%21%27%F0%9F%94%91%2A",
                                        "a%20b%3Cc%3E%26d!'%F0%9F%94%91*",
                                        "a+b%3Cc%3E%26d%21%27%F0%9F%94%91*",
                                        "a+b%3cc%3e%26d%21%27%f0%9f%94%91*",
                                        "a b\\u003cc\\u003e\\u0026d!'\xf0\x9f\x94\x91*",
                                        "a b<c>&d!'\\ud83d\\udd11*",
                                        "a b&lt;c&gt;&amp;d!&#39;\xf0\x9f\x94\x91*",
                                        "a b&lt;c&gt;&amp;d!&#x27;\xf0\x9f\x94\x91*",
                                        "a b&lt;c&gt;&amp;d!'\xf0\x9f\x94\x91*"};
    struct secrets *secrets = make_secrets("KEY", texts[0]);
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect_scrubbed(secrets, texts[i], "{secret:KEY}");
    free_secrets(secrets);
}

/* In base64 with 0 to 5 bytes before the secret and 0 to 5 after it, in both alphabets, no part of the secret is left.
 */
static void finds_base64_at_each_position(void **state) {
    struct secrets *secrets = make_secrets("KEY", "\xc3\xbf\xc3\xbe>>>???secret");
    (void)state;
    for (size_t before = 0; before < 6; before++) {
        for (size_t after = 0; after < 6; after++) {
            for (int url = 0; url < 2; url++) {
                struct buffer bytes, text;
                buffer_init(&bytes, SIZE_MAX);
                buffer_init(&text, SIZE_MAX);
                buffer_append(&bytes, "user:", before < 5 ? before : 5);
                buffer_text(&bytes, "\xc3\xbf\xc3\xbe>>>???secret");
                buffer_append(&bytes, "after", after < 5 ? after : 5);
                base64_write(&text, bytes.data, bytes.length);
                for (size_t i = 0; url && i < text.length; i++)
                    text.data[i] = text.data[i] == '+' ? '-' : text.data[i] == '/' ? '_' : text.data[i];
                tn_value value = value_text(buffer_cstr(&text)),
                         safe = secrets_scrub(secrets, value, SECRETS_RESULT_MIN);
                const char *found = strstr(value_chars(safe, NULL), "{secret:KEY}");
                assert_non_null(found);
                /* At most one character beside the match depends on the secret, on each side. */
                assert_true((size_t)(found - value_chars(safe, NULL)) <= (before * 8 + 5) / 6);
                assert_true(strlen(found + 12) <= after * 8 / 6 + 5);
                value_unref(value);
                value_unref(safe);
                buffer_finish(&bytes);
                buffer_finish(&text);
            }
        }
    }
    free_secrets(secrets);
}

static void replaces_in_values(void **state) {
    struct secrets *secrets = make_secrets("KEY", "long-enough-secret");
    tn_value value = NULL, expected = NULL, same = NULL;
    static const char text[] =
        "{\"a\":[1,\"x long-enough-secret\",{\"b\":null}],\"k long-enough-secret\":\"v\",\"z\":true}";
    static const char safe_text[] = "{\"a\":[1,\"x {secret:KEY}\",{\"b\":null}],\"k {secret:KEY}\":\"v\",\"z\":true}";
    static const char other[] = "{\"a\":[1,\"nothing to find in here\"]}";
    (void)state;
    assert_int_equal(json_read(text, sizeof text - 1, NULL, &value, NULL), TN_OK);
    assert_int_equal(json_read(safe_text, sizeof safe_text - 1, NULL, &expected, NULL), TN_OK);
    assert_int_equal(json_read(other, sizeof other - 1, NULL, &same, NULL), TN_OK);
    tn_value safe = secrets_scrub(secrets, value, SECRETS_RESULT_MIN);
    assert_true(value_equal(safe, expected));
    value_unref(safe);
    safe = secrets_scrub(secrets, same, SECRETS_RESULT_MIN);
    assert_ptr_equal(safe, same); /* not copied */
    value_unref(safe);
    tn_value bytes = value_bytes("\x00\xfflong-enough-secret\xff", 21);
    safe = secrets_scrub(secrets, bytes, SECRETS_RESULT_MIN);
    size_t length;
    assert_memory_equal(value_data(safe, &length), "\x00\xff{secret:KEY}\xff", 15);
    assert_int_equal(length, 15);
    value_unref(safe);
    value_unref(bytes);
    value_unref(value);
    value_unref(expected);
    value_unref(same);
    free_secrets(secrets);
}

/* A short secret occurs in ordinary text: results keep it, log lines and recordings do not. */
static void short_secrets_stay_in_results(void **state) {
    struct secrets *secrets = make_secrets("KEY", "test");
    (void)state;
    expect_scrubbed(secrets, "a test", "a test");
    char *line = secrets_scrub_line(secrets, "a test");
    assert_string_equal(line, "a {secret:KEY}");
    free(line);
    assert_null(secrets_scrub_line(secrets, "a tes"));
    free_secrets(secrets);
}

static void sent_texts_are_found(void **state) {
    struct secrets *secrets = secrets_new(NULL, NULL);
    char text[32];
    (void)state;
    expect_scrubbed(secrets, "token-of-a-server", "token-of-a-server");
    for (unsigned i = 0; i < SECRETS_SENT_MAX + 1; i++) {
        snprintf(text, sizeof text, "token-number-%02u", i);
        secrets_learn_sent(secrets, text, strlen(text));
    }
    expect_scrubbed(secrets, "token-number-00", "token-number-00"); /* the oldest was removed */
    expect_scrubbed(secrets, "token-number-01", "{redacted}");
    expect_scrubbed(secrets, "token-number-64", "{redacted}");
    free_secrets(secrets);
}

/* The search finds the same matches as the obvious one, for random texts of few letters. */
static void search_equals_the_obvious_one(void **state) {
    (void)state;
    srand(7);
    for (int round = 0; round < 300; round++) {
        struct secret_search search;
        char words[6][12], text[400];
        size_t lengths[6], length = (size_t)rand() % sizeof text;
        secret_search_begin(&search, 2);
        for (size_t i = 0; i < 6; i++) {
            lengths[i] = 2 + (size_t)rand() % 6; /* shorter than FORMS_BASE64_MIN: only the text itself */
            for (size_t j = 0; j < lengths[i]; j++) words[i][j] = (char)('a' + rand() % 3);
            secret_search_add_forms(&search, (const struct secret *)&words[i], words[i], lengths[i]);
        }
        secret_search_complete(&search);
        for (size_t i = 0; i < length; i++) text[i] = (char)('a' + rand() % 3);
        for (size_t at = 0, next = 0; at <= length; at++) {
            size_t best = 0;
            for (size_t i = 0; i < 6; i++)
                if (at + lengths[i] <= length && memcmp(text + at, words[i], lengths[i]) == 0 && lengths[i] > best)
                    best = lengths[i];
            next = at;
            struct secret_match match = secret_search_next(&search, text, at + best, &next);
            if (best) assert_true(match.secret && next == at && match.length == best);
        }
        size_t end = 0;
        for (size_t i = 0; i < 6; i++)
            for (size_t size = SEARCH_OPEN_MIN; size < lengths[i] && size <= length; size++)
                if (memcmp(text + length - size, words[i], size) == 0 && size > end) end = size;
        assert_int_equal(secret_search_open_end(&search, text, length), end);
        secret_search_finish(&search);
    }
}

/* A text in pieces: in all ways of two cuts, the secret is replaced, and the rest of the text is complete. */
static void pieces_are_one_text(void **state) {
    static const char text[] = "ab long-enough-secret, long-enough-sec";
    size_t length = sizeof text - 1;
    struct secrets *secrets = make_secrets("KEY", "long-enough-secret");
    (void)state;
    for (size_t first = 0; first <= length; first++) {
        for (size_t second = first; second <= length; second++) {
            struct secrets_stream *stream = secrets_stream_of(secrets, text, true);
            struct buffer all, out;
            const size_t cuts[] = {0, first, second, length};
            buffer_init(&all, SIZE_MAX);
            for (size_t i = 0; i < 3; i++) {
                buffer_init(&out, SIZE_MAX);
                secrets_stream_next(stream, secrets, text + cuts[i], cuts[i + 1] - cuts[i], &out);
                buffer_append(&all, buffer_cstr(&out), out.length);
                buffer_finish(&out);
            }
            secrets_stream_rest(stream, &all);
            /* Up to three bytes of the secret were passed on before it was known to be one. */
            char whole[128];
            bool found = false;
            for (size_t lost = 0; lost < SECRETS_STREAM_HELD_MIN; lost++) {
                snprintf(whole, sizeof whole, "ab %.*s{secret:KEY}, long-enough-sec", (int)lost, "lon");
                found |= strcmp(buffer_cstr(&all), whole) == 0;
            }
            assert_true(found);
            buffer_finish(&all);
            secrets_stream_remove(secrets, text);
            assert_null(secrets_stream_of(secrets, text, false));
        }
    }
    /* One byte at a time. */
    struct secrets_stream *stream = secrets_stream_of(secrets, text, true);
    struct buffer all;
    buffer_init(&all, SIZE_MAX);
    for (size_t i = 0; i < length; i++) secrets_stream_next(stream, secrets, text + i, 1, &all);
    secrets_stream_rest(stream, &all);
    assert_string_equal(buffer_cstr(&all), "ab lon{secret:KEY}, long-enough-sec");
    buffer_finish(&all);
    free_secrets(secrets); /* also frees the stream */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_each_form),
                                       cmocka_unit_test(finds_rare_characters),
                                       cmocka_unit_test(finds_base64_at_each_position),
                                       cmocka_unit_test(replaces_in_values),
                                       cmocka_unit_test(short_secrets_stay_in_results),
                                       cmocka_unit_test(sent_texts_are_found),
                                       cmocka_unit_test(search_equals_the_obvious_one),
                                       cmocka_unit_test(pieces_are_one_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
