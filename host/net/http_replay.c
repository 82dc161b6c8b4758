/*
 * http_replay.c - finds the recorded response for a request, and returns its events one by one.
 *
 * All files of a folder are read when it is opened, so that an invalid file is reported before anything runs.
 * Recordings are ordered by name. Recordings of equal requests are used in this order, each once.
 */
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/net/http_recording_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/http.h>
#include <unistd.h>

struct recorded_exchange {
    char *name;
    tn_value request, response; /* request: the key of the lookup */
    uint64_t hash;
    size_t order;
    bool used;
};

struct replayer {
    char *folder;
    struct recorded_exchange *entries; /* sorted by hash, then by order */
    size_t count;
};

struct playback {
    tn_value response;
    size_t next; /* 0 is the head, 1 and up are the items of data, the last one is the end */
    bool bytes, done;
};

/* ---- Reading ---- */

static int32_t replay_fail(struct error *error, const char *path, const char *what) {
    return error_set(error, TN_INVALID, "INVALID_INPUT", "cannot replay %s: %s", path, what);
}

static int32_t replay_read_file(const char *path, char **text, size_t *length, struct error *error) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct buffer all;
    char *chunk = mem_alloc(65536);
    ssize_t got = -1;
    buffer_init(&all, RECORD_FILE_MAX);
    while (descriptor >= 0 && (got = read(descriptor, chunk, 65536)) != 0) {
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        buffer_append(&all, chunk, (size_t)got);
        if (all.overflow) break;
    }
    int32_t status = TN_OK;
    if (descriptor < 0 || got < 0)
        status = replay_fail(error, path, strerror(errno));
    else if (all.overflow)
        status = replay_fail(error, path, "it is longer than 256 MiB");
    if (descriptor >= 0) close(descriptor);
    mem_free(chunk);
    if (status == TN_OK) *text = buffer_detach(&all, length);
    buffer_finish(&all);
    return status;
}

/* Removes the idempotency key of an MCP call, and `_meta` if nothing else is in it: each call has another key. */
static tn_value without_idempotency_key(tn_value json) {
    tn_value params = value_get(json, "params"), meta = value_get(params, "_meta");
    if (!value_is(meta, TN_OBJECT) || !value_get(meta, RECORDING_KEY_MEMBER)) return value_ref(json);
    tn_value rest = value_remove_take(value_ref(meta), value_text(RECORDING_KEY_MEMBER));
    params = value_count(rest) ? value_set_take(value_ref(params), "_meta", value_ref(rest))
                               : value_remove_take(value_ref(params), value_text("_meta"));
    value_unref(rest);
    return value_set_take(value_ref(json), "params", params);
}

/* The members that a request is found by. `json` and `body` are different keys. */
static tn_value recorded_key(tn_value request) {
    static const char *const members[] = {"method", "url", "body", "receive"};
    tn_value key = value_object_reserve(5);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (value_get(request, members[i]))
            key = value_set_take(key, members[i], value_ref(value_get(request, members[i])));
    if (value_get(request, "json"))
        key = value_set_take(key, "json", without_idempotency_key(value_get(request, "json")));
    return key;
}

static const char *recorded_response_fault(tn_value response, const char *receive) {
    tn_value data = value_get(response, "data"), end = value_get(response, "end"), body = value_get(end, "body");
    tn_value failed = value_get(response, "failed"), cancelled = value_get(response, "cancelled");
    tn_value status = value_get(response, "status");
    if ((end != NULL) + (failed != NULL) + (cancelled != NULL) != 1)
        return "its `response` needs one of `end`, `failed` and `cancelled`";
    if (status && (!value_is(status, TN_INT) || !value_is(value_get(response, "headers"), TN_OBJECT)))
        return "its `response` needs a `status` that is a number, and `headers`";
    if ((end || data) && !status) return "its `response` has no `status`";
    if (end && !value_is(end, TN_OBJECT)) return "its `end` is not an object";
    if (body && !value_is(body, TN_STRING) && !value_is(body, TN_BYTES)) return "its `body` is neither text nor bytes";
    if (failed &&
        (!value_is(value_get(failed, "code"), TN_STRING) || !value_is(value_get(failed, "message"), TN_STRING)))
        return "its `failed` has no `code` and `message`";
    if (data && !value_is(data, TN_ARRAY)) return "its `data` is not an array";
    for (size_t i = 0; i < value_count(data); i++) {
        tn_value item = value_at(data, i);
        bool text = value_is(item, TN_STRING), bytes = value_is(item, TN_BYTES);
        bool fits = strcmp(receive, "bytes") == 0    ? text || bytes
                    : strcmp(receive, "lines") == 0  ? text
                    : strcmp(receive, "events") == 0 ? value_is(item, TN_OBJECT)
                                                     : false;
        if (!fits) return "its `data` does not match `receive`";
    }
    return NULL;
}

static int32_t replayer_read_recording(struct replayer *replayer, const char *name, struct error *error) {
    char path[PATH_MAX], *text = NULL;
    size_t length = 0;
    tn_value file = NULL;
    struct error why = ERROR_INIT;
    if (snprintf(path, sizeof path, "%s/%s", replayer->folder, name) >= (int)sizeof path)
        return replay_fail(error, replayer->folder, "its name is too long");
    int32_t status = replay_read_file(path, &text, &length, error);
    if (status != TN_OK) return status;
    const struct json_limits limits = {.depth = JSON_DEPTH_MAX + 8, .length = RECORD_FILE_MAX};
    if (json_read(text, length, &limits, &file, &why) != TN_OK) status = replay_fail(error, path, why.message);
    mem_free(text);
    error_finish(&why);
    tn_value request = value_get(file, "request"), response = value_get(file, "response");
    tn_value receive = value_get(request, "receive");
    if (status == TN_OK && !value_text_is(value_get(file, "format"), RECORDING_FORMAT))
        status = replay_fail(error, path, "it is not a recording of the format `" RECORDING_FORMAT "`");
    if (status == TN_OK && (!value_is(value_get(request, "method"), TN_STRING) ||
                            !value_is(value_get(request, "url"), TN_STRING) || !value_is(receive, TN_STRING)))
        status = replay_fail(error, path, "its `request` has no `method`, `url` and `receive`");
    const char *fault = status == TN_OK ? recorded_response_fault(response, value_chars(receive, NULL)) : NULL;
    if (fault) status = replay_fail(error, path, fault);
    if (status == TN_OK) {
        size_t at = replayer->count++;
        MEM_EXTEND(replayer->entries, at);
        tn_value key = recorded_key(request);
        replayer->entries[at] =
            (struct recorded_exchange){mem_text(name), key, value_ref(response), value_hash(key), at, false};
    }
    value_unref(file);
    return status;
}

static int is_recording_name(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 5, ".json") == 0;
}

static int replay_compare_names(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int replay_compare_hashes(const void *a, const void *b) {
    const struct recorded_exchange *left = a, *right = b;
    if (left->hash != right->hash) return left->hash < right->hash ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

int32_t replayer_open(const char *folder, struct replayer **out, struct error *error) {
    struct dirent **names = NULL;
    int count = scandir(folder, &names, is_recording_name, replay_compare_names);
    if (count < 0)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "cannot replay: cannot read the folder %s: %s", folder,
                         strerror(errno));
    struct replayer *replayer = mem_zalloc(sizeof *replayer);
    int32_t status = TN_OK;
    replayer->folder = mem_text(folder);
    if (!count)
        status =
            error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                      "cannot replay: %s has no recordings; make some with a run that records to this folder", folder);
    if (count > (int)RECORD_FILES_MAX)
        status = error_set(error, TN_LIMIT, "LIMIT", "cannot replay: %s has more than %u recordings", folder,
                           RECORD_FILES_MAX);
    for (int i = 0; i < count; i++) {
        if (status == TN_OK) status = replayer_read_recording(replayer, names[i]->d_name, error);
        free(names[i]);
    }
    free((void *)names);
    if (status != TN_OK) {
        replayer_free(replayer);
        return status;
    }
    qsort(replayer->entries, replayer->count, sizeof *replayer->entries, replay_compare_hashes);
    *out = replayer;
    return TN_OK;
}

void replayer_free(struct replayer *replayer) {
    if (!replayer) return;
    for (size_t i = 0; i < replayer->count; i++) {
        mem_free(replayer->entries[i].name);
        value_unref(replayer->entries[i].request);
        value_unref(replayer->entries[i].response);
    }
    mem_free(replayer->entries);
    mem_free(replayer->folder);
    mem_free(replayer);
}

/* ---- Requests without a recording ---- */

static void write_shortened(struct buffer *out, tn_value value) {
    char *text = value ? json_text(value, JSON_COMPACT) : mem_text("nothing");
    size_t length = strlen(text), kept = length < 80 ? length : 80;
    while (kept < length && kept && ((unsigned char)text[kept] & 0xc0) == 0x80) kept--;
    buffer_append(out, text, kept);
    if (kept < length) buffer_text(out, "…");
    mem_free(text);
}

/* Finds the first difference. Appends its JSON pointer, and sets *found and *recorded to the values there. */
static void find_first_difference(tn_value *found, tn_value *recorded, struct buffer *place) {
    for (int depth = 0; depth < 64; depth++) {
        bool objects = value_is(*found, TN_OBJECT) && value_is(*recorded, TN_OBJECT);
        bool arrays = value_is(*found, TN_ARRAY) && value_is(*recorded, TN_ARRAY);
        tn_value a = NULL, b = NULL;
        bool differs = false;
        if (!objects && !arrays) return;
        for (size_t i = 0; arrays && !differs && (i < value_count(*found) || i < value_count(*recorded)); i++) {
            a = i < value_count(*found) ? value_at(*found, i) : NULL;
            b = i < value_count(*recorded) ? value_at(*recorded, i) : NULL;
            differs = !a || !b || !value_equal(a, b);
            if (differs) buffer_format(place, "/%zu", i);
        }
        for (int side = 0; objects && side < 2 && !differs; side++) {
            tn_value from = side ? *recorded : *found;
            for (size_t i = 0; !differs && i < value_count(from); i++) {
                tn_value key = value_key_at(from, i);
                a = value_get_key(*found, key);
                b = value_get_key(*recorded, key);
                differs = !a || !b || !value_equal(a, b);
                if (differs) buffer_format(place, "/%s", value_chars(key, NULL));
            }
        }
        if (!differs) return;
        *found = a;
        *recorded = b;
    }
}

static size_t url_path_length(tn_value request) { return strcspn(value_chars(value_get(request, "url"), NULL), "?"); }

static int recording_similarity(tn_value request, tn_value recorded) {
    const char *one = value_chars(value_get(request, "url"), NULL);
    const char *other = value_chars(value_get(recorded, "url"), NULL);
    int like = 0;
    if (strcmp(one, other) == 0) like += 4;
    if (url_path_length(request) == url_path_length(recorded) && memcmp(one, other, url_path_length(request)) == 0)
        like += 8;
    like += 2 * (value_equal(value_get(request, "method"), value_get(recorded, "method")) != 0);
    like += value_equal(value_get(request, "receive"), value_get(recorded, "receive")) != 0;
    return like;
}

static const struct recorded_exchange *replayer_nearest(const struct replayer *replayer, tn_value request) {
    const struct recorded_exchange *best = NULL;
    int most = -1;
    for (size_t i = 0; i < replayer->count; i++) {
        const struct recorded_exchange *entry = &replayer->entries[i];
        int like = recording_similarity(request, entry->request);
        if (like < most || (like == most && entry->order > best->order)) continue;
        best = entry;
        most = like;
    }
    return best;
}

static void write_request_line(struct buffer *out, tn_value request) {
    buffer_format(out, "%s %.300s", value_chars(value_get(request, "method"), NULL),
                  value_chars(value_get(request, "url"), NULL));
}

static int32_t fail_not_recorded(const struct replayer *replayer, tn_value request, struct error *error) {
    const struct recorded_exchange *near = replayer_nearest(replayer, request);
    struct buffer what, place;
    tn_value found = request, recorded = near->request;
    buffer_init(&what, ERROR_MESSAGE_MAX);
    buffer_init(&place, ERROR_MESSAGE_MAX);
    write_request_line(&what, request);
    find_first_difference(&found, &recorded, &place);
    buffer_format(&what, " is not among the recordings in %s; the nearest one, %s, differs in `%.200s`: found ",
                  replayer->folder, near->name, buffer_cstr(&place) + 1);
    write_shortened(&what, found);
    buffer_text(&what, ", recorded ");
    write_shortened(&what, recorded);
    error_set(error, TN_NOT_FOUND, "NOT_RECORDED", "%s", buffer_cstr(&what));
    buffer_finish(&what);
    buffer_finish(&place);
    return TN_NOT_FOUND;
}

static int32_t fail_all_used(const struct replayer *replayer, tn_value request, size_t count, struct error *error) {
    struct buffer what;
    buffer_init(&what, ERROR_MESSAGE_MAX);
    write_request_line(&what, request);
    error_set(error, TN_NOT_FOUND, "NOT_RECORDED",
              "%s was recorded %zu time%s in %s, and is now sent once more; record it again", buffer_cstr(&what), count,
              count == 1 ? "" : "s", replayer->folder);
    buffer_finish(&what);
    return TN_NOT_FOUND;
}

int32_t replayer_find(struct replayer *replayer, tn_value request, struct playback **out, struct error *error) {
    tn_value key = recorded_key(request);
    uint64_t hash = value_hash(key);
    size_t low = 0, high = replayer->count, equal = 0;
    struct recorded_exchange *entry = NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (replayer->entries[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; !entry && low < replayer->count && replayer->entries[low].hash == hash; low++) {
        if (!value_equal(replayer->entries[low].request, key)) continue;
        equal++;
        if (!replayer->entries[low].used) entry = &replayer->entries[low];
    }
    int32_t status = entry   ? TN_OK
                     : equal ? fail_all_used(replayer, key, equal, error)
                             : fail_not_recorded(replayer, key, error);
    if (entry) {
        struct playback *playback = mem_zalloc(sizeof *playback);
        entry->used = true;
        playback->response = value_ref(entry->response);
        playback->bytes = value_text_is(value_get(key, "receive"), "bytes");
        *out = playback;
    }
    value_unref(key);
    return status;
}

/* ---- Playing ---- */

static tn_value bytes_of_text(tn_value value) {
    size_t length;
    if (!value_is(value, TN_STRING)) return value_ref(value);
    const char *text = value_chars(value, &length);
    return value_bytes(text, length);
}

static tn_value playback_head(tn_value response) {
    tn_value attempt = value_get(response, "attempt");
    tn_value head = value_set_take(value_object_reserve(3), "status", value_ref(value_get(response, "status")));
    head = value_set_take(head, "headers", value_ref(value_get(response, "headers")));
    return value_set_take(head, "attempt", attempt ? value_ref(attempt) : value_int(1));
}

static tn_value playback_end(tn_value response) {
    tn_value end = value_get(response, "end"), body = value_get(end, "body"), attempts = value_get(end, "attempts");
    tn_value ms = value_get(end, "ms");
    tn_value made = value_set_take(value_object_reserve(5), "status", value_ref(value_get(response, "status")));
    made = value_set_take(made, "headers", value_ref(value_get(response, "headers")));
    if (body) made = value_set_take(made, "body", bytes_of_text(body));
    made = value_set_take(made, "attempts", attempts ? value_ref(attempts) : value_int(1));
    return value_set_take(made, "ms", ms ? value_ref(ms) : value_int(0));
}

int32_t playback_next(struct playback *playback, tn_value *value) {
    tn_value response = playback->response, data = value_get(response, "data");
    if (playback->done) return 0;
    if (playback->next == 0 && value_get(response, "status")) {
        playback->next = 1;
        *value = playback_head(response);
        return TN_HTTP_HEAD;
    }
    size_t index = playback->next ? playback->next - 1 : 0;
    if (index < value_count(data)) {
        tn_value item = value_at(data, index);
        playback->next++;
        *value = playback->bytes ? bytes_of_text(item) : value_ref(item);
        return TN_HTTP_DATA;
    }
    playback->done = true;
    if (value_get(response, "end")) {
        *value = playback_end(response);
        return TN_HTTP_END;
    }
    if (!value_get(response, "failed")) return 0;
    *value = value_ref(value_get(response, "failed"));
    return TN_HTTP_FAILED;
}

void playback_free(struct playback *playback) {
    if (!playback) return;
    value_unref(playback->response);
    mem_free(playback);
}
