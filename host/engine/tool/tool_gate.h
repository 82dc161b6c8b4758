/*
 * tool_gate.h - limits the concurrent uses of one tool, over all loops that share the gates.
 *
 * A gate admits uses in the order in which they arrived, whichever loop they came from. It exists while a use is inside
 * it or waits for it. A *side* is the part of the gates that belongs to one loop.
 *
 *     tool_gate_side_init_take(&side, tool_gates_new(), loop);
 *     ticket->limit = 2;
 *     ticket->enter = my_enter;                      // called on this loop
 *     tool_gate_enter(&side, "shell.run", ticket);
 *     ...
 *     tool_gate_leave(&side, ticket);
 *
 * Thread: that of the side's loop, except tool_gates_ref and tool_gates_unref [any].
 */
#ifndef TENON_HOST_ENGINE_TOOL_TOOL_GATE_H
#define TENON_HOST_ENGINE_TOOL_TOOL_GATE_H

#include "host/base/loop.h"
#include <stdbool.h>
#include <stdint.h>

struct tool_gate;
struct tool_gates;
struct tool_gate_side;

struct tool_ticket {
    struct tool_ticket *next;
    struct tool_gate *gate;
    struct tool_gate_side *side;
    uint32_t limit;
    bool inside;                               /* counted; written under the lock of the gates */
    bool admitted;                             /* inside, and `enter` was not called yet: in side->admitted */
    void (*enter)(struct tool_ticket *ticket); /* called once, inside tool_gate_enter or later; never after leaving */
};

struct tool_gate_side {
    struct tool_gates *gates; /* NULL: not initialised */
    struct loop *loop;
    struct loop_work visit;               /* calls `enter` of the admitted tickets; posted by other loops */
    struct tool_ticket *admitted, **last; /* under the lock of the gates */
    bool visited;                         /* under the lock of the gates: `visit` is posted and has not run */
    bool entering;                        /* stops recursion: `enter` may leave at once */
};

struct tool_gates *tool_gates_new(void);
struct tool_gates *tool_gates_ref(struct tool_gates *gates);
void tool_gates_unref(struct tool_gates *gates); /* NULL is allowed */

void tool_gate_side_init_take(struct tool_gate_side *side, struct tool_gates *gates, struct loop *loop);
void tool_gate_side_finish(struct tool_gate_side *side); /* no ticket of this side is left; may be uninitialised */

/* Requests one of ticket->limit concurrent uses of `name`. `enter` is called now, or when another use has left. */
void tool_gate_enter(struct tool_gate_side *side, const char *name, struct tool_ticket *ticket);
/* Ends the use, or stops waiting. Does nothing if tool_gate_enter was not called. */
void tool_gate_leave(struct tool_gate_side *side, struct tool_ticket *ticket);

#endif
