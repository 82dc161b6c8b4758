/*
 * web_query.h - the query of a URL: "a=1&b=x%20y&b=z" as {"a": "1", "b": ["x y", "z"]}.
 *
 * Thread: any.
 */
#ifndef TENON_HOST_SERVER_WEB_WEB_QUERY_H
#define TENON_HOST_SERVER_WEB_WEB_QUERY_H

#include "adl/value/value.h"
#include <stdbool.h>

/* *out is a new reference. False if it is malformed, or has more than WEB_QUERY_MAX members. */
bool web_query_read(const char *query, tn_value *out);
/* True if a member seems to contain a key: `key`, `api_key`, `access_token`. */
bool web_query_has_key(const char *query);

#endif
