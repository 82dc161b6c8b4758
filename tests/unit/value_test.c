/*
 * value_test.c - each function of value.h: kinds, creating, reading, changing, comparing, hashing. Histories of sharing
 * are in value_model_test.c, threads in value_thread_test.c.
 */
#include "tests/unit/corpus.h"

#include <math.h>
#include <time.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"

static tn_value json(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

static void expect(tn_value value, const char *expected) {
    char *text = json_text(value, JSON_COMPACT);
    assert_string_equal(text, expected);
    mem_free(text);
}

static int64_t live_before;

static int setup(void **state) {
    (void)state;
    live_before = value_live_count();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    assert_int_equal(value_live_count(), live_before);
    return 0;
}

static void kinds(void **state) {
    (void)state;
    static const char *const names[] = {"none", "null", "bool", "int", "double", "string", "bytes", "array", "object"};
    tn_value values[] = {NULL,           value_null(),       value_bool(true), value_int(1),  value_double(1),
                         value_text(""), value_bytes("", 0), value_array(),    value_object()};
    for (int kind = TN_NONE; kind <= TN_OBJECT; kind++) {
        assert_int_equal(value_kind(values[kind]), kind);
        assert_string_equal(value_kind_name(kind), names[kind]);
        assert_true(value_is(values[kind], kind));
        assert_false(value_is(values[kind], kind + 1));
        assert_int_equal(value_is_number(values[kind]), kind == TN_INT || kind == TN_DOUBLE);
        assert_int_equal(value_count(values[kind]), 0);
        assert_null(value_get(values[kind], "a"));
        assert_ptr_equal(value_ref(values[kind]), values[kind]);
        value_unref(values[kind]);
        value_unref(values[kind]);
    }
    assert_string_equal(value_kind_name(99), "unknown");
    assert_int_equal(value_kind(value_bool(false)), TN_BOOL);
}

static void immediates_are_free(void **state) {
    (void)state;
    int64_t live = value_live_count();
    tn_value made[] = {value_null(),
                       value_bool(true),
                       value_int(0),
                       value_int(-1),
                       value_int(VALUE_IMMEDIATE_INT_MAX),
                       value_int(VALUE_IMMEDIATE_INT_MIN),
                       value_array(),
                       value_object(),
                       value_array_reserve(0),
                       value_object_reserve(0)};
    assert_int_equal(value_live_count(), live);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) assert_false(value_is_block(made[i]));
    assert_false(value_is_block(NULL));
    tn_value block = value_int(VALUE_IMMEDIATE_INT_MAX + 1);
    assert_true(value_is_block(block));
    assert_int_equal(value_live_count(), live + 1);
    value_unref(block);
}

static void integers(void **state) {
    (void)state;
    static const int64_t numbers[] = {0,
                                      1,
                                      -1,
                                      42,
                                      INT32_MAX,
                                      INT32_MIN,
                                      VALUE_IMMEDIATE_INT_MAX,
                                      VALUE_IMMEDIATE_INT_MIN,
                                      VALUE_IMMEDIATE_INT_MAX + 1,
                                      VALUE_IMMEDIATE_INT_MIN - 1,
                                      INT64_MAX,
                                      INT64_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        tn_value value = value_int(numbers[i]);
        int64_t out = 0;
        assert_int_equal(value_kind(value), TN_INT);
        assert_int_equal(value_to_int(value), numbers[i]);
        assert_true(value_as_int(value, &out) && out == numbers[i]);
        assert_true(value_to_double(value) == (double)numbers[i]);
        value_unref(value);
    }
}

static void doubles_as_integers(void **state) {
    (void)state;
    static const struct {
        double number;
        bool whole;
    } cases[] = {{0.0, true},        {-0.0, true},   {3.0, true},    {3.5, false}, {-0x1p63, true}, {0x1p63, false},
                 {-0x1.8p63, false}, {1e300, false}, {0x1p62, true}, {0.1, false}, {-0x1p53, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_value value = value_double(cases[i].number);
        int64_t out = 7;
        assert_int_equal(value_as_int(value, &out), cases[i].whole);
        assert_true(cases[i].whole ? (double)out == cases[i].number : out == 7);
        assert_true(value_to_double(value) == cases[i].number);
        value_unref(value);
    }
    int64_t out = 7;
    assert_false(value_as_int(value_bool(true), &out) || value_as_int(NULL, &out) || out != 7);
}

static void booleans(void **state) {
    (void)state;
    assert_true(value_to_bool(value_bool(true)));
    assert_false(value_to_bool(value_bool(false)));
}

static void strings(void **state) {
    (void)state;
    size_t length;
    tn_value string = value_string("a\0b", 3);
    assert_memory_equal(value_chars(string, &length), "a\0b", 4);
    assert_int_equal(length, 3);
    assert_false(value_text_is(string, "a"));
    value_unref(string);
    assert_null(value_string("\xff", 1));
    assert_null(value_string("abc\xe2\x82", 5));

    string = value_text("gr\xc3\xbc\xc3\x9f");
    assert_true(value_text_is(string, "gr\xc3\xbc\xc3\x9f"));
    assert_false(value_text_is(string, "gr"));
    assert_false(value_text_is(value_int(1), "1"));
    assert_false(value_text_is(NULL, ""));
    value_unref(string);

    string = value_text_n("abc", 2);
    assert_string_equal(value_chars(string, NULL), "ab");
    value_unref(string);
    string = value_format("%d-%s", 5, "x");
    assert_string_equal(value_chars(string, NULL), "5-x");
    value_unref(string);
    string = value_format("%s", "\xff");
    assert_string_equal(value_chars(string, NULL), "\xef\xbf\xbd");
    value_unref(string);
    string = value_string_lossy("a\xff\xe2\x82z\0\xc3\xa9", 8);
    assert_memory_equal(value_chars(string, &length), "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\0\xc3\xa9", length + 1);
    assert_int_equal(length, 14);
    value_unref(string);
}

static void bytes(void **state) {
    (void)state;
    size_t length;
    tn_value value = value_bytes("\0\xff", 2);
    assert_memory_equal(value_data(value, &length), "\0\xff", 2);
    assert_int_equal(length, 2);
    value_unref(value);
}

static void pushing_keeps_older_handles(void **state) {
    (void)state;
    tn_value one = value_push_take(value_array(), value_text("a"));
    tn_value two = value_push_take(value_ref(one), value_text("b"));
    tn_value other = value_push_take(value_ref(one), value_text("c"));
    tn_value three = value_push_take(value_ref(two), value_int(3));
    expect(one, "[\"a\"]");
    expect(two, "[\"a\",\"b\"]");
    expect(other, "[\"a\",\"c\"]");
    expect(three, "[\"a\",\"b\",3]");
    assert_ptr_equal(value_at(one, 0), value_at(three, 0));
    value_unref(one); /* the first handle is freed, its family stays */
    expect(two, "[\"a\",\"b\"]");
    value_unref(three);
    two = value_push_take(two, value_int(4));
    expect(two, "[\"a\",\"b\",4]");
    value_unref(two);
    value_unref(other);
}

static void pushing_to_an_unshared_array_is_in_place(void **state) {
    (void)state;
    tn_value array = value_array_reserve(3);
    for (int i = 0; i < 3; i++) {
        tn_value longer = value_push_take(array, value_int(i));
        assert_ptr_equal(longer, array);
    }
    array = value_replace_take(array, 1, value_text("x"));
    expect(array, "[0,\"x\",2]");
    tn_value changed = value_replace_take(value_ref(array), 0, value_null());
    expect(array, "[0,\"x\",2]");
    expect(changed, "[null,\"x\",2]");
    value_unref(changed);
    value_unref(array);
}

/* The cost of a conversation: the last turn costs as much as the first, though every state is kept. */
static void appending_has_constant_cost(void **state) {
    (void)state;
    enum { TURNS = 20000 };
    tn_value *kept = mem_array(NULL, TURNS, sizeof *kept), array = value_array();
    int64_t before = value_live_count(), blocks_max = 0;
    for (int i = 0; i < TURNS; i++) {
        kept[i] = value_ref(array);
        int64_t live = value_live_count();
        array = value_push_take(array, value_int(i));
        if (value_live_count() - live > blocks_max) blocks_max = value_live_count() - live;
    }
    assert_int_equal(blocks_max, 1);                       /* a handle, or grown slots */
    assert_true(value_live_count() - before <= TURNS + 1); /* one handle each, and nothing else */
    for (int i = 0; i < TURNS; i += 997) assert_int_equal(value_count(kept[i]), i);
    for (int i = 0; i < TURNS; i++) value_unref(kept[i]);
    value_unref(array);
    mem_free(kept);
}

/* Slots that contain one of their own handles are never freed: teardown would find them. */
static void value_can_contain_its_previous_version(void **state) {
    (void)state;
    tn_value array = json("[\"x\"]"), older = value_ref(array);
    array = value_push_take(array, value_ref(older));
    expect(array, "[\"x\",[\"x\"]]");
    array = value_push_take(array, value_set_take(value_object(), "was", value_ref(array)));
    expect(array, "[\"x\",[\"x\"],{\"was\":[\"x\",[\"x\"]]}]");
    tn_value more = value_push_take(value_push_take(value_array(), value_int(1)), value_ref(array));
    array = value_concat_take(array, more);
    expect(array, "[\"x\",[\"x\"],{\"was\":[\"x\",[\"x\"]]},1,[\"x\",[\"x\"],{\"was\":[\"x\",[\"x\"]]}]]");
    expect(older, "[\"x\"]");
    value_unref(older);
    value_unref(array);

    tn_value object = json("{\"a\":1}");
    object = value_set_take(object, "b", value_ref(object));
    object = value_set_take(object, "c", value_push_take(value_array(), value_ref(object)));
    object = value_set_take(object, "a", value_ref(object));
    object = value_set_take(object, "d", value_ref(object));
    assert_int_equal(value_count(object), 4);
    expect(value_get(object, "c"), "[{\"a\":1,\"b\":{\"a\":1}}]");
    value_unref(object);
}

/* Each is older than the contents of the other's slots. */
static void values_that_contain_each_other(void **state) {
    (void)state;
    tn_value a = json("[\"a\",\"a\"]"), b = json("[\"b\",\"b\"]");
    a = value_push_take(a, value_int(0));
    b = value_push_take(b, value_int(0)); /* with room for more */
    tn_value longer_a = value_push_take(value_ref(a), value_ref(b));
    tn_value longer_b = value_push_take(value_ref(b), value_push_take(value_array(), value_ref(a)));
    expect(longer_a, "[\"a\",\"a\",0,[\"b\",\"b\",0]]");
    expect(longer_b, "[\"b\",\"b\",0,[[\"a\",\"a\",0]]]");
    value_unref(longer_b);
    value_unref(longer_a);
    value_unref(a);
    value_unref(b);
}

/* At any depth, and with any number of siblings. */
static void value_can_contain_its_previous_version_at_any_depth(void **state) {
    (void)state;
    for (int deep = 0; deep < 2; deep++) {
        tn_value array = value_push_take(json("[1,2]"), value_int(3)), older = value_ref(array);
        tn_value item = value_ref(older);
        for (int i = 0; i < (deep ? 3000 : 3); i++) item = value_push_take(value_array(), item);
        tn_value beside = value_array();
        for (int i = 0; i < (deep ? 3 : 3000); i++) beside = value_push_take(beside, value_array());
        array = value_push_take(array, value_push_take(value_push_take(value_array(), beside), item));
        assert_int_equal(value_count(array), 4);
        assert_int_equal(value_count(older), 3);
        value_unref(older);
        value_unref(array);
    }
}

/* Nested items are searched, and do not make appending more expensive: few copies hold the first one. */
static void appending_objects_is_constant(void **state) {
    (void)state;
    enum { TURNS = 5000 };
    tn_value *kept = mem_array(NULL, TURNS, sizeof *kept), array = value_array();
    for (int i = 0; i < TURNS; i++) {
        kept[i] = value_ref(array);
        array = value_push_take(array, json("{\"role\":\"user\",\"content\":[{\"text\":\"x\"},{}]}"));
    }
    assert_true(value_at(array, 0)->references < 16); /* 4, 8, 16 … 8192 */
    for (int i = 0; i < TURNS; i++) value_unref(kept[i]);
    value_unref(array);
    mem_free(kept);
}

static void concatenating(void **state) {
    (void)state;
    tn_value a = json("[1,\"x\"]"), b = json("[3]");
    a = value_concat_take(a, value_ref(b));
    expect(a, "[1,\"x\",3]");
    a = value_concat_take(a, value_array());
    a = value_concat_take(value_array(), a);
    a = value_concat_take(value_ref(a), a); /* itself */
    expect(a, "[1,\"x\",3,1,\"x\",3]");
    value_unref(a);
    value_unref(b);
    expect(value_concat_take(value_array(), value_array()), "[]");
}

static void slicing(void **state) {
    (void)state;
    tn_value array = json("[0,1,2,3,4,5,\"6\",\"7\"]");
    for (size_t from = 0; from <= 8; from++) {
        for (size_t to = from; to <= 8; to++) {
            tn_value slice = value_slice(array, from, to);
            assert_int_equal(value_count(slice), to - from);
            for (size_t i = from; i < to; i++) assert_ptr_equal(value_at(slice, i - from), value_at(array, i));
            value_unref(slice);
        }
    }
    tn_value same = value_slice(array, 0, 8);
    assert_ptr_equal(same, array);
    value_unref(same);
    value_unref(array);
    assert_ptr_equal(value_slice(value_array(), 0, 0), value_array());
}

/* Items outside a slice are released, not kept by the part that shares their slots. */
static void small_slice_releases_other_items(void **state) {
    (void)state;
    tn_value array = value_array();
    for (int i = 0; i < 1000; i++) array = value_push_take(array, value_format("message %d", i));
    tn_value few = value_slice(array, 990, 1000);
    value_unref(array);
    assert_int_equal(value_live_count() - live_before, 11);
    value_unref(few);
}

/* A window of the last 50 items of an endlessly growing array: neither cost nor memory grows. */
static void sliding_window_has_constant_cost(void **state) {
    (void)state;
    tn_value window = value_array();
    int64_t live = value_live_count();
    for (int i = 0; i < 5000; i++) {
        window = value_push_take(window, value_format("message %d", i));
        if (value_count(window) <= 50) continue;
        tn_value last = value_slice(window, value_count(window) - 50, value_count(window));
        value_unref(window);
        window = last;
        assert_true(value_live_count() - live < 200);
    }
    assert_true(value_text_is(value_at(window, 0), "message 4950"));
    value_unref(window);
}

static void object_changes(void **state) {
    (void)state;
    tn_value one = value_set_take(value_object(), "a", value_int(1));
    tn_value two = value_set_take(value_ref(one), "b", value_text("x"));
    tn_value replaced = value_set_take(value_ref(two), "a", value_null());
    tn_value key = value_text("a"), absent = value_text("nope");
    tn_value removed = value_remove_take(value_ref(two), value_ref(key));
    expect(one, "{\"a\":1}");
    expect(two, "{\"a\":1,\"b\":\"x\"}");
    expect(replaced, "{\"a\":null,\"b\":\"x\"}");
    expect(removed, "{\"b\":\"x\"}");
    removed = value_remove_take(removed, value_ref(absent));
    removed = value_remove_take(removed, value_text("b"));
    assert_ptr_equal(removed, value_object());
    assert_ptr_equal(value_remove_take(value_object(), value_ref(absent)), value_object());
    assert_true(value_text_is(value_key_at(two, 1), "b"));
    assert_true(value_text_is(value_value_at(two, 1), "x"));
    assert_int_equal(value_to_int(value_get_key(two, key)), 1);
    assert_null(value_get_key(two, absent));
    assert_non_null(value_get_n(two, "bcd", 1));
    assert_null(value_get_n(two, "bcd", 2));
    two = value_set_key_take(two, value_ref(key), value_int(7));
    expect(two, "{\"a\":7,\"b\":\"x\"}");
    tn_value same = value_set_key_take(two, value_ref(key), value_int(8)); /* only reference: in place */
    assert_ptr_equal(same, two);
    value_unref(one);
    value_unref(two);
    value_unref(replaced);
    value_unref(key);
    value_unref(absent);
}

static void many_keys(void **state) {
    (void)state;
    enum { MANY = 5000 };
    tn_value object = value_object();
    for (int i = 0; i < MANY; i++) {
        tn_value key = value_format("key %d", i);
        object = value_set_key_take(object, key, value_int(i));
    }
    assert_int_equal(value_count(object), MANY);
    for (int i = 0; i < MANY; i++) {
        char key[20];
        (void)snprintf(key, sizeof key, "key %d", i);
        assert_int_equal(value_to_int(value_get(object, key)), i);
        assert_true(value_text_is(value_key_at(object, (size_t)i), key));
    }
    assert_null(value_get(object, "key"));
    tn_value empty_key = value_set_take(value_ref(object), "", value_int(-1));
    assert_int_equal(value_to_int(value_get(empty_key, "")), -1);
    assert_null(value_get(object, ""));
    value_unref(empty_key);
    value_unref(object);
}

/* Removing the newest key takes constant time: with a time in proportion to the keys, this would take minutes. */
static void newest_keys_are_removed_fast(void **state) {
    (void)state;
    enum { COUNT = 200000 };
    char name[16];
    tn_value object = value_object();
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "k%d", i);
        object = value_set_take(object, name, value_int(i));
        if (i % 1000 == 999) value_unref(value_set_take(value_ref(object), "newer", value_null()));
    }
    clock_t start = clock();
    for (int i = COUNT - 1; i >= 100; i--) {
        snprintf(name, sizeof name, "k%d", i);
        object = value_remove_take(object, value_text(name));
        if (i % 5000 != 0) continue;
        assert_null(value_get(object, name));
        assert_null(value_get(object, "newer"));
        snprintf(name, sizeof name, "k%d", i - 1);
        assert_int_equal(value_to_int(value_get(object, name)), i - 1);
        object = value_set_take(object, "again", value_int(i));
        object = value_remove_take(object, value_text("again"));
        for (int other = 0; other < i; other += 97) {
            snprintf(name, sizeof name, "k%d", other);
            assert_int_equal(value_to_int(value_get(object, name)), other);
        }
    }
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20);
    assert_int_equal(value_count(object), 100);
    value_unref(object);
}

static void keys_may_hold_nul(void **state) {
    (void)state;
    tn_value key = value_string("a\0b", 3), object = value_set_key_take(value_object(), value_ref(key), value_int(1));
    object = value_set_take(object, "a", value_int(2));
    assert_int_equal(value_to_int(value_get_key(object, key)), 1);
    assert_int_equal(value_to_int(value_get_n(object, "a\0b", 3)), 1);
    assert_int_equal(value_to_int(value_get(object, "a")), 2);
    value_unref(key);
    value_unref(object);
}

static void check_patch(const struct corpus_case *test, void *user) {
    (void)user;
    tn_value target = json(corpus_need(test, "target")), patch = json(corpus_need(test, "patch"));
    char *before = json_text(target, JSON_COMPACT), *after = NULL;
    tn_value result = value_merge_patch(target, patch);
    char *text = json_text(result, JSON_COMPACT);
    corpus_expect(test, "result", text);
    after = json_text(target, JSON_COMPACT);
    assert_string_equal(before, after);
    mem_free(before);
    mem_free(after);
    mem_free(text);
    value_unref(result);
    value_unref(target);
    value_unref(patch);
}

static void merge_patches(void **state) {
    (void)state;
    assert_true(corpus_each("tests/corpus/value/merge_patch.txt", check_patch, NULL) >= 15);
}

/* Rows: equal pairs, then identical pairs; hashes follow equality. */
static void comparing(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal, identical;
    } cases[] = {
        {"1", "1", true, true},
        {"1", "1.0", true, false},
        {"0", "-0.0", true, false},
        {"0.0", "-0.0", true, false},
        {"1", "2", false, false},
        {"1", "true", false, false},
        {"0", "false", false, false},
        {"0", "null", false, false},
        {"true", "true", true, true},
        {"true", "false", false, false},
        {"null", "null", true, true},
        {"0.1", "0.1", true, true},
        {"9007199254740993", "9007199254740992.0", false, false},
        {"9007199254740992", "9007199254740992.0", true, false},
        {"9223372036854775807", "9223372036854775808.0", false, false},
        {"-9223372036854775808", "-9223372036854775808.0", true, false},
        {"9223372036854775807", "9223372036854775807", true, true},
        {"\"a\"", "\"a\"", true, true},
        {"\"a\"", "\"b\"", false, false},
        {"\"a\"", "\"a\\u0000\"", false, false},
        {"\"aGk=\"", "{\"$bytes\":\"aGk=\"}", false, false},
        {"{\"$bytes\":\"aGk=\"}", "{\"$bytes\":\"aGk=\"}", true, true},
        {"{\"$bytes\":\"aGk=\"}", "{\"$bytes\":\"aGo=\"}", false, false},
        {"[]", "[]", true, true},
        {"[]", "{}", false, false},
        {"[1,[2,\"x\"]]", "[1.0,[2,\"x\"]]", true, false},
        {"[1,2]", "[2,1]", false, false},
        {"[1]", "[1,1]", false, false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true, false},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}", true, true},
        {"{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}", false, false},
        {"{\"a\":1}", "{\"b\":1}", false, false},
        {"{\"a\":1}", "{\"a\":1,\"b\":1}", false, false},
        {"{\"a\":null}", "{\"b\":null}", false, false},
        {"{\"a\":{\"b\":[{\"c\":1}]}}", "{\"a\":{\"b\":[{\"c\":1}]}}", true, true},
        {"{\"a\":{\"b\":[{\"c\":1}]}}", "{\"a\":{\"b\":[{\"c\":2}]}}", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_value a = json(cases[i].a), b = json(cases[i].b);
        if (value_equal(a, b) != cases[i].equal || value_equal(b, a) != cases[i].equal ||
            value_identical(a, b) != cases[i].identical || value_identical(b, a) != cases[i].identical ||
            (value_hash(a) == value_hash(b)) != cases[i].equal)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        assert_true(value_equal(a, a) && value_identical(b, b));
        value_unref(a);
        value_unref(b);
    }
    assert_true(value_equal(NULL, NULL));
    assert_false(value_equal(NULL, value_null()));
}

static void ordering_numbers(void **state) {
    (void)state;
    static const char *const ascending[] = {"-1e300",
                                            "-9223372036854775809.0",
                                            "-9223372036854775808",
                                            "-2.5",
                                            "-2",
                                            "-0.5",
                                            "0",
                                            "5e-324",
                                            "0.5",
                                            "1",
                                            "9007199254740992.0",
                                            "9007199254740993",
                                            "9007199254740994.0",
                                            "9223372036854775807",
                                            "9223372036854775808.0",
                                            "1e300"};
    size_t count = sizeof ascending / sizeof *ascending;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            tn_value a = json(ascending[i]), b = json(ascending[j]);
            /* -9223372036854775809.0 is the same double as -2^63. */
            int expected = i == j || (i <= 2 && j <= 2 && i > 0 && j > 0) ? 0 : i < j ? -1 : 1;
            if (value_compare_numbers(a, b) != expected) fail_msg("%s, %s", ascending[i], ascending[j]);
            value_unref(a);
            value_unref(b);
        }
    }
}

static void ordering_strings(void **state) {
    (void)state;
    static const char *const ascending[] = {
        "", "A", "a", "a\x01", "ab", "b", "\xc3\xa9", "\xef\xbf\xbd", "\xf0\x9f\x98\x80"};
    size_t count = sizeof ascending / sizeof *ascending;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            tn_value a = value_text(ascending[i]), b = value_text(ascending[j]);
            assert_int_equal(value_compare_strings(a, b), (i > j) - (i < j));
            value_unref(a);
            value_unref(b);
        }
    }
}

/* Hashes are stored, so they must be the same in the next process and in the next release: do not change them. */
static void hashes_are_stable(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t hash;
    } cases[] = {
        {"null", 0x7ac4095ebebda327u},
        {"false", 0xa4b2a6024801b1b4u},
        {"true", 0xfeba5ad0431f0573u},
        {"0", 0xe6cb4c4912f7609du},
        {"-1", 0xf6cb6db504867e19u},
        {"0.5", 0xe4a6ea920dcdb977u},
        {"\"\"", 0x4ac6000b979c289cu},
        {"\"abcdefgh\"", 0xd499aca79b5b909eu},
        {"\"abcdefghi\"", 0x4b28ce33707d6676u},
        {"{\"$bytes\":\"aGk=\"}", 0x89103dc9e932655cu},
        {"[]", 0x6205e192078d9442u},
        {"[1,[2,null]]", 0xcfffbc5b6834d16au},
        {"{}", 0x9aad4baceeeb4892u},
        {"{\"a\":1,\"b\":{\"c\":[true,\"x\"]}}", 0xbd1df0b0dcc6c0aeu},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_value value = json(cases[i].text);
        if (value_hash(value) != cases[i].hash)
            fail_msg("%s: 0x%016llx", cases[i].text, (unsigned long long)value_hash(value));
        value_unref(value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(immediates_are_free, setup, teardown),
        cmocka_unit_test_setup_teardown(integers, setup, teardown),
        cmocka_unit_test_setup_teardown(doubles_as_integers, setup, teardown),
        cmocka_unit_test_setup_teardown(booleans, setup, teardown),
        cmocka_unit_test_setup_teardown(strings, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(pushing_keeps_older_handles, setup, teardown),
        cmocka_unit_test_setup_teardown(pushing_to_an_unshared_array_is_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(appending_has_constant_cost, setup, teardown),
        cmocka_unit_test_setup_teardown(value_can_contain_its_previous_version, setup, teardown),
        cmocka_unit_test_setup_teardown(values_that_contain_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(value_can_contain_its_previous_version_at_any_depth, setup, teardown),
        cmocka_unit_test_setup_teardown(appending_objects_is_constant, setup, teardown),
        cmocka_unit_test_setup_teardown(concatenating, setup, teardown),
        cmocka_unit_test_setup_teardown(slicing, setup, teardown),
        cmocka_unit_test_setup_teardown(small_slice_releases_other_items, setup, teardown),
        cmocka_unit_test_setup_teardown(sliding_window_has_constant_cost, setup, teardown),
        cmocka_unit_test_setup_teardown(object_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(many_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(newest_keys_are_removed_fast, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_may_hold_nul, setup, teardown),
        cmocka_unit_test_setup_teardown(merge_patches, setup, teardown),
        cmocka_unit_test_setup_teardown(comparing, setup, teardown),
        cmocka_unit_test_setup_teardown(ordering_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(ordering_strings, setup, teardown),
        cmocka_unit_test_setup_teardown(hashes_are_stable, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
