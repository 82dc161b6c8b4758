/*
 * research.h - tools for work that a service does in the background, such as deep research: create, get, stream,
 * cancel.
 *
 * Gemini's Interactions and OpenAI's background Responses work alike: a request creates a resource, which has a status
 * until it has a result; it can be read, watched as a stream of events, and cancelled. This library has what they
 * share: the life of a call, waiting, reconnecting, cancelling, and the result, which has one shape for all services. A
 * service is a table: it builds requests, and reads the resource and its events.
 *
 * A RESULT is {id, state, status, event_id?, message?, text?, sources?, calls?, usage?, spent?, steps?,
 * continuation_token?, error?, stalled?}. `status` is the service's word, `state` one of enum research_state in lower
 * case: a caller that knows the states works with every service. `message` is an ai message of tenon/message.h.
 *
 * Invariant: a job ends its task once. Nothing is sent twice that costs money: `create` is sent again only after an
 * answer that refuses it (429, 503); see guard.h. Thread: the loop.
 */
#ifndef TENON_PLUGINS_RESEARCH_H
#define TENON_PLUGINS_RESEARCH_H

#include <stdbool.h>
#include <tenon/http.h>
#include <tenon/message.h>
#include <tenon/util/answer.h>
#include <tenon/util/model_error.h>

#define RESEARCH_IDLE_MS         300000 /* without a byte from the service */
#define RESEARCH_INTERVAL_MS     10000  /* between two requests of a `get` that waits */
#define RESEARCH_RECONNECTS_MAX  3      /* connections of a stream, one after the other, that brought nothing new */
#define RESEARCH_CONNECTIONS_MAX 1000   /* of one call of `stream` */
#define RESEARCH_ENDS            16     /* last events of earlier connections that are remembered */
#define RESEARCH_FAILURES_MAX    3      /* transient failures of a `get` that waits, one after the other */
#define RESEARCH_CREATES_MAX     3      /* attempts of a `create` that the service refuses for the moment */
#define RESEARCH_BACKOFF_MS      500    /* before the second reconnection in a row; then doubled */
#define RESEARCH_REFUSED_MIN_MS  1000   /* before `create` is sent again */
#define RESEARCH_REFUSED_MAX_MS  60000
#define RESEARCH_SOURCES_MAX     1000 /* different sources of a result; the message has all citations */
#define RESEARCH_STEP_KINDS_MAX  64   /* kinds of steps that a result counts */
#define RESEARCH_PATH_MAX        4096 /* bytes of a request's address */
#define RESEARCH_MODEL_MAX       256  /* bytes of the name of a model in `spent` */

enum research_operation { RESEARCH_CREATE, RESEARCH_GET, RESEARCH_STREAM, RESEARCH_CANCEL };

enum research_state {
    RESEARCH_RUNNING, /* also every status that is not known here */
    RESEARCH_COMPLETED,
    RESEARCH_REQUIRES_ACTION,
    RESEARCH_REQUIRES_CONTINUATION,
    RESEARCH_INCOMPLETE,
    RESEARCH_BUDGET_EXCEEDED,
    RESEARCH_CANCELLED,
    RESEARCH_FAILED
};

struct research_job;

struct research_service {
    const char *provider; /* "gemini": in errors, and the member of `extra` */
    const char *secret;   /* named if the key is refused; or NULL */
    size_t data_size;     /* bytes of a job's `data`, which is zeroed */
    /* Adds url, method?, query?, headers? and json? of the request. Returns false if the job has failed. */
    bool (*put_request)(struct research_job *job, enum research_operation operation, tn_builder *out);
    /* Called before each request. Returns true if it can be sent. If false, the service calls research_send later, or
     * has failed the job. May be NULL. */
    bool (*authorize)(struct research_job *job);
    /* The service refused the request (`status`), or the exchange failed with `code`. Returns true if the request was
     * or will be sent again with other credentials. May be NULL. */
    bool (*retry)(struct research_job *job, int64_t status, const char *code);
    /* Reads the whole resource: calls research_set_… and the functions of tn_answer. */
    void (*read)(struct research_job *job, tn_value resource);
    /* Reads one event of a stream. */
    void (*event)(struct research_job *job, tn_value event);
    /* The stream restarts from its beginning, or the job ends: releases what `data` has of it. */
    void (*reset)(struct research_job *job);
    void (*release)(struct research_job *job); /* may be NULL */
};

/* One task. A service reads it, and writes to `data` and `answer`. */
struct research_job {
    const struct research_service *service;
    const tn_http_1 *http;
    tn_task task;
    tn_value input;
    enum research_operation operation;
    struct tn_answer answer;
    void *data;
    tn_value id; /* of the resource; NULL: not known yet */
    tn_value event_id;
    bool resumed; /* the stream did not start at its beginning, so `answer` is only a part */

    /* private to the library */
    struct research_job *next;
    enum research_operation sent; /* of the open request */
    enum research_state state;
    tn_value status, continuation, error, sources, seen_sources, steps, pending; /* each may be NULL */
    tn_value head;
    int64_t http_status;
    uint64_t exchange, timer, leg_timer; /* 0: none */
    int64_t started_ns;
    uint64_t events, events_most; /* of this connection; of the longest one */
    uint64_t ends[RESEARCH_ENDS]; /* hashes of the last events of earlier connections */
    uint64_t connections;
    uint32_t failures; /* one after the other, without progress */
    uint32_t busy;
    bool guarded; /* `create` has spent a guard */
    bool ended, cancelling, completing, finished, stalled, has_status;
};

/* The start, cancel and ready of a component. */
int32_t research_start(const struct research_service *service, enum research_operation operation, tn_task task,
                       tn_value input);
void research_cancel(tn_task task);
void research_ready(tn_task task);

#define RESEARCH_TOOL(name, id, service, operation)                                                                    \
    static int32_t name##_create(tn_value config, tn_binder *binder, void **self) {                                    \
        (void)config, (void)binder;                                                                                    \
        *self = NULL;                                                                                                  \
        return TN_OK;                                                                                                  \
    }                                                                                                                  \
    static int32_t name##_start(void *self, tn_task task, tn_value input) {                                            \
        (void)self;                                                                                                    \
        return research_start(service, operation, task, input);                                                        \
    }                                                                                                                  \
    static void name##_cancel(void *self, tn_task task) {                                                              \
        (void)self;                                                                                                    \
        research_cancel(task);                                                                                         \
    }                                                                                                                  \
    static void name##_ready(void *self, tn_task task) {                                                               \
        (void)self;                                                                                                    \
        research_ready(task);                                                                                          \
    }                                                                                                                  \
    TN_COMPONENT(name, id, name##_create, name##_start, name##_cancel, name##_ready, NULL)

/* Sends the request that waits for credentials. */
void research_send(struct research_job *job);
/* Ends the task with an error. */
void research_fail(struct research_job *job, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- For read and event --------------------------------------------------------------------------------------- */

/* Values that are not text, or are empty, are ignored. The id of the input stays. */
void research_set_id(struct research_job *job, tn_value id);
void research_set_event_id(struct research_job *job, tn_value id);
void research_set_continuation(struct research_job *job, tn_value token);
/* The service's word, and what it means. */
void research_set_status(struct research_job *job, tn_value word, enum research_state state);
/* Why the service's work failed: {code?, message?}, as the service reports it. */
void research_set_error(struct research_job *job, tn_value error);
/* The stream has brought the end of the work, and all that belongs to it: nothing more is expected. */
void research_set_finished(struct research_job *job);
/* The connection must be opened again, for example because of an event that reports it. */
void research_drop(struct research_job *job, tn_value error);
/* The resource has come as a whole behind its events: discards what was collected of it. No deltas are emitted until
 * `answer.is_silent` is reset. */
void research_reread(struct research_job *job);
/* Counts a step of the kind, such as "google_search_call". */
void research_count_step(struct research_job *job, const char *kind);
/* Adds a source part behind the open part when the part ends: research_end_part. `citation` becomes its extra. */
void research_add_source(struct research_job *job, tn_value url, tn_value title, tn_value citation);
void research_end_part(struct research_job *job);

/* ---- Values --------------------------------------------------------------------------------------------------- */

/* True for a text that is not empty. */
bool research_is_text(tn_value value);
/* A member of the input; NULL if it is absent or null. Borrowed. */
tn_value research_get(const struct research_job *job, const char *name);
bool research_flag(const struct research_job *job, const char *name, bool fallback);
/* Copies a member of the input under the service's name, if it is set. */
void research_put(const struct research_job *job, tn_builder *out, const char *name, const char *as);
/* `body` with the members of `members`, which replace its own. Takes `body`. */
tn_value research_merge_take(tn_value body, tn_value members);
/* Writes BASE/ID + SUFFIX with ID percent-encoded into `out`. Returns false if the job has failed. */
bool research_format_url(struct research_job *job, char out[RESEARCH_PATH_MAX], const char *base, const char *suffix);

/* result.c: the RESULT; a new reference. */
tn_value research_result(const struct research_job *job);
/* failure.c: an ERROR from a response's body, or from an exchange that failed. */
tn_value research_error_of_response(const struct research_job *job, tn_value end);
tn_value research_error_of_exchange(const struct research_job *job, tn_value http_error);

#endif
