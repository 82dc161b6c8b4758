/*
 * server_pack_test.c - the methods of packs: install, list, show, remove; signatures and their failures.
 */
#include "tests/unit/server_fixture.h"

#include "host/plugin/pack/pack_build.h"
#include "host/server/method_job.h"
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

static char home[64];

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void write_file(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", home, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Installed packs, and the folder of one that is built, are below `home`. */
static int open_home(void **state) {
    char folder[128];
    (void)state;
    snprintf(home, sizeof home, "/tmp/tenon-server-pack-XXXXXX");
    if (!mkdtemp(home)) return -1;
    setenv("XDG_DATA_HOME", home, 1);
    snprintf(folder, sizeof folder, "%s/src", home);
    return mkdir(folder, 0700);
}

static int close_home(void **state) {
    (void)state;
    unsetenv("XDG_DATA_HOME");
    return nftw(home, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The parameters {file} of a new pack of this version. */
static tn_value new_pack(const char *version) {
    char text[256], folder[128], file[128], *path = NULL;
    struct error error = ERROR_INIT;
    snprintf(text, sizeof text,
             "{\"name\":\"acme\",\"version\":\"%s\",\"title\":\"T\",\"licence\":\"MIT\",\"documents\":[\"a.yaml\"]}",
             version);
    write_file("src/pack.json", text);
    write_file("src/a.yaml", "version: \"1.0\"\nnodes: [{id: a, type: passthrough}]\nedges: [{from: START, to: a}, "
                             "{from: a, to: END}]\n");
    snprintf(folder, sizeof folder, "%s/src", home);
    snprintf(file, sizeof file, "%s/acme-%s.tenonpack", home, version);
    if (pack_build(folder, file, true, &path, &error) != TN_OK) fail_msg("%s", error.message);
    tn_value params = value_set_take(value_object(), "file", value_text(path));
    mem_free(path);
    return params;
}

/* In place of sign_check, which is not in the library. */
static int32_t is_not_signed(const struct pack *pack, bool *is_signed, char key[CONFIG_PUBLIC_KEY_TEXT],
                             struct error *error) {
    (void)pack, (void)error;
    *is_signed = false;
    key[0] = 0;
    return TN_OK;
}

static int32_t is_signed_by_key(const struct pack *pack, bool *is_signed, char key[CONFIG_PUBLIC_KEY_TEXT],
                                struct error *error) {
    (void)pack, (void)error;
    *is_signed = true;
    memcpy(key, KEY, sizeof KEY);
    return TN_OK;
}

static int32_t is_forged(const struct pack *pack, bool *is_signed, char key[CONFIG_PUBLIC_KEY_TEXT],
                         struct error *error) {
    (void)is_signed, (void)key;
    return error_set(error, TN_INVALID, "PACK_INVALID", "%s: the signature is invalid", pack_file(pack));
}

static tn_value installed(struct served *served, const char *version, bool expected_new) {
    tn_value result = served_result_take(served, "pack/install", new_pack(version));
    assert_int_equal(value_to_bool(value_get(result, "installed")), expected_new);
    return result;
}

static void packs_come_and_go(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    server_set_sign_check(served.server, is_not_signed);
    served_expect(&served, "pack/list", "{}", "{\"packs\":[]}");
    tn_value result = installed(&served, "1.0.0", true);
    assert_true(value_is(value_get(result, "key"), TN_NULL));
    assert_null(value_get(result, "version_in_use"));
    value_unref(result);
    value_unref(installed(&served, "1.0.0", false));
    value_unref(installed(&served, "2.0.0", true));
    result = installed(&served, "1.5.0", true);
    assert_true(value_text_is(value_get(result, "version_in_use"), "2.0.0"));
    value_unref(result);
    result = served_result(&served, "pack/list", "{}");
    assert_int_equal(value_count(value_get(result, "packs")), 3);
    value_unref(result);
    result = served_result(&served, "pack/show", "{\"name\":\"acme\"}");
    assert_true(value_text_is(value_get(result, "version"), "2.0.0"));
    tn_value part = value_at(value_get(result, "parts"), 0);
    assert_true(value_text_is(value_get(part, "file"), "a.yaml"));
    assert_null(value_get(part, "error"));
    value_unref(result);
    value_unref(served_result(&served, "document/check", "{\"document\":\"pack:acme/a.yaml\"}"));
    served_expect_error(&served, "pack/show", "{\"name\":\"acme\",\"version\":\"3.0.0\"}", "NOT_FOUND", "acme` 3.0.0");
    served_expect(&served, "pack/remove", "{\"name\":\"acme\",\"version\":\"1.0.0\"}", "{\"removed\":1}");
    served_expect(&served, "pack/remove", "{\"name\":\"acme\"}", "{\"removed\":2}");
    served_expect_error(&served, "pack/remove", "{\"name\":\"acme\"}", "NOT_FOUND", "acme");
    served_expect_error(&served, "pack/show", "{\"name\":\"acme\"}", "NOT_FOUND", "pack/list");
    served_close(&served);
}

static void changed_files_are_shown(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    server_set_sign_check(served.server, is_not_signed);
    value_unref(installed(&served, "1.0.0", true));
    char path[128];
    snprintf(path, sizeof path, "%s/tenon/packs/acme/1.0.0/a.yaml", home);
    chmod(path, 0600);
    write_file("tenon/packs/acme/1.0.0/a.yaml", "version: \"1.0\"\n");
    tn_value result = served_result(&served, "pack/show", "{\"name\":\"acme\"}");
    tn_value error = value_get(value_at(value_get(result, "parts"), 0), "error");
    assert_true(value_text_is(value_get(error, "code"), "PACK_ALTERED"));
    value_unref(result);
    served_close(&served);
}

static void signatures_are_checked(void **state) {
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    tn_value params = new_pack("1.0.0"), outcome;
    outcome = served_call_as(&served, served.client, "pack/install", value_ref(params)); /* no check, no installation */
    assert_true(value_text_is(value_get(value_get(outcome, "error"), "code"), "UNSUPPORTED"));
    value_unref(outcome);
    server_set_sign_check(served.server, is_forged);
    outcome = served_call_as(&served, served.client, "pack/install", params);
    assert_true(value_text_is(value_get(value_get(outcome, "error"), "code"), "PACK_INVALID"));
    value_unref(outcome);
    served_expect(&served, "pack/list", "{}", "{\"packs\":[]}");
    server_set_sign_check(served.server, is_signed_by_key);
    tn_value result = installed(&served, "1.0.0", true);
    assert_true(value_text_is(value_get(result, "key"), KEY));
    assert_false(value_to_bool(value_get(result, "trusted")));
    value_unref(result);
    served_expect_error(&served, "pack/install", "{\"file\":\"/no/such.tenonpack\"}", "IO", "/no/such.tenonpack");
    served_expect_error(&served, "pack/install", "{\"file\":\"oci://example.com/acme:1\"}", "INVALID_INPUT",
                        "tenon pack install");
    struct client *runner = served_client(&served, "runner", METHOD_RUN);
    served_expect_error_as(&served, runner, "pack/install", "{\"file\":\"x\"}", "PERMISSION_DENIED", "`admin`");
    served_close(&served);
}

/* Packs are read on another thread, one at a time; a limited number of calls waits. */
static void the_loop_does_not_wait_for_packs(void **state) {
    static struct served_call calls[METHOD_JOBS_MAX + 1];
    struct served served;
    (void)state;
    served_open(&served, METHOD_ADMIN);
    server_set_sign_check(served.server, is_not_signed);
    served_start(&served, served.client, "pack/install", new_pack("1.0.0"), &calls[0]);
    for (size_t i = 1; i < METHOD_JOBS_MAX; i++)
        served_start(&served, served.client, "pack/show", served_json("{\"name\":\"acme\"}"), &calls[i]);
    served_start(&served, served.client, "pack/remove", served_json("{\"name\":\"acme\"}"), &calls[METHOD_JOBS_MAX]);
    for (size_t i = 0; i <= METHOD_JOBS_MAX; i++) assert_false(calls[i].ended);
    served_expect(&served, "run/list", "{}", "{\"runs\":[],\"more\":false}"); /* it needs no turn of the loop */
    served_expect_error(&served, "pack/show", "{\"name\":\"acme\"}", "LIMIT", "64 calls");
    call_cancel(calls[1].call);
    tn_value outcome;
    for (size_t i = 0; i <= METHOD_JOBS_MAX; i++) {
        outcome = served_finish(&served, &calls[i]);
        assert_true((value_get(outcome, "result") != NULL) == (i != 1));
        value_unref(outcome);
    }
    served_expect(&served, "pack/list", "{}", "{\"packs\":[]}");
    served_close(&served);
}

/* The server ends: a job that runs ends first, one that waits for it does not run. */
static void jobs_end_with_the_server(void **state) {
    struct served served;
    struct served_call calls[2];
    (void)state;
    served_open(&served, METHOD_ADMIN);
    server_set_sign_check(served.server, is_not_signed);
    served_start(&served, served.client, "pack/install", new_pack("1.0.0"), &calls[0]);
    served_start(&served, served.client, "pack/remove", served_json("{\"name\":\"acme\"}"), &calls[1]);
    /* Both before a turn of the loop, in which the second one would begin if the first one has ended. */
    for (size_t i = 0; i < 2; i++) call_cancel(calls[i].call);
    for (size_t i = 0; i < 2; i++) value_unref(served_finish(&served, &calls[i]));
    served_close(&served);
    served_open(&served, METHOD_ADMIN);
    tn_value list = served_result(&served, "pack/list", "{}");
    assert_int_equal(value_count(value_get(list, "packs")), 1);
    value_unref(list);
    served_close(&served);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packs_come_and_go, open_home, close_home),
        cmocka_unit_test_setup_teardown(changed_files_are_shown, open_home, close_home),
        cmocka_unit_test_setup_teardown(signatures_are_checked, open_home, close_home),
        cmocka_unit_test_setup_teardown(the_loop_does_not_wait_for_packs, open_home, close_home),
        cmocka_unit_test_setup_teardown(jobs_end_with_the_server, open_home, close_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
