/*
 * config_test.c - tenon.yaml: its keys, messages about mistakes, the precedence of the project's file over the
 * user's, and secrets.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/config/config_internal.h"
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
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

static const char *path_in_folder(const char *name) {
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(path_in_folder(name), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int create_folders(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return -1;
    mkdir(path_in_folder("user"), 0700);
    mkdir(path_in_folder("user/tenon"), 0700);
    mkdir(path_in_folder("project"), 0700);
    mkdir(path_in_folder("project/deep"), 0700);
    setenv("XDG_CONFIG_HOME", path_in_folder("user"), 1);
    setenv("HOME", path_in_folder("home"), 1);
    return 0;
}

static int remove_folders(void **state) {
    (void)state;
    static const char *const names[] = {"user/tenon/tenon.yaml", "project/tenon.yaml", "secret", "large", "other.yaml"};
    static const char *const folders[] = {"user/tenon", "user", "project/deep", "project"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(path_in_folder(names[i]));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) rmdir(path_in_folder(folders[i]));
    return rmdir(folder);
}

static size_t mistakes; /* the number that the last read_text found */

static struct config *read_text(const char *text, char *first, size_t room) {
    struct diagnostics *found = diagnostics_new();
    struct config *config = config_read("/etc/p/tenon.yaml", text, strlen(text), found);
    diagnostics_sort(found);
    *first = 0;
    mistakes = diagnostics_count(found);
    if (mistakes > 0) {
        const struct diagnostic *one = diagnostics_at(found, 0);
        struct source_place place = source_locate(one->source, one->span.start);
        snprintf(first, room, "%u:%u %s%s%s", place.line + 1, place.point + 1, one->message,
                 one->suggestion ? "; " : "", one->suggestion ? one->suggestion : "");
    }
    diagnostics_free(found);
    return config;
}

/* ---- Keys ---- */

static void reads_every_key(void **state) {
    (void)state;
    char first[512];
    struct config *config = read_text("plugins:\n"
                                      "  path: [./mine, /opt/theirs, ~/x]\n"
                                      "  config: {acme.search: {endpoint: here, depth: 3}}\n"
                                      "models:\n"
                                      "  planner: openai:gpt-4o\n"
                                      "  judge: [{provider: a, model: b}, c:d]\n"
                                      "limits: {workers: 3}\n"
                                      "files: {roots: [../shared, ~/x]}\n"
                                      "log: debug\n",
                                      first, sizeof first);
    assert_string_equal(first, "");
    assert_true(value_text_is(value_at(config_file_roots(config), 0), "/etc/p/../shared"));
    assert_true(value_text_is(value_at(config_file_roots(config), 1), path_in_folder("home/x")));
    assert_int_equal(value_count(config_file_roots(config)), 2);
    assert_int_equal(config_plugin_path_count(config), 3);
    assert_string_equal(config_plugin_path(config, 0), "/etc/p/./mine");
    assert_string_equal(config_plugin_path(config, 1), "/opt/theirs");
    assert_string_equal(config_plugin_path(config, 2), path_in_folder("home/x"));
    assert_int_equal(value_to_int(value_get(config_plugin_section(config, "acme.search"), "depth")), 3);
    assert_null(config_plugin_section(config, "acme.other"));
    assert_true(value_text_is(config_model(config, "planner"), "openai:gpt-4o"));
    assert_int_equal(value_count(config_model(config, "judge")), 2);
    assert_null(config_model(config, "missing"));
    assert_int_equal(config_limit(config, "workers", 9), 3);
    assert_int_equal(config_limit(config, "concurrency", 9), 9);
    assert_int_equal(config_log_level(config), TN_LOG_DEBUG);
    config_free(config);
}

static void reads_what_is_served(void **state) {
    (void)state;
    char first[512];
    struct config *config = read_text("serve:\n"
                                      "  graphs: {a: ./a.yaml, b: \"tenon:pdca\"}\n"
                                      "  tls: {certificate: ~/c.pem, key: /k}\n"
                                      "  hosts: h\n"
                                      "  log: x.log\n",
                                      first, sizeof first);
    assert_string_equal(first, "");
    tn_value serve = config_serve(config);
    assert_true(value_text_is(value_get(config_graphs(config), "a"), "/etc/p/./a.yaml"));
    assert_true(value_text_is(value_get(config_graphs(config), "b"), "tenon:pdca"));
    assert_true(value_text_is(value_get(value_get(serve, "tls"), "certificate"), path_in_folder("home/c.pem")));
    assert_true(value_text_is(value_at(value_get(serve, "hosts"), 0), "h"));
    assert_true(value_text_is(value_get(serve, "log"), "/etc/p/x.log"));
    config_add_graph(config, "c", "c.yaml");
    assert_int_equal(value_count(config_graphs(config)), 3);
    config_free(config);
    config = read_text("serve:", first, sizeof first);
    assert_non_null(config_serve(config));
    config_free(config);
    config = config_empty();
    assert_null(config_serve(config));
    config_add_graph(config, "c", "c.yaml");
    assert_true(value_text_is(value_get(config_graphs(config), "c"), "c.yaml"));
    config_free(config);
    assert_true(config_is_loopback("127.8.0.1") && config_is_loopback("::1"));
    assert_false(config_is_loopback("0.0.0.0") || config_is_loopback("::") || config_is_loopback("localhost"));
}

static void reports_mistakes_with_position(void **state) {
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
        {"plugins: {config: {a.b: 1}}", "1:25 `plugins.config.a.b`: found int, expected a mapping"},
        {"models: {m: {model: x}}", "1:13 `models.m`: found no `provider`, expected the name of a provider"},
        {"models: {m: [[x]]}", "1:14 `models.m`: found array, expected \"provider:model\""},
        {"models: {m: 3}", "1:13 `models.m`: found int"},
        {"models: {m: [a, 3]}", "1:17 `models.m`: found int"},
        {"limits: {worker: 3}", "1:10 found the key `worker`, which `limits` does not have; did you mean `workers`?"},
        {"limits: {workers: 0}", "1:19 `limits.workers`: found 0, expected 1 to 256"},
        {"limits: {workers: many}", "1:19 `limits.workers`: found `many`, expected a whole number"},
        {"log: loud", "1:6 `log`: found `loud`, expected debug, info, warn or error"},
        {"log: inof", "did you mean `info`?"},
        {"log: [x]", "1:6 `log`: found array"},
        {"secrets: {K: {fil: x}}", "found the key `fil`, which `secrets.K` does not have; did you mean `file`?"},
        {"secrets: {K: {}}", "1:14 `secrets.K`: found object, expected one of {env: NAME}, {file: PATH}"},
        {"secrets: {K: {env: A, file: b}}", "1:14 `secrets.K`: found object"},
        {"secrets: {K: {command: []}}", "1:14 `secrets.K`: found object"},
        {"secrets: {K: {hosts: [a]}}", "1:14 `secrets.K`: found object"},
        {"secrets: {K: {env: A, hosts: a}}", "`secrets.K.hosts`: found string, expected a list of hosts"},
        {"secrets: {K: {env: A, hosts: [1]}}", "`secrets.K.hosts`: found array, expected a list of hosts"},
        {"secrets: {K: {env: A, hosts: [a], x: 1}}", "1:14 `secrets.K`: found object"},
        {"plugins: {isolation: {a.b: proces}}",
         "`plugins.isolation.a.b`: found `proces`, expected `process` or `none`"},
        {"plugins: {drafts: {a.b: true}}", "`plugins.drafts`: found object, expected the id of a plugin"},
        {"plugins: {drafts: [\"*\"]}",
         "`plugins.drafts`: found `*`, expected the id of a plugin; `--allow-drafts` allows"},
        {"plugins: {drafts: [a.b, 3]}", "1:25 `plugins.drafts`: found int, expected the id of a plugin"},
        {"plugins: {processes: {a.b: 0}}", "`plugins.processes.a.b`: found 0, expected a number from 1 to 256"},
        {"plugins: {processes: {a.b: 257}}", "`plugins.processes.a.b`: found 257, expected a number from 1 to 256"},
        {"plugins: {processes: {a.b: all}}", "`plugins.processes.a.b`: found `all`, expected a number from 1 to 256"},
        {"plugins: {processes: 4}", "`plugins.processes`: found int, expected a mapping of plugin ids"},
        {"serve: 5", "`serve`: found int, expected a mapping, for example with `graphs`"},
        {"serve: {grahps: {}}", "found the key `grahps`, which `serve` does not have; did you mean `graphs`?"},
        {"serve: {address: localhost}", "`serve.address`: found `localhost`, expected an IP address of this machine"},
        {"serve: {port: 65536}", "`serve.port`: found 65536, expected a whole number from 0 to 65535"},
        {"serve: {tls: {certificate: a}}", "`serve.tls`: found object, expected {certificate: FILE, key: FILE}"},
        {"serve: {origins: [app]}", "`serve.origins`: found `app`, expected the origin of a web page"},
        {"serve: {graphs: {a/b: c}}", "`serve.graphs`: found the name `a/b`, expected 1 to 64 letters, digits"},
        {"serve: {graphs: {a: 5}}", "`serve.graphs.a`: found 5, expected a document: a path, `tenon:NAME`"},
        {"serve: {limits: {runs: 0}}", "`serve.limits.runs`: found 0, expected 1 to 10000"},
        {"serve: {limits: {rnus: 1}}", "which `serve.limits` does not have; did you mean `runs`?"},
        {"serve: {log: 5}", "`serve.log`: found 5, expected the path of a file, `-` for standard error, or false"},
        {"schedules: [a]", "`schedules`: found array, expected a mapping of names to schedules"},
        {"schedules: {a/b: {every: 1m, task: {type: w}}}", "found the name `a/b`, expected 1 to 100 letters, digits"},
        {"schedules: {a: 5}", "`schedules.a`: found int, expected a mapping with `cron`, `every` or `at`, and `task`"},
        {"schedules: {a: {task: {type: w}}}", "`schedules.a`: found no time, expected one of `cron`, `every` and `at`"},
        {"schedules: {a: {every: 1m, at: x, task: {type: w}}}", "`schedules.a`: found more than one time"},
        {"schedules: {a: {every: 1m}}", "`schedules.a`: found no `task`, expected `task: {type: …}`"},
        {"schedules: {a: {evrey: 1m, task: {type: w}}}", "which a schedule does not have; did you mean `every`?"},
        {"schedules: {a: {cron: [], task: {type: w}}}", "`schedules.a.cron`: found array, expected a cron expression"},
        {"schedules: {a: {every: 999ms, task: {type: w}}}",
         "`schedules.a.every`: found `999ms`, expected a duration from 1s to 366d"},
        {"schedules: {a: {every: 367d, task: {type: w}}}", "`schedules.a.every`: found `367d`"},
        {"schedules: {a: {at: 2026-12-01, task: {type: w}}}", "`schedules.a.at`: found `2026-12-01`, expected a time"},
        {"schedules: {a: {every: 1m, timezone: UTC, task: {type: w}}}",
         "`schedules.a.timezone`: found a time zone beside `every`, expected it only beside `cron`"},
        {"schedules: {a: {every: 1m, task: w}}", "`schedules.a.task`: found string, expected a mapping with `type`"},
        {"schedules: {a: {every: 1m, task: {type: 5}}}", "`schedules.a.task.type`: found int, expected the type"},
        {"schedules: {a: {every: 1m, task: {type: w, payload: 5}}}", "`schedules.a.task.payload`: found int"},
        {"schedules: {a: {every: 1m, task: {type: w}, misfire: never}}",
         "`schedules.a.misfire`: found `never`, expected `skip`, `once` or `all`"},
        {"schedules: {a: {every: 1m, task: {type: w}, enabled: maybe}}",
         "`schedules.a.enabled`: found `maybe`, expected true or false"},
        {"prices: {\"o:m\": 1}", "`prices.o:m`: found int, expected a mapping"},
        {"prices: {\"o:m\": {input: -0.5}}", "`prices.o:m.input`: found -0.5, expected a number of at least 0"},
        {"prices: {\"o:m\": {inptu: 1}}", "which a price does not have; did you mean `input`?"},
        {"tools: {approval: {a: allow}}", "`tools.approval.a`: found `allow`, expected `auto`, `ask` or `deny`"},
        {"tools: {audit: 1}", "`tools.audit`: found int, expected the path of a file"},
        {"tools: {audit_required: sometimes}", "`tools.audit_required`: found `sometimes`, expected true or false"},
        {"files: 1", "1:8 `files`: found int, expected a mapping with `roots`"},
        {"files: {roots: [[]]}", "1:17 `files.roots`: found array, expected a path, or a list of paths"},
        {"files: {rots: a}", "found the key `rots`, which `files` does not have; did you mean `roots`?"},
        {"store: {use: [a]}", "`store.use`: found array, expected the name of a store"},
        {"http: []", "1:7 `http`: found array, expected the name of a plugin that provides HTTP"},
        {"http: {use: 1}", "1:13 `http.use`: found int"},
        {"http: {usee: a}", "found the key `usee`, which `http` does not have"},
        {"a: b: c", "1:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char first[512];
        config_free(read_text(cases[i].text, first, sizeof first));
        if (!strstr(first, cases[i].first))
            fail_msg("%s: expected `%s`, found `%s`", cases[i].text, cases[i].first, first);
    }
}

/* If the file contains the secret itself, the message does not repeat it. */
static void never_quotes_a_secret(void **state) {
    (void)state;
    char first[512];
    config_free(read_text("secrets: {K: hunter2}", first, sizeof first));
    assert_non_null(strstr(first, "`secrets.K`: found a text, expected where the secret is stored"));
    assert_null(strstr(first, "hunter2"));
    static const char *const misplaced[] = {"secrets: {K: {hunter2}}", "secrets: {K: [hunter2]}",
                                            "secrets: {K: {command: hunter2}}", "secrets: {K: {env: [hunter2]}}",
                                            "plugins: {config: {acme.search: hunter2}}"};
    for (size_t i = 0; i < sizeof misplaced / sizeof *misplaced; i++) {
        config_free(read_text(misplaced[i], first, sizeof first));
        assert_non_null(strstr(first, "expected"));
        assert_null(strstr(first, "hunter2"));
    }
}

/* The value of a key with a mistake is not kept, and the others are. */
static void keeps_only_valid_keys(void **state) {
    (void)state;
    char first[512];
    struct config *config = read_text("store: {use: [a], path: p}\nhttp: {use: 1}\nlog: info", first, sizeof first);
    assert_null(config_store(config));
    assert_null(config_http(config));
    assert_int_equal(config_log_level(config), TN_LOG_INFO);
    config_free(config);
}

/* A message cuts a long name, and not in the middle of a character. */
static void cuts_long_names(void **state) {
    (void)state;
    for (size_t lead = 0; lead < 3; lead++) {
        char text[1024], first[512];
        snprintf(text, sizeof text, "models: {%.*s", (int)lead, "aa");
        for (size_t i = 0; i < 100; i++) strcat(text, "€");
        strcat(text, ": 3}");
        config_free(read_text(text, first, sizeof first));
        tn_value message = value_string(first, strlen(first));
        assert_non_null(message);
        assert_non_null(strstr(first, "€`: found int, expected"));
        value_unref(message);
    }
}

/* Reads a file with a list of `count` entries "/p" between `before` and `after`. */
static struct config *read_list(const char *before, size_t count, const char *after, char *first, size_t room) {
    char text[8192];
    snprintf(text, sizeof text, "%s[", before);
    for (size_t i = 0; i < count; i++) strcat(text, "/p,");
    strcat(text, "]");
    strcat(text, after);
    return read_text(text, first, room);
}

/* A list that is too long is reported once, at its first surplus entry. */
static void limits_the_length_of_lists(void **state) {
    (void)state;
    char first[512];
    struct config *config = read_list("plugins: {path: ", CONFIG_PATHS_MAX + 3, "}", first, sizeof first);
    assert_string_equal(first, "1:318 `plugins.path`: found 103 paths, expected at most 100");
    assert_int_equal(mistakes, 1);
    assert_int_equal(config_plugin_path_count(config), CONFIG_PATHS_MAX);
    config_free(config);
    config_free(read_list("packs: {trust: ", CONFIG_TRUST_MAX + 3, "}", first, sizeof first));
    assert_string_equal(first, "1:3017 `packs.trust`: found 1003 public keys, expected at most 1000");
    assert_int_equal(mistakes, 1);
    config = read_list("secrets: {K: {env: A, hosts: ", CONFIG_HOSTS_MAX + 3, "}}", first, sizeof first);
    assert_string_equal(first, "1:331 `secrets.K.hosts`: found 103 hosts, expected at most 100");
    assert_int_equal(mistakes, 1);
    config_free(config);
}

static void trusts_keys(void **state) {
    (void)state;
    static const char mine[] = "MWKRgASKUmt/t8kWoq8mwN7aQefvUvyVBKsUeyclbOE=",
                      other[] = "SFIgaNhizuyIoTk9Bryac147VqUXn5TtCjV+r9D52B8=";
    char text[256], first[512];
    struct error error = ERROR_INIT;
    assert_true(config_is_public_key(mine));
    assert_false(
        config_is_public_key("MWKRgASKUmt/t8kWoq8mwN7aQefvUvyVBKsUeyclbOF=")); /* the same bytes, encoded differently */
    assert_false(config_is_public_key("MWKRgASKUmt/t8kWoq8mwN7aQefvUvyVBKsUeyclbO=="));
    assert_false(config_is_public_key(""));
    snprintf(text, sizeof text, "packs: {trust: [\"%s\", /nowhere/x.pub, /dev/null]}", mine);
    struct config *config = read_text(text, first, sizeof first);
    assert_true(config_trusts(config, mine, &error)); /* unusable files do not hide the usable one */
    assert_string_equal(error.message, "cannot read the public key in /nowhere/x.pub: No such file or directory");
    assert_false(config_trusts(config, other, NULL));
    assert_false(config_trusts(config, NULL, NULL));
    assert_false(config_trusts(NULL, mine, NULL));
    config_free(config);
    config_free(read_text("packs: {trust: [1]}", first, sizeof first));
    assert_non_null(strstr(first, "`packs.trust`: found int, expected a public key, or the path of a .pub file"));
    error_finish(&error);
}

static const char *registry_variable;
static void note_registry_variable(const char *variable) { registry_variable = variable; }

static void reads_registries(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "{h: {user: jane}}",
        "{h: {password: {secret: A}}}",
        "{h: {user: jane, password: hush-hush}}",
        "{h: {plain_http: maybe}}",
        "{h: {user: j, password: {secret: 1}}}",
        "{h: {user: j, password: {secret: A, x: 1}}}",
        "{h: [hush-hush]}",
        "{h: {user: 1, password: {secret: A}}}",
        "[hush-hush]",
    };
    char text[256], first[512];
    struct config *config =
        read_text("packs: {registries: {\"h:1\": {user: j, password: {secret: A}}, i: {plain_http: true}, k: {}}}",
                  first, sizeof first);
    assert_string_equal(first, "");
    assert_true(value_text_is(value_get(config_registry(config, "h:1"), "user"), "j"));
    assert_true(value_get(config_registry(config, "i"), "plain_http") == value_bool(true));
    assert_non_null(config_registry(config, "k"));
    assert_null(config_registry(config, "h"));
    assert_null(config_registry(NULL, "h:1"));
    config_each_secret_variable(config, note_registry_variable); /* so that plugins do not inherit it */
    assert_string_equal(registry_variable, "A");
    config_free(config);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "packs: {registries: %s}", wrong[i]);
        config = read_text(text, first, sizeof first);
        if (mistakes != 1 || !strstr(first, "`packs.registries")) fail_msg("%s: %d: %s", text, (int)mistakes, first);
        assert_null(strstr(first, "hush"));
        assert_null(config_registry(config, "h"));
        config_free(config);
    }
    config = read_text("packs: {install: [\"oci://h/a@sha256:1\", \"oci://h/a:1\"]}", first, sizeof first);
    assert_non_null(strstr(first, "`packs.install`: found `oci://h/a:1`, expected a reference with a digest"));
    assert_int_equal(value_count(config_pack_installs(config)), 1);
    assert_null(config_pack_installs(NULL));
    config_free(config);
    config_free(read_text("packs: {registries: {h: {pasword: {secret: A}}}}", first, sizeof first));
    assert_non_null(strstr(first, "found the key `pasword`, which a registry does not have"));
}

/* ---- Files ---- */

static void project_file_overrides_user_file(void **state) {
    (void)state;
    struct config *config;
    struct error error = ERROR_INIT;
    write_file("user/tenon/tenon.yaml",
               "models: {a: u:1, b: u:2}\nlog: error\nplugins: {path: mine}\nlimits: {workers: 2}\n");
    write_file("project/tenon.yaml", "models: {b: p:2}\nplugins: {path: ours}\nlog:  info\n");
    if (config_load_from(NULL, path_in_folder("project/deep"), &config, &error) != TN_OK) fail_msg("%s", error.message);
    assert_string_equal(config_file(config), path_in_folder("project/tenon.yaml"));
    assert_true(value_text_is(config_model(config, "a"), "u:1"));
    assert_true(value_text_is(config_model(config, "b"), "p:2"));
    assert_int_equal(config_log_level(config), TN_LOG_INFO);
    assert_int_equal(config_limit(config, "workers", 9), 2);
    assert_string_equal(config_plugin_path(config, 0), path_in_folder("project/ours"));
    assert_string_equal(config_plugin_path(config, 1), path_in_folder("user/tenon/mine"));
    config_free(config);
    write_file("other.yaml", "log: warn");
    assert_int_equal(config_load_from(path_in_folder("other.yaml"), path_in_folder("project"), &config, NULL), TN_OK);
    assert_int_equal(config_log_level(config), TN_LOG_WARN);
    config_free(config);
}

/* Paths in a file that is named by a relative path are absolute: an isolated store refuses others. */
static void relative_file_has_absolute_paths(void **state) {
    static const struct {
        const char *file, *folder;
    } names[] = {{"tenon.yaml", ""}, {"./tenon.yaml", ""}, {"../project/tenon.yaml", ""}, {"deep/tenon.yaml", "deep/"}};
    (void)state;
    char before[PATH_MAX], expected[PATH_MAX + 16];
    assert_non_null(getcwd(before, sizeof before));
    write_file("project/tenon.yaml", "store: {use: acme.folder, path: records}\nplugins: {config: {acme.x: {}}}\n");
    write_file("project/deep/tenon.yaml",
               "store: {use: acme.folder, path: records}\nplugins: {config: {acme.x: {}}}\n");
    assert_int_equal(chdir(path_in_folder("project")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct config *config = NULL;
        assert_int_equal(config_load_from(names[i].file, NULL, &config, NULL), TN_OK);
        assert_string_equal(config_file(config), names[i].file);
        snprintf(expected, sizeof expected, "%s/%srecords", path_in_folder("project"), names[i].folder);
        assert_true(value_text_is(value_get(config_store(config), "path"), expected));
        snprintf(expected, sizeof expected, "%s/%s", path_in_folder("project"), names[i].folder);
        expected[strlen(expected) - 1] = 0;
        assert_string_equal(config_plugin_folder(config, "acme.x"), expected);
        config_free(config);
    }
    assert_int_equal(chdir(before), 0);
    assert_int_equal(unlink(path_in_folder("project/deep/tenon.yaml")), 0);
}

static void rejects_unreadable_and_oversized_files(void **state) {
    (void)state;
    struct config *config = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(config_load_from(path_in_folder("none.yaml"), NULL, &config, &error), TN_NOT_FOUND);
    assert_non_null(strstr(error.message, "none.yaml"));
    write_file("other.yaml", "logg: info\nlimitz: {}\n");
    assert_int_equal(config_load_from(path_in_folder("other.yaml"), NULL, &config, &error), TN_INVALID);
    assert_string_equal(error.code, "INVALID_CONFIG");
    assert_non_null(strstr(error.message, "other.yaml:1:1: found the key `logg`"));
    assert_non_null(strstr(error.message, "(and 1 more)"));
    char *large = malloc(CONFIG_FILE_MAX + 2);
    memset(large, ' ', CONFIG_FILE_MAX + 1);
    large[CONFIG_FILE_MAX + 1] = 0;
    write_file("large", large);
    assert_int_equal(config_load_from(path_in_folder("large"), NULL, &config, &error), TN_LIMIT);
    free(large);
    assert_null(config);
    error_finish(&error);
}

/* Other users may be able to write to a parent folder. A file of theirs must not decide which code runs. */
static void rejects_files_of_other_users(void **state) {
    (void)state;
    struct config *config = NULL;
    struct error error = ERROR_INIT;
    if (geteuid() != 0) skip(); /* only root can create a file of another user */
    write_file("project/tenon.yaml", "log: info");
    assert_int_equal(chown(path_in_folder("project/tenon.yaml"), 65534, 65534), 0);
    assert_int_equal(config_load_from(NULL, path_in_folder("project/deep"), &config, &error), TN_INVALID);
    assert_string_equal(error.code, "PERMISSION_DENIED");
    assert_non_null(strstr(error.message, "--config"));
    assert_int_equal(config_load_from(NULL, path_in_folder("project"), &config, &error),
                     TN_OK); /* the working folder */
    config_free(config);
    assert_int_equal(
        config_load_from(path_in_folder("project/tenon.yaml"), path_in_folder("project/deep"), &config, &error), TN_OK);
    config_free(config);
    assert_int_equal(chown(path_in_folder("project/tenon.yaml"), geteuid(), getegid()), 0);
    error_finish(&error);
}

static void search_stops_at_the_boundary(void **state) {
    (void)state;
    write_file("project/tenon.yaml", "log: info");
    struct buffer path;
    struct config *config;
    buffer_init(&path, SIZE_MAX);
    buffer_text(&path, path_in_folder("project"));
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

static void accepts_an_empty_file(void **state) {
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
    assert_null(config_plugin_section(NULL, "x"));
    assert_int_equal(config_plugin_path_count(NULL), 0);
    assert_int_equal(config_limit(NULL, "workers", 7), 7);
}

/* ---- Secrets ---- */

static void expect_secret(const struct config *config, const char *name, const char *expected) {
    tn_value secret = NULL;
    struct error error = ERROR_INIT;
    if (config_secret(config, name, -1, &secret, &error) != TN_OK) fail_msg("%s: %s", name, error.message);
    assert_true(value_text_is(secret, expected));
    value_unref(secret);
}

static void expect_no_secret(const struct config *config, const char *name, const char *why) {
    tn_value secret = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(config_secret(config, name, -1, &secret, &error), TN_NOT_FOUND);
    assert_string_equal(error.code, "SECRET_NOT_FOUND");
    if (!strstr(error.message, why)) fail_msg("expected `%s` in `%s`", why, error.message);
    assert_null(secret);
    error_finish(&error);
}

/* The hosts that may get a secret, optional secrets, and the plugin that sends requests. */
static void reads_hosts_of_secrets(void **state) {
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
    assert_false(config_secret_absent(config, "B")); /* a configured secret is never absent */
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
    write_file("secret", "from a file\n");
    memset(large, 'x', CONFIG_SECRET_MAX + 1);
    large[CONFIG_SECRET_MAX + 1] = 0;
    write_file("large", large);
    free(large);
    snprintf(text, sizeof text,
             "secrets:\n  E: {env: TENON_TEST_SECRET}\n  F: {file: %s}\n  G: {file: %s}\n  L: {file: %s}\n"
             "  C: {command: [sh, -c, 'echo from \"$0\"', 'a command']}\n"
             "  D: {command: [sh, -c, 'echo text; exit 3']}\n  N: {command: [/nonexistent/program]}\n",
             path_in_folder("secret"), path_in_folder("none"), path_in_folder("large"));
    struct config *config = read_text(text, first, sizeof first);
    assert_string_equal(first, "");
    setenv("TENON_TEST_SECRET", "from a variable", 1);
    expect_secret(config, "E", "from a variable");
    expect_secret(config, "TENON_TEST_SECRET",
                  "from a variable"); /* not configured: the environment variable with this name */
    expect_secret(NULL, "TENON_TEST_SECRET", "from a variable");
    expect_secret(config, "F", "from a file");
    expect_secret(config, "C", "from a command");
    expect_no_secret(config, "TENON_TEST_UNSET", "the environment variable TENON_TEST_UNSET: it is not set");
    expect_no_secret(config, "G", "No such file");
    expect_no_secret(config, "L", "longer than 64 KiB");
    expect_no_secret(config, "D", "the command failed");
    expect_no_secret(config, "N", "/nonexistent/program");
    setenv("TENON_TEST_SECRET", "\xff", 1);
    expect_no_secret(config, "E", "not UTF-8");
    config_free(config);
}

/* A command starts without blocked signals and with SIGPIPE, which this process may ignore, as `tenon run` does. */
static void secret_commands_get_signals(void **state) {
    (void)state;
    char first[512];
    struct config *config = read_text("secrets: {P: {command: [sh, -c, 'kill -PIPE $$; echo survived']}, "
                                      "B: {command: [grep, '^SigBlk', /proc/self/status]}}",
                                      first, sizeof first);
    sigset_t all, before;
    assert_string_equal(first, "");
    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    expect_no_secret(config, "P", "the command failed");
    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    sigfillset(&all);
    assert_int_equal(sigprocmask(SIG_SETMASK, &all, &before), 0);
    expect_secret(config, "B", "SigBlk:\t0000000000000000");
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    config_free(config);
}

/* A pipe without a writer, and commands that do not end before or after they print. */
static void secrets_time_out(void **state) {
    (void)state;
    char text[1024], first[512];
    snprintf(text, sizeof text,
             "secrets:\n  P: {file: %s}\n  S: {command: [sleep, '1000']}\n"
             "  A: {command: [sh, -c, 'echo text; exec sleep 1000 >&-']}\n"
             "  B: {command: [sh, -c, 'sleep 5 2>&- & echo kept']}\n",
             path_in_folder("pipe"));
    assert_int_equal(mkfifo(path_in_folder("pipe"), 0600), 0);
    struct config *config = read_text(text, first, sizeof first);
    assert_string_equal(first, "");
    config->secret_ms = 50;
    expect_no_secret(config, "P", "it did not end within");
    expect_no_secret(config, "S", "it did not end within");
    expect_no_secret(config, "A", "it did not end within");
    /* The command has ended. A process that it started still has its output open; this does not delay the result. */
    config->secret_ms = 20000;
    expect_secret(config, "B", "kept");
    int stop = eventfd(1, EFD_CLOEXEC);
    tn_value secret = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(config_secret(config, "S", stop, &secret, &error), TN_NOT_FOUND);
    assert_non_null(strstr(error.message, "the host no longer needs it"));
    error_finish(&error);
    close(stop);
    assert_int_equal(unlink(path_in_folder("pipe")), 0);
    config_free(config);
}

static void replaces_secrets_in_values(void **state) {
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
    assert_true(value_equal(revealed, value)); /* a missing secret is not replaced */
    value_unref(revealed);
    value_unref(value);
    error_finish(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_key),
        cmocka_unit_test(reads_what_is_served),
        cmocka_unit_test(reports_mistakes_with_position),
        cmocka_unit_test(never_quotes_a_secret),
        cmocka_unit_test(keeps_only_valid_keys),
        cmocka_unit_test(cuts_long_names),
        cmocka_unit_test(limits_the_length_of_lists),
        cmocka_unit_test(trusts_keys),
        cmocka_unit_test(reads_registries),
        cmocka_unit_test(project_file_overrides_user_file),
        cmocka_unit_test(relative_file_has_absolute_paths),
        cmocka_unit_test(rejects_unreadable_and_oversized_files),
        cmocka_unit_test(rejects_files_of_other_users),
        cmocka_unit_test(search_stops_at_the_boundary),
        cmocka_unit_test(accepts_an_empty_file),
        cmocka_unit_test(fetches_secrets),
        cmocka_unit_test(secret_commands_get_signals),
        cmocka_unit_test(secrets_time_out),
        cmocka_unit_test(reads_hosts_of_secrets),
        cmocka_unit_test(replaces_secrets_in_values),
    };
    return cmocka_run_group_tests(tests, create_folders, remove_folders);
}
