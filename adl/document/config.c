/*
 * config.c - finds and replaces references in a config.
 *
 * Most configs have no references; a walk without allocations detects that.
 */
#include "adl/document/config.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/pointer.h"
#include <string.h>

#define POINTER_MAX (64u * 1024u)

static const char *const kinds[] = {"file", "secret"};

/* Returns "file" or "secret" if the value looks like a reference, else NULL. */
static const char *reference_kind(tn_value value) {
    if (!value_is(value, TN_OBJECT) || value_count(value) != 1 || !value_is(value_value_at(value, 0), TN_STRING))
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (value_text_is(value_key_at(value, 0), kinds[i])) return kinds[i];
    return NULL;
}

static bool has_reference(tn_value value) {
    int kind = value_kind(value);
    if (kind != TN_OBJECT && kind != TN_ARRAY) return false;
    if (reference_kind(value)) return true;
    for (size_t i = 0, n = value_count(value); i < n; i++)
        if (has_reference(kind == TN_OBJECT ? value_value_at(value, i) : value_at(value, i))) return true;
    return false;
}

#define WANTS_TEXT   1
#define WANTS_OBJECT 2
#define WANTS_SCHEMA 4

static int wanted_type(tn_value type) {
    return value_text_is(type, "string") ? WANTS_TEXT : value_text_is(type, "object") ? WANTS_OBJECT : 0;
}

static void note_wanted(void *self, const char *pointer, bool on_key, tn_value where, tn_value subschema) {
    tn_value *wanted = self, known = value_get(*wanted, pointer), type = value_get(subschema, "type");
    if (on_key || !reference_kind(where)) return;
    int64_t allowed = (known ? value_to_int(known) : 0) | wanted_type(type);
    for (size_t i = 0; value_is(type, TN_ARRAY) && i < value_count(type); i++)
        allowed |= wanted_type(value_at(type, i));
    if (value_text_is(value_get(subschema, "x-tenon"), "schema")) allowed |= WANTS_SCHEMA;
    *wanted = value_set_take(*wanted, pointer, value_int(allowed));
}

struct walk {
    tn_value wanted; /* object: the pointer of a reference → what the schema allows there, WANTS_… */
    config_reference_fn resolve;
    void *self;
    struct buffer pointer;
};

static size_t pointer_push(struct buffer *pointer, const char *token, size_t length) {
    size_t before = pointer->length;
    pointer_append_key(pointer, token, length);
    return before;
}

static void pointer_pop(struct buffer *pointer, size_t before) {
    if (pointer->length <= before) return;
    pointer->length = before;
    pointer->data[before] = '\0';
    pointer->overflow = false;
}

static tn_value resolve_at(struct walk *walk, tn_value value, const char *kind) {
    const char *pointer = buffer_cstr(&walk->pointer);
    if (walk->pointer.overflow) return NULL;
    tn_value wanted = value_get(walk->wanted, pointer);
    if (wanted && (value_to_int(wanted) & WANTS_SCHEMA) && strcmp(kind, "file") == 0)
        return walk->resolve(walk->self, pointer, CONFIG_SCHEMA_FILE, value_value_at(value, 0));
    if (!wanted || value_to_int(wanted) != WANTS_TEXT) return NULL;
    return walk->resolve(walk->self, pointer, kind, value_value_at(value, 0));
}

static tn_value resolve_take(struct walk *walk, tn_value value) {
    if (!has_reference(value)) return value;
    const char *kind = reference_kind(value);
    if (kind) {
        tn_value found = resolve_at(walk, value, kind);
        if (!found) return value;
        value_unref(value);
        return found;
    }
    bool object = value_is(value, TN_OBJECT);
    for (size_t i = 0, n = value_count(value); i < n; i++) {
        tn_value item = object ? value_value_at(value, i) : value_at(value, i);
        if (!has_reference(item)) continue;
        size_t length;
        tn_value key = object ? value_ref(value_key_at(value, i)) : value_format("%zu", i);
        const char *token = value_chars(key, &length);
        size_t before = pointer_push(&walk->pointer, token, length);
        tn_value resolved = resolve_take(walk, value_ref(item));
        pointer_pop(&walk->pointer, before);
        if (object) {
            value = value_set_key_take(value, key, resolved);
        } else {
            value_unref(key);
            value = value_replace_take(value, i, resolved);
        }
    }
    return value;
}

tn_value config_schema_read(tn_value text, struct error *error) {
    size_t length;
    const char *chars = value_chars(text, &length);
    tn_value schema = NULL;
    /* The message of json_read quotes the text, which may be one that the author of the document must not see. */
    if (json_read(chars, length, NULL, &schema, NULL) != TN_OK)
        error_set(error, TN_INVALID, "PARSE", "it is not a JSON Schema: expected a text in JSON");
    return schema;
}

tn_value config_resolve_take(const struct schema *schema, tn_value config, config_reference_fn resolve, void *self) {
    if (!has_reference(config)) return config;
    struct walk walk = {value_object(), resolve, self, {0}};
    schema_each_possible(schema, config, "type", note_wanted, &walk.wanted);
    buffer_init(&walk.pointer, POINTER_MAX);
    tn_value resolved = resolve_take(&walk, config);
    value_unref(walk.wanted);
    buffer_finish(&walk.pointer);
    return resolved;
}

/* Unescapes the next token of the pointer; returns its length, or SIZE_MAX if it does not fit. */
static size_t config_next_token(const char **pointer, char *out, size_t size) {
    size_t length = 0;
    const char *at = *pointer + 1;
    for (; *at && *at != '/'; at++) {
        char character = *at;
        if (character == '~' && (at[1] == '0' || at[1] == '1')) character = *++at == '0' ? '~' : '/';
        if (length == size) return SIZE_MAX;
        out[length++] = character;
    }
    *pointer = at;
    return length;
}

tn_value config_replace_take(tn_value config, const char *pointer, tn_value value) {
    if (*pointer != '/') {
        value_unref(*pointer ? value : config);
        return *pointer ? config : value;
    }
    char token[1024];
    size_t length = config_next_token(&pointer, token, sizeof token);
    tn_value old = NULL;
    size_t index = 0;
    if (length != SIZE_MAX && value_is(config, TN_OBJECT)) old = value_get_n(config, token, length);
    if (length != SIZE_MAX && value_is(config, TN_ARRAY)) {
        for (size_t i = 0; i < length; i++) index = index * 10 + (size_t)(token[i] - '0');
        if (length < 10 && index < value_count(config)) old = value_at(config, index);
    }
    if (!old) {
        value_unref(value);
        return config;
    }
    tn_value inner = config_replace_take(value_ref(old), pointer, value);
    if (value_is(config, TN_ARRAY)) return value_replace_take(config, index, inner);
    return value_set_key_take(config, value_string(token, length), inner);
}
