/*
 * json_oracle_test.c - compares our JSON reader and writer with jansson's, on random documents and on damaged ones.
 *
 * Whole documents must have the same value in both libraries, also when one reads what the other wrote. A damaged
 * document must be accepted by both or refused by both, except for intended differences: integers beyond int64 (jansson
 * refuses, ours becomes a double), and NUL in keys (jansson refuses; both allow it in other strings). Both refuse
 * duplicate keys here, and the limits of depth are not reached. JSON_SEED repeats a run; the seed is printed.
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

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"

/* Included after ours, because its macro JSON_COMPACT hides our style of that name. */
#include <jansson.h>

static uint64_t state;

static uint32_t random_below(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % bound;
}

static void seed_from_environment(void) {
    const char *given = getenv("JSON_SEED");
    state = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    (void)printf("JSON_SEED=%llu\n", (unsigned long long)state);
}

/* ---- Random values ---- */

static tn_value random_string(uint32_t least) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    static const uint32_t bounds[] = {0x20, 0x7F, 0x7F, 0x7F, 0x800, 0xD800, 0x10FFFF};
    for (uint32_t left = random_below(random_below(4) == 0 ? 40 : 8); left > 0; left--) {
        uint32_t code = least + random_below(bounds[random_below(7)] + 1 - least);
        if (code >= 0xD800 && code <= 0xDFFF) code = '"';
        char utf8[4];
        buffer_append(&text, utf8, utf8_encode(code, utf8));
    }
    tn_value string = value_string(buffer_cstr(&text), text.length);
    assert_non_null(string);
    buffer_finish(&text);
    return string;
}

static tn_value random_value(int depth) {
    uint64_t bits = (uint64_t)random_below(UINT32_MAX) << 33 ^ (uint64_t)random_below(UINT32_MAX) << 2;
    switch (random_below(depth > 0 ? 12 : 6)) {
    case 0: return value_null();
    case 1: return value_bool(random_below(2) == 1);
    case 2: return value_int((int64_t)(bits >> random_below(63)) * (random_below(2) == 1 ? 1 : -1));
    case 3: {
        double number;
        memcpy(&number, &bits, sizeof number);
        return value_double(number - number == 0 ? number : 0.5);
    }
    case 4:
    case 5: return random_string(0);
    case 6:
    case 7:
    case 8: {
        tn_value array = value_array();
        for (uint32_t left = random_below(8); left > 0; left--) array = value_push_take(array, random_value(depth - 1));
        return array;
    }
    default: {
        tn_value object = value_object();
        for (uint32_t left = random_below(random_below(6) == 0 ? 30 : 6); left > 0; left--)
            object = value_set_key_take(object, random_string(1), random_value(depth - 1));
        return object;
    }
    }
}

/* ---- Both libraries' values, compared ---- */

static bool values_are_equal(tn_value ours, const json_t *theirs) {
    size_t length;
    const char *chars;
    switch (value_kind(ours)) {
    case TN_NULL: return json_is_null(theirs);
    case TN_BOOL: return json_is_boolean(theirs) && json_is_true(theirs) == value_to_bool(ours);
    case TN_INT: return json_is_integer(theirs) && json_integer_value(theirs) == value_to_int(ours);
    case TN_DOUBLE: return json_is_real(theirs) && json_real_value(theirs) == value_to_double(ours);
    case TN_STRING:
        chars = value_chars(ours, &length);
        return json_is_string(theirs) && json_string_length(theirs) == length &&
               memcmp(json_string_value(theirs), chars, length) == 0;
    case TN_ARRAY:
        if (!json_is_array(theirs) || json_array_size(theirs) != value_count(ours)) return false;
        for (size_t i = 0; i < value_count(ours); i++)
            if (!values_are_equal(value_at(ours, i), json_array_get(theirs, i))) return false;
        return true;
    case TN_OBJECT:
        if (!json_is_object(theirs) || json_object_size(theirs) != value_count(ours)) return false;
        for (size_t i = 0; i < value_count(ours); i++) {
            chars = value_chars(value_key_at(ours, i), &length);
            if (!values_are_equal(value_value_at(ours, i), json_object_getn(theirs, chars, length))) return false;
        }
        return true;
    default: return false;
    }
}

#define THEIR_FLAGS (JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES)

static void documents_mean_the_same(void **unused) {
    (void)unused;
    seed_from_environment();
    int64_t live = value_live_count();
    for (int i = 0; i < 3000; i++) {
        tn_value value = random_value(5);
        enum json_style style = (enum json_style)random_below(3);
        char *text = json_text(value, style);
        json_error_t error;
        json_t *theirs = json_loadb(text, strlen(text), THEIR_FLAGS, &error);
        if (theirs == NULL) fail_msg("%s: %s", error.text, text);
        if (!values_are_equal(value, theirs)) fail_msg("read otherwise: %s", text);

        static const size_t flags[] = {JSON_COMPACT, JSON_INDENT(3), JSON_ENSURE_ASCII,
                                       JSON_ENSURE_ASCII | JSON_ESCAPE_SLASH};
        char *written = json_dumps(theirs, JSON_ENCODE_ANY | flags[random_below(4)]);
        tn_value back = NULL;
        struct error mine = ERROR_INIT;
        if (json_read(written, strlen(written), NULL, &back, &mine) != TN_OK) fail_msg("%s: %s", mine.message, written);
        if (!value_equal(value, back)) fail_msg("came back otherwise: %s", written);
        value_unref(back);
        free(written);

        assert_int_equal(json_read(text, strlen(text), NULL, &back, &mine), TN_OK);
        assert_true(style == JSON_SORTED ? value_equal(value, back) : value_identical(value, back));
        assert_true(value_hash(value) == value_hash(back));
        value_unref(back);
        value_unref(value);
        json_decref(theirs);
        mem_free(text);
    }
    assert_int_equal(value_live_count(), live);
}

/* One to three changes: a changed byte, a removed or doubled piece, or an inserted JSON token. */
static size_t damage_text(char *text, size_t length, size_t room) {
    static const char *const pieces[] = {",",    ":",   "\"", "\\",   "[",    "]",  "{",     "}",       "-",
                                         ".",    "e",   "0",  "1",    " ",    "\n", "\\u00", "\\ud83d", "\\ude00",
                                         "true", "nul", "\t", "\xc3", "\xa9", "E+", "-0"};
    for (uint32_t changes = 1 + random_below(3); changes > 0; changes--) {
        size_t at = random_below((uint32_t)length + 1);
        const char *piece = pieces[random_below(sizeof pieces / sizeof *pieces)];
        size_t size = strlen(piece), cut = random_below(6);
        switch (random_below(4)) {
        case 0:
            if (at < length) text[at] = (char)(1 + random_below(255)); /* jansson ignores NUL */
            break;
        case 1:
            if (cut > length - at) cut = length - at;
            memmove(text + at, text + at + cut, length - at - cut);
            length -= cut;
            break;
        default:
            if (length + size > room) break;
            memmove(text + at + size, text + at, length - at);
            memcpy(text + at, piece, size);
            length += size;
        }
    }
    return length;
}

static void damaged_documents_are_refused_by_both(void **unused) {
    (void)unused;
    seed_from_environment();
    int64_t live = value_live_count();
    int accepted = 0, refused = 0;
    for (int i = 0; i < 30000; i++) {
        tn_value value = random_value(2);
        char *whole = json_text(value, (enum json_style)random_below(2));
        size_t length = strlen(whole);
        if (length <= 300) {
            char damaged[400];
            memcpy(damaged, whole, length);
            length = damage_text(damaged, length, sizeof damaged);
            char *text = malloc(length > 0 ? length : 1); /* exact length, for the sanitizers */
            memcpy(text, damaged, length);
            tn_value ours = NULL;
            struct error mine = ERROR_INIT;
            json_error_t error;
            int32_t status = json_read(text, length, NULL, &ours, &mine);
            json_t *theirs = json_loadb(text, length, THEIR_FLAGS, &error);
            enum json_error_code code = theirs == NULL ? json_error_code(&error) : json_error_unknown;
            bool by_intent = code == json_error_numeric_overflow || code == json_error_null_byte_in_key;
            if ((status == TN_OK) != (theirs != NULL) && !by_intent)
                fail_msg("ours: %s\ntheirs: %s\n%.*s", status == TN_OK ? "yes" : mine.message,
                         theirs != NULL ? "yes" : error.text, (int)length, text);
            if (status == TN_OK && theirs != NULL && !values_are_equal(ours, theirs))
                fail_msg("read otherwise: %.*s", (int)length, text);
            if (status != TN_OK) {
                assert_true(mine.span.start <= mine.span.end && mine.span.end <= length);
                assert_true(utf8_valid(mine.message, strlen(mine.message)));
            }
            accepted += status == TN_OK;
            refused += status != TN_OK;
            if (status == TN_OK) value_unref(ours);
            json_decref(theirs);
            error_finish(&mine);
            free(text);
        }
        mem_free(whole);
        value_unref(value);
    }
    (void)printf("%d accepted, %d refused\n", accepted, refused);
    assert_true(accepted > 1000 && refused > 1000);
    assert_int_equal(value_live_count(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_mean_the_same),
        cmocka_unit_test(damaged_documents_are_refused_by_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
