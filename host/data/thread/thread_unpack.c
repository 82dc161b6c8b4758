/*
 * thread_unpack.c - reads what thread_pack.c has written. The store may have been changed by others, so nothing about
 * its form is assumed.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_pack.h"
#include <string.h>

#define UNPACK_DEPTH_MAX (PACK_DEPTH_MAX + 2)

struct unpacker {
    struct session *session;
    const char *key; /* of the thread */
    struct error *error;
};

static int32_t unpack_malformed(const struct unpacker *it) {
    return error_set(it->error, TN_INVALID, "INVALID_STATE",
                     "a saved value of the thread `%s` has an unknown form: another program or a newer release has "
                     "changed the store",
                     it->key);
}

static int32_t unpack_chunk(const struct unpacker *it, tn_value hash, int kind, tn_value *out) {
    char key[THREAD_KEY_MAX];
    tn_value found = NULL;
    if (!value_is(hash, TN_STRING)) return unpack_malformed(it);
    thread_key_of(key, it->key, (const char *const[]){value_chars(hash, NULL), NULL});
    int32_t status = session_query_take(it->session, store_get(STORE_CHUNKS, key), &found, it->error);
    if (status != TN_OK) return status;
    tn_value content = value_get(found, "value");
    if (value_is(content, kind))
        *out = value_ref(content);
    else
        status =
            error_set(it->error, TN_INVALID, "INVALID_STATE",
                      "a part of the thread `%s` is missing in the store (chunk %.16s): another program has changed "
                      "the store; restore a copy of it",
                      it->key, value_chars(hash, NULL));
    value_unref(found);
    return status;
}

static int32_t unpack_text(const struct unpacker *it, tn_value pieces, int kind, tn_value *out) {
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

static int32_t unpack_node(const struct unpacker *it, tn_value node, int depth, tn_value *out);

/* Adds the entries of `more` to a list. Takes both. */
static tn_value list_add_take(tn_value list, tn_value more) {
    if (value_is(list, TN_ARRAY)) return value_concat_take(list, more);
    for (size_t i = 0; i < value_count(more); i++)
        list = value_set_key_take(list, value_ref(value_key_at(more, i)), value_ref(value_value_at(more, i)));
    value_unref(more);
    return list;
}

static int32_t unpack_part(const struct unpacker *it, tn_value part, int kind, int depth, tn_value *list) {
    tn_value items = value_get(part, "v"), hash = value_get(part, "c"), single = value_get(part, "n"), read = NULL;
    if (items) {
        if (!value_is(items, kind)) return unpack_malformed(it);
        *list = list_add_take(*list, value_ref(items));
        return TN_OK;
    }
    if (hash) {
        int32_t status = unpack_chunk(it, hash, kind, &read);
        if (status == TN_OK) *list = list_add_take(*list, read);
        return status;
    }
    tn_value name = value_get(part, "k");
    if (!single || (kind == TN_OBJECT && !value_is(name, TN_STRING))) return unpack_malformed(it);
    int32_t status = unpack_node(it, single, depth + 1, &read);
    if (status != TN_OK) return status;
    *list = kind == TN_ARRAY ? value_push_take(*list, read) : value_set_key_take(*list, value_ref(name), read);
    return TN_OK;
}

static int32_t unpack_list(const struct unpacker *it, tn_value parts, int kind, int depth, tn_value *out) {
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

static int32_t unpack_node(const struct unpacker *it, tn_value node, int depth, tn_value *out) {
    tn_value part = value_get(node, "v");
    if (depth > UNPACK_DEPTH_MAX) return unpack_malformed(it);
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
    return unpack_node(&(const struct unpacker){session, key, error}, node, 0, out);
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
            else if (!hash)
                hashes = node_hashes_take(hashes, value_get(part, "n"), depth + 1);
        }
    }
    return hashes;
}

tn_value thread_node_hashes_take(tn_value hashes, tn_value node) { return node_hashes_take(hashes, node, 0); }

tn_value thread_packed_hashes_take(tn_value hashes, tn_value stored) {
    tn_value node = stored_node(stored);
    return node ? node_hashes_take(hashes, node, 0) : hashes;
}
