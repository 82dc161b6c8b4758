/*
 * execution_replay.c - replays the invocations of a thread in their order. Changes from outside are taken as recorded.
 */
#include "host/engine/execution/execution_replay.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/data/thread/thread_log.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/run.h"
#include "host/engine/graph/run_replay.h"
#include <string.h>

struct thread_replay {
    struct graph *graph;
    struct replay *replay;
    tn_value checkpoints;
    const char *thread_id;
    struct run *run;
    bool ended;
    struct error error; /* error of a run that failed */
    enum run_status status;
};

static void thread_replay_on_ended(struct run *run, void *user) {
    (void)run;
    ((struct thread_replay *)user)->ended = true;
}

static bool replay_run_has_ended(void *user) { return ((struct thread_replay *)user)->ended; }

static tn_value config_member(tn_value config, const char *key) {
    return value_is(config, TN_OBJECT) ? value_get(config, key) : NULL;
}

static const char *optional_text(tn_value value) {
    return value && value_is(value, TN_STRING) ? value_chars(value, NULL) : NULL;
}

/* The recorded answers to the interrupts of the run; NULL if it cannot continue. */
static tn_value recorded_answers(const struct thread_replay *it) {
    tn_value interrupts = run_interrupts(it->run), answers = value_object();
    bool needs_no_answer = false;
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), id = value_get(entry, "id");
        tn_value answer = optional_text(id) ? replay_answer(it->replay, optional_text(id)) : NULL;
        if (answer) answers = value_set_key_take(answers, value_ref(id), value_ref(answer));
        needs_no_answer |= value_get(entry, "when") != NULL && replay_count(it->replay) < value_count(it->checkpoints);
    }
    value_unref(interrupts);
    if (value_count(answers) || needs_no_answer) return answers;
    value_unref(answers);
    return NULL;
}

static int32_t replay_wait(struct thread_replay *it, struct error *error) {
    struct loop *loop = it->graph->engine->loop;
    for (;;) {
        if (!it->ended && !loop_run(loop, replay_run_has_ended, it))
            return error_set(error, TN_ERROR, "REPLAY", "the replay is stalled: the loop has nothing left to do");
        if (run_status(it->run) != RUN_INTERRUPTED) return TN_OK;
        tn_value answers = recorded_answers(it);
        if (!answers) return TN_OK; /* no answer was recorded: it still waits */
        it->ended = false;
        int32_t status = run_resume(it->run, answers, &it->ended, error);
        value_unref(answers);
        if (status != TN_OK) return status;
    }
}

/* Replays one invocation: from its input, or with `input` NULL from the position of the thread at `seq`. */
static int32_t replay_invocation(struct thread_replay *it, uint32_t seq, tn_value input, struct error *error) {
    tn_value checkpoint = value_at(it->checkpoints, seq), config = value_get(checkpoint, "config"), saved = NULL;
    tn_value head = value_set_take(value_object(), "head", value_int((int64_t)seq - 1));
    tn_value loaded = value_set_take(value_object(), "record", head), seeded = config_member(config, "seed");
    int64_t seed = 0;
    struct run_options options = RUN_OPTIONS_INIT;
    options.replay = it->replay;
    options.loaded = loaded;
    options.run_id = optional_text(value_get(checkpoint, "run_id"));
    options.thread_id = optional_text(value_get(checkpoint, "thread_id"));
    if (!options.thread_id) options.thread_id = it->thread_id; /* a fork has no recorded input */
    options.tags = config_member(config, "tags");
    options.metadata = config_member(config, "metadata");
    options.configurable = config_member(config, "configurable");
    options.runner_id = optional_text(config_member(config, "runner_id"));
    options.recursion_limit =
        it->graph->engine->recursion_max; /* the original limit does not matter: its effect is recorded */
    if (seeded && value_as_int(seeded, &seed)) options.seed = (uint64_t)seed;
    options.ended = thread_replay_on_ended;
    options.user = it;
    it->run = run_new(it->graph, &options);
    it->ended = false;
    int32_t status = seq ? thread_fold(it->checkpoints, seq, &saved, error) : TN_OK;
    if (status == TN_OK && saved) status = run_restore(it->run, saved, error);
    if (status == TN_OK && input) {
        run_discard_plan(it->run);
        it->ended = run_start(it->run, input);
    } else if (status == TN_OK) {
        status = run_resume(it->run, NULL, &it->ended, error);
    }
    if (status == TN_OK) status = replay_wait(it, error);
    it->status = run_status(it->run);
    if (it->status == RUN_FAILED) {
        error_finish(&it->error);
        error_copy(&it->error, run_error(it->run));
    }
    run_cancel_wait(it->run); /* a replay that is stalled */
    run_free(it->run);
    value_unref(saved);
    value_unref(loaded);
    return status;
}

static tn_value replay_report(const struct thread_replay *it) {
    tn_value difference = replay_difference(it->replay), report = value_object_reserve(4);
    uint32_t count = replay_count(it->replay);
    bool short_of = !difference && count < value_count(it->checkpoints);
    report = value_set_take(report, "replayed", value_int(count));
    report = value_set_take(report, "checkpoints", value_int((int64_t)value_count(it->checkpoints)));
    report = value_set_take(report, "diverged", difference ? value_ref(difference) : value_null());
    if (!short_of) return report;
    /* The replay ended or waits where the recorded run continued. */
    tn_value end = value_set_take(value_object_reserve(4), "seq", value_int(count));
    end = value_set_take(end, "what", value_text("the end"));
    end = value_set_take(end, "recorded", value_ref(value_at(it->checkpoints, count)));
    end =
        value_set_take(end, "replayed",
                       it->status == RUN_FAILED ? error_to_value(&it->error) : value_text(run_status_name(it->status)));
    return value_set_take(report, "diverged", end);
}

int32_t replay_run_wait(struct graph *graph, tn_value history, tn_value *report, struct error *error) {
    tn_value record = value_get(history, "record"), config = value_get(record, "config");
    struct thread_replay it = {.graph = graph, .checkpoints = value_get(history, "checkpoints"), .status = RUN_DONE};
    if (!value_is(it.checkpoints, TN_ARRAY) || !value_count(it.checkpoints))
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the thread has no checkpoints: there is nothing to replay");
    if (value_text_is(config_member(config, "durability"), "exit"))
        return error_set(
            error, TN_UNSUPPORTED, "NOT_RECORDED",
            "the thread was saved with durability `exit`, so its steps are not recorded; only threads saved with "
            "`sync` can be replayed");
    it.thread_id = optional_text(config_member(record, "thread_id"));
    it.replay = replay_new(it.checkpoints, value_get(history, "journal"));
    int32_t status = TN_OK;
    while (status == TN_OK && !replay_is_over(it.replay)) {
        uint32_t seq = replay_count(it.replay);
        if (seq >= value_count(it.checkpoints)) break;
        tn_value checkpoint = value_at(it.checkpoints, seq);
        tn_value source = value_get(checkpoint, "source");
        if (value_text_is(source, "update") || value_text_is(source, "fork")) {
            replay_pass(it.replay);
            continue;
        }
        tn_value input = value_text_is(source, "input") ? value_get(checkpoint, "input") : NULL;
        if (!input && seq == 0) break;
        status = replay_invocation(&it, seq, input, error);
        bool ended = it.status == RUN_DONE || it.status == RUN_CANCELLED || it.status == RUN_INTERRUPTED;
        if (!replay_enter(it.replay) && !ended) break; /* a failed run must be followed by another invocation */
        if (replay_count(it.replay) == seq) break;
    }
    if (status == TN_OK) *report = replay_report(&it);
    replay_free(it.replay);
    error_finish(&it.error);
    return status;
}
