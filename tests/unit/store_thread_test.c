/*
 * store_thread_test.c - one file, opened several times in one process, each by a separate OS thread.
 *
 * No increment is lost, no record is taken twice, and a reader sees a batch completely or not at all.
 */
#include "tests/unit/store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, TURNS = 100, TASKS = THREADS * TURNS };

static const char *store_name;
static _Atomic int taken[TASKS];
static _Atomic int failures, still_writing;

struct made {
    tn_value increment_get, take;
};
static struct made made; /* values are shared by all threads */

static void count_failure(const char *what, tn_value error) {
    tn_value message = value_get(error, "message");
    (void)fprintf(stderr, "%s: %s: %s\n", store_name, what, message ? value_chars(message, NULL) : "");
    failures++;
}

static bool is_conflict(tn_value error) { return value_text_is(value_get(error, "code"), "CONFLICT"); }

/* Puts {n: v + 1} into both records, on condition that they are unchanged. */
static tn_value increment(int64_t version, int64_t number) {
    char text[320];
    tn_value batch = NULL;
    int length =
        snprintf(text, sizeof text,
                 "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"n\", \"value\": %lld, \"if\": {\"version\": "
                 "%lld}}, {\"op\": \"put\", \"collection\": \"c\", \"key\": \"o\", \"value\": %lld}]",
                 (long long)number + 1, (long long)version, (long long)number + 1);
    (void)json_read(text, (size_t)length, NULL, &batch, NULL);
    return batch;
}

static void increment_record(const struct opened *store) {
    for (bool done = false; !done && !failures;) {
        tn_value found = NULL, error = NULL, result = NULL;
        if (store->vtable->query(store->store, made.increment_get, &found, &error) != TN_OK)
            count_failure("get", error);
        bool there = value_is(found, TN_OBJECT);
        tn_value batch = increment(there ? value_to_int(value_get(found, "version")) : 0,
                                   there ? value_to_int(value_get(found, "value")) : 0);
        done = store->vtable->commit(store->store, batch, &result, &error) == TN_OK;
        if (!done && !is_conflict(error)) count_failure("put", error);
        value_unref(found);
        value_unref(batch);
        value_unref(result);
        value_unref(error);
    }
}

static void take_record(const struct opened *store) {
    tn_value result = NULL, error = NULL;
    if (store->vtable->commit(store->store, made.take, &result, &error) != TN_OK) count_failure("take", error);
    tn_value key = value_get(value_at(result, 0), "key");
    if (value_is(key, TN_STRING)) taken[atoi(value_chars(key, NULL))]++;
    value_unref(result);
    value_unref(error);
}

static struct opened thread_open(void) {
    struct plugin *plugin =
        registry_plugin(fixture_host.registry, strcmp(store_name, "memory") == 0 ? "tenon.memory" : "tenon.sqlite");
    struct opened opened = {plugin_interface(plugin, TN_STORE_DRAFT), NULL};
    char path[128];
    snprintf(path, sizeof path, "%s/store", fixture_folder);
    tn_value options = value_set_take(value_object(), "path", value_text(path)), error = NULL;
    if (strcmp(store_name, "sqlite") == 0) {
        options = value_set_take(options, "busy_ms", value_int(60000));
        options = value_set_take(options, "sync", value_text("off"));
    }
    if (opened.vtable->open(plugin_self(plugin), options, &opened.store, &error) != TN_OK) count_failure("open", error);
    value_unref(options);
    value_unref(error);
    return opened;
}

static void *writes(void *unused) {
    struct opened store = thread_open();
    for (int turn = 0; turn < TURNS && !failures; turn++) {
        increment_record(&store);
        take_record(&store);
    }
    store.vtable->close(store.store);
    still_writing--;
    return unused;
}

/* Both records always have the same number. */
static void *reads(void *unused) {
    struct opened store = thread_open();
    tn_value query = NULL;
    static const char list[] = "{\"list\": {\"collection\": \"c\"}}";
    (void)json_read(list, sizeof list - 1, NULL, &query, NULL);
    while (still_writing && !failures) {
        tn_value result = NULL, error = NULL;
        if (store.vtable->query(store.store, query, &result, &error) != TN_OK) count_failure("list", error);
        tn_value records = value_get(result, "records");
        if (value_count(records) == 2 &&
            !value_equal(value_get(value_at(records, 0), "value"), value_get(value_at(records, 1), "value")))
            count_failure("half of a batch was seen", NULL);
        value_unref(result);
        value_unref(error);
    }
    value_unref(query);
    store.vtable->close(store.store);
    return unused;
}

static void run_threads(const char *name) {
    pthread_t threads[THREADS + 1];
    store_name = name;
    fixture_begin(name);
    struct opened store = thread_open();
    for (int i = 0; i < TASKS; i++) {
        char batch[160];
        taken[i] = 0;
        snprintf(batch, sizeof batch,
                 "[{\"op\": \"put\", \"collection\": \"t\", \"key\": \"%04d\", \"value\": {\"state\": \"ready\"}}]", i);
        fixture_do(&store, batch);
    }
    made.increment_get = fixture_json("{\"get\": {\"collection\": \"c\", \"key\": \"n\"}}");
    made.take = fixture_json("[{\"op\": \"take\", \"collection\": \"t\", \"where\": {\"state\": \"ready\"}, \"patch\": "
                             "{\"state\": \"taken\"}}]");
    still_writing = THREADS;
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, writes, NULL), 0);
    assert_int_equal(pthread_create(&threads[THREADS], NULL, reads, NULL), 0);
    for (int i = 0; i <= THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(failures, 0);
    for (int i = 0; i < TASKS; i++) assert_int_equal(taken[i], 1);
    tn_value found = fixture_query_value(&store, made.increment_get);
    assert_int_equal(value_to_int(value_get(found, "value")), THREADS * TURNS);
    value_unref(found);
    value_unref(made.increment_get);
    value_unref(made.take);
    fixture_close(&store);
    fixture_end();
}

static void threads(void **state) {
    (void)state;
    for (size_t i = 0; i < FIXTURE_STORES; i++) run_threads(fixture_stores[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
