/*
 * convert.h - values into C's memory and back, one type at a time; nothing that does not fit is made to fit.
 *
 *     struct conversion conversion = CONVERSION_INIT;
 *     int8_t small;
 *     if (!convert_in(&conversion, NULL, "x", type, value, &small)) return tn_fail(task, conversion.code, …message);
 *     conversion_finish(&conversion);
 *
 * Memory that a value needs beside its place (texts, structs) is the conversion's and lives as long as it does. Handles
 * that were taken from the table are held until it is finished. [any] One thread at a time.
 */
#ifndef TENON_PLUGINS_FFI_CONVERT_H
#define TENON_PLUGINS_FFI_CONVERT_H

#include "describe.h"

/* Where in the arguments or the result: a chain of names. */
struct place {
    const struct place *outer; /* NULL: none */
    const char *name;          /* NULL: index counts */
    uint64_t index;
};

struct handle;
struct held;
struct conversion {
    struct arena arena;
    struct held *held;
    const char *code, *message; /* of the first failure; NULL: none */
};
#define CONVERSION_INIT                                                                                                \
    { ARENA_INIT, NULL, NULL, NULL }

void conversion_finish(struct conversion *conversion);
/* Keeps the first failure; false. */
__attribute__((format(printf, 4, 5))) bool conversion_fail(struct conversion *conversion, const struct place *place,
                                                           const char *code, const char *format, ...);

/* Into type->size bytes at `at`; of a struct: its bytes themselves. False: see `message`. */
bool convert_in(struct conversion *conversion, const struct place *place, const struct type *type, tn_value value,
                void *at);
/* A handle: `frees` takes it for itself alone. */
bool convert_handle(struct conversion *conversion, const struct place *place, const struct type *type, tn_value value,
                    bool frees, void **out);
/* One reference; NULL: see `message`. */
tn_value convert_out(struct conversion *conversion, const struct place *place, const struct type *type, const void *at);
tn_value convert_text(struct conversion *conversion, const struct place *place, const char *text, size_t length);
/* The bytes of a buffer: bytes, or a text's. */
bool convert_bytes(struct conversion *conversion, const struct place *place, tn_value value, const void **bytes,
                   uint64_t *length);
/* Handles that were taken to be freed are gone (`freed`) or are the table's again. */
void conversion_settle(struct conversion *conversion, bool freed);

/* The bytes of an integer type, from and to 64 bits; sign-extended where the type is signed. */
void type_store(const struct type *type, uint64_t bits, void *at);
uint64_t type_load(const struct type *type, const void *at);
/* The range of an integer type; `most` is exact. */
void type_range(const struct type *type, int64_t *least, uint64_t *most);

#endif
