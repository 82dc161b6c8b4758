/*
 * durable.c - checkpoints of a run: what is in them, and the waiting for them.
 *
 * A checkpoint stands between two steps: the state after one, and the plan of the next. What a run changes is found by
 * comparing the state with the one of the last commit, by identity. While a commit is under way the run does not
 * advance; while its end is written, nothing can be done to it any more.
 */
#include "host/engine/durable.h"
#include "adl/value/memory.h"
#include "host/engine/identity.h"
#include "host/engine/replay.h"
#include "host/engine/run_internal.h"
#include "host/thread/delta.h"
#include "host/thread/log.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct durable {
    struct run *run;
    struct thread_log *log; /* borrowed: of the options */
    struct replay *replay;  /* instead of a log; likewise */
    char scope[20];
    bool root, is_new; /* is_new: nothing of this scope was there before */
    bool fresh;        /* … nor has been written yet */
    bool exit_only;    /* one commit, at the end */
    bool broken;       /* the log has failed: nothing more is written */
    bool waiting, ending;
    enum run_status status; /* that the end is written for */
    uint32_t seq;           /* of the next checkpoint */
    const char *written;    /* the status of the record, static; NULL before the first commit */
    tn_value *base;         /* [channel]: as of the last commit; NULL before the first */
};

static tn_value text_of_ms(int64_t ms) {
    char text[40];
    struct tm parts;
    time_t seconds = (time_t)(ms / 1000);
    gmtime_r(&seconds, &parts);
    size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, sizeof text - length, ".%03dZ", (int)(ms % 1000));
    return value_text(text);
}

/* ---- Parts ---- */

static bool is_ephemeral(const struct run *run, uint32_t channel) {
    return run->graph->document->channels[channel].type == CHANNEL_EPHEMERAL;
}

/* Also makes the state the base of the next one. */
static tn_value delta_of(struct durable *durable) {
    struct run *run = durable->run;
    tn_value delta = value_object();
    for (uint32_t i = 0; i < run->state.count; i++) {
        const struct document_channel *def = &run->graph->document->channels[i];
        tn_value after = run->state.values[i], before = durable->base[i];
        bool ephemeral = is_ephemeral(run, i);
        if (!ephemeral || !value_identical(after, def->initial))
            delta = delta_channel_take(delta, def->name, before, after, ephemeral);
        durable->base[i] = value_ref(after);
        value_unref(before);
    }
    return delta;
}

static bool has_changed(const struct durable *durable) {
    const struct run *run = durable->run;
    for (uint32_t i = 0; i < run->state.count; i++)
        if (run->state.values[i] != durable->base[i]) return true;
    return false;
}

/* For a snapshot: as delta_apply_take keeps it. */
static tn_value whole_state(void *user) {
    struct run *run = ((struct durable *)user)->run;
    tn_value state = state_object(&run->state, true), names = value_array();
    for (uint32_t i = 0; i < run->state.count; i++) {
        tn_value name = run->graph->document->channels[i].name;
        if (is_ephemeral(run, i) && value_get_key(state, name)) names = value_push_take(names, value_ref(name));
    }
    return value_count(names) ? value_set_take(state, "", names) : state;
}

static tn_value next_of(tn_value plan) {
    tn_value next = value_array();
    for (size_t i = 0; i < value_count(plan) && i < 100; i++) {
        tn_value entry = value_at(plan, i), node = value_is(entry, TN_STRING) ? entry : value_get(entry, "node");
        next = value_push_take(next, value_ref(node));
    }
    return next;
}

/* What tasks of the step gave that another execution might not: for replays. */
static void note_outcomes(const struct durable *durable) {
    const struct run *run = durable->run;
    if (durable->replay || durable->exit_only) return;
    for (uint32_t i = 0; run->planning_done && i < run->task_count; i++) {
        const struct task *task = &run->tasks[i];
        if (task_is_pure(task) || (task->state != TASK_DONE && task->state != TASK_FAILED)) continue;
        tn_value entry = task->state == TASK_DONE
                             ? task_save(task)
                             : value_set_take(value_object(), "failed", error_to_value(&task->error));
        thread_log_outcome_take(durable->log, durable->scope, run->step, i, entry);
    }
}

static tn_value ran_of(const struct run *run) {
    tn_value ran = value_array();
    for (uint32_t i = 0; run->planning_done && i < run->task_count && i < 100; i++)
        ran = value_push_take(ran, value_ref(run->graph->document->nodes[run->tasks[i].plan.node].id));
    return ran;
}

/* What its invocation was configured with: whoever resumes it uses the same, unless told otherwise. */
static tn_value config_of(const struct run *run) {
    const struct run_options *options = &run->options;
    tn_value config = value_object();
    if (options->tags) config = value_set_take(config, "tags", value_ref(options->tags));
    if (options->metadata) config = value_set_take(config, "metadata", value_ref(options->metadata));
    if (options->configurable) config = value_set_take(config, "configurable", value_ref(options->configurable));
    if (options->runner_id) config = value_set_take(config, "runner_id", value_text(options->runner_id));
    if (options->durability == RUN_DURABLE_EXIT) config = value_set_take(config, "durability", value_text("exit"));
    return options->seed ? value_set_take(config, "seed", value_int((int64_t)options->seed)) : config;
}

/* Where the run stands between two steps: what run_save says of it, with changes in the place of the state. */
static tn_value checkpoint_of(struct durable *durable, const char *source, int64_t now_ms) {
    static const char *const members[] = {"step", "plan", "joins", "deferred", "used", "before", "uses", "after"};
    struct run *run = durable->run;
    tn_value saved = run_position(run), checkpoint = value_object_reserve(12);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(saved, members[i]);
        if (member) checkpoint = value_set_take(checkpoint, members[i], value_ref(member));
    }
    checkpoint = value_set_take(checkpoint, "source", value_text(source));
    checkpoint = value_set_take(checkpoint, "now", value_int(now_ms));
    if (!run_in_step(run)) {
        tn_value ran = ran_of(run);
        if (value_count(ran)) checkpoint = value_set_take(checkpoint, "ran", ran);
    }
    if (strcmp(source, "input") == 0) {
        checkpoint = value_set_take(checkpoint, "input", value_ref(run->input));
        checkpoint = value_set_take(checkpoint, "run_id", value_text(run_id(run)));
        if (run->options.thread_id)
            checkpoint = value_set_take(checkpoint, "thread_id", value_text(run->options.thread_id));
        tn_value config = config_of(run);
        if (value_count(config)) checkpoint = value_set_take(checkpoint, "config", config);
    }
    checkpoint = value_set_take(checkpoint, "delta", delta_of(durable));
    value_unref(saved);
    return checkpoint;
}

static tn_value record_of(const struct durable *durable, const char *status, tn_value plan, int64_t now_ms) {
    struct run *run = durable->run;
    const struct document *document = run->graph->document;
    tn_value record = value_set_take(value_object_reserve(16), "status", value_text(status));
    record = value_set_take(record, "updated_at", text_of_ms(now_ms));
    record = value_set_take(record, "run_id", value_text(run_id(run)));
    record = value_set_take(record, "step", value_int(run->step - run_in_step(run)));
    if (plan) record = value_set_take(record, "next", next_of(plan));
    if (durable->seq > 0) record = value_set_take(record, "head", value_int(durable->seq - 1));
    if (!durable->written) {
        if (durable->is_new) record = value_set_take(record, "created_at", text_of_ms(now_ms));
        record = value_set_take(record, "config", config_of(run));
        record = value_set_take(record, "agent", value_ref(document->name));
        record = value_set_take(record, "graph", value_text(graph_identity(run->graph)));
        if (run->options.document) record = value_set_take(record, "document", value_text(run->options.document));
    }
    bool failed = strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0;
    tn_value interrupts = strcmp(status, "interrupted") == 0 ? run_interrupts_now(run) : value_null();
    if (!durable->is_new || failed || !value_is(interrupts, TN_NULL)) {
        record = value_set_take(record, "error", failed ? error_to_value(&run->error) : value_null());
        record = value_set_take(record, "interrupts", interrupts);
        record = value_set_take(record, "answers", value_null());
    } else {
        value_unref(interrupts);
    }
    return record;
}

/* Of a step that is left before its end: "STEP/INDEX". */
static tn_value tasks_of(const struct run *run) {
    char key[32];
    if (!run_in_step(run)) return NULL;
    snprintf(key, sizeof key, "%010u/~", run->step);
    tn_value tasks = value_set_take(value_object(), key, value_bool(true));
    for (uint32_t i = 0; i < run->task_count; i++) {
        tn_value entry = task_save(&run->tasks[i]);
        snprintf(key, sizeof key, "%010u/%u", run->step, i);
        if (value_count(entry)) tasks = value_set_take(tasks, key, entry);
    }
    return tasks;
}

/* ---- Writing ---- */

static void on_written(void *user, int32_t status, tn_value result, const struct error *error) {
    struct durable *durable = user;
    struct run *run = durable->run;
    (void)result;
    durable->waiting = false;
    if (status != TN_OK) {
        durable->broken = true;
        if (durable->ending && durable->status != RUN_DONE && run->error.code) {
            run_end(run, durable->status); /* as it was; that it was not written changes nothing of it */
            return;
        }
        struct error copy = ERROR_INIT;
        error_copy(&copy, error);
        run_break(run, &copy);
        return;
    }
    if (durable->ending)
        run_end(run, durable->status);
    else
        run_advance(run);
}

static void write(struct durable *durable, const char *source, const char *status, bool checkpoint) {
    struct run *run = durable->run;
    int64_t now_ms = loop_wall_ms(run->loop);
    struct thread_commit commit = {.scope = durable->scope,
                                   .state = durable->root ? whole_state : NULL,
                                   .user = durable,
                                   .fresh = durable->fresh,
                                   .tasks = tasks_of(run)};
    tn_value plan = NULL;
    note_outcomes(durable);
    if (checkpoint) {
        commit.checkpoint = checkpoint_of(durable, source, now_ms);
        commit.seq = durable->seq++;
        commit.step_over = !commit.tasks;
        plan = value_get(commit.checkpoint, "plan");
        run->planned_ms = now_ms;
    }
    if (durable->root) commit.record = record_of(durable, status, plan, now_ms);
    durable->written = status;
    durable->fresh = false;
    durable->waiting = true;
    thread_log_commit(durable->log, commit, on_written, durable);
}

/* With what was recorded; of runs inside, nothing is kept to compare with, only what they called. */
static void compare(struct durable *durable, const char *source, bool checkpoint) {
    struct run *run = durable->run;
    if (!durable->root || !checkpoint) return;
    tn_value made = checkpoint_of(durable, source, 0);
    run->planned_ms = replay_step(durable->replay, durable->seq++, made);
    durable->written = "running";
    value_unref(made);
    if (replay_is_left(durable->replay)) run_cancel(run);
}

/* ---- Called by the run ---- */

/* How many checkpoints there are. */
static int64_t head_of(tn_value loaded) {
    int64_t head;
    tn_value found = value_get(value_get(loaded, "record"), "head");
    return found && value_is_number(found) && value_as_int(found, &head) ? head + 1 : 0;
}

void durable_begin(struct run *run) {
    struct run *root = run_outermost(run);
    if ((!root->options.log && !root->options.replay) || run->durable) return;
    struct durable *durable = mem_zalloc(sizeof *durable);
    run->durable = durable;
    durable->run = run;
    durable->log = root->options.log;
    durable->replay = root->options.replay;
    durable->root = root == run;
    durable->exit_only = root->options.durability == RUN_DURABLE_EXIT;
    durable->seq = durable->root ? (uint32_t)head_of(root->options.loaded) : run->nested_seq;
    durable->is_new = durable->fresh = durable->seq == 0;
    durable->base = mem_array(NULL, run->state.count, sizeof *durable->base);
    for (uint32_t i = 0; i < run->state.count; i++)
        durable->base[i] = durable->is_new ? NULL : value_ref(run->state.values[i]);
    if (durable->root)
        snprintf(durable->scope, sizeof durable->scope, THREAD_ROOT);
    else
        snprintf(durable->scope, sizeof durable->scope, "%016" PRIx64, run->scope);
}

void durable_end(struct run *run) {
    struct durable *durable = run->durable;
    if (!durable) return;
    for (uint32_t i = 0; i < run->state.count; i++) value_unref(durable->base[i]);
    mem_free((void *)durable->base);
    mem_free(durable);
    run->durable = NULL;
}

uint32_t durable_seq(const struct run *run) { return run->durable->seq; }

bool durable_waits(const struct run *run) { return run->durable && run->durable->waiting; }

bool durable_commit(struct run *run, const char *source) {
    struct durable *durable = run->durable;
    if (!durable || durable->broken) return false;
    bool first = durable->root && !durable->written;
    if (durable->exit_only && !first) return false;
    bool checkpoint = source && !run_in_step(run);
    if (durable->replay) {
        compare(durable, source, checkpoint);
        return false;
    }
    /* Whoever resumes a thread passes what it waits for: it must be said with the step that it comes after. */
    write(durable, source, run_status_name(run->interrupt_after ? RUN_INTERRUPTED : RUN_RUNNING), checkpoint);
    return true;
}

bool durable_finish(struct run *run, enum run_status status) {
    struct durable *durable = run->durable;
    if (!durable || durable->broken || durable->ending) return false;
    /* A run inside that is done says so by its task; what it waits for is in its task's entry as well. */
    if (!durable->root && (status != RUN_INTERRUPTED || durable->exit_only)) return false;
    if (durable->replay) {
        compare(durable, "end", has_changed(durable));
        return false;
    }
    durable->ending = true;
    durable->status = status;
    write(durable, run->updating ? "update" : "end", run_status_name(status),
          run->updating || has_changed(durable) || durable->seq == 0);
    return true;
}

void durable_task(struct task *task) {
    const struct run *run = task->run;
    const struct durable *durable = run->durable;
    if (!durable || durable->broken || durable->exit_only || durable->replay || run->task_count == 1) return;
    thread_log_task_take(durable->log, durable->scope, run->step, task->index, task_save(task));
}

void durable_answer(struct run *run, const char *id, tn_value answer) {
    const struct durable *durable = run->durable;
    if (!durable || durable->broken || durable->replay) return;
    thread_log_answer(durable->log, id, answer);
}

bool durable_replays(const struct run *run) { return run->durable && run->durable->replay; }

tn_value durable_recorded(const struct task *task) {
    const struct durable *durable = task->run->durable;
    return replay_outcome(durable->replay, durable->scope, task->run->step, task->index);
}

tn_value durable_recorded_call(const struct task *task, const char *path) {
    const struct durable *durable = task->run->durable;
    return replay_call(durable->replay, durable->scope, task->run->step, task->index, task->round, path);
}

void durable_call(struct task *task, const char *path) {
    const struct run *run = task->run;
    const struct durable *durable = run->durable;
    if (!durable || durable->broken || durable->exit_only || durable->replay) return;
    thread_log_call_take(durable->log, durable->scope, run->step, task->index, task->round, path,
                         value_ref(task_child(task, path)));
}

tn_value durable_take_nested(struct run *run) {
    struct run *root = run_outermost(run);
    char scope[20];
    snprintf(scope, sizeof scope, "%016" PRIx64, run->scope);
    tn_value nested = value_get(root->options.loaded, "nested"), known = value_get(nested, scope);
    if (!known) return NULL;
    value_ref(known);
    nested = value_remove_take(value_ref(nested), value_text(scope));
    root->options.loaded = value_set_take(root->options.loaded, "nested", nested);
    return known;
}
