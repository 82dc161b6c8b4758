/*
 * secrets_forms.h - the forms in which other programs write a text.
 *
 * A service that repeats a secret often encodes it. These forms are searched for:
 *   - as it is;
 *   - percent-encoded, with the sets of unescaped characters that are common in libraries, in both cases of the digits,
 *     and with `+` for a space, as forms have it;
 *   - as a JSON string without the quotes: also with escaped slashes, with \uXXXX for what is not ASCII, and with
 *     \uXXXX for `<`, `>` and `&`;
 *   - with the entities of HTML;
 *   - in base64 at any position of a longer text, in both alphabets, if it has at least FORMS_BASE64_MIN bytes.
 *
 *     secret_forms_each("s3cret/of+the", 13, add_form, &search);      // s3cret/of+the, s3cret%2Fof%2Bthe, …
 */
#ifndef TENON_HOST_BASE_SECRETS_SECRETS_FORMS_H
#define TENON_HOST_BASE_SECRETS_SECRETS_FORMS_H

#include <stddef.h>

/* In base64, shorter secrets are not searched for, because their forms would be too short. Bytes. */
#define FORMS_BASE64_MIN 8u

/* Calls `form` for each form, also if two are equal. Its text is wiped after the call. */
void secret_forms_each(const char *text, size_t length, void (*form)(void *user, const char *text, size_t length),
                       void *user);

#endif
