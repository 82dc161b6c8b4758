/*
 * tenon/host.h - the method table of the host: call a method, subscribe to events.
 *
 * A method is what a client of the host can call, too: "component/list", "run/start". `tenon reference methods` lists
 * the methods and events with their schemas.
 *
 *     static void TN_ABI on_event(void *self, int32_t status, tn_value value) {
 *         if (status == TN_CHUNK) show(self, tn_get(value, "event"), tn_get(value, "params"));
 *     }
 *     static void TN_ABI on_started(void *self, int32_t status, tn_value value) { // value: {run_id}, or an ERROR
 *         tn_value params = status == TN_OK ? with_after_0(value) : NULL;         // {run_id, after: 0}
 *         if (params != NULL) methods->subscribe(tn.host, params, on_event, self, &subscription);
 *         tn_release(params);
 *     }
 *     methods = tn_easy_interface(tn.host, TN_HOST_1, sizeof(tn_host_1)); // in init
 *     methods->request(tn.host, "run/start", TN_Z, document, on_started, self, &request);
 *
 * sdk/guide/authority.md has this as a complete plugin.
 *
 * The effects of a component decide what it may call: "host.method:NAME", where `*` stands for any text
 * ("host.method:thread*"). Methods of scope `admin` also need the operator: `plugins: {admin: [ID]}` in tenon.yaml.
 * What a method starts (a run, a tool) is limited by the component that has called it, and by its callers. A plugin
 * names documents by `pack:NAME/FILE`, or passes their text. It subscribes with `subscribe` only: the methods `event/…`
 * and `run/subscribe`, and the member `subscribe` of parameters, are for other clients (UNSUPPORTED). It answers
 * questions of runs, and approves a tool only if it declares "calls.approved" and no rule of tenon.yaml asks:
 * run/answer fails with PERMISSION_DENIED, a run of run/resume ends with it. `thread/answer` is for other clients
 * (PERMISSION_DENIED).
 *
 * The result of a call in a task is recorded in the journal of the thread. A task that is resumed gets it again, for
 * example the `run_id` of run/start, although the run may no longer exist: start it with a `thread_id`, and continue
 * the thread with run/resume. A run that a component starts is not counted for the documents around it, so run/start
 * and run/resume are refused inside of a document with a `budget` or `max_calls`. A request outside of tasks has the
 * rights of the plugin, whichever of its components makes it.
 *
 * Errors are as for task_1.call: PERMISSION_DENIED, INVALID_INPUT (detail lists every violation), LIMIT, UNSUPPORTED
 * (the host has no methods), and those of the method. The functions return TN_UNSUPPORTED if the host has no methods,
 * and TN_STALE if the plugin has ended. To an isolated plugin, both are reported as the error of the call or request.
 */
#ifndef TENON_HOST_H
#define TENON_HOST_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_HOST_SUBSCRIPTIONS_MAX 1024 /* of one plugin; then TN_LIMIT */
#define TN_HOST_REQUESTS_MAX      1024 /* open requests of one plugin; then TN_LIMIT */

/*
 * [loop] What a request or a subscription reports. `value` is borrowed:
 *   TN_CHUNK   only of a subscription: an event, {event: "run/event", params: {…}}
 *   TN_OK      the end: the result of a request; of a subscription NULL, because its run has ended
 *   TN_FAILED  the end: an ERROR; a subscription was refused
 * The end comes once, and nothing after it. After cancel and unsubscribe, and when the plugin ends, nothing comes. The
 * function may call everything here; it is never called inside a function of tn_host_1.
 */
typedef void TN_FN(tn_host_handler)(void *user, int32_t status, tn_value value);

#define TN_HOST_1 "tenon.host/1"
/*
 * tenon.host/1, from the host. `params` is an object, or NULL for {}. Numbers of requests and subscriptions are never
 * 0, and never used again.
 */
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
     * TN_OK: the end will be reported, unless the request is cancelled. TN_NOT_FOUND: no such method.
     */
    int32_t TN_FN(request)(const tn_host *host, const char *method, uint64_t length, tn_value params,
                           tn_host_handler handler, void *user, uint64_t *request);
    /* [loop] What the method does may have an effect all the same. TN_STALE: the request has ended. */
    int32_t TN_FN(cancel)(const tn_host *host, uint64_t request);
    /*
     * [loop] Subscribes to events, until unsubscribe, or until the run has ended. `params` are those of the method
     * `event/subscribe` ({events: ["component/changed"]}) or `run/subscribe` ({run_id, …}), which the `effects` of
     * the manifest's `plugin` must allow, without `credit`. {run_id, after: 0} also brings what a run has reported so
     * far. TN_OK: events will come, or TN_FAILED.
     */
    int32_t TN_FN(subscribe)(const tn_host *host, tn_value params, tn_host_handler handler, void *user,
                             uint64_t *subscription);
    /*
     * [loop] No events until resume. A run whose events are awaited then waits, too; of other events the host keeps
     * 1,024, drops the oldest, and counts them in `missed` of the next one. TN_STALE: no such subscription.
     */
    int32_t TN_FN(pause)(const tn_host *host, uint64_t subscription);
    int32_t TN_FN(resume)(const tn_host *host, uint64_t subscription);
    int32_t TN_FN(unsubscribe)(const tn_host *host, uint64_t subscription); /* [loop] TN_STALE as above */
} tn_host_1;

#ifdef __cplusplus
}
#endif
#endif
