/*
 * tenon/util/model_error.h - the ERROR of a model whose service refused, failed or could not be reached.
 *
 * Maps a response's status and body, and the codes of tenon/http.h, to the classes of tenon/message.h. A message states
 * what was found and what to do, and quotes the service, whatever the shape of its body (tenon/util/model_body.h).
 * Services repeat keys in their errors: therefore everything that looks like a key is replaced by stars in quotes.
 *
 *     struct tn_model_failure failure = TN_MODEL_FAILURE("acme");
 *     failure.status = 429;
 *     failure.headers = tn_get(end, "headers");                 // for retry-after and the id of the request
 *     failure.body = tn_get(end, "body");                       // as it was received
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
#include <tenon/util/model_body.h>
#include <tenon/util/text.h>
#include <tenon/util/utf8.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_MODEL_DETAIL_MAX      2048     /* bytes of the body that the detail of an error has */
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
    tn_value body;          /* of the response: JSON, a text or bytes; read for what is not set above */
    tn_value field;         /* a text: the field of the request that the error is about */
    const char *model;      /* the name of the model that was asked for */
    /* What to check if the request had no key: "`entra`". Then `secret` is not named. */
    const char *credentials;
};
/* clang-format off */
#define TN_MODEL_FAILURE(provider) {provider, NULL, 0, NULL, NULL, NULL, NULL, NULL, -1, -1, NULL, NULL, NULL, NULL}
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
        {"QUOTA", 0, "does not answer until the account is paid or its quota is raised",
         "check the plan and the credit of the account there"},
        {"NOT_FOUND", 0, "does not have the model, or not at this address", "check the model's name and `base_url`"},
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
    if (status == 402) return "QUOTA";
    if (status == 404) return "NOT_FOUND";
    if (status == 408) return "TIMEOUT";
    if (status == 413) return "CONTEXT_LENGTH";
    if (status == 429) return "RATE_LIMITED";
    if (status == 425 || status >= 500 || status == 0) return "OVERLOADED";
    return status >= 400 ? "INVALID_REQUEST" : "INVALID_RESPONSE";
}

/* ---- Quotes ---------------------------------------------------------------------------------------------------- */

/* Replaces the part behind a known prefix of keys by stars, and each occurrence of `key`, which may be NULL. */
static inline void tn_model_hide_keys(char *text, tn_value key) {
    static const char *const starts[] = {"sk-",  "sk_",    "AIza",    "xai-",    "gsk_",  "ya29.",   "csk-",
                                         "hf_",  "pplx-",  "nvapi-",  "fw_",     "AKIA",  "tgp_v1_", "eyJ",
                                         "key=", "token=", "Bearer ", "bearer ", "Basic "};
    uint64_t length = 0;
    const char *needle = tn_chars(key, &length);
    if (needle != NULL && length >= 4)
        for (char *at = strstr(text, needle); at != NULL; at = strstr(at + length, needle)) memset(at, '*', length);
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        for (char *at = strstr(text, starts[i]); at != NULL; at = strstr(at, starts[i])) {
            char before = at > text ? at[-1] : ' ';
            bool in_word = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z');
            at += strlen(starts[i]);
            if (in_word && starts[i][strlen(starts[i]) - 1] != '=') continue; /* "risk-averse" */
            for (; *at > ' ' && strchr("'\"`,;)", *at) == NULL; at++) *at = '*';
        }
}

/* Appends the service's text on one line, without keys, cut at `most` bytes. */
static inline void tn_model_append_quote_n(struct tn_text_buffer *out, const char *text, uint64_t length, tn_value key,
                                           uint64_t most) {
    struct tn_text_buffer safe = TN_TEXT_BUFFER(0);
    uint64_t shown;
    bool whole = tn_model_append_safe(&safe, text, length, TN_MODEL_BODY_TEXT_MAX);
    if (safe.bytes != NULL) tn_model_hide_keys(safe.bytes, key);
    shown = tn_utf8_cut(tn_text_chars(&safe), safe.length, most);
    (void)tn_text_append_n(out, tn_text_chars(&safe), shown);
    if (shown < safe.length || !whole) (void)tn_text_append(out, "\xE2\x80\xA6");
    tn_text_free(&safe);
}

static inline void tn_model_append_quote(struct tn_text_buffer *out, tn_value message, tn_value key) {
    uint64_t length = 0;
    const char *text = tn_chars(message, &length);
    if (text != NULL) tn_model_append_quote_n(out, text, length, key, TN_MODEL_QUOTE_MAX);
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

/* The header x-should-retry of some services: 1 or 0; -1 without it. It says more than the status. */
static inline int32_t tn_model_should_retry(tn_value headers) {
    const char *text = tn_get_text(headers, "x-should-retry", "");
    return strcmp(text, "true") == 0 ? 1 : strcmp(text, "false") == 0 ? 0 : -1;
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

/* ---- Classes ---------------------------------------------------------------------------------------------------- */

/* A service's word for an error, or words of its message, and the class that it means. */
struct tn_model_error_words {
    const char *words, *code;
};

/* The class of a service's word, such as "insufficient_quota". NULL if it is not known. */
static inline const char *tn_model_code_of_word(const char *word) {
    static const struct tn_model_error_words known[] = {{"context_length_exceeded", "CONTEXT_LENGTH"},
                                                        {"exceed_context_size_error", "CONTEXT_LENGTH"},
                                                        {"string_above_max_length", "CONTEXT_LENGTH"},
                                                        {"request_too_large", "CONTEXT_LENGTH"},
                                                        {"insufficient_quota", "QUOTA"},
                                                        {"insufficient_balance", "QUOTA"},
                                                        {"insufficient_credits", "QUOTA"},
                                                        {"billing_error", "QUOTA"},
                                                        {"billing_hard_limit_reached", "QUOTA"},
                                                        {"billing_not_active", "QUOTA"},
                                                        {"account_deactivated", "AUTH"},
                                                        {"invalid_api_key", "AUTH"},
                                                        {"authentication_error", "AUTH"},
                                                        {"permission_error", "AUTH"},
                                                        {"model_not_found", "NOT_FOUND"},
                                                        {"deploymentnotfound", "NOT_FOUND"},
                                                        {"invalid_model", "NOT_FOUND"},
                                                        {"rate_limit_exceeded", "RATE_LIMITED"},
                                                        {"rate_limit_error", "RATE_LIMITED"},
                                                        {"rate_limited", "RATE_LIMITED"},
                                                        {"throttlingexception", "RATE_LIMITED"},
                                                        {"tokens_exceeded", "RATE_LIMITED"},
                                                        {"server_error", "OVERLOADED"},
                                                        {"overloaded_error", "OVERLOADED"},
                                                        {"service_unavailable", "OVERLOADED"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strlen(word) == strlen(known[i].words) && tn_model_starts_with(word, strlen(word), known[i].words))
            return known[i].code;
    return NULL;
}

/* True if the beginning of the text contains the lower-case words, without regard to case. */
static inline bool tn_model_contains(const char *text, const char *words) {
    uint64_t length = 0; /* strnlen is not in ISO C */
    while (length < TN_MODEL_BODY_TEXT_MAX && text[length] != '\0') length++;
    return tn_model_find_word(text, length, 0, words) < length;
}

/*
 * The class that a message means, for services that have no word for it. NULL if the message does not say. `status` is
 * that of the response: the messages of 401, 403 and 5xx mean nothing else.
 */
static inline const char *tn_model_code_of_message(const char *message, int64_t status) {
    static const struct tn_model_error_words known[] = {{"maximum context length", "CONTEXT_LENGTH"},
                                                        {"context window", "CONTEXT_LENGTH"},
                                                        {"exceed context limit", "CONTEXT_LENGTH"},
                                                        {"context length exceeded", "CONTEXT_LENGTH"},
                                                        {"exceeds the available context size", "CONTEXT_LENGTH"},
                                                        {"prompt is too long", "CONTEXT_LENGTH"},
                                                        {"too large for model", "CONTEXT_LENGTH"},
                                                        {"input is too long for requested model", "CONTEXT_LENGTH"},
                                                        {"exceeds the maximum number of tokens", "CONTEXT_LENGTH"},
                                                        {"maximum prompt length", "CONTEXT_LENGTH"},
                                                        {"maximum context limit", "CONTEXT_LENGTH"},
                                                        {"exceeded model token limit", "CONTEXT_LENGTH"},
                                                        {"reduce the length of the messages", "CONTEXT_LENGTH"},
                                                        {"greater than the context length", "CONTEXT_LENGTH"},
                                                        {"longer than the model's context", "CONTEXT_LENGTH"},
                                                        {"loaded with context length of only", "CONTEXT_LENGTH"},
                                                        {"`inputs` tokens + `max_new_tokens`", "CONTEXT_LENGTH"},
                                                        {"too many input tokens", "CONTEXT_LENGTH"},
                                                        {"total number of tokens in the prompt", "CONTEXT_LENGTH"},
                                                        {"credit balance is too low", "QUOTA"},
                                                        {"insufficient balance", "QUOTA"},
                                                        {"insufficient credits", "QUOTA"},
                                                        {"requires more credits", "QUOTA"},
                                                        {"is not a valid model", "NOT_FOUND"},
                                                        {"invalid model", "NOT_FOUND"},
                                                        {"model identifier is invalid", "NOT_FOUND"}};
    if (status == 401 || status == 403 || status >= 500) return NULL;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (tn_model_contains(message, known[i].words)) return known[i].code;
    if (status != 400 && status != 404 && status != 422) return NULL;
    if (tn_model_contains(message, "model") &&
        (tn_model_contains(message, "does not exist") || tn_model_contains(message, "not found")))
        return "NOT_FOUND";
    return NULL;
}

/*
 * The class of a failure: the caller's, that of the service's word or message, or else that of the status. A word is
 * believed if the status does not say something else that is certain (an overloaded service, a wrong key).
 */
static inline const char *tn_model_classify(const struct tn_model_failure *failure) {
    const char *by_status = tn_model_error_code(failure->status), *found = NULL;
    const char *type = tn_chars(failure->type, NULL), *message = tn_chars(failure->message, NULL);
    if (failure->code != NULL) return failure->code;
    if (type != NULL) found = tn_model_code_of_word(type);
    if (found == NULL && message != NULL) found = tn_model_code_of_message(message, failure->status);
    if (found == NULL) return by_status;
    if (failure->status >= 500 && strcmp(found, "CONTEXT_LENGTH") != 0) return by_status;
    return found;
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* The body as the text that was received, a new reference; NULL if there is none. */
static inline tn_value tn_model_body_text(tn_value body) {
    uint64_t length = 0;
    const char *text = NULL;
    int32_t kind = tn.value->kind(body);
    if (kind == TN_STRING) return tn_retain(body);
    if (kind == TN_BYTES) text = TN_UTIL_CAST(const char *, tn.value->as_bytes(body, &length));
    if (text != NULL) return length > 0 ? tn_text_lossy(text, tn_utf8_cut(text, length, TN_MODEL_BODY_READ_MAX)) : NULL;
    return kind > TN_NULL && kind != TN_BYTES ? tn_to_json(body) : NULL;
}

static inline void tn_model_read_body(const struct tn_model_failure *failure, struct tn_model_body *out) {
    uint64_t length = 0;
    const char *text = TN_UTIL_CAST(const char *, tn.value->as_bytes(failure->body, &length));
    if (text == NULL) text = tn_chars(failure->body, &length);
    if (text != NULL)
        tn_model_body_read(out, text, length);
    else
        tn_model_body_read_json(out, failure->body);
}

/* Puts a text of the service into the detail, without keys. */
static inline void tn_model_put_quote(tn_builder *builder, const char *name, tn_value text, tn_value key,
                                      uint64_t most) {
    struct tn_text_buffer quote = TN_TEXT_BUFFER(0);
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (chars != NULL && length > 0) tn_model_append_quote_n(&quote, chars, length, key, most);
    if (quote.length > 0) tn_put_take(builder, name, tn_text_lossy(tn_text_chars(&quote), quote.length));
    tn_text_free(&quote);
}

/* The ERROR with a text of the caller's: a new reference. `failure->message` is not used. */
static inline tn_value tn_model_error_text(const struct tn_model_failure *failure, const char *text) {
    const char *code = failure->code != NULL ? failure->code : tn_model_error_code(failure->status);
    const struct tn_model_error_class *known = tn_model_error_class_of(code);
    int32_t asked = tn_model_should_retry(failure->headers), usual = known != NULL && known->retryable;
    int32_t retryable = failure->retryable >= 0 ? failure->retryable : asked >= 0 ? asked : usual;
    int64_t after = failure->retry_after_ms >= 0 ? failure->retry_after_ms : tn_model_retry_after_ms(failure->headers);
    tn_value body = tn_model_body_text(failure->body), key = tn_get(failure->key, "secret");
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "code", code);
    tn_put_take(builder, "message", tn_text_lossy(text, strlen(text)));
    tn_put_bool(builder, "retryable", retryable);
    if (after >= 0 && retryable) tn_put_int(builder, "retry_after_ms", after);
    tn_put_begin(builder, "detail", TN_OBJECT);
    if (failure->status > 0) tn_put_int(builder, "status", failure->status);
    tn_put_text(builder, "provider", failure->provider);
    tn_model_put_quote(builder, "type", failure->type, failure->key, TN_MODEL_BODY_NAME_MAX);
    if (tn_model_request_id(failure->headers) != NULL)
        tn_put(builder, "request_id", tn_model_request_id(failure->headers));
    tn_model_put_quote(builder, "field", failure->field, failure->key, TN_MODEL_BODY_NAME_MAX);
    /* The host adds where the key comes from (host/engine/model). */
    if (strcmp(code, "AUTH") == 0 && failure->credentials == NULL) {
        if (tn.value->kind(key) == TN_STRING)
            tn_put(builder, "secret", key);
        else if (failure->key == NULL && failure->secret != NULL)
            tn_put_text(builder, "secret", failure->secret);
    }
    tn_model_put_quote(builder, "body", body, failure->key, TN_MODEL_DETAIL_MAX);
    tn.value->end(builder);
    tn.value->end(builder);
    tn_release(body);
    return tn_finish(builder);
}

/*
 * True if the error does not say everything: the body is longer than the quote, or is not understood, or the request
 * was refused, which can only be understood with the request.
 */
static inline bool tn_model_needs_record(const char *code, const struct tn_text_buffer *quote, bool is_known) {
    static const char *const clear[] = {"AUTH", "QUOTA", "NOT_FOUND", "RATE_LIMITED", "CONTEXT_LENGTH"};
    if (!is_known || quote->length >= TN_MODEL_QUOTE_MAX) return quote->length > 0;
    for (size_t i = 0; i < sizeof(clear) / sizeof(clear[0]); i++)
        if (strcmp(code, clear[i]) == 0) return false;
    return true;
}

static inline void tn_model_append_advice(struct tn_text_buffer *text, const struct tn_model_failure *failure,
                                          const struct tn_model_error_class *known) {
    const char *secret = tn_get_text(failure->key, "secret", NULL);
    bool about_key = strcmp(failure->code, "AUTH") == 0;
    if (about_key && failure->credentials != NULL) {
        (void)tn_text_append_format(text, "; check %s", failure->credentials);
        return;
    }
    (void)tn_text_append_format(text, "; %s", known != NULL ? known->advice : "see the message");
    if (!about_key) return;
    if (secret != NULL)
        (void)tn_text_append_format(text, ", the secret %.100s", secret);
    else if (failure->key != NULL)
        (void)tn_text_append(text, ", which is written in the configuration");
    else if (failure->secret != NULL)
        (void)tn_text_append_format(text, ", by default the secret %s", failure->secret);
}

/* Where a redirect leads: it is not followed, because the request has a key and a body. */
static inline void tn_model_append_redirect(struct tn_text_buffer *text, const struct tn_model_failure *failure) {
    const char *place = tn_get_text(failure->headers, "location", "");
    if (*place == '\0') return;
    (void)tn_text_append(text, ", a redirect to ");
    tn_model_append_quote_n(text, place, strcspn(place, "?#"), failure->key, TN_MODEL_BODY_NAME_MAX);
}

/* The service's error: the class's text, a quote of the service's message, and what to do. A new reference. */
static inline tn_value tn_model_error(const struct tn_model_failure *failure) {
    struct tn_model_failure whole = *failure;
    struct tn_text_buffer text = TN_TEXT_BUFFER(0), quote = TN_TEXT_BUFFER(0);
    const struct tn_model_error_class *known;
    struct tn_model_body body;
    tn_value message, type, field, error;
    tn_model_read_body(failure, &body);
    message = tn_text_n(tn_text_chars(&body.message), body.message.length);
    type = tn_text_n(tn_text_chars(&body.type), body.type.length);
    field = tn_text_n(tn_text_chars(&body.field), body.field.length);
    if (!tn_model_is_text(whole.message)) whole.message = tn_model_is_text(message) ? message : NULL;
    if (!tn_model_is_text(whole.type)) whole.type = tn_model_is_text(type) ? type : NULL;
    if (!tn_model_is_text(whole.field)) whole.field = tn_model_is_text(field) ? field : NULL;
    whole.code = tn_model_classify(&whole);
    known = tn_model_error_class_of(whole.code);
    tn_model_append_quote(&quote, whole.message, whole.key);
    (void)tn_text_append_format(&text, "%s %s", whole.provider,
                                known == NULL ? "failed"
                                : strcmp(whole.code, "AUTH") == 0 && whole.credentials != NULL
                                    ? "does not accept the credentials, or they have no access"
                                    : known->found);
    if (whole.model != NULL && whole.model[0] != '\0' &&
        (strcmp(whole.code, "NOT_FOUND") == 0 || strcmp(whole.code, "AUTH") == 0))
        (void)tn_text_append_format(&text, ", for the model `%.100s`", whole.model);
    if (whole.status > 0) (void)tn_text_append_format(&text, " (status %lld", TN_UTIL_CAST(long long, whole.status));
    if (whole.status >= 300 && whole.status <= 399) {
        tn_model_append_redirect(&text, &whole);
        if (whole.retryable < 0) whole.retryable = 0; /* it would be the same again */
    }
    if (whole.status > 0) (void)tn_text_append(&text, ")");
    if (tn_model_is_text(whole.type)) {
        (void)tn_text_append(&text, ", ");
        tn_model_append_quote_n(&text, tn_chars(whole.type, NULL), strlen(tn_chars(whole.type, NULL)), whole.key, 80);
    }
    if (quote.length > 0) (void)tn_text_append_format(&text, ": \"%s\"", tn_text_chars(&quote));
    if (tn_model_is_text(whole.field)) {
        (void)tn_text_append(&text, ", about the field `");
        tn_model_append_quote_n(&text, tn_chars(whole.field, NULL), strlen(tn_chars(whole.field, NULL)), whole.key,
                                100);
        (void)tn_text_append(&text, "`");
    }
    tn_model_append_advice(&text, &whole, known);
    if (failure->body != NULL && tn_model_needs_record(whole.code, &quote, body.is_known))
        (void)tn_text_append(&text, "; `--record DIR` keeps the whole exchange");
    else
        whole.body = NULL; /* the message has all that it says */
    error = tn_model_error_text(&whole, tn_text_chars(&text));
    tn_release(message);
    tn_release(type);
    tn_release(field);
    tn_model_body_free(&body);
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
