/*
 * kernel_request.c - checks arguments, and reads and writes records for operations.
 *
 * Messages name the operation and the argument, what was found and what was expected. kernel_filter.c reads filters.
 */
#include "host/data/kernel/kernel_request.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include <stdio.h>
#include <string.h>

/* ---- Arguments ---- */

int32_t request_invalid(const struct request *request, struct error *error, const char *name, const char *format, ...) {
    struct buffer message;
    va_list args;
    buffer_init(&message, ERROR_MESSAGE_MAX);
    va_start(args, format);
    buffer_vformat(&message, format, args);
    va_end(args);
    error_set(error, TN_INVALID, "INVALID_INPUT", "%s: %s%s%s%s", request->operation, *name ? "`" : "", name,
              *name ? "`: " : "", buffer_cstr(&message));
    buffer_finish(&message);
    return TN_INVALID;
}

/* "a string or bytes": for messages; valid until the next call on this thread. */
static const char *request_kinds(int kinds) {
    static const struct {
        int kinds;
        const char *text;
    } names[] = {{FIELD_TEXT, "a string"},   {FIELD_BYTES, "bytes"},     {FIELD_BOOL, "true or false"},
                 {FIELD_INT, "an integer"},  {FIELD_NUMBER, "a number"}, {FIELD_ARRAY, "an array"},
                 {FIELD_OBJECT, "an object"}};
    static _Thread_local char text[96];
    text[0] = 0;
    bool number = (kinds & FIELD_NUMBER) == FIELD_NUMBER;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if ((kinds & names[i].kinds) != names[i].kinds || (number && names[i].kinds == FIELD_INT)) continue;
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", used ? " or " : "", names[i].text);
    }
    return text;
}

bool request_is_bad_bytes(tn_value value) {
    return value_is(value, TN_OBJECT) && value_count(value) == 1 && value_get(value, "$bytes");
}

/* An integer may be written as a double without a fraction: 2.0. */
static bool field_accepts(const struct field *field, tn_value value) {
    int64_t number;
    if (field->kinds & 1 << value_kind(value)) return true;
    return field->kinds & FIELD_INT && value_as_int(value, &number);
}

static int32_t refuse_kind(const struct request *request, const struct field *field, tn_value value,
                           struct error *error) {
    if (field->kinds & FIELD_BYTES && request_is_bad_bytes(value))
        return request_invalid(
            request, error, field->name,
            "found an object whose `$bytes` is not base64, expected %s; write base64 as in RFC 4648, "
            "with padding",
            request_kinds(field->kinds));
    return request_invalid(request, error, field->name, "found %s, expected %s", value_kind_name(value_kind(value)),
                           request_kinds(field->kinds));
}

static int32_t unknown_argument(const struct request *request, const struct field *fields, const char *name,
                                struct error *error) {
    struct nearest nearest;
    struct buffer all;
    nearest_init(&nearest, name, strlen(name));
    buffer_init(&all, 1024);
    for (const struct field *field = fields; field->name; field++) {
        nearest_add_candidate(&nearest, field->name, strlen(field->name));
        buffer_format(&all, "%s`%s`", all.length ? ", " : "", field->name);
    }
    if (nearest_result(&nearest))
        request_invalid(request, error, "", "unknown argument `%.80s`%s", name, nearest_hint(&nearest).text);
    else
        request_invalid(request, error, "", "unknown argument `%.80s`; expected %s", name,
                        all.length ? buffer_cstr(&all) : "no arguments");
    buffer_finish(&all);
    return TN_INVALID;
}

int32_t request_check(struct request *request, const struct field *fields, struct error *error) {
    tn_value arguments = request->arguments;
    for (size_t i = 0; i < value_count(arguments); i++) {
        const char *name = value_chars(value_key_at(arguments, i), NULL);
        const struct field *field = fields;
        while (field->name && strcmp(field->name, name) != 0) field++;
        if (!field->name) return unknown_argument(request, fields, name, error);
        tn_value value = value_value_at(arguments, i);
        if (!value_is(value, TN_NULL) && !field_accepts(field, value)) return refuse_kind(request, field, value, error);
    }
    for (const struct field *field = fields; field->name; field++) {
        tn_value value = value_get(arguments, field->name);
        if (field->required && (!value || (value_is(value, TN_NULL) && field->kinds != FIELD_ANY)))
            return request_invalid(request, error, field->name, "it is missing; expected %s",
                                   field->kinds == FIELD_ANY ? "any value" : request_kinds(field->kinds));
    }
    return TN_OK;
}

tn_value request_get(const struct request *request, const char *name) {
    tn_value value = value_get(request->arguments, name);
    return value_is(value, TN_NULL) ? NULL : value;
}

static const char *describe_text_fault(const char *text, size_t length, size_t max) {
    if (length == 0) return "it is empty";
    if (length > max) return "it is too long";
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) return "it contains a control character";
    return NULL;
}

int32_t request_text(const struct request *request, const char *name, size_t max, const char **out,
                     struct error *error) {
    size_t length;
    const char *text = value_chars(value_get(request->arguments, name), &length), *fault;
    if ((fault = describe_text_fault(text, length, max)))
        return request_invalid(request, error, name, "%s; expected 1 to %zu bytes of text", fault, max);
    *out = text;
    return TN_OK;
}

int32_t request_int(const struct request *request, const char *name, int64_t min, int64_t max, int64_t otherwise,
                    int64_t *out, struct error *error) {
    tn_value value = request_get(request, name);
    int64_t number = otherwise;
    if (value && (!value_as_int(value, &number) || number < min || number > max)) {
        char *found = json_text(value, JSON_COMPACT);
        request_invalid(request, error, name, "found %.40s, expected an integer from %lld to %lld", found,
                        (long long)min, (long long)max);
        mem_free(found);
        return TN_INVALID;
    }
    *out = number;
    return TN_OK;
}

int32_t request_ttl(const struct request *request, double max_seconds, int64_t *out, struct error *error) {
    tn_value value = request_get(request, "ttl_seconds");
    if (!value) return TN_OK;
    double seconds = value_to_double(value);
    if (!(seconds >= KERNEL_TTL_MIN_SECONDS && seconds <= max_seconds))
        return request_invalid(request, error, "ttl_seconds", "found %g, expected %g to %.0f seconds", seconds,
                               KERNEL_TTL_MIN_SECONDS, max_seconds);
    *out = (int64_t)(seconds * 1000 + 0.5);
    return TN_OK;
}

int32_t request_time(const struct request *request, const char *name, int64_t *out, struct error *error) {
    tn_value value = request_get(request, name);
    if (!value) return TN_OK;
    size_t length;
    const char *text = value_chars(value, &length);
    if (strlen(text) == length && time_text_read_ms(text, out)) return TN_OK;
    return request_invalid(request, error, name, "found `%.40s`, expected a time such as 2026-01-31T12:00:00Z", text);
}

int32_t request_ids(const struct request *request, const char *name, tn_value list, size_t max, struct error *error) {
    if (!value_is(list, TN_ARRAY))
        return request_invalid(request, error, name, "found %s, expected an array of ids",
                               value_kind_name(value_kind(list)));
    if (value_count(list) > max) {
        error_set(error, TN_LIMIT, "LIMIT", "%s: `%s`: found %zu ids, expected at most %zu", request->operation, name,
                  value_count(list), max);
        return TN_LIMIT;
    }
    for (size_t i = 0; i < value_count(list); i++) {
        tn_value item = value_at(list, i);
        size_t length = 0;
        const char *text = value_is(item, TN_STRING) ? value_chars(item, &length) : NULL;
        const char *fault = text ? describe_text_fault(text, length, KERNEL_ID_MAX) : NULL;
        if (!text || fault)
            return request_invalid(request, error, name, "item %zu: %s%s; expected an id, a string of 1 to %d bytes", i,
                                   text ? "" : "found ", text ? fault : value_kind_name(value_kind(item)),
                                   KERNEL_ID_MAX);
    }
    return TN_OK;
}

int32_t request_size(const struct request *request, const char *name, tn_value value, size_t max, const char *advice,
                     struct error *error) {
    struct buffer text;
    buffer_init(&text, max);
    json_write(&text, value, JSON_COMPACT);
    bool fits = !text.overflow;
    buffer_finish(&text);
    if (fits) return TN_OK;
    return error_set(error, TN_LIMIT, "LIMIT", "%s: `%s`: it has more than %zu KiB as JSON; %s", request->operation,
                     name, max >> 10, advice);
}

/* ---- The store ---- */

tn_value request_found_take(tn_value found, const char *name, tn_value (*shown)(tn_value value)) {
    tn_value records = value_get(found, "records"), more = value_get(found, "more");
    tn_value list = value_array_reserve(value_count(records));
    for (size_t i = 0; i < value_count(records); i++) {
        tn_value record = value_at(records, i), score = value_get(record, "score");
        tn_value item = shown(value_get(record, "value"));
        list = value_push_take(list, score ? value_set_take(item, "score", value_ref(score)) : item);
    }
    tn_value result = value_set_take(value_object_reserve(2), name, list);
    result = value_set_take(result, "more", more ? value_ref(more) : value_bool(false));
    value_unref(found);
    return result;
}

int32_t request_find(struct request *request, const char *collection, const char *key, tn_value *out,
                     struct error *error) {
    tn_value found = NULL;
    int32_t status = session_query_take(request->session, store_get(collection, key), &found, error);
    if (status != TN_OK) return status;
    *out = value_is(found, TN_OBJECT) ? value_ref(found) : NULL;
    value_unref(found);
    return TN_OK;
}

int32_t request_after(struct request *request, const char *collection, const char *noun, const char **out,
                      struct error *error) {
    const char *id = NULL;
    tn_value found = NULL;
    int32_t status = TN_OK;
    if (request_get(request, "after")) status = request_text(request, "after", KERNEL_ID_MAX, &id, error);
    if (id && status == TN_OK) status = request_find(request, collection, id, &found, error);
    bool missing = id && !found;
    value_unref(found);
    if (status != TN_OK) return status;
    if (missing)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "%s: `after`: found no %s `%s` in this store, expected the id of the last %s of a page",
                         request->operation, noun, id, noun);
    *out = id;
    return TN_OK;
}

tn_value request_owned_range_take(const struct request *request, tn_value query) {
    char from[OWNER_PREFIX_TEXT], to[OWNER_PREFIX_TEXT];
    if (!request->owner) return query;
    owner_range(request->owner, from, to);
    query = value_set_take(query, "from", value_text(from));
    return value_set_take(query, "to", value_text(to));
}

int32_t request_commit_take(struct request *request, tn_value operation, tn_value *result, struct error *error) {
    tn_value all = NULL;
    tn_value batch = value_push_take(value_array_reserve(1), operation);
    int32_t status = session_commit_take(request->session, batch, &all, error);
    if (status == TN_OK && result) *result = value_ref(value_at(all, 0));
    value_unref(all);
    return status;
}

bool request_conflict(int32_t status, const struct error *error) {
    return status != TN_OK && error->code && strcmp(error->code, "CONFLICT") == 0;
}

/* The key in the store: keys of owners are separate. */
static tn_value idempotency_record_key(const struct request *request, const char *idempotency) {
    char prefix[OWNER_PREFIX_TEXT];
    owner_prefix(request->owner, prefix);
    return value_format("%s%s/%s", prefix, request->operation, idempotency);
}

/* The operation that records the first use of an idempotency key. */
static tn_value put_idempotency_key(struct request *request, const char *idempotency, const char *key) {
    tn_value value = value_set_take(value_object_reserve(1), "key", value_text(key));
    tn_value operation = value_set_take(value_object_reserve(6), "op", value_text("put"));
    operation = value_set_take(operation, "collection", value_text(STORE_REQUESTS));
    operation = value_set_take(operation, "key", idempotency_record_key(request, idempotency));
    operation = value_set_take(operation, "value", value);
    operation = value_set_take(operation, "expires_at",
                               value_int(request->now_ms + (int64_t)KERNEL_KEY_DAYS * 24 * 60 * 60 * 1000));
    return store_if_version(operation, 0);
}

static int32_t find_idempotency_key(struct request *request, const char *idempotency, char before[REQUEST_ID_TEXT],
                                    struct error *error) {
    tn_value found = NULL, name = idempotency_record_key(request, idempotency);
    int32_t status = request_find(request, STORE_REQUESTS, value_chars(name, NULL), &found, error);
    tn_value key = value_get(value_get(found, "value"), "key");
    if (value_is(key, TN_STRING)) snprintf(before, REQUEST_ID_TEXT, "%s", value_chars(key, NULL));
    value_unref(found);
    value_unref(name);
    return status;
}

int32_t request_make_take(struct request *request, const char *key, tn_value more, tn_value made,
                          char before[REQUEST_ID_TEXT], struct error *error) {
    const char *idempotency = NULL;
    int32_t status = TN_OK;
    before[0] = 0;
    if (request_get(request, "idempotency_key"))
        status = request_text(request, "idempotency_key", KERNEL_KEY_MAX, &idempotency, error);
    if (idempotency && status == TN_OK) status = find_idempotency_key(request, idempotency, before, error);
    if (status != TN_OK || before[0]) {
        value_unref(more);
        value_unref(made);
        return status;
    }
    tn_value batch = value_array_reserve(2);
    if (idempotency) batch = value_push_take(batch, put_idempotency_key(request, idempotency, key));
    if (more) batch = value_concat_take(batch, more);
    if (request->with) batch = value_concat_take(batch, value_ref(request->with));
    batch = value_push_take(batch, made);
    struct error why = ERROR_INIT;
    status = session_commit_take(request->session, batch, NULL, &why);
    if (status == TN_OK) {
        value_unref(request->with);
        request->with = NULL;
    }
    if (idempotency && request_conflict(status, &why)) {
        /* Another writer has used the idempotency key since it was looked up. */
        int32_t found = find_idempotency_key(request, idempotency, before, error);
        if (found != TN_OK || before[0]) {
            error_finish(&why);
            return found;
        }
    }
    error_move(error, &why);
    error_finish(&why);
    return status;
}
