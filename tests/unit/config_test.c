/*
 * config_test.c - tenon.yaml: its keys, what is wrong with them and where, the user's file below the project's,
 * secrets.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/config/config.h"
#include "host/config/config_internal.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- A folder of files ---- */

static char folder[] = "/tmp/tenon-config-XXXXXX";

static const char *in(const char *name) {
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void put(const char *name, const char *text) {
    FILE *file = fopen(in(name), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int begin(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    mkdir(in("user"), 0700);
    mkdir(in("user/tenon"), 0700);
    mkdir(in("project"), 0700);
    mkdir(in("project/deep"), 0700);
    setenv("XDG_CONFIG_HOME", in("user"), 1);
    setenv("HOME", in("home"), 1);
    return 0;
}

static int end(void **state) {
    (void)state;
    static const char *const names[] = {"user/tenon/tenon.yaml", "project/tenon.yaml", "secret", "large", "other.yaml"};
    static const char *const folders[] = {"user/tenon", "user", "project/deep", "project"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(in(names[i]));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) rmdir(in(folders[i]));
    return rmdir(folder);
}

static struct config *read_text(const char *text, char *first, size_t room) {
    struct diagnostics *found = diagnostics_new();
    struct config *config = config_read("/etc/p/tenon.yaml", text, strlen(text), found);
    diagnostics_sort(found);
    *first = 0;
    if (diagnostics_count(found) > 0) {
        const struct diagnostic *one = diagnostics_at(found, 0);
        struct source_place place = source_locate(one->source, one->span.start);
        snprintf(first, room, "%u:%u %s%s%s", place.line + 1, place.point + 1, one->message,
                 one->suggestion ? "; " : "", one->suggestion ? one->suggestion : "");
    }
    diagnostics_free(found);
    return config;
}

/* ---- Keys ---- */

static void reads_everything(void **state) {
    (void)state;
    char first[512];
    struct config *config = read_text("plugins:\n"
                                      "  path: [./mine, /opt/theirs, ~/x]\n"
                                      "  config: {acme.search: {endpoint: here, depth: 3}}\n"
                                      "models:\n"
                                      "  planner: openai:gpt-4o\n"
                                      "  judge: [{provider: a, model: b}, c:d]\n"
                                      "limits: {workers: 3}\n"
                                      "log: debug\n",
                                      first, sizeof first);
    assert_string_equal(first, "");
    assert_int_equal(config_plugin_paths(config), 3);
    assert_string_equal(config_plugin_path(config, 0), "/etc/p/./mine");
    assert_string_equal(config_plugin_path(config, 1), "/opt/theirs");
    assert_string_equal(config_plugin_path(config, 2), in("home/x"));
    assert_int_equal(value_to_int(value_get(config_plugin(config, "acme.search"), "depth")), 3);
    assert_null(config_plugin(config, "acme.other"));
    assert_true(value_text_is(config_model(config, "planner"), "openai:gpt-4o"));
    assert_int_equal(value_count(config_model(config, "judge")), 2);
    assert_null(config_model(config, "nobody"));
    assert_int_equal(config_limit(config, "workers", 9), 3);
    assert_int_equal(config_limit(config, "concurrency", 9), 9);
    assert_int_equal(config_log_level(config), TN_LOG_DEBUG);
    config_free(config);
}

static void says_what_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *text, *first;
    } cases[] = {
        {"plugin: {}", "1:1 found the key `plugin`, which tenon.yaml does not have; did you mean `plugins`?"},
        {"plugins:\n  paths: x", "2:3 found the key `paths`, which `plugins` does not have; did you mean `path`?"},
        {"- x", "1:1 `/etc/p/tenon.yaml`: found array, expected a mapping"},
        {"plugins: 3", "1:10 `plugins`: found int, expected a mapping"},
        {"plugins: {path: 3}", "1:17 `plugins.path`: found int, expected a path"},
        {"plugins: {path: [[]]}", "1:18 `plugins.path`: found array"},
        {"plugins: {config: {a.b: 1}}", "1:25 `a.b`: found int, expected a mapping"},
        {"models: {m: {model: x}}", "1:13 `models.m`: `provider` is missing"},
        {"models: {m: [[x]]}", "1:14 `m`: found array, expected \"provider:model\""},
        {"models: {m: 3}", "1:13 `m`: found int"},
        {"limits: {worker: 3}", "1:10 found the key `worker`, which `limits` does not have; did you mean `workers`?"},
        {"limits: {workers: 0}", "1:19 `limits.workers`: found 0, expected 1 to 256"},
        {"limits: {workers: many}", "1:19 `workers`: found string, expected a whole number"},
        {"log: loud", "1:6 `log`: found `loud`, expected debug, info, warn or error"},
        {"log: inof", "did you mean `info`?"},
        {"log: [x]", "1:6 `log`: found array"},
        {"secrets: {K: {fil: x}}", "1:14 `K`: found object, expected one of {env: NAME}, {file: PATH}"},
        {"secrets: {K: {command: []}}", "1:14 `K`: found object"},
        {"secrets: {K: {hosts: [a]}}", "1:14 `K`: found object"},
        {"secrets: {K: {env: A, hosts: a}}", "`hosts`: found string, expected a list of hosts"},
        {"secrets: {K: {env: A, hosts: [1]}}", "`hosts`: found array, expected a list of hosts"},
        {"secrets: {K: {env: A, hosts: [a], x: 1}}", "1:14 `K`: found object"},
        {"http: []", "1:7 `http`: found array, expected the name of a plugin that provides HTTP"},
        {"http: {use: 1}", "1:13 `http.use`: found int"},
        {"http: {usee: a}", "found the key `usee`, which `http` does not have"},
        {"a: b: c", "1:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char first[512];
        config_free(read_text(cases[i].text, first, sizeof first));
        if (!strstr(first, cases[i].first))
            fail_msg("%s: expected `%s`, got `%s`", cases[i].text, cases[i].first, first);
    }
}

/* Whoever writes the secret itself is told, and not quoted. */
static void never_quotes_a_secret(void **state) {
    (void)state;
    char first[512];
    config_free(read_text("secrets: {K: hunter2}", first, sizeof first));
    assert_non_null(strstr(first, "`secrets.K`: found a text; a secret is not written here"));
    assert_null(strstr(first, "hunter2"));
}

static void bounds_paths(void **state) {
    (void)state;
    char text[1024] = "plugins: {path: [", first[512];
    for (size_t i = 0; i <= CONFIG_PATHS_MAX; i++) strcat(text, "/p,");
    strcat(text, "]}");
    struct config *config = read_text(text, first, sizeof first);
    assert_int_equal(config_plugin_paths(config), CONFIG_PATHS_MAX);
    assert_non_null(strstr(first, "at most 100 paths"));
    config_free(config);
}

static void trusts_keys(void **state) {
    (void)state;
    static const char mine[] = "MWKRgASKUmt/t8kWoq8mwN7aQefvUvyVBKsUeyclbOE=",
                      other[] = "SFIgaNhizuyIoTk9Bryac147VqUXn5TtCjV+r9D52B8=";
    char text[8192] = "", first[512];
    struct error error = ERROR_INIT;
    assert_true(config_is_key(mine));
    assert_false(config_is_key("MWKRgASKUmt/t8kWoq8mwN7aQefvUvyVBKsUeyclbOF=")); /* the same bytes, another text */
    assert_false(config_is_key("MWKRgASKUmt/t8kWoq8mwN7aQefvUvyVBKsUeyclbO=="));
    assert_false(config_is_key(""));
    snprintf(text, sizeof text, "packs: {trust: [\"%s\", /nowhere/x.pub, /dev/null]}", mine);
    struct config *config = read_text(text, first, sizeof first);
    assert_true(config_trusts(config, mine, &error)); /* the files that cannot be used do not hide it */
    assert_string_equal(error.message, "/nowhere/x.pub: the key cannot be read: No such file or directory");
    assert_false(config_trusts(config, other, NULL));
    assert_false(config_trusts(config, NULL, NULL));
    assert_false(config_trusts(NULL, mine, NULL));
    config_free(config);
    config_free(read_text("packs: {trust: [1]}", first, sizeof first));
    assert_non_null(strstr(first, "`packs.trust`: found int, expected a public key, or the path of a .pub file"));
    strcpy(text, "packs: {trust: [");
    for (size_t i = 0; i <= CONFIG_TRUST_MAX; i++) strcat(text, "/p,");
    strcat(text, "]}");
    config_free(read_text(text, first, sizeof first));
    assert_non_null(strstr(first, "at most 1000 keys"));
    error_finish(&error);
}

/* ---- Files ---- */

static void project_over_user(void **state) {
    (void)state;
    struct config *config;
    struct error error = ERROR_INIT;
    put("user/tenon/tenon.yaml", "models: {a: u:1, b: u:2}\nlog: error\nplugins: {path: mine}\nlimits: {workers: 2}\n");
    put("project/tenon.yaml", "models: {b: p:2}\nplugins: {path: ours}\nlog:  info\n");
    if (config_load_from(NULL, in("project/deep"), &config, &error) != TN_OK) fail_msg("%s", error.message);
    assert_string_equal(config_file(config), in("project/tenon.yaml"));
    assert_true(value_text_is(config_model(config, "a"), "u:1"));
    assert_true(value_text_is(config_model(config, "b"), "p:2"));
    assert_int_equal(config_log_level(config), TN_LOG_INFO);
    assert_int_equal(config_limit(config, "workers", 9), 2);
    assert_string_equal(config_plugin_path(config, 0), in("project/ours"));
    assert_string_equal(config_plugin_path(config, 1), in("user/tenon/mine"));
    config_free(config);
    put("other.yaml", "log: warn");
    assert_int_equal(config_load_from(in("other.yaml"), in("project"), &config, NULL), TN_OK);
    assert_int_equal(config_log_level(config), TN_LOG_WARN);
    config_free(config);
}

static void refuses_files(void **state) {
    (void)state;
    struct config *config = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(config_load_from(in("none.yaml"), NULL, &config, &error), TN_NOT_FOUND);
    assert_non_null(strstr(error.message, "none.yaml"));
    put("other.yaml", "logg: info\nlimitz: {}\n");
    assert_int_equal(config_load_from(in("other.yaml"), NULL, &config, &error), TN_INVALID);
    assert_string_equal(error.code, "INVALID_CONFIG");
    assert_non_null(strstr(error.message, "other.yaml:1:1: found the key `logg`"));
    assert_non_null(strstr(error.message, "(and 1 more)"));
    char *large = malloc(CONFIG_FILE_MAX + 2);
    memset(large, ' ', CONFIG_FILE_MAX + 1);
    large[CONFIG_FILE_MAX + 1] = 0;
    put("large", large);
    assert_int_equal(config_load_from(in("large"), NULL, &config, &error), TN_LIMIT);
    free(large);
    assert_null(config);
    error_finish(&error);
}

/* Others may write into folders above ours: what they put there must not choose which code runs. */
static void refuses_the_files_of_others(void **state) {
    (void)state;
    struct config *config = NULL;
    struct error error = ERROR_INIT;
    if (geteuid() != 0) skip(); /* only root can make a file that is somebody else's */
    put("project/tenon.yaml", "log: info");
    assert_int_equal(chown(in("project/tenon.yaml"), 65534, 65534), 0);
    assert_int_equal(config_load_from(NULL, in("project/deep"), &config, &error), TN_INVALID);
    assert_string_equal(error.code, "PERMISSION_DENIED");
    assert_non_null(strstr(error.message, "--config"));
    assert_int_equal(config_load_from(NULL, in("project"), &config, &error), TN_OK); /* where one stands */
    config_free(config);
    assert_int_equal(config_load_from(in("project/tenon.yaml"), in("project/deep"), &config, &error), TN_OK);
    config_free(config);
    assert_int_equal(chown(in("project/tenon.yaml"), geteuid(), getegid()), 0);
    error_finish(&error);
}

static void bounds_the_search_upwards(void **state) {
    (void)state;
    put("project/tenon.yaml", "log: info");
    struct buffer path;
    struct config *config;
    buffer_init(&path, SIZE_MAX);
    buffer_text(&path, in("project"));
    size_t top = path.length;
    for (uint32_t i = 1; i <= CONFIG_PARENTS_MAX; i++) {
        buffer_text(&path, "/d");
        assert_int_equal(mkdir(buffer_cstr(&path), 0700), 0);
        if (i < CONFIG_PARENTS_MAX - 1) continue;
        assert_int_equal(config_load_from(NULL, buffer_cstr(&path), &config, NULL), TN_OK);
        assert_int_equal(config_file(config) != NULL, i < CONFIG_PARENTS_MAX);
        config_free(config);
    }
    for (; path.length > top; path.data[path.length -= 2] = 0) rmdir(path.data);
    buffer_finish(&path);
}

static void empty_is_fine(void **state) {
    (void)state;
    char first[512];
    config_free(read_text("", first, sizeof first));
    assert_string_equal(first, "");
    config_free(read_text("plugins:\nmodels:\n", first, sizeof first));
    assert_string_equal(first, "");
    struct config *config = config_empty();
    assert_int_equal(config_log_level(config), TN_LOG_WARN);
    assert_null(config_file(config));
    config_free(config);
    config_free(NULL);
    assert_null(config_model(NULL, "x"));
    assert_null(config_plugin(NULL, "x"));
    assert_int_equal(config_plugin_paths(NULL), 0);
    assert_int_equal(config_limit(NULL, "workers", 7), 7);
}

/* ---- Secrets ---- */

static void is_secret(const struct config *config, const char *name, const char *expected) {
    tn_value secret = NULL;
    struct error error = ERROR_INIT;
    if (config_secret(config, name, -1, &secret, &error) != TN_OK) fail_msg("%s: %s", name, error.message);
    assert_true(value_text_is(secret, expected));
    value_unref(secret);
}

static void no_secret(const struct config *config, const char *name, const char *why) {
    tn_value secret = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(config_secret(config, name, -1, &secret, &error), TN_NOT_FOUND);
    assert_string_equal(error.code, "SECRET_NOT_FOUND");
    if (!strstr(error.message, why)) fail_msg("expected `%s` in `%s`", why, error.message);
    assert_null(secret);
    error_finish(&error);
}

/* Where a secret may go, whether it can be done without, and who sends. */
static void hosts_of_secrets(void **state) {
    (void)state;
    char first[512];
    struct config *config =
        read_text("secrets: {A: {env: TENON_TEST_A, hosts: [a.example, \"*.b:80\"]}, B: {file: /none}, "
                  "C: {env: TENON_TEST_A}}\nhttp: acme\n",
                  first, sizeof first);
    assert_string_equal(first, "");
    assert_int_equal(value_count(config_secret_hosts(config, "A")), 2);
    assert_true(value_text_is(value_at(config_secret_hosts(config, "A"), 1), "*.b:80"));
    assert_null(config_secret_hosts(config, "C"));
    assert_null(config_secret_hosts(config, "TENON_TEST_A"));
    assert_null(config_secret_hosts(NULL, "A"));
    unsetenv("TENON_TEST_A");
    assert_true(config_secret_absent(config, "A"));
    assert_true(config_secret_absent(config, "TENON_TEST_A"));
    assert_true(config_secret_absent(NULL, "TENON_TEST_A"));
    assert_false(config_secret_absent(config, "B")); /* somebody meant it to be there */
    setenv("TENON_TEST_A", "", 1);
    assert_false(config_secret_absent(config, "C"));
    unsetenv("TENON_TEST_A");
    assert_true(value_text_is(value_get(config_http(config), "use"), "acme"));
    assert_null(config_http(NULL));
    config_free(config);
}

static void fetches_secrets(void **state) {
    (void)state;
    char text[1024], first[512], *large = malloc(CONFIG_SECRET_MAX + 2);
    put("secret", "from a file\n");
    memset(large, 'x', CONFIG_SECRET_MAX + 1);
    large[CONFIG_SECRET_MAX + 1] = 0;
    put("large", large);
    free(large);
    snprintf(text, sizeof text,
             "secrets:\n  E: {env: TENON_TEST_SECRET}\n  F: {file: %s}\n  G: {file: %s}\n  L: {file: %s}\n"
             "  C: {command: [sh, -c, 'echo from \"$0\"', 'a command']}\n"
             "  D: {command: [sh, -c, 'echo text; exit 3']}\n  N: {command: [/nonexistent/program]}\n",
             in("secret"), in("none"), in("large"));
    struct config *config = read_text(text, first, sizeof first);
    assert_string_equal(first, "");
    setenv("TENON_TEST_SECRET", "from a variable", 1);
    is_secret(config, "E", "from a variable");
    is_secret(config, "TENON_TEST_SECRET", "from a variable"); /* without a row: the variable of that name */
    is_secret(NULL, "TENON_TEST_SECRET", "from a variable");
    is_secret(config, "F", "from a file");
    is_secret(config, "C", "from a command");
    no_secret(config, "TENON_TEST_UNSET", "the environment variable TENON_TEST_UNSET: it is not set");
    no_secret(config, "G", "No such file");
    no_secret(config, "L", "longer than 64 KiB");
    no_secret(config, "D", "the command failed");
    no_secret(config, "N", "/nonexistent/program");
    setenv("TENON_TEST_SECRET", "\xff", 1);
    no_secret(config, "E", "not UTF-8");
    config_free(config);
}

/* A pipe that nobody writes to, commands that do not end: before they have printed, and after. */
static void gives_up_on_secrets(void **state) {
    (void)state;
    char text[1024], first[512];
    snprintf(text, sizeof text,
             "secrets:\n  P: {file: %s}\n  S: {command: [sleep, '1000']}\n"
             "  A: {command: [sh, -c, 'echo text; exec sleep 1000 >&-']}\n"
             "  B: {command: [sh, -c, 'sleep 5 2>&- & echo kept']}\n",
             in("pipe"));
    assert_int_equal(mkfifo(in("pipe"), 0600), 0);
    struct config *config = read_text(text, first, sizeof first);
    assert_string_equal(first, "");
    config->secret_ms = 50;
    no_secret(config, "P", "it had not come to an end");
    no_secret(config, "S", "it had not come to an end");
    no_secret(config, "A", "it had not come to an end");
    /* What it leaves behind may hold its output: it has said what it had to. */
    config->secret_ms = 20000;
    is_secret(config, "B", "kept");
    int stop = eventfd(1, EFD_CLOEXEC);
    tn_value secret = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(config_secret(config, "S", stop, &secret, &error), TN_NOT_FOUND);
    assert_non_null(strstr(error.message, "nobody waits for it any more"));
    error_finish(&error);
    close(stop);
    assert_int_equal(unlink(in("pipe")), 0);
    config_free(config);
}

static void reveals(void **state) {
    (void)state;
    static const char given[] =
        "{\"a\":[1,{\"secret\":\"TENON_TEST_S\"}],\"b\":{\"secret\":\"TENON_TEST_S\",\"more\":1},"
        "\"c\":{\"secret\":3}}",
                      expected[] =
                          "{\"a\":[1,\"shh\"],\"b\":{\"secret\":\"TENON_TEST_S\",\"more\":1},\"c\":{\"secret\":"
                          "3}}";
    tn_value value = NULL, revealed = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(json_read(given, strlen(given), NULL, &value, NULL), TN_OK);
    setenv("TENON_TEST_S", "shh", 1);
    assert_int_equal(config_reveal(NULL, value, &revealed, &error), TN_OK);
    char *text = json_text(revealed, JSON_COMPACT);
    assert_string_equal(text, expected);
    mem_free(text);
    value_unref(revealed);
    unsetenv("TENON_TEST_S");
    revealed = NULL;
    assert_int_equal(config_reveal(NULL, value, &revealed, &error), TN_NOT_FOUND);
    assert_true(value_equal(revealed, value)); /* what is missing is as it was */
    value_unref(revealed);
    value_unref(value);
    error_finish(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_everything),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(never_quotes_a_secret),
        cmocka_unit_test(bounds_paths),
        cmocka_unit_test(trusts_keys),
        cmocka_unit_test(project_over_user),
        cmocka_unit_test(refuses_files),
        cmocka_unit_test(refuses_the_files_of_others),
        cmocka_unit_test(bounds_the_search_upwards),
        cmocka_unit_test(empty_is_fine),
        cmocka_unit_test(fetches_secrets),
        cmocka_unit_test(gives_up_on_secrets),
        cmocka_unit_test(hosts_of_secrets),
        cmocka_unit_test(reveals),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
