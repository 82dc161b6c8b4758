/*
 * replay_run.c - the invocations of a thread in their order; what was changed from outside between them is taken over.
 */
#include "host/runnable/replay_run.h"
#include "adl/value/memory.h"
#include "host/engine/graph.h"
#include "host/engine/replay.h"
#include "host/engine/run.h"
#include "host/host.h"
#include "host/loop/loop.h"
#include "host/thread/log.h"
#include <string.h>

struct replaying {
    struct graph *graph;
    struct replay *replay;
    tn_value checkpoints;
    const char *thread_id;
    struct run *run;
    bool ended;
    struct error error; /* that a run failed with */
    enum run_status status;
};

static void on_ended(struct run *run, void *user) {
    (void)run;
    ((struct replaying *)user)->ended = true;
}

static bool is_over(void *user) { return ((struct replaying *)user)->ended; }

static tn_value member(tn_value config, const char *key) {
    return value_is(config, TN_OBJECT) ? value_get(config, key) : NULL;
}

static const char *text(tn_value value) {
    return value && value_is(value, TN_STRING) ? value_chars(value, NULL) : NULL;
}

/* Those that were answered; NULL where none of them was. */
static tn_value answers_for(const struct replaying *it) {
    tn_value interrupts = run_interrupts(it->run), answers = value_object();
    bool free_to_go = false;
    for (size_t i = 0; i < value_count(interrupts); i++) {
        tn_value entry = value_at(interrupts, i), id = value_get(entry, "id");
        tn_value answer = text(id) ? replay_answer(it->replay, text(id)) : NULL;
        if (answer) answers = value_set_key_take(answers, value_ref(id), value_ref(answer));
        free_to_go |= value_get(entry, "when") != NULL && replay_count(it->replay) < value_count(it->checkpoints);
    }
    value_unref(interrupts);
    if (value_count(answers) || free_to_go) return answers;
    value_unref(answers);
    return NULL;
}

static int32_t wait_for_end(struct replaying *it, struct error *error) {
    struct loop *loop = it->graph->host->loop;
    for (;;) {
        if (!it->ended && !loop_run(loop, is_over, it))
            return error_set(error, TN_ERROR, "REPLAY", "nothing is left that could bring the replay on");
        if (run_status(it->run) != RUN_INTERRUPTED) return TN_OK;
        tn_value answers = answers_for(it);
        if (!answers) return TN_OK; /* it waits still */
        it->ended = false;
        int32_t status = run_resume(it->run, answers, &it->ended, error);
        value_unref(answers);
        if (status != TN_OK) return status;
    }
}

/* From one input to the end of what it led to; or, where `input` is NULL, from where the thread stood. */
static int32_t invoke(struct replaying *it, uint32_t seq, tn_value input, struct error *error) {
    tn_value checkpoint = value_at(it->checkpoints, seq), config = value_get(checkpoint, "config"), saved = NULL;
    tn_value head = value_set_take(value_object(), "head", value_int((int64_t)seq - 1));
    tn_value loaded = value_set_take(value_object(), "record", head), seeded = member(config, "seed");
    int64_t seed = 0;
    struct run_options options = RUN_OPTIONS_INIT;
    options.replay = it->replay;
    options.loaded = loaded;
    options.run_id = text(value_get(checkpoint, "run_id"));
    options.thread_id = text(value_get(checkpoint, "thread_id"));
    if (!options.thread_id) options.thread_id = it->thread_id; /* not from an input: as the fork that it is */
    options.tags = member(config, "tags");
    options.metadata = member(config, "metadata");
    options.configurable = member(config, "configurable");
    options.runner_id = text(member(config, "runner_id"));
    options.recursion_limit = it->graph->host->recursion_max; /* what it was limited by then is in the record */
    if (seeded && value_as_int(seeded, &seed)) options.seed = (uint64_t)seed;
    options.ended = on_ended;
    options.user = it;
    it->run = run_new(it->graph, &options);
    it->ended = false;
    int32_t status = seq ? thread_fold(it->checkpoints, seq, &saved, error) : TN_OK;
    if (status == TN_OK && saved) status = run_restore(it->run, saved, error);
    if (status == TN_OK && input) {
        run_give_up_plan(it->run);
        it->ended = run_start(it->run, input);
    } else if (status == TN_OK) {
        status = run_resume(it->run, NULL, &it->ended, error);
    }
    if (status == TN_OK) status = wait_for_end(it, error);
    it->status = run_status(it->run);
    if (it->status == RUN_FAILED) {
        error_finish(&it->error);
        error_copy(&it->error, run_error(it->run));
    }
    if (it->status != RUN_RUNNING) run_free(it->run);
    value_unref(saved);
    value_unref(loaded);
    return status;
}

static tn_value report_of(const struct replaying *it) {
    tn_value difference = replay_difference(it->replay), report = value_object_reserve(4);
    uint32_t count = replay_count(it->replay);
    bool short_of = !difference && count < value_count(it->checkpoints);
    report = value_set_take(report, "replayed", value_int(count));
    report = value_set_take(report, "checkpoints", value_int((int64_t)value_count(it->checkpoints)));
    report = value_set_take(report, "diverged", difference ? value_ref(difference) : value_null());
    if (!short_of) return report;
    /* It ended, or waits, where it had gone on. */
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
    struct replaying it = {.graph = graph, .checkpoints = value_get(history, "checkpoints"), .status = RUN_DONE};
    if (!value_is(it.checkpoints, TN_ARRAY) || !value_count(it.checkpoints))
        return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the thread has no checkpoints: there is nothing to replay");
    if (value_text_is(member(config, "durability"), "exit"))
        return error_set(
            error, TN_UNSUPPORTED, "NOT_RECORDED",
            "the thread was kept with durability `exit`: its steps are not recorded; only what is kept with "
            "`sync` can be replayed");
    it.thread_id = text(member(record, "thread_id"));
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
        status = invoke(&it, seq, input, error);
        bool ended = it.status == RUN_DONE || it.status == RUN_CANCELLED || it.status == RUN_INTERRUPTED;
        if (!replay_enter(it.replay) && !ended) break; /* what failed was given up where something else comes next */
        if (replay_count(it.replay) == seq) break;
    }
    if (status == TN_OK) *report = report_of(&it);
    replay_free(it.replay);
    error_finish(&it.error);
    return status;
}
