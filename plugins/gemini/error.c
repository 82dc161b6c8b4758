/*
 * error.c - reads Google's errors: {error: {code, message, status, details: [{@type, …}]}}, alone or as the only item
 * of an array, as the body of an error response or in a chunk after status 200.
 *
 * `status` is more specific than the HTTP status. If a quota is exhausted, the delay is in a RetryInfo, in a
 * Retry-After header, or in both.
 */
#include "gemini.h"

#include <stdlib.h>

static const char *const codes[][2] = {{"UNAUTHENTICATED", "AUTH"},
                                       {"PERMISSION_DENIED", "AUTH"},
                                       {"RESOURCE_EXHAUSTED", "RATE_LIMITED"},
                                       {"INVALID_ARGUMENT", "INVALID_REQUEST"},
                                       {"FAILED_PRECONDITION", "INVALID_REQUEST"},
                                       {"OUT_OF_RANGE", "INVALID_REQUEST"},
                                       {"NOT_FOUND", "NOT_FOUND"},
                                       {"ALREADY_EXISTS", "INVALID_REQUEST"},
                                       {"UNIMPLEMENTED", "UNSUPPORTED"},
                                       {"DEADLINE_EXCEEDED", "TIMEOUT"},
                                       {"UNAVAILABLE", "OVERLOADED"},
                                       {"INTERNAL", "OVERLOADED"},
                                       {"ABORTED", "OVERLOADED"},
                                       {"CANCELLED", "OVERLOADED"},
                                       {"UNKNOWN", "OVERLOADED"},
                                       {"DATA_LOSS", "OVERLOADED"}};

/* For a body with `code` but without `status`. */
static const struct {
    int64_t number;
    const char *code;
} numbers[] = {{400, "INVALID_REQUEST"}, {401, "AUTH"},       {403, "AUTH"},       {404, "NOT_FOUND"},
               {429, "RATE_LIMITED"},    {500, "OVERLOADED"}, {503, "OVERLOADED"}, {504, "TIMEOUT"}};

/* Parses "34.4s" to ms. Returns -1 if it is malformed. */
static int64_t error_parse_duration_ms(const char *text) {
    char *stop = NULL;
    double seconds = text != NULL ? strtod(text, &stop) : -1;
    if (text == NULL || stop == text || strcmp(stop, "s") != 0 || !(seconds >= 0)) return -1;
    return seconds < 86400 ? (int64_t)(seconds * 1000 + 0.5) : 86400000;
}

static bool error_text_contains(const char *text, const char *words) { return strstr(text, words) != NULL; }

static bool error_is_too_long(const char *message) {
    bool tokens = error_text_contains(message, "token count") || error_text_contains(message, "number of tokens") ||
                  error_text_contains(message, "input tokens");
    return tokens && (error_text_contains(message, "exceed") || error_text_contains(message, "only supports up to") ||
                      error_text_contains(message, "too long"));
}

static bool error_is_daily_quota(tn_value violations) {
    uint64_t count = tn.value->kind(violations) == TN_ARRAY ? tn.value->count(violations) : 0;
    for (uint64_t i = 0; i < count; i++)
        if (error_text_contains(tn_get_text(tn.value->at(violations, i), "quotaId", ""), "PerDay")) return true;
    return false;
}

static void error_read_details(tn_value details, struct tn_model_failure *failure) {
    for (uint64_t i = 0, count = tn.value->kind(details) == TN_ARRAY ? tn.value->count(details) : 0; i < count; i++) {
        tn_value detail = tn.value->at(details, i);
        const char *type = tn_get_text(detail, "@type", ""), *reason = tn_get_text(detail, "reason", "");
        if (error_text_contains(type, "google.rpc.RetryInfo")) {
            int64_t wait = error_parse_duration_ms(tn_get_text(detail, "retryDelay", NULL));
            if (wait >= 0) failure->retry_after_ms = wait;
        }
        /* The service reports an invalid key as an invalid argument. */
        if (error_text_contains(type, "google.rpc.ErrorInfo") && strncmp(reason, "API_KEY_", 8) == 0)
            failure->code = "AUTH";
        /* A quota of a day does not return within a run; one of a minute does. */
        if (error_text_contains(type, "google.rpc.QuotaFailure") && error_is_daily_quota(tn_get(detail, "violations")))
            failure->code = "QUOTA";
    }
}

void gemini_error(struct model_call *call, tn_value body, struct tn_model_failure *failure) {
    (void)call;
    tn_value error = tn_get(tn.value->kind(body) == TN_ARRAY ? tn.value->at(body, 0) : body, "error");
    if (error == NULL) return;
    const char *status = tn_get_text(error, "status", NULL), *message = tn_get_text(error, "message", "");
    int64_t number = tn_get_int(error, "code", 0);
    for (size_t i = 0; status == NULL && i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].number == number) failure->code = numbers[i].code;
    for (size_t i = 0; status != NULL && i < sizeof codes / sizeof *codes; i++)
        if (strcmp(codes[i][0], status) == 0) failure->code = codes[i][1];
    if (failure->status == 0 && number >= 400 && number <= 599) failure->status = number;
    failure->type = tn_get(error, "status");
    failure->message = tn_get(error, "message");
    error_read_details(tn_get(error, "details"), failure);
    if (failure->code == NULL) failure->code = tn_model_error_code(failure->status);
    if (strcmp(failure->code, "INVALID_REQUEST") == 0 && error_is_too_long(message)) failure->code = "CONTEXT_LENGTH";
}
