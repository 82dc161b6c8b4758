/*
 * core.c - tenon.core/1: log, clocks, the plugin's memory, and the way back onto the loop.
 *
 * A posted call is a record in a table, by id, so that it can be taken back: it travels to the loop's thread as work
 * (from any thread, in order) and, where it has a delay, waits there as a timer. Memory is counted per plugin: each
 * block carries its size in front.
 */
#include "adl/value/memory.h"
#include "host/host.h"
#include "host/http/http.h"
#include "host/interface/interface.h"
#include "host/log.h"
#include "host/loop/loop.h"
#include "host/plugin/plugin.h"
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEMORY_MAX (1ull << 40) /* bytes of one block */
#define POSTS_MAX  (1u << 20)   /* posted calls waiting at once, in the process */

static struct loop *loop_of(const tn_host *host) {
    struct plugin *plugin = plugin_of(host);
    struct host *owner = plugin ? registry_user(plugin_registry(plugin)) : NULL;
    return owner ? owner->loop : NULL;
}

/* ---- Log and clocks ---- */

static void log_line(const tn_host *host, int32_t level, const char *message) {
    const struct plugin *plugin = plugin_of(host);
    const struct host *owner = plugin ? registry_user(plugin_registry(plugin)) : NULL;
    char *safe = owner && message ? http_scrub_line(owner->http, message) : NULL;
    log_write(level, plugin ? plugin_id(plugin) : "?", "%s", safe ? safe : message ? message : "");
    mem_free(safe);
}

static int64_t wall_ms(const tn_host *host) {
    struct loop *loop = loop_of(host);
    return loop ? loop_wall_ms(loop) : 0;
}

static int64_t monotonic_ns(const tn_host *host) {
    struct timespec now;
    (void)host;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Memory ---- */

union block {
    uint64_t size;
    _Alignas(16) char aligned[16]; /* what follows is aligned as malloc's is */
};

static void account(const tn_host *host, uint64_t add, uint64_t take) {
    struct plugin *plugin = plugin_of(host);
    if (!plugin) return;
    atomic_fetch_add_explicit(plugin_memory(plugin), add - take, memory_order_relaxed);
}

static void *resize(const tn_host *host, void *memory, uint64_t size) {
    if (size > MEMORY_MAX) return NULL;
    union block *block = memory ? (union block *)memory - 1 : NULL;
    uint64_t before = block ? block->size : 0;
    union block *grown = realloc(block, sizeof *grown + (size_t)size);
    if (!grown) return NULL;
    grown->size = size;
    account(host, size, before);
    return grown + 1;
}

static void *alloc(const tn_host *host, uint64_t size) { return resize(host, NULL, size); }

static void release(const tn_host *host, void *memory) {
    if (!memory) return;
    union block *block = (union block *)memory - 1;
    account(host, 0, block->size);
    free(block);
}

/* ---- Posting ---- */

struct post {
    struct loop_work work;
    struct loop_timer timer;
    struct loop *loop;
    struct plugin *plugin;
    int64_t delay_ms;
    void (*function)(void *argument);
    void *argument;
    uint64_t id;
    bool taken_back; /* the loop's thread alone looks at it */
    struct post *next_free;
};

static pthread_mutex_t posts_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct post *posts[POSTS_MAX / 1024]; /* chunks of 1024, never freed */
static uint32_t post_count;
static struct post *free_posts;

/* All of it is there, for interface_core_ended, before the table can be looked at again. */
static struct post *post_take(const struct post *as) {
    pthread_mutex_lock(&posts_mutex);
    if (!free_posts && post_count < POSTS_MAX) {
        struct post *chunk = mem_zalloc(1024 * sizeof *chunk);
        posts[post_count / 1024] = chunk;
        for (uint32_t i = 0; i < 1024; i++) {
            chunk[i].id = (uint64_t)1 << 32 | (post_count + i + 1);
            chunk[i].next_free = free_posts;
            free_posts = &chunk[i];
        }
        post_count += 1024;
    }
    struct post *post = free_posts;
    if (post) {
        uint64_t id = post->id;
        free_posts = post->next_free;
        *post = *as;
        post->id = id;
        plugin_ref(post->plugin);
    }
    pthread_mutex_unlock(&posts_mutex);
    return post;
}

static void post_give(struct post *post) {
    if (post->plugin) plugin_unref(post->plugin);
    loop_unexpect(post->loop);
    pthread_mutex_lock(&posts_mutex);
    post->id += (uint64_t)1 << 32;
    post->plugin = NULL;
    post->function = NULL;
    post->next_free = free_posts;
    free_posts = post;
    pthread_mutex_unlock(&posts_mutex);
}

static void post_run(struct post *post) {
    void (*function)(void *) = post->taken_back ? NULL : post->function;
    void *argument = post->argument;
    const struct plugin *plugin = post->plugin;
    post_give(post);
    if (!function) return;
    void *before = interface_enter(plugin);
    function(argument);
    interface_leave(before);
}

static void post_due(struct loop_timer *timer) {
    post_run((struct post *)(void *)((char *)timer - offsetof(struct post, timer)));
}

static void post_arrived(struct loop_work *work) {
    struct post *post = (struct post *)work;
    loop_expect(post->loop); /* from here on it is the loop's own affair, not its poster's */
    loop_release(post->loop);
    if (post->delay_ms && !post->taken_back)
        loop_timer_start(post->loop, &post->timer, post->delay_ms, post_due);
    else
        post_run(post);
}

static uint64_t post(const tn_host *host, uint64_t delay_ms, void (*function)(void *argument), void *argument) {
    struct loop *loop = loop_of(host);
    if (!loop || !function) return 0;
    struct post *made = post_take(&(struct post){.work = {.run = post_arrived},
                                                 .loop = loop,
                                                 .plugin = plugin_of(host),
                                                 .delay_ms = delay_ms > INT64_MAX ? INT64_MAX : (int64_t)delay_ms,
                                                 .function = function,
                                                 .argument = argument});
    if (!made) return 0;
    uint64_t id = made->id;
    loop_hold(loop); /* it must arrive before the loop may think itself done, or a fake clock jump */
    if (loop_here(loop))
        loop_defer(loop, &made->work);
    else
        loop_post(loop, &made->work);
    return id;
}

static int32_t unpost(const tn_host *host, uint64_t id) {
    struct loop *loop = loop_of(host);
    uint32_t index = (uint32_t)id - 1;
    if (!loop || !loop_here(loop)) return TN_WRONG_THREAD;
    pthread_mutex_lock(&posts_mutex);
    struct post *found = index < post_count ? &posts[index / 1024][index % 1024] : NULL;
    bool live = found && found->id == id && found->function && found->loop == loop && !found->taken_back;
    pthread_mutex_unlock(&posts_mutex);
    if (!live) return TN_NOT_FOUND;
    found->taken_back = true;
    if (found->timer.index) {
        loop_timer_stop(loop, &found->timer);
        post_give(found);
    }
    return TN_OK;
}

/* What it posted while it ended, or from threads that it left behind, is never run: its code takes no more calls. */
void interface_core_ended(struct plugin *plugin) {
    for (uint32_t i = 0;; i++) {
        pthread_mutex_lock(&posts_mutex);
        struct post *left = i < post_count ? &posts[i / 1024][i % 1024] : NULL;
        bool its = left && left->plugin == plugin;
        if (its) left->plugin = NULL;
        pthread_mutex_unlock(&posts_mutex);
        if (!left) return;
        if (!its) continue;
        plugin_unref(plugin);
        left->taken_back = true;
        if (!left->timer.index) continue; /* it is still on its way, and let go of when it arrives */
        loop_timer_stop(left->loop, &left->timer);
        post_give(left);
    }
}

const tn_core_1 interface_core = {sizeof(tn_core_1), 0,    log_line, wall_ms, monotonic_ns, alloc, resize,
                                  release,           post, unpost};
