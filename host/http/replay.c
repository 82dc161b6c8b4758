/*
 * replay.c - answers from recordings: which one a request gets, and its events one by one.
 *
 * A folder is read as a whole, and first, so that a file that is none is told before anything runs. Recordings are in
 * the order of their names; those to equal requests are given in that order, each once.
 */
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/http/recording_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/http.h>
#include <unistd.h>

struct entry {
    char *name;
    tn_value request, response; /* request: what it is found by */
    uint64_t hash;
    size_t order;
    bool given;
};

struct replayer {
    char *folder;
    struct entry *entries; /* by hash, then by order */
    size_t count;
};

struct playback {
    tn_value response;
    size_t next; /* 0: the head; then data; then the end */
    bool bytes, over;
};

/* ---- Reading ---- */

static int32_t bad(struct error *error, const char *path, const char *what) {
    return error_set(error, TN_INVALID, "INVALID_INPUT", "--replay: %s: %s", path, what);
}

static int32_t read_text(const char *path, char **text, size_t *length, struct error *error) {
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
        status = bad(error, path, strerror(errno));
    else if (all.overflow)
        status = bad(error, path, "it is longer than 256 MiB");
    if (descriptor >= 0) close(descriptor);
    mem_free(chunk);
    if (status == TN_OK) *text = buffer_detach(&all, length);
    buffer_finish(&all);
    return status;
}

/* {method, url, body, receive}: `json` and `body` do not mean the same. */
static tn_value key_of(tn_value request) {
    static const char *const members[] = {"method", "url", "json", "body", "receive"};
    tn_value key = value_object_reserve(5);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (value_get(request, members[i]))
            key = value_set_take(key, members[i], value_ref(value_get(request, members[i])));
    return key;
}

static const char *response_fault(tn_value response, const char *receive) {
    tn_value data = value_get(response, "data"), end = value_get(response, "end"), body = value_get(end, "body");
    tn_value failed = value_get(response, "failed"), cancelled = value_get(response, "cancelled");
    tn_value status = value_get(response, "status");
    if ((end != NULL) + (failed != NULL) + (cancelled != NULL) != 1)
        return "its `response` needs one of `end`, `failed` and `cancelled`";
    if (status && (!value_is(status, TN_INT) || !value_is(value_get(response, "headers"), TN_OBJECT)))
        return "its `response` needs a `status` that is a number, and `headers`";
    if ((end || data) && !status) return "its `response` has no `status`";
    if (end && !value_is(end, TN_OBJECT)) return "its `end` is no object";
    if (body && !value_is(body, TN_STRING) && !value_is(body, TN_BYTES)) return "its `body` is neither text nor bytes";
    if (failed &&
        (!value_is(value_get(failed, "code"), TN_STRING) || !value_is(value_get(failed, "message"), TN_STRING)))
        return "its `failed` has no `code` and `message`";
    if (data && !value_is(data, TN_ARRAY)) return "its `data` is no array";
    for (size_t i = 0; i < value_count(data); i++) {
        tn_value item = value_at(data, i);
        bool text = value_is(item, TN_STRING), bytes = value_is(item, TN_BYTES);
        bool fits = strcmp(receive, "bytes") == 0    ? text || bytes
                    : strcmp(receive, "lines") == 0  ? text
                    : strcmp(receive, "events") == 0 ? value_is(item, TN_OBJECT)
                                                     : false;
        if (!fits) return "its `data` is not of the kind that `receive` says";
    }
    return NULL;
}

static int32_t read_entry(struct replayer *replay, const char *name, struct error *error) {
    char path[PATH_MAX], *text = NULL;
    size_t length = 0;
    tn_value file = NULL;
    struct error why = ERROR_INIT;
    if (snprintf(path, sizeof path, "%s/%s", replay->folder, name) >= (int)sizeof path)
        return bad(error, replay->folder, "its name is too long");
    int32_t status = read_text(path, &text, &length, error);
    if (status != TN_OK) return status;
    const struct json_limits limits = {.depth = JSON_DEPTH_MAX + 8, .length = RECORD_FILE_MAX};
    if (json_read(text, length, &limits, &file, &why) != TN_OK) status = bad(error, path, why.message);
    mem_free(text);
    error_finish(&why);
    tn_value request = value_get(file, "request"), response = value_get(file, "response");
    tn_value receive = value_get(request, "receive");
    if (status == TN_OK && !value_text_is(value_get(file, "format"), RECORDING_FORMAT))
        status = bad(error, path, "it is no recording of the form `" RECORDING_FORMAT "`");
    if (status == TN_OK && (!value_is(value_get(request, "method"), TN_STRING) ||
                            !value_is(value_get(request, "url"), TN_STRING) || !value_is(receive, TN_STRING)))
        status = bad(error, path, "its `request` has no `method`, `url` and `receive`");
    const char *fault = status == TN_OK ? response_fault(response, value_chars(receive, NULL)) : NULL;
    if (fault) status = bad(error, path, fault);
    if (status == TN_OK) {
        size_t at = replay->count++;
        if ((at & (at - 1)) == 0)
            replay->entries = mem_array(replay->entries, at ? at * 2 : 1, sizeof *replay->entries);
        tn_value key = key_of(request);
        replay->entries[at] = (struct entry){mem_text(name), key, value_ref(response), value_hash(key), at, false};
    }
    value_unref(file);
    return status;
}

static int is_recording(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && entry->d_name[0] != '.' && strcmp(entry->d_name + length - 5, ".json") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static int by_hash(const void *a, const void *b) {
    const struct entry *left = a, *right = b;
    if (left->hash != right->hash) return left->hash < right->hash ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

int32_t replayer_open(const char *folder, struct replayer **out, struct error *error) {
    struct dirent **names = NULL;
    int count = scandir(folder, &names, is_recording, by_bytes);
    if (count < 0)
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "--replay: the folder %s cannot be read: %s", folder,
                         strerror(errno));
    struct replayer *replay = mem_zalloc(sizeof *replay);
    int32_t status = TN_OK;
    replay->folder = mem_text(folder);
    if (!count)
        status = error_set(error, TN_NOT_FOUND, "NOT_FOUND",
                           "--replay: %s has no recordings; make some with --record %s", folder, folder);
    if (count > (int)RECORD_FILES_MAX)
        status =
            error_set(error, TN_LIMIT, "LIMIT", "--replay: %s has more than %u recordings", folder, RECORD_FILES_MAX);
    for (int i = 0; i < count; i++) {
        if (status == TN_OK) status = read_entry(replay, names[i]->d_name, error);
        free(names[i]);
    }
    free((void *)names);
    if (status != TN_OK) {
        replayer_free(replay);
        return status;
    }
    qsort(replay->entries, replay->count, sizeof *replay->entries, by_hash);
    *out = replay;
    return TN_OK;
}

void replayer_free(struct replayer *replay) {
    if (!replay) return;
    for (size_t i = 0; i < replay->count; i++) {
        mem_free(replay->entries[i].name);
        value_unref(replay->entries[i].request);
        value_unref(replay->entries[i].response);
    }
    mem_free(replay->entries);
    mem_free(replay->folder);
    mem_free(replay);
}

/* ---- What differs ---- */

static void write_short(struct buffer *out, tn_value value) {
    char *text = value ? json_text(value, JSON_COMPACT) : mem_text("nothing");
    size_t length = strlen(text), kept = length < 80 ? length : 80;
    while (kept < length && kept && ((unsigned char)text[kept] & 0xc0) == 0x80) kept--;
    buffer_append(out, text, kept);
    if (kept < length) buffer_text(out, "…");
    mem_free(text);
}

/* The first place in which they differ, as a JSON pointer; found and recorded are what is there. */
static void find_difference(tn_value *found, tn_value *recorded, struct buffer *place) {
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

static size_t path_length(tn_value request) { return strcspn(value_chars(value_get(request, "url"), NULL), "?"); }

static int likeness(tn_value request, tn_value recorded) {
    const char *one = value_chars(value_get(request, "url"), NULL);
    const char *other = value_chars(value_get(recorded, "url"), NULL);
    int like = 0;
    if (strcmp(one, other) == 0) like += 4;
    if (path_length(request) == path_length(recorded) && memcmp(one, other, path_length(request)) == 0) like += 8;
    like += 2 * (value_equal(value_get(request, "method"), value_get(recorded, "method")) != 0);
    like += value_equal(value_get(request, "receive"), value_get(recorded, "receive")) != 0;
    return like;
}

static const struct entry *nearest(const struct replayer *replay, tn_value request) {
    const struct entry *best = NULL;
    int most = -1;
    for (size_t i = 0; i < replay->count; i++) {
        const struct entry *entry = &replay->entries[i];
        int like = likeness(request, entry->request);
        if (like < most || (like == most && entry->order > best->order)) continue;
        best = entry;
        most = like;
    }
    return best;
}

static void write_what(struct buffer *out, tn_value request) {
    buffer_format(out, "%s %.300s", value_chars(value_get(request, "method"), NULL),
                  value_chars(value_get(request, "url"), NULL));
}

static int32_t not_recorded(const struct replayer *replay, tn_value request, struct error *error) {
    const struct entry *near = nearest(replay, request);
    struct buffer what, place;
    tn_value found = request, recorded = near->request;
    buffer_init(&what, ERROR_MESSAGE_MAX);
    buffer_init(&place, ERROR_MESSAGE_MAX);
    write_what(&what, request);
    find_difference(&found, &recorded, &place);
    buffer_format(&what, " is not among the recordings in %s; the nearest one, %s, differs in `%.200s`: found ",
                  replay->folder, near->name, buffer_cstr(&place) + 1);
    write_short(&what, found);
    buffer_text(&what, ", recorded ");
    write_short(&what, recorded);
    error_set(error, TN_NOT_FOUND, "NOT_RECORDED", "%s", buffer_cstr(&what));
    buffer_finish(&what);
    buffer_finish(&place);
    return TN_NOT_FOUND;
}

static int32_t all_given(const struct replayer *replay, tn_value request, size_t count, struct error *error) {
    struct buffer what;
    buffer_init(&what, ERROR_MESSAGE_MAX);
    write_what(&what, request);
    error_set(error, TN_NOT_FOUND, "NOT_RECORDED",
              "%s was recorded %zu time%s in %s, and this is one time more; record it again as often as it is sent",
              buffer_cstr(&what), count, count == 1 ? "" : "s", replay->folder);
    buffer_finish(&what);
    return TN_NOT_FOUND;
}

int32_t replayer_find(struct replayer *replay, tn_value request, struct playback **out, struct error *error) {
    tn_value key = key_of(request);
    uint64_t hash = value_hash(key);
    size_t low = 0, high = replay->count, equal = 0;
    struct entry *entry = NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (replay->entries[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (; !entry && low < replay->count && replay->entries[low].hash == hash; low++) {
        if (!value_equal(replay->entries[low].request, key)) continue;
        equal++;
        if (!replay->entries[low].given) entry = &replay->entries[low];
    }
    int32_t status = entry ? TN_OK : equal ? all_given(replay, key, equal, error) : not_recorded(replay, key, error);
    if (entry) {
        struct playback *playback = mem_zalloc(sizeof *playback);
        entry->given = true;
        playback->response = value_ref(entry->response);
        playback->bytes = value_text_is(value_get(key, "receive"), "bytes");
        *out = playback;
    }
    value_unref(key);
    return status;
}

/* ---- Playing ---- */

static tn_value as_bytes(tn_value value) {
    size_t length;
    if (!value_is(value, TN_STRING)) return value_ref(value);
    const char *text = value_chars(value, &length);
    return value_bytes(text, length);
}

static tn_value head_of(tn_value response) {
    tn_value attempt = value_get(response, "attempt");
    tn_value head = value_set_take(value_object_reserve(3), "status", value_ref(value_get(response, "status")));
    head = value_set_take(head, "headers", value_ref(value_get(response, "headers")));
    return value_set_take(head, "attempt", attempt ? value_ref(attempt) : value_int(1));
}

static tn_value end_of(tn_value response) {
    tn_value end = value_get(response, "end"), body = value_get(end, "body"), attempts = value_get(end, "attempts");
    tn_value ms = value_get(end, "ms");
    tn_value made = value_set_take(value_object_reserve(5), "status", value_ref(value_get(response, "status")));
    made = value_set_take(made, "headers", value_ref(value_get(response, "headers")));
    if (body) made = value_set_take(made, "body", as_bytes(body));
    made = value_set_take(made, "attempts", attempts ? value_ref(attempts) : value_int(1));
    return value_set_take(made, "ms", ms ? value_ref(ms) : value_int(0));
}

int32_t playback_next(struct playback *playback, tn_value *value) {
    tn_value response = playback->response, data = value_get(response, "data");
    if (playback->over) return 0;
    if (playback->next == 0 && value_get(response, "status")) {
        playback->next = 1;
        *value = head_of(response);
        return TN_HTTP_HEAD;
    }
    size_t index = playback->next ? playback->next - 1 : 0;
    if (index < value_count(data)) {
        tn_value item = value_at(data, index);
        playback->next++;
        *value = playback->bytes ? as_bytes(item) : value_ref(item);
        return TN_HTTP_DATA;
    }
    playback->over = true;
    if (value_get(response, "end")) {
        *value = end_of(response);
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
