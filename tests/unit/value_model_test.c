/*
 * value_model_test.c - arrays and objects that share their slots behave as if each had separate ones.
 *
 * There are many handles, each with a plain array as its model. Random operations run on random handles, old and new;
 * after each, the resulting handle is compared with its model, and from time to time all of them. The seed is printed;
 * VALUE_SEED in the environment repeats a run.
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

#include "adl/value/value.h"
#include "tests/unit/sanitized.h"

#define HANDLES    24
#define ITEMS_MAX  120
#define KEYS       60
#define OPERATIONS (SANITIZED ? 20000 : 60000)

struct entry {
    int key; /* of objects */
    int64_t number;
};

struct handle {
    tn_value value;
    struct entry entries[ITEMS_MAX];
    size_t count;
};

static struct handle handles[HANDLES];
static uint64_t state;

static uint32_t random_below(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % bound;
}

/* Even numbers are immediates, odd numbers are strings, so that references of items are counted too. */
static tn_value make_item(int64_t number) {
    return number % 2 == 0 ? value_int(number) : value_format("item %lld", (long long)number);
}

static void check_item(tn_value item, int64_t number) {
    if (number % 2 == 0) {
        assert_int_equal(value_to_int(item), number);
        return;
    }
    char text[40];
    (void)snprintf(text, sizeof text, "item %lld", (long long)number);
    assert_string_equal(value_chars(item, NULL), text);
}

static tn_value make_key(int key) { return value_format("key %d", key); }

static void check(const struct handle *handle) {
    assert_int_equal(value_count(handle->value), handle->count);
    bool object = value_is(handle->value, TN_OBJECT);
    for (size_t i = 0; i < handle->count; i++) {
        const struct entry *entry = &handle->entries[i];
        check_item(object ? value_value_at(handle->value, i) : value_at(handle->value, i), entry->number);
        if (!object) continue;
        tn_value key = make_key(entry->key);
        assert_true(value_equal(key, value_key_at(handle->value, i)));
        assert_ptr_equal(value_get_key(handle->value, key), value_value_at(handle->value, i));
        assert_ptr_equal(value_get(handle->value, value_chars(key, NULL)), value_value_at(handle->value, i));
        value_unref(key);
    }
    if (!object) return;
    for (int key = 0; key < KEYS; key++) { /* and no other key */
        bool there = false;
        for (size_t i = 0; i < handle->count; i++) there = there || handle->entries[i].key == key;
        char text[20];
        int length = snprintf(text, sizeof text, "key %d", key);
        assert_int_equal(value_get_n(handle->value, text, (size_t)length) != NULL, there);
    }
}

/* Stores the operand's contents in another handle: half of the time shared, half of the time moved. */
static struct handle *target_of(struct handle *from) {
    if (random_below(2) == 0) return from;
    struct handle *to = &handles[random_below(HANDLES)];
    if (to == from) return from;
    value_unref(to->value);
    *to = *from;
    (void)value_ref(to->value);
    return to;
}

static void array_step(void) {
    struct handle *handle = target_of(&handles[random_below(HANDLES)]);
    const struct handle *other = &handles[random_below(HANDLES)];
    int64_t number = random_below(1000);
    size_t from, to;
    switch (random_below(10)) {
    case 0:
        if (handle->count == 0) break;
        from = random_below((uint32_t)handle->count);
        handle->value = value_replace_take(handle->value, from, make_item(number));
        handle->entries[from].number = number;
        break;
    case 1:
    case 2:
        from = random_below((uint32_t)handle->count + 1);
        to = from + random_below((uint32_t)(handle->count - from) + 1);
        if (random_below(2) == 0) to = handle->count;
        tn_value slice = value_slice(handle->value, from, to);
        value_unref(handle->value);
        handle->value = slice;
        memmove(handle->entries, handle->entries + from, (to - from) * sizeof *handle->entries);
        handle->count = to - from;
        break;
    case 3:
        if (handle->count + other->count > ITEMS_MAX) break;
        tn_value more = value_ref(other->value);
        size_t count = other->count;
        memmove(handle->entries + handle->count, other->entries, count * sizeof *handle->entries);
        handle->value = value_concat_take(handle->value, more);
        handle->count += count;
        break;
    case 4:
        if (random_below(8) != 0) break;
        value_unref(handle->value);
        handle->value = value_array_reserve(random_below(20));
        handle->count = 0;
        break;
    default:
        if (handle->count == ITEMS_MAX) break;
        handle->value = value_push_take(handle->value, make_item(number));
        handle->entries[handle->count++].number = number;
    }
    check(handle);
}

static void object_step(void) {
    struct handle *handle = target_of(&handles[random_below(HANDLES)]);
    int key = (int)random_below(KEYS);
    int64_t number = random_below(1000);
    size_t at = 0;
    while (at < handle->count && handle->entries[at].key != key) at++;
    switch (random_below(12)) {
    case 0:
    case 1:
    case 2:
        handle->value = value_remove_take(handle->value, make_key(key));
        if (at == handle->count) break;
        handle->count--;
        memmove(handle->entries + at, handle->entries + at + 1, (handle->count - at) * sizeof *handle->entries);
        break;
    case 3:
        if (random_below(12) != 0) break;
        value_unref(handle->value);
        handle->value = value_object_reserve(random_below(20));
        handle->count = 0;
        break;
    default:
        if (random_below(2) == 0) {
            char text[20];
            (void)snprintf(text, sizeof text, "key %d", key);
            handle->value = value_set_take(handle->value, text, make_item(number));
        } else {
            handle->value = value_set_key_take(handle->value, make_key(key), make_item(number));
        }
        if (at == handle->count) handle->entries[handle->count++].key = key;
        handle->entries[at].number = number;
    }
    check(handle);
}

static void run(void (*step)(void), tn_value empty) {
    const char *given = getenv("VALUE_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    (void)printf("VALUE_SEED=%llu\n", (unsigned long long)seed);
    state = seed;
    int64_t live = value_live_count();
    for (size_t i = 0; i < HANDLES; i++) handles[i] = (struct handle){.value = empty};
    for (int i = 0; i < OPERATIONS; i++) {
        step();
        if (i % 200 == 0)
            for (size_t j = 0; j < HANDLES; j++) check(&handles[j]);
    }
    for (size_t i = 0; i < HANDLES; i++) value_unref(handles[i].value);
    assert_int_equal(value_live_count(), live);
}

static void shared_arrays_are_independent(void **unused) {
    (void)unused;
    run(array_step, value_array());
}

static void shared_objects_are_independent(void **unused) {
    (void)unused;
    run(object_step, value_object());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_arrays_are_independent),
        cmocka_unit_test(shared_objects_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
