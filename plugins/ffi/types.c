/*
 * types.c - the built-in types of descriptions: one row each.
 *
 * C's types have the sizes of the machine that the plugin was built for.
 */
#include "describe.h"
#include <limits.h>
#include <sys/types.h>

#define FFI_INTEGER(type)                                                                                              \
    ((type)-1 < 1 ? (sizeof(type) == 1   ? &ffi_type_sint8                                                             \
                     : sizeof(type) == 2 ? &ffi_type_sint16                                                            \
                     : sizeof(type) == 4 ? &ffi_type_sint32                                                            \
                                         : &ffi_type_sint64)                                                           \
                  : (sizeof(type) == 1   ? &ffi_type_uint8                                                             \
                     : sizeof(type) == 2 ? &ffi_type_uint16                                                            \
                     : sizeof(type) == 4 ? &ffi_type_uint32                                                            \
                                         : &ffi_type_uint64))
#define INTEGER(c_name, type)                                                                                          \
    {                                                                                                                  \
        .name = (c_name), .kind = TYPE_INTEGER, .is_signed = (type)-1 < 1, .size = sizeof(type),                       \
        .alignment = _Alignof(type), .ffi = FFI_INTEGER(type)                                                          \
    }
#define OTHER(c_name, its_kind, type, how)                                                                             \
    { .name = (c_name), .kind = (its_kind), .size = sizeof(type), .alignment = _Alignof(type), .ffi = &(how) }

/* clang-format off */
static const struct type builtins[] = {
    {.name = "void", .kind = TYPE_VOID, .ffi = &ffi_type_void},
    INTEGER("int8", int8_t),   INTEGER("uint8", uint8_t),
    INTEGER("int16", int16_t), INTEGER("uint16", uint16_t),
    INTEGER("int32", int32_t), INTEGER("uint32", uint32_t),
    INTEGER("int64", int64_t), INTEGER("uint64", uint64_t),
    INTEGER("short", short),   INTEGER("ushort", unsigned short),
    INTEGER("int", int),       INTEGER("uint", unsigned),
    INTEGER("long", long),     INTEGER("ulong", unsigned long),
    INTEGER("size_t", size_t), INTEGER("ssize_t", ssize_t),
    OTHER("bool", TYPE_BOOL, _Bool, ffi_type_uint8),
    OTHER("float", TYPE_FLOAT, float, ffi_type_float),
    OTHER("double", TYPE_FLOAT, double, ffi_type_double),
    OTHER("string", TYPE_STRING, char *, ffi_type_pointer),
    OTHER("buffer", TYPE_BUFFER, void *, ffi_type_pointer),
    OTHER("pointer", TYPE_POINTER, void *, ffi_type_pointer),
};
/* clang-format on */

_Static_assert(sizeof(_Bool) == 1, "a bool is passed as an uint8");

const struct type *type_builtin(const char *name) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(builtins[i].name, name) == 0) return &builtins[i];
    return NULL;
}

void type_add_builtins(struct nearest *nearest) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) nearest_add_candidate(nearest, builtins[i].name);
}
