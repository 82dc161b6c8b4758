/*
 * http_text.h - a TEXT of a request (tenon/http.h): a string, {secret: NAME, optional?}, or an array of these, which is
 * joined.
 *
 *     for (size_t i = 0; i < http_text_count(value); i++) {
 *         struct http_text_part part = http_text_part_at(value, i);          // `value` has passed http_text_fault
 *         if (part.secret) fetch(part.secret); else add(part.literal);
 *     }
 */
#ifndef TENON_HOST_NET_HTTP_TEXT_H
#define TENON_HOST_NET_HTTP_TEXT_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"

struct secrets;

#define HTTP_TEXT_PARTS_MAX 100u /* number of items of an array */
#define HTTP_TEXT_NAME_MAX  256u /* bytes of a secret's name */

struct http_text_part {
    tn_value literal;   /* a string; NULL if the part is a secret */
    const char *secret; /* the name of the secret, borrowed; or NULL */
    bool optional;
};

/* Returns NULL, or a text that says what was found instead of a TEXT. */
const char *http_text_fault(tn_value text);
size_t http_text_count(tn_value text);
struct http_text_part http_text_part_at(tn_value text, size_t index);
bool http_text_has_secret(tn_value text);
/*
 * Joins the parts, with the texts of secrets. *out is a new reference, or NULL if an optional secret is absent. Fails
 * with SECRET_NOT_FOUND.
 */
int32_t http_text_fill(tn_value text, struct secrets *secrets, int64_t now_ms, tn_value *out, struct error *error);
/* Appends the text with {secret:NAME} in place of secrets. If `whole` is false, literal parts are not shown. */
void http_text_redact(struct buffer *out, tn_value text, bool whole);

#endif
