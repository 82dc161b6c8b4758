/*
 * upload.c - finds the files in the arguments, and reads them one after the other.
 *
 * A path or a text is read at once. An Artifact is read in pieces by calls to the state kernel, whose answers continue
 * the reading. Only places of the body that the description declares as files are looked at (struct body_part).
 */
#include "upload.h"
#include "root_file.h"
#include <tenon/base64.h>
#include <tenon/util/build.h>

#define UPLOAD_PIECE     4194304  /* bytes of one read of an Artifact */
#define UPLOAD_BYTES_MAX 50331648 /* the maximum of `max_upload_bytes` in openapi.json */

const tn_state_draft *openapi_state;

/* ---- The schema ---- */

static void put_text_property(tn_builder *out, const char *name, const char *description) {
    tn_put_begin(out, name, TN_OBJECT);
    tn_put_text(out, "type", "string");
    tn_put_text(out, "description", description);
    tn.value->end(out);
}

static tn_value make_description(const struct service *service, const char *description) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(16384);
    bool artifacts = openapi_state != NULL, paths = tn.value->count(service->upload_roots) > 0;
    if (description != NULL && *description != 0) {
        tn_text_append_n(&text, description, tn_utf8_cut(description, strlen(description), 8000));
        tn_text_append(&text, "\n\n");
    }
    tn_text_append(&text, "A file: exactly one of ");
    if (artifacts) tn_text_append(&text, "`artifact_id`, ");
    if (paths) tn_text_append(&text, "`path`, ");
    tn_text_append(&text, "`text` and `data`.");
    return tn_text_finish(&text);
}

tn_value upload_make_schema(const struct service *service, const char *description, bool or_base64) {
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_begin(out, "type", TN_ARRAY);
    tn_put_text(out, NULL, "object");
    if (or_base64) tn_put_text(out, NULL, "string"); /* base64, of a body that is bytes */
    tn.value->end(out);
    tn_put_take(out, "description", make_description(service, description));
    tn_put_begin(out, "properties", TN_OBJECT);
    if (openapi_state != NULL) put_text_property(out, "artifact_id", "The id of an Artifact.");
    if (tn.value->count(service->upload_roots) > 0)
        put_text_property(out, "path", "The path of a file, relative to a folder that the operator permits.");
    put_text_property(out, "text", "The content, if it is text.");
    put_text_property(out, "data", "The content in base64.");
    put_text_property(out, "filename", "The name that the service sees. The default is that of the file.");
    put_text_property(out, "media_type", "The media type, for example image/png.");
    tn_put_take(out, "type", tn_build("{s:s}", "const", "file"));
    tn.value->end(out);
    tn_put_bool(out, "additionalProperties", 0);
    tn.value->end(out);
    return tn_finish(out);
}

/* ---- Reading ---- */

static void upload_end(struct uploads *uploads, const char *code, const char *message) {
    tn_value error = code != NULL ? tn_error(code, message) : NULL;
    uploads->ready(uploads->user, error);
    tn_release(error);
}

static void upload_fail_file(struct uploads *uploads, const char *code, const char *name, const char *why) {
    struct tn_text_buffer message = TN_TEXT_BUFFER(2000);
    tn_text_append(&message, "the file `");
    tn_text_append_n(&message, name, tn_utf8_cut(name, strlen(name), 500));
    tn_text_append(&message, "` ");
    tn_text_append(&message, why);
    upload_end(uploads, code, tn_text_chars(&message));
    tn_text_free(&message);
}

static void upload_fail_limit(struct uploads *uploads) {
    char message[256];
    (void)snprintf(message, sizeof(message),
                   "the files are longer than %lld bytes in all, which is the limit; `max_upload_bytes` of the service "
                   "`%.64s` in tenon.yaml changes it (at most %d)",
                   (long long)uploads->service->max_upload_bytes, uploads->service->name, UPLOAD_BYTES_MAX);
    upload_end(uploads, "LIMIT", message);
}

static void upload_continue(struct uploads *uploads);

static void upload_name_after(struct upload_file *file, const char *path) {
    const char *slash = strrchr(path, '/');
    if (file->filename == NULL) file->filename = tn_text(slash != NULL ? slash + 1 : path);
}

static bool is_bytes(tn_value value) { return tn.value->kind(value) == TN_BYTES; }

/* Reads `text` or `data`. Returns false if `data` is not base64. */
static bool read_inline(struct upload_file *file, tn_value text, tn_value data) {
    uint64_t length = 0;
    const char *chars = text != NULL ? tn_chars(text, &length) : tn_chars(data, &length);
    if (text == NULL && is_bytes(data)) chars = tn.value->as_bytes(data, &length);
    if (text != NULL || is_bytes(data)) return tn_text_append_n(&file->bytes, chars, length) == TN_OK;
    while (length > 0 && chars[length - 1] == '=') length--;
    for (uint64_t i = 0; i < length; i++)
        if (tn_base64_sextet((unsigned char)chars[i]) == 64) return false;
    if (tn_text_reserve(&file->bytes, length / 4 * 3 + 3) != TN_OK) return true; /* the status says so */
    file->bytes.length = tn_base64_take(chars, length, file->bytes.bytes, length / 4 * 3 + 3);
    file->bytes.bytes[file->bytes.length] = 0;
    return true;
}

static int32_t on_artifact_piece(void *user, int32_t status, tn_value value);

static void read_artifact_piece(struct uploads *uploads, struct upload_file *file, tn_value id) {
    tn_value arguments =
        tn_build("{s:v,s:I,s:i}", "artifact_id", id, "offset", (int64_t)file->bytes.length, "length", UPLOAD_PIECE);
    int32_t status = arguments == NULL ? TN_NO_MEMORY
                                       : openapi_state->invoke(uploads->task, "artifact.read", TN_Z, arguments, NULL,
                                                               on_artifact_piece, uploads, NULL);
    tn_release(arguments);
    uploads->reading = status == TN_OK;
    if (status != TN_OK)
        upload_fail_file(uploads, "ERROR", tn_chars(id, NULL), "cannot be read from the Artifacts now");
}

static int32_t on_artifact_piece(void *user, int32_t status, tn_value value) {
    struct uploads *uploads = user;
    struct upload_file *file = &uploads->files[uploads->at];
    tn_value body = tn_get(value, "body"), metadata = tn_get(value, "metadata");
    int64_t size = tn_get_int(value, "size", 0);
    uint64_t length = 0;
    const char *bytes = tn.value->as_bytes(body, &length);
    uploads->reading = false;
    if (status == TN_CANCELLED) {
        upload_end(uploads, "CANCELLED", "the call was cancelled");
    } else if (status != TN_OK) {
        uploads->ready(uploads->user, value);
    } else if ((uint64_t)size > file->bytes.limit || tn_text_append_n(&file->bytes, bytes, length) != TN_OK) {
        upload_fail_limit(uploads);
    } else if (length > 0 && file->bytes.length < (uint64_t)size) {
        read_artifact_piece(uploads, file, tn_get(file->argument, "artifact_id"));
    } else {
        if (file->media_type == NULL) file->media_type = tn_retain(tn_get(value, "media_type"));
        const char *name = tn_get_text(metadata, "filename", tn_get_text(metadata, "name", NULL));
        if (name != NULL) upload_name_after(file, name);
        uploads->at++;
        upload_continue(uploads);
    }
    return TN_OK;
}

/* The one member that says where the content is; NULL if there is none, or more than one. */
static const char *find_source(tn_value argument) {
    static const char *const sources[] = {"artifact_id", "path", "text", "data"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        if (tn_get(argument, sources[i]) == NULL) continue;
        if (found != NULL) return NULL;
        found = sources[i];
    }
    return found;
}

/* Reads one file. Returns true if the next one can be read now. */
static bool upload_read_file(struct uploads *uploads, struct upload_file *file) {
    const char *source = find_source(file->argument);
    tn_value from = source != NULL ? tn_get(file->argument, source) : NULL;
    const char *name = tn_chars(from, NULL), *why = NULL;
    file->bytes.limit = (uint64_t)uploads->service->max_upload_bytes - uploads->total;
    file->filename = tn_retain(tn_get(file->argument, "filename"));
    file->media_type = tn_retain(tn_get(file->argument, "media_type"));
    if (file->bytes.limit == 0) file->bytes.limit = 1; /* 0 would be no limit; the sum is checked after it */
    if (source == NULL) {
        upload_end(uploads, "INVALID_INPUT",
                   "a file: expected exactly one of `artifact_id`, `path`, `text` and `data` (base64)");
    } else if (strcmp(source, "artifact_id") == 0 && openapi_state != NULL && name != NULL) {
        read_artifact_piece(uploads, file, from);
    } else if (strcmp(source, "path") == 0 && tn.value->count(uploads->service->upload_roots) > 0 && name != NULL) {
        why = root_file_read(uploads->service->upload_roots, name, &file->bytes);
        upload_name_after(file, name);
        if (why != NULL && file->bytes.status != TN_LIMIT)
            upload_fail_file(uploads, "NOT_FOUND", name, why);
        else if (why != NULL)
            upload_fail_limit(uploads);
        return why == NULL;
    } else if (name == NULL && !is_bytes(from)) {
        upload_end(uploads, "INVALID_INPUT", "a file: expected a string");
    } else if (strcmp(source, "text") != 0 && strcmp(source, "data") != 0) {
        upload_end(uploads, "INVALID_INPUT",
                   "a file: a `path` needs `upload_roots` of the service in tenon.yaml, and an `artifact_id` a store");
    } else if (!read_inline(file, strcmp(source, "text") == 0 ? from : NULL, from)) {
        upload_end(uploads, "INVALID_INPUT", "a file: `data` is not base64");
    } else if (file->bytes.status != TN_OK) {
        upload_fail_limit(uploads);
    } else {
        return true;
    }
    return false;
}

static void upload_continue(struct uploads *uploads) {
    for (;;) {
        if (uploads->at > 0) uploads->total += uploads->files[uploads->at - 1].bytes.length;
        if (uploads->total > (uint64_t)uploads->service->max_upload_bytes) {
            upload_fail_limit(uploads);
            return;
        }
        if (uploads->at == uploads->count) break;
        if (!upload_read_file(uploads, &uploads->files[uploads->at])) return;
        uploads->at++;
    }
    upload_end(uploads, NULL, NULL);
}

/* ---- Finding ---- */

static bool is_file_argument(tn_value value) { return tn.value->kind(value) == TN_OBJECT; }

/* Counts the files of an argument, an object or a list of them; adds them if there is memory for them. */
static uint32_t collect_files(struct upload_file *files, uint32_t count, tn_value value) {
    uint64_t items = tn.value->kind(value) == TN_ARRAY ? tn.value->count(value) : 1;
    for (uint64_t i = 0; i < items && count <= UPLOAD_FILES_MAX; i++) {
        tn_value argument = tn.value->kind(value) == TN_ARRAY ? tn.value->at(value, i) : value;
        if (!is_file_argument(argument)) continue;
        if (files != NULL) files[count].argument = argument;
        count++;
    }
    return count;
}

static uint32_t collect_body_files(struct upload_file *files, const struct body *body, tn_value value) {
    uint32_t count = 0;
    if (body->is_file) return collect_files(files, 0, value);
    for (uint32_t i = 0; i < body->part_count; i++)
        if (body->parts[i].file != FILE_NONE)
            count = collect_files(files, count, tn_get(value, tn_chars(body->parts[i].name, NULL)));
    return count;
}

void upload_start(struct uploads *uploads, const struct operation *operation, tn_value arguments, tn_task task,
                  upload_ready *ready, void *user) {
    const struct body *body = &operation->body;
    tn_value value = body->property != NULL ? tn_get(arguments, tn_chars(body->property, NULL)) : NULL;
    uint32_t count = collect_body_files(NULL, body, value);
    *uploads = (struct uploads){.service = operation->service, .task = task, .ready = ready, .user = user};
    if (count > UPLOAD_FILES_MAX) {
        upload_end(uploads, "LIMIT", "the arguments have more than 64 files, which is the limit");
        return;
    }
    if (count > 0) uploads->files = tn.core->alloc(tn.host, count * sizeof(*uploads->files));
    if (count > 0 && uploads->files == NULL) {
        upload_end(uploads, "NO_MEMORY", "not enough memory for the files");
        return;
    }
    if (count > 0) memset(uploads->files, 0, count * sizeof(*uploads->files));
    if (count > 0) uploads->count = collect_body_files(uploads->files, body, value);
    upload_continue(uploads);
}

const struct upload_file *upload_find(const struct uploads *uploads, tn_value argument) {
    for (uint32_t i = 0; i < uploads->count; i++)
        if (uploads->files[i].argument == argument) return &uploads->files[i];
    return NULL;
}

void upload_finish(struct uploads *uploads) {
    for (uint32_t i = 0; i < uploads->count; i++) {
        tn_release(uploads->files[i].filename);
        tn_release(uploads->files[i].media_type);
        tn_text_free(&uploads->files[i].bytes);
    }
    if (uploads->files != NULL) tn.core->release(tn.host, uploads->files);
    *uploads = (struct uploads){0};
}
