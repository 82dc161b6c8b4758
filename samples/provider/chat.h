/*
 * chat.h - one task of the model acme.chat, shared by the files of this plugin.
 *
 *   chat.c      the life of a task: start, the events of its exchange, ready, cancel, the end
 *   request.c   the task's input as a request of the service
 *   response.c  the service's events as pieces of the answer, and its errors
 *
 * Invariant: only call_settle ends a task and frees its call. Everything else records in the call what happened. So a
 * function never uses a call that another one has freed.
 */
#ifndef ACME_CHAT_H
#define ACME_CHAT_H

#include <tenon/http.h>
#include <tenon/message.h>
#include <tenon/util/answer.h>
#include <tenon/util/build.h>
#include <tenon/util/model_error.h>
#include <tenon/util/tool_names.h>

#define PROVIDER "acme.chat"

/* An instance: a model with its configuration. */
struct chat {
    tn_value config;
    const tn_http_1 *http;
    struct call *calls; /* open tasks */
};

struct call {
    struct call *next;
    struct chat *chat;
    tn_task task;
    uint64_t exchange; /* 0: none is in progress */
    bool is_paused;
    bool is_done;   /* the service has sent "[DONE]" */
    int64_t status; /* of the response; 0 before it starts */
    struct tn_tool_names names;
    struct tn_answer answer;
    tn_value error; /* the task fails with it; NULL: no error yet */
};

/* The request for tenon.http. A new reference; NULL if it cannot be built: call->error then has the reason. */
tn_value request_build(struct call *call, tn_value input);

/* One event of the stream. */
void response_read_event(struct call *call, tn_value event);
/* The end of the exchange: the stream is complete, or the body is an error. */
void response_read_end(struct call *call, tn_value end);

/* Records why the task fails; the first reason counts. Takes the reference. */
void call_fail_take(struct call *call, tn_value error);
/* The same, with an error of class `code` and a text without the provider's name. */
void call_fail(struct call *call, const char *code, const char *text);
/* What is known about a failure of the service. */
struct tn_model_failure call_failure(const struct call *call, const char *code);

#endif
