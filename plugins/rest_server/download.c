/*
 * download.c - GET /api/artifacts/{id}/body: the bytes of an Artifact, or one range of them. The next part is read when
 * the client has taken the one before. Artifacts do not change, so their id is their ETag.
 */
#include "rest_server.h"
#include <stdio.h>
#include <stdlib.h>

struct download {
    int64_t at, end, size; /* the next byte; behind the last one */
    char *type;
    bool full, waiting; /* the client does not read; a part is to be read when it does */
};

static void read_part(struct exchange *exchange);

/* ---- Ranges ---- */

static bool read_number(const char **at, int64_t *out) {
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 15) return false;
    *out = strtoll(*at, NULL, 10);
    *at += digits;
    return true;
}

enum range { RANGE_NONE, RANGE_ONE, RANGE_OUTSIDE };

/* One range of bytes. What is malformed, or has several ranges, is not a range: the answer is the whole body. */
static enum range read_range(const char *text, struct download *download) {
    int64_t first = 0, last = 0;
    if (text == NULL || strncmp(text, "bytes=", 6) != 0) return RANGE_NONE;
    text += 6;
    bool has_first = read_number(&text, &first);
    if (*text++ != '-') return RANGE_NONE;
    bool has_last = read_number(&text, &last);
    if (*text != '\0' || (!has_first && !has_last) || (has_first && has_last && last < first)) return RANGE_NONE;
    if (!has_first) {
        if (last == 0) return RANGE_OUTSIDE;
        first = last < download->size ? download->size - last : 0;
        has_last = false;
    }
    if (first >= download->size) return RANGE_OUTSIDE;
    download->at = first;
    if (has_last && last < download->size - 1) download->end = last + 1;
    return RANGE_ONE;
}

/* ---- The response ---- */

#define TOKEN "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Artifacts can have any text as their media type; a header cannot. */
static bool is_media_type(const char *text) {
    size_t type = strspn(text, TOKEN), subtype = text[type] == '/' ? strspn(text + type + 1, TOKEN) : 0;
    if (type == 0 || subtype == 0) return false;
    const char *rest = text + type + 1 + subtype;
    if (*rest != '\0' && *rest != ';' && *rest != ' ') return false;
    for (; *rest != '\0'; rest++)
        if ((unsigned char)*rest < 0x20 || (unsigned char)*rest > 0x7E) return false;
    return true;
}

static void etag_of(const struct exchange *exchange, char out[600]) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(590);
    const char *id = exchange_param(exchange, "id");
    (void)tn_text_append_percent(&text, id, strlen(id), "");
    (void)snprintf(out, 600, "\"%s\"", tn_text_chars(&text));
    tn_text_free(&text);
}

/* A page of this Artifact must not act as one of this server. */
static tn_value headers_of(const struct download *download, const char *etag, enum range range) {
    char place[96];
    tn_value headers = tn_build("{s:s, s:s, s:s, s:s, s:s}", "Content-Type",
                                is_media_type(download->type) ? download->type : "application/octet-stream",
                                "Accept-Ranges", "bytes", "ETag", etag, "Cache-Control", "private, no-cache",
                                "Content-Security-Policy", "sandbox; default-src 'none'");
    if (range == RANGE_NONE || headers == NULL) return headers;
    if (range == RANGE_OUTSIDE)
        (void)snprintf(place, sizeof place, "bytes */%lld", (long long)download->size);
    else
        (void)snprintf(place, sizeof place, "bytes %lld-%lld/%lld", (long long)download->at,
                       (long long)download->end - 1, (long long)download->size);
    return tn_set_take(headers, "Content-Range", tn_text(place));
}

static void refuse_range(struct exchange *exchange, const char *etag) {
    struct download *download = exchange->object;
    tn_value headers =
        tn_set_take(headers_of(download, etag, RANGE_OUTSIDE), "Content-Type", tn_text("application/json"));
    exchange_respond(exchange, tn_build("{s:i, s:V, s:{s:{s:s, s:s, s:i}}}", "status", 416, "headers", headers, "json",
                                        "error", "code", "INVALID_INPUT", "message",
                                        "the range begins behind the end of the body", "status", 416));
}

static void TN_ABI on_size(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    struct download *download = exchange->object;
    char etag[600];
    exchange->call = 0;
    if (status != TN_OK) {
        exchange_fail(exchange, value);
        return;
    }
    etag_of(exchange, etag);
    download->size = download->end = tn_get_int(value, "size", 0);
    download->type = serving_text_copy(tn_get_text(value, "media_type", ""));
    if (download->type == NULL) {
        exchange_abort(exchange);
        return;
    }
    const char *known = exchange_header(exchange, "if-none-match"), *same = exchange_header(exchange, "if-range");
    if (known != NULL && strstr(known, etag) != NULL) {
        exchange_respond(exchange, tn_build("{s:i, s:{s:s}}", "status", 304, "headers", "ETag", etag));
        return;
    }
    bool ranged = same == NULL || strcmp(same, etag) == 0;
    enum range range = ranged ? read_range(exchange_header(exchange, "range"), download) : RANGE_NONE;
    if (range == RANGE_OUTSIDE) {
        refuse_range(exchange, etag);
        return;
    }
    exchange_respond(exchange, tn_build("{s:i, s:V, s:s}", "status", range == RANGE_ONE ? 206 : 200, "headers",
                                        headers_of(download, etag, range), "stream", "bytes"));
    if (serving_is(tn_get(exchange->request, "method"), "HEAD")) download->at = download->end;
    read_part(exchange);
}

static void TN_ABI on_part(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    struct download *download = exchange->object;
    const tn_server_draft *server = exchange->rest->serving.server;
    uint64_t length = 0;
    tn_value body = tn_get(value, "body");
    const char *bytes = status == TN_OK && body != NULL ? tn.value->as_bytes(body, &length) : NULL;
    if (status == TN_OK && bytes == NULL && body != NULL) bytes = tn_chars(body, &length);
    exchange->call = 0;
    if (bytes == NULL || length == 0) { /* the headers were sent: only a broken connection tells the client */
        exchange_abort(exchange);
        return;
    }
    download->at += (int64_t)length;
    if (server->write(tn.host, exchange->number, bytes, length) == TN_SERVER_FULL) download->full = true;
    read_part(exchange);
}

static void read_part(struct exchange *exchange) {
    struct download *download = exchange->object;
    int64_t left = download->end - download->at;
    if (left <= 0) {
        (void)exchange->rest->serving.server->finish(tn.host, exchange->number);
        return;
    }
    download->waiting = download->full;
    if (download->full) return;
    tn_value error =
        exchange_call_take(exchange, "artifact/read",
                           tn_build("{s:s, s:I, s:I}", "artifact_id", exchange_param(exchange, "id"), "offset",
                                    download->at, "length", left < (int64_t)PART_MAX ? left : (int64_t)PART_MAX),
                           on_part);
    if (error != NULL) exchange_abort(exchange);
    tn_release(error);
}

static void on_exchange(struct exchange *exchange, int32_t event, tn_value value) {
    struct download *download = exchange->object;
    (void)value;
    if (event == TN_SERVER_ROOM) {
        download->full = false;
        if (download->waiting) read_part(exchange);
    } else if (event == TN_SERVER_CLOSED) {
        serving_free(download->type);
        serving_free(download);
    }
}

void download_get(struct exchange *exchange) {
    struct download *download = serving_alloc(sizeof *download);
    if (download == NULL) {
        exchange_abort(exchange);
        return;
    }
    exchange->object = download;
    exchange->on_event = on_exchange;
    tn_value error = exchange_call_take(
        exchange, "artifact/read",
        tn_build("{s:s, s:i, s:i}", "artifact_id", exchange_param(exchange, "id"), "offset", 0, "length", 0), on_size);
    if (error != NULL) exchange_fail(exchange, error);
    tn_release(error);
}
