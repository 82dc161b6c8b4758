/*
 * thread_pack.c - makes nodes and chunks. thread_unpack.c reads them.
 *
 * An array and an object are both a list of entries. Entries that are small are collected into a run; a run of the size
 * of a chunk becomes one. What was packed before has parts, each of which covers a range of entries: a part whose
 * entries are the same in the new value is used again, at the same position or moved by the difference of the lengths.
 */
#include "host/data/thread/thread_pack.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_keys.h"
#include "host/data/thread/thread_nodes.h"
#include <string.h>

#define PACK_SAMPLES    64   /* entries that are weighed to estimate the weight of a list */
#define PACK_PARTS_FREE 64   /* parts that a node may have before small ones are put together again */
#define PACK_INLINE_MAX 2048 /* bytes: a shorter run, or key of a member, stays in the node */

/* ---- Entries of arrays and objects ---- */

static tn_value list_entry(tn_value list, size_t at) {
    return value_is(list, TN_ARRAY) ? value_at(list, at) : value_value_at(list, at);
}

static bool list_same_entry(tn_value a, size_t at, tn_value b, size_t other) {
    if (list_entry(a, at) != list_entry(b, other)) return false;
    if (value_is(a, TN_ARRAY)) return true;
    tn_value key = value_key_at(a, at), other_key = value_key_at(b, other);
    return key == other_key || value_compare_strings(key, other_key) == 0;
}

static tn_value list_slice(tn_value list, size_t from, size_t to) {
    if (value_is(list, TN_ARRAY)) return value_slice(list, from, to);
    tn_value slice = value_object_reserve(to - from);
    for (; from < to; from++)
        slice = value_set_key_take(slice, value_ref(value_key_at(list, from)), value_ref(value_value_at(list, from)));
    return slice;
}

static size_t entry_weight(tn_value list, size_t at) {
    size_t length = 0;
    if (value_is(list, TN_OBJECT)) value_chars(value_key_at(list, at), &length);
    return length + (size_t)value_weight(list_entry(list, at));
}

/* ---- Chunks ---- */

/* Adds a chunk, unless it is known; returns its hash. Takes `content`. */
static tn_value pack_chunk_take(struct thread_packer *packer, tn_value content, size_t weight) {
    char hash[TN_SHA256_TEXT], key[THREAD_KEY_MAX];
    json_hash(content, JSON_COMPACT, hash);
    tn_value name = value_text(hash);
    if (!packer->known) packer->known = value_object();
    if (value_get_key(packer->known, name)) {
        value_unref(content);
        return name;
    }
    packer->known = value_set_key_take(packer->known, value_ref(name), value_bool(true));
    packer->bytes += (int64_t)weight;
    thread_key_of(key, packer->key, (const char *const[]){hash, NULL});
    packer->puts = value_push_take(packer->puts, store_put(STORE_CHUNKS, key, content));
    return name;
}

static tn_value node_of(const char *member, tn_value content) {
    return value_set_take(value_object_reserve(1), member, content);
}

/* The end of the piece of a text from `at`: at most PACK_CHUNK_MAX bytes, and no character is divided. */
static size_t piece_end(const char *text, size_t length, size_t at) {
    if (length - at <= PACK_CHUNK_MAX) return length;
    size_t end = at + PACK_CHUNK_MAX;
    while (end > at && ((unsigned char)text[end] & 0xc0) == 0x80) end--;
    return end;
}

static tn_value pack_text(struct thread_packer *packer, tn_value value) {
    size_t length, at = 0;
    bool text = value_is(value, TN_STRING);
    const char *bytes = text ? value_chars(value, &length) : value_data(value, &length);
    tn_value pieces = value_array();
    while (at < length) {
        size_t end =
            text ? piece_end(bytes, length, at) : at + (length - at < PACK_CHUNK_MAX ? length - at : PACK_CHUNK_MAX);
        tn_value piece = text ? value_text_n(bytes + at, end - at) : value_bytes(bytes + at, end - at);
        pieces = value_push_take(pieces, pack_chunk_take(packer, piece, end - at));
        at = end;
    }
    return node_of(text ? "t" : "b", pieces);
}

/* ---- Parts that are used again ---- */

struct old_part {
    tn_value part;
    size_t from, count; /* its entries in the list before */
    size_t at;          /* the position of these entries in the new list, or SIZE_MAX */
};

static bool part_matches(tn_value list, tn_value before, const struct old_part *old, size_t at) {
    if (at + old->count > value_count(list)) return false;
    for (size_t i = 0; i < old->count; i++)
        if (!list_same_entry(list, at + i, before, old->from + i)) return false;
    return true;
}

static size_t part_count(tn_value part) {
    int64_t count = 1;
    tn_value items = value_get(part, "v"), counted = value_get(part, "n");
    if (items) return value_count(items);
    return value_get(part, "c") && value_as_int(counted, &count) && count > 0 ? (size_t)count : 1;
}

static bool part_is_single(tn_value part) { return value_get(part, "n") && !value_get(part, "c"); }

/* The parts of `node` whose entries are in `list` too, in rising order. Free it with mem_free. */
static struct old_part *parts_to_use(tn_value list, tn_value before, tn_value parts, size_t *count) {
    size_t total = value_count(parts), from = 0, used = 0, next = 0;
    struct old_part *found = mem_array(NULL, total + 1, sizeof *found);
    size_t prefix = value_is(list, TN_ARRAY) ? value_common_prefix(list, before) : 0;
    for (size_t i = 0; i < total; i++) {
        struct old_part old = {value_at(parts, i), from, part_count(value_at(parts, i)), SIZE_MAX};
        from += old.count;
        if (value_get(old.part, "v")) continue;
        size_t moved = old.from + value_count(list) - value_count(before); /* may wrap: then it matches nothing */
        if (from <= prefix || part_matches(list, before, &old, old.from))
            old.at = old.from;
        else if (moved <= value_count(list) && part_matches(list, before, &old, moved))
            old.at = moved;
        if (old.at == SIZE_MAX || old.at < next) continue;
        next = old.at + old.count;
        found[used++] = old;
    }
    *count = used;
    return found;
}

/* ---- Lists ---- */

struct pack_list {
    struct thread_packer *packer;
    tn_value list, parts;
    bool had_single;        /* the list before had parts of one entry */
    size_t run, run_weight; /* the first entry that is in no part yet, and the weight of these entries */
    size_t own;             /* weight of all entries that are no separate parts */
    int depth;
};

static tn_value pack_node(struct thread_packer *packer, tn_value value, tn_value before, tn_value node, int depth);

/* Ends the run before entry `to`. The last run of a list stays in the node, because it is going to grow. */
static void pack_run(struct pack_list *it, size_t to, bool last) {
    if (it->run < to) {
        tn_value slice = list_slice(it->list, it->run, to), part;
        if (last || it->run_weight < PACK_INLINE_MAX) {
            part = node_of("v", slice);
        } else {
            part = node_of("c", pack_chunk_take(it->packer, slice, it->run_weight));
            part = value_set_take(part, "n", value_int((int64_t)(to - it->run)));
        }
        it->parts = value_push_take(it->parts, part);
    }
    it->own += it->run_weight;
    it->run = to;
    it->run_weight = 0;
}

/* The key of a member that is a separate part; a long one is packed, too. */
static tn_value pack_key(struct pack_list *it, size_t at) {
    size_t length;
    tn_value key = value_key_at(it->list, at);
    value_chars(key, &length);
    return length > PACK_INLINE_MAX ? pack_text(it->packer, key) : value_ref(key);
}

/* An entry that is as large as a chunk is a separate part. `node` is how it was packed before, or NULL. */
static void pack_large_entry(struct pack_list *it, size_t at, tn_value before, tn_value node) {
    pack_run(it, at, false);
    tn_value part = node_of("n", pack_node(it->packer, list_entry(it->list, at), before, node, it->depth + 1));
    if (value_is(it->list, TN_OBJECT)) part = value_set_take(part, "k", pack_key(it, at));
    it->parts = value_push_take(it->parts, part);
    it->run = at + 1;
}

static void pack_entry(struct pack_list *it, size_t at, tn_value before, tn_value node) {
    if (node) {
        pack_large_entry(it, at, before, node);
        return;
    }
    size_t weight = entry_weight(it->list, at);
    if (weight >= it->packer->chunk && it->depth < PACK_DEPTH_MAX) {
        pack_large_entry(it, at, NULL, NULL);
        return;
    }
    it->run_weight += weight;
    if (it->run_weight >= it->packer->chunk) pack_run(it, at + 1, false);
}

/* How the entry `at` was packed before as a separate part: its node, and its value then. */
static tn_value entry_node_before(const struct pack_list *it, tn_value before, tn_value parts, size_t at,
                                  tn_value *was) {
    size_t from = 0;
    for (size_t i = 0; it->had_single && i < value_count(parts); i++) {
        tn_value part = value_at(parts, i), key = value_get(part, "k");
        bool same = key ? value_is(key, TN_STRING) && value_is(it->list, TN_OBJECT) &&
                              value_compare_strings(key, value_key_at(it->list, at)) == 0
                        : from == at;
        if (part_is_single(part) && same) {
            *was = key ? value_get_key(before, key) : value_at(before, at);
            return value_get(part, "n");
        }
        from += part_count(part);
    }
    return NULL;
}

/* The weight of a list, from entries at equal distances: a long list is not read for every snapshot. */
static size_t sampled_weight(tn_value list) {
    size_t count = value_count(list), stride = count / PACK_SAMPLES + 1, weight = 0;
    for (size_t at = 0; at < count; at += stride) weight += entry_weight(list, at);
    return weight * stride;
}

/* *own gets the weight of the entries that are no separate parts. */
static tn_value pack_list(struct thread_packer *packer, tn_value list, tn_value before, tn_value node, int depth,
                          size_t *own) {
    tn_value parts = node ? value_get(node, value_is(list, TN_ARRAY) ? "a" : "o") : NULL;
    if (!parts || value_kind(before) != value_kind(list)) parts = before = NULL;
    size_t used = 0, next = 0, count = value_count(list);
    struct old_part *old = before ? parts_to_use(list, before, parts, &used) : NULL;
    struct pack_list it = {packer, list, value_array(), false, 0, 0, 0, depth};
    for (size_t i = 0; before && i < value_count(parts); i++) it.had_single |= part_is_single(value_at(parts, i));
    /* Entries that are inserted one by one would leave ever more and ever smaller chunks. */
    if (used > PACK_PARTS_FREE && used * packer->chunk > 4 * sampled_weight(list)) used = 0;
    for (size_t at = 0; at < count;) {
        while (next < used && old[next].at < at) next++;
        if (next < used && old[next].at == at) {
            pack_run(&it, at, false);
            it.parts = value_push_take(it.parts, value_ref(old[next].part));
            it.run = at += old[next].count;
            continue;
        }
        tn_value was = NULL, node_before = entry_node_before(&it, before, parts, at, &was);
        pack_entry(&it, at++, was, node_before);
    }
    pack_run(&it, count, true);
    mem_free(old);
    *own = it.own;
    return node_of(value_is(list, TN_ARRAY) ? "a" : "o", it.parts);
}

/* ---- Values that were packed a short time ago ---- */

static bool chunks_are_known(const struct thread_packer *packer, tn_value node) {
    tn_value hashes = thread_node_hashes_take(value_object(), node);
    bool known = true;
    for (size_t i = 0; known && i < value_count(hashes); i++)
        known = value_get_key(packer->known, value_key_at(hashes, i)) != NULL;
    value_unref(hashes);
    return known;
}

/* Packs a text or a list; a text does not depend on the size of chunks and the depth. */
static tn_value pack_large(struct thread_packer *packer, tn_value value, tn_value before, tn_value node, int depth) {
    bool text = value_is(value, TN_STRING) || value_is(value, TN_BYTES);
    bool whole = packer->nodes && (text || !node); /* not with the chunks that the list had before */
    size_t chunk = text ? 0 : packer->chunk, own = 0;
    if (text) depth = PACK_DEPTH_MAX;
    tn_value known = whole ? thread_nodes_find(packer->nodes, value, chunk, depth) : NULL;
    if (known && chunks_are_known(packer, known)) return value_ref(known);
    tn_value packed = text ? pack_text(packer, value) : pack_list(packer, value, before, node, depth, &own);
    if (text) own = (size_t)value_weight(value);
    if (whole) thread_nodes_add(packer->nodes, value, chunk, depth, packed, (int64_t)own);
    return packed;
}

static tn_value pack_node(struct thread_packer *packer, tn_value value, tn_value before, tn_value node, int depth) {
    if (node && value == before) return value_ref(node);
    if (!node && (size_t)value_weight(value) < packer->chunk) return node_of("v", value_ref(value));
    switch (value_kind(value)) {
    case TN_STRING:
    case TN_BYTES:
    case TN_ARRAY:
    case TN_OBJECT: return pack_large(packer, value, before, node, depth);
    default: return node_of("v", value_ref(value));
    }
}

tn_value thread_pack(struct thread_packer *packer, tn_value value, tn_value before, tn_value node_before) {
    return pack_node(packer, value, before, node_before, 0);
}

void thread_pack_record_take(struct thread_packer *packer, const char *collection, const char *key, tn_value value,
                             int64_t weight) {
    bool looks_packed = value_count(value) == 1 && value_get(value, "packed");
    if (weight > PACK_WHOLE_MAX || looks_packed) {
        tn_value node = thread_pack(packer, value, NULL, NULL);
        value_unref(value);
        value = node_of("packed", node);
    }
    packer->puts = value_push_take(packer->puts, store_put(collection, key, value));
}

void thread_packer_finish(struct thread_packer *packer) {
    value_unref(packer->puts);
    value_unref(packer->known);
    packer->puts = packer->known = NULL;
}
