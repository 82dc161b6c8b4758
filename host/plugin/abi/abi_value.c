/*
 * abi_value.c - tenon.value/1: the values of adl/value, with every argument checked.
 *
 * Inside the host a wrong kind is our bug and asserts. Here it is the plugin's bug and returns a status. Sizes that a
 * plugin chooses are bounded, so a mistake returns a status and does not end the process.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_builder.h"
#include "host/plugin/call/call_internal.h"
#include <math.h>
#include <string.h>

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

size_t abi_text_length(const char *text, uint64_t length) { return length == TN_Z ? strlen(text) : (size_t)length; }

static tn_value plugin_value_get(tn_value object, const char *key, uint64_t length) {
    if (!key || !value_is(object, TN_OBJECT)) return NULL;
    return length == TN_Z ? value_get(object, key) : value_get_n(object, key, (size_t)length);
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

/* ---- Making ---- */

static tn_value plugin_value_make_null(const tn_host *host) {
    (void)host;
    return value_null();
}

static tn_value plugin_value_make_bool(const tn_host *host, int32_t truth) {
    (void)host;
    return value_bool(truth != 0);
}

static tn_value plugin_value_make_int(const tn_host *host, int64_t number) {
    (void)host;
    return value_int(number);
}

static int32_t plugin_value_make_double(const tn_host *host, double number, tn_value *out) {
    (void)host;
    if (!out || !isfinite(number)) return TN_INVALID;
    *out = value_double(number);
    return TN_OK;
}

int32_t abi_text(const char *utf8, uint64_t given, tn_value *out) {
    if (!out || (!utf8 && given)) return TN_INVALID;
    size_t length = utf8 ? abi_text_length(utf8, given) : 0;
    if (length > ABI_TEXT_MAX) return TN_LIMIT;
    tn_value string = value_string(utf8 ? utf8 : "", length);
    if (!string) {
        call_note_rejected_text();
        return TN_INVALID;
    }
    *out = string;
    return TN_OK;
}

static int32_t plugin_value_make_text(const tn_host *host, const char *utf8, uint64_t length, tn_value *out) {
    (void)host;
    return abi_text(utf8, length, out);
}

static int32_t plugin_value_make_bytes(const tn_host *host, const void *bytes, uint64_t length, tn_value *out) {
    (void)host;
    if (!out || (!bytes && length)) return TN_INVALID;
    if (length > ABI_TEXT_MAX) return TN_LIMIT;
    *out = value_bytes(bytes ? bytes : "", (size_t)length);
    return TN_OK;
}

/* ---- Edits: each consumes *value ---- */

static int32_t plugin_value_set(tn_value *object, const char *key, uint64_t length, tn_value item) {
    tn_value name = NULL;
    if (!object || !*object || !key || !item) return TN_INVALID;
    if (!value_is(*object, TN_OBJECT)) return TN_TYPE;
    int32_t status = abi_text(key, length, &name);
    if (status == TN_OK) *object = value_set_key_take(*object, name, value_ref(item));
    return status;
}

static int32_t plugin_value_remove(tn_value *object, const char *key, uint64_t length) {
    if (!object || !*object || !key) return TN_INVALID;
    if (!value_is(*object, TN_OBJECT)) return TN_TYPE;
    size_t size = abi_text_length(key, length);
    if (!value_get_n(*object, key, size)) return TN_NOT_FOUND;
    *object = value_remove_take(*object, value_text_n(key, size));
    return TN_OK;
}

static int32_t plugin_value_append(tn_value *array, tn_value item) {
    if (!array || !*array || !item) return TN_INVALID;
    if (!value_is(*array, TN_ARRAY)) return TN_TYPE;
    *array = value_push_take(*array, value_ref(item));
    return TN_OK;
}

static int32_t plugin_value_splice(tn_value *array, uint64_t index, uint64_t count, tn_value items) {
    if (!array || !*array) return TN_INVALID;
    if (!value_is(*array, TN_ARRAY) || (items && !value_is(items, TN_ARRAY))) return TN_TYPE;
    size_t before = value_count(*array);
    if (index > before || count > before - index) return TN_NOT_FOUND;
    if (count == 1 && items && value_count(items) == 1) {
        *array = value_replace_take(*array, (size_t)index, value_ref(value_at(items, 0)));
        return TN_OK;
    }
    tn_value whole = *array, rest = value_slice(whole, (size_t)(index + count), before);
    tn_value start = value_slice(whole, 0, (size_t)index);
    value_unref(whole);
    if (items) start = value_concat_take(start, value_ref(items));
    *array = value_concat_take(start, rest);
    return TN_OK;
}

static const char *value_content(tn_value value, size_t *length) {
    return value_is(value, TN_STRING) ? value_chars(value, length) : value_data(value, length);
}

static int32_t plugin_value_concat(tn_value *value, tn_value more) {
    size_t length, added;
    if (!value || !*value || !more) return TN_INVALID;
    int kind = value_kind(*value);
    if (kind != value_kind(more) || (kind != TN_ARRAY && kind != TN_STRING && kind != TN_BYTES)) return TN_TYPE;
    if (kind == TN_ARRAY) {
        *value = value_concat_take(*value, value_ref(more));
        return TN_OK;
    }
    const char *first = value_content(*value, &length), *second = value_content(more, &added);
    if (length + added > ABI_TEXT_MAX) return TN_LIMIT;
    struct buffer joined;
    buffer_init(&joined, SIZE_MAX);
    buffer_append(&joined, first, length);
    buffer_append(&joined, second, added);
    value_unref(*value);
    *value = kind == TN_STRING ? value_text_n(buffer_cstr(&joined), joined.length)
                               : value_bytes(buffer_cstr(&joined), joined.length);
    buffer_finish(&joined);
    return TN_OK;
}

/* True between two characters of a string, and at its ends. */
static bool is_boundary(tn_value string, uint64_t at) {
    size_t length;
    const char *text = value_chars(string, &length);
    return at == length || ((unsigned char)text[at] & 0xc0) != 0x80;
}

static int32_t plugin_value_slice(tn_value value, uint64_t index, uint64_t count, tn_value *out) {
    size_t length;
    if (!value || !out) return TN_INVALID;
    int kind = value_kind(value);
    if (kind != TN_ARRAY && kind != TN_STRING && kind != TN_BYTES) return TN_TYPE;
    if (kind == TN_ARRAY) {
        length = value_count(value);
        if (index > length || count > length - index) return TN_NOT_FOUND;
        *out = value_slice(value, (size_t)index, (size_t)(index + count));
        return TN_OK;
    }
    const char *content = value_content(value, &length);
    if (index > length || count > length - index) return TN_NOT_FOUND;
    if (kind == TN_STRING && (!is_boundary(value, index) || !is_boundary(value, index + count))) return TN_INVALID;
    *out =
        kind == TN_STRING ? value_text_n(content + index, (size_t)count) : value_bytes(content + index, (size_t)count);
    return TN_OK;
}

/* ---- JSON ---- */

/* Adds {offset, line, column} to an error with a position. */
static void add_position(struct error *error, const char *json, size_t length) {
    size_t offset = error->span.start < length ? error->span.start : length, line, column;
    json_locate(json, offset, &line, &column);
    tn_value detail = value_set_take(value_object_reserve(3), "offset", value_int((int64_t)offset));
    detail = value_set_take(detail, "line", value_int((int64_t)line));
    detail = value_set_take(detail, "column", value_int((int64_t)column));
    error->more = value_set_take(error->more ? error->more : value_object(), "detail", detail);
}

int32_t abi_give_error(struct error *error, tn_value *out) {
    if (out) *out = error_to_value(error);
    error_finish(error);
    return TN_FAILED;
}

static int32_t plugin_value_from_json(const tn_host *host, const char *json, uint64_t given, tn_value *out,
                                      tn_value *error) {
    (void)host;
    if (!out || (!json && given)) return TN_INVALID;
    size_t length = json ? abi_text_length(json, given) : 0;
    if (length > ABI_TEXT_MAX) return TN_LIMIT;
    static const struct json_limits limits = {.length = ABI_TEXT_MAX};
    struct error why = ERROR_INIT;
    if (json_read(json ? json : "", length, &limits, out, &why) == TN_OK) return TN_OK;
    add_position(&why, json ? json : "", length);
    return abi_give_error(&why, error);
}

#define ABI_TEXT_FIRST 1000 /* bytes: most texts fit, and need no second allocation */

static int32_t plugin_value_to_json(tn_value value, tn_value options, tn_value *out) {
    if (!value || !out || (options && !value_is(options, TN_OBJECT))) return TN_INVALID;
    tn_value pretty = value_get(options, "pretty"), sorted = value_get(options, "sorted");
    bool known = value_count(options) == (size_t)(pretty != NULL) + (size_t)(sorted != NULL);
    if (!known || (pretty && !value_is(pretty, TN_BOOL)) || (sorted && !value_is(sorted, TN_BOOL))) return TN_INVALID;
    enum json_style style = JSON_COMPACT;
    if (pretty && value_to_bool(pretty)) style |= JSON_INDENTED;
    if (sorted && value_to_bool(sorted)) style |= JSON_SORTED;
    struct buffer text;
    buffer_init(&text, ABI_TEXT_MAX);
    buffer_reserve(&text, ABI_TEXT_FIRST);
    json_write(&text, value, style);
    bool fits = !text.overflow;
    if (fits) *out = value_text_n(buffer_cstr(&text), text.length);
    buffer_finish(&text);
    return fits ? TN_OK : TN_LIMIT;
}

const tn_value_1 interface_value = {
    .size = sizeof(tn_value_1),
    .retain = plugin_value_retain,
    .release = plugin_value_release,
    .kind = plugin_value_kind_of,
    .as_bool = plugin_value_as_bool,
    .as_int = plugin_value_as_int,
    .as_double = plugin_value_as_double,
    .as_text = plugin_value_as_text,
    .as_bytes = plugin_value_as_bytes,
    .count = plugin_value_count,
    .at = plugin_value_at,
    .get = plugin_value_get,
    .entry = plugin_value_entry,
    .equal = plugin_value_equal,
    .make_null = plugin_value_make_null,
    .make_bool = plugin_value_make_bool,
    .make_int = plugin_value_make_int,
    .make_double = plugin_value_make_double,
    .make_text = plugin_value_make_text,
    .make_bytes = plugin_value_make_bytes,
    .set = plugin_value_set,
    .remove = plugin_value_remove,
    .append = plugin_value_append,
    .splice = plugin_value_splice,
    .concat = plugin_value_concat,
    .slice = plugin_value_slice,
    .builder = abi_builder_new,
    .begin = abi_builder_begin,
    .key = abi_builder_key,
    .add = abi_builder_add,
    .add_text = abi_builder_add_text,
    .end = abi_builder_end,
    .finish = abi_builder_finish,
    .from_json = plugin_value_from_json,
    .to_json = plugin_value_to_json,
};
