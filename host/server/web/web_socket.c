/*
 * web_socket.c - requests that become WebSockets.
 *
 * A page cannot set headers of a WebSocket, only subprotocols. So one of them can be the key:
 * `new WebSocket(url, ["tenon", "tenon.key.KEY"])`. It is removed before anyone else sees the header.
 */
#include "adl/value/memory.h"
#include "host/server/web/web_internal.h"
#include <string.h>

#define PROTOCOLS    "sec-websocket-protocol"
#define KEY_PROTOCOL "tenon.key."
#define OWN_PROTOCOL "tenon" /* pages close a connection for which no subprotocol was selected */

void web_socket_take_key(struct web_request *request) {
    tn_value headers = value_get(request->head, "headers"), text = value_get(headers, PROTOCOLS);
    struct buffer rest;
    if (!text || !value_is(text, TN_STRING) || !strstr(value_chars(text, NULL), KEY_PROTOCOL)) return;
    buffer_init(&rest, SIZE_MAX);
    for (const char *at = value_chars(text, NULL); *at;) {
        at += strspn(at, ", \t");
        size_t length = strcspn(at, ", \t"), prefix = strlen(KEY_PROTOCOL);
        bool is_key = length >= prefix && memcmp(at, KEY_PROTOCOL, prefix) == 0;
        if (is_key && !request->socket_key)
            request->socket_key = mem_text_n(at + prefix, length - prefix);
        else if (!is_key && length)
            buffer_format(&rest, "%s%.*s", rest.length ? ", " : "", (int)length, at);
        at += length;
    }
    headers = value_set_take(value_ref(headers), PROTOCOLS, value_text(buffer_cstr(&rest)));
    request->head = value_set_take(request->head, "headers", headers);
    buffer_finish(&rest);
}

void web_socket_forget_key(struct web_request *request) {
    if (!request->socket_key) return;
    explicit_bzero(request->socket_key, strlen(request->socket_key));
    mem_free(request->socket_key);
    request->socket_key = NULL;
    request->keyed_socket = true;
}

/* True if the client has offered it. */
static bool is_offered(const struct web_request *request, const char *protocol) {
    tn_value text = value_get(value_get(request->head, "headers"), PROTOCOLS);
    size_t length = strlen(protocol);
    if (!text || !value_is(text, TN_STRING) || !length) return false;
    for (const char *at = value_chars(text, NULL); *at;) {
        at += strspn(at, ", \t");
        size_t offered = strcspn(at, ", \t");
        if (offered == length && memcmp(at, protocol, length) == 0) return true;
        at += offered;
    }
    return false;
}

int32_t web_accept(struct web_request *request, const char *protocol) {
    const struct web_provider *provider = &request->web->provider;
    if (!request->upgrade || request->responded || request->upgraded) return TN_INVALID;
    if (protocol && !is_offered(request, protocol)) return TN_INVALID;
    if (!protocol && request->keyed_socket && is_offered(request, OWN_PROTOCOL)) protocol = OWN_PROTOCOL;
    tn_value headers = web_push_header(value_array(), "X-Request-Id", request->id);
    if (protocol) headers = web_push_header(headers, "Sec-WebSocket-Protocol", protocol);
    int32_t status = provider->vtable->accept(provider->self, request->number, headers);
    value_unref(headers);
    if (status == TN_OK) {
        request->upgraded = true;
        request->status = 101;
    }
    return status;
}

int32_t web_send(struct web_request *request, tn_value message) {
    const struct web_provider *provider = &request->web->provider;
    bool text = value_is(message, TN_STRING);
    size_t length = 0;
    if (!request->upgraded || request->finished || (!text && !value_is(message, TN_BYTES))) return TN_INVALID;
    if (request->aborted) return TN_STALE;
    const void *data = text ? (const void *)value_chars(message, &length) : value_data(message, &length);
    int32_t status = provider->vtable->send(provider->self, request->number, data, length, text);
    if (status != TN_OK && status != TN_HTTP_SERVER_FULL) return TN_STALE;
    if (status == TN_HTTP_SERVER_FULL) request->full = true;
    if (!web_note_unread(request, length)) return TN_STALE;
    return request->full ? TN_SERVER_FULL : TN_OK;
}

int32_t web_close(struct web_request *request, int32_t code, const char *reason) {
    const struct web_provider *provider = &request->web->provider;
    size_t length = strlen(reason);
    bool known = (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
                 (code >= 3000 && code <= 4999);
    if (!request->upgraded || request->finished || !known || length > 123) return TN_INVALID;
    request->finished = true;
    return provider->vtable->close(provider->self, request->number, code, reason, length);
}
