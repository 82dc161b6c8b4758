/*
 * tenon/host.h - the method table of the host: call a method, subscribe to events.
 *
 * A method is what a client of the host can call, too: "thread/list", "run/start". `tenon reference methods` lists the
 * methods and events with their schemas. The effects of a component decide what it may call: "host.method:NAME", where
 * NAME can be a pattern ("host.method:thread/get", "host.method:task/?*"). Methods of scope `admin` also need the
 * operator: `plugins: {admin: [ID]}` in tenon.yaml. What a method starts (a run, a tool) is limited by the component
 * that has called it, and by its callers. A plugin names documents by `pack:NAME/FILE` or passes their text.
 *
 * Errors are as for task_1.call: NOT_FOUND, PERMISSION_DENIED, INVALID_INPUT (detail lists every violation), and those
 * of the method.
 */
#ifndef TENON_HOST_H
#define TENON_HOST_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_HOST_SUBSCRIPTIONS_MAX 1024 /* of one plugin; then TN_LIMIT */
#define TN_HOST_REQUESTS_MAX      1024 /* open requests of one plugin; then TN_LIMIT */

/* [loop] The end of a request, once: TN_OK and the result, or another status and an error object. Borrowed. */
typedef void TN_FN(tn_host_done)(void *user, int32_t status, tn_value result);
/* [loop] One event: {event: "run/event", params: {…}}. Borrowed. The function may pause, resume and unsubscribe. */
typedef void TN_FN(tn_host_event)(void *user, tn_value event);

#define TN_HOST_1 "tenon.host/1"
/* tenon.host/1, from the host. `params` is an object, or NULL for {}. */
typedef struct tn_host_1 {
    uint64_t size;
    /* [loop] Calls a method in a task: `options`, `handler` and `call` as for task_1.call. TN_NOT_FOUND: no such
     * method.
     */
    int32_t TN_FN(call)(tn_task task, const char *method, uint64_t length, tn_value params, tn_value options,
                        tn_call_handler handler, void *user, tn_call *call);
    /* [worker] The same, as task_1.call_wait. */
    int32_t TN_FN(call_wait)(tn_task task, const char *method, uint64_t length, tn_value params, tn_value options,
                             tn_value *out, tn_value *error);
    /*
     * [loop] Calls a method outside of tasks, with the rights that the `effects` of the manifest's `plugin` declare.
     * `done` is called later, never inside request. *request is never 0.
     */
    int32_t TN_FN(request)(const tn_host *host, const char *method, uint64_t length, tn_value params, tn_host_done done,
                           void *user, uint64_t *request);
    /* [loop] `done` is not called. TN_STALE: the request has ended. */
    int32_t TN_FN(cancel)(const tn_host *host, uint64_t request);
    /*
     * [loop] Subscribes to events, until unsubscribe, or until the run has ended: `params` as for the method
     * `event/subscribe` ({events: ["component/changed"]}) or `run/subscribe` ({run_id, …}), which the `effects` of
     * the manifest's `plugin` must allow. `handler` is called later, never inside subscribe. *subscription is never 0.
     * If it fails, *error (may be NULL) is an error object.
     */
    int32_t TN_FN(subscribe)(const tn_host *host, tn_value params, tn_host_event handler, void *user,
                             uint64_t *subscription, tn_value *error);
    /* [loop] No events until resume: a run whose events are awaited waits, too. TN_STALE: no such subscription. */
    int32_t TN_FN(pause)(const tn_host *host, uint64_t subscription);
    int32_t TN_FN(resume)(const tn_host *host, uint64_t subscription);
    int32_t TN_FN(unsubscribe)(const tn_host *host, uint64_t subscription); /* [loop] TN_STALE as above */
} tn_host_1;

#ifdef __cplusplus
}
#endif
#endif
