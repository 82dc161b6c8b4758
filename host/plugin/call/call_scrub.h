/*
 * call_scrub.h - removes secrets from what components return: chunks, outputs, writes, questions and errors.
 *
 * A component can receive a secret, or a service can echo one in its answer. Before the owner of the call is notified,
 * each text that is a secret of the host becomes {secret:NAME}. So results, events, threads and what other components
 * receive do not contain it. Nothing is done, and nothing is searched, as long as the host knows no secret.
 *
 *     if (call_is_scrubbed(call)) call_scrub_end(call);     // before `ended`
 *
 * Thread: [loop].
 */
#ifndef TENON_HOST_PLUGIN_CALL_CALL_SCRUB_H
#define TENON_HOST_PLUGIN_CALL_CALL_SCRUB_H

#include "host/base/loop.h"
#include "host/plugin/call/slot.h"

/* True if the call's results come from outside the host's own code, and the host knows a secret. */
static inline bool call_is_scrubbed(const struct call *call) {
    if (!atomic_load_explicit(&loop_any_secrets, memory_order_relaxed)) return false;
    return (call->callable->ops->external || call->callable->ops->from_outside) && loop_secrets(call->loop);
}
/*
 * Passes the chunk on to the owner, without secrets. The end of a text that can be the start of a secret is held back
 * until the next chunk. Returns false if the owner pauses.
 */
bool call_scrub_chunk(struct call *call, tn_value chunk);
/* The task has ended: passes on what was held back, and removes secrets from the result. */
void call_scrub_end(struct call *call);

#endif
