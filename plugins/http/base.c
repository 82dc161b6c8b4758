/*
 * base.c - failures and strings.
 */
#include "base.h"
#include <stdarg.h>

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

#define MESSAGE_MAX 500

int64_t http_now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

tn_value text_lossy(const char *data, size_t length) {
    tn_value text = tn_text_n(data != NULL ? data : "", length);
    struct tn_text_buffer replaced = {0};
    if (text == NULL && tn_text_append_lossy(&replaced, data, length) == TN_OK)
        text = tn_text_n(replaced.bytes, replaced.length);
    tn_text_free(&replaced);
    return text;
}

static tn_value make_failure(const char *code, tn_value message, const char *phase) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "code", code);
    tn_put_take(builder, "message", message);
    if (phase != NULL) {
        tn_put_begin(builder, "detail", TN_OBJECT);
        tn_put_text(builder, "phase", phase);
        tn.value->end(builder);
    }
    tn.value->end(builder);
    return tn.value->finish(builder);
}

tn_value http_failure(const char *code, const char *format, ...) {
    char message[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return make_failure(code, text_lossy(message, strlen(message)), NULL);
}

tn_value http_failure_memory(void) {
    return http_failure("LIMIT", "not enough memory; send smaller requests or fewer at a time");
}

tn_value http_failure_timeout(const char *phase, const char *what, int64_t ms) {
    char message[MESSAGE_MAX];
    (void)snprintf(message, sizeof message, "%s within %lld ms", what, (long long)ms);
    return http_failure_retryable_take(make_failure("TIMEOUT", text_lossy(message, strlen(message)), phase));
}

tn_value http_failure_retryable_take(tn_value failure) {
    tn_value truth = tn_bool(1), changed = tn.value->set(failure, "retryable", truth);
    tn_release(truth);
    if (changed == NULL) return failure;
    tn_release(failure);
    return changed;
}
