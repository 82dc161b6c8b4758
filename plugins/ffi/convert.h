/*
 * convert.h - converts values to C memory and back. A value that does not fit its type is an error, never truncated.
 *
 *     struct conversion conversion = CONVERSION_INIT;
 *     int8_t small;
 *     if (!convert_in(&conversion, NULL, "x", type, value, &small)) return tn_fail(task, conversion.code, …message);
 *     conversion_finish(&conversion);
 *
 * The conversion owns additional memory (of texts and structs) and holds the handles that it looked up, until
 * conversion_finish. Thread: any, one at a time.
 */
#ifndef TENON_PLUGINS_FFI_CONVERT_H
#define TENON_PLUGINS_FFI_CONVERT_H

#include "describe.h"

/* A position in the arguments or the result, as a chain of names. */
struct value_path {
    const struct value_path *outer; /* NULL: outermost */
    const char *name;               /* NULL: `index` is used instead */
    uint64_t index;
};

struct handle;
struct acquired;
struct conversion {
    struct tn_arena arena;
    struct acquired *acquired;
    const char *code, *message; /* of the first failure; NULL if there is no failure */
};
#define CONVERSION_INIT                                                                                                \
    { TN_ARENA, NULL, NULL, NULL }

void conversion_finish(struct conversion *conversion);
/* Records the failure if it is the first one. Returns false. */
__attribute__((format(printf, 4, 5))) bool conversion_fail(struct conversion *conversion, const struct value_path *path,
                                                           const char *code, const char *format, ...);

/* Writes type->size bytes at `at`; for a struct, its content. Returns false on failure: see `message`. */
bool convert_in(struct conversion *conversion, const struct value_path *path, const struct type *type, tn_value value,
                void *at);
/* Looks up a handle. With `frees`, no other call can use the handle until the conversion ends. */
bool convert_handle(struct conversion *conversion, const struct value_path *path, const struct type *type,
                    tn_value value, bool frees, void **out);
/* Returns one reference, or NULL on failure: see `message`. */
tn_value convert_out(struct conversion *conversion, const struct value_path *path, const struct type *type,
                     const void *at);
tn_value convert_text(struct conversion *conversion, const struct value_path *path, const char *text, size_t length);
/* Borrows the bytes of a bytes value or a text. */
bool convert_bytes(struct conversion *conversion, const struct value_path *path, tn_value value, const void **bytes,
                   uint64_t *length);
/* Releases the held handles. If `freed`, those that the call freed are removed from the table. */
void conversion_release_handles(struct conversion *conversion, bool freed);

/* Store and load an integer type. A loaded value is sign-extended to 64 bits if the type is signed. */
void type_store(const struct type *type, uint64_t bits, void *at);
uint64_t type_load(const struct type *type, const void *at);
/* Returns the range of an integer type. */
void type_range(const struct type *type, int64_t *least, uint64_t *most);

#endif
