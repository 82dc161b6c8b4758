/*
 * http_sign.h - signs a request with AWS's signature version 4.
 *
 * The host signs because the signature covers the bytes that are sent, and because a plugin never sees the secret key.
 *
 *     struct aws_signer signer = {.service = "bedrock", .region = "us-east-1", .key_id = id, .secret_key = key, …};
 *     struct aws_signed made = {.method = "POST", .target = "/model/x/converse", .headers = headers, …};
 *     aws_sign(&signer, &made, &authorization);
 *
 * Thread: any.
 */
#ifndef TENON_HOST_NET_HTTP_SIGN_H
#define TENON_HOST_NET_HTTP_SIGN_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdint.h>

struct http_request;
struct outgoing;
struct secrets;

#define AWS_DATE_SIZE 17                        /* "20150830T123600Z" and a NUL */
#define AWS_SKEW_MAX  (INT64_C(86400000) * 366) /* ms that a request may move the clock */

/* All texts are borrowed. */
struct aws_signer {
    const char *service, *region, *key_id, *secret_key;
    char date[AWS_DATE_SIZE];
};

struct aws_signed {
    const char *method, *target; /* the path and the query as they are sent, percent-encoded */
    tn_value headers; /* {lower-case name: text}: all of them are signed; `host` and `x-amz-date` belong to them */
    const void *body;
    size_t length;
};

/* Writes the time as signatures have it. Years outside of 1970 to 9999 become the nearest of them. */
void aws_date(int64_t wall_ms, char date[AWS_DATE_SIZE]);
/* Appends the value of the header `authorization`. */
void aws_sign(const struct aws_signer *signer, const struct aws_signed *request, struct buffer *out);

/* Checks the member `sign` of a request. Returns NULL, or a text that describes the fault. Needs no secret. */
const char *http_sign_fault(tn_value sign);
/* The texts in `sign` that may have secrets: an array, a new reference. */
tn_value http_sign_texts(tn_value sign);
/*
 * Adds the headers of the signature to the request, if it has a member `sign` and no header `authorization`. The new
 * headers count as secret. Fails with SECRET_NOT_FOUND or INVALID_INPUT.
 */
int32_t outgoing_sign(struct outgoing *outgoing, struct secrets *secrets, int64_t now_ms, int64_t wall_ms,
                      struct error *error);

#endif
