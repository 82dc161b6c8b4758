/*
 * encode.h - encodes values for HTTP: scalars in URLs and forms, and basic authentication.
 *
 *     struct tn_text_buffer url = TN_TEXT_BUFFER(8192);
 *     rest_append_scalar(&url, argument, true, "");
 *     tn_value header = rest_basic_auth(user, password);
 */
#ifndef TENON_PLUGINS_REST_ENCODE_H
#define TENON_PLUGINS_REST_ENCODE_H

#include <tenon/easy.h>
#include <tenon/util/text.h>

/*
 * Appends a string itself, and anything else as JSON. With `percent`, percent-encoded but for the characters of `keep`.
 * NULL, no value, makes the text fail with TN_INVALID.
 */
void rest_append_scalar(struct tn_text_buffer *text, tn_value value, bool percent, const char *keep);
/* "Basic " and the encoded credentials (RFC 7617), a new reference; NULL if memory runs out or they are too long. */
tn_value rest_basic_auth(const char *user, const char *password);

#endif
