/*
 * text.h - a TEXT of a request (tenon/http.h): a string, {secret: NAME, optional?}, or an array of those, joined.
 *
 *     for (size_t i = 0; i < text_count(value); i++) {
 *         struct text_part part = text_at(value, i);          // of one that text_fault has nothing against
 *         if (part.secret) fetch(part.secret); else add(part.literal);
 *     }
 */
#ifndef TENON_HOST_HTTP_TEXT_H
#define TENON_HOST_HTTP_TEXT_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"

struct secrets;

#define TEXT_PARTS_MAX 100u /* of an array */
#define TEXT_NAME_MAX  256u /* bytes of a secret's name */

struct text_part {
    tn_value literal;   /* a string; NULL where it is a secret */
    const char *secret; /* its name, borrowed */
    bool optional;
};

/* NULL, or what was found instead of a TEXT. */
const char *text_fault(tn_value text);
size_t text_count(tn_value text);
struct text_part text_at(tn_value text, size_t index);
bool text_has_secret(tn_value text);
/*
 * Joined, with secrets in place: *out a new reference, NULL where an optional secret is not there. SECRET_NOT_FOUND.
 */
int32_t text_fill(tn_value text, struct secrets *secrets, int64_t now_ms, tn_value *out, struct error *error);
/* With {secret:NAME} in their places. `whole` is false where what is written out is not to be seen. */
void text_redact(struct buffer *out, tn_value text, bool whole);

#endif
