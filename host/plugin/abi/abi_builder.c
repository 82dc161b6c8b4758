/*
 * abi_builder.c - the builder of tenon.value/1: a stack of open arrays and objects, and the first mistake.
 */
#include "host/plugin/abi/abi_builder.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/pointer.h"
#include "adl/value/value.h"
#include <assert.h>
#include <string.h>

#define DEPTH_MAX 256u /* open arrays and objects */

struct builder_level {
    tn_value value; /* owned */
    tn_value key;   /* owned; an object's next key, or NULL */
};

struct tn_builder {
    struct error error; /* the first mistake; the rest is ignored */
    uint32_t depth;
    tn_value done;
    struct builder_level few[8];
    struct builder_level *levels; /* few, or allocated */
    uint32_t capacity;
};

tn_builder *abi_builder_new(const tn_host *host) {
    (void)host;
    tn_builder *builder = mem_alloc(sizeof *builder);
    builder->error = (struct error)ERROR_INIT;
    builder->depth = 0;
    builder->done = NULL;
    builder->levels = builder->few;
    builder->capacity = sizeof builder->few / sizeof *builder->few;
    return builder;
}

static bool builder_failed(const tn_builder *builder) { return builder->error.code != NULL; }

/* ---- Mistakes ---- */

/* The place of the next value. */
static tn_value builder_place(const tn_builder *builder) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    assert(builder->levels);
    for (uint32_t i = 0; i < builder->depth; i++) {
        const struct builder_level *level = &builder->levels[i];
        if (value_is(level->value, TN_ARRAY)) {
            buffer_format(&out, "/%zu", value_count(level->value));
        } else if (level->key) {
            size_t length;
            const char *key = value_chars(level->key, &length);
            pointer_append_key(&out, key, length);
        }
    }
    tn_value place = value_string_lossy(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return place;
}

/* Frees `place`. */
static void builder_fail_at(tn_builder *builder, tn_value place, const char *what) {
    const char *pointer = value_chars(place, NULL);
    error_set(&builder->error, TN_INVALID, "INVALID_VALUE", "cannot build the value: %s%s%s", *pointer ? pointer : "",
              *pointer ? ": " : "", what);
    error_set_detail_take(&builder->error, value_set_take(value_object_reserve(1), "at", place));
}

static void builder_fail(tn_builder *builder, const char *what) {
    builder_fail_at(builder, builder_place(builder), what);
}

/* ---- Building ---- */

static struct builder_level *builder_top(tn_builder *builder) {
    return builder->depth ? &builder->levels[builder->depth - 1] : NULL;
}

/* Adds a value at the current position; takes it. */
static void builder_put_take(tn_builder *builder, tn_value value) {
    struct builder_level *level = builder_top(builder);
    if (!level && !builder->done) {
        builder->done = value;
    } else if (level && value_is(level->value, TN_ARRAY)) {
        level->value = value_push_take(level->value, value);
    } else if (level && level->key) {
        if (value_get_key(level->value, level->key)) builder_fail(builder, "the object already has this key");
        level->value = value_set_key_take(level->value, level->key, value);
        level->key = NULL;
    } else {
        builder_fail(builder, level ? "a value without a key was added to an object; call `key` before"
                                    : "a second value was added; call `begin` with TN_ARRAY for several");
        value_unref(value);
    }
}

void abi_builder_begin(tn_builder *builder, int32_t kind) {
    if (!builder || builder_failed(builder)) return;
    const struct builder_level *level = builder_top(builder);
    if (kind != TN_ARRAY && kind != TN_OBJECT) {
        builder_fail(builder, "`begin` received a kind that is neither TN_ARRAY nor TN_OBJECT");
    } else if (builder->depth >= DEPTH_MAX) {
        builder_fail(builder, "more than 256 arrays and objects are open");
    } else if (level ? value_is(level->value, TN_OBJECT) && !level->key : builder->done != NULL) {
        builder_fail(builder, level ? "an array or object without a key was begun in an object; call `key` before"
                                    : "a second value was begun");
    } else {
        MEM_GROW_FROM(builder->levels, builder->few, builder->depth, builder->capacity);
        assert(builder->levels);
        builder->levels[builder->depth++] =
            (struct builder_level){kind == TN_ARRAY ? value_array_reserve(4) : value_object_reserve(4), NULL};
    }
}

void abi_builder_key(tn_builder *builder, const char *key, uint64_t length) {
    if (!builder || builder_failed(builder)) return;
    struct builder_level *level = builder_top(builder);
    if (!level || !value_is(level->value, TN_OBJECT))
        builder_fail(builder, "`key` was called outside an object");
    else if (level->key)
        builder_fail(builder, "a second key was given before its value");
    else if (!key || abi_text(key, length, &level->key) != TN_OK)
        builder_fail(builder, "a key is not UTF-8, or too long");
}

void abi_builder_add(tn_builder *builder, tn_value value) {
    if (!builder || builder_failed(builder)) return;
    if (value)
        builder_put_take(builder, value_ref(value));
    else
        builder_fail(builder,
                     "no value was added (NULL): one that could not be made, for example a number that is NaN");
}

void abi_builder_add_text(tn_builder *builder, const char *utf8, uint64_t length) {
    tn_value text;
    if (!builder || builder_failed(builder)) return;
    int32_t status = utf8 ? abi_text(utf8, length, &text) : TN_INVALID;
    if (status == TN_OK)
        builder_put_take(builder, text);
    else
        builder_fail(builder, status == TN_LIMIT ? "the text is too long" : "the text is not UTF-8, or NULL");
}

void abi_builder_end(tn_builder *builder) {
    if (!builder || builder_failed(builder)) return;
    if (!builder->depth)
        builder_fail(builder, "`end` was called, but no array or object is open");
    else if (builder_top(builder)->key)
        builder_fail(builder, "the object was ended after a key without a value");
    else {
        tn_value value = builder->levels[--builder->depth].value;
        builder_put_take(builder, value);
    }
}

int32_t abi_builder_finish(tn_builder *builder, tn_value *out, tn_value *error) {
    if (!builder) return TN_INVALID;
    if (!builder_failed(builder) && builder->depth) builder_fail(builder, "an array or object was not ended");
    if (!builder_failed(builder) && !builder->done) builder_fail(builder, "nothing was added");
    tn_value done = builder->done;
    while (builder->depth) {
        struct builder_level *level = &builder->levels[--builder->depth];
        value_unref(level->value);
        value_unref(level->key);
    }
    if (builder->levels != builder->few) mem_free(builder->levels);
    struct error why = builder->error;
    mem_free(builder);
    if (out && !why.code) {
        *out = done;
        return TN_OK;
    }
    value_unref(done);
    return why.code ? abi_give_error(&why, error) : TN_INVALID;
}
