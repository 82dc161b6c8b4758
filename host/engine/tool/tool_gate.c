/*
 * tool_gate.c - limits the concurrent uses of one tool, over all loops that share the gates.
 *
 * The lock guards the gates, their queues, and the list of admitted tickets of each side. `enter` is called without the
 * lock, on the ticket's own loop: at once if that is the calling one, otherwise from work that is posted to it. Until
 * then the ticket is counted but can still leave.
 */
#include "host/engine/tool/tool_gate.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include <pthread.h>
#include <string.h>

struct tool_gate {
    struct tool_gate *next;
    char *name;
    uint32_t inside;
    struct tool_ticket *first, **last; /* waiting */
};

struct tool_gates {
    pthread_mutex_t lock;
    uint32_t references; /* under the lock */
    struct tool_gate *first;
};

struct tool_gates *tool_gates_new(void) {
    struct tool_gates *gates = mem_zalloc(sizeof *gates);
    pthread_mutex_init(&gates->lock, NULL);
    gates->references = 1;
    return gates;
}

struct tool_gates *tool_gates_ref(struct tool_gates *gates) {
    pthread_mutex_lock(&gates->lock);
    gates->references++;
    pthread_mutex_unlock(&gates->lock);
    return gates;
}

void tool_gates_unref(struct tool_gates *gates) {
    if (!gates) return;
    pthread_mutex_lock(&gates->lock);
    bool last = --gates->references == 0;
    pthread_mutex_unlock(&gates->lock);
    if (!last) return;
    pthread_mutex_destroy(&gates->lock);
    mem_free(gates);
}

/* ---- Queues; under the lock ---- */

static struct tool_gate *gate_find_or_add(struct tool_gates *gates, const char *name) {
    struct tool_gate *gate = gates->first;
    while (gate && strcmp(gate->name, name) != 0) gate = gate->next;
    if (gate) return gate;
    gate = mem_zalloc(sizeof *gate);
    gate->name = mem_text(name);
    gate->last = &gate->first;
    gate->next = gates->first;
    gates->first = gate;
    return gate;
}

/* Returns false if the ticket is not in the queue. */
static bool ticket_remove(struct tool_ticket **first, struct tool_ticket ***last, struct tool_ticket *ticket) {
    for (struct tool_ticket **at = first; *at; at = &(*at)->next) {
        if (*at != ticket) continue;
        *at = ticket->next;
        if (*last == &ticket->next) *last = at;
        return true;
    }
    return false;
}

/*
 * Admits waiting uses in order of arrival, even if a later one has a higher limit, and wakes the loops of others than
 * `here`. Frees the gate if it is empty.
 */
static void gate_admit(struct tool_gates *gates, struct tool_gate *gate, const struct tool_gate_side *here) {
    struct tool_ticket *ticket;
    while ((ticket = gate->first) != NULL && gate->inside < ticket->limit) {
        struct tool_gate_side *side = ticket->side;
        gate->first = ticket->next;
        if (!gate->first) gate->last = &gate->first;
        gate->inside++;
        ticket->inside = ticket->admitted = true;
        ticket->next = NULL;
        *side->last = ticket;
        side->last = &ticket->next;
        if (side == here || side->visited) continue;
        side->visited = true;
        loop_post(side->loop, &side->visit);
    }
    if (gate->inside || gate->first) return;
    struct tool_gate **at = &gates->first;
    while (*at != gate) at = &(*at)->next;
    *at = gate->next;
    mem_free(gate->name);
    mem_free(gate);
}

/* ---- One loop ---- */

static struct tool_ticket *side_take_admitted(struct tool_gate_side *side) {
    pthread_mutex_lock(&side->gates->lock);
    struct tool_ticket *ticket = side->admitted;
    if (ticket) {
        side->admitted = ticket->next;
        if (!side->admitted) side->last = &side->admitted;
        ticket->admitted = false;
    }
    pthread_mutex_unlock(&side->gates->lock);
    return ticket;
}

static void side_enter_admitted(struct tool_gate_side *side) {
    struct tool_ticket *ticket;
    if (side->entering) return;
    side->entering = true;
    while ((ticket = side_take_admitted(side)) != NULL) ticket->enter(ticket);
    side->entering = false;
}

static void side_on_visit(struct loop_work *work) {
    struct tool_gate_side *side = CONTAINER_OF(work, struct tool_gate_side, visit);
    pthread_mutex_lock(&side->gates->lock);
    side->visited = false;
    pthread_mutex_unlock(&side->gates->lock);
    side_enter_admitted(side);
}

void tool_gate_side_init_take(struct tool_gate_side *side, struct tool_gates *gates, struct loop *loop) {
    *side = (struct tool_gate_side){.gates = gates, .loop = loop, .visit = {.run = side_on_visit}};
    side->last = &side->admitted;
}

/* No other loop posts any more, because no ticket of this one is left. */
void tool_gate_side_finish(struct tool_gate_side *side) {
    if (!side->gates) return;
    if (side->visited) loop_run_posted(side->loop); /* `visit` may still be posted */
    tool_gates_unref(side->gates);
    side->gates = NULL;
}

void tool_gate_enter(struct tool_gate_side *side, const char *name, struct tool_ticket *ticket) {
    pthread_mutex_lock(&side->gates->lock);
    struct tool_gate *gate = ticket->gate = gate_find_or_add(side->gates, name);
    ticket->side = side;
    ticket->next = NULL;
    ticket->inside = ticket->admitted = false;
    *gate->last = ticket;
    gate->last = &ticket->next;
    gate_admit(side->gates, gate, side);
    pthread_mutex_unlock(&side->gates->lock);
    side_enter_admitted(side);
}

void tool_gate_leave(struct tool_gate_side *side, struct tool_ticket *ticket) {
    struct tool_gate *gate = ticket->gate;
    if (!gate) return;
    pthread_mutex_lock(&side->gates->lock);
    if (ticket->admitted) (void)ticket_remove(&side->admitted, &side->last, ticket);
    if (ticket->inside)
        gate->inside--;
    else
        (void)ticket_remove(&gate->first, &gate->last, ticket);
    ticket->inside = ticket->admitted = false;
    ticket->gate = NULL;
    gate_admit(side->gates, gate, side);
    pthread_mutex_unlock(&side->gates->lock);
    side_enter_admitted(side);
}
