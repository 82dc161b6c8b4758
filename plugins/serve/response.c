/*
 * response.c - responses. See response.h.
 *
 * Content-Length, Transfer-Encoding, Date and Connection are libmicrohttpd's. `connection: keep-alive` of the caller
 * becomes its option to send that header.
 */
#include "response.h"
#include "head.h"
#include "listener.h"
#include "request.h"
#include "socket.h"
#include <strings.h>
#include <tenon/base64.h>

#include <gnutls/crypto.h>

#define BLOCK_SIZE    1024 /* the buffer of libmicrohttpd for a stream that is not chunked */
#define KEPT_SIZE     4096 /* of an empty buffer */
#define HEAD_MAX      8192 /* of an answer to a handshake */
#define WEBSOCKET_KEY "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455 */

/* ---- Headers ---- */

static bool is_framing(const char *name) {
    static const char *const names[] = {"connection", "content-length",    "date",   "keep-alive",
                                        "trailer",    "transfer-encoding", "upgrade"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(name, names[i]) == 0) return true;
    return false;
}

/* False: it is not [[name, TEXT], …], or a name or value cannot be sent. */
static bool add_headers(struct MHD_Response *response, tn_value headers) {
    int32_t kind = tn.value->kind(headers);
    if (kind != TN_NONE && kind != TN_ARRAY) return false;
    for (uint64_t i = 0; i < tn.value->count(headers); i++) {
        uint64_t name_length, value_length;
        tn_value pair = tn.value->at(headers, i);
        const char *name = tn_chars(tn.value->at(pair, 0), &name_length);
        const char *value = tn_chars(tn.value->at(pair, 1), &value_length);
        if (name == NULL || value == NULL || !head_is_token(name, name_length) ||
            !head_is_field_value(value, value_length))
            return false;
        if (strcasecmp(name, "connection") == 0 && strcasecmp(value, "keep-alive") == 0)
            (void)MHD_set_response_options(response, MHD_RF_SEND_KEEP_ALIVE_HEADER, MHD_RO_END);
        if (is_framing(name) || value_length == 0) continue;
        if (MHD_add_response_header(response, name, value) != MHD_YES) return false;
    }
    return true;
}

static void close_after(struct MHD_Response *response) {
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* ---- Streams ---- */

static uint64_t waiting_bytes(const struct request *request) { return request->out.length - request->out_begin; }

/* Bytes that were taken are removed when they are half of the buffer, so each is moved about once. */
static void take_out(struct request *request, uint64_t count) {
    request->out_begin += count;
    if (request->out_begin < request->out.length / 2) return;
    tn_text_drop(&request->out, request->out_begin);
    request->out_begin = 0;
    if (request->out.length == 0) tn_text_clear(&request->out, KEPT_SIZE);
}

/* libmicrohttpd wants up to `most` bytes. Inside it, so the request may be suspended. */
static ssize_t on_read(void *user, uint64_t position, char *to, size_t most) {
    struct request *request = user;
    uint64_t waiting = waiting_bytes(request);
    (void)position;
    if (request->aborted) return MHD_CONTENT_READER_END_WITH_ERROR;
    if (waiting == 0) {
        if (request->finished) return MHD_CONTENT_READER_END_OF_STREAM;
        request_suspend(request);
        return 0;
    }
    if (waiting > most) waiting = most;
    memcpy(to, request->out.bytes + request->out_begin, waiting);
    take_out(request, waiting);
    request->sent += waiting;
    request_note_taken(request, waiting_bytes(request));
    return (ssize_t)waiting;
}

int32_t response_write(struct request *request, const void *data, uint64_t length) {
    if (!request->more || request->finished || (data == NULL && length > 0)) return TN_INVALID;
    if (tn_text_append_n(&request->out, data, length) != TN_OK) {
        request_abort(request, "closed"); /* a part of the stream is missing */
        return TN_NO_MEMORY;
    }
    if (length > 0) request_wake(request);
    request_note_written(request, waiting_bytes(request));
    return request->full ? TN_HTTP_SERVER_FULL : TN_OK;
}

int32_t response_finish(struct request *request) {
    if (!request->more || request->finished) return TN_INVALID;
    request->finished = true;
    request_wake(request);
    return TN_OK;
}

/* ---- Responses ---- */

static int32_t answer_take(struct request *request, int status, struct MHD_Response *response) {
    if (listener_is_draining(request->listener)) close_after(response);
    request->response = response;
    request->status = status;
    request->answered = true;
    /* A body that is arriving is read to its end first. */
    if (request->state != REQUEST_RECEIVING || request->paused) request_wake(request);
    return TN_OK;
}

int32_t response_begin(struct request *request, int32_t status, tn_value headers, const void *data, uint64_t length,
                       bool more) {
    struct MHD_Response *response;
    if (request->answered || status < 200 || status > 599 || (data == NULL && length > 0)) return TN_INVALID;
    if (more)
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE, on_read, request, NULL);
    else
        response = MHD_create_response_from_buffer(length, (void *)(uintptr_t)data, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) return TN_NO_MEMORY;
    if (!add_headers(response, headers)) {
        MHD_destroy_response(response);
        return TN_INVALID;
    }
    request->more = more;
    request->length = more ? 0 : length;
    if (more && length > 0 && tn_text_append_n(&request->out, data, length) != TN_OK) {
        MHD_destroy_response(response);
        return TN_NO_MEMORY;
    }
    request_note_taken(request, waiting_bytes(request));
    return answer_take(request, status, response);
}

bool response_queue(struct request *request, struct MHD_Connection *connection) {
    struct MHD_Response *response = request->response;
    request->response = NULL;
    request->state = REQUEST_ANSWERED;
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)request->status, response);
    MHD_destroy_response(response);
    return result == MHD_YES;
}

bool response_refuse(struct MHD_Connection *connection, int status, const char *message) {
    char text[200];
    int length = snprintf(text, sizeof text, "%d: %s\n", status, message);
    struct MHD_Response *response = MHD_create_response_from_buffer((size_t)length, text, MHD_RESPMEM_MUST_COPY);
    if (response == NULL) return false;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
    close_after(response);
    enum MHD_Result result = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return result == MHD_YES;
}

/* The answer to the handshake, which libmicrohttpd does not send with TLS (see socket.c). */
static int32_t accept_tls(struct request *request, tn_value headers, const char *accept) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection_mhd(request->connection), MHD_CONNECTION_INFO_GNUTLS_SESSION);
    struct tn_text_buffer head = TN_TEXT_BUFFER(HEAD_MAX);
    if (info == NULL || !request->suspended) return TN_INVALID;
    (void)tn_text_append_format(&head,
                                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                                "Sec-WebSocket-Accept: %s\r\n",
                                accept);
    for (uint64_t i = 0; i < tn.value->count(headers); i++) {
        tn_value pair = tn.value->at(headers, i);
        const char *name = tn_chars(tn.value->at(pair, 0), NULL);
        if (is_framing(name)) continue;
        (void)tn_text_append_format(&head, "%s: %s\r\n", name, tn_chars(tn.value->at(pair, 1), NULL));
    }
    (void)tn_text_append(&head, "\r\n");
    int32_t status = head.status;
    if (status == TN_OK) {
        request_unwatch(request);
        request->answered = true;
        request->state = REQUEST_ANSWERED;
        if (!socket_take_tls(request, info->tls_session, head.bytes, head.length)) request_abort(request, "closed");
    }
    tn_text_free(&head);
    return status == TN_LIMIT ? TN_INVALID : status;
}

int32_t response_accept(struct request *request, tn_value headers) {
    char text[sizeof request->key + sizeof WEBSOCKET_KEY], digest[20], accept[TN_BASE64_SIZE(sizeof digest) + 1];
    if (!request->websocket || request->answered) return TN_INVALID;
    (void)snprintf(text, sizeof text, "%s%s", request->key, WEBSOCKET_KEY);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA1, text, strlen(text), digest) != 0) return TN_ERROR;
    *tn_base64_put(accept, digest, sizeof digest) = '\0';
    struct MHD_Response *response = MHD_create_response_for_upgrade(socket_on_upgrade, request);
    if (response == NULL) return TN_NO_MEMORY;
    bool valid = add_headers(response, headers) &&
                 MHD_add_response_header(response, MHD_HTTP_HEADER_UPGRADE, "websocket") == MHD_YES &&
                 MHD_add_response_header(response, "Sec-WebSocket-Accept", accept) == MHD_YES;
    if (!valid || listener_is_secure(request->listener)) {
        MHD_destroy_response(response);
        return valid ? accept_tls(request, headers, accept) : TN_INVALID;
    }
    request->response = response;
    request->status = MHD_HTTP_SWITCHING_PROTOCOLS;
    request->answered = true;
    request_wake(request);
    return TN_OK;
}
