/*
 * error.c - the classes of the service's errors.
 *
 * Over HTTP the type of an error is in the header x-amzn-errortype, as in "ThrottlingException:http://…"; inside a
 * stream it is the type of the exception, which bedrock_data puts into the body as `__type`.
 */
#include "bedrock.h"

static const struct {
    const char *type, *code;
} classes[] = {
    {"AccessDenied", "AUTH"},           {"UnrecognizedClient", "AUTH"},         {"InvalidSignature", "AUTH"},
    {"IncompleteSignature", "AUTH"},    {"SignatureDoesNotMatch", "AUTH"},      {"ExpiredToken", "AUTH"},
    {"InvalidClientTokenId", "AUTH"},   {"MissingAuthenticationToken", "AUTH"}, {"RequestExpired", "AUTH"},
    {"ServiceQuotaExceeded", "QUOTA"},  {"Throttling", "RATE_LIMITED"},         {"TooManyRequests", "RATE_LIMITED"},
    {"ResourceNotFound", "NOT_FOUND"},  {"ModelNotReady", "OVERLOADED"},        {"ModelTimeout", "TIMEOUT"},
    {"ModelStreamError", "OVERLOADED"}, {"ModelError", "OVERLOADED"},           {"InternalServer", "OVERLOADED"},
    {"InternalFailure", "OVERLOADED"},  {"ServiceUnavailable", "OVERLOADED"},   {"Validation", "INVALID_REQUEST"}};

/* Compares words without case: streams spell a type "throttlingException", headers "ThrottlingException". */
static bool error_starts_with(const char *text, const char *with) {
    for (; *with != '\0'; text++, with++) {
        char a = *text >= 'A' && *text <= 'Z' ? (char)(*text + 32) : *text;
        char b = *with >= 'A' && *with <= 'Z' ? (char)(*with + 32) : *with;
        if (a != b) return false;
    }
    return true;
}

static bool error_has_word(const char *message, const char *const *words, size_t count) {
    for (const char *at = message; *at != '\0'; at++)
        for (size_t i = 0; i < count; i++)
            if (error_starts_with(at, words[i])) return true;
    return false;
}

static bool error_is_too_long(const char *message) {
    static const char *const words[] = {
        "too long",      "too many input tokens", "context window",   "context length",
        "context limit", "maximum tokens",        "max tokens limit", "exceeds the maximum number of tokens"};
    return error_has_word(message, words, sizeof words / sizeof *words);
}

/* "Too many tokens per day": it does not pass within a run. */
static bool error_is_daily(const char *message) {
    static const char *const words[] = {"per day", "daily"};
    return error_has_word(message, words, 2);
}

static bool error_is_unknown_model(const char *message) {
    static const char *const words[] = {"model identifier is invalid", "end of its life"};
    return error_has_word(message, words, 2);
}

static const char *error_code(const char *type, const char *message) {
    const char *code = NULL;
    for (size_t i = 0; i < sizeof classes / sizeof *classes && code == NULL; i++)
        if (error_starts_with(type, classes[i].type)) code = classes[i].code;
    if (code == NULL) return NULL;
    if (strcmp(code, "RATE_LIMITED") == 0 && error_is_daily(message)) return "QUOTA";
    if (strcmp(code, "INVALID_REQUEST") != 0) return code;
    if (error_is_unknown_model(message)) return "NOT_FOUND";
    return error_is_too_long(message) ? "CONTEXT_LENGTH" : code;
}

bool bedrock_is_clock_error(tn_value headers) {
    static const char *const types[] = {"InvalidSignature", "RequestExpired", "RequestTimeTooSkewed",
                                        "SignatureDoesNotMatch"};
    const char *type = tn_get_text(headers, "x-amzn-errortype", "");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (error_starts_with(type, types[i])) return true;
    return false;
}

/* Says what to do about a refused signature. Returns false if it is not about the time. */
static bool error_fail_clock(struct model_call *call, const char *type, const char *message) {
    static const char *const words[] = {"signature expired", "signature not yet current", "too skewed"};
    int64_t at = tn_model_http_date(tn_get_text(tn_get(call->head, "headers"), "date", ""));
    if (!error_has_word(message, words, 3) && !error_starts_with(type, "RequestTimeTooSkewed")) return false;
    if (at >= 0)
        model_fail(
            call, "AUTH",
            "bedrock refused the signature because of its time: the clock of this machine is %lld s different from "
            "the service's; set the clock",
            (long long)(at - tn.core->wall_ms(tn.host)) / 1000);
    else
        model_fail(call, "AUTH", "bedrock refused the signature because of its time; check the clock of this machine");
    return true;
}

void bedrock_error(struct model_call *call, tn_value body, struct tn_model_failure *failure) {
    const char *type = tn_get_text(body, "__type", NULL), *hash = type != NULL ? strrchr(type, '#') : NULL;
    tn_value message = tn_get(body, "message");
    if (type == NULL) type = tn_get_text(failure->headers, "x-amzn-errortype", "");
    if (hash != NULL) type = hash + 1;
    if (tn.value->kind(message) != TN_STRING) message = tn_get(body, "Message");
    const char *text = tn.value->kind(message) == TN_STRING ? tn_chars(message, NULL) : "";
    const char *code = error_code(type, text);
    if (error_fail_clock(call, type, text)) return;
    if (tn.value->kind(message) == TN_STRING) failure->message = message;
    if (code != NULL) failure->code = code;
    if (tn.value->kind(tn_get(body, "__type")) == TN_STRING)
        failure->type = tn_get(body, "__type");
    else if (*type != '\0')
        failure->type = tn_get(failure->headers, "x-amzn-errortype");
}
