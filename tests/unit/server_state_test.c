/*
 * server_state_test.c - methods on Tasks, Artifacts and memories, and what all methods on the store have in common.
 * Every method is called with success, and the fixture validates its result.
 */
#include "tests/unit/server_state_fixture.h"

/* ---- Tasks ---- */

static void tasks_are_claimed_and_completed(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect(&served, "task/claim", "{\"claimer_id\":\"w\",\"ttl_seconds\":60}", "null");
    tn_value id = member_take(served_result(&served, "task/create",
                                            "{\"task_type\":\"t\",\"payload\":{\"n\":1},"
                                            "\"idempotency_key\":\"once\"}"),
                              "task_id");
    tn_value again = member_take(
        served_result(&served, "task/create", "{\"task_type\":\"t\",\"idempotency_key\":\"once\"}"), "task_id");
    assert_true(value_equal(id, again));
    value_unref(again);
    tn_value task = call_on(&served, "task/update", "task_id", id, "{\"patch\":{\"payload\":{\"to\":\"de\"}}}");
    is_text(value_get(task, "payload"), "to", "de");
    value_unref(task);
    fails_on(&served, "task/update", "task_id", id, "{\"patch\":{\"state\":\"done\"}}", "INVALID_TRANSITION");
    fails_on(&served, "task/complete", "task_id", id, "{\"claim_token\":\"x\"}", "INVALID_TRANSITION");
    tn_value token =
        member_take(served_result(&served, "task/claim",
                                  "{\"claimer_id\":\"w\",\"ttl_seconds\":60,\"filter\":{\"task_type\":[\"s\",\"t\"]}}"),
                    "claim_token");
    fails_on(&served, "task/renew", "task_id", id, "{\"claim_token\":\"x\",\"ttl_seconds\":60}", "CLAIM_LOST");
    tn_value params = with_text(served_json("{\"ttl_seconds\":0.5}"), "claim_token", token);
    task = served_result_take(&served, "task/renew", with_text(params, "task_id", id));
    is_text(task, "claimed_by", "w");
    value_unref(task);
    params = with_text(served_json("{\"error\":\"no words\"}"), "claim_token", token);
    task = served_result_take(&served, "task/fail", with_text(params, "task_id", id));
    is_text(task, "state", "failed");
    is_text(value_get(task, "error"), "message", "no words");
    value_unref(task);
    value_unref(token);
    call_for(&served, "task/update", "task_id", id, "{\"patch\":{\"state\":\"queued\"}}");
    token =
        member_take(served_result(&served, "task/claim", "{\"claimer_id\":\"w\",\"ttl_seconds\":60}"), "claim_token");
    params = with_text(served_json("{\"artifact_refs\":[\"a\"]}"), "claim_token", token);
    task = served_result_take(&served, "task/complete", with_text(params, "task_id", id));
    is_text(task, "state", "done");
    value_unref(task);
    task = call_on(&served, "task/get", "task_id", id, "{}");
    is_text(task, "state", "done");
    assert_int_equal(value_count(value_get(task, "artifact_refs")), 1);
    value_unref(task);
    value_unref(token);
    value_unref(id);
    served_close(&served);
}

static void tasks_are_listed(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    for (int i = 0; i < 5; i++)
        value_unref(
            served_result(&served, "task/create", i % 2 ? "{\"task_type\":\"odd\"}" : "{\"task_type\":\"even\"}"));
    assert_int_equal(
        count_of_take(served_result(&served, "task/list", "{\"filter\":{\"task_type\":\"even\"}}"), "tasks"), 3);
    tn_value page = served_result(&served, "task/list", "{\"limit\":3,\"order\":[\"task_type\"],\"reverse\":true}");
    assert_true(value_to_bool(value_get(page, "more")));
    tn_value last = value_get(value_at(value_get(page, "tasks"), 2), "task_id");
    tn_value rest =
        call_on(&served, "task/list", "after", last, "{\"limit\":3,\"order\":[\"task_type\"],\"reverse\":true}");
    assert_false(value_to_bool(value_get(rest, "more")));
    assert_int_equal(count_of_take(rest, "tasks"), 2);
    value_unref(page);
    served_expect_error(&served, "task/list", "{\"filter\":{\"stat\":\"done\"}}", "INVALID_INPUT",
                        "did you mean `state`?");
    served_expect_error(&served, "task/list", "{\"limit\":1001}", "INVALID_INPUT", "at /limit");
    served_expect_error(&served, "task/list", "{\"after\":\"nothing\",\"order\":[\"state\"]}", "NOT_FOUND", "nothing");
    served_expect_error(&served, "task/list", "{\"after\":\"nothing\"}", "NOT_FOUND", "found no Task `nothing`");
    served_expect_error(&served, "task/get", "{\"task_id\":\"nothing\"}", "NOT_FOUND", "task.get: found no Task");
    served_expect_error(&served, "task/create", "{}", "INVALID_INPUT", "task_type");
    served_expect_error(&served, "task/create", "{\"task_type\":\"t\",\"stat\":1}", "INVALID_INPUT", "stat");
    served_expect_error(&served, "task/claim", "{\"claimer_id\":\"w\",\"ttl_seconds\":0}", "INVALID_INPUT",
                        "at /ttl_seconds");
    served_close(&served);
}

/* ---- Artifacts ---- */

static void artifacts_are_written_and_read(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id = member_take(
        served_result(&served, "artifact/write",
                      "{\"media_type\":\"text/plain\",\"body\":\"blue a\\u0000b\",\"metadata\":{\"title\":\"sky\"}}"),
        "artifact_id");
    tn_value read = call_on(&served, "artifact/read", "artifact_id", id, "{}"), body = value_get(read, "body");
    size_t length = 0;
    assert_true(value_is(body, TN_STRING));
    assert_memory_equal(value_chars(body, &length), "blue a\0b", 9);
    assert_int_equal(length, 8);
    value_unref(read);
    read = call_on(&served, "artifact/read", "artifact_id", id, "{\"offset\":1,\"length\":3}");
    body = value_get(read, "body");
    assert_true(value_is(body, TN_BYTES));
    assert_memory_equal(value_data(body, &length), "lue", 3);
    assert_int_equal(length, 3);
    value_unref(read);
    read = call_on(&served, "artifact/read", "artifact_id", id, "{\"offset\":100}");
    (void)value_data(value_get(read, "body"), &length);
    assert_int_equal(length, 0);
    value_unref(read);
    /* As bytes, and as a part of a message. */
    tn_value written =
        served_result(&served, "artifact/write", "{\"media_type\":\"image/png\",\"body\":{\"$bytes\":\"AAEC\"}}");
    assert_int_equal(value_to_int(value_get(written, "size")), 3);
    value_unref(written);
    written = served_result(&served, "artifact/write",
                            "{\"body\":{\"type\":\"image\",\"media_type\":\"image/gif\",\"data\":\"AAECAw==\"}}");
    is_text(written, "media_type", "image/gif");
    assert_int_equal(value_to_int(value_get(written, "size")), 4);
    value_unref(written);
    value_unref(id);
    assert_int_equal(count_of_take(served_result(&served, "artifact/search", "{\"query\":\"blue sky\"}"), "artifacts"),
                     1);
    tn_value page = served_result(&served, "artifact/search", "{\"limit\":2}");
    assert_true(value_to_bool(value_get(page, "more")));
    tn_value last = value_get(value_at(value_get(page, "artifacts"), 1), "artifact_id");
    assert_int_equal(count_of_take(call_on(&served, "artifact/search", "after", last, "{}"), "artifacts"), 1);
    value_unref(page);
    served_expect_error(&served, "artifact/search", "{\"query\":\"sky\",\"after\":\"x\"}", "INVALID_INPUT",
                        "no further pages");
    served_expect_error(&served, "artifact/read", "{\"artifact_id\":\"nothing\"}", "NOT_FOUND", "nothing");
    served_expect_error(&served, "artifact/write", "{\"body\":\"x\"}", "INVALID_INPUT", "`media_type`: it is missing");
    served_expect_error(&served, "artifact/write", "{\"media_type\":\"a/b\",\"body\":7}", "INVALID_INPUT",
                        "at /body: found the number 7, expected a string, bytes or an object");
    served_expect_error(&served, "artifact/write", "{\"media_type\":\"a/b\",\"body\":{\"$bytes\":\"?\"}}",
                        "INVALID_INPUT", "artifact.write: `body`: found an object whose `$bytes` is not base64");
    served_close(&served);
}

static void artifacts_are_uploaded(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    tn_value id =
        member_take(served_result(&served, "artifact/open", "{\"media_type\":\"text/plain\"}"), "artifact_id");
    call_for(&served, "artifact/append", "artifact_id", id, "{\"offset\":0,\"data\":\"one \"}");
    call_for(&served, "artifact/append", "artifact_id", id, "{\"offset\":0,\"data\":\"one \"}"); /* a repetition */
    tn_value size =
        call_on(&served, "artifact/append", "artifact_id", id, "{\"offset\":4,\"data\":{\"$bytes\":\"dHdv\"}}");
    assert_int_equal(value_to_int(value_get(size, "size")), 7);
    value_unref(size);
    fails_on(&served, "artifact/append", "artifact_id", id, "{\"offset\":9,\"data\":\"x\"}", "INVALID_INPUT");
    fails_on(&served, "artifact/append", "artifact_id", id, "{\"offset\":7,\"data\":\"\"}", "INVALID_INPUT");
    fails_on(&served, "artifact/read", "artifact_id", id, "{}", "NOT_FOUND");
    call_for(&served, "artifact/finish", "artifact_id", id, "{}");
    tn_value read = call_on(&served, "artifact/read", "artifact_id", id, "{}");
    is_text(read, "body", "one two");
    value_unref(read);
    fails_on(&served, "artifact/finish", "artifact_id", id, "{}", "NOT_FOUND");
    value_unref(id);
    id = member_take(served_result(&served, "artifact/open", "{\"media_type\":\"a/b\",\"metadata\":{\"n\":1}}"),
                     "artifact_id");
    call_for(&served, "artifact/append", "artifact_id", id, "{\"offset\":0,\"data\":\"x\"}");
    call_for(&served, "artifact/abandon", "artifact_id", id, "{}");
    fails_on(&served, "artifact/abandon", "artifact_id", id, "{}", "NOT_FOUND");
    value_unref(id);
    served_close(&served);
}

/* ---- Memories ---- */

static void memories_are_found(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_RUN);
    served_expect(&served, "memory/get", "{\"namespace\":[\"users\",\"ada\"],\"key\":\"k\"}", "null");
    tn_value memory = served_result(&served, "memory/put",
                                    "{\"namespace\":[\"users\",\"ada\"],\"key\":\"k\",\"value\":{\"likes\":\"coffee\"},"
                                    "\"ttl_seconds\":3600}");
    assert_true(value_is(value_get(memory, "expires_at"), TN_STRING));
    value_unref(memory);
    value_unref(served_result(&served, "memory/put",
                              "{\"namespace\":[\"users\",\"ada\"],\"key\":\"nul\",\"value\":\"a\\u0000b\"}"));
    value_unref(served_result(&served, "memory/put",
                              "{\"namespace\":[\"users\",\"bob\"],\"key\":\"n\",\"value\":null,"
                              "\"text\":\"tea\"}"));
    memory = served_result(&served, "memory/get", "{\"namespace\":[\"users\",\"ada\"],\"key\":\"k\"}");
    is_text(value_get(memory, "value"), "likes", "coffee");
    value_unref(memory);
    assert_int_equal(
        count_of_take(served_result(&served, "memory/search", "{\"namespace\":[\"users\"],\"query\":\"tea\"}"),
                      "memories"),
        1);
    assert_int_equal(
        count_of_take(served_result(&served, "memory/search", "{\"filter\":{\"likes\":\"coffee\"}}"), "memories"), 1);
    served_expect(&served, "memory/namespaces", "{}",
                  "{\"namespaces\":[[\"users\",\"ada\"],[\"users\",\"bob\"]],\"more\":false}");
    served_expect(&served, "memory/namespaces", "{\"depth\":1}", "{\"namespaces\":[[\"users\"]],\"more\":false}");
    assert_int_equal(count_of_take(served_result(&served, "memory/search",
                                                 "{\"after\":{\"namespace\":[\"users\",\"ada\"],\"key\":\"nul\"}}"),
                                   "memories"),
                     1);
    served_expect(&served, "memory/delete", "{\"namespace\":[\"users\",\"bob\"],\"key\":\"n\"}", "{}");
    served_expect(&served, "memory/delete", "{\"namespace\":[\"users\",\"bob\"],\"key\":\"n\"}", "{}");
    assert_int_equal(count_of_take(served_result(&served, "memory/search", "{}"), "memories"), 2);
    served_expect_error(&served, "memory/put", "{\"namespace\":[],\"key\":\"k\",\"value\":1}", "INVALID_INPUT",
                        "at /namespace");
    served_expect_error(&served, "memory/put", "{\"namespace\":[\"a\"],\"key\":\"k\"}", "INVALID_INPUT", "value");
    served_expect_error(&served, "memory/search", "{\"query\":\"a\",\"vector\":[1]}", "INVALID_INPUT", "only one");
    served_expect_error(&served, "memory/search", "{\"vector\":[\"x\"]}", "INVALID_INPUT", "at /vector/0");
    served_close(&served);
}

/* ---- Stores that fail, rights ---- */

static bool is_state_method(const struct method *method) {
    static const char *const groups[] = {"thread/", "task/", "artifact/", "memory/"};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strncmp(method->name, groups[i], strlen(groups[i])) == 0) return true;
    return false;
}

/* Every method fails with the error of the store: one that does not exist, and one that refuses its options. */
static void every_method_reports_the_store(void **state) {
    static const struct {
        const char *options, *code;
    } stores[] = {{"{\"use\":\"nothing\"}", "STORE_NOT_FOUND"}, {"{\"use\":\"memory\",\"colour\":\"red\"}", "INVALID"}};
    (void)state;
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        const struct method *method;
        struct served served;
        unsigned count = 0;
        served_open(&served, METHOD_ADMIN);
        host_set_store_options_take(served.host, served_json(stores[i].options));
        for (size_t at = 0; (method = method_at(at)) != NULL; at++) {
            if (!is_state_method(method)) continue;
            tn_value params = value_ref(value_get(value_get(method->row, "example"), "params"));
            if (value_get(params, "document")) {
                params = value_remove_take(params, value_text("document"));
                params = value_set_take(params, "text", value_text(ASKS));
            }
            tn_value outcome = served_call_as(&served, served.client, method->name, params);
            is_text(value_get(outcome, "error"), "code", stores[i].code);
            value_unref(outcome);
            count++;
        }
        assert_int_equal(count, 12 + 10 + 8 + 5);
        served_close(&served);
    }
}

static void readers_change_nothing(void **state) {
    static const char *const reads[] = {"thread/list",      "thread/get",      "thread/history", "thread/state",
                                        "thread/export",    "task/get",        "task/list",      "artifact/read",
                                        "artifact/search",  "artifact/linked", "memory/get",     "memory/search",
                                        "memory/namespaces"};
    static const char *const admins[] = {"thread/delete", "thread/import", "thread/collect"};
    const struct method *method;
    (void)state;
    for (size_t at = 0; (method = method_at(at)) != NULL; at++) {
        enum method_scope scope = METHOD_RUN;
        if (!is_state_method(method)) continue;
        for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
            if (strcmp(method->name, reads[i]) == 0) scope = METHOD_READ;
        for (size_t i = 0; i < sizeof admins / sizeof *admins; i++)
            if (strcmp(method->name, admins[i]) == 0) scope = METHOD_ADMIN;
        if (method->scope != scope) fail_msg("%s has the scope %s", method->name, method_scope_name(method->scope));
    }
}

/* `similar` calls a model, which costs money. */
static void readers_call_no_model(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_READ);
    host_set_store_options_take(served.host, served_json("{\"use\": \"memory\", \"path\": \"readers\"}"));
    served_expect_error(&served, "memory/search", "{\"similar\":\"tea\"}", "PERMISSION_DENIED", "model/embed");
    value_unref(served_result(&served, "memory/search", "{\"query\":\"tea\"}"));
    served_expect_error(&served, "model/embed", "{\"texts\":[\"tea\"]}", "PERMISSION_DENIED", "scope");
    served_close(&served);
    served_open(&served, METHOD_RUN);
    host_set_store_options_take(served.host, served_json("{\"use\": \"memory\", \"path\": \"readers\"}"));
    served_expect_error(&served, "memory/search", "{\"similar\":\"tea\"}", "INVALID_INPUT", "memory: {embed: ROLE}");
    served_close(&served);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_claimed_and_completed),
        cmocka_unit_test(tasks_are_listed),
        cmocka_unit_test(artifacts_are_written_and_read),
        cmocka_unit_test(artifacts_are_uploaded),
        cmocka_unit_test(memories_are_found),
        cmocka_unit_test(every_method_reports_the_store),
        cmocka_unit_test(readers_change_nothing),
        cmocka_unit_test(readers_call_no_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
