/*
 * tenon/util/model_error.h - the ERROR of a model whose service refused, failed or could not be reached.
 *
 * Maps a response's status, and the codes of tenon/http.h, to the classes of tenon/message.h. A message states what was
 * found and what to do, and quotes the service. Services repeat keys in their errors: therefore messages about a wrong
 * key are not quoted, and everything that looks like a key is replaced by stars in other quotes.
 *
 *     struct tn_model_failure failure = TN_MODEL_FAILURE("acme");
 *     failure.status = 429;
 *     failure.headers = tn_get(end, "headers");                 // for retry-after and the id of the request
 *     failure.message = tn_get(tn_get(body, "error"), "message");
 *     return tn_fail_take(task, tn_model_error(&failure));
 *     // RATE_LIMITED, retryable: acme does not accept more requests at the moment (status 429): "slow down"; wait, …
 *
 * Thread: any.
 */
#ifndef TENON_UTIL_MODEL_ERROR_H
#define TENON_UTIL_MODEL_ERROR_H

#include <stdbool.h>
#include <stdlib.h>
#include <tenon/easy.h>
#include <tenon/util/build.h>
#include <tenon/util/text.h>
#include <tenon/util/utf8.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_MODEL_QUOTE_MAX       400      /* bytes of the service's message that an error quotes */
#define TN_MODEL_RETRY_AFTER_MAX 86400000 /* ms: one day; a longer delay is reduced to it */

/* What is known about a failure; texts and values are borrowed, and NULL or 0 if unknown. */
struct tn_model_failure {
    const char *provider;   /* "acme" */
    const char *code;       /* a class of tenon/message.h; NULL: that of the status */
    int64_t status;         /* of the response */
    tn_value headers;       /* of the response */
    tn_value type, message; /* strings: the service's name for the error, and its explanation */
    tn_value key;           /* a configured key in plain text, which is removed from quotes */
    const char *secret;     /* the secret that has the key by default: named if the key is refused */
    int32_t retryable;      /* -1: as usual for the class */
    int64_t retry_after_ms; /* -1: what the headers say */
};
/* clang-format off */
#define TN_MODEL_FAILURE(provider) {provider, NULL, 0, NULL, NULL, NULL, NULL, NULL, -1, -1}
/* clang-format on */

struct tn_model_error_class {
    const char *code;
    int32_t retryable;
    const char *found, *advice;
};

/* NULL for another code. */
static inline const struct tn_model_error_class *tn_model_error_class_of(const char *code) {
    static const struct tn_model_error_class classes[] = {
        {"AUTH", 0, "does not accept the key, or the key has no access", "check `api_key`"},
        {"RATE_LIMITED", 1, "does not accept more requests at the moment", "wait, or have the limit raised there"},
        {"CONTEXT_LENGTH", 0, "cannot process so many tokens",
         "send fewer messages (for example with a `trim` node), reduce `max_tokens`, or use a model with a larger "
         "context"},
        {"INVALID_REQUEST", 0, "refused the request", "check the model's name, its options and the messages"},
        {"OVERLOADED", 1, "could not answer", "try again later"},
        {"INVALID_RESPONSE", 1, "sent an invalid answer", "check `base_url`, or try again"},
        {"TIMEOUT", 1, "did not answer in time", "increase `timeout_ms`, or try again"},
        {"CONNECT", 1, "cannot be reached", "check `base_url` and the network"},
    };
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (strcmp(classes[i].code, code) == 0) return &classes[i];
    return NULL;
}

/* The class of an HTTP status; 0 is an error that a stream reports after its successful start. */
static inline const char *tn_model_error_code(int64_t status) {
    if (status == 401 || status == 403 || status == 407) return "AUTH";
    if (status == 408) return "TIMEOUT";
    if (status == 429) return "RATE_LIMITED";
    if (status == 425 || status >= 500 || status == 0) return "OVERLOADED";
    return status >= 400 ? "INVALID_REQUEST" : "INVALID_RESPONSE";
}

/* ---- Quotes ---------------------------------------------------------------------------------------------------- */

/* Replaces the part behind a known prefix of keys by stars, and each occurrence of `key`, which may be NULL. */
static inline void tn_model_hide_keys(char *text, tn_value key) {
    static const char *const starts[] = {"sk-", "sk_", "AIza", "xai-", "gsk_", "ya29.", "Bearer ", "bearer "};
    uint64_t length = 0;
    const char *needle = tn_chars(key, &length);
    if (needle != NULL && length >= 4)
        for (char *at = strstr(text, needle); at != NULL; at = strstr(at + length, needle)) memset(at, '*', length);
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        for (char *at = strstr(text, starts[i]); at != NULL; at = strstr(at, starts[i])) {
            at += strlen(starts[i]);
            for (; *at > ' ' && strchr("'\"`,;)", *at) == NULL; at++) *at = '*';
        }
}

/* Appends the service's text on one line, without keys, cut at TN_MODEL_QUOTE_MAX. */
static inline void tn_model_append_quote(struct tn_text_buffer *out, tn_value message, tn_value key) {
    uint64_t length = 0, shown;
    const char *text = tn_chars(message, &length);
    char *copy = text != NULL ? TN_UTIL_CAST(char *, tn.core->alloc(tn.host, length + 1)) : NULL;
    if (copy == NULL) return;
    memcpy(copy, text, length);
    copy[length] = '\0';
    for (uint64_t i = 0; i < length; i++)
        if (TN_UTIL_CAST(unsigned char, copy[i]) < ' ') copy[i] = ' ';
    tn_model_hide_keys(copy, key);
    shown = tn_utf8_cut(copy, length, TN_MODEL_QUOTE_MAX);
    (void)tn_text_append_n(out, copy, shown);
    if (shown < length) (void)tn_text_append(out, "\xE2\x80\xA6");
    tn.core->release(tn.host, copy);
}

/* ---- Headers ---------------------------------------------------------------------------------------------------- */

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
static inline int64_t tn_model_days(int64_t year, int64_t month, int64_t day) {
    int64_t era, year_of_era, day_of_year;
    year -= month <= 2;
    era = (year >= 0 ? year : year - 399) / 400;
    year_of_era = year - era * 400;
    day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

/* Parses "Wed, 21 Oct 2015 07:28:00 GMT" to ms since 1970. -1 if it is malformed. */
static inline int64_t tn_model_http_date(const char *text) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char month[4];
    const char *found;
    int day, year, hour, minute, second;
    if (sscanf(text, "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &day, month, &year, &hour, &minute, &second) != 6) return -1;
    found = strlen(month) == 3 ? strstr(months, month) : NULL;
    if (found == NULL || (found - months) % 3 != 0) return -1;
    return ((tn_model_days(year, (found - months) / 3 + 1, day) * 24 + hour) * 60 + minute) * 60000 +
           TN_UTIL_CAST(int64_t, second) * 1000;
}

/* What the headers retry-after-ms and retry-after say; -1 if they are missing or malformed. */
static inline int64_t tn_model_retry_after_ms(tn_value headers) {
    const char *ms = tn_get_text(headers, "retry-after-ms", NULL), *after = tn_get_text(headers, "retry-after", NULL);
    const char *text = ms != NULL ? ms : after;
    char *stop = NULL;
    int64_t date;
    double number;
    if (text == NULL) return -1;
    number = strtod(text, &stop);
    if (stop == text || (*stop != '\0' && *stop != ' ')) {
        date = ms == NULL ? tn_model_http_date(text) : -1;
        if (date < 0) return -1;
        number = TN_UTIL_CAST(double, date - tn.core->wall_ms(tn.host));
        if (number < 0) number = 0;
    } else if (ms == NULL)
        number *= 1000;
    if (!(number >= 0)) return -1;
    return number < TN_MODEL_RETRY_AFTER_MAX ? TN_UTIL_CAST(int64_t, number) : TN_MODEL_RETRY_AFTER_MAX;
}

/* The service's id of the request; borrowed, or NULL. */
static inline tn_value tn_model_request_id(tn_value headers) {
    static const char *const names[] = {"x-request-id", "request-id", "x-goog-request-id", "cf-ray"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        tn_value found = tn_get(headers, names[i]);
        if (tn.value->kind(found) == TN_STRING) return found;
    }
    return NULL;
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* The ERROR with a text of the caller's: a new reference. `failure->message` is not used. */
static inline tn_value tn_model_error_text(const struct tn_model_failure *failure, const char *text) {
    const char *code = failure->code != NULL ? failure->code : tn_model_error_code(failure->status);
    const struct tn_model_error_class *known = tn_model_error_class_of(code);
    int32_t retryable = failure->retryable >= 0 ? failure->retryable : known != NULL && known->retryable;
    int64_t after = failure->retry_after_ms >= 0 ? failure->retry_after_ms : tn_model_retry_after_ms(failure->headers);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "code", code);
    tn_put_take(builder, "message", tn_text_lossy(text, strlen(text)));
    tn_put_bool(builder, "retryable", retryable);
    if (after >= 0 && retryable) tn_put_int(builder, "retry_after_ms", after);
    tn_put_begin(builder, "detail", TN_OBJECT);
    if (failure->status > 0) tn_put_int(builder, "status", failure->status);
    tn_put_text(builder, "provider", failure->provider);
    if (tn.value->kind(failure->type) == TN_STRING) tn_put(builder, "type", failure->type);
    if (tn_model_request_id(failure->headers) != NULL)
        tn_put(builder, "request_id", tn_model_request_id(failure->headers));
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* The service's error: the class's text, a quote of the service's message, and what to do. A new reference. */
static inline tn_value tn_model_error(const struct tn_model_failure *failure) {
    const char *code = failure->code != NULL ? failure->code : tn_model_error_code(failure->status);
    const struct tn_model_error_class *known = tn_model_error_class_of(code);
    bool is_key = strcmp(code, "AUTH") == 0;
    struct tn_text_buffer text = TN_TEXT_BUFFER(0), quote = TN_TEXT_BUFFER(0);
    tn_value error;
    if (!is_key) tn_model_append_quote(&quote, failure->message, failure->key);
    (void)tn_text_append_format(&text, "%s %s", failure->provider, known != NULL ? known->found : "failed");
    if (failure->status > 0)
        (void)tn_text_append_format(&text, " (status %lld)", TN_UTIL_CAST(long long, failure->status));
    if (tn.value->kind(failure->type) == TN_STRING)
        (void)tn_text_append_format(&text, ", %.80s", tn_chars(failure->type, NULL));
    if (quote.length > 0) (void)tn_text_append_format(&text, ": \"%s\"", tn_text_chars(&quote));
    (void)tn_text_append_format(&text, "; %s", known != NULL ? known->advice : "see the message");
    if (is_key && failure->secret != NULL)
        (void)tn_text_append_format(&text, ", by default the secret %s", failure->secret);
    error = tn_model_error_text(failure, tn_text_chars(&text));
    tn_text_free(&quote);
    tn_text_free(&text);
    return error;
}

/* The failure of an exchange, the value of TN_HTTP_FAILED. `failure->status` is 0 before a response. A new reference.
 */
static inline tn_value tn_model_error_http(const struct tn_model_failure *failure, tn_value http_error) {
    static const char *const codes[][2] = {{"TLS", "CONNECT"},
                                           {"CONNECTION_LOST", "INVALID_RESPONSE"},
                                           {"PROTOCOL", "INVALID_RESPONSE"},
                                           {"LIMIT", "INVALID_RESPONSE"},
                                           {"SECRET_NOT_FOUND", "AUTH"},
                                           {"INVALID_INPUT", "INVALID_REQUEST"}};
    struct tn_model_failure known = *failure;
    struct tn_text_buffer text = TN_TEXT_BUFFER(0);
    bool is_lost = strcmp(tn_get_text(http_error, "code", ""), "CONNECTION_LOST") == 0;
    tn_value error;
    known.type = tn_get(http_error, "code");
    known.code = tn_get_text(http_error, "code", "CONNECT");
    (void)tn.value->as_bool(tn_get(http_error, "retryable"), &known.retryable);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(codes[i][0], known.code) == 0) {
            known.code = codes[i][1];
            break;
        }
    /* A connection that is lost before the first byte of a response is reported as CONNECT. */
    if (is_lost && failure->status == 0) known.code = "CONNECT";
    is_lost = is_lost && failure->status != 0;
    (void)tn_text_append_format(&text, "%s: %s", failure->provider, is_lost ? "the answer was interrupted (" : "");
    tn_model_append_quote(&text, tn_get(http_error, "message"), failure->key);
    if (is_lost) (void)tn_text_append(&text, "); try again");
    error = tn_model_error_text(&known, tn_text_chars(&text));
    tn_text_free(&text);
    return error;
}

#ifdef __cplusplus
}
#endif
#endif
