/*
 * store_group_test.c - the SQLite store: groups of batches, records and indexes that another connection changes, and
 * the thread that writes the log into the file.
 *
 * Two stores that are open at the same file stand for two processes.
 */
#include "tests/unit/store_fixture.h"
#include <sys/stat.h>

/* ---- Groups ---- */

static bool group(const struct opened *store, int32_t open) {
    tn_value error = NULL;
    int32_t status = store->vtable->group(store->store, open, &error);
    assert_int_equal(status == TN_OK, error == NULL);
    if (status != TN_OK) fixture_set_error(error);
    return status == TN_OK;
}

static int64_t count(const struct opened *store) {
    return fixture_number(store, "{\"count\": {\"collection\": \"c\"}}");
}

#define PUT(key)     "{\"op\": \"put\", \"collection\": \"c\", \"key\": \"" key "\", \"value\": 1}"
#define REFUSED(key) "{\"op\": \"expect\", \"collection\": \"c\", \"key\": \"" key "\", \"if\": {\"version\": 9}}"

static void a_group_becomes_visible_as_a_whole(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{}"), other = fixture_open("sqlite", "{}");
    assert_true(group(&store, 1));
    fixture_do(&store, "[" PUT("a") "]");
    fixture_do(&store, "[" PUT("b") ", " PUT("c") "]");
    assert_int_equal(count(&store), 3);
    assert_int_equal(count(&other), 0);
    assert_true(group(&store, 0));
    assert_int_equal(count(&other), 3);
    assert_true(group(&store, 1)); /* an empty group */
    assert_true(group(&store, 0));
    fixture_close(&store);
    fixture_close(&other);
    fixture_end();
}

/* It is refused before it writes: the others stay. */
static void a_refused_batch_leaves_the_group(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{}");
    assert_true(group(&store, 1));
    fixture_do(&store, "[" PUT("a") "]");
    fixture_is_error(fixture_commit(&store, "[" REFUSED("a") ", " PUT("b") "]"), "CONFLICT", NULL);
    fixture_do(&store, "[" PUT("c") "]");
    assert_true(group(&store, 0));
    assert_int_equal(count(&store), 2);
    fixture_close(&store);
    fixture_end();
}

/* A batch that is refused after it has written undoes the group. The next groups undo only the batch. */
static void a_batch_that_was_half_written_is_undone(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{}");
    fixture_do(&store, "[" PUT("first") "]");
    for (int round = 0; round < 2; round++) {
        assert_true(group(&store, 1));
        fixture_do(&store, "[" PUT("a") ", {\"op\": \"merge\", \"collection\": \"c\", \"key\": \"first\","
                                        " \"patch\": {\"n\": 1}}]");
        fixture_is_error(fixture_commit(&store,
                                        "[{\"op\": \"put\", \"collection\": \"new\", \"key\": \"\", \"value\": 1},"
                                        " {\"op\": \"merge\", \"collection\": \"c\", \"key\": \"first\","
                                        " \"patch\": {\"n\": 2}}, " PUT("b") ", " REFUSED("a") "]"),
                         "CONFLICT", NULL);
        if (round == 0) fixture_is_error(fixture_commit(&store, "[" PUT("c") "]"), "CONFLICT", "another batch");
        if (round == 1) fixture_do(&store, "[" PUT("c") "]");
        assert_int_equal(group(&store, 0), round == 1);
        assert_int_equal(count(&store), round == 0 ? 1 : 3);
    }
    tn_value found = fixture_query(&store, "{\"get\": {\"collection\": \"c\", \"key\": \"first\"}}");
    assert_int_equal(value_to_int(value_get(found, "version")), 2);
    assert_int_equal(value_to_int(value_get(value_get(found, "value"), "n")), 1);
    value_unref(found);
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"new\"}}"), 0);
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"new\", \"key\": \"\", \"value\": 1}]");
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"new\"}}"), 1);
    fixture_close(&store);
    fixture_end();
}

static void groups_that_are_not_ended_or_not_open(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{}");
    assert_false(group(&store, 0));
    fixture_is_error(NULL, "INVALID", "no group is open");
    assert_true(group(&store, 1));
    assert_false(group(&store, 1));
    fixture_is_error(NULL, "INVALID", "open already");
    fixture_do(&store, "[" PUT("a") "]");
    fixture_close(&store); /* undoes it, as the end of the process does */
    store = fixture_open("sqlite", "{}");
    assert_int_equal(count(&store), 0);
    fixture_close(&store);
    fixture_end();
}

/* SQLite rolls back everything when the file is full; what was there before stays, and smaller batches fit. */
static void a_group_that_does_not_fit(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{\"max_bytes\": 300000}");
    fixture_do(&store, "[" PUT("a") "]");
    char *large = mem_alloc(200001), *batch = mem_alloc(200200);
    memset(large, 'x', 200000);
    large[200000] = 0;
    assert_true(group(&store, 1));
    fixture_do(&store, "[" PUT("b") "]");
    for (int i = 0; i < 2; i++) {
        snprintf(batch, 200200, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"large%d\", \"value\": \"%s\"}]",
                 i, large);
        tn_value result = fixture_commit(&store, batch);
        assert_int_equal(result != NULL, i == 0);
        value_unref(result);
    }
    fixture_is_error(NULL, "STORE_FULL", NULL);
    fixture_is_error(fixture_commit(&store, "[" PUT("c") "]"), "STORE_FULL", NULL);
    assert_false(group(&store, 0));
    fixture_is_error(NULL, "STORE_FULL", NULL);
    assert_int_equal(count(&store), 1);
    fixture_do(&store, "[" PUT("c") "]");
    assert_int_equal(count(&store), 2);
    mem_free(large);
    mem_free(batch);
    fixture_close(&store);
    fixture_end();
}

/* ---- What another connection changes ---- */

static void merge(const struct opened *store, const char *member, int64_t version) {
    char batch[128];
    snprintf(batch, sizeof batch,
             "[{\"op\": \"merge\", \"collection\": \"c\", \"key\": \"r\", \"patch\": {\"%s\": 1}}]", member);
    tn_value result = fixture_commit(store, batch);
    if (!result) fail_msg("%s", fixture_message());
    assert_int_equal(value_to_int(value_get(value_at(result, 0), "version")), version);
    value_unref(result);
}

static void a_kept_record_follows_others(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{}"), other = fixture_open("sqlite", "{}");
    merge(&store, "a", 1);
    merge(&store, "b", 2);
    merge(&other, "c", 3);
    merge(&store, "d", 4);
    fixture_do(&other, "[{\"op\": \"delete\", \"collection\": \"c\", \"key\": \"r\"}]");
    merge(&store, "e", 1);
    merge(&store, "f", 2);
    /* A refused batch must not leave its changes in memory. */
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"merge\", \"collection\": \"c\", \"key\": \"r\", \"patch\":"
                                            " {\"wrong\": 1}}, " REFUSED("r") "]"),
                     "CONFLICT", NULL);
    merge(&store, "g", 3);
    tn_value found = fixture_query(&other, "{\"get\": {\"collection\": \"c\", \"key\": \"r\"}}");
    tn_value expected = fixture_json("{\"e\": 1, \"f\": 1, \"g\": 1}");
    assert_true(value_equal(value_get(found, "value"), expected));
    value_unref(found);
    value_unref(expected);
    fixture_do(&store, "[{\"op\": \"delete_range\", \"collection\": \"c\"}]");
    merge(&store, "h", 1);
    merge(&store, "i", 2);
    fixture_do(&store,
               "[{\"op\": \"merge\", \"collection\": \"c\", \"key\": \"r\", \"patch\": {}, \"expires_at\": 1}]");
    merge(&store, "j", 1); /* it had expired */
    fixture_close(&store);
    fixture_close(&other);
    fixture_end();
}

/* A store that was opened before an index was created fills the index's columns, too. */
static void a_new_index_has_later_records(void **state) {
    static const char indexes[] = "{\"indexes\": {\"c\": [[\"n\"], [\"at:2\", \"n\"]]}}";
    (void)state;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{}");
    fixture_do(&store,
               "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"1\", \"value\": {\"n\": 5, \"at\": \"abc\"}}]");
    struct opened other = fixture_open("sqlite", indexes);
    fixture_do(&store,
               "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"2\", \"value\": {\"n\": 5, \"at\": \"abd\"}},"
               " {\"op\": \"put\", \"collection\": \"c\", \"key\": \"3\", \"value\": {\"n\": 5, \"at\": \"ab\"}}]");
    assert_int_equal(fixture_number(&other, "{\"count\": {\"collection\": \"c\", \"where\": {\"n\": 5}}}"), 3);
    fixture_do(&store, "[{\"op\": \"merge\", \"collection\": \"c\", \"key\": \"2\", \"patch\": {\"n\": 6}}]");
    for (int i = 0; i < 2; i++) {
        const struct opened *of = i ? &other : &store;
        assert_int_equal(fixture_number(of, "{\"count\": {\"collection\": \"c\", \"where\": {\"n\": 5}}}"), 2);
        assert_int_equal(
            fixture_number(of, "{\"count\": {\"collection\": \"c\", \"where\": {\"at\": {\"gt\": \"abc\"}}}}"), 1);
        tn_value list = fixture_query(of, "{\"list\": {\"collection\": \"c\", \"order\": [\"at\"], \"reverse\": true,"
                                          " \"after\": \"2\", \"keys_only\": true}}");
        tn_value expected = fixture_json("[{\"key\": \"1\", \"version\": 1}, {\"key\": \"3\", \"version\": 1}]");
        assert_true(value_equal(value_get(list, "records"), expected));
        value_unref(list);
        value_unref(expected);
    }
    fixture_close(&store);
    fixture_close(&other);
    fixture_end();
}

/* ---- The log ---- */

static long long file_size(const char *name) {
    char path[128];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", fixture_folder, name);
    return stat(path, &status) == 0 ? (long long)status.st_size : -1;
}

#define LOG_VALUE  65536
#define LOG_WRITES 600 /* 38 MiB */

static void put_large(const struct opened *store, int number, char fill) {
    static char text[LOG_VALUE + 1];
    memset(text, fill, LOG_VALUE);
    char key[16];
    snprintf(key, sizeof key, "%04d", number);
    tn_value put = value_set_take(value_object(), "op", value_text("put"));
    put = value_set_take(put, "collection", value_text("c"));
    put = value_set_take(put, "key", value_text(key));
    put = value_set_take(put, "value", value_text_n(text, LOG_VALUE));
    put = value_push_take(value_array(), put);
    value_unref(fixture_commit_value(store, put));
    value_unref(put);
}

/* The log of a store that writes without a pause stays short: much shorter than what is written. */
static void the_log_stays_short(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{\"sync\": \"off\"}");
    long long longest = 0;
    for (int i = 0; i < LOG_WRITES; i++) {
        put_large(&store, i % 50, (char)('a' + i % 26));
        if (file_size("store-wal") > longest) longest = file_size("store-wal");
    }
    assert_in_range(longest, 1000 * 4096, 24 << 20);
    assert_int_equal(count(&store), 50);
    value_unref(fixture_maintain(&store));
    assert_int_equal(file_size("store-wal"), 0);
    for (int i = 0; i < 20; i++) put_large(&store, i, 'z'); /* more than a pass starts for */
    fixture_close(&store);                                  /* perhaps during the pass */
    assert_int_equal(file_size("store-wal"), -1);
    store = fixture_open("sqlite", "{}");
    assert_int_equal(count(&store), 50);
    fixture_close(&store);
    fixture_end();
}

/* Each has a thread that writes the log of both into the file. */
static void two_stores_write_and_read(void **state) {
    (void)state;
    fixture_begin("sqlite");
    struct opened store = fixture_open("sqlite", "{\"sync\": \"off\"}"),
                  other = fixture_open("sqlite", "{\"sync\": \"off\"}");
    for (int i = 0; i < 200; i++) {
        put_large(&store, i % 20, 'a');
        put_large(&other, 100 + i % 20, 'b');
        assert_int_equal(count(i % 2 ? &store : &other), 2 * (i < 20 ? i + 1 : 20));
    }
    fixture_close(&store);
    assert_int_equal(count(&other), 40);
    fixture_close(&other);
    assert_int_equal(file_size("store-wal"), -1);
    fixture_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_becomes_visible_as_a_whole),
        cmocka_unit_test(a_refused_batch_leaves_the_group),
        cmocka_unit_test(a_batch_that_was_half_written_is_undone),
        cmocka_unit_test(groups_that_are_not_ended_or_not_open),
        cmocka_unit_test(a_group_that_does_not_fit),
        cmocka_unit_test(a_kept_record_follows_others),
        cmocka_unit_test(a_new_index_has_later_records),
        cmocka_unit_test(the_log_stays_short),
        cmocka_unit_test(two_stores_write_and_read),
    };
    return FIXTURE_STORES > 1 ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
