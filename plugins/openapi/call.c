/*
 * call.c - the life of a call.
 *
 * A service that hands out tokens is asked for one when a call first needs it; calls that come meanwhile wait for the
 * same one. A token that the service no longer takes (401) is fetched again, once for a call.
 */
#include "call.h"
#include "request.h"
#include <stdio.h>
#include <stdlib.h>

#define TOKEN_EARLY_MS 30000 /* a token is fetched anew so long before it expires */
#define EXCERPT_MAX    2000  /* bytes of the service's words in an error's message */

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

static bool has_type(const char *type, const char *wanted) { return strncmp(type, wanted, strlen(wanted)) == 0; }

static bool is_json(const char *type) {
    size_t length = strcspn(type, "; ");
    return has_type(type, "application/json") || (length > 5 && strncmp(type + length - 5, "+json", 5) == 0);
}

static tn_value file_of(const char *type, tn_value body) {
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "type", "file");
    tn_put_text(out, "media_type", *type != 0 ? type : "application/octet-stream");
    tn_put(out, "data", body);
    tn.value->end(out);
    return tn.value->finish(out);
}

/* JSON as it is, text as text, anything else as a part of a message; nothing is null. */
static tn_value body_of(tn_value end) {
    tn_value body = tn.value->get(end, "body"), made = NULL;
    uint64_t length = 0;
    const char *bytes = tn.value->as_bytes(body, &length);
    const char *type = tn_get_text(tn.value->get(end, "headers"), "content-type", "");
    if (bytes == NULL || length == 0) return tn.value->make_null();
    if ((is_json(type) || *type == 0) && tn.value->from_json(bytes, length, &made) == TN_OK) return made;
    bool text = is_json(type) || *type == 0 || has_type(type, "text/") || has_type(type, "application/xml") ||
                has_type(type, "application/yaml");
    made = text ? tn_text_n(bytes, length) : NULL;
    return made != NULL ? made : file_of(type, body);
}

/* {body, headers} where tenon.yaml asks for some of the answer's headers. */
static tn_value result_of(const struct call *call, tn_value end) {
    tn_value body = body_of(end), wanted = call->operation->service->answer_headers;
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

static bool may_retry(int64_t status) {
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

static const char *code_of(int64_t status) {
    switch (status) {
    case 400:
    case 422: return "INVALID_INPUT";
    case 401: return "AUTH";
    case 403: return "PERMISSION_DENIED";
    case 404:
    case 410: return "NOT_FOUND";
    case 409:
    case 412: return "CONFLICT";
    case 429: return "RATE_LIMITED";
    default: return status >= 500 ? "OVERLOADED" : "HTTP_STATUS";
    }
}

/* What the service said, for whoever asked: a model, above all. */
static void refuse(struct call *call, int64_t status, tn_value end) {
    tn_value body = body_of(end), json = tn.value->kind(body) == TN_STRING ? tn_retain(body) : tn.value->to_json(body);
    uint64_t length = 0;
    const char *words = tn_chars(json, &length);
    struct text message = {.limit = EXCERPT_MAX + 8192};
    char number[32];
    (void)snprintf(number, sizeof(number), " answered %lld", (long long)status);
    text_put(&message, tn_chars(call->operation->method, NULL));
    text_put(&message, " ");
    text_put(&message, tn_chars(call->operation->path, NULL));
    text_put(&message, number);
    if (words != NULL && length > 0 && tn.value->kind(body) != TN_NULL) {
        uint64_t cut = length > EXCERPT_MAX ? EXCERPT_MAX : length;
        while (cut < length && cut > 0 && ((unsigned char)words[cut] & 0xc0) == 0x80) cut--;
        text_put(&message, ": ");
        text_add(&message, words, cut);
        if (cut < length) text_put(&message, "…");
    }
    tn_builder *more = tn.value->builder();
    const char *after = tn_get_text(tn.value->get(end, "headers"), "retry-after", "");
    char *rest;
    long long seconds = strtoll(after, &rest, 10);
    tn.value->begin(more, TN_OBJECT);
    tn_put_bool(more, "retryable", may_retry(status));
    if (*after != 0 && *rest == 0 && seconds >= 0 && seconds <= 86400)
        tn_put_int(more, "retry_after_ms", seconds * 1000);
    tn_put_begin(more, "detail", TN_OBJECT);
    tn_put_int(more, "status", status);
    if (body != NULL) tn_put(more, "body", body);
    tn.value->end(more);
    tn.value->end(more);
    tn_value told = tn.value->finish(more);
    fail(call, code_of(status), text_chars(&message), told);
    tn_release(told);
    text_free(&message);
    tn_release(json);
    tn_release(body);
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
    tn_value body = body_of(end);
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
        refuse(call, status, value);
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
