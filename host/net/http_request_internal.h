/*
 * http_request_internal.h - shared by http_request.c (reading), http_outgoing.c (filling), http_permit.c (permission)
 * and http_redact.c (redaction).
 */
#ifndef TENON_HOST_NET_HTTP_REQUEST_INTERNAL_H
#define TENON_HOST_NET_HTTP_REQUEST_INTERNAL_H

#include "adl/value/json.h"
#include "host/net/http_request.h"

/* True if a member of `query` is a list of values, not one TEXT. */
bool http_request_query_lists(tn_value value);
/* True if the value of this header is usually secret. Ignores case. */
bool http_request_is_sensitive_header(const char *lower);

#endif
