/* <tenon/util/arena.h> and <tenon/util/handles.h>. */
#include "tests/unit/util_fixture.h"

#include <tenon/util/arena.h>
#include <tenon/util/handles.h>

static void test_arena(void **state) {
    (void)state;
    struct tn_arena arena = TN_ARENA;
    unsigned char *pieces[300];
    for (size_t i = 0; i < 300; i++) {
        pieces[i] = tn_arena_alloc(&arena, i * 7);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % TN_ARENA_ALIGNMENT, 0);
        for (size_t k = 0; k < i * 7; k++) assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)(i & 255), i * 7);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t k = 0; k < i * 7; k++) assert_int_equal(pieces[i][k], i & 255);
    assert_true(blocks < 16);
    assert_string_equal(tn_arena_copy(&arena, "abc", 2), "ab");
    assert_string_equal(tn_arena_copy(&arena, NULL, 0), "");
    assert_string_equal(tn_arena_format(&arena, "%s-%d", "x", 7), "x-7");
    assert_non_null(tn_arena_alloc(&arena, 5000000));
    tn_arena_free(&arena);
    assert_int_equal(blocks, 0);
    assert_non_null(tn_arena_alloc(&arena, 1)); /* usable again */
    tn_arena_free(&arena);
    tn_arena_free(&arena);
    assert_int_equal(blocks, 0);
}

static void test_arena_limits(void **state) {
    (void)state;
    struct tn_arena arena = TN_ARENA;
    assert_null(tn_arena_alloc(&arena, UINT64_MAX));
    assert_null(tn_arena_alloc(&arena, UINT64_MAX - 15));
    assert_null(tn_arena_copy(&arena, "x", UINT64_MAX));
    fails_at = 1;
    assert_null(tn_arena_alloc(&arena, 1));
    fails_at = 1;
    assert_null(tn_arena_format(&arena, "%d", 1));
    tn_arena_free(&arena);
    assert_int_equal(blocks, 0);
}

static void test_handles(void **state) {
    (void)state;
    struct tn_handles handles = TN_HANDLES(100);
    uint64_t made[100], extra = 0;
    int objects[100];
    for (int i = 0; i < 100; i++) {
        assert_int_equal(tn_handles_add(&handles, &objects[i], &made[i]), TN_OK);
        assert_int_not_equal(made[i], 0);
    }
    assert_int_equal(tn_handles_add(&handles, objects, &extra), TN_LIMIT);
    for (int i = 0; i < 100; i++) assert_ptr_equal(tn_handles_get(&handles, made[i]), &objects[i]);
    assert_ptr_equal(tn_handles_remove(&handles, made[40]), &objects[40]);
    assert_null(tn_handles_get(&handles, made[40]));
    assert_null(tn_handles_remove(&handles, made[40])); /* once only */
    assert_int_equal(tn_handles_add(&handles, objects, &extra), TN_OK);
    assert_int_not_equal(extra, made[40]); /* the slot is the same, the handle is not */
    assert_null(tn_handles_get(&handles, made[40]));
    assert_ptr_equal(tn_handles_get(&handles, extra), objects);
    assert_int_equal(handles.count, 100);
    tn_handles_free(&handles);
    assert_int_equal(blocks, 0);
}

static void test_hostile_handles(void **state) {
    (void)state;
    struct tn_handles handles = TN_HANDLES(2);
    uint64_t handle = 7;
    int object;
    assert_null(tn_handles_get(&handles, 0));
    assert_null(tn_handles_get(&handles, UINT64_MAX));
    assert_int_equal(tn_handles_add(&handles, NULL, &handle), TN_INVALID);
    fails_at = 1;
    assert_int_equal(tn_handles_add(&handles, &object, &handle), TN_NO_MEMORY);
    assert_int_equal(handle, 7);
    assert_int_equal(tn_handles_add(&handles, &object, &handle), TN_OK);
    for (uint64_t wrong = 0; wrong < 64; wrong++) assert_null(tn_handles_get(&handles, handle ^ UINT64_C(1) << wrong));
    handles.slots[handle & UINT32_MAX].generation = UINT32_MAX; /* a slot that has been used 2^32 times */
    handle |= UINT64_C(0xFFFFFFFF) << 32;
    assert_ptr_equal(tn_handles_remove(&handles, handle), &object);
    assert_int_equal(tn_handles_add(&handles, &object, &handle), TN_OK);
    assert_int_equal(handle & UINT32_MAX, 1); /* is not used again */
    tn_handles_free(&handles);
    assert_int_equal(blocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_arena_limits),
        cmocka_unit_test(test_handles),
        cmocka_unit_test(test_hostile_handles),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}
