/*
 * server_owner_test.c - every method of the table, called by one user with the ids of another one: it must fail as for
 * an id that does not exist, or be refused, or show nothing of the other user; and change nothing.
 *
 * A method without a row in `attacks` fails the test. owner_run_test.c attacks from inside of runs.
 */
#include "tests/unit/owner_fixture.h"

#include "host/data/kernel/kernel_memory.h"
#include "host/server/server_internal.h"

/* What user a has: ids, as $NAME in the rows below. */
static struct {
    char name[12], id[256];
} had[] = {{"thread", ""},   {"run", ""},    {"task", ""},    {"token", ""},
           {"artifact", ""}, {"upload", ""}, {"schedule", ""}};

static char *id_of(const char *name) {
    for (size_t i = 0; i < sizeof had / sizeof *had; i++)
        if (strcmp(had[i].name, name) == 0) return had[i].id;
    fail_msg("%s", name);
    return NULL;
}

#define OK     NULL /* succeeds, and shows nothing of a */
#define DENIED "PERMISSION_DENIED"
#define NONE   "NOT_FOUND"

static const struct attack {
    const char *method, *params, *code;
} attacks[] = {
    {"host/info", "{}", OK},
    {"host/metrics", "{}", DENIED},
    {"host/methods", "{}", OK},
    {"event/subscribe", "{\"events\":[\"run/started\",\"task/claimed\",\"component/changed\"]}", OK},
    {"event/unsubscribe", "{\"subscription\":9}", NONE},
    {"event/grant", "{\"subscription\":9,\"credit\":1}", NONE},
    {"plugin/list", "{}", DENIED},
    {"plugin/show", "{\"plugin\":\"tenon.core\"}", DENIED},
    {"plugin/load", "{\"file\":\"x.so\"}", DENIED},
    {"plugin/upgrade", "{\"file\":\"x.so\"}", DENIED},
    {"plugin/unload", "{\"plugin\":\"tenon.core\"}", DENIED},
    {"plugin/reset", "{\"plugin\":\"tenon.core\"}", DENIED},
    {"component/list", "{}", DENIED},
    {"component/show", "{\"kind\":\"node\",\"id\":\"set\"}", DENIED},
    {"document/check", "{\"document\":\"graph:hello\"}", DENIED},
    {"document/check", "{\"text\":\"version: '1.0'\"}", DENIED},
    {"document/describe", "{\"document\":\"graph:hello\"}", OK},
    {"document/describe", "{\"document\":\"tenon.yaml\"}", DENIED},
    {"document/describe", "{\"document\":\"pack:x/y.yaml\"}", DENIED},
    {"document/describe", "{\"text\":\"version: '1.0'\"}", DENIED},
    {"document/format", "{\"text\":\"version: '1.0'\"}", DENIED},
    {"document/graph", "{\"document\":\"graph:hello\"}", OK},
    {"document/graph", "{\"document\":\"graph:hello\",\"inside\":true}", OK},
    {"document/graph", "{\"document\":\"/etc/passwd\"}", DENIED},
    {"document/schema", "{\"name\":\"document\"}", DENIED},
    {"run/start", "{\"document\":\"graph:hello\",\"config\":{\"thread_id\":\"$thread\"}}", NONE},
    {"run/start", "{\"document\":\"graph:hello\",\"config\":{\"run_id\":\"$run\"}}", NONE},
    {"run/start", "{\"document\":\"graph:hello\",\"config\":{\"thread_id\":\"$thread\",\"replace\":true}}", NONE},
    {"run/start", "{\"document\":\"hello.yaml\"}", DENIED},
    {"run/start", "{\"document\":\"graph:../hello\"}", NONE},
    {"run/start", "{\"document\":\"graph:/etc/passwd\"}", NONE},
    {"run/start", "{\"document\":\"tenon:x\"}", DENIED},
    {"run/start", "{\"text\":\"version: '1.0'\"}", DENIED},
    {"run/start", "{\"document\":\"graph:hello\",\"session\":{\"models\":{\"default\":\"fast\"}}}", DENIED},
    {"run/start", "{\"document\":\"graph:hello\",\"session\":{\"tools\":[\"acp.*\"]}}", DENIED},
    {"run/start", "{\"document\":\"graph:hello\",\"session\":{\"starts_programs\":true}}", DENIED},
    {"run/resume", "{\"document\":\"graph:asks\",\"config\":{\"thread_id\":\"$thread\"}}", NONE},
    {"run/answer", "{\"run_id\":\"$run\",\"answers\":{\"x\":true}}", NONE},
    {"run/cancel", "{\"run_id\":\"$run\"}", NONE},
    {"run/get", "{\"run_id\":\"$run\"}", NONE},
    {"run/wait", "{\"run_id\":\"$run\"}", NONE},
    {"run/list", "{}", OK},
    {"run/list", "{\"thread_id\":\"$thread\"}", OK},
    {"run/list", "{\"status\":\"interrupted\"}", OK},
    {"run/state", "{\"run_id\":\"$run\"}", NONE},
    {"run/subscribe", "{\"run_id\":\"$run\",\"after\":0}", NONE},
    {"thread/list", "{}", OK},
    {"thread/list", "{\"status\":\"interrupted\",\"agent\":\"asks\"}", OK},
    {"thread/list", "{\"after\":\"$thread\"}", NONE},
    {"thread/get", "{\"thread_id\":\"$thread\"}", NONE},
    {"thread/history", "{\"thread_id\":\"$thread\"}", NONE},
    {"thread/state", "{\"thread_id\":\"$thread\"}", NONE},
    {"thread/fork", "{\"thread_id\":\"$thread\",\"new_thread_id\":\"copy\"}", NONE},
    {"thread/fork", "{\"thread_id\":\"mine\",\"new_thread_id\":\"@a:copy\"}", NONE},
    {"thread/truncate", "{\"thread_id\":\"$thread\",\"history\":false}", NONE},
    {"thread/truncate", "{\"thread_id\":\"$thread\",\"seq\":0}", NONE},
    {"thread/answer", "{\"thread_id\":\"$thread\",\"answers\":{\"x\":true}}", NONE},
    {"thread/update", "{\"thread_id\":\"$thread\",\"document\":\"graph:asks\",\"channels\":{\"name\":\"b\"}}", NONE},
    {"thread/update", "{\"thread_id\":\"mine\",\"text\":\"version: '1.0'\",\"channels\":{\"name\":\"b\"}}", DENIED},
    {"thread/delete", "{\"thread_id\":\"$thread\",\"force\":true}", NONE},
    {"thread/export", "{\"thread_id\":\"$thread\"}", DENIED},
    {"thread/import",
     "{\"thread_id\":\"$thread\",\"replace\":true,\"thread\":{\"format\":\"tenon.thread/1\",\"record\":{\"thread_id\":"
     "\"x\",\"status\":\"done\",\"updated_at\":\"2026-01-01T00:00:00.000Z\"},\"checkpoints\":[],\"pending\":{},"
     "\"nested\":{},\"journal\":{}}}",
     DENIED},
    {"thread/collect", "{\"before\":0}", DENIED},
    {"task/create", "{\"task_type\":\"t\",\"idempotency_key\":\"once\"}", OK},
    {"task/get", "{\"task_id\":\"$task\"}", NONE},
    {"task/update", "{\"task_id\":\"$task\",\"patch\":{\"payload\":{\"x\":1}}}", NONE},
    {"task/update", "{\"task_id\":\"$task\",\"patch\":{\"state\":\"queued\"},\"claim_token\":\"$token\"}", NONE},
    {"task/list", "{}", OK},
    {"task/list", "{\"filter\":{\"task_id\":\"$task\"}}", OK},
    {"task/list", "{\"filter\":{\"task_id\":{\"ge\":\"@a:\"}},\"order\":[\"state\"],\"reverse\":true}", OK},
    {"task/list", "{\"after\":\"$task\"}", NONE},
    {"task/claim", "{\"claimer_id\":\"b\",\"ttl_seconds\":60,\"filter\":{\"task_type\":\"secret\"}}", OK},
    {"task/claim", "{\"claimer_id\":\"b\",\"ttl_seconds\":60,\"filter\":{\"task_type\":[\"secret\",\"s\"]}}", OK},
    {"task/claim", "{\"claimer_id\":\"b\",\"ttl_seconds\":60,\"filter\":{\"task_id\":{\"ge\":\"@a:\",\"lt\":\"@a;\"}}}",
     OK},
    {"task/claim",
     "{\"claimer_id\":\"b\",\"ttl_seconds\":60,\"limit\":9,\"filter\":{\"any\":[{\"task_type\":\"secret\"}]}}", OK},
    {"task/renew", "{\"task_id\":\"$task\",\"claim_token\":\"$token\",\"ttl_seconds\":60}", NONE},
    {"task/complete", "{\"task_id\":\"$task\",\"claim_token\":\"$token\"}", NONE},
    {"task/fail", "{\"task_id\":\"$task\",\"claim_token\":\"$token\",\"error\":\"x\"}", NONE},
    {"task/release", "{\"task_id\":\"$task\",\"claim_token\":\"$token\",\"reason\":\"retry\"}", NONE},
    {"task/wake", "{\"task_id\":\"$task\"}", NONE},
    {"work/start", "{}", DENIED},
    {"work/stop", "{\"worker_id\":\"x\"}", DENIED},
    {"work/get", "{\"worker_id\":\"x\"}", DENIED},
    {"work/wait", "{\"worker_id\":\"x\"}", DENIED},
    {"work/list", "{}", DENIED},
    {"work/ask", "{\"task_id\":\"$task\"}", DENIED},
    {"schedule/list", "{}", DENIED},
    {"schedule/run", "{\"name\":\"x\"}", DENIED},
    {"schedule/create", "{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"config\":{\"thread_id\":\"$thread\"}}",
     NONE},
    {"schedule/create", "{\"document\":\"hello.yaml\",\"cron\":\"@daily\"}", "INVALID_INPUT"},
    {"schedule/create", "{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"enabled\":false}", OK},
    {"schedule/get", "{\"schedule_id\":\"$schedule\"}", NONE},
    {"schedule/search", "{}", OK},
    {"schedule/search", "{\"thread_id\":\"$thread\"}", OK},
    {"schedule/search", "{\"after\":\"@a:\"}", OK},
    {"schedule/update", "{\"schedule_id\":\"$schedule\",\"enabled\":false}", NONE},
    {"schedule/delete", "{\"schedule_id\":\"$schedule\"}", NONE},
    {"artifact/write", "{\"media_type\":\"text/plain\",\"body\":\"b\",\"idempotency_key\":\"once\"}", OK},
    {"artifact/read", "{\"artifact_id\":\"$artifact\"}", NONE},
    {"artifact/search", "{}", OK},
    {"artifact/search", "{\"query\":\"" SECRET "\"}", OK},
    {"artifact/search", "{\"filter\":{\"artifact_id\":\"$artifact\"}}", OK},
    {"artifact/search", "{\"after\":\"$artifact\"}", NONE},
    {"artifact/linked", "{\"thread_id\":\"$thread\"}", OK},
    {"artifact/open", "{\"media_type\":\"text/plain\"}", OK},
    {"artifact/append", "{\"artifact_id\":\"$upload\",\"offset\":9,\"data\":\"b\"}", NONE},
    {"artifact/finish", "{\"artifact_id\":\"$upload\"}", NONE},
    {"artifact/abandon", "{\"artifact_id\":\"$upload\"}", NONE},
    {"memory/get", "{\"namespace\":[\"notes\"],\"key\":\"k\"}", OK},
    {"memory/get", "{\"namespace\":[\"@a\",\"notes\"],\"key\":\"k\"}", OK},
    {"memory/search", "{}", OK},
    {"memory/search", "{\"namespace\":[\"@a\"]}", OK},
    {"memory/search", "{\"query\":\"" SECRET "\"}", OK},
    {"memory/search", "{\"vector\":[1,0],\"exact\":true}", OK},
    {"memory/search", "{\"after\":{\"namespace\":[\"@a\"],\"key\":\"a\"}}", OK},
    {"memory/search", "{\"after\":{\"namespace\":[],\"key\":\"a\"}}", "INVALID_INPUT"},
    {"memory/namespaces", "{}", OK},
    {"memory/namespaces", "{\"namespace\":[\"@a\"],\"depth\":1}", OK},
    {"memory/put", "{\"namespace\":[\"notes\"],\"key\":\"k\",\"value\":\"b\"}", OK},
    {"memory/put", "{\"namespace\":[\"@a\",\"notes\"],\"key\":\"k\",\"value\":\"b\"}", OK},
    {"memory/delete", "{\"namespace\":[\"notes\"],\"key\":\"k\"}", OK},
    {"memory/delete", "{\"namespace\":[\"@a\",\"notes\"],\"key\":\"k\"}", OK},
    {"tool/list", "{}", OK},
    {"tool/search", "{\"query\":\"memory\"}", OK},
    {"tool/show", "{\"tool\":\"memory.search\"}", DENIED},
    {"tool/call", "{\"tool\":\"memory.search\",\"arguments\":{}}", DENIED},
    {"tool/call", "{\"tool\":\"nothing\",\"approved\":true}", DENIED},
    {"model/list", "{}", DENIED},
    {"model/embed", "{\"model\":\"default\",\"texts\":[\"x\"]}", DENIED},
    {"model/test", "{\"model\":\"default\"}", DENIED},
    {"graph/list", "{}", OK},
    {"graph/list", "{\"name\":\"asks\"}", OK},
    {"key/create", "{\"name\":\"x\"}", DENIED},
    {"key/list", "{}", DENIED},
    {"key/revoke", "{\"name\":\"x\"}", DENIED},
    {"pack/list", "{}", DENIED},
    {"pack/show", "{\"name\":\"x\"}", DENIED},
    {"pack/install", "{\"file\":\"x\"}", DENIED},
    {"pack/remove", "{\"name\":\"x\"}", DENIED},
};

/* ---- Texts ---- */

/* The text with each `from` replaced; free it with mem_free. */
static char *replaced(const char *text, const char *from, const char *to) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    for (const char *at; (at = strstr(text, from)) != NULL; text = at + strlen(from)) {
        buffer_append(&out, text, (size_t)(at - text));
        buffer_text(&out, to);
    }
    buffer_text(&out, text);
    return buffer_detach(&out, NULL);
}

enum form { WHOLE, WITHOUT_PREFIX, UNKNOWN };

/* The id in a row: that of a, the same without the prefix, or one of a that does not exist. */
static const char *id_in(const char *id, enum form form) {
    if (form == UNKNOWN) return "@a:nothing";
    return form == WITHOUT_PREFIX && strncmp(id, "@a:", 3) == 0 ? id + 3 : id;
}

static char *params_of(const struct attack *attack, enum form form) {
    char *text = mem_text(attack->params), name[16];
    for (size_t i = 0; i < sizeof had / sizeof *had; i++) {
        snprintf(name, sizeof name, "$%s", had[i].name);
        char *next = replaced(text, name, id_in(had[i].id, form));
        mem_free(text);
        text = next;
    }
    return text;
}

/* The message without the ids. */
static char *message_of(tn_value outcome, enum form form) {
    char *text = mem_text(value_chars(value_get(value_get(outcome, "error"), "message"), NULL));
    for (size_t i = 0; i < sizeof had / sizeof *had; i++) {
        char *next = replaced(text, id_in(had[i].id, form), "ID");
        mem_free(text);
        text = next;
    }
    return text;
}

/* ---- Attacks ---- */

static void is_clean(const char *text, const char *what, bool ids) {
    if (strstr(text, SECRET) || (ids && strstr(text, "@a:"))) fail_msg("%s shows data of another user: %s", what, text);
}

/* A call as b; {result} or {error}, a new reference. */
static tn_value attack_as(struct users *users, const struct attack *attack, enum form form) {
    char *params = params_of(attack, form), what[64];
    tn_value outcome = outcome_as(users, users->b, attack->method, params),
             code = value_get(value_get(outcome, "error"), "code");
    char *text = shown(outcome);
    snprintf(what, sizeof what, "%s", attack->method);
    bool as_expected = attack->code ? code && value_text_is(code, attack->code) : !code;
    if (!as_expected)
        fail_msg("%s %s: found %s, expected %s", what, params, text, attack->code ? attack->code : "a result");
    is_clean(text, what, !attack->code); /* errors have the ids that were given */
    mem_free(text);
    mem_free(params);
    return outcome;
}

/* An id of another user, one that does not exist, and the same text as an id of the caller fail alike. */
static void is_like_unknown(struct users *users, const struct attack *attack) {
    tn_value given = attack_as(users, attack, WHOLE), unknown = attack_as(users, attack, UNKNOWN);
    char *first = message_of(given, WHOLE), *second = message_of(unknown, UNKNOWN);
    assert_string_equal(first, second);
    mem_free(second);
    value_unref(unknown);
    value_unref(given);
    /* b may start a run with that id; one that resumes fails later. */
    bool starts = strcmp(attack->method, "run/start") == 0 || strcmp(attack->method, "run/resume") == 0 ||
                  strcmp(attack->method, "schedule/create") == 0;
    if (!starts && strchr(attack->params, '$')) {
        tn_value own = attack_as(users, attack, WITHOUT_PREFIX);
        value_unref(own);
    }
    mem_free(first);
}

static void has_rows(const struct method *method) {
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
        if (strcmp(attacks[i].method, method->name) == 0) return;
    fail_msg("%s has no row in `attacks`: how could one user reach another one by it?", method->name);
}

/* ---- What the users have ---- */

static void prepare(struct users *users) {
    char params[600], *id;
    value_unref(call_as(users, users->b, "event/subscribe",
                        "{\"events\":[\"run/started\",\"run/ended\",\"task/claimed\",\"task/event\",\"task/ended\","
                        "\"component/changed\"]}"));
    value_unref(call_as(users, users->a, "event/subscribe", "{\"events\":[\"run/started\",\"run/ended\"]}"));
    value_unref(run_as(users, users->a, "asks",
                       "{\"input\":{\"name\":\"" SECRET "\"},\"config\":{\"thread_id\":\"t\",\"run_id\":\"r\"}}"));
    snprintf(id_of("thread"), 256, "@a:t");
    snprintf(id_of("run"), 256, "@a:r");
    text_as(users, users->a, "task/create",
            "{\"task_type\":\"secret\",\"payload\":{\"text\":\"" SECRET "\"},\"idempotency_key\":\"once\"}", "task_id",
            id_of("task"));
    text_as(users, users->a, "task/claim", "{\"claimer_id\":\"w\",\"ttl_seconds\":600}", "claim_token", id_of("token"));
    value_unref(call_as(users, users->a, "task/create", "{\"task_type\":\"secret\"}")); /* that b could claim */
    text_as(users, users->a, "artifact/write",
            "{\"media_type\":\"text/plain\",\"body\":\"the " SECRET "\",\"idempotency_key\":\"once\"}", "artifact_id",
            id_of("artifact"));
    text_as(users, users->a, "artifact/open", "{\"media_type\":\"text/plain\"}", "artifact_id", id = id_of("upload"));
    snprintf(params, sizeof params, "{\"artifact_id\":\"%s\",\"offset\":0,\"data\":\"" SECRET "\"}", id);
    value_unref(call_as(users, users->a, "artifact/append", params));
    value_unref(call_as(users, users->a, "memory/put",
                        "{\"namespace\":[\"notes\"],\"key\":\"k\",\"value\":\"" SECRET "\",\"vector\":[1,0]}"));
    text_as(users, users->a, "schedule/create",
            "{\"document\":\"graph:hello\",\"cron\":\"@daily\",\"input\":{\"name\":\"" SECRET
            "\"},\"config\":{\"thread_id\":\"t\"}}",
            "schedule_id", id_of("schedule"));
    value_unref(run_as(users, users->b, "hello", "{\"config\":{\"thread_id\":\"mine\"}}"));
}

/* All that a has, as text. */
static char *all_of_a(struct users *users) {
    static const struct attack rows[] = {
        {"thread/get", "{\"thread_id\":\"t\"}", OK},
        {"thread/state", "{\"thread_id\":\"t\"}", OK},
        {"thread/list", "{}", OK},
        {"run/get", "{\"run_id\":\"r\"}", OK},
        {"run/list", "{}", OK},
        {"task/list", "{}", OK},
        {"task/get", "{\"task_id\":\"$task\"}", OK},
        {"artifact/search", "{}", OK},
        {"artifact/read", "{\"artifact_id\":\"$artifact\"}", OK},
        {"memory/search", "{}", OK},
        {"memory/namespaces", "{}", OK},
        {"schedule/search", "{}", OK},
    };
    struct buffer all;
    buffer_init(&all, SIZE_MAX);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *params = params_of(&rows[i], WITHOUT_PREFIX);
        tn_value result = call_as(users, users->a, rows[i].method, params);
        char *text = shown(result);
        buffer_format(&all, "%s: %s\n", rows[i].method, text);
        mem_free(text);
        mem_free(params);
        value_unref(result);
    }
    return buffer_detach(&all, NULL);
}

static void attack_all(const char *store) {
    struct users users;
    const struct method *method;
    users_open(&users, store);
    users_write("hello", HELLO);
    users_write("asks", ASKS);
    prepare(&users);
    char *before = all_of_a(&users);
    assert_non_null(strstr(before, SECRET));
    assert_null(strstr(before, users.folder)); /* nor does a user learn where the files of the host are */
    assert_null(strstr(before, "\"pid\""));
    for (size_t i = 0; (method = method_at(i)) != NULL; i++) has_rows(method);
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        if (attacks[i].code && strcmp(attacks[i].code, NONE) == 0)
            is_like_unknown(&users, &attacks[i]);
        else
            value_unref(attack_as(&users, &attacks[i], WHOLE));
    }
    served_settle(&users.served);
    char *after = all_of_a(&users), *events = shown(users.events_of_b);
    assert_string_equal(before, after);
    is_clean(events, "an event", true);
    assert_non_null(strstr(events, "@b:mine")); /* b has got its own */
    assert_int_equal(served_count(&users.served, "run/started"), 1);
    assert_int_equal(served_count(&users.served, "run/ended"), 1);
    mem_free(events);
    mem_free(after);
    mem_free(before);
    users_close(&users);
}

static void users_reach_nothing_of_each_other(void **state) {
    (void)state;
    attack_all("memory");
#ifdef TENON_HAS_SQLITE
    attack_all("sqlite");
#endif
}

/* ---- The other way: what users and the operator may do ---- */

static bool lists(tn_value info, const char *name) {
    tn_value methods = value_get(info, "methods");
    for (size_t i = 0; i < value_count(methods); i++)
        if (value_text_is(value_at(methods, i), name)) return true;
    return false;
}

static void info_lists_what_users_may_call(void **state) {
    struct users users;
    (void)state;
    users_open(&users, "memory");
    tn_value of_a = call_as(&users, users.a, "host/info", "{}"), of_b = call_as(&users, users.b, "host/info", "{}");
    assert_true(lists(of_a, "run/start") && lists(of_a, "thread/delete") && lists(of_b, "graph/list"));
    assert_false(lists(of_a, "model/embed") || lists(of_b, "work/start") || lists(of_b, "thread/export"));
    assert_int_equal(value_count(value_get(of_b, "events")), 6); /* not component/changed */
    value_unref(of_b);
    value_unref(of_a);
    users_close(&users);
}

static void users_have_the_same_names(void **state) {
    struct users users;
    char id[256], claimed[256], params[400];
    (void)state;
    users_open(&users, "memory");
    users_write("hello", HELLO);
    for (int i = 0; i < 2; i++) {
        struct client *user = i ? users.b : users.a;
        tn_value run = run_as(&users, user, "hello", "{\"config\":{\"thread_id\":\"t\",\"run_id\":\"r\"}}");
        is_text(run, "run_id", i ? "@b:r" : "@a:r");
        is_text(run, "thread_id", i ? "@b:t" : "@a:t");
        value_unref(run);
        text_as(&users, user, "task/create", "{\"task_type\":\"t\",\"idempotency_key\":\"k\"}", "task_id", id);
        assert_true(owner_has(i ? "b" : "a", id));
        value_unref(call_as(&users, user, "memory/put", "{\"namespace\":[\"n\"],\"key\":\"k\",\"value\":1}"));
        expect_as(&users, user, "memory/namespaces", "{\"depth\":1}", "{\"namespaces\":[[\"n\"]],\"more\":false}");
        value_unref(call_as(&users, user, "thread/get", i ? "{\"thread_id\":\"@b:t\"}" : "{\"thread_id\":\"@a:t\"}"));
        snprintf(params, sizeof params, "{\"claimer_id\":\"w\",\"ttl_seconds\":60,\"filter\":{\"task_id\":\"%s\"}}",
                 id);
        value_unref(call_as(&users, user, "task/create", "{\"task_type\":\"t\"}"));
        text_as(&users, user, "task/claim", params, "task_id", claimed);
        assert_string_equal(claimed, id);
        expect_as(&users, user, "task/claim", params, "null");
        value_unref(call_as(&users, user, "thread/fork", "{\"thread_id\":\"t\",\"new_thread_id\":\"f\"}"));
        value_unref(call_as(&users, user, "thread/delete", "{\"thread_id\":\"f\"}")); /* also with the scope `run` */
    }
    fails_as(&users, users.a, "run/start", "{\"document\":\"graph:hello\",\"config\":{\"run_id\":\"r\"}}", "EXISTS");
    value_unref(call_as(&users, users.a, "run/start", "{\"document\":\"graph:hello\"}"));
    served_settle(&users.served);
    /* The operator sees all. */
    expect_as(&users, users.served.client, "memory/namespaces", "{\"depth\":1}",
              "{\"namespaces\":[[\"@a\"],[\"@b\"]],\"more\":false}");
    tn_value list = call_as(&users, users.served.client, "thread/list", "{}");
    assert_int_equal(value_count(value_get(list, "threads")), 2);
    value_unref(list);
    list = call_as(&users, users.served.client, "run/list", "{}");
    assert_int_equal(value_count(value_get(list, "runs")), 3);
    value_unref(list);
    expect_as(&users, users.served.client, "run/cancel", "{\"run_id\":\"@a:r\"}", "{}");
    fails_as(&users, users.served.client, "run/get", "{\"run_id\":\"r\"}", "NOT_FOUND");
    users_close(&users);
}

/* With such a name, ids of owners could not be distinguished. */
static void owners_without_a_valid_name_reach_nothing(void **state) {
    static const char *const names[] = {"", "A", "a b", "a:", "@a", "abcdefghijklmnopqrstuvwxyz0123456789"};
    struct users users;
    (void)state;
    users_open(&users, "memory");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct client *client = user_client(&users, names[i], METHOD_ADMIN);
        struct error error = ERROR_INIT;
        tn_value params = served_json("{\"events\":[\"run/started\"]}");
        fails_as(&users, client, "run/list", "{}", "PERMISSION_DENIED");
        fails_as(&users, client, "memory/search", "{}", "PERMISSION_DENIED");
        assert_null(method_subscribe(client, params, &error));
        assert_string_equal(error.code, "PERMISSION_DENIED");
        error_finish(&error);
        value_unref(params);
        client_free(client);
    }
    users_close(&users);
}

/* A run of the operator with the id of a user is the user's. */
static void the_operator_acts_for_users(void **state) {
    struct users users;
    (void)state;
    users_open(&users, "memory");
    users_write("hello", HELLO);
    tn_value run = run_as(&users, users.served.client, "hello", "{\"config\":{\"thread_id\":\"@a:t\"}}");
    tn_value id = value_get(run, "run_id");
    assert_true(owner_has("a", value_chars(id, NULL)));
    value_unref(run);
    run = run_as(&users, users.served.client, "hello", "{\"config\":{\"thread_id\":\"@a:u\",\"run_id\":\"r\"}}");
    is_text(run, "run_id", "@a:r");
    value_unref(run);
    value_unref(call_as(&users, users.a, "run/get", "{\"run_id\":\"r\"}"));
    fails_as(&users, users.b, "run/get", "{\"run_id\":\"r\"}", "NOT_FOUND");
    fails_as(&users, users.b, "run/get", "{\"run_id\":\"@a:r\"}", "NOT_FOUND");
    fails_as(&users, users.served.client, "run/start",
             "{\"document\":\"graph:hello\",\"config\":{\"thread_id\":\"@a:v\",\"run_id\":\"@b:r\"}}", "NOT_FOUND");
    value_unref(call_as(&users, users.a, "thread/get", "{\"thread_id\":\"t\"}"));
    users_close(&users);
}

/* {namespace: [so many names], key, value}; free it with mem_free. */
static char *deep_memory(int names) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    for (int i = 0; i < names; i++) buffer_format(&text, "%s\"%d\"", i ? "," : "{\"namespace\":[", i);
    buffer_text(&text, "],\"key\":\"k\",\"value\":1}");
    return buffer_detach(&text, NULL);
}

/* A namespace of a user can be as deep as one of the operator. */
static void limits_are_the_same(void **state) {
    struct users users;
    char params[1200], long_id[200];
    (void)state;
    users_open(&users, "memory");
    for (int i = 0; i < 2; i++) {
        struct client *user = i ? users.a : users.served.client;
        char *most = deep_memory(MEMORY_DEPTH_MAX), *more = deep_memory(MEMORY_DEPTH_MAX + 1);
        value_unref(call_as(&users, user, "memory/put", most));
        fails_as(&users, user, "memory/put", more, "INVALID_INPUT");
        mem_free(more);
        mem_free(most);
        fails_as(&users, user, "memory/put", "{\"namespace\":[],\"key\":\"k\",\"value\":1}", "INVALID_INPUT");
        fails_as(&users, user, "task/get", "{\"task_id\":\"a\\u0000b\"}", "INVALID_INPUT");
    }
    memset(long_id, 'x', sizeof long_id - 1);
    long_id[sizeof long_id - 1] = 0;
    snprintf(params, sizeof params, "{\"thread_id\":\"%s\"}", long_id);
    fails_as(&users, users.a, "thread/get", params, "INVALID_INPUT");
    users_close(&users);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_reach_nothing_of_each_other),
        cmocka_unit_test(info_lists_what_users_may_call),
        cmocka_unit_test(users_have_the_same_names),
        cmocka_unit_test(owners_without_a_valid_name_reach_nothing),
        cmocka_unit_test(the_operator_acts_for_users),
        cmocka_unit_test(limits_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
