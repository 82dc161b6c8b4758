/*
 * reader.h - what the readers of a description share: positions for messages, known keys, names and numbers.
 *
 * Reading continues after a fault, so that all faults of a description are reported together. A description with faults
 * is not used.
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
    const char *type, *function, *parameter; /* being read; NULL: not inside one */
    const struct node *effects;              /* the default of functions that declare no effects */
    uint32_t type_count;
    uint32_t constant_count;
};

/* Reports the fault. Returns false. */
__attribute__((format(printf, 3, 4))) bool reader_fault(struct reader *reader, const struct node *node,
                                                        const char *format, ...);
/* Checks that the node is a mapping with only these keys (NULL-terminated). Reports a fault otherwise. */
bool reader_check_keys(struct reader *reader, const struct node *node, const char *what, const char *const *keys);
/* Returns the text of a key. NULL if it is absent, or if it is not a text (reported). */
const char *reader_text(struct reader *reader, const struct node *mapping, const char *key);
/* Returns a name that is valid in C. NULL if it is missing or invalid (reported). */
const char *reader_name(struct reader *reader, const struct node *mapping, const char *key);
bool reader_is_name(const char *text);
/* Returns the boolean of a key; false if absent. */
bool reader_boolean(struct reader *reader, const struct node *mapping, const char *key);
/* Reads an integer, or the name of a constant. False if it is neither (reported). */
bool reader_integer(struct reader *reader, const struct node *node, const char *what, int64_t *out);
/* Reads a size within the limits; returns `otherwise` if the key is absent. */
uint64_t reader_size(struct reader *reader, const struct node *mapping, const char *key, uint64_t least, uint64_t most,
                     uint64_t otherwise);
void *reader_alloc(struct reader *reader, size_t count, size_t size);
/* The named values of `values`: a mapping, or a list of constants' names. */
bool reader_values(struct reader *reader, const struct node *node, struct named_value **out, uint32_t *count);

/* types_read.c: reads the library's types; returns the type that a node names, or NULL (reported). */
void types_read(struct reader *reader, const struct node *types);
const struct type *type_lookup(struct reader *reader, const struct node *node);
/* Returns an enumeration of `values` over `base`. NULL if they are invalid (reported). */
const struct type *type_enumerate(struct reader *reader, const struct type *base, const struct node *values, bool open);

/* function.c */
bool function_read(struct reader *reader, const struct node *node, struct function *function);
void function_free(struct function *function);
/* Finds the function's symbols in the open library, and prepares the call. */
bool function_link(struct function *function, struct faults *faults);

#endif
