/*
 * scheduler.c - wakes at due times, and asks the store to create Tasks.
 *
 * Each entry has `next_ms`, the due time at which it must be handled. scheduler_work handles the entries whose time has
 * come, one request to the store at a time; when none is left, the timer is started. The store decides what to create:
 * an entry that is handled too early or twice does no harm.
 */
#include "host/work/scheduler.h"
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/time_text.h"
#include "host/work/schedule_store.h"

#define NEVER INT64_MAX

struct schedule_entry {
    struct schedule *schedule;
    int64_t base_ms; /* this scheduler has handled all due times until then */
    int64_t next_ms; /* INT64_MIN: handle it as soon as possible; NEVER: it is not due any more */
    bool known;      /* it was handled before, so that its record has its definition */
    bool warned;     /* another host has another definition */
    bool waits;      /* until the timer, because its last request has failed; the others continue */
};

struct scheduler {
    struct store *store;
    struct loop *loop;
    int64_t look_ms;
    struct schedule_entry *entries; /* the enabled schedules */
    size_t entry_count;
    struct schedule **disabled;
    size_t disabled_count;
    struct schedule_entry *busy; /* its request has not ended; NULL without a request */
    struct loop_timer timer;
    struct loop_work end; /* frees a closed scheduler */
    int64_t seen_ms;      /* the latest time of the wall clock that the scheduler has seen */
    uint64_t created;
    bool closing;
    void (*closed)(void *user);
    void *closed_user;
};

static void scheduler_work(struct scheduler *scheduler);

/* ---- Memory ---- */

static void scheduler_free(struct scheduler *scheduler) {
    for (size_t i = 0; i < scheduler->entry_count; i++) schedule_free(scheduler->entries[i].schedule);
    for (size_t i = 0; i < scheduler->disabled_count; i++) schedule_free(scheduler->disabled[i]);
    mem_free(scheduler->entries);
    mem_free((void *)scheduler->disabled);
    mem_free(scheduler);
}

static bool scheduler_add(struct scheduler *scheduler, const char *name, tn_value value, struct error *error) {
    struct schedule *schedule = schedule_new(name, value, error);
    if (!schedule) return false;
    if (!schedule_enabled(schedule)) {
        MEM_EXTEND(scheduler->disabled, scheduler->disabled_count);
        scheduler->disabled[scheduler->disabled_count++] = schedule;
        return true;
    }
    MEM_EXTEND(scheduler->entries, scheduler->entry_count);
    scheduler->entries[scheduler->entry_count++] = (struct schedule_entry){.schedule = schedule, .next_ms = INT64_MIN};
    return true;
}

struct scheduler *scheduler_new(const struct scheduler_options *options, struct error *error) {
    struct scheduler *scheduler = mem_zalloc(sizeof *scheduler);
    scheduler->store = options->store;
    scheduler->loop = store_loop(options->store);
    scheduler->look_ms = options->look_ms ? options->look_ms : SCHEDULER_LOOK_MS;
    for (size_t i = 0; i < value_count(options->schedules); i++) {
        const char *name = value_chars(value_key_at(options->schedules, i), NULL);
        if (scheduler_add(scheduler, name, value_value_at(options->schedules, i), error)) continue;
        scheduler_free(scheduler);
        return NULL;
    }
    return scheduler;
}

size_t scheduler_count(const struct scheduler *scheduler) { return scheduler->entry_count; }
uint64_t scheduler_created(const struct scheduler *scheduler) { return scheduler->created; }

/* ---- One schedule ---- */

static void log_outcome(struct schedule_entry *entry, tn_value outcome) {
    const char *name = schedule_name(entry->schedule);
    tn_value refused = value_get(outcome, "refused");
    if (refused)
        log_write(LOG_ERROR, NULL, "schedule %s: cannot create its Task: %s", name, value_chars(refused, NULL));
    if (value_to_bool(value_get(outcome, "dropped")))
        log_write(LOG_WARN, NULL,
                  "schedule %s: more than %d due times were missed; no Tasks are created for the oldest", name,
                  SCHEDULE_DUE_MAX);
    if (!value_to_bool(value_get(outcome, "changed"))) return;
    if (!entry->known)
        log_write(LOG_INFO, NULL, "schedule %s: its times have changed; it starts afresh", name);
    else if (!entry->warned)
        log_write(LOG_WARN, NULL, "schedule %s: another host of this store has other times for it", name);
    entry->warned |= entry->known;
}

static void on_due_handled(void *user, int32_t status, tn_value outcome, const struct error *error) {
    struct scheduler *scheduler = user;
    struct schedule_entry *entry = scheduler->busy;
    scheduler->busy = NULL;
    if (status == TN_OK) {
        scheduler->created += (uint64_t)value_to_int(value_get(outcome, "created"));
        entry->base_ms = value_to_int(value_get(outcome, "handled_ms"));
        log_outcome(entry, outcome);
        entry->known = true;
        if (!schedule_next(entry->schedule, entry->base_ms, &entry->next_ms)) entry->next_ms = NEVER;
    } else {
        log_write(LOG_WARN, NULL, "schedule %s: cannot create its Task, trying again: %s",
                  schedule_name(entry->schedule), error->message);
    }
    entry->waits = status != TN_OK;
    scheduler_work(scheduler);
}

/* ---- Waking and sleeping ---- */

static void on_scheduler_timer(struct loop_timer *timer) {
    struct scheduler *scheduler = CONTAINER_OF(timer, struct scheduler, timer);
    for (size_t i = 0; i < scheduler->entry_count; i++) scheduler->entries[i].waits = false;
    scheduler_work(scheduler);
}

static void scheduler_sleep(struct scheduler *scheduler, int64_t now_ms) {
    int64_t delay = scheduler->look_ms;
    for (size_t i = 0; i < scheduler->entry_count; i++) {
        const struct schedule_entry *entry = &scheduler->entries[i];
        int64_t due = entry->waits ? now_ms + SCHEDULER_RETRY_MS : entry->next_ms;
        if (due < now_ms + delay) delay = due - now_ms;
    }
    loop_timer_start(scheduler->loop, &scheduler->timer, delay, on_scheduler_timer);
}

static void on_scheduler_end(struct loop_work *work) {
    struct scheduler *scheduler = CONTAINER_OF(work, struct scheduler, end);
    void (*closed)(void *user) = scheduler->closed;
    void *user = scheduler->closed_user;
    scheduler_free(scheduler);
    if (closed) closed(user);
}

/* Handles the next entry whose time has come, or sleeps. */
static void scheduler_work(struct scheduler *scheduler) {
    if (scheduler->closing) {
        scheduler->end.run = on_scheduler_end;
        loop_defer(scheduler->loop, &scheduler->end);
        return;
    }
    int64_t now = store_wall_ms(scheduler->store);
    /* The clock was set back: the records may be too far ahead. */
    bool back = now + SCHEDULE_AHEAD_MAX_MS < scheduler->seen_ms;
    if (back || now > scheduler->seen_ms) scheduler->seen_ms = now;
    for (size_t i = 0; i < scheduler->entry_count; i++)
        if (back) scheduler->entries[i].next_ms = INT64_MIN;
    for (size_t i = 0; i < scheduler->entry_count; i++) {
        struct schedule_entry *entry = &scheduler->entries[i];
        if (entry->waits || entry->next_ms > now) continue;
        scheduler->busy = entry;
        schedule_create_due(scheduler->store, entry->schedule, entry->base_ms < now ? entry->base_ms : now,
                            on_due_handled, scheduler);
        return;
    }
    scheduler_sleep(scheduler, now);
}

void scheduler_start(struct scheduler *scheduler) {
    scheduler->seen_ms = store_wall_ms(scheduler->store);
    for (size_t i = 0; i < scheduler->entry_count; i++) scheduler->entries[i].base_ms = scheduler->seen_ms;
    for (size_t i = 0; i < scheduler->disabled_count; i++) schedule_forget(scheduler->store, scheduler->disabled[i]);
    if (scheduler->entry_count) scheduler_work(scheduler);
}

void scheduler_close(struct scheduler *scheduler, void (*closed)(void *user), void *user) {
    if (!scheduler || scheduler->closing) return;
    scheduler->closing = true;
    scheduler->closed = closed;
    scheduler->closed_user = user;
    loop_timer_stop(scheduler->loop, &scheduler->timer);
    if (!scheduler->busy) scheduler_work(scheduler);
}
