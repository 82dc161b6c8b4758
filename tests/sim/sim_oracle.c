/*
 * sim_oracle.c - what must hold: in every commit that the store applies, and after all.
 *
 * The checks do not use the code that they check: they compare records before and after, know who writes, and know what
 * each call returned. The names of the invariants are in README.md.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/time_text.h"
#include "host/data/kernel/kernel_history.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_records.h"
#include "tests/sim/sim_world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/easy.h>

int sim_task_by_id(const struct sim *sim, const char *id) {
    for (int i = 0; i < sim->task_count; i++)
        if (strcmp(sim->tasks[i].id, id) == 0) return i;
    return -1;
}

static const char *member_text(tn_value record, const char *name) {
    tn_value value = value_get(record, name);
    return value_is(value, TN_STRING) ? value_chars(value, NULL) : "";
}

static bool has_ended(tn_value task) {
    const char *state = member_text(task, "state");
    return strcmp(state, "done") == 0 || strcmp(state, "failed") == 0;
}

/* ---- Commits: Tasks ---- */

/* The payload of a Task of the schedule has no key: the record of the schedule in the same commit has its due time. */
static void due_key(const struct sim *sim, char out[48]) {
    for (uint64_t i = 0; i < sim->map.undo_count; i++) {
        const struct tn_store_undo *change = &sim->map.undo_log[i];
        if (!change->after || !tn_store_text_is(change->collection->name, STORE_SCHEDULES)) continue;
        tn_value due = value_get(change->after->value, "due_ms");
        if (due) snprintf(out, 48, "due:%lld", (long long)value_to_int(due));
    }
}

static void note_created(struct sim *sim, tn_value task) {
    char key[48] = "?";
    const char *given = member_text(value_get(task, "payload"), "key");
    if (*given)
        snprintf(key, sizeof key, "%s", given);
    else
        due_key(sim, key);
    for (int i = 0; i < sim->task_count; i++)
        if (strcmp(sim->tasks[i].key, key) == 0)
            sim_fail(sim, "one-per-key", "two Tasks were created for %s: %d and %d", key, i, sim->task_count);
    if (sim->task_count == SIM_TASKS) return;
    struct sim_task *made = &sim->tasks[sim->task_count++];
    *made = (struct sim_task){.asks = *given && given[strlen(given) - 1] % 2}; /* those of odd orders */
    snprintf(made->id, sizeof made->id, "%s", member_text(task, "task_id"));
    snprintf(made->key, sizeof made->key, "%s", key);
}

static void check_claim(struct sim *sim, int index, tn_value before) {
    tn_value from = value_get(before, "claimable_ms");
    int64_t not_before = INT64_MIN;
    (void)time_text_read_ms(member_text(before, "not_before"), &not_before);
    if (not_before > sim->actor.now_ms)
        sim_fail(sim, "claimable", "Task %d was claimed before %s", index, member_text(before, "not_before"));
    if (!value_is(from, TN_INT))
        sim_fail(sim, "claimable", "Task %d was claimed while it waits, or after its end", index);
    else if (value_to_int(from) > sim->actor.now_ms)
        sim_fail(sim, "claimable", "Task %d was claimed %d ms too early, by the clock of the claimer", index,
                 (int)(value_to_int(from) - sim->actor.now_ms));
}

/* A commit of the holder of a claim: it must present the token, and the claim must not have expired. */
static void check_holder(struct sim *sim, int index, tn_value before) {
    tn_value until = value_get(before, "claimable_ms");
    if (!sim->actor.token || strcmp(sim->actor.token, member_text(before, "claim_token")) != 0)
        sim_fail(sim, "own-claim", "Task %d was changed with the token of another claim", index);
    else if (!value_is(until, TN_INT) || value_to_int(until) <= sim->actor.now_ms)
        sim_fail(sim, "own-claim", "Task %d was changed with a claim that has expired", index);
}

static void check_task_change(struct sim *sim, tn_value before, tn_value after) {
    int index = sim_task_by_id(sim, member_text(after, "task_id"));
    if (index < 0) return;
    bool running = strcmp(member_text(before, "state"), "running") == 0;
    bool taken = strcmp(member_text(after, "state"), "running") == 0 &&
                 strcmp(member_text(after, "claim_token"), member_text(before, "claim_token")) != 0;
    if (has_ended(before) && !value_equal(before, after))
        sim_fail(sim, "final", "Task %d was changed after its end", index);
    if (taken) check_claim(sim, index, before);
    bool same_lease = value_get(before, "claimable_ms") && value_get(after, "claimable_ms") &&
                      value_equal(value_get(before, "claimable_ms"), value_get(after, "claimable_ms"));
    if (running && !taken && !same_lease && !has_ended(after) && !sim->actor.claiming) check_holder(sim, index, before);
    if (has_ended(after) && !has_ended(before)) {
        sim->tasks[index].ended++;
        sim->result->ended++;
        if (!running) sim_fail(sim, "own-claim", "Task %d ended without a claim", index);
        check_holder(sim, index, before);
    }
}

/* ---- Commits: threads ---- */

static int task_of_key(const struct sim *sim, struct tn_store_text key) {
    for (int i = 0; i < sim->task_count; i++) {
        size_t length = strlen(sim->tasks[i].id);
        if (key.length >= length && memcmp(key.data, sim->tasks[i].id, length) == 0) return i;
    }
    return -1;
}

static void check_thread_change(struct sim *sim, const char *collection, struct tn_store_text key, tn_value before,
                                tn_value after) {
    int index = task_of_key(sim, key);
    if (index < 0) return;
    struct sim_task *task = &sim->tasks[index];
    uint32_t writer = sim->actor.writer;
    if (strcmp(collection, STORE_THREADS) == 0 &&
        thread_record_int(before, "fence", -1) != thread_record_int(after, "fence", -1))
        task->owner = writer;
    if (task->owner != writer)
        sim_fail(sim, "fence", "writer %u has written into thread %d, which writer %u has taken over", writer, index,
                 task->owner);
    if (strcmp(collection, STORE_CHECKPOINTS) != 0) return;
    uint32_t seq = (uint32_t)strtoul(key.data + strlen(task->id) + 1, NULL, 10);
    if (before || seq != task->next_seq)
        sim_fail(sim, "steps", "thread %d: step %u was written, expected step %u", index, seq, task->next_seq);
    task->next_seq = seq + 1;
}

void sim_oracle_commit(struct sim *sim) {
    static const char *const of_threads[] = {STORE_THREADS, STORE_CHECKPOINTS, STORE_PENDING, STORE_SNAPSHOTS};
    for (uint64_t i = 0; i < sim->map.undo_count; i++) {
        const struct tn_store_undo *change = &sim->map.undo_log[i];
        tn_value before = change->before ? change->before->value : NULL;
        tn_value after = change->after ? change->after->value : NULL;
        if (!change->before && !change->after) continue;
        struct tn_store_text key = change->after ? change->after->key : change->before->key;
        if (tn_store_text_is(change->collection->name, STORE_TASKS) && after) {
            if (before)
                check_task_change(sim, before, after);
            else
                note_created(sim, after);
        }
        for (size_t at = 0; at < sizeof of_threads / sizeof *of_threads; at++)
            if (tn_store_text_is(change->collection->name, of_threads[at]))
                check_thread_change(sim, of_threads[at], key, before, after);
    }
}

/* ---- After all ---- */

static const struct sim_claim *claim_of(const struct sim *sim, int task, const char *claimer) {
    for (uint32_t i = 0; i < sim->claim_count; i++)
        if (sim->claims[i].task == task && strcmp(sim->claims[i].claimer, claimer) == 0) return &sim->claims[i];
    return NULL;
}

/* An entry says what the claim came to; one whose last answer was lost may have come to that or have expired. */
static void check_entry(struct sim *sim, int index, tn_value entry, int64_t counted) {
    const char *outcome = member_text(entry, "outcome"), *claimer = member_text(entry, "claimed_by");
    const struct sim_claim *claim = claim_of(sim, index, claimer);
    const char *expected = claim && claim->ended ? claim->ended : "expired";
    bool tried = claim && !claim->ended && claim->tried && strcmp(outcome, claim->tried) == 0;
    if (strcmp(outcome, expected) != 0 && !tried)
        sim_fail(sim, "history", "Task %d: the history says that the claim %s is `%s`, expected `%s`", index, claimer,
                 *outcome ? outcome : "open", expected);
    int64_t attempt = -1;
    (void)value_as_int(value_get(entry, "attempt"), &attempt);
    if (attempt != counted + 1)
        sim_fail(sim, "attempts", "Task %d: the claim %s was attempt %d, expected %d", index, claimer, (int)attempt,
                 (int)counted + 1);
}

static void check_history(struct sim *sim, int index, tn_value task) {
    tn_value history = value_get(task, "history");
    size_t count = value_count(history);
    int64_t counted = 0;
    if (count >= TASK_HISTORY_MAX) return; /* the oldest entries are gone */
    for (size_t i = 0; i < count; i++) {
        tn_value entry = value_at(history, i);
        const char *outcome = member_text(entry, "outcome");
        check_entry(sim, index, entry, counted);
        counted += strcmp(outcome, "released") != 0 && strcmp(outcome, "waiting") != 0;
    }
    if (task_attempts(task) != counted)
        sim_fail(sim, "attempts", "Task %d has %d attempts, its history %d", index, (int)task_attempts(task),
                 (int)counted);
    for (uint32_t i = 0; i < sim->claim_count; i++) {
        uint32_t found = 0;
        if (sim->claims[i].task != index) continue;
        for (size_t at = 0; at < count; at++)
            found += strcmp(member_text(value_at(history, at), "claimed_by"), sim->claims[i].claimer) == 0;
        if (found != 1)
            sim_fail(sim, "history", "Task %d: the claim %s is %u times in the history", index, sim->claims[i].claimer,
                     found);
    }
}

/* The thread as its reader sees it: all steps, once, in order. */
static void check_thread(struct sim *sim, int index) {
    tn_value loaded = NULL;
    struct error error = ERROR_INIT;
    bool whole = thread_read(&sim->session, sim->tasks[index].id, THREAD_HEAD, &loaded, &error) == TN_OK;
    tn_value steps = value_get(value_get(value_get(loaded, "saved"), "state"), "steps");
    whole = whole && value_count(steps) == SIM_STEPS;
    for (size_t i = 0; whole && i < SIM_STEPS; i++) whole = value_to_int(value_at(steps, i)) == (int64_t)i;
    char *text = steps ? json_text(steps, JSON_COMPACT) : mem_text("nothing");
    if (!whole) sim_fail(sim, "steps", "thread %d reads as %.80s", index, text);
    mem_free(text);
    value_unref(loaded);
    error_finish(&error);
}

/* All due times until the last one that was handled have a Task, the first one that was created for it. */
static void check_due_times(struct sim *sim) {
    tn_value record = sim_store_find(sim, STORE_SCHEDULES, "nightly");
    tn_value until = value_get(record, "handled_ms");
    int64_t handled = until ? value_to_int(until) : 0;
    for (int64_t due = SIM_EPOCH_MS + SIM_EVERY_MS; due <= handled; due += SIM_EVERY_MS) {
        char key[48];
        bool found = false;
        snprintf(key, sizeof key, "due:%lld", (long long)due);
        for (int i = 0; i < sim->task_count; i++) found = found || strcmp(sim->tasks[i].key, key) == 0;
        if (!found) sim_fail(sim, "due", "no Task was created for the due time %d ms", (int)(due - SIM_EPOCH_MS));
    }
    value_unref(record);
}

void sim_oracle_end(struct sim *sim) {
    check_due_times(sim);
    for (int i = 0; i < sim->task_count; i++) {
        tn_value task = sim_store_find(sim, STORE_TASKS, sim->tasks[i].id);
        if (sim->tasks[i].ended != 1 || !has_ended(task))
            sim_fail(sim, "ends", "Task %d is %s, and has ended %u times", i, member_text(task, "state"),
                     sim->tasks[i].ended);
        check_history(sim, i, task);
        check_thread(sim, i);
        value_unref(task);
    }
}
