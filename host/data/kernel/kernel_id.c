/*
 * kernel_id.c - ids that sort by time, and tokens that cannot be guessed.
 */
#include "adl/value/memory.h"
#include "host/base/random.h"
#include "host/data/kernel/kernel_request.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Milliseconds and a counter of 12 bits, as one number that never decreases within this process. */
static uint64_t next_stamp(int64_t now_ms, uint64_t start) {
    static _Atomic uint64_t last;
    uint64_t before = atomic_load(&last), stamp;
    do {
        stamp = (uint64_t)(now_ms < 0 ? 0 : now_ms) << 12 | start;
        if (stamp >> 12 <= before >> 12) stamp = before + 1;
    } while (!atomic_compare_exchange_weak(&last, &before, stamp));
    return stamp;
}

void kernel_id_make(int64_t now_ms, char out[KERNEL_ID_TEXT]) {
    uint64_t random[2];
    random_fill(random, sizeof random);
    /* Start in the lower half of the counter, so that it can count further ids of the same millisecond. */
    uint64_t stamp = next_stamp(now_ms, random[0] & 0x7ff);
    uint64_t high = stamp >> 12 << 16 | 0x7000 | (stamp & 0xfff);
    uint64_t low = (random[1] & 0x3fffffffffffffff) | 0x8000000000000000;
    snprintf(out, KERNEL_ID_TEXT, "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64, high >> 32,
             high >> 16 & 0xffff, high & 0xffff, low >> 48, low & 0xffffffffffff);
}

void request_id_make(const struct request *request, char out[REQUEST_ID_TEXT]) {
    owner_prefix(request->owner, out);
    kernel_id_make(request->now_ms, out + strlen(out));
}

void kernel_token_make(char out[33]) {
    uint64_t random[2];
    random_fill(random, sizeof random);
    snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}
