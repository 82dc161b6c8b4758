/*
 * change_test.c - changes between values: what they look like, that applying one results in the value after, for random
 * values and edits too, that their size follows what differs, and that a malformed one is refused.
 */
#include "adl/value/change.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "tests/unit/corpus.h"
#include <stdio.h>
#include <string.h>

static tn_value json(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

/* `expected` is the change, or NULL if there is none. */
static void expect_change(const char *before, const char *after, const char *expected) {
    tn_value old = json(before), new = json(after), change = value_change(old, new), made;
    if (!expected) {
        assert_null(change);
    } else {
        char *text = json_text(change, JSON_COMPACT);
        assert_string_equal(text, expected);
        mem_free(text);
        assert_true(value_change_apply_take(value_ref(old), change, &made));
        assert_true(value_identical(made, new));
        value_unref(made);
    }
    value_unref(change);
    value_unref(old);
    value_unref(new);
}

static void test_forms(void **state) {
    (void)state;
    expect_change("7", "7", NULL);
    expect_change("7", "7.0", "{\"set\":7.0}");
    expect_change("[1,2]", "[1,2,3]", "{\"keep\":2,\"add\":[3]}");
    expect_change("[1,2,3]", "[1]", "{\"keep\":1,\"add\":[]}");
    expect_change("[1,2,3]", "[9,1,2,3]", "{\"edit\":[[0,0,[9]]]}");
    expect_change("[1,2,3]", "[2,3]", "{\"edit\":[[0,1,[]]]}");
    expect_change("[1,2,3]", "[1,8,3]", "{\"edit\":[[1,{\"set\":8}]]}");
    expect_change("[[\"S\",1],2,3]", "[[\"S\",2],3,4]",
                  "{\"edit\":[[0,{\"edit\":[[1,{\"set\":2}]]}],[1,1,[]],[3,0,[4]]]}");
    expect_change("[1,2]", "[3,4]", "{\"set\":[3,4]}");
    expect_change("{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":3}", "{\"members\":{\"b\":{\"set\":3}}}");
    expect_change("{\"a\":1,\"b\":2}", "{\"b\":2,\"c\":3}", "{\"members\":{\"c\":{\"set\":3}},\"remove\":[\"a\"]}");
    expect_change("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", "{\"set\":{\"b\":2,\"a\":1}}");
    expect_change("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":3}", "{\"set\":{\"b\":2,\"a\":3}}");
    expect_change("{}", "{\"a\":1}", "{\"set\":{\"a\":1}}");
    expect_change("\"short\"", "\"short text\"", "{\"set\":\"short text\"}");
    expect_change("\"a text that is long enough to be extended\"", "\"a text that is long enough to be extended, ü\"",
                  "{\"append\":\", ü\"}");
    expect_change("{\"list\":[1,{\"x\":1,\"y\":[1,2]}]}", "{\"list\":[1,{\"x\":1,\"y\":[1,2,3]}]}",
                  "{\"members\":{\"list\":{\"edit\":[[1,{\"members\":{\"y\":{\"keep\":2,\"add\":[3]}}}]]}}}");
}

/* ---- Random values ---- */

static uint64_t seed;

static uint32_t below(uint32_t bound) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % bound);
}

static tn_value random_value(int depth) {
    static const char *const texts[] = {"", "a", "ab", "a text of more than thirty-two bytes", "日本語"};
    tn_value made;
    switch (below(depth > 0 ? 6 : 4)) {
    case 0: return value_int(below(3));
    case 1: return value_null();
    case 2: return value_double(below(3));
    case 3: return value_text(texts[below(5)]);
    case 4:
        made = value_array();
        for (uint32_t i = below(8); i > 0; i--) made = value_push_take(made, random_value(depth - 1));
        return made;
    default:
        made = value_object();
        for (uint32_t i = below(8); i > 0; i--) {
            char key[2] = {(char)('a' + below(8)), 0};
            made = value_set_take(made, key, random_value(depth - 1));
        }
        return made;
    }
}

/* The value with some edits, or another one. Takes it. */
static tn_value random_edit_take(tn_value value, int depth) {
    uint32_t count = (uint32_t)value_count(value), at = count ? below(count) : 0;
    if (value_is(value, TN_ARRAY) && count && depth > 0) {
        switch (below(5)) {
        case 0: return value_push_take(value, random_value(2));
        case 1: {
            tn_value start = value_slice(value, 0, at), end = value_slice(value, at + 1, count);
            value_unref(value);
            return value_concat_take(start, end);
        }
        case 2: {
            tn_value start = value_slice(value, 0, at), end = value_slice(value, at, count);
            value_unref(value);
            return value_concat_take(value_push_take(start, random_value(1)), end);
        }
        default: return value_replace_take(value, at, random_edit_take(value_ref(value_at(value, at)), depth - 1));
        }
    }
    if (value_is(value, TN_OBJECT) && count && depth > 0) {
        tn_value key = value_ref(value_key_at(value, at));
        if (below(3) == 0) return value_remove_take(value, key);
        return value_set_key_take(value, key, random_edit_take(value_ref(value_value_at(value, at)), depth - 1));
    }
    value_unref(value);
    return random_value(depth);
}

/* The same value without anything shared. */
static tn_value copy(tn_value value) {
    char *text = json_text(value, JSON_COMPACT);
    tn_value made = json(text);
    mem_free(text);
    return made;
}

static void test_random(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 20000; i++) {
        seed = i + 1;
        tn_value before = random_value(4), after = value_ref(before), made;
        for (uint32_t edits = below(4); edits > 0; edits--) after = random_edit_take(after, 4);
        if (below(2)) { /* as after a restart */
            tn_value other = copy(after);
            value_unref(after);
            after = other;
        }
        tn_value change = value_change(before, after), again = NULL, stored = change ? copy(change) : NULL;
        if (!change) {
            assert_true(value_identical(before, after));
        } else {
            assert_true(value_change_apply_take(copy(before), stored, &made));
            if (!value_identical(made, after)) fail_msg("seed %u", i);
            value_unref(made);
            /* Nothing depends on what is shared. */
            tn_value unshared = copy(before);
            again = value_change(unshared, after);
            assert_true(value_identical(again, change));
            value_unref(unshared);
        }
        value_unref(again);
        value_unref(stored);
        value_unref(change);
        value_unref(before);
        value_unref(after);
    }
}

/* ---- Sizes ---- */

static tn_value messages(size_t count) {
    tn_value list = value_array();
    for (size_t i = 0; i < count; i++) {
        tn_value message = value_set_take(value_object(), "id", value_format("m-%zu", i));
        message = value_set_take(message, "content", value_format("message %zu, which says something or other", i));
        list = value_push_take(list, message);
    }
    return list;
}

static void expect_small_take(tn_value before, tn_value after, int64_t most) {
    tn_value change = value_change(before, after), made;
    assert_in_range(value_weight(change), 1, most);
    assert_true(value_change_apply_take(value_ref(before), change, &made));
    assert_true(value_identical(made, after));
    value_unref(made);
    value_unref(change);
    value_unref(after);
}

static void test_sizes(void **state) {
    (void)state;
    tn_value list = messages(1000);
    size_t places[] = {0, 500, 999};
    for (size_t i = 0; i < 3; i++) {
        tn_value message = value_set_take(value_ref(value_at(list, places[i])), "content", value_text("edited"));
        expect_small_take(list, value_replace_take(value_ref(list), places[i], message), 150);
    }
    /* A summary replaces the oldest messages, and one is added at the end. */
    tn_value summary = value_set_take(value_ref(value_at(list, 0)), "content", value_text("a summary"));
    tn_value rest = value_slice(list, 3, 1000),
             next = value_push_take(value_push_take(value_array(), summary), value_null());
    expect_small_take(list, value_push_take(value_concat_take(next, rest), value_text("new")), 300);
    /* Many edits far from each other. */
    tn_value edited = value_ref(list);
    for (size_t i = 0; i < 1000; i += 10) edited = value_replace_take(edited, i, value_int((int64_t)i));
    expect_small_take(list, edited, 100 * 60);
    /* An object of 1 MB, of which one member changes. */
    tn_value object = value_object();
    for (int i = 0; i < 10000; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        object = value_set_take(object, key, value_format("%0100d", i));
    }
    expect_small_take(object, value_set_take(value_ref(object), "key7000", value_int(1)), 100);
    tn_value other = copy(object);
    expect_small_take(object, value_set_take(other, "key7000", value_int(1)), 100);
    value_unref(object);
    value_unref(list);
}

static void test_malformed(void **state) {
    (void)state;
    static const char *const values[] = {"[1,2,3]", "{\"a\":1}", "\"text\"", "null"};
    static const char *const changes[] = {"{}",
                                          "7",
                                          "{\"keep\":4,\"add\":[]}",
                                          "{\"keep\":1}",
                                          "{\"keep\":-1,\"add\":[]}",
                                          "{\"edit\":7}",
                                          "{\"edit\":[7]}",
                                          "{\"edit\":[[]]}",
                                          "{\"edit\":[[9,{\"set\":1}]]}",
                                          "{\"edit\":[[1,{\"set\":1}],[1,{\"set\":1}]]}",
                                          "{\"edit\":[[1,{}]]}",
                                          "{\"edit\":[[0,{\"set\":7}],[0,1,[]]]}",
                                          "{\"edit\":[[0,4,[]]]}",
                                          "{\"edit\":[[0,1,7]]}",
                                          "{\"edit\":[[2,1,[]],[0,1,[]]]}",
                                          "{\"append\":7}",
                                          "{\"members\":7}",
                                          "{\"members\":{\"b\":{\"append\":\"x\"}}}",
                                          "{\"members\":{},\"remove\":7}",
                                          "{\"members\":{},\"remove\":[7]}",
                                          "{\"members\":{\"a\":7}}"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        for (size_t j = 0; j < sizeof changes / sizeof *changes; j++) {
            tn_value change = json(changes[j]), made = NULL;
            if (value_change_apply_take(json(values[i]), change, &made)) fail_msg("%s of %s", changes[j], values[i]);
            assert_null(made);
            value_unref(change);
        }
    /* Nested deeper than any change that is made. */
    tn_value deep = value_set_take(value_object(), "set", value_int(1)), made;
    for (int i = 0; i < 100; i++) {
        tn_value members = value_set_take(value_object(), "a", deep);
        deep = value_set_take(value_object(), "members", members);
    }
    assert_false(value_change_apply_take(json("{\"a\":1}"), deep, &made));
    value_unref(deep);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms), cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_sizes), cmocka_unit_test(test_malformed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
