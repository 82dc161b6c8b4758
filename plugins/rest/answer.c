/*
 * answer.c - converts an answer by its content type and status.
 */
#include "answer.h"
#include "encode.h"
#include <stdio.h>
#include <stdlib.h>
#include <tenon/util/build.h>

#define EXCERPT_MAX   2000 /* bytes of the answer's body in an error message */
#define URL_SHOWN_MAX 500

static bool media_type_starts_with(const char *type, const char *prefix) {
    return strncmp(type, prefix, strlen(prefix)) == 0;
}

static bool is_json_media_type(const char *type) {
    size_t length = strcspn(type, "; ");
    return media_type_starts_with(type, "application/json") ||
           (length > 5 && strncmp(type + length - 5, "+json", 5) == 0);
}

static tn_value make_file_part(const char *type, tn_value body) {
    return tn_build("{s:s,s:s,s:v}", "type", "file", "media_type", *type != 0 ? type : "application/octet-stream",
                    "data", body);
}

tn_value answer_read_body(tn_value end) {
    tn_value body = tn_get(end, "body"), result = NULL;
    uint64_t length = 0;
    const char *bytes = tn.value->as_bytes(body, &length);
    const char *type = tn_get_text(tn_get(end, "headers"), "content-type", "");
    if (bytes == NULL || length == 0) return tn_null();
    if (is_json_media_type(type) || *type == 0) result = tn_from_json(bytes, length);
    if (result != NULL) return result;
    bool text = is_json_media_type(type) || *type == 0 || media_type_starts_with(type, "text/") ||
                media_type_starts_with(type, "application/xml") || media_type_starts_with(type, "application/yaml");
    result = text ? tn_text_n(bytes, length) : NULL;
    return result != NULL ? result : make_file_part(type, body);
}

static bool is_retryable_status(int64_t status) {
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

static const char *error_code_for_status(int64_t status) {
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

void answer_fail_task(tn_task task, const char *method, const char *path, tn_value end) {
    answer_fail_redirect(task, method, path, end, NULL);
}

void answer_fail_redirect(tn_task task, const char *method, const char *path, tn_value end, const char *why) {
    int64_t status = tn_get_int(end, "status", 0);
    tn_value body = answer_read_body(end),
             json = tn.value->kind(body) == TN_STRING ? tn_retain(body) : tn_to_json(body);
    uint64_t length = 0;
    const char *words = tn_chars(json, &length);
    struct tn_text_buffer message = {.limit = EXCERPT_MAX + 8192};
    char number[32];
    (void)snprintf(number, sizeof(number), " answered %lld", (long long)status);
    tn_text_append(&message, method);
    tn_text_append(&message, " ");
    tn_text_append(&message, path);
    tn_text_append(&message, number);
    const char *location = tn_get_text(tn_get(end, "headers"), "location", "");
    if (status >= 300 && status <= 399 && *location != 0) {
        tn_text_append(&message, " with a redirect to ");
        tn_text_append_n(&message, location, strnlen(location, URL_SHOWN_MAX));
        tn_text_append(&message, ", which is not followed");
        if (why != NULL) tn_text_append(&message, ", because ");
        if (why != NULL) tn_text_append(&message, why);
    }
    if (words != NULL && length > 0 && tn.value->kind(body) != TN_NULL) {
        uint64_t cut = tn_utf8_cut(words, length, EXCERPT_MAX);
        tn_text_append(&message, ": ");
        tn_text_append_n(&message, words, cut);
        if (cut < length) tn_text_append(&message, "…");
    }
    tn_builder *out = tn_builder_new();
    const char *after = tn_get_text(tn_get(end, "headers"), "retry-after", "");
    char *rest;
    long long seconds = strtoll(after, &rest, 10);
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "code", error_code_for_status(status));
    tn_put_take(out, "message", tn_text_lossy(tn_text_chars(&message), message.length));
    tn_put_bool(out, "retryable", is_retryable_status(status));
    if (*after != 0 && *rest == 0 && seconds >= 0 && seconds <= 86400)
        tn_put_int(out, "retry_after_ms", seconds * 1000);
    tn_put_begin(out, "detail", TN_OBJECT);
    tn_put_int(out, "status", status);
    if (body != NULL) tn_put(out, "body", body);
    tn.value->end(out);
    tn.value->end(out);
    (void)tn_fail_take(task, tn_finish(out));
    tn_text_free(&message);
    tn_release(json);
    tn_release(body);
}
