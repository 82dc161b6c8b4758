/*
 * a2a_push_test.c - push notifications of plugins/a2a_server: to which addresses, how many wait, what is given up, what
 * is saved; and how many tasks a user may have.
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
        if (serving_url_is_allowed(rows[i].url, allow) != rows[i].is) fail_msg("%s %s", rows[i].allowed, rows[i].url);
        tn_release(allow);
    }
    assert_true(serving_origin_is_valid("https://*.example.com:8443"));
    assert_false(serving_origin_is_valid("http://*.localhost"));
    assert_false(serving_origin_is_valid("https://"));
    assert_false(serving_origin_is_valid("https://example.com/"));
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

static tn_value config_of(const char *id, const char *url, const char *token, const char *credentials) {
    tn_value config = tn_build("{s:s, s:s}", "id", id, "url", url);
    if (token != NULL) config = tn_set_take(config, "token", tn_text(token));
    tn_value scheme = tn_build("{s:s}", "scheme", "Bearer");
    if (credentials != NULL) scheme = tn_set_take(scheme, "credentials", tn_text(credentials));
    return tn_set_take(config, "authentication", scheme);
}

/* No secret is in what every key of the user can read. */
static void test_saved(void **state) {
    struct a2a a2a = {.serving = {.server = &server}, .http = &http};
    struct task *task = task_new(&a2a, 1, "ada", "t", "c", "g");
    static const char *const rows[][3] = {
        {"token", "secret", NULL}, {"open", NULL, NULL}, {"credentials", NULL, "secret"}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        tn_value config = config_of(rows[i][0], "https://example.com/", rows[i][1], rows[i][2]);
        assert_true(push_add(task, config, false));
        tn_release(config);
    }
    tn_value saved = push_saved(task), json = tn_to_json(saved);
    assert_int_equal(tn.value->count(saved), 1);
    assert_non_null(strstr(tn_chars(json, NULL), "\"open\""));
    assert_null(strstr(tn_chars(json, NULL), "secret"));
    tn_release(json);
    tn_release(saved);
    push_remove(push_find(task, "open"));
    assert_null(push_saved(task));
    tasks_free(&a2a);
}

/* The memory can be the user's own: it is checked like what a client sends. */
static void test_restored(void **state) {
    struct a2a a2a = {.serving = {.server = &server}, .http = &http};
    struct task *task = task_new(&a2a, 1, "ada", "t", "c", "g");
    tn_value saved = NULL;
    (void)state;
    a2a.push_allow = tn_build("[s]", "https://example.com");
    const tn_value configs[] = {
        config_of("address", "https://evil.example.org/", NULL, NULL),
        config_of("nul", "https://example.com/", NULL, "x"),
        config_of("token", "https://example.com/", "a\r\nHost: b", NULL),
        config_of("credentials", "https://example.com/", NULL, "a\nb"),
        tn_build("{s:i, s:s}", "id", 7, "url", "https://example.com/"),
        tn_build("{s:s, s:s, s:{s:s}}", "id", "scheme", "url", "https://example.com/", "authentication", "scheme",
                 "a b"),
        tn_build("[]"),
        config_of("good", "https://example.com/", NULL, NULL),
    };
    size_t count = sizeof configs / sizeof *configs;
    tn_value url = tn_text_n("https://example.com\0/", 21);
    for (size_t i = 0; i < count; i++) {
        tn_value config = i == 1 ? tn_set_take(configs[i], "url", url) : configs[i];
        (void)tn_append_take(&saved, tn_build("{s:V, s:b}", "config", config, "old", 0));
    }
    (void)tn_append_take(&saved, tn_text("x"));
    push_restore(task, saved);
    push_restore(task, tn.value->at(saved, 0));
    push_restore(task, NULL);
    assert_non_null(push_find(task, "good"));
    assert_null(task->pushes->next);
    tn_release(saved);
    tasks_free(&a2a);
    tn_release(a2a.push_allow);
}

static struct task *new_task(struct a2a *a2a, const char *owner, const char *id, const char *text_state) {
    struct task *task = task_new(a2a, 1, owner, id, "c", "g");
    if (task != NULL) task_set_state(task, text_state);
    return task;
}

/* One user cannot have all tasks. One that waits gives way, unless something would be lost with it. */
static void test_shares(void **state) {
    struct a2a a2a = {.serving = {.server = &server}, .http = &http};
    char id[16];
    (void)state;
    for (uint32_t i = 0; i < TASKS_OWNER_MAX; i++) {
        (void)snprintf(id, sizeof id, "t%u", (unsigned)i);
        assert_non_null(new_task(&a2a, "ada", id, TASK_WORKING));
    }
    assert_null(new_task(&a2a, "ada", "more", TASK_WORKING));
    assert_non_null(new_task(&a2a, "bob", "t0", TASK_INPUT_REQUIRED));
    assert_null(new_task(&a2a, "ada", "more", TASK_WORKING)); /* bob's task is not hers */
    struct task *followed = task_find(&a2a, "ada", "t3"), *notified = task_find(&a2a, "ada", "t4");
    struct exchange exchange = {.a2a = &a2a};
    assert_true(task_follow(followed, &exchange, &(struct follower){.streams = true}));
    add_push(notified, "a", false);
    followed->state = notified->state = TASK_INPUT_REQUIRED;
    assert_null(new_task(&a2a, "ada", "more", TASK_WORKING));
    task_set_state(task_find(&a2a, "ada", "t5"), TASK_INPUT_REQUIRED);
    task_set_state(task_find(&a2a, "ada", "t6"), TASK_INPUT_REQUIRED);
    assert_non_null(new_task(&a2a, "ada", "more", TASK_WORKING));
    assert_null(task_find(&a2a, "ada", "t5")); /* the oldest */
    assert_non_null(task_find(&a2a, "ada", "t6"));
    assert_non_null(task_find(&a2a, "ada", "t3"));
    assert_non_null(task_find(&a2a, "ada", "t4"));
    assert_non_null(task_find(&a2a, "bob", "t0"));
    tasks_free(&a2a);
    tn_release(sent);
    sent = NULL;
}

/* The bytes of a user's tasks: those at their end are forgotten, and what is left leaves no room for more. */
static void test_bytes(void **state) {
    struct a2a a2a = {.serving = {.server = &server}, .http = &http};
    const uint64_t size = TASKS_OWNER_BYTES / 8;
    char *text = calloc(1, size + 1), id[16];
    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    tn_value message = tn_build("{s:s}", "text", text);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(id, sizeof id, "t%d", i);
        struct task *task = task_new(&a2a, 1, "ada", id, "c", "g");
        assert_non_null(task);
        if (i < 12) assert_true(tasks_make_room(&a2a, "ada", task, size));
        if (i >= 17) assert_false(tasks_make_room(&a2a, "ada", task, size));
        if (i < 17) task_add_message(task, message);
        task_set_state(task, i < 10 ? TASK_COMPLETED : TASK_WORKING);
        if (i < 8) assert_true(a2a.bytes > (uint64_t)i * size);
        if (i < 17) assert_true(a2a.bytes <= TASKS_OWNER_BYTES + size);
    }
    assert_null(task_find(&a2a, "ada", "t9"));
    struct task *task = task_new(&a2a, 1, "bob", "t", "c", "g");
    assert_true(tasks_make_room(&a2a, "bob", task, TASKS_OWNER_BYTES / 2));
    assert_false(tasks_make_room(&a2a, "bob", task, TASKS_OWNER_BYTES + 1));
    tn_release(message);
    free(text);
    tasks_free(&a2a);
    assert_int_equal(a2a.bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_notifications), cmocka_unit_test(test_fairness),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_saved),         cmocka_unit_test(test_restored),
        cmocka_unit_test(test_shares),    cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, util_setup, NULL);
}
