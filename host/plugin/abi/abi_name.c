/*
 * abi_name.c - names with a length.
 */
#include "host/plugin/abi/abi_name.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/plugin/abi/abi_builder.h"
#include <string.h>

char *abi_name(const char *name, uint64_t length) {
    size_t left = abi_text_length(name, length);
    if (!memchr(name, 0, left)) return mem_text_n(name, left);
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    for (size_t i = 0; i < left; i++) {
        if (name[i])
            buffer_char(&out, name[i]);
        else
            buffer_text(&out, "\xef\xbf\xbd");
    }
    return buffer_detach(&out, NULL);
}

int32_t abi_bind_name(int32_t (*bind)(tn_binder *binder, const char *name, uint32_t *index), tn_binder *binder,
                      const char *name, uint64_t length, uint32_t *index) {
    if (!binder || !name || !index) return TN_INVALID;
    char *text = abi_name(name, length);
    int32_t status = bind(binder, text, index);
    mem_free(text);
    return status;
}
