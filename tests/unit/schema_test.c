/*
 * schema_test.c - what schemas say: messages, defaults, annotations and what applies where (tests/corpus/schema), and
 * that every bound ends what goes beyond it.
 *
 * The sections of a case: `schema` and `instance`, then any of `compile` (why it does not compile), `errors`,
 * `defaults`, `annotations` (of "x-tenon"), `at POINTER` and `kinds`. A line of `errors` is the instance's pointer, or
 * (root), "key" where the error is about the key, the schema's pointer in brackets, the message, and the suggestion.
 */
#include <stdio.h>
#include <stdlib.h>

#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "tests/unit/corpus.h"

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

static const char *shown(const char *pointer) { return *pointer ? pointer : "(root)"; }

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
        buffer_format(out, "%s%s [%s] %s", shown(error->pointer), error->on_key ? " key" : "", error->schema_pointer,
                      error->message);
        if (error->suggestion) buffer_format(out, " <%s>", error->suggestion);
        buffer_char(out, '\n');
    }
    schema_errors_finish(&errors);
}

static void put_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct buffer *out = self;
    char *value = json_text(where, JSON_COMPACT), *text = json_text(annotation, JSON_COMPACT);
    buffer_format(out, "%s%s %s: %s\n", shown(pointer), on_key ? " key" : "", value, text);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
