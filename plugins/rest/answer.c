/*
 * answer.c - by an answer's content-type, and by its status.
 */
#include "answer.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>

#define EXCERPT_MAX   2000 /* bytes of the service's words in an error's message */
#define URL_SHOWN_MAX 500

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

tn_value answer_body(tn_value end) {
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

void answer_refuse(tn_task task, const char *method, const char *path, tn_value end) {
    int64_t status = tn_get_int(end, "status", 0);
    tn_value body = answer_body(end),
             json = tn.value->kind(body) == TN_STRING ? tn_retain(body) : tn.value->to_json(body);
    uint64_t length = 0;
    const char *words = tn_chars(json, &length);
    struct text message = {.limit = EXCERPT_MAX + 8192};
    char number[32];
    (void)snprintf(number, sizeof(number), " answered %lld", (long long)status);
    text_put(&message, method);
    text_put(&message, " ");
    text_put(&message, path);
    text_put(&message, number);
    const char *elsewhere = tn_get_text(tn.value->get(end, "headers"), "location", "");
    if (status >= 300 && status <= 399 && *elsewhere != 0) {
        text_put(&message, ", and leads to ");
        text_add(&message, elsewhere, strnlen(elsewhere, URL_SHOWN_MAX));
        text_put(&message, ", which is not followed");
    }
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
    (void)tn.task->fail(task, code_of(status), text_chars(&message), told);
    tn_release(told);
    text_free(&message);
    tn_release(json);
    tn_release(body);
}
