/*
 * value_thread_test.c - one family of values used by many threads; also run it with the thread sanitizer.
 *
 * All threads start from the same array and object, and append, look up, replace and drop at once. Some win the shared
 * slots, the others copy, and each must find exactly what it stored. Afterwards no block may be left.
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
#define RACES   2000
#define OWN     20 /* items and keys that each adds */
#define COMMON  30

static tn_value array, object, mailbox;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
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

/* A value that threads pass to each other and change in place if possible. */
static void exchange_value(int me) {
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

/* All threads claim the only free slot of a new array and object; then all take and drop references at once. */
static void race_for_slot(int me) {
    if (me == 0) {
        array = value_array_reserve(4);
        for (int i = -3; i < 0; i++) array = value_push_take(array, value_int(i));
        object = value_set_take(value_object_reserve(2), "k", value_int(-1));
    }
    (void)pthread_barrier_wait(&barrier);
    tn_value longer[8], wider[8];
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < me; j++)
            value_unref(value_slice(array, 1, 3)); /* other handles are created and freed at the same time */
        longer[i] = value_push_take(value_ref(array), value_int(me * 8 + i));
        wider[i] = value_set_take(value_ref(object), "mine", value_int(me * 8 + i));
    }
    (void)pthread_barrier_wait(&barrier);
    if (me == 0) {
        value_unref(array);
        value_unref(object);
    }
    for (int i = 0; i < 8; i++) {
        expect(value_count(longer[i]) == 4 && value_to_int(value_at(longer[i], 2)) == -1);
        expect(value_to_int(value_at(longer[i], 3)) == me * 8 + i);
        expect(value_to_int(value_get(wider[i], "k")) == -1 && value_to_int(value_get(wider[i], "mine")) == me * 8 + i);
        value_unref(longer[i]);
        value_unref(wider[i]);
    }
    (void)pthread_barrier_wait(&barrier);
}

/*
 * Each appends to its neighbour's array a value that contains its own: slots that contain each other would never be
 * freed.
 */
static tn_value circle[THREADS];

static void append_neighbour(int me) {
    tn_value own = value_array_reserve(4);
    for (int i = 0; i < 3; i++) own = value_push_take(own, value_int(i));
    circle[me] = own;
    (void)pthread_barrier_wait(&barrier);
    tn_value longer = value_push_take(value_ref(circle[(me + 1) % THREADS]), value_ref(own));
    expect(value_count(longer) == 4 && value_count(value_at(longer, 3)) == 3);
    (void)pthread_barrier_wait(&barrier);
    value_unref(longer);
    value_unref(own);
}

static void *run_append_neighbour(void *argument) {
    for (int i = 0; i < RACES; i++) append_neighbour(*(const int *)argument);
    return NULL;
}

/* Slices are handles of the same slots: each takes and drops one, from every thread. */
static void slice_shared(void) {
    for (int i = 0; i < 50; i++) {
        tn_value part = value_slice(array, 0, COMMON - 1);
        expect(is_text(value_at(part, COMMON - 2), "common", COMMON - 2));
        value_unref(part);
    }
}

static void *run_race(void *argument) {
    for (int i = 0; i < RACES; i++) race_for_slot(*(const int *)argument);
    return NULL;
}

static void *work(void *argument) {
    int me = *(const int *)argument;
    for (int round = 0; round < ROUNDS; round++) {
        append_own(me);
        set_own(me);
        exchange_value(me);
        slice_shared();
    }
    return NULL;
}

static void run_threads(void *(*function)(void *)) {
    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, function, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void run_together(void *(*function)(void *)) {
    int64_t live = value_live_count();
    assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    run_threads(function);
    (void)pthread_barrier_destroy(&barrier);
    assert_int_equal(mistakes, 0);
    assert_int_equal(value_live_count(), live);
}

static void one_wins_each_slot(void **state) {
    (void)state;
    run_together(run_race);
}

static void no_cycle_is_created(void **state) {
    (void)state;
    run_together(run_append_neighbour);
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
    run_threads(work);
    assert_int_equal(mistakes, 0);
    value_unref(mailbox);
    value_unref(array);
    value_unref(object);
    assert_int_equal(value_live_count(), live);
}

/* More threads than counters, one after the other: each leaves its count behind. */
static void *make_one(void *argument) {
    *(tn_value *)argument = value_text("made by one thread, freed by another");
    return NULL;
}

static void every_thread_counts(void **state) {
    (void)state;
    enum { MANY = 80 };
    tn_value made[MANY];
    int64_t live = value_live_count();
    for (int i = 0; i < MANY; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, make_one, &made[i]), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(value_live_count(), live + i + 1);
    }
    for (int i = 0; i < MANY; i++) value_unref(made[i]);
    assert_int_equal(value_live_count(), live);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_wins_each_slot), cmocka_unit_test(no_cycle_is_created),
                                       cmocka_unit_test(many_threads_share), cmocka_unit_test(every_thread_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
