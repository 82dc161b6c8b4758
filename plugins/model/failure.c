/*
 * failure.c - ends tasks with an error (tenon/util/model_error.h).
 */
#include "internal.h"
#include <stdarg.h>

/* What the request had instead of a key; NULL if it had one. */
static const char *failure_credentials(const struct model_call *call) {
    const struct model *model = call->model;
    if (model->credentials != NULL) return model->credentials;
    if (tn_get(model_get_config(call, "headers"), model->key_header) != NULL) return "`headers`";
    if (model_get_config(call, "api_key") != NULL || model->is_default_host) return NULL;
    return "`api_key`: the request had no key, because `base_url` is not the provider's own address";
}

static struct tn_model_failure failure_of(const struct model_call *call, const char *code) {
    struct tn_model_failure failure = TN_MODEL_FAILURE(call->model->provider->name);
    failure.code = code;
    failure.status = call->status;
    failure.headers = tn_get(call->head, "headers");
    failure.key = call->token != NULL ? call->token : model_get_config(call, "api_key");
    failure.secret = call->model->provider->secret;
    failure.credentials = failure_credentials(call);
    return failure;
}

void model_hide_token(struct model_call *call, tn_value header) {
    uint64_t length = 0, skipped = strlen("Bearer ");
    const char *text = tn_chars(header, &length);
    tn_release(call->token);
    call->token = length > skipped ? tn_text_n(text + skipped, length - skipped) : NULL;
}

static void failure_end_take(struct model_call *call, tn_value error) {
    model_call_end(call);
    (void)tn_fail_take(call->task, error);
}

__attribute__((format(printf, 5, 0))) static void failure_end_with_text(struct model_call *call, const char *code,
                                                                        const char *prefix, const char *suffix,
                                                                        const char *format, va_list arguments) {
    struct tn_model_failure failure = failure_of(call, code);
    struct tn_text_buffer message = TN_TEXT_BUFFER(0);
    if (call->ended) return;
    model_call_enter(call);
    if (prefix[0] != '\0') (void)tn_text_append_format(&message, "%s%s", failure.provider, prefix);
    (void)tn_text_append_vformat(&message, format, arguments);
    (void)tn_text_append(&message, suffix);
    failure_end_take(call, tn_model_error_text(&failure, tn_text_chars(&message)));
    tn_text_free(&message);
    model_call_leave(call);
}

void model_fail(struct model_call *call, const char *code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    failure_end_with_text(call, code, "", "", format, arguments);
    va_end(arguments);
}

void model_fail_response(struct model_call *call, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    failure_end_with_text(call, "INVALID_RESPONSE", " sent ", "; try again", format, arguments);
    va_end(arguments);
}

void model_fail_request(struct model_call *call, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    failure_end_with_text(call, "INVALID_REQUEST", "", "", format, arguments);
    va_end(arguments);
}

/* ---- Errors of the service ---- */

/* `body` is the JSON of `received`, or NULL if that is not JSON. */
static void failure_end_from_service(struct model_call *call, int64_t status, tn_value body, tn_value received) {
    struct tn_model_failure failure = failure_of(call, NULL);
    failure.status = status;
    failure.body = received;
    failure.model = call->model->name;
    if (call->ended) return;
    model_call_enter(call);
    call->model->provider->error(call, body, &failure);
    if (!call->ended) failure_end_take(call, tn_model_error(&failure));
    model_call_leave(call);
}

void model_fail_http_status(struct model_call *call, tn_value end) {
    tn_value body = tn_get(end, "body"), json = NULL;
    uint64_t length = 0;
    const char *text = tn.value->as_bytes(body, &length);
    if (text == NULL) text = tn_chars(body, &length);
    if (text != NULL) json = tn_from_json(text, length);
    failure_end_from_service(call, call->status, json, body);
    tn_release(json);
}

void model_fail_service(struct model_call *call, tn_value body) { failure_end_from_service(call, 0, body, body); }

void model_fail_event(struct model_call *call, const char *data, uint64_t length) {
    struct tn_text_buffer quote = TN_TEXT_BUFFER(0);
    tn_model_append_quote_n(&quote, data, length, failure_of(call, NULL).key, TN_MODEL_QUOTE_MAX);
    model_fail_response(call, "an event whose data is not JSON (%llu bytes): \"%s\"", (unsigned long long)length,
                        tn_text_chars(&quote));
    tn_text_free(&quote);
}

void model_fail_unexpected_body(struct model_call *call, tn_value end, const char *advice) {
    struct tn_model_failure failure = failure_of(call, "INVALID_RESPONSE");
    struct tn_text_buffer text = TN_TEXT_BUFFER(0), quote = TN_TEXT_BUFFER(0);
    struct tn_model_body body;
    if (call->ended) return;
    failure.body = tn_get(end, "body");
    tn_model_read_body(&failure, &body);
    tn_model_append_quote_n(&quote, tn_text_chars(&body.message), body.message.length, failure.key, TN_MODEL_QUOTE_MAX);
    (void)tn_text_append_format(&text, "%s sent `%.100s` instead of %s", failure.provider,
                                tn_get_text(tn_get(call->head, "headers"), "content-type", "nothing"),
                                call->whole ? "a JSON body" : "a stream of events");
    if (quote.length > 0) (void)tn_text_append_format(&text, ": \"%s\"", tn_text_chars(&quote));
    (void)tn_text_append_format(&text, "; %s; `--record DIR` keeps the whole exchange", advice);
    model_call_enter(call);
    failure_end_take(call, tn_model_error_text(&failure, tn_text_chars(&text)));
    model_call_leave(call);
    tn_model_body_free(&body);
    tn_text_free(&quote);
    tn_text_free(&text);
}

void model_fail_exchange(struct model_call *call, tn_value error) {
    struct tn_model_failure failure = failure_of(call, NULL);
    failure_end_take(call, tn_model_error_http(&failure, error));
}
