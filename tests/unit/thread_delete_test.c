/*
 * thread_delete_test.c - a thread changes while it is deleted: another process may have started to run it.
 *
 * The store is the one in memory; its queries are intercepted, so that a commit comes between the check of the thread
 * and its removal, as one of another process.
 */
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_keys.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/registry.h"
#include "tests/unit/engine_fixture.h"
#include <tenon/store.h>

static const tn_plugin *real;
static const tn_store_draft *inner;
static tn_store_draft outer;
static bool changes; /* once, after the next query */

static tn_value record_batch(const char *status) {
    char key[THREAD_KEY_MAX];
    thread_key(key, "t");
    tn_value record = value_set_take(value_object(), "thread_id", value_text("t"));
    record = value_set_take(record, "status", value_text(status));
    return value_push_take(value_array(), store_put(STORE_THREADS, key, record));
}

/* On the store's thread. */
static int32_t query_and_change(tn_store *store, tn_value query, tn_value *result, tn_value *error) {
    int32_t status = inner->query(store, query, result, error);
    if (!changes) return status;
    changes = false;
    tn_value batch = record_batch("running"), ignored = NULL, failure = NULL;
    assert_int_equal(inner->commit(store, batch, &ignored, &failure), TN_OK);
    value_unref(ignored);
    value_unref(batch);
    return status;
}

static const void *offer(void *self, const char *interface_id) {
    const void *found = real->get(self, interface_id);
    if (!found || strcmp(interface_id, TN_STORE_DRAFT) != 0) return found;
    inner = found;
    outer = *inner;
    outer.query = query_and_change;
    return &outer;
}

static struct store *open_store(struct host *host) {
    static tn_plugin wrapped;
    struct plugin *plugin = registry_plugin(host_registry(host), "tenon.memory");
    assert_non_null(plugin);
    assert_int_equal(plugin_load(plugin, NULL), TN_OK);
    real = plugin->plugin;
    wrapped = (tn_plugin){sizeof wrapped, real->self, offer};
    plugin->plugin = &wrapped;
    struct store *store = host_store(host, NULL);
    assert_non_null(store);
    return store;
}

static void ignore(void *user, int32_t status, tn_value result, const struct error *error) {
    (void)user, (void)result, (void)error;
    assert_int_equal(status, TN_OK);
}

static void changed_threads_stay(void **state) {
    struct host *host = host_for_tests();
    struct error error = ERROR_INIT;
    tn_value record = NULL;
    (void)state;
    struct store *store = open_store(host);
    store_commit_take(store, record_batch("done"), ignore, NULL);
    /* Opening the store queries, too. */
    assert_int_equal(thread_show_wait(store, "t", &record, &error), TN_OK);
    value_unref(record);
    record = NULL;
    changes = true;
    assert_int_not_equal(thread_delete_wait(store, "t", false, &error), TN_OK);
    assert_string_equal(error.code, "CONFLICT");
    error_finish(&error);
    assert_int_equal(thread_show_wait(store, "t", &record, &error), TN_OK);
    assert_true(value_text_is(value_get(record, "status"), "running"));
    value_unref(record);
    record = NULL;
    /* By force, and if it has not changed. */
    changes = true;
    assert_int_equal(thread_delete_wait(store, "t", true, &error), TN_OK);
    assert_false(changes);
    assert_int_equal(thread_show_wait(store, "t", &record, &error), TN_NOT_FOUND);
    error_finish(&error);
    store_commit_take(store, record_batch("done"), ignore, NULL);
    assert_int_equal(thread_delete_wait(store, "t", false, &error), TN_OK);
    host_free(host);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(changed_threads_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
