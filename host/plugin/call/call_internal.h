/*
 * call_internal.h - what call.c and call_child.c offer to the other files of host/plugin/.
 *
 * These functions are the callable's side of a call: they end a task, emit a chunk and append writes. call.h has those
 * for the callables of the host; here are those that tenon.h (plugin/abi), workers and child calls need in addition.
 *
 *     call_end_task(token, CALL_COMPLETED, output, NULL, "complete", true);   // a plugin ends its task
 *     call_append_write(call, channel, value);                                // under the slot's lock
 */
#ifndef TENON_HOST_PLUGIN_CALL_CALL_INTERNAL_H
#define TENON_HOST_PLUGIN_CALL_CALL_INTERNAL_H

#include "host/plugin/call/slot.h"

/* ---- call.c ---- */

/* [any] Requires the lock. Queues call->work on the loop, which delivers chunks and the end, and calls `ready`. */
void call_queue_delivery(struct call *call);
/* [any] Requires the lock, and releases it. Queues call->work, unless a delivery is pending already. */
static inline void call_unlock_and_deliver_soon(struct call *call) {
    if (call->delivery == DELIVERY_IDLE) call_queue_delivery(call);
    slot_unlock(call);
}
/*
 * [any] The only way for a callable to end a task. If it returns TN_OK, it has taken `output` and the contents of
 * `error`, which may be NULL; if it returns TN_STALE, the caller keeps both. `verb` names the operation in the log.
 * `by_plugin`: a plugin ends the task, so a task of one of the host's own callables is treated as stale.
 */
int32_t call_end_task(uint64_t token, enum call_outcome outcome, tn_value output, struct error *error, const char *verb,
                      bool by_plugin);
/* [any] Ends the task as if its start had returned `status`. */
void call_fail_status(uint64_t token, int32_t status);
/*
 * [any] Notes that a component, on this OS thread, passed a text to the host that is not UTF-8, and received NULL. If
 * it then returns TN_NO_MEMORY, as the functions of <tenon/easy.h> do for NULL, the failure is reported as NOT_TEXT:
 * the host never returns NULL because memory runs out.
 */
void call_note_rejected_text(void);
/* [any] True if such a text was noted on this OS thread since the last call. */
bool call_take_rejected_text(void);
/*
 * [loop] The start of a blocking component has returned on its worker. If the end of the call was requested, or the
 * call was abandoned, this ends the task: blocking components have no `cancel`, so nothing else is sure to end it.
 * Otherwise the task stays open, because an OS thread of the plugin may end it later.
 */
void call_worker_returned(uint64_t token);
/* [any] The value that call_interrupt_value returns; a new reference. `schema` and `continuation` may be NULL. */
tn_value call_make_interrupt(tn_value payload, tn_value schema, tn_value continuation);
/*
 * [any] tn_task_1.emit. Returns TN_AGAIN without taking the chunk if the queue is full, TN_CANCELLED if the end was
 * requested. When there is room again, `waiting_worker` is woken, or, if it is NULL, the callable's `ready` is called.
 * Both happen if the worker that runs the task and another OS thread have received TN_AGAIN. `waiting_worker` must be
 * NULL or that worker.
 */
int32_t call_try_emit(uint64_t token, tn_value chunk, struct worker *waiting_worker);
/* [any] Requires the lock. Makes room for one more write. TN_LIMIT after CALL_WRITES_MAX. */
int32_t call_reserve_write(struct call *locked);
/* [any] Requires the lock. Appends a write; `channel` is already resolved. */
static inline int32_t call_append_write(struct call *locked, uint32_t channel, tn_value value) {
    uint32_t at = locked->write_count;
    if (at >= CALL_WRITES_INLINE || locked->writes) {
        int32_t status = call_reserve_write(locked);
        if (status != TN_OK) return status;
    }
    struct call_write *writes = locked->writes ? locked->writes : locked->inline_writes;
    writes[at].channel = channel;
    writes[at].value = value_ref(value);
    locked->write_count = at + 1;
    return TN_OK;
}

/* ---- call_child.c ---- */

/* [loop] call_child. If `on` is not NULL, a blocking callee runs on that worker, which waits for it. */
int32_t call_child_on(uint64_t token, struct callable *callee, bool model, const struct call_options *options,
                      tn_value input, call_done done, void *user, struct worker *on);
/*
 * [loop] For call.c: child calls are cancelled and resumed with the call that made them. The end of a call is reported
 * only after its last child call has left the list.
 */
void child_calls_cancel(struct call *parent);
void child_calls_resume(struct call *parent); /* resumes those whose chunks are paused */

#endif
