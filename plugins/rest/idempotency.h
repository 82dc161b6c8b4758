/*
 * idempotency.h - the idempotency key of a tool's call as a header of its HTTP request.
 *
 * A request that can change something is sent with the key of its task, so that the service detects a repeat of it
 * (draft-ietf-httpapi-idempotency-key-header). The value is sent without quotes, as the services expect that have the
 * header today.
 *
 *     tn_value name = tn_get(description, "idempotency_header"); // NULL, a name, or false
 *     if (idempotency_applies(name, "POST")) set_header_take(idempotency_header_name(name), idempotency_key(task));
 */
#ifndef TENON_PLUGINS_REST_IDEMPOTENCY_H
#define TENON_PLUGINS_REST_IDEMPOTENCY_H

#include <stdbool.h>
#include <tenon/easy.h>

/* True for GET, HEAD, OPTIONS and TRACE (RFC 9110, 9.2.1). */
bool method_is_safe(const char *method);
/* `configured` is the configuration's `idempotency_header`. Returns NULL if it is false: no header is sent. */
const char *idempotency_header_name(tn_value configured);
/* True if a request with this method is sent with the header. */
bool idempotency_applies(tn_value configured, const char *method);
/* True if an object has a header of this name, in upper or lower case. */
bool headers_have(tn_value headers, const char *name);
/* The key of the task: the id in its context. A new reference; NULL if the task has ended. */
tn_value idempotency_key(tn_task task);

#endif
