/*
 * openai_server.h - graphs as models of OpenAI's API.
 *
 *     request.c          what a client sends, as the input of a graph; request_parts.c, parts of its messages
 *     chat_events.c      the items of a run as a chat completion, or as its chunks
 *     response_events.c  the items of a run as a Response and its events; response_value.c, the Response
 *     chat.c             POST /v1/chat/completions
 *     response.c         responses: the table of those that are known, their events, the clients that follow them
 *     response_start.c   POST /v1/responses
 *     response_load.c    responses of saved threads
 *     response_routes.c  the other routes of responses
 *     models.c, error.c
 *
 * Those with requests and events, and error.c, are pure. Everything is [loop].
 */
#ifndef OPENAI_SERVER_H
#define OPENAI_SERVER_H

#include "serving.h"

/* Limits; README.md has the table. */
#define BODY_MAX       (16 << 20) /* bytes of a request */
#define MESSAGES_MAX   10000u     /* messages, or items of the input */
#define TOOLS_MAX      128u
#define INPUT_KEPT_MAX (256u << 10) /* bytes of the input that input_items returns */
#define LOG_MAX        (8u << 20)   /* bytes of the events of one response, roughly */
#define LOGS_MAX       (256u << 20) /* of all of them; beyond it, each may have LOG_LEAST */
#define LOG_LEAST      (256u << 10)
#define ENDED_MAX      100u  /* responses that have ended, and whose events are kept */
#define RESPONSES_MAX  4096u /* responses that run */

/* ---- Errors ---- */

/* What is wrong with a request. Texts are static, or in `text`. */
struct openai_error {
    int32_t status;
    const char *type, *param, *code; /* param and code may be NULL */
    char text[400], param_text[80];
};

/* {error: {message, type, param, code}}: new. */
tn_value openai_error_value(const char *message, const char *type, const char *param, const char *code);
tn_value openai_error_json(const struct openai_error *error);
/* 400 invalid_request_error. Returns false. */
bool openai_invalid(struct openai_error *error, const char *param, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* An ERROR of a method. */
void openai_error_of(struct openai_error *error, tn_value of);
/* The refusal of the host: TN_SERVER_REFUSED. */
tn_value openai_refusal(tn_value refused);

/* ---- Requests ---- */

/* What both kinds of requests have. Values are borrowed from the body unless they are marked "new". */
struct openai_request {
    const char *model;
    bool stream, include_usage, store, background;
    const char *previous; /* previous_response_id, or NULL */
    tn_value messages;    /* new: the conversation, as messages of Tenon */
    tn_value answers;     /* new: {ID: answer} of approvals and questions, or NULL */
    tn_value tools;       /* new: [{name, description, input_schema}], or NULL */
    tn_value tool_names;  /* new */
    tn_value metadata;    /* new: metadata of the run */
    tn_value items;       /* new: of a response: the items of the input */
    tn_value asked;       /* new: the interrupts that are answered, or NULL */
    char last_input[80];  /* id of the last message */
};

/* False, with the error. `id`: what the ids of the messages begin with. */
bool openai_read_chat(tn_value body, struct openai_request *request, struct openai_error *error);
bool openai_read_response(tn_value body, const char *id, struct openai_request *request, struct openai_error *error);
void openai_request_finish(struct openai_request *request);
/* A run that has asked continues with this state: what is in it now is not new. */
void openai_answer_begin(struct openai_request *request, tn_value state, tn_value interrupts);
/* The channels of a run of this graph: new; NULL with the error. `before`: messages before these, or NULL. */
tn_value openai_input(const struct openai_request *request, const struct serving_graph *graph, tn_value before,
                      struct openai_error *error);
/* A part of a message's content: new; NULL if the type is not known, or the part lacks what it needs. */
tn_value openai_part(tn_value part, bool *known);
/* Calls that ask a person have ids that begin with this. What follows is the id of the run, `_`, and that of the
 * interrupt. */
#define ASK_PREFIX "call_ask_"
/* The answer to an approval as the engine expects it, {approved, reason?}: new. */
tn_value openai_approval(tn_value given);

/* ---- Events ---- */

typedef void openai_event_handler(void *user, tn_value event);

/* A chat completion. */
struct chat_events {
    char id[48];
    int64_t created;
    const char *model;
    bool stream, include_usage;
    openai_event_handler *handler; /* gets chunks; of a failed run {error} */
    void *user;
    const char *run_id; /* for questions; set when the run has started */
    struct tn_text_buffer text, reasoning, refusal;
    tn_value calls, annotations, images;
    uint64_t message; /* that the text is of */
    bool begun, failed;
    int32_t status; /* of a run that has failed */
    tn_value last;  /* without stream: the completion, or {error}, after the end */
};

void chat_events_open(struct chat_events *events, const char *model);
void chat_events_item(void *events, const struct serving_item *item); /* a serving_item_handler */
void chat_events_close(struct chat_events *events);

/* A response. */
#define RESPONSE_ID_MAX 64

enum response_part { PART_NONE, PART_TEXT, PART_REFUSAL, PART_REASONING };

struct response_events {
    char id[RESPONSE_ID_MAX];
    char *model;
    int64_t created, completed;
    tn_value echo; /* members of the request that a Response repeats */
    bool background;
    openai_event_handler *handler;
    void *user;
    uint64_t sequence;   /* of the next event */
    const char *status;  /* of the response */
    tn_value output;     /* items that are complete, and the open one without its content */
    tn_value item;       /* the open item of a message or of reasoning */
    uint64_t item_index; /* in `output` */
    enum response_part part;
    uint64_t parts;                /* content parts of the open item that have ended */
    struct tn_text_buffer text;    /* of the open part */
    tn_value content, annotations; /* parts that have ended; annotations of the open part */
    uint64_t message;              /* that the open item is of */
    uint64_t items;                /* for ids */
    tn_value calls;                /* {id of a call: index of its item in `output`} */
    tn_value error, usage, incomplete;
    bool asked; /* the run waits for an answer */
};

bool response_events_open(struct response_events *events, const char *id, const char *model, tn_value echo);
void response_events_begin(struct response_events *events);               /* sends the first events */
void response_events_item(void *events, const struct serving_item *item); /* a serving_item_handler */
tn_value response_events_value(const struct response_events *events);     /* the Response: new */
tn_value response_usage(tn_value usage);                                  /* the usage of a run in this protocol: new */
bool response_events_ended(const struct response_events *events);
void response_events_close(struct response_events *events);

/* ---- The server ---- */

struct openai {
    struct serving serving;
    struct serving_exchanges exchanges;
    struct response *responses; /* the newest first */
    uint32_t running, ended;
    uint64_t log_size; /* of all responses */
    int64_t started;   /* seconds */
};

/* A request of a client, from its first event to CLOSED. */
struct exchange {
    SERVING_EXCHANGE;
    struct openai *openai;
    /* ROOM, DRAIN and CLOSED; after CLOSED the exchange is freed. NULL: nothing to do. */
    void (*on_event)(struct exchange *exchange, int32_t event);
    void *object;
};

void responses_free(struct openai *openai);
/* 404 model_not_found. */
void openai_no_model(struct openai_error *error, const char *name);

typedef void exchange_begin(struct exchange *exchange);
exchange_begin models_list, models_get, chat_post, response_post, response_get, response_cancel, response_delete,
    response_input_items;

/* Takes the value. */
void exchange_reply(struct exchange *exchange, int32_t status, tn_value json);
void exchange_refuse(struct exchange *exchange, const struct openai_error *error);
void exchange_abort(struct exchange *exchange); /* memory ran out */
const char *exchange_param(const struct exchange *exchange, const char *name);

#endif
