/*
 * exchange.h - one HTTP exchange with a server, and what the exchanges of a server share.
 *
 * An exchange is one HTTP request: a POST with a message, a GET for the server's stream or to resume a stream.
 * Receivers of an event may close the transport: `closed` is checked afterwards, and the memory is freed when no
 * function that delivers events is active. http.c has the transport, http_sse.c that of 2024-11-05.
 *
 *     struct exchange *exchange = post_exchange_new(http, POST, id);
 *     if (exchange_send_or_wait(exchange) != TN_OK) post_exchange_free(exchange);
 */
#ifndef MCP_EXCHANGE_H
#define MCP_EXCHANGE_H

#include "http.h"
#include "sse.h" /* in plugins/http/parse */
#include <tenon/util/text.h>

#define SESSION_MAX 1024 /* bytes of a session id */
#define OPENING_MS                                                                                                     \
    500 /* to wait for the headers of the server's stream; some servers send them with the first event                 \
         */

struct http {
    struct transport transport; /* must be first */
    char *name, *url;
    char *endpoint; /* with `sse`: the URL of POSTs; NULL before the server has named it. Owned */
    tn_value headers;
    struct oauth *oauth;
    struct exchange *exchanges;
    char session[SESSION_MAX + 1];
    char version[16]; /* "" before the handshake */
    bool modern, closed, wants_stream;
    bool sse, streaming;      /* the transport of 2024-11-05; its stream was requested */
    bool stream_due;          /* the server's stream is requested after notifications/initialized */
    bool opening;             /* the server's stream is not open yet, and requests wait for it */
    uint32_t redirects;       /* that were followed since the last answer */
    uint64_t delete_exchange; /* the DELETE exchange; 0: none */
    void (*session_ended)(void);
    uint32_t active_callbacks; /* active functions that deliver events; the memory is freed when it is 0 */
};

enum purpose { POST, STREAM, RESUME };

struct exchange {
    struct exchange *next;
    struct http *http;
    enum purpose purpose;
    int64_t id; /* of the request that it answers; 0: none */
    uint64_t token;
    uint64_t timer;       /* a posted call, to resume the stream or to send a delayed request */
    bool delayed;         /* waiting for the server's stream */
    bool events;          /* text/event-stream */
    bool busy, must_free; /* its handler runs; free it afterwards */
    bool had_session;
    uint32_t empty; /* reconnections in a row without an event */
    struct sse sse;
    int64_t retry_ms; /* of the stream's last `retry`; -1: none */
    struct tn_text_buffer body;
    /* What is needed to send it again. */
    tn_value message, extra;
    tn_value header; /* the token that was sent with it */
    struct oauth_wait wait;
    uint32_t tries; /* how often a token was refused */
};

/* ---- http.c ---- */

/* Frees the transport if it is closed, and no other function that delivers events is active. */
void http_release(struct http *http);
/* The server has received the end of the handshake: opens its stream. */
void http_start_stream(struct http *http);

/* ---- exchange.c ---- */

/* NULL if memory runs out. */
struct exchange *post_exchange_new(struct http *http, enum purpose purpose, int64_t id);
void post_exchange_free(struct exchange *exchange);
/* Sends the exchange now, or when there is a token. */
int32_t exchange_send_or_wait(struct exchange *exchange);
/* Opens the server's stream, or resumes one that broke off. */
int32_t exchange_open_stream(struct exchange *exchange);
/* Sends the message later, or when the stream is open. Returns false if memory runs out. */
bool exchange_delay(struct exchange *exchange, uint64_t delay_ms);
/* The stream is open or was refused: sends the delayed requests, oldest first. */
void http_stream_opened(struct http *http);
/* Frees the exchange. `body` may be NULL. */
void exchange_report_failure(struct exchange *exchange, int64_t status, tn_value body, const char *code,
                             const char *why);
/* The begin of a request {url, method, …}. */
tn_builder *start_http_request(const struct http *http, const char *method);
/* Adds the members of `headers`. `exchange` may be NULL; its token is stored in it. */
void put_exchange_headers(tn_builder *builder, const struct http *http, const char *method, struct exchange *exchange);

/* ---- http_sse.c ---- */

/* Opens the stream if that was not done, and sends the exchange when the server has named its endpoint. */
int32_t sse_send(struct http *http, struct exchange *exchange);
/* The stream cannot be opened, or has ended. The request that waits for it fails, or else the transport ends. */
void sse_fail(struct exchange *stream, int64_t status, const char *code, const char *reason);
/* Returns the URL that `text` means, relative to `base`: to be freed with mcp_free, NULL if it is not a URL of the same
 * origin. */
char *resolve_same_origin(const char *base, const char *text, uint64_t length);
/* The event `endpoint`. Returns false if the stream has ended because of it. */
bool sse_read_endpoint(struct exchange *exchange, const char *text, uint64_t length);

#endif
