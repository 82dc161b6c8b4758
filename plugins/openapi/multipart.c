/*
 * multipart.c - writes the parts of a form.
 *
 * The boundary is the same for the same contents, so that a recorded request is found again. If a part contains it,
 * the body is written again with another one.
 */
#include "multipart.h"
#include <tenon/base64.h>

#define BOUNDARY_ATTEMPTS 8u

struct multipart {
    struct tn_text_buffer out;
    char boundary[48];
    uint32_t parts;
    bool has_files;
    const struct uploads *uploads;
    const char *why;
};

/* Appends a name in quotes, as browsers do (WHATWG HTML, 4.10.21.8). */
static void put_quoted(struct tn_text_buffer *out, const char *name) {
    tn_text_append(out, "\"");
    for (; *name != 0; name++) {
        const char *coded = *name == '"' ? "%22" : *name == '\r' ? "%0D" : *name == '\n' ? "%0A" : NULL;
        if (coded != NULL)
            tn_text_append(out, coded);
        else
            tn_text_append_n(out, name, 1);
    }
    tn_text_append(out, "\"");
}

static void begin_part(struct multipart *multipart, const char *name, const char *filename, const char *media_type) {
    struct tn_text_buffer *out = &multipart->out;
    tn_text_append_format(out, "--%s\r\nContent-Disposition: form-data; name=", multipart->boundary);
    put_quoted(out, name);
    if (filename != NULL) tn_text_append(out, "; filename=");
    if (filename != NULL) put_quoted(out, filename);
    if (media_type != NULL && strpbrk(media_type, "\r\n") != NULL)
        multipart->why = "a file's `media_type` has more than one line";
    if (media_type != NULL) tn_text_append_format(out, "\r\nContent-Type: %.300s", media_type);
    multipart->parts++;
}

static void put_encoded(struct tn_text_buffer *out, const struct tn_text_buffer *bytes, enum file_form form) {
    if (tn_text_reserve(out, TN_BASE64_SIZE(bytes->length)) != TN_OK) return;
    char *start = out->bytes + out->length;
    char *end = form == FILE_BASE64 ? tn_base64_put(start, bytes->bytes, bytes->length)
                                    : tn_base64url_put(start, bytes->bytes, bytes->length);
    *end = 0;
    out->length += (uint64_t)(end - start);
}

static void put_file(struct multipart *multipart, const char *name, const struct upload_file *file,
                     const struct body_part *part) {
    const char *media_type = file->media_type != NULL   ? tn_chars(file->media_type, NULL)
                             : part->media_type != NULL ? tn_chars(part->media_type, NULL)
                                                        : "application/octet-stream";
    const char *filename = file->filename != NULL ? tn_chars(file->filename, NULL) : "file";
    begin_part(multipart, name, filename, media_type);
    if (part->file == FILE_BASE64) tn_text_append(&multipart->out, "\r\nContent-Transfer-Encoding: base64");
    tn_text_append(&multipart->out, "\r\n\r\n");
    if (part->file == FILE_BYTES)
        tn_text_append_n(&multipart->out, file->bytes.bytes, file->bytes.length);
    else
        put_encoded(&multipart->out, &file->bytes, part->file);
    tn_text_append(&multipart->out, "\r\n");
    multipart->has_files = true;
}

static void put_value(struct multipart *multipart, const char *name, tn_value value, const struct body_part *part) {
    const struct upload_file *file =
        part != NULL && part->file != FILE_NONE ? upload_find(multipart->uploads, value) : NULL;
    bool json = tn.value->kind(value) == TN_OBJECT || tn.value->kind(value) == TN_ARRAY;
    if (file != NULL) {
        put_file(multipart, name, file, part);
        return;
    }
    if (part != NULL && part->file != FILE_NONE && !json && tn.value->kind(value) != TN_STRING)
        multipart->why = "a file of the form is not an object";
    begin_part(multipart, name, NULL,
               part != NULL && part->media_type != NULL ? tn_chars(part->media_type, NULL)
               : json                                   ? "application/json"
                                                        : NULL);
    tn_text_append(&multipart->out, "\r\n\r\n");
    rest_append_scalar(&multipart->out, value, false, "");
    tn_text_append(&multipart->out, "\r\n");
}

static const struct body_part *find_part(const struct body *body, tn_value name) {
    for (uint32_t i = 0; i < body->part_count; i++)
        if (tn.value->equal(body->parts[i].name, name)) return &body->parts[i];
    return NULL;
}

static void put_parts(struct multipart *multipart, const struct body *body, tn_value value) {
    for (uint64_t i = 0, count = tn.value->count(value); i < count; i++) {
        tn_value key, item;
        if (tn.value->entry(value, i, &key, &item) != TN_OK) break;
        const struct body_part *part = find_part(body, key);
        bool list = tn.value->kind(item) == TN_ARRAY && part != NULL && part->file != FILE_NONE;
        for (uint64_t k = 0, items = list ? tn.value->count(item) : 1; k < items; k++)
            put_value(multipart, tn_chars(key, NULL), list ? tn.value->at(item, k) : item, part);
    }
    tn_text_append_format(&multipart->out, "--%s--\r\n", multipart->boundary);
}

/* How often the boundary occurs: once more than there are parts, unless a part contains it. */
static uint32_t count_boundaries(const struct multipart *multipart) {
    const char *at = tn_text_chars(&multipart->out), *end = at + multipart->out.length;
    size_t length = strlen(multipart->boundary);
    uint32_t found = 0;
    while (at < end && (at = memchr(at, 't', (size_t)(end - at))) != NULL && (size_t)(end - at) >= length) {
        bool here = memcmp(at, multipart->boundary, length) == 0;
        found += here;
        at += here ? length : 1;
    }
    return found;
}

tn_value multipart_make_body(const struct body *body, tn_value value, const struct uploads *uploads,
                             tn_value *content_type, const char **why) {
    struct multipart multipart = {.out = TN_TEXT_BUFFER(TN_HTTP_BODY_MAX), .uploads = uploads};
    bool good = false;
    for (uint32_t attempt = 0; !good && attempt < BOUNDARY_ATTEMPTS && multipart.why == NULL; attempt++) {
        tn_text_clear(&multipart.out, UINT64_MAX);
        multipart.parts = 0;
        (void)snprintf(multipart.boundary, sizeof(multipart.boundary), "tenon-7d1f5a0c9b3e%04x",
                       0x4826 + attempt * 2654);
        put_parts(&multipart, body, value);
        if (multipart.out.status != TN_OK) break;
        good = count_boundaries(&multipart) == multipart.parts + 1;
    }
    if (multipart.out.status == TN_LIMIT)
        multipart.why = MULTIPART_TOO_LONG;
    else if (multipart.out.status == TN_INVALID)
        multipart.why = "the body cannot be sent as a form: a value is missing";
    else if (!good && multipart.why == NULL && multipart.out.status == TN_OK)
        multipart.why = "the body cannot be sent as a form: a value contains the boundaries of the parts";
    tn_value made = NULL;
    struct tn_text_buffer type = TN_TEXT_BUFFER(200);
    tn_text_append_format(&type, "multipart/form-data; boundary=%s", multipart.boundary);
    if (multipart.why == NULL && multipart.out.status == TN_OK)
        made = multipart.has_files ? tn_bytes(tn_text_chars(&multipart.out), multipart.out.length)
                                   : tn_text_n(tn_text_chars(&multipart.out), multipart.out.length);
    *content_type = made != NULL ? tn_text_finish(&type) : NULL;
    *why = multipart.why;
    tn_text_free(&type);
    tn_text_free(&multipart.out);
    return made;
}
