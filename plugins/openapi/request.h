/*
 * request.h - converts a tool's arguments to an HTTP request (OpenAPI 3.1, 4.8.12: parameters; 4.8.14: media types).
 */
#ifndef TENON_PLUGINS_OPENAPI_REQUEST_H
#define TENON_PLUGINS_OPENAPI_REQUEST_H

#include "upload.h"

#define URL_MAX 16384u

/*
 * Returns a request for tenon.http, a new reference. On failure it returns NULL, and *why is what is wrong with the
 * arguments, or NULL if memory ran out. The request has the idempotency key of the task. `uploads` has the files of the
 * arguments. Each of operation->auths must have its value or token.
 */
tn_value operation_make_request(const struct operation *operation, tn_value arguments, const struct uploads *uploads,
                                tn_task task, const char **why);

/* The same request for another URL of the service, with the credentials that are in queries. A new reference. */
tn_value operation_make_page_request(const struct operation *operation, tn_value request, tn_value url);

#endif
