/*
 * thread_batch_test.c - the record of a batch in the memory store: which requests are refused, and that nothing is
 * written then; damaged records; a batch that another process has taken over.
 */
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_batch.h"
#include "tests/unit/thread_fixture.h"

#define TEST(function) cmocka_unit_test(function)

static struct thread_batch *open_batch(struct host *host, struct thread_batch_request request, const char *code) {
    struct thread_batch *batch = NULL;
    struct error error = ERROR_INIT;
    if (!request.name) request.name = "q";
    if (!request.digest) request.digest = "d1";
    if (!request.lines) request.lines = 3;
    int32_t status = thread_batch_open_wait(host_store(host, NULL), &request, &batch, &error);
    if (code ? status == TN_OK || strcmp(error.code, code) != 0 : status != TN_OK)
        fail_msg("expected %s, found %s: %s", code ? code : "success", error.code ? error.code : "success",
                 error.message ? error.message : "");
    assert_true((batch != NULL) == (status == TN_OK));
    error_finish(&error);
    return batch;
}

static void close_batch(struct thread_batch *batch, bool done, const char *code) {
    struct error error = ERROR_INIT;
    int32_t status = thread_batch_close_wait(batch, done, &error);
    assert_string_equal(error.code ? error.code : "", code ? code : "");
    assert_true((status == TN_OK) == (code == NULL));
    error_finish(&error);
}

/* The record, a new reference; null without one. */
static tn_value record_of(struct host *host, const char *key) {
    tn_value found = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(store_query_wait(host_store(host, NULL), store_get(STORE_BATCHES, key), &found, &error), TN_OK);
    tn_value value = value_get(found, "value"), record = value ? value_ref(value) : value_null();
    value_unref(found);
    return record;
}

static void put_record(struct host *host, const char *key, const char *text) {
    struct done done = {false, 0, ""};
    store_commit_take(host_store(host, NULL), value_push_take(value_array(), store_put(STORE_BATCHES, key, json(text))),
                      on_done, &done);
    loop_run(host_loop(host), is_done, &done);
    assert_int_equal(done.status, TN_OK);
}

static void a_batch_is_started_and_resumed(void **state) {
    (void)state;
    struct host *host = open_host();
    char id[64];
    open_batch(host, (struct thread_batch_request){.mode = THREAD_BATCH_RESUME}, "NOT_FOUND");
    struct thread_batch *batch = open_batch(host, (struct thread_batch_request){.lines = 3}, NULL);
    snprintf(id, sizeof id, "%s", thread_batch_id(batch));
    close_batch(batch, false, NULL);
    /* Not done: it is not started by mistake, nor resumed with other lines. */
    tn_value before = record_of(host, "q");
    open_batch(host, (struct thread_batch_request){.lines = 3}, "UNFINISHED");
    open_batch(host, (struct thread_batch_request){.mode = THREAD_BATCH_RESUME, .digest = "d2"}, "BATCH_CHANGED");
    tn_value after = record_of(host, "q");
    assert_true(value_equal(before, after));
    value_unref(before);
    value_unref(after);
    batch = open_batch(host, (struct thread_batch_request){.mode = THREAD_BATCH_RESUME}, NULL);
    assert_string_equal(thread_batch_id(batch), id);
    assert_false(thread_batch_was_done(batch));
    close_batch(batch, true, NULL);
    /* Done: resuming it is allowed, and it stays done. With other lines, something is left. */
    batch = open_batch(host, (struct thread_batch_request){.mode = THREAD_BATCH_RESUME}, NULL);
    assert_true(thread_batch_was_done(batch));
    close_batch(batch, false, NULL);
    batch = open_batch(
        host,
        (struct thread_batch_request){.mode = THREAD_BATCH_RESUME, .digest = "d2", .lines = 4, .accept_changes = true},
        NULL);
    assert_false(thread_batch_was_done(batch));
    close_batch(batch, true, NULL);
    /* A new start has another id, and knows whether it replaces. */
    batch = open_batch(host, (struct thread_batch_request){.mode = THREAD_BATCH_REPLACE}, NULL);
    assert_string_not_equal(thread_batch_id(batch), id);
    assert_true(thread_batch_replaces(batch));
    close_batch(batch, false, NULL);
    batch = open_batch(host, (struct thread_batch_request){.mode = THREAD_BATCH_RESUME}, NULL);
    assert_true(thread_batch_replaces(batch));
    close_batch(batch, true, NULL);
    batch = open_batch(host, (struct thread_batch_request){.lines = 3}, NULL);
    assert_false(thread_batch_replaces(batch));
    close_batch(batch, true, NULL);
    host_free(host);
}

static void names_are_checked(void **state) {
    (void)state;
    struct host *host = open_host();
    char longer[THREAD_BATCH_NAME_MAX + 2];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    open_batch(host, (struct thread_batch_request){.name = ""}, "INVALID_INPUT");
    open_batch(host, (struct thread_batch_request){.name = longer}, "INVALID_INPUT");
    open_batch(host, (struct thread_batch_request){.name = "\xff"}, "INVALID_INPUT");
    memset(longer, '/', sizeof longer - 1); /* escaped, it is longer than a key */
    longer[500] = '\0';
    open_batch(host, (struct thread_batch_request){.name = longer}, "INVALID_INPUT");
    close_batch(open_batch(host, (struct thread_batch_request){.name = "a/${{ input.b }}%"}, NULL), true, NULL);
    host_free(host);
}

/* Records that no batch has written. */
static void damaged_records_are_refused(void **state) {
    static const char *const records[] = {
        "[]",
        "{}",
        "null",
        "\"running\"",
        "{\"status\": \"running\"}",
        "{\"status\": 1, \"id\": \"a\"}",
        "{\"status\": \"done\", \"id\": [\"a\"]}",
        "{\"status\": \"other\", \"id\": \"a\"}",
        "{\"status\": \"running\", \"id\": \"0123456789012345678901234567890123456\"}"};
    (void)state;
    struct host *host = open_host();
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        put_record(host, "q", records[i]);
        open_batch(host, (struct thread_batch_request){.lines = 3}, "STORE_CORRUPT");
        open_batch(host, (struct thread_batch_request){.mode = THREAD_BATCH_RESUME}, "STORE_CORRUPT");
        close_batch(open_batch(host, (struct thread_batch_request){.mode = THREAD_BATCH_REPLACE}, NULL), true, NULL);
    }
    put_record(host, "q", "{\"status\": \"running\", \"id\": \"a\", \"fence\": \"x\", \"digest\": 1, \"lines\": {}}");
    open_batch(host, (struct thread_batch_request){.mode = THREAD_BATCH_RESUME}, "BATCH_CHANGED");
    host_free(host);
}

static void a_batch_that_was_taken_over_is_not_closed(void **state) {
    (void)state;
    struct host *host = open_host();
    struct thread_batch *first = open_batch(host, (struct thread_batch_request){.lines = 3}, NULL);
    struct thread_batch *second =
        open_batch(host, (struct thread_batch_request){.mode = THREAD_BATCH_RESUME, .force = true}, NULL);
    close_batch(first, true, "FENCED");
    tn_value record = record_of(host, "q");
    assert_true(value_text_is(value_get(record, "status"), "running"));
    value_unref(record);
    close_batch(second, true, NULL);
    close_batch(NULL, true, NULL);
    host_free(host);
}

static void answers_need_a_thread_that_waits(void **state) {
    (void)state;
    struct host *host = open_host();
    struct error error = ERROR_INIT;
    struct done done = {false, 0, ""};
    tn_value batch = value_array();
    batch = value_push_take(batch, store_put(STORE_THREADS, "a", json("{\"interrupts\": [{\"id\": \"1\"}, {}, 7]}")));
    batch = value_push_take(batch, store_put(STORE_THREADS, "b", json("{\"interrupts\": \"2\"}")));
    store_commit_take(host_store(host, NULL), batch, on_done, &done);
    loop_run(host_loop(host), is_done, &done);
    tn_value ids = json("[\"a\", \"b\", \"absent\"]"), known = json("{\"1\": true}"),
             unknown = json("{\"1\": 1, \"2\": 2}");
    assert_int_equal(thread_batch_check_answers_wait(host_store(host, NULL), ids, known, &error), TN_OK);
    assert_int_not_equal(thread_batch_check_answers_wait(host_store(host, NULL), ids, unknown, &error), TN_OK);
    assert_string_equal(error.code, "INVALID_INPUT");
    assert_non_null(strstr(error.message, "`2`"));
    error_finish(&error);
    value_unref(ids);
    value_unref(known);
    value_unref(unknown);
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_batch_is_started_and_resumed), TEST(names_are_checked), TEST(damaged_records_are_refused),
        TEST(a_batch_that_was_taken_over_is_not_closed), TEST(answers_need_a_thread_that_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
