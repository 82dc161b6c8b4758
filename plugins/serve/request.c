/*
 * request.c - the life of a request. See request.h for its states.
 *
 * libmicrohttpd calls request_on_access first after the head, then for each part of the body, and again after the body.
 * A response may be given only after the head (the connection is then closed after it) or after the body. A request
 * without a body is therefore suspended in the call after its (empty) body.
 */
#include "request.h"
#include "head.h"
#include "listener.h"
#include "response.h"
#include "socket.h"
#include <tenon/util/handles.h>

static struct tn_handles numbers = TN_HANDLES(REQUESTS_MAX);
static struct request_list ready = TAILQ_HEAD_INITIALIZER(ready);

struct request *request_find(uint64_t number) {
    struct request *request = tn_handles_get(&numbers, number);
    return request == NULL || request->connection == NULL || request->closed ? NULL : request;
}

/* ---- Objects ---- */

static struct request *request_new(struct listener *listener, struct connection *connection) {
    struct request *request = calloc(1, sizeof *request);
    if (request == NULL) return NULL;
    request->listener = listener_ref(listener);
    request->connection = connection;
    request->references = 1;
    TAILQ_INSERT_TAIL(listener_requests(listener), request, in_listener);
    return request;
}

static void request_count_waiting(struct request *request, uint64_t bytes) {
    listener_add_waiting(request->listener, (int64_t)bytes - (int64_t)request->waiting);
    request->waiting = bytes;
}

static void request_unref(struct request *request) {
    if (--request->references > 0) return;
    request_count_waiting(request, 0);
    TAILQ_REMOVE(listener_requests(request->listener), request, in_listener);
    if (request->unwatched) TAILQ_REMOVE(listener_unwatched(request->listener), request, in_unwatched);
    if (request->number != 0) (void)tn_handles_remove(&numbers, request->number);
    if (request->response != NULL) MHD_destroy_response(request->response);
    tn_release(request->head);
    tn_release(request->refusal);
    tn_release(request->messages);
    tn_text_free(&request->arrived);
    tn_text_free(&request->out);
    socket_free(request->socket);
    listener_unref(request->listener);
    free(request->target);
    free(request);
}

void request_set_ready(struct request *request) {
    if (request->ready) return;
    request->ready = true;
    request->references++;
    TAILQ_INSERT_TAIL(&ready, request, in_ready);
    listener_wake(request->listener);
}

void request_note_written(struct request *request, uint64_t bytes) {
    request_count_waiting(request, bytes);
    if (bytes > listener_write_limit(request->listener)) request->full = true;
}

void request_note_taken(struct request *request, uint64_t bytes) {
    request_count_waiting(request, bytes);
    if (!request->full || bytes >= listener_write_limit(request->listener) / 2) return;
    request->full = false;
    request->room = true;
    request_set_ready(request);
}

void request_suspend(struct request *request) {
    request->suspended = true;
    MHD_suspend_connection(connection_mhd(request->connection));
    if (request->watch != 0 || request->unwatched) return;
    request->unwatched = true;
    TAILQ_INSERT_TAIL(listener_unwatched(request->listener), request, in_unwatched);
}

void request_wake(struct request *request) {
    if (request->connection == NULL) return;
    if (request->suspended) {
        request->suspended = false;
        MHD_resume_connection(connection_mhd(request->connection));
    }
    connection_wake(request->connection);
}

/* ---- A client that leaves while its connection is suspended ---- */

void request_unwatch(struct request *request) {
    if (request->watch != 0) (void)serve_poll->unwatch(tn.host, request->watch);
    request->watch = 0;
}

static void on_client_closed(void *user, int32_t events) {
    struct request *request = user;
    if ((events & TN_POLL_CLOSED) != 0) request_abort(request, "client");
}

void requests_watch(struct listener *listener) {
    struct request_list *list = listener_unwatched(listener);
    for (struct request *request; (request = TAILQ_FIRST(list)) != NULL;) {
        TAILQ_REMOVE(list, request, in_unwatched);
        request->unwatched = false;
        if (request->connection == NULL || !request->suspended || request->socket != NULL) continue;
        int descriptor = connection_descriptor(request->connection);
        if (serve_poll->watch(tn.host, descriptor, 0, on_client_closed, request, &request->watch) != TN_OK)
            request_abort(request, "closed"); /* too many watches: its end would not be noticed */
    }
}

/* ---- Refusals ---- */

static tn_value refusal_new(int status, const char *message, const char *address, const char *method,
                            const char *target) {
    const char *code = status == 413 || status == 414 || status == 431 || status == 408 ? "LIMIT" : "PROTOCOL";
    tn_value where = method == NULL ? NULL : tn_text_lossy(method, strlen(method));
    tn_value what = target == NULL ? NULL : tn_text_lossy(target, strlen(target));
    return tn_build("{s:i, s:s, s:s, s:s, s:V*, s:V*}", "status", status, "code", code, "message", message, "address",
                    address, "method", where, "target", what);
}

void request_refuse_take(struct listener *listener, tn_value refusal) {
    struct request *request = request_new(listener, NULL);
    if (request == NULL) {
        tn_release(refusal);
        return;
    }
    request->refusal = refusal;
    request_set_ready(request);
    request_unref(request);
}

static enum MHD_Result refuse(struct request *request, struct MHD_Connection *connection, const char *method,
                              int status, const char *message) {
    request->state = REQUEST_REFUSED;
    request->refusal = refusal_new(status, message, connection_address(request->connection), method, request->target);
    request_set_ready(request);
    return response_refuse(connection, status, message) ? MHD_YES : MHD_NO;
}

/* ---- What libmicrohttpd calls ---- */

void *request_on_line(void *user, const char *target, struct MHD_Connection *connection) {
    struct connection *owner = connection_of(connection);
    (void)user;
    if (owner == NULL) return NULL;
    struct request *request = request_new(connection_listener(owner), owner);
    if (request == NULL) return NULL;
    request->target = strdup(target);
    request->target_at = (uintptr_t)target;
    return request;
}

static enum MHD_Result on_head(struct request *request, struct MHD_Connection *connection, const char *method,
                               const char *version) {
    const union MHD_ConnectionInfo *size = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    struct head head = {.method = method, .version = version, .target = request->target};
    if (request->target == NULL || size == NULL) return MHD_NO;
    head.target_at = request->target_at;
    head.size = size->header_size;
    connection_set_busy(request->connection);
    if (!head_read(&head, connection)) return refuse(request, connection, method, head.status, head.message);
    if (head.size > (size_t)listener_limits(request->listener)->headers_bytes)
        return refuse(request, connection, method, 431, "the request line and the headers are too large");
    request->http10 = strcmp(version, "HTTP/1.0") == 0;
    request->body = head.body;
    request->websocket = head.websocket;
    memcpy(request->key, head.key, sizeof request->key);
    request->head = head_value(&head, connection_address(request->connection), listener_is_secure(request->listener));
    if (request->head == NULL || tn_handles_add(&numbers, request, &request->number) != TN_OK)
        return refuse(request, connection, method, 503, "too many open requests, or not enough memory");
    request->state = REQUEST_OFFERED;
    request_set_ready(request);
    if (request->body != 0) request_suspend(request);
    return MHD_YES;
}

static enum MHD_Result on_body(struct request *request, const char *bytes, size_t *size) {
    if (request->answered || request->over_limit) {
        request->discarded += *size;
        *size = 0;
        return request->discarded <= DISCARD_MAX ? MHD_YES : MHD_NO;
    }
    if (request->paused) {
        request_suspend(request); /* the bytes are offered again */
        return MHD_YES;
    }
    if (request->received + *size > request->limit) {
        request->over_limit = true;
        request->reason = "limit";
        return on_body(request, bytes, size);
    }
    if (tn_text_append_n(&request->arrived, bytes, *size) != TN_OK) return MHD_NO;
    request->received += *size;
    *size = 0;
    request_set_ready(request);
    return MHD_YES;
}

/* Nothing is to be read now: the response, if there is one, or wait for it. */
static enum MHD_Result on_turn(struct request *request, struct MHD_Connection *connection) {
    if (request->state == REQUEST_RECEIVING) {
        request->state = REQUEST_RECEIVED;
        if (request->over_limit) return response_refuse(connection, 413, "the body is too large") ? MHD_YES : MHD_NO;
        if (!head_trailer_is_valid(connection)) {
            request->reason = "protocol";
            return response_refuse(connection, 400, "a trailer field is malformed") ? MHD_YES : MHD_NO;
        }
        request->body_ended = !request->answered;
        request_set_ready(request);
    }
    if (request->response != NULL) return response_queue(request, connection) ? MHD_YES : MHD_NO;
    if (request->state == REQUEST_OFFERED && request->over_limit)
        return response_refuse(connection, 413, "the body is too large") ? MHD_YES : MHD_NO;
    if (request->state != REQUEST_ANSWERED) request_suspend(request);
    return MHD_YES;
}

enum MHD_Result request_on_access(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                                  const char *version, const char *upload, size_t *size, void **context) {
    struct request *request = *context;
    (void)user, (void)url;
    if (request == NULL || request->aborted) return MHD_NO;
    if (request->state == REQUEST_HEAD) return on_head(request, connection, method, version);
    if (request->state == REQUEST_REFUSED) return MHD_YES;
    if (*size > 0) return on_body(request, upload, size);
    if (request->state == REQUEST_OFFERED && request->admitted && request->response == NULL) {
        request->state = REQUEST_RECEIVING;
        return MHD_YES;
    }
    return on_turn(request, connection);
}

/* Why libmicrohttpd has ended the request, if nothing else is known. */
static const char *termination_reason(const struct request *request, enum MHD_RequestTerminationCode code, int status) {
    if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK) return request->answered ? "done" : "client";
    if (code == MHD_REQUEST_TERMINATED_TIMEOUT_REACHED) return "limit";
    if (code == MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN) return "closed";
    if (status >= 400 && !request->answered) return status == 400 ? "protocol" : "limit";
    return "client";
}

void request_on_completed(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode code) {
    struct request *request = *context;
    (void)user;
    *context = NULL;
    if (request == NULL) return;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_HTTP_STATUS);
    int status = info == NULL ? 0 : (int)info->http_status;
    if (request->state == REQUEST_HEAD && status >= 400) {
        request->refusal = refusal_new(status, "the request is malformed or too large",
                                       connection_address(request->connection), NULL, request->target);
        request_set_ready(request);
    }
    request_unwatch(request);
    if (request->reason == NULL) request->reason = termination_reason(request, code, status);
    if (request->answered && !request->more && strcmp(request->reason, "done") == 0) request->sent = request->length;
    connection_set_waiting(request->connection);
    request->connection = NULL;
    request->suspended = false;
    request->closed = true;
    if (request->number != 0) request_set_ready(request);
    request_unref(request);
}

/* ---- Functions of the interface ---- */

int32_t request_receive(struct request *request, uint64_t limit) {
    if (request->state != REQUEST_OFFERED || request->answered || request->admitted || request->over_limit)
        return TN_INVALID;
    request->limit = limit == TN_Z ? (uint64_t)listener_limits(request->listener)->body_bytes : limit;
    limit = request->limit;
    if (request->body == 0) {
        request->state = REQUEST_RECEIVED;
        request->body_ended = true;
        request_set_ready(request);
        return TN_OK;
    }
    if (request->body > 0 && (uint64_t)request->body > limit) {
        request->over_limit = true;
        request->reason = "limit";
    }
    /* A client that sends a little too much gets its answer after that, because many clients read only then. */
    request->admitted = !request->over_limit || request->body <= DISCARD_MAX;
    request_wake(request);
    return TN_OK;
}

int32_t request_pause(struct request *request, bool on) {
    request->paused = on;
    if (request->socket != NULL) socket_update(request);
    if (on) return TN_OK;
    request_set_ready(request);
    if (request->state == REQUEST_RECEIVING) request_wake(request);
    return TN_OK;
}

void request_abort(struct request *request, const char *reason) {
    if (request->connection == NULL || request->aborted) return;
    request->aborted = true;
    if (request->reason == NULL) request->reason = reason;
    request_unwatch(request);
    if (request->socket != NULL) {
        socket_end(request);
        return;
    }
    connection_shut(request->connection);
    request_wake(request);
}

/* ---- Events ---- */

/* The next event of the request, with a reference to its value; 0: there is none. */
static int32_t next_event(struct request *request, tn_value *value) {
    *value = NULL;
    if (request->refusal != NULL) {
        *value = request->refusal;
        request->refusal = NULL;
        return TN_HTTP_SERVER_REFUSED;
    }
    if (request->number == 0) return 0;
    if (request->head != NULL) {
        *value = request->head;
        request->head = NULL;
        return TN_HTTP_SERVER_REQUEST;
    }
    if (!request->paused && request->arrived.length > 0) {
        *value = tn_bytes(request->arrived.bytes, request->arrived.length);
        tn_text_clear(&request->arrived, 0);
        return TN_HTTP_SERVER_BODY;
    }
    if (!request->paused && request->body_ended) {
        request->body_ended = false;
        return TN_HTTP_SERVER_BODY_END;
    }
    if (!request->paused && request->messages != NULL) return socket_next_message(request, value);
    if (request->room && !request->closed) {
        request->room = false;
        return TN_HTTP_SERVER_ROOM;
    }
    return request->closed ? TN_HTTP_SERVER_CLOSED : 0;
}

static void deliver(struct request *request) {
    tn_value value;
    for (int32_t event; (event = next_event(request, &value)) != 0;) {
        uint64_t number = event == TN_HTTP_SERVER_REFUSED ? 0 : request->number;
        if (event == TN_HTTP_SERVER_CLOSED) {
            value = tn_build("{s:s, s:I}", "reason", request->reason, "sent", (int64_t)request->sent);
            (void)tn_handles_remove(&numbers, request->number);
            request->number = 0;
        }
        listener_call(request->listener, number, event, value);
        tn_release(value);
    }
}

void requests_deliver(struct listener *only) {
    struct request *request = TAILQ_FIRST(&ready), *next;
    for (; request != NULL; request = next) {
        next = TAILQ_NEXT(request, in_ready);
        if (only != NULL && request->listener != only) continue;
        TAILQ_REMOVE(&ready, request, in_ready);
        request->ready = false;
        deliver(request);
        request_unref(request);
        /* Handlers have changed the list. */
        next = TAILQ_FIRST(&ready);
    }
}

void requests_close(void) { tn_handles_free(&numbers); }
