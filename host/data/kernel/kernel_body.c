/*
 * kernel_body.c - bodies in parts: uploads and reading.
 *
 * The key of a part is the id of its Artifact and its offset in 16 hexadecimal digits. The parts are therefore in
 * order, independent of their sizes, and a byte is in the last part that begins at or before it.
 */
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/data/kernel/kernel_artifact.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SWEEP_BATCH 100

/* The key of the part at an offset. */
static tn_value artifact_part_key(const char *id, int64_t offset) {
    return value_format("%s/%016" PRIx64, id, (uint64_t)offset);
}

static tn_value part_put(const char *id, int64_t offset, const void *data, size_t length) {
    tn_value key = artifact_part_key(id, offset);
    tn_value put = store_put(STORE_BODIES, value_chars(key, NULL), value_bytes(data, length));
    value_unref(key);
    return put;
}

tn_value artifact_parts(const char *id, const char *data, size_t length) {
    tn_value parts = value_array();
    for (size_t at = 0; at < length; at += ARTIFACT_PART_MAX) {
        size_t size = length - at < ARTIFACT_PART_MAX ? length - at : ARTIFACT_PART_MAX;
        parts = value_push_take(parts, part_put(id, (int64_t)at, data + at, size));
    }
    return parts;
}

/* ---- Reading ---- */

static tn_value range_query(tn_value from_take, tn_value to_take, bool last) {
    tn_value query = store_list(STORE_BODIES, value_chars(from_take, NULL), value_chars(to_take, NULL),
                                last ? 1 : ARTIFACT_WRITE_MAX / ARTIFACT_PART_MAX + 2);
    tn_value list = value_ref(value_get(query, "list"));
    value_unref(query);
    if (last) {
        list = value_set_take(list, "reverse", value_bool(true));
        list = value_set_take(list, "keys_only", value_bool(true));
    }
    value_unref(from_take);
    value_unref(to_take);
    return value_set_take(value_object_reserve(1), "list", list);
}

static int64_t part_offset(tn_value record) {
    const char *slash = strrchr(value_chars(value_get(record, "key"), NULL), '/');
    return slash ? (int64_t)strtoull(slash + 1, NULL, 16) : 0;
}

/* Appends the bytes of [*from, to) that are in a page of parts, and advances *from. False if a part is missing. */
static bool add_parts(struct buffer *out, tn_value records, int64_t *from, int64_t to) {
    for (size_t i = 0; i < value_count(records) && *from < to; i++) {
        tn_value record = value_at(records, i), part = value_get(record, "value");
        size_t length = 0;
        const char *data = value_is(part, TN_BYTES) ? value_data(part, &length) : NULL;
        int64_t start = part_offset(record), end = start + (int64_t)length;
        if (!data || start > *from || end <= *from) return false;
        int64_t stop = end < to ? end : to;
        buffer_append(out, data + (*from - start), (size_t)(stop - *from));
        *from = stop;
    }
    return true;
}

/* The offset of the part that contains the byte at `offset`. */
static int32_t find_part(struct request *request, const char *id, int64_t offset, int64_t *start, struct error *error) {
    tn_value found = NULL;
    tn_value query = range_query(artifact_part_key(id, 0), artifact_part_key(id, offset + 1), true);
    int32_t status = session_query_take(request->session, query, &found, error);
    tn_value records = value_get(found, "records");
    *start = value_count(records) ? part_offset(value_at(records, 0)) : 0;
    value_unref(found);
    return status;
}

int32_t artifact_load(struct request *request, const char *id, int64_t from, int64_t to, tn_value *out,
                      struct error *error) {
    struct buffer data;
    int64_t at = from;
    int32_t status = TN_OK;
    buffer_init(&data, SIZE_MAX);
    while (status == TN_OK && at < to) {
        int64_t start = 0, before = at;
        tn_value found = NULL;
        status = find_part(request, id, at, &start, error);
        if (status != TN_OK) break;
        status = session_query_take(request->session,
                                    range_query(artifact_part_key(id, start), artifact_part_key(id, to), false), &found,
                                    error);
        bool whole = status != TN_OK || add_parts(&data, value_get(found, "records"), &at, to);
        value_unref(found);
        if (status == TN_OK && (!whole || at == before))
            status =
                error_set(error, TN_ERROR, "STORE_CORRUPT",
                          "%s: the body of Artifact `%s` has no data at byte %lld: the store has lost a part of it",
                          request->operation, id, (long long)at);
    }
    if (status == TN_OK) *out = value_bytes(data.data ? data.data : "", data.length);
    buffer_finish(&data);
    return status;
}

/* ---- Uploads ---- */

int32_t artifact_open(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {
        {"media_type", FIELD_TEXT, true}, {"metadata", FIELD_OBJECT, false}, {NULL, 0, false}};
    const char *media_type;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_text(request, "media_type", ARTIFACT_MEDIA_TYPE_MAX, &media_type, error);
    tn_value metadata = request_get(request, "metadata");
    if (status == TN_OK && metadata)
        status = request_size(request, "metadata", metadata, ARTIFACT_METADATA_MAX, "put it into the body", error);
    if (status != TN_OK) return status;
    char id[REQUEST_ID_TEXT];
    request_id_make(request, id);
    tn_value record = value_set_take(value_object_reserve(5), "artifact_id", value_text(id));
    record = value_set_take(record, "media_type", value_text(media_type));
    record = value_set_take(record, "metadata", metadata ? value_ref(metadata) : value_object());
    record = value_set_take(record, "size", value_int(0));
    record = value_set_take(record, "touched_ms", value_int(request->now_ms));
    tn_value put = store_if_version(store_put(STORE_UPLOADS, id, record), 0);
    status = request_commit_take(request, put, NULL, error);
    if (status == TN_OK) *result = value_set_take(value_object_reserve(1), "artifact_id", value_text(id));
    return status;
}

static int32_t find_upload(struct request *request, const char **id, tn_value *found, struct error *error) {
    int32_t status = request_text(request, "artifact_id", KERNEL_ID_MAX, id, error);
    if (status == TN_OK) status = request_find(request, STORE_UPLOADS, *id, found, error);
    if (status == TN_OK && !*found)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                         "%s: found no open upload of an Artifact `%s`: it was finished or abandoned, it had no append "
                         "for %d hours, or it never existed",
                         request->operation, *id, ARTIFACT_UPLOAD_HOURS);
    return status;
}

static tn_value size_result(int64_t size) { return value_set_take(value_object_reserve(1), "size", value_int(size)); }

/* Sets *same if the upload's last part is this one: the append is a repetition. */
static int32_t appended_before(struct request *request, const char *id, int64_t offset, tn_value data, bool *same,
                               struct error *error) {
    tn_value key = artifact_part_key(id, offset), found = NULL;
    int32_t status = request_find(request, STORE_BODIES, value_chars(key, NULL), &found, error);
    tn_value part = value_get(found, "value");
    *same = part && value_equal(part, data);
    value_unref(found);
    value_unref(key);
    return status;
}

static int32_t append_part(struct request *request, const char *id, tn_value found, int64_t offset, tn_value data,
                           tn_value *result, struct error *error) {
    size_t length;
    const void *bytes = value_data(data, &length);
    int64_t size = value_to_int(value_get(value_get(found, "value"), "size")), grown = offset + (int64_t)length;
    bool before = false;
    if (offset != size) {
        int32_t status = grown == size ? appended_before(request, id, offset, data, &before, error) : TN_OK;
        if (status != TN_OK) return status;
        if (before) {
            *result = size_result(size);
            return TN_OK;
        }
        return request_invalid(request, error, "offset", "found %lld, expected %lld, the end of the body so far",
                               (long long)offset, (long long)size);
    }
    if (grown > ARTIFACT_SIZE_MAX)
        return error_set(error, TN_LIMIT, "LIMIT", "%s: the body would be longer than %lld bytes, the limit",
                         request->operation, (long long)ARTIFACT_SIZE_MAX);
    tn_value patch = value_set_take(value_object_reserve(2), "size", value_int(grown));
    patch = value_set_take(patch, "touched_ms", value_int(request->now_ms));
    tn_value merge = store_if_version(store_merge(STORE_UPLOADS, id, patch), value_to_int(value_get(found, "version")));
    tn_value batch = value_push_take(value_array_reserve(2), merge);
    batch = value_push_take(batch, part_put(id, offset, bytes, length));
    int32_t status = session_commit_take(request->session, batch, NULL, error);
    if (status == TN_OK) *result = size_result(grown);
    return status;
}

int32_t artifact_append(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"artifact_id", FIELD_TEXT, true},
                                          {"offset", FIELD_INT, true},
                                          {"data", FIELD_TEXT | FIELD_BYTES, true},
                                          {NULL, 0, false}};
    const char *id;
    int64_t offset = 0;
    size_t length = 0;
    tn_value found = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = request_int(request, "offset", 0, ARTIFACT_SIZE_MAX, 0, &offset, error);
    if (status != TN_OK) return status;
    tn_value data = request_get(request, "data");
    const char *bytes = value_is(data, TN_STRING) ? value_chars(data, &length) : value_data(data, &length);
    if (length == 0 || length > ARTIFACT_PART_MAX)
        return request_invalid(request, error, "data", "found %zu bytes, expected 1 byte to %d KiB per append", length,
                               ARTIFACT_PART_MAX >> 10);
    status = find_upload(request, &id, &found, error);
    data = value_bytes(bytes, length);
    if (status == TN_OK) status = append_part(request, id, found, offset, data, result, error);
    value_unref(data);
    value_unref(found);
    return status;
}

/* The beginning of a text body, for search. *text is NULL if the body is not text. */
static int32_t read_beginning(struct request *request, const char *id, tn_value upload, tn_value *text,
                              struct error *error) {
    int64_t size = value_to_int(value_get(upload, "size"));
    tn_value bytes = NULL;
    *text = NULL;
    if (!artifact_is_text(value_chars(value_get(upload, "media_type"), NULL))) return TN_OK;
    int32_t status = artifact_load(request, id, 0, size < ARTIFACT_TEXT_MAX ? size : ARTIFACT_TEXT_MAX, &bytes, error);
    if (status != TN_OK) return status;
    size_t length;
    const char *data = value_data(bytes, &length);
    /* The last character of the beginning may be cut. */
    for (int i = 0; size > ARTIFACT_TEXT_MAX && i < 4 && !utf8_valid(data, length); i++) length--;
    *text = value_string(data, length);
    value_unref(bytes);
    return TN_OK;
}

int32_t artifact_finish(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"artifact_id", FIELD_TEXT, true}, {NULL, 0, false}};
    const char *id;
    tn_value found = NULL, text = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = find_upload(request, &id, &found, error);
    tn_value upload = value_get(found, "value");
    if (status == TN_OK) status = read_beginning(request, id, upload, &text, error);
    if (status == TN_OK) {
        tn_value empty = value_bytes("", 0);
        int64_t size = value_to_int(value_get(upload, "size"));
        tn_value gone = store_delete(STORE_UPLOADS, id), shown = NULL;
        gone = store_if_version(gone, value_to_int(value_get(found, "version")));
        tn_value put = artifact_record(request, id, value_get(upload, "media_type"), value_get(upload, "metadata"),
                                       size   ? NULL
                                       : text ? text
                                              : empty,
                                       size, text ? "text" : "bytes", text, &shown);
        tn_value batch = value_push_take(value_push_take(value_array_reserve(3), gone), put);
        tn_value link = artifact_link(request, id);
        if (link) batch = value_push_take(batch, link);
        status = session_commit_take(request->session, batch, NULL, error);
        if (status == TN_OK)
            *result = shown;
        else
            value_unref(shown);
        value_unref(empty);
    }
    value_unref(text);
    value_unref(found);
    return status;
}

/* Removes an upload and its parts, which are the range [ID/, ID0): `0` follows `/` in ASCII. */
static int32_t remove_upload(struct request *request, const char *id, int64_t version, struct error *error) {
    tn_value from = value_format("%s/", id), to = value_format("%s0", id);
    tn_value batch =
        value_push_take(value_array_reserve(2), store_if_version(store_delete(STORE_UPLOADS, id), version));
    batch = value_push_take(batch, store_delete_range(STORE_BODIES, value_chars(from, NULL), value_chars(to, NULL)));
    value_unref(from);
    value_unref(to);
    return session_commit_take(request->session, batch, NULL, error);
}

int32_t artifact_abandon(struct request *request, tn_value *result, struct error *error) {
    static const struct field fields[] = {{"artifact_id", FIELD_TEXT, true}, {NULL, 0, false}};
    const char *id;
    tn_value found = NULL;
    int32_t status = request_check(request, fields, error);
    if (status == TN_OK) status = find_upload(request, &id, &found, error);
    if (status == TN_OK) status = remove_upload(request, id, value_to_int(value_get(found, "version")), error);
    if (status == TN_OK) *result = value_object();
    value_unref(found);
    return status;
}

/* Removes one page of abandoned uploads. Sets *more if there may be others. */
static int32_t sweep_uploads(struct request *request, int64_t *removed, bool *more, struct error *error) {
    int64_t before = request->now_ms - (int64_t)ARTIFACT_UPLOAD_HOURS * 60 * 60 * 1000;
    tn_value found = NULL, le = value_set_take(value_object_reserve(1), "le", value_int(before));
    tn_value where = value_set_take(value_object_reserve(1), "touched_ms", le);
    tn_value query = value_set_take(value_object_reserve(3), "collection", value_text(STORE_UPLOADS));
    query = value_set_take(value_set_take(query, "where", where), "limit", value_int(SWEEP_BATCH));
    int32_t status =
        session_query_take(request->session, value_set_take(value_object_reserve(1), "list", query), &found, error);
    tn_value records = value_get(found, "records");
    *more = value_to_bool(value_get(found, "more"));
    for (size_t i = 0; status == TN_OK && i < value_count(records); i++) {
        struct error why = ERROR_INIT;
        tn_value record = value_at(records, i);
        status = remove_upload(request, value_chars(value_get(record, "key"), NULL),
                               value_to_int(value_get(record, "version")), &why);
        *removed += status == TN_OK;
        /* A conflict means that another process has continued the upload. */
        if (request_conflict(status, &why)) status = TN_OK;
        if (status != TN_OK) error_move(error, &why);
        error_finish(&why);
    }
    value_unref(found);
    return status;
}

int32_t artifact_sweep(struct request *request, tn_value *result, struct error *error) {
    int64_t removed = 0;
    bool more = true;
    int32_t status = TN_OK;
    while (status == TN_OK && more) status = sweep_uploads(request, &removed, &more, error);
    if (status == TN_OK) *result = value_set_take(value_object_reserve(1), "uploads", value_int(removed));
    return status;
}
