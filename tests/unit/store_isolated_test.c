/*
 * store_isolated_test.c - a store in a separate process that lies, dies, hangs, or asks for too much.
 *
 * The hostile store is tests/isolate/hostile_store.py: a request says what to do. store_test.c runs the corpus with an
 * isolated store that works.
 */
#include "tests/unit/sanitized.h"
#include "tests/unit/store_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "host/base/clock.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/plugin/isolate/remote_deaths.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/isolate/remote_store.h"

#define HOSTILE "test.hostile_store"

static struct opened hostile;

static struct remote *hostile_remote(void) { return plugin_self(registry_plugin(fixture_host.registry, HOSTILE)); }

static void location(char path[128], const char *name) { snprintf(path, 128, "%s/%s", fixture_folder, name); }

/* Opens it at `name` in the fixture's folder. Returns false with fixture_error. */
static bool hostile_open(const char *name, const char *options) {
    char path[128];
    tn_value error = NULL;
    location(path, name);
    struct plugin *plugin = registry_plugin(fixture_host.registry, HOSTILE);
    hostile = (struct opened){plugin_interface(plugin, TN_STORE_DRAFT), NULL};
    assert_ptr_equal(hostile.vtable, &remote_store);
    tn_value given = value_set_take(fixture_json(options), "path", value_text(path));
    int32_t status = hostile.vtable->open(plugin_self(plugin), given, &hostile.store, &error);
    value_unref(given);
    assert_int_equal(status == TN_OK, hostile.store != NULL);
    assert_int_equal(status == TN_OK, error == NULL);
    if (error) fixture_set_error(error);
    return status == TN_OK;
}

static int hostile_begin(void **state) {
    (void)state;
    fixture_isolated = true;
    fixture_begin(NULL);
    fixture_load_file(TENON_SOURCE_DIR "/tests/isolate/hostile_store.py", HOSTILE);
    if (!hostile_open("store", "{}")) fail_msg("%s", fixture_message());
    return 0;
}

static int hostile_end(void **state) {
    (void)state;
    fixture_close(&hostile);
    fixture_end();
    return 0;
}

/* The value of the record that a query answers with; a new reference, or NULL with fixture_error. */
static tn_value tell(const char *what, const char *text) {
    tn_value key = value_set_take(value_object(), "collection", value_text(what));
    key = value_set_take(key, "key", value_text(text));
    tn_value query = value_set_take(value_object(), "get", key), result = fixture_query_value(&hostile, query);
    tn_value value = result ? value_ref(value_get(result, "value")) : NULL;
    value_unref(result);
    value_unref(query);
    return value;
}

static int64_t pid(void) {
    tn_value value = tell("pid", "");
    if (!value) fail_msg("%s", fixture_message());
    int64_t found = value_to_int(value);
    value_unref(value);
    return found;
}

static bool is_retryable(void) { return value_to_bool(value_get(fixture_error, "retryable")); }

static void expect_lost(tn_value result, const char *part, bool retryable) {
    fixture_is_error(result, "STORE_ERROR", part);
    assert_int_equal(is_retryable(), retryable);
    assert_true(value_is(value_get(fixture_error, "retry_after_ms"), TN_INT));
}

/* ---- Lies ---- */

static const struct {
    const char *request, *part; /* a batch if it begins with [ */
} lies[] = {
    {"[{'op': 'put', 'key': 'null'}]", "it must be an array; found null"},
    {"[{'op': 'put', 'key': '[]'}]", "it has 0 results, but the batch has 1 operations"},
    {"[{'op': 'put', 'key': '[{}, {}]'}]", "it has 2 results, but the batch has 1 operations"},
    {"[{'op': 'put', 'key': '[1]'}]", "result 0, of a `put`, must be an object; found int"},
    {"[{'op': 'put', 'key': '[{}]'}]",
     "`version` of result 0, of a `put`, must be an integer of at least 1; found nothing"},
    {"[{'op': 'put', 'key': '[{@version@: 0}]'}]", "`version` of result 0"},
    {"[{'op': 'merge', 'key': '[{@version@: 1}]'}]",
     "`value` of result 0, of a `merge`, must be a value; found nothing"},
    {"[{'op': 'delete_range', 'from': '[{@count@: -1}]'}]", "`count` of result 0"},
    {"[{'op': 'take', 'key': '[{@key@: 5}]'}]", "`key` of result 0, of a `take`, must be a string"},
    {"[{'op': 'nothing', 'key': '[{}]'}]", "it applied the operation 0, which does not exist"},
    {"{'get': {'key': '5'}}", "it must be an object; found int"},
    {"{'get': {'key': '{@version@: 1}'}}", "`value` of it must be a value; found nothing"},
    {"{'count': {'from': '-1'}}", "it must be an integer of at least 0"},
    {"{'count': {'from': '1.5'}}", "it must be an integer of at least 0; found double"},
    {"{'list': {'from': '[]'}}", "it must be an object; found array"},
    {"{'list': {'from': '{@records@: [], @more@: 1}'}}", "`more` of it must be true or false"},
    {"{'list': {'from': '{@records@: [], @more@: true}'}}", "it has `more` and no records"},
    {"{'list': {'from': '{@records@: [{@key@: @a@, @version@: 1}], @more@: false}'}}", "`value` of record 0"},
    {"{'list': {'limit': 1, 'keys_only': true, 'from': '{@records@: [{@key@: @a@, @version@: 1}, {@key@: @b@, "
     "@version@: "
     "1}], @more@: false}'}}",
     "it has 2 records; the limit is 1"},
    {"{'list': {'keys_only': true, 'from': '{@records@: [{@key@: @b@, @version@: 1}, {@key@: @a@, @version@: 1}], "
     "@more@: "
     "false}'}}",
     "the key of record 1 does not follow"},
    {"{'list': {'keys_only': true, 'after': 'a', 'from': '{@records@: [{@key@: @a@, @version@: 1}], @more@: true}'}}",
     "the key of record 0 does not follow"},
    {"{'search': {'from': '{@records@: [{@key@: @a@, @version@: 1, @value@: 1}]}'}}", "`score` of record 0"},
};

/* `'` and `@` are written for quotes, the second inside a string; the collection is `answer`. */
static tn_value lie_request(const char *text) {
    struct buffer json;
    buffer_init(&json, SIZE_MAX);
    for (const char *at = text; *at; at++) {
        const char *brace = strchr(text + 1, '{');
        if (*at == '\'')
            buffer_char(&json, '"');
        else if (*at == '@')
            buffer_text(&json, "\\\"");
        else
            buffer_char(&json, *at);
        if (at == brace) buffer_text(&json, "\"collection\": \"answer\", ");
    }
    tn_value request = fixture_json(buffer_cstr(&json));
    buffer_finish(&json);
    return request;
}

static void lies_are_errors_and_cost_nothing(void **state) {
    (void)state;
    int64_t before = pid();
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        tn_value request = lie_request(lies[i].request);
        bool batch = value_is(request, TN_ARRAY);
        tn_value result = batch ? fixture_commit_value(&hostile, request) : fixture_query_value(&hostile, request);
        fixture_is_error(result, "STORE_ERROR", lies[i].part);
        if (!strstr(fixture_message(), batch ? "its answer to `store_commit` is wrong" : "`store_query` is wrong"))
            fail_msg("%s", fixture_message());
        assert_false(is_retryable());
        value_unref(request);
    }
    tn_value request = lie_request("{'get': {'key': '[1]'}}");
    fixture_is_error(fixture_query_value(&hostile, request), "STORE_ERROR", NULL);
    value_unref(request);
    fixture_is_error(fixture_maintain(&hostile), "STORE_ERROR", "its answer to `store_maintain` is wrong: it must be");
    assert_int_equal(pid(), before);
}

/* What `tenon store copy` relies on: without it, a copy could miss records, or never end. */
static void lies_about_a_copy_are_found(void **state) {
    (void)state;
    static const struct {
        const char *query, *result, *part; /* NULL: it is as promised */
    } answers[] = {
        {"{\"collections\": {}}", "{\"collections\": [\"a\", \"b\"]}", NULL},
        {"{\"collections\": {}}", "{\"collections\": [\"b\", \"a\"]}", "collection 1 does not follow"},
        {"{\"collections\": {}}", "{\"collections\": [\"a\", \"a\"]}", "collection 1 does not follow"},
        {"{\"collections\": {}}", "{\"collections\": [1]}", "the name of collection 0 must be a string"},
        {"{\"collections\": {}}", "{\"collections\": {}}", "`collections` of it must be an array"},
        {"{\"collections\": {}}", "7", "it must be an object"},
        {"{\"format\": {}}", "{\"version\": 2, \"before\": 0}", NULL},
        {"{\"format\": {}}", "{\"version\": 0, \"before\": 0}", "`version` of it must be an integer of at least 1"},
        {"{\"format\": {}}", "{\"version\": 1}", "`before` of it must be an integer of at least 0"},
        {"{\"list\": {\"attributes\": true}}",
         "{\"records\": [{\"key\": \"a\", \"version\": 1, \"value\": 1, \"text\": \"w\", \"vector\": [1], "
         "\"expires_at\": 5}], \"more\": false}",
         NULL},
        {"{\"list\": {}}",
         "{\"records\": [{\"key\": \"a\", \"version\": 1, \"value\": 1, \"text\": 5}], \"more\": false}",
         "`text` of record 0"},
        {"{\"list\": {}}",
         "{\"records\": [{\"key\": \"a\", \"version\": 1, \"value\": 1, \"vector\": 5}], \"more\": false}",
         "`vector` of record 0"},
        {"{\"list\": {}}",
         "{\"records\": [{\"key\": \"a\", \"version\": 1, \"value\": 1, \"expires_at\": \"x\"}], \"more\": false}",
         "`expires_at` of record 0"},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        tn_value query = fixture_json(answers[i].query), result = fixture_json(answers[i].result),
                 why = remote_store_check_query(query, result);
        if (!answers[i].part)
            assert_null(why);
        else if (!why || !strstr(value_chars(why, NULL), answers[i].part))
            fail_msg("%s: expected `%s`; found %s", answers[i].result, answers[i].part,
                     why ? value_chars(why, NULL) : "nothing");
        value_unref(query);
        value_unref(result);
        value_unref(why);
    }
}

static void errors_have_a_form(void **state) {
    (void)state;
    static const struct {
        const char *error, *code, *message;
    } rows[] = {
        {"{\"code\": -32000, \"message\": \"no\", \"data\": {\"code\": \"CONFLICT\", \"message\": \"changed\"}}",
         "CONFLICT", "changed"},
        {"{\"code\": -32601, \"message\": \"no such method\"}", "STORE_ERROR", "no such method"},
        {"{\"code\": -32000, \"message\": \"no\", \"data\": \"a text\"}", "STORE_ERROR", "a text"},
        {"{\"data\": {\"code\": 5}}", "STORE_ERROR", "failed without an error message"},
        {"7", "STORE_ERROR", NULL},
        {"{\"data\": {\"code\": \"STORE_BUSY\", \"message\": \"later\", \"retryable\": true}}", "STORE_BUSY", "later"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        fixture_is_error(tell("error", rows[i].error), rows[i].code, rows[i].message);
    assert_true(is_retryable());
}

static void what_does_not_concern_a_store_is_ignored(void **state) {
    (void)state;
    tn_value found = tell("chatter", "");
    if (!found) fail_msg("%s", fixture_message());
    value_unref(tell("print", "a line"));
    found = tell("http", "");
    assert_true(value_text_is(
        found, "the process of a store cannot make requests over HTTP; declare net:raw, and open connections"));
    value_unref(found);
}

/* ---- Deaths ---- */

static void the_next_request_starts_it_again(void **state) {
    (void)state;
    char folder[128];
    location(folder, "deaths");
    fixture_services.state_folder = folder;
    /* The store's thread does not use the loop, so its clock does not matter. */
    int64_t start_ms = clock_wall_ms();
    loop_fake_clock(fixture_services.loop);
    int64_t first = pid();
    expect_lost(fixture_commit(&hostile, "[{\"op\": \"put\", \"collection\": \"die\", \"key\": \"\", \"value\": 1}]"),
                "exited with status 7; whether the batch was applied is not known", false);
    int64_t second = pid();
    assert_int_not_equal(first, second);
    expect_lost(tell("die", ""), "exited with status 7; the query was not answered", true);
    int64_t third = pid();
    /* A process that ends while no request is in it loses nothing. */
    siginfo_t ended;
    assert_int_equal(kill((pid_t)third, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)third, &ended, WEXITED | WNOWAIT), 0);
    assert_int_not_equal(pid(), third);
    tn_value record = deaths_read(folder, HOSTILE);
    assert_int_equal(value_to_int(value_get(record, "deaths")), 3);
    assert_int_equal(value_to_int(value_get(record, "in_a_row")), 1);
    assert_true(value_to_int(value_get(record, "last_ms")) >= start_ms);
    value_unref(record);
}

static void a_long_pause_is_not_waited_for(void **state) {
    (void)state;
    char folder[128];
    location(folder, "deaths");
    fixture_services.state_folder = folder;
    tn_value found = NULL;
    int64_t deaths = 0;
    /* The second attempt is for a machine that stands still for longer than the pause. */
    for (int attempt = 0; attempt < 5 && (attempt == 0 || found); attempt++) {
        value_unref(found);
        hostile_remote()->store_pause_ms = REMOTE_STORE_PAUSE_MS;
        for (int i = 0; i < 2; i++, deaths++) expect_lost(tell("die", ""), "exited with status 7", true);
        hostile_remote()->store_pause_ms = 0;
        found = tell("pid", "");
    }
    expect_lost(found, "has ended 2 times in a row; it is started again in", true);
    /* `tenon plugin reset`, of another process */
    assert_int_equal(deaths_clear(folder, HOSTILE), deaths);
    assert_true(pid() > 0);
}

static void a_process_that_hangs_is_killed(void **state) {
    (void)state;
    hostile_remote()->store_ms = 200;
    expect_lost(tell("hang", ""), "it did not answer `store_query` within 200 ms; the query was not answered", true);
    expect_lost(tell("raw", "no protocol at all\r\n\r\n"), "it sent an invalid message", true);
    hostile_remote()->store_ms = REMOTE_STORE_MS;
    assert_true(pid() > 0);
}

static void opening_can_fail(void **state) {
    (void)state;
    fixture_close(&hostile);
    assert_false(hostile_open("store", "{\"open\": \"die\"}"));
    expect_lost(NULL, "exited with status 7; the store was not opened", true);
    assert_false(
        hostile_open("store", "{\"refuse\": {\"data\": {\"code\": \"STORE_CORRUPT\", \"message\": \"damaged\"}}}"));
    fixture_is_error(NULL, "STORE_CORRUPT", "damaged");
    hostile_remote()->store_ms = 200;
    assert_false(hostile_open("store", "{\"open\": \"hang\"}"));
    expect_lost(NULL, "it did not answer `store_open` within 200 ms; the store was not opened", true);
}

/* ---- On the thread of a store ---- */

/* As a host uses it. The first open fails because the process ends; the next request opens it again. */
static void the_thread_of_a_store_waits(void **state) {
    (void)state;
    char path[128];
    struct error error = ERROR_INIT;
    location(path, "threaded/x");
    tn_value options = value_set_take(value_object(), "use", value_text(HOSTILE)), found = NULL;
    options = value_set_take(value_set_take(options, "path", value_text(path)), "open", value_text("die once"));
    const struct store_from from = {fixture_host.loop, fixture_host.registry, NULL};
    struct store *store = store_open(&from, options, &error);
    value_unref(options);
    if (!store) fail_msg("%s", error.message);
    assert_int_not_equal(store_query_wait(store, store_get("pid", ""), &found, &error), TN_OK);
    assert_string_equal(error.code, "STORE_ERROR");
    assert_non_null(strstr(error.message, "the store was not opened"));
    if (store_query_wait(store, store_get("pid", ""), &found, &error) != TN_OK) fail_msg("%s", error.message);
    assert_true(value_to_int(value_get(found, "value")) > 0);
    value_unref(found);
    assert_int_not_equal(store_query_wait(store, store_get("die", ""), &found, &error), TN_OK);
    store_close(store);
    error_finish(&error);
}

/* ---- Limits ---- */

static tn_value big_put(char key, size_t size) {
    char *text = mem_alloc(size), name[2] = {key, 0};
    memset(text, 'x', size);
    tn_value put = value_set_take(value_object(), "op", value_text("put"));
    put = value_set_take(put, "collection", value_text("c"));
    put = value_set_take(put, "key", value_text(name));
    put = value_set_take(put, "value", value_bytes(text, size));
    mem_free(text);
    return put;
}

static void a_batch_has_a_limit(void **state) {
    (void)state;
    if (SANITIZED) skip(); /* 64 MiB of JSON take a sanitizer many seconds */
    int64_t before = pid();
    tn_value batch = value_array();
    for (int i = 0; i < 4; i++) batch = value_push_take(batch, big_put('a', TN_STORE_VALUE_MAX));
    fixture_is_error(fixture_commit_value(&hostile, batch), "LIMIT",
                     "the request `store_commit` is longer than the 64 MiB that can be sent");
    value_unref(batch);
    assert_int_equal(pid(), before);
}

/* 4 values of 16 MiB need 85 MiB as base64. */
static void a_page_ends_before_the_limit(void **state) {
    (void)state;
    if (SANITIZED) skip();
    fixture_isolated = true;
    fixture_begin("memory");
    struct opened store = fixture_open("memory", "{}");
    for (int key = 'a'; key < 'e'; key++) {
        tn_value batch = value_push_take(value_array(), big_put((char)key, TN_STORE_VALUE_MAX));
        tn_value result = fixture_commit_value(&store, batch);
        if (!result) fail_msg("%s", fixture_message());
        value_unref(result);
        value_unref(batch);
    }
    tn_value page = fixture_query(&store, "{\"list\": {\"collection\": \"c\"}}");
    if (!page) fail_msg("%s", fixture_message());
    assert_int_equal(value_count(value_get(page, "records")), 2);
    assert_true(value_to_bool(value_get(page, "more")));
    value_unref(page);
    fixture_close(&store);
    fixture_end();
}

/* ---- The sandbox ---- */

static void expect_told(const char *what, const char *path, const char *json) {
    tn_value found = tell(what, path), expected = fixture_json(json);
    if (!found) fail_msg("%s", fixture_message());
    if (!value_equal(found, expected)) fail_msg("%s %s: found %s", what, path, json_text(found, JSON_COMPACT));
    value_unref(found);
    value_unref(expected);
}

static void only_the_location_is_granted(void **state) {
    (void)state;
    char path[128], beside[160];
    fixture_close(&hostile);
    location(path, "file");
    assert_int_equal(mkdir(path, 0700), 0);
    if (!hostile_open("file/x.db", "{}")) fail_msg("%s", fixture_message());
    snprintf(beside, sizeof beside, "%s/x.db-journal", path);
    expect_told("write", beside, "1");
    expect_told("list", path, "[\"x.db-journal\"]");
    expect_told("list", fixture_folder, "\"Permission denied\"");
    location(beside, "other");
    expect_told("write", beside, "\"Permission denied\"");
    fixture_close(&hostile);
    /* A folder is granted as it is, whatever it contains. */
    if (!hostile_open("file", "{}")) fail_msg("%s", fixture_message());
    snprintf(beside, sizeof beside, "%s/y", path);
    expect_told("write", beside, "1");
    fixture_close(&hostile);
    assert_false(hostile_open("file/x.db", "{}"));
    fixture_is_error(NULL, "INVALID", "`y`, which is in it, does not belong to the store");
}

static void a_link_is_not_followed(void **state) {
    (void)state;
    char path[128], folder[PATH_MAX], target[PATH_MAX];
    tn_value error = NULL;
    location(path, "store");
    assert_int_equal(symlink("/etc", path), 0);
    assert_true(remote_store_folder(path, folder, &error));
    assert_string_equal(folder, fixture_folder);
    snprintf(target, sizeof target, "%s//", path);
    assert_true(remote_store_folder(target, folder, &error));
    assert_string_equal(folder, fixture_folder);
    assert_false(remote_store_folder("/etc/no-such-store", folder, &error));
    assert_non_null(
        strstr(value_chars(value_get(error, "message"), NULL), "which may change everything in the folder /etc"));
    value_unref(error);
    assert_false(remote_store_folder("relative", folder, &error));
    value_unref(error);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
#define HOSTILE_TEST(name) cmocka_unit_test_setup_teardown(name, hostile_begin, hostile_end)
        HOSTILE_TEST(lies_are_errors_and_cost_nothing),
        HOSTILE_TEST(errors_have_a_form),
        HOSTILE_TEST(what_does_not_concern_a_store_is_ignored),
        HOSTILE_TEST(the_next_request_starts_it_again),
        HOSTILE_TEST(a_long_pause_is_not_waited_for),
        HOSTILE_TEST(a_process_that_hangs_is_killed),
        HOSTILE_TEST(opening_can_fail),
        HOSTILE_TEST(the_thread_of_a_store_waits),
        HOSTILE_TEST(a_batch_has_a_limit),
        cmocka_unit_test(a_page_ends_before_the_limit),
        cmocka_unit_test(lies_about_a_copy_are_found),
        HOSTILE_TEST(only_the_location_is_granted),
        HOSTILE_TEST(a_link_is_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
