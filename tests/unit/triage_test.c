/* triage_test.c - the nodes of samples/triage/plugin, one by one; the sample as a whole is run by the end-to-end tests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#undef fail /* the contract has a function of this name */

#include "samples/triage/plugin/entities.c"
#include "samples/triage/plugin/keywords.c"
#include "samples/triage/plugin/language.c"
#include "samples/triage/plugin/mbox.c"
#include "samples/triage/plugin/mime.c"
#include "samples/triage/plugin/plugin.c"
#include "samples/triage/plugin/table.c"
#include "samples/triage/plugin/text.c"

#include "tests/unit/fake_host.h"

/* The languages of support.mbox, as its writer meant them. */
static const char *const languages_meant[] = {
    "en", "de", "ja", "es", "en", "en", "de", "es", "en", "ja", "en", "fr", "de", "en", "ja", "es",
    "en", "en", "de", "en", "es", "ja", "en", "en", "de", "it", "ja", "en", "es", "pt", "en", "de",
};

static void reads_the_mailbox_and_its_languages(void **state) {
    (void)state;
    uint32_t mails = 0;
    tn_test_set_channel("path", "\"" TENON_SOURCE_DIR "/samples/triage/support.mbox\"");
    tn_test_set_channel("mails", "null");
    assert_int_equal(tn_test_run("mail.mbox", "{\"path_key\": \"path\", \"output_key\": \"mails\"}", "null")->state,
                     TN_TEST_COMPLETED);
    assert_int_equal(tn_test_find_channel("mails", TN_Z, &mails), TN_OK);
    tn_value list = value_ref(tn_test.channels[mails].written);
    tn_test_finish();
    assert_int_equal(value_count(list), sizeof languages_meant / sizeof *languages_meant);
    for (size_t i = 0; i < value_count(list); i++) {
        tn_value mail = value_at(list, i);
        char *body = json_text(value_get(mail, "body"), JSON_COMPACT);
        assert_true(value_text_is(value_get(mail, "subject"), "") == false);
        tn_test_set_channel("text", body);
        tn_test_set_channel("out", "null");
        (void)tn_test_run("text.language", "{\"input_key\": \"text\", \"output_key\": \"out\"}", "null");
        tn_value guessed = value_get(tn_test.channels[1].written, "language");
        if (!value_text_is(guessed, languages_meant[i]))
            print_message("mail %zu: %s\n", i + 1, value_chars(guessed, NULL));
        assert_true(value_text_is(guessed, languages_meant[i]));
        tn_test_finish();
        mem_free(body);
    }
    value_unref(list);
}

static void reports_an_invalid_mailbox(void **state) {
    (void)state;
    static const char *const paths[][2] = {{"\"/nonexistent\"", "IO"},
                                           {"\"" TENON_SOURCE_DIR "/samples/triage/mail.yaml\"", "NO_MAIL"}};
    for (size_t i = 0; i < 2; i++) {
        tn_test_set_channel("path", paths[i][0]);
        tn_test_set_channel("mails", "null");
        assert_true(tn_test_failed(
            tn_test_run("mail.mbox", "{\"path_key\": \"path\", \"output_key\": \"mails\"}", "null"), paths[i][1]));
        tn_test_finish();
    }
}

static void try_text(const char *id, const char *options, const char *text, const char *expected) {
    char config[512];
    snprintf(config, sizeof config, "{\"input_key\": \"text\", \"output_key\": \"out\"%s}", options);
    tn_test_set_channel("text", text);
    tn_test_set_channel("out", "null");
    (void)tn_test_run(id, config, "null");
    assert_true(tn_test_wrote("out", expected));
    tn_test_finish();
}

static void scores_keywords(void **state) {
    (void)state;
    static const char keywords[] = ", \"keywords\": {\"refund\": 30, \"überfällig\": 20, \"返金\": 40, \"cheap\": -5}";
    try_text("text.keywords", keywords, "\"nothing\"", "{\"matched\":{},\"score\":0}");
    try_text("text.keywords", keywords, "\"Refunds, REFUND; unrefunded\"", "{\"matched\":{\"refund\":2},\"score\":60}");
    try_text("text.keywords", keywords, "\"refund refund refund refund refund\"",
             "{\"matched\":{\"refund\":3},\"score\":90}");
    try_text("text.keywords", keywords, "\"ÜBERFÄLLIG und 返金のお願い\"",
             "{\"matched\":{\"überfällig\":1,\"返金\":1},\"score\":60}");
    try_text("text.keywords", keywords, "\"refund refund refund 返金\"",
             "{\"matched\":{\"refund\":3,\"返金\":1},\"score\":100}");
    try_text("text.keywords", keywords, "\"cheap\"", "{\"matched\":{\"cheap\":1},\"score\":0}");
}

static void finds_entities(void **state) {
    (void)state;
    try_text("text.entities", "", "\"none here, a@ b, 1-2-3, http:// X-1\"", "[]");
    try_text(
        "text.entities", "",
        "\"Mail j.d+x@sub.example.com, see https://a.example/x?y=1. On 2024-05-31: EUR 1.200,50, 30 USD (ORD-20391)\"",
        "[{\"kind\":\"email\",\"text\":\"j.d+x@sub.example.com\"},"
        "{\"kind\":\"url\",\"text\":\"https://a.example/x?y=1\"},{\"kind\":\"date\",\"text\":\"2024-05-31\"},"
        "{\"kind\":\"amount\",\"text\":\"EUR 1.200,50\"},{\"kind\":\"amount\",\"text\":\"30 USD\"},"
        "{\"kind\":\"reference\",\"text\":\"ORD-20391\"}]");
    try_text("text.entities", "", "\"€12, €12 and 9,800円\"",
             "[{\"kind\":\"amount\",\"text\":\"€12\"},{\"kind\":\"amount\",\"text\":\"9,800円\"}]");
}

static void detects_the_language_of_short_texts(void **state) {
    (void)state;
    try_text("text.language", "", "\"\"", "{\"language\":\"und\",\"confidence\":0.0}");
    try_text("text.language", "", "\"12 + 12\"", "{\"language\":\"und\",\"confidence\":0.0}");
    try_text("text.language", "", "\"Здравствуйте\"", "{\"language\":\"ru\",\"confidence\":1.0}");
    try_text("text.language", "", "\"안녕하세요\"", "{\"language\":\"ko\",\"confidence\":1.0}");
    try_text("text.language", "", "\"你好\"", "{\"language\":\"zh\",\"confidence\":1.0}");
}

static void draws_tables(void **state) {
    (void)state;
    try_text("text.table", ", \"columns\": [\"n\", \"name\", \"x\"], \"order_by\": \"n\", \"width\": 6",
             "[{\"n\": 1, \"name\": \"日本語です\"}, {\"n\": 20, \"name\": \"ab\\ncdefg\", \"x\": true}, {\"n\": 1, "
             "\"name\": \"abcdef\"}]",
             "\"n   name    x\\n--  ------  ----\\n20  ab cd…  true\\n 1  日本…   \\n 1  abcdef  \\n\"");
    try_text("text.table", ", \"columns\": [\"a\"]", "[]", "\"a\\n-\\n\"");
    tn_test_set_channel("text", "[]");
    tn_test_set_channel("out", "null");
    assert_true(tn_test_failed(
        tn_test_run("text.table", "{\"input_key\": \"text\", \"output_key\": \"out\", \"columns\": []}", "null"),
        "INVALID_CONFIG"));
    tn_test_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_mailbox_and_its_languages),
        cmocka_unit_test(reports_an_invalid_mailbox),
        cmocka_unit_test(scores_keywords),
        cmocka_unit_test(finds_entities),
        cmocka_unit_test(detects_the_language_of_short_texts),
        cmocka_unit_test(draws_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
