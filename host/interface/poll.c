/*
 * poll.c - tenon.poll: descriptors of a plugin's, watched by libuv on the loop.
 *
 * Each plugin has a table of its watches, which the loop's thread alone looks at; a number has the plugin's, the slot's
 * and how often the slot was used in it, so that neither another plugin's nor an old one is ever taken for one of
 * these. The handles are unreferenced: they keep no loop from ending (loop_watch makes it look at them all the same).
 * A handle's memory is libuv's until it is closed; what is unwatched is out of the table at once.
 */
#include "adl/value/memory.h"
#include "host/host.h"
#include "host/interface/interface.h"
#include "host/loop/loop.h"
#include "host/plugin/plugin.h"
#include <uv.h>

#define WATCHES_MAX 65536u /* of one plugin; a slot has 16 bits of a number */
#define BOTH        (TN_POLL_READ | TN_POLL_WRITE)

struct watch {
    uv_poll_t poll; /* first: freed as what libuv closes */
    struct loop *loop;
    int32_t events;
    tn_poll_ready ready;
    void *user;
    const struct plugin *plugin;
};

struct slot {
    struct watch *watch; /* NULL: free */
    uint32_t uses;       /* 24 bits of a number */
    uint32_t next_free;  /* a slot's index + 1 */
};

struct watches {
    struct slot *slots;
    uint32_t count, capacity, live;
    uint32_t first_free; /* index + 1; 0: none */
};

static struct loop *loop_of(struct plugin *plugin) {
    struct host *owner = plugin ? registry_user(plugin_registry(plugin)) : NULL;
    return owner ? owner->loop : NULL;
}

/* ---- Numbers ---- */

static uint64_t number_of(const struct plugin *plugin, const struct watches *watches, uint32_t index) {
    return (uint64_t)(plugin_number(plugin) & 0xffffff) << 40 | (uint64_t)watches->slots[index].uses << 16 | index;
}

static struct slot *find(struct plugin *plugin, uint64_t number) {
    struct watches *watches = *plugin_watches(plugin);
    uint32_t index = (uint32_t)(number & 0xffff);
    if (!watches || index >= watches->count || !watches->slots[index].watch) return NULL;
    return number_of(plugin, watches, index) == number ? &watches->slots[index] : NULL;
}

static struct slot *take(struct watches *watches) {
    struct slot *slot;
    if (watches->first_free) {
        slot = &watches->slots[watches->first_free - 1];
        watches->first_free = slot->next_free;
    } else {
        if (watches->count == watches->capacity) {
            watches->capacity = watches->capacity ? watches->capacity * 2 : 8;
            watches->slots = mem_array(watches->slots, watches->capacity, sizeof *watches->slots);
        }
        slot = &watches->slots[watches->count++];
        slot->uses = 0;
    }
    slot->uses = slot->uses < 0xffffff ? slot->uses + 1 : 1;
    watches->live++;
    return slot;
}

/* ---- Handles ---- */

static int uv_events(int32_t events) {
    int wanted = (events & TN_POLL_READ ? UV_READABLE : 0) | (events & TN_POLL_WRITE ? UV_WRITABLE : 0);
    /* Who only writes to one that has said all it wanted to is not done yet. */
    return events == TN_POLL_WRITE ? wanted : wanted | UV_DISCONNECT;
}

static void on_ready(uv_poll_t *poll, int status, int events) {
    struct watch *watch = (struct watch *)poll;
    int32_t can = (events & UV_READABLE ? TN_POLL_READ : 0) | (events & UV_WRITABLE ? TN_POLL_WRITE : 0) |
                  (events & UV_DISCONNECT ? TN_POLL_CLOSED : 0);
    if (status < 0) {
        /* libuv has stopped it: whatever is tried now ends at once, and says why. */
        can = watch->events | TN_POLL_CLOSED;
        uv_poll_start(poll, uv_events(watch->events), on_ready);
    }
    void *before = interface_enter(watch->plugin);
    watch->ready(watch->user, can);
    interface_leave(before);
}

static void on_closed(uv_handle_t *handle) { mem_free(handle); }

static void end(struct watches *watches, struct slot *slot) {
    struct watch *watch = slot->watch;
    loop_watch(watch->loop, false);
    uv_close((uv_handle_t *)&watch->poll, on_closed);
    slot->watch = NULL;
    slot->next_free = watches->first_free;
    watches->first_free = (uint32_t)(slot - watches->slots) + 1;
    watches->live--;
}

/* ---- The interface ---- */

static int32_t watch(const tn_host *host, int32_t descriptor, int32_t events, tn_poll_ready ready, void *user,
                     uint64_t *number) {
    struct plugin *plugin = plugin_of(host);
    struct loop *loop = loop_of(plugin);
    if (!loop || descriptor < 0 || (events & ~BOTH) || !ready || !number) return TN_INVALID;
    if (!loop_here(loop)) return TN_WRONG_THREAD;
    struct watches **place = plugin_watches(plugin);
    if (*place && (*place)->live == WATCHES_MAX) return TN_LIMIT;
    struct watch *made = mem_zalloc(sizeof *made);
    int failed = uv_poll_init(loop_uv(loop), &made->poll, descriptor);
    if (failed) { /* then libuv knows nothing of the handle */
        mem_free(made);
        return failed == UV_EPERM ? TN_UNSUPPORTED : TN_INVALID;
    }
    uv_unref((uv_handle_t *)&made->poll);
    made->plugin = plugin;
    made->loop = loop;
    made->events = events;
    made->ready = ready;
    made->user = user;
    uv_poll_start(&made->poll, uv_events(events), on_ready);
    if (!*place) *place = mem_zalloc(sizeof **place);
    struct slot *slot = take(*place);
    slot->watch = made;
    loop_watch(loop, true);
    *number = number_of(plugin, *place, (uint32_t)(slot - (*place)->slots));
    return TN_OK;
}

static int32_t change(const tn_host *host, uint64_t number, int32_t events) {
    struct plugin *plugin = plugin_of(host);
    struct loop *loop = loop_of(plugin);
    if (!loop || (events & ~BOTH)) return TN_INVALID;
    if (!loop_here(loop)) return TN_WRONG_THREAD;
    struct slot *slot = find(plugin, number);
    if (!slot) return TN_NOT_FOUND;
    if (slot->watch->events == events) return TN_OK;
    slot->watch->events = events;
    uv_poll_start(&slot->watch->poll, uv_events(events), on_ready);
    return TN_OK;
}

static int32_t unwatch(const tn_host *host, uint64_t number) {
    struct plugin *plugin = plugin_of(host);
    struct loop *loop = loop_of(plugin);
    if (!loop) return TN_INVALID;
    if (!loop_here(loop)) return TN_WRONG_THREAD;
    struct slot *slot = find(plugin, number);
    if (!slot) return TN_NOT_FOUND;
    end(*plugin_watches(plugin), slot);
    return TN_OK;
}

void interface_poll_ended(struct plugin *plugin) {
    struct watches **place = plugin_watches(plugin), *watches = *place;
    if (!watches) return;
    for (uint32_t i = 0; i < watches->count; i++)
        if (watches->slots[i].watch) end(watches, &watches->slots[i]);
    mem_free(watches->slots);
    mem_free(watches);
    *place = NULL;
}

const tn_poll_draft interface_poll = {sizeof(tn_poll_draft), 0, watch, change, unwatch};
