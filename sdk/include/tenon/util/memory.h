/*
 * tenon/util/memory.h - the allocator that the headers of this folder use.
 *
 * By default it is the host's allocator, reached through `tn` of tenon/easy.h. A file without a host, such as a parser
 * that a fuzzer links, defines both macros before it includes the first header of this folder:
 *
 *     #define TN_UTIL_RESIZE(memory, size) realloc(memory, size)
 *     #define TN_UTIL_RELEASE(memory)      free(memory)
 *     #include <tenon/util/text.h>
 *
 * All files that share a tn_text_buffer or a tn_arena must use the same allocator.
 */
#ifndef TENON_UTIL_MEMORY_H
#define TENON_UTIL_MEMORY_H

#include <stdlib.h>

#ifndef TN_UTIL_RESIZE
#include <tenon/easy.h>
#define TN_UTIL_RESIZE(memory, size) tn.core->resize(tn.host, memory, size)
#define TN_UTIL_RELEASE(memory)      tn.core->release(tn.host, memory)
#endif

#endif
