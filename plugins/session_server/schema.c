/*
 * schema.c - the part of JSON Schema that the types of sessions need. A keyword that is not in the table below is a
 * description, and is not checked.
 */
#include "session.h"

struct place {
    struct tn_text_buffer path, reason;
};

static bool check(struct place *place, tn_value schema, tn_value value, unsigned depth);

static bool wrong(struct place *place, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(struct place *place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)tn_text_append_format(&place->reason,
                                "at `%s`: ", place->path.length > 0 ? tn_text_chars(&place->path) : "/");
    (void)tn_text_append_vformat(&place->reason, format, arguments);
    va_end(arguments);
    return false;
}

static const char *kind_word(tn_value value) {
    static const char *const words[] = {
        [TN_NULL] = "null",     [TN_BOOL] = "boolean", [TN_INT] = "integer",  [TN_DOUBLE] = "number",
        [TN_STRING] = "string", [TN_ARRAY] = "array",  [TN_OBJECT] = "object"};
    int32_t kind = tn.value->kind(value);
    return kind > TN_NONE && (size_t)kind < sizeof words / sizeof *words && words[kind] != NULL ? words[kind]
                                                                                                : "nothing";
}

static bool check_type(struct place *place, tn_value type, tn_value value) {
    const char *found = kind_word(value);
    bool matches = serving_is(type, found);
    if (tn.value->kind(type) <= TN_NULL) return true;
    for (uint64_t i = 0, count = tn.value->kind(type) == TN_ARRAY ? tn.value->count(type) : 0; i < count; i++)
        matches = matches || serving_is(tn.value->at(type, i), found);
    if (matches) return true;
    tn_value expected = tn_to_json(type);
    (void)wrong(place, "found %s, expected %s", found, expected != NULL ? tn_chars(expected, NULL) : "another type");
    tn_release(expected);
    return false;
}

static bool check_enum(struct place *place, tn_value values, tn_value value) {
    uint64_t count = tn.value->count(values);
    if (count == 0) return true;
    for (uint64_t i = 0; i < count; i++)
        if (tn.value->equal(tn.value->at(values, i), value) == 1) return true;
    tn_value expected = tn_to_json(values), found = tn_to_json(value);
    const char *text = found != NULL ? tn_chars(found, NULL) : "";
    (void)wrong(place, "found %.80s, expected one of %s", text, expected != NULL ? tn_chars(expected, NULL) : "others");
    tn_release(expected);
    tn_release(found);
    return false;
}

static bool check_size(struct place *place, tn_value schema, const char *least, const char *most, uint64_t size) {
    int64_t low = tn_get_int(schema, least, 0), high = tn_get_int(schema, most, INT64_MAX);
    if ((int64_t)size >= low && (int64_t)size <= high) return true;
    if ((int64_t)size < low)
        return wrong(place, "found a size of %lld, expected at least %lld", (long long)size, (long long)low);
    return wrong(place, "found a size of %lld, expected at most %lld", (long long)size, (long long)high);
}

/* A member or an item, whose place is named in a reason. */
static bool check_inside(struct place *place, const char *name, tn_value schema, tn_value value, unsigned depth) {
    uint64_t length = place->path.length;
    (void)tn_text_append_format(&place->path, "/%.100s", name);
    bool matches = check(place, schema, value, depth + 1);
    place->path.length = length;
    if (place->path.bytes != NULL) place->path.bytes[length] = '\0';
    return matches;
}

static bool check_object(struct place *place, tn_value schema, tn_value value, unsigned depth) {
    tn_value required = tn_get(schema, "required"), properties = tn_get(schema, "properties"), key, member;
    tn_value more = tn_get(schema, "additionalProperties");
    for (uint64_t i = 0, count = tn.value->count(required); i < count; i++)
        if (tn_get_key(value, tn.value->at(required, i)) == NULL)
            return wrong(place, "the member `%s` is missing", tn_chars(tn.value->at(required, i), NULL));
    for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
        if (tn.value->entry(value, i, &key, &member) != TN_OK) break;
        tn_value inner = tn_get_key(properties, key) != NULL ? tn_get_key(properties, key) : more;
        if (!check_inside(place, tn_chars(key, NULL), inner, member, depth)) return false;
    }
    return true;
}

static bool check_array(struct place *place, tn_value schema, tn_value value, unsigned depth) {
    char name[24];
    if (!check_size(place, schema, "minItems", "maxItems", tn.value->count(value))) return false;
    for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
        (void)snprintf(name, sizeof name, "%llu", (unsigned long long)i);
        if (!check_inside(place, name, tn_get(schema, "items"), tn.value->at(value, i), depth)) return false;
    }
    return true;
}

static bool check(struct place *place, tn_value schema, tn_value value, unsigned depth) {
    uint64_t length = 0;
    if (tn.value->kind(schema) == TN_BOOL && !serving_true(schema)) return wrong(place, "no such member is known");
    if (tn.value->kind(schema) != TN_OBJECT || depth > SESSION_DEPTH_MAX) return true;
    if (!check_type(place, tn_get(schema, "type"), value) || !check_enum(place, tn_get(schema, "enum"), value))
        return false;
    if (tn_chars(value, &length) != NULL) return check_size(place, schema, "minLength", "maxLength", length);
    if (tn.value->kind(value) == TN_OBJECT) return check_object(place, schema, value, depth);
    return tn.value->kind(value) != TN_ARRAY || check_array(place, schema, value, depth);
}

tn_value schema_check(tn_value schema, tn_value value) {
    struct place place = {.path = TN_TEXT_BUFFER(4096), .reason = TN_TEXT_BUFFER(1024)};
    bool matches = check(&place, schema, value, 0);
    tn_value reason = matches ? NULL : tn_text_finish_cut(&place.reason);
    tn_text_free(&place.path);
    tn_text_free(&place.reason);
    return reason;
}
