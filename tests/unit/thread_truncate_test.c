/*
 * thread_truncate_test.c - thread/truncate: a thread is as it was after a checkpoint, and continues from there; only
 * its state is left, and it continues; what it asks stays.
 */
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "tests/unit/owner_fixture.h"

static struct users users;

static void begin(const char *store) {
    users_open(&users, store);
    users_write("use", COUNTS);
    users_write("asks", ASKS);
}

static tn_value ask(const char *method, const char *params) { return call_as(&users, users.a, method, params); }

static void is_state(const char *params, const char *expected) {
    tn_value result = ask("thread/state", params), wanted = served_json(expected);
    char *text = shown(result);
    if (!value_equal(value_get(result, "state"), wanted)) fail_msg("%s: found %s, expected %s", params, text, expected);
    mem_free(text);
    value_unref(wanted);
    value_unref(result);
}

static size_t checkpoints_of(const char *thread) {
    char params[64];
    snprintf(params, sizeof params, "{\"thread_id\":\"%s\"}", thread);
    tn_value result = ask("thread/history", params);
    size_t count = value_count(value_get(result, "checkpoints"));
    value_unref(result);
    return count;
}

static void is_status(const char *thread, const char *status) {
    char params[64];
    snprintf(params, sizeof params, "{\"thread_id\":\"%s\"}", thread);
    tn_value record = ask("thread/get", params);
    is_text(record, "status", status);
    value_unref(record);
}

/* Of the thread `t`. */
static int64_t version(void) {
    struct error error = ERROR_INIT;
    struct store *store = host_store(users.served.host, &error);
    tn_value found = NULL;
    assert_int_equal(store_query_wait(store, store_get(STORE_THREADS, "@a:t"), &found, &error), TN_OK);
    int64_t of = value_to_int(value_get(found, "version"));
    value_unref(found);
    return of;
}

static void changes_nothing(const char *params) {
    int64_t before = version();
    value_unref(ask("thread/truncate", params));
    assert_int_equal(version(), before);
}

static void count_to(const char *more) { value_unref(run_as(&users, users.a, "use", more)); }

static void resume(const char *document, const char *more) {
    char params[300], id[256];
    snprintf(params, sizeof params, "{\"document\":\"graph:%s\",%s}", document, more);
    text_as(&users, users.a, "run/resume", params, "run_id", id);
    snprintf(params, sizeof params, "{\"run_id\":\"%s\"}", id);
    tn_value run = ask("run/wait", params);
    is_text(run, "status", "done");
    value_unref(run);
}

static void check(const char *store) {
    begin(store);
    count_to("{\"input\":{\"n\":5},\"config\":{\"thread_id\":\"t\"}}");
    is_state("{\"thread_id\":\"t\"}", "{\"i\":5,\"n\":5}");
    size_t whole = checkpoints_of("t");
    /* What followed a checkpoint is undone, and done again. */
    value_unref(ask("thread/truncate", "{\"thread_id\":\"t\",\"seq\":3}"));
    assert_int_equal(checkpoints_of("t"), 4);
    is_state("{\"thread_id\":\"t\"}", "{\"i\":3,\"n\":5}");
    is_state("{\"thread_id\":\"t\",\"seq\":1}", "{\"i\":1,\"n\":5}");
    is_status("t", "stopped");
    resume("use", "\"config\":{\"thread_id\":\"t\"}");
    assert_int_equal(checkpoints_of("t"), whole);
    is_state("{\"thread_id\":\"t\"}", "{\"i\":5,\"n\":5}");
    changes_nothing("{\"thread_id\":\"t\"}");
    /* The whole second run is undone. */
    count_to("{\"input\":{\"n\":8},\"config\":{\"thread_id\":\"t\"}}");
    is_state("{\"thread_id\":\"t\"}", "{\"i\":8,\"n\":8}");
    char params[80];
    snprintf(params, sizeof params, "{\"thread_id\":\"t\",\"seq\":%zu}", whole - 1);
    value_unref(ask("thread/truncate", params));
    assert_int_equal(checkpoints_of("t"), whole);
    is_state("{\"thread_id\":\"t\"}", "{\"i\":5,\"n\":5}");
    is_status("t", "done");
    /* Only the state is left. */
    value_unref(ask("thread/truncate", "{\"thread_id\":\"t\",\"history\":false}"));
    assert_int_equal(checkpoints_of("t"), 1);
    is_state("{\"thread_id\":\"t\"}", "{\"i\":5,\"n\":5}");
    is_status("t", "done");
    changes_nothing("{\"thread_id\":\"t\",\"history\":false}");
    changes_nothing("{\"thread_id\":\"t\",\"seq\":0}");
    count_to("{\"input\":{\"n\":7},\"config\":{\"thread_id\":\"t\"}}");
    is_state("{\"thread_id\":\"t\"}", "{\"i\":7,\"n\":7}");
    snprintf(params, sizeof params, "{\"thread_id\":\"t\",\"seq\":%zu}", checkpoints_of("t"));
    fails_as(&users, users.a, "thread/truncate", params, "NOT_FOUND");
    users_close(&users);
}

static void test_truncate(void **state) {
    (void)state;
    check("memory");
#ifdef TENON_HAS_SQLITE
    check("sqlite");
#endif
}

/* The unfinished super-step stays with the newest checkpoint. */
static void test_a_thread_that_asks(void **state) {
    (void)state;
    begin("memory");
    for (int i = 0; i < 2; i++) {
        value_unref(run_as(&users, users.a, "asks", "{\"config\":{\"thread_id\":\"q\",\"replace\":true}}"));
        is_status("q", "interrupted");
        value_unref(ask("thread/truncate", i ? "{\"thread_id\":\"q\",\"history\":false}" : "{\"thread_id\":\"q\"}"));
        is_status("q", "interrupted");
        tn_value record = ask("thread/get", "{\"thread_id\":\"q\"}"),
                 asked = value_at(value_get(record, "interrupts"), 0);
        char more[200];
        snprintf(more, sizeof more, "\"config\":{\"thread_id\":\"q\"},\"answers\":{\"%s\":true}",
                 value_chars(value_get(asked, "id"), NULL));
        value_unref(record);
        resume("asks", more);
        is_state("{\"thread_id\":\"q\"}", "{\"greeting\":\"Hello, world!\",\"name\":\"world\"}");
    }
    users_close(&users);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_truncate), cmocka_unit_test(test_a_thread_that_asks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
