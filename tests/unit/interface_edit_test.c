/* Edits of values, builders and JSON, as plugins reach them through tenon.value/1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adl/value/value.h"
#include "host/plugin/abi/abi.h"

static const tn_value_1 *const v = &interface_value;
static int64_t live;

static int setup(void **state) {
    (void)state;
    live = value_live_count();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    assert_int_equal(value_live_count(), live);
    return 0;
}

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(v->from_json(NULL, text, TN_Z, &value, NULL), TN_OK);
    return value;
}

/* Compares the JSON of a value, and releases it. */
static void expect_take(tn_value value, const char *text) {
    tn_value found = NULL;
    assert_int_equal(v->to_json(value, NULL, &found), TN_OK);
    assert_string_equal(v->as_text(found, NULL), text);
    v->release(found);
    v->release(value);
}

/* ---- Edits ---- */

static void test_objects(void **state) {
    (void)state;
    tn_value object = json("{\"a\": 1, \"b\": 2}"), kept = v->retain(object), three = json("3");
    assert_int_equal(v->set(&object, "a", TN_Z, three), TN_OK);
    assert_int_equal(v->set(&object, "a\0b", 3, three), TN_OK);
    assert_int_equal(v->remove(&object, "b", TN_Z), TN_OK);
    assert_int_equal(v->remove(&object, "b", TN_Z), TN_NOT_FOUND);
    assert_int_equal(v->remove(&object, "a\0", 2), TN_NOT_FOUND);
    assert_ptr_equal(v->get(object, "a\0b", 3), three);
    assert_null(v->get(object, "a\0c", 3));
    expect_take(object, "{\"a\":3,\"a\\u0000b\":3}");
    expect_take(kept, "{\"a\":1,\"b\":2}"); /* another reference keeps its value */
}

static void test_an_edit_of_the_only_reference_is_in_place(void **state) {
    (void)state;
    tn_value list = json("[1, 2, 3]"), before = list, item = json("\"x\""), one = json("[\"x\"]");
    assert_int_equal(v->splice(&list, 1, 1, one), TN_OK);
    assert_ptr_equal(list, before);
    v->release(item);
    v->release(one);
    expect_take(list, "[1,\"x\",3]");
}

static void test_arrays(void **state) {
    (void)state;
    tn_value list = json("[0, 1, 2, 3]"), more = json("[\"a\", \"b\"]"), part = NULL;
    assert_int_equal(v->splice(&list, 1, 2, more), TN_OK);
    assert_int_equal(v->splice(&list, 4, 0, more), TN_OK);
    assert_int_equal(v->splice(&list, 0, 1, NULL), TN_OK);
    assert_int_equal(v->slice(list, 1, 2, &part), TN_OK);
    expect_take(part, "[\"b\",3]");
    assert_int_equal(v->concat(&list, more), TN_OK);
    assert_int_equal(v->append(&list, more), TN_OK);
    assert_int_equal(v->splice(&list, 8, 1, NULL), TN_NOT_FOUND);
    assert_int_equal(v->splice(&list, UINT64_MAX, 2, NULL), TN_NOT_FOUND);
    assert_int_equal(v->slice(list, 2, UINT64_MAX, &part), TN_NOT_FOUND);
    v->release(more);
    expect_take(list, "[\"a\",\"b\",3,\"a\",\"b\",\"a\",\"b\",[\"a\",\"b\"]]");
}

static void test_texts_and_bytes(void **state) {
    (void)state;
    tn_value text = json("\"a\\u00e9\""), more = json("\"\\u0000z\""), part = NULL, bytes = NULL;
    assert_int_equal(v->concat(&text, more), TN_OK);
    assert_int_equal(v->slice(text, 1, 2, &part), TN_OK);
    expect_take(part, "\"\xc3\xa9\"");
    assert_int_equal(v->slice(text, 1, 1, &part), TN_INVALID); /* in the middle of a character */
    assert_int_equal(v->slice(text, 2, 0, &part), TN_INVALID);
    assert_int_equal(v->make_bytes(NULL, "\xff\x00\x01", 3, &bytes), TN_OK);
    assert_int_equal(v->concat(&bytes, more), TN_TYPE);
    assert_int_equal(v->slice(bytes, 1, 2, &part), TN_OK);
    assert_int_equal(v->concat(&bytes, part), TN_OK);
    v->release(part);
    v->release(more);
    expect_take(bytes, "{\"$bytes\":\"/wABAAE=\"}");
    expect_take(text, "\"a\xc3\xa9\\u0000z\"");
}

static void test_edits_that_cannot_be(void **state) {
    (void)state;
    tn_value list = json("[1]"), object = json("{}"), none = NULL, before = list;
    assert_int_equal(v->set(&list, "a", TN_Z, object), TN_TYPE);
    assert_int_equal(v->append(&object, list), TN_TYPE);
    assert_int_equal(v->splice(&list, 0, 0, object), TN_TYPE);
    assert_int_equal(v->set(&object, "\xff", TN_Z, list), TN_INVALID);
    assert_int_equal(v->set(&object, NULL, 0, list), TN_INVALID);
    assert_int_equal(v->set(&object, "a", TN_Z, NULL), TN_INVALID);
    assert_int_equal(v->append(&none, list), TN_INVALID);
    assert_int_equal(v->append(NULL, list), TN_INVALID);
    assert_int_equal(v->concat(&list, NULL), TN_INVALID);
    assert_ptr_equal(list, before); /* untouched */
    v->release(list);
    v->release(object);
}

/* ---- Builders: what went wrong, and where ---- */

static void expect_mistake(tn_builder *builder, const char *at, const char *part) {
    tn_value out = NULL, error = NULL;
    assert_int_equal(v->finish(builder, &out, &error), TN_FAILED);
    assert_null(out);
    assert_string_equal(v->as_text(v->get(error, "code", TN_Z), NULL), "INVALID_VALUE");
    assert_string_equal(v->as_text(v->get(v->get(error, "detail", TN_Z), "at", TN_Z), NULL), at);
    assert_non_null(strstr(v->as_text(v->get(error, "message", TN_Z), NULL), part));
    v->release(error);
}

static tn_builder *begun(void) {
    tn_builder *builder = v->builder(NULL);
    v->begin(builder, TN_OBJECT);
    v->key(builder, "a/b~", TN_Z);
    v->begin(builder, TN_ARRAY);
    v->add_text(builder, "x\0y", 3);
    return builder;
}

static void test_builders(void **state) {
    (void)state;
    tn_value out = NULL;
    tn_builder *builder = begun();
    v->end(builder);
    v->key(builder, "k\0", 2);
    v->add(builder, value_null());
    v->end(builder);
    assert_int_equal(v->finish(builder, &out, NULL), TN_OK);
    expect_take(out, "{\"a/b~\":[\"x\\u0000y\"],\"k\\u0000\":null}");

    builder = begun();
    v->add(builder, NULL);
    v->end(builder); /* ignored */
    expect_mistake(builder, "/a~1b~0/1", "no value was added");
    builder = begun();
    v->add_text(builder, "\xff", 1);
    expect_mistake(builder, "/a~1b~0/1", "UTF-8");
    builder = begun();
    v->key(builder, "k", TN_Z);
    expect_mistake(builder, "/a~1b~0/1", "outside an object");
    builder = begun();
    v->end(builder);
    v->key(builder, "k", TN_Z);
    v->end(builder);
    expect_mistake(builder, "/k", "without a value");
    builder = begun();
    v->end(builder);
    v->key(builder, "a/b~", TN_Z);
    v->add(builder, value_null());
    expect_mistake(builder, "/a~1b~0", "already has this key");
    builder = begun();
    expect_mistake(builder, "/a~1b~0/1", "was not ended");
    expect_mistake(v->builder(NULL), "", "nothing was added");
    builder = v->builder(NULL);
    v->add(builder, value_null());
    v->add(builder, value_null());
    expect_mistake(builder, "", "second value");
    builder = v->builder(NULL);
    v->begin(builder, TN_STRING);
    expect_mistake(builder, "", "neither TN_ARRAY nor TN_OBJECT");
    builder = v->builder(NULL);
    for (int i = 0; i < 257; i++) v->begin(builder, TN_ARRAY);
    tn_value error = NULL;
    assert_int_equal(v->finish(builder, &out, &error), TN_FAILED);
    assert_non_null(strstr(v->as_text(v->get(error, "message", TN_Z), NULL), "more than 256"));
    v->release(error);
    assert_int_equal(v->finish(NULL, &out, NULL), TN_INVALID);
}

/* ---- JSON ---- */

static void test_the_position_of_a_mistake(void **state) {
    (void)state;
    tn_value out = NULL, error = NULL, detail;
    int64_t number = 0;
    assert_int_equal(v->from_json(NULL, "{\"a\":\n  [1,]}", TN_Z, &out, &error), TN_FAILED);
    assert_null(out);
    assert_string_equal(v->as_text(v->get(error, "code", TN_Z), NULL), "PARSE");
    detail = v->get(error, "detail", TN_Z);
    assert_int_equal(v->as_int(v->get(detail, "offset", TN_Z), &number), TN_OK);
    assert_int_equal(number, 11);
    assert_int_equal(v->as_int(v->get(detail, "line", TN_Z), &number), TN_OK);
    assert_int_equal(number, 2);
    assert_int_equal(v->as_int(v->get(detail, "column", TN_Z), &number), TN_OK);
    assert_int_equal(number, 6);
    v->release(error);
    /* A column counts characters, as the message does; the offset counts bytes. */
    assert_int_equal(v->from_json(NULL, "[\"\u00e9\u65e5\", x]", TN_Z, &out, &error), TN_FAILED);
    detail = v->get(error, "detail", TN_Z);
    assert_int_equal(v->as_int(v->get(detail, "offset", TN_Z), &number), TN_OK);
    assert_int_equal(number, 10);
    assert_int_equal(v->as_int(v->get(detail, "column", TN_Z), &number), TN_OK);
    assert_int_equal(number, 8);
    assert_non_null(strstr(v->as_text(v->get(error, "message", TN_Z), NULL), "column 8"));
    v->release(error);
    assert_int_equal(v->from_json(NULL, "[", 1, &out, NULL), TN_FAILED); /* without the reason */
    assert_int_equal(v->from_json(NULL, NULL, 1, &out, NULL), TN_INVALID);
}

static void test_the_forms_of_json(void **state) {
    (void)state;
    tn_value object = json("{\"b\": [1, {}], \"a\": 2}"), text = NULL, options;
    options = json("{\"sorted\": true}");
    assert_int_equal(v->to_json(object, options, &text), TN_OK);
    assert_string_equal(v->as_text(text, NULL), "{\"a\":2,\"b\":[1,{}]}");
    v->release(text);
    v->release(options);
    options = json("{\"sorted\": true, \"pretty\": true}");
    assert_int_equal(v->to_json(object, options, &text), TN_OK);
    assert_string_equal(v->as_text(text, NULL), "{\n  \"a\": 2,\n  \"b\": [\n    1,\n    {}\n  ]\n}");
    v->release(text);
    v->release(options);
    assert_int_equal(v->to_json(object, object, &text), TN_INVALID); /* unknown options */
    assert_int_equal(v->to_json(object, value_null(), &text), TN_INVALID);
    v->release(object);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_objects),
                                       TEST(test_an_edit_of_the_only_reference_is_in_place),
                                       TEST(test_arrays),
                                       TEST(test_texts_and_bytes),
                                       TEST(test_edits_that_cannot_be),
                                       TEST(test_builders),
                                       TEST(test_the_position_of_a_mistake),
                                       TEST(test_the_forms_of_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
