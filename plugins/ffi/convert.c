/*
 * convert.c - one conversion function for each kind of type and direction.
 *
 * A value of the wrong kind, a number out of range and a text with a NUL are failures. The message names the position,
 * what was found and what was expected. A result that JSON cannot represent (NaN, text that is not UTF-8) also fails.
 */
#include "convert.h"
#include "handle.h"
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct acquired {
    struct acquired *next;
    struct handle *handle;
    bool frees;
};

static void conversion_release_acquired(struct conversion *conversion, bool freed) {
    for (struct acquired *acquired = conversion->acquired; acquired != NULL; acquired = acquired->next)
        handle_release(acquired->handle, freed && acquired->frees);
    conversion->acquired = NULL;
}

void conversion_release_handles(struct conversion *conversion, bool freed) {
    conversion_release_acquired(conversion, freed);
}

void conversion_finish(struct conversion *conversion) {
    conversion_release_acquired(conversion, false);
    tn_arena_free(&conversion->arena);
}

static const char *value_path_text(struct tn_arena *arena, const struct value_path *path) {
    if (path == NULL) return "";
    const char *outer = value_path_text(arena, path->outer), *dot = path->outer != NULL ? "." : "";
    const char *text = path->name != NULL ? tn_arena_format(arena, "%s%s%s", outer, dot, path->name)
                                          : tn_arena_format(arena, "%s[%" PRIu64 "]", outer, path->index);
    return text != NULL ? text : "";
}

bool conversion_fail(struct conversion *conversion, const struct value_path *path, const char *code, const char *format,
                     ...) {
    va_list arguments;
    if (conversion->message != NULL) return false;
    va_start(arguments, format);
    const char *what = tn_arena_vformat(&conversion->arena, format, arguments);
    va_end(arguments);
    const char *where = value_path_text(&conversion->arena, path);
    const char *message = what == NULL  ? NULL
                          : *where != 0 ? tn_arena_format(&conversion->arena, "`%s`: %s", where, what)
                                        : what;
    conversion->code = message != NULL ? code : "NO_MEMORY";
    conversion->message = message != NULL ? message : "out of memory";
    return false;
}

static bool fail_no_memory(struct conversion *conversion) {
    return conversion_fail(conversion, NULL, "NO_MEMORY", "out of memory");
}

static bool fail_wrong_kind(struct conversion *conversion, const struct value_path *path, tn_value found,
                            const char *expected) {
    return conversion_fail(conversion, path, "INVALID_INPUT", "found %s, expected %s", tn_kind_name(found), expected);
}

/* ---- Numbers ---- */

void type_range(const struct type *type, int64_t *least, uint64_t *most) {
    unsigned bits = type->size * 8;
    *least = type->is_signed ? -(INT64_MAX >> (64 - bits)) - 1 : 0;
    *most = type->is_signed ? (uint64_t)(INT64_MAX >> (64 - bits)) : UINT64_MAX >> (64 - bits);
}

void type_store(const struct type *type, uint64_t bits, void *at) {
    uint8_t one = (uint8_t)bits;
    uint16_t two = (uint16_t)bits;
    uint32_t four = (uint32_t)bits;
    switch (type->size) {
    case 1: memcpy(at, &one, sizeof one); break;
    case 2: memcpy(at, &two, sizeof two); break;
    case 4: memcpy(at, &four, sizeof four); break;
    default: memcpy(at, &bits, sizeof bits); break;
    }
}

uint64_t type_load(const struct type *type, const void *at) {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t bits;
    switch (type->size) {
    case 1: memcpy(&one, at, sizeof one); return type->is_signed ? (uint64_t)(int64_t)(int8_t)one : one;
    case 2: memcpy(&two, at, sizeof two); return type->is_signed ? (uint64_t)(int64_t)(int16_t)two : two;
    case 4: memcpy(&four, at, sizeof four); return type->is_signed ? (uint64_t)(int64_t)(int32_t)four : four;
    default: memcpy(&bits, at, sizeof bits); return bits;
    }
}

static bool fail_out_of_range(struct conversion *conversion, const struct value_path *path, const struct type *type,
                              const char *found) {
    int64_t least;
    uint64_t most;
    type_range(type, &least, &most);
    return conversion_fail(conversion, path, "INVALID_INPUT",
                           "found %s, expected an integer from %" PRId64 " to %" PRIu64 " (%s)", found, least, most,
                           type->name);
}

/* Numbers above INT64_MAX are passed as texts, because JSON numbers would lose their last digits. */
static bool integer_from_text(struct conversion *conversion, const struct value_path *path, const struct type *type,
                              const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0)
        return conversion_fail(conversion, path, "INVALID_INPUT", "found the text `%.40s`, expected digits (%s)", text,
                               type->name);
    if (errno != 0) return fail_out_of_range(conversion, path, type, text);
    *out = number;
    return true;
}

static bool integer_in(struct conversion *conversion, const struct value_path *path, const struct type *type,
                       tn_value value, void *at) {
    int64_t number, least;
    uint64_t most, bits = 0;
    char found[40];
    type_range(type, &least, &most);
    const char *digits = most > INT64_MAX ? tn_chars(value, NULL) : NULL;
    if (digits != NULL) {
        if (!integer_from_text(conversion, path, type, digits, &bits)) return false;
    } else if (tn.value->as_int(value, &number) == TN_OK) {
        (void)snprintf(found, sizeof found, "%" PRId64, number);
        bits = (uint64_t)number;
        if (number < least || (number > 0 && bits > most)) return fail_out_of_range(conversion, path, type, found);
    } else if (tn.value->kind(value) == TN_DOUBLE) {
        double wide = 0;
        (void)tn.value->as_double(value, &wide);
        (void)snprintf(found, sizeof found, "%.17g", wide);
        return fail_out_of_range(conversion, path, type, found);
    } else {
        return fail_wrong_kind(conversion, path, value,
                               most > INT64_MAX ? "an integer, or a text of digits" : "an integer");
    }
    type_store(type, bits, at);
    return true;
}

static tn_value integer_out(struct conversion *conversion, const struct value_path *path, const struct type *type,
                            const void *at) {
    uint64_t bits = type_load(type, at);
    char digits[24];
    (void)conversion, (void)path;
    if (type->is_signed || bits <= INT64_MAX) return tn_int((int64_t)bits);
    (void)snprintf(digits, sizeof digits, "%" PRIu64, bits);
    return tn_text(digits);
}

static bool float_in(struct conversion *conversion, const struct value_path *path, const struct type *type,
                     tn_value value, void *at) {
    double number;
    if (tn.value->as_double(value, &number) != TN_OK) return fail_wrong_kind(conversion, path, value, "a number");
    if (type->size == sizeof(double)) {
        memcpy(at, &number, sizeof number);
        return true;
    }
    if (fabs(number) > (double)FLT_MAX)
        return conversion_fail(conversion, path, "INVALID_INPUT", "found %.17g, which is too large for a float",
                               number);
    float narrow = (float)number;
    memcpy(at, &narrow, sizeof narrow);
    return true;
}

static tn_value float_out(struct conversion *conversion, const struct value_path *path, const struct type *type,
                          const void *at) {
    double number;
    float narrow;
    if (type->size == sizeof(double)) {
        memcpy(&number, at, sizeof number);
    } else {
        memcpy(&narrow, at, sizeof narrow);
        number = (double)narrow;
    }
    if (isfinite(number)) return tn_num(number);
    (void)conversion_fail(conversion, path, "NOT_FINITE", "the function returned %s, which JSON cannot represent",
                          isnan(number) ? "NaN"
                          : number > 0  ? "infinity"
                                        : "minus infinity");
    return NULL;
}

static bool bool_in(struct conversion *conversion, const struct value_path *path, const struct type *type,
                    tn_value value, void *at) {
    int32_t truth;
    (void)type;
    if (tn.value->as_bool(value, &truth) != TN_OK) return fail_wrong_kind(conversion, path, value, "true or false");
    *(uint8_t *)at = truth != 0;
    return true;
}

static tn_value bool_out(struct conversion *conversion, const struct value_path *path, const struct type *type,
                         const void *at) {
    (void)conversion, (void)path, (void)type;
    return tn_bool(*(const uint8_t *)at != 0);
}

static bool enum_in(struct conversion *conversion, const struct value_path *path, const struct type *type,
                    tn_value value, void *at) {
    const char *name = tn_chars(value, NULL);
    struct nearest nearest = {.name = name};
    if (name == NULL && type->open) return integer_in(conversion, path, type->base, value, at);
    if (name == NULL) return fail_wrong_kind(conversion, path, value, "one of its names, as a text");
    for (uint32_t i = 0; i < type->value_count; i++) {
        if (strcmp(type->values[i].name, name) == 0) {
            type_store(type->base, (uint64_t)type->values[i].value, at);
            return true;
        }
        nearest_add_candidate(&nearest, type->values[i].name);
    }
    const char *near = nearest.best;
    return conversion_fail(conversion, path, "INVALID_INPUT", "unknown name `%.60s`%s%s%s", name,
                           near != NULL ? "; did you mean `" : "; see the names in its schema",
                           near != NULL ? near : "", near != NULL ? "`?" : "");
}

static tn_value enum_out(struct conversion *conversion, const struct value_path *path, const struct type *type,
                         const void *at) {
    uint64_t bits = type_load(type->base, at);
    for (uint32_t i = 0; i < type->value_count; i++)
        if ((uint64_t)type->values[i].value == bits) return tn_text(type->values[i].name);
    return integer_out(conversion, path, type->base, at);
}

/* ---- Texts and bytes ---- */

static bool string_in(struct conversion *conversion, const struct value_path *path, const struct type *type,
                      tn_value value, void *at) {
    uint64_t length;
    const char *text = tn_chars(value, &length);
    (void)type;
    if (text == NULL) return fail_wrong_kind(conversion, path, value, "a text");
    if (memchr(text, 0, length) != NULL)
        return conversion_fail(conversion, path, "INVALID_INPUT",
                               "found a NUL character, which would end the text; remove it");
    char *copy =
        tn_arena_copy(&conversion->arena, text, length); /* a copy, because some functions modify their input */
    if (copy == NULL) return fail_no_memory(conversion);
    memcpy(at, &copy, sizeof copy);
    return true;
}

tn_value convert_text(struct conversion *conversion, const struct value_path *path, const char *text, size_t length) {
    tn_value value = tn_text_n(text, length);
    if (value == NULL)
        (void)conversion_fail(conversion, path, "NOT_TEXT",
                              "the function returned bytes that are not UTF-8; describe them as a buffer");
    return value;
}

static tn_value string_out(struct conversion *conversion, const struct value_path *path, const struct type *type,
                           const void *at) {
    const char *text;
    (void)type;
    memcpy(&text, at, sizeof text);
    if (text == NULL) return tn_null();
    size_t length = strnlen(text, (size_t)BUFFER_MAX + 1);
    if (length <= BUFFER_MAX) return convert_text(conversion, path, text, length);
    (void)conversion_fail(conversion, path, "LIMIT", "the function returned a text of more than %u bytes", BUFFER_MAX);
    return NULL;
}

bool convert_bytes(struct conversion *conversion, const struct value_path *path, tn_value value, const void **bytes,
                   uint64_t *length) {
    *bytes =
        tn.value->kind(value) == TN_STRING ? (const void *)tn_chars(value, length) : tn.value->as_bytes(value, length);
    if (tn.value->kind(value) != TN_STRING && tn.value->kind(value) != TN_BYTES)
        return fail_wrong_kind(conversion, path, value, "bytes, or a text");
    if (*length > BUFFER_MAX)
        return conversion_fail(conversion, path, "LIMIT", "found %" PRIu64 " bytes, the limit is %u", *length,
                               BUFFER_MAX);
    if (*bytes == NULL) *bytes = "";
    return true;
}

/* ---- Handles ---- */

bool convert_handle(struct conversion *conversion, const struct value_path *path, const struct type *type,
                    tn_value value, bool frees, void **out) {
    const char *text = tn_chars(value, NULL);
    size_t prefix = strlen(type->name);
    char *end = NULL;
    if (text == NULL) return fail_wrong_kind(conversion, path, value, "a handle, as a text");
    bool good = strncmp(text, type->name, prefix) == 0 && text[prefix] == ':' && text[prefix + 1] >= '0' &&
                text[prefix + 1] <= '9';
    unsigned long long number = good ? strtoull(text + prefix + 1, &end, 10) : 0;
    if (!good || *end != 0)
        return conversion_fail(conversion, path, "INVALID_INPUT", "found `%.40s`, expected a handle like `%s:1`", text,
                               type->name);
    struct acquired *acquired = tn_arena_alloc(&conversion->arena, sizeof *acquired);
    if (acquired == NULL) return fail_no_memory(conversion);
    const char *why = handle_acquire(type, number, frees, &acquired->handle);
    if (why != NULL) return conversion_fail(conversion, path, "INVALID_HANDLE", "`%.40s`: %s", text, why);
    acquired->frees = frees;
    acquired->next = conversion->acquired;
    conversion->acquired = acquired;
    *out = handle_pointer(acquired->handle);
    return true;
}

static bool handle_in(struct conversion *conversion, const struct value_path *path, const struct type *type,
                      tn_value value, void *at) {
    void *pointer = NULL;
    if (!convert_handle(conversion, path, type, value, false, &pointer)) return false;
    memcpy(at, &pointer, sizeof pointer);
    return true;
}

static tn_value handle_out(struct conversion *conversion, const struct value_path *path, const struct type *type,
                           const void *at) {
    void *pointer;
    uint64_t number;
    memcpy(&pointer, at, sizeof pointer);
    if (pointer == NULL) return tn_null();
    int32_t status = handle_register(type, pointer, &number);
    if (status == TN_OK) {
        char *text = tn_arena_format(&conversion->arena, "%s:%" PRIu64, type->name, number);
        return text != NULL ? tn_text(text) : NULL;
    }
    if (type->free != NULL) type->free(pointer); /* the caller has no handle to free it with */
    (void)conversion_fail(conversion, path, "LIMIT", "all %u handles are in use; free some", HANDLES_MAX);
    return NULL;
}

static bool pointer_in(struct conversion *conversion, const struct value_path *path, const struct type *type,
                       tn_value value, void *at) {
    int64_t address = 0;
    (void)type;
    if (tn.value->kind(value) != TN_NULL && tn.value->as_int(value, &address) != TN_OK)
        return fail_wrong_kind(conversion, path, value, "null, or a constant");
    intptr_t pointer = (intptr_t)address;
    memcpy(at, &pointer, sizeof pointer);
    return true;
}

static tn_value pointer_out(struct conversion *conversion, const struct value_path *path, const struct type *type,
                            const void *at) {
    (void)conversion, (void)path, (void)type, (void)at;
    return tn_null();
}

/* ---- Structs ---- */

static bool chars_in(struct conversion *conversion, const struct value_path *path, const struct field *field,
                     tn_value value, char *at) {
    uint64_t length;
    const char *text = tn_chars(value, &length);
    if (text == NULL) return fail_wrong_kind(conversion, path, value, "a text");
    if (length >= field->chars || memchr(text, 0, length) != NULL)
        return conversion_fail(conversion, path, "INVALID_INPUT",
                               "found %" PRIu64 " bytes, expected at most %u, and no NUL among them", length,
                               field->chars - 1);
    memcpy(at, text, length);
    return true;
}

static bool field_in(struct conversion *conversion, const struct value_path *path, const struct field *field,
                     tn_value value, char *at) {
    if (field->chars != 0) return chars_in(conversion, path, field, value, at);
    if (field->type->kind == TYPE_STRING && tn.value->kind(value) == TN_NULL) return true; /* the memory is zeroed */
    if (field->count == 0) return convert_in(conversion, path, field->type, value, at);
    if (tn.value->kind(value) != TN_ARRAY || tn.value->count(value) != field->count)
        return conversion_fail(conversion, path, "INVALID_INPUT", "found %s of %" PRIu64 ", expected an array of %u",
                               tn_kind_name(value), tn.value->count(value), field->count);
    for (uint32_t i = 0; i < field->count; i++) {
        struct value_path inner = {path, NULL, i};
        if (!convert_in(conversion, &inner, field->type, tn.value->at(value, i), at + (size_t)i * field->type->size))
            return false;
    }
    return true;
}

static bool struct_in(struct conversion *conversion, const struct value_path *path, const struct type *type,
                      tn_value value, void *at) {
    uint64_t known = 0;
    if (tn.value->kind(value) != TN_OBJECT) return fail_wrong_kind(conversion, path, value, "an object");
    memset(at, 0, type->size);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct field *field = &type->fields[i];
        struct value_path inner = {path, field->name, 0};
        tn_value member = tn_get(value, field->name);
        if (member != NULL) known++;
        if (member == NULL && field->type->kind == TYPE_POINTER) continue;
        if (member == NULL) return conversion_fail(conversion, &inner, "INVALID_INPUT", "is missing");
        if (!field_in(conversion, &inner, field, member, (char *)at + field->offset)) return false;
    }
    if (known == tn.value->count(value)) return true;
    return conversion_fail(conversion, path, "INVALID_INPUT", "has members that %s does not have", type->name);
}

static tn_value field_out(struct conversion *conversion, const struct value_path *path, const struct field *field,
                          const char *at) {
    if (field->chars != 0) return convert_text(conversion, path, at, strnlen(at, field->chars));
    if (field->count == 0) return convert_out(conversion, path, field->type, at);
    tn_builder *builder = tn_builder_new();
    bool good = true;
    tn.value->begin(builder, TN_ARRAY);
    for (uint32_t i = 0; good && i < field->count; i++) {
        struct value_path inner = {path, NULL, i};
        tn_value item = convert_out(conversion, &inner, field->type, at + (size_t)i * field->type->size);
        good = item != NULL;
        if (good) tn_put_take(builder, NULL, item);
    }
    if (good) tn.value->end(builder);
    return tn_finish(builder);
}

static tn_value struct_out(struct conversion *conversion, const struct value_path *path, const struct type *type,
                           const void *at) {
    tn_builder *builder = tn_builder_new();
    bool good = true;
    tn.value->begin(builder, TN_OBJECT);
    for (uint32_t i = 0; good && i < type->field_count; i++) {
        const struct field *field = &type->fields[i];
        struct value_path inner = {path, field->name, 0};
        if (field->type->kind == TYPE_POINTER) continue;
        tn_value member = field_out(conversion, &inner, field, (const char *)at + field->offset);
        good = member != NULL;
        if (good) tn_put_take(builder, field->name, member);
    }
    if (good) tn.value->end(builder);
    return tn_finish(builder);
}

/* ---- By kind ---- */

static const struct {
    bool (*in)(struct conversion *conversion, const struct value_path *path, const struct type *type, tn_value value,
               void *at);
    tn_value (*out)(struct conversion *conversion, const struct value_path *path, const struct type *type,
                    const void *at);
} kinds[] = {
    [TYPE_INTEGER] = {integer_in, integer_out}, [TYPE_FLOAT] = {float_in, float_out},
    [TYPE_BOOL] = {bool_in, bool_out},          [TYPE_ENUM] = {enum_in, enum_out},
    [TYPE_STRING] = {string_in, string_out},    [TYPE_HANDLE] = {handle_in, handle_out},
    [TYPE_POINTER] = {pointer_in, pointer_out}, [TYPE_STRUCT] = {struct_in, struct_out},
};

bool convert_in(struct conversion *conversion, const struct value_path *path, const struct type *type, tn_value value,
                void *at) {
    return kinds[type->kind].in(conversion, path, type, value, at);
}

tn_value convert_out(struct conversion *conversion, const struct value_path *path, const struct type *type,
                     const void *at) {
    tn_value value = kinds[type->kind].out(conversion, path, type, at);
    if (value == NULL) (void)fail_no_memory(conversion); /* keeps an earlier failure */
    return value;
}
