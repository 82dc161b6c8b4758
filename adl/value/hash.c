/*
 * hash.c - two hashes: of keys, for the tables of this process; and of values, identical in every process.
 *
 * Both multiply to 128 bits and fold. The hash of keys is seeded once per process, because outsiders choose the names
 * in a document or an answer. value_hash has a fixed seed, because it is stored and compared elsewhere. Neither is
 * suitable for signatures.
 */
#include <string.h>
#include <sys/random.h>

#include "adl/value/block.h"
#include "adl/value/memory.h"

/*
 * Odd numbers with about as many ones as zeros: the golden ratio, the first multiplier of splitmix64, and digits of pi.
 */
#define MULTIPLIER_1 0x9e3779b97f4a7c15u
#define MULTIPLIER_2 0xbf58476d1ce4e5b9u
#define FIXED_SEED   0x243f6a8885a308d3u

__extension__ typedef unsigned __int128 wide;

/* The hash function behind string_hash and value_hash. The result is the same on every machine for the same seed. */
static uint64_t hash_mix(uint64_t a, uint64_t b) {
    wide product = (wide)(a ^ MULTIPLIER_1) * (b ^ MULTIPLIER_2);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Eight bytes, little-endian on every machine. */
static inline uint64_t read_8(const char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint64_t value_hash_bytes(const char *bytes, size_t length, uint64_t seed) {
    uint64_t hash = hash_mix(seed, length);
    size_t left = length;
    for (; left > 8; left -= 8, bytes += 8) hash = hash_mix(hash ^ read_8(bytes), seed);
    uint64_t last = 0;
    for (size_t i = 0; i < left; i++) last |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    return hash_mix(hash ^ last, hash + seed);
}

static uint64_t process_seed(void) {
    static _Atomic uint64_t kept;
    uint64_t seed = atomic_load_explicit(&kept, memory_order_relaxed);
    if (seed != 0) return seed;
    /* Without randomness the tables still work; then only the address of a variable varies. */
    if (getentropy(&seed, sizeof seed) != 0) seed = hash_mix((uintptr_t)&kept, FIXED_SEED);
    uint64_t none = 0;
    seed |= 1;
    bool first =
        atomic_compare_exchange_strong_explicit(&kept, &none, seed, memory_order_relaxed, memory_order_relaxed);
    return first ? seed : none;
}

uint32_t string_hash(const char *chars, size_t length) {
    uint32_t hash = (uint32_t)value_hash_bytes(chars, length, process_seed());
    return hash != 0 ? hash : 1;
}

uint32_t string_hash_of(struct string *string) {
    uint32_t hash = atomic_load_explicit(&string->hash, memory_order_relaxed);
    if (hash != 0) return hash;
    hash = string_hash(string->chars, string->length);
    atomic_store_explicit(&string->hash, hash, memory_order_relaxed);
    return hash;
}

static uint64_t hash_scalar(tn_value value, int kind) {
    int64_t integer;
    size_t length;
    switch (kind) {
    case TN_BOOL: return hash_mix(FIXED_SEED + TN_BOOL, value_to_bool(value));
    case TN_INT:
    case TN_DOUBLE:
        if (value_as_int(value, &integer)) return hash_mix(FIXED_SEED + TN_INT, (uint64_t)integer);
        double real = value_to_double(value);
        uint64_t bits;
        memcpy(&bits, &real, sizeof bits);
        return hash_mix(FIXED_SEED + TN_DOUBLE, bits);
    case TN_STRING: {
        const char *chars = value_chars(value, &length);
        return value_hash_bytes(chars, length, FIXED_SEED + TN_STRING);
    }
    case TN_BYTES: {
        const char *bytes = value_data(value, &length);
        return value_hash_bytes(bytes, length, FIXED_SEED + TN_BYTES);
    }
    default: return hash_mix(FIXED_SEED, (uint64_t)kind);
    }
}

struct frame {
    tn_value container;
    size_t next;
    uint64_t hash;
};

#define FRAMES_HERE 32

uint64_t value_hash(tn_value value) {
    struct frame here[FRAMES_HERE], *frames = here;
    size_t depth = 0, capacity = FRAMES_HERE;
    uint64_t hash;
    for (;;) {
        int kind = value_kind(value);
        if (kind >= TN_ARRAY) {
            MEM_GROW_FROM(frames, here, depth, capacity);
            frames[depth++] = (struct frame){value, 0, hash_mix(FIXED_SEED + (uint64_t)kind, value_count(value))};
        } else {
            hash = hash_scalar(value, kind);
            if (depth == 0) break;
            goto fold;
        }
        for (;;) {
            struct frame *top = &frames[depth - 1];
            if (top->next < value_count(top->container)) {
                value = value_is(top->container, TN_ARRAY) ? value_at(top->container, top->next)
                                                           : value_value_at(top->container, top->next);
                break;
            }
            hash = hash_mix(top->hash, FIXED_SEED);
            if (--depth == 0) goto out;
        fold:
            top = &frames[depth - 1];
            if (value_is(top->container, TN_ARRAY)) {
                top->hash = hash_mix(top->hash, hash);
            } else { /* a sum, because the order of keys does not matter */
                tn_value key = value_key_at(top->container, top->next);
                top->hash += hash_mix(hash_scalar(key, TN_STRING), hash);
            }
            top->next++;
        }
    }
out:
    if (frames != here) mem_free(frames);
    return hash;
}
