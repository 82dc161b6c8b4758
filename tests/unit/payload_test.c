/*
 * payload_test.c - the schemas of payloads: they are valid, documented, and their examples are; what they accept and
 * refuse.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/conformance/payload.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static tn_value parse(const char *text) {
    tn_value value = NULL;
    struct error error = ERROR_INIT;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

#define URI "https://tenon.dev/schema/component/1/"

static tn_value resolve(void *self, const char *uri) {
    char name[32];
    (void)self;
    if (strncmp(uri, URI, strlen(URI)) != 0) return NULL;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(uri + strlen(URI), "."), uri + strlen(URI));
    return payload_schema(name);
}

static struct schema *compile_reference(const char *uri) {
    const struct schema_options options = {.resolve = resolve};
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    tn_value document = value_set_take(value_object(), "$ref", value_text(uri));
    if (schema_compile(document, &options, &schema, &error) != TN_OK) fail_msg("%s: %s", uri, error.message);
    value_unref(document);
    return schema;
}

static void expect_valid(const struct schema *schema, tn_value value, const char *where) {
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    (void)schema_validate(schema, value, &errors);
    if (errors.count) fail_msg("%s: at `%s`: %s", where, errors.items[0].pointer, errors.items[0].message);
    schema_errors_finish(&errors);
}

static void test_schemas_are_valid(void **state) {
    struct schema *meta = compile_reference("https://json-schema.org/draft/2020-12/schema");
    const char *name;
    (void)state;
    for (size_t i = 0; (name = payload_name(i)) != NULL; i++) {
        char uri[128];
        tn_value schema = payload_schema(name);
        assert_non_null(schema);
        (void)snprintf(uri, sizeof uri, URI "%s.schema.json", name);
        assert_string_equal(value_chars(value_get(schema, "$id"), NULL), uri);
        assert_non_null(value_get(schema, "title"));
        assert_non_null(value_get(schema, "description"));
        expect_valid(meta, schema, name);
        schema_unref(compile_reference(uri)); /* all references lead to something */
        value_unref(schema);
    }
    schema_unref(meta);
    assert_null(payload_schema("model.schema.json"));
    assert_string_equal(payload_names(), "node|model|message|tool|runner|reducer|context|error|event");
}

/* The examples of a subschema are valid. `at` is its URI. Returns the number of examples. */
static size_t check_examples(tn_value schema, const char *at) {
    tn_value examples = value_get(schema, "examples");
    struct schema *compiled = value_count(examples) ? compile_reference(at) : NULL;
    for (size_t i = 0; i < value_count(examples); i++) expect_valid(compiled, value_at(examples, i), at);
    schema_unref(compiled);
    return value_count(examples);
}

static void check_documented(tn_value property, const char *at) {
    if (value_get(property, "$ref")) return; /* documented there */
    if (!value_get(property, "description")) fail_msg("%s has no description", at);
    if (!value_count(value_get(property, "examples"))) fail_msg("%s has no example", at);
}

/* Visits every object in a schema. */
static size_t walk(tn_value node, const char *at, bool properties) {
    size_t count = value_is(node, TN_OBJECT) && !properties ? check_examples(node, at) : 0;
    for (size_t i = 0; i < value_count(node); i++) {
        const char *key = value_is(node, TN_OBJECT) ? value_chars(value_key_at(node, i), NULL) : NULL;
        tn_value child = key ? value_value_at(node, i) : value_at(node, i);
        char place[512];
        if (key && !properties && (strcmp(key, "examples") == 0 || strcmp(key, "required") == 0)) continue;
        if (!value_is(child, TN_OBJECT) && !value_is(child, TN_ARRAY)) continue;
        if (key)
            (void)snprintf(place, sizeof place, "%s/%s", at, key);
        else
            (void)snprintf(place, sizeof place, "%s/%zu", at, i);
        bool names = key && !properties && (strcmp(key, "properties") == 0 || strcmp(key, "$defs") == 0);
        /* In an `if` a property is a condition. */
        if (properties && strstr(at, "/if/") == NULL && strstr(at, "$defs") != at + strlen(at) - 5)
            check_documented(child, place);
        count += walk(child, place, names);
    }
    return count;
}

static void test_properties_are_documented_and_examples_valid(void **state) {
    const char *name;
    (void)state;
    for (size_t i = 0; (name = payload_name(i)) != NULL; i++) {
        char uri[128];
        tn_value schema = payload_schema(name);
        (void)snprintf(uri, sizeof uri, URI "%s.schema.json#", name);
        size_t count = walk(schema, uri, false);
        if (count < 3) fail_msg("%s has only %zu examples", name, count);
        value_unref(schema);
    }
}

static void expect_difference(const char *shape, const char *json, const char *expected) {
    tn_value value = json ? parse(json) : NULL;
    char *found = payload_check(shape, value);
    if (!expected && found) fail_msg("%s %s: %s", shape, json, found);
    if (expected && (!found || strstr(found, expected) != found))
        fail_msg("%s %s: found \"%s\", expected \"%s\"", shape, json ? json : "nothing", found ? found : "", expected);
    mem_free(found);
    value_unref(value);
}

#define TASK(more)                                                                                                     \
    "{\"task_id\": \"t\", \"task_type\": \"work\", \"payload\": {}, \"state\": \"running\", \"artifact_refs\": [], "   \
    "\"created_at\": \"2026-01-01T00:00:00Z\", \"updated_at\": \"2026-01-01T00:00:00Z\", \"claimed_by\": \"w\", "      \
    "\"claim_expires_at\": \"2026-01-01T00:01:00Z\", \"error\": null, \"attempts\": 1" more "}"
#define USAGE "\"usage\": {\"input_tokens\": 1, \"output_tokens\": 2, \"total_tokens\": 3}"

static void test_shapes(void **state) {
    static const struct {
        const char *shape, *json, *expected;
    } rows[] = {
        {"node#output", NULL, NULL},
        {"node#output", "{\"writes\": {\"a\": 1}, \"goto\": [\"b\"], \"send\": [{\"to\": \"c\", \"new\": 1}]}", NULL},
        {"node#output", "[]", "found an empty array, expected an object or null"},
        {"node#output", "{\"write\": {}}", "at `/write`: "},
        {"node#output", "{\"goto\": 7}", "at `/goto`: found the number 7, expected a string or an array"},
        {"node#output", "{\"send\": [{\"input\": 1}]}", "at `/send/0`: missing property `to`"},
        {"node#chunk", "{\"messages\": 1, \"other\": 2}", NULL},
        {"node#chunk", "{\"messages\": 1}", "at `/messages`: found the number 1, expected an object"},
        {"model#output",
         "{\"message\": {\"type\": \"ai\", \"content\": \"\"}, \"finish_reason\": \"stop\", \"new\": 1}", NULL},
        {"model#output", "{\"embeddings\": [[0.5]], " USAGE "}", NULL},
        {"model#output", NULL, "no value is the same as null: found null, expected an object"},
        {"model#output", "{\"message\": {\"type\": \"user\", \"content\": \"\"}, \"finish_reason\": \"stop\"}",
         "at `/message/type`: "},
        {"model#output", "{\"message\": {\"type\": \"ai\", \"content\": \"\"}, \"finish_reason\": \"done\"}",
         "at `/finish_reason`: "},
        {"model#output", "{\"message\": {\"type\": \"ai\", \"content\": \"\"}}", "missing property `finish_reason`"},
        {"model#delta", "{\"content\": \"a\"}", NULL},
        {"model#delta", "{\"done\": {\"finish_reason\": \"stop\", " USAGE "}}", NULL},
        {"model#delta", "{\"content\": 1}", "at `/content`: found the number 1, expected a string"},
        {"model#delta", "{\"text\": \"a\"}", "none of the 6 alternatives of `anyOf` holds: missing property `content`"},
        {"model#chunk", "{\"tool_call_delta\": {\"name\": \"read\"}}",
         "at `/tool_call_delta`: missing property `index`"},
        {"message", "{\"type\": \"user\", \"content\": [{\"type\": \"image\", \"data\": \"aGk=\"}]}", NULL},
        {"message", "{\"type\": \"user\", \"content\": [{\"type\": \"image\"}]}", "at `/content/0`: "},
        {"message", "{\"type\": \"user\", \"content\": [{\"type\": \"new\"}]}", NULL},
        {"message", "{\"type\": \"tool\", \"content\": \"\"}", "missing property `tool_call_id`"},
        {"message", "{\"type\": \"human\", \"content\": \"\"}", "at `/type`: "},
        {"message", "{\"type\": \"remove\"}", "missing property `id`"},
        {"tool#output", "7", NULL},
        {"tool#chunk", "{\"messages\": 1}", "at `/messages`: "},
        {"runner#input", "{\"task\": " TASK(", \"new\": 1") ", \"runner_id\": \"w\", \"options\": {}}", NULL},
        {"runner#input", "{\"task\": " TASK(", \"not_before\": null, \"waiting\": false, \"user_output\": null") "}",
         NULL},
        {"runner#input", "{\"task\": " TASK(", \"waiting\": 1") "}", "at `/task/waiting`: found the number 1, "},
        {"runner#input", "{\"task\": {\"task_id\": \"t\"}}", "at `/task`: missing property `task_type`"},
        {"runner#input", "{\"task\": []}", "at `/task`: found an empty array, expected an object"},
        {"runner#input", "{\"task\": " TASK("") ", \"options\": 1}",
         "at `/options`: found the number 1, expected an object"},
        {"runner#input", "{\"options\": {}}", "missing property `task`"},
        {"runner#output", "{\"user_output\": null, \"task_state\": \"running\", \"new\": 1}", NULL},
        {"runner#output", "{\"task_state\": \"queued\"}", "at `/task_state`: "},
        {"runner#output", "{\"user_output\": 1, \"task_state\": \"done\"}", "at `/user_output`: "},
        {"runner#output", "{\"user_output\": \"a\"}", "missing property `task_state`"},
        {"reducer#input", "{\"current\": 1}", "missing property `writes`"},
        {"reducer#chunk", "1", ""},
        {"context", "{\"task_id\": \"a.0\", \"now\": 1, \"new\": 1}", NULL},
        {"context", "{\"task_id\": \"a b\", \"now\": 1}", "at `/task_id`: "},
        {"error", "{\"code\": \"X_1\", \"message\": \"m\", \"new\": 1}", NULL},
        {"error", "{\"code\": \"x\", \"message\": \"m\"}", "at `/code`: "},
        {"error", "{\"code\": \"X\", \"message\": \"\"}", "at `/message`: "},
        {"error", NULL, "no value is the same as null: found null, expected an object"},
        {"event", "{\"type\": \"custom\", \"step\": 1, \"node\": \"a\", \"data\": null}", NULL},
        {"event", "{\"type\": \"custom\", \"data\": null}", NULL},
        {"event", "{\"type\": \"custom\", \"step\": 1, \"node\": \"a\"}", "missing property `data`"},
        {"event", "{\"type\": \"updates\", \"step\": 1, \"writes\": {}}", "missing property `node`"},
        {"event",
         "{\"type\": \"tasks\", \"step\": 1, \"node\": \"a\", \"event\": \"began\", \"task_id\": \"t\", "
         "\"attempt\": 1}",
         "at `/event`: "},
        {"event", "{\"type\": \"more\"}", "at `/type`: "},
        {"event", "{\"type\": \"result\", \"line\": 1, \"output\": 7}", NULL},
        {"event", "{\"type\": \"result\", \"output\": 7}", "missing property `status`"},
        {"no_such_shape", "1", NULL},
        {"node#no_such_anchor", "1", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_difference(rows[i].shape, rows[i].json, rows[i].expected);
}

/* Bytes are a kind of value that JSON does not have. */
static void test_bytes(void **state) {
    (void)state;
    tn_value part = value_set_take(value_object(), "type", value_text("image"));
    part = value_set_take(part, "data", value_bytes("\xff", 1));
    tn_value message = value_set_take(value_object(), "type", value_text("user"));
    message = value_set_take(message, "content", value_push_take(value_array(), part));
    char *found = payload_check("message", message);
    if (found) fail_msg("%s", found);
    value_unref(message);
}

/* ---- What the program prints ---- */

/* Every line of the command's output is an event of a valid shape. `types`: those that must occur. */
static void expect_events(const char *arguments, const char *const *types) {
    char command[1024], line[65536], seen[1024] = "";
    (void)snprintf(command, sizeof command, "%s %s --no-config 2>/dev/null", TENON_PROGRAM_FILE, arguments);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    while (fgets(line, sizeof line, output)) {
        tn_value event = parse(line);
        char *difference = payload_check("event", event);
        if (difference) fail_msg("%s: %s: %s", command, difference, line);
        size_t length = strlen(seen);
        (void)snprintf(seen + length, sizeof seen - length, "%s ", value_chars(value_get(event, "type"), NULL));
        value_unref(event);
    }
    (void)pclose(output);
    for (; *types; types++)
        if (!strstr(seen, *types)) fail_msg("%s: no event of type %s: %s", command, *types, seen);
}

static void write_document(const char *path, const char *nodes) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "version: '1.0'\nagent: {name: test}\nmodels: {default: {provider: scripted, replies: [Hello]}}\n"
                  "channels: [{name: messages, type: reduce, reducer: messages}]\n%s",
                  nodes);
    (void)fclose(file);
}

static void test_events_of_the_program(void **state) {
    static const char *const all[] = {"values",      "updates", "messages", "custom", "tasks",
                                      "checkpoints", "debug",   "result",   NULL};
    static const char *const ends[] = {"result", NULL}, *const turns[] = {"turn", NULL};
    char folder[] = "/tmp/payload-test-XXXXXX", path[64], arguments[256];
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/test.yaml", folder);
    write_document(path, "nodes: [{id: ask, type: llm}, {id: tell, type: emit, config: {value: '7'}}]\n"
                         "edges: [{from: START, to: ask}, {from: ask, to: tell}, {from: tell, to: END}]\n");
    (void)snprintf(arguments, sizeof arguments, "run %s --input '{\"messages\": \"Hi\"}' --json --stream all", path);
    expect_events(arguments, all);
    write_document(path, "nodes: [{id: ask, type: llm, interrupt: before}]\n"
                         "edges: [{from: START, to: ask}, {from: ask, to: END}]\n");
    (void)snprintf(arguments, sizeof arguments, "run %s --json --stream debug", path);
    expect_events(arguments, ends);
    write_document(path, "nodes: [{id: no, type: fail, config: {message: no}}]\n"
                         "edges: [{from: START, to: no}, {from: no, to: END}]\n");
    expect_events(arguments, ends);
    write_document(path, "nodes: [{id: ask, type: llm}]\nedges: [{from: START, to: ask}, {from: ask, to: END}]\n");
    (void)snprintf(arguments, sizeof arguments, "chat %s --json <%s", path, path);
    expect_events(arguments, turns);
    assert_int_equal(remove(path) | remove(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schemas_are_valid),
        cmocka_unit_test(test_properties_are_documented_and_examples_valid),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_events_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
