/*
 * store_fixture.h - loads the store plugins as a host does, and calls them for tests.
 *
 *     fixture_begin("sqlite");                                  // a new folder, a fake clock
 *     struct opened store = fixture_open("{}");                 // options; the path is in the folder
 *     tn_value got = fixture_commit(&store, "[{\"op\": …}]");   // NULL with fixture_error set on failure
 *     fixture_close(&store);
 *     fixture_end();                                            // checks that all values and memory are freed
 *
 * With fixture_isolated, stores run in separate processes, whose clock is the real one.
 */
#ifndef TENON_TESTS_STORE_FIXTURE_H
#define TENON_TESTS_STORE_FIXTURE_H

#include "tests/unit/corpus.h"

#include <ftw.h>
#include <tenon/store.h>
#include <unistd.h>

#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/base/secrets/secrets.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/isolate/remote.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_internal.h"
#include "host/plugin/registry/registry.h"

#define FIXTURE_UNUSED __attribute__((unused))
#define FIXTURE_SAMPLE "sample.log" /* samples/python/store.py, which can only be isolated */

/* A build without SQLite has only the first one. */
static const char *const fixture_stores[] = {"memory", "sqlite"};
#ifdef TENON_HAS_SQLITE
#define FIXTURE_STORES ((size_t)2)
#else
#define FIXTURE_STORES ((size_t)1)
#endif

static struct {
    struct loop *loop;
    struct registry *registry;
    struct config *config;
    struct http *http;
    struct secrets *secrets;
} fixture_host;
static char fixture_folder[64];
static tn_value fixture_error; /* of the last call that failed */
static int64_t fixture_values;
static bool fixture_isolated;
static struct remote_services fixture_services;

struct opened {
    const tn_store_draft *vtable;
    tn_store *store;
};

/* ---- The host ---- */

FIXTURE_UNUSED static void fixture_load_file(const char *path, const char *id) {
    struct error error = ERROR_INIT;
    if (registry_add_file(fixture_host.registry, path, "a test", &error) != TN_OK ||
        plugin_load(registry_plugin(fixture_host.registry, id), &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(plugin_isolated(registry_plugin(fixture_host.registry, id)), fixture_isolated);
}

/* "sqlite" is the name of tenon.sqlite. The sample in Python is named by its id. */
static void fixture_id(const char *name, char id[64]) {
    snprintf(id, 64, "%s%s", strcmp(name, FIXTURE_SAMPLE) == 0 ? "" : "tenon.", name);
}

FIXTURE_UNUSED static void fixture_load(const char *name) {
    char path[4096], id[64];
    snprintf(path, sizeof path, "%s/%s.so", TENON_STORE_PLUGINS, name);
    if (strcmp(name, FIXTURE_SAMPLE) == 0) snprintf(path, sizeof path, "%s/samples/python/store.py", TENON_SOURCE_DIR);
    fixture_id(name, id);
    fixture_load_file(path, id);
}

static bool fixture_isolates(void *user, const struct plugin *plugin) {
    (void)user, (void)plugin;
    return true;
}

static const tn_plugin *fixture_open_remote(void *user, struct plugin *plugin) {
    (void)user;
    return remote_open(&fixture_services, plugin);
}

/* `name` may be NULL: fixture_load what is needed. */
FIXTURE_UNUSED static void fixture_begin(const char *name) {
    fixture_values = value_live_count();
    fixture_host.loop = loop_new(NULL);
    assert_non_null(fixture_host.loop);
    loop_fake_clock(fixture_host.loop);
    loop_enter(fixture_host.loop);
    static const struct isolation isolation = {
        fixture_isolates, fixture_open_remote, remote_start, remote_close, NULL, NULL};
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 1);
    fixture_host.secrets = secrets_new(NULL, fixture_host.loop);
    fixture_services = (struct remote_services){.loop = fixture_host.loop, .secrets = fixture_host.secrets};
    fixture_host.registry = registry_new(&(struct registry_options){.interfaces = interface_table,
                                                                    .allow_drafts = true,
                                                                    .loop = fixture_host.loop,
                                                                    .isolation = fixture_isolated ? &isolation : NULL});
    /* In memory if possible: the tests do not cut the power, and waiting for a disk takes most of their time. */
    snprintf(fixture_folder, sizeof fixture_folder, "%s/tenon-store-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    assert_non_null(mkdtemp(fixture_folder));
    if (name) fixture_load(name);
}

static int fixture_remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    return remove(path);
}

static void fixture_memory_is_free(void *user, struct plugin *plugin) {
    (void)user;
    if (plugin_refs(plugin) != 0) fail_msg("%s is still in use", plugin_id(plugin));
}

FIXTURE_UNUSED static void fixture_end(void) {
    value_unref(fixture_error);
    fixture_error = NULL;
    registry_each_plugin(fixture_host.registry, fixture_memory_is_free, NULL);
    registry_free(fixture_host.registry);
    secrets_close(fixture_host.secrets);
    secrets_free(fixture_host.secrets);
    loop_free(fixture_host.loop);
    (void)nftw(fixture_folder, fixture_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    assert_int_equal(value_live_count(), fixture_values);
}

/* ---- Calls ---- */

static void fixture_set_error(tn_value error) {
    value_unref(fixture_error);
    fixture_error = error;
}

FIXTURE_UNUSED static const char *fixture_code(void) {
    tn_value code = value_get(fixture_error, "code");
    return code ? value_chars(code, NULL) : "";
}

FIXTURE_UNUSED static const char *fixture_message(void) {
    tn_value message = value_get(fixture_error, "message");
    return message ? value_chars(message, NULL) : "";
}

FIXTURE_UNUSED static tn_value fixture_json(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

/* An open store, or one without `store` and fixture_error. `path` may be NULL: "store" in the folder. */
FIXTURE_UNUSED static struct opened fixture_open_path(const char *name, const char *path, const char *options) {
    char id[64], full[4200];
    fixture_id(name, id);
    snprintf(full, sizeof full, "%s/%s", fixture_folder, path ? path : "store");
    struct plugin *plugin = registry_plugin(fixture_host.registry, id);
    struct opened opened = {plugin_interface(plugin, TN_STORE_DRAFT), NULL};
    assert_non_null(opened.vtable);
    assert_int_equal(opened.vtable->size, sizeof(tn_store_draft));
    tn_value given = value_set_take(fixture_json(options), "path", value_text(full)), error = NULL;
    int32_t status = opened.vtable->open(plugin_self(plugin), given, &opened.store, &error);
    value_unref(given);
    assert_int_equal(status == TN_OK, opened.store != NULL);
    assert_int_equal(status == TN_OK, error == NULL);
    if (status != TN_OK) fixture_set_error(error);
    return opened;
}

FIXTURE_UNUSED static struct opened fixture_open(const char *name, const char *options) {
    struct opened opened = fixture_open_path(name, NULL, options);
    if (!opened.store) fail_msg("%s: %s", name, fixture_message());
    return opened;
}

FIXTURE_UNUSED static void fixture_close(struct opened *opened) {
    opened->vtable->close(opened->store);
    opened->store = NULL;
}

/* Checks the form of an error. */
static void fixture_check_error(int32_t status, tn_value result, tn_value error) {
    assert_int_equal(status == TN_OK, result != NULL);
    assert_int_equal(status == TN_OK, error == NULL);
    if (status == TN_OK) return;
    assert_int_equal(value_kind(value_get(error, "code")), TN_STRING);
    assert_int_equal(value_kind(value_get(error, "message")), TN_STRING);
    fixture_set_error(error);
}

FIXTURE_UNUSED static tn_value fixture_commit_value(const struct opened *opened, tn_value batch) {
    tn_value result = NULL, error = NULL;
    int32_t status = opened->vtable->commit(opened->store, batch, &result, &error);
    fixture_check_error(status, result, error);
    return result;
}

FIXTURE_UNUSED static tn_value fixture_query_value(const struct opened *opened, tn_value query) {
    tn_value result = NULL, error = NULL;
    int32_t status = opened->vtable->query(opened->store, query, &result, &error);
    fixture_check_error(status, result, error);
    return result;
}

FIXTURE_UNUSED static tn_value fixture_maintain(const struct opened *opened) {
    tn_value result = NULL, error = NULL;
    int32_t status = opened->vtable->maintain(opened->store, &result, &error);
    fixture_check_error(status, result, error);
    return result;
}

/* From JSON text; a new reference, or NULL and fixture_error. */
FIXTURE_UNUSED static tn_value fixture_commit(const struct opened *opened, const char *batch) {
    tn_value value = fixture_json(batch), result = fixture_commit_value(opened, value);
    value_unref(value);
    return result;
}

FIXTURE_UNUSED static tn_value fixture_query(const struct opened *opened, const char *query) {
    tn_value value = fixture_json(query), result = fixture_query_value(opened, value);
    value_unref(value);
    return result;
}

/* Must succeed; the result is ignored. */
FIXTURE_UNUSED static void fixture_do(const struct opened *opened, const char *batch) {
    tn_value result = fixture_commit(opened, batch);
    if (!result) fail_msg("%.200s: %s", batch, fixture_message());
    value_unref(result);
}

/* Must fail with this code; `part` of the message may be NULL. */
FIXTURE_UNUSED static void fixture_is_error(tn_value result, const char *code, const char *part) {
    if (result) {
        char *text = json_text(result, JSON_COMPACT);
        fail_msg("expected %s, found %.300s", code, text);
    }
    if (strcmp(fixture_code(), code) != 0 || (part && !strstr(fixture_message(), part)))
        fail_msg("expected %s: %s\nfound    %s: %s", code, part ? part : "", fixture_code(), fixture_message());
}

/* An integer in the result of a query: {"count": …}, or one of its members. */
FIXTURE_UNUSED static int64_t fixture_number(const struct opened *opened, const char *query) {
    tn_value result = fixture_query(opened, query);
    if (!result) fail_msg("%s: %s", query, fixture_message());
    assert_int_equal(value_kind(result), TN_INT);
    int64_t number = value_to_int(result);
    value_unref(result);
    return number;
}

#endif
