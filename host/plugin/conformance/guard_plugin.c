/*
 * guard_plugin.c - a plugin's vtables as the host gets them in check mode: components, lifecycle, stores, HTTP
 * provider.
 *
 * Each wrapped function makes the plugin the current one, lends copies of values, measures how long the plugin blocks
 * the loop, and calls the real function.
 */
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/conformance/guard.h"
#include "host/plugin/conformance/guard_internal.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* ---- Components ---- */

struct guarded_instance {
    struct guarded *guarded;
    void *inner;
};

static int64_t cpu_time_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t wall_time_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* How often this thread has waited in the kernel. It does not count when the machine runs other threads instead. */
static long wait_count(void) {
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

struct guard_timer {
    int64_t cpu_us, wall_us, compared_us;
    long waits;
};

static struct guard_timer guard_timer_start(void) {
    return (struct guard_timer){cpu_time_us(), wall_time_us(), guard_compared_us(), wait_count()};
}

/*
 * Reports a function that blocks the loop. A single call that used little more CPU time than it may is not reported,
 * because the clock of a virtual machine also counts the time in which the machine does not run. Time that has passed
 * counts only if it is long and the function has waited, because a busy machine delays every thread.
 */
static void guard_check_hold(struct guarded *guarded, struct guard_timer timer, const char *function) {
    int64_t ours = guard_compared_us() - timer.compared_us; /* not the plugin's */
    int64_t worked = cpu_time_us() - timer.cpu_us - ours, passed = wall_time_us() - timer.wall_us - ours;
    bool waited = wait_count() > timer.waits;
    bool held = worked > GUARD_HOLD_MS * 1000 &&
                (atomic_fetch_add(&guarded->held, 1) > 0 || worked > GUARD_HOLD_ONCE_MS * 1000);
    if (held || (waited && passed > GUARD_WAIT_MS * 1000))
        guard_report(guarded, "blocks the loop in %s for more than %d ms; use TN_NODE_BLOCKING for slow work", function,
                     GUARD_HOLD_MS);
}

static int32_t guarded_component_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                                        void **out) {
    struct guarded *guarded = self, *before = guard_enter(guarded);
    struct guarded_instance *instance = mem_zalloc(sizeof *instance);
    instance->guarded = guarded;
    tn_value copy = guard_lend(config);
    int32_t status =
        guarded->inner_components->create(guarded->inner->self, id, length, copy, binder, &instance->inner);
    guard_retire_take(copy);
    guard_leave(before);
    if (status == TN_OK)
        *out = instance;
    else
        mem_free(instance);
    return status;
}

static int32_t guarded_component_start(void *self, tn_task task, tn_value input) {
    struct guarded_instance *instance = self;
    struct guarded *guarded = instance->guarded, *before = guard_enter(guarded);
    tn_value copy = guard_lend(input);
    bool on_loop = !job_of(task); /* otherwise on a worker */
    struct guard_timer timer = guard_timer_start();
    int32_t status = guarded->inner_components->start(instance->inner, task, copy);
    if (on_loop) guard_check_hold(guarded, timer, "start");
    guard_retire_take(copy);
    guard_leave(before);
    return status;
}

static void guarded_component_cancel(void *self, tn_task task) {
    struct guarded_instance *instance = self;
    struct guarded *guarded = instance->guarded, *before = guard_enter(guarded);
    struct guard_timer timer = guard_timer_start();
    if (guarded->inner_components->cancel) guarded->inner_components->cancel(instance->inner, task);
    guard_check_hold(guarded, timer, "cancel");
    guard_leave(before);
}

static void guarded_component_ready(void *self, tn_task task) {
    struct guarded_instance *instance = self;
    struct guarded *guarded = instance->guarded, *before = guard_enter(guarded);
    struct guard_timer timer = guard_timer_start();
    if (guarded->inner_components->ready) guarded->inner_components->ready(instance->inner, task);
    guard_check_hold(guarded, timer, "ready");
    guard_leave(before);
}

static void guarded_component_destroy(void *self) {
    struct guarded_instance *instance = self;
    struct guarded *before = guard_enter(instance->guarded);
    instance->guarded->inner_components->destroy(instance->inner);
    guard_leave(before);
    mem_free(instance);
}

/* ---- Lifecycle ---- */

static int32_t guarded_lifecycle_init(void *self, tn_value config) {
    struct guarded *guarded = self, *before = guard_enter(guarded);
    tn_value copy = guard_lend(config);
    int32_t status = guarded->inner_lifecycle && guarded->inner_lifecycle->init
                         ? guarded->inner_lifecycle->init(guarded->inner->self, copy)
                         : TN_OK;
    guard_retire_take(copy);
    guard_leave(before);
    return status;
}

static void guarded_lifecycle_quiesce(void *self) {
    struct guarded *guarded = self, *before = guard_enter(guarded);
    if (guarded->inner_lifecycle && guarded->inner_lifecycle->quiesce)
        guarded->inner_lifecycle->quiesce(guarded->inner->self);
    guard_leave(before);
}

static void guarded_lifecycle_deinit(void *self) {
    struct guarded *guarded = self, *before = guard_enter(guarded);
    if (guarded->inner_lifecycle && guarded->inner_lifecycle->deinit)
        guarded->inner_lifecycle->deinit(guarded->inner->self);
    guard_leave(before);
    int64_t left = guarded->references;
    if (left > 0) guard_report(guarded, GUARD_LEAK_REPORT "%lld values that it has taken", (long long)left);
    if (left < 0) guard_report(guarded, "has released %lld values more than it has taken", (long long)-left);
}

/* ---- Stores: their functions run on threads of the host ---- */

struct guarded_store {
    struct guarded *guarded;
    tn_store *inner;
};

/* The host takes over the plugin's reference. */
static void guarded_store_give_value(struct guarded *guarded, tn_value value) {
    if (value_is_block(value)) guarded->references--;
}

static int32_t guarded_store_leave(struct guarded *guarded, struct guarded *before, int32_t status,
                                   const tn_value *result, const tn_value *error) {
    if (status == TN_OK && result) guarded_store_give_value(guarded, *result);
    if (status != TN_OK && error) guarded_store_give_value(guarded, *error);
    guard_leave(before);
    return status;
}

static int32_t guarded_store_open(void *self, tn_value options, tn_store **store, tn_value *error) {
    struct guarded *guarded = self, *before = guard_enter_thread(guarded);
    struct guarded_store *opened = mem_zalloc(sizeof *opened);
    opened->guarded = guarded;
    int32_t status = guarded->inner_stores->open(guarded->inner->self, options, &opened->inner, error);
    if (status == TN_OK)
        *store = (tn_store *)opened;
    else
        mem_free(opened);
    return guarded_store_leave(guarded, before, status, NULL, error);
}

static void guarded_store_close(tn_store *store) {
    struct guarded_store *opened = (struct guarded_store *)store;
    if (!opened) return;
    struct guarded *before = guard_enter_thread(opened->guarded);
    opened->guarded->inner_stores->close(opened->inner);
    guard_leave(before);
    mem_free(opened);
}

static int32_t guarded_store_commit(tn_store *store, tn_value batch, tn_value *result, tn_value *error) {
    const struct guarded_store *opened = (const struct guarded_store *)store;
    struct guarded *guarded = opened->guarded, *before = guard_enter_thread(guarded);
    int32_t status = guarded->inner_stores->commit(opened->inner, batch, result, error);
    return guarded_store_leave(guarded, before, status, result, error);
}

static int32_t guarded_store_query(tn_store *store, tn_value query, tn_value *result, tn_value *error) {
    const struct guarded_store *opened = (const struct guarded_store *)store;
    struct guarded *guarded = opened->guarded, *before = guard_enter_thread(guarded);
    int32_t status = guarded->inner_stores->query(opened->inner, query, result, error);
    return guarded_store_leave(guarded, before, status, result, error);
}

static int32_t guarded_store_maintain(tn_store *store, tn_value *result, tn_value *error) {
    const struct guarded_store *opened = (const struct guarded_store *)store;
    struct guarded *guarded = opened->guarded, *before = guard_enter_thread(guarded);
    int32_t status = guarded->inner_stores->maintain(opened->inner, result, error);
    return guarded_store_leave(guarded, before, status, result, error);
}

/* ---- tenon.http_client ---- */

#define GUARDED_HTTP(name, parameters, arguments)                                                                      \
    static int32_t guarded_http_##name parameters {                                                                    \
        struct guarded *guarded = self, *before = guard_enter(guarded);                                                \
        self = guarded->inner->self;                                                                                   \
        int32_t status = guarded->inner_http->name arguments;                                                          \
        guard_leave(before);                                                                                           \
        return status;                                                                                                 \
    }

GUARDED_HTTP(send, (void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange),
             (self, request, handler, user, exchange))
GUARDED_HTTP(pause, (void *self, uint64_t exchange), (self, exchange))
GUARDED_HTTP(resume, (void *self, uint64_t exchange), (self, exchange))
GUARDED_HTTP(cancel, (void *self, uint64_t exchange), (self, exchange))

/* ---- The plugin ---- */

static const void *guarded_get_interface(void *self, const char *id) {
    struct guarded *guarded = self;
    if (strcmp(id, TN_STORE_DRAFT) == 0) return guarded->inner_stores ? &guarded->stores : NULL;
    if (strcmp(id, TN_HTTP_CLIENT_DRAFT) == 0) return guarded->inner_http ? &guarded->http : NULL;
    if (strcmp(id, TN_HTTP_SERVER_DRAFT) == 0) return guarded->inner_http_server ? &guarded->http_server : NULL;
    if (strcmp(id, TN_AUTHENTICATOR_DRAFT) == 0) return guarded->inner_authenticator ? &guarded->authenticator : NULL;
    if (strcmp(id, TN_COMPONENT_1) == 0) return guarded->inner_components ? &guarded->components : NULL;
    if (strcmp(id, TN_LIFECYCLE_1) == 0) return &guarded->lifecycle;
    return guarded->inner->get(guarded->inner->self, id);
}

const tn_plugin *guard_wrap(struct plugin *plugin, const tn_plugin *entry) {
    if (entry->size != sizeof *entry || !entry->get) return entry; /* the registry will refuse it */
    const tn_component_1 *components = entry->get(entry->self, TN_COMPONENT_1);
    const tn_lifecycle_1 *lifecycle = entry->get(entry->self, TN_LIFECYCLE_1);
    const tn_store_draft *stores = entry->get(entry->self, TN_STORE_DRAFT);
    const tn_http_client_draft *http = entry->get(entry->self, TN_HTTP_CLIENT_DRAFT);
    const tn_http_server_draft *http_server = entry->get(entry->self, TN_HTTP_SERVER_DRAFT);
    const tn_authenticator_draft *authenticator = entry->get(entry->self, TN_AUTHENTICATOR_DRAFT);
    if (authenticator && authenticator->size != sizeof *authenticator) return entry;
    if ((stores && stores->size < TN_STORE_DRAFT_SIZE) || (http && http->size != sizeof *http)) return entry;
    if (http_server && http_server->size != sizeof *http_server) return entry;
    if ((components && (components->size != sizeof *components || !components->create || !components->start ||
                        !components->destroy)) ||
        (lifecycle && lifecycle->size != sizeof *lifecycle))
        return entry;
    struct guarded *guarded = mem_zalloc(sizeof *guarded);
    guard_add_plugin(guarded);
    guarded->entry = (tn_plugin){sizeof(tn_plugin), guarded, guarded_get_interface};
    guarded->plugin = plugin;
    guarded->inner = entry;
    guarded->inner_components = components;
    guarded->inner_lifecycle = lifecycle;
    guarded->inner_stores = stores;
    guarded->inner_http = http;
    guarded->inner_http_server = http_server;
    if (http_server) guard_http_server_wrap(guarded);
    guarded->inner_authenticator = authenticator;
    if (authenticator) guard_authenticator_wrap(guarded);
    if (http)
        guarded->http =
            (tn_http_client_draft){sizeof(tn_http_client_draft), http->send ? guarded_http_send : NULL,
                                   http->pause ? guarded_http_pause : NULL, http->resume ? guarded_http_resume : NULL,
                                   http->cancel ? guarded_http_cancel : NULL};
    if (stores)
        guarded->stores =
            (tn_store_draft){sizeof(tn_store_draft), guarded_store_open,     guarded_store_close, guarded_store_commit,
                             guarded_store_query,    guarded_store_maintain, .watch = NULL};
    guarded->components =
        (tn_component_1){sizeof(tn_component_1),   guarded_component_create, guarded_component_start,
                         guarded_component_cancel, guarded_component_ready,  guarded_component_destroy};
    guarded->lifecycle = (tn_lifecycle_1){sizeof(tn_lifecycle_1), guarded_lifecycle_init, guarded_lifecycle_quiesce,
                                          guarded_lifecycle_deinit};
    return &guarded->entry;
}
