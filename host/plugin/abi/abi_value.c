/*
 * abi_value.c - tenon.value/1: the values of adl/value, with every argument checked.
 *
 * Inside the host a wrong kind is our bug and asserts. Here it is the plugin's bug and returns a status. Sizes that a
 * plugin chooses are bounded, so a mistake returns NULL and does not end the process.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/call/call_internal.h"
#include <math.h>
#include <string.h>

#define TEXT_MAX  (1u << 30) /* bytes of one string, byte string or JSON text */
#define DEPTH_MAX 256u       /* open arrays and objects of a builder */

static tn_value plugin_value_retain(tn_value value) { return value_ref(value); }
static void plugin_value_release(tn_value value) { value_unref(value); }
static int32_t plugin_value_kind_of(tn_value value) { return value_kind(value); }

static int32_t plugin_value_as_bool(tn_value value, int32_t *out) {
    if (!value || !out) return TN_INVALID;
    if (!value_is(value, TN_BOOL)) return TN_TYPE;
    *out = value_to_bool(value);
    return TN_OK;
}

static int32_t plugin_value_as_int(tn_value value, int64_t *out) {
    if (!value || !out) return TN_INVALID;
    if (!value_is_number(value)) return TN_TYPE;
    return value_as_int(value, out) ? TN_OK : TN_TYPE;
}

static int32_t plugin_value_as_double(tn_value value, double *out) {
    if (!value || !out) return TN_INVALID;
    if (!value_is_number(value)) return TN_TYPE;
    *out = value_to_double(value);
    return TN_OK;
}

static const char *plugin_value_as_text(tn_value value, uint64_t *length) {
    if (!value_is(value, TN_STRING)) return NULL;
    size_t size;
    const char *chars = value_chars(value, &size);
    if (length) *length = size;
    return chars;
}

static const void *plugin_value_as_bytes(tn_value value, uint64_t *length) {
    if (!value_is(value, TN_BYTES)) return NULL;
    size_t size;
    const void *data = value_data(value, &size);
    if (length) *length = size;
    return data;
}

static uint64_t plugin_value_count(tn_value value) { return value ? value_count(value) : 0; }

static tn_value plugin_value_at(tn_value array, uint64_t index) {
    return value_is(array, TN_ARRAY) && index < value_count(array) ? value_at(array, (size_t)index) : NULL;
}

static tn_value plugin_value_get(tn_value object, const char *key) {
    return key && value_is(object, TN_OBJECT) ? value_get(object, key) : NULL;
}

static int32_t plugin_value_entry(tn_value object, uint64_t index, tn_value *key, tn_value *value) {
    if (!object) return TN_INVALID;
    if (!value_is(object, TN_OBJECT)) return TN_TYPE;
    if (index >= value_count(object)) return TN_NOT_FOUND;
    if (key) *key = value_key_at(object, (size_t)index);
    if (value) *value = value_value_at(object, (size_t)index);
    return TN_OK;
}

static int32_t plugin_value_equal(tn_value a, tn_value b) { return a == b || (a && b && value_equal(a, b)); }

static tn_value plugin_value_make_null(void) { return value_null(); }
static tn_value plugin_value_make_bool(int32_t truth) { return value_bool(truth != 0); }
static tn_value plugin_value_make_int(int64_t number) { return value_int(number); }
static tn_value plugin_value_make_double(double number) { return isfinite(number) ? value_double(number) : NULL; }

/* NULL if it is not UTF-8. */
static tn_value checked_string(const char *text, size_t length) {
    tn_value string = value_string(text, length);
    if (!string) call_note_rejected_text();
    return string;
}

static tn_value plugin_value_make_text(const char *utf8, uint64_t length) {
    if ((!utf8 && length) || length > TEXT_MAX) return NULL;
    return checked_string(utf8 ? utf8 : "", (size_t)length);
}

static tn_value plugin_value_make_bytes(const void *bytes, uint64_t length) {
    if ((!bytes && length) || length > TEXT_MAX) return NULL;
    return value_bytes(bytes ? bytes : "", (size_t)length);
}

static tn_value plugin_value_append(tn_value array, tn_value item) {
    if (!item || !value_is(array, TN_ARRAY)) return NULL;
    return value_push_take(value_ref(array), value_ref(item));
}

static tn_value plugin_value_set(tn_value object, const char *key, tn_value value) {
    if (!key || !value || !value_is(object, TN_OBJECT)) return NULL;
    tn_value name = checked_string(key, strlen(key));
    return name ? value_set_key_take(value_ref(object), name, value_ref(value)) : NULL;
}

/* ---- The builder: a stack of open arrays and objects ---- */

struct builder_level {
    tn_value value; /* owned */
    tn_value key;   /* owned; an object's next key, or NULL */
};

struct tn_builder {
    bool failed; /* finish returns NULL */
    uint32_t depth;
    tn_value done;
    struct builder_level few[8];
    struct builder_level *levels; /* few, or allocated */
    uint32_t capacity;
};

static tn_builder *builder_new(void) {
    tn_builder *builder = mem_alloc(sizeof *builder);
    builder->failed = false;
    builder->depth = 0;
    builder->done = NULL;
    builder->levels = builder->few;
    builder->capacity = sizeof builder->few / sizeof *builder->few;
    return builder;
}

/* Adds a value at the current position; takes it. */
static void builder_put_take(tn_builder *builder, tn_value value) {
    struct builder_level *level = builder->depth ? &builder->levels[builder->depth - 1] : NULL;
    if (value && !level && !builder->done) {
        builder->done = value;
    } else if (value && level && value_is(level->value, TN_ARRAY)) {
        level->value = value_push_take(level->value, value);
    } else if (value && level && level->key) {
        size_t before = value_count(level->value);
        level->value = value_set_key_take(level->value, level->key, value);
        level->key = NULL;
        if (value_count(level->value) == before) builder->failed = true; /* a duplicate key */
    } else {
        builder->failed = true;
        value_unref(value);
    }
}

static void builder_begin(tn_builder *builder, int32_t kind) {
    if (!builder) return;
    bool fits = (kind == TN_ARRAY || kind == TN_OBJECT) && builder->depth < DEPTH_MAX;
    if (builder->failed || !fits || (builder->depth == 0 && builder->done)) {
        builder->failed = true;
        return;
    }
    MEM_GROW_FROM(builder->levels, builder->few, builder->depth, builder->capacity);
    builder->levels[builder->depth++] =
        (struct builder_level){kind == TN_ARRAY ? value_array_reserve(4) : value_object_reserve(4), NULL};
}

static void abi_builder_key(tn_builder *builder, const char *key) {
    if (!builder || builder->failed) return;
    struct builder_level *level = builder->depth ? &builder->levels[builder->depth - 1] : NULL;
    if (!level || !key || level->key || !value_is(level->value, TN_OBJECT)) {
        builder->failed = true;
        return;
    }
    level->key = checked_string(key, strlen(key));
    if (!level->key) builder->failed = true; /* not UTF-8 */
}

static void builder_add(tn_builder *builder, tn_value value) {
    if (builder && !builder->failed) builder_put_take(builder, value_ref(value));
}

static void builder_end(tn_builder *builder) {
    if (!builder || builder->failed) return;
    if (!builder->depth || builder->levels[builder->depth - 1].key) {
        builder->failed = true;
        return;
    }
    builder_put_take(builder, builder->levels[--builder->depth].value);
}

static tn_value builder_finish(tn_builder *builder) {
    if (!builder) return NULL;
    tn_value done = builder->done;
    bool good = !builder->failed && !builder->depth;
    while (builder->depth) {
        struct builder_level *level = &builder->levels[--builder->depth];
        value_unref(level->value);
        value_unref(level->key);
    }
    if (builder->levels != builder->few) mem_free(builder->levels);
    mem_free(builder);
    if (good) return done;
    value_unref(done);
    return NULL;
}

/* ---- JSON ---- */

static int32_t plugin_value_from_json(const char *json, uint64_t length, tn_value *out) {
    if (!out || (!json && length)) return TN_INVALID;
    if (length > TEXT_MAX) return TN_LIMIT;
    static const struct json_limits limits = {0, TEXT_MAX};
    return json_read(json ? json : "", (size_t)length, &limits, out, NULL);
}

static tn_value plugin_value_to_json(tn_value value) {
    if (!value) return NULL;
    struct buffer out;
    buffer_init(&out, TEXT_MAX);
    json_write(&out, value, JSON_COMPACT);
    tn_value text = out.overflow ? NULL : value_string(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return text;
}

const tn_value_1 interface_value = {sizeof(tn_value_1),
                                    0,
                                    plugin_value_retain,
                                    plugin_value_release,
                                    plugin_value_kind_of,
                                    plugin_value_as_bool,
                                    plugin_value_as_int,
                                    plugin_value_as_double,
                                    plugin_value_as_text,
                                    plugin_value_as_bytes,
                                    plugin_value_count,
                                    plugin_value_at,
                                    plugin_value_get,
                                    plugin_value_entry,
                                    plugin_value_equal,
                                    plugin_value_make_null,
                                    plugin_value_make_bool,
                                    plugin_value_make_int,
                                    plugin_value_make_double,
                                    plugin_value_make_text,
                                    plugin_value_make_bytes,
                                    plugin_value_append,
                                    plugin_value_set,
                                    builder_new,
                                    builder_begin,
                                    abi_builder_key,
                                    builder_add,
                                    builder_end,
                                    builder_finish,
                                    plugin_value_from_json,
                                    plugin_value_to_json};
