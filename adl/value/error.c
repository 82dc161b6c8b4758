/* error.c - errors as a struct, and as the object {code, message, retryable, retry_after_ms?, detail?}. */
#include "adl/value/error.h"

#include <stdio.h>
#include <string.h>

#include "adl/value/codes.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"

#define CODE_UNKNOWN "ERROR"

/* Formats at most ERROR_MESSAGE_MAX bytes and cuts between characters. */
__attribute__((format(printf, 1, 0))) static char *format_message(const char *format, va_list args) {
    char text[ERROR_MESSAGE_MAX + 1];
    int wanted = vsnprintf(text, sizeof text, format, args);
    if (wanted < 0) return mem_text("");
    size_t length = (size_t)wanted;
    if (length > ERROR_MESSAGE_MAX) {
        length = ERROR_MESSAGE_MAX;
        size_t cut = length; /* go back to the start of an incomplete character */
        while (cut > 0 && length - cut < 4 && ((unsigned char)text[cut - 1] & 0xC0) == 0x80) cut--;
        uint32_t code_point;
        if (cut > 0 && utf8_decode(text + cut - 1, length - cut + 1, &code_point) == 0) length = cut - 1;
    }
    return mem_text_n(text, length);
}

int32_t error_set(struct error *error, int32_t status, const char *code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_vset(error, status, code, format, args);
    va_end(args);
    return status;
}

int32_t error_vset(struct error *error, int32_t status, const char *code, const char *format, va_list args) {
    if (error == NULL) return status;
    /* Create both before freeing the old ones: the arguments may point into this error. */
    struct error fresh = {.code = mem_text(code), .message = format_message(format, args)};
    error_finish(error);
    *error = fresh;
    return status;
}

void error_set_detail_take(struct error *error, tn_value detail) {
    if (error == NULL) {
        value_unref(detail);
        return;
    }
    value_unref(error->more);
    error->more = value_set_take(value_object_reserve(1), "detail", detail);
}

void error_move(struct error *error, struct error *from) {
    if (error == from || from == NULL || from->code == NULL) return;
    if (error == NULL) {
        error_finish(from);
        return;
    }
    error_finish(error);
    *error = *from;
    *from = (struct error)ERROR_INIT;
}

void error_copy(struct error *error, const struct error *from) {
    if (error == NULL || error == from) return;
    struct error fresh = ERROR_INIT;
    if (from != NULL && from->code != NULL) {
        fresh.code = mem_text(from->code);
        fresh.message = mem_text(from->message != NULL ? from->message : "");
        fresh.more = value_ref(from->more);
        fresh.span = from->span;
    }
    error_finish(error);
    *error = fresh;
}

void error_finish(struct error *error) {
    if (error == NULL || (error->code == NULL && error->message == NULL && error->more == NULL)) return;
    mem_free(error->code);
    mem_free(error->message);
    value_unref(error->more);
    *error = (struct error)ERROR_INIT;
}

bool error_retryable(const struct error *error) {
    if (error == NULL) return false;
    tn_value said = value_get(error->more, "retryable");
    if (value_is(said, TN_BOOL)) return value_to_bool(said);
    const struct error_code *row = error->code != NULL ? error_code_find(error->code) : NULL;
    return row != NULL && row->retryable;
}

static tn_value lossy(const char *text) { return value_string_lossy(text, strlen(text)); }

tn_value error_to_value(const struct error *error) {
    const char *code = error != NULL && error->code != NULL ? error->code : CODE_UNKNOWN;
    const char *message = error != NULL && error->message != NULL ? error->message : "";
    tn_value object = value_object_reserve(5);
    object = value_set_take(object, "code", lossy(code));
    object = value_set_take(object, "message", lossy(message));
    object = value_set_take(object, "retryable", value_bool(error_retryable(error)));
    static const char *const optional[] = {"retry_after_ms", "detail"};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        tn_value member = error != NULL ? value_get(error->more, optional[i]) : NULL;
        if (member != NULL) object = value_set_take(object, optional[i], value_ref(member));
    }
    return object;
}

/* A member as text: a string unchanged, another kind as JSON. A NUL inside ends the text. */
static char *member_text(tn_value member, const char *otherwise) {
    if (member == NULL || value_is(member, TN_NULL)) return mem_text(otherwise);
    return value_is(member, TN_STRING) ? mem_text(value_chars(member, NULL)) : json_text(member, JSON_COMPACT);
}

/* Collects the unknown members together with `detail`: {detail: …, others…}, or only the value of detail. */
static tn_value gather_detail(tn_value value) {
    static const char *const known[] = {"code", "message", "retryable", "retry_after_ms", "detail"};
    tn_value detail = value_get(value, "detail"), others = value_object();
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value key = value_key_at(value, i);
        bool ours = false;
        for (size_t j = 0; j < sizeof known / sizeof *known; j++) ours = ours || value_text_is(key, known[j]);
        if (!ours) others = value_set_key_take(others, value_ref(key), value_ref(value_value_at(value, i)));
    }
    if (value_count(others) == 0) return value_ref(detail);
    if (value_is(detail, TN_OBJECT)) {
        for (size_t i = 0; i < value_count(detail); i++) {
            tn_value key = value_ref(value_key_at(detail, i));
            others = value_set_key_take(others, key, value_ref(value_value_at(detail, i)));
        }
    } else if (detail != NULL) {
        others = value_set_take(others, "detail", value_ref(detail));
    }
    return others;
}

void error_from_value(struct error *error, tn_value value) {
    if (error == NULL) return;
    struct error fresh = ERROR_INIT;
    fresh.code = member_text(value_get(value, "code"), CODE_UNKNOWN);
    if (!value_is(value, TN_OBJECT)) {
        fresh.message = member_text(value, "");
    } else {
        fresh.message = member_text(value_get(value, "message"), "");
        tn_value more = value_object();
        tn_value retryable = value_get(value, "retryable"), after = value_get(value, "retry_after_ms");
        if (value_is(retryable, TN_BOOL)) more = value_set_take(more, "retryable", retryable);
        if (value_is(after, TN_INT)) more = value_set_take(more, "retry_after_ms", value_ref(after));
        tn_value detail = gather_detail(value);
        if (detail != NULL) more = value_set_take(more, "detail", detail);
        if (value_count(more) > 0) fresh.more = more;
    }
    error_finish(error);
    *error = fresh;
}
