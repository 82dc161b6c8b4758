/*
 * manifest_validate.c - the strict check of a manifest: its schema, the schemas in it, and its examples.
 *
 * It runs when a plugin is built and in `tenon plugin check`, not at start-up. Messages name a component's id and the
 * path of a field in it, not an index into a merged list that the author has never seen.
 */
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/registry/manifest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_ID_MAX 100u /* bytes of an id in a message */

/* sdk/schema/manifest.schema.json, converted to C by the build. */
extern const char manifest_schema_text[];
extern const unsigned manifest_schema_length;

tn_value manifest_schema(void) {
    tn_value schema = NULL;
    (void)json_read(manifest_schema_text, manifest_schema_length, NULL, &schema, NULL);
    return schema;
}

struct manifest_validation {
    const char *file;
    tn_value manifest;
    void (*report)(void *user, const char *message);
    void *user;
    size_t count;
};

/* `where` is "component `x` (node)" or "plugin"; `pointer` a JSON Pointer within it. */
static void validation_report(struct manifest_validation *validation, const char *where, const char *pointer,
                              const char *message) {
    if (validation->count++ >= MANIFEST_PROBLEMS_MAX) return;
    struct buffer text;
    buffer_init(&text, SIZE_MAX); /* names in a manifest may be long */
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

static tn_value component_title(tn_value component) {
    const char *id = manifest_text(component, "id");
    size_t length = strlen(id), shown = length;
    if (shown > TITLE_ID_MAX) shown = TITLE_ID_MAX;
    while (shown < length && (id[shown] & 0xc0) == 0x80) shown--; /* not within a character */
    return value_format("component `%.*s%s` (%s)", (int)shown, id, shown < length ? "…" : "",
                        manifest_text(component, "kind"));
}

/* Splits "/components/3/config/type" into the component and "/config/type". */
static void validation_report_at(struct manifest_validation *validation, const char *pointer, const char *message) {
    static const char components[] = "/components/", plugin[] = "/plugin";
    if (strncmp(pointer, components, sizeof components - 1) == 0) {
        char *end;
        unsigned long index = strtoul(pointer + sizeof components - 1, &end, 10);
        tn_value component = value_at(manifest_components(validation->manifest), index);
        tn_value where = component_title(component);
        validation_report(validation, value_chars(where, NULL), end, message);
        value_unref(where);
    } else if (strncmp(pointer, plugin, sizeof plugin - 1) == 0 &&
               (pointer[sizeof plugin - 1] == '/' || !pointer[sizeof plugin - 1])) {
        validation_report(validation, "plugin", pointer + sizeof plugin - 1, message);
    } else {
        validation_report(validation, "top level", pointer, message);
    }
}

static void validation_check_schema(struct manifest_validation *validation) {
    tn_value document = manifest_schema();
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    if (schema_compile(document, NULL, &schema, &error) != TN_OK) {
        validation_report(validation, "the schema of manifests", "",
                          error.message); /* our own schema is broken; a test checks that it is not */
    } else {
        struct schema_errors errors = SCHEMA_ERRORS_INIT;
        (void)schema_validate(schema, validation->manifest, &errors);
        for (size_t i = 0; i < errors.count; i++)
            validation_report_at(validation, errors.items[i].pointer, errors.items[i].message);
        schema_errors_finish(&errors);
    }
    error_finish(&error);
    schema_unref(schema);
    value_unref(document);
}

/* Compiles object[member]. NULL if it is missing, or broken, which is reported. */
static struct schema *validation_compile(struct manifest_validation *validation, const char *where, tn_value object,
                                         const char *member) {
    tn_value document = value_get(object, member);
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    char pointer[64];
    if (!value_is(document, TN_OBJECT)) return NULL;
    snprintf(pointer, sizeof pointer, "/%s", member);
    if (schema_compile(document, NULL, &schema, &error) != TN_OK)
        validation_report(validation, where, pointer, error.message);
    error_finish(&error);
    return schema;
}

static void validation_check_example(struct manifest_validation *validation, const char *where, size_t index,
                                     const char *member, const struct schema *schema, tn_value example) {
    tn_value instance = value_get(example, member);
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    if (!instance || !schema) return;
    (void)schema_validate(schema, instance, &errors);
    for (size_t i = 0; i < errors.count; i++) {
        tn_value pointer = value_format("/examples/%zu/%s%s", index, member, errors.items[i].pointer);
        validation_report(validation, where, value_chars(pointer, NULL), errors.items[i].message);
        value_unref(pointer);
    }
    schema_errors_finish(&errors);
}

/* A binding adds the required members of a configuration, so that a preset need not have them. */
static void validation_check_presets(struct manifest_validation *validation, const char *where, tn_value component,
                                     const struct schema *schema) {
    tn_value presets = value_get(component, "presets");
    for (size_t i = 0; schema && value_is(presets, TN_OBJECT) && i < value_count(presets); i++) {
        const char *name = value_chars(value_key_at(presets, i), NULL);
        tn_value config = value_get(value_value_at(presets, i), "config");
        struct schema_errors errors = SCHEMA_ERRORS_INIT;
        if (config) (void)schema_validate(schema, config, &errors);
        for (size_t j = 0; j < errors.count; j++) {
            if (strcmp(errors.items[j].keyword, "required") == 0 && !*errors.items[j].pointer) continue;
            tn_value pointer = value_format("/presets/%s/config%s", name, errors.items[j].pointer);
            validation_report(validation, where, value_chars(pointer, NULL), errors.items[j].message);
            value_unref(pointer);
        }
        schema_errors_finish(&errors);
    }
}

static void validation_check_component(struct manifest_validation *validation, tn_value component) {
    static const char *const members[] = {"config", "input", "output"};
    tn_value name = component_title(component), examples = value_get(component, "examples");
    const char *where = value_chars(name, NULL);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        struct schema *schema = validation_compile(validation, where, component, members[i]);
        for (size_t j = 0; schema && value_is(examples, TN_ARRAY) && j < value_count(examples); j++)
            validation_check_example(validation, where, j, members[i], schema, value_at(examples, j));
        if (i == 0) validation_check_presets(validation, where, component, schema);
        schema_unref(schema);
    }
    value_unref(name);
}

size_t manifest_validate(const char *file, tn_value manifest, void (*report)(void *user, const char *message),
                         void *user) {
    struct manifest_validation validation = {file, manifest, report, user, 0};
    validation_check_schema(&validation);
    schema_unref(validation_compile(&validation, "plugin", manifest_plugin(manifest), "config"));
    tn_value components = manifest_components(manifest);
    for (size_t i = 0; value_is(components, TN_ARRAY) && i < value_count(components); i++)
        validation_check_component(&validation, value_at(components, i));
    return validation.count;
}
