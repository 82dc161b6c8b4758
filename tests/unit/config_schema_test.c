/*
 * config_schema_test.c - the JSON Schema of tenon.yaml says the same as the code that reads it, for the examples of all
 * keys, for wrong values, and for the files of samples.
 */
#include "adl/diagnostic/diagnostic.h"
#include "adl/schema/schema.h"
#include "adl/source/source.h"
#include "adl/tree/tree.h"
#include "adl/value/memory.h"
#include "host/assembly/config_names.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "tests/unit/corpus.h"
#include <glob.h>

static struct schema *plain, *of_host; /* without and with the names of a host */

static struct schema *compile_take(tn_value document) {
    struct error error = ERROR_INIT;
    struct schema *schema = NULL;
    if (schema_compile(document, NULL, &schema, &error) != TN_OK) fail_msg("%s", error.message);
    value_unref(document);
    return schema;
}

static int compile_schemas(void **state) {
    const char *const paths[] = {TENON_STORE_PLUGINS, NULL};
    struct error error = ERROR_INIT;
    struct host *host = host_new(
        &(struct host_options){.plugin_paths = paths, .no_installed = true, .no_config = true, .quiet = true}, &error);
    (void)state;
    if (!host) fail_msg("%s", error.message);
    plain = compile_take(config_schema());
    of_host = compile_take(config_schema_of_host(host));
    host_free(host);
    return 0;
}

static int free_schemas(void **state) {
    (void)state;
    schema_unref(plain);
    schema_unref(of_host);
    return 0;
}

static tn_value value_of_yaml(const char *text, size_t length) {
    struct diagnostics *found = diagnostics_new();
    struct source *source = source_new("tenon.yaml", text, length);
    struct tree *tree = tree_read(source, NULL, found);
    if (diagnostics_count(found)) fail_msg("no YAML: %s", text);
    tn_value value = tree_to_value(tree_root(tree));
    tree_free(tree);
    source_unref(source);
    diagnostics_free(found);
    return value;
}

static size_t mistakes_of_reader(const char *text, size_t length) {
    struct diagnostics *found = diagnostics_new();
    config_free(config_read("tenon.yaml", text, length, found));
    size_t count = diagnostics_count(found);
    diagnostics_free(found);
    return count;
}

static void expect_valid(const struct schema *schema, const char *name, const char *text, size_t length) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    tn_value value = value_of_yaml(text, length);
    if (schema_validate(schema, value, &errors) != TN_OK)
        fail_msg("%s: %s: %s", name, errors.items[0].pointer, errors.items[0].message);
    value_unref(value);
}

/* ---- Keys ---- */

static void examples_are_valid(void **state) {
    (void)state;
    for (size_t i = 0; i < config_key_count(); i++) {
        const struct config_key *key = config_key_at(i);
        tn_value text = *key->parent ? value_format("%s: {%s: %s}", key->parent, key->name, key->example)
                                     : value_format("%s: %s", key->name, key->example);
        size_t length;
        const char *chars = value_chars(text, &length);
        assert_int_equal(mistakes_of_reader(chars, length), 0);
        expect_valid(plain, chars, chars, length);
        expect_valid(of_host, chars, chars, length);
        value_unref(text);
    }
}

static void visit_described(void *user, tn_value schema) {
    if (value_is(value_get(schema, "description"), TN_STRING)) *(bool *)user = true;
}

static void keys_are_described(void **state) {
    (void)state;
    for (size_t i = 0; i < config_key_count(); i++) {
        const struct config_key *key = config_key_at(i);
        char pointer[100];
        bool described = false;
        snprintf(pointer, sizeof pointer, "%s%s/%s", *key->parent ? "/" : "", key->parent, key->name);
        schema_at(plain, value_object(), pointer, visit_described, &described);
        if (!described) fail_msg("%s has no description", pointer);
    }
}

/* What both must accept (`good`), or both must refuse. */
static const struct {
    bool good;
    const char *text;
} cases[] = {
    {true, "{}"},
    {true, "plugins:\nmodels:\nlimits:\npacks:\ntools:\nsecrets:\nprices:\nfiles:\nschedules:\n"},
    {false, "[plugins]"},
    {false, "unknown: 1"},
    {false, "plugins: {unknown: 1}"},
    {false, "plugins: [a]"},
    {false, "plugins: {path: 5}"},
    {false, "plugins: {path: [5]}"},
    {true, "plugins: {config: {acme.search: }}"},
    {false, "plugins: {config: {acme.search: 5}}"},
    {false, "plugins: {isolation: {acme.search: thread}}"},
    {true, "plugins: {processes: {\"*\": 256}}"},
    {false, "plugins: {processes: {acme.search: 257}}"},
    {false, "plugins: {processes: {acme.search: 0}}"},
    {false, "plugins: {drafts: [\"*\"]}"},
    {false, "plugins: {admin: {acme.search: true}}"},
    {false, "packs: {install: oci://ghcr.io/acme/text}"},
    {true, "packs: {registries: {ghcr.io: {user: jane, password: {secret: T}}}}"},
    {false, "packs: {registries: {ghcr.io: {user: jane}}}"},
    {false, "packs: {registries: {ghcr.io: {password: {secret: T}}}}"},
    {false, "packs: {registries: {ghcr.io: {user: jane, password: open}}}"},
    {true, "models: {a: [\"openai:x\", {provider: scripted}]}"},
    {false, "models: {a: []}"},
    {false, "models: {a: {model: x}}"},
    {false, "models: {a: 5}"},
    {true, "prices: {\"openai:*\": {input: 0, output: 1.5}}"},
    {false, "prices: {\"openai:*\": {input: -1}}"},
    {false, "prices: {\"openai:*\": {per_call: 1}}"},
    {true, "store: sqlite"},
    {true, "store: {path: a, sync: full}"},
    {false, "store: {use: 5}"},
    {false, "store: [sqlite]"},
    {true, "secrets: {K: {env: A, hosts: [\"*.acme.example\"]}}"},
    {false, "secrets: {K: text}"},
    {false, "secrets: {K: {}}"},
    {false, "secrets: {K: {hosts: [a]}}"},
    {false, "secrets: {K: {env: A, file: b}}"},
    {false, "secrets: {K: {command: []}}"},
    {false, "secrets: {K: {env: A, hosts: []}}"},
    {true, "http: {use: http}"},
    {false, "http: {timeout: 1}"},
    {false, "tools: {approval: {shell.run: never}}"},
    {false, "tools: {audit_required: 1}"},
    {false, "tools: {audit: true}"},
    {false, "files: {roots: 5}"},
    {false, "limits: {workers: 0}"},
    {false, "limits: {workers: 257}"},
    {false, "limits: {worker: 4}"},
    {false, "limits: {workers: 1.5}"},
    {true, "serve:"},
    {true, "serve: {graphs: , limits: }"},
    {true, "serve: {address: \"::1\", port: 0, tls: false, log: -, drain_seconds: 5, use: serve}"},
    {true, "serve: {tls: {certificate: a.pem, key: ~/a.key}, log: false, hosts: agents.example, origins: \"*\"}"},
    {true,
     "serve: {hosts: [\"a:8443\", \"[::1]\"], origins: [\"https://a.example:1\"], protocols: [a.b], tools: [\"a.*\"]}"},
    {true, "serve: {graphs: {a: a.yaml, B_1.c-d: \"tenon:pdca\"}}"},
    {true, "serve: {limits: {connections: 1, runs: 10000, cost_per_day: 0.5, tokens_per_day: 1000000000000}}"},
    {false, "serve: 8700"},
    {false, "serve: [a.yaml]"},
    {false, "serve: {prot: 1}"},
    {false, "serve: {address: localhost}"},
    {false, "serve: {address: 5}"},
    {false, "serve: {port: 65536}"},
    {false, "serve: {port: -1}"},
    {false, "serve: {port: \"80\"}"},
    {false, "serve: {tls: true}"},
    {false, "serve: {tls: {certificate: a.pem}}"},
    {false, "serve: {tls: {certificate: a.pem, key: }}"},
    {false, "serve: {tls: {certificate: a.pem, key: b, ca: c}}"},
    {false, "serve: {hosts: [\"https://a\"]}"},
    {false, "serve: {hosts: [\"\"]}"},
    {false, "serve: {origins: [app.example]}"},
    {false, "serve: {origins: [\"https://app.example/\"]}"},
    {false, "serve: {protocols: [5]}"},
    {false, "serve: {tools: {a: true}}"},
    {false, "serve: {graphs: [a.yaml]}"},
    {false, "serve: {graphs: {\"a b\": a.yaml}}"},
    {false, "serve: {graphs: {-a: a.yaml}}"},
    {false, "serve: {graphs: {a: }}"},
    {false, "serve: {graphs: {a: \"\"}}"},
    {false, "serve: {limits: {connection: 1}}"},
    {false, "serve: {limits: {connections: 0}}"},
    {false, "serve: {limits: {connections: 1.5}}"},
    {false, "serve: {limits: {cost_per_day: -1}}"},
    {false, "serve: {limits: {cost_per_day: much}}"},
    {false, "serve: {log: true}"},
    {false, "serve: {use: }"},
    {false, "serve: {drain_seconds: 86401}"},
    {true, "schedules:"},
    {true, "schedules: {a: {cron: 0 3 * * *, timezone: Asia/Tokyo, task: {type: w}, misfire: skip, enabled: false}}"},
    {true, "schedules: {a.b-c_1: {every: 90, task: {type: w, payload: {x: [1]}}, misfire: all}}"},
    {true, "schedules: {a: {at: \"2026-12-01T09:00:00+01:00\", task: {type: w}, misfire: once}}"},
    {false, "schedules: [a]"},
    {false, "schedules: {a: 5}"},
    {false, "schedules: {a: }"},
    {false, "schedules: {\"a b\": {every: 1m, task: {type: w}}}"},
    {false, "schedules: {\"\": {every: 1m, task: {type: w}}}"},
    {false, "schedules: {a: {task: {type: w}}}"},
    {false, "schedules: {a: {every: 1m}}"},
    {false, "schedules: {a: {every: 1m, cron: 0 3 * * *, task: {type: w}}}"},
    {false, "schedules: {a: {every: 1m, timezone: UTC, task: {type: w}}}"},
    {false, "schedules: {a: {cron: 5, task: {type: w}}}"},
    {false, "schedules: {a: {cron: 0 3 * * *, timezone: 5, task: {type: w}}}"},
    {false, "schedules: {a: {every: 0.5, task: {type: w}}}"},
    {false, "schedules: {a: {every: often, task: {type: w}}}"},
    {false, "schedules: {a: {every: 31622401, task: {type: w}}}"},
    {false, "schedules: {a: {every: 1m, task: w}}"},
    {false, "schedules: {a: {every: 1m, task: {}}}"},
    {false, "schedules: {a: {every: 1m, task: {type: \"\"}}}"},
    {false, "schedules: {a: {every: 1m, task: {type: w, payload: text}}}"},
    {false, "schedules: {a: {every: 1m, task: {type: w, key: text}}}"},
    {false, "schedules: {a: {every: 1m, task: {type: w}, misfire: never}}"},
    {false, "schedules: {a: {every: 1m, task: {type: w}, enabled: 1}}"},
    {false, "schedules: {a: {every: 1m, task: {type: w}, retries: 1}}"},
    {true, "log: debug"},
    {false, "log: loud"},
};

static void schema_agrees_with_the_reader(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i].text);
        bool read = mistakes_of_reader(cases[i].text, length) == 0;
        tn_value value = value_of_yaml(cases[i].text, length);
        bool valid = schema_validate(plain, value, NULL) == TN_OK,
             known = schema_validate(of_host, value, NULL) == TN_OK;
        value_unref(value);
        if (read != cases[i].good || valid != read || known != read)
            fail_msg("%s: read %d, valid %d, with names %d", cases[i].text, read, valid, known);
    }
}

/* ---- Names of a host ---- */

static void sections_have_the_schema_of_their_plugin(void **state) {
    static const struct {
        bool good;
        const char *text;
    } sections[] = {
        {true, "plugins: {config: {tenon.ffi: {libraries: [libm.yaml]}}}"},
        {false, "plugins: {config: {tenon.ffi: {libraries: 5}}}"},
        {false, "plugins: {config: {tenon.ffi: {libary: []}}}"},
        {true, "plugins: {config: {other.ffi: {libary: []}}}"},
        {true, "models: {a: {provider: scripted, replies: [x], chunk: 2}}"},
        {false, "models: {a: {provider: scripted, chunk: 0}}"},
        {false, "models: {a: [{provider: scripted, repplies: [x]}]}"},
        {true, "models: {a: {provider: other, repplies: [x]}}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        tn_value value = value_of_yaml(sections[i].text, strlen(sections[i].text));
        if ((schema_validate(of_host, value, NULL) == TN_OK) != sections[i].good) fail_msg("%s", sections[i].text);
        assert_int_equal(schema_validate(plain, value, NULL), TN_OK);
        value_unref(value);
    }
}

struct search {
    const char *keyword, *name;
    bool found;
};

static void visit_names(void *user, tn_value schema) {
    struct search *search = user;
    if (value_get(value_get(schema, search->keyword), search->name)) search->found = true;
}

static void names_are_listed(void **state) {
    static const struct {
        const char *pointer, *keyword, *name;
    } places[] = {
        {"/store", "x-tenon-values", "memory"},
        {"/store/use", "x-tenon-values", "memory"},
        {"/models/default/provider", "x-tenon-values", "scripted"},
        {"/plugins/isolation", "properties", "tenon.ffi"},
        {"/plugins/isolation/tenon.ffi", "x-tenon-values", "process"},
        {"/plugins/processes", "properties", "*"},
        {"/plugins/config", "properties", "tenon.scripted"},
        {"/plugins/drafts", "x-tenon-values", "tenon.core"},
        {"/tools/approval", "properties", "memory.put"},
        {"/tools/approval", "properties", "effect:destructive"},
        {"/limits", "properties", "workers"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct search search = {places[i].keyword, places[i].name, false};
        schema_at(of_host, value_object(), places[i].pointer, visit_names, &search);
        if (!search.found) fail_msg("%s does not list %s", places[i].pointer, places[i].name);
    }
}

/* ---- Files ---- */

static void samples_are_valid(void **state) {
    static const char *const patterns[] = {TENON_SOURCE_DIR "/samples/*/tenon.yaml",
                                           TENON_SOURCE_DIR "/samples/*/*/tenon.yaml"};
    size_t count = 0;
    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t files;
        if (glob(patterns[i], 0, NULL, &files) != 0) continue;
        for (size_t j = 0; j < files.gl_pathc; j++, count++) {
            size_t length;
            char *text = corpus_load(files.gl_pathv[j], &length);
            expect_valid(of_host, files.gl_pathv[j], text, length);
            free(text);
        }
        globfree(&files);
    }
    assert_true(count >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_valid),
        cmocka_unit_test(keys_are_described),
        cmocka_unit_test(schema_agrees_with_the_reader),
        cmocka_unit_test(sections_have_the_schema_of_their_plugin),
        cmocka_unit_test(names_are_listed),
        cmocka_unit_test(samples_are_valid),
    };
    return cmocka_run_group_tests(tests, compile_schemas, free_schemas);
}
