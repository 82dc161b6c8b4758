/*
 * fake_core.h - `tn` for programs that call parts of a plugin without a host: the host's values, memory that is counted
 * and can fail, a clock that stands still. Each program includes it once; fake_host.h runs whole components instead.
 *
 *     fake_core_open();
 *     fails_at = 1;         // the next allocation fails
 *     assert(blocks == 0);  // nothing was leaked
 */
#ifndef TENON_TESTS_FAKE_CORE_H
#define TENON_TESTS_FAKE_CORE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tenon/easy.h>

extern const tn_value_1 interface_value; /* not host/plugin/abi/abi.h, whose names conflict with easy.h */

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

static int64_t blocks, fails_at; /* that are allocated; fails_at: 1 is the next, 0 none */
static char logged[4096];        /* the last message */

static void *fake_resize(const tn_host *host, void *memory, uint64_t size) {
    (void)host;
    if (fails_at > 0 && --fails_at == 0) return NULL;
    blocks += memory == NULL;
    return realloc(memory, size > 0 ? size : 1);
}
static void *fake_alloc(const tn_host *host, uint64_t size) { return fake_resize(host, NULL, size); }
static void fake_release(const tn_host *host, void *memory) {
    (void)host;
    blocks -= memory != NULL;
    free(memory);
}
static int64_t fake_wall_ms(const tn_host *host) {
    (void)host;
    return 1795687200000;
}
static void fake_log(const tn_host *host, int32_t level, const char *message, uint64_t length) {
    (void)host, (void)level;
    (void)snprintf(logged, sizeof logged, "%.*s", length == TN_Z ? (int)sizeof logged - 1 : (int)length, message);
}

static const tn_core_1 fake_core = {.size = sizeof(tn_core_1),
                                    .wall_ms = fake_wall_ms,
                                    .log = fake_log,
                                    .alloc = fake_alloc,
                                    .resize = fake_resize,
                                    .release = fake_release};

static inline void fake_core_open(void) {
    tn.core = &fake_core;
    tn.value = &interface_value;
}

#endif
