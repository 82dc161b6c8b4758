/*
 * state_fixture.h - the state kernel with a new store and a fake clock.
 *
 *     struct kernel_fixture kernel;
 *     kernel_fixture_open(&kernel, "sqlite");                              // in a new folder
 *     tn_value task = kernel_ask(&kernel, "task.create", "{…}");   // NULL with kernel.error set on failure
 *     kernel_fixture_close(&kernel);                                       // nothing is left
 */
#ifndef TENON_TESTS_STATE_FIXTURE_H
#define TENON_TESTS_STATE_FIXTURE_H

#include "tests/unit/corpus.h"

#include <ftw.h>
#include <unistd.h>

#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/data/kernel/kernel.h"

#define FIXTURE_UNUSED __attribute__((unused))

struct kernel_fixture {
    struct host *host;
    struct kernel kernel;
    struct error error; /* of the last call that failed */
    char folder[64];
    int64_t values;
};

FIXTURE_UNUSED static bool kernel_has(const char *store) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.so", TENON_STORE_PLUGINS, store);
    return access(path, R_OK) == 0;
}

/* `folder` NULL means a new folder. The clock is fake unless `real`. */
FIXTURE_UNUSED static void kernel_fixture_open_in(struct kernel_fixture *kernel, const char *store, const char *folder,
                                                  bool real) {
    char plugin[4096], tools[4096], place[128];
    memset(kernel, 0, sizeof *kernel);
    kernel->values = value_live_count();
    snprintf(plugin, sizeof plugin, "%s/%s.so", TENON_STORE_PLUGINS, store);
    snprintf(tools, sizeof tools, "%s/state.so", TENON_STORE_PLUGINS);
    const char *const paths[] = {plugin, tools, NULL};
    struct error error = ERROR_INIT;
    kernel->host =
        host_new(&(struct host_options){.plugin_paths = paths, .no_config = true, .allow_drafts = true}, &error);
    if (!kernel->host) fail_msg("%s", error.message);
    if (!real) loop_fake_clock(host_loop(kernel->host));
    snprintf(kernel->folder, sizeof kernel->folder, "%s", folder ? folder : "/tmp/tenon-state-XXXXXX");
    if (!folder) assert_non_null(mkdtemp(kernel->folder));
    snprintf(place, sizeof place, "%s/store", kernel->folder);
    tn_value options = value_set_take(value_object(), "use", value_text(store));
    options = value_set_take(options, "path", value_text(place));
    host_set_store_take(kernel->host,
                        store_open(&(const struct store_from){host_loop(kernel->host), host_registry(kernel->host),
                                                              host_config(kernel->host)},
                                   options, &error));
    if (!host_store(kernel->host, NULL)) fail_msg("%s", error.message);
    assert_int_equal(kernel_open(host_state(kernel->host), &kernel->kernel, &error), TN_OK);
    value_unref(options);
}

FIXTURE_UNUSED static void kernel_fixture_open(struct kernel_fixture *kernel, const char *store) {
    kernel_fixture_open_in(kernel, store, NULL, false);
}

static int kernel_remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    return remove(path);
}

/* `keep`: do not delete the folder. */
FIXTURE_UNUSED static void kernel_close_in(struct kernel_fixture *kernel, bool keep) {
    host_free(kernel->host);
    error_finish(&kernel->error);
    if (!keep) (void)nftw(kernel->folder, kernel_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(value_live_count(), kernel->values);
}

FIXTURE_UNUSED static void kernel_fixture_close(struct kernel_fixture *kernel) { kernel_close_in(kernel, false); }

/* A new reference, or NULL on failure. */
FIXTURE_UNUSED static tn_value kernel_call_take(struct kernel_fixture *kernel, const char *operation,
                                                tn_value arguments) {
    tn_value result = NULL;
    error_finish(&kernel->error);
    int32_t status = kernel_call_wait(&kernel->kernel, operation, arguments, &result, &kernel->error);
    assert_int_equal(status == TN_OK, result != NULL);
    assert_int_equal(status == TN_OK, kernel->error.code == NULL);
    return result;
}

FIXTURE_UNUSED static tn_value kernel_ask(struct kernel_fixture *kernel, const char *operation, const char *json) {
    tn_value arguments = NULL;
    struct error error = ERROR_INIT;
    if (json_read(json, strlen(json), NULL, &arguments, &error) != TN_OK) fail_msg("%s: %s", json, error.message);
    return kernel_call_take(kernel, operation, arguments);
}

FIXTURE_UNUSED static bool kernel_flag_is_set(void *user) { return *(bool *)user; }

FIXTURE_UNUSED static void kernel_on_maintained(void *user, int32_t status, tn_value result,
                                                const struct error *error) {
    (void)result;
    if (status != TN_OK) fail_msg("%s", error->message);
    *(bool *)user = true;
}

FIXTURE_UNUSED static void kernel_fixture_maintain(struct kernel_fixture *kernel) {
    bool over = false;
    kernel_maintain(&kernel->kernel, kernel_on_maintained, &over);
    loop_run(kernel->kernel.loop, kernel_flag_is_set, &over);
    assert_true(over);
}

#endif
