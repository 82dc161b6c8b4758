/*
 * plugin_decline_test.c - the plugins of this repository that are built, loaded by a host that offers only
 * tenon.core/1, decline and log the reason.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon.h>

#include <cmocka.h>

static char logged[1000];

static void log_message(const tn_host *host, int32_t level, const char *message, uint64_t length) {
    (void)host;
    assert_true(length == TN_Z || length == strlen(message));
    assert_int_equal(level, TN_LOG_ERROR);
    (void)snprintf(logged, sizeof logged, "%s", message);
}

static const tn_core_1 core = {.size = sizeof core, .log = log_message};

static const void *only_core(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_CORE_1) == 0 ? &core : NULL;
}

static const tn_host poor_host = {.size = sizeof poor_host, .get = only_core};

static void test_plugins_log_why_they_decline(void **state) {
    (void)state;
    size_t count = 0;
    DIR *folder = opendir(TENON_STORE_PLUGINS);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[1000];
        if (strstr(entry->d_name, ".so") == NULL) continue;
        (void)snprintf(path, sizeof path, "%s/%s", TENON_STORE_PLUGINS, entry->d_name);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) fail_msg("%s", dlerror());
        const tn_plugin *(*start)(const tn_host *) = NULL;
        *(void **)&start = dlsym(library, "tn_plugin_entry_1");
        assert_non_null(start);
        logged[0] = 0;
        if (start(&poor_host) != NULL) fail_msg("%s does not decline", entry->d_name);
        if (strstr(logged, "declined: ") != logged) fail_msg("%s declines and logs: %s", entry->d_name, logged);
        count++;
    }
    (void)closedir(folder);
    assert_true(count > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plugins_log_why_they_decline)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
