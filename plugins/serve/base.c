/*
 * base.c - the clock, and failures.
 */
#include "base.h"
#include <stdarg.h>

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

#define MESSAGE_MAX 500

int64_t serve_now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

int32_t serve_fail(tn_value *error, const char *code, const char *format, ...) {
    char message[MESSAGE_MAX];
    va_list arguments;
    if (error == NULL) return TN_FAILED;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    *error = tn_error(code, message);
    return TN_FAILED;
}
