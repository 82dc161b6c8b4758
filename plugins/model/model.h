/*
 * model.h - the part that all models over HTTP share: the states of a task, and building the message of an answer.
 *
 * A provider is a table of functions. The library reads the configuration and the input, and passes the provider a call
 * with normalised messages. It sends the provider's requests and passes the service's events to the provider. It also
 * emits deltas with back-pressure, builds the message, sums up usage, maps errors to the classes of tenon/message.h,
 * and handles cancellation.
 *
 *     static void acme_event(struct model_call *call, const char *name, tn_value json) {
 *         model_add_text(call, tn_get(json, "text"));                   // emits a delta and extends the message
 *         if (strcmp(name, "end") == 0) model_finish(call, "stop");            // the answer is complete
 *     }
 *     static const struct model_provider acme = {.name = "acme", …, .start = acme_start, .event = acme_event, …};
 *     MODEL_COMPONENT(acme, "acme", &acme)
 *
 * Invariant: a task ends once, and no provider function is called for it afterwards. It completes only after the
 * provider called model_finish: a stream that ends before that is INVALID_RESPONSE. After a failure, every function
 * that takes the call does nothing, so providers do not check results. Thread: the loop.
 *
 * The configuration that all providers share (each manifest repeats it): model, api_key, base_url, headers, timeout_ms
 * {connect, idle, total}, stream, and the options of tenon/message.h. api_key is a text or {secret: NAME}. Its default
 * is the provider's secret, but only for the provider's own base_url, so that a document cannot send a key to another
 * host. If stream is false, the answer is requested in one piece. It is still emitted as deltas.
 */
#ifndef TENON_PLUGINS_MODEL_H
#define TENON_PLUGINS_MODEL_H

#include "token.h"

#include <stdbool.h>
#include <tenon/http.h>
#include <tenon/message.h>
#include <tenon/util/answer.h>
#include <tenon/util/build.h>
#include <tenon/util/model_error.h>

#define MODEL_IDLE_MS   300000 /* default idle timeout; models can reason for minutes without sending a byte */
#define MODEL_GRACE_MS  1000   /* the stream may stay open this long after the service reported its end */
#define MODEL_TOOLS_MAX 1024   /* tools of one request; more are INVALID_REQUEST */

struct model_call;

struct model {
    const struct model_provider *provider;
    tn_value config;
    const char *name;     /* config.model; "" if absent */
    const char *base_url; /* without a trailing slash, and without its query */
    const char *query;    /* the query of base_url, which each request gets: "api-version=2024-10-21"; "" for none */
    const char *key_header, *key_prefix; /* of the provider, unless its create changes them; borrowed */
    const char *credentials; /* set by the provider's create: what to check if the service refuses requests that have
                              * something else than the key: "`entra`"; borrowed */
    bool is_default_host;    /* base_url has the origin of the provider's default */
    const tn_http_1 *http;
    /* Set by the provider's create: each request gets one of its tokens as `authorization`, and is sent again with
     * another if it is refused with 401. NULL: requests have the key. Freed with the model. */
    struct token_source *tokens;
    void *provider_data; /* from the provider's create; NULL if it has no create */
    struct model_call *calls[64];
};

struct model_provider {
    const char *name;       /* "openai": used in errors, and as the provider's member of `extra` */
    const char *base_url;   /* "https://api.openai.com/v1" */
    const char *secret;     /* "OPENAI_API_KEY"; NULL: no key unless it is configured */
    const char *key_header; /* "authorization" */
    const char *key_prefix; /* "Bearer "; may be "" */
    size_t call_size;       /* bytes of a call's `provider_data`, which is zeroed; 0: no data */
    /* Called in create. Sets model->provider_data. Returns TN_OK, or the status of the refusal. May be NULL. */
    int32_t (*create)(struct model *model);
    void (*destroy)(struct model *model); /* may be NULL */
    /* Builds the request and passes it to model_send, now or later. call->embed selects the kind of request. */
    void (*start)(struct model_call *call);
    /* Handles one event of the stream. `name` is "" if the event has no name. json is NULL for the data "[DONE]". */
    void (*event)(struct model_call *call, const char *name, tn_value json);
    /*
     * Handles bytes of a stream that is not text/event-stream, and then calls its own function for each event. NULL:
     * the stream has events, which `event` handles. The bytes are borrowed.
     */
    void (*data)(struct model_call *call, const void *bytes, uint64_t length);
    const char *stream_type; /* with `data`: a part of the stream's content type, as in "amazon.eventstream" */
    /* Handles the answer to a request with `whole`. Calls model_finish or model_finish_embeddings, or sends the next
     * request.
     */
    void (*answer)(struct model_call *call, tn_value json);
    /*
     * Refines the failure by the service's error body, NULL if it was not JSON: its code, retryable, and type, message
     * and field if they are not at a usual place (tenon/util/model_body.h). What is left unset is read and classified
     * for it.
     */
    void (*error)(struct model_call *call, tn_value body, struct tn_model_failure *failure);
    void (*release)(struct model_call *call); /* releases the members of `provider_data`; may be NULL */
    /*
     * The exchange failed before the first event of an answer. `status` is the HTTP status; if it is 0, `code` is a
     * code of tenon/http.h. Returns true if the request was or will be sent again, for example with another token. May
     * be NULL.
     */
    bool (*retry)(struct model_call *call, int64_t status, const char *code);
    bool has_embeddings; /* if false, {embed} is UNSUPPORTED */
};

/* One task. Providers read it; the members below `provider_data` are private to the library. */
struct model_call {
    struct model *model;
    tn_task task;
    tn_value input;
    tn_value messages; /* an array in the form of tn_message_normal, without messages of type "error" */
    tn_value options;  /* the options of the configuration, overridden by those of the input */
    tn_value tools;    /* a non-empty array, or NULL */
    tn_value schema;   /* response_schema, or NULL */
    tn_value embed;    /* an array of texts; NULL: answer `messages` */
    void *provider_data;
    struct model_call *next; /* in the hash bucket */
    uint64_t exchange;       /* 0: no exchange in progress */
    uint64_t grace;          /* the posted timer of model_end_stream; 0: not posted */
    int64_t status;          /* the HTTP status; 0 before the response starts */
    tn_value head;           /* the response's status and headers; NULL before it starts */
    struct tn_tool_names names;
    struct tn_answer answer;
    tn_value embeddings; /* an array of vectors; NULL before the first one */
    int64_t embedding_tokens;
    tn_value token; /* of model_hide_token */
    struct {
        tn_value request, header; /* the last request without its token; the token that it was sent with */
        struct token_wait wait;
        bool again;       /* it was sent again with another token */
    } authorization;      /* of a model with `tokens` */
    uint32_t busy;        /* number of functions that currently use the call */
    bool waits;           /* set by a provider that will send its next request later */
    bool ended;           /* the task has ended; every function ignores the call */
    bool whole;           /* the body is received in one piece instead of as events */
    bool head_not_events; /* the response is not of type text/event-stream, or not of the provider's stream_type */
    bool received_event;
};

#define MODEL_COMPONENT(symbol, id, provider)                                                                          \
    static int32_t symbol##_create(tn_value config, tn_binder *binder, void **self) {                                  \
        (void)binder;                                                                                                  \
        return model_component_create(provider, config, self);                                                         \
    }                                                                                                                  \
    TN_COMPONENT(symbol, id, symbol##_create, model_component_start, model_component_cancel, model_component_ready,    \
                 model_component_destroy)

int32_t model_component_create(const struct model_provider *provider, tn_value config, void **self);
int32_t model_component_start(void *self, tn_task task, tn_value input);
void model_component_cancel(void *self, tn_task task);
void model_component_ready(void *self, tn_task task);
void model_component_destroy(void *self);

/* ---- Requests ------------------------------------------------------------------------------------------------- */

struct model_request {
    const char *path;   /* appended to base_url, or a complete URL; borrowed, as all members */
    const char *method; /* NULL: POST */
    tn_value body;      /* sent as JSON, after `extra` of the options was merged into it; NULL: no body */
    tn_value headers;   /* {name: TEXT}, or NULL; the configuration's `headers` override them */
    tn_value query;     /* or NULL */
    tn_value sign;      /* the host signs the request: `sign` of tenon/http.h; or NULL */
    bool whole;         /* expect the answer in one piece instead of a stream of events */
    bool keyless;       /* send without the key: `headers` authenticate the request */
    bool merged;        /* `extra` is already merged into the body */
};
void model_send(struct model_call *call, const struct model_request *request);
/* Sends a request whose answer does not matter, also when the call has ended. */
void model_send_detached(struct model_call *call, const struct model_request *request);

/* Returns a member of the merged options. NULL if it is absent or null. Borrowed. */
tn_value model_get_option(const struct model_call *call, const char *name);
/* Copies an option, such as max_tokens, into a request under the service's name `as`, if the option is set. */
void model_put_option(const struct model_call *call, tn_builder *builder, const char *name, const char *as);
/* Returns a member of the configuration. NULL if it is absent or null. Borrowed. */
tn_value model_get_config(const struct model_call *call, const char *name);
/* True unless the configuration has `stream: false`. */
bool model_is_streaming(const struct model_call *call);

/* True if the answer should contain "image" or "audio", by `modalities`; without it, `speech` asks for audio. */
bool model_wants(const struct model_call *call, const char *modality);
/* For a provider without speech: fails with UNSUPPORTED if the answer should contain anything but text and, if
 * `images`, images. `returned` says what the provider returns: "text and images". */
void model_refuse_modalities(struct model_call *call, bool images, const char *returned);
/* A member of the option `speech`, "voice" or "format"; `otherwise` if it is absent. */
const char *model_get_speech(const struct model_call *call, const char *name, const char *otherwise);

/*
 * Returns the name of a tool for the service: letters, digits, _ and -, at most TN_TOOL_NAME_MAX, starting with a
 * letter or _. Names that already comply stay unchanged. No two tools of a call share a name. `name` may be any Tenon
 * name, including one that only the history contains. Borrowed until the call ends. model_add_tool_call maps the names
 * in the answer back.
 */
const char *model_tool_name_to_service(struct model_call *call, const char *name);

/* Returns a call's arguments as JSON text. Invalid JSON stays unchanged. A new reference. */
tn_value model_arguments_text(tn_value call);
/* Returns the text of a message that asks for JSON of the response_schema, for services that cannot enforce it. A new
 * reference. */
tn_value model_schema_instruction(const struct model_call *call);
/* Returns the text of a system message between <system> tags, for the turn of a user. A new reference. */
tn_value model_late_system_text(tn_value text);
/* Returns this provider's member of the `extra` of a message, a part or a tool call. Borrowed; NULL if absent. */
tn_value model_get_extra(const struct model_call *call, tn_value holder);

/* The media of a part: an image, a file or audio. A member is NULL if the part does not have it. */
struct model_media {
    tn_value url;           /* borrowed; never a data: url, which is decoded to `data` */
    tn_value file_id;       /* borrowed */
    tn_value data;          /* base64, a new reference; released by model_media_finish */
    const char *media_type; /* from the part, or detected by the first bytes; NULL if unknown */
    char type_text[96];
};
/* Returns false if the part has no media, or if its data is not base64: report it with model_fail_request. */
bool model_media_init(struct model_media *media, tn_value part);
void model_media_finish(struct model_media *media);
/* Returns "data:TYPE;base64,…" for media with `data`. A new reference. */
tn_value model_media_to_data_url(const struct model_media *media);

/* ---- Answers -------------------------------------------------------------------------------------------------- */

/* Appends text to the open part of that kind; opens one if necessary. Values that are not text, or are empty, are
 * ignored. */
void model_add_text(struct model_call *call, tn_value text);
void model_add_reasoning(struct model_call *call, tn_value text);
void model_add_refusal(struct model_call *call, tn_value text);
/* Sets a member of the `extra` of the open part, or of the last part. If there is no part, adds a reasoning part
 * without text. */
void model_set_part_extra(struct model_call *call, const char *key, tn_value value);
/* Closes the open part. The next piece opens another. */
void model_end_part(struct model_call *call);
/* Adds a complete part, unchanged. */
void model_add_part(struct model_call *call, tn_value part);

/* The audio of an answer, which arrives in pieces (audio.c). Zeroed at first. */
struct model_audio {
    unsigned char *bytes;
    uint64_t length, capacity;
};
#define MODEL_AUDIO_MAX (TN_HTTP_BODY_MAX - 64) /* bytes of the audio of one answer, without the header of a file */
/* Appends a piece of base64. Fails the call if it is something else, or more than MODEL_AUDIO_MAX bytes with the
 * others.
 */
void model_audio_add(struct model_call *call, struct model_audio *audio, tn_value base64);
/*
 * Adds the pieces as one part, and starts again; nothing if there are none. `media_type` may be NULL: it is detected.
 * Raw PCM becomes a WAV file, unless `speech.format` is "pcm16"; also what is declared as WAV and has no header.
 * `extra` becomes the provider's member of the part's `extra`; it may be NULL.
 */
void model_audio_finish(struct model_call *call, struct model_audio *audio, const char *media_type, tn_value extra);
void model_audio_release(struct model_audio *audio);

/*
 * Adds a piece of the tool call that has the number `index` in the service's answer. Numbers need not be consecutive.
 * Each value may be NULL. `name` is the service's name; `arguments` is a piece of JSON text, or the complete arguments.
 * If the service sends no id, one is generated. At the end of the answer the text is parsed as JSON; an empty text
 * becomes {}. Invalid JSON stays text in the message: the model then receives an error for this call, and the rest of
 * the answer remains valid.
 */
void model_add_tool_call(struct model_call *call, int64_t index, tn_value id, tn_value name, tn_value arguments);
/* Returns the number of bytes of arguments received so far. */
uint64_t model_get_arguments_length(const struct model_call *call, int64_t index);
void model_set_tool_call_extra(struct model_call *call, int64_t index, const char *key, tn_value value);
uint64_t model_count_tool_calls(const struct model_call *call);

/* Sets a member of the message's `extra`, under the provider's name. */
void model_set_extra(struct model_call *call, const char *key, tn_value value);
/* Sets the name that the service reports for the model that answered. */
void model_set_model_name(struct model_call *call, tn_value name);

void model_set_usage(struct model_call *call, const struct tn_answer_usage *usage);

/*
 * The answer is complete, except for metadata that may follow. `reason` is one of tenon/message.h's. If called again,
 * the last reason is used. With tool calls "stop" becomes "tool_calls"; with a refusal it becomes "content_filter".
 */
void model_finish(struct model_call *call, const char *reason);
bool model_is_finished(const struct model_call *call);
/* The service reported the end of the stream. If it does not close the exchange within MODEL_GRACE_MS, the exchange is
 * cancelled and the answer is completed. */
void model_end_stream(struct model_call *call);
/* The service restarts its answer: everything received so far is discarded. The delta {reset: {code}} reports this. */
void model_restart(struct model_call *call, const char *code);
/* Completes a call with `embed`: an array of arrays of numbers. */
void model_finish_embeddings(struct model_call *call, tn_value embeddings);

/*
 * embed.c, for services that need several requests for the texts of one call. The first two return false if the call
 * has failed. `requested` is the number of texts in all requests so far: model_end_embeddings returns true if the next
 * request is needed; otherwise the call is complete, or has failed because vectors are missing.
 */
bool model_check_embedded_texts(struct model_call *call);
bool model_add_embedding(struct model_call *call, tn_value vector);
void model_add_embedding_tokens(struct model_call *call, int64_t tokens); /* -1: not known */
bool model_end_embeddings(struct model_call *call, uint64_t requested);

/* ---- Failures ------------------------------------------------------------------------------------------------- */

/* Fails the task with an error from the stream or from a successful response. provider.error reads `body`; the HTTP
 * status is 0. */
void model_fail_service(struct model_call *call, tn_value body);
/* Ends the task with an error. The message must state what was found, what was expected and what to do, and must not
 * contain a secret. */
void model_fail(struct model_call *call, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Errors do not repeat the token of this `authorization` header, also if the service does. */
void model_hide_token(struct model_call *call, tn_value header);
/* Fails the task with INVALID_RESPONSE because the service violated its protocol. `format` describes what it sent: the
 * message is "PROVIDER sent …; try again". */
void model_fail_response(struct model_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fails the task with INVALID_REQUEST because the request cannot be built. */
void model_fail_request(struct model_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
