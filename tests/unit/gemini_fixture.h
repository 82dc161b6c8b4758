/*
 * gemini_fixture.h - the Gemini plugin as it is installed, entered by a host of the test's own.
 *
 *     gemini_begin("{}");                                  // its section of tenon.yaml
 *     tn_test_create("gemini", "{\"model\": \"m\"}");  …      // fake_host.h, fake_http.h
 *     gemini_end();
 */
#ifndef TENON_TESTS_GEMINI_FIXTURE_H
#define TENON_TESTS_GEMINI_FIXTURE_H

#include <dlfcn.h>

#include "tests/unit/fake_http.h"

static const tn_plugin *(*gemini_entry)(const tn_host *host);
static const tn_lifecycle_1 *gemini_lifecycle;

const tn_plugin *tn_plugin_entry_1(const tn_host *host) { return gemini_entry(host); }

/* Group setup: loads the plugin and clears the environment variables of the user who runs the tests. */
static int gemini_load(void **state) {
    (void)state;
    void *object = dlopen(TENON_GEMINI_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!object) fail_msg("%s", dlerror());
    void *found = dlsym(object, "tn_plugin_entry_1");
    memcpy(&gemini_entry, &found, sizeof gemini_entry);
    static const char *const variables[] = {
        "VERTEX_PROJECT_ID", "VERTEX_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "HOME",
        "GCE_METADATA_HOST"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    return 0;
}

/* Before each test, as one before may have failed in the middle. */
static int gemini_forget(void **state) {
    (void)state;
    memset(&tn_test, 0, sizeof tn_test);
    memset(&fake_http, 0, sizeof fake_http);
    return 0;
}

static void gemini_begin(const char *section) {
    tn_value value = tn_test_json(section);
    assert_non_null(value);
    fake_http_begin();
    const tn_plugin *plugin = tn_test_enter();
    assert_non_null(plugin);
    tn_test.started = true;
    tn_test.room = UINT32_MAX;
    tn_test.now = 1767225600000; /* the start of 2026 */
    gemini_lifecycle = plugin->get(plugin->self, TN_LIFECYCLE_1);
    assert_int_equal(gemini_lifecycle->init(plugin->self, value), TN_OK);
    value_unref(value);
}

static void gemini_end(void) {
    if (tn_test.instance) tn_test.components->destroy(tn_test.instance);
    tn_test.instance = NULL;
    gemini_lifecycle->deinit(tn_test.self);
    fake_http_finish(); /* with it the last request of a token has gone */
    tn_test_finish();
}

#endif
