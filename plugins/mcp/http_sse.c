/*
 * http_sse.c - the transport of 2024-11-05: one stream, whose first event names the URL for messages.
 */
#include "exchange.h"
#include "oauth/address.h"
#include <strings.h>

int32_t sse_send(struct http *http, struct exchange *exchange) {
    exchange->delayed = http->opening = true;
    if (http->streaming) return TN_OK;
    struct exchange *stream = post_exchange_new(http, STREAM, 0);
    int32_t status = stream != NULL ? TN_OK : TN_NO_MEMORY;
    if (status == TN_OK && http->oauth != NULL && !oauth_is_ready(http->oauth))
        oauth_wait(http->oauth, &stream->wait);
    else if (status == TN_OK)
        status = exchange_open_stream(stream);
    http->streaming = status == TN_OK;
    if (status == TN_OK) return TN_OK;
    if (stream != NULL) post_exchange_free(stream);
    post_exchange_free(exchange);
    return status;
}

void sse_fail(struct exchange *stream, int64_t status, const char *code, const char *reason) {
    struct http *http = stream->http;
    const struct transport_events *events = &http->transport.events;
    struct exchange *waiting = NULL;
    char why[OAUTH_WHY_MAX];
    (void)snprintf(why, sizeof why, "%s", reason);
    post_exchange_free(stream);
    for (struct exchange *at = http->exchanges; at != NULL; at = at->next)
        if (at->delayed && at->id != 0) waiting = at;
    if (waiting != NULL)
        exchange_report_failure(waiting, status, NULL, code, why);
    else
        events->closed(events->user, why);
}

char *resolve_same_origin(const char *base, const char *text, uint64_t length) {
    struct tn_text_buffer url = {.limit = OAUTH_URL_MAX};
    struct address from, to;
    if (length == 0 || !address_read(base, &from) || memchr(text, '\0', length) != NULL) return NULL;
    const char *path = *from.path != '\0' ? from.path : "/";
    uint64_t path_size = *from.path != '\0' ? from.path_size : 1;
    bool absolute =
        (length >= 7 && strncasecmp(text, "http://", 7) == 0) || (length >= 8 && strncasecmp(text, "https://", 8) == 0);
    tn_value origin = address_origin(&from);
    if (!absolute && length >= 2 && memcmp(text, "//", 2) == 0) {
        tn_text_append_n(&url, base, (uint64_t)(strchr(base, ':') + 1 - base));
    } else if (!absolute) {
        tn_text_append_value(&url, origin);
        while (*text != '?' && *text != '/' && path_size > 0 && path[path_size - 1] != '/') path_size--;
        if (*text != '/') tn_text_append_n(&url, path, path_size);
    }
    tn_text_append_n(&url, text, length);
    bool good = url.status == TN_OK && address_read(tn_text_chars(&url), &to);
    tn_value other = good ? address_origin(&to) : NULL;
    char *result = good && tn.value->equal(origin, other) ? copy_text(tn_text_chars(&url)) : NULL;
    tn_release(origin);
    tn_release(other);
    tn_text_free(&url);
    return result;
}

bool sse_read_endpoint(struct exchange *exchange, const char *text, uint64_t length) {
    struct http *http = exchange->http;
    if (http->endpoint != NULL) return true;
    http->endpoint = resolve_same_origin(http->url, text, length);
    if (http->endpoint != NULL) {
        http_stream_opened(http);
        return true;
    }
    sse_fail(exchange, 0, "PROTOCOL", "the URL that it names for messages is not one of the same origin");
    return false;
}
