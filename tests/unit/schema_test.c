/*
 * schema_test.c - messages, defaults, annotations and queries (tests/corpus/schema), and the limits.
 *
 * The sections of a case: `schema` and `instance`, then any of `compile` (the reason why it does not compile),
 * `errors`, `defaults`, `annotations` (of "x-tenon"), `at POINTER` and `kinds`. A line of `errors` consists of the
 * instance's pointer or (root), "key" if the error refers to the key, the schema's pointer in brackets, the message,
 * and the suggestion.
 */
#include <stdio.h>
#include <stdlib.h>

#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "tests/unit/corpus.h"
#include "tests/unit/sanitized.h"

#define TEXT_MAX 65536

static tn_value json(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%.200s: %s", text, error.message);
    error_finish(&error);
    return value;
}

static struct schema *compile_with(const char *text, const struct schema_options *options) {
    tn_value document = json(text);
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    if (schema_compile(document, options, &schema, &error) != TN_OK) fail_msg("%.200s: %s", text, error.message);
    error_finish(&error);
    value_unref(document);
    return schema;
}

static struct schema *compile(const char *text) { return compile_with(text, NULL); }

static const char *display_pointer(const char *pointer) { return *pointer ? pointer : "(root)"; }

/* ---- The corpus ------------------------------------------------------------------------------------------------ */

static void put_value(struct buffer *out, tn_value value) {
    char *text = json_text(value, JSON_COMPACT);
    buffer_format(out, "%s\n", text);
    mem_free(text);
}

static void put_errors(struct buffer *out, const struct schema *schema, tn_value instance) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    int32_t verdict = schema_validate(schema, instance, NULL);
    int32_t status = schema_validate(schema, instance, &errors);
    assert_int_equal(status, verdict);
    assert_int_equal(status == TN_OK, errors.count == 0);
    for (size_t i = 0; i < errors.count; i++) {
        const struct schema_error *error = &errors.items[i];
        buffer_format(out, "%s%s [%s] %s", display_pointer(error->pointer), error->on_key ? " key" : "",
                      error->schema_pointer, error->message);
        if (error->suggestion) buffer_format(out, " <%s>", error->suggestion);
        buffer_char(out, '\n');
    }
    schema_errors_finish(&errors);
}

static void put_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct buffer *out = self;
    char *value = json_text(where, JSON_COMPACT), *text = json_text(annotation, JSON_COMPACT);
    buffer_format(out, "%s%s %s: %s\n", display_pointer(pointer), on_key ? " key" : "", value, text);
    mem_free(value);
    mem_free(text);
}

static void put_subschema(void *self, tn_value subschema) { put_value(self, subschema); }

static void put_kinds(struct buffer *out, int kinds) {
    for (int kind = TN_NULL; kind <= TN_OBJECT; kind++)
        if (kinds >> kind & 1) buffer_format(out, "%s ", value_kind_name(kind));
    if (out->length) out->data[--out->length] = 0;
}

static void check_section(const struct corpus_case *test, const char *name, const struct schema *schema,
                          tn_value instance) {
    struct buffer out;
    buffer_init(&out, TEXT_MAX);
    if (strcmp(name, "errors") == 0) {
        put_errors(&out, schema, instance);
    } else if (strcmp(name, "defaults") == 0) {
        tn_value filled = schema_with_defaults(schema, instance);
        put_value(&out, filled);
        value_unref(filled);
    } else if (strcmp(name, "annotations") == 0) {
        schema_each_annotation(schema, instance, "x-tenon", put_annotation, &out);
    } else if (strncmp(name, "at", 2) == 0) {
        schema_at(schema, instance, name[2] ? name + 3 : "", put_subschema, &out);
    } else if (strcmp(name, "kinds") == 0) {
        put_kinds(&out, schema_kinds(schema));
    } else {
        fail_msg("%s:%zu: no section `%s` is known", test->path, test->line, name);
    }
    if (getenv("TENON_CORPUS_PRINT"))
        printf("=== %s\n--- %s\n%s\n", test->name, name, buffer_cstr(&out));
    else
        corpus_expect(test, name, buffer_cstr(&out));
    buffer_finish(&out);
}

static void check_case(const struct corpus_case *test, void *user) {
    (void)user;
    const char *instance_text = corpus_section(test, "instance");
    tn_value document = json(corpus_need(test, "schema"));
    tn_value instance = instance_text ? json(instance_text) : value_null();
    struct schema_options options = {.assert_format = true};
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    int32_t status = schema_compile(document, &options, &schema, &error);
    value_unref(document);
    if (corpus_section(test, "compile")) {
        assert_int_not_equal(status, TN_OK);
        assert_null(schema);
        if (getenv("TENON_CORPUS_PRINT"))
            printf("=== %s\n--- compile\n%s: %s\n\n", test->name, error.code, error.message);
        else {
            char text[2048];
            snprintf(text, sizeof text, "%s: %s", error.code, error.message);
            corpus_expect(test, "compile", text);
        }
    } else if (status != TN_OK) {
        fail_msg("%s:%zu: %s", test->path, test->line, error.message);
    }
    for (size_t i = 0; schema && i < test->section_count; i++) {
        const char *name = test->sections[i].name;
        if (strcmp(name, "schema") != 0 && strcmp(name, "instance") != 0) check_section(test, name, schema, instance);
    }
    error_finish(&error);
    value_unref(instance);
    schema_unref(schema);
}

static void corpus_holds(void **state) {
    (void)state;
    static const char *const files[] = {"messages", "closest", "compile", "walk", "patterns"};
    int64_t live = value_live_count();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "tests/corpus/schema/%s.txt", files[i]);
        assert_true(corpus_each(path, check_case, NULL) > 0);
    }
    assert_int_equal(value_live_count(), live);
}

/* ---- Bounds ---------------------------------------------------------------------------------------------------- */

static tn_value nested_schema(size_t levels) {
    tn_value value = value_object();
    for (size_t i = 0; i < levels; i++) value = value_set_take(value_object(), "not", value);
    return value;
}

static tn_value wide_schema(size_t count) {
    tn_value list = value_array();
    for (size_t i = 0; i < count; i++) list = value_push_take(list, value_bool(true));
    return value_set_take(value_object(), "allOf", list);
}

/* Takes the document; checks that the message names the limit, and returns the status. */
static int32_t try_compile(tn_value document, const struct schema_options *options, const char *says) {
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    int32_t status = schema_compile(document, options, &schema, &error);
    value_unref(document);
    if (status != TN_OK) {
        assert_null(schema);
        if (says == NULL || strstr(error.message, says) == NULL) fail_msg("unexpected error: %s", error.message);
        assert_string_equal(error.code, status == TN_LIMIT ? "LIMIT" : "SCHEMA");
    }
    error_finish(&error);
    schema_unref(schema);
    return status;
}

static tn_value next_document(void *self, const char *uri) {
    int *asked = self;
    (void)uri;
    return value_set_take(value_object(), "$ref", value_format("urn:%d", ++*asked));
}

static void schemas_are_bounded(void **state) {
    (void)state;
    struct schema_options ten = {.nodes = 10};
    assert_int_equal(try_compile(wide_schema(9), &ten, NULL), TN_OK);
    assert_int_equal(try_compile(wide_schema(10), &ten, "more than 10 subschemas"), TN_LIMIT);
    assert_int_equal(try_compile(wide_schema(SCHEMA_NODES_MAX - 1), NULL, NULL), TN_OK);
    assert_int_equal(try_compile(wide_schema(SCHEMA_NODES_MAX), NULL, "subschemas"), TN_LIMIT);
    assert_int_equal(try_compile(nested_schema(SCHEMA_DEPTH_MAX), NULL, NULL), TN_OK);
    assert_int_equal(try_compile(nested_schema(SCHEMA_DEPTH_MAX + 1), NULL, "deeper"), TN_LIMIT);
    int asked = 0;
    struct schema_options endless = {.resolve = next_document, .self = &asked};
    tn_value document = value_set_take(value_object(), "$ref", value_text("urn:0"));
    assert_int_equal(try_compile(document, &endless, "documents"), TN_LIMIT);
    assert_true(asked <= (int)SCHEMA_DOCUMENTS_MAX);
}

static tn_value long_text(size_t length) {
    char *text = mem_alloc(length);
    memset(text, 'a', length);
    tn_value value = value_string(text, length);
    mem_free(text);
    return value;
}

static void long_keys_are_bounded(void **state) {
    (void)state;
    tn_value inner = wide_schema(1000), name = long_text(SCHEMA_POINTERS_MAX / 1000);
    tn_value properties = value_set_key_take(value_object(), name, inner);
    assert_int_equal(try_compile(value_set_take(value_object(), "properties", properties), NULL, "JSON Pointers"),
                     TN_LIMIT);
}

/* Subschemas that share one large value: a document that is small in memory, and large tables. */
static void tables_are_bounded(void **state) {
    (void)state;
    static const char *const keywords[] = {"enum", "required"};
    for (size_t k = 0; k < sizeof keywords / sizeof *keywords; k++) {
        const size_t count = 2000;
        tn_value names = value_array(), list = value_array();
        for (size_t i = 0; i < count; i++) names = value_push_take(names, value_format("name %zu", i));
        tn_value one = value_set_take(value_object(), keywords[k], names);
        for (size_t i = 0; i <= SCHEMA_ENTRIES_MAX / count; i++) list = value_push_take(list, value_ref(one));
        value_unref(one);
        assert_int_equal(try_compile(value_set_take(value_object(), "anyOf", list), NULL, "values of `enum`"),
                         TN_LIMIT);
    }
}

static void patterns_are_bounded(void **state) {
    (void)state;
    tn_value pattern = long_text(SCHEMA_PATTERN_MAX);
    assert_int_equal(try_compile(value_set_take(value_object(), "pattern", pattern), NULL, NULL), TN_OK);
    pattern = long_text(SCHEMA_PATTERN_MAX + 1);
    assert_int_equal(try_compile(value_set_take(value_object(), "pattern", pattern), NULL, "4097 bytes"), TN_INVALID);
    assert_int_equal(try_compile(json("{\"pattern\": \"((a{1000}){1000}){1000}\"}"), NULL, "pattern"), TN_INVALID);
    struct schema *schema = compile("{\"pattern\": \"b$\"}");
    tn_value subject = long_text(SCHEMA_SUBJECT_MAX);
    assert_int_equal(schema_validate(schema, subject, NULL), TN_INVALID);
    value_unref(subject);
    subject = long_text(SCHEMA_SUBJECT_MAX + 1);
    assert_int_equal(schema_validate(schema, subject, NULL), TN_LIMIT);
    value_unref(subject);
    schema_unref(schema);
}

/* Two branches that each refer twice to the schema: 2^n applications. */
static void work_is_bounded(void **state) {
    (void)state;
    struct schema_options options = {.work = 1000};
    struct schema *schema =
        compile_with("{\"$defs\": {\"a\": {\"anyOf\": [{\"$ref\": \"#/$defs/b\"}, {\"$ref\": "
                     "\"#/$defs/b\"}]}, \"b\": {\"anyOf\": [{\"$ref\": \"#/$defs/c\"}, {\"$ref\": "
                     "\"#/$defs/c\"}]}, \"c\": {\"items\": {\"$ref\": \"#/$defs/a\"}, \"contains\": "
                     "{\"const\": 1}}}, \"$ref\": \"#/$defs/a\"}",
                     &options);
    tn_value instance = json("[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]");
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    assert_int_equal(schema_validate(schema, instance, NULL), TN_LIMIT);
    assert_int_equal(schema_validate(schema, instance, &errors), TN_LIMIT);
    assert_true(errors.count > 0);
    const struct schema_error *last = &errors.items[errors.count - 1];
    assert_string_equal(last->keyword, "");
    assert_non_null(strstr(last->message, "more work than is allowed"));
    schema_errors_finish(&errors);
    value_unref(instance);
    schema_unref(schema);
}

static void errors_are_bounded(void **state) {
    (void)state;
    struct schema *schema = compile("{\"items\": {\"type\": \"string\"}}");
    tn_value instance = value_array();
    for (size_t i = 0; i < SCHEMA_ERRORS_MAX + 1; i++) instance = value_push_take(instance, value_int((int64_t)i));
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    assert_int_equal(schema_validate(schema, instance, &errors), TN_INVALID);
    assert_int_equal(errors.count, SCHEMA_ERRORS_MAX);
    assert_true(errors.more);
    schema_errors_finish(&errors);
    assert_int_equal(errors.count, 0);
    errors.limit = 2;
    tn_value three = value_slice(instance, 0, 3), two = value_slice(instance, 0, 2);
    assert_int_equal(schema_validate(schema, two, &errors), TN_INVALID);
    assert_false(errors.more);
    assert_int_equal(schema_validate(schema, three, &errors), TN_INVALID); /* appended without room */
    assert_int_equal(errors.count, 2);
    assert_true(errors.more);
    schema_errors_finish(&errors);
    value_unref(two);
    value_unref(three);
    value_unref(instance);
    schema_unref(schema);
}

/* A value with a million mistakes must not cost a million messages: nothing is checked any more. */
static void validation_ends_when_no_error_can_be_reported(void **state) {
    (void)state;
    static const char *const schemas[] = {
        "{\"additionalProperties\": {\"type\": \"string\"}}",
        "{\"additionalProperties\": {\"anyOf\": [{\"const\": 1}, {\"const\": 2}]}}",
        "{\"additionalProperties\": {\"$ref\": \"#/$defs/a\"}, \"$defs\": {\"a\": false}}"};
    struct schema_options options = {.work = 2000};
    tn_value instance = value_object_reserve(5000);
    for (int i = 0; i < 5000; i++) {
        char name[12];
        (void)snprintf(name, sizeof name, "k%d", i);
        instance = value_set_take(instance, name, value_int(0));
    }
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        struct schema *schema = compile_with(schemas[i], &options);
        struct schema_errors errors = SCHEMA_ERRORS_INIT;
        assert_int_equal(schema_validate(schema, instance, &errors), TN_INVALID); /* all of it would be TN_LIMIT */
        assert_int_equal(errors.count, SCHEMA_ERRORS_MAX);
        assert_true(errors.more);
        schema_errors_finish(&errors);
        schema_unref(schema);
    }
    value_unref(instance);
}

/* The error about a reached limit has room even if the list is full. */
static void the_last_error_has_room(void **state) {
    (void)state;
    struct schema *schema =
        compile("{\"properties\": {\"a\": {\"type\": \"string\"}, \"b\": {\"$ref\": \"#/$defs/loop\"}}, "
                "\"$defs\": {\"loop\": {\"$ref\": \"#/$defs/loop\"}}}");
    tn_value instance = json("{\"a\": 1, \"b\": 2}");
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    errors.limit = 1;
    assert_int_equal(schema_validate(schema, instance, &errors), TN_LIMIT);
    assert_int_equal(errors.count, 2);
    assert_string_equal(errors.items[1].pointer, "/b");
    assert_non_null(strstr(errors.items[1].message, "1024"));
    schema_errors_finish(&errors);
    value_unref(instance);
    schema_unref(schema);
}

static void messages_are_bounded(void **state) {
    (void)state;
    struct schema *schema = compile("{\"required\": [\"a\"], \"additionalProperties\": false, \"maxProperties\": 0}");
    tn_value instance = value_set_key_take(value_object(), long_text(100000), value_null());
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    assert_int_equal(schema_validate(schema, instance, &errors), TN_INVALID);
    assert_int_equal(errors.count, 3);
    for (size_t i = 0; i < errors.count; i++) assert_true(strlen(errors.items[i].message) <= SCHEMA_MESSAGE_MAX);
    schema_errors_finish(&errors);
    value_unref(instance);
    schema_unref(schema);
}

static size_t nesting(tn_value value, const char *key) {
    size_t levels = 0;
    while ((value = value_get(value, key))) levels++;
    return levels;
}

static void defaults_are_bounded(void **state) {
    (void)state;
    struct schema *one = compile("{\"properties\": {\"a\": {\"default\": {}, \"$ref\": \"#\"}}}");
    tn_value filled = schema_with_defaults(one, value_object());
    assert_in_range(nesting(filled, "a"), 2, SCHEMA_DEFAULTS_DEPTH_MAX);
    value_unref(filled);
    struct schema *two = compile("{\"properties\": {\"a\": {\"default\": {}, \"$ref\": \"#\"}, "
                                 "\"b\": {\"default\": {}, \"$ref\": \"#\"}}}");
    int64_t live = value_live_count();
    filled = schema_with_defaults(two, value_object());
    assert_in_range(value_live_count() - live, 2, SCHEMA_DEFAULTS_MAX + 10);
    value_unref(filled);
    schema_unref(one);
    schema_unref(two);
}

/* ---- The rest of the interface ---------------------------------------------------------------------------------- */

static tn_value resolve_document(void *self, const char *uri) {
    (void)self;
    if (strcmp(uri, "http://example.com/schemas/name.json") == 0)
        return json("{\"type\": \"string\", \"minLength\": 1}");
    return NULL;
}

static void other_documents_come_through_resolve(void **state) {
    (void)state;
    struct schema_options options = {.resolve = resolve_document, .uri = "http://example.com/schemas/main.json"};
    struct schema *schema = compile_with("{\"properties\": {\"name\": {\"$ref\": \"name.json\"}}}", &options);
    tn_value instance = json("{\"name\": \"\"}");
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    assert_int_equal(schema_validate(schema, instance, &errors), TN_INVALID);
    assert_string_equal(errors.items[0].schema_pointer, "http://example.com/schemas/name.json#/minLength");
    schema_errors_finish(&errors);
    value_unref(instance);
    schema_unref(schema);
    tn_value document = json("{\"$ref\": \"other.json\"}");
    assert_int_equal(try_compile(document, &options, "cannot be found"), TN_INVALID);
}

static void old_drafts_are_read(void **state) {
    (void)state;
    struct schema *schema = compile("{\"$schema\": \"http://json-schema.org/draft-07/schema#\", \"items\": [{\"type\": "
                                    "\"string\"}], \"additionalItems\": {\"type\": \"integer\"}, \"definitions\": {}}");
    tn_value good = json("[\"a\", 1, 2]"), bad = json("[\"a\", \"b\"]");
    assert_int_equal(schema_validate(schema, good, NULL), TN_OK);
    assert_int_equal(schema_validate(schema, bad, NULL), TN_INVALID);
    value_unref(good);
    value_unref(bad);
    schema_unref(schema);
}

static void references_are_counted(void **state) {
    (void)state;
    tn_value document = json("{\"type\": \"bytes\"}"), bytes = value_bytes("\0\1", 2);
    struct schema *schema = NULL;
    assert_int_equal(schema_compile(document, NULL, &schema, NULL), TN_OK);
    assert_ptr_equal(schema_ref(schema), schema);
    schema_unref(schema);
    assert_ptr_equal(schema_document(schema), document);
    value_unref(document);
    assert_int_equal(schema_validate(schema, bytes, NULL), TN_OK);
    assert_int_equal(schema_kinds(schema), 1 << TN_BYTES);
    tn_value filled = schema_with_defaults(schema, bytes);
    assert_ptr_equal(filled, bytes);
    value_unref(filled);
    value_unref(bytes);
    schema_unref(schema);
    schema_unref(NULL);
    assert_int_equal(schema_compile(value_int(3), NULL, &schema, NULL), TN_INVALID);
    assert_true(schema_format_known("uuid"));
    assert_false(schema_format_known("uri-template"));
}

/* ---- Allocations ------------------------------------------------------------------------------------------------ */

#if !SANITIZED && defined(__GLIBC__)
#define COUNTED 1
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
static size_t allocations;
void *malloc(size_t size) { return allocations++, __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return allocations++, __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return allocations++, __libc_realloc(memory, size); }
#else
#define COUNTED 0
static size_t allocations;
#endif

static void validation_does_not_allocate(void **state) {
    (void)state;
    if (!COUNTED) skip();
    struct schema *schema = compile(
        "{\"type\": \"object\", \"required\": [\"id\"], \"properties\": {\"id\": {\"type\": \"string\", "
        "\"pattern\": \"^[a-z]+$\", \"minLength\": 1}, \"n\": {\"anyOf\": [{\"type\": \"integer\", \"minimum\": "
        "0}, {\"enum\": [\"all\", null]}]}, \"list\": {\"uniqueItems\": true, \"contains\": {\"const\": 3}}}, "
        "\"allOf\": [{\"$ref\": \"#/$defs/x\"}], \"unevaluatedProperties\": false, \"$defs\": {\"x\": "
        "{\"properties\": {\"price\": {\"multipleOf\": 0.01}}}}}");
    tn_value good = json("{\"id\": \"abc\", \"n\": null, \"list\": [1, 2, 3], \"price\": 19.99}");
    tn_value bad = json("{\"id\": \"abc\", \"other\": 1}");
    assert_int_equal(schema_validate(schema, good, NULL), TN_OK); /* creates the pattern's scratch memory */
    size_t before = allocations;
    assert_true(before > 0);
    assert_int_equal(schema_validate(schema, good, NULL), TN_OK);
    assert_int_equal(schema_validate(schema, bad, NULL), TN_INVALID);
    assert_int_equal(allocations, before);
    value_unref(good);
    value_unref(bad);
    schema_unref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_holds),
        cmocka_unit_test(schemas_are_bounded),
        cmocka_unit_test(long_keys_are_bounded),
        cmocka_unit_test(tables_are_bounded),
        cmocka_unit_test(patterns_are_bounded),
        cmocka_unit_test(work_is_bounded),
        cmocka_unit_test(errors_are_bounded),
        cmocka_unit_test(validation_ends_when_no_error_can_be_reported),
        cmocka_unit_test(the_last_error_has_room),
        cmocka_unit_test(messages_are_bounded),
        cmocka_unit_test(defaults_are_bounded),
        cmocka_unit_test(other_documents_come_through_resolve),
        cmocka_unit_test(old_drafts_are_read),
        cmocka_unit_test(references_are_counted),
        cmocka_unit_test(validation_does_not_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
