/*
 * model.h - what every model over HTTP shares: the life of one task, and the message that its answer makes.
 *
 * A provider is a table of functions. The library takes the configuration and the input, hands the provider a call with
 * messages in their normal form, sends what it asks to be sent, gives it the service's events, and does the rest:
 * deltas with back-pressure, the message, usage, errors in the classes of tenon/message.h, cancelling.
 *
 *     static void acme_event(struct model_call *call, const char *name, tn_value json) {
 *         model_text(call, tn.value->get(json, "text"));                       // a delta, and a piece of the message
 *         if (strcmp(name, "end") == 0) model_finish(call, "stop");            // the answer is whole
 *     }
 *     static const struct model_provider acme = {.name = "acme", …, .start = acme_start, .event = acme_event, …};
 *     MODEL_COMPONENT(acme, "acme", &acme)
 *
 * Invariant: a task ends once, and nothing is called for it afterwards. It completes only where the provider said
 * model_finish: a stream that ends before is INVALID_RESPONSE, however it ends. After a failure every function here
 * given the call does nothing, so providers need not look at results. Everything is [loop].
 *
 * The configuration that all share (a manifest repeats it): model, api_key, base_url, headers, timeout_ms {connect,
 * idle, total}, stream, and the options of tenon/message.h. api_key   a text, or {secret: NAME}. Not given, it is the
 * provider's own secret, but only for the provider's own base_url: a key does not go to another host because a document
 * says so. stream    false asks for the answer in one piece; it is emitted as deltas all the same.
 */
#ifndef TENON_PLUGINS_MODEL_H
#define TENON_PLUGINS_MODEL_H

#include <stdbool.h>
#include <tenon/http.h>
#include <tenon/message.h>

#define MODEL_CALLS_MAX   1024               /* tool calls of one answer; more is INVALID_RESPONSE */
#define MODEL_PARTS_MAX   65536              /* parts of its content */
#define MODEL_TEXT_MAX    67108864           /* bytes of one part, or of one call's arguments */
#define MODEL_NAME_MAX    64                 /* bytes of a tool's name, as services see it */
#define MODEL_IDLE_MS     300000             /* without a byte: models think for minutes */
#define MODEL_GRACE_MS    1000               /* for a stream to close that has said its last word */
#define MODEL_TOOLS_MAX   1024               /* of one request; more is INVALID_REQUEST */
#define MODEL_COUNT_MAX   (INT64_C(1) << 50) /* tokens that a service may tell: so that sums of them fit */
#define MODEL_MESSAGE_MAX 400                /* bytes of the service's own words in an error */

struct model_call;
struct model_failure;

struct model {
    const struct model_provider *provider;
    tn_value config;
    const char *name;     /* config.model; "" where it has none */
    const char *base_url; /* without a slash at its end */
    bool own_host;        /* base_url is the provider's own */
    const tn_http_draft *http;
    void *own; /* the provider's, from its create */
    struct model_call *calls[64];
};

struct model_provider {
    const char *name;       /* "openai": in errors, and the member of `extra` that is ours */
    const char *base_url;   /* "https://api.openai.com/v1" */
    const char *secret;     /* "OPENAI_API_KEY"; NULL: no key unless the configuration has one */
    const char *key_header; /* "authorization" */
    const char *key_prefix; /* "Bearer "; may be "" */
    size_t call_size;       /* of what a call has in `own`, zeroed; 0: nothing */
    /* [create] Makes model->own. TN_OK, or what refuse gave. May be NULL. */
    int32_t (*create)(struct model *model, tn_binder *binder);
    void (*destroy)(struct model *model); /* may be NULL */
    /* Makes the request and gives it to model_send, now or later. call->embed says which kind. */
    void (*start)(struct model_call *call);
    /* One event of the stream. `name` is "" where it has none; json is NULL for the data "[DONE]". */
    void (*event)(struct model_call *call, const char *name, tn_value json);
    /* The answer in one piece, of a request that was `whole`; it says model_finish, or model_embeddings;
     * or sends the next request. */
    void (*answer)(struct model_call *call, tn_value json);
    /* Reads the service's error body (NULL where it was not JSON): type, message, and a code that fits better. */
    void (*error)(struct model_call *call, tn_value body, struct model_failure *failure);
    void (*release)(struct model_call *call); /* frees what `own` holds; may be NULL */
    /*
     * The exchange failed before anything was answered: by HTTP's status, or, where that is 0, by a code of
     * tenon/http.h. True: it has been sent again, or will be, as with another token. May be NULL.
     */
    bool (*again)(struct model_call *call, int64_t status, const char *code);
    bool embeds; /* else {embed} is UNSUPPORTED */
};

/* One task. Providers read it; what is below `own` is the library's. */
struct model_call {
    struct model *model;
    tn_task task;
    tn_value input;
    tn_value messages; /* an array, each as tn_message_normal makes it, without those of type "error" */
    tn_value options;  /* those that it was created with, and over them the input's */
    tn_value tools;    /* an array that is not empty, or NULL */
    tn_value schema;   /* response_schema, or NULL */
    tn_value embed;    /* an array of texts, or NULL: then there are messages */
    void *own;
    struct model_call *next;
    uint64_t exchange;
    uint64_t grace; /* a posted call; 0: none */
    int64_t status; /* of HTTP; 0 before there is one */
    tn_value head;
    struct model_names *names;
    struct model_answer *answer;
    uint32_t busy; /* calls into it that have not returned */
    bool over, whole, head_wrong, eventful;
};

#define MODEL_COMPONENT(symbol, id, provider)                                                                          \
    static int32_t symbol##_make(tn_value config, tn_binder *binder, void **self) {                                    \
        return model_create(provider, config, binder, self);                                                           \
    }                                                                                                                  \
    TN_COMPONENT(symbol, id, symbol##_make, model_start, model_cancel, model_ready, model_destroy)

int32_t model_create(const struct model_provider *provider, tn_value config, tn_binder *binder, void **self);
int32_t model_start(void *self, tn_task task, tn_value input);
void model_cancel(void *self, tn_task task);
void model_ready(void *self, tn_task task);
void model_destroy(void *self);

/* ---- Asking --------------------------------------------------------------------------------------------------- */

struct model_request {
    const char *path; /* after the base_url; or a whole url. Borrowed, as all here. */
    tn_value body;    /* sent as JSON; `extra` of the options is put over its members */
    tn_value headers; /* {name: TEXT}, or NULL; the configuration's `headers` win */
    tn_value query;   /* or NULL */
    bool whole;       /* the answer in one piece, not events */
    bool keyless;     /* without the key: headers say who we are */
    bool merged;      /* the body has `extra` in it already */
};
void model_send(struct model_call *call, const struct model_request *request);

/* A member of the merged options; NULL where it is absent or null. Borrowed. */
tn_value model_option(const struct model_call *call, const char *name);
/* options.max_tokens and the like into a request, under the service's name for it, where there is one. */
void model_put_option(const struct model_call *call, tn_builder *builder, const char *name, const char *as);
/* A member of the configuration; NULL where it is absent or null. Borrowed. */
tn_value model_config(const struct model_call *call, const char *name);
/* The answer may be streamed: `stream` of the configuration is not false. */
bool model_streams(const struct model_call *call);

/*
 * The name under which the service knows a tool: letters, digits, _ and -, at most MODEL_NAME_MAX, beginning with a
 * letter or _. Names that are so already stay; no two tools of a call share one. Borrowed, until the call ends; any
 * Tenon name will do, also one that only the history has. Names that come back are mapped back by model_tool_call.
 */
const char *model_tool_name(struct model_call *call, const char *name);
/* The other way; a name that was never given out is itself. Borrowed. */
const char *model_tool_name_back(struct model_call *call, const char *name);

/* A call's arguments as JSON text, as services want it that take text. A new reference; broken JSON stays as it is. */
tn_value model_arguments_text(tn_value call);
/* This provider's member of an `extra`: of a message, a part or a tool call. Borrowed; NULL where there is none. */
tn_value model_extra_of(const struct model_call *call, tn_value holder);

/* A part with something in it: an image, a file, audio. Each NULL where the part has not got it. */
struct model_media {
    tn_value url;           /* borrowed; not of the data: kind, which are taken apart */
    tn_value file_id;       /* borrowed */
    tn_value data;          /* base64, a new reference: model_media_finish */
    const char *media_type; /* as the part says, or by its first bytes; NULL where neither tells */
    char type_text[96];
};
/* False where the part has none of the three, or what is no base64: say so with model_refuse. */
bool model_media_init(struct model_media *media, tn_value part);
void model_media_finish(struct model_media *media);
/* "data:TYPE;base64,…", of one that has data. A new reference. */
tn_value model_media_url(const struct model_media *media);

/* ---- Answering ------------------------------------------------------------------------------------------------ */

/* More of the open part of that kind, which begins with it; values that are no text, or empty, are nothing. */
void model_text(struct model_call *call, tn_value text);
void model_reasoning(struct model_call *call, tn_value text);
void model_refusal(struct model_call *call, tn_value text);
/* Into the `extra` of the open part, or of the last one; without any, a reasoning part without text begins. */
void model_part_extra(struct model_call *call, const char *key, tn_value value);
/* The open part is whole; what comes begins another. */
void model_part_end(struct model_call *call);
/* A part in one piece, as it is. */
void model_part(struct model_call *call, tn_value part);

/*
 * A piece of the tool call that the service numbers `index`, whatever its numbers are. Each value may be NULL. `name`
 * is the service's; `arguments` a piece of JSON text, or the arguments themselves. Without an id one is made. At the
 * end the text is read as JSON; what is no JSON stays text in the message (and nothing at all is {}): what the model
 * wrote badly is for the model to hear about, and no reason to lose the rest of its answer.
 */
void model_tool_call(struct model_call *call, int64_t index, tn_value id, tn_value name, tn_value arguments);
/* Bytes of arguments that it has by now. */
uint64_t model_tool_call_length(const struct model_call *call, int64_t index);
void model_tool_call_extra(struct model_call *call, int64_t index, const char *key, tn_value value);
uint64_t model_tool_calls(const struct model_call *call); /* how many there are */

/* Into the message's `extra`, under the provider's name. */
void model_extra(struct model_call *call, const char *key, tn_value value);
/* The model, as the service names what answered. */
void model_model(struct model_call *call, tn_value name);

#define MODEL_USAGE_NONE ((struct model_usage){-1, -1, -1, -1, -1, -1})
struct model_usage { /* -1: not told; what was told before stays */
    int64_t input, output, total, cached, cache_write, reasoning;
};
void model_usage(struct model_call *call, const struct model_usage *usage);
/* A count in a service's object; -1 where it is none, or larger than MODEL_COUNT_MAX. */
int64_t model_count(tn_value object, const char *key);

/*
 * The answer is whole, apart from what may still be told about it; `reason` is one of tenon/message.h's. Said again,
 * the last counts. Where there are tool calls "stop" is "tool_calls", and with a refusal it is "content_filter".
 */
void model_finish(struct model_call *call, const char *reason);
bool model_finished(const struct model_call *call);
/* And nothing more will come, as the service says: the exchange may still end by itself, for MODEL_GRACE_MS. */
void model_done(struct model_call *call);
/* The service begins its answer anew: all that it told is as if it had not been. The delta {reset: {code}} says so. */
void model_reset(struct model_call *call, const char *code);
/* Ends a call that embeds: an array of arrays of numbers. */
void model_embeddings(struct model_call *call, tn_value embeddings);

/* ---- Failing -------------------------------------------------------------------------------------------------- */

struct model_failure {
    const char *code;       /* of tenon/message.h */
    int64_t status;         /* of HTTP; 0: none */
    tn_value type;          /* the service's word for it, a string; borrowed, or NULL */
    tn_value message;       /* its own words; the same */
    int64_t retry_after_ms; /* -1: not told */
    int32_t retryable;      /* -1: as of the code */
};
/* An error that came in the stream, or as an answer: provider.error reads `body`, of no HTTP status. */
void model_error(struct model_call *call, tn_value body);
/* Ends the task with an error. `format` says what was found, what was expected, what to do; never a secret. */
void model_fail(struct model_call *call, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same: the service sent what nobody could have sent who keeps to its protocol. `format` says what. */
void model_invalid(struct model_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same: the request cannot be made: INVALID_REQUEST. */
void model_refuse(struct model_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
