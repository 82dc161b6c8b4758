/*
 * base.c - the clock, and failures.
 */
#include "base.h"
#include <stdarg.h>

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

#define MESSAGE_MAX 500

int64_t http_now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

tn_value http_failure(const char *code, const char *format, ...) {
    char message[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return tn_error(code, message);
}

tn_value http_failure_memory(void) {
    return http_failure("LIMIT", "not enough memory; send smaller requests or fewer at a time");
}

tn_value http_failure_timeout(const char *phase, const char *what, int64_t ms) {
    char message[MESSAGE_MAX];
    (void)snprintf(message, sizeof message, "%s within %lld ms", what, (long long)ms);
    tn_value failure = tn_set_take(tn_error("TIMEOUT", message), "detail", tn_build("{s:s}", "phase", phase));
    return http_failure_retryable_take(failure);
}

tn_value http_failure_retryable_take(tn_value failure) {
    tn_value truth = tn_bool(1);
    (void)tn.value->set(&failure, "retryable", TN_Z, truth);
    tn_release(truth);
    return failure;
}
