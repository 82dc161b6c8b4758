/*
 * model_gate.c - limits the calls with one key, over all loops that share the gates.
 *
 * The lock guards the gates, their queues, and the list of admitted tickets of each side. `enter` is called without the
 * lock, on the ticket's own loop: at once if that is the calling one, otherwise from work that is posted to it. If the
 * first ticket of a queue must wait for time, the timer of its side runs.
 *
 * A gate exists as long as the gates, because what it has counted must not be lost; their number is that of the keys
 * with limits in tenon.yaml.
 */
#include "host/engine/model/model_gate.h"
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/container_of.h"
#include "host/engine/model/model_deployment.h"
#include <pthread.h>
#include <string.h>

#define WINDOW 60 /* seconds */

struct model_gate {
    struct model_gate *next;
    char *key;
    struct model_limits limits;
    int64_t inside, waiting;
    struct model_ticket *first, **last; /* waiting */
    struct model_ticket *seen;          /* the first ticket whose side knows that it is first */
    int64_t second;                     /* of the newest slot */
    int64_t requests[WINDOW], tokens[WINDOW];
    int64_t request_sum, token_sum;
};

struct model_gates {
    pthread_mutex_t lock;
    uint32_t references; /* under the lock */
    struct model_gate *first;
    int64_t (*now_ms)(void);
    struct model_deployments deployments; /* has its own lock */
};

struct model_gates *model_gates_new(void) {
    struct model_gates *gates = mem_zalloc(sizeof *gates);
    pthread_mutex_init(&gates->lock, NULL);
    gates->references = 1;
    gates->now_ms = clock_now_ms;
    model_deployments_init(&gates->deployments);
    return gates;
}

struct model_deployments *model_gates_deployments(struct model_gates *gates) {
    return &gates->deployments;
}

void model_gates_set_clock(struct model_gates *gates, int64_t (*now_ms)(void)) { gates->now_ms = now_ms; }

struct model_gates *model_gates_ref(struct model_gates *gates) {
    pthread_mutex_lock(&gates->lock);
    gates->references++;
    pthread_mutex_unlock(&gates->lock);
    return gates;
}

void model_gates_unref(struct model_gates *gates) {
    struct model_gate *gate;
    if (!gates) return;
    pthread_mutex_lock(&gates->lock);
    bool last = --gates->references == 0;
    pthread_mutex_unlock(&gates->lock);
    if (!last) return;
    while ((gate = gates->first) != NULL) {
        gates->first = gate->next;
        mem_free(gate->key);
        mem_free(gate);
    }
    model_deployments_finish(&gates->deployments);
    pthread_mutex_destroy(&gates->lock);
    mem_free(gates);
}

/* ---- The window; under the lock ---- */

/* Forgets what is older than a minute. */
static void window_advance(struct model_gate *gate, int64_t second) {
    if (second - gate->second > WINDOW) gate->second = second - WINDOW;
    while (gate->second < second) {
        int64_t *requests = &gate->requests[++gate->second % WINDOW], *tokens = &gate->tokens[gate->second % WINDOW];
        gate->request_sum -= *requests;
        gate->token_sum -= *tokens;
        *requests = *tokens = 0;
    }
}

static void window_add(struct model_gate *gate, int64_t second, int64_t requests, int64_t tokens) {
    if (second <= gate->second - WINDOW) return; /* it does not count any more */
    gate->requests[second % WINDOW] += requests;
    gate->tokens[second % WINDOW] += tokens;
    gate->request_sum += requests;
    gate->token_sum += tokens;
}

static bool window_has_room(const struct model_gate *gate, const struct model_ticket *ticket) {
    const struct model_limits *limits = &gate->limits;
    if (limits->requests && gate->request_sum >= limits->requests) return false;
    return !limits->tokens || gate->token_sum <= 0 || gate->token_sum + ticket->tokens <= limits->tokens;
}

/* ms until a slot with something in it leaves the window. */
static int64_t window_wait_ms(const struct model_gate *gate, int64_t now_ms) {
    for (int64_t second = gate->second - WINDOW + 1; second <= gate->second; second++)
        if (second >= 0 && (gate->requests[second % WINDOW] || gate->tokens[second % WINDOW]))
            return (second + WINDOW) * 1000 - now_ms;
    return 1000;
}

/* ---- Queues; under the lock ---- */

static struct model_gate *gate_find_or_add(struct model_gates *gates, const struct model_key *key) {
    struct model_gate *gate = gates->first;
    while (gate && strcmp(gate->key, key->gate) != 0) gate = gate->next;
    if (gate) return gate;
    gate = mem_zalloc(sizeof *gate);
    gate->key = mem_text(key->gate);
    gate->limits = key->limits;
    gate->last = &gate->first;
    gate->second = gates->now_ms() / 1000;
    gate->next = gates->first;
    gates->first = gate;
    return gate;
}

/* Returns false if the ticket is not in the queue. */
static bool ticket_remove(struct model_ticket **first, struct model_ticket ***last, struct model_ticket *ticket) {
    for (struct model_ticket **at = first; *at; at = &(*at)->next) {
        if (*at != ticket) continue;
        *at = ticket->next;
        if (*last == &ticket->next) *last = at;
        return true;
    }
    return false;
}

static void side_post_visit(struct model_gate_side *side, const struct model_gate_side *here) {
    if (side == here || side->visited) return;
    side->visited = true;
    loop_post(side->loop, &side->visit);
}

static bool gate_has_room(const struct model_gate *gate) {
    return (!gate->limits.concurrent || gate->inside < gate->limits.concurrent) && window_has_room(gate, gate->first);
}

/* Admits waiting calls in order of arrival, and wakes the loops of others than `here`. */
static void gate_admit(struct model_gate *gate, int64_t now_ms, const struct model_gate_side *here) {
    struct model_ticket *ticket;
    window_advance(gate, now_ms / 1000);
    while ((ticket = gate->first) != NULL && gate_has_room(gate)) {
        struct model_gate_side *side = ticket->side;
        gate->first = ticket->next;
        if (!gate->first) gate->last = &gate->first;
        gate->waiting--;
        gate->inside++;
        ticket->second = gate->second;
        window_add(gate, ticket->second, 1, ticket->tokens);
        ticket->inside = ticket->admitted = true;
        ticket->next = NULL;
        *side->last = ticket;
        side->last = &ticket->next;
        side_post_visit(side, here);
    }
    /* The side of a ticket that has become the first one must start its timer. */
    if (gate->first && gate->first != gate->seen) side_post_visit(gate->first->side, here);
    gate->seen = gate->first;
}

/* ---- One loop ---- */

static struct model_ticket *side_take_admitted(struct model_gate_side *side) {
    pthread_mutex_lock(&side->gates->lock);
    struct model_ticket *ticket = side->admitted;
    if (ticket) {
        side->admitted = ticket->next;
        if (!side->admitted) side->last = &side->admitted;
        ticket->admitted = false;
    }
    pthread_mutex_unlock(&side->gates->lock);
    return ticket;
}

static void side_on_timer(struct loop_timer *timer);

/* Looks at all gates, calls `enter` of what was admitted on this side, and starts the timer if something must wait. */
static void side_run(struct model_gate_side *side) {
    struct model_ticket *ticket;
    int64_t wait_ms = -1, now_ms = side->gates->now_ms();
    pthread_mutex_lock(&side->gates->lock);
    for (struct model_gate *gate = side->gates->first; gate; gate = gate->next) {
        gate_admit(gate, now_ms, side);
        if (!gate->first || gate->first->side != side || window_has_room(gate, gate->first)) continue;
        int64_t ms = window_wait_ms(gate, now_ms);
        if (wait_ms < 0 || ms < wait_ms) wait_ms = ms;
    }
    pthread_mutex_unlock(&side->gates->lock);
    loop_timer_stop(side->loop, &side->timer);
    if (wait_ms >= 0) loop_timer_start(side->loop, &side->timer, wait_ms > 0 ? wait_ms : 1, side_on_timer);
    if (side->entering) return;
    side->entering = true;
    while ((ticket = side_take_admitted(side)) != NULL) ticket->enter(ticket);
    side->entering = false;
}

static void side_on_timer(struct loop_timer *timer) { side_run(CONTAINER_OF(timer, struct model_gate_side, timer)); }

static void side_on_visit(struct loop_work *work) {
    struct model_gate_side *side = CONTAINER_OF(work, struct model_gate_side, visit);
    pthread_mutex_lock(&side->gates->lock);
    side->visited = false;
    pthread_mutex_unlock(&side->gates->lock);
    side_run(side);
}

void model_gate_side_init_take(struct model_gate_side *side, struct model_gates *gates, struct loop *loop) {
    *side = (struct model_gate_side){.gates = gates, .loop = loop, .visit = {.run = side_on_visit}};
    side->last = &side->admitted;
}

/* No other loop posts any more, because no ticket of this one is left. */
void model_gate_side_finish(struct model_gate_side *side) {
    if (!side->gates) return;
    loop_timer_stop(side->loop, &side->timer);
    if (side->visited) loop_run_posted(side->loop); /* `visit` may still be posted */
    model_gates_unref(side->gates);
    side->gates = NULL;
}

bool model_gate_enter(struct model_gate_side *side, const struct model_key *key, int64_t tokens,
                      struct model_ticket *ticket, uint32_t *ahead) {
    pthread_mutex_lock(&side->gates->lock);
    struct model_gate *gate = gate_find_or_add(side->gates, key);
    window_advance(gate, side->gates->now_ms() / 1000);
    bool full = gate->waiting >= gate->limits.queue && gate->limits.queue >= 0;
    ticket->tokens = tokens;
    ticket->side = side;
    ticket->next = NULL;
    ticket->inside = ticket->admitted = false;
    ticket->gate = gate;
    *ahead = (uint32_t)gate->waiting;
    *gate->last = ticket;
    gate->last = &ticket->next;
    gate->waiting++;
    bool at_once = gate->first == ticket && gate_has_room(gate);
    if (full && !at_once) {
        (void)ticket_remove(&gate->first, &gate->last, ticket);
        gate->waiting--;
        ticket->gate = NULL;
    }
    pthread_mutex_unlock(&side->gates->lock);
    if (!ticket->gate) return false;
    side_run(side);
    return true;
}

void model_gate_set_full(const struct model_key *key, struct error *error) {
    error_set(error, TN_FAILED, "RATE_LIMITED",
              "the limits of the key %s are used up, and as many calls wait for them as `queue` allows (%lld; "
              "`model_calls.limits` in tenon.yaml)",
              key->name, (long long)key->limits.queue);
}

void model_gate_leave(struct model_gate_side *side, struct model_ticket *ticket, int64_t tokens) {
    struct model_gate *gate = ticket->gate;
    if (!gate) return;
    pthread_mutex_lock(&side->gates->lock);
    window_advance(gate, side->gates->now_ms() / 1000);
    if (ticket->admitted) (void)ticket_remove(&side->admitted, &side->last, ticket);
    if (ticket->inside) {
        gate->inside--;
        if (tokens >= 0) window_add(gate, ticket->second, 0, tokens - ticket->tokens);
    } else {
        (void)ticket_remove(&gate->first, &gate->last, ticket);
        gate->waiting--;
        if (gate->seen == ticket) gate->seen = NULL; /* another one may get its address */
    }
    ticket->inside = ticket->admitted = false;
    ticket->gate = NULL;
    pthread_mutex_unlock(&side->gates->lock);
    side_run(side);
}
