/*
 * abi_core.c - tenon.core/1: log, clocks, a plugin's memory, and posting a call to the loop.
 *
 * A posted call is a record in a table, by id, so that it can be cancelled. It is sent to the loop's thread as work
 * (from any thread, in order); if it has a delay, it waits there as a timer. Memory is counted per plugin: each block
 * stores its size in front.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/secrets/secrets.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_builder.h"
#include "host/plugin/registry/plugin.h"
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEMORY_MAX (1ull << 40) /* bytes of one block */
#define POSTS_MAX  (1u << 20)   /* pending posted calls in the process */

static struct loop *core_loop(const tn_host *host) {
    struct plugin *plugin = plugin_of(host);
    return plugin ? registry_loop(plugin_registry(plugin)) : NULL;
}

/* ---- Check mode ---- */

void *interface_enter(const struct plugin *plugin) {
    const struct registry_watch *watch = registry_watch(plugin_registry(plugin));
    return watch ? watch->enter(plugin) : NULL;
}

void interface_leave(const struct plugin *plugin, void *before) {
    const struct registry_watch *watch = registry_watch(plugin_registry(plugin));
    if (watch) watch->leave(before);
}

/* ---- Log and clocks ---- */

static void core_log(const tn_host *host, int32_t level, const char *message, uint64_t length) {
    const struct plugin *plugin = plugin_of(host);
    struct secrets *secrets = plugin ? registry_secrets(plugin_registry(plugin)) : NULL;
    char *line = mem_text_n(message ? message : "", message ? abi_text_length(message, length) : 0);
    char *safe = secrets ? secrets_scrub_line(secrets, line) : NULL;
    const struct loop *loop = core_loop(host);
    log_write_to(loop ? loop_log(loop) : log_current(), level, plugin ? plugin_id(plugin) : "?", "%s",
                 safe ? safe : line);
    mem_free(safe);
    mem_free(line);
}

static int64_t core_wall_ms(const tn_host *host) {
    struct loop *loop = core_loop(host);
    return loop ? loop_wall_ms(loop) : 0;
}

static int64_t core_monotonic_ns(const tn_host *host) {
    struct timespec now;
    (void)host;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Memory ---- */

union memory_block {
    uint64_t size;
    _Alignas(16) char aligned[16]; /* the plugin's memory follows, aligned like malloc's */
};

static void core_count_memory(const tn_host *host, uint64_t add, uint64_t take) {
    struct plugin *plugin = plugin_of(host);
    if (!plugin) return;
    atomic_fetch_add_explicit(plugin_memory(plugin), add - take, memory_order_relaxed);
}

static void *core_resize(const tn_host *host, void *memory, uint64_t size) {
    if (size > MEMORY_MAX) return NULL;
    union memory_block *block = memory ? (union memory_block *)memory - 1 : NULL;
    uint64_t before = block ? block->size : 0;
    union memory_block *grown = realloc(block, sizeof *grown + (size_t)size);
    if (!grown) return NULL;
    grown->size = size;
    core_count_memory(host, size, before);
    return grown + 1;
}

static void *core_alloc(const tn_host *host, uint64_t size) { return core_resize(host, NULL, size); }

static void core_free(const tn_host *host, void *memory) {
    if (!memory) return;
    union memory_block *block = (union memory_block *)memory - 1;
    core_count_memory(host, 0, block->size);
    free(block);
}

/* ---- Posting ---- */

struct post {
    struct loop_work work;
    struct loop_timer timer;
    struct loop *loop;
    struct plugin *plugin;
    int64_t delay_ms;
    void TN_FN(function)(void *argument);
    void TN_FN(drop)(void *argument); /* may be NULL */
    void *argument;
    uint64_t id;
    bool cancelled; /* used only by the loop's thread */
    struct post *next_free;
};

/*
 * The table of posted calls. Process-wide, because a plugin's thread may post while the loop of another host uses the
 * table. The mutex guards every field, and `id`, `plugin`, `function` and `next_free` of each post.
 */
static struct {
    pthread_mutex_t mutex;
    struct post *chunks[POSTS_MAX / 1024]; /* chunks have 1024 posts each and are never freed */
    uint32_t count;
    struct post *free;
} posts = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The post of an index, or NULL. Requires the mutex. */
static struct post *post_at(uint32_t index) {
    return index < posts.count ? &posts.chunks[index / 1024][index % 1024] : NULL;
}

/* A post with the contents of `init`, complete before interface_core_ended can see it; NULL if there are too many. */
static struct post *post_take(const struct post *init) {
    pthread_mutex_lock(&posts.mutex);
    if (!posts.free && posts.count < POSTS_MAX) {
        struct post *chunk = mem_zalloc(1024 * sizeof *chunk);
        posts.chunks[posts.count / 1024] = chunk;
        for (uint32_t i = 0; i < 1024; i++) {
            chunk[i].id = (uint64_t)1 << 32 | (posts.count + i + 1);
            chunk[i].next_free = posts.free;
            posts.free = &chunk[i];
        }
        posts.count += 1024;
    }
    struct post *post = posts.free;
    if (post) {
        uint64_t id = post->id;
        posts.free = post->next_free;
        *post = *init;
        post->id = id;
        plugin_ref(post->plugin);
    }
    pthread_mutex_unlock(&posts.mutex);
    return post;
}

static void post_free(struct post *post) {
    if (post->plugin) plugin_unref(post->plugin);
    loop_unexpect(post->loop);
    pthread_mutex_lock(&posts.mutex);
    post->id += (uint64_t)1 << 32;
    post->plugin = NULL;
    post->function = NULL;
    post->next_free = posts.free;
    posts.free = post;
    pthread_mutex_unlock(&posts.mutex);
}

static void post_run(struct post *post) {
    void TN_FN(function)(void *) = post->cancelled ? NULL : post->function;
    void *argument = post->argument;
    const struct plugin *plugin = post->plugin;
    post_free(post);
    if (!function) return;
    void *before = interface_enter(plugin);
    function(argument);
    interface_leave(plugin, before);
}

/* Calls `drop` instead of the function, once. */
static void post_drop(struct post *post, const struct plugin *plugin) {
    void TN_FN(drop)(void *) = post->drop;
    post->drop = NULL;
    if (!drop) return;
    void *before = interface_enter(plugin);
    drop(post->argument);
    interface_leave(plugin, before);
}

static void on_post_due(struct loop_timer *timer) { post_run(CONTAINER_OF(timer, struct post, timer)); }

static void on_post_arrived(struct loop_work *work) {
    struct post *post = (struct post *)work;
    loop_expect(post->loop); /* the loop now waits for the post; before, the poster held the loop */
    loop_release(post->loop);
    if (post->delay_ms && !post->cancelled)
        loop_timer_start(post->loop, &post->timer, post->delay_ms, on_post_due);
    else
        post_run(post);
}

static int32_t core_post(const tn_host *host, uint64_t delay_ms, void TN_FN(function)(void *argument),
                         void TN_FN(drop)(void *argument), void *argument, uint64_t *id) {
    struct loop *loop = core_loop(host);
    if (!loop || !function) return TN_INVALID;
    struct post *post = post_take(&(struct post){.work = {.run = on_post_arrived},
                                                 .loop = loop,
                                                 .plugin = plugin_of(host),
                                                 .delay_ms = delay_ms > INT64_MAX ? INT64_MAX : (int64_t)delay_ms,
                                                 .function = function,
                                                 .drop = drop,
                                                 .argument = argument});
    if (!post) return TN_LIMIT;
    if (id) *id = post->id;
    loop_hold(loop);              /* the loop must not end, and a fake clock must not jump, before the post arrives */
    loop_post(loop, &post->work); /* on every thread: one queue keeps the order of posting */
    return TN_OK;
}

static int32_t core_unpost(const tn_host *host, uint64_t id) {
    struct loop *loop = core_loop(host);
    uint32_t index = (uint32_t)id - 1;
    if (!loop || !loop_here(loop)) return TN_WRONG_THREAD;
    pthread_mutex_lock(&posts.mutex);
    struct post *found = post_at(index);
    bool live = found && found->id == id && found->function && found->loop == loop && !found->cancelled;
    pthread_mutex_unlock(&posts.mutex);
    if (!live) return TN_NOT_FOUND;
    found->cancelled = true;
    post_drop(found, plugin_of(host));
    if (loop_timer_is_running(&found->timer)) {
        loop_timer_stop(loop, &found->timer);
        post_free(found);
    }
    return TN_OK;
}

/* Cancels posts that the plugin made while it ended, or from threads that still run: its code must not be called. */
void interface_core_ended(struct plugin *plugin) {
    for (uint32_t i = 0;; i++) {
        pthread_mutex_lock(&posts.mutex);
        struct post *left = post_at(i);
        bool of_plugin = left && left->plugin == plugin;
        if (of_plugin) left->plugin = NULL;
        pthread_mutex_unlock(&posts.mutex);
        if (!left) return;
        if (!of_plugin) continue;
        plugin_unref(plugin);
        if (!left->cancelled) post_drop(left, plugin);
        left->cancelled = true;
        if (!loop_timer_is_running(&left->timer)) continue; /* on_post_arrived frees it */
        loop_timer_stop(left->loop, &left->timer);
        post_free(left);
    }
}

/* ---- Refusing ---- */

static int32_t core_refuse(const tn_host *host, tn_value error) {
    struct plugin *plugin = plugin_of(host);
    const struct loop *loop = core_loop(host);
    if (!plugin || !error) return TN_INVALID;
    return loop && !loop_here(loop) ? TN_WRONG_THREAD : plugin_note_refusal(plugin, error);
}

const tn_core_1 interface_core = {.size = sizeof(tn_core_1),
                                  .log = core_log,
                                  .wall_ms = core_wall_ms,
                                  .monotonic_ns = core_monotonic_ns,
                                  .alloc = core_alloc,
                                  .resize = core_resize,
                                  .release = core_free,
                                  .post = core_post,
                                  .unpost = core_unpost,
                                  .refuse = core_refuse};
