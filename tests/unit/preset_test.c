/*
 * preset_test.c - presets of models: the entries of a manifest, rows of the registry, rows of tenon.yaml, and the merge
 * of configurations, which keeps secrets at their host.
 */
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/preset.h"
#include "host/plugin/registry/registry.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static tn_value json(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

static void is_json(tn_value found, const char *text) {
    tn_value expected = json(text);
    char *shown = json_text(found, JSON_COMPACT);
    if (!value_equal(found, expected)) fail_msg("found %s, expected %s", shown, text);
    mem_free(shown);
    value_unref(expected);
}

/* ---- Merging ---- */

static void merges_to(const char *under, const char *over, const char *expected) {
    tn_value below = json(under), above = json(over), both = preset_merge(below, above);
    is_json(both, expected);
    value_unref(both);
    value_unref(below);
    value_unref(above);
}

static void merges(void **state) {
    (void)state;
    merges_to("{}", "{}", "{}");
    merges_to("{\"a\":1,\"b\":1}", "{\"b\":2,\"c\":2}", "{\"a\":1,\"b\":2,\"c\":2}");
    merges_to("{\"d\":{\"x\":1,\"y\":{\"z\":1}}}", "{\"d\":{\"x\":2,\"y\":{\"w\":2}}}",
              "{\"d\":{\"x\":2,\"y\":{\"z\":1,\"w\":2}}}");
    merges_to("{\"d\":{\"x\":1}}", "{\"d\":null}", "{\"d\":null}");
    merges_to("{\"k\":{\"secret\":\"A\"}}", "{\"k\":{\"secret\":\"B\"}}", "{\"k\":{\"secret\":\"B\"}}");
    merges_to("{\"k\":{\"secret\":\"A\"}}", "{\"k\":{\"other\":1}}", "{\"k\":{\"other\":1}}");
    is_json(preset_merge(NULL, NULL), "{}");
}

/* The secrets of a row are for the origin of its address. */
static void keeps_secrets_at_their_host(void **state) {
    (void)state;
    static const char row[] =
        "{\"base_url\":\"https://api.acme.example/v1\",\"api_key\":{\"secret\":\"K\"},\"headers\":{\"x\":\"y\"},"
        "\"deep\":[{\"token\":{\"secret\":\"T\"}}],\"seed\":1}";
    static const char *const elsewhere[] = {"http://api.acme.example/v1",
                                            "https://api.acme.example:444/v1",
                                            "https://api.acme.example.evil/v1",
                                            "https://acme.example/v1",
                                            "https://evil.example/v1",
                                            "https://api.acme.example@evil.example/",
                                            "https://evil.example#@api.acme.example",
                                            "nonsense",
                                            ""};
    static const char *const there[] = {"https://api.acme.example/v2", "https://API.acme.example:443/",
                                        "https://api.acme.example"};
    char over[256], expected[512];
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        snprintf(over, sizeof over, "{\"base_url\":\"%s\"}", elsewhere[i]);
        snprintf(expected, sizeof expected, "{\"base_url\":\"%s\",\"seed\":1}", elsewhere[i]);
        merges_to(row, over, expected);
    }
    for (size_t i = 0; i < sizeof there / sizeof *there; i++) {
        snprintf(over, sizeof over, "{\"base_url\":\"%s\"}", there[i]);
        snprintf(expected, sizeof expected,
                 "{\"base_url\":\"%s\",\"api_key\":{\"secret\":\"K\"},\"headers\":{\"x\":\"y\"},\"deep\":[{\"token\":{"
                 "\"secret\":"
                 "\"T\"}}],\"seed\":1}",
                 there[i]);
        merges_to(row, over, expected);
    }
    merges_to(row, "{\"base_url\":7}", "{\"base_url\":7,\"seed\":1}");
    /* Without an address it is not known where the row's requests go. */
    merges_to("{\"api_key\":{\"secret\":\"K\"}}", "{\"base_url\":\"https://evil.example\"}",
              "{\"base_url\":\"https://evil.example\"}");
    /* A key of the binding itself stays. */
    merges_to(row, "{\"base_url\":\"https://evil.example\",\"api_key\":\"mine\"}",
              "{\"base_url\":\"https://evil.example\",\"seed\":1,\"api_key\":\"mine\"}");
}

/* ---- Entries of a manifest ---- */

static const char acme[] =
    "{\"plugin\":{\"id\":\"acme.models\",\"version\":\"1.0.0\",\"title\":\"A\"},\"components\":["
    "{\"kind\":\"model\",\"id\":\"acme.chat\",\"title\":\"Chat\",\"documentation\":\"D\",\"style\":\"async\","
    "\"effects\":[],"
    "\"config\":{\"type\":\"object\",\"properties\":{\"model\":{\"type\":\"string\"},\"level\":{\"type\":\"integer\"}}}"
    ","
    "\"examples\":[{\"title\":\"E\"}],"
    "\"presets\":{\"acme.one\":{\"title\":\"One\",\"config\":{\"level\":1}},\"acme.chat\":{\"config\":{\"level\":0}},"
    "\"acme.two\":{\"config\":{\"level\":2}}}},"
    "{\"kind\":\"node\",\"id\":\"acme.node\",\"title\":\"N\",\"style\":\"async\"}]}";

static void lists_entries(void **state) {
    (void)state;
    static const char *const names[] = {"acme.chat", "acme.node", "acme.one", "acme.two"};
    tn_value manifest = json(acme);
    assert_int_equal(manifest_entry_count(manifest), 4);
    for (size_t i = 0; i < 4; i++) {
        const char *kind, *id;
        manifest_entry_names(manifest, i, &kind, &id);
        assert_string_equal(id, names[i]);
        assert_string_equal(kind, i == 1 ? "node" : "model");
    }
    tn_value entry = manifest_entry_at(manifest, 2);
    is_json(entry, "{\"kind\":\"model\",\"id\":\"acme.one\",\"title\":\"One\",\"style\":\"async\",\"effects\":[],"
                   "\"config\":{\"type\":\"object\",\"properties\":{\"model\":{\"type\":\"string\"},\"level\":{"
                   "\"type\":\"integer\"}}},"
                   "\"preset\":{\"of\":\"acme.chat\",\"config\":{\"level\":1}}}");
    value_unref(entry);
    assert_null(manifest_entry_at(manifest, 4));
    value_unref(manifest);
}

static void is_malformed(const char *kind, const char *presets) {
    char text[1024];
    struct error error = ERROR_INIT;
    snprintf(text, sizeof text,
             "{\"kind\":\"%s\",\"id\":\"acme.x\",\"title\":\"X\",\"style\":\"async\",\"presets\":%s}", kind, presets);
    tn_value component = json(text);
    if (manifest_check_component("here", component, &error) != TN_INVALID) fail_msg("accepted: %s", presets);
    assert_string_equal(error.code, "MANIFEST_INVALID");
    assert_non_null(strstr(error.message, "here: component `acme.x`: "));
    error_finish(&error);
    value_unref(component);
}

static void checks_the_form(void **state) {
    (void)state;
    is_malformed("model", "[]");
    is_malformed("model", "{\"a b\":{\"config\":{}}}");
    is_malformed("model", "{\"\":{\"config\":{}}}");
    is_malformed("model", "{\"9\":{\"config\":{}}}");
    is_malformed("model", "{\"a\":{}}");
    is_malformed("model", "{\"a\":{\"config\":[]}}");
    is_malformed("model", "{\"a\":{\"config\":{},\"title\":\"\"}}");
    is_malformed("model", "{\"a\":{\"config\":{},\"documentation\":1}}");
    is_malformed("node", "{\"a\":{\"config\":{}}}");
}

static void count_problem(void *user, const char *message) {
    if (strstr(message, "presets.acme.one.config.level")) ++*(int *)user;
}

static void validates_configurations(void **state) {
    (void)state;
    int problems = 0;
    tn_value manifest = json(acme);
    assert_int_equal(manifest_validate("a.so", manifest, count_problem, &problems), 0);
    value_unref(manifest);
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    const char *level = strstr(acme, "\"level\":1}");
    buffer_append(&text, acme, (size_t)(level - acme));
    buffer_format(&text, "\"level\":\"x\"%s", level + strlen("\"level\":1"));
    manifest = json(buffer_cstr(&text));
    assert_true(manifest_validate("a.so", manifest, count_problem, &problems) > 0);
    assert_int_equal(problems, 1);
    value_unref(manifest);
    buffer_finish(&text);
}

/* ---- Rows of the registry ---- */

static tn_value rows_of_yaml;

static tn_value providers(void *user) {
    (void)user;
    return rows_of_yaml;
}

static const tn_core_1 core = {.size = sizeof(tn_core_1)};
static const struct registry_interface interfaces[] = {{TN_CORE_1, &core, false, NULL}, {NULL, NULL, false, NULL}};

static int32_t native_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    (void)id, (void)length, (void)config, (void)binder;
    *instance = self;
    return TN_OK;
}
static int32_t native_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)task, (void)input;
    return TN_ERROR;
}
static void native_destroy(void *instance) { (void)instance; }
static const tn_component_1 components = {sizeof(tn_component_1), native_create, native_start, NULL, NULL,
                                          native_destroy};
static const void *offer(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &components : NULL;
}

static const tn_plugin native = {sizeof(tn_plugin), NULL, offer};

static struct registry *registry_with(const char *rows) {
    struct registry *registry =
        registry_new(&(struct registry_options){.interfaces = interfaces, .providers = providers});
    tn_value manifest = json(acme);
    rows_of_yaml = rows ? json(rows) : NULL;
    assert_int_equal(registry_add_native(registry, manifest, &native, "a test", NULL), TN_OK);
    value_unref(manifest);
    return registry;
}

static void registry_end(struct registry *registry) {
    registry_free(registry);
    value_unref(rows_of_yaml);
    rows_of_yaml = NULL;
}

static void stands_for(struct registry *registry, const char *id, const char *config) {
    struct catalog catalog = {0};
    struct component *component = NULL;
    registry_catalog(registry, &catalog);
    const struct component_info *info = catalog.find(catalog.self, "model", id, strlen(id));
    if (!info) {
        fail_msg("there is no %s", id);
        return;
    }
    assert_string_equal(info->id, id);
    assert_string_equal(preset_component(info), "acme.chat");
    is_json(preset_config(info), config);
    assert_true(catalog.usable(catalog.self, info, NULL));
    /* Schemas are those of the component, compiled once. */
    const struct component_info *base = registry_known(registry, "model", "acme.chat");
    if (!value_get(rows_of_yaml, "acme.chat")) assert_ptr_equal(info->config, base->config);
    assert_int_equal(registry_resolve(registry, "model", id, &component, NULL), TN_OK);
    assert_string_equal(component->info->id, "acme.chat");
    assert_ptr_equal(catalog.find(catalog.self, "model", id, strlen(id)), info);
}

static bool append_id(void *user, const struct component_info *info) {
    buffer_format(user, "%s ", info->id);
    return true;
}

static void lists_as(struct registry *registry, const char *kind, const char *expected) {
    struct catalog catalog = {0};
    struct buffer ids;
    buffer_init(&ids, SIZE_MAX);
    registry_catalog(registry, &catalog);
    catalog.each(catalog.self, kind, append_id, &ids);
    assert_string_equal(buffer_cstr(&ids), expected);
    buffer_finish(&ids);
}

static void finds_presets(void **state) {
    (void)state;
    struct registry *registry = registry_with(NULL);
    struct component *component = NULL;
    struct error error = ERROR_INIT;
    stands_for(registry, "acme.one", "{\"level\":1}");
    stands_for(registry, "acme.two", "{\"level\":2}");
    stands_for(registry, "acme.chat", "{\"level\":0}");
    lists_as(registry, "model", "acme.chat acme.one acme.two ");
    lists_as(registry, NULL, "acme.chat acme.node acme.one acme.two ");
    assert_null(registry_known(registry, "node", "acme.one"));
    assert_int_equal(registry_resolve(registry, "model", "acme.onee", &component, &error), TN_NOT_FOUND);
    assert_non_null(strstr(error.message, "did you mean `acme.one`?"));
    error_finish(&error);
    assert_int_equal(registry_unload(registry, "acme.models", NULL, NULL, NULL), TN_OK);
    assert_int_equal(registry_resolve(registry, "model", "acme.one", &component, NULL), TN_NOT_FOUND);
    lists_as(registry, "model", "");
    registry_end(registry);
}

static void takes_rows_of_the_configuration(void **state) {
    (void)state;
    struct registry *registry = registry_with(
        "{\"lab\":{\"provider\":\"acme.one\",\"model\":\"m\"},\"zoo\":{\"provider\":\"lab\",\"level\":9},"
        "\"acme.two\":{\"provider\":\"acme.two\",\"model\":\"n\"},\"acme.chat\":{\"provider\":\"acme.one\"},"
        "\"lost\":{\"provider\":\"missing\"},\"a\":{\"provider\":\"b\"},\"b\":{\"provider\":\"a\"},\"self\":{"
        "\"provider\":\"self\"}}");
    struct component *component = NULL;
    struct error error = ERROR_INIT;
    stands_for(registry, "lab", "{\"level\":1,\"model\":\"m\"}");
    stands_for(registry, "zoo", "{\"level\":9,\"model\":\"m\"}");
    stands_for(registry, "acme.two", "{\"level\":2,\"model\":\"n\"}");
    stands_for(registry, "acme.chat", "{\"level\":1}");
    stands_for(registry, "acme.one", "{\"level\":1}");
    lists_as(registry, "model", "acme.chat acme.one acme.two lab zoo ");
    lists_as(registry, "node", "acme.node ");
    static const char *const missing[] = {"lost", "a", "b", "self"};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(registry_resolve(registry, "model", missing[i], &component, NULL), TN_NOT_FOUND);
    assert_int_equal(registry_resolve(registry, "model", "laab", &component, &error), TN_NOT_FOUND);
    assert_non_null(strstr(error.message, "did you mean `lab`?"));
    error_finish(&error);
    assert_int_equal(registry_unload(registry, "acme.models", NULL, NULL, NULL), TN_OK);
    assert_int_equal(registry_resolve(registry, "model", "lab", &component, NULL), TN_NOT_FOUND);
    registry_end(registry);
}

/* Another plugin cannot take a name that has no dot, or one that is taken. */
static void refuses_taken_names(void **state) {
    (void)state;
    struct registry *registry = registry_with(NULL);
    struct component *component = NULL;
    struct error error = ERROR_INIT;
    tn_value manifest =
        json("{\"plugin\":{\"id\":\"rival.models\",\"version\":\"1.0.0\",\"title\":\"R\"},\"components\":[{"
             "\"kind\":\"model\",\"id\":\"rival.chat\",\"title\":\"R\",\"style\":\"async\",\"presets\":{"
             "\"acme.one\":{\"config\":{}}}}]}");
    assert_int_equal(registry_add_native(registry, manifest, &native, "a rival", &error), TN_INVALID);
    assert_string_equal(error.code, "PLUGIN_DUPLICATE");
    assert_int_equal(registry_resolve(registry, "model", "rival.chat", &component, NULL), TN_OK);
    error_finish(&error);
    value_unref(manifest);
    registry_end(registry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges),
        cmocka_unit_test(keeps_secrets_at_their_host),
        cmocka_unit_test(lists_entries),
        cmocka_unit_test(checks_the_form),
        cmocka_unit_test(validates_configurations),
        cmocka_unit_test(finds_presets),
        cmocka_unit_test(takes_rows_of_the_configuration),
        cmocka_unit_test(refuses_taken_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
