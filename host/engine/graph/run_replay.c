/*
 * run_replay.c - looks up the journal of a recorded thread, and compares checkpoints with the recorded ones.
 */
#include "host/engine/graph/run_replay.h"
#include "adl/value/memory.h"
#include "host/data/thread/thread_delta.h"
#include "host/data/thread/thread_keys.h"
#include <stdio.h>
#include <string.h>

struct replay {
    tn_value checkpoints, journal, difference;
    tn_value incarnation; /* borrowed from a checkpoint; NULL if none of them had one */
    tn_value state;       /* after the first `folded` recorded checkpoints; only if it was needed */
    uint32_t folded;
    uint32_t count;
    bool over, left;
};

struct replay *replay_new(tn_value checkpoints, tn_value journal) {
    struct replay *replay = mem_zalloc(sizeof *replay);
    replay->checkpoints = value_ref(checkpoints);
    replay->journal = value_ref(journal);
    return replay;
}

void replay_free(struct replay *replay) {
    if (!replay) return;
    value_unref(replay->checkpoints);
    value_unref(replay->journal);
    value_unref(replay->difference);
    value_unref(replay->state);
    mem_free(replay);
}

void replay_pass(struct replay *replay) {
    tn_value changed = value_get(value_at(replay->checkpoints, replay->count++), "incarnation");
    if (changed) replay->incarnation = changed;
}

const char *replay_incarnation(const struct replay *replay) {
    return value_is(replay->incarnation, TN_STRING) ? value_chars(replay->incarnation, NULL) : NULL;
}

bool replay_is_over(const struct replay *replay) { return replay->over || replay->difference; }
bool replay_is_left(const struct replay *replay) { return replay->left || replay_is_over(replay); }

bool replay_enter(struct replay *replay) {
    static const char *const sources[] = {"input", "update", "fork"};
    tn_value next =
        replay->count < value_count(replay->checkpoints) ? value_at(replay->checkpoints, replay->count) : NULL;
    replay->left = false;
    for (size_t i = 0; next && i < sizeof sources / sizeof *sources; i++)
        if (value_text_is(value_get(next, "source"), sources[i])) return true;
    return false;
}
tn_value replay_difference(const struct replay *replay) { return replay->difference; }
uint32_t replay_count(const struct replay *replay) { return replay->count; }

static tn_value journal_lookup(const struct replay *replay, const char *const *parts) {
    char key[THREAD_KEY_MAX];
    thread_key_of(key, parts[0], parts + 1);
    return value_get(replay->journal, key);
}

tn_value replay_answer(const struct replay *replay, const char *interrupt_id) {
    return journal_lookup(replay, (const char *const[]){THREAD_ANSWERS, interrupt_id, NULL});
}

tn_value replay_outcome(const struct replay *replay, const char *scope, uint32_t step, uint32_t index) {
    char at[12], digits[12];
    thread_number(at, step);
    snprintf(digits, sizeof digits, "%u", index);
    return journal_lookup(replay, (const char *const[]){scope, at, digits, THREAD_OUTCOME, NULL});
}

tn_value replay_call(const struct replay *replay, const char *scope, uint32_t step, uint32_t index, uint32_t round,
                     const char *path) {
    char at[12], digits[12], rounds[12];
    thread_number(at, step);
    snprintf(digits, sizeof digits, "%u", index);
    snprintf(rounds, sizeof rounds, "%u", round);
    return journal_lookup(replay, (const char *const[]){scope, at, digits, rounds, path, NULL});
}

static void replay_set_difference(struct replay *replay, uint32_t seq, tn_value made, const char *what,
                                  tn_value recorded, tn_value replayed) {
    tn_value difference = value_set_take(value_object_reserve(5), "seq", value_int(seq));
    difference = value_set_take(difference, "step", value_ref(value_get(made, "step")));
    difference = value_set_take(difference, "what", value_text(what));
    difference = value_set_take(difference, "recorded", recorded ? value_ref(recorded) : value_null());
    replay->difference = value_set_take(difference, "replayed", replayed ? value_ref(replayed) : value_null());
}

/* True if both are NULL or both are equal, with their keys in the same order. */
static bool is_same_value(tn_value one, tn_value other) {
    return one && other ? value_identical(one, other) : one == other;
}

/* Applies the recorded changes up to the checkpoint `seq`, whose own change is not applied. */
static bool replay_fold(struct replay *replay, uint32_t seq) {
    struct error error = ERROR_INIT;
    if (!replay->state) replay->state = value_object();
    while (replay->folded < seq) {
        tn_value delta = value_get(value_at(replay->checkpoints, replay->folded), "delta"), state = replay->state;
        replay->state = NULL;
        int32_t status = delta_apply_take(state, delta, &replay->state, &error);
        error_finish(&error);
        if (status != TN_OK) return false;
        replay->folded++;
    }
    return true;
}

/* True if both changes lead to the same state. The same step may be recorded in other words, such as by an older host.
 */
static bool replay_same_effect(struct replay *replay, uint32_t seq, tn_value before, tn_value now) {
    struct error error = ERROR_INIT;
    tn_value one = NULL, other = NULL;
    if (!replay_fold(replay, seq)) return false;
    bool same = delta_apply_take(value_ref(replay->state), before, &one, &error) == TN_OK &&
                delta_apply_take(value_ref(replay->state), now, &other, &error) == TN_OK && value_identical(one, other);
    error_finish(&error);
    value_unref(one);
    value_unref(other);
    return same;
}

/* Names the first channel whose change differs: "channel `notes`". */
static void replay_set_delta_difference(struct replay *replay, uint32_t seq, tn_value made, tn_value recorded) {
    tn_value before = value_get(recorded, "delta"), now = value_get(made, "delta");
    char what[300];
    for (size_t i = 0; i < value_count(before); i++) {
        tn_value name = value_key_at(before, i), change = value_get_key(now, name);
        if (is_same_value(value_value_at(before, i), change)) continue;
        snprintf(what, sizeof what, "channel `%.256s`", value_chars(name, NULL));
        replay_set_difference(replay, seq, made, what, value_value_at(before, i), change);
        return;
    }
    for (size_t i = 0; i < value_count(now); i++) {
        tn_value name = value_key_at(now, i);
        if (value_get_key(before, name)) continue;
        snprintf(what, sizeof what, "channel `%.256s`", value_chars(name, NULL));
        replay_set_difference(replay, seq, made, what, NULL, value_value_at(now, i));
        return;
    }
    replay_set_difference(replay, seq, made, "the order of the channels", before, now);
}

int64_t replay_step(struct replay *replay, uint32_t seq, tn_value made) {
    static const char *const members[] = {"source",   "step", "ran",  "plan",  "joins",
                                          "deferred", "used", "uses", "after", "input"};
    tn_value recorded = seq < value_count(replay->checkpoints) ? value_at(replay->checkpoints, seq) : NULL;
    tn_value now = recorded ? value_get(recorded, "now") : NULL;
    int64_t now_ms = 0;
    if (replay_is_left(replay)) return 0;
    if (!value_text_is(value_get(made, "source"), "input") && replay_enter(replay)) {
        replay->left = true; /* the recorded invocation was replaced here */
        return 0;
    }
    if (!recorded) { /* the recorded run ends here */
        replay->over = true;
        return 0;
    }
    for (size_t i = 0; i < sizeof members / sizeof *members && !replay->difference; i++) {
        tn_value before = value_get(recorded, members[i]), then = value_get(made, members[i]);
        if (!is_same_value(before, then)) replay_set_difference(replay, seq, made, members[i], before, then);
    }
    tn_value before = value_get(recorded, "delta"), then = value_get(made, "delta");
    if (!replay->difference && !is_same_value(before, then) && !replay_same_effect(replay, seq, before, then))
        replay_set_delta_difference(replay, seq, made, recorded);
    if (!replay->difference) replay_pass(replay);
    return now && value_as_int(now, &now_ms) ? now_ms : 0;
}
