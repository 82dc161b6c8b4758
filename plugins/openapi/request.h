/*
 * request.h - a tool's arguments as an HTTP request (OpenAPI 3.1, 4.8.12: parameters; 4.8.14: media types).
 */
#ifndef TENON_PLUGINS_OPENAPI_REQUEST_H
#define TENON_PLUGINS_OPENAPI_REQUEST_H

#include "service.h"

#define URL_MAX 16384u

/*
 * A request for tenon.http, a new reference. NULL: *why says what is wrong with the arguments, or is NULL where there
 * was no memory. Every one of operation->auths has its value, or its token.
 */
tn_value request_make(const struct operation *operation, tn_value arguments, const char **why);

#endif
