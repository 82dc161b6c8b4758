/*
 * store_postgres_test.c - the store in PostgreSQL: the conformance suite, and what its operators meet.
 */
#include "tests/unit/postgres_fixture.h"

#include "host/plugin/conformance/store_cases.h"
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* ---- The conformance suite ---- */

static unsigned failed_cases;

static void on_set_elapsed(void *user, int64_t ms) {
    (void)user;
    loop_fake_clock(fixture_host.loop);
    loop_fake_advance(fixture_host.loop, ms);
}

static void on_failed(void *user, const char *where, const char *message) {
    (void)user;
    failed_cases++;
    print_error("%s: %s\n", where, message);
}

static unsigned run_cases(const char *more) {
    postgres_begin();
    struct plugin *plugin = registry_plugin(fixture_host.registry, "tenon.postgres");
    tn_value options = fixture_json(postgres_options(more));
    struct store_cases cases = {.vtable = plugin_interface(plugin, TN_STORE_DRAFT),
                                .self = plugin_self(plugin),
                                .folder = fixture_folder,
                                .options = options,
                                .set_elapsed = on_set_elapsed,
                                .failed = on_failed,
                                .messages = true,
                                .shares_store = true};
    failed_cases = 0;
    for (size_t i = 0; i < store_cases_file_count; i++) store_cases_run(&cases, &store_cases_files[i]);
    store_cases_finish(&cases);
    value_unref(options);
    fixture_end();
    assert_int_equal(failed_cases, 0);
    return cases.count;
}

/* Without an index, and with those of query.txt. */
static void every_case_holds(void **state) {
    (void)state;
    assert_true(run_cases("\"clock\": \"host\"") > 40);
    assert_true(run_cases("\"clock\": \"host\", \"indexes\": {\"t\": [[\"state\", \"p\"], [\"owner.name\"], [\"a\"], "
                          "[\"n\"]], \"c\": [[\"n\"], [\"a\"], [\"v\"], [\"s\"]]}") > 40);
}

/* Without session state and prepared statements. */
static void every_case_holds_behind_a_pooler(void **state) {
    (void)state;
    assert_true(run_cases("\"clock\": \"host\", \"pooler\": \"session\"") > 40);
}

/* The plugin finds out that there is a pooler. */
static void pgbouncer_is_recognised(const char *mode) {
    if (!postgres_runs || !postgres_pool("start", mode)) skip();
    postgres_begin();
    struct opened store = postgres_open("");
    assert_int_equal(store.vtable->watch(store.store, NULL, NULL), TN_UNSUPPORTED);
    for (int i = 0; i < 20; i++) {
        fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"a\", \"value\": 1}]");
        assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\", \"where\": {\"x\": null}}}"), 1);
    }
    fixture_close(&store);
    fixture_end();
    (void)postgres_pool("stop", mode);
}

static void pgbouncer_can_pool_sessions(void **state) {
    (void)state;
    pgbouncer_is_recognised("session");
}

static void pgbouncer_can_pool_transactions(void **state) {
    (void)state;
    pgbouncer_is_recognised("transaction");
}

/* Two stores share connections of the server, although they believe that there is no pooler: their prepared statements
 * have the same names. */
static void a_pooler_that_is_not_recognised_is_found_out(void **state) {
    (void)state;
    if (!postgres_runs || !postgres_pool("start", "transaction")) skip();
    postgres_begin();
    struct opened a = postgres_open("\"pooler\": \"none\""), b = postgres_open("\"pooler\": \"none\"");
    for (int i = 0; i < 20; i++) {
        fixture_do(&a, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"a\", \"value\": 1}]");
        fixture_do(&b, "[{\"op\": \"put\", \"collection\": \"d\", \"key\": \"a\", \"value\": 1},"
                       " {\"op\": \"merge\", \"collection\": \"c\", \"key\": \"b\", \"patch\": {\"x\": 1}}]");
        assert_int_equal(fixture_number(&a, "{\"count\": {\"collection\": \"c\", \"where\": {\"x\": 1}}}"), 1);
        assert_int_equal(fixture_number(&b, "{\"count\": {\"collection\": \"d\"}}"), 1);
    }
    fixture_close(&b);
    fixture_close(&a);
    fixture_end();
    (void)postgres_pool("stop", "transaction");
}

/* ---- Options and failures to open ---- */

static void cannot_open(const char *options, const char *code, const char *part) {
    struct opened store = fixture_open_path("postgres", NULL, options);
    assert_null(store.store);
    fixture_is_error(NULL, code, part);
    assert_null(strstr(fixture_message(), "geheim")); /* a password */
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    postgres_begin();
    cannot_open("{\"ulr\": \"\"}", "INVALID", "did you mean `url`?");
    cannot_open("{\"url\": 5}", "INVALID", "`url`");
    cannot_open("{\"url\": \"\"}", "INVALID", "`url`");
    cannot_open("{\"url\": \"postgresql://user:geheim@[host\"}", "INVALID", "not a connection string");
    cannot_open("{\"url\": \"password=geheim geheim\"}", "INVALID", "not a connection string");
    cannot_open("{\"schema\": \"pg_x\"}", "INVALID", "`schema`");
    cannot_open("{\"schema\": \"a\\\\b\"}", "INVALID", "`schema`");
    cannot_open("{\"schema\": \"1234567890123456789012345678901234567890123456789012345678901234\"}", "INVALID",
                "1 to 63 bytes");
    cannot_open("{\"sync\": \"normal\"}", "INVALID", "full or off");
    cannot_open("{\"pooler\": \"x\"}", "INVALID", "auto, none or session");
    cannot_open("{\"clock\": 1}", "INVALID", "database or host");
    cannot_open("{\"busy_ms\": 0}", "INVALID", "busy_ms");
    cannot_open("{\"url\": \"host=/nowhere dbname=x user=y password=geheim\"}", "STORE_ERROR", "cannot connect");
    cannot_open("{\"url\": \"host=/nowhere dbname=x user=y\", \"password\": \"geheim\"}", "STORE_ERROR", "/nowhere");
    cannot_open("{\"service\": \"geheim2\", \"password\": \"geheim\"}", "STORE_ERROR", "***");
    fixture_end();
}

static void a_strange_schema_name_works(void **state) {
    (void)state;
    char options[512];
    postgres_begin();
    snprintf(options, sizeof options, "{\"url\": \"host=%s dbname=tenon user=tenon\", \"schema\": \"Q'uo\\\"te %s\"}",
             postgres_folder, postgres_schema());
    for (int i = 0; i < 2; i++) {
        struct opened store = fixture_open("postgres", options);
        fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"a\", \"value\": 1}]");
        assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 1);
        fixture_close(&store);
    }
    fixture_end();
}

/* A newer release has upgraded the schema while this one was running. */
static void a_newer_schema_is_refused(void **state) {
    (void)state;
    postgres_begin();
    struct opened store = postgres_open("");
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"a\", \"value\": 1}]");
    postgres_sql("UPDATE @.meta SET version = 99");
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"delete\", \"collection\": \"c\", \"key\": \"a\"}]"),
                     "STORE_VERSION", "version 99");
    fixture_close(&store);
    cannot_open(postgres_options(""), "STORE_VERSION", "version 99");
    assert_int_equal(postgres_sql("SELECT count(*) FROM @.records"), 1);
    fixture_end();
}

static void a_schema_of_another_application_is_refused(void **state) {
    (void)state;
    postgres_begin();
    postgres_sql("CREATE SCHEMA @");
    postgres_sql("CREATE TABLE @.records (a int)");
    cannot_open(postgres_options(""), "STORE_ERROR", "another application");
    postgres_sql("CREATE TABLE @.meta (application text, version int, incarnation int8, epoch int8)");
    cannot_open(postgres_options(""), "STORE_CORRUPT", "one row");
    postgres_sql("INSERT INTO @.meta VALUES ('x', 1, 1, 1)");
    cannot_open(postgres_options(""), "STORE_ERROR", "another application");
    assert_int_equal(postgres_sql("SELECT count(*) FROM pg_tables WHERE schemaname = '@'"), 2);
    fixture_end();
}

/* Restored from a backup, or created again: the numbers of collections are different. */
static void a_replaced_schema_is_noticed(void **state) {
    (void)state;
    postgres_begin();
    struct opened store = postgres_open(""), other;
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"first\", \"key\": \"a\", \"value\": 1}]");
    postgres_sql("DROP SCHEMA @ CASCADE");
    other = postgres_open("");
    fixture_do(&other, "[{\"op\": \"put\", \"collection\": \"second\", \"key\": \"b\", \"value\": 1}]");
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"first\", \"key\": \"a\", \"value\": 2}]");
    assert_int_equal(fixture_number(&other, "{\"count\": {\"collection\": \"first\"}}"), 1);
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"second\"}}"), 1);
    postgres_sql("DROP TABLE @.texts");
    fixture_is_error(fixture_query(&store, "{\"list\": {\"collection\": \"first\", \"attributes\": true}}"),
                     "STORE_CORRUPT", NULL);
    fixture_close(&store);
    fixture_close(&other);
    fixture_end();
}

/* ---- Rights ---- */

static void a_read_only_server_is_reported(void **state) {
    (void)state;
    char options[512];
    postgres_begin();
    struct opened store = postgres_open("");
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"a\", \"value\": 1}]");
    fixture_close(&store);
    snprintf(options, sizeof options,
             "{\"url\": \"host=%s dbname=tenon user=tenon options='-c default_transaction_read_only=on'\", \"schema\": "
             "\"%s\"}",
             postgres_folder, postgres_schema());
    store = fixture_open("postgres", options);
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 1);
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"delete\", \"collection\": \"c\", \"key\": \"a\"}]"),
                     "STORE_READ_ONLY", "primary");
    fixture_close(&store);
    store = postgres_open("\"read_only\": true");
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"delete\", \"collection\": \"c\", \"key\": \"a\"}]"),
                     "STORE_READ_ONLY", "read_only");
    fixture_close(&store);
    postgres_schemas++; /* an empty one */
    cannot_open(postgres_options("\"read_only\": true"), "STORE_READ_ONLY", "is empty");
    fixture_end();
}

static void a_user_without_rights_is_reported(void **state) {
    (void)state;
    char options[512];
    postgres_begin();
    struct opened store = postgres_open("");
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"a\", \"value\": 1}]");
    fixture_close(&store);
    postgres_sql("CREATE ROLE @ LOGIN");
    snprintf(options, sizeof options, "{\"url\": \"host=%s dbname=tenon user=%s\", \"schema\": \"%s\"}",
             postgres_folder, postgres_schema(), postgres_schema());
    cannot_open(options, "STORE_ERROR", "permission denied");
    postgres_sql("GRANT USAGE ON SCHEMA @ TO @");
    postgres_sql("GRANT SELECT ON ALL TABLES IN SCHEMA @ TO @");
    store = fixture_open("postgres", options);
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 1);
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"delete\", \"collection\": \"c\", \"key\": \"a\"}]"),
                     "STORE_READ_ONLY", "grant");
    fixture_close(&store);
    postgres_sql("DROP OWNED BY @");
    postgres_sql("DROP ROLE @");
    fixture_end();
}

/* ---- Other transactions ---- */

static void a_locked_record_is_skipped_or_waited_for(void **state) {
    (void)state;
    postgres_begin();
    struct opened store = postgres_open("\"busy_ms\": 50, \"indexes\": {\"t\": [[\"n\"]]}");
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"t\", \"key\": \"a\", \"value\": {\"n\": 1}},"
                       " {\"op\": \"put\", \"collection\": \"t\", \"key\": \"b\", \"value\": {\"n\": 2}}]");
    postgres_sql("BEGIN");
    postgres_sql("SELECT 1 FROM @.hot WHERE key = 'a' FOR UPDATE");
    static const char *const takes[] = {
        "[{\"op\": \"take\", \"collection\": \"t\", \"where\": {\"x\": null}, \"patch\": {\"x\": 1}}]",
        "[{\"op\": \"take\", \"collection\": \"t\", \"order\": [\"n\"], \"patch\": {\"x\": 2}}]",
        "[{\"op\": \"take\", \"collection\": \"t\", \"order\": [\"y\"], \"patch\": {\"x\": 3}}]"};
    for (size_t i = 0; i < 3; i++) {
        tn_value result = fixture_commit(&store, takes[i]);
        if (!result) fail_msg("%s", fixture_message());
        assert_true(value_text_is(value_get(value_at(result, 0), "key"), "b"));
        value_unref(result);
    }
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"delete\", \"collection\": \"t\", \"key\": \"a\"}]"),
                     "STORE_BUSY", "busy_ms");
    assert_non_null(value_get(fixture_error, "retryable"));
    postgres_sql("ROLLBACK");
    fixture_do(&store, "[{\"op\": \"delete\", \"collection\": \"t\", \"key\": \"a\"}]");
    fixture_close(&store);
    store = postgres_open("\"busy_ms\": 60000, \"timeout_ms\": 50");
    postgres_sql("BEGIN");
    postgres_sql("SELECT 1 FROM @.hot WHERE key = 'b' FOR UPDATE");
    fixture_is_error(fixture_commit(&store, "[{\"op\": \"delete\", \"collection\": \"t\", \"key\": \"b\"}]"),
                     "STORE_BUSY", "timeout_ms");
    postgres_sql("ROLLBACK");
    fixture_close(&store);
    fixture_end();
}

/* Each of several threads increments all counters, in another order. */
#define WRITERS    4
#define INCREMENTS 15

static struct plugin *writer_plugin;
static char writer_options[2048];
static atomic_int writer_failures;

static tn_value json_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static tn_value json_of(const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tn_value value = NULL;
    (void)json_read(text, strlen(text), NULL, &value, NULL);
    return value;
}

static bool writer_increment(const tn_store_draft *vtable, tn_store *store, int order) {
    tn_value read[2] = {NULL, NULL}, result = NULL, error = NULL;
    int64_t n[2] = {0, 0}, version[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        tn_value query = json_of("{\"get\": {\"collection\": \"c\", \"key\": \"%c\"}}", 'a' + i);
        (void)vtable->query(store, query, &read[i], NULL);
        value_unref(query);
        if (value_get(read[i], "value")) n[i] = value_to_int(value_get(read[i], "value"));
        if (value_get(read[i], "version")) version[i] = value_to_int(value_get(read[i], "version"));
        value_unref(read[i]);
    }
    int first = order & 1, second = 1 - first;
    tn_value batch = json_of(
        "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"%c\", \"value\": %lld, \"if\": {\"version\": %lld}},"
        " {\"op\": \"put\", \"collection\": \"c\", \"key\": \"%c\", \"value\": %lld, \"if\": {\"version\": %lld}}]",
        'a' + first, (long long)n[first] + 1, (long long)version[first], 'a' + second, (long long)n[second] + 1,
        (long long)version[second]);
    int32_t status = vtable->commit(store, batch, &result, &error);
    if (status != TN_OK && !value_text_is(value_get(error, "code"), "CONFLICT")) atomic_fetch_add(&writer_failures, 1);
    value_unref(batch);
    value_unref(result);
    value_unref(error);
    return status == TN_OK;
}

static void *writer_run(void *user) {
    const tn_store_draft *vtable = plugin_interface(writer_plugin, TN_STORE_DRAFT);
    tn_value options = value_set_take(json_of("%s", writer_options), "path", value_text("/x")), error = NULL;
    tn_store *store = NULL;
    if (vtable->open(plugin_self(writer_plugin), options, &store, &error) != TN_OK)
        atomic_fetch_add(&writer_failures, 1);
    for (int done = 0; store && done < INCREMENTS;) done += writer_increment(vtable, store, (int)(intptr_t)user);
    if (store) vtable->close(store);
    value_unref(options);
    value_unref(error);
    return NULL;
}

static void no_increment_of_many_writers_is_lost(void **state) {
    (void)state;
    pthread_t threads[WRITERS];
    postgres_begin();
    writer_plugin = registry_plugin(fixture_host.registry, "tenon.postgres");
    snprintf(writer_options, sizeof writer_options, "%s", postgres_options(""));
    for (intptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, writer_run, (void *)i), 0); /* NOLINT */
    for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&writer_failures), 0);
    struct opened store = postgres_open("");
    tn_value a = fixture_query(&store, "{\"get\": {\"collection\": \"c\", \"key\": \"a\"}}");
    tn_value b = fixture_query(&store, "{\"get\": {\"collection\": \"c\", \"key\": \"b\"}}");
    assert_int_equal(value_to_int(value_get(a, "value")), WRITERS * INCREMENTS);
    assert_int_equal(value_to_int(value_get(b, "version")), WRITERS * INCREMENTS);
    value_unref(a);
    value_unref(b);
    fixture_close(&store);
    fixture_end();
}

/* ---- Indexes ---- */

static void order_is(const struct opened *store, const char *query, const char *keys) {
    char found[256] = "";
    tn_value result = fixture_query(store, query);
    if (!result) fail_msg("%s: %s", query, fixture_message());
    tn_value records = value_get(result, "records");
    for (size_t i = 0; i < value_count(records); i++)
        strncat(found, value_chars(value_get(value_at(records, i), "key"), NULL), sizeof found - strlen(found) - 1);
    assert_string_equal(found, keys);
    value_unref(result);
}

/* A host that requests an index moves the records; another one, which was open before, then writes them there. */
static void an_index_is_created_for_existing_records(void **state) {
    (void)state;
    static const char list[] =
        "{\"list\": {\"collection\": \"c\", \"order\": [\"n\"], \"where\": {\"n\": {\"gt\": 0}}}}";
    postgres_begin();
    struct opened old = postgres_open("");
    for (int i = 0; i < 3; i++) {
        char batch[200];
        snprintf(batch, sizeof batch,
                 "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"%c\", \"value\": {\"n\": %d}}]", 'a' + i,
                 10 - i);
        fixture_do(&old, batch);
    }
    order_is(&old, list, "cba");
    struct opened new = postgres_open("\"indexes\": {\"c\": [[\"n\"], [\"m\", \"n\"]]}");
    assert_int_equal(postgres_sql("SELECT count(*) FROM @.hot"), 3);
    order_is(&old, list, "cba"); /* it does not look into the table where the records were */
    order_is(&new, list, "cba");
    fixture_do(&old, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"d\", \"value\": {\"n\": 8.5}},"
                     " {\"op\": \"merge\", \"collection\": \"c\", \"key\": \"a\", \"patch\": {\"n\": 1}}]");
    assert_int_equal(postgres_sql("SELECT count(*) FROM @.records"), 0);
    order_is(&new, list, "acdb");
    order_is(&old, list, "acdb");
    fixture_close(&new);
    /* As many indexes as columns, and more. */
    new =
        postgres_open("\"indexes\": {\"c\": [[\"n\"], [\"a\"], [\"b\"], [\"d\"], [\"e\"], [\"f\"], [\"g\"], [\"h\"]]}");
    order_is(&new, "{\"list\": {\"collection\": \"c\", \"order\": [\"h\", \"n\"]}}", "acdb");
    fixture_close(&new);
    fixture_close(&old);
    fixture_end();
}

/* Texts of an index are cut: the order and filters must not depend on that. */
static void long_texts_are_ordered(void **state) {
    (void)state;
    char batch[4096], x[600];
    memset(x, 'x', sizeof x);
    x[sizeof x - 1] = 0;
    postgres_begin();
    struct opened store = postgres_open("\"indexes\": {\"c\": [[\"s\"]]}");
    for (int i = 0; i < 4; i++) {
        snprintf(batch, sizeof batch,
                 "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"%c\", \"value\": {\"s\": \"%.*s%d\"}}]", 'a' + i,
                 i == 3 ? 10 : 599, x, 9 - i);
        fixture_do(&store, batch);
    }
    order_is(&store, "{\"list\": {\"collection\": \"c\", \"order\": [\"s\"]}}", "dcba");
    order_is(&store, "{\"list\": {\"collection\": \"c\", \"order\": [\"s\"], \"reverse\": true, \"limit\": 2}}", "ab");
    order_is(&store, "{\"list\": {\"collection\": \"c\", \"order\": [\"s\"], \"after\": \"c\"}}", "ba");
    snprintf(batch, sizeof batch, "{\"list\": {\"collection\": \"c\", \"where\": {\"s\": {\"lt\": \"%.599s8\"}}}}", x);
    order_is(&store, batch, "cd");
    snprintf(batch, sizeof batch, "{\"list\": {\"collection\": \"c\", \"where\": {\"s\": \"%.599s8\"}}}", x);
    order_is(&store, batch, "b");
    tn_value taken = fixture_commit(&store, "[{\"op\": \"take\", \"collection\": \"c\", \"where\": {\"s\": {\"gt\": "
                                            "\"xxxxxxxxxxxxxxxxx\"}}, \"order\": [\"s\"], \"patch\": {\"t\": 1}}]");
    assert_true(value_text_is(value_get(value_at(taken, 0), "key"), "c"));
    value_unref(taken);
    fixture_close(&store);
    fixture_end();
}

/* Lists pages of `limit` records until the end; the records must have t = 0, 1, … or the reverse. */
static void pages_are_ordered(struct opened *store, bool reverse, int count, int limit) {
    char query[400], after[80] = "";
    int seen = 0;
    for (bool more = true; more;) {
        snprintf(query, sizeof query,
                 "{\"list\": {\"collection\": \"c\", \"order\": [\"s\"], \"reverse\": %s, \"limit\": %d%s}}",
                 reverse ? "true" : "false", limit, after);
        tn_value result = fixture_query(store, query), records = value_get(result, "records");
        if (!result) fail_msg("%s", fixture_message());
        for (size_t i = 0; i < value_count(records); i++, seen++) {
            tn_value record = value_at(records, i);
            assert_int_equal(value_to_int(value_get(value_get(record, "value"), "t")),
                             reverse ? count - 1 - seen : seen);
            snprintf(after, sizeof after, ", \"after\": \"%s\"", value_chars(value_get(record, "key"), NULL));
        }
        more = value_to_bool(value_get(result, "more"));
        value_unref(result);
    }
    assert_int_equal(seen, count);
}

/* An index over the start of a text: records with equal starts are sorted. Nine of them have no text. */
static void starts_of_texts_are_ordered(void **state) {
    enum { COUNT = 700 };
    (void)state;
    postgres_begin();
    struct opened store = postgres_open("");
    tn_value batch = value_array();
    for (int i = 0; i < COUNT; i++) {
        int t = (i * 37) % COUNT;
        tn_value value = value_set_take(value_object(), "t", value_int(t));
        if (t >= 9) value = value_set_take(value, "s", value_format("hour%02d:%03d", t / 150, t));
        tn_value put = value_set_take(fixture_json("{\"op\": \"put\", \"collection\": \"c\"}"), "value", value);
        batch =
            value_push_take(batch, value_set_take(put, "key", value_format("%s%d", t < 9 ? "" : "k", t < 9 ? t : i)));
    }
    tn_value result = fixture_commit_value(&store, batch);
    value_unref(batch);
    if (!result) fail_msg("%s", fixture_message());
    value_unref(result);
    /* The records were there before the index. */
    struct opened other = postgres_open("\"indexes\": {\"c\": [[\"s:6\"], [\"n\", \"s:6\"]]}");
    assert_int_equal(postgres_sql("SELECT count(DISTINCT m1) FROM @.hot"), 6);
    for (int reverse = 0; reverse < 2; reverse++) {
        pages_are_ordered(&store, reverse, COUNT, 90);
        pages_are_ordered(&other, reverse, COUNT, 90);
        pages_are_ordered(&other, reverse, COUNT, 300);
    }
    result =
        fixture_query(&other, "{\"count\": {\"collection\": \"c\", \"where\": {\"s\": {\"lt\": \"hour00:011\"}}}}");
    assert_int_equal(value_to_int(result), 2);
    value_unref(result);
    fixture_close(&other);
    fixture_close(&store);
    fixture_end();
}

/* An entry of a B-tree has at most 2,704 bytes. */
static void long_keys_and_members_fit_into_an_index(void **state) {
    char text[1100];
    (void)state;
    postgres_begin();
    struct opened store = postgres_open("\"indexes\": {\"c\": [[\"a\", \"b\", \"d\", \"e\", \"f\", \"g\"]]}");
    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = (char)('!' + (i * i * 7919 + i * 31) % 90); /* not compressible */
    text[sizeof text - 1] = 0;
    tn_value value = value_object();
    for (const char *name = "a\0b\0d\0e\0f\0g\0"; *name; name += 2)
        value = value_set_take(value, name, value_text_n(text + *name, 500));
    tn_value put = value_set_take(fixture_json("{\"op\": \"put\", \"collection\": \"c\"}"), "value", value);
    put = value_set_take(put, "key", value_text_n(text, TN_STORE_KEY_MAX));
    tn_value batch = value_push_take(value_array(), put), result = fixture_commit_value(&store, batch);
    value_unref(batch);
    if (!result) fail_msg("%s", fixture_message());
    value_unref(result);
    fixture_close(&store);
    fixture_end();
}

/* ---- Sizes ---- */

static void large_values_and_batches_fit(void **state) {
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* one thread, and half a minute */
#endif
    postgres_begin();
    struct opened store = postgres_open("");
    size_t size = (size_t)TN_STORE_VALUE_MAX - 2;
    char *text = malloc(size + 1);
    memset(text, 'a', size);
    text[size] = 0;
    tn_value batch = value_array();
    for (int i = 0; i < 3; i++) {
        tn_value put =
            value_set_take(fixture_json("{\"op\": \"put\", \"collection\": \"c\"}"), "key", value_format("k%d", i));
        batch = value_push_take(batch, value_set_take(put, "value", value_string(text, size)));
    }
    tn_value result = fixture_commit_value(&store, batch);
    if (!result) fail_msg("%s", fixture_message());
    value_unref(result);
    value_unref(batch);
    free(text);
    result = fixture_query(&store, "{\"list\": {\"collection\": \"c\"}}");
    assert_int_equal(value_count(value_get(result, "records")), 3);
    value_unref(result);
    tn_value small = value_array();
    for (int i = 0; i < TN_STORE_BATCH_MAX; i++) {
        tn_value put = value_set_take(fixture_json("{\"op\": \"put\", \"collection\": \"d\", \"value\": 1}"), "key",
                                      value_format("%0*d", TN_STORE_KEY_MAX / 4, i));
        small = value_push_take(small, put);
    }
    result = fixture_commit_value(&store, small);
    if (!result) fail_msg("%s", fixture_message());
    value_unref(result);
    value_unref(small);
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"d\"}}"), TN_STORE_BATCH_MAX);
    result = fixture_query(&store, "{\"list\": {\"collection\": \"d\", \"limit\": 9999, \"keys_only\": true}}");
    assert_int_equal(value_count(value_get(result, "records")), 9999);
    value_unref(result);
    fixture_do(&store, "[{\"op\": \"delete_range\", \"collection\": \"d\"}]");
    fixture_close(&store);
    fixture_end();
}

/* ---- Reports of changes ---- */

static atomic_int reported;
static void on_changed(void *user) {
    (void)user;
    atomic_fetch_add(&reported, 1);
}

static void wait_for_report(int more_than) {
    const struct timespec pause = {0, 1000000};
    for (int i = 0; atomic_load(&reported) <= more_than; i++) {
        if (i > 20000) fail_msg("a change was not reported");
        nanosleep(&pause, NULL);
    }
}

static void a_change_is_reported(void **state) {
    (void)state;
    static const char change[] = "[{\"op\": \"put\", \"collection\": \"tasks\", \"key\": \"a\", \"value\": 1}]";
    postgres_begin();
    struct opened listener = postgres_open(""), writer = postgres_open("");
    atomic_store(&reported, 0);
    assert_int_equal(listener.vtable->watch(listener.store, on_changed, NULL), TN_OK);
    wait_for_report(0); /* what was missed before */
    for (int i = 0; i < 3; i++) {
        int before = atomic_load(&reported);
        fixture_do(&writer, change);
        wait_for_report(before);
    }
    /* The connection that listens is lost: changes during that time are reported, too. */
    int before = atomic_load(&reported);
    assert_true(postgres_sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN "
                             "tenon%'") > 0);
    wait_for_report(before);
    before = atomic_load(&reported);
    fixture_do(&writer, change);
    wait_for_report(before);
    fixture_close(&writer);
    fixture_close(&listener);
    struct opened pooled = postgres_open("\"pooler\": \"session\"");
    assert_int_equal(pooled.vtable->watch(pooled.store, on_changed, NULL), TN_UNSUPPORTED);
    fixture_close(&pooled);
    fixture_end();
}

/* Many changes become few reports, and the last one is not lost. */
static void reports_are_coalesced(void **state) {
    (void)state;
    postgres_begin();
    struct opened listener = postgres_open(""), writer = postgres_open("\"sync\": \"off\"");
    atomic_store(&reported, 0);
    assert_int_equal(listener.vtable->watch(listener.store, on_changed, NULL), TN_OK);
    wait_for_report(0);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    int before = atomic_load(&reported);
    for (int i = 0; i < 300; i++)
        fixture_do(&writer, "[{\"op\": \"put\", \"collection\": \"tasks\", \"key\": \"a\", \"value\": 1}]");
    wait_for_report(before);
    fixture_close(&writer);
    fixture_close(&listener);
    clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t ms = (end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000;
    assert_in_range(atomic_load(&reported), 1, ms / 5 + 3);
    fixture_end();
}

/* ---- The clock ---- */

/* The host's clock is wrong (it is fake): the database's decides. */
static void the_database_clock_decides(void **state) {
    (void)state;
    char batch[256];
    postgres_begin();
    struct opened store = postgres_open("");
    int64_t now_ms = postgres_sql("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8");
    assert_in_range(store.vtable->wall_ms(store.store) - now_ms + 1000, 0, 61000);
    snprintf(batch, sizeof batch,
             "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"past\", \"value\": 1, \"expires_at\": %lld},"
             " {\"op\": \"put\", \"collection\": \"c\", \"key\": \"future\", \"value\": 1, \"expires_at\": %lld}]",
             (long long)now_ms - 1000, (long long)now_ms + 3600000);
    fixture_do(&store, batch);
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 1);
    fixture_close(&store);
    fixture_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_holds),
        cmocka_unit_test(every_case_holds_behind_a_pooler),
        cmocka_unit_test(pgbouncer_can_pool_sessions),
        cmocka_unit_test(pgbouncer_can_pool_transactions),
        cmocka_unit_test(a_pooler_that_is_not_recognised_is_found_out),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(a_strange_schema_name_works),
        cmocka_unit_test(a_newer_schema_is_refused),
        cmocka_unit_test(a_schema_of_another_application_is_refused),
        cmocka_unit_test(a_replaced_schema_is_noticed),
        cmocka_unit_test(a_read_only_server_is_reported),
        cmocka_unit_test(a_user_without_rights_is_reported),
        cmocka_unit_test(a_locked_record_is_skipped_or_waited_for),
        cmocka_unit_test(no_increment_of_many_writers_is_lost),
        cmocka_unit_test(an_index_is_created_for_existing_records),
        cmocka_unit_test(long_texts_are_ordered),
        cmocka_unit_test(starts_of_texts_are_ordered),
        cmocka_unit_test(long_keys_and_members_fit_into_an_index),
        cmocka_unit_test(large_values_and_batches_fit),
        cmocka_unit_test(a_change_is_reported),
        cmocka_unit_test(reports_are_coalesced),
        cmocka_unit_test(the_database_clock_decides),
    };
    return cmocka_run_group_tests(tests, postgres_start, postgres_stop);
}
