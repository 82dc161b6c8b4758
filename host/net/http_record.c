/*
 * http_record.c - records exchanges: collects the events of each until its end, and writes them to a file without
 * secrets.
 *
 * A secret can span two pieces of a body, so all pieces are searched as one text. A file is written under a temporary
 * name and renamed, so a recording is complete or absent. If a recording cannot be written, the run continues, and a
 * warning is logged.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/secrets/secrets.h"
#include "host/net/http_recording_internal.h"
#include "host/net/http_request.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tenon/http.h>
#include <unistd.h>

#define SLUG_MAX 80

struct recorder {
    char *folder;
    uint32_t last; /* the number of the newest recording */
    bool full;     /* the warning about RECORD_FILES_MAX has been logged */
};

struct recording {
    struct recorder *recorder;
    uint32_t number;
    char *plugin;
    tn_value request, head, data, end; /* head, end: NULL until they arrive; data: an array */
    int32_t ended;                     /* TN_HTTP_END or TN_HTTP_FAILED; 0 if cancelled */
};

/* ---- The folder ---- */

static int32_t recorder_make_folder(const char *folder, struct error *error) {
    char path[PATH_MAX];
    size_t length = strlen(folder);
    if (!length || length >= sizeof path)
        return error_set(error, TN_INVALID, "IO", "cannot record: `%.200s` is not the name of a folder", folder);
    memcpy(path, folder, length + 1);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return error_set(error, TN_ERROR, "IO", "cannot record: cannot create the folder %s: %s", path,
                             strerror(errno));
        *slash = '/';
    }
    struct stat status;
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return error_set(error, TN_ERROR, "IO", "cannot record: cannot create the folder %s: %s", path,
                         strerror(errno));
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode) || access(path, W_OK) != 0)
        return error_set(error, TN_ERROR, "IO", "cannot record: %s is not a writable folder", path);
    return TN_OK;
}

int32_t recorder_open(const char *folder, struct recorder **out, struct error *error) {
    int32_t status = recorder_make_folder(folder, error);
    if (status != TN_OK) return status;
    struct recorder *recorder = mem_zalloc(sizeof *recorder);
    recorder->folder = mem_text(folder);
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char *end;
        unsigned long number = strtoul(entry->d_name, &end, 10);
        if (end != entry->d_name && *end == '-' && number > recorder->last && number <= RECORD_FILES_MAX)
            recorder->last = (uint32_t)number;
    }
    if (directory) closedir(directory);
    *out = recorder;
    return TN_OK;
}

void recorder_free(struct recorder *recorder) {
    if (!recorder) return;
    mem_free(recorder->folder);
    mem_free(recorder);
}

/* ---- One exchange ---- */

struct recording *recording_new_take(struct recorder *recorder, const char *plugin, tn_value request) {
    if (recorder->last >= RECORD_FILES_MAX) {
        if (!recorder->full)
            log_write(LOG_WARN, NULL, "%s has %u recordings, which is the limit; the run continues without recording",
                      recorder->folder, RECORD_FILES_MAX);
        recorder->full = true;
        value_unref(request);
        return NULL;
    }
    struct recording *recording = mem_zalloc(sizeof *recording);
    recording->recorder = recorder;
    recording->number = ++recorder->last;
    recording->plugin = mem_text(plugin);
    recording->request = request;
    recording->data = value_array();
    return recording;
}

void recording_event(struct recording *recording, int32_t event, tn_value value) {
    if (!recording) return;
    if (event == TN_HTTP_HEAD) {
        recording->head = value_ref(value);
    } else if (event == TN_HTTP_DATA) {
        recording->data = value_push_take(recording->data, value_ref(value));
    } else {
        recording->end = value_ref(value);
        recording->ended = event;
    }
}

/* ---- Its file ---- */

static bool recording_is_private(const struct recording *recording) {
    return value_text_is(value_get(recording->request, "method"), HTTP_PRIVATE);
}

static tn_value text_if_utf8_take(tn_value bytes) {
    size_t length;
    if (!value_is(bytes, TN_BYTES)) return bytes;
    const char *data = value_data(bytes, &length);
    tn_value text = value_string(data, length);
    if (!text) return bytes;
    value_unref(bytes);
    return text;
}

/* Removes secrets from pieces of bytes. If a secret spans pieces, its replacement is in the first of them. */
static tn_value scrub_pieces(tn_value pieces, struct secrets *secrets) {
    struct buffer whole, piece;
    size_t length;
    tn_value made = value_array_reserve(value_count(pieces));
    buffer_init(&whole, SIZE_MAX);
    buffer_init(&piece, SIZE_MAX);
    for (size_t i = 0; i < value_count(pieces); i++) {
        const char *data = value_data(value_at(pieces, i), &length);
        buffer_append(&whole, data, length);
    }
    size_t at = 0, end = 0, found = 0, size = 0;
    const char *name = NULL;
    bool more = secrets_next(secrets, whole.data, whole.length, SECRETS_SCRUB_MIN, &found, &size, &name);
    for (size_t i = 0; i < value_count(pieces); i++) {
        value_data(value_at(pieces, i), &length);
        end += length;
        buffer_clear(&piece);
        while (at < end) {
            size_t stop = more && found < end ? found : end;
            if (stop > at) buffer_append(&piece, whole.data + at, stop - at);
            at = stop;
            if (!more || at != found || at >= end) continue;
            secrets_put_name(&piece, name);
            at = found += size;
            more = secrets_next(secrets, whole.data, whole.length, SECRETS_SCRUB_MIN, &found, &size, &name);
        }
        made = value_push_take(made, text_if_utf8_take(value_bytes(buffer_cstr(&piece), piece.length)));
    }
    buffer_finish(&whole);
    buffer_finish(&piece);
    return made;
}

static tn_value recording_data(const struct recording *recording, struct secrets *secrets) {
    if (value_is(value_at(recording->data, 0), TN_BYTES)) return scrub_pieces(recording->data, secrets);
    return secrets_scrub(secrets, recording->data, SECRETS_SCRUB_MIN);
}

#define PRIVATE_DEPTH_MAX 16 /* nesting of the response to a private request; deeper values are omitted */

/* The value with each text replaced by {redacted}. */
static tn_value without_texts(tn_value value, int depth) {
    bool object = value_is(value, TN_OBJECT);
    if (value_is(value, TN_STRING) || value_is(value, TN_BYTES)) return value_text("{redacted}");
    if (!object && !value_is(value, TN_ARRAY)) return value_ref(value);
    if (depth == PRIVATE_DEPTH_MAX) return value_null();
    tn_value made = object ? value_object() : value_array();
    for (size_t i = 0; i < value_count(value); i++) {
        tn_value item = without_texts(object ? value_value_at(value, i) : value_at(value, i), depth + 1);
        made = object ? value_set_key_take(made, value_ref(value_key_at(value, i)), item) : value_push_take(made, item);
    }
    return made;
}

static tn_value private_body(tn_value body) {
    size_t length;
    const char *data = value_is(body, TN_BYTES) ? value_data(body, &length) : value_chars(body, &length);
    tn_value json = NULL;
    if (json_read(data, length, NULL, &json, NULL) != TN_OK) return value_text("{redacted}");
    tn_value safe = without_texts(json, 0);
    char *text = json_text(safe, JSON_COMPACT);
    tn_value made = value_text(text);
    mem_free(text);
    value_unref(safe);
    value_unref(json);
    return made;
}

/* The members of END that HEAD does not have. */
static tn_value recording_end(const struct recording *recording, struct secrets *secrets) {
    static const char *const members[] = {"body", "attempts", "ms"};
    tn_value made = value_object_reserve(3);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(recording->end, members[i]);
        if (!member) continue;
        if (i == 0 && recording_is_private(recording))
            made = value_set_take(made, members[i], private_body(member));
        else
            made =
                value_set_take(made, members[i], text_if_utf8_take(secrets_scrub(secrets, member, SECRETS_SCRUB_MIN)));
    }
    return made;
}

static tn_value recording_response(const struct recording *recording, struct secrets *secrets) {
    tn_value made = value_object_reserve(5), head = recording->head;
    if (head) {
        tn_value attempt = value_get(head, "attempt");
        made = value_set_take(made, "status", value_ref(value_get(head, "status")));
        made = value_set_take(made, "headers", http_request_redact_headers(value_get(head, "headers"), secrets));
        if (attempt) made = value_set_take(made, "attempt", value_ref(attempt));
    }
    if (value_count(recording->data)) made = value_set_take(made, "data", recording_data(recording, secrets));
    if (recording->ended == TN_HTTP_END) return value_set_take(made, "end", recording_end(recording, secrets));
    if (recording->ended == TN_HTTP_FAILED)
        return value_set_take(made, "failed", secrets_scrub(secrets, recording->end, SECRETS_SCRUB_MIN));
    return value_set_take(made, "cancelled", value_bool(true));
}

/* "000001-POST-api.acme.example-v1-chat", from the host and the path of the redacted URL. */
static void recording_write_name(struct buffer *out, const struct recording *recording) {
    const char *url = value_chars(value_get(recording->request, "url"), NULL), *rest = strstr(url, "://");
    buffer_format(out, "%06u-%s-", recording->number, value_chars(value_get(recording->request, "method"), NULL));
    rest = rest ? rest + 3 : url;
    size_t length = strcspn(rest, "?{");
    bool gap = false;
    for (size_t i = 0, used = 0; i < length && used < SLUG_MAX; i++) {
        char c = rest[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
        if (plain && gap) buffer_char(out, '-');
        if (plain) buffer_char(out, c);
        used += (size_t)plain + (size_t)(plain && gap);
        gap = !plain;
    }
    buffer_text(out, ".json");
}

static bool recording_write_all(int descriptor, const char *data, size_t length) {
    while (length) {
        ssize_t wrote = write(descriptor, data, length);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false;
        data += wrote;
        length -= (size_t)wrote;
    }
    return true;
}

static bool recording_write_file(const char *path, const char *text, size_t length) {
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    int descriptor = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) return false;
    bool written = recording_write_all(descriptor, text, length);
    int why = errno;
    if (close(descriptor) != 0 && written) {
        written = false;
        why = errno;
    }
    if (written && rename(part, path) != 0) {
        written = false;
        why = errno;
    }
    if (!written) unlink(part);
    errno = why;
    return written;
}

static void recording_write(const struct recording *recording, struct secrets *secrets) {
    struct buffer text, path;
    tn_value file = value_set_take(value_object_reserve(4), "format", value_text(RECORDING_FORMAT));
    file = value_set_take(file, "plugin", value_text(recording->plugin));
    /* Scrubbed now, because its secrets were fetched after it was created. */
    file = value_set_take(file, "request", secrets_scrub(secrets, recording->request, SECRETS_SCRUB_REQUEST_MIN));
    file = value_set_take(file, "response", recording_response(recording, secrets));
    buffer_init(&text, RECORD_FILE_MAX);
    buffer_init(&path, PATH_MAX);
    buffer_format(&path, "%s/", recording->recorder->folder);
    recording_write_name(&path, recording);
    json_write(&text, file, JSON_INDENTED);
    buffer_char(&text, '\n');
    if (text.overflow)
        log_write(LOG_WARN, NULL, "%s: not recorded: it is longer than %u MiB; the run continues", buffer_cstr(&path),
                  RECORD_FILE_MAX >> 20);
    else if (!recording_write_file(buffer_cstr(&path), text.data, text.length))
        log_write(LOG_WARN, NULL, "%s: not recorded: %s; the run continues", buffer_cstr(&path), strerror(errno));
    buffer_finish(&text);
    buffer_finish(&path);
    value_unref(file);
}

void recording_finish(struct recording *recording, struct secrets *secrets) {
    if (!recording) return;
    recording_write(recording, secrets);
    value_unref(recording->request);
    value_unref(recording->head);
    value_unref(recording->data);
    value_unref(recording->end);
    mem_free(recording->plugin);
    mem_free(recording);
}
