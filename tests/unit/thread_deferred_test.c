/*
 * thread_deferred_test.c - deferred items of a saved list: they are read from any thread, stay unread while the list
 * only grows, and what was computed without them is not saved.
 */
#include "adl/value/deferred.h"
#include "host/data/store/store_collections.h"
#include "host/data/store/store_link.h"
#include "host/data/thread/thread_deferred.h"
#include "tests/unit/thread_fixture.h"
#include <pthread.h>

#define ITEMS 400

static tn_value item(uint32_t number) { return value_format("%0300u", number); }

static tn_value state_of_items(uint32_t count) {
    tn_value list = value_array();
    for (uint32_t i = 0; i < count; i++) list = value_push_take(list, item(i));
    tn_value state = value_set_take(value_object(), "list", list);
    return value_set_take(state, "other", value_int(7));
}

static int32_t read_deferred(struct session *session, void *user, tn_value *result, struct error *error) {
    return thread_read_head(session, "t", user, result, error);
}

/* Loads the thread `t`, whose list is deferred. */
static tn_value load_deferred(struct host *host) {
    struct store *store = host_store(host, NULL);
    struct error error = ERROR_INIT;
    tn_value loaded = NULL, channels = value_set_take(value_object(), "list", value_bool(true));
    struct thread_defer defer = {store_link(store), channels};
    if (store_perform_wait(store, read_deferred, &defer, &loaded, &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(channels);
    return loaded;
}

/* Writes a thread with a snapshot, and one more item. */
static void write_thread(struct host *host) {
    tn_value loaded = load(host, "t", THREAD_HEAD), before = state_of_items(ITEMS), after = state_of_items(ITEMS + 1);
    struct thread_log *log = thread_log_new(host_store(host, NULL), "t", loaded);
    assert_int_equal(commit(host, log, 0, NULL, before).status, TN_OK);
    assert_int_equal(commit(host, log, 1, before, after).status, TN_OK);
    thread_log_free(log);
    value_unref(loaded);
    value_unref(before);
    value_unref(after);
}

static tn_value list_of_loaded(tn_value loaded) {
    return value_get(value_get(value_get(loaded, "saved"), "state"), "list");
}

static void *read_all(void *list) {
    for (uint32_t i = 0; i <= ITEMS; i++) {
        tn_value expected = item(i);
        assert_true(value_identical(value_at(list, i), expected));
        value_unref(expected);
    }
    return NULL;
}

static void test_reads(void **state) {
    (void)state;
    struct host *host = open_host();
    write_thread(host);
    tn_value loaded = load_deferred(host), list = list_of_loaded(loaded);
    assert_true(value_is_deferred(list));
    assert_int_equal(value_count(list), ITEMS + 1);
    tn_value last = item(ITEMS);
    assert_true(value_identical(value_at(list, ITEMS), last)); /* from the change after the snapshot */
    assert_true(value_is_deferred(list));
    value_unref(last);
    /* By two other threads at once, while the loop does not run. */
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, (void *)(uintptr_t)list), 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert_false(value_is_deferred(list));
    read_all((void *)(uintptr_t)list);
    value_unref(loaded);
    /* By a commit: the plugin would read them while it writes. */
    loaded = load_deferred(host);
    list = list_of_loaded(loaded);
    struct store_wait wait = {.done = false};
    tn_value put = store_put("memories", "m", value_ref(list));
    store_commit_take(host_store(host, NULL), value_push_take(value_array(), put), store_wait_done, &wait);
    assert_int_equal(store_wait_end(&wait, host_loop(host), NULL, NULL), TN_OK);
    assert_false(value_is_deferred(list));
    value_unref(loaded);
    /* After the store was closed: the values can still be freed. */
    loaded = load_deferred(host);
    host_free(host);
    value_unref(loaded);
}

static void test_extends(void **state) {
    (void)state;
    struct host *host = open_host();
    write_thread(host);
    tn_value loaded = load_deferred(host), now = value_ref(value_get(value_get(loaded, "saved"), "state"));
    struct thread_log *log = thread_log_new(host_store(host, NULL), "t", loaded);
    for (uint32_t i = 2; i < 300; i++) { /* more snapshots are written */
        tn_value list = value_push_take(value_ref(value_get(now, "list")), item(ITEMS + i - 1));
        tn_value next = value_set_take(value_ref(now), "list", list);
        assert_int_equal(commit(host, log, i, now, next).status, TN_OK);
        value_unref(now);
        now = next;
    }
    assert_true(value_is_deferred(value_get(now, "list")));
    thread_log_free(log);
    value_unref(loaded);
    loaded = load(host, "t", THREAD_HEAD);
    assert_int_equal(value_count(list_of_loaded(loaded)), ITEMS + 299);
    assert_true(value_identical(list_of_loaded(loaded), value_get(now, "list")));
    value_unref(now);
    value_unref(loaded);
    host_free(host);
}

static void test_missing(void **state) {
    (void)state;
    struct host *host = open_host();
    write_thread(host);
    tn_value loaded = load_deferred(host), list = list_of_loaded(loaded),
             now = value_get(value_get(loaded, "saved"), "state");
    struct store_wait wait = {.done = false};
    tn_value drop = store_delete_range(STORE_CHUNKS, NULL, NULL);
    store_commit_take(host_store(host, NULL), value_push_take(value_array(), drop), store_wait_done, &wait);
    assert_int_equal(store_wait_end(&wait, host_loop(host), NULL, NULL), TN_OK);
    struct thread_log *log = thread_log_new(host_store(host, NULL), "t", loaded);
    tn_value longer = value_push_take(value_ref(list), value_text("new"));
    tn_value next = value_set_take(value_ref(now), "list", longer);
    assert_int_equal(commit(host, log, 2, now, next).status, TN_OK); /* nothing was missed yet */
    assert_true(value_is(value_at(list, 0), TN_NULL));
    tn_value other = value_set_take(value_ref(next), "other", value_int(8));
    struct done done = commit(host, log, 3, next, other);
    assert_int_not_equal(done.status, TN_OK);
    assert_string_equal(done.code, "INVALID_STATE");
    thread_log_free(log);
    tn_value record = NULL;
    assert_int_equal(store_query_wait(host_store(host, NULL), store_get(STORE_THREADS, "t"), &record, NULL), TN_OK);
    int64_t head = -1;
    assert_true(value_as_int(value_get(value_get(record, "value"), "head"), &head) && head == 2);
    value_unref(record);
    value_unref(other);
    value_unref(next);
    value_unref(loaded);
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reads), cmocka_unit_test(test_extends),
                                       cmocka_unit_test(test_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
