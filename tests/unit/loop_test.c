/* loop_test.c - the loop: the order of work, work from other threads, timers, the fake clock, holds, and when it ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <uv.h>

#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"

static char trace[64];

static void note(char letter) {
    size_t length = strlen(trace);
    trace[length] = letter;
    trace[length + 1] = '\0';
}

struct item {
    struct loop_work work; /* first */
    struct loop_timer timer;
    struct loop *loop;
    char letter;
    int again;
};

static void run_item(struct loop_work *work) {
    struct item *item = (struct item *)work;
    note(item->letter);
    if (item->again && item->again--) loop_defer(item->loop, work);
}

static void fire_item(struct loop_timer *timer) { note((CONTAINER_OF(timer, struct item, timer))->letter); }

static struct item item_of(struct loop *loop, char letter) {
    return (struct item){.work = {.run = run_item}, .loop = loop, .letter = letter};
}

static int setup(void **state) {
    trace[0] = '\0';
    *state = loop_new(NULL);
    loop_fake_clock(*state);
    return 0;
}

static int teardown(void **state) {
    loop_free(*state);
    return 0;
}

static void test_deferred_work_runs_in_order_and_once(void **state) {
    struct item a = item_of(*state, 'a'), b = item_of(*state, 'b'), c = item_of(*state, 'c');
    loop_enter(*state);
    loop_defer(*state, &a.work);
    loop_defer(*state, &b.work);
    loop_defer(*state, &c.work);
    loop_defer(*state, &a.work);
    assert_false(loop_run(*state, NULL, NULL));
    assert_string_equal(trace, "abc");
    assert_false(a.work.queued);
}

static void test_undefer_removes_deferred_work(void **state) {
    for (int taken = 0; taken < 3; taken++) {
        trace[0] = '\0';
        struct item items[3] = {item_of(*state, 'a'), item_of(*state, 'b'), item_of(*state, 'c')};
        struct item last = item_of(*state, 'd');
        for (int i = 0; i < 3; i++) loop_defer(*state, &items[i].work);
        loop_undefer(*state, &items[taken].work);
        loop_undefer(*state, &items[taken].work);
        loop_defer(*state, &last.work);
        loop_run(*state, NULL, NULL);
        assert_string_equal(trace, taken == 0 ? "bcd" : taken == 1 ? "acd" : "abd");
    }
}

static void test_work_that_defers_itself_does_not_starve_others(void **state) {
    struct item a = item_of(*state, 'a'), b = item_of(*state, 'b'), t = item_of(*state, 't');
    a.again = 3;
    loop_defer(*state, &a.work);
    loop_timer_start(*state, &t.timer, 0, fire_item);
    loop_post(*state, &b.work);
    loop_run(*state, NULL, NULL);
    assert_string_equal(trace, "atbaaa");
}

static void test_timers_fire_by_time_then_by_start_order(void **state) {
    static const int64_t delays[] = {50, 10, 30, 10, 20, 50, 0};
    struct item items[7];
    for (int i = 0; i < 7; i++) {
        items[i] = item_of(*state, (char)('a' + i));
        loop_timer_start(*state, &items[i].timer, delays[i], fire_item);
    }
    loop_timer_stop(*state, &items[2].timer);
    loop_timer_stop(*state, &items[2].timer);
    loop_timer_start(*state, &items[4].timer, 60, fire_item); /* restarted */
    assert_false(loop_run(*state, NULL, NULL));
    assert_string_equal(trace, "gbdafe");
    assert_int_equal(loop_now_ms(*state), 60);
    assert_int_equal(loop_wall_ms(*state), INT64_C(1767225600060));
}

static void test_many_timers_stopped_at_random_keep_the_order(void **state) {
    enum { COUNT = 500 };
    struct item *items = mem_zalloc(COUNT * sizeof *items);
    unsigned seed = 12345;
    int left = 0;
    int64_t latest = 0;
    for (int i = 0; i < COUNT; i++) {
        items[i] = item_of(*state, 'x');
        loop_timer_start(*state, &items[i].timer, rand_r(&seed) % 100, fire_item);
    }
    for (int i = 0; i < COUNT; i++)
        if (rand_r(&seed) % 10) loop_timer_stop(*state, &items[i].timer);
    for (int i = 0; i < COUNT; i++) {
        if (!items[i].timer.index) continue;
        left++;
        if (items[i].timer.due_ms > latest) latest = items[i].timer.due_ms;
    }
    assert_in_range(left, 1, 63);
    loop_run(*state, NULL, NULL);
    assert_int_equal(strlen(trace), left);
    assert_int_equal(loop_now_ms(*state), latest);
    mem_free(items);
}

static void test_far_delays_do_not_overflow(void **state) {
    struct item a = item_of(*state, 'a'), b = item_of(*state, 'b');
    loop_fake_advance(*state, 1000);
    loop_timer_start(*state, &a.timer, INT64_MAX, fire_item);
    loop_timer_start(*state, &b.timer, -5, fire_item);
    assert_int_equal(a.timer.due_ms, INT64_MAX);
    assert_int_equal(b.timer.due_ms, 1000);
    loop_timer_stop(*state, &a.timer);
    loop_timer_stop(*state, &b.timer);
}

static bool is_fourth_turn(void *user) { return ++*(int *)user > 3; }
static bool is_not_null(void *user) { return user != NULL; }

static void test_done_and_stop_end_the_run(void **state) {
    struct item a = item_of(*state, 'a');
    int turns = 0;
    a.again = 60;
    loop_defer(*state, &a.work);
    assert_true(loop_run(*state, is_fourth_turn, &turns));
    assert_string_equal(trace, "aaa");
    assert_true(loop_run(*state, is_not_null, &turns));
    loop_stop(*state);
    assert_false(loop_run(*state, NULL, NULL));
    assert_string_equal(trace, "aaa");
    loop_undefer(*state, &a.work);
}

/* ---- Threads ---- */

enum { THREADS = 4, EACH = 2000 };

struct counted {
    struct loop_work work; /* first */
    int thread, number;
};

struct poster {
    struct loop *loop;
    struct counted items[EACH];
    int index, seen;
};

static void count_item(struct loop_work *work);
static struct poster *posters[THREADS];

static void count_item(struct loop_work *work) {
    struct counted *counted = (struct counted *)work;
    struct poster *poster = posters[counted->thread];
    assert_int_equal(counted->number, poster->seen); /* posts of one thread stay in order */
    if (++poster->seen == EACH) loop_release(poster->loop);
}

static void *post_all(void *argument) {
    struct poster *poster = argument;
    assert_false(loop_here(poster->loop));
    for (int i = 0; i < EACH; i++) {
        poster->items[i] = (struct counted){{.run = count_item}, poster->index, i};
        loop_post(poster->loop, &poster->items[i].work);
    }
    return NULL;
}

static void test_posts_keep_the_order_of_each_thread(void **state) {
    pthread_t threads[THREADS];
    loop_enter(*state);
    for (int i = 0; i < THREADS; i++) {
        posters[i] = mem_zalloc(sizeof *posters[i]);
        posters[i]->loop = *state;
        posters[i]->index = i;
        loop_hold(*state);
    }
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, post_all, posters[i]);
    assert_false(loop_run(*state, NULL, NULL));
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(posters[i]->seen, EACH);
        mem_free(posters[i]);
    }
}

static _Atomic bool flag;
static bool flag_is_set(void *user) { return (void)user, flag; }

static void *set_flag_and_wake(void *argument) {
    flag = true;
    loop_wake(argument);
    return NULL;
}

static void *release_only(void *argument) {
    loop_release(argument);
    return NULL;
}

static void *stop_and_release(void *argument) {
    loop_stop(argument);
    return NULL;
}

static void test_wake_stop_and_release_from_other_threads(void **state) {
    pthread_t thread;
    flag = false;
    loop_hold(*state);
    loop_enter(*state);
    pthread_create(&thread, NULL, set_flag_and_wake, *state);
    assert_true(loop_run(*state, flag_is_set, NULL));
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, stop_and_release, *state);
    assert_false(loop_run(*state, NULL, NULL));
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, release_only, *state);
    assert_false(loop_run(*state, NULL, NULL)); /* no work is left */
    pthread_join(thread, NULL);
}

static void test_hold_stops_the_fake_clock(void **state) {
    struct item t = item_of(*state, 't');
    pthread_t thread;
    flag = false;
    loop_timer_start(*state, &t.timer, 10, fire_item);
    loop_hold(*state);
    pthread_create(&thread, NULL, set_flag_and_wake, *state);
    loop_enter(*state);
    assert_true(loop_run(*state, flag_is_set, NULL));
    pthread_join(thread, NULL);
    assert_string_equal(trace, "");
    loop_fake_advance(*state, 10); /* a hold does not prevent loop_fake_advance */
    int turns = 1;
    loop_run(*state, is_fourth_turn, &turns);
    assert_string_equal(trace, "t");
    loop_release(*state);
}

static bool has_traced(void *user) { return (void)user, trace[0]; }

static void test_expect_waits_and_advances_the_fake_clock(void **state) {
    struct item t = item_of(*state, 't');
    pthread_t thread;
    flag = false;
    loop_expect(*state);
    loop_timer_start(*state, &t.timer, 10, fire_item);
    loop_enter(*state);
    assert_true(loop_run(*state, has_traced, NULL));
    assert_string_equal(trace, "t");
    pthread_create(&thread, NULL, set_flag_and_wake, *state);
    assert_true(loop_run(*state, flag_is_set, NULL));
    pthread_join(thread, NULL);
    loop_unexpect(*state);
    assert_false(loop_run(*state, NULL, NULL));
}

static int quiet_times;
static void count_quiet(void *user) { quiet_times += user != NULL; }
static bool quiet_count_is(void *user) { return quiet_times == *(int *)user; }

/*
 * The quiet callback is called when the loop has only waited for expected events for the given time, and once until the
 * loop has work again.
 */
static void test_quiet_callback(void **state) {
    struct item t = item_of(*state, 't');
    int once = 1, twice = 2;
    pthread_t thread;
    quiet_times = 0;
    flag = false;
    loop_enter(*state);
    loop_on_stall(*state, 50, count_quiet, &once);
    loop_timer_start(*state, &t.timer, 100, fire_item);
    assert_false(loop_run(*state, NULL, NULL)); /* without loop_expect the loop ends */
    assert_int_equal(quiet_times, 0);
    loop_expect(*state);
    loop_timer_start(*state, &t.timer, 100, fire_item);
    assert_true(loop_run(*state, quiet_count_is, &once));
    assert_string_equal(trace, "tt"); /* the callback waits until no timer is left */
    assert_int_equal(loop_now_ms(*state), 250);
    pthread_create(&thread, NULL, set_flag_and_wake, *state);
    assert_true(loop_run(*state, flag_is_set, NULL));
    pthread_join(thread, NULL);
    assert_int_equal(quiet_times, 1); /* a wakeup does not count as work */
    loop_defer(*state, &t.work);
    assert_true(loop_run(*state, quiet_count_is, &twice));
    loop_on_stall(*state, 0, NULL, NULL);
    loop_unexpect(*state);
    assert_false(loop_run(*state, NULL, NULL));
    assert_int_equal(quiet_times, 2);
}

/* ---- libuv handles ---- */

static void on_uv_timer(uv_timer_t *timer) {
    note('u');
    uv_close((uv_handle_t *)timer, NULL);
}

static void test_uv_handles_keep_the_loop_running(void **state) {
    uv_timer_t timer;
    uv_timer_init(loop_uv(*state), &timer);
    uv_timer_start(&timer, on_uv_timer, 1, 0);
    assert_false(loop_run(*state, NULL, NULL));
    assert_string_equal(trace, "u");
}

static void test_real_clock_waits_for_timers(void **state) {
    struct loop *loop = loop_new(NULL);
    struct item t = item_of(loop, 't'), z = item_of(loop, 'z');
    int64_t before = loop_now_ms(loop);
    (void)state;
    loop_timer_start(loop, &t.timer, 3, fire_item);
    loop_timer_start(loop, &z.timer, 1, fire_item);
    assert_false(loop_run(loop, NULL, NULL));
    assert_string_equal(trace, "zt");
    assert_true(loop_now_ms(loop) >= before + 3);
    assert_true(loop_wall_ms(loop) > INT64_C(1600000000000));
    loop_free(loop);
}

static int detached;
static void on_detach(void *data) { detached = *(int *)data; }

static void test_loop_free_detaches_data(void **state) {
    int number = 5;
    (void)state;
    struct loop *loop = loop_new(NULL);
    assert_null(loop_attached(loop));
    loop_attach(loop, &number, on_detach);
    assert_ptr_equal(loop_attached(loop), &number);
    assert_int_equal(loop_thread(loop), 0);
    assert_false(loop_here(loop));
    loop_enter(loop);
    assert_true(loop_here(loop));
    assert_int_equal(loop_thread(loop), loop_this_thread());
    loop_free(loop);
    assert_int_equal(detached, 5);
    loop_free(NULL);
}

/* Lets 3 ms pass between the time when the loop reads the clock and its wait. */
static bool has_traced_late(void *user) {
    for (int64_t end = loop_clock_us(user) + 3000; loop_clock_us(user) < end;) continue;
    return trace[0];
}

/* A timer that comes due between reading the clock and waiting fires without a further delay. */
static void test_timer_that_comes_due_before_the_wait(void **state) {
    (void)state;
    struct loop *loop = loop_new(NULL);
    loop_enter(loop);
    for (int64_t delay = 1; delay < 5; delay++) {
        struct item t = item_of(loop, 't');
        trace[0] = '\0';
        loop_timer_start(loop, &t.timer, delay, fire_item);
        assert_true(loop_run(loop, has_traced_late, loop));
    }
    loop_free(loop);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Another loop waits for this one: it learns when a turn is due, and a turn does what is due. */
static void test_turns_of_another_loop(void **state) {
    (void)state;
    struct loop *loop = loop_new(NULL);
    struct item a = item_of(loop, 'a'), b = item_of(loop, 'b');
    trace[0] = '\0';
    loop_run_turn(loop);
    assert_int_equal(loop_timeout_ms(loop), -1);
    a.again = 1;
    loop_defer(loop, &a.work);
    assert_int_equal(loop_timeout_ms(loop), 0);
    loop_run_turn(loop);
    assert_string_equal(trace, "a"); /* what is deferred in a turn waits for the next one */
    assert_int_equal(loop_timeout_ms(loop), 0);
    loop_run_turn(loop);
    assert_string_equal(trace, "aa");
    loop_timer_start(loop, &b.timer, 3600000, fire_item);
    int64_t timeout = loop_timeout_ms(loop);
    assert_true(timeout > 3590000 && timeout <= 3600000);
    loop_timer_start(loop, &b.timer, INT64_MAX, fire_item);
    assert_int_equal(loop_timeout_ms(loop), 86400000); /* an int can hold it */
    loop_timer_start(loop, &b.timer, 0, fire_item);
    assert_int_equal(loop_timeout_ms(loop), 0);
    loop_run_turn(loop);
    assert_string_equal(trace, "aab");
    struct pollfd set = {.fd = loop_descriptor(loop), .events = POLLIN};
    assert_int_equal(poll(&set, 1, 0), 0);
    loop_wake(loop);
    assert_int_equal(poll(&set, 1, 0), 1);
    loop_run_turn(loop);
    assert_int_equal(poll(&set, 1, 0), 0);
    assert_int_equal(loop_timeout_ms(loop), -1);
    loop_free(loop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_deferred_work_runs_in_order_and_once),
        TEST(test_undefer_removes_deferred_work),
        TEST(test_work_that_defers_itself_does_not_starve_others),
        TEST(test_timers_fire_by_time_then_by_start_order),
        TEST(test_many_timers_stopped_at_random_keep_the_order),
        TEST(test_far_delays_do_not_overflow),
        TEST(test_done_and_stop_end_the_run),
        TEST(test_posts_keep_the_order_of_each_thread),
        TEST(test_wake_stop_and_release_from_other_threads),
        TEST(test_hold_stops_the_fake_clock),
        TEST(test_expect_waits_and_advances_the_fake_clock),
        TEST(test_quiet_callback),
        TEST(test_uv_handles_keep_the_loop_running),
        TEST(test_real_clock_waits_for_timers),
        TEST(test_timer_that_comes_due_before_the_wait),
        TEST(test_loop_free_detaches_data),
        cmocka_unit_test(test_turns_of_another_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
