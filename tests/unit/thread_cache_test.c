/*
 * thread_cache_test.c - the cache of loaded threads: what it keeps is what the store would return; a change by others
 * makes it useless, not wrong; and it is bounded.
 */
#include "host/data/store/store.h"
#include "host/data/store/store_link.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_cache.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution_thread.h"
#include "tests/unit/engine_fixture.h"

static const char document[] =
    "version: \"1.0\"\n"
    "channels:\n"
    "  - {name: text, type: last_value, default: \"\"}\n"
    "  - {name: log, type: append}\n"
    "  - {name: seen, type: reduce, reducer: union, default: []}\n"
    "  - {name: messages, type: reduce, reducer: messages}\n"
    "  - {name: once, type: ephemeral}\n"
    "  - {name: n, type: last_value, default: 0}\n"
    "nodes:\n"
    "  - {id: a, type: set, config: {values: {log: state.text, seen: state.text, n: state.n + 1, once: state.n,\n"
    "      messages: \"[{'type': 'user', 'content': state.text}]\"}}}\n"
    "  - {id: b, type: set, config: {values: {log: '\"b\"'}}}\n"
    "edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: END}]\n";

static void note_turn_end(struct run *run, void *user) {
    (void)run;
    *(bool *)user = true;
}

static bool turn_is_over(void *user) { return *(const bool *)user; }

/* One run of the thread with this input; returns its result. */
static tn_value turn(struct host *host, struct graph *graph, const char *id, uint32_t number) {
    struct thread_request request = {.id = id};
    struct run_options options = RUN_OPTIONS_INIT;
    struct error error = ERROR_INIT;
    bool over = false;
    if (thread_prepare_wait(host_engine(host), graph, &request, &options, &error) != TN_OK)
        fail_msg("%s", error.message);
    options.ended = note_turn_end;
    options.user = &over;
    struct run *run = run_new(graph, &options);
    tn_value input = value_set_take(value_object(), "text", value_format("text %u", number % 40));
    assert_int_equal(thread_begin(run, &request, input, &over, &error), TN_OK);
    loop_run(host_loop(host), turn_is_over, &over);
    assert_int_equal(run_status(run), RUN_DONE);
    tn_value result = run_result(run);
    run_free(run);
    thread_log_free(options.log);
    value_unref(options.loaded);
    value_unref(input);
    return result;
}

static int32_t read_head(struct session *session, void *user, tn_value *result, struct error *error) {
    return thread_read(session, user, THREAD_HEAD, result, error);
}

static tn_value read_thread(struct host *host, const char *id) {
    tn_value loaded = NULL;
    struct error error = ERROR_INIT;
    if (store_perform_wait(host_store(host, NULL), read_head, (void *)(uintptr_t)id, &loaded, &error) != TN_OK)
        fail_msg("%s", error.message);
    return loaded;
}

/* Moves the entry out of the cache, compares it with the store, and puts it back. */
static bool compare_entry(struct host *host, const char *id) {
    struct thread_cache *cache = host_engine(host)->threads;
    struct thread_cached cached;
    if (!thread_cache_take(cache, id, &cached)) return false;
    tn_value loaded = read_thread(host, id);
    assert_true(value_equal(value_get(cached.loaded, "record"), value_get(loaded, "record")));
    assert_true(value_equal(value_get(cached.loaded, "version"), value_get(loaded, "version")));
    assert_true(value_equal(value_get(cached.loaded, "saved"), value_get(loaded, "saved")));
    assert_true(value_equal(value_get(cached.loaded, "nested"), value_get(loaded, "nested")));
    value_unref(loaded);
    thread_cache_put_take(cache, id, &cached);
    return true;
}

static void test_equals_store(void **state) {
    (void)state;
    struct host *host = host_for_tests(), *fresh = host_for_tests();
    struct graph *graph = graph_for_tests(host, "cached", document, NULL);
    for (uint32_t i = 0; i < 60; i++) {
        value_unref(turn(host, graph, "t", i));
        assert_true(compare_entry(host, "t") || i == 0);
    }
    /* The same turns, of which each reads the thread. */
    struct graph *same = graph_for_tests(fresh, "cached", document, NULL);
    for (uint32_t i = 0; i < 60; i++) {
        struct thread_cached cached;
        value_unref(turn(fresh, same, "t", i));
        if (thread_cache_take(host_engine(fresh)->threads, "t", &cached)) thread_cached_finish(&cached);
    }
    tn_value one = NULL, other = NULL;
    assert_int_equal(thread_state_wait(host_store(host, NULL), "t", THREAD_HEAD, &one, NULL), TN_OK);
    assert_int_equal(thread_state_wait(host_store(fresh, NULL), "t", THREAD_HEAD, &other, NULL), TN_OK);
    assert_int_equal(value_count(value_get(one, "seen")), 40);
    assert_int_equal(value_count(value_get(one, "messages")), 60);
    one = value_remove_take(one, value_text("messages")); /* their ids depend on the incarnation */
    other = value_remove_take(other, value_text("messages"));
    assert_true(value_identical(one, other));
    value_unref(one);
    value_unref(other);
    graph_unref(graph);
    graph_unref(same);
    host_free(host);
    host_free(fresh);
}

/* After items of a saved list could not be read, what is in memory may have nulls instead: the store is read again. */
static void test_unreadable(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    struct graph *graph = graph_for_tests(host, "cached", document, NULL);
    struct error error = ERROR_INIT;
    value_unref(turn(host, graph, "t", 0));
    struct thread_cached cached;
    assert_true(thread_cache_take(host_engine(host)->threads, "t", &cached));
    tn_value saved = value_ref(value_get(cached.loaded, "saved")), spoilt = value_ref(value_get(saved, "state"));
    spoilt = value_set_take(spoilt, "n", value_int(-1000));
    cached.loaded = value_set_take(cached.loaded, "saved", value_set_take(saved, "state", spoilt));
    thread_cache_put_take(host_engine(host)->threads, "t", &cached);
    error_set(&error, TN_ERROR, "STORE_ERROR", "the disk does not answer");
    store_link_fail(store_link(host_store(host, NULL)), "t", &error);
    error_finish(&error);
    tn_value result = turn(host, graph, "t", 1);
    assert_int_equal(value_to_int(value_get(result, "n")), 2);
    value_unref(result);
    graph_unref(graph);
    host_free(host);
}

/* Changes of the thread by others are seen: an update, another thread under the same name. */
static void test_changed_by_others(void **state) {
    (void)state;
    struct host *host = host_for_tests();
    struct graph *graph = graph_for_tests(host, "cached", document, NULL);
    for (uint32_t i = 0; i < 3; i++) value_unref(turn(host, graph, "t", i));
    struct thread_request request = {.id = "t", .mode = THREAD_UPDATE};
    struct error error = ERROR_INIT;
    tn_value channels = value_set_take(value_object(), "n", value_int(100));
    if (thread_update_wait(host_engine(host), graph, &request, channels, &error) != TN_OK)
        fail_msg("%s", error.message);
    value_unref(channels);
    tn_value result = turn(host, graph, "t", 4);
    assert_int_equal(value_to_int(value_get(result, "n")), 101);
    value_unref(result);
    assert_int_equal(thread_fork_wait(host_store(host, NULL), "t", 2, "copy", NULL), TN_OK);
    tn_value file = NULL;
    assert_int_equal(thread_export_wait(host_store(host, NULL), "copy", &file, NULL), TN_OK);
    assert_int_equal(thread_import_wait(host_store(host, NULL), "t", file, true, NULL), TN_OK);
    tn_value record = NULL;
    assert_int_equal(thread_show_wait(host_store(host, NULL), "t", &record, NULL), TN_OK);
    assert_true(value_text_is(value_get(record, "status"), "done") ||
                value_text_is(value_get(record, "status"), "stopped"));
    value_unref(record);
    value_unref(file);
    assert_int_equal(thread_delete_wait(host_store(host, NULL), "t", false, NULL), TN_OK);
    result = turn(host, graph, "t", 5);
    assert_int_equal(value_to_int(value_get(result, "n")), 1);
    value_unref(result);
    graph_unref(graph);
    host_free(host);
}

static int freed;
static void free_extra(void *extra) {
    assert_ptr_equal(extra, &freed);
    freed++;
}

static void put(struct thread_cache *cache, const char *id, int64_t weight) {
    thread_cache_put_take(cache, id,
                          &(const struct thread_cached){value_format("of %s", id), weight, &freed, free_extra});
}

static bool has(struct thread_cache *cache, const char *id) {
    struct thread_cached cached;
    if (!thread_cache_take(cache, id, &cached)) return false;
    thread_cache_put_take(cache, id, &cached);
    return true;
}

static void test_bounds(void **state) {
    (void)state;
    struct thread_cache *cache = thread_cache_new();
    assert_false(has(cache, "a"));
    put(cache, "a", THREAD_CACHE_BYTES_MAX / 2);
    put(cache, "b", THREAD_CACHE_BYTES_MAX / 2);
    assert_true(has(cache, "a")); /* it is the newest now */
    put(cache, "c", 10);
    assert_true(has(cache, "a") && has(cache, "c") && !has(cache, "b"));
    assert_int_equal(freed, 1);
    put(cache, "c", THREAD_CACHE_BYTES_MAX + 1); /* replaces it, and is too large */
    assert_true(has(cache, "a") && !has(cache, "c"));
    assert_int_equal(freed, 3);
    for (int i = 0; i < THREAD_CACHE_ENTRIES_MAX + 10; i++) {
        char id[24];
        snprintf(id, sizeof id, "t%d", i);
        put(cache, id, 1);
    }
    assert_true(!has(cache, "a") && !has(cache, "t9") && has(cache, "t10"));
    thread_cache_free(cache);
    assert_int_equal(freed, 4 + THREAD_CACHE_ENTRIES_MAX + 10);
    thread_cache_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equals_store), cmocka_unit_test(test_unreadable),
                                       cmocka_unit_test(test_changed_by_others), cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
