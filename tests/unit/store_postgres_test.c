/*
 * store_postgres_test.c - the store in PostgreSQL, with a server of its own.
 *
 * tests/postgres/server starts it, on a socket in a folder of the test. Without PostgreSQL, all tests are skipped. Each
 * test uses a schema of its own.
 */
#include "tests/unit/store_fixture.h"

#include "host/plugin/conformance/store_cases.h"
#include <pthread.h>
#include <sys/wait.h>

static char server_folder[64];
static bool server_runs;
static unsigned schemas;

/* Runs tests/postgres/server; returns its exit code. */
static int server_call(const char *action, const char *more) {
    char command[1024];
    snprintf(command, sizeof command, "%s/tests/postgres/server %s %s %s >/dev/null", TENON_SOURCE_DIR, action,
             server_folder, more);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int server_start(void **state) {
    (void)state;
    snprintf(server_folder, sizeof server_folder, "%s/tenon-postgres-XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    assert_non_null(mkdtemp(server_folder));
    int status = server_call("start", "");
    if (status != 0 && status != 77) fail_msg("the server does not start: %d", status);
    server_runs = status == 0;
    return 0;
}

static int server_stop(void **state) {
    (void)state;
    if (server_runs) (void)server_call("stop", "immediate");
    (void)nftw(server_folder, fixture_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* Options with the schema number `n`, and more of them. */
static const char *options_of(unsigned n, const char *more) {
    static char text[1024];
    snprintf(text, sizeof text, "{\"url\": \"host=%s dbname=tenon user=tenon\", \"schema\": \"test_%u\"%s%s}",
             server_folder, n, *more ? ", " : "", more);
    return text;
}

static void begin(void) {
    if (!server_runs) skip();
    schemas++;
    fixture_begin("postgres");
}

static struct opened open_store(const char *more) { return fixture_open("postgres", options_of(schemas, more)); }

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
    begin();
    struct plugin *plugin = registry_plugin(fixture_host.registry, "tenon.postgres");
    tn_value options = fixture_json(options_of(schemas, more));
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

static void every_case_holds(void **state) {
    (void)state;
    assert_true(run_cases("\"clock\": \"host\"") > 40);
}

/* Without session state and prepared statements. */
static void every_case_holds_behind_a_pooler(void **state) {
    (void)state;
    assert_true(run_cases("\"clock\": \"host\", \"pooler\": \"session\"") > 40);
}

static void a_record_survives_reopening(void **state) {
    (void)state;
    begin();
    struct opened store = open_store("");
    fixture_do(&store, "[{\"op\": \"put\", \"collection\": \"c\", \"key\": \"a\", \"value\": {\"n\": 1}}]");
    fixture_close(&store);
    store = open_store("");
    assert_int_equal(fixture_number(&store, "{\"count\": {\"collection\": \"c\"}}"), 1);
    fixture_close(&store);
    fixture_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_survives_reopening),
        cmocka_unit_test(every_case_holds),
        cmocka_unit_test(every_case_holds_behind_a_pooler),
    };
    return cmocka_run_group_tests(tests, server_start, server_stop);
}
