/*
 * method_types.c - the model of the method table for the writers of languages, and what they share.
 *
 * Every schema that the table names becomes a type with a name: shared schemas keep theirs. Parameters and results that
 * only refer to a shared schema have no other type.
 */
#include "adl/value/json.h"
#include "host/server/method.h"
#include "host/server/method_types_internal.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct types_modelling {
    tn_value schemas;
    tn_value types;
    struct error *error;
};

bool type_is(tn_value type, const char *is) { return value_text_is(value_get(type, "is"), is); }

const char *type_text(tn_value object, const char *key) {
    tn_value text = value_get(object, key);
    return value_is(text, TN_STRING) ? value_chars(text, NULL) : "";
}

bool type_flag(tn_value object, const char *key) {
    tn_value flag = value_get(object, key);
    return value_is(flag, TN_BOOL) && value_to_bool(flag);
}

/* ---- Named types ---- */

static bool types_know(const struct types_modelling *modelling, const char *name) {
    static const char *const written[] = {"Methods", "Events", "Calls"}; /* what the writers declare */
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (strcmp(written[i], name) == 0) return true;
    for (size_t i = 0; i < value_count(modelling->types); i++)
        if (value_text_is(value_get(value_at(modelling->types, i), "name"), name)) return true;
    return false;
}

/* Consumes `description` and `type`. False if the name is taken, or if `type` is NULL. */
static bool types_add_take(struct types_modelling *modelling, const char *name, tn_value description, tn_value type) {
    if (type && types_know(modelling, name)) {
        error_set(modelling->error, TN_INVALID, "INVALID",
                  "two types for clients are called `%s`; rename the shared schema or the method", name);
        value_unref(type);
        type = NULL;
    }
    if (!type) {
        value_unref(description);
        return false;
    }
    tn_value named = value_set_take(value_object(), "name", value_text(name));
    named = value_set_take(named, "description", description);
    modelling->types = value_push_take(modelling->types, value_set_take(named, "type", type));
    return true;
}

/* thread/list and "Params" make ThreadListParams. */
static void types_compose_name(struct buffer *out, const char *name, const char *part) {
    bool begins = true;
    for (; *name; name++) {
        bool letter = isalnum((unsigned char)*name) != 0;
        if (letter) buffer_char(out, begins ? (char)toupper((unsigned char)*name) : *name);
        begins = !letter;
    }
    buffer_text(out, part);
}

/* The name of the type of a part of a row, which may be a shared one: a new reference; NULL on failure. */
static tn_value types_part(struct types_modelling *modelling, const char *name, const char *part, const char *what,
                           tn_value schema) {
    char place[160];
    (void)snprintf(place, sizeof place, "%s `%s`", what, name);
    tn_value type = type_read(schema, modelling->schemas, place, modelling->error), composed = NULL;
    if (type && type_is(type, "ref")) {
        composed = value_ref(value_get(type, "name"));
        value_unref(type);
    } else if (type) {
        struct buffer whole;
        buffer_init(&whole, SIZE_MAX);
        types_compose_name(&whole, name, part);
        const char *own = type_text(schema, "description");
        tn_value description =
            value_format("%c%s.%s%s", toupper((unsigned char)*place), place + 1, *own ? " " : "", own);
        if (types_add_take(modelling, buffer_cstr(&whole), description, type))
            composed = value_text(buffer_cstr(&whole));
        buffer_finish(&whole);
    }
    return composed;
}

/* ---- Rows ---- */

static bool has_required_members(tn_value schema) {
    return value_count(value_get(schema, "required")) > 0 || value_get(schema, "oneOf") || value_get(schema, "anyOf") ||
           value_get(schema, "allOf") || value_get(schema, "$ref");
}

/* Adds `name`, `summary` and the named type of `key`. Consumes `entry`; NULL on failure. */
static tn_value entry_set_part_take(struct types_modelling *modelling, tn_value entry, const char *key,
                                    const char *part, const char *what, tn_value schema) {
    tn_value name = entry ? types_part(modelling, type_text(entry, "name"), part, what, schema) : NULL;
    if (name) return value_set_take(entry, key, name);
    value_unref(entry);
    return NULL;
}

static tn_value entry_new(tn_value name, tn_value row) {
    tn_value entry = value_set_take(value_object(), "name", value_ref(name));
    return value_set_take(entry, "summary", value_text(type_text(row, "summary")));
}

static tn_value model_method(struct types_modelling *modelling, tn_value name, tn_value row) {
    tn_value params = value_get(row, "params");
    tn_value entry = value_set_take(entry_new(name, row), "scope", value_text(type_text(row, "scope")));
    entry = value_set_take(entry, "optional", value_bool(!has_required_members(params)));
    entry = entry_set_part_take(modelling, entry, "params", "Params", "the parameters of", params);
    return entry_set_part_take(modelling, entry, "result", "Result", "the result of", value_get(row, "result"));
}

static tn_value model_event(struct types_modelling *modelling, tn_value name, tn_value row) {
    return entry_set_part_take(modelling, entry_new(name, row), "params", "Event", "the event",
                               value_get(row, "params"));
}

static bool model_shared(struct types_modelling *modelling) {
    for (size_t i = 0; i < value_count(modelling->schemas); i++) {
        const char *name = value_chars(value_key_at(modelling->schemas, i), NULL);
        tn_value schema = value_value_at(modelling->schemas, i);
        char place[160];
        (void)snprintf(place, sizeof place, "`%s`", name);
        tn_value type = type_read(schema, modelling->schemas, place, modelling->error);
        struct buffer note;
        buffer_init(&note, SIZE_MAX);
        types_note(&note, schema);
        bool added = types_add_take(modelling, name, value_text(buffer_cstr(&note)), type);
        buffer_finish(&note);
        if (!added) return false;
    }
    return true;
}

static tn_value model_rows(struct types_modelling *modelling, tn_value rows,
                           tn_value (*row_of)(struct types_modelling *, tn_value, tn_value)) {
    tn_value list = value_array();
    for (size_t i = 0; i < value_count(rows); i++) {
        tn_value entry = row_of(modelling, value_key_at(rows, i), value_value_at(rows, i));
        if (!entry) {
            value_unref(list);
            return NULL;
        }
        list = value_push_take(list, entry);
    }
    return list;
}

tn_value types_model_of(tn_value file, struct error *error) {
    struct types_modelling modelling = {value_get(file, "schemas"), value_array(), error};
    bool shared = model_shared(&modelling);
    tn_value methods = shared ? model_rows(&modelling, value_get(file, "methods"), model_method) : NULL;
    tn_value events = methods ? model_rows(&modelling, value_get(file, "events"), model_event) : NULL;
    if (!events) {
        value_unref(methods);
        value_unref(modelling.types);
        return NULL;
    }
    tn_value model = value_set_take(value_object(), "types", modelling.types);
    model = value_set_take(model, "methods", methods);
    return value_set_take(model, "events", events);
}

tn_value types_model(struct error *error) {
    const struct method *method;
    tn_value methods = value_object();
    for (size_t i = 0; (method = method_at(i)) != NULL; i++)
        methods = value_set_take(methods, method->name, value_ref(method->row));
    tn_value file = value_set_take(value_object(), "schemas", value_ref(method_schemas()));
    file = value_set_take(file, "methods", methods);
    file = value_set_take(file, "events", value_ref(method_events()));
    tn_value model = types_model_of(file, error);
    value_unref(file);
    return model;
}

void types_write(struct buffer *out, tn_value model, enum types_language language) {
    if (language == TYPES_TYPESCRIPT)
        typescript_write(out, model);
    else
        python_write(out, model);
}

/* ---- Texts ---- */

/* A word ends before white space or a control character; code points count as one column. */
static size_t word_length(const char *text, size_t *columns) {
    size_t length = 0;
    for (*columns = 0; (unsigned char)text[length] > ' '; length++)
        *columns += ((unsigned char)text[length] & 0xc0) != 0x80;
    return length;
}

void types_wrap(struct buffer *out, const char *text, const char *first, const char *next) {
    size_t column = strlen(first), columns = 0;
    bool begins = true;
    buffer_text(out, first);
    for (;;) {
        while (*text && (unsigned char)*text <= ' ') text++;
        size_t length = word_length(text, &columns);
        if (!length) break;
        if (!begins && column + 1 + columns > TYPES_WIDTH) {
            buffer_format(out, "\n%s", next);
            column = strlen(next);
        } else if (!begins) {
            buffer_char(out, ' ');
            column++;
        }
        buffer_append(out, text, length);
        column += columns;
        text += length;
        begins = false;
    }
}

void types_replace(struct buffer *out, const char *text, const char *from, const char *to) {
    for (const char *found; (found = strstr(text, from)) != NULL; text = found + strlen(from)) {
        buffer_append(out, text, (size_t)(found - text));
        buffer_text(out, to);
    }
    buffer_text(out, text);
}

void types_note(struct buffer *out, tn_value described) {
    tn_value otherwise = value_get(described, "default");
    buffer_text(out, type_text(described, "description"));
    if (!otherwise) return;
    buffer_format(out, "%sDefault: ", out->length ? " " : "");
    json_write(out, otherwise, JSON_COMPACT);
    buffer_char(out, '.');
}

bool types_is_identifier(const char *name) {
    if (!*name || isdigit((unsigned char)*name)) return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_') return false;
    return true;
}
