/*
 * abi_poll.c - tenon.poll: libuv watches a plugin's descriptors on the loop.
 *
 * Each plugin has a table of its watches, used only by the loop's thread. The number of a watch consists of the
 * plugin's number, the index in the table, and how often that entry was used: it never denotes another plugin's watch
 * or an old one. The handles are unreferenced, so they do not keep the loop from ending; loop_watch makes it poll them
 * anyway. Unwatching removes a watch from the table at once; libuv owns its memory until the handle is closed.
 */
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/plugin.h"
#include <uv.h>

#define WATCHES_MAX 65536u /* maximum for one plugin; an index has 16 bits of a number */
#define BOTH        (TN_POLL_READ | TN_POLL_WRITE)

struct poll_watch {
    uv_poll_t poll; /* first: on_poll_closed frees it */
    struct loop *loop;
    int32_t events;
    tn_poll_ready ready;
    void *user;
    const struct plugin *plugin;
};

struct poll_entry {
    struct poll_watch *watch; /* NULL if the entry is free */
    uint32_t uses;            /* 24 bits of a number */
    uint32_t next_free;       /* the index of an entry + 1 */
};

struct poll_watches {
    struct poll_entry *entries;
    uint32_t count, capacity;
    uint32_t live;       /* entries with a watch */
    uint32_t first_free; /* index + 1, or 0 */
};

static struct loop *poll_loop(struct plugin *plugin) { return plugin ? registry_loop(plugin_registry(plugin)) : NULL; }

/* ---- Numbers ---- */

static uint64_t poll_number(const struct plugin *plugin, const struct poll_watches *watches, uint32_t index) {
    return (uint64_t)(plugin_number(plugin) & 0xffffff) << 40 | (uint64_t)watches->entries[index].uses << 16 | index;
}

static struct poll_entry *poll_lookup(struct plugin *plugin, uint64_t number) {
    struct poll_watches *watches = *plugin_watches(plugin);
    uint32_t index = (uint32_t)(number & 0xffff);
    if (!watches || index >= watches->count || !watches->entries[index].watch) return NULL;
    return poll_number(plugin, watches, index) == number ? &watches->entries[index] : NULL;
}

static struct poll_entry *poll_take_entry(struct poll_watches *watches) {
    struct poll_entry *entry;
    if (watches->first_free) {
        entry = &watches->entries[watches->first_free - 1];
        watches->first_free = entry->next_free;
    } else {
        MEM_GROW(watches->entries, watches->count, watches->capacity);
        entry = &watches->entries[watches->count++];
        entry->uses = 0;
    }
    entry->uses = entry->uses < 0xffffff ? entry->uses + 1 : 1;
    watches->live++;
    return entry;
}

/* ---- Handles ---- */

static int uv_events(int32_t events) {
    int flags = (events & TN_POLL_READ ? UV_READABLE : 0) | (events & TN_POLL_WRITE ? UV_WRITABLE : 0);
    /* A plugin that only writes may continue after the peer has finished sending. */
    return events == TN_POLL_WRITE ? flags : flags | UV_DISCONNECT;
}

static void on_poll_ready(uv_poll_t *poll, int status, int events) {
    struct poll_watch *watch = (struct poll_watch *)poll;
    int32_t ready = (events & UV_READABLE ? TN_POLL_READ : 0) | (events & UV_WRITABLE ? TN_POLL_WRITE : 0) |
                    (events & UV_DISCONNECT ? TN_POLL_CLOSED : 0);
    if (status < 0) {
        /* libuv has stopped the handle. Report every event: the next read or write returns the error. */
        ready = watch->events | TN_POLL_CLOSED;
        uv_poll_start(poll, uv_events(watch->events), on_poll_ready);
    }
    const struct plugin *plugin = watch->plugin;
    void *before = interface_enter(plugin);
    watch->ready(watch->user, ready);
    interface_leave(plugin, before);
}

static void on_poll_closed(uv_handle_t *handle) { mem_free(handle); }

static void poll_end(struct poll_watches *watches, struct poll_entry *entry) {
    struct poll_watch *watch = entry->watch;
    loop_watch(watch->loop, false);
    uv_close((uv_handle_t *)&watch->poll, on_poll_closed);
    entry->watch = NULL;
    entry->next_free = watches->first_free;
    watches->first_free = (uint32_t)(entry - watches->entries) + 1;
    watches->live--;
}

/* ---- The interface ---- */

static int32_t poll_watch(const tn_host *host, int32_t descriptor, int32_t events, tn_poll_ready ready, void *user,
                          uint64_t *number) {
    struct plugin *plugin = plugin_of(host);
    struct loop *loop = poll_loop(plugin);
    if (!loop || descriptor < 0 || (events & ~BOTH) || !ready || !number) return TN_INVALID;
    if (!loop_here(loop)) return TN_WRONG_THREAD;
    struct poll_watches **place = plugin_watches(plugin);
    if (*place && (*place)->live == WATCHES_MAX) return TN_LIMIT;
    struct poll_watch *watch = mem_zalloc(sizeof *watch);
    int failed = uv_poll_init(loop_uv(loop), &watch->poll, descriptor);
    if (failed) { /* libuv has not registered the handle */
        mem_free(watch);
        return failed == UV_EPERM ? TN_UNSUPPORTED : TN_INVALID;
    }
    uv_unref((uv_handle_t *)&watch->poll);
    watch->plugin = plugin;
    watch->loop = loop;
    watch->events = events;
    watch->ready = ready;
    watch->user = user;
    uv_poll_start(&watch->poll, uv_events(events), on_poll_ready);
    if (!*place) *place = mem_zalloc(sizeof **place);
    struct poll_entry *entry = poll_take_entry(*place);
    entry->watch = watch;
    loop_watch(loop, true);
    *number = poll_number(plugin, *place, (uint32_t)(entry - (*place)->entries));
    return TN_OK;
}

static int32_t poll_change(const tn_host *host, uint64_t number, int32_t events) {
    struct plugin *plugin = plugin_of(host);
    struct loop *loop = poll_loop(plugin);
    if (!loop || (events & ~BOTH)) return TN_INVALID;
    if (!loop_here(loop)) return TN_WRONG_THREAD;
    struct poll_entry *entry = poll_lookup(plugin, number);
    if (!entry) return TN_NOT_FOUND;
    if (entry->watch->events == events) return TN_OK;
    entry->watch->events = events;
    uv_poll_start(&entry->watch->poll, uv_events(events), on_poll_ready);
    return TN_OK;
}

static int32_t poll_unwatch(const tn_host *host, uint64_t number) {
    struct plugin *plugin = plugin_of(host);
    struct loop *loop = poll_loop(plugin);
    if (!loop) return TN_INVALID;
    if (!loop_here(loop)) return TN_WRONG_THREAD;
    struct poll_entry *entry = poll_lookup(plugin, number);
    if (!entry) return TN_NOT_FOUND;
    poll_end(*plugin_watches(plugin), entry);
    return TN_OK;
}

void interface_poll_ended(struct plugin *plugin) {
    struct poll_watches **place = plugin_watches(plugin), *watches = *place;
    if (!watches) return;
    for (uint32_t i = 0; i < watches->count; i++)
        if (watches->entries[i].watch) poll_end(watches, &watches->entries[i]);
    mem_free(watches->entries);
    mem_free(watches);
    *place = NULL;
}

const tn_poll_1 interface_poll = {
    .size = sizeof(tn_poll_1), .watch = poll_watch, .change = poll_change, .unwatch = poll_unwatch};
