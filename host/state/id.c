/*
 * id.c - ids that sort by time, tokens that cannot be guessed, and times as text.
 */
#include "adl/value/memory.h"
#include "host/state/request.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* What ids are made of must differ from those of every other process: without randomness there is no going on. */
static void fill_random(void *bytes, size_t length) {
    if (getrandom(bytes, length, 0) == (ssize_t)length) return;
    fputs("tenon: the system gives no random numbers\n", stderr);
    abort();
}

/* Milliseconds and a counter of 12 bits, as one number that only grows. */
static uint64_t next_stamp(int64_t now_ms, uint64_t start) {
    static _Atomic uint64_t last;
    uint64_t before = atomic_load(&last), stamp;
    do {
        stamp = (uint64_t)(now_ms < 0 ? 0 : now_ms) << 12 | start;
        if (stamp >> 12 <= before >> 12) stamp = before + 1;
    } while (!atomic_compare_exchange_weak(&last, &before, stamp));
    return stamp;
}

void id_make(int64_t now_ms, char out[ID_TEXT]) {
    uint64_t random[2];
    fill_random(random, sizeof random);
    /* Half the counter is left for more of the same millisecond. */
    uint64_t stamp = next_stamp(now_ms, random[0] & 0x7ff);
    uint64_t high = stamp >> 12 << 16 | 0x7000 | (stamp & 0xfff);
    uint64_t low = (random[1] & 0x3fffffffffffffff) | 0x8000000000000000;
    snprintf(out, ID_TEXT, "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64, high >> 32,
             high >> 16 & 0xffff, high & 0xffff, low >> 48, low & 0xffffffffffff);
}

void token_make(char out[33]) {
    uint64_t random[2];
    fill_random(random, sizeof random);
    snprintf(out, 33, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

void time_text(int64_t ms, char out[TIME_TEXT]) {
    int64_t part = ms % 1000;
    if (part < 0) part += 1000;
    time_t seconds = (time_t)((ms - part) / 1000);
    struct tm parts;
    if (!gmtime_r(&seconds, &parts)) memset(&parts, 0, sizeof parts);
    char day[24];
    if (!strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts)) day[0] = 0;
    snprintf(out, TIME_TEXT, "%s.%03dZ", day, (int)part);
}

tn_value time_value(int64_t ms) {
    char text[TIME_TEXT];
    time_text(ms, text);
    return value_text(text);
}
