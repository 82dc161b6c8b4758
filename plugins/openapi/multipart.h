/*
 * multipart.h - the body of a request as multipart/form-data (RFC 7578).
 */
#ifndef TENON_PLUGINS_OPENAPI_MULTIPART_H
#define TENON_PLUGINS_OPENAPI_MULTIPART_H

#include "upload.h"

/* Why there is no body, if it is longer than a body of tenon.http. */
#define MULTIPART_TOO_LONG "the body is longer than 64 MiB, which is the limit; base64 makes a file a third longer"

/*
 * Returns the body, a new reference: text, or bytes if it has a file. *content_type receives the header's value, a new
 * reference. NULL on failure: *why is the reason, or NULL if memory ran out. An array is one part for each item; other
 * values than strings and files are JSON.
 */
tn_value multipart_make_body(const struct body *body, tn_value value, const struct uploads *uploads,
                             tn_value *content_type, const char **why);

#endif
