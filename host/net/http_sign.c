/*
 * http_sign.c - the canonical form of a request, its signature, and the headers that carry it.
 *
 * Only headers that no proxy changes are signed: host, content-type and x-amz-*. The path is encoded twice, as every
 * service except S3 expects.
 */
#include "host/net/http_sign.h"
#include "host/base/secrets/secrets.h"
#include "host/net/http_request_internal.h"
#include "host/net/http_text.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <tenon/util/sha256.h>
#include <time.h>

#define AWS_FIELD_MAX  100u /* bytes of a service's or a region's name */
#define AWS_PAIRS_MAX  1000u
#define AWS_BLOCK_SIZE 64

/* ---- Hashes ---- */

static void aws_hmac(const void *key, size_t key_length, const char *text, size_t length,
                     unsigned char out[TN_SHA256_BYTES]) {
    unsigned char inner[AWS_BLOCK_SIZE] = {0}, outer[AWS_BLOCK_SIZE];
    struct tn_sha256 state;
    if (key_length > sizeof inner)
        tn_sha256_hash(key, key_length, inner);
    else
        memcpy(inner, key, key_length);
    for (size_t i = 0; i < sizeof inner; i++) {
        outer[i] = inner[i] ^ 0x5c;
        inner[i] ^= 0x36;
    }
    tn_sha256_init(&state);
    tn_sha256_update(&state, inner, sizeof inner);
    tn_sha256_update(&state, text, length);
    tn_sha256_finish(&state, out);
    tn_sha256_init(&state);
    tn_sha256_update(&state, outer, sizeof outer);
    tn_sha256_update(&state, out, TN_SHA256_BYTES);
    tn_sha256_finish(&state, out);
    explicit_bzero(inner, sizeof inner);
    explicit_bzero(outer, sizeof outer);
    explicit_bzero(&state, sizeof state);
}

static void aws_hash_text(const void *bytes, size_t length, char out[TN_SHA256_TEXT]) {
    struct tn_sha256 state;
    tn_sha256_init(&state);
    tn_sha256_update(&state, bytes, length);
    tn_sha256_finish_text(&state, out);
}

/* The key of one day, region and service. */
static void aws_signing_key(const struct aws_signer *signer, unsigned char key[TN_SHA256_BYTES]) {
    struct buffer first;
    buffer_init(&first, SIZE_MAX);
    buffer_format(&first, "AWS4%s", signer->secret_key);
    aws_hmac(first.data, first.length, signer->date, 8, key);
    buffer_wipe(&first);
    aws_hmac(key, TN_SHA256_BYTES, signer->region, strlen(signer->region), key);
    aws_hmac(key, TN_SHA256_BYTES, signer->service, strlen(signer->service), key);
    aws_hmac(key, TN_SHA256_BYTES, "aws4_request", 12, key);
}

void aws_date(int64_t wall_ms, char date[AWS_DATE_SIZE]) {
    static const int64_t last_s = INT64_C(253402300799); /* the end of 9999 */
    int64_t seconds = wall_ms / 1000;
    time_t time = (time_t)(seconds < 0 ? 0 : seconds > last_s ? last_s : seconds);
    struct tm parts;
    gmtime_r(&time, &parts);
    (void)strftime(date, AWS_DATE_SIZE, "%Y%m%dT%H%M%SZ", &parts);
}

/* ---- The canonical request ---- */

/* Encodes the path once more. Empty segments are left out, as AWS does. */
static void aws_put_path(struct buffer *out, const char *path, size_t length) {
    bool slash = false;
    buffer_char(out, '/');
    for (size_t i = 1; i < length; i++) {
        bool again = path[i] == '/' && (slash || path[i - 1] == '/');
        slash = path[i] == '/';
        if (again) continue;
        if (slash)
            buffer_char(out, '/');
        else
            url_escape(out, path + i, 1);
    }
}

static int aws_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Writes a part of a query with each byte encoded in the only form that AWS knows. */
static void aws_put_decoded(struct buffer *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        int high = c == '%' && i + 2 < length ? aws_digit(text[i + 1]) : -1,
            low = high >= 0 ? aws_digit(text[i + 2]) : -1;
        if (low >= 0) {
            c = (char)(high * 16 + low);
            i += 2;
        }
        url_escape(out, &c, 1);
    }
}

struct aws_pair {
    size_t at, name, length; /* in the buffer of encoded pairs */
};

static int aws_compare_pairs(const char *text, const struct aws_pair *a, const struct aws_pair *b) {
    size_t shared = a->name < b->name ? a->name : b->name;
    int order = memcmp(text + a->at, text + b->at, shared);
    if (order == 0 && a->name != b->name) return a->name < b->name ? -1 : 1;
    if (order != 0) return order;
    shared = a->length < b->length ? a->length : b->length;
    order = memcmp(text + a->at, text + b->at, shared);
    if (order != 0) return order;
    return a->length < b->length ? -1 : a->length > b->length;
}

/* Writes the parameters sorted by name and value. Those beyond the limit are left out, so AWS refuses the request. */
static void aws_put_query(struct buffer *out, const char *query) {
    struct aws_pair pairs[AWS_PAIRS_MAX];
    struct buffer text;
    size_t count = 0;
    buffer_init(&text, SIZE_MAX);
    while (*query && count < AWS_PAIRS_MAX) {
        size_t length = strcspn(query, "&"), name = strcspn(query, "=&");
        struct aws_pair pair = {.at = text.length};
        aws_put_decoded(&text, query, name);
        pair.name = text.length - pair.at;
        buffer_char(&text, '=');
        if (name < length) aws_put_decoded(&text, query + name + 1, length - name - 1);
        pair.length = text.length - pair.at;
        if (length > 0) {
            size_t at = count++;
            for (; at > 0 && aws_compare_pairs(text.data, &pair, &pairs[at - 1]) < 0; at--) pairs[at] = pairs[at - 1];
            pairs[at] = pair;
        }
        query += length + (query[length] != 0);
    }
    for (size_t i = 0; i < count; i++) {
        if (i > 0) buffer_char(out, '&');
        buffer_append(out, text.data + pairs[i].at, pairs[i].length);
    }
    buffer_finish(&text);
}

/* Writes the value without surrounding spaces, and with one space instead of several. */
static void aws_put_trimmed(struct buffer *out, const char *text) {
    bool space = false, any = false;
    for (; *text; text++) {
        if (*text == ' ' || *text == '\t') {
            space = true;
            continue;
        }
        if (space && any) buffer_char(out, ' ');
        buffer_char(out, *text);
        space = false;
        any = true;
    }
}

/* The index of the header that comes after `previous` in the order of names; NULL starts. */
static size_t aws_next_header(tn_value headers, const char *previous) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < value_count(headers); i++) {
        const char *name = value_chars(value_key_at(headers, i), NULL);
        if (previous && strcmp(name, previous) <= 0) continue;
        if (found == SIZE_MAX || strcmp(name, value_chars(value_key_at(headers, found), NULL)) < 0) found = i;
    }
    return found;
}

static void aws_put_header_names(struct buffer *out, tn_value headers) {
    const char *name = NULL;
    for (size_t i; (i = aws_next_header(headers, name)) != SIZE_MAX;) {
        if (name) buffer_char(out, ';');
        name = value_chars(value_key_at(headers, i), NULL);
        buffer_text(out, name);
    }
}

static void aws_put_canonical(struct buffer *out, const struct aws_signed *request) {
    size_t path = strcspn(request->target, "?");
    const char *name = NULL;
    char hash[TN_SHA256_TEXT];
    buffer_format(out, "%s\n", request->method);
    aws_put_path(out, request->target, path);
    buffer_char(out, '\n');
    if (request->target[path] == '?') aws_put_query(out, request->target + path + 1);
    buffer_char(out, '\n');
    for (size_t i; (i = aws_next_header(request->headers, name)) != SIZE_MAX;) {
        name = value_chars(value_key_at(request->headers, i), NULL);
        buffer_format(out, "%s:", name);
        aws_put_trimmed(out, value_chars(value_value_at(request->headers, i), NULL));
        buffer_char(out, '\n');
    }
    buffer_char(out, '\n');
    aws_put_header_names(out, request->headers);
    aws_hash_text(request->body, request->length, hash);
    buffer_format(out, "\n%s", hash);
}

void aws_sign(const struct aws_signer *signer, const struct aws_signed *request, struct buffer *out) {
    unsigned char key[TN_SHA256_BYTES], signature[TN_SHA256_BYTES];
    char hash[TN_SHA256_TEXT];
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    aws_put_canonical(&text, request);
    aws_hash_text(text.data, text.length, hash);
    buffer_wipe(&text); /* it may contain a session token */
    buffer_init(&text, SIZE_MAX);
    buffer_format(&text, "AWS4-HMAC-SHA256\n%s\n%.8s/%s/%s/aws4_request\n%s", signer->date, signer->date,
                  signer->region, signer->service, hash);
    aws_signing_key(signer, key);
    aws_hmac(key, sizeof key, text.data, text.length, signature);
    explicit_bzero(key, sizeof key);
    buffer_finish(&text);
    buffer_format(out, "AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/%s/aws4_request, SignedHeaders=", signer->key_id,
                  signer->date, signer->region, signer->service);
    aws_put_header_names(out, request->headers);
    buffer_text(out, ", Signature=");
    for (size_t i = 0; i < sizeof signature; i++) buffer_format(out, "%02x", signature[i]);
}

/* ---- The member of a request ---- */

static const char *const sign_texts[] = {"key_id", "secret_key", "session_token"};

static bool sign_is_name(tn_value value) {
    size_t length;
    if (!value_is(value, TN_STRING)) return false;
    const char *text = value_chars(value, &length);
    for (size_t i = 0; i < length; i++)
        if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') || text[i] == '-')) return false;
    return length > 0 && length <= AWS_FIELD_MAX;
}

static bool sign_is_known(const char *name) {
    static const char *const others[] = {"service", "region", "clock_skew_ms"};
    for (size_t i = 0; i < sizeof sign_texts / sizeof *sign_texts; i++)
        if (strcmp(name, sign_texts[i]) == 0 || strcmp(name, others[i]) == 0) return true;
    return false;
}

const char *http_sign_fault(tn_value sign) {
    tn_value aws = value_get(sign, "aws"), skew = value_get(aws, "clock_skew_ms");
    int64_t ms = 0;
    if (!value_is(sign, TN_OBJECT) || value_count(sign) != 1 || !value_is(aws, TN_OBJECT))
        return "expected {aws: {service, region, key_id, secret_key, session_token?, clock_skew_ms?}}";
    for (size_t i = 0; i < value_count(aws); i++)
        if (!sign_is_known(value_chars(value_key_at(aws, i), NULL)))
            return "`aws` has an unknown member; expected service, region, key_id, secret_key, session_token or "
                   "clock_skew_ms";
    if (!sign_is_name(value_get(aws, "service")) || !sign_is_name(value_get(aws, "region")))
        return "`aws.service` and `aws.region` must be names of small letters, digits and -, as in \"us-east-1\"";
    if (!value_get(aws, "key_id") || !value_get(aws, "secret_key"))
        return "`aws.key_id` or `aws.secret_key` is missing";
    for (size_t i = 0; i < sizeof sign_texts / sizeof *sign_texts; i++)
        if (value_get(aws, sign_texts[i]) && http_text_fault(value_get(aws, sign_texts[i])))
            return "`aws.key_id`, `aws.secret_key` and `aws.session_token` must each be a string, {secret: NAME}, or "
                   "an "
                   "array of those";
    if (skew && (!value_is_number(skew) || !value_as_int(skew, &ms) || ms < -AWS_SKEW_MAX || ms > AWS_SKEW_MAX))
        return "`aws.clock_skew_ms` must be a whole number of at most a year";
    return NULL;
}

tn_value http_sign_texts(tn_value sign) {
    tn_value aws = value_get(sign, "aws"), texts = value_array();
    for (size_t i = 0; i < sizeof sign_texts / sizeof *sign_texts; i++)
        if (value_get(aws, sign_texts[i])) texts = value_push_take(texts, value_ref(value_get(aws, sign_texts[i])));
    return texts;
}

/* ---- The headers ---- */

static tn_value sign_get_header(const struct outgoing *outgoing, const char *name) {
    for (size_t i = 0; i < value_count(outgoing->headers); i++)
        if (strcasecmp(value_chars(value_key_at(outgoing->headers, i), NULL), name) == 0)
            return value_value_at(outgoing->headers, i);
    return NULL;
}

/* The lower-case headers that are signed. A new reference. */
static tn_value sign_collect_headers(const struct outgoing *outgoing) {
    struct buffer origin;
    buffer_init(&origin, SIZE_MAX);
    url_write_origin(&origin, &outgoing->url);
    tn_value made = value_set_take(value_object(), "host", value_text(strstr(buffer_cstr(&origin), "://") + 3));
    buffer_finish(&origin);
    for (size_t i = 0; i < value_count(outgoing->headers); i++) {
        char lower[257];
        size_t length = 0;
        for (const char *at = value_chars(value_key_at(outgoing->headers, i), NULL); *at && length < 256; at++)
            lower[length++] = *at >= 'A' && *at <= 'Z' ? (char)(*at + 32) : *at;
        lower[length] = 0;
        if (strcmp(lower, "content-type") == 0 || strncmp(lower, "x-amz-", 6) == 0)
            made = value_set_take(made, lower, value_ref(value_value_at(outgoing->headers, i)));
    }
    return made;
}

static void sign_put_header(struct outgoing *outgoing, const char *name, tn_value text_take) {
    outgoing->headers = value_set_take(outgoing->headers, name, text_take);
    outgoing->secret = value_set_take(outgoing->secret, name, value_bool(true));
}

static bool sign_is_one_line(tn_value text) {
    size_t length;
    const char *chars = value_chars(text, &length);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)chars[i] <= ' ' || chars[i] == ',' || chars[i] == 127) return false;
    return length > 0;
}

static void sign_with(struct outgoing *outgoing, tn_value aws, const tn_value texts[3], int64_t wall_ms) {
    struct aws_signer signer = {.service = value_chars(value_get(aws, "service"), NULL),
                                .region = value_chars(value_get(aws, "region"), NULL),
                                .key_id = value_chars(texts[0], NULL),
                                .secret_key = value_chars(texts[1], NULL)};
    struct aws_signed request = {.method = outgoing->method, .target = outgoing->url.target, .body = ""};
    struct buffer authorization;
    int64_t skew_ms = 0;
    if (value_get(aws, "clock_skew_ms")) (void)value_as_int(value_get(aws, "clock_skew_ms"), &skew_ms);
    aws_date(wall_ms + skew_ms, signer.date);
    sign_put_header(outgoing, "x-amz-date", value_text(signer.date));
    if (texts[2]) sign_put_header(outgoing, "x-amz-security-token", value_ref(texts[2]));
    request.headers = sign_collect_headers(outgoing);
    if (value_is(outgoing->body, TN_BYTES))
        request.body = value_data(outgoing->body, &request.length);
    else if (outgoing->body)
        request.body = value_chars(outgoing->body, &request.length);
    buffer_init(&authorization, SIZE_MAX);
    aws_sign(&signer, &request, &authorization);
    sign_put_header(outgoing, "authorization", value_text_n(buffer_cstr(&authorization), authorization.length));
    buffer_finish(&authorization);
    value_unref(request.headers);
}

int32_t outgoing_sign(struct outgoing *outgoing, struct secrets *secrets, int64_t now_ms, int64_t wall_ms,
                      struct error *error) {
    tn_value aws = value_get(value_get(outgoing->request->object, "sign"), "aws"), texts[3] = {NULL, NULL, NULL};
    int32_t status = TN_OK;
    if (!aws || sign_get_header(outgoing, "authorization")) return TN_OK;
    for (size_t i = 0; status == TN_OK && i < 3; i++) {
        tn_value text = value_get(aws, sign_texts[i]);
        if (text) status = http_text_fill(text, secrets, now_ms, &texts[i], error);
        if (status == TN_OK && ((texts[i] && !sign_is_one_line(texts[i])) || (!texts[i] && i < 2)))
            status = error_set(
                error, TN_INVALID, "INVALID_INPUT",
                "a request's `sign.aws.%s`: it is empty or absent, or contains a space, a comma or a line end, "
                "which a key of AWS does not contain; check the secret",
                sign_texts[i]);
    }
    if (status == TN_OK) sign_with(outgoing, aws, texts, wall_ms);
    for (size_t i = 0; i < 3; i++) value_unref(texts[i]);
    return status;
}
