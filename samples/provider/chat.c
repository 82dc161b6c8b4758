/*
 * chat.c - the model acme.chat: the life of its tasks. All of it runs on the loop, and nothing blocks.
 */
#include "chat.h"

TN_PLUGIN("acme.provider", "1.0.0", "Models of Acme")

/* ---- Failures ---- */

struct tn_model_failure call_failure(const struct call *call, const char *code) {
    struct tn_model_failure failure = TN_MODEL_FAILURE(PROVIDER);
    failure.code = code;
    failure.status = call->status;
    failure.key = tn_get(call->chat->config, "api_key");
    return failure;
}

void call_fail_take(struct call *call, tn_value error) {
    if (call->error == NULL)
        call->error = error;
    else
        tn_release(error);
}

void call_fail(struct call *call, const char *code, const char *text) {
    struct tn_model_failure failure = call_failure(call, code);
    struct tn_text_buffer message = TN_TEXT_BUFFER(2000);
    tn_text_append_format(&message, "%s %s", PROVIDER, text);
    call_fail_take(call, tn_model_error_text(&failure, tn_text_chars(&message)));
    tn_text_free(&message);
}

/* ---- The end of a call ---- */

static void call_free(struct call *call) {
    struct call **at = &call->chat->calls;
    while (*at != call) at = &(*at)->next;
    *at = call->next;
    if (call->exchange != 0) (void)call->chat->http->cancel(tn.host, call->exchange);
    tn_answer_free(&call->answer);
    tn_tool_names_free(&call->names);
    tn_release(call->error);
    tn.core->release(tn.host, call);
}

/* The last step of every entry: ends the task if it failed or is complete, and pauses the service if deltas wait. */
static void call_settle(struct call *call) {
    tn_task task = call->task;
    if (call->answer.status != TN_OK) call_fail_take(call, tn_answer_error(&call->answer));
    if (call->error != NULL) {
        tn_value error = tn_retain(call->error);
        call_free(call); /* before the task ends: the host may then destroy the instance */
        (void)tn_fail_take(task, error);
    } else if (tn_answer_is_complete(&call->answer)) {
        tn_value output = tn_answer_output(&call->answer);
        call_free(call);
        if (output != NULL)
            (void)tn_done_take(task, output);
        else
            (void)tn_fail(task, "LIMIT", PROVIDER ": not enough memory for the answer");
    } else if (tn_answer_is_waiting(&call->answer) && !call->is_paused && call->exchange != 0) {
        call->is_paused = true;
        (void)call->chat->http->pause(tn.host, call->exchange);
    }
}

/* ---- The exchange ---- */

static void TN_ABI on_http(void *user, int32_t event, tn_value value) {
    struct call *call = user;
    if (event == TN_HTTP_HEAD)
        call->status = tn_get_int(value, "status", 0);
    else if (event == TN_HTTP_DATA)
        response_read_event(call, value);
    else {
        call->exchange = 0; /* it has ended */
        if (event == TN_HTTP_END)
            response_read_end(call, value);
        else {
            struct tn_model_failure failure = call_failure(call, NULL);
            call_fail_take(call, tn_model_error_http(&failure, value));
        }
    }
    call_settle(call);
}

/* ---- The component ---- */

static int32_t chat_create(tn_value config, tn_binder *binder, void **self) {
    const tn_http_1 *http = tn_easy_interface(tn.host, TN_HTTP_1, sizeof *http);
    (void)binder;
    if (http == NULL) return tn_refuse("UNSUPPORTED", "this host does not offer " TN_HTTP_1 ", which acme.chat needs");
    struct chat *chat = tn.core->alloc(tn.host, sizeof *chat);
    if (chat == NULL) return TN_NO_MEMORY;
    *chat = (struct chat){tn_retain(config), http, NULL};
    *self = chat;
    return TN_OK;
}

static void chat_destroy(void *self) {
    struct chat *chat = self;
    tn_release(chat->config);
    tn.core->release(tn.host, chat);
}

static int32_t chat_start(void *self, tn_task task, tn_value input) {
    struct chat *chat = self;
    struct call *call = tn.core->alloc(tn.host, sizeof *call);
    if (call == NULL) return TN_NO_MEMORY;
    *call = (struct call){.next = chat->calls, .chat = chat, .task = task, .names = TN_TOOL_NAMES};
    chat->calls = call;
    tn_answer_init(&call->answer, task, input, PROVIDER);
    call->answer.names = &call->names;
    tn_value request = request_build(call, input);
    if (request != NULL && chat->http->send(tn.host, request, on_http, call, &call->exchange) != TN_OK)
        call_fail(call, "INVALID_REQUEST", "cannot send the request");
    tn_release(request);
    call_settle(call);
    return TN_OK;
}

static struct call *chat_find(struct chat *chat, tn_task task) {
    struct call *call = chat->calls;
    while (call != NULL && call->task != task) call = call->next;
    return call;
}

static void chat_cancel(void *self, tn_task task) {
    struct call *call = chat_find(self, task);
    if (call == NULL) return;
    call_fail_take(call, tn_error("CANCELLED", "cancelled"));
    call_settle(call);
}

/* The host accepts deltas again. */
static void chat_ready(void *self, tn_task task) {
    struct call *call = chat_find(self, task);
    if (call == NULL) return;
    if (tn_answer_flush(&call->answer) && call->is_paused) {
        call->is_paused = false;
        if (call->exchange != 0) (void)call->chat->http->resume(tn.host, call->exchange);
    }
    call_settle(call);
}

TN_COMPONENT(chat, PROVIDER, chat_create, chat_start, chat_cancel, chat_ready, chat_destroy)
