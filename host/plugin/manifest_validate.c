/*
 * manifest_validate.c - the strict look at a manifest: its schema, the schemas within it, and its examples.
 *
 * Made where a plugin is built and by `tenon plugin check`, not at start-up. Places are given in the author's words:
 * the component's id and the path of the field in it, not an index into a list that no file contains.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/manifest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* sdk/schema/manifest.schema.json, made into C by the build. */
extern const char manifest_schema_text[];
extern const unsigned manifest_schema_length;

tn_value manifest_schema(void) {
    tn_value schema = NULL;
    (void)json_read(manifest_schema_text, manifest_schema_length, NULL, &schema, NULL);
    return schema;
}

struct validation {
    const char *file;
    tn_value manifest;
    void (*report)(void *user, const char *message);
    void *user;
    size_t count;
};

/* `where` is "component `x` (node)" or "plugin"; `pointer` a JSON Pointer within it. */
static void say(struct validation *validation, const char *where, const char *pointer, const char *message) {
    if (validation->count++ >= MANIFEST_PROBLEMS_MAX) return;
    struct buffer text;
    buffer_init(&text, ERROR_MESSAGE_MAX);
    buffer_format(&text, "%s: manifest: %s: ", validation->file, where);
    if (*pointer == '/') {
        buffer_char(&text, '`');
        for (const char *at = pointer + 1; *at; at++) {
            if (*at == '~' && (at[1] == '0' || at[1] == '1'))
                buffer_char(&text, *++at == '0' ? '~' : '/');
            else
                buffer_char(&text, *at == '/' ? '.' : *at);
        }
        buffer_text(&text, "`: ");
    }
    buffer_text(&text, message);
    validation->report(validation->user, buffer_cstr(&text));
    buffer_finish(&text);
}

static tn_value component_name(tn_value component) {
    return value_format("component `%s` (%s)", manifest_text(component, "id"), manifest_text(component, "kind"));
}

/* Splits "/components/3/config/type" into the component and "/config/type". */
static void say_at(struct validation *validation, const char *pointer, const char *message) {
    static const char components[] = "/components/", plugin[] = "/plugin";
    if (strncmp(pointer, components, sizeof components - 1) == 0) {
        char *end;
        unsigned long index = strtoul(pointer + sizeof components - 1, &end, 10);
        tn_value component = value_at(manifest_components(validation->manifest), index);
        tn_value where = component_name(component);
        say(validation, value_chars(where, NULL), end, message);
        value_unref(where);
    } else if (strncmp(pointer, plugin, sizeof plugin - 1) == 0 &&
               (pointer[sizeof plugin - 1] == '/' || !pointer[sizeof plugin - 1])) {
        say(validation, "plugin", pointer + sizeof plugin - 1, message);
    } else {
        say(validation, "top level", pointer, message);
    }
}

static void check_whole(struct validation *validation) {
    tn_value document = manifest_schema();
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    if (schema_compile(document, NULL, &schema, &error) != TN_OK) {
        say(validation, "the schema of manifests", "", error.message); /* ours is broken: a test would have said so */
    } else {
        struct schema_errors errors = SCHEMA_ERRORS_INIT;
        (void)schema_validate(schema, validation->manifest, &errors);
        for (size_t i = 0; i < errors.count; i++) say_at(validation, errors.items[i].pointer, errors.items[i].message);
        schema_errors_finish(&errors);
    }
    error_finish(&error);
    schema_unref(schema);
    value_unref(document);
}

/* Compiles object[member]; NULL where there is none or it is broken, which is then said. */
static struct schema *compiled(struct validation *validation, const char *where, tn_value object, const char *member) {
    tn_value document = value_get(object, member);
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    char pointer[64];
    if (!value_is(document, TN_OBJECT)) return NULL;
    snprintf(pointer, sizeof pointer, "/%s", member);
    if (schema_compile(document, NULL, &schema, &error) != TN_OK) say(validation, where, pointer, error.message);
    error_finish(&error);
    return schema;
}

static void check_example(struct validation *validation, const char *where, size_t index, const char *member,
                          const struct schema *schema, tn_value example) {
    tn_value instance = value_get(example, member);
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    if (!instance || !schema) return;
    (void)schema_validate(schema, instance, &errors);
    for (size_t i = 0; i < errors.count; i++) {
        tn_value pointer = value_format("/examples/%zu/%s%s", index, member, errors.items[i].pointer);
        say(validation, where, value_chars(pointer, NULL), errors.items[i].message);
        value_unref(pointer);
    }
    schema_errors_finish(&errors);
}

static void check_component(struct validation *validation, tn_value component) {
    static const char *const members[] = {"config", "input", "output"};
    tn_value name = component_name(component), examples = value_get(component, "examples");
    const char *where = value_chars(name, NULL);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        struct schema *schema = compiled(validation, where, component, members[i]);
        for (size_t j = 0; schema && value_is(examples, TN_ARRAY) && j < value_count(examples); j++)
            check_example(validation, where, j, members[i], schema, value_at(examples, j));
        schema_unref(schema);
    }
    value_unref(name);
}

size_t manifest_validate(const char *file, tn_value manifest, void (*report)(void *user, const char *message),
                         void *user) {
    struct validation validation = {file, manifest, report, user, 0};
    check_whole(&validation);
    schema_unref(compiled(&validation, "plugin", manifest_plugin(manifest), "config"));
    tn_value components = manifest_components(manifest);
    for (size_t i = 0; value_is(components, TN_ARRAY) && i < value_count(components); i++)
        check_component(&validation, value_at(components, i));
    return validation.count;
}
