/*
 * store_test.c - runs the conformance suite of stores (sdk/store/conformance) with every store, and with two of them
 * isolated.
 *
 * The bundled ones are made of the SDK's parts of stores, so that their messages are compared, too.
 */
#include "tests/unit/store_fixture.h"

#include "host/plugin/conformance/store_cases.h"

/* What has run. */
static struct {
    const char *name; /* of the store */
    unsigned failed, count;
} done;

static void on_set_elapsed(void *user, int64_t ms) {
    (void)user;
    loop_fake_clock(fixture_host.loop);
    loop_fake_advance(fixture_host.loop, ms);
}

static void on_failed(void *user, const char *where, const char *message) {
    (void)user;
    done.failed++;
    print_error("%s: %s: %s\n", done.name, where, message);
}

static void run_file(const char *name, const struct store_cases_file *file) {
    char id[64];
    done.name = name;
    fixture_begin(name);
    fixture_id(name, id);
    bool is_sample = strcmp(name, FIXTURE_SAMPLE) == 0;
    struct plugin *plugin = registry_plugin(fixture_host.registry, id);
    struct store_cases cases = {.vtable = plugin_interface(plugin, TN_STORE_DRAFT),
                                .self = plugin_self(plugin),
                                .folder = fixture_folder,
                                .set_elapsed = fixture_isolated ? NULL : on_set_elapsed,
                                .failed = on_failed,
                                .messages = !is_sample,
                                .shares_store = is_sample};
    store_cases_run(&cases, file);
    store_cases_finish(&cases);
    done.count += cases.count;
    fixture_end(); /* all values and memory are freed */
}

/* Runs all cases with a store, except those of the file `without`, and returns their number. */
static unsigned run_all(const char *name, const char *without) {
    done.failed = done.count = 0;
    for (size_t i = 0; i < store_cases_file_count; i++)
        if (strcmp(store_cases_files[i].name, without) != 0) run_file(name, &store_cases_files[i]);
    assert_int_equal(done.failed, 0);
    return done.count;
}

static void every_case_holds(void **state) {
    (void)state;
    for (size_t i = 0; i < FIXTURE_STORES; i++) assert_true(run_all(fixture_stores[i], "") > 40);
}

/* The last store only, which keeps its records when its process ends. */
static void every_case_holds_isolated(void **state) {
    (void)state;
    if (FIXTURE_STORES < 2) skip();
    fixture_isolated = true;
    assert_true(run_all(fixture_stores[FIXTURE_STORES - 1], "") > 30);
    fixture_isolated = false;
}

/* The sample does not say exactly what is wrong with a request, as the cases of wrong.txt expect. */
static void cases_hold_in_the_sample(void **state) {
    (void)state;
    fixture_isolated = true;
    assert_true(run_all(FIXTURE_SAMPLE, "wrong.txt") > 30);
    fixture_isolated = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_holds),
        cmocka_unit_test(every_case_holds_isolated),
        cmocka_unit_test(cases_hold_in_the_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
