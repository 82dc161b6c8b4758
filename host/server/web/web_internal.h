/*
 * web_internal.h - the parts of a web, for the files of this room.
 */
#ifndef TENON_HOST_SERVER_WEB_WEB_INTERNAL_H
#define TENON_HOST_SERVER_WEB_WEB_INTERNAL_H

#include "adl/value/buffer.h"
#include "host/base/loop.h"
#include "host/server/web/access.h"
#include "host/server/web/web.h"
#include "host/server/web/web_limit.h"
#include "host/server/web/web_log.h"
#include "host/server/web/web_origin.h"
#include "host/server/web/web_proxy.h"
#include "host/server/web/web_route.h"
#include <tenon/http_server.h>
#include <tenon/server.h>

struct plugin;
struct plugin_caller;

#define WEB_BODIES_MAX    (256 << 20)        /* bytes of bodies that are being received; then 503 */
#define WEB_BODY_DEFAULT  (1 << 20)          /* of a route without `max` */
#define WEB_BODY_MAX      (64 << 20)         /* of a body that is given as a whole */
#define WEB_UPLOAD_MAX    ((int64_t)1 << 30) /* of a streamed one */
#define WEB_UNREAD_MAX    (16 << 20)         /* bytes that a plugin writes after TN_SERVER_FULL; then abort */
#define WEB_WAITING_MAX   (256 << 20)        /* bytes of responses that clients have not read: see web_waiting.c */
#define WEB_WAITING_SMALL 16384              /* bytes of one that only the limit of its key refuses */
#define WEB_HEADERS_MAX   64u                /* headers of a response; then TN_INVALID */
#define WEB_HEADER_MAX    8192u              /* bytes of one of them */
#define WEB_CALLERS_MAX   10000u             /* callers of a host; then 503 */
#define WEB_QUERY_MAX     256u               /* members of a query; then 400 */
#define WEB_TEXT_KEPT     (1 << 20)          /* bytes of the buffer for JSON that stay allocated */
#define WEB_KEEP_ALIVE_MS 15000              /* silence of an event stream before a comment */
#define WEB_TICK_MS       1000

/* ---- The provider, web_provider.c ---- */

struct web_provider {
    struct plugin *plugin; /* referenced; NULL: none */
    const tn_http_server_draft *vtable;
    void *self;
};
/* The plugin that `use` names, or the one called "serve", or the only one. UNSUPPORTED, or as plugin_load. */
int32_t web_provider_find(struct web *web, tn_value use, struct error *error);

/* ---- Requests ---- */

/*
 *     head ──▶ body ──▶ open ──▶ responded ──▶ finished ──▶ (freed by CLOSED)
 *       └────────┴───────▶ refused ──────────────┘
 */
struct web_request {
    struct web_request *next; /* in its bucket */
    struct web *web;
    uint64_t number;
    struct web_route *route;   /* a reference; NULL if it was refused before its route was known */
    tn_server_handler handler; /* NULL until it is open, and after the plugin's end: nothing is reported */
    tn_value head;             /* as TN_HTTP_SERVER_REQUEST */
    tn_value event;            /* the value of TN_SERVER_REQUEST, until it is open */
    tn_value refusal;          /* headers of the refusal; NULL: it was not refused */
    struct buffer body;        /* what has arrived of a body that is given as a whole */
    int64_t length, limit;     /* of the body: as declared (-1: unknown); allowed */
    char id[WEB_ID_TEXT];
    char *key;                 /* name of the key; NULL: none */
    char *socket_key;          /* that a page has sent as a subprotocol, until it was checked; or NULL */
    struct access_wait *wait;  /* authenticators are asked who it is; NULL: they are not */
    struct key_use *use;       /* of the key; NULL: none */
    struct web_client *client; /* behind a trusted proxy; NULL: the peer is the client */
    char *origin;              /* for Access-Control-Allow-Origin; NULL: none */
    struct web_request *stream_next,
        **stream_link;           /* event streams, for keep-alive; the link is NULL for other requests */
    struct loop_work later;      /* reports TN_SERVER_DRAIN */
    tn_value trace;              /* a span, with `id` and `context`; NULL: none is wanted */
    tn_value causes;             /* trace context of what it causes: {traceparent, tracestate?}; or NULL */
    int64_t started_us, last_ms; /* last_ms: of the last event */
    uint64_t unread;             /* bytes written since FULL */
    int64_t waiting;             /* bytes that web_waiting.c counts */
    uint64_t received;           /* bytes of the body */
    int status;                  /* of the response; 0 before it */
    bool head_only;              /* HEAD: what the plugin writes is dropped */
    bool upgrade;                /* it may be accepted as a WebSocket */
    bool keyed_socket;           /* socket_key was checked */
    bool refusing, responded, streams, finished, upgraded, full, aborted, drained, counted, json;
    const char *reason; /* why the host has ended it; NULL: it has not */
    const char *code;   /* of a refusal, for the log; NULL */
};

/* Why the host refuses a request, before it is formatted for the client. */
struct web_refusal {
    int status;
    const char *code;
    const char *message;
    const char *headers[4][2]; /* name and value, ended by NULL */
};

struct web {
    struct server *server;
    struct loop *loop;
    struct access *access;
    struct web_provider provider;
    uint64_t listener;
    struct web_routes routes;
    struct web_origin origin;
    struct web_proxies proxies;
    uint32_t client_max; /* open requests of one client of a trusted proxy */
    struct web_log *log;
    struct web_limits *limits;
    struct web_budget *budget;
    tn_value config, listen; /* the section `serve`, or NULL; limits of http_server.h */
    struct web_request **buckets;
    size_t bucket_count, open, open_max;
    struct web_request *streams; /* event streams */
    struct web_caller *callers;
    size_t caller_count;
    uint64_t last_caller;
    int64_t bodies;     /* bytes of bodies that are being received */
    int64_t waiting;    /* bytes that clients have not read */
    struct buffer text; /* of one event or body, while it is written */
    struct web_probe *probe;
    struct loop_timer tick;
    bool draining, ending;
};

/* web_request.c: the handler of the provider's events; `user` is the web. */
void web_on_http(void *user, uint64_t number, int32_t event, tn_value value);
struct web_request *web_request_find(const struct web *web, uint64_t number);
/* The open request of this plugin; NULL if it has ended, or is another one's. */
struct web_request *web_request_of(const struct web *web, const struct plugin *plugin, uint64_t number);
void web_request_deliver(struct web_request *request, int32_t event, tn_value value);
/* Ends it: 500 if there was no response yet, else the connection is closed. */
void web_request_fail(struct web_request *request, const char *message);
void web_request_abort(struct web_request *request, const char *reason);
/* The requests of a plugin that has ended; NULL: of all plugins. */
void web_requests_end(struct web *web, const struct plugin *plugin);
void web_requests_drain(struct web *web);
void web_requests_free(struct web *web);

/*
 * web_check.c: everything that is checked before the plugin gets a request. False: it was refused, or it is not known
 * yet who it is: then web_request_admit is called later.
 */
bool web_request_check(struct web_request *request);
/* web_request.c: it has passed the checks; its body is received, or the plugin called. */
void web_request_admit(struct web_request *request);
/* web_key.c: sets `caller` of the event. False: it was refused, or an authenticator is asked. */
bool web_check_key(struct web_request *request);
/* web_check.c: a header of the request, NULL without it; another member of its head, "" without it. Borrowed. */
const char *web_header(const struct web_request *request, const char *name);
const char *web_head_text(const struct web_request *request, const char *member);
/* The checks after web_check_key. */
bool web_check_rest(struct web_request *request);
/* The headers for a plugin, a new reference; `keyless`: without those that have a key. */
tn_value web_shown_headers(const struct web_request *request, bool keyless);
/* Calls the plugin, or answers a route of the host itself. */
void web_request_open(struct web_request *request);
/* web_body.c: whether the route takes a body of this length and type; false: it was refused. */
bool web_check_body(struct web_request *request);
/* True if the whole body is acceptable: sets `json` of the event. Otherwise it was refused. */
bool web_request_take_body(struct web_request *request);

/* web_refuse.c */
void web_refuse(struct web_request *request, const struct web_refusal *refusal);
void web_refuse_drain(struct web_request *request);
void web_refuse_format(struct web_request *request, int status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* web_waiting.c: a response of this length is about to be sent. Only with WEB_ROOM it counts. */
enum web_room { WEB_ROOM, WEB_ROOM_NONE, WEB_ROOM_NONE_OF_KEY };
enum web_room web_waiting_add(struct web_request *request, size_t length);
void web_waiting_end(struct web_request *request);
/* Bytes were written to a stream or socket. False: too many wait, so the request was aborted. */
bool web_note_unread(struct web_request *request, size_t length);
void web_note_room(struct web_request *request); /* the provider is not full any more */

/* web_respond.c: as the functions of tn_server_draft. */
int32_t web_respond(struct web_request *request, tn_value response);
int32_t web_write(struct web_request *request, const char *data, size_t length);
int32_t web_event(struct web_request *request, tn_value event);
int32_t web_finish(struct web_request *request);
int32_t web_flow(struct web_request *request, bool on);
/* A response of the host: JSON, or no body if `body` is NULL. `headers` are added; NULL, or [[name, text], …], taken.
 */
void web_answer_take(struct web_request *request, int status, tn_value headers, tn_value body);
/* The headers of every response, added to `headers`. */
tn_value web_add_headers(struct web_request *request, tn_value headers, bool caches);
tn_value web_push_header(tn_value headers, const char *name, const char *text);
void web_keep_streams_alive(struct web *web);

/* web_trace.c */
/*
 * If spans are wanted, the request is one: the traceparent of the headers, which it takes and returns, becomes that of
 * what the request causes. One that is malformed is left out.
 */
tn_value web_trace_begin_take(struct web_request *request, tn_value headers);
void web_trace_end(struct web_request *request, const char *reason, int64_t sent);

/* web_socket.c */
/* Sets socket_key if a subprotocol is a key, and removes it from the header. */
void web_socket_take_key(struct web_request *request);
void web_socket_forget_key(struct web_request *request);
int32_t web_accept(struct web_request *request, const char *protocol);
int32_t web_send(struct web_request *request, tn_value message);
int32_t web_close(struct web_request *request, int32_t code, const char *reason);

/* web_builtin.c: /, /healthz, /readyz. */
void web_add_builtin(struct web *web);
void web_builtin_free(struct web *web);

/* web_caller.c */
/* The number of the caller with this key for the plugin; 0 if there are too many. */
uint64_t web_caller_number(struct web *web, struct plugin *plugin, const struct access_key *key);
struct plugin_caller *web_caller_find(const struct web *web, const struct plugin *plugin, uint64_t number);
void web_callers_end(struct web *web, const struct plugin *plugin); /* NULL: all */
/* Ends the subscriptions of keys that were revoked. Requests that are open end by themselves. */
void web_callers_check(struct web *web);

/* web_abi.c */
void web_set_routes(struct web *web, bool on);

/* web_schedule.c: schedules of keys start runs only if the key may. */
void web_set_starter(struct web *web, bool on);

#endif
