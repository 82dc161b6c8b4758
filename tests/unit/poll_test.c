/* tenon.poll: readiness is reported from the loop; a watch belongs to one plugin and ends with it; the limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/conformance/guard.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/registry.h"

static const tn_poll_1 *const polls = &interface_poll;
static struct {
    struct loop *loop;
    struct registry *registry;
    struct config *config;
    struct http *http;
} host;
static struct plugin *first, *second;
static int64_t values;

static const void *no_interfaces(void *self, const char *id) {
    (void)self, (void)id;
    return NULL;
}

static struct plugin *add(const char *id) {
    static const tn_plugin end = {sizeof end, NULL, no_interfaces};
    tn_value about = value_set_take(value_object(), "id", value_text(id)), empty = value_array();
    about = value_set_take(about, "version", value_text("1.0.0"));
    about = value_set_take(about, "title", value_text("A test"));
    tn_value manifest = value_set_take(value_object(), "plugin", about);
    manifest = value_set_take(manifest, "components", empty);
    struct error error = ERROR_INIT;
    if (registry_add_native(host.registry, manifest, &end, "a test", &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(manifest);
    struct plugin *plugin = registry_plugin(host.registry, id);
    assert_int_equal(plugin_load(plugin, &error), TN_OK);
    return plugin;
}

static int setup(void **state) {
    (void)state;
    values = value_live_count();
    host.loop = loop_new(NULL);
    loop_enter(host.loop);
    host.registry = registry_new(
        &(struct registry_options){.interfaces = interface_table, .allow_drafts = true, .loop = host.loop});
    first = add("test.first");
    second = add("test.second");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    registry_free(host.registry);
    loop_free(host.loop);
    assert_int_equal(value_live_count(), values);
    return 0;
}

/* ---- Reported events ---- */

struct seen {
    int32_t events; /* of the last callback */
    uint32_t times;
    uint32_t until; /* unwatch after this many callbacks; 0: never */
    uint64_t watch;
    int descriptor; /* the callback reads from it, unless it is -1 */
    char bytes[64];
};

static void on_ready(void *user, int32_t events) {
    struct seen *seen = user;
    seen->events = events;
    seen->times++;
    if (seen->descriptor >= 0) {
        char byte;
        if (read(seen->descriptor, &byte, 1) == 1) strncat(seen->bytes, &byte, 1);
    }
    if (seen->until == seen->times) assert_int_equal(polls->unwatch(plugin_host(first), seen->watch), TN_OK);
}

static bool has_events(void *user) { return ((struct seen *)user)->times > 0; }
static bool is_unwatched(void *user) {
    const struct seen *seen = user;
    return seen->times == seen->until;
}

/* A watch does not keep the loop from ending, so the test makes it expect something. */
static bool run(bool (*done)(void *user), struct seen *seen) {
    loop_expect(host.loop);
    bool is_done = loop_run(host.loop, done, seen);
    loop_unexpect(host.loop);
    return is_done;
}

static void open_pair(int pair[2]) { assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0); }

static void close_pair(const int pair[2]) {
    close(pair[0]);
    close(pair[1]);
}

static void test_readable_is_reported_until_it_is_read(void **state) {
    (void)state;
    int pair[2];
    open_pair(pair);
    struct seen seen = {.until = 3, .descriptor = pair[0]};
    assert_int_equal(polls->watch(plugin_host(first), pair[0], TN_POLL_READ, on_ready, &seen, &seen.watch), TN_OK);
    assert_int_not_equal(seen.watch, 0);
    assert_true(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
    assert_int_equal(write(pair[1], "abc", 3), 3);
    assert_int_equal(seen.times, 0);
    assert_true(run(is_unwatched, &seen));
    assert_int_equal(seen.events, TN_POLL_READ);
    assert_string_equal(seen.bytes, "abc");
    assert_int_equal(polls->unwatch(plugin_host(first), seen.watch), TN_NOT_FOUND);
    assert_int_equal(polls->change(plugin_host(first), seen.watch, TN_POLL_READ), TN_NOT_FOUND);
    close_pair(pair);
}

static void test_events_change(void **state) {
    (void)state;
    int pair[2];
    open_pair(pair);
    struct seen seen = {.descriptor = -1};
    assert_int_equal(polls->watch(plugin_host(first), pair[0], TN_POLL_READ, on_ready, &seen, &seen.watch), TN_OK);
    assert_int_equal(polls->change(plugin_host(first), seen.watch, TN_POLL_WRITE), TN_OK);
    assert_true(run(has_events, &seen));
    assert_int_equal(seen.events, TN_POLL_WRITE);
    assert_int_equal(write(pair[1], "a", 1), 1);
    seen.times = 0;
    assert_int_equal(polls->change(plugin_host(first), seen.watch, TN_POLL_READ | TN_POLL_WRITE), TN_OK);
    assert_true(run(has_events, &seen));
    assert_int_equal(seen.events, TN_POLL_READ | TN_POLL_WRITE);
    assert_int_equal(polls->unwatch(plugin_host(first), seen.watch), TN_OK);
    close_pair(pair);
}

static void test_close_is_reported_without_requested_events(void **state) {
    (void)state;
    for (int reset = 0; reset < 2; reset++) {
        int pair[2];
        if (reset)
            assert_int_equal(pipe(pair), 0); /* the writing end reports an error after the reading end was closed */
        else
            open_pair(pair);
        struct seen seen = {.descriptor = -1};
        assert_int_equal(polls->watch(plugin_host(first), pair[1], 0, on_ready, &seen, &seen.watch), TN_OK);
        loop_run(host.loop, NULL, NULL);
        assert_int_equal(seen.times, 0);
        close(pair[0]);
        assert_true(run(has_events, &seen));
        assert_int_equal(seen.events, TN_POLL_CLOSED);
        seen.times = 0; /* it is reported again while it lasts */
        assert_true(run(has_events, &seen));
        assert_int_equal(polls->unwatch(plugin_host(first), seen.watch), TN_OK);
        close(pair[1]);
    }
}

static void test_error_includes_the_requested_events(void **state) {
    (void)state;
    int pair[2];
    assert_int_equal(pipe(pair), 0);
    struct seen seen = {.until = 2, .descriptor = -1};
    close(pair[0]);
    assert_int_equal(polls->watch(plugin_host(first), pair[1], TN_POLL_WRITE, on_ready, &seen, &seen.watch), TN_OK);
    assert_true(run(is_unwatched, &seen));
    assert_int_equal(seen.events, TN_POLL_WRITE | TN_POLL_CLOSED);
    close(pair[1]);
}

/* ---- The loop ---- */

static void test_watch_does_not_keep_the_loop_running(void **state) {
    (void)state;
    int pair[2];
    open_pair(pair);
    struct seen seen = {.descriptor = -1};
    assert_int_equal(polls->watch(plugin_host(first), pair[0], TN_POLL_READ, on_ready, &seen, &seen.watch), TN_OK);
    assert_false(loop_run(host.loop, NULL, NULL));
    assert_int_equal(seen.times, 0);
    close_pair(pair); /* the watch ends with the plugin */
}

struct busy {
    struct loop_work work;
    const struct seen *seen;
    uint32_t turns;
};

static void defer_until_event(struct loop_work *work) {
    struct busy *busy = (struct busy *)work;
    if (!busy->seen->times && ++busy->turns < 1000) loop_defer(host.loop, work);
}

static void test_busy_loop_polls_descriptors(void **state) {
    (void)state;
    int pair[2];
    open_pair(pair);
    struct seen seen = {.descriptor = -1};
    struct busy busy = {.work = {.run = defer_until_event}, .seen = &seen};
    assert_int_equal(polls->watch(plugin_host(first), pair[0], TN_POLL_WRITE, on_ready, &seen, &seen.watch), TN_OK);
    loop_defer(host.loop, &busy.work);
    assert_true(run(has_events, &seen));
    assert_in_range(busy.turns, 1, 10);
    assert_int_equal(polls->unwatch(plugin_host(first), seen.watch), TN_OK);
    close_pair(pair);
}

static void count_quiet(void *user) { (*(int *)user)++; }

static void stop_loop(struct loop_timer *timer) {
    (void)timer;
    loop_stop(host.loop);
}

static void test_expected_watch_is_not_quiet(void **state) {
    (void)state;
    int pair[2], quiet = 0;
    open_pair(pair);
    struct seen seen = {.descriptor = -1};
    struct loop_timer timer = {0};
    loop_on_stall(host.loop, 0, count_quiet, &quiet);
    assert_int_equal(polls->watch(plugin_host(first), pair[0], TN_POLL_READ, on_ready, &seen, &seen.watch), TN_OK);
    loop_timer_start(host.loop, &timer, 1, stop_loop);
    assert_false(run(has_events, &seen));
    assert_int_equal(write(pair[1], "a", 1), 1);
    assert_true(run(has_events, &seen));
    assert_int_equal(quiet, 0);
    assert_int_equal(polls->unwatch(plugin_host(first), seen.watch), TN_OK);
    close_pair(pair);
}

/* ---- Ownership ---- */

static void test_watch_belongs_to_its_plugin(void **state) {
    (void)state;
    int pair[2], other[2];
    open_pair(pair);
    open_pair(other);
    struct seen seen = {.descriptor = -1}, theirs = {.descriptor = -1};
    assert_int_equal(polls->watch(plugin_host(first), pair[0], TN_POLL_READ, on_ready, &seen, &seen.watch), TN_OK);
    assert_int_equal(polls->watch(plugin_host(second), other[0], TN_POLL_READ, on_ready, &theirs, &theirs.watch),
                     TN_OK);
    assert_int_not_equal(seen.watch, theirs.watch);
    assert_int_equal(polls->unwatch(plugin_host(second), seen.watch), TN_NOT_FOUND);
    assert_int_equal(polls->change(plugin_host(second), seen.watch, 0), TN_NOT_FOUND);
    assert_int_equal(polls->unwatch(plugin_host(first), theirs.watch), TN_NOT_FOUND);
    /* A descriptor can have only one watch, in any plugin. */
    uint64_t again = 7;
    assert_int_equal(polls->watch(plugin_host(first), pair[0], TN_POLL_WRITE, on_ready, &seen, &again), TN_INVALID);
    assert_int_equal(polls->watch(plugin_host(second), pair[0], TN_POLL_WRITE, on_ready, &seen, &again), TN_INVALID);
    assert_int_equal(again, 7);
    assert_int_equal(polls->unwatch(plugin_host(first), seen.watch), TN_OK);
    assert_int_equal(polls->watch(plugin_host(second), pair[0], TN_POLL_WRITE, on_ready, &seen, &again), TN_OK);
    /* Ending twice is allowed: a refused plugin may be ended again. */
    interface_poll_ended(second);
    interface_poll_ended(second);
    assert_int_equal(polls->unwatch(plugin_host(second), again), TN_NOT_FOUND);
    assert_int_equal(polls->unwatch(plugin_host(second), theirs.watch), TN_NOT_FOUND);
    assert_int_equal(write(other[1], "a", 1), 1);
    loop_run(host.loop, NULL, NULL);
    assert_int_equal(theirs.times, 0);
    assert_int_equal(polls->watch(plugin_host(first), other[0], TN_POLL_READ, on_ready, &seen, &again), TN_OK);
    assert_int_equal(polls->unwatch(plugin_host(first), again), TN_OK);
    close_pair(pair);
    close_pair(other);
}

static void test_watch_numbers_are_not_reused(void **state) {
    (void)state;
    int pair[2];
    open_pair(pair);
    uint64_t before = 0, watch = 0;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(polls->watch(plugin_host(first), pair[0], TN_POLL_READ, on_ready, NULL, &watch), TN_OK);
        assert_int_not_equal(watch, before);
        assert_int_equal(polls->unwatch(plugin_host(first), before), TN_NOT_FOUND);
        assert_int_equal(polls->unwatch(plugin_host(first), watch), TN_OK);
        before = watch;
    }
    close_pair(pair);
}

static void test_refused_texts(void **state) {
    (void)state;
    int pair[2], folder = open("/", O_RDONLY | O_DIRECTORY);
    uint64_t watch = 7;
    open_pair(pair);
    const tn_host *of = plugin_host(first);
    assert_int_equal(polls->watch(NULL, pair[0], TN_POLL_READ, on_ready, NULL, &watch), TN_INVALID);
    assert_int_equal(polls->watch(of, -1, TN_POLL_READ, on_ready, NULL, &watch), TN_INVALID);
    assert_int_equal(polls->watch(of, 1000000, TN_POLL_READ, on_ready, NULL, &watch), TN_INVALID);
    assert_int_equal(polls->watch(of, pair[0], 8, on_ready, NULL, &watch), TN_INVALID);
    assert_int_equal(polls->watch(of, pair[0], TN_POLL_CLOSED, on_ready, NULL, &watch), TN_INVALID);
    assert_int_equal(polls->watch(of, pair[0], TN_POLL_READ, NULL, NULL, &watch), TN_INVALID);
    assert_int_equal(polls->watch(of, pair[0], TN_POLL_READ, on_ready, NULL, NULL), TN_INVALID);
    assert_int_equal(polls->watch(of, folder, TN_POLL_READ, on_ready, NULL, &watch), TN_UNSUPPORTED);
    assert_int_equal(watch, 7);
    assert_int_equal(polls->watch(of, pair[0], TN_POLL_READ, on_ready, NULL, &watch), TN_OK);
    assert_int_equal(polls->change(of, watch, TN_POLL_CLOSED), TN_INVALID);
    assert_int_equal(polls->change(NULL, watch, 0), TN_INVALID);
    assert_int_equal(polls->unwatch(NULL, watch), TN_INVALID);
    assert_int_equal(polls->unwatch(of, 0), TN_NOT_FOUND);
    assert_int_equal(polls->unwatch(of, watch), TN_OK);
    close(folder);
    close_pair(pair);
}

static void *watch_on_another_thread(void *user) {
    uint64_t watch = 0;
    const int *descriptor = user;
    assert_int_equal(polls->watch(plugin_host(first), *descriptor, TN_POLL_READ, on_ready, NULL, &watch),
                     TN_WRONG_THREAD);
    assert_int_equal(polls->change(plugin_host(first), 1, 0), TN_WRONG_THREAD);
    assert_int_equal(polls->unwatch(plugin_host(first), 1), TN_WRONG_THREAD);
    return NULL;
}

static void test_functions_of_the_loop_thread_only(void **state) {
    (void)state;
    int pair[2];
    pthread_t thread;
    open_pair(pair);
    assert_int_equal(pthread_create(&thread, NULL, watch_on_another_thread, &pair[0]), 0);
    pthread_join(thread, NULL);
    close_pair(pair);
}

/* If the process may open fewer descriptors than the limit, the test uses that number. */
static void test_watches_are_limited(void **state) {
    (void)state;
    struct rlimit before, wide;
    getrlimit(RLIMIT_NOFILE, &before);
    wide = before;
    wide.rlim_cur = wide.rlim_max < 70000 ? wide.rlim_max : 70000;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &wide), 0);
    int pair[2], *made = mem_array(NULL, 66000, sizeof *made);
    uint32_t count = 0;
    open_pair(pair);
    while (count < 65536 && (made[count] = dup(pair[0])) >= 0) {
        uint64_t watch;
        assert_int_equal(polls->watch(plugin_host(first), made[count++], TN_POLL_READ, on_ready, NULL, &watch), TN_OK);
    }
    if (count == 65536) {
        uint64_t watch;
        int more = dup(pair[0]);
        assert_int_equal(polls->watch(plugin_host(first), more, TN_POLL_READ, on_ready, NULL, &watch), TN_LIMIT);
        assert_int_equal(polls->watch(plugin_host(second), more, TN_POLL_READ, on_ready, NULL, &watch), TN_OK);
        assert_int_equal(polls->unwatch(plugin_host(second), watch), TN_OK);
        close(more);
    } else {
        print_message("this process may open %u descriptors: the limit of 65,536 was not reached\n", count);
    }
    assert_true(count > 100);
    interface_poll_ended(first);
    while (count) close(made[--count]);
    mem_free(made);
    close_pair(pair);
    setrlimit(RLIMIT_NOFILE, &before);
}

static void test_check_mode_does_not_wrap_the_interface(void **state) {
    (void)state;
    const struct registry_interface *row = guard_table(interface_table);
    while (row->id && strcmp(row->id, TN_POLL_1) != 0) row++;
    assert_ptr_equal(row->vtable, polls);
    assert_false(row->draft);
    assert_non_null(row->ended);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_readable_is_reported_until_it_is_read),
        TEST(test_events_change),
        TEST(test_close_is_reported_without_requested_events),
        TEST(test_error_includes_the_requested_events),
        TEST(test_watch_does_not_keep_the_loop_running),
        TEST(test_busy_loop_polls_descriptors),
        TEST(test_expected_watch_is_not_quiet),
        TEST(test_watch_belongs_to_its_plugin),
        TEST(test_watch_numbers_are_not_reused),
        TEST(test_refused_texts),
        TEST(test_functions_of_the_loop_thread_only),
        TEST(test_watches_are_limited),
        TEST(test_check_mode_does_not_wrap_the_interface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
