/*
 * value_thread_test.c - one family of values in the hands of many threads: to be run with the thread sanitizer as well.
 *
 * All threads start from the same array and object, and append, look up, replace and drop at once: some win the shared
 * slots, the others copy, and each must find just what it put there. Afterwards nothing may be left.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "adl/value/value.h"

#define THREADS 6
#define ROUNDS  300
#define OWN     20 /* items and keys that each adds */
#define COMMON  30

static tn_value array, object, mailbox;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int mistakes;

static void expect(bool truth) {
    if (!truth) (void)atomic_fetch_add(&mistakes, 1);
}

static tn_value text_of(const char *prefix, int number) { return value_format("%s %d", prefix, number); }

static bool is_text(tn_value value, const char *prefix, int number) {
    char text[40];
    (void)snprintf(text, sizeof text, "%s %d", prefix, number);
    return value_text_is(value, text);
}

static void append_own(int me) {
    tn_value mine = value_ref(array);
    for (int i = 0; i < OWN; i++) {
        tn_value older = value_ref(mine);
        mine = value_push_take(mine, text_of("own", me * OWN + i));
        expect(value_count(older) + 1 == value_count(mine));
        value_unref(older);
    }
    for (int i = 0; i < COMMON; i++) expect(is_text(value_at(mine, (size_t)i), "common", i));
    for (int i = 0; i < OWN; i++) expect(is_text(value_at(mine, (size_t)(COMMON + i)), "own", me * OWN + i));
    tn_value part = value_slice(mine, 10, COMMON + OWN);
    part = value_push_take(part, value_int(me));
    expect(value_to_int(value_at(part, COMMON + OWN - 10)) == me);
    value_unref(part);
    value_unref(mine);
}

static void set_own(int me) {
    tn_value mine = value_ref(object);
    for (int i = 0; i < OWN; i++) mine = value_set_key_take(mine, text_of("own", me * OWN + i), value_int(i));
    for (int i = 0; i < THREADS * OWN; i++) {
        tn_value key = text_of("own", i);
        tn_value found = value_get_key(mine, key);
        expect(i / OWN == me ? found != NULL && value_to_int(found) == i % OWN : found == NULL);
        value_unref(key);
    }
    for (int i = 0; i < COMMON; i++) {
        char key[20];
        (void)snprintf(key, sizeof key, "common %d", i);
        expect(value_to_int(value_get(mine, key)) == i);
        expect(value_to_int(value_get(object, key)) == i);
    }
    expect(value_count(object) == COMMON);
    value_unref(mine);
}

/* A value that goes from hand to hand, changed in place where it can be. */
static void pass_on(int me) {
    (void)pthread_mutex_lock(&lock);
    tn_value taken = mailbox;
    mailbox = NULL;
    (void)pthread_mutex_unlock(&lock);
    if (taken == NULL) taken = value_array();
    taken = value_push_take(taken, text_of("passed", me));
    if (value_count(taken) > 50) {
        value_unref(taken);
        taken = value_array();
    }
    (void)pthread_mutex_lock(&lock);
    tn_value put = mailbox;
    mailbox = taken;
    (void)pthread_mutex_unlock(&lock);
    value_unref(put);
}

static void *work(void *argument) {
    int me = *(const int *)argument;
    for (int round = 0; round < ROUNDS; round++) {
        append_own(me);
        set_own(me);
        pass_on(me);
    }
    return NULL;
}

static void many_threads_share(void **state) {
    (void)state;
    int64_t live = value_live_count();
    array = value_array_reserve(COMMON + 5); /* room for some of what one thread adds */
    object = value_object_reserve(COMMON + 5);
    for (int i = 0; i < COMMON; i++) {
        array = value_push_take(array, text_of("common", i));
        object = value_set_key_take(object, text_of("common", i), value_int(i));
    }
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(mistakes, 0);
    value_unref(mailbox);
    value_unref(array);
    value_unref(object);
    assert_int_equal(value_live_count(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_threads_share)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
