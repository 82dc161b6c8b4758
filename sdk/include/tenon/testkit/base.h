/* tenon/testkit/base.h - assertions and casts, for the other headers of this folder; include <tenon/testkit.h>. */
#ifndef TENON_TESTKIT_BASE_H
#define TENON_TESTKIT_BASE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon.h>
#include <tenon/util/cast.h>
#include <tenon/util/utf8.h>

#ifdef __cplusplus
#define TN_TEST_POINTER(type, pointer) reinterpret_cast<type>(reinterpret_cast<uintptr_t>(pointer))
#else
#define TN_TEST_POINTER(type, pointer) ((type)(uintptr_t)(pointer))
#endif

#ifndef TN_TEST_ASSERT
#define TN_TEST_ASSERT(condition)                                                                                      \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            (void)fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
#endif

/* The length of a text argument: TN_Z means that it ends at its NUL. */
static inline uint64_t tn_test_length(const char *text, uint64_t length) {
    return length == TN_Z ? strlen(text) : length;
}

#endif
