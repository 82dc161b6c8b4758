/*
 * sim_run.c - runs a list of events, makes the list of a seed, and shortens a list that fails.
 */
#include "host/data/store/store_collections.h"
#include "tests/sim/sim_world.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAL_ROUNDS  400
#define HEAL_MS      500
#define HEAL_BUSY_MS 20   /* while a worker has a Task: its claim should last */
#define DEPTH_MAX    2    /* events within events */
#define TIME_MS      2000 /* the most that passes in one event */
#define SKEW_MS      1500 /* clocks differ by up to so much from the true time, both ways */

static const char *const break_names[SIM_BREAKS] = {"none",     "if",    "fence", "token",    "take",  "key",
                                                    "schedule", "batch", "wake",  "attempts", "resume"};

const char *sim_break_name(enum sim_break which) { return which < SIM_BREAKS ? break_names[which] : NULL; }

/* ---- Reports ---- */

void sim_fail(struct sim *sim, const char *invariant, const char *format, ...) {
    va_list args;
    if (sim->result->failed) return;
    sim->result->failed = true;
    sim->result->invariant = invariant;
    va_start(args, format);
    vsnprintf(sim->result->failure, sizeof sim->result->failure, format, args);
    va_end(args);
    sim_note(sim, " => %s", sim->result->failure);
}

void sim_note(struct sim *sim, const char *format, ...) {
    va_list args;
    if (!sim->trace) return;
    va_start(args, format);
    buffer_vformat(sim->trace, format, args);
    va_end(args);
}

/* ---- Events ---- */

static struct sim_actor actor_of(const struct sim *sim, int worker) {
    struct sim_actor actor = {.worker = worker, .now_ms = sim->now_ms};
    if (worker == SIM_CLIENT) return actor;
    actor.now_ms += sim->workers[worker].skew_ms;
    actor.life = sim->workers[worker].life;
    actor.writer = sim->workers[worker].writer;
    return actor;
}

static void run_create(struct sim *sim, uint32_t number) {
    char key[48];
    snprintf(key, sizeof key, "order-%u", number % 4);
    sim_create(sim, key);
}

static void run_kind(struct sim *sim, const struct sim_event *event) {
    struct sim_worker *worker = &sim->workers[event->worker];
    uint32_t number = event->number;
    switch (event->kind) {
    case SIM_STEP: sim_worker_step(sim, event->worker, number); break;
    case SIM_DELIVER:
        if (!sim_store_deliver(sim, event->worker)) sim_note(sim, " nothing");
        break;
    case SIM_TIME:
        sim->now_ms += number % TIME_MS;
        sim_note(sim, " %u ms", number % TIME_MS);
        break;
    case SIM_CREATE: run_create(sim, number); break;
    case SIM_FIRE: sim_fire(sim, event->worker); break;
    case SIM_ANSWER:
        if (sim->task_count) sim_answer(sim, (int)(number % (uint32_t)sim->task_count));
        break;
    case SIM_CRASH: sim_worker_crash(sim, event->worker); break;
    case SIM_PAUSE:
        worker->paused_until_ms = sim->now_ms + number % 5000;
        sim_note(sim, " for %u ms", number % 5000);
        break;
    case SIM_SKEW:
        worker->skew_ms = (int64_t)(number % (2 * SKEW_MS)) - SKEW_MS;
        sim_note(sim, " by %d ms", (int)worker->skew_ms);
        break;
    case SIM_KINDS: break;
    }
}

/* A worker that stands still does nothing, but its commits under way arrive. */
static bool is_paused(const struct sim *sim, const struct sim_event *event) {
    return (event->kind == SIM_STEP || event->kind == SIM_FIRE) &&
           sim->workers[event->worker].paused_until_ms > sim->now_ms;
}

static void run_event(struct sim *sim, const struct sim_event *event) {
    static const char *const names[SIM_KINDS] = {
        "",          " receives:", "time passes:", "a client creates", " fires",
        "a person:", " crashes",   " pauses",      " sets its clock"};
    bool by_client = event->kind == SIM_TIME || event->kind == SIM_CREATE || event->kind == SIM_ANSWER;
    struct sim_actor outer = sim->actor;
    bool busy = sim->workers[event->worker].busy;
    uint32_t life = sim->workers[event->worker].life;
    if (event->kind == SIM_DELIVER)
        sim_note(sim, "%*sthe store, from worker %d:", sim->depth * 4, "", event->worker);
    else if (by_client)
        sim_note(sim, "%*s%s", sim->depth * 4, "", names[event->kind]);
    else
        sim_note(sim, "%*sworker %d%s", sim->depth * 4, "", event->worker, names[event->kind]);
    sim->actor = actor_of(sim, by_client ? SIM_CLIENT : event->worker);
    sim->actor.fault = event->fault;
    sim->actor.fault_at = event->fault_at;
    sim->actor.number = event->number;
    sim->workers[event->worker].busy |= !by_client;
    if (is_paused(sim, event))
        sim_note(sim, " pauses");
    else
        run_kind(sim, event);
    /* A worker that died while it fired a schedule; one that worked has been handled. */
    if (sim->actor.crashed && !by_client && sim->workers[event->worker].life == life)
        sim_worker_crash(sim, event->worker);
    sim->workers[event->worker].busy = busy;
    sim->actor = outer;
    sim_note(sim, "\n");
}

/* Another worker's event. One of a worker that is within an operation waits until that has ended. */
void sim_run_next(struct sim *sim) {
    if (sim->depth >= DEPTH_MAX || sim->next >= sim->count) return;
    const struct sim_event *event = &sim->events[sim->next];
    if (sim->workers[event->worker].busy) return;
    sim->next++;
    sim->depth++;
    sim_note(sim, " [meanwhile:\n");
    run_event(sim, event);
    sim_note(sim, "%*s]", sim->depth * 4, "");
    sim->depth--;
}

/* ---- Healing ---- */

static bool all_have_ended(const struct sim *sim) {
    for (int i = 0; i < sim->task_count; i++)
        if (!sim->tasks[i].ended) return false;
    return true;
}

static bool is_anyone_busy(const struct sim *sim) {
    for (int i = 0; i < SIM_WORKERS; i++)
        if (sim->workers[i].held_count) return true;
    return false;
}

/* Its line is left out of the trace if nothing happens but time. */
static void heal_event(struct sim *sim, enum sim_kind kind, int worker, uint32_t number) {
    static const char nothing[] = "nothing\n";
    size_t before = sim->trace ? sim->trace->length : 0, end = sizeof nothing - 1;
    run_event(sim, &(const struct sim_event){kind, worker, number, SIM_NO_FAULT, 0});
    if (!sim->trace || sim->result->failed) return;
    const char *text = buffer_cstr(sim->trace);
    size_t length = sim->trace->length;
    if (kind == SIM_TIME || (length >= end && strcmp(text + length - end, nothing) == 0)) sim->trace->length = before;
}

/*
 * From here on nothing fails, and every question is answered once. All Tasks must end by the passing of time alone: one
 * that does not was lost.
 */
static void heal(struct sim *sim) {
    sim->healing = true;
    for (int i = 0; i < SIM_WORKERS; i++) {
        sim->workers[i].skew_ms = sim->workers[i].paused_until_ms = 0;
        while (sim->pending && !sim->result->failed) heal_event(sim, SIM_DELIVER, sim->pending->worker, 0);
    }
    if (!sim->result->failed) heal_event(sim, SIM_FIRE, 0, 0);
    for (int i = 0; i < sim->task_count && !sim->result->failed; i++)
        if (sim->tasks[i].asks && !sim->tasks[i].ended) {
            tn_value before = sim_store_find(sim, "answers", sim->tasks[i].id);
            if (!before) heal_event(sim, SIM_ANSWER, 0, (uint32_t)i);
            value_unref(before);
        }
    for (int round = 0; round < HEAL_ROUNDS && !sim->result->failed; round++) {
        for (int worker = 0; worker < SIM_WORKERS && !sim->result->failed; worker++)
            heal_event(sim, SIM_STEP, worker, 16 * 1600 + 2);
        if (all_have_ended(sim) && !sim->pending) return;
        heal_event(sim, SIM_TIME, 0, is_anyone_busy(sim) ? HEAL_BUSY_MS : HEAL_MS);
    }
    for (int i = 0; i < sim->task_count; i++)
        if (!sim->tasks[i].ended) sim_fail(sim, "lost", "Task %d does not end: it was lost", i);
}

/* ---- A run ---- */

/* Each due time that was missed is caught up with, so none may be without a Task. */
static struct schedule *make_schedule(void) {
    struct error error = ERROR_INIT;
    tn_value task = value_set_take(value_object(), "type", value_text("work")), value = value_object();
    value = value_set_take(value, "every", value_int(SIM_EVERY_MS / 1000)); /* seconds */
    value = value_set_take(value, "misfire", value_text("all"));
    value = value_set_take(value, "task", task);
    struct schedule *made = schedule_new("nightly", value, &error);
    if (!made) {
        fprintf(stderr, "sim: %s\n", error.message);
        abort();
    }
    value_unref(value);
    return made;
}

void sim_run(const struct sim_options *options, uint64_t seed, const struct sim_event *events, uint32_t count,
             struct buffer *trace, struct sim_result *result) {
    static struct sim sim; /* large */
    memset(&sim, 0, sizeof sim);
    memset(result, 0, sizeof *result);
    sim.options = options;
    sim.random = seed * 0x9e3779b97f4a7c15 + 1;
    sim.now_ms = SIM_EPOCH_MS;
    sim.events = events;
    sim.count = count;
    sim.trace = trace;
    sim.result = result;
    sim.writer_count = 1; /* 0 is not a writer */
    for (int i = 0; i < SIM_WORKERS; i++) sim.workers[i].remembered = -1;
    sim_store_begin(&sim);
    sim.schedule = make_schedule();
    while (sim.next < count && !result->failed) run_event(&sim, &events[sim.next++]);
    sim_note(&sim, "---- no faults from here on; every question is answered ----\n");
    if (!result->failed) heal(&sim);
    sim.actor = actor_of(&sim, SIM_CLIENT);
    if (!result->failed) sim_oracle_end(&sim);
    result->tasks = (uint32_t)sim.task_count;
    result->claims = sim.claim_count;
    for (int i = 0; i < SIM_WORKERS; i++) sim_worker_crash(&sim, i);
    sim_store_end(&sim);
    schedule_free(sim.schedule);
}

/* ---- The events of a seed ---- */

static uint32_t next_random(uint64_t *state, uint32_t below) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 33) % below;
}

static enum sim_kind pick_kind(uint64_t *state) {
    static const unsigned char shares[SIM_KINDS] = {
        [SIM_STEP] = 50,  [SIM_DELIVER] = 12, [SIM_TIME] = 10, [SIM_CREATE] = 9, [SIM_FIRE] = 5,
        [SIM_ANSWER] = 5, [SIM_CRASH] = 3,    [SIM_PAUSE] = 4, [SIM_SKEW] = 2};
    uint32_t at = next_random(state, 100), kind = 0;
    while (at >= shares[kind]) at -= shares[kind++];
    return (enum sim_kind)kind;
}

/*
 * Half of the operations in which others happen lose their lease: time passes, and then another worker works. By chance
 * alone that would be too rare.
 */
static void lose_lease(const struct sim_event *events, uint32_t i, struct sim_event *event) {
    if (events[i - 1].fault == SIM_INTERLEAVE) {
        event->kind = SIM_TIME;
        event->worker = (events[i - 1].worker + 1) % SIM_WORKERS;
    } else if (events[i - 2].fault == SIM_INTERLEAVE && events[i - 1].kind == SIM_TIME) {
        event->kind = SIM_STEP;
        event->worker = (events[i - 2].worker + 1) % SIM_WORKERS;
    }
}

void sim_make_events(uint64_t seed, struct sim_event *events, uint32_t count) {
    uint64_t state = (seed + 1) * 0xd1342543de82ef95 + 1;
    for (int i = 0; i < 8; i++) (void)next_random(&state, 2);
    bool calm = next_random(&state, 4) == 0; /* some runs without faults of the store */
    for (uint32_t i = 0; i < count; i++) {
        struct sim_event event = {.kind = pick_kind(&state)};
        event.worker = (int)next_random(&state, SIM_WORKERS);
        event.number = next_random(&state, 1u << 30);
        if (i < 2) event.kind = SIM_CREATE;
        if (!calm && next_random(&state, 4) == 0) {
            event.fault = (enum sim_fault)(1 + next_random(&state, SIM_FAULTS - 1));
            if (next_random(&state, 3) == 0) event.fault = SIM_INTERLEAVE;
            event.fault_at = 1 + (next_random(&state, 3) == 0);
        }
        if (i > 2 && next_random(&state, 2)) lose_lease(events, i, &event);
        events[i] = event;
    }
}

/* ---- Shrinking ---- */

static bool still_fails(const struct sim_options *options, uint64_t seed, const struct sim_event *events,
                        uint32_t count) {
    struct sim_result result;
    sim_run(options, seed, events, count, NULL, &result);
    return result.failed;
}

/* Removes events [from, from + size), if the rest still fails. */
static bool remove_events(const struct sim_options *options, uint64_t seed, struct sim_event *events, uint32_t *count,
                          uint32_t from, uint32_t size) {
    struct sim_event rest[SIM_EVENTS_MAX];
    if (from + size > *count) return false;
    memcpy(rest, events, from * sizeof *events);
    memcpy(rest + from, events + from + size, (*count - from - size) * sizeof *events);
    if (!still_fails(options, seed, rest, *count - size)) return false;
    *count -= size;
    memcpy(events, rest, *count * sizeof *events);
    return true;
}

static bool remove_faults(const struct sim_options *options, uint64_t seed, struct sim_event *events, uint32_t count) {
    bool changed = false;
    for (uint32_t i = 0; i < count; i++) {
        struct sim_event before = events[i];
        if (before.fault == SIM_NO_FAULT) continue;
        events[i].fault = SIM_NO_FAULT;
        events[i].fault_at = 0;
        if (still_fails(options, seed, events, count))
            changed = true;
        else
            events[i] = before;
    }
    return changed;
}

/* Delta debugging: larger parts first, until no single event can be removed. */
uint32_t sim_shrink(const struct sim_options *options, uint64_t seed, struct sim_event *events, uint32_t count) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t size = count > 1 ? count / 2 : 1; size > 0; size /= 2)
            for (uint32_t at = 0; at + size <= count;)
                if (remove_events(options, seed, events, &count, at, size))
                    changed = true;
                else
                    at += size;
        changed |= remove_faults(options, seed, events, count);
    }
    return count;
}
