/*
 * reader.h - what the readers of a description share: places in messages, known keys, names and numbers.
 *
 * Reading goes on after a fault, so that all of a description's are told at once; what was read in between is not used.
 */
#ifndef TENON_PLUGINS_FFI_READER_H
#define TENON_PLUGINS_FFI_READER_H

#include "describe.h"
#include "tree.h"

#define NAME_BYTES_MAX 64u /* of a name in a description */

struct reader {
    struct library *library;
    struct faults *faults;
    bool positions;                          /* a file's: messages have the line */
    const char *type, *function, *parameter; /* being read; NULL: none */
    const struct node *effects;              /* of functions that say nothing */
    uint32_t type_count;
    uint32_t constant_count;
};

/* Tells the fault. False. */
__attribute__((format(printf, 3, 4))) bool reader_fault(struct reader *reader, const struct node *node,
                                                        const char *format, ...);
/* False, and told, unless it is a mapping with none but these keys; the last one is NULL. */
bool reader_keys(struct reader *reader, const struct node *node, const char *what, const char *const *keys);
/* The text of a key; NULL where absent, and where it is none, which is told. */
const char *reader_text(struct reader *reader, const struct node *mapping, const char *key);
/* A name that C could have as well; NULL, and told, where it is missing or none. */
const char *reader_name(struct reader *reader, const struct node *mapping, const char *key);
bool reader_is_name(const char *text);
/* A key's truth: false where absent. */
bool reader_truth(struct reader *reader, const struct node *mapping, const char *key);
/* An integer, or the name of a constant. False, and told, where it is neither. */
bool reader_integer(struct reader *reader, const struct node *node, const char *what, int64_t *out);
/* The same within bounds; `otherwise` where the key is absent. */
uint64_t reader_size(struct reader *reader, const struct node *mapping, const char *key, uint64_t least, uint64_t most,
                     uint64_t otherwise);
void *reader_take(struct reader *reader, size_t count, size_t size);
/* The named values of `values`: a mapping, or a list of constants' names. */
bool reader_values(struct reader *reader, const struct node *node, struct named_value **out, uint32_t *count);

/* types_read.c: the library's own types, and which type a node means; NULL, and told, where none. */
void types_read(struct reader *reader, const struct node *types);
const struct type *type_find(struct reader *reader, const struct node *node);
/* A type like the enumeration `values` over `base`; NULL, and told, where it cannot be. */
const struct type *type_enumerate(struct reader *reader, const struct type *base, const struct node *values, bool open);

/* function.c */
bool function_read(struct reader *reader, const struct node *node, struct function *function);
void function_free(struct function *function);
/* Finds its symbols in the open library, and prepares the call. */
bool function_link(struct function *function, struct faults *faults);

#endif
