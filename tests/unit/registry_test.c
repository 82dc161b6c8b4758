/*
 * registry_test.c - finding, refusing (for every reason), loading, resolving and ending plugins.
 *
 * It uses the plugins of tests/plugins. The interfaces are dummies: only their presence matters.
 */
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/registry.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define AT(name) TENON_TEST_PLUGINS "/" name

/* ---- A minimal host ---- */

static tn_value config_of_good; /* its section of tenon.yaml; may be NULL */

static int32_t config(void *user, const char *plugin_id, tn_value *out, struct error *error) {
    (void)error;
    assert_ptr_equal(user, &config_of_good);
    if (strcmp(plugin_id, "test.good") == 0) *out = value_ref(config_of_good);
    return TN_OK;
}

static const char *text_of(tn_value value, uint64_t *length) {
    size_t size = 0;
    const char *text = value_is(value, TN_STRING) ? value_chars(value, &size) : NULL;
    if (length) *length = size;
    return text;
}

static tn_value member_of(tn_value object, const char *key, uint64_t length) {
    return length == TN_Z ? value_get(object, key) : value_get_n(object, key, (size_t)length);
}

static const tn_value_1 values = {.size = sizeof(tn_value_1), .get = member_of, .as_text = text_of};
static const tn_core_1 core = {.size = sizeof(tn_core_1)};

static const struct registry_interface interfaces[] = {
    {TN_CORE_1, &core, false, NULL},     {TN_VALUE_1, &values, false, NULL},
    {TN_TASK_1, &core, false, NULL},     {TN_REGISTRY_1, &interface_registry, false, NULL},
    {TN_GRAPH_DRAFT, &core, true, NULL}, {NULL, NULL, false, NULL},
};

static struct registry *registry_of(bool drafts) {
    return registry_new(&(struct registry_options){
        .interfaces = interfaces, .allow_drafts = drafts, .config = config, .user = &config_of_good});
}

static int32_t add(struct registry *registry, const char *path, struct error *error) {
    return registry_add_file(registry, path, "a test", error);
}

/* Resolving fails with this status and code, and the message contains each of the texts (ended by NULL). */
static void is_refused(struct registry *registry, const char *id, int32_t status, const char *code, ...) {
    struct component *component = NULL;
    struct error error = ERROR_INIT;
    int32_t got = registry_resolve(registry, "node", id, &component, &error);
    va_list texts;
    if (got != status || strcmp(error.code, code) != 0)
        fail_msg("%s: expected %d %s, got %d %s: %s", id, status, code, got, error.code ? error.code : "",
                 error.message ? error.message : "");
    va_start(texts, code);
    for (const char *text; (text = va_arg(texts, const char *)) != NULL;)
        if (!strstr(error.message, text)) fail_msg("expected `%s` in `%s`", text, error.message);
    va_end(texts);
    assert_null(component);
    error_finish(&error);
}

static void loading_is_refused(const char *path, const char *id, int32_t status, const char *code, const char *first,
                               const char *second) {
    struct registry *registry = registry_of(false);
    struct error error = ERROR_INIT;
    if (add(registry, path, &error) != TN_OK) fail_msg("%s", error.message);
    is_refused(registry, id, status, code, path, first, second, NULL);
    /* The refusal is stored and shown. */
    is_refused(registry, id, TN_UNSUPPORTED, code, path, NULL);
    struct plugin *plugin = registry_plugin(registry, id);
    assert_int_equal(plugin_state(plugin), PLUGIN_REFUSED);
    assert_string_equal(plugin_refusal(plugin)->code, code);
    registry_free(registry);
}

/* ---- Loading ---- */

static void loads_on_demand(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    struct component *one, *two;
    unsetenv("TENON_TEST_GOOD");
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    assert_int_equal(add(registry, AT("aborts/aborts.so"), NULL), TN_OK); /* never resolved, so never run */
    struct plugin *plugin = registry_plugin(registry, "test.good");
    assert_int_equal(plugin_state(plugin), PLUGIN_KNOWN);
    assert_null(getenv("TENON_TEST_GOOD"));
    assert_int_equal(registry_resolve(registry, "node", "test.one", &one, NULL), TN_OK);
    assert_int_equal(plugin_state(plugin), PLUGIN_LOADED);
    assert_string_equal(getenv("TENON_TEST_GOOD"), "hello"); /* the default of its schema */
    assert_ptr_equal(one->plugin, plugin);
    assert_string_equal(one->info->id, "test.one");
    assert_false(one->blocking);
    assert_int_equal(registry_resolve(registry, "node", "test.two", &two, NULL), TN_OK);
    assert_true(two->blocking);
    assert_true(two->reentrant);
    void *instance = &two;
    assert_int_equal(one->vtable->create(one->self, one->info->id, TN_Z, value_object(), NULL, &instance), TN_OK);
    assert_null(instance);
    assert_string_equal(plugin_version(plugin), "1.2.3");
    assert_string_equal(plugin_source(plugin), "a test");
    assert_ptr_equal(plugin_of(plugin_host(plugin)), plugin);
    assert_null(plugin_of(NULL));
    assert_int_equal(plugin_state(registry_plugin(registry, "test.aborts")), PLUGIN_KNOWN);
    registry_free(registry);
    assert_string_equal(getenv("TENON_TEST_GOOD"), "ended");
}

static void configures(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    struct component *component;
    assert_int_equal(json_read("{\"greeting\":\"salut\"}", 20, NULL, &config_of_good, NULL), TN_OK);
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    assert_int_equal(registry_resolve(registry, "node", "test.one", &component, NULL), TN_OK);
    assert_string_equal(getenv("TENON_TEST_GOOD"), "salut");
    registry_free(registry);
    value_unref(config_of_good);
    registry = registry_of(false);
    assert_int_equal(json_read("{\"greting\":\"salut\"}", 19, NULL, &config_of_good, NULL), TN_OK);
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    is_refused(registry, "test.one", TN_INVALID, "INVALID_CONFIG", "plugins.config.test.good", "greting", "`greeting`",
               NULL);
    registry_free(registry);
    value_unref(config_of_good);
    config_of_good = NULL;
}

static void refuses_with_every_reason(void **state) {
    (void)state;
    loading_is_refused(AT("missing/missing.so"), "test.missing", TN_UNSUPPORTED, "INTERFACE_MISSING",
                       "`tenon.value/7` (this host offers `tenon.value/1`)",
                       "`tenon.walue/1` (did it mean `tenon.value/1`?)");
    loading_is_refused(AT("later/later.so"), "test.later", TN_UNSUPPORTED, "PLUGIN_REFUSED", ">=900.1", TENON_VERSION);
    loading_is_refused(AT("draft/draft.so"), "test.draft", TN_UNSUPPORTED, "INTERFACE_MISSING", TN_GRAPH_DRAFT,
                       "`plugins: {drafts: [test.draft]}` in tenon.yaml, or --allow-drafts");
    loading_is_refused(AT("declines/declines.so"), "test.declines", TN_UNSUPPORTED, "PLUGIN_REFUSED", "declined",
                       "reported no reason");
    loading_is_refused(AT("unresolved/unresolved.so"), "test.unresolved", TN_INVALID, "PLUGIN_REFUSED",
                       "cannot be loaded", "registry_new");
    loading_is_refused(AT("wrong_size/wrong_size.so"), "test.wrong_size", TN_INVALID, "PLUGIN_INVALID",
                       "tn_plugin has 40 bytes, this host's 24", "header");
    loading_is_refused(AT("wrong_component/wrong_component.so"), "test.wrong_component", TN_INVALID, "PLUGIN_INVALID",
                       "tn_component_1 has 72 bytes, this host's 48", "header");
    loading_is_refused(AT("no_component/no_component.so"), "test.no_component", TN_INVALID, "PLUGIN_INVALID",
                       "does not offer " TN_COMPONENT_1, "manifest has components");
    loading_is_refused(AT("refuses/refuses.so"), "test.refuses", TN_ERROR, "PLUGIN_REFUSED", "could not initialise",
                       "status -1");
}

static void offers_drafts_where_allowed(void **state) {
    (void)state;
    struct registry *registry = registry_of(true);
    struct component *component;
    assert_int_equal(add(registry, AT("draft/draft.so"), NULL), TN_OK);
    assert_int_equal(registry_resolve(registry, "node", "test.draft", &component, NULL), TN_OK);
    registry_free(registry);
}

static bool allow_drafts_of_good(void *user, const char *plugin_id) {
    (void)user;
    return strcmp(plugin_id, "test.good") == 0;
}

static bool allow_drafts_of_draft(void *user, const char *plugin_id) {
    (void)user;
    return strcmp(plugin_id, "test.draft") == 0;
}

static void allows_drafts_per_plugin(void **state) {
    (void)state;
    struct component *component;
    struct registry_options options = {.interfaces = interfaces, .drafts = allow_drafts_of_draft};
    struct registry *registry = registry_new(&options);
    assert_int_equal(add(registry, AT("draft/draft.so"), NULL), TN_OK);
    assert_int_equal(registry_resolve(registry, "node", "test.draft", &component, NULL), TN_OK);
    registry_free(registry);
    options.drafts = allow_drafts_of_good;
    registry = registry_new(&options);
    assert_int_equal(add(registry, AT("draft/draft.so"), NULL), TN_OK);
    is_refused(registry, "test.draft", TN_UNSUPPORTED, "INTERFACE_MISSING", "drafts: [test.draft]", NULL);
    registry_free(registry);
}

/* Two hosts of one process may use one plugin at once: each has separate variables. */
static void two_hosts(void **state) {
    (void)state;
    struct registry *first = registry_of(false), *second = registry_of(false);
    struct component *a, *b;
    struct error error = ERROR_INIT;
    assert_int_equal(add(first, AT("good/good.so"), NULL), TN_OK);
    assert_int_equal(add(second, AT("good/good.so"), NULL), TN_OK);
    assert_int_equal(registry_resolve(first, "node", "test.one", &a, NULL), TN_OK);
    if (registry_resolve(second, "node", "test.one", &b, &error) != TN_OK) fail_msg("%s", error.message);
    assert_ptr_not_equal(a->vtable, b->vtable);
    const tn_component_1 *first_vtable = a->vtable;
    registry_free(first);
    registry_free(second);
    /* When its user has ended, the object can be used again. */
    first = registry_of(false);
    assert_int_equal(add(first, AT("good/good.so"), NULL), TN_OK);
    assert_int_equal(registry_resolve(first, "node", "test.one", &b, NULL), TN_OK);
    assert_ptr_equal(b->vtable, first_vtable);
    registry_free(first);
}

/* ---- Finding ---- */

static void suggests_near_names(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    is_refused(registry, "test.one", TN_NOT_FOUND, "NOT_FOUND", "no plugin offers the node `test.one`",
               "none offers any", NULL);
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    is_refused(registry, "test.onne", TN_NOT_FOUND, "NOT_FOUND", "did you mean `test.one`?", NULL);
    assert_int_equal(add(registry, AT("bad_manifest/bad_manifest.so"), NULL), TN_INVALID);
    is_refused(registry, "test.bad", TN_NOT_FOUND, "NOT_FOUND", "1 plugin could not be used",
               "component `test.bad` (node)", NULL);
    struct component *component;
    struct error error = ERROR_INIT;
    assert_int_equal(registry_resolve(registry, "tool", "test.one", &component, &error), TN_NOT_FOUND);
    assert_string_equal(error.code, "TOOL_NOT_FOUND");
    error_finish(&error);
    registry_free(registry);
}

static bool append_id(void *user, const struct component_info *info) {
    assert_non_null(info->config);
    buffer_format(user, "%s ", info->id);
    return strcmp(info->id, "stop") != 0;
}

static void append_plugin(void *user, const char *id) { buffer_format(user, "%s ", id); }

static void is_a_catalog(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    struct catalog catalog = {0};
    struct buffer ids;
    buffer_init(&ids, SIZE_MAX);
    assert_int_equal(add(registry, AT("sidecar/sidecar.so"), NULL), TN_OK);
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    registry_catalog(registry, &catalog);
    const struct component_info *one = catalog.find(catalog.self, "node", "test.one…", 8);
    assert_string_equal(one->plugin_id, "test.good");
    assert_string_equal(one->plugin_version, "1.2.3");
    assert_int_equal(value_count(one->effects), 0);
    assert_non_null(one->effects);
    assert_int_equal(schema_validate(one->config, value_object(), NULL),
                     TN_OK); /* without a config schema only {} is valid */
    tn_value more = value_set_take(value_object(), "x", value_int(1));
    assert_int_equal(schema_validate(one->config, more, NULL), TN_INVALID);
    value_unref(more);
    assert_null(one->input);
    assert_null(catalog.find(catalog.self, "tool", "test.one", 8));
    const struct component_info *two = catalog.find(catalog.self, "node", "test.two", 8);
    assert_int_equal(schema_validate(two->config, value_object(), NULL), TN_INVALID);
    assert_null(two->effects);
    catalog.each(catalog.self, "node", append_id, &ids);
    buffer_text(&ids, "| ");
    catalog.each_plugin(catalog.self, append_plugin, &ids);
    assert_string_equal(buffer_cstr(&ids), "test.one test.sidecar test.two | test.good test.sidecar ");
    assert_string_equal(catalog.plugin_version(catalog.self, "test.sidecar"), "2.0.0");
    assert_null(catalog.plugin_version(catalog.self, "test.none"));
    assert_int_equal(plugin_state(registry_plugin(registry, "test.good")), PLUGIN_KNOWN); /* a lookup loads nothing */
    buffer_finish(&ids);
    registry_free(registry);
}

static void reports_broken_schemas(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    struct catalog catalog = {0};
    assert_int_equal(add(registry, AT("broken_schema/broken_schema.so"), NULL), TN_OK);
    registry_catalog(registry, &catalog);
    const struct component_info *info = catalog.find(catalog.self, "node", "test.broken_schema", 18);
    assert_int_equal(schema_validate(info->config, value_object(), NULL), TN_OK); /* the document is not at fault */
    is_refused(registry, "test.broken_schema", TN_INVALID, "MANIFEST_INVALID", "broken_schema.so",
               "component `test.broken_schema` (node): `config`: ", NULL);
    registry_free(registry);
}

/* ---- Duplicates ---- */

static void refuses_duplicate_components(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    struct component *component;
    struct error error = ERROR_INIT;
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    assert_int_equal(add(registry, AT("duplicate/duplicate.so"), &error), TN_INVALID);
    assert_string_equal(error.code, "PLUGIN_DUPLICATE");
    is_refused(registry, "test.one", TN_INVALID, "PLUGIN_DUPLICATE", "two plugins claim the node `test.one`",
               AT("good/good.so"), AT("duplicate/duplicate.so"), NULL);
    assert_int_equal(registry_problems(registry), 1);
    assert_string_equal(registry_problem_at(registry, 0)->message, error.message);
    assert_string_equal(registry_problem_at(registry, 0)->path, AT("duplicate/duplicate.so"));
    assert_string_equal(registry_problem_at(registry, 0)->rival, AT("good/good.so"));
    /* The other components of both can be used. After one plugin is unloaded, the duplicate component can be used too.
     */
    assert_int_equal(registry_resolve(registry, "node", "test.own", &component, NULL), TN_OK);
    assert_int_equal(registry_resolve(registry, "node", "test.two", &component, NULL), TN_OK);
    assert_int_equal(registry_unload(registry, "test.good", NULL, NULL, NULL), TN_OK);
    assert_int_equal(registry_resolve(registry, "node", "test.one", &component, NULL), TN_OK);
    assert_string_equal(component->info->plugin_id, "test.duplicate");
    error_finish(&error);
    registry_free(registry);
}

static void refuses_duplicate_plugins(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    assert_int_equal(add(registry, AT("impostor/impostor.so"), NULL), TN_INVALID);
    is_refused(registry, "test.one", TN_UNSUPPORTED, "PLUGIN_DUPLICATE", "two files claim the plugin `test.good`",
               AT("good/good.so"), "1.2.3", AT("impostor/impostor.so"), "9.9.9", NULL);
    is_refused(registry, "test.impostor", TN_NOT_FOUND, "NOT_FOUND", "9.9.9", NULL);
    registry_free(registry);
}

static void copy_file(const char *from, const char *to) {
    char bytes[4096];
    size_t got;
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in && out);
    while ((got = fread(bytes, 1, sizeof bytes, in)) > 0) assert_int_equal(fwrite(bytes, 1, got, out), got);
    fclose(in);
    fclose(out);
}

/* The same file under another name, and a copy of it, are the same plugin. */
static void takes_the_same_plugin_once(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    struct component *component;
    char folder[] = "/tmp/tenon-registry-XXXXXX", link[64], copy[64];
    assert_non_null(mkdtemp(folder));
    snprintf(link, sizeof link, "%s/link.so", folder);
    snprintf(copy, sizeof copy, "%s/copy.so", folder);
    assert_int_equal(symlink(AT("good/good.so"), link), 0);
    copy_file(AT("good/good.so"), copy);
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    assert_int_equal(add(registry, link, NULL), TN_OK);
    assert_int_equal(add(registry, copy, NULL), TN_OK);
    assert_int_equal(registry_problems(registry), 0);
    assert_int_equal(registry_resolve(registry, "node", "test.one", &component, NULL), TN_OK);
    assert_string_equal(plugin_path(component->plugin), AT("good/good.so"));
    registry_free(registry);
    unlink(link);
    unlink(copy);
    rmdir(folder);
}

static void refuses_a_replaced_file(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    char folder[] = "/tmp/tenon-registry-XXXXXX", path[64], other[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x.so", folder);
    snprintf(other, sizeof other, "%s/y.so", folder);
    copy_file(AT("good/good.so"), path);
    assert_int_equal(add(registry, path, NULL), TN_OK);
    copy_file(AT("extra/extra.so"), other);
    assert_int_equal(rename(other, path), 0);
    is_refused(registry, "test.one", TN_INVALID, "PLUGIN_REFUSED", "was replaced", NULL);
    registry_free(registry);
    unlink(path);
    rmdir(folder);
}

/* ---- Scanning ---- */

static void append_found(void *user, struct plugin *plugin) {
    buffer_format(user, "%s(%s) ", plugin_id(plugin), plugin_source(plugin));
}

static void scans_in_order(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    struct search search;
    struct buffer found;
    struct error error = ERROR_INIT;
    buffer_init(&found, SIZE_MAX);
    search_init(&search);
    search_add(&search, AT("good/good.so"), SEARCH_FLAG, "--plugins");
    search_add(&search, AT("library"), SEARCH_FLAG, "--plugins"); /* a folder with a library that is not a plugin */
    setenv("TENON_PLUGIN_PATH", "/nonexistent/p::" AT("sidecar/") ":" AT("bad_manifest"), 1);
    search_add_environment(&search);
    unsetenv("TENON_PLUGIN_PATH");
    setenv("XDG_DATA_HOME", "/nonexistent/data", 1);
    search_add_user(&search);
    search_add(&search, AT("good"), SEARCH_INSTALLED, "installed");
    assert_int_equal(search.count, 7);
    assert_string_equal(search.entries[5].path, "/nonexistent/data/tenon/plugins");
    if (registry_scan(registry, &search, &error) != TN_OK) fail_msg("%s", error.message);
    registry_each_plugin(registry, append_found, &found);
    assert_string_equal(buffer_cstr(&found), "test.good(installed) test.sidecar(TENON_PLUGIN_PATH) ");
    assert_true(plugin_bundled(registry_plugin(registry, "test.good"))); /* although another entry found it first */
    assert_string_equal(plugin_path(registry_plugin(registry, "test.good")), AT("good/good.so"));
    assert_false(plugin_bundled(registry_plugin(registry, "test.sidecar")));
    assert_int_equal(registry_problems(registry), 2);
    assert_string_equal(registry_problem_at(registry, 0)->path, "/nonexistent/p");
    assert_null(registry_problem_at(registry, 0)->rival);
    assert_string_equal(registry_problem_at(registry, 1)->code, "MANIFEST_INVALID");
    search_finish(&search);
    registry_free(registry);
    buffer_finish(&found);
}

static struct registry *scanned_in(const char *first, enum search_origin first_place, const char *second,
                                   enum search_origin second_place) {
    struct registry *registry = registry_of(false);
    struct search search;
    search_init(&search);
    search_add(&search, first, first_place, "first");
    search_add(&search, second, second_place, "second");
    assert_int_equal(registry_scan(registry, &search, NULL), TN_OK);
    search_finish(&search);
    return registry;
}

static void count_shadowed(void *user, struct plugin *plugin) {
    if (plugin_state(plugin) != PLUGIN_SHADOWED) return;
    assert_string_equal(plugin_version(plugin_shadowed_by(plugin)), "9.9.9");
    assert_string_equal(plugin_version(plugin), "1.2.3");
    ++*(size_t *)user;
}

/* The plugin of the earlier place is used, whatever the order of the calls. Two of one place are an error. */
static void earlier_places_shadow_later_ones(void **state) {
    (void)state;
    static const enum search_origin later[] = {SEARCH_CONFIG, SEARCH_USER, SEARCH_PACK, SEARCH_INSTALLED,
                                               SEARCH_PACK_UNTRUSTED};
    struct component *component;
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        size_t shadowed = 0;
        struct registry *registry = scanned_in(AT("good"), later[i], AT("impostor"), later[i] - 1);
        assert_int_equal(registry_problems(registry), 0);
        assert_string_equal(plugin_version(registry_plugin(registry, "test.good")), "9.9.9");
        assert_null(registry_known(registry, "node", "test.one")); /* nothing of a shadowed plugin is used */
        assert_non_null(registry_known(registry, "node", "test.impostor"));
        registry_each_found_plugin(registry, count_shadowed, &shadowed);
        assert_int_equal(shadowed, 1);
        registry_free(registry);
        /* Two plugins with a common component: only that one is shadowed. */
        registry = scanned_in(AT("good"), later[i], AT("duplicate"), later[i] - 1);
        assert_int_equal(registry_problems(registry), 0);
        assert_int_equal(registry_resolve(registry, "node", "test.one", &component, NULL), TN_OK);
        assert_string_equal(component->info->plugin_id, "test.duplicate");
        assert_int_equal(registry_resolve(registry, "node", "test.two", &component, NULL), TN_OK);
        registry_free(registry);
        registry = scanned_in(AT("good"), later[i], AT("impostor"), later[i]);
        assert_int_equal(registry_problems(registry), 1);
        is_refused(registry, "test.one", TN_UNSUPPORTED, "PLUGIN_DUPLICATE", "two files claim the plugin", NULL);
        registry_free(registry);
    }
}

/* Writes a program and its manifest: no code of it runs. Returns its path. */
static const char *write_claim(const char *folder, const char *id, const char *node) {
    static char path[96];
    char sidecar[128];
    snprintf(path, sizeof path, "%s/claim", folder);
    snprintf(sidecar, sizeof sidecar, "%s.tenon.json", path);
    copy_file("/bin/true", path);
    assert_int_equal(chmod(path, 0755), 0);
    FILE *out = fopen(sidecar, "wb");
    assert_non_null(out);
    fprintf(out,
            "{\"plugin\":{\"id\":\"%s\",\"version\":\"1.0.0\",\"title\":\"T\"},\"components\":[{\"kind\":\"node\","
            "\"id\":\"%s\",\"title\":\"T\",\"style\":\"async\",\"effects\":[]}]}",
            id, node);
    fclose(out);
    return path;
}

/* A plugin that claims a reserved name is refused, in every place but the installed one, and affects no other plugin.
 */
static void refuses_reserved_names(void **state) {
    (void)state;
    static const struct {
        const char *id, *node, *message;
    } rows[] = {
        {"tenon.core", "acme.x", "a plugin claims the id `tenon.core`: ids that begin with `tenon.` are reserved"},
        {"test.good", "set", "claims the node `set`: names without a dot are reserved"},
        {"acme", "set", "rename it, for example to `acme.set`"},
        {"acme.x", "tenon.y", "claims the node `tenon.y`: names that begin with `tenon.` are reserved"},
    };
    char folder[] = "/tmp/tenon-registry-XXXXXX", sidecar[128];
    struct component *component;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error error = ERROR_INIT;
        const char *path = write_claim(folder, rows[i].id, rows[i].node);
        struct registry *registry = scanned_in(path, SEARCH_FLAG, AT("good"), SEARCH_USER);
        assert_int_equal(registry_problems(registry), 1);
        assert_string_equal(registry_problem_at(registry, 0)->code, "NAME_RESERVED");
        if (!strstr(registry_problem_at(registry, 0)->message, rows[i].message))
            fail_msg("expected `%s` in `%s`", rows[i].message, registry_problem_at(registry, 0)->message);
        is_refused(registry, rows[i].node, TN_NOT_FOUND, "NOT_FOUND", rows[i].message, NULL);
        assert_int_equal(registry_resolve(registry, "node", "test.one", &component, NULL), TN_OK);
        assert_int_equal(add(registry, path, &error), TN_INVALID);
        assert_string_equal(error.code, "NAME_RESERVED");
        error_finish(&error);
        assert_int_equal(registry_upgrade(registry, path, "a test", &error), TN_INVALID);
        assert_string_equal(error.code, "NAME_RESERVED");
        error_finish(&error);
        registry_free(registry);
    }
    struct registry *registry = scanned_in(folder, SEARCH_INSTALLED, AT("good"), SEARCH_USER);
    assert_int_equal(registry_problems(registry), 0); /* the place decides, not what the manifest says */
    registry_free(registry);
    snprintf(sidecar, sizeof sidecar, "%s/claim", folder);
    unlink(sidecar);
    snprintf(sidecar, sizeof sidecar, "%s/claim.tenon.json", folder);
    unlink(sidecar);
    rmdir(folder);
}

/* A path that the user typed must exist and be a plugin. */
static void scanning_fails_for_typed_paths(void **state) {
    (void)state;
    static const char *const paths[] = {"/nonexistent/x.so", AT("library/library.so"),
                                        AT("bad_manifest/bad_manifest.so")};
    for (size_t i = 0; i < 3; i++) {
        struct registry *registry = registry_of(false);
        struct search search;
        struct error error = ERROR_INIT;
        search_init(&search);
        search_add(&search, paths[i], SEARCH_FLAG, "--plugins");
        search_add(&search, AT("good"), SEARCH_FLAG, "--plugins");
        assert_int_not_equal(registry_scan(registry, &search, &error), TN_OK);
        assert_non_null(strstr(error.message, paths[i]));
        assert_non_null(registry_plugin(registry, "test.good")); /* the rest was read anyway */
        error_finish(&error);
        search_finish(&search);
        registry_free(registry);
    }
}

static void search_paths(void **state) {
    (void)state;
    struct search search;
    search_init(&search);
    search_add(&search, "", SEARCH_FLAG, "--plugins");
    search_add(&search, NULL, SEARCH_FLAG, "--plugins");
    search_add(&search, "plugins/", SEARCH_FLAG, "--plugins");
    search_add(&search, "x.so", SEARCH_FLAG, "--plugins");
    search_add(&search, "./x.so", SEARCH_CONFIG, "tenon.yaml");
    assert_int_equal(search.count, 2);
    assert_string_equal(search.entries[0].path, "plugins");
    assert_string_equal(search.entries[1].path, "./x.so"); /* dlopen would look for a plain name elsewhere */
    for (size_t i = 0; i < SEARCH_ENTRIES_MAX; i++) {
        char path[32];
        snprintf(path, sizeof path, "/p/%zu", i);
        search_add(&search, path, SEARCH_FLAG, "--plugins");
    }
    assert_int_equal(search.count, SEARCH_ENTRIES_MAX);
    assert_int_equal(search.dropped, 2);
    search_finish(&search);
    /* Relative to this program: the build tree has the layout of an installed one. */
    char *installed = search_installed_directory();
    assert_non_null(installed);
    assert_non_null(strstr(installed, "/lib/tenon/plugins"));
    mem_free(installed);
}

/* More files than the limit, none of them a plugin: more problems than are stored. */
static void bounds_scanning(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    struct search search;
    char folder[] = "/tmp/tenon-registry-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i <= SEARCH_FILES_MAX; i++) {
        snprintf(path, sizeof path, "%s/%04zu.so", folder, i);
        copy_file("/dev/null", path);
    }
    search_init(&search);
    search_add(&search, folder, SEARCH_ENVIRONMENT, "TENON_PLUGIN_PATH");
    assert_int_equal(registry_scan(registry, &search, NULL), TN_OK);
    assert_int_equal(registry_problems(registry), REGISTRY_PROBLEMS_MAX);
    struct error error = ERROR_INIT;
    search_finish(&search);
    search_init(&search);
    search_add(&search, folder, SEARCH_FLAG, "--plugins");
    assert_int_equal(registry_scan(registry, &search, &error), TN_LIMIT);
    assert_non_null(strstr(error.message, "more than 1000 plugin files"));
    error_finish(&error);
    search_finish(&search);
    registry_free(registry);
    for (size_t i = 0; i <= SEARCH_FILES_MAX; i++) {
        snprintf(path, sizeof path, "%s/%04zu.so", folder, i);
        unlink(path);
    }
    rmdir(folder);
}

/* ---- At run time ---- */

static tn_value json(const char *text) {
    tn_value value = NULL;
    assert_int_equal(json_read(text, strlen(text), NULL, &value, NULL), TN_OK);
    return value;
}

static void adding_is_refused(const tn_registry_1 *adding, const tn_host *host, tn_value component, const char *why) {
    tn_value error = NULL;
    assert_int_equal(adding->add(host, component, &error), TN_FAILED);
    const char *message = value_chars(value_get(error, "message"), NULL);
    if (!message || !strstr(message, why)) fail_msg("expected `%s` in `%s`", why, message);
    value_unref(error);
}

static void adds_components_at_run_time(void **state) {
    (void)state;
    struct registry *registry = registry_of(true);
    struct component *component;
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    const tn_host *host = plugin_host(registry_plugin(registry, "test.good"));
    const tn_registry_1 *adding = host->get(host->self, TN_REGISTRY_1);
    assert_ptr_equal(adding, &interface_registry);
    tn_value tool = json("{\"kind\":\"tool\",\"id\":\"mcp.search\",\"title\":\"S\",\"style\":\"async\"}");
    tn_value node = json("{\"kind\":\"node\",\"id\":\"mcp.node\",\"title\":\"S\",\"style\":\"async\"}");
    uint64_t before = registry_generation(registry);
    assert_int_equal(adding->add(host, tool, NULL), TN_OK);
    assert_true(registry_generation(registry) > before);
    assert_int_equal(registry_resolve(registry, "tool", "mcp.search", &component, NULL), TN_OK);
    adding_is_refused(adding, host, tool, "plugin `test.good` already has the tool `mcp.search`; remove it first");
    adding_is_refused(adding, host, node, "\"dynamic\": [\"node\"]"); /* not declared dynamic */
    adding_is_refused(adding, host, value_object(), "kind");
    assert_int_equal(adding->add(host, tool, NULL), TN_FAILED);
    assert_int_equal(adding->add(host, NULL, NULL), TN_INVALID);
    assert_int_equal(adding->add(NULL, tool, NULL), TN_INVALID);
    const struct component_info *info = component->info;
    assert_int_equal(adding->remove(host, "tool", TN_Z, "mcp.search", 10), TN_OK);
    assert_int_equal(adding->remove(host, "tool", TN_Z, "mcp.search", 10), TN_NOT_FOUND);
    assert_int_equal(adding->remove(host, NULL, TN_Z, NULL, TN_Z), TN_INVALID);
    assert_true(component->removed);
    assert_string_equal(info->id, "mcp.search"); /* a kept pointer is still valid */
    struct component *gone = NULL;
    assert_int_equal(registry_resolve(registry, "tool", "mcp.search", &gone, NULL), TN_NOT_FOUND);
    /* Adding and removing it repeatedly uses no more memory. */
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(adding->add(host, tool, NULL), TN_OK);
        assert_int_equal(registry_resolve(registry, "tool", "mcp.search", &gone, NULL), TN_OK);
        assert_ptr_equal(gone, component);
        assert_int_equal(adding->remove(host, "tool", TN_Z, "mcp.search", 10), TN_OK);
    }
    value_unref(tool);
    value_unref(node);
    registry_free(registry);
}

/* Many components, so that the table grows, with removals in between. */
static void finds_among_many(void **state) {
    (void)state;
    struct registry *registry = registry_of(true);
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    struct plugin *plugin = registry_plugin(registry, "test.good");
    struct component *component;
    char id[32];
    for (int i = 0; i < 2000; i++) {
        tn_value tool = value_format("{\"kind\":\"tool\",\"id\":\"t.%d\",\"title\":\"T\",\"style\":\"async\"}", i);
        tn_value parsed = json(value_chars(tool, NULL));
        assert_int_equal(registry_add_component(plugin, parsed, NULL), TN_OK);
        value_unref(parsed);
        value_unref(tool);
        snprintf(id, sizeof id, "t.%d", i / 2);
        if (i % 3 == 0 && i / 2 % 3 == 0) (void)registry_remove_component(plugin, "tool", id, NULL);
    }
    for (int i = 0; i < 2000; i++) {
        snprintf(id, sizeof id, "t.%d", i);
        bool removed = false;
        for (int j = 2 * i; j <= 2 * i + 1 && j < 2000; j++) removed |= j % 3 == 0 && i % 3 == 0;
        assert_int_equal(registry_resolve(registry, "tool", id, &component, NULL), removed ? TN_NOT_FOUND : TN_OK);
    }
    registry_free(registry);
}

static int32_t native_create(void *self, const char *id, uint64_t length, tn_value settings, tn_binder *binder,
                             void **instance) {
    (void)id, (void)length, (void)settings, (void)binder;
    *instance = self;
    return TN_OK;
}
static int32_t native_start(void *instance, tn_task task, tn_value input) {
    (void)instance, (void)task, (void)input;
    return TN_ERROR;
}
static void native_destroy(void *instance) { (void)instance; }
static const tn_component_1 native_components = {sizeof(tn_component_1), native_create, native_start, NULL, NULL,
                                                 native_destroy};
static const void *native_offer(void *self, const char *id) {
    (void)self;
    return strcmp(id, TN_COMPONENT_1) == 0 ? &native_components : NULL;
}

static void registers_components_of_the_process(void **state) {
    (void)state;
    static int self;
    const tn_plugin native = {sizeof(tn_plugin), &self, native_offer};
    struct registry *registry = registry_of(false);
    struct component *component;
    tn_value manifest =
        json("{\"plugin\":{\"id\":\"app.own\",\"version\":\"1.0.0\",\"title\":\"Own\"},\"components\":[{"
             "\"kind\":\"node\",\"id\":\"app.node\",\"title\":\"N\",\"style\":\"async\"}]}");
    assert_int_equal(registry_add_native(registry, manifest, &native, "the program", NULL), TN_OK);
    assert_int_equal(registry_resolve(registry, "node", "app.node", &component, NULL), TN_OK);
    assert_ptr_equal(component->self, &self);
    assert_ptr_equal(component->vtable, &native_components);
    assert_string_equal(plugin_path(component->plugin), "");
    struct error error = ERROR_INIT;
    assert_int_equal(registry_add_native(registry, manifest, &native, "the program", &error), TN_INVALID);
    assert_string_equal(error.code, "PLUGIN_DUPLICATE");
    assert_int_equal(registry_add_native(registry, value_object(), &native, "the program", &error), TN_INVALID);
    assert_string_equal(error.code, "MANIFEST_INVALID");
    error_finish(&error);
    value_unref(manifest);
    registry_free(registry);
}

static tn_value section_of_app; /* the section of the native plugin below; may be NULL */

static tn_value section_of(void *user, const char *plugin_id) {
    assert_ptr_equal(user, &config_of_good);
    assert_string_equal(plugin_id, "test.app");
    return section_of_app;
}

/* Looks up a tool that no manifest has. Returns true if the plugin of `test.app` was loaded for it. */
static bool loads_for_a_lookup(const char *members, const char *section) {
    static int self;
    const tn_plugin native = {sizeof(tn_plugin), &self, native_offer};
    struct registry *registry = registry_new(&(struct registry_options){
        .interfaces = interfaces, .config = config, .section = section_of, .user = &config_of_good});
    char text[512];
    struct component *component = NULL;
    snprintf(text, sizeof text,
             "{\"plugin\":{\"id\":\"test.app\",\"version\":\"1.0.0\",\"title\":\"P\",\"dynamic\":[\"tool\"],%s"
             "\"config\":{\"type\":\"object\"}}}",
             members);
    tn_value manifest = json(text);
    section_of_app = section ? json(section) : NULL;
    assert_int_equal(registry_add_native(registry, manifest, &native, "the program", NULL), TN_OK);
    struct plugin *plugin = registry_plugin(registry, "test.app");
    bool unloaded = registry_has_unloaded(registry, "tool");
    assert_int_equal(registry_knows_all(registry, "tool"), !unloaded);
    assert_int_equal(registry_resolve(registry, "tool", "test.none", &component, NULL), TN_NOT_FOUND);
    bool loaded = plugin_state(plugin) == PLUGIN_LOADED;
    assert_int_equal(loaded, unloaded);
    assert_true(registry_knows_all(registry, "tool"));
    registry_free(registry);
    value_unref(section_of_app);
    section_of_app = NULL;
    value_unref(manifest);
    return loaded;
}

static void does_not_load_what_adds_nothing(void **state) {
    (void)state;
    static const char one[] = "\"dynamic_from\":[\"libraries\"],", two[] = "\"dynamic_from\":[\"a\",\"b\"],";
    assert_false(loads_for_a_lookup(one, NULL));
    assert_false(loads_for_a_lookup(one, "{}"));
    assert_false(loads_for_a_lookup(one, "{\"libraries\":[]}"));
    assert_false(loads_for_a_lookup(one, "{\"libraries\":{}}"));
    assert_true(loads_for_a_lookup(one, "{\"libraries\":[1]}"));
    assert_true(loads_for_a_lookup(one, "{\"libraries\":{\"a\":1}}"));
    /* Mistakes that the plugin's schema reports. */
    assert_true(loads_for_a_lookup(one, "{\"libraries\":\"a\"}"));
    assert_true(loads_for_a_lookup(one, "{\"libraries\":null}"));
    assert_true(loads_for_a_lookup(one, "{\"librarys\":[]}"));
    assert_true(loads_for_a_lookup(one, "[]"));
    assert_false(loads_for_a_lookup(two, "{\"a\":[],\"b\":[]}"));
    assert_false(loads_for_a_lookup(two, "{\"b\":[]}"));
    assert_true(loads_for_a_lookup(two, "{\"a\":[],\"b\":[1]}"));
    assert_true(loads_for_a_lookup("", NULL)); /* the plugin does not say from what it makes its components */
}

static void bounds_plugins_and_components(void **state) {
    (void)state;
    static int self;
    const tn_plugin native = {sizeof(tn_plugin), &self, native_offer};
    struct registry *registry = registry_of(false);
    struct error error = ERROR_INIT;
    char text[256];
    for (size_t i = 0; i <= REGISTRY_PLUGINS_MAX; i++) {
        snprintf(text, sizeof text,
                 "{\"plugin\":{\"id\":\"app.p%zu\",\"version\":\"1.0.0\",\"title\":\"P\",\"dynamic\":[\"tool\"]}}", i);
        tn_value manifest = json(text);
        int32_t expected = i < REGISTRY_PLUGINS_MAX ? TN_OK : TN_LIMIT;
        assert_int_equal(registry_add_native(registry, manifest, &native, "the program", &error), expected);
        value_unref(manifest);
    }
    assert_string_equal(error.code, "LIMIT");
    struct plugin *plugin = registry_plugin(registry, "app.p0");
    tn_value tool = json("{\"kind\":\"tool\",\"id\":\"t\",\"title\":\"T\",\"style\":\"async\"}");
    for (size_t i = 0; i <= REGISTRY_COMPONENTS_MAX; i++) {
        snprintf(text, sizeof text, "t%zu", i);
        tool = value_set_take(tool, "id", value_text(text));
        int32_t expected = i < REGISTRY_COMPONENTS_MAX ? TN_OK : TN_LIMIT;
        if (registry_add_component(plugin, tool, &error) != expected) fail_msg("%s: %s", text, error.message);
    }
    assert_string_equal(error.code, "LIMIT");
    value_unref(tool);
    error_finish(&error);
    registry_free(registry);
}

/* ---- Unloading ---- */

static void describe_live_task(void *user, const struct plugin *plugin, struct buffer *which) {
    (void)user;
    buffer_format(which, "task 42 of %s", plugin_id(plugin));
}

static void unloads(void **state) {
    (void)state;
    struct registry *registry = registry_of(false);
    struct component *component;
    struct error error = ERROR_INIT;
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    assert_int_equal(registry_resolve(registry, "node", "test.one", &component, NULL), TN_OK);
    struct plugin *plugin = component->plugin;
    plugin_ref(plugin);
    plugin_task_begin(plugin);
    assert_int_equal(registry_unload(registry, "test.good", describe_live_task, NULL, &error), TN_AGAIN);
    assert_string_equal(error.code, "PLUGIN_BUSY");
    assert_non_null(strstr(error.message, "1 instance and 1 open task: task 42 of test.good"));
    assert_int_equal(plugin_state(plugin), PLUGIN_LOADED); /* nothing has changed */
    assert_string_not_equal(getenv("TENON_TEST_GOOD"), "quiesced");
    assert_int_equal(registry_resolve(registry, "node", "test.one", &component, NULL), TN_OK);
    assert_false(registry_resume(plugin));
    uint64_t generation = registry_generation(registry);
    assert_int_equal(registry_quiesce(registry, "test.good", NULL), TN_OK);
    assert_int_equal(registry_quiesce(registry, "test.good", NULL), TN_OK);
    assert_int_equal(plugin_state(plugin), PLUGIN_QUIESCED);
    assert_int_equal(registry_generation(registry), generation + 1);
    assert_string_not_equal(getenv("TENON_TEST_GOOD"), "quiesced"); /* the plugin is notified when it ends */
    is_refused(registry, "test.one", TN_UNSUPPORTED, "PLUGIN_REFUSED", "is quiesced", NULL); /* no new work */
    assert_true(registry_resume(plugin));
    assert_int_equal(registry_resolve(registry, "node", "test.one", &component, NULL), TN_OK);
    plugin_task_end(plugin);
    assert_int_equal(registry_unload(registry, "test.good", NULL, NULL, &error), TN_AGAIN);
    plugin_unref(plugin);
    assert_int_equal(registry_unload(registry, "test.good", NULL, NULL, &error), TN_OK);
    assert_string_equal(getenv("TENON_TEST_GOOD"), "ended");
    is_refused(registry, "test.one", TN_NOT_FOUND, "NOT_FOUND", NULL);
    assert_int_equal(registry_unload(registry, "test.good", NULL, NULL, &error), TN_NOT_FOUND);
    assert_int_equal(registry_unload(registry, "test.none", NULL, NULL, &error), TN_NOT_FOUND);
    /* It can be repeated. */
    assert_int_equal(add(registry, AT("good/good.so"), NULL), TN_OK);
    assert_int_equal(registry_resolve(registry, "node", "test.one", &component, NULL), TN_OK);
    assert_true(plugin_number(component->plugin) > plugin_number(plugin));
    assert_int_equal(plugin_refs(component->plugin) + plugin_tasks(component->plugin), 0);
    atomic_fetch_add(plugin_memory(component->plugin), 1);
    assert_ptr_equal(plugin_registry(component->plugin), registry);
    assert_string_equal(plugin_state_name(plugin_state(plugin)), "unloaded");
    error_finish(&error);
    registry_free(registry);
    registry_free(NULL);
}

/* What a plugin logs during init is in the message of its refusal. */
static void log_remember_stores_the_last_error(void **state) {
    char said[16], inner[16];
    (void)state;
    struct log_text before = log_remember((struct log_text){said, sizeof said});
    log_write(LOG_WARN, "test", "not this");
    assert_string_equal(said, "");
    log_write(LOG_ERROR, "test", "gone %d, truncated if it is too long", 1);
    assert_string_equal(said, "gone 1, truncat");
    struct log_text outer = log_remember((struct log_text){inner, sizeof inner});
    log_write(LOG_ERROR, "test", "inside");
    (void)log_remember(outer);
    assert_string_equal(inner, "inside");
    log_write(LOG_ERROR, "test", "after");
    assert_string_equal(said, "after");
    (void)log_remember(before);
    log_write(LOG_ERROR, "test", "no more");
    assert_string_equal(said, "after");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_remember_stores_the_last_error),
        cmocka_unit_test(loads_on_demand),
        cmocka_unit_test(configures),
        cmocka_unit_test(refuses_with_every_reason),
        cmocka_unit_test(offers_drafts_where_allowed),
        cmocka_unit_test(allows_drafts_per_plugin),
        cmocka_unit_test(two_hosts),
        cmocka_unit_test(suggests_near_names),
        cmocka_unit_test(is_a_catalog),
        cmocka_unit_test(reports_broken_schemas),
        cmocka_unit_test(refuses_duplicate_components),
        cmocka_unit_test(refuses_duplicate_plugins),
        cmocka_unit_test(takes_the_same_plugin_once),
        cmocka_unit_test(refuses_a_replaced_file),
        cmocka_unit_test(earlier_places_shadow_later_ones),
        cmocka_unit_test(refuses_reserved_names),
        cmocka_unit_test(scans_in_order),
        cmocka_unit_test(scanning_fails_for_typed_paths),
        cmocka_unit_test(search_paths),
        cmocka_unit_test(adds_components_at_run_time),
        cmocka_unit_test(finds_among_many),
        cmocka_unit_test(registers_components_of_the_process),
        cmocka_unit_test(does_not_load_what_adds_nothing),
        cmocka_unit_test(bounds_scanning),
        cmocka_unit_test(bounds_plugins_and_components),
        cmocka_unit_test(unloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
