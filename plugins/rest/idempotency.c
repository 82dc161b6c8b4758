/* idempotency.c - when a request has an idempotency key, and under which name. */
#include "idempotency.h"
#include <strings.h>

bool method_is_safe(const char *method) {
    static const char *const names[] = {"GET", "HEAD", "OPTIONS", "TRACE"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(names[i], method) == 0) return true;
    return false;
}

const char *idempotency_header_name(tn_value configured) {
    if (configured == NULL) return "Idempotency-Key";
    return tn_chars(configured, NULL);
}

bool idempotency_applies(tn_value configured, const char *method) {
    return idempotency_header_name(configured) != NULL && !method_is_safe(method);
}

bool headers_have(tn_value headers, const char *name) {
    for (uint64_t i = 0, count = tn.value->count(headers); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(headers, i, &key, &value) == TN_OK && strcasecmp(tn_chars(key, NULL), name) == 0)
            return true;
    }
    return false;
}

tn_value idempotency_key(tn_task task) {
    tn_value context = tn_context(task), id = tn_get(context, "task_id");
    tn_value key = id != NULL ? tn_retain(id) : NULL;
    tn_release(context);
    return key;
}
