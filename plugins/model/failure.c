/*
 * failure.c - ends tasks with an error: maps the service's status and error body, or the failure of the exchange, to
 * the classes of tenon/message.h.
 *
 * A message states what was found, what was expected and what to do, and quotes the service's message. Services repeat
 * keys in their errors. Therefore messages about a wrong key are not quoted, and everything that looks like a key is
 * replaced by stars in other quotes.
 */
#include "internal.h"
#include <stdarg.h>
#include <stdlib.h>

#define RETRY_AFTER_MAX 86400000 /* ms: one day; a longer delay is reduced to it */

/* For each class: the text of the message, and the advice. */
static const struct class {
    const char *code;
    bool retryable;
    const char *found, *advice;
} classes[] = {
    {"AUTH", false, "does not accept the key, or the key has no access", "check `api_key`"},
    {"RATE_LIMITED", true, "does not accept more requests at the moment", "wait, or have the limit raised there"},
    {"CONTEXT_LENGTH", false, "cannot process so many tokens",
     "send fewer messages (for example with a `trim` node), reduce `max_tokens`, or use a model with a larger context"},
    {"INVALID_REQUEST", false, "refused the request", "check the model's name, its options and the messages"},
    {"OVERLOADED", true, "could not answer", "try again later"},
    {"INVALID_RESPONSE", true, "sent an invalid answer", "check `base_url`, or try again"},
    {"TIMEOUT", true, "did not answer in time", "increase `timeout_ms`, or try again"},
    {"CONNECT", true, "cannot be reached", "check `base_url` and the network"},
};

static const struct class *failure_class_lookup(const char *code) {
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (strcmp(classes[i].code, code) == 0) return &classes[i];
    return NULL;
}

/* ---- Texts ---- */

/* Replaces the part behind a known key prefix by stars. */
static void failure_hide_keys(char *text) {
    static const char *const starts[] = {"sk-", "sk_", "AIza", "xai-", "gsk_", "ya29.", "Bearer ", "bearer "};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        for (char *at = strstr(text, starts[i]); at != NULL; at = strstr(at, starts[i])) {
            at += strlen(starts[i]);
            for (; *at > ' ' && strchr("'\"`,;)", *at) == NULL; at++) *at = '*';
        }
}

/* Replaces each occurrence of a configured key by stars. */
static void failure_hide_secret(char *text, tn_value secret) {
    uint64_t length = 0;
    const char *needle = tn_chars(secret, &length);
    if (needle == NULL || length < 4) return;
    for (char *at = strstr(text, needle); at != NULL; at = strstr(at + length, needle)) memset(at, '*', length);
}

static const char *failure_quote_service(const struct model_call *call, tn_value message,
                                         char out[MODEL_MESSAGE_MAX + 8]) {
    uint64_t length = 0;
    const char *text = tn_chars(message, &length);
    out[0] = '\0';
    if (text == NULL) return out;
    char *copy = model_memory_alloc(length + 1);
    if (copy == NULL) return out;
    memcpy(copy, text, length);
    for (uint64_t i = 0; i < length; i++)
        if ((unsigned char)copy[i] < ' ') copy[i] = ' ';
    failure_hide_secret(copy, model_get_config(call, "api_key"));
    failure_hide_keys(copy);
    uint64_t shown = tn_utf8_cut(copy, length, MODEL_MESSAGE_MAX);
    memcpy(out, copy, shown);
    memcpy(out + shown, shown < length ? "…" : "", shown < length ? sizeof "…" : 1);
    model_memory_free(copy);
    return out;
}

/* ---- Ending the task ---- */

static tn_value failure_request_id(const struct model_call *call) {
    static const char *const names[] = {"x-request-id", "request-id", "x-goog-request-id", "cf-ray"};
    tn_value headers = tn_get(call->head, "headers");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        tn_value found = tn_get(headers, names[i]);
        if (tn.value->kind(found) == TN_STRING) return found;
    }
    return NULL;
}

static void failure_end_task(struct model_call *call, const struct model_failure *failure, const char *message) {
    const struct class *class = failure_class_lookup(failure->code);
    bool retryable = failure->retryable >= 0 ? failure->retryable != 0 : class != NULL && class->retryable;
    tn_value id = failure_request_id(call);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "code", failure->code);
    tn_put_take(builder, "message", tn_text_lossy(message, strlen(message)));
    tn_put_bool(builder, "retryable", retryable);
    if (failure->retry_after_ms >= 0 && retryable) tn_put_int(builder, "retry_after_ms", failure->retry_after_ms);
    tn_put_begin(builder, "detail", TN_OBJECT);
    if (failure->status > 0) tn_put_int(builder, "status", failure->status);
    tn_put_text(builder, "provider", call->model->provider->name);
    if (tn.value->kind(failure->type) == TN_STRING) tn_put(builder, "type", failure->type);
    if (id != NULL) tn_put(builder, "request_id", id);
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value error = tn_finish(builder);
    model_call_end(call);
    (void)tn_fail_take(call->task, error);
}

/* Ends the task. The message consists of the class's text, the quoted message of the service, and the advice. */
static void failure_end_with_service_message(struct model_call *call, const struct model_failure *failure) {
    const struct class *class = failure_class_lookup(failure->code);
    bool key = strcmp(failure->code, "AUTH") == 0;
    char quote[MODEL_MESSAGE_MAX + 8], message[MODEL_MESSAGE_MAX * 3], status[32] = "", type[96] = "";
    (void)failure_quote_service(call, key ? NULL : failure->message, quote);
    if (failure->status > 0) (void)snprintf(status, sizeof status, " (status %lld)", (long long)failure->status);
    if (tn.value->kind(failure->type) == TN_STRING)
        (void)snprintf(type, sizeof type, ", %.80s", tn_chars(failure->type, NULL));
    (void)snprintf(message, sizeof message, "%s %s%s%s%s%s%s; %s%s%s", call->model->provider->name,
                   class != NULL ? class->found : "failed", status, type, quote[0] != '\0' ? ": \"" : "", quote,
                   quote[0] != '\0' ? "\"" : "", class != NULL ? class->advice : "see the message",
                   key && call->model->provider->secret != NULL ? ", by default the secret " : "",
                   key && call->model->provider->secret != NULL ? call->model->provider->secret : "");
    failure_end_task(call, failure, message);
}

__attribute__((format(printf, 5, 0))) static void failure_end_with_text(struct model_call *call, const char *code,
                                                                        const char *prefix, const char *suffix,
                                                                        const char *format, va_list arguments) {
    struct model_failure failure = {code, call->status, NULL, NULL, -1, -1};
    char text[MODEL_MESSAGE_MAX * 2], message[MODEL_MESSAGE_MAX * 3];
    if (call->ended) return;
    model_call_enter(call);
    int length = vsnprintf(text, sizeof text, format, arguments);
    if (length >= (int)sizeof text) text[tn_utf8_trim(text, sizeof text - 1)] = '\0';
    (void)snprintf(message, sizeof message, "%s%s%s%s", prefix[0] != '\0' ? call->model->provider->name : "", prefix,
                   text, suffix);
    failure_end_task(call, &failure, message);
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

static const char *failure_code_from_status(int64_t status) {
    static const struct {
        int64_t status;
        const char *code;
    } codes[] = {{401, "AUTH"},    {403, "AUTH"},       {407, "AUTH"},
                 {408, "TIMEOUT"}, {425, "OVERLOADED"}, {429, "RATE_LIMITED"}};
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].status == status) return codes[i].code;
    if (status >= 500 || status == 0) return "OVERLOADED";
    return status >= 400 ? "INVALID_REQUEST" : "INVALID_RESPONSE";
}

/* Returns the number of days from 1970-01-01 to a date of the Gregorian calendar. */
static int64_t date_days_from_civil(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

/* Parses "Wed, 21 Oct 2015 07:28:00 GMT" to ms since 1970. Returns -1 if it is malformed. */
static int64_t date_parse_http(const char *text) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char month[4];
    int day, year, hour, minute, second;
    if (sscanf(text, "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &day, month, &year, &hour, &minute, &second) != 6) return -1;
    const char *found = strlen(month) == 3 ? strstr(months, month) : NULL;
    if (found == NULL || (found - months) % 3 != 0) return -1;
    return ((date_days_from_civil(year, (found - months) / 3 + 1, day) * 24 + hour) * 60 + minute) * 60000 +
           second * (int64_t)1000;
}

static int64_t failure_retry_after_ms(const struct model_call *call) {
    tn_value headers = tn_get(call->head, "headers");
    const char *ms = tn_get_text(headers, "retry-after-ms", NULL), *after = tn_get_text(headers, "retry-after", NULL);
    const char *text = ms != NULL ? ms : after;
    char *stop = NULL;
    if (text == NULL) return -1;
    double number = strtod(text, &stop);
    if (stop == text || (*stop != '\0' && *stop != ' ')) {
        int64_t date = ms == NULL ? date_parse_http(text) : -1;
        if (date < 0) return -1;
        number = (double)(date - tn.core->wall_ms(tn.host));
        if (number < 0) number = 0;
    } else if (ms == NULL)
        number *= 1000;
    if (!(number >= 0)) return -1;
    return number < RETRY_AFTER_MAX ? (int64_t)number : RETRY_AFTER_MAX;
}

static void failure_end_from_service(struct model_call *call, int64_t status, tn_value body) {
    struct model_failure failure = {failure_code_from_status(status), status, NULL, NULL,
                                    failure_retry_after_ms(call),     -1};
    if (call->ended) return;
    model_call_enter(call);
    call->model->provider->error(call, body, &failure);
    if (!call->ended) failure_end_with_service_message(call, &failure);
    model_call_leave(call);
}

void model_fail_http_status(struct model_call *call, tn_value end) {
    tn_value body = tn_get(end, "body"), json = NULL;
    uint64_t length = 0;
    const char *text = tn.value->as_bytes(body, &length);
    if (text == NULL) text = tn_chars(body, &length);
    if (text != NULL) json = tn_from_json(text, length);
    failure_end_from_service(call, call->status, json);
    tn_release(json);
}

void model_fail_service(struct model_call *call, tn_value body) { failure_end_from_service(call, 0, body); }

/* Maps the codes of tenon.http to the classes of tenon/message.h. The message is passed on. */
void model_fail_exchange(struct model_call *call, tn_value error) {
    static const char *const codes[][2] = {{"TLS", "CONNECT"},
                                           {"CONNECTION_LOST", "INVALID_RESPONSE"},
                                           {"PROTOCOL", "INVALID_RESPONSE"},
                                           {"LIMIT", "INVALID_RESPONSE"},
                                           {"SECRET_NOT_FOUND", "AUTH"},
                                           {"INVALID_INPUT", "INVALID_REQUEST"}};
    tn_value type = tn_get(error, "code");
    struct model_failure failure = {tn_get_text(error, "code", "CONNECT"), call->status, type, NULL, -1, -1};
    char message[MODEL_MESSAGE_MAX * 3], text[MODEL_MESSAGE_MAX + 8];
    int32_t retryable = 0;
    if (tn.value->as_bool(tn_get(error, "retryable"), &retryable) == TN_OK) failure.retryable = retryable;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(codes[i][0], failure.code) == 0) failure.code = codes[i][1];
    /* A connection lost before the first byte of a response is reported as CONNECT. */
    bool lost = strcmp(tn_get_text(error, "code", ""), "CONNECTION_LOST") == 0;
    if (lost && call->status == 0) failure.code = "CONNECT";
    (void)snprintf(message, sizeof message, "%s: %s%s%s", call->model->provider->name,
                   lost && call->status != 0 ? "the answer was interrupted (" : "",
                   failure_quote_service(call, tn_get(error, "message"), text),
                   lost && call->status != 0 ? "); try again" : "");
    failure_end_task(call, &failure, message);
}
