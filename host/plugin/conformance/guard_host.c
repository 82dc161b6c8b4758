/*
 * guard_host.c - tenon.host as a plugin in check mode gets it: calls of tasks, and requests and subscriptions, whose
 * handlers get copies of the values that they are lent.
 */
#include "adl/value/memory.h"
#include "host/plugin/conformance/guard_internal.h"
#include <pthread.h>

/* A request or a subscription that has not ended. */
struct guard_use {
    struct guard_use *next;
    struct guarded *guarded;
    bool subscription;
    uint64_t number;
    tn_host_handler handler;
    void *user;
};

const tn_host_1 *guard_wrapped_host;

/*
 * Process-wide, as the wrapped table is. What is open when its plugin ends stays in it. The lock is for hosts of
 * several threads, and for plugins that call on a wrong one.
 */
static struct {
    pthread_mutex_t lock;
    struct guard_use *first;
} guard_uses = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void guard_use_free(struct guard_use *use) {
    pthread_mutex_lock(&guard_uses.lock);
    struct guard_use **at = &guard_uses.first;
    while (*at != use) at = &(*at)->next;
    *at = use->next;
    pthread_mutex_unlock(&guard_uses.lock);
    mem_free(use);
}

void guard_on_host(void *user, int32_t status, tn_value value) {
    struct guard_use *use = user;
    struct guarded *before = guard_enter(use->guarded);
    tn_host_handler handler = use->handler;
    void *handler_user = use->user;
    tn_value lent = value ? guard_lend(value) : NULL;
    if (status != TN_CHUNK) guard_use_free(use);
    handler(handler_user, status, lent);
    guard_retire_take(lent);
    guard_leave(before);
}

struct guard_use *guard_use_new(bool subscription, tn_host_handler handler, void *user) {
    if (!handler) return NULL;
    struct guard_use *use = mem_zalloc(sizeof *use);
    *use = (struct guard_use){NULL, guard_current(), subscription, 0, handler, user};
    pthread_mutex_lock(&guard_uses.lock);
    use->next = guard_uses.first;
    guard_uses.first = use;
    pthread_mutex_unlock(&guard_uses.lock);
    return use;
}

int32_t guard_use_started(struct guard_use *use, int32_t status, const uint64_t *number, const char *function) {
    if (status == TN_WRONG_THREAD) guard_report_wrong_thread(function);
    if (status != TN_OK) {
        if (use) guard_use_free(use);
        return status;
    }
    pthread_mutex_lock(&guard_uses.lock);
    use->number = *number;
    pthread_mutex_unlock(&guard_uses.lock);
    return TN_OK;
}

/* The plugin has ended it, if `status` is TN_OK. */
static int32_t guard_use_ended(int32_t status, bool subscription, uint64_t number, const char *function) {
    pthread_mutex_lock(&guard_uses.lock);
    struct guard_use *use = status == TN_OK ? guard_uses.first : NULL;
    while (use && (use->number != number || use->subscription != subscription || use->guarded != guard_current()))
        use = use->next;
    pthread_mutex_unlock(&guard_uses.lock);
    if (use) guard_use_free(use);
    return guard_check_wait(status, function, NULL, NULL);
}

/* ---- The interface ---- */

static int32_t guard_host_call(tn_task task, const char *method, uint64_t length, tn_value params, tn_value options,
                               tn_call_handler handler, void *user, tn_call *call) {
    guard_check_value(params, "call");
    void *callback = guard_callback_new(handler, user);
    return guard_check_call(guard_wrapped_host->call(task, method, length, params, options,
                                                     guard_callback_handler(handler), callback, call),
                            "call", callback);
}

static int32_t guard_host_call_wait(tn_task task, const char *method, uint64_t length, tn_value params,
                                    tn_value options, tn_value *out, tn_value *error) {
    guard_check_value(params, "call_wait");
    return guard_check_wait(guard_wrapped_host->call_wait(task, method, length, params, options, out, error),
                            "call_wait", out, error);
}

static int32_t guard_host_request(const tn_host *host, const char *method, uint64_t length, tn_value params,
                                  tn_host_handler handler, void *user, uint64_t *request) {
    guard_check_value(params, "request");
    struct guard_use *use = guard_use_new(false, handler, user);
    return guard_use_started(
        use, guard_wrapped_host->request(host, method, length, params, use ? guard_on_host : NULL, use, request),
        request, "request");
}

static int32_t guard_host_cancel(const tn_host *host, uint64_t request) {
    return guard_use_ended(guard_wrapped_host->cancel(host, request), false, request, "cancel");
}

static int32_t guard_host_subscribe(const tn_host *host, tn_value params, tn_host_handler handler, void *user,
                                    uint64_t *subscription) {
    guard_check_value(params, "subscribe");
    struct guard_use *use = guard_use_new(true, handler, user);
    return guard_use_started(use,
                             guard_wrapped_host->subscribe(host, params, use ? guard_on_host : NULL, use, subscription),
                             subscription, "subscribe");
}

static int32_t guard_host_pause(const tn_host *host, uint64_t subscription) {
    return guard_check_wait(guard_wrapped_host->pause(host, subscription), "pause", NULL, NULL);
}

static int32_t guard_host_resume(const tn_host *host, uint64_t subscription) {
    return guard_check_wait(guard_wrapped_host->resume(host, subscription), "resume", NULL, NULL);
}

static int32_t guard_host_unsubscribe(const tn_host *host, uint64_t subscription) {
    return guard_use_ended(guard_wrapped_host->unsubscribe(host, subscription), true, subscription, "unsubscribe");
}

const tn_host_1 guard_host = {.size = sizeof(tn_host_1),
                              .call = guard_host_call,
                              .call_wait = guard_host_call_wait,
                              .request = guard_host_request,
                              .cancel = guard_host_cancel,
                              .subscribe = guard_host_subscribe,
                              .pause = guard_host_pause,
                              .resume = guard_host_resume,
                              .unsubscribe = guard_host_unsubscribe};
