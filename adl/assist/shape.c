/*
 * shape.c - collects the keywords of schemas that matter to a person.
 */
#include "adl/assist/shape.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <string.h>

#define TYPE_VALUES_SHOWN 8u

void shape_init(struct shape *shape) { *shape = (struct shape){.values = value_array(), .examples = value_array()}; }

void shape_finish(struct shape *shape) {
    value_unref(shape->values);
    value_unref(shape->examples);
}

static void keep_text(const char **to, tn_value value) {
    if (!*to && value_is(value, TN_STRING)) *to = value_chars(value, NULL);
}

static tn_value keep_value(tn_value list, tn_value value) {
    if (value_count(list) >= SHAPE_VALUES_MAX) return list;
    for (size_t i = 0; i < value_count(list); i++)
        if (value_equal(value_at(list, i), value)) return list;
    return value_push_take(list, value_ref(value));
}

static void add_type(struct shape *shape, tn_value type) {
    static const struct {
        const char *name;
        int kind;
    } types[] = {{"null", TN_NULL},     {"boolean", TN_BOOL}, {"integer", TN_INT}, {"number", TN_DOUBLE},
                 {"string", TN_STRING}, {"bytes", TN_BYTES},  {"array", TN_ARRAY}, {"object", TN_OBJECT}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (value_text_is(type, types[i].name)) shape->kinds |= 1u << types[i].kind;
}

static void add_values(struct shape *shape, tn_value schema) {
    tn_value values = value_get(schema, "enum"), only = value_get(schema, "const");
    for (size_t i = 0; value_is(values, TN_ARRAY) && i < value_count(values); i++)
        shape->values = keep_value(shape->values, value_at(values, i));
    if (only) shape->values = keep_value(shape->values, only);
    tn_value examples = value_get(schema, "examples");
    for (size_t i = 0; value_is(examples, TN_ARRAY) && i < value_count(examples); i++)
        shape->examples = keep_value(shape->examples, value_at(examples, i));
}

void shape_add(void *user, tn_value schema) {
    struct shape *shape = user;
    if (schema == value_bool(false)) return; /* nothing can be here */
    shape->found = true;
    if (!value_is(schema, TN_OBJECT)) return;
    keep_text(&shape->title, value_get(schema, "title"));
    keep_text(&shape->description, value_get(schema, "description"));
    if (!shape->fallback) shape->fallback = value_get(schema, "default");
    if (!shape->minimum) shape->minimum = value_get(schema, "minimum");
    if (!shape->maximum) shape->maximum = value_get(schema, "maximum");
    if (!shape->told) shape->told = value_get(schema, "x-tenon-values");
    tn_value type = value_get(schema, "type"), annotation = value_get(schema, "x-tenon");
    add_type(shape, type);
    for (size_t i = 0; value_is(type, TN_ARRAY) && i < value_count(type); i++) add_type(shape, value_at(type, i));
    if (shape->kinds == (1u << TN_OBJECT | 1u << TN_NULL)) shape->kinds = 1u << TN_OBJECT; /* it can be left empty */
    if (value_to_bool(value_get(schema, "deprecated"))) shape->deprecated = true;
    add_values(shape, schema);
    if (value_is(annotation, TN_STRING) && shape->annotation_count < SHAPE_ANNOTATIONS_MAX)
        shape->annotations[shape->annotation_count++] = value_chars(annotation, NULL);
}

bool shape_has(const struct shape *shape, const char *annotation) {
    for (uint32_t i = 0; i < shape->annotation_count; i++)
        if (strcmp(shape->annotations[i], annotation) == 0) return true;
    return false;
}

const char *shape_told(const struct shape *shape, const char *text, size_t length) {
    tn_value line = shape->told ? value_get_n(shape->told, text, length) : NULL;
    return value_is(line, TN_STRING) ? value_chars(line, NULL) : NULL;
}

void shape_write_type(const struct shape *shape, struct buffer *out) {
    static const char *const names[] = {
        [TN_NULL] = "null",     [TN_BOOL] = "boolean", [TN_INT] = "integer", [TN_DOUBLE] = "number",
        [TN_STRING] = "string", [TN_BYTES] = "bytes",  [TN_ARRAY] = "array", [TN_OBJECT] = "object"};
    size_t count = value_count(shape->values), written = 0;
    for (size_t i = 0; i < count && i < TYPE_VALUES_SHOWN; i++) {
        char *text = json_text(value_at(shape->values, i), JSON_COMPACT);
        buffer_format(out, "%s%s", i ? " | " : "", text);
        mem_free(text);
    }
    if (count > TYPE_VALUES_SHOWN) buffer_text(out, " | …");
    for (int kind = TN_NULL; count == 0 && kind <= TN_OBJECT; kind++)
        if (shape->kinds >> kind & 1) buffer_format(out, "%s%s", written++ ? " or " : "", names[kind]);
    if (count == 0 && written == 0) buffer_text(out, "any");
}
