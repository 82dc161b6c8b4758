/*
 * store_merge_test.c - commits that are pending at the same time: a group of the provider, one batch, or one after the
 * other.
 *
 * The store is the one in memory, and its commits are counted. A request before them ends when all have been submitted.
 * Its groups are made up: while one will fail, commits only pretend to be written. store_group_test.c has those of
 * SQLite.
 */
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/registry.h"
#include "tests/unit/engine_fixture.h"
#include <pthread.h>
#include <stdatomic.h>
#include <tenon/store.h>
#include <time.h>

enum { COMMITS = 3 };

static const tn_plugin *real;
static const tn_store_draft *inner;
static tn_store_draft outer;
static pthread_mutex_t submitting = PTHREAD_MUTEX_INITIALIZER;
static int calls;                /* of the provider's commit; read when no request is pending */
static const char *broken;       /* the code with which each commit fails */
static bool groups;              /* the store has groups */
static int opened, ended;        /* groups */
static const char *group_broken; /* the code with which a group fails at its end */

static int32_t fail_with(const char *code, tn_value *error) {
    *error = value_set_take(value_object(), "code", value_text(code));
    *error = value_set_take(*error, "message", value_text("as the test wants"));
    return TN_FAILED;
}

static int32_t group(tn_store *store, int32_t open, tn_value *error) {
    (void)store;
    assert_int_equal(opened - ended, !open);
    *(open ? &opened : &ended) += 1;
    return !open && group_broken ? fail_with(group_broken, error) : TN_OK;
}

/* On the store's thread. */
static int32_t commit_counted(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    calls++;
    if (broken) return fail_with(broken, error);
    if (group_broken && opened > ended) {
        tn_value pretended = value_set_take(value_object(), "version", value_int(99));
        *result = value_array();
        for (size_t i = 0; i < value_count(batch); i++) *result = value_push_take(*result, value_ref(pretended));
        value_unref(pretended);
        return TN_OK;
    }
    return inner->commit(store, batch, result, error);
}

static bool away;        /* the store cannot be reached, which each query finds out slowly */
static atomic_int asked; /* queries of the provider */

static int32_t query_slow(tn_store *store, tn_value query, tn_value *result, tn_value *error) {
    const struct timespec slow = {1, 50000000};
    asked++;
    if (!away) return inner->query(store, query, result, error);
    (void)nanosleep(&slow, NULL);
    (void)fail_with("STORE_ERROR", error);
    *error = value_set_take(*error, "retryable", value_bool(true));
    return TN_FAILED;
}

static const void *offer(void *self, const char *interface_id) {
    const void *found = real->get(self, interface_id);
    if (!found || strcmp(interface_id, TN_STORE_DRAFT) != 0) return found;
    inner = found;
    outer = *inner;
    outer.commit = commit_counted;
    outer.query = query_slow;
    outer.group = groups ? group : NULL;
    return &outer;
}

static void open_store(struct host *host) {
    static tn_plugin wrapped;
    struct plugin *plugin = registry_plugin(host_registry(host), "tenon.memory");
    assert_non_null(plugin);
    assert_int_equal(plugin_load(plugin, NULL), TN_OK);
    real = plugin->plugin;
    wrapped = (tn_plugin){sizeof wrapped, real->self, offer};
    plugin->plugin = &wrapped;
    assert_non_null(host_store(host, NULL));
}

/* ---- Commits and what they report ---- */

static struct reported {
    int32_t status;
    char code[32];
    int64_t versions[2]; /* of the records that the commit wrote */
    size_t count;
} reports[COMMITS];
static size_t reported; /* callbacks so far: they come in the order of the commits */

static void on_written(void *user, int32_t status, tn_value result, const struct error *error) {
    struct reported *report = user;
    assert_ptr_equal(report, &reports[reported]);
    reported++;
    report->status = status;
    (void)snprintf(report->code, sizeof report->code, "%s", error->code ? error->code : "");
    report->count = value_count(result);
    for (size_t i = 0; i < report->count; i++)
        report->versions[i] = value_to_int(value_get(value_at(result, i), "version"));
}

/* On the store's thread. */
static int32_t wait_for_all(struct session *session, void *user, tn_value *result, struct error *error) {
    (void)session, (void)user, (void)result, (void)error;
    pthread_mutex_lock(&submitting);
    pthread_mutex_unlock(&submitting);
    return TN_OK;
}

static bool all_reported(void *user) {
    (void)user;
    return reported == COMMITS;
}

static tn_value put(const char *key, int64_t version) {
    return store_if_version(store_put(STORE_CACHE, key, value_object()), version);
}

/* `a` is created; `b` with the version `of_b` is replaced, together with a new `c`; `a` is replaced, if it was created.
 */
static void commit_all(struct host *host, int64_t of_b) {
    struct store *store = host_store(host, NULL);
    calls = 0;
    reported = 0;
    pthread_mutex_lock(&submitting);
    store_perform(store, wait_for_all, NULL, NULL, NULL);
    store_commit_take(store, value_push_take(value_array(), put("a", 0)), on_written, &reports[0]);
    tn_value both = value_push_take(value_push_take(value_array(), put("b", of_b)), put("c", 0));
    store_commit_take(store, both, on_written, &reports[1]);
    store_commit_take(store, value_push_take(value_array(), put("a", 1)), on_written, &reports[2]);
    pthread_mutex_unlock(&submitting);
    (void)loop_run(store_loop(store), all_reported, NULL);
    assert_int_equal(reported, COMMITS);
}

static bool exists(struct host *host, const char *key) {
    struct error error = ERROR_INIT;
    tn_value found = NULL;
    assert_int_equal(store_query_wait(host_store(host, NULL), store_get(STORE_CACHE, key), &found, &error), TN_OK);
    bool is = value_is(found, TN_OBJECT);
    value_unref(found);
    return is;
}

static void expect_report(size_t index, const char *code, size_t count, int64_t first_version) {
    assert_string_equal(reports[index].code, code);
    assert_int_equal(reports[index].status == TN_OK, !*code);
    assert_int_equal(reports[index].count, count);
    if (count) assert_int_equal(reports[index].versions[0], first_version);
}

static struct host *host_with(bool with_groups) {
    struct host *host = host_for_tests();
    broken = group_broken = NULL;
    groups = with_groups;
    open_store(host);
    (void)exists(host, ""); /* opens the store, which may commit something */
    opened = ended = 0;
    return host;
}

static struct host *host_with_counted_commits(void) { return host_with(false); }

/* ---- The tests: without groups ---- */

static void one_batch_and_each_its_results(void **state) {
    struct host *host = host_with_counted_commits();
    (void)state;
    commit_all(host, 0);
    assert_int_equal(calls, 1);
    expect_report(0, "", 1, 1);
    expect_report(1, "", 2, 1);
    expect_report(2, "", 1, 2);
    assert_true(exists(host, "a") && exists(host, "b") && exists(host, "c"));
    host_free(host);
}

static void a_refused_commit_does_not_affect_the_others(void **state) {
    struct host *host = host_with_counted_commits();
    (void)state;
    commit_all(host, 7);
    assert_int_equal(calls, 1 + COMMITS);
    expect_report(0, "", 1, 1);
    expect_report(1, "CONFLICT", 0, 0);
    expect_report(2, "", 1, 2);
    assert_true(exists(host, "a") && !exists(host, "b") && !exists(host, "c"));
    host_free(host);
}

/* It is not known what was written: nothing is written twice. */
static void a_failure_of_the_store_is_reported_to_all(void **state) {
    struct host *host = host_with_counted_commits();
    (void)state;
    broken = "STORE_ERROR";
    commit_all(host, 0);
    assert_int_equal(calls, 1);
    for (size_t i = 0; i < COMMITS; i++) expect_report(i, "STORE_ERROR", 0, 0);
    host_free(host);
}

/* ---- With groups ---- */

static void one_group_and_each_its_result(void **state) {
    struct host *host = host_with(true);
    (void)state;
    commit_all(host, 7);
    assert_int_equal(calls, COMMITS);
    assert_int_equal(ended, 1);
    expect_report(0, "", 1, 1);
    expect_report(1, "CONFLICT", 0, 0);
    expect_report(2, "", 1, 2);
    assert_true(exists(host, "a") && !exists(host, "b") && !exists(host, "c"));
    host_free(host);
}

/* What the requests of a failed group returned is not reported. */
static void a_failed_group_is_repeated_one_by_one(void **state) {
    struct host *host = host_with(true);
    (void)state;
    group_broken = "STORE_FULL";
    commit_all(host, 0);
    assert_int_equal(calls, 2 * COMMITS);
    assert_int_equal(ended, 1);
    expect_report(0, "", 1, 1);
    expect_report(1, "", 2, 1);
    expect_report(2, "", 1, 2);
    host_free(host);
}

static void a_failed_group_is_reported_to_all(void **state) {
    struct host *host = host_with(true);
    (void)state;
    group_broken = "STORE_ERROR";
    commit_all(host, 0);
    assert_int_equal(calls, COMMITS);
    for (size_t i = 0; i < COMMITS; i++) expect_report(i, "STORE_ERROR", 0, 0);
    assert_false(exists(host, "a") || exists(host, "b"));
    host_free(host);
}

static int performed;

/* On the store's thread. */
static int32_t perform_commit(struct session *session, void *user, tn_value *result, struct error *error) {
    performed++;
    return session_commit_take(session, value_push_take(value_array(), put(user, 0)), result, error);
}

static void on_performed(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)user, (void)error;
    assert_int_equal(status, TN_OK);
    assert_int_equal(value_to_int(value_get(value_at(result, 0), "version")), 1);
    reported++;
}

/* Short operations are part of the group, and run again with it; others are not. */
static void performs_are_grouped_if_they_may(void **state) {
    static char keys[COMMITS][2] = {"d", "e", "f"};
    (void)state;
    for (int round = 0; round < 2; round++) {
        struct host *host = host_with(true);
        struct store *store = host_store(host, NULL);
        performed = 0;
        reported = 0;
        if (round == 1) group_broken = "CONFLICT";
        pthread_mutex_lock(&submitting);
        store_perform(store, wait_for_all, NULL, NULL, NULL);
        store_perform_grouped(store, perform_commit, keys[0], on_performed, NULL);
        store_perform_grouped(store, perform_commit, keys[1], on_performed, NULL);
        store_perform(store, perform_commit, keys[2], on_performed, NULL);
        pthread_mutex_unlock(&submitting);
        (void)loop_run(store_loop(store), all_reported, NULL);
        assert_int_equal(performed, round == 1 ? 5 : 3);
        assert_int_equal(ended, 1);
        host_free(host);
    }
}

/* ---- A store that cannot be reached ---- */

static void on_refused(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)user, (void)result;
    assert_int_equal(status, TN_FAILED);
    assert_string_equal(error->code, "STORE_ERROR");
    reported++;
}

/* All wait through the first attempt, so the others do not wait through more. The next request asks again. */
static void one_attempt_is_enough_for_all_that_wait(void **state) {
    struct host *host = host_with(false);
    struct store *store = host_store(host, NULL);
    tn_value found = NULL;
    (void)state;
    assert_int_equal(store_query_wait(store, store_get(STORE_CACHE, "a"), &found, NULL), TN_OK);
    value_unref(found);
    asked = 0;
    reported = 0;
    away = true;
    pthread_mutex_lock(&submitting);
    store_perform(store, wait_for_all, NULL, NULL, NULL);
    for (int i = 0; i < COMMITS; i++) store_query_take(store, store_get(STORE_CACHE, "a"), on_refused, NULL);
    pthread_mutex_unlock(&submitting);
    (void)loop_run(store_loop(store), all_reported, NULL);
    assert_int_equal(reported, COMMITS);
    assert_int_equal(asked, 1);
    away = false;
    assert_int_equal(store_query_wait(store, store_get(STORE_CACHE, "a"), &found, NULL), TN_OK);
    assert_int_equal(asked, 2);
    value_unref(found);
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_batch_and_each_its_results),
                                       cmocka_unit_test(a_refused_commit_does_not_affect_the_others),
                                       cmocka_unit_test(a_failure_of_the_store_is_reported_to_all),
                                       cmocka_unit_test(one_group_and_each_its_result),
                                       cmocka_unit_test(a_failed_group_is_repeated_one_by_one),
                                       cmocka_unit_test(a_failed_group_is_reported_to_all),
                                       cmocka_unit_test(performs_are_grouped_if_they_may),
                                       cmocka_unit_test(one_attempt_is_enough_for_all_that_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
