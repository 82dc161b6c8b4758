/*
 * call.c - the life of a call.
 *
 * A service that hands out tokens is asked for one when a call first needs it; calls that come meanwhile wait for the
 * same one. A token that the service no longer takes (401) is fetched again, once for a call.
 */
#include "call.h"
#include "answer.h"
#include "request.h"

#define TOKEN_EARLY_MS 30000 /* a token is fetched anew so long before it expires */

struct call {
    struct call *next, *previous; /* among those that are open */
    struct call *next_waiting;    /* for the same token */
    struct auth *waits_for;       /* the token that is on its way; NULL: none */
    const struct operation *operation;
    tn_task task;
    tn_value arguments;
    uint64_t exchange; /* 0: nothing is sent */
    bool again;        /* its token has been fetched again */
};

const tn_http_draft *call_http;
static struct call *open_calls;

static void go_on(struct call *call);

/* ---- Ending ---- */

static void call_free(struct call *call) {
    *(call->previous != NULL ? &call->previous->next : &open_calls) = call->next;
    if (call->next != NULL) call->next->previous = call->previous;
    tn_release(call->arguments);
    tn.core->release(tn.host, call);
}

static void fail(struct call *call, const char *code, const char *message, tn_value more) {
    (void)tn.task->fail(call->task, code, message, more);
    call_free(call);
}

static void fail_by(struct call *call, tn_value error) {
    fail(call, tn_get_text(error, "code", "ERROR"), tn_get_text(error, "message", "the request failed"), error);
}

/* ---- Answers ---- */

/* {body, headers} where tenon.yaml asks for some of the answer's headers. */
static tn_value result_of(const struct call *call, tn_value end) {
    tn_value body = answer_body(end), wanted = call->operation->service->answer_headers;
    tn_value headers = tn.value->get(end, "headers");
    if (wanted == NULL || body == NULL) return body;
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    tn_put_take(out, "body", body);
    tn_put_begin(out, "headers", TN_OBJECT);
    for (uint64_t i = 0, count = tn.value->count(wanted); i < count; i++) {
        const char *name = tn_chars(tn.value->at(wanted, i), NULL);
        tn_value found = tn.value->get(headers, name);
        if (found != NULL) tn_put(out, name, found);
    }
    tn.value->end(out);
    tn.value->end(out);
    return tn.value->finish(out);
}

/* ---- Tokens ---- */

static int64_t now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

/* The first of its schemes that has no token; NULL: it can be sent. */
static struct auth *needed(const struct call *call) {
    for (uint32_t i = 0; call->operation->auths[i] != NULL; i++) {
        struct auth *auth = call->operation->auths[i];
        if (auth->value == NULL && (auth->token == NULL || now_ms() >= auth->expires_ms)) return auth;
    }
    return NULL;
}

static struct call *take_waiting(struct auth *auth) {
    struct call *waiting = auth->waiting;
    auth->waiting = NULL;
    auth->exchange = 0;
    return waiting;
}

/* {access_token, expires_in?}: RFC 6749, 5.1. */
static bool take_token(struct auth *auth, tn_value end) {
    tn_value body = answer_body(end);
    const char *token = tn_get_text(body, "access_token", NULL);
    int64_t seconds = tn_get_int(body, "expires_in", 300);
    if (token != NULL && tn_get_int(end, "status", 0) == 200) {
        struct text text = {.limit = 1u << 20};
        text_put(&text, "Bearer ");
        text_put(&text, token);
        tn_release(auth->token);
        auth->token = text_finish(&text);
        if (seconds < 1 || seconds > 31536000) seconds = 300;
        auth->expires_ms =
            now_ms() + (seconds * 1000 > 2 * TOKEN_EARLY_MS ? seconds * 1000 - TOKEN_EARLY_MS : seconds * 500);
    }
    bool good = token != NULL && auth->token != NULL;
    tn_release(body);
    return good;
}

static void on_token(void *user, int32_t event, tn_value value) {
    struct auth *auth = user;
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    bool good = event == TN_HTTP_END && take_token(auth, value);
    for (struct call *call = take_waiting(auth), *next; call != NULL; call = next) {
        next = call->next_waiting;
        call->waits_for = NULL;
        if (good)
            go_on(call);
        else if (event == TN_HTTP_FAILED)
            fail_by(call, value);
        else
            fail(call, "AUTH", "the service gave no token for client_id and client_secret of tenon.yaml", NULL);
    }
}

static tn_value token_request(const struct auth *auth) {
    struct text form = {.limit = 16384};
    tn_builder *out = tn.value->builder();
    text_put(&form, "grant_type=client_credentials&client_id=");
    text_value(&form, auth->client_id, true, "");
    text_put(&form, "&client_secret=");
    text_value(&form, auth->client_secret, true, "");
    if (auth->scope != NULL) {
        text_put(&form, "&scope=");
        text_value(&form, auth->scope, true, "");
    }
    tn.value->begin(out, TN_OBJECT);
    tn_put(out, "url", auth->token_url);
    tn_put_text(out, "method", "POST");
    tn_put_begin(out, "headers", TN_OBJECT);
    tn_put_text(out, "content-type", "application/x-www-form-urlencoded");
    tn_put_text(out, "accept", "application/json");
    tn.value->end(out);
    tn_put_take(out, "body", text_finish(&form));
    tn_put_int(out, "max_bytes", 1 << 20);
    tn_put_begin(out, "timeout", TN_OBJECT);
    tn_put_int(out, "total_ms", 30000);
    tn.value->end(out);
    tn.value->end(out);
    return tn.value->finish(out);
}

static void wait_for_token(struct call *call, struct auth *auth) {
    struct call **last = &auth->waiting;
    while (*last != NULL) last = &(*last)->next_waiting;
    *last = call;
    call->next_waiting = NULL;
    call->waits_for = auth;
    if (auth->exchange != 0) return;
    tn_value request = token_request(auth);
    int32_t status =
        request != NULL ? call_http->send(tn.host, request, on_token, auth, &auth->exchange) : TN_NO_MEMORY;
    tn_release(request);
    if (status == TN_OK) return;
    (void)take_waiting(auth); /* it is alone: there is no request that others could wait for */
    call->waits_for = NULL;
    fail(call, "ERROR", "the request for a token cannot be sent", NULL);
}

static void leave_token(struct call *call) {
    struct call **at = &call->waits_for->waiting;
    while (*at != NULL && *at != call) at = &(*at)->next_waiting;
    if (*at != NULL) *at = call->next_waiting;
    call->waits_for = NULL;
}

/* ---- The request ---- */

/* A token that is refused may have been taken back: another one, once. */
static bool fetches_again(struct call *call, int64_t status) {
    if (status != 401 || call->again) return false;
    for (uint32_t i = 0; call->operation->auths[i] != NULL; i++) {
        struct auth *auth = call->operation->auths[i];
        if (auth->value != NULL || auth->token == NULL) continue;
        auth->expires_ms = 0;
        call->again = true;
    }
    return call->again;
}

static void on_answer(void *user, int32_t event, tn_value value) {
    struct call *call = user;
    if (event == TN_HTTP_FAILED) {
        fail_by(call, value);
        return;
    }
    if (event != TN_HTTP_END) return;
    int64_t status = tn_get_int(value, "status", 0);
    call->exchange = 0;
    if (fetches_again(call, status)) {
        go_on(call);
    } else if (status >= 200 && status < 300) {
        tn_value result = result_of(call, value);
        if (result != NULL)
            (void)tn.task->complete(call->task, result);
        else
            (void)tn.task->fail(call->task, "NO_MEMORY", "there is no memory for the answer", NULL);
        tn_release(result);
        call_free(call);
    } else {
        answer_refuse(call->task, tn_chars(call->operation->method, NULL), tn_chars(call->operation->path, NULL),
                      value);
        call_free(call);
    }
}

static void go_on(struct call *call) {
    struct auth *auth = needed(call);
    const char *why = NULL;
    if (auth != NULL) {
        wait_for_token(call, auth);
        return;
    }
    tn_value request = request_make(call->operation, call->arguments, &why);
    int32_t status =
        request != NULL ? call_http->send(tn.host, request, on_answer, call, &call->exchange) : TN_NO_MEMORY;
    tn_release(request);
    if (why != NULL)
        fail(call, "INVALID_INPUT", why, NULL);
    else if (status != TN_OK)
        fail(call, status == TN_NO_MEMORY ? "NO_MEMORY" : "LIMIT", "the request cannot be sent now", NULL);
}

/* ---- The component ---- */

static int32_t refuse_missing(const struct operation *operation, tn_task task) {
    struct text message = {.limit = 2000};
    text_put(&message, "the service wants to know who asks; give it ");
    text_put(&message, tn_chars(operation->missing, NULL));
    text_put(&message, " in tenon.yaml, plugins.config.tenon.openapi.services.");
    text_put(&message, operation->service->name);
    text_put(&message, ".auth");
    (void)tn.task->fail(task, "AUTH", text_chars(&message), NULL);
    text_free(&message);
    return TN_OK;
}

int32_t call_start(void *instance, tn_task task, tn_value input) {
    const struct operation *operation = instance;
    if (operation->missing != NULL) return refuse_missing(operation, task);
    struct call *call = tn.core->alloc(tn.host, sizeof(*call));
    if (call == NULL) return TN_NO_MEMORY;
    memset(call, 0, sizeof(*call));
    call->operation = operation;
    call->task = task;
    call->arguments = tn_retain(input);
    call->next = open_calls;
    if (open_calls != NULL) open_calls->previous = call;
    open_calls = call;
    go_on(call);
    return TN_OK;
}

void call_cancel(void *instance, tn_task task) {
    struct call *call = open_calls;
    (void)instance;
    while (call != NULL && call->task != task) call = call->next;
    if (call == NULL) return;
    if (call->waits_for != NULL) leave_token(call);
    if (call->exchange != 0) (void)call_http->cancel(tn.host, call->exchange);
    fail(call, "CANCELLED", "the call was cancelled", NULL);
}
