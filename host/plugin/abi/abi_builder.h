/*
 * abi_builder.h - the builder of tenon.value/1, and what the files of this folder share about texts and errors.
 */
#ifndef TENON_HOST_PLUGIN_ABI_ABI_BUILDER_H
#define TENON_HOST_PLUGIN_ABI_ABI_BUILDER_H

#include "adl/value/error.h"
#include <stddef.h>
#include <tenon.h>

#define ABI_TEXT_MAX (1u << 30) /* bytes of one string, byte string or JSON text */

/* [any] The length of a text that a plugin passed: TN_Z means NUL-terminated. */
size_t abi_text_length(const char *text, uint64_t length);
/* [any] A string: TN_OK, TN_INVALID if it is not UTF-8, or TN_LIMIT. `utf8` may be NULL if `length` is 0. */
int32_t abi_text(const char *utf8, uint64_t length, tn_value *out);
/* [any] Moves the error into an ERROR, *out, which may be NULL. Returns TN_FAILED. */
int32_t abi_give_error(struct error *error, tn_value *out);

/* As in tn_value_1. */
tn_builder *abi_builder_new(const tn_host *host);
void abi_builder_begin(tn_builder *builder, int32_t kind);
void abi_builder_key(tn_builder *builder, const char *key, uint64_t length);
void abi_builder_add(tn_builder *builder, tn_value value);
void abi_builder_add_text(tn_builder *builder, const char *utf8, uint64_t length);
void abi_builder_end(tn_builder *builder);
int32_t abi_builder_finish(tn_builder *builder, tn_value *out, tn_value *error);

#endif
