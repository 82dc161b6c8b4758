/*
 * types_read.c - reads the types that a description defines: enumerations, structs and handles.
 *
 * A struct has the layout of C: each field starts at the next multiple of its alignment, and the size is a multiple of
 * the largest alignment.
 */
#include "reader.h"
#include <inttypes.h>

static struct type *library_lookup_type(const struct library *library, const char *name) {
    for (struct type *type = library->types; type != NULL; type = type->next)
        if (strcmp(type->name, name) == 0) return type;
    return NULL;
}

const struct type *type_lookup(struct reader *reader, const struct node *node) {
    const char *name = node_string(node);
    if (name == NULL) {
        (void)reader_fault(reader, node, "`type` must be the name of a type");
        return NULL;
    }
    const struct type *type = library_lookup_type(reader->library, name);
    if (type == NULL) type = type_builtin(name);
    if (type != NULL) return type;
    if (strcmp(name, "...") == 0) {
        (void)reader_fault(reader, node,
                           "a variadic function cannot be described: the types of its further arguments differ from "
                           "call to call; describe a function that takes a fixed list");
        return NULL;
    }
    if (strchr(name, '*') != NULL) {
        (void)reader_fault(
            reader, node,
            "`%.60s`: C pointer syntax is not supported; use `string` for a text and `buffer` for memory; "
            "structs and handles are passed by pointer; an output pointer is `direction: out`",
            name);
        return NULL;
    }
    struct nearest nearest = {.name = name};
    type_add_builtins(&nearest);
    for (const struct type *own = reader->library->types; own != NULL; own = own->next)
        nearest_add_candidate(&nearest, own->name);
    (void)reader_fault(reader, node, "unknown type `%.60s`%s%s%s", name, nearest.best != NULL ? "; did you mean `" : "",
                       nearest.best != NULL ? nearest.best : "", nearest.best != NULL ? "`?" : "");
    return NULL;
}

/* ---- Enumerations ---- */

static bool integer_type_fits(const struct type *type, int64_t value) {
    bool positive = value >= 0;
    unsigned bits = type->size * 8 - (type->is_signed ? 1 : 0);
    if (!positive) return type->is_signed && (bits == 63 || value >= -((int64_t)1 << bits));
    return bits >= 63 || value < (int64_t)1 << bits;
}

static bool read_enum_values(struct reader *reader, struct type *type, const struct type *base,
                             const struct node *values) {
    if (base->kind != TYPE_INTEGER)
        return reader_fault(reader, values, "named values are integers, but `%s` is not an integer type", base->name);
    type->kind = TYPE_ENUM;
    type->base = base;
    type->is_signed = base->is_signed;
    type->size = base->size;
    type->alignment = base->alignment;
    type->ffi = base->ffi;
    if (!reader_values(reader, values, &type->values, &type->value_count)) return false;
    for (uint32_t i = 0; i < type->value_count; i++)
        if (!integer_type_fits(base, type->values[i].value))
            return reader_fault(reader, values, "`%s` is %" PRId64 ", which does not fit `%s`", type->values[i].name,
                                type->values[i].value, base->name);
    return true;
}

const struct type *type_enumerate(struct reader *reader, const struct type *base, const struct node *values,
                                  bool open) {
    struct type *type = reader_alloc(reader, 1, sizeof *type);
    if (type == NULL || !read_enum_values(reader, type, base, values)) return NULL;
    type->name = base->name;
    type->open = open;
    return type;
}

static bool read_enum(struct reader *reader, const struct node *node, struct type *type) {
    static const char *const keys[] = {"kind", "type", "values", "open", NULL};
    const struct node *base = node_get(node, "type");
    if (!reader_check_keys(reader, node, "an enumeration", keys)) return false;
    type->open = reader_boolean(reader, node, "open");
    const struct type *integer = base != NULL ? type_lookup(reader, base) : type_builtin("int");
    return integer != NULL && read_enum_values(reader, type, integer, node_get(node, "values"));
}

/* ---- Structs ---- */

static bool layout_field(struct reader *reader, const struct node *node, struct type *type, struct field *field) {
    uint32_t alignment = field->chars != 0 ? 1 : field->type->alignment;
    uint64_t size = field->chars != 0 ? field->chars : field->type->size;
    if (field->count != 0) size *= field->count;
    uint64_t offset = ((uint64_t)type->size + alignment - 1) / alignment * alignment;
    if (size > STRUCT_MAX || offset + size > STRUCT_MAX)
        return reader_fault(reader, node, "the struct has more than %u bytes", STRUCT_MAX);
    field->offset = (uint32_t)offset;
    type->size = (uint32_t)(offset + size);
    if (alignment > type->alignment) type->alignment = alignment;
    return true;
}

static bool read_field(struct reader *reader, const struct node *node, struct type *type, struct field *field) {
    static const char *const keys[] = {"name", "description", "type", "count", "size", NULL};
    if (!reader_check_keys(reader, node, "a field", keys)) return false;
    field->name = reader_name(reader, node, "name");
    field->description = reader_text(reader, node, "description");
    field->type = type_lookup(reader, node_get(node, "type"));
    field->count = (uint32_t)reader_size(reader, node, "count", 1, STRUCT_MAX, 0);
    field->chars = (uint32_t)reader_size(reader, node, "size", 1, STRUCT_MAX, 0);
    if (field->name == NULL || field->type == NULL) return false;
    for (const struct field *other = type->fields; other < field; other++)
        if (strcmp(other->name, field->name) == 0)
            return reader_fault(reader, node, "duplicate field `%s`", field->name);
    enum type_kind kind = field->type->kind;
    if (kind == TYPE_VOID || kind == TYPE_BUFFER || kind == TYPE_HANDLE)
        return reader_fault(reader, node,
                            "field `%s`: a struct cannot contain a `%s`; describe it as a `pointer`, "
                            "which is always null",
                            field->name, field->type->name);
    if (field->chars != 0 && (kind != TYPE_STRING || field->count != 0))
        return reader_fault(reader, node, "field `%s`: `size` is for a `string` stored in the struct itself",
                            field->name);
    if (field->count != 0 && kind != TYPE_INTEGER && kind != TYPE_FLOAT && kind != TYPE_BOOL && kind != TYPE_ENUM)
        return reader_fault(reader, node, "field `%s`: the items of an array must be numbers", field->name);
    return layout_field(reader, node, type, field);
}

static bool read_struct(struct reader *reader, const struct node *node, struct type *type) {
    static const char *const keys[] = {"kind", "fields", NULL};
    const struct node *fields = node_get(node, "fields");
    if (!reader_check_keys(reader, node, "a struct", keys)) return false;
    if (fields == NULL || fields->kind != NODE_LIST || fields->count == 0 || fields->count > FIELDS_MAX)
        return reader_fault(reader, node, "`fields` must be a list of 1 to %u fields", FIELDS_MAX);
    type->ffi = &ffi_type_pointer;
    type->alignment = 1;
    type->fields = reader_alloc(reader, fields->count, sizeof *type->fields);
    for (uint32_t i = 0; type->fields != NULL && i < fields->count; i++) {
        if (!read_field(reader, fields->items[i], type, &type->fields[i])) return false;
        type->field_count++;
    }
    type->size = (type->size + type->alignment - 1) / type->alignment * type->alignment;
    type->kind = TYPE_STRUCT;
    return type->fields != NULL;
}

/* ---- Handles ---- */

static bool read_handle(struct reader *reader, const struct node *node, struct type *type) {
    static const char *const keys[] = {"kind", "free", NULL};
    if (!reader_check_keys(reader, node, "a handle", keys)) return false;
    type->kind = TYPE_HANDLE;
    type->size = sizeof(void *);
    type->alignment = _Alignof(void *);
    type->ffi = &ffi_type_pointer;
    type->free_name = node_get(node, "free") != NULL ? reader_name(reader, node, "free") : NULL;
    return node_get(node, "free") == NULL || type->free_name != NULL;
}

/* ---- All types ---- */

static const struct {
    const char *name;
    bool (*read)(struct reader *reader, const struct node *node, struct type *type);
} kinds[] = {{"enum", read_enum}, {"struct", read_struct}, {"handle", read_handle}};

static void read_library_type(struct reader *reader, const struct node *key, const struct node *node) {
    struct type *type = reader_alloc(reader, 1, sizeof *type);
    const struct node *kind = node_get(node, "kind");
    if (type == NULL) return;
    reader->type = type->name = key->text;
    size_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && !node_is_text(kind, kinds[i].name)) i++;
    if (!reader_is_name(key->text))
        (void)reader_fault(reader, key, "a type's name has letters, digits and `_`, at most %u", NAME_BYTES_MAX);
    else if (type_builtin(key->text) != NULL)
        (void)reader_fault(reader, key, "a type with this name exists already");
    else if (i == sizeof kinds / sizeof *kinds)
        (void)reader_fault(reader, kind != NULL ? kind : key, "`kind` must be enum, struct or handle");
    else if (kinds[i].read(reader, node, type)) {
        type->next = reader->library->types;
        reader->library->types = type;
    }
    reader->type = NULL;
}

void types_read(struct reader *reader, const struct node *types) {
    if (types == NULL) return;
    if (types->kind != NODE_MAPPING) {
        (void)reader_fault(reader, types, "`types` must be a mapping of names to types");
        return;
    }
    if (types->count > TYPES_MAX) {
        (void)reader_fault(reader, types, "found %u types, the limit is %u", types->count, TYPES_MAX);
        return;
    }
    for (uint32_t i = 0; i < types->count; i++) read_library_type(reader, types->items[2 * i], types->items[2 * i + 1]);
}
