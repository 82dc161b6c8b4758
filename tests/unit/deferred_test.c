/*
 * deferred_test.c - deferred arrays: what reads their items and what does not, that each operation has the same
 * result as with the complete array, and that nothing leaks.
 */
#include "adl/schema/schema.h"
#include "adl/value/change.h"
#include "adl/value/deferred.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "tests/unit/corpus.h"
#include <pthread.h>
#include <string.h>

static _Atomic int loads, releases;

static tn_value numbers(size_t count) {
    tn_value list = value_array();
    for (size_t i = 0; i < count; i++) list = value_push_take(list, value_format("item %zu", i));
    return list;
}

static tn_value load(void *context, size_t count) {
    assert_ptr_equal(context, &loads);
    loads++;
    return numbers(count);
}

static void release(void *context) {
    assert_ptr_equal(context, &loads);
    releases++;
}

static tn_value deferred(size_t count) {
    static const struct value_source source = {load, release};
    loads = releases = 0;
    return value_deferred(count, 1000, &source, &loads);
}

static void expect_same_take(tn_value value, tn_value expected) {
    assert_true(value_identical(value, expected));
    value_unref(value);
    value_unref(expected);
}

static void test_unread(void **state) {
    (void)state;
    tn_value before = deferred(50), list = value_ref(before);
    for (int i = 0; i < 100; i++) list = value_push_take(list, value_int(i));
    tn_value more = value_push_take(value_push_take(value_array(), value_null()), value_bool(true));
    tn_value longer = value_concat_take(value_ref(list), more);
    assert_int_equal(value_count(longer), 152);
    assert_int_equal(value_common_prefix(before, list), 50);
    assert_int_equal(value_common_prefix(list, longer), 150);
    assert_int_equal(value_common_prefix(longer, before), 50);
    assert_int_equal(value_to_int(value_at(list, 50)), 0);
    assert_int_equal(value_to_int(value_at(longer, 149)), 99);
    tn_value change = value_change(list, longer), slice = value_slice(longer, 60, 70), made = NULL;
    char *text = json_text(change, JSON_COMPACT);
    assert_string_equal(text, "{\"keep\":150,\"add\":[null,true]}");
    mem_free(text);
    assert_int_equal(value_to_int(value_at(slice, 0)), 10);
    assert_true(value_change_apply_take(value_ref(list), change, &made));
    assert_int_equal(value_count(made), 152);
    tn_value start = value_slice(longer, 0, 150);
    assert_int_equal(value_common_prefix(start, longer), 150);
    assert_true(value_weight(longer) >= 1000 && value_weight(longer) < 3000);
    assert_true(value_is_deferred(longer));
    assert_int_equal(loads, 0);
    value_unref(start);
    value_unref(made);
    value_unref(slice);
    value_unref(change);
    value_unref(longer);
    value_unref(list);
    assert_int_equal(releases, 0);
    value_unref(before);
    assert_int_equal(releases, 1);
}

static void test_read(void **state) {
    (void)state;
    tn_value list = value_push_take(deferred(10), value_int(7)), whole = value_push_take(numbers(10), value_int(7));
    assert_true(value_text_is(value_at(list, 9), "item 9"));
    assert_int_equal(loads, 1);
    assert_false(value_is_deferred(list));
    assert_true(value_equal(list, whole));
    assert_true(value_hash(list) == value_hash(whole));
    expect_same_take(value_push_take(value_ref(list), value_null()), value_push_take(value_ref(whole), value_null()));
    expect_same_take(value_slice(list, 2, 5), value_slice(whole, 2, 5));
    expect_same_take(value_replace_take(value_ref(list), 3, value_null()),
                     value_replace_take(value_ref(whole), 3, value_null()));
    expect_same_take(value_concat_take(value_ref(whole), value_ref(list)),
                     value_concat_take(value_ref(whole), value_ref(whole)));
    assert_int_equal(value_common_prefix(list, whole), 0); /* equal, not the same */
    expect_same_take(list, whole);
    assert_int_equal(loads, 1);
    assert_int_equal(releases, 1);
}

/* A schema reads items without value_at (adl/value/view.h). */
static void expect_valid(tn_value value, const char *schema_text) {
    struct schema *schema;
    struct error error = ERROR_INIT;
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    tn_value document = NULL;
    assert_int_equal(json_read(schema_text, strlen(schema_text), NULL, &document, &error), TN_OK);
    assert_int_equal(schema_compile(document, NULL, &schema, &error), TN_OK);
    assert_int_equal(schema_validate(schema, value, &errors), TN_OK);
    schema_errors_finish(&errors);
    schema_unref(schema);
    value_unref(document);
}

/* Each operation as the first one that needs the items. */
static void test_each_reads(void **state) {
    (void)state;
    for (int operation = 0; operation < 8; operation++) {
        tn_value list = value_push_take(deferred(10), value_int(7)), whole = value_push_take(numbers(10), value_int(7));
        char *text;
        switch (operation) {
        case 0: expect_same_take(value_slice(list, 3, 11), value_slice(whole, 3, 11)); break;
        case 1:
            expect_same_take(value_replace_take(value_ref(list), 0, value_null()),
                             value_replace_take(value_ref(whole), 0, value_null()));
            break;
        case 2:
            expect_same_take(value_concat_take(value_ref(whole), value_ref(list)),
                             value_concat_take(value_ref(whole), value_ref(whole)));
            break;
        case 3: assert_int_equal(value_common_prefix(whole, list), 0); break;
        case 4:
            text = json_text(list, JSON_COMPACT);
            assert_non_null(strstr(text, "\"item 9\",7]"));
            mem_free(text);
            break;
        case 5: value_read_all(list); break;
        case 6: expect_valid(list, "{\"items\": {\"type\": [\"string\", \"integer\"]}}"); break;
        default: assert_true(value_identical(list, whole));
        }
        assert_int_equal(loads, 1);
        value_unref(list);
        value_unref(whole);
        assert_int_equal(releases, 1);
    }
}

/* A list that contains handles of itself through a tail must not keep itself alive. */
static void test_no_cycle(void **state) {
    (void)state;
    int64_t before = value_live_count();
    tn_value outer = value_push_take(value_array(), value_int(1)), list = deferred(4);
    for (int i = 0; i < 5; i++) {
        list = value_push_take(list, value_ref(outer));
        outer = value_push_take(outer, value_ref(list));
        list = value_push_take(list, value_push_take(value_array(), value_ref(list)));
    }
    value_unref(outer);
    value_unref(list);
    assert_int_equal(releases, 1);
    assert_true(value_live_count() == before);
}

static void *read_it(void *list) {
    for (size_t i = 0; i < 200; i++) (void)value_at(list, i % value_count(list));
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    tn_value list = value_push_take(deferred(100), value_int(7));
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_it, (void *)(uintptr_t)list), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_true(value_text_is(value_at(list, 99), "item 99"));
    value_unref(list);
    assert_int_equal(releases, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unread), cmocka_unit_test(test_read),
                                       cmocka_unit_test(test_each_reads), cmocka_unit_test(test_no_cycle),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
