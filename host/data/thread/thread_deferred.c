/*
 * thread_deferred.c - the source of deferred arrays: parts of a packed array, and where to read their chunks.
 */
#include "host/data/thread/thread_deferred.h"
#include "adl/value/deferred.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/data/store/store_link.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_pack.h"
#include "host/data/thread/thread_records.h"
#include <string.h>

#define CHUNK_ITEMS_MAX (PACK_CHUNK_MAX / 8 + 1) /* no item weighs less than 8 (value_weight) */
#define DEFER_ITEMS_MAX 16777216 /* a longer list is read at once: the number may be wrong, and costs memory */

struct saved_items {
    struct store_link *link;
    tn_value parts; /* of an array (thread_pack.h) */
    char key[];     /* of the thread */
};

static int32_t read_items(struct session *session, void *user, tn_value *out, struct error *error) {
    const struct saved_items *saved = user;
    tn_value node = value_set_take(value_object_reserve(1), "a", value_ref(saved->parts));
    int32_t status = thread_unpack(session, saved->key, node, out, error);
    value_unref(node);
    return status;
}

static tn_value load_items(void *context, size_t count) {
    struct saved_items *saved = context;
    struct error error = ERROR_INIT;
    tn_value items = NULL;
    int32_t status = store_link_read(saved->link, read_items, saved, &items, &error);
    if (status == TN_OK && value_count(items) == count) return items;
    if (status == TN_OK)
        error_set(&error, TN_INVALID, "INVALID_STATE", "a saved list has another length than it should");
    log_write(LOG_ERROR, NULL, "old items of the thread `%s` cannot be read, so the run ends: %s", saved->key,
              error.message ? error.message : "the store failed");
    store_link_fail(saved->link, saved->key, &error);
    error_finish(&error);
    value_unref(items);
    items = value_array_reserve(count);
    for (size_t i = 0; i < count; i++) items = value_push_take(items, value_null());
    return items;
}

static void release_items(void *context) {
    struct saved_items *saved = context;
    store_link_count(saved->link, -1);
    store_link_unref(saved->link);
    value_unref(saved->parts);
    mem_free(saved);
}

static tn_value defer_parts(const char *key, tn_value parts, size_t count, int64_t weight, struct store_link *link) {
    static const struct value_source source = {.load = load_items, .release = release_items};
    size_t length = strlen(key) + 1;
    struct saved_items *saved = mem_alloc(sizeof *saved + length);
    saved->link = store_link_ref(link);
    saved->parts = value_ref(parts);
    memcpy(saved->key, key, length);
    store_link_count(link, 1);
    return value_deferred(count, weight, &source, saved);
}

/* ---- Reading a snapshot ---- */

/*
 * The parts up to the last one with chunks are deferred if they are worth it; what follows is in the node, and is read.
 * *out is NULL if nothing of the array is deferred.
 */
static int32_t defer_array(struct session *session, const char *key, tn_value parts, int64_t chunk,
                           struct store_link *link, tn_value *out, struct error *error) {
    size_t end = 0, count = 0, total = 0;
    int64_t weight = 0;
    *out = NULL;
    if (chunk < 1 || chunk > PACK_CHUNK_MAX) return TN_OK;
    for (size_t i = 0; value_is(parts, TN_ARRAY) && i < value_count(parts); i++) {
        tn_value part = value_at(parts, i);
        bool is_chunk = value_get(part, "c") != NULL, is_read = value_get(part, "v") != NULL;
        int64_t items = is_chunk ? thread_record_int(part, "n", 0) : 1;
        if (items < 1 || items > CHUNK_ITEMS_MAX) return TN_OK; /* malformed; the reader says so */
        total += is_read ? value_count(value_get(part, "v")) : (size_t)items;
        if (is_read) continue;
        end = i + 1;
        count = total;
        weight += chunk;
    }
    if (weight < THREAD_DEFER_MIN || count == 0 || count > DEFER_ITEMS_MAX) return TN_OK;
    tn_value rest = NULL,
             node = value_set_take(value_object_reserve(1), "a", value_slice(parts, end, value_count(parts)));
    int32_t status = thread_unpack(session, key, node, &rest, error);
    value_unref(node);
    if (status != TN_OK) return status;
    tn_value first = value_slice(parts, 0, end);
    *out = value_concat_take(defer_parts(key, first, count, weight, link), rest);
    value_unref(first);
    return TN_OK;
}

/* Reads one channel, which is a separate part. *out is NULL if it is to be read like every other. */
static int32_t defer_channel(struct session *session, const char *key, tn_value part, int64_t chunk,
                             const struct thread_defer *defer, tn_value *out, struct error *error) {
    tn_value name = value_get(part, "k"), parts = value_get(value_get(part, "n"), "a");
    *out = NULL;
    if (!parts || !value_is(name, TN_STRING) || !value_get_key(defer->channels, name)) return TN_OK;
    return defer_array(session, key, parts, chunk, defer->link, out, error);
}

int32_t thread_unpack_state(struct session *session, const char *key, tn_value node, int64_t chunk,
                            const struct thread_defer *defer, tn_value *out, struct error *error) {
    tn_value parts = value_get(node, "o"), deferred = value_object(), kept = value_array();
    int32_t status = TN_OK;
    bool defers = defer && value_is(parts, TN_ARRAY) && value_count(node) == 1;
    for (size_t i = 0; defers && status == TN_OK && i < value_count(parts); i++) {
        tn_value part = value_at(parts, i), list = NULL;
        status = defer_channel(session, key, part, chunk, defer, &list, error);
        if (!list) {
            kept = value_push_take(kept, value_ref(part));
            continue;
        }
        /* A place for it, so that the channels keep their order. */
        tn_value name = value_get(part, "k"), place = value_set_key_take(value_object(), value_ref(name), value_null());
        kept = value_push_take(kept, value_set_take(value_object_reserve(1), "v", place));
        deferred = value_set_key_take(deferred, value_ref(name), list);
    }
    tn_value rest =
        value_count(deferred) ? value_set_take(value_object_reserve(1), "o", value_ref(kept)) : value_ref(node);
    if (status == TN_OK) status = thread_unpack(session, key, rest, out, error);
    for (size_t i = 0; status == TN_OK && i < value_count(deferred); i++)
        *out = value_set_key_take(*out, value_ref(value_key_at(deferred, i)), value_ref(value_value_at(deferred, i)));
    value_unref(rest);
    value_unref(kept);
    value_unref(deferred);
    return status;
}
