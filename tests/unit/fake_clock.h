/*
 * fake_clock.h - fake_core.h with a clock that only moves when a test advances it, and functions that are posted.
 *
 *     fake_clock_open();
 *     advance_clock(1000);   // calls what is due within a second, in order
 */
#ifndef TENON_TESTS_FAKE_CLOCK_H
#define TENON_TESTS_FAKE_CLOCK_H

#include "tests/unit/fake_core.h"

#define FAKE_POSTS 16

static struct {
    uint64_t id, due;
    void (*function)(void *argument);
    void *argument;
} posts[FAKE_POSTS];
static uint64_t now, next_post; /* now: milliseconds */

static int64_t fake_monotonic_ns(const tn_host *host) {
    (void)host;
    return (int64_t)now * 1000000;
}
static int32_t fake_post(const tn_host *host, uint64_t delay, void TN_FN(function)(void *argument),
                         void TN_FN(drop)(void *argument), void *argument, uint64_t *id) {
    (void)host, (void)drop;
    for (size_t i = 0; i < FAKE_POSTS; i++) {
        if (posts[i].id != 0) continue;
        posts[i].id = ++next_post;
        posts[i].due = now + delay;
        posts[i].function = function;
        posts[i].argument = argument;
        if (id != NULL) *id = next_post;
        return TN_OK;
    }
    return TN_LIMIT;
}
static int32_t fake_unpost(const tn_host *host, uint64_t id) {
    (void)host;
    for (size_t i = 0; i < FAKE_POSTS; i++) {
        if (posts[i].id != id) continue;
        posts[i].id = 0;
        return TN_OK;
    }
    return TN_NOT_FOUND;
}

static inline void advance_clock(uint64_t ms) {
    for (uint64_t until = now + ms;;) {
        size_t next = FAKE_POSTS;
        for (size_t i = 0; i < FAKE_POSTS; i++)
            if (posts[i].id != 0 && posts[i].due <= until && (next == FAKE_POSTS || posts[i].due < posts[next].due))
                next = i;
        if (next == FAKE_POSTS) {
            now = until;
            return;
        }
        if (posts[next].due > now) now = posts[next].due;
        posts[next].id = 0;
        posts[next].function(posts[next].argument);
    }
}

static const tn_core_1 fake_clock = {.size = sizeof(tn_core_1),
                                     .wall_ms = fake_wall_ms,
                                     .monotonic_ns = fake_monotonic_ns,
                                     .log = fake_log,
                                     .alloc = fake_alloc,
                                     .resize = fake_resize,
                                     .release = fake_release,
                                     .post = fake_post,
                                     .unpost = fake_unpost};

static inline void fake_clock_open(void) {
    tn.core = &fake_clock;
    tn.value = &interface_value;
}

#endif
