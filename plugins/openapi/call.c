/*
 * call.c - the life of a call.
 *
 * A call reads the files of its arguments, waits for a token, and sends requests until an answer is neither a redirect
 * nor a page with a next one.
 *
 * If a service issues tokens, the first call that needs one requests it, and later calls wait for the same request.
 * After a 401 the token is requested again, once per call, unless the call has pages already.
 */
#include "call.h"
#include "answer.h"
#include "multipart.h"
#include "page.h"
#include "redirect.h"
#include "request.h"

#define TOKEN_EARLY_MS 30000 /* a new token is requested this long before the old one expires */

struct call {
    struct call *next, *previous; /* in the list of running calls */
    struct call *next_waiting;    /* waiting for the same token */
    struct auth *waits_for;       /* the token that is being requested, or NULL */
    const struct operation *operation;
    tn_task task;
    tn_value arguments;
    struct uploads uploads;
    struct pages pages;
    tn_value request;   /* the one that is sent; NULL before the first */
    uint32_t redirects; /* that were followed */
    uint64_t exchange;  /* 0: no request is sent */
    bool token_retried; /* the token was requested again */
    bool cancelled;     /* while an Artifact is read: the call ends after it */
};

const tn_http_1 *openapi_http;
static struct call *open_calls;

static void operation_call_send(struct call *call);

/* ---- Ending ---- */

static void operation_call_free(struct call *call) {
    *(call->previous != NULL ? &call->previous->next : &open_calls) = call->next;
    if (call->next != NULL) call->next->previous = call->previous;
    upload_finish(&call->uploads);
    pages_finish(&call->pages);
    tn_release(call->request);
    tn_release(call->arguments);
    tn.core->release(tn.host, call);
}

static void operation_call_fail_with(struct call *call, tn_value error) {
    (void)tn_fail_with(call->task, error);
    operation_call_free(call);
}

static void operation_call_fail(struct call *call, const char *code, const char *message) {
    (void)tn_fail(call->task, code, message);
    operation_call_free(call);
}

/* ---- Answers ---- */

/* Returns {body, headers} if tenon.yaml requests headers of the answer, else the body, which is released. */
static tn_value make_result_take(const struct call *call, tn_value end, tn_value body) {
    tn_value wanted = call->operation->service->answer_headers;
    tn_value headers = tn_get(end, "headers");
    if (wanted == NULL || body == NULL) return body;
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_take(out, "body", body);
    tn_put_begin(out, "headers", TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(wanted); i < count; i++) {
        const char *name = tn_chars(tn.value->at(wanted, i), NULL);
        tn_value found = tn_get(headers, name);
        if (found != NULL) tn_put(out, name, found);
    }
    tn.value->end(out);
    tn.value->end(out);
    return tn_finish(out);
}

/* ---- Tokens ---- */

static int64_t openapi_now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

/* Returns the first scheme without a valid token, or NULL if the request can be sent. */
static struct auth *service_needs_token(const struct call *call) {
    for (uint32_t i = 0; call->operation->auths[i] != NULL; i++) {
        struct auth *auth = call->operation->auths[i];
        if (auth->value == NULL && (auth->token == NULL || openapi_now_ms() >= auth->expires_ms)) return auth;
    }
    return NULL;
}

static struct call *detach_waiting_calls(struct auth *auth) {
    struct call *waiting = auth->waiting;
    auth->waiting = NULL;
    auth->exchange = 0;
    return waiting;
}

/* Reads {access_token, expires_in?} (RFC 6749, 5.1). */
static bool store_token(struct auth *auth, tn_value end) {
    tn_value body = answer_read_body(end);
    const char *token = tn_get_text(body, "access_token", NULL);
    int64_t seconds = tn_get_int(body, "expires_in", 300);
    if (token != NULL && tn_get_int(end, "status", 0) == 200) {
        struct tn_text_buffer text = {.limit = 1u << 20};
        tn_text_append(&text, "Bearer ");
        tn_text_append(&text, token);
        tn_release(auth->token);
        auth->token = tn_text_finish(&text);
        if (seconds < 1 || seconds > 31536000) seconds = 300;
        auth->expires_ms =
            openapi_now_ms() + (seconds * 1000 > 2 * TOKEN_EARLY_MS ? seconds * 1000 - TOKEN_EARLY_MS : seconds * 500);
    }
    bool good = token != NULL && auth->token != NULL;
    tn_release(body);
    return good;
}

static void on_token_response(void *user, int32_t event, tn_value value) {
    struct auth *auth = user;
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    bool good = event == TN_HTTP_END && store_token(auth, value);
    for (struct call *call = detach_waiting_calls(auth), *next; call != NULL; call = next) {
        next = call->next_waiting;
        call->waits_for = NULL;
        if (good)
            operation_call_send(call);
        else if (event == TN_HTTP_FAILED)
            operation_call_fail_with(call, value);
        else
            operation_call_fail(call, "AUTH",
                                "the service issued no token for the client_id and client_secret of tenon.yaml");
    }
}

static tn_value make_token_request(const struct auth *auth) {
    struct tn_text_buffer form = {.limit = 16384};
    tn_builder *out = tn_builder_new();
    tn_text_append(&form, "grant_type=client_credentials&client_id=");
    rest_append_scalar(&form, auth->client_id, true, "");
    tn_text_append(&form, "&client_secret=");
    rest_append_scalar(&form, auth->client_secret, true, "");
    if (auth->scope != NULL) {
        tn_text_append(&form, "&scope=");
        rest_append_scalar(&form, auth->scope, true, "");
    }
    tn.value->begin(out, TN_OBJECT);
    tn_put(out, "url", auth->token_url);
    tn_put_text(out, "method", "POST");
    tn_put_begin(out, "headers", TN_OBJECT);
    tn_put_text(out, "content-type", "application/x-www-form-urlencoded");
    tn_put_text(out, "accept", "application/json");
    tn.value->end(out);
    tn_put_take(out, "body", tn_text_finish(&form));
    tn_put_int(out, "max_bytes", 1 << 20);
    tn_put_begin(out, "timeout", TN_OBJECT);
    tn_put_int(out, "total_ms", 30000);
    tn.value->end(out);
    tn.value->end(out);
    return tn_finish(out);
}

static void operation_call_wait_for_token(struct call *call, struct auth *auth) {
    struct call **last = &auth->waiting;
    while (*last != NULL) last = &(*last)->next_waiting;
    *last = call;
    call->next_waiting = NULL;
    call->waits_for = auth;
    if (auth->exchange != 0) return;
    tn_value request = make_token_request(auth);
    int32_t status =
        request != NULL ? openapi_http->send(tn.host, request, on_token_response, auth, &auth->exchange) : TN_NO_MEMORY;
    tn_release(request);
    if (status == TN_OK) return;
    (void)detach_waiting_calls(auth); /* no other call waits, because there is no request */
    call->waits_for = NULL;
    operation_call_fail(call, "ERROR", "the request for a token cannot be sent");
}

static void operation_call_stop_waiting(struct call *call) {
    struct call **at = &call->waits_for->waiting;
    while (*at != NULL && *at != call) at = &(*at)->next_waiting;
    if (*at != NULL) *at = call->next_waiting;
    call->waits_for = NULL;
}

/* ---- The request ---- */

/* The service may have revoked the token: request another one, once. */
static bool retry_with_new_token(struct call *call, int64_t status) {
    if (status != 401 || call->token_retried || call->pages.count > 0) return false;
    for (uint32_t i = 0; call->operation->auths[i] != NULL; i++) {
        struct auth *auth = call->operation->auths[i];
        if (auth->value != NULL || auth->token == NULL) continue;
        auth->expires_ms = 0;
        call->token_retried = true;
    }
    return call->token_retried;
}

static void on_operation_event(void *user, int32_t event, tn_value value);

/* Sends the request, which is released. */
static void operation_call_send_request_take(struct call *call, tn_value request) {
    tn_release(call->request);
    call->request = request;
    int32_t status = request != NULL ? openapi_http->send(tn.host, request, on_operation_event, call, &call->exchange)
                                     : TN_NO_MEMORY;
    if (status != TN_OK)
        operation_call_fail(call, status == TN_NO_MEMORY ? "NO_MEMORY" : "LIMIT", "the request cannot be sent now");
}

static void operation_call_fail_answer(struct call *call, tn_value end, const char *why) {
    const struct operation *operation = call->operation;
    answer_fail_redirect(call->task, tn_chars(operation->method, NULL), tn_chars(operation->path, NULL), end, why);
    operation_call_free(call);
}

static void operation_call_follow(struct call *call, tn_value end) {
    const char *why = "the call has followed 10 redirects, which is the limit";
    tn_value request = NULL;
    if (call->redirects < REDIRECTS_MAX)
        request = redirect_make_request(call->operation->service, call->request, end, &why);
    call->redirects++;
    if (request == NULL && why != NULL)
        operation_call_fail_answer(call, end, why);
    else
        operation_call_send_request_take(call, request);
}

/* Ends the call with its result, which is released. */
static void operation_call_complete_take(struct call *call, tn_value result) {
    if (result != NULL)
        (void)tn.task->complete(call->task, result);
    else
        (void)tn_fail(call->task, "NO_MEMORY", "not enough memory for the answer");
    tn_release(result);
    operation_call_free(call);
}

/* The request of the page after this one; NULL if it is the last one, or the limit is reached. */
static tn_value make_next_page_request(struct call *call, tn_value end, tn_value body) {
    const struct operation *operation = call->operation;
    const char *url = tn_get_text(call->request, "url", ""), *why = NULL;
    tn_value request = NULL;
    if (operation->paging.kind == PAGING_PARAMETERS) {
        tn_value arguments = pages_next_arguments(&call->pages, operation, call->arguments, end, body);
        if (arguments == NULL) return NULL;
        tn_release(call->arguments);
        call->arguments = arguments;
        request = operation_make_request(operation, arguments, &call->uploads, call->task, &why);
    } else {
        tn_value next = pages_next_url(&call->pages, &operation->paging, url, end, body);
        if (next == NULL) return NULL;
        request = operation_make_page_request(operation, call->request, next);
        tn_release(next);
    }
    call->pages.more = request == NULL; /* it cannot be sent */
    return request;
}

static void operation_call_add_page(struct call *call, tn_value end) {
    tn_value body = answer_read_body(end), request = NULL;
    uint64_t length = 0;
    (void)tn.value->as_bytes(tn_get(end, "body"), &length);
    if (body != NULL && pages_add(&call->pages, call->operation->service, body, (int64_t)length))
        request = make_next_page_request(call, end, body);
    call->redirects = 0;
    tn_release(body);
    if (request != NULL)
        operation_call_send_request_take(call, request);
    else
        operation_call_complete_take(
            call, make_result_take(call, end, pages_make_result(&call->pages, &call->operation->paging)));
}

static void on_operation_event(void *user, int32_t event, tn_value value) {
    struct call *call = user;
    if (event == TN_HTTP_FAILED) {
        operation_call_fail_with(call, value);
        return;
    }
    if (event != TN_HTTP_END) return;
    int64_t status = tn_get_int(value, "status", 0);
    call->exchange = 0;
    if (retry_with_new_token(call, status)) {
        operation_call_send(call);
    } else if (redirect_is(value)) {
        operation_call_follow(call, value);
    } else if (status >= 200 && status < 300) {
        if (call->pages.limit > 1)
            operation_call_add_page(call, value);
        else
            operation_call_complete_take(call, make_result_take(call, value, answer_read_body(value)));
    } else {
        operation_call_fail_answer(call, value, NULL);
    }
}

static void operation_call_send(struct call *call) {
    struct auth *auth = service_needs_token(call);
    const char *why = NULL;
    if (auth != NULL) {
        operation_call_wait_for_token(call, auth);
        return;
    }
    tn_value request = operation_make_request(call->operation, call->arguments, &call->uploads, call->task, &why);
    if (request == NULL && why != NULL)
        operation_call_fail(call, strcmp(why, MULTIPART_TOO_LONG) == 0 ? "LIMIT" : "INVALID_INPUT", why);
    else
        operation_call_send_request_take(call, request);
}

/* The files of the arguments were read, or one of them cannot be. */
static void on_uploads_ready(void *user, tn_value error) {
    struct call *call = user;
    if (error != NULL)
        operation_call_fail_with(call, error);
    else if (call->cancelled)
        operation_call_fail(call, "CANCELLED", "the call was cancelled");
    else
        operation_call_send(call);
}

/* ---- The component ---- */

static int32_t fail_missing_credential(const struct operation *operation, tn_task task) {
    struct tn_text_buffer message = {.limit = 2000};
    tn_text_append(&message, "the service requires authentication; set ");
    tn_text_append(&message, tn_chars(operation->missing, NULL));
    tn_text_append(&message, " in tenon.yaml, plugins.config.tenon.openapi.services.");
    tn_text_append(&message, operation->service->name);
    tn_text_append(&message, ".auth");
    (void)tn_fail(task, "AUTH", tn_text_chars(&message));
    tn_text_free(&message);
    return TN_OK;
}

int32_t operation_call_start(void *instance, tn_task task, tn_value input) {
    const struct operation *operation = instance;
    if (operation->missing != NULL) return fail_missing_credential(operation, task);
    struct call *call = tn.core->alloc(tn.host, sizeof(*call));
    if (call == NULL) return TN_NO_MEMORY;
    memset(call, 0, sizeof(*call));
    call->operation = operation;
    call->task = task;
    call->arguments = tn_retain(input);
    if (operation->paging.kind != PAGING_NONE) call->pages.limit = (uint32_t)tn_get_int(input, PAGES_ARGUMENT, 1);
    call->next = open_calls;
    if (open_calls != NULL) open_calls->previous = call;
    open_calls = call;
    upload_start(&call->uploads, operation, call->arguments, task, on_uploads_ready, call);
    return TN_OK;
}

void operation_call_cancel(void *instance, tn_task task) {
    struct call *call = open_calls;
    (void)instance;
    while (call != NULL && call->task != task) call = call->next;
    if (call == NULL) return;
    call->cancelled = true;
    if (call->uploads.reading) return; /* the host cancels the reading, too; the task must not end before it */
    if (call->waits_for != NULL) operation_call_stop_waiting(call);
    if (call->exchange != 0) (void)openapi_http->cancel(tn.host, call->exchange);
    operation_call_fail(call, "CANCELLED", "the call was cancelled");
}
