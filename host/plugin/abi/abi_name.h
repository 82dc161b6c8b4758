/*
 * abi_name.h - names that plugins pass with a length, for functions of the host that take NUL-terminated ones.
 */
#ifndef TENON_HOST_PLUGIN_ABI_ABI_NAME_H
#define TENON_HOST_PLUGIN_ABI_ABI_NAME_H

#include <stdint.h>
#include <tenon.h>

/*
 * The name as a text that the caller frees with mem_free. U+0000, which no name of the host contains, becomes U+FFFD,
 * so that such a name is not found and its message shows it whole.
 */
char *abi_name(const char *name, uint64_t length);

/* Calls bind with the name. TN_INVALID if an argument is NULL. */
int32_t abi_bind_name(int32_t (*bind)(tn_binder *binder, const char *name, uint32_t *index), tn_binder *binder,
                      const char *name, uint64_t length, uint32_t *index);

#endif
