/*
 * method_types_test.c - the documents and the types for clients that are generated from the method table, and the types
 * of each form of schema. tests/e2e/reference/types.sh compiles them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adl/schema/schema.h"
#include "adl/value/codes.h"
#include "adl/value/json.h"
#include "host/server/method_document.h"
#include "host/server/method_types.h"

static tn_value parse(const char *json) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(json, strlen(json), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", json, error.message);
    return value;
}

/* ---- Types of schemas ---- */

/* {"schemas": {"One": …, "T": SCHEMA}}: T is the type under test. */
static tn_value model_of(const char *schema, struct error *error) {
    tn_value schemas = value_set_take(value_object(), "One", parse("{\"type\":\"integer\"}"));
    schemas = value_set_take(schemas, "Pair",
                             parse("{\"type\":\"object\",\"required\":[\"a\"],\"additionalProperties\":false,"
                                   "\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}}}"));
    schemas = value_set_take(schemas, "Loop",
                             parse("{\"allOf\":[{\"$ref\":\"#/components/schemas/Loop\"},{\"type\":"
                                   "\"object\"}]}"));
    if (!strstr(schema, "Loop")) schemas = value_set_take(schemas, "Loop", value_bool(true));
    schemas = value_set_take(schemas, "T", parse(schema));
    tn_value file = value_set_take(value_object(), "schemas", schemas), model = types_model_of(file, error);
    value_unref(file);
    return model;
}

/* The declarations in `text` from the one of T on: `begin` is what stands before it. */
static void expect_declaration(tn_value model, enum types_language language, const char *begin, const char *expected,
                               const char *schema) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    types_write(&out, model, language);
    const char *from = strstr(buffer_cstr(&out), begin);
    const char *end =
        strstr(buffer_cstr(&out), language == TYPES_PYTHON ? "\n\n\n# The types of" : "\n\n/** The param");
    if (!from || !end) fail_msg("%s: the text lacks a part:\n%s", schema, buffer_cstr(&out));
    from += strlen(begin);
    if ((size_t)(end - from) != strlen(expected) || memcmp(from, expected, strlen(expected)) != 0)
        fail_msg("%s: expected:\n%s\nfound:\n%.*s", schema, expected, (int)(end - from), from);
    buffer_finish(&out);
}

#define OBJECT_AB "\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"integer\"}}"

static const struct {
    const char *schema, *typescript, *python;
} cases[] = {
    {"true", "export type T = unknown;", "T = _t.Any"},
    {"{\"description\":\"Any.\"}", "/** Any. */\nexport type T = unknown;", "# Any.\nT = _t.Any"},
    {"{\"type\":\"null\"}", "export type T = null;", "T = None"},
    {"{\"type\":\"boolean\",\"default\":false}", "/** Default: false. */\nexport type T = boolean;",
     "# Default: false.\nT = bool"},
    {"{\"type\":\"number\",\"minimum\":0}", "export type T = number;", "T = float"},
    {"{\"type\":\"bytes\"}", "export type T = { $bytes: string };",
     "T = _t.Union[\"_Bytes\"]\n\n\n# Bytes: their base64.\n_Bytes = _t.TypedDict(\"_Bytes\", {\"$bytes\": str})"},
    {"{\"anyOf\":[{\"type\":\"bytes\"},{\"type\":\"object\",\"required\":[\"$bytes\"],\"additionalProperties\":false,"
     "\"properties\":{\"$bytes\":{\"type\":\"string\",\"contentEncoding\":\"base64\"}}}]}",
     "export type T = { $bytes: string };",
     "T = _t.Union[\"_Bytes\"]\n\n\n# Bytes: their base64.\n_Bytes = _t.TypedDict(\"_Bytes\", {\"$bytes\": str})"},
    {"{\"type\":[\"string\",\"null\"]}", "export type T = string | null;", "T = _t.Union[str, None]"},
    {"{\"enum\":[\"a\\\"b\",1,true,null]}", "export type T = \"a\\\"b\" | 1 | true | null;",
     "T = _t.Literal[\"a\\\"b\", 1, True, None]"},
    {"{\"const\":\"x\"}", "export type T = \"x\";", "T = _t.Literal[\"x\"]"},
    {"{\"$ref\":\"#/components/schemas/One\",\"description\":\"A */ remark.\"}",
     "/** A *\\/ remark. */\nexport type T = One;", "# A */ remark.\nT = _t.Union[\"One\"]"},
    {"{\"allOf\":[{\"$ref\":\"#/components/schemas/One\"},{\"minimum\":3}]}", "export type T = One;",
     "T = _t.Union[\"One\"]"},
    /* Arrays and mappings. */
    {"{\"type\":\"array\"}", "export type T = unknown[];", "T = _t.List[_t.Any]"},
    {"{\"items\":{\"type\":[\"string\",\"integer\"]}}", "export type T = (string | number)[];",
     "T = _t.List[_t.Union[str, int]]"},
    {"{\"type\":\"object\"}", "export type T = { [key: string]: unknown };", "T = _t.Dict[str, _t.Any]"},
    {"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}",
     "export type T = { [key: string]: string };", "T = _t.Dict[str, str]"},
    {"{\"type\":\"object\",\"additionalProperties\":false,\"patternProperties\":{\"^x-\":{\"type\":\"string\"}}}",
     "export type T = { [key: string]: string };", "T = _t.Dict[str, str]"},
    {"{\"type\":\"object\",\"required\":[\"a\"]}", "export interface T {\n  a: unknown;\n  [key: string]: unknown;\n}",
     "T = _t.Dict[str, _t.Any]"},
    /* Objects. */
    {"{\"type\":\"object\",\"additionalProperties\":false}", "export type T = { [key: string]: never };",
     "class T(_t.TypedDict):\n    \"\"\"An object.\"\"\""},
    {"{\"required\":[\"b\"]," OBJECT_AB ",\"additionalProperties\":false,\"description\":\"Say \\\"so\\\".\"}",
     "/** Say \"so\". */\nexport interface T {\n  a?: string;\n  b: number;\n}",
     "class _TRequired(_t.TypedDict):\n    b: int\n\n\nclass T(_TRequired, total=False):\n    \"\"\"Say "
     "\\\"so\\\".\"\"\"\n\n    a: str"},
    {"{\"properties\":{\"in\":{},\"a-b\":{\"type\":\"null\"}},\"required\":[\"in\"],\"additionalProperties\":false}",
     "export interface T {\n  in: unknown;\n  \"a-b\"?: null;\n}",
     "_TRequired = _t.TypedDict(\"_TRequired\", {\n    \"in\": _t.Any,\n})\n\n\n_TOptional = "
     "_t.TypedDict(\"_TOptional\","
     " {\n    \"a-b\": None,\n}, total=False)\n\n\nclass T(_TRequired, _TOptional):\n    \"\"\"An object.\"\"\""},
    {"{\"type\":\"object\",\"required\":[\"a_b\"],\"additionalProperties\":false,\"properties\":{\"a_b\":{\"type\":"
     "\"array\",\"items\":{" OBJECT_AB ",\"required\":[\"a\",\"b\"],\"additionalProperties\":false}}}}",
     "export interface T {\n  a_b: {\n    a: string;\n    b: number;\n  }[];\n}",
     "class TABItem(_t.TypedDict):\n    a: str\n    b: int\n\n\nclass T(_t.TypedDict):\n    a_b: "
     "_t.List[\"TABItem\"]"},
    /* Parts and alternatives. */
    {"{\"allOf\":[{\"$ref\":\"#/components/schemas/Pair\"},{\"required\":[\"b\"]}]}",
     "export interface T {\n  a: string;\n  b: string;\n}", "class T(_t.TypedDict):\n    a: str\n    b: str"},
    {"{\"oneOf\":[{\"type\":\"string\"},{\"$ref\":\"#/components/schemas/One\"},{\"type\":\"string\"}]}",
     "export type T = string | One;", "T = _t.Union[str, \"One\"]"},
    {"{" OBJECT_AB ",\"additionalProperties\":false,\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}",
     "export type T = {\n  a: string;\n  b?: never;\n} | {\n  a?: never;\n  b: number;\n};",
     "class TA(_t.TypedDict):\n    a: str\n\n\nclass TB(_t.TypedDict):\n    b: int\n\n\nT = _t.Union[\"TA\", \"TB\"]"},
    {"{\"anyOf\":[{\"type\":\"null\"},{\"title\":\"Some pair\"," OBJECT_AB ",\"required\":[\"a\",\"b\"],"
     "\"additionalProperties\":false}]}",
     "export type T = null | {\n  a: string;\n  b: number;\n};",
     "class TSomePair(_t.TypedDict):\n    a: str\n    b: int\n\n\nT = _t.Union[None, \"TSomePair\"]"},
    {"{\"anyOf\":[{\"type\":\"null\"},{\"items\":{" OBJECT_AB ",\"additionalProperties\":false}}]}",
     "export type T = null | {\n  a?: string;\n  b?: number;\n}[];",
     "class TItem(_t.TypedDict, total=False):\n    a: str\n    b: int\n\n\nT = _t.Union[None, _t.List[\"TItem\"]]"},
    {"{" OBJECT_AB ",\"additionalProperties\":false,\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}",
     "export type T = {\n  a: string;\n  b?: number;\n} | {\n  a?: string;\n  b: number;\n};",
     "class T(_t.TypedDict, total=False):\n    a: str\n    b: int"},
    {"{" OBJECT_AB ",\"additionalProperties\":false,\"anyOf\":[{\"properties\":{\"a\":{\"const\":\"x\"}},\"required\":["
     "\"a\"]},{\"properties\":{\"b\":{\"type\":\"integer\"}},\"required\":[\"b\"]}]}",
     "export type T = {\n  a: \"x\";\n  b?: number;\n} | {\n  a?: string;\n  b: number;\n};",
     "class _T1Required(_t.TypedDict):\n    a: _t.Literal[\"x\"]\n\n\nclass T1(_T1Required, total=False):\n    b: "
     "int\n\n\nclass _T2Required(_t.TypedDict):\n    b: int\n\n\nclass T2(_T2Required, total=False):\n    a: "
     "str\n\n\nT = _t.Union[\"T1\", \"T2\"]"},
};

static void each_form_has_a_type(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = ERROR_INIT;
        tn_value model = model_of(cases[i].schema, &error);
        if (!model) fail_msg("%s: %s", cases[i].schema, error.message);
        expect_declaration(model, TYPES_TYPESCRIPT, "export type Loop = unknown;\n\n", cases[i].typescript,
                           cases[i].schema);
        expect_declaration(model, TYPES_PYTHON, "Loop = _t.Any\n\n\n", cases[i].python, cases[i].schema);
        error_finish(&error);
        value_unref(model);
    }
}

/* Nothing that selects a type is dropped without a message. */
static void what_has_no_type_is_refused(void **state) {
    static const char *const refused[][2] = {
        {"{\"not\":{\"type\":\"string\"}}", "the schema of `T` has the keyword `not`"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"array\",\"prefixItems\":[]}}", "the keyword `prefixItems`"},
        {"{\"allOf\":[{\"type\":\"object\"},{\"if\":true}]}", "the keyword `if`"},
        {"{\"type\":\"text\"}", "an unknown `type`"},
        {"{\"enum\":[1.5]}", "an `enum` or `const` with another value"},
        {"{\"$ref\":\"#/components/schemas/Two\"}", "an unknown reference"},
        {"{\"$ref\":\"#/$defs/One\"}", "an unknown reference"},
        {"{\"allOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", "parts with a different `type`"},
        {"{\"description\":\"Loop\"}", "`Loop` has parts that contain themselves"},
        {"3", "a part that is not a schema"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct error error = ERROR_INIT;
        assert_null(model_of(refused[i][0], &error));
        if (!strstr(error.message, refused[i][1])) fail_msg("%s: %s", refused[i][0], error.message);
        error_finish(&error);
    }
}

static void names_are_unique(void **state) {
    static const char *const files[] = {
        "{\"schemas\":{\"AbParams\":{}},\"methods\":{\"a/b\":{}}}",
        "{\"schemas\":{\"AbParams\":{}},\"methods\":{\"ab\":{\"params\":{},\"result\":{}}}}",
        "{\"schemas\":{\"Events\":{}}}",
    };
    static const char *const messages[] = {"the parameters of `a/b`", "are called `AbParams`", "are called `Events`"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct error error = ERROR_INIT;
        tn_value file = parse(files[i]);
        assert_null(types_model_of(file, &error));
        if (!strstr(error.message, messages[i])) fail_msg("%s: %s", files[i], error.message);
        value_unref(file);
        error_finish(&error);
    }
}

/* ---- The table ---- */

static void expect_in(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("the text lacks: %s", part);
}

static void the_table_has_types(void **state) {
    struct error error = ERROR_INIT;
    struct buffer out;
    (void)state;
    tn_value model = types_model(&error);
    if (!model) fail_msg("%s", error.message);
    buffer_init(&out, SIZE_MAX);
    types_write(&out, model, TYPES_TYPESCRIPT);
    expect_in(buffer_cstr(&out), "\n  \"run/get\": { params: RunGetParams; result: Run };\n");
    expect_in(buffer_cstr(&out), "\n  \"run/ended\": RunEndedEvent;\n");
    buffer_clear(&out);
    types_write(&out, model, TYPES_PYTHON);
    expect_in(buffer_cstr(&out), "params: RunListParams = ...) -> RunListResult:\n");
    expect_in(buffer_cstr(&out), "\n    \"run/get\": (RunGetParams, Run),\n");
    buffer_finish(&out);
    value_unref(model);
}

static void expect_references(tn_value document, tn_value value, const char *place) {
    for (size_t i = 0; i < value_count(value); i++) {
        bool object = value_is(value, TN_OBJECT);
        tn_value member = object ? value_value_at(value, i) : value_at(value, i);
        if (object && value_text_is(value_key_at(value, i), "$ref")) {
            const char *reference = value_chars(member, NULL);
            if (strncmp(reference, place, strlen(place)) != 0 || !value_get(document, reference + strlen(place)))
                fail_msg("%s does not point into %s", reference, place);
        } else {
            expect_references(document, member, place);
        }
    }
}

/* Each definition compiles, and the examples have its form. */
static void the_schemas_are_one_document(void **state) {
    tn_value document = method_json_schemas(), definitions = value_get(document, "$defs");
    const struct method *method;
    (void)state;
    expect_references(definitions, document, "#/$defs/");
    for (size_t i = 0; (method = method_at(i)) != NULL; i++) {
        static const char *const parts[] = {"params", "result"};
        for (size_t part = 0; part < 2; part++) {
            struct error error = ERROR_INIT;
            struct schema *schema = NULL;
            tn_value name = value_format("#/$defs/%s_%s", method->name, parts[part]);
            char *at = strchr(strstr(value_chars(name, NULL), "defs/") + strlen("defs/"), '/');
            if (at) *at = '_';
            tn_value whole = value_set_take(value_ref(document), "$ref", value_ref(name));
            if (schema_compile(whole, NULL, &schema, &error) != TN_OK) fail_msg("%s", error.message);
            tn_value example = value_get(value_get(method->row, "example"), parts[part]);
            if (schema_validate(schema, example, NULL) != TN_OK) fail_msg("%s", value_chars(name, NULL));
            schema_unref(schema);
            value_unref(whole);
            value_unref(name);
        }
    }
    assert_non_null(value_get(definitions, "run_ended_event"));
    value_unref(document);
}

static void bytes_are_an_object_in_json(void **state) {
    tn_value schema = parse("{\"type\":\"object\",\"properties\":{\"type\":{\"type\":\"bytes\",\"description\":\"D\"},"
                            "\"one\":{\"$ref\":\"#/components/schemas/One\"}}}");
    tn_value expected = parse("{\"type\":\"object\",\"properties\":{\"type\":{\"type\":\"object\",\"required\":["
                              "\"$bytes\"],\"properties\":{\"$bytes\":{\"type\":\"string\",\"contentEncoding\":"
                              "\"base64\"}},\"additionalProperties\":false,\"description\":\"D\"},"
                              "\"one\":{\"$ref\":\"#/$defs/One\"}}}");
    (void)state;
    tn_value found = method_schema_for(schema, "#/$defs/");
    assert_true(value_identical(found, expected));
    value_unref(found);
    value_unref(expected);
    value_unref(schema);
}

/* Every method is in the OpenRPC document, with codes that the reference explains. */
static void openrpc_has_every_method(void **state) {
    tn_value document = method_openrpc(), methods = value_get(document, "methods");
    const struct method *method;
    size_t count = 0;
    (void)state;
    expect_references(value_get(value_get(document, "components"), "schemas"), document, "#/components/schemas/");
    for (; (method = method_at(count)) != NULL; count++) {
        tn_value one = value_at(methods, count), errors = value_get(one, "errors");
        assert_true(value_text_is(value_get(one, "name"), method->name));
        assert_int_equal(value_count(value_get(one, "params")),
                         value_count(value_get(value_get(method->row, "params"), "properties")));
        for (size_t i = 0; i < value_count(errors); i++) {
            tn_value error = value_at(errors, i);
            const char *code = value_chars(value_get(value_get(error, "data"), "code"), NULL);
            if (!error_code_find(code)) fail_msg("%s: the table of codes lacks %s", method->name, code);
            assert_int_equal(value_to_int(value_get(error, "code")), METHOD_JSON_RPC_ERROR);
        }
    }
    assert_int_equal(value_count(methods), count);
    assert_int_equal(value_count(value_get(document, "x-tenon-events")), value_count(method_events()));
    value_unref(document);
}

/* A code is listed once, even if a row repeats those of every method. */
static void codes_are_listed_once(void **state) {
    tn_value codes = method_error_codes(method_find("event/grant"));
    tn_value expected = parse("[\"INVALID_INPUT\",\"PERMISSION_DENIED\",\"NOT_FOUND\"]");
    (void)state;
    assert_true(value_equal(codes, expected));
    value_unref(codes);
    value_unref(expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_has_a_type),
        cmocka_unit_test(what_has_no_type_is_refused),
        cmocka_unit_test(names_are_unique),
        cmocka_unit_test(the_table_has_types),
        cmocka_unit_test(the_schemas_are_one_document),
        cmocka_unit_test(bytes_are_an_object_in_json),
        cmocka_unit_test(openrpc_has_every_method),
        cmocka_unit_test(codes_are_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
