/*
 * model_gate.h - limits the calls with one key: requests and tokens in any minute, and calls at the same time.
 *
 * The gates are shared by all loops of a process. A gate admits calls in the order in which they arrived, whichever
 * loop they came from. A *side* is the part of the gates that belongs to one loop.
 *
 *     model_gate_side_init_take(&side, model_gates_new(), loop);
 *     ticket->enter = my_enter;                                        // called on this loop
 *     if (!model_gate_enter(&side, &key, tokens, ticket, &ahead)) return queue_is_full();
 *     ...
 *     model_gate_leave(&side, ticket, tokens_used);
 *
 * A minute is the last 60 whole seconds. The tokens of a call are estimated before it, and corrected when it leaves. A
 * call that alone exceeds the limit of tokens is admitted when no other tokens count.
 *
 * Thread: that of the side's loop, except model_gates_ref and model_gates_unref [any].
 */
#ifndef TENON_HOST_ENGINE_MODEL_MODEL_GATE_H
#define TENON_HOST_ENGINE_MODEL_MODEL_GATE_H

#include "adl/document/model_role.h"
#include "adl/value/error.h"
#include "host/base/loop.h"
#include <stdbool.h>
#include <stdint.h>

struct model_deployments;
struct model_gate;
struct model_gates;
struct model_gate_side;

struct model_ticket {
    struct model_ticket *next;
    struct model_gate *gate; /* NULL: not entered */
    struct model_gate_side *side;
    int64_t tokens;                             /* estimated */
    int64_t second;                             /* when it was admitted */
    bool inside;                                /* counted; written under the lock of the gates */
    bool admitted;                              /* inside, and `enter` was not called yet: in side->admitted */
    void (*enter)(struct model_ticket *ticket); /* called once, inside model_gate_enter or later; never after leaving */
};

/* The key of a provider's requests, and its limits. */
struct model_key {
    char *name; /* for messages: that of its row in tenon.yaml; NULL: the requests have no limits */
    char *gate; /* requests with the same text share the limits */
    struct model_limits limits;
};

struct model_gate_side {
    struct model_gates *gates; /* NULL: not initialised */
    struct loop *loop;
    struct loop_work visit;  /* looks at the gates again; posted by other loops */
    struct loop_timer timer; /* runs while a ticket of this side is first in a queue and must wait for time */
    struct model_ticket *admitted, **last; /* under the lock of the gates */
    bool visited;                          /* under the lock of the gates: `visit` is posted and has not run */
    bool entering;                         /* stops recursion: `enter` may leave at once */
};

struct model_gates *model_gates_new(void);
struct model_gates *model_gates_ref(struct model_gates *gates);
void model_gates_unref(struct model_gates *gates);                              /* NULL is allowed */
void model_gates_set_clock(struct model_gates *gates, int64_t (*now_ms)(void)); /* for tests: replaces clock_now_ms */

struct model_deployments *model_gates_deployments(struct model_gates *gates); /* as long as the gates */

void model_gate_side_init_take(struct model_gate_side *side, struct model_gates *gates, struct loop *loop);
void model_gate_side_finish(struct model_gate_side *side); /* no ticket of this side is left; may be uninitialised */

/*
 * Requests a call with the key. `enter` is called now, or when the limits allow it. Returns false, and does not keep
 * the ticket, if key->limits.queue calls wait already. *ahead is set to the number of calls that wait before it.
 */
bool model_gate_enter(struct model_gate_side *side, const struct model_key *key, int64_t tokens,
                      struct model_ticket *ticket, uint32_t *ahead);
/* Sets the error of a call that was refused because the queue is full. */
void model_gate_set_full(const struct model_key *key, struct error *error);
/* Ends the call, or stops waiting. `tokens` is what it used; -1: not known. Does nothing if it was not entered. */
void model_gate_leave(struct model_gate_side *side, struct model_ticket *ticket, int64_t tokens);

#endif
