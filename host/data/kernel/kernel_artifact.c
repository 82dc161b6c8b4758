/*
 * kernel_artifact.c - writes Artifacts in one operation, reads and searches them. kernel_body.c does uploads.
 */
#include "host/data/kernel/kernel_artifact.h"
#include "adl/value/base64.h"
#include "host/data/kernel/kernel_filter.h"
#include "host/data/kernel/kernel_words.h"
#include <string.h>

static const char *const artifact_members[] = {"artifact_id", "media_type", "metadata", "created_at", "size", NULL};

static tn_value artifact_public(tn_value record) {
    tn_value shown = value_object_reserve(6);
    for (size_t i = 0; artifact_members[i]; i++) {
        tn_value value = value_get(record, artifact_members[i]);
        shown = value_set_take(shown, artifact_members[i], value ? value_ref(value) : value_null());
    }
    return shown;
}

bool artifact_is_text(const char *media_type) {
    static const char *const types[] = {"application/json", "application/xml", "application/yaml",
                                        "application/javascript", "application/x-ndjson"};
    size_t length = strcspn(media_type, "; ");
    if (strncasecmp(media_type, "text/", 5) == 0) return true;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (length == strlen(types[i]) && strncasecmp(media_type, types[i], length) == 0) return true;
    return length > 5 && (strncasecmp(media_type + length - 5, "+json", 5) == 0 ||
                          strncasecmp(media_type + length - 4, "+xml", 4) == 0);
}

/* ---- Write ---- */

tn_value artifact_record(const struct request *request, const char *id, tn_value media_type, tn_value metadata,
                         tn_value body, int64_t size, const char *encoding, tn_value words_of, tn_value *shown) {
    tn_value record = value_set_take(value_object_reserve(7), "artifact_id", value_text(id));
    record = value_set_take(record, "media_type", value_ref(media_type));
    record = value_set_take(record, "metadata", metadata ? value_ref(metadata) : value_object());
    record = value_set_take(record, "created_at", time_value(request->now_ms));
    record = value_set_take(record, "size", value_int(size));
    record = value_set_take(record, "encoding", value_text(encoding));
    if (body) record = value_set_take(record, "body", value_ref(body));
    if (shown) *shown = artifact_public(record);
    tn_value put = store_if_version(store_put(STORE_ARTIFACTS, id, record), 0), text;
    text = kernel_words_of_both(metadata, value_is(words_of, TN_STRING) ? words_of : NULL, ARTIFACT_TEXT_MAX);
    return text ? value_set_take(put, "text", text) : put;
}

static int32_t artifact_find(struct request *request, const char *id, tn_value *record, struct error *error) {
    tn_value found = NULL;
    int32_t status = request_find(request, STORE_ARTIFACTS, id, &found, error);
    if (status != TN_OK) return status;
    if (!found)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "%s: found no Artifact `%s` in this store",
                         request->operation, id);
    *record = value_ref(value_get(found, "value"));
    value_unref(found);
    return TN_OK;
}

static const char *body_data(tn_value body, size_t *length) {
    return value_is(body, TN_STRING) ? value_chars(body, length) : value_data(body, length);
}

/*
 * Replaces a part of a message in `body`, such as {type: "image", media_type, data}, by its bytes, and sets media_type
 * unless it is given. *out is a new reference to the arguments.
 */
static int32_t artifact_unpack_part(struct request *request, tn_value *out, struct error *error) {
    tn_value part = request_get(request, "body"), data = value_get(part, "data"), bytes = NULL;
    size_t length;
    if (!value_is(value_get(part, "type"), TN_STRING))
        return request_invalid(
            request, error, "body",
            "found object, expected a string, bytes, or a part of a message: {type, media_type, data}");
    if (!data || value_is(data, TN_NULL))
        return request_invalid(request, error, "body",
                               "the part has no `data`; what it refers to by `url` or `file_id` must be fetched first");
    if (value_is(data, TN_BYTES)) bytes = value_ref(data);
    if (value_is(data, TN_STRING)) {
        const char *chars = value_chars(data, &length);
        bytes = base64_read_lines(chars, length);
    }
    if (!bytes) return request_invalid(request, error, "body", "the `data` of the part is not bytes or base64");
    *out = value_set_take(value_ref(request->arguments), "body", bytes);
    tn_value media_type = value_get(part, "media_type");
    if (!request_get(request, "media_type") && media_type)
        *out = value_set_take(*out, "media_type", value_ref(media_type));
    return TN_OK;
}

static int32_t artifact_write_body(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"media_type", FIELD_TEXT, true},
                                          {"body", FIELD_TEXT | FIELD_BYTES, true},
                                          {"metadata", FIELD_OBJECT, false},
                                          {"idempotency_key", FIELD_TEXT, false},
                                          {NULL, 0, false}};
    const char *media_type;
    size_t length = 0;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_text(request, "media_type", ARTIFACT_MEDIA_TYPE_MAX, &media_type, error);
    if (status != TN_OK) return status;
    tn_value body = request_get(request, "body"), metadata = request_get(request, "metadata");
    const char *data = body_data(body, &length);
    if (length > ARTIFACT_WRITE_MAX)
        return error_set(error, TN_LIMIT, "LIMIT",
                         "%s: `body`: found %zu bytes, expected at most %d MiB; write larger bodies in parts with "
                         "artifact.open, append and finish",
                         request->operation, length, ARTIFACT_WRITE_MAX >> 20);
    if (metadata)
        status = request_size(request, "metadata", metadata, ARTIFACT_METADATA_MAX, "put it into the body", error);
    if (status != TN_OK) return status;
    char id[REQUEST_ID_TEXT], before[REQUEST_ID_TEXT];
    request_id_make(request, id);
    bool small = length <= ARTIFACT_INLINE_MAX;
    tn_value put =
        artifact_record(request, id, value_get(request->arguments, "media_type"), metadata, small ? body : NULL,
                        (int64_t)length, value_is(body, TN_STRING) ? "text" : "bytes", body, result);
    tn_value more = small ? value_array() : artifact_parts(id, data, length), link = artifact_link(request, id);
    if (link) more = value_push_take(more, link);
    status = request_make_take(request, id, more, put, before, error);
    if (status == TN_OK && !before[0]) return TN_OK;
    value_unref(*result);
    *result = NULL;
    tn_value record = NULL;
    if (status == TN_OK) status = artifact_find(request, before, &record, error);
    if (record) {
        artifact_link_once(request, before);
        *result = artifact_public(record);
    }
    value_unref(record);
    return status;
}

int32_t artifact_write(struct request *request, tn_value *result, struct error *error) {
    tn_value given = request->arguments, body = value_get(given, "body"), unpacked = NULL;
    if (!value_is(body, TN_OBJECT) || request_is_bad_bytes(body)) return artifact_write_body(request, result, error);
    int32_t status = artifact_unpack_part(request, &unpacked, error);
    if (status != TN_OK) return status;
    request->arguments = unpacked;
    status = artifact_write_body(request, result, error);
    request->arguments = given;
    value_unref(unpacked);
    return status;
}

/* ---- Read ---- */

/* Returns the body as a string if it was written as one and is valid UTF-8. */
static tn_value decode_body_take(tn_value record, tn_value bytes_take) {
    size_t length;
    const char *data = body_data(bytes_take, &length);
    if (!value_text_is(value_get(record, "encoding"), "text") || value_is(bytes_take, TN_STRING)) return bytes_take;
    tn_value text = value_string(data, length);
    if (!text) return bytes_take;
    value_unref(bytes_take);
    return text;
}

static int32_t artifact_read_range(struct request *request, tn_value record, int64_t from, int64_t to, tn_value *out,
                                   struct error *error) {
    tn_value inside = value_get(record, "body");
    if (!inside)
        return artifact_load(request, value_chars(value_get(record, "artifact_id"), NULL), from, to, out, error);
    size_t length;
    const char *data = body_data(inside, &length);
    *out = value_bytes(data + from, (size_t)(to - from));
    return TN_OK;
}

static int32_t artifact_read_body(struct request *request, tn_value record, tn_value *out, struct error *error) {
    int64_t size = value_to_int(value_get(record, "size")), offset, length;
    bool range = request_get(request, "offset") || request_get(request, "length");
    int32_t status = request_int(request, "offset", 0, ARTIFACT_SIZE_MAX, 0, &offset, error);
    if (status == TN_OK) status = request_int(request, "length", 0, ARTIFACT_WRITE_MAX, INT64_MAX, &length, error);
    if (status != TN_OK) return status;
    if (!range && value_get(record, "body")) {
        *out = value_ref(value_get(record, "body"));
        return TN_OK;
    }
    if (offset > size) offset = size;
    bool open = length == INT64_MAX;
    if (open || length > size - offset) length = size - offset;
    if (open && length > ARTIFACT_WRITE_MAX)
        return error_set(error, TN_LIMIT, "LIMIT",
                         "%s: the body has %lld bytes, and one read returns at most %d MiB; read ranges of it with "
                         "`offset` and `length`",
                         request->operation, (long long)size, ARTIFACT_WRITE_MAX >> 20);
    status = artifact_read_range(request, record, offset, offset + length, out, error);
    if (status == TN_OK && !range) *out = decode_body_take(record, *out);
    return status;
}

int32_t artifact_read(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"artifact_id", FIELD_TEXT, true},
                                          {"offset", FIELD_INT, false},
                                          {"length", FIELD_INT, false},
                                          {NULL, 0, false}};
    const char *id;
    tn_value record = NULL, body = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_text(request, "artifact_id", KERNEL_ID_MAX, &id, error);
    if (status == TN_OK) status = artifact_find(request, id, &record, error);
    if (status == TN_OK) status = artifact_read_body(request, record, &body, error);
    if (status == TN_OK) {
        artifact_link_once(request, id);
        *result = value_set_take(artifact_public(record), "body", body);
    }
    value_unref(record);
    return status;
}

/* ---- Search ---- */

/* Lists the newest first. A search by words returns the best first. */
static tn_value artifact_query(const struct request *request, int64_t limit, tn_value where_take, const char *after) {
    tn_value words = request_get(request, "query");
    tn_value query = value_set_take(value_object_reserve(6), "collection", value_text(STORE_ARTIFACTS));
    query = request_owned_range_take(request, value_set_take(query, "limit", value_int(limit)));
    if (where_take) query = value_set_take(query, "where", where_take);
    if (words) {
        query = value_set_take(query, "text", value_ref(words));
    } else {
        query = value_set_take(query, "reverse", value_bool(true));
        if (after) query = value_set_take(query, "after", value_text(after));
    }
    return value_set_take(value_object_reserve(1), words ? "search" : "list", query);
}

int32_t artifact_search(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"query", FIELD_TEXT, false},
                                          {"filter", FIELD_OBJECT, false},
                                          {"limit", FIELD_INT, false},
                                          {"after", FIELD_TEXT, false},
                                          {NULL, 0, false}};
    tn_value where = NULL, found = NULL;
    int64_t limit = 0;
    const char *after = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_int(request, "limit", 1, ARTIFACT_LIST_MAX, ARTIFACT_LIST, &limit, error);
    if (status == TN_OK && request_get(request, "after") && request_get(request, "query"))
        return request_invalid(request, error, "after",
                               "it continues a list; a search with `query` has no further pages");
    if (status == TN_OK) status = kernel_filter_read(request, artifact_members, "", &where, error);
    if (status == TN_OK) status = request_after(request, STORE_ARTIFACTS, "Artifact", &after, error);
    if (status != TN_OK) {
        value_unref(where);
        return status;
    }
    status = session_query_take(request->session, artifact_query(request, limit, where, after), &found, error);
    if (status != TN_OK) return status;
    *result = request_found_take(found, "artifacts", artifact_public);
    return TN_OK;
}
