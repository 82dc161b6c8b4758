/*
 * request_internal.h - what the files about requests share: reading (request.c), filling in (sending.c), permission
 * (permit.c) and what may be written down (redact.c).
 */
#ifndef TENON_HOST_HTTP_REQUEST_INTERNAL_H
#define TENON_HOST_HTTP_REQUEST_INTERNAL_H

#include "adl/value/json.h"
#include "host/http/request.h"

/* Whether a member of `query` is several values, and not one TEXT. */
bool http_request_query_lists(tn_value value);
/* A header whose value is usually a secret; in lower case. */
bool http_request_is_sensitive_header(const char *lower);

#endif
