/*
 * thread_unpack.c - reads what thread_pack.c has written. The store may have been changed by others, so nothing about
 * its form is assumed.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_pack.h"
#include "host/data/thread/thread_records.h"
#include <string.h>

#define UNPACK_DEPTH_MAX (PACK_DEPTH_MAX + 2)

/*
 * Bytes, about, of chunks that a value has more than once. Few chunks that a changed store lists very often would
 * otherwise become a value that no memory can hold.
 */
#define UNPACK_REPEATED_MAX 1073741824
#define UNPACK_ITEMS_MAX    (UINT32_MAX / 8) /* a longer list would end the process */

struct unpacker {
    struct session *session;
    const char *key;  /* of the thread */
    tn_value seen;    /* {hash: true}: chunks that were read */
    int64_t repeated; /* bytes of chunks that were read again */
    struct error *error;
};

static int32_t unpack_malformed(const struct unpacker *it) {
    return error_set(it->error, TN_INVALID, "INVALID_STATE",
                     "a saved value of the thread `%s` has an unknown form: another program or a newer release has "
                     "changed the store",
                     it->key);
}

/* Counts a chunk that is used. */
static int32_t unpack_count(struct unpacker *it, tn_value hash, tn_value content) {
    if (value_get_key(it->seen, hash))
        it->repeated += value_weight(content);
    else
        it->seen = value_set_key_take(it->seen, value_ref(hash), value_bool(true));
    if (it->repeated <= UNPACK_REPEATED_MAX) return TN_OK;
    return error_set(it->error, TN_LIMIT, "LIMIT",
                     "a saved value of the thread `%s` has more than %d MiB of parts that are equal", it->key,
                     UNPACK_REPEATED_MAX / 1048576);
}

static int32_t unpack_chunk(struct unpacker *it, tn_value hash, int kind, tn_value *out) {
    char key[THREAD_KEY_MAX];
    tn_value found = NULL;
    if (!value_is(hash, TN_STRING)) return unpack_malformed(it);
    thread_key_of(key, it->key, (const char *const[]){value_chars(hash, NULL), NULL});
    int32_t status = session_query_take(it->session, store_get(STORE_CHUNKS, key), &found, it->error);
    if (status != TN_OK) return status;
    tn_value content = value_get(found, "value");
    if (value_is(content, kind))
        status = unpack_count(it, hash, content);
    else
        status =
            error_set(it->error, TN_INVALID, "INVALID_STATE",
                      "a part of the thread `%s` is missing in the store (chunk %.16s): another program has changed "
                      "the store; restore a copy of it",
                      it->key, value_chars(hash, NULL));
    if (status == TN_OK) *out = value_ref(content);
    value_unref(found);
    return status;
}

static int32_t unpack_text(struct unpacker *it, tn_value pieces, int kind, tn_value *out) {
    struct buffer joined;
    int32_t status = value_is(pieces, TN_ARRAY) ? TN_OK : unpack_malformed(it);
    buffer_init(&joined, INT32_MAX);
    for (size_t i = 0; status == TN_OK && i < value_count(pieces); i++) {
        tn_value piece = NULL;
        size_t length;
        status = unpack_chunk(it, value_at(pieces, i), kind, &piece);
        if (status != TN_OK) break;
        const void *bytes = kind == TN_STRING ? value_chars(piece, &length) : value_data(piece, &length);
        buffer_append(&joined, bytes, length);
        value_unref(piece);
    }
    if (status == TN_OK && joined.overflow) status = unpack_malformed(it);
    if (status == TN_OK)
        *out = kind == TN_STRING ? value_text_n(joined.data, joined.length) : value_bytes(joined.data, joined.length);
    buffer_finish(&joined);
    return status;
}

static int32_t unpack_node(struct unpacker *it, tn_value node, int depth, tn_value *out);

/*
 * Adds the entries of `more`, which must be `count`, to *list. Takes `more`. Packing the list again relies on the
 * numbers of entries of its parts, so no key may occur twice.
 */
static int32_t list_add_take(const struct unpacker *it, tn_value *list, tn_value more, int64_t count) {
    size_t before = value_count(*list), added = value_count(more);
    bool fits = count >= 0 && (size_t)count == added && before + added <= UNPACK_ITEMS_MAX;
    if (fits && value_is(*list, TN_ARRAY)) {
        *list = value_concat_take(*list, more);
        return TN_OK;
    }
    for (size_t i = 0; fits && i < added; i++)
        *list = value_set_key_take(*list, value_ref(value_key_at(more, i)), value_ref(value_value_at(more, i)));
    value_unref(more);
    return fits && value_count(*list) == before + added ? TN_OK : unpack_malformed(it);
}

static int32_t unpack_key(struct unpacker *it, tn_value key, tn_value *out) {
    if (!value_is(key, TN_STRING)) return unpack_text(it, value_get(key, "t"), TN_STRING, out);
    *out = value_ref(key);
    return TN_OK;
}

static int32_t unpack_part(struct unpacker *it, tn_value part, int kind, int depth, tn_value *list) {
    tn_value items = value_get(part, "v"), hash = value_get(part, "c"), single = value_get(part, "n"), read = NULL;
    if (items) {
        if (!value_is(items, kind) || value_count(part) != 1) return unpack_malformed(it);
        return list_add_take(it, list, value_ref(items), (int64_t)value_count(items));
    }
    if (hash) {
        int32_t status = unpack_chunk(it, hash, kind, &read);
        return status == TN_OK ? list_add_take(it, list, read, thread_record_int(part, "n", -1)) : status;
    }
    tn_value key = value_get(part, "k"), name = NULL;
    if (!single || (kind == TN_OBJECT && !key)) return unpack_malformed(it);
    int32_t status = kind == TN_OBJECT ? unpack_key(it, key, &name) : TN_OK;
    if (status == TN_OK) status = unpack_node(it, single, depth + 1, &read);
    if (status != TN_OK) {
        value_unref(name);
        return status;
    }
    tn_value entry = kind == TN_ARRAY ? value_push_take(value_array_reserve(1), read)
                                      : value_set_key_take(value_object_reserve(1), name, read);
    return list_add_take(it, list, entry, 1);
}

static int32_t unpack_list(struct unpacker *it, tn_value parts, int kind, int depth, tn_value *out) {
    tn_value list = kind == TN_ARRAY ? value_array() : value_object();
    int32_t status = value_is(parts, TN_ARRAY) ? TN_OK : unpack_malformed(it);
    for (size_t i = 0; status == TN_OK && i < value_count(parts); i++)
        status = unpack_part(it, value_at(parts, i), kind, depth, &list);
    if (status == TN_OK)
        *out = list;
    else
        value_unref(list);
    return status;
}

static int32_t unpack_node(struct unpacker *it, tn_value node, int depth, tn_value *out) {
    tn_value part = value_get(node, "v");
    if (depth > UNPACK_DEPTH_MAX || value_count(node) != 1) return unpack_malformed(it);
    if (part) {
        *out = value_ref(part);
        return TN_OK;
    }
    if ((part = value_get(node, "t"))) return unpack_text(it, part, TN_STRING, out);
    if ((part = value_get(node, "b"))) return unpack_text(it, part, TN_BYTES, out);
    if ((part = value_get(node, "a"))) return unpack_list(it, part, TN_ARRAY, depth, out);
    if ((part = value_get(node, "o"))) return unpack_list(it, part, TN_OBJECT, depth, out);
    return unpack_malformed(it);
}

int32_t thread_unpack(struct session *session, const char *key, tn_value node, tn_value *out, struct error *error) {
    struct unpacker it = {.session = session, .key = key, .seen = value_object(), .error = error};
    int32_t status = unpack_node(&it, node, 0, out);
    value_unref(it.seen);
    return status;
}

/* The node of a packed value, or NULL. */
static tn_value stored_node(tn_value stored) { return value_count(stored) == 1 ? value_get(stored, "packed") : NULL; }

int32_t thread_unpack_record_take(struct session *session, const char *key, tn_value stored, tn_value *out,
                                  struct error *error) {
    tn_value node = stored_node(stored);
    if (!node) {
        *out = stored;
        return TN_OK;
    }
    int32_t status = thread_unpack(session, key, node, out, error);
    value_unref(stored);
    return status;
}

struct each_record {
    struct session *session;
    const char *key;
    bool skips; /* records whose chunks are missing */
    session_visit_fn *visit;
    void *user;
};

static int32_t visit_unpacked(void *user, const char *key, tn_value value, struct error *error) {
    const struct each_record *it = user;
    tn_value unpacked = NULL;
    int32_t status = thread_unpack_record_take(it->session, it->key, value_ref(value), &unpacked, error);
    if (status != TN_OK && it->skips && error && error->code && strcmp(error->code, "INVALID_STATE") == 0) {
        error_finish(error);
        return TN_OK;
    }
    if (status == TN_OK) status = it->visit(it->user, key, unpacked, error);
    value_unref(unpacked);
    return status;
}

int32_t thread_each_record(struct session *session, const char *key, const char *collection, const char *from,
                           const char *to, session_visit_fn *visit, void *user, struct error *error) {
    struct each_record it = {session, key, false, visit, user};
    return session_each(session, collection, from, to, visit_unpacked, &it, error);
}

int32_t thread_each_note(struct session *session, const char *key, const char *collection, const char *from,
                         const char *to, session_visit_fn *visit, void *user, struct error *error) {
    struct each_record it = {session, key, true, visit, user};
    return session_each(session, collection, from, to, visit_unpacked, &it, error);
}

tn_value thread_packed_member(tn_value stored, const char *name) {
    tn_value node = stored_node(stored), whole = value_get(node, "v"), parts = value_get(node, "o");
    if (!node) return value_get(stored, name);
    if (whole) return value_get(whole, name);
    for (size_t i = 0; value_is(parts, TN_ARRAY) && i < value_count(parts); i++) {
        tn_value part = value_at(parts, i), found = value_get(value_get(part, "v"), name);
        if (!found && value_text_is(value_get(part, "k"), name)) found = value_get(value_get(part, "n"), "v");
        if (found) return found;
    }
    return NULL;
}

static tn_value node_hashes_take(tn_value hashes, tn_value node, int depth) {
    static const char *const pieces[] = {"t", "b"}, *const lists[] = {"a", "o"};
    for (size_t i = 0; i < 2 && depth <= UNPACK_DEPTH_MAX; i++) {
        tn_value texts = value_get(node, pieces[i]), parts = value_get(node, lists[i]);
        for (size_t j = 0; value_is(texts, TN_ARRAY) && j < value_count(texts); j++)
            if (value_is(value_at(texts, j), TN_STRING))
                hashes = value_set_key_take(hashes, value_ref(value_at(texts, j)), value_bool(true));
        for (size_t j = 0; value_is(parts, TN_ARRAY) && j < value_count(parts); j++) {
            tn_value part = value_at(parts, j), hash = value_get(part, "c");
            if (hash && value_is(hash, TN_STRING))
                hashes = value_set_key_take(hashes, value_ref(hash), value_bool(true));
            if (hash) continue;
            hashes = node_hashes_take(hashes, value_get(part, "n"), depth + 1);
            hashes = node_hashes_take(hashes, value_get(part, "k"), depth + 1);
        }
    }
    return hashes;
}

tn_value thread_node_hashes_take(tn_value hashes, tn_value node) { return node_hashes_take(hashes, node, 0); }

tn_value thread_packed_hashes_take(tn_value hashes, tn_value stored) {
    tn_value node = stored_node(stored);
    return node ? node_hashes_take(hashes, node, 0) : hashes;
}
