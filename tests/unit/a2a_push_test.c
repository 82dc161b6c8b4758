/*
 * a2a_push_test.c - push notifications of plugins/a2a_server: to which addresses, how many wait, what is given up.
 */
#include "tests/unit/a2a_server_fakes.h"

/* ---- What a2a_server.c does in the plugin: the tasks have no reader ---- */

void exchange_event(struct follower *follower, tn_value event) { (void)follower, (void)event; }

void exchange_reply(struct exchange *exchange, enum a2a_result kind, tn_value value) {
    (void)exchange, (void)kind, (void)value;
}

void exchange_fail(struct exchange *exchange, enum a2a_kind kind, const char *message) {
    (void)exchange, (void)kind, (void)message;
}

void exchange_fail_of(struct exchange *exchange, tn_value error) { (void)exchange, (void)error; }

void exchange_abort(struct exchange *exchange) { (void)exchange; }

static const tn_server_draft server = {.size = sizeof(tn_server_draft), .request_as = fake_request_as};

static uint64_t open_requests(void) {
    uint64_t count = 0;
    for (size_t i = 0; i <= PUSH_OPEN_MAX; i++) count += requests[i].user != NULL;
    return count;
}

/* ---- Tests ---- */

static void test_addresses(void **state) {
    static const struct {
        const char *allowed, *url;
        bool is;
    } rows[] = {
        {"https://example.com", "https://example.com", true},
        {"https://example.com", "https://EXAMPLE.com/a?b=%20", true},
        {"https://example.com", "https://example.com:443/", true},
        {"https://example.com", "https://example.com?x", true},
        {"https://example.com", "https://example.com:8443/", false},
        {"https://example.com:*", "https://example.com:8443/", true},
        {"https://example.com:8443", "https://example.com:8443/", true},
        {"https://example.com", "http://example.com/", false},
        {"https://example.com", "https://example.com.evil.org/", false},
        {"https://example.com", "https://evil.org#@example.com/", false},
        {"https://example.com", "https://example.com@evil.org/", false},
        {"https://example.com", "https://evil.org\\@example.com/", false},
        {"https://example.com", "https://example.com\t.evil.org/", false},
        {"https://example.com", "https://a.example.com/", false},
        {"https://example.com", "https://example.com:/", false},
        {"https://example.com", "//example.com/", false},
        {"https://*.example.com", "https://a.b.example.com/", true},
        {"https://*.example.com", "https://example.com/", false},
        {"https://*.example.com", "https://.example.com/", false},
        {"https://*.example.com", "https://evilexample.com/", false},
        {"https://*.example.com", "https://*.example.com/", false},
        {"http://127.0.0.1:80", "http://127.0.0.1/", true},
        {"http://[::1]:*", "http://[::1]:9/", true},
        {"http://[::1]:*", "http://[::ffff:127.0.0.1]:9/", false},
        {"http://localhost", "http://127.0.0.1/", false},
        {"http://localhost:*", "http://localhost:65536/", false},
        {"http://localhost:*", "http://localhost:0/", false},
        {"http://10.0.0.1", "http://10.0.0.1/", false},
        {"https://*", "https://example.com/", false},
        {"https://example.com/hook", "https://example.com/hook", false},
        {"*", "https://example.com/", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_value allow = tn_build("[s, s]", "https://other.example.net", rows[i].allowed);
        if (push_url_is_allowed(rows[i].url, allow) != rows[i].is) fail_msg("%s %s", rows[i].allowed, rows[i].url);
        tn_release(allow);
    }
    assert_true(push_origin_is_valid("https://*.example.com:8443"));
    assert_false(push_origin_is_valid("http://*.localhost"));
    assert_false(push_origin_is_valid("https://"));
    assert_false(push_origin_is_valid("https://example.com/"));
}

/* The bounds of what waits; what is given up; nothing is sent after a configuration was deleted. */
static void test_notifications(void **state) {
    struct a2a a2a = {.serving = {.server = &server}, .http = &http};
    struct task *task = task_new(&a2a, 1, "ada", "t", "c", "g");
    int64_t before = blocks;
    (void)state;
    add_push(task, "a", false);
    add_push(task, "b", false);
    for (int i = 0; i < 100; i++) task_set_state(task, TASK_WORKING);
    task_set_state(task, TASK_COMPLETED);
    assert_int_equal(open_requests(), 2);
    assert_int_equal(tn.value->count(task->pushes->queue), PUSH_QUEUE_MAX);
    assert_true(a2a.push_queued > 0);
    push_remove(push_find(task, "b"));
    assert_int_equal(open_requests(), 1);
    while (answer(task->pushes, 204)) continue;
    const char *last = tn_get_text(tn.value->at(sent, tn.value->count(sent) - 1), "body", "");
    assert_non_null(strstr(last, "TASK_STATE_COMPLETED")); /* the newest ones are kept */
    assert_int_equal(tn.value->count(sent), 2 + PUSH_QUEUE_MAX);
    assert_false(push_is_busy(task));
    assert_int_equal(a2a.push_queued, 0);
    uint64_t called = methods;
    for (uint32_t i = 0; i < PUSH_FAILURES; i++) {
        task_set_state(task, TASK_COMPLETED);
        assert_true(answer(task->pushes, i == 0 ? 302 : 500));
    }
    assert_null(task->pushes);
    assert_int_equal(methods, called + 1); /* the others are saved, that is, none */
    tn_release(sent);
    sent = NULL;
    assert_int_equal(blocks, before);
    tasks_free(&a2a);
}

/* One user cannot have all requests. */
static void test_fairness(void **state) {
    struct a2a a2a = {.serving = {.server = &server}, .http = &http};
    static const char *const owners[] = {"ada", "bob"};
    (void)state;
    for (int i = 0; i < 40; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "t%d", i);
        struct task *task = task_new(&a2a, 1, owners[i / 20], id, "c", "g");
        add_push(task, "a", false);
        task_set_state(task, TASK_WORKING);
        assert_int_equal(open_requests(),
                         (i < 20 ? 0 : PUSH_OWNER_MAX) +
                             ((uint32_t)(i % 20) < PUSH_OWNER_MAX ? (uint32_t)(i % 20) + 1 : PUSH_OWNER_MAX));
    }
    while (open_requests() > 0)
        for (struct task *task = a2a.tasks; task != NULL; task = task->next) (void)answer(task->pushes, 200);
    assert_int_equal(tn.value->count(sent), 40);
    tn_release(sent);
    sent = NULL;
    tasks_free(&a2a);
    assert_int_equal(open_requests(), 0);
}

/* What one user's addresses do not take does not cost another user a notification. */
static void test_memory(void **state) {
    struct a2a a2a = {.serving = {.server = &server}, .http = &http};
    static const char *const owners[] = {"ada", "bob"};
    tn_value event = NULL;
    char *text = calloc(1, PUSH_BODY_MAX + 1);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', PUSH_BODY_MAX - 100);
    event = tn_build("{s:s}", "artifactUpdate", text);
    for (int i = 0; i < 4; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "t%d", i);
        struct task *task = task_new(&a2a, 1, owners[i == 3], id, "c", "g");
        add_push(task, "a", false);
        for (int k = 0; k < 40; k++) task_notify(task, event);
        if (i == 0) assert_true(task->pushes->queued > PUSH_QUEUED_MAX / 8);
        if (i == 3) assert_true(tn.value->count(task->pushes->queue) >= 8); /* an eighth is 8 MiB */
        assert_true(a2a.push_queued <= PUSH_QUEUED_MAX);
    }
    free(text);
    tn_release(event);
    tn_release(sent);
    sent = NULL;
    tasks_free(&a2a);
    assert_int_equal(a2a.push_queued, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_notifications),
        cmocka_unit_test(test_fairness),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
