/*
 * socket.c - WebSocket connections. See socket.h.
 *
 * With TLS, libmicrohttpd would copy an upgraded connection through a pair of sockets, with buffers of 4 bytes. So the
 * connection stays suspended instead, and the bytes go through its GnuTLS session here; frames that a client sends
 * before it has the answer to its handshake, which RFC 6455 forbids, are lost then.
 *
 * After idle_ms without a byte of the client, it is pinged; after another idle_ms the connection ends. A connection
 * whose client does not read ends when no byte has moved for idle_ms.
 */
#include "socket.h"
#include "listener_internal.h"
#include "request.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <gnutls/gnutls.h>
#include <wslay/wslay.h>

#define READ_MAX   65536 /* bytes that one turn of the loop reads from one client */
#define OUT_MAX    65536 /* bytes that are framed at a time */
#define CLOSE_LESS 123   /* bytes of the reason of a close */

struct socket {
    TAILQ_ENTRY(socket) in_listener;
    struct request *request;
    struct MHD_UpgradeResponseHandle *handle; /* NULL with TLS */
    gnutls_session_t session;                 /* NULL without TLS */
    wslay_event_context_ptr frames;
    int descriptor;
    uint64_t watch;
    int32_t events;              /* that are watched */
    struct tn_text_buffer early; /* bytes that arrived with the handshake */
    struct tn_text_buffer out;   /* framed bytes that the socket has not taken */
    uint64_t read;               /* bytes in this turn */
    uint32_t fragments;          /* of the message that arrives */
    int64_t heard, moved;        /* when a byte arrived; when one was sent, or nothing waited */
    int64_t closing;             /* when the closing handshake must be complete; 0: it has not begun */
    bool pinged, client_left, malformed, failed, flush, read_again, resend, ended;
};

/* ---- Bytes ---- */

/* As recv and send. */
static ssize_t receive_bytes(const struct socket *socket, void *to, size_t length) {
    ssize_t count;
    do
        count = socket->session == NULL ? recv(socket->descriptor, to, length, 0)
                                        : gnutls_record_recv(socket->session, to, length);
    while (socket->session == NULL ? count < 0 && errno == EINTR : count == GNUTLS_E_INTERRUPTED);
    if (socket->session == NULL || count >= 0) return count;
    errno = count == GNUTLS_E_AGAIN ? EAGAIN : ECONNRESET;
    return -1;
}

static ssize_t send_bytes(struct socket *socket, const void *bytes, size_t length) {
    ssize_t count;
    if (socket->session == NULL) {
        do count = send(socket->descriptor, bytes, length, MSG_NOSIGNAL);
        while (count < 0 && errno == EINTR);
        return count;
    }
    /* GnuTLS has a copy of what it could not send. */
    do
        count = socket->resend ? gnutls_record_send(socket->session, NULL, 0)
                               : gnutls_record_send(socket->session, bytes, length);
    while (count == GNUTLS_E_INTERRUPTED);
    socket->resend = count == GNUTLS_E_AGAIN;
    if (count >= 0) return count;
    errno = socket->resend ? EAGAIN : ECONNRESET;
    return -1;
}

/* ---- Callbacks of wslay ---- */

static ssize_t on_recv(wslay_event_context_ptr frames, uint8_t *to, size_t length, int flags, void *user) {
    struct socket *socket = user;
    ssize_t count;
    (void)flags;
    if (socket->read >= READ_MAX || socket->client_left) {
        wslay_event_set_error(frames, socket->client_left ? WSLAY_ERR_CALLBACK_FAILURE : WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    if (socket->early.length > 0) {
        count = (ssize_t)(length < socket->early.length ? length : socket->early.length);
        memcpy(to, socket->early.bytes, (size_t)count);
        tn_text_drop(&socket->early, (uint64_t)count);
    } else {
        count = receive_bytes(socket, to, length);
    }
    if (count > 0) {
        socket->read += (uint64_t)count;
        socket->heard = serve_now_ms();
        socket->pinged = false;
        return count;
    }
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    socket->client_left = true;
    wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static ssize_t on_send(wslay_event_context_ptr frames, const uint8_t *data, size_t length, int flags, void *user) {
    struct socket *socket = user;
    (void)flags;
    if (socket->out.length >= OUT_MAX) {
        wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
        return -1;
    }
    if (length > OUT_MAX) length = OUT_MAX;
    if (tn_text_append_n(&socket->out, data, length) == TN_OK) return (ssize_t)length;
    wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
    return -1;
}

static void fail_socket(struct socket *socket, uint16_t code, const char *reason) {
    if (socket->request->reason == NULL) socket->request->reason = reason;
    if (socket->failed) return;
    socket->failed = true;
    wslay_event_shutdown_read(socket->frames);
    (void)wslay_event_queue_close(socket->frames, code, NULL, 0);
}

static void on_frame_start(wslay_event_context_ptr frames, const struct wslay_event_on_frame_recv_start_arg *frame,
                           void *user) {
    struct socket *socket = user;
    (void)frames;
    if (wslay_is_ctrl_frame(frame->opcode)) return;
    socket->fragments = frame->opcode == WSLAY_CONTINUATION_FRAME ? socket->fragments + 1 : 1;
    if (socket->fragments > FRAGMENTS_MAX) fail_socket(socket, WSLAY_CODE_MESSAGE_TOO_BIG, "limit");
}

static void on_message(wslay_event_context_ptr frames, const struct wslay_event_on_msg_recv_arg *message, void *user) {
    struct socket *socket = user;
    struct request *request = socket->request;
    tn_value value = NULL;
    (void)frames;
    if (message->opcode == WSLAY_TEXT_FRAME)
        value = tn_text_n((const char *)message->msg, message->msg_length);
    else if (message->opcode == WSLAY_BINARY_FRAME)
        value = tn_bytes(message->msg, message->msg_length);
    else
        return;
    if (request->messages == NULL) request->messages = tn_from_json("[]", 2);
    if (value == NULL || tn.value->append(&request->messages, value) != TN_OK)
        fail_socket(socket, WSLAY_CODE_INTERNAL_SERVER_ERROR, "limit");
    tn_release(value);
    request_set_ready(request);
}

int32_t socket_next_message(struct request *request, tn_value *value) {
    *value = tn_retain(tn.value->at(request->messages, 0));
    if (tn.value->count(request->messages) == 1 || tn.value->splice(&request->messages, 0, 1, NULL) != TN_OK) {
        tn_release(request->messages);
        request->messages = NULL;
    }
    return TN_HTTP_SERVER_MESSAGE;
}

/* ---- Ending ---- */

void socket_end(struct request *request) {
    struct socket *socket = request->socket;
    if (socket->ended) return;
    socket->ended = request->aborted = true;
    (void)serve_poll->unwatch(tn.host, socket->watch);
    TAILQ_REMOVE(&request->listener->sockets, socket, in_listener);
    (void)shutdown(socket->descriptor, SHUT_RDWR);
    if (socket->handle != NULL) (void)MHD_upgrade_action(socket->handle, MHD_UPGRADE_ACTION_CLOSE);
    request_wake(request);
}

void socket_free(struct socket *socket) {
    if (socket == NULL) return;
    if (socket->frames != NULL) wslay_event_context_free(socket->frames);
    tn_text_free(&socket->early);
    tn_text_free(&socket->out);
    free(socket);
}

static void end_with(struct socket *socket, const char *reason) {
    if (socket->request->reason == NULL) socket->request->reason = reason;
    socket_end(socket->request);
}

/* ---- Reading and writing ---- */

static uint64_t waiting_bytes(const struct socket *socket) {
    return socket->out.length + wslay_event_get_queued_msg_length(socket->frames);
}

static bool may_read(const struct socket *socket) {
    const struct request *request = socket->request;
    return !request->paused && !socket->client_left && !socket->malformed &&
           wslay_event_get_read_enabled(socket->frames) &&
           waiting_bytes(socket) <= (uint64_t)request->listener->limits.write_bytes &&
           wslay_event_get_queued_msg_count(socket->frames) <= FRAGMENTS_MAX;
}

static void update_watch(struct socket *socket) {
    int32_t events = (may_read(socket) ? TN_POLL_READ : 0) | (waiting_bytes(socket) > 0 ? TN_POLL_WRITE : 0);
    if (events == socket->events || socket->ended) return;
    socket->events = events;
    (void)serve_poll->change(tn.host, socket->watch, events);
}

/* False: the connection is lost. */
static bool send_out(struct socket *socket) {
    while (socket->out.length > 0) {
        ssize_t count = send_bytes(socket, socket->out.bytes, socket->out.length);
        if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
        socket->moved = serve_now_ms();
        tn_text_drop(&socket->out, (uint64_t)count);
    }
    tn_text_clear(&socket->out, 4096);
    return true;
}

static bool write_frames(struct socket *socket) {
    do {
        if (wslay_event_send(socket->frames) != 0) return false;
        if (!send_out(socket)) return false;
    } while (socket->out.length == 0 && wslay_event_want_write(socket->frames) != 0);
    if (waiting_bytes(socket) == 0) socket->moved = serve_now_ms();
    return true;
}

/* What wslay has found out about the connection. */
static void note_close(struct socket *socket) {
    struct request *request = socket->request;
    uint16_t sent = wslay_event_get_status_code_sent(socket->frames);
    if (request->reason != NULL) return;
    if (wslay_event_get_close_received(socket->frames))
        request->reason = "client";
    else if (wslay_event_get_close_sent(socket->frames))
        request->reason = sent == WSLAY_CODE_MESSAGE_TOO_BIG ? "limit" : "protocol";
}

static void progress(struct socket *socket) {
    struct request *request = socket->request;
    bool written = write_frames(socket);
    uint64_t waiting = waiting_bytes(socket);
    if (!socket->client_left) note_close(socket);
    if (!written || socket->client_left || (socket->malformed && waiting == 0)) {
        end_with(socket, "client");
        return;
    }
    if (wslay_event_get_close_sent(socket->frames) && waiting == 0) {
        if (wslay_event_get_close_received(socket->frames) || !wslay_event_get_read_enabled(socket->frames)) {
            end_with(socket, "client");
            return;
        }
        if (socket->closing == 0) socket->closing = serve_now_ms() + CLOSE_MS;
    }
    request_note_taken(request, waiting);
    update_watch(socket);
}

static void read_frames(struct socket *socket) {
    socket->read = 0;
    if (may_read(socket) && wslay_event_recv(socket->frames) != 0 && !socket->client_left) {
        socket->malformed = true; /* wslay has queued a close */
        if (socket->request->reason == NULL) socket->request->reason = "protocol";
    }
    if (socket->read >= READ_MAX) {
        socket->read_again = true;
        listener_wake(socket->request->listener);
    }
    progress(socket);
}

static void on_socket_ready(void *user, int32_t events) {
    struct socket *socket = user;
    if ((events & TN_POLL_CLOSED) != 0 && !may_read(socket)) {
        end_with(socket, "client"); /* what it has sent before is not read any more */
        return;
    }
    if ((events & (TN_POLL_READ | TN_POLL_CLOSED)) != 0)
        read_frames(socket);
    else
        progress(socket);
}

/* ---- Opening ---- */

/* NULL: memory ran out, or the descriptor cannot be watched. */
static struct socket *socket_new(struct request *request, int descriptor) {
    static const struct wslay_event_callbacks callbacks = {.recv_callback = on_recv,
                                                           .send_callback = on_send,
                                                           .on_frame_recv_start_callback = on_frame_start,
                                                           .on_msg_recv_callback = on_message};
    struct listener *listener = request->listener;
    struct socket *socket = calloc(1, sizeof *socket);
    int on = 1;
    if (socket == NULL || wslay_event_context_server_init(&socket->frames, &callbacks, socket) != 0 ||
        serve_poll->watch(tn.host, descriptor, TN_POLL_READ, on_socket_ready, socket, &socket->watch) != TN_OK) {
        socket_free(socket);
        return NULL;
    }
    wslay_event_config_set_max_recv_msg_length(socket->frames, (uint64_t)listener->limits.message_bytes);
    /* libmicrohttpd has turned it off for the upgrade. */
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    socket->request = request;
    socket->descriptor = descriptor;
    socket->events = TN_POLL_READ;
    socket->heard = socket->moved = serve_now_ms();
    socket->flush = true;
    request->socket = socket;
    TAILQ_INSERT_TAIL(&listener->sockets, socket, in_listener);
    listener_wake(listener);
    return socket;
}

void socket_on_upgrade(void *user, struct MHD_Connection *connection, void *context, const char *extra, size_t size,
                       MHD_socket descriptor, struct MHD_UpgradeResponseHandle *handle) {
    struct request *request = user;
    struct socket *socket = request->aborted ? NULL : socket_new(request, descriptor);
    (void)connection, (void)context;
    if (socket == NULL) {
        if (request->reason == NULL) request->reason = "closed";
        (void)MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
        return;
    }
    socket->handle = handle;
    socket->read_again = true;
    if (tn_text_append_n(&socket->early, extra, size) != TN_OK) socket->client_left = true;
}

bool socket_take_tls(struct request *request, void *session, const char *head, uint64_t length) {
    struct socket *socket = socket_new(request, connection_descriptor(request->connection));
    if (socket == NULL) return false;
    socket->session = session;
    if (tn_text_append_n(&socket->out, head, length) != TN_OK) socket->client_left = true;
    return true;
}

/* ---- Functions of the interface ---- */

int32_t socket_send(struct request *request, const void *data, uint64_t length, bool text) {
    struct socket *socket = request->socket;
    struct wslay_event_msg message = {text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME, data, length};
    if (socket == NULL || (data == NULL && length > 0) || (text && !tn_utf8_is_valid(data, length))) return TN_INVALID;
    int result = wslay_event_queue_msg(socket->frames, &message);
    if (result == WSLAY_ERR_NO_MORE_MSG) return TN_STALE; /* it is closing */
    if (result != 0) return TN_NO_MEMORY;
    socket->flush = true;
    request->sent += length;
    listener_wake(request->listener);
    request_note_written(request, waiting_bytes(socket));
    return request->full ? TN_HTTP_SERVER_FULL : TN_OK;
}

int32_t socket_close(struct request *request, int32_t code, const char *reason, uint64_t length) {
    struct socket *socket = request->socket;
    if (reason != NULL && length == TN_Z) length = strlen(reason);
    if (socket == NULL || code < 1000 || code > 4999 || length > CLOSE_LESS || (reason == NULL && length > 0))
        return TN_INVALID;
    if (request->reason == NULL) request->reason = "closed";
    (void)wslay_event_queue_close(socket->frames, (uint16_t)code, (const uint8_t *)reason, (size_t)length);
    socket->flush = true;
    listener_wake(request->listener);
    return TN_OK;
}

void socket_update(struct request *request) {
    request->socket->flush = request->socket->read_again = true; /* wslay and GnuTLS may have bytes already */
    listener_wake(request->listener);
}

void sockets_flush(struct listener *listener) {
    struct socket *socket, *next;
    TAILQ_FOREACH_SAFE(socket, &listener->sockets, in_listener, next) {
        if (!socket->flush && !socket->read_again) continue;
        bool more = socket->read_again;
        socket->flush = socket->read_again = false;
        if (more)
            read_frames(socket);
        else
            progress(socket);
    }
}

void sockets_sweep(struct listener *listener) {
    int64_t now = serve_now_ms(), idle_ms = listener->limits.idle_ms;
    struct socket *socket, *next;
    TAILQ_FOREACH_SAFE(socket, &listener->sockets, in_listener, next) {
        if (socket->closing != 0 && now >= socket->closing) {
            end_with(socket, "client");
        } else if ((waiting_bytes(socket) > 0 && now - socket->moved > idle_ms) ||
                   (socket->pinged && now - socket->heard > 2 * idle_ms)) {
            end_with(socket, "limit");
        } else if (!socket->pinged && may_read(socket) && now - socket->heard > idle_ms) {
            struct wslay_event_msg ping = {WSLAY_PING, NULL, 0};
            socket->pinged = true;
            if (wslay_event_queue_msg(socket->frames, &ping) == 0) progress(socket);
        }
    }
}
