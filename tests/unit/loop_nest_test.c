/*
 * loop_nest_test.c - a loop inside another one: its deferred work, timers and posted work run, in turns of the outer
 * loop.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/base/loop_nest.h"

struct nested {
    struct loop *outer, *inner;
    struct loop_nest *nest;
    struct loop_work work;
    struct loop_timer timer;
    int ran;
};

static void nested_open(struct nested *nested) {
    *nested = (struct nested){.outer = loop_new(NULL), .inner = loop_new(NULL)};
    loop_enter(nested->inner);
    loop_enter(nested->outer);
    nested->nest = loop_nest_new(nested->outer, nested->inner);
}

static void nested_close(struct nested *nested) {
    loop_nest_free(nested->nest);
    loop_free(nested->inner);
    loop_free(nested->outer);
}

static void count_work(struct loop_work *work) { CONTAINER_OF(work, struct nested, work)->ran++; }
static void count_timer(struct loop_timer *timer) { CONTAINER_OF(timer, struct nested, timer)->ran++; }
static bool has_run(void *user) { return ((const struct nested *)user)->ran > 0; }

static void deferred_work_runs_after_a_wake(void **state) {
    struct nested nested;
    (void)state;
    nested_open(&nested);
    nested.work.run = count_work;
    loop_defer(nested.inner, &nested.work);
    loop_nest_wake(nested.nest);
    assert_true(loop_run(nested.outer, has_run, &nested));
    nested_close(&nested);
}

/* A timer of the inner loop keeps the outer loop waiting for it. */
static void timers_of_the_inner_loop_fire(void **state) {
    struct nested nested;
    (void)state;
    nested_open(&nested);
    loop_timer_start(nested.inner, &nested.timer, 5, count_timer);
    loop_nest_wake(nested.nest);
    assert_true(loop_run(nested.outer, has_run, &nested));
    nested_close(&nested);
}

static void *post_work(void *user) {
    struct nested *nested = user;
    loop_post(nested->inner, &nested->work);
    loop_release(nested->outer);
    return NULL;
}

/* The event wakes the outer loop, which waits without a timer. */
static void posted_work_wakes_the_outer_loop(void **state) {
    struct nested nested;
    pthread_t thread;
    (void)state;
    nested_open(&nested);
    nested.work.run = count_work;
    loop_hold(nested.outer); /* another thread will post: to the inner loop */
    loop_hold(nested.outer);
    assert_int_equal(pthread_create(&thread, NULL, post_work, &nested), 0);
    assert_true(loop_run(nested.outer, has_run, &nested));
    pthread_join(thread, NULL);
    loop_release(nested.outer);
    nested_close(&nested);
}

/* The nest itself does not keep the outer loop running. */
static void an_idle_inner_loop_ends_the_outer_one(void **state) {
    struct nested nested;
    (void)state;
    nested_open(&nested);
    assert_false(loop_run(nested.outer, has_run, &nested));
    nested_close(&nested);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deferred_work_runs_after_a_wake),
        cmocka_unit_test(timers_of_the_inner_loop_fire),
        cmocka_unit_test(posted_work_wakes_the_outer_loop),
        cmocka_unit_test(an_idle_inner_loop_ends_the_outer_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
