/*
 * failure.c - what went wrong, in the classes of tenon/message.h: by the service's status and words, or the exchange's.
 *
 * A message says what was found, what was expected and what to do, and quotes the service where that helps. Services
 * repeat keys in their errors: what is said about a wrong key is not quoted, and what looks like a key in what is
 * quoted is left out.
 */
#include "inside.h"
#include <stdarg.h>
#include <stdlib.h>

#define RETRY_AFTER_MAX 86400000 /* a day: more is a mistake, or despair */

/* What each class means, and what to do about it. */
static const struct class {
    const char *code;
    bool retryable;
    const char *found, *advice;
} classes[] = {
    {"AUTH", false, "does not accept the key, or not for this", "look at `api_key`"},
    {"RATE_LIMITED", true, "takes no more requests for now", "wait, or have the limit raised there"},
    {"CONTEXT_LENGTH", false, "cannot take so many tokens",
     "send fewer messages (a `trim` node does), ask for fewer with `max_tokens`, or use a model that takes more"},
    {"INVALID_REQUEST", false, "refused the request", "look at the model's name, its options and the messages"},
    {"OVERLOADED", true, "could not answer", "try again later"},
    {"INVALID_RESPONSE", true, "answered with what is no answer", "look at `base_url`, or try again"},
    {"TIMEOUT", true, "did not answer in time", "allow more in `timeout_ms`, or try again"},
    {"CONNECT", true, "cannot be reached", "look at `base_url` and the network"},
};

static const struct class *class_of(const char *code) {
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (strcmp(classes[i].code, code) == 0) return &classes[i];
    return NULL;
}

/* ---- Texts ---- */

/* From the places of a text that look like a key to the end of the word, stars. */
static void hide_keys(char *text) {
    static const char *const starts[] = {"sk-", "sk_", "AIza", "xai-", "gsk_", "ya29.", "Bearer ", "bearer "};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        for (char *at = strstr(text, starts[i]); at != NULL; at = strstr(at, starts[i])) {
            at += strlen(starts[i]);
            for (; *at > ' ' && strchr("'\"`,;)", *at) == NULL; at++) *at = '*';
        }
}

/* A key that stands in the configuration itself, wherever it is repeated. */
static void hide_text(char *text, tn_value secret) {
    uint64_t length = 0;
    const char *hidden = tn_chars(secret, &length);
    if (hidden == NULL || length < 4) return;
    for (char *at = strstr(text, hidden); at != NULL; at = strstr(at + length, hidden)) memset(at, '*', length);
}

static const char *quote(const struct model_call *call, tn_value said, char out[MODEL_MESSAGE_MAX + 8]) {
    uint64_t length = 0;
    const char *text = tn_chars(said, &length);
    out[0] = '\0';
    if (text == NULL) return out;
    char *copy = inside_alloc(length + 1);
    if (copy == NULL) return out;
    memcpy(copy, text, length);
    for (uint64_t i = 0; i < length; i++)
        if ((unsigned char)copy[i] < ' ') copy[i] = ' ';
    hide_text(copy, model_config(call, "api_key"));
    hide_keys(copy);
    uint64_t shown = inside_cut(copy, length, MODEL_MESSAGE_MAX);
    memcpy(out, copy, shown);
    memcpy(out + shown, shown < length ? "…" : "", shown < length ? sizeof "…" : 1);
    inside_free(copy);
    return out;
}

/* ---- Ending the task ---- */

static tn_value request_id(const struct model_call *call) {
    static const char *const names[] = {"x-request-id", "request-id", "x-goog-request-id", "cf-ray"};
    tn_value headers = tn.value->get(call->head, "headers");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        tn_value found = tn.value->get(headers, names[i]);
        if (tn.value->kind(found) == TN_STRING) return found;
    }
    return NULL;
}

static void end(struct model_call *call, const struct model_failure *failure, const char *message) {
    const struct class *class = class_of(failure->code);
    bool retryable = failure->retryable >= 0 ? failure->retryable != 0 : class != NULL && class->retryable;
    tn_value id = request_id(call);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_bool(builder, "retryable", retryable);
    if (failure->retry_after_ms >= 0 && retryable) tn_put_int(builder, "retry_after_ms", failure->retry_after_ms);
    tn_put_begin(builder, "detail", TN_OBJECT);
    if (failure->status > 0) tn_put_int(builder, "status", failure->status);
    tn_put_text(builder, "provider", call->model->provider->name);
    if (tn.value->kind(failure->type) == TN_STRING) tn_put(builder, "type", failure->type);
    if (id != NULL) tn_put(builder, "request_id", id);
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value more = tn.value->finish(builder);
    inside_over(call);
    (void)(tn.task->fail)(call->task, failure->code, message, more);
    tn_release(more);
}

/* With a message made of the class and the service's words. */
static void end_said(struct model_call *call, const struct model_failure *failure) {
    const struct class *class = class_of(failure->code);
    bool key = strcmp(failure->code, "AUTH") == 0;
    char said[MODEL_MESSAGE_MAX + 8], message[MODEL_MESSAGE_MAX * 3], status[32] = "", type[96] = "";
    (void)quote(call, key ? NULL : failure->message, said);
    if (failure->status > 0) (void)snprintf(status, sizeof status, " (status %lld)", (long long)failure->status);
    if (tn.value->kind(failure->type) == TN_STRING)
        (void)snprintf(type, sizeof type, ", %.80s", tn_chars(failure->type, NULL));
    (void)snprintf(message, sizeof message, "%s %s%s%s%s%s%s; %s%s%s", call->model->provider->name,
                   class != NULL ? class->found : "failed", status, type, said[0] != '\0' ? ": \"" : "", said,
                   said[0] != '\0' ? "\"" : "", class != NULL ? class->advice : "see what it says",
                   key && call->model->provider->secret != NULL ? ", by default the secret " : "",
                   key && call->model->provider->secret != NULL ? call->model->provider->secret : "");
    end(call, failure, message);
}

__attribute__((format(printf, 5, 0))) static void fail_text(struct model_call *call, const char *code,
                                                            const char *prefix, const char *suffix, const char *format,
                                                            va_list arguments) {
    struct model_failure failure = {code, call->status, NULL, NULL, -1, -1};
    char said[MODEL_MESSAGE_MAX * 2], message[MODEL_MESSAGE_MAX * 3];
    if (call->over) return;
    inside_enter(call);
    int length = vsnprintf(said, sizeof said, format, arguments);
    if (length >= (int)sizeof said) said[inside_cut(said, sizeof said, sizeof said - 1)] = '\0';
    (void)snprintf(message, sizeof message, "%s%s%s%s", prefix[0] != '\0' ? call->model->provider->name : "", prefix,
                   said, suffix);
    end(call, &failure, message);
    inside_leave(call);
}

void model_fail(struct model_call *call, const char *code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_text(call, code, "", "", format, arguments);
    va_end(arguments);
}

void model_invalid(struct model_call *call, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_text(call, "INVALID_RESPONSE", " sent ", "; try again", format, arguments);
    va_end(arguments);
}

void model_refuse(struct model_call *call, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_text(call, "INVALID_REQUEST", "", "", format, arguments);
    va_end(arguments);
}

/* ---- What a service says ---- */

static const char *code_of(int64_t status) {
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

/* Days since 1970 of a date of the Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, in_era = year - era * 400;
    int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

/* "Wed, 21 Oct 2015 07:28:00 GMT", as ms since 1970; -1 where it is none. */
static int64_t http_date(const char *text) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char month[4];
    int day, year, hour, minute, second;
    if (sscanf(text, "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &day, month, &year, &hour, &minute, &second) != 6) return -1;
    const char *found = strlen(month) == 3 ? strstr(months, month) : NULL;
    if (found == NULL || (found - months) % 3 != 0) return -1;
    return ((days_of(year, (found - months) / 3 + 1, day) * 24 + hour) * 60 + minute) * 60000 + second * (int64_t)1000;
}

static int64_t retry_after(const struct model_call *call) {
    tn_value headers = tn.value->get(call->head, "headers");
    const char *ms = tn_get_text(headers, "retry-after-ms", NULL), *after = tn_get_text(headers, "retry-after", NULL);
    const char *text = ms != NULL ? ms : after;
    char *stop = NULL;
    if (text == NULL) return -1;
    double number = strtod(text, &stop);
    if (stop == text || (*stop != '\0' && *stop != ' ')) {
        int64_t date = ms == NULL ? http_date(text) : -1;
        if (date < 0) return -1;
        number = (double)(date - tn.core->wall_ms(tn.host));
        if (number < 0) number = 0;
    } else if (ms == NULL)
        number *= 1000;
    if (!(number >= 0)) return -1;
    return number < RETRY_AFTER_MAX ? (int64_t)number : RETRY_AFTER_MAX;
}

static void said(struct model_call *call, int64_t status, tn_value body) {
    struct model_failure failure = {code_of(status), status, NULL, NULL, retry_after(call), -1};
    if (call->over) return;
    inside_enter(call);
    call->model->provider->error(call, body, &failure);
    if (!call->over) end_said(call, &failure);
    inside_leave(call);
}

void inside_fail_status(struct model_call *call, tn_value end_of_it) {
    tn_value body = tn.value->get(end_of_it, "body"), json = NULL;
    uint64_t length = 0;
    const char *text = tn.value->as_bytes(body, &length);
    if (text == NULL) text = tn_chars(body, &length);
    if (text != NULL) (void)tn.value->from_json(text, length, &json);
    said(call, call->status, json);
    tn_release(json);
}

void model_error(struct model_call *call, tn_value body) { said(call, 0, body); }

/* What the exchange says itself: its codes in our classes, its words as they are. */
void inside_fail_http(struct model_call *call, tn_value error) {
    static const char *const codes[][2] = {{"TLS", "CONNECT"},
                                           {"CONNECTION_LOST", "INVALID_RESPONSE"},
                                           {"PROTOCOL", "INVALID_RESPONSE"},
                                           {"LIMIT", "INVALID_RESPONSE"},
                                           {"SECRET_NOT_FOUND", "AUTH"},
                                           {"INVALID_INPUT", "INVALID_REQUEST"}};
    tn_value type = tn.value->get(error, "code");
    struct model_failure failure = {tn_get_text(error, "code", "CONNECT"), call->status, type, NULL, -1, -1};
    char message[MODEL_MESSAGE_MAX * 3], text[MODEL_MESSAGE_MAX + 8];
    int32_t retryable = 0;
    if (tn.value->as_bool(tn.value->get(error, "retryable"), &retryable) == TN_OK) failure.retryable = retryable;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(codes[i][0], failure.code) == 0) failure.code = codes[i][1];
    /* Before the first byte of an answer a lost connection is one that was not made. */
    bool lost = strcmp(tn_get_text(error, "code", ""), "CONNECTION_LOST") == 0;
    if (lost && call->status == 0) failure.code = "CONNECT";
    (void)snprintf(message, sizeof message, "%s: %s%s%s", call->model->provider->name,
                   lost && call->status != 0 ? "the answer was cut off in its middle (" : "",
                   quote(call, tn.value->get(error, "message"), text), lost && call->status != 0 ? "); try again" : "");
    end(call, &failure, message);
}
