/*
 * serving.h - what plugins that serve a protocol share: graphs, runs, and the events of a run in an order that every
 * protocol can express. It is compiled into each of them, and uses only interfaces of the SDK. Everything is [loop].
 *
 *     serving_open(&serving);                                             // in init: false if the host serves nothing
 *     serving_graphs(&serving, caller, on_graphs, self, &lookup);         // the graphs that this user may run
 *     run = serving_run_start(&serving, caller, "run/start", params, &handler, self);
 *     static void on_event(void *user, tn_value event) { serving_items_event(self->items, event); }
 *     static void on_end(void *user, tn_value report) { serving_items_end(self->items, report); }
 *
 * Functions without a stated failure return NULL, false or TN_NO_MEMORY if memory runs out.
 */
#ifndef SERVING_H
#define SERVING_H

#include <stdbool.h>
#include <stdint.h>
#include <tenon/easy.h>
#include <tenon/host.h>
#include <tenon/server.h>
#include <tenon/util/build.h>
#include <tenon/util/text.h>

struct serving {
    const tn_server_draft *server;
    const tn_host_1 *methods;
};

/* False if the host serves nothing: the plugin then registers no routes. */
bool serving_open(struct serving *serving);

/*
 * Registers a route: method, path and scope as in tenon/server.h; `more` is a JSON object with the other members ("{}",
 * "{\"body\": {\"max\": 65536}}"). TN_OK, or the status of the host, which was logged.
 */
int32_t serving_route(const struct serving *serving, const char *method, const char *path, const char *scope,
                      const char *more, tn_server_handler handler, void *user);

/* ---- Requests of clients ---- */

/*
 * What a plugin keeps of a request, from its first event to CLOSED. The plugin declares it:
 *
 *     struct exchange {
 *         SERVING_EXCHANGE;
 *         tn_value mine;
 *     };
 *     exchange->number
 */
struct exchange;

#define SERVING_EXCHANGE_MEMBERS                                                                                       \
    struct serving_exchange *next;                                                                                     \
    uint64_t number, caller; /* of the request; of its user, 0 if it has none */                                       \
    tn_value request;        /* what TN_SERVER_REQUEST had */                                                          \
    const char *owner        /* of the key, in `request`; "" for the operator */

struct serving_exchange {
    SERVING_EXCHANGE_MEMBERS;
};

#define SERVING_EXCHANGE                                                                                               \
    union {                                                                                                            \
        struct serving_exchange base;                                                                                  \
        struct {                                                                                                       \
            SERVING_EXCHANGE_MEMBERS;                                                                                  \
        };                                                                                                             \
    }

/* A route: the parameters of serving_route, and what begins with it. */
struct serving_row {
    const char *method, *path, *scope, *more;
    void (*begin)(struct exchange *exchange);
};

struct serving_protocol {
    size_t size; /* of struct exchange */
    const struct serving_row *rows;
    size_t count;
    /* A new request. The exchange is zero but for the members of SERVING_EXCHANGE. */
    void (*begin)(void *plugin, struct exchange *exchange, const struct serving_row *row);
    /* All other events. After CLOSED, whose value is NULL when the plugin ends, the exchange is freed. */
    void (*event)(struct exchange *exchange, int32_t event, tn_value value);
    /* The response to a request that the host refuses: new. NULL without such rows, or if memory runs out. */
    tn_value (*refusal)(const struct serving_row *row, tn_value refused);
};

#define SERVING_SLOTS 256

struct serving_exchanges {
    const struct serving *serving;
    const struct serving_protocol *protocol;
    void *plugin;
    struct serving_binding *bindings;
    uint64_t open;                                 /* requests */
    struct serving_exchange *slots[SERVING_SLOTS]; /* by the number of the request */
};

/* Registers the rows; a route that the host refuses was logged. TN_OK or TN_NO_MEMORY. The pointers are kept. */
int32_t serving_exchanges_open(struct serving_exchanges *exchanges, const struct serving *serving,
                               const struct serving_protocol *protocol, void *plugin);
/* In deinit: all exchanges get CLOSED. */
void serving_exchanges_close(struct serving_exchanges *exchanges);
/* Sends the response, or aborts the request if it is NULL. Takes it. */
void serving_respond_take(const struct serving *serving, uint64_t number, tn_value response);

/* ---- Values ---- */

void *serving_alloc(uint64_t size); /* zeroed; NULL if memory runs out */
void serving_free(void *memory);
char *serving_text_copy(const char *text);         /* NULL stays NULL; freed with serving_free */
bool serving_is(tn_value value, const char *text); /* a text that is `text`, without a NUL byte */
bool serving_true(tn_value value);                 /* a bool that is true */
uint64_t serving_json_size(tn_value value);        /* bytes as JSON; 0 for NULL, or if memory runs out */
/* True if its JSON has at most `most` bytes; false for NULL, or if memory runs out. Of a much larger value, none is
 * made. */
bool serving_json_fits(tn_value value, uint64_t most);
/* Random lower-case hexadecimal digits, NUL-terminated: `digits` of them, even. For ids. */
void serving_random_hex(char *out, uint32_t digits);
int64_t serving_now_s(void); /* the wall clock, in seconds */
/* The number of the request's caller; 0 if it has none. */
uint64_t serving_caller(tn_value request);

/* ---- Errors ---- */

/* The HTTP status of an ERROR of a method, as tenon/server.h lists them, or of a model. */
int32_t serving_error_status(tn_value error);

/* ---- Calls of methods ---- */

/* As a caller: the plugin itself, with the rights that its manifest declares, for what no request has asked. Ids and
 * namespaces of users have their prefix. */
#define SERVING_PLUGIN UINT64_MAX

/*
 * Calls a method for the user. Takes `params`. The handler is called once, unless the call is cancelled; it is also
 * called, later, if the call could not be made. *number (may be NULL) is for serving_cancel; 0: out of memory.
 */
void serving_call_take(const struct serving *serving, uint64_t caller, const char *method, tn_value params,
                       tn_host_handler handler, void *user, uint64_t *number);
void serving_cancel(const struct serving *serving, uint64_t number); /* 0 is allowed */

/* ---- Requests to addresses that clients choose ---- */

#define SERVING_URL_MAX 2048u /* bytes */

/* The address belongs to one of the origins in `allow`; false with NULL. */
bool serving_url_is_allowed(const char *url, tn_value allow);
bool serving_origin_is_valid(const char *origin); /* as an item of `allow` */
/* The valid items of `allow`, of the configuration: new; NULL: none. The others are logged; `where` names the member.
 */
tn_value serving_origins_read(tn_value allow, const char *where);
/* A request for tenon.http, which is repeated after a temporary failure and follows no redirect: new. */
tn_value serving_post(const char *url, tn_value headers_take, tn_value body);

/* ---- Graphs ---- */

enum serving_input {
    SERVING_MESSAGES,  /* a conversation, in `channel` */
    SERVING_ONE_TEXT,  /* a text, in `channel` */
    SERVING_JSON_INPUT /* an object with the input */
};

/* An item of graph/list, read. All texts are borrowed from it. */
struct serving_graph {
    tn_value item;
    const char *name, *title, *description, *document; /* title and description may be NULL */
    enum serving_input input;
    const char *channel; /* NULL with SERVING_JSON_INPUT */
    bool removes;        /* the channel of messages understands messages of the type `remove` */
    bool has_tools;      /* a channel `tools`, for tools that the client executes */
};

/*
 * How a document is served, as in `tenon acp`: messages if it has a channel `messages` that grows (append, or reduce
 * with messages); a text if `input` has exactly one; otherwise JSON.
 */
void serving_graph_read(tn_value item, struct serving_graph *graph);

/* The item of this name in an array of items, borrowed; NULL if it is not there. NULL as name: the first one. */
tn_value serving_graph_find(tn_value graphs, const char *name);

/* `graphs` is the array of items of graph/list, borrowed; NULL, and an ERROR, if it could not be read. */
typedef void serving_graphs_handler(void *user, tn_value graphs, tn_value error);
/* Lists the graphs that the caller may run. serving_graphs_cancel(lookup) until the handler was called. */
struct serving_lookup *serving_graphs(const struct serving *serving, uint64_t caller, serving_graphs_handler *handler,
                                      void *user);
/* The same with only the graph of this name; `graphs` is empty if there is none. */
#define SERVING_NAME_MAX 64 /* bytes */
struct serving_lookup *serving_graph_named(const struct serving *serving, uint64_t caller, const char *name,
                                           serving_graphs_handler *handler, void *user);
void serving_graphs_cancel(struct serving_lookup *lookup);
/* NOT_FOUND: there is no graph of this name; NULL: `path` says where a client names one of several. New. */
tn_value serving_graph_missing(const char *name, const char *path);

/*
 * The answer of a run without messages: its member `answer`, `output`, `result`, `response` or `text`; else its only
 * text; else its members as JSON. A new reference; NULL if there is nothing.
 */
tn_value serving_result_text(const struct serving_graph *graph, tn_value state);

/* ---- Threads ---- */

/* `thread` is that of thread/get, NULL if there is none; `state` is NULL if it has no checkpoint yet. Or an ERROR. */
typedef void serving_thread_handler(void *user, tn_value thread, tn_value state, tn_value error);
/* Reads a thread and its state. serving_thread_cancel(reading) until the handler was called. */
struct serving_reading *serving_thread_read(const struct serving *serving, uint64_t caller, const char *thread_id,
                                            serving_thread_handler *handler, void *user);
void serving_thread_cancel(struct serving_reading *reading); /* NULL is allowed */

/* ---- Runs ---- */

struct serving_run;

struct serving_run_handler {
    /* The run has started, or was found; its id is for run/answer and run/cancel. May be NULL. */
    void (*on_started)(void *user, const char *run_id);
    /* An event as `tenon schema event` describes it. `missed`: so many events before it are lost. */
    void (*on_event)(void *user, tn_value event, uint64_t seq, uint64_t missed);
    /*
     * The end, once: the report (type `result`), also of a run that waits for an answer; or, if the run could not be
     * started or followed, {status: "failed", error: ERROR, started: false}. The run may be closed inside.
     */
    void (*on_end)(void *user, tn_value report);
};

/* run/start, run/resume or run/answer, and a subscription to all events of it. Takes `params`. */
struct serving_run *serving_run_start(const struct serving *serving, uint64_t caller, const char *method,
                                      tn_value params, const struct serving_run_handler *handler, void *user);
/* A run that exists: events after the number `after`. */
struct serving_run *serving_run_follow(const struct serving *serving, uint64_t caller, const char *run_id,
                                       uint64_t after, const struct serving_run_handler *handler, void *user);
const char *serving_run_id(const struct serving_run *run); /* NULL before it has started */
/* No events until it flows again: the run waits when its buffers are full. Both may be repeated. */
void serving_run_pause(struct serving_run *run);
void serving_run_flow(struct serving_run *run);
/* Ends the run soon, also one that is about to start, or whose events could not be followed any more. Its report still
 * comes if it has not come. */
void serving_run_cancel(struct serving_run *run);
/* Forgets the run, which continues unless it was cancelled. Nothing is reported afterwards. NULL is allowed. */
void serving_run_close(struct serving_run *run);

/* ---- The events of a run for one client ---- */

/*
 * A text/event-stream. While the client has no room, events wait, and the run does. The plugin sets `serving` and
 * `number`, the request; after serving_stream_close or CLOSED it calls no other function.
 */
struct serving_stream {
    const struct serving *serving;
    uint64_t number;
    tn_value waiting; /* data of events */
    bool begun, full, ended;
};

bool serving_stream_begin(struct serving_stream *stream); /* false if the request has ended */
/* Pauses the run, which may be NULL, if the client has no room. */
void serving_stream_send(struct serving_stream *stream, tn_value data, struct serving_run *run);
void serving_stream_room(struct serving_stream *stream, struct serving_run *run); /* TN_SERVER_ROOM */
void serving_stream_end(struct serving_stream *stream);                           /* after the last event */
void serving_stream_close(struct serving_stream *stream);                         /* frees what waits */

/* ---- The events of a run as items ---- */

/*
 * Engine events report a message more than once: as deltas of a model, as writes of a node inside an agent, of the
 * agent itself, and in the result. Models of parallel nodes interleave. The items that come out have one order, which
 * protocols can send as it is:
 *
 *     (TEXT | REASONING | PART)… MESSAGE_END   one message after the other, never two at a time
 *     CALL … RESULT                            a tool that the graph executes; several may be open
 *     CLIENT_CALL                              a call that the graph leaves to the client
 *     CUSTOM                                   what a node emitted
 *     ASK                                      once for each interrupt, before END
 *     END                                      the last one
 *
 * A text that was streamed is not repeated; one that was not is sent whole, before END. The run needs the modes
 * SERVING_MODES.
 */
#define SERVING_MODES "[\"messages\", \"updates\", \"custom\", \"tasks\"]"

enum serving_kind {
    SERVING_TEXT,        /* text: a piece of the message */
    SERVING_REASONING,   /* text: a piece of its reasoning */
    SERVING_PART,        /* value: a complete part: image, audio, file, source or refusal */
    SERVING_RESET,       /* what the message has so far does not count; a TEXT after it begins another message */
    SERVING_MESSAGE_END, /* value: {finish_reason?, usage?}, or NULL */
    SERVING_CALL,        /* value: {id, name, arguments} */
    SERVING_RESULT,      /* value: a message of the type tool, of a CALL */
    SERVING_CLIENT_CALL, /* value: {id, name, arguments} */
    SERVING_CUSTOM,      /* value: data */
    SERVING_WRITES,      /* value: the channels that a node of the outermost graph wrote */
    SERVING_ASK,         /* value: an interrupt {id, node, payload, schema?, …} */
    SERVING_END          /* value: the report. finish: why the last message ended, or NULL */
};

struct serving_item {
    enum serving_kind kind;
    uint64_t message; /* TEXT to MESSAGE_END: counts the messages from 1 */
    const char *text; /* NUL-terminated */
    uint64_t length;
    tn_value value;     /* borrowed */
    const char *node;   /* that has caused it; NULL if it is not known */
    tn_value path;      /* of the nested graph that has caused it, as in its events; borrowed; NULL: the outermost */
    bool asked;         /* CALL: an earlier run has made and reported it, and it has been approved */
    const char *finish; /* MESSAGE_END, END: stop, length, tool_calls, content_filter, other; or NULL */
};

typedef void serving_item_handler(void *user, const struct serving_item *item);

struct serving_items_options {
    const struct serving_graph *graph; /* copied; its item is retained */
    const char *last_input;            /* id of the last message of the input: what is behind it is new. Or NULL */
    tn_value client_tools;             /* array of names: calls of these are the client's. Or NULL */
    tn_value asked;                    /* the interrupts that were answered: their calls have results now. Or NULL */
    serving_item_handler *handler;
    void *user;
};

/* What models of parallel nodes have sent while another message is open; beyond it, their messages are sent whole. */
#define SERVING_WAITING_MAX (4u << 20)

struct serving_items *serving_items_new(const struct serving_items_options *options);
void serving_items_event(struct serving_items *items, tn_value event);
/* First: the new messages of steps that have ended before the first event, as an array. */
void serving_items_before(struct serving_items *items, tn_value messages);
/* Events before the next one are lost: from now on texts are sent whole, when their node has ended. */
void serving_items_missed(struct serving_items *items);
void serving_items_end(struct serving_items *items, tn_value report);
void serving_items_free(struct serving_items *items); /* NULL is allowed */

/* ---- Questions ---- */

/* The interrupt asks whether a tool or a node may run; its answer is a bool, or {approved, reason?}. */
bool serving_ask_is_approval(tn_value interrupt);
/* What a person reads: of the payload, its text, `question`, `message`, `prompt`, `title`, `text`, `why`. New. */
tn_value serving_ask_text(tn_value interrupt);
/* The answer of a text: as text if the schema accepts texts only, else as JSON if it is valid JSON. New. */
tn_value serving_ask_answer(tn_value interrupt, const char *text, uint64_t length);

#endif
