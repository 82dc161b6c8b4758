/*
 * anthropic.c - the plugin `tenon.anthropic`: Claude, over Anthropic's Messages API.
 *
 * plugins/model implements what all models over HTTP share. This file has the provider's table and the meaning of its
 * errors.
 */
#include "anthropic.h"

TN_PLUGIN("tenon.anthropic", "0.1.0", "Claude, over Anthropic's Messages API")

void anthropic_put(tn_builder *builder, const char *key, tn_value value) {
    if (tn.value->kind(value) > TN_NULL) tn_put(builder, key, value);
}

bool anthropic_has_type(tn_value object, const char *type) {
    return strcmp(tn_get_text(object, "type", ""), type) == 0;
}

/* ---- Errors ---- */

static const struct {
    const char *type, *code;
} classes[] = {
    {"authentication_error", "AUTH"},
    {"permission_error", "AUTH"},
    {"billing_error", "QUOTA"},
    {"rate_limit_error", "RATE_LIMITED"},
    {"overloaded_error", "OVERLOADED"},
    {"api_error", "OVERLOADED"},
    {"timeout_error", "TIMEOUT"},
    {"not_found_error", "NOT_FOUND"},
    {"request_too_large", "CONTEXT_LENGTH"},
    {"invalid_request_error", "INVALID_REQUEST"},
};

/* The service has no error type for a prompt that is too long, or for an account without credit: the message says so.
 */
static void anthropic_error(struct model_call *call, tn_value body, struct tn_model_failure *failure) {
    tn_value error = tn_get(body, "error");
    const char *type = tn_get_text(error, "type", ""), *message = tn_get_text(error, "message", "");
    const char *cause = tn_get_text(tn_get(error, "details"), "error_code", "");
    (void)call;
    failure->type = tn_get(error, "type");
    failure->message = tn_get(error, "message");
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].type, type) == 0) failure->code = classes[i].code;
    if (failure->code != NULL && strcmp(failure->code, "INVALID_REQUEST") == 0 &&
        tn_model_code_of_message(message, failure->status) != NULL)
        failure->code = tn_model_code_of_message(message, failure->status);
    /* Proxies and compatible servers use the type of a wrong request for everything; their status is certain. */
    bool vague = failure->code != NULL && strcmp(failure->code, "INVALID_REQUEST") == 0;
    if (vague && failure->status != 0 && failure->status != 400 && failure->status != 422) failure->code = NULL;
    if (strstr(cause, "spend_limit") != NULL) failure->code = "QUOTA"; /* a monthly or contractual limit */
}

/* ---- The provider ---- */

tn_value anthropic_headers(const struct model_call *call) {
    tn_value betas = model_get_config(call, "beta");
    char joined[2048] = "";
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    if (!anthropic_is_on_vertex(call)) tn_put_text(builder, "anthropic-version", "2023-06-01");
    for (uint64_t i = 0, used = 0; i < tn.value->count(betas); i++) {
        const char *beta = tn_chars(tn.value->at(betas, i), NULL);
        if (beta == NULL || used + strlen(beta) + 2 > sizeof joined)
            continue; /* cannot happen: the configuration's schema limits number and length */
        used += (uint64_t)snprintf(joined + used, sizeof joined - used, "%s%s", used > 0 ? "," : "", beta);
    }
    if (joined[0] != '\0') tn_put_text(builder, "anthropic-beta", joined);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* An error in one of the service's forms, or in Google's. */
static void anthropic_any_error(struct model_call *call, tn_value body, struct tn_model_failure *failure) {
    anthropic_error(call, body, failure);
    anthropic_vertex_error(call, body, failure);
}

static void anthropic_start(struct model_call *call) {
    tn_value body = anthropic_request(call);
    if (anthropic_is_on_vertex(call)) {
        if (!call->ended) anthropic_vertex_start(call, body);
        tn_release(body);
        return;
    }
    tn_value headers = anthropic_headers(call);
    struct model_request request = {
        .path = "/messages", .body = body, .headers = headers, .whole = !model_is_streaming(call)};
    model_send(call, &request);
    tn_release(body);
    tn_release(headers);
}

static void anthropic_release_all(struct model_call *call) {
    anthropic_release(call);
    anthropic_vertex_release(call);
}

static const struct model_provider anthropic = {.name = "anthropic",
                                                .base_url = "https://api.anthropic.com/v1",
                                                .secret = "ANTHROPIC_API_KEY",
                                                .key_header = "x-api-key",
                                                .key_prefix = "",
                                                .call_size = sizeof(struct anthropic_call),
                                                .create = anthropic_vertex_create,
                                                .destroy = anthropic_vertex_destroy,
                                                .start = anthropic_start,
                                                .event = anthropic_event,
                                                .answer = anthropic_answer,
                                                .error = anthropic_any_error,
                                                .release = anthropic_release_all,
                                                .retry = anthropic_vertex_retry};

MODEL_COMPONENT(anthropic, "anthropic", &anthropic)
