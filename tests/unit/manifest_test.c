/*
 * manifest_test.c - merging notes into a manifest, errors in notes, and strict validation.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin_search.h"
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

#define PLUGIN "{\"plugin\":{\"id\":\"a.b\",\"version\":\"1.0.0\",\"title\":\"T\"}}"
#define NODE   "\"kind\":\"node\",\"id\":\"a.n\",\"title\":\"N\",\"style\":\"async\""

/* Notes end with NULL. */
static int32_t merge(const char *const *texts, tn_value *out, struct error *error) {
    struct manifest_note notes[16];
    size_t count = 0;
    for (; texts[count]; count++) notes[count] = (struct manifest_note){texts[count], strlen(texts[count])};
    return manifest_merge("x.so", notes, count, out, error);
}

static void merges_to(const char *const *texts, const char *expected) {
    tn_value manifest = NULL;
    struct error error = ERROR_INIT;
    if (merge(texts, &manifest, &error) != TN_OK) fail_msg("%s", error.message);
    char *text = json_text(manifest, JSON_SORTED);
    assert_string_equal(text, expected);
    mem_free(text);
    value_unref(manifest);
}

static void is_refused(const char *const *texts, const char *message) {
    tn_value manifest = NULL;
    struct error error = ERROR_INIT;
    int32_t status = merge(texts, &manifest, &error);
    assert_int_equal(status, TN_INVALID);
    assert_string_equal(error.code, "MANIFEST_INVALID");
    if (!strstr(error.message, message)) fail_msg("expected `%s` in `%s`", message, error.message);
    if (strncmp(error.message, "x.so: manifest: ", 16) != 0) fail_msg("no file in `%s`", error.message);
    assert_null(manifest);
    error_finish(&error);
}

#define NOTES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void merges_notes(void **state) {
    (void)state;
    merges_to(NOTES(PLUGIN), "{\"components\":[],\"plugin\":{\"id\":\"a.b\",\"title\":\"T\",\"version\":\"1.0.0\"}}");
    /* In any order; components by kind and id, or by id if that is unique; sets are merged. */
    merges_to(NOTES("{\"component\":{\"id\":\"a.n\",\"documentation\":\"D\"}}", "{\"component\":{" NODE "}}",
                    "{\"plugin\":{\"requires\":[\"i/1\",\"j/1\"],\"licence\":\"MIT\"}}",
                    "{\"component\":{\"kind\":\"node\",\"id\":\"a.n\",\"config\":{\"type\":\"object\"}}}", PLUGIN,
                    "{\"plugin\":{\"requires\":[\"j/1\",\"k/1\"]}}"),
              "{\"components\":[{\"config\":{\"type\":\"object\"},\"documentation\":\"D\",\"id\":\"a.n\",\"kind\":"
              "\"node\",\"style\":\"async\",\"title\":\"N\"}],\"plugin\":{\"id\":\"a.b\",\"licence\":\"MIT\","
              "\"requires\":[\"i/1\",\"j/1\",\"k/1\"],\"title\":\"T\",\"version\":\"1.0.0\"}}");
    /* A complete manifest, with members that this host does not know. */
    merges_to(NOTES("{\"$schema\":\"s\",\"plugin\":{\"id\":\"a.b\",\"version\":\"1.0.0\",\"title\":\"T\",\"new\":1},"
                    "\"components\":[{" NODE ",\"later\":[1]}]}"),
              "{\"components\":[{\"id\":\"a.n\",\"kind\":\"node\",\"later\":[1],\"style\":\"async\",\"title\":\"N\"}],"
              "\"plugin\":{\"id\":\"a.b\",\"new\":1,\"title\":\"T\",\"version\":\"1.0.0\"}}");
    /* Schemas are merged too, member by member; the same id of another kind is another component. */
    merges_to(NOTES(PLUGIN, "{\"component\":{" NODE ",\"config\":{\"properties\":{\"x\":{\"type\":\"string\"}}}}}",
                    "{\"component\":{" NODE ",\"config\":{\"properties\":{\"x\":{\"description\":\"X\"}}}}}",
                    "{\"component\":{\"kind\":\"tool\",\"id\":\"a.n\",\"title\":\"N\",\"style\":\"blocking\"}}"),
              "{\"components\":[{\"config\":{\"properties\":{\"x\":{\"description\":\"X\",\"type\":\"string\"}}},"
              "\"id\":\"a.n\",\"kind\":\"node\",\"style\":\"async\",\"title\":\"N\"},{\"id\":\"a.n\",\"kind\":\"tool\","
              "\"style\":\"blocking\",\"title\":\"N\"}],\"plugin\":{\"id\":\"a.b\",\"title\":\"T\",\"version\":"
              "\"1.0.0\"}}");
}

static void refuses_contradictions(void **state) {
    (void)state;
    is_refused(NOTES(PLUGIN, "{\"plugin\":{\"title\":\"U\"}}"),
               "plugin: `title` is \"T\" in one note and \"U\" in another; say it once");
    is_refused(NOTES(PLUGIN, "{\"component\":{" NODE "}}",
                     "{\"component\":{\"kind\":\"node\",\"id\":\"a.n\",\"title\":\"M\"}}"),
               "component `a.n`: `title` is \"N\" in one note and \"M\" in another");
}

static void refuses_what_is_not_a_manifest(void **state) {
    (void)state;
    is_refused(NOTES("{"), "note 1 is not valid JSON: ");
    is_refused(NOTES(PLUGIN, ""), "note 2 is not valid JSON: ");
    is_refused(NOTES("[]"), "a note: found array, expected an object");
    is_refused(NOTES("{\"plugins\":{}}"), "a note lacks `plugin`, `component` and `components`");
    is_refused(NOTES("{\"plugin\":[]}"), "`plugin`: found array, expected an object");
    is_refused(NOTES("{\"components\":{}}"), "`components`: found object, expected a list");
    is_refused(NOTES("{\"component\":1}"), "a component: found int, expected an object");
    is_refused(NOTES("{\"component\":{\"kind\":\"node\"}}"), "a component without an id");
    is_refused(NOTES("{\"component\":{\"id\":\"a.n\",\"kind\":1}}"), "component `a.n`: `kind`: found int");
    is_refused(NOTES("{\"component\":{\"id\":\"a.n\"}}"), "omits its `kind`, and no other note has that id");
    is_refused(NOTES("{\"component\":{\"id\":\"a\",\"kind\":\"node\"}}",
                     "{\"component\":{\"id\":\"a\",\"kind\":"
                     "\"tool\"}}",
                     "{\"component\":{\"id\":\"a\"}}"),
               "and more than one component has that id");
    is_refused(NOTES("{\"component\":{" NODE "}}"), "`plugin` is missing");
}

/* One field at a time: component `a.n`, or the plugin. */
static void refuses_fields(void **state) {
    (void)state;
    static const struct {
        bool component;
        const char *members, *message;
    } cases[] = {
        {false, "\"version\":\"1.0.0\",\"title\":\"T\"", "plugin: `id` is missing; add it"},
        {false, "\"id\":\"1a\",\"version\":\"1.0.0\",\"title\":\"T\"", "plugin: `id`: found \"1a\", expected letters"},
        {false, "\"id\":\"a b\",\"version\":\"1.0.0\",\"title\":\"T\"", "`id`: found \"a b\""},
        {false, "\"id\":\"a\",\"version\":\"one\",\"title\":\"T\"", "`version`: found \"one\", expected a version"},
        {false, "\"id\":\"a\",\"version\":\"1.0.0\",\"title\":\"\"",
         "`title`: found \"\", expected a string that is not empty"},
        {false, "\"id\":\"a\",\"version\":\"1.0.0\",\"title\":\"t\\u0000u\"",
         "`title`: found \"t\\u0000u\", expected a string that is not empty and has no U+0000"},
        {false, "\"id\":\"a\",\"version\":\"1.0.0\",\"title\":\"T\",\"requires\":\"x/1\"", "`requires`: found \"x/1\""},
        {false, "\"id\":\"a\",\"version\":\"1.0.0\",\"title\":\"T\",\"requires\":[1]", "expected a list of strings"},
        {false, "\"id\":\"a\",\"version\":\"1.0.0\",\"title\":\"T\",\"tenon\":\">>1\"", "expected a constraint"},
        {false, "\"id\":\"a\",\"version\":\"1.0.0\",\"title\":\"T\",\"config\":{}",
         "`config`: found {}, expected a JSON"},
        {false, "\"id\":\"a\\u0000b\",\"version\":\"1.0.0\",\"title\":\"T\"", "plugin: `id`: found"},
        {true, "\"kind\":\"node\",\"title\":\"N\"", "component `a.n` (node): `style` is missing"},
        {true, "\"kind\":\"node\",\"style\":\"async\"", "component `a.n` (node): `title` is missing"},
        {true, NODE ",\"config\":{}", "component `a.n` (node): `config`: found {}, expected a JSON Schema: an object"},
        {true, NODE ",\"output\":true", "`output`: found true, expected a JSON Schema"},
        {true, NODE ",\"effects\":\"all\"", "`effects`: found \"all\", expected a list of strings"},
        {true, NODE ",\"reentrant\":1", "`reentrant`: found 1, expected true or false"},
        {true, "\"kind\":\"node\",\"title\":\"N\",\"style\":\"later\"", "`style`: found \"later\", expected \"async\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char note[512];
        if (cases[i].component)
            snprintf(note, sizeof note, "{\"component\":{%s%s}}",
                     strstr(cases[i].members, "\"id\"") ? "" : "\"id\":\"a.n\",", cases[i].members);
        else
            snprintf(note, sizeof note, "{\"plugin\":{%s}}", cases[i].members);
        if (cases[i].component)
            is_refused(NOTES(PLUGIN, note), cases[i].message);
        else
            is_refused(NOTES(note), cases[i].message);
    }
}

static void bounds(void **state) {
    (void)state;
    /* Nesting, and the number of components. */
    char deep[256] = "{\"plugin\":";
    memset(deep + strlen(deep), '[', MANIFEST_DEPTH_MAX + 1);
    tn_value manifest = NULL;
    struct error error = ERROR_INIT;
    assert_int_equal(merge(NOTES(deep), &manifest, &error), TN_LIMIT);
    for (size_t count = MANIFEST_COMPONENTS_MAX; count <= MANIFEST_COMPONENTS_MAX + 1; count++) {
        struct buffer text;
        buffer_init(&text, SIZE_MAX);
        buffer_text(&text, "{\"plugin\":{\"id\":\"a\",\"version\":\"1.0.0\",\"title\":\"T\"},\"components\":[");
        for (size_t i = 0; i < count; i++)
            buffer_format(&text, "%s{\"kind\":\"node\",\"id\":\"n%zu\",\"title\":\"N\",\"style\":\"async\"}",
                          i ? "," : "", i);
        buffer_text(&text, "]}");
        int32_t status = merge(NOTES(buffer_cstr(&text)), &manifest, &error);
        assert_int_equal(status, count > MANIFEST_COMPONENTS_MAX ? TN_LIMIT : TN_OK);
        if (status == TN_OK) value_unref(manifest);
        buffer_finish(&text);
    }
    /* One of several notes. */
    char *long_note = malloc(MANIFEST_NOTE_MAX + 2);
    memset(long_note, ' ', MANIFEST_NOTE_MAX + 1);
    long_note[MANIFEST_NOTE_MAX + 1] = 0;
    assert_int_equal(merge(NOTES(PLUGIN, long_note), &manifest, &error), TN_LIMIT);
    assert_string_equal(error.code, "LIMIT");
    free(long_note);
    /* Sets that many notes enlarge. */
    struct buffer many[2];
    for (size_t i = 0; i < 2; i++) {
        buffer_init(&many[i], SIZE_MAX);
        buffer_text(&many[i], "{\"plugin\":{\"requires\":[\"x/1\"");
        for (size_t j = 0; j < MANIFEST_SET_MAX; j++) buffer_format(&many[i], ",\"%c%zu/1\"", i ? 'a' : 'b', j);
        buffer_text(&many[i], "]}}");
    }
    assert_int_equal(merge(NOTES(buffer_cstr(&many[0]), buffer_cstr(&many[1])), &manifest, &error), TN_LIMIT);
    buffer_finish(&many[0]);
    buffer_finish(&many[1]);
    error_finish(&error);
}

/* ---- Files ---- */

/* None of its code runs. */
static void reads_plugins_without_running_them(void **state) {
    (void)state;
    struct manifest manifest;
    assert_int_equal(manifest_read(TENON_TEST_PLUGINS "/aborts/aborts.so", &manifest, NULL), TN_OK);
    assert_string_equal(manifest_text(manifest_plugin(manifest.value), "id"), "test.aborts");
    assert_false(manifest.sidecar);
    manifest_finish(&manifest);
    assert_int_equal(manifest_read(TENON_TEST_PLUGINS "/good/good.so", &manifest, NULL), TN_OK);
    tn_value components = manifest_components(manifest.value), two = value_at(components, 0);
    if (!value_text_is(value_get(two, "id"), "test.two")) two = value_at(components, 1); /* notes have no order */
    assert_string_equal(manifest_text(two, "id"), "test.two");
    assert_string_equal(manifest_text(two, "documentation"), "Told in another note.");
    manifest_finish(&manifest);
}

static void reads_sidecars(void **state) {
    (void)state;
    struct manifest manifest;
    struct error error = ERROR_INIT;
    assert_int_equal(manifest_read(TENON_TEST_PLUGINS "/sidecar/sidecar.so", &manifest, &error), TN_OK);
    assert_true(manifest.sidecar);
    assert_string_equal(manifest_text(manifest_plugin(manifest.value), "version"), "2.0.0");
    manifest_finish(&manifest);
    assert_int_equal(manifest_read(TENON_TEST_PLUGINS "/library/library.so", &manifest, &error), TN_NOT_FOUND);
    assert_string_equal(error.code, "MANIFEST_MISSING");
    assert_non_null(strstr(error.message, "/library/library.tenon.json"));
    error_finish(&error);
}

static void bounds_sidecars(void **state) {
    (void)state;
    char folder[] = "/tmp/tenon-manifest-XXXXXX", plugin[64], sidecar[80];
    struct manifest manifest;
    struct error error = ERROR_INIT;
    assert_non_null(mkdtemp(folder));
    snprintf(plugin, sizeof plugin, "%s/x.so", folder);
    snprintf(sidecar, sizeof sidecar, "%s/x.tenon.json", folder);
    assert_int_equal(symlink(TENON_TEST_PLUGINS "/library/library.so", plugin), 0);
    FILE *file = fopen(sidecar, "w");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), MANIFEST_SIDECAR_MAX + 1), 0);
    fclose(file);
    assert_int_equal(manifest_read(plugin, &manifest, &error), TN_LIMIT);
    assert_int_equal(unlink(sidecar), 0);
    assert_int_equal(mkdir(sidecar, 0700), 0);
    assert_int_equal(manifest_read(plugin, &manifest, &error), TN_INVALID);
    rmdir(sidecar);
    unlink(plugin);
    rmdir(folder);
    error_finish(&error);
}

/* ---- Strict validation ---- */

static void collect(void *user, const char *message) {
    buffer_text(user, message);
    buffer_char(user, '\n');
}

static void has_problems(const char *json, const char *expected) {
    tn_value manifest = NULL;
    struct buffer found;
    assert_int_equal(json_read(json, strlen(json), NULL, &manifest, NULL), TN_OK);
    buffer_init(&found, SIZE_MAX);
    size_t count = manifest_validate("x.so", manifest, collect, &found), lines = 0;
    for (const char *at = buffer_cstr(&found); *at; at++) lines += *at == '\n';
    assert_int_equal(count, lines);
    if (*expected ? !strstr(buffer_cstr(&found), expected) : found.length > 0)
        fail_msg("expected `%s` in `%s`", expected, buffer_cstr(&found));
    buffer_finish(&found);
    value_unref(manifest);
}

#define WHOLE(members)                                                                                                 \
    "{\"plugin\":{\"id\":\"acme.x\",\"version\":\"1.0.0\",\"title\":\"X\"},\"components\":[{\"kind\":\"node\",\"id\":" \
    "\"acme.judge\",\"title\":\"J\",\"style\":\"async\"" members "}]}"

static void validates(void **state) {
    (void)state;
    has_problems(WHOLE(""), "");
    has_problems(WHOLE(",\"effects\":[\"network.http:api.acme.example\",\"destructive\"],\"x-own\":1"), "");
    has_problems(WHOLE(",\"config\":{}"), "x.so: manifest: component `acme.judge` (node): `config`: ");
    has_problems(WHOLE(",\"titel\":\"J\""), "component `acme.judge` (node): `titel`: ");
    has_problems(WHOLE(",\"effects\":[\"Everything!\"]"), "component `acme.judge` (node): `effects.0`: ");
    /* The schemas in it are compiled, and the examples must match them. */
    has_problems(WHOLE(",\"config\":{\"type\":\"objekt\"}"), "component `acme.judge` (node): `config`: ");
    has_problems(WHOLE(",\"config\":{\"required\":[\"n\"]},\"examples\":[{\"title\":\"E\",\"config\":{}}]"),
                 "component `acme.judge` (node): `examples.0.config");
    has_problems("{\"plugin\":{\"id\":\"acme\",\"version\":\"1\",\"title\":\"X\"}}", "x.so: manifest: plugin: `id`: ");
    has_problems("{\"plugin\":{\"id\":\"acme.x\",\"version\":\"1.0.0\",\"title\":\"X\"},\"extra\":1}",
                 "x.so: manifest: top level: `extra`: ");
    has_problems("{\"plugin\":{\"id\":\"acme.x\",\"version\":\"1.0.0\",\"title\":\"X\"},\"components\":[{\"kind\":"
                 "\"tool\",\"id\":\"a.t\",\"title\":\"J\",\"style\":\"async\"}]}",
                 "component `a.t` (tool)"); /* a tool without a schema for its arguments */
}

static void bounds_problems(void **state) {
    (void)state;
    tn_value components = value_array(), manifest = value_object();
    for (size_t i = 0; i < MANIFEST_PROBLEMS_MAX + 50; i++) {
        tn_value config = value_set_take(value_object(), "type", value_text("objekt"));
        components = value_push_take(components, value_set_take(value_object(), "config", config));
    }
    manifest = value_set_take(manifest, "components", components);
    struct buffer found;
    size_t lines = 0;
    buffer_init(&found, SIZE_MAX);
    assert_true(manifest_validate("x.so", manifest, collect, &found) > MANIFEST_PROBLEMS_MAX);
    for (const char *at = buffer_cstr(&found); *at; at++) lines += *at == '\n';
    assert_int_equal(lines, MANIFEST_PROBLEMS_MAX);
    buffer_finish(&found);
    value_unref(manifest);
}

/* The schema of manifests compiles. */
static void schema_is_one(void **state) {
    (void)state;
    tn_value document = manifest_schema();
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    assert_non_null(document);
    if (schema_compile(document, NULL, &schema, &error) != TN_OK) fail_msg("%s", error.message);
    schema_unref(schema);
    value_unref(document);
}

static void validate_file(void *user, const char *path, bool named) {
    struct manifest manifest;
    struct error error = ERROR_INIT;
    struct buffer found;
    (void)named;
    buffer_init(&found, SIZE_MAX);
    if (manifest_read(path, &manifest, &error) != TN_OK) fail_msg("%s", error.message);
    if (manifest_validate(path, manifest.value, collect, &found) != 0) fail_msg("%s", buffer_cstr(&found));
    manifest_finish(&manifest);
    buffer_finish(&found);
    ++*(size_t *)user;
}

static void bundled_plugins_are_valid(void **state) {
    (void)state;
    struct search_entry entry = {.path = mem_text(TENON_BINARY_DIR "/lib/tenon/plugins"), .source = mem_text("build")};
    size_t count = 0;
    assert_int_equal(search_files(&entry, validate_file, &count, NULL), TN_OK);
    assert_true(count > 0);
    validate_file(&count, TENON_TEST_NODES, true);
    mem_free(entry.path);
    mem_free(entry.source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_notes),
        cmocka_unit_test(refuses_contradictions),
        cmocka_unit_test(refuses_what_is_not_a_manifest),
        cmocka_unit_test(refuses_fields),
        cmocka_unit_test(bounds),
        cmocka_unit_test(reads_plugins_without_running_them),
        cmocka_unit_test(reads_sidecars),
        cmocka_unit_test(bounds_sidecars),
        cmocka_unit_test(validates),
        cmocka_unit_test(bounds_problems),
        cmocka_unit_test(schema_is_one),
        cmocka_unit_test(bundled_plugins_are_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
