/*
 * durable.c - what is in a checkpoint of a run, and when it is written.
 *
 * A checkpoint is written between two steps. It has the changes since the last commit and the plan of the next step.
 * Changes are found by comparing the values of the channels with those of the last commit, by identity. The states
 * COMMITTING and ENDING of the run wait for the store.
 */
#include "host/engine/graph/durable.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/base/container_of.h"
#include "host/base/time_text.h"
#include "host/data/thread/thread_batch.h"
#include "host/data/thread/thread_delta.h"
#include "host/data/thread/thread_log.h"
#include "host/data/thread/thread_records.h"
#include "host/engine/engine.h"
#include "host/engine/graph/graph_identity.h"
#include "host/engine/graph/run_internal.h"
#include "host/engine/graph/run_replay.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct durable {
    struct run *run;
    struct thread_log *log; /* borrowed from the options */
    struct replay *replay;  /* borrowed; instead of a log */
    char scope[20];         /* THREAD_ROOT, or the scope of a nested run in hexadecimal */
    bool root;              /* this is the outermost run */
    bool is_new;            /* the scope had no checkpoint when the run started */
    bool fresh;             /* is_new, and nothing has been written */
    bool exit_only;         /* RUN_DURABLE_EXIT: one commit, at the end */
    bool broken;            /* the log has failed: nothing more is written */
    struct loop_work notes; /* writes the notes of this turn of the loop */
    bool notes_next;        /* `notes` has run once */
    uint32_t seq;           /* seq of the next checkpoint */
    bool committed;         /* a commit has succeeded */
    struct error error;     /* of the log, while the failure of the run is written */
    const char *written;    /* the status of the last record, static; NULL before the first commit */
    tn_value last;          /* the newest checkpoint, or NULL */
    tn_value *base;         /* [channel]: value at the last commit; NULL before the first */
};

/* ---- Parts ---- */

static bool channel_is_ephemeral(const struct run *run, uint32_t channel) {
    return run->graph->document->channels[channel].type == CHANNEL_EPHEMERAL;
}

/* The changes since the last commit. The next call starts from the present values. */
static tn_value durable_delta(struct durable *durable) {
    struct run *run = durable->run;
    tn_value delta = value_object();
    for (uint32_t i = 0; i < run->channels.count; i++) {
        const struct document_channel *def = &run->graph->document->channels[i];
        tn_value after = run->channels.values[i], before = durable->base[i];
        bool ephemeral = channel_is_ephemeral(run, i);
        if (!ephemeral || !value_identical(after, def->initial))
            delta = delta_channel_take(delta, def->name, before, after, ephemeral);
        durable->base[i] = value_ref(after);
        value_unref(before);
    }
    return delta;
}

static bool durable_has_changed(const struct durable *durable) {
    const struct run *run = durable->run;
    for (uint32_t i = 0; i < run->channels.count; i++)
        if (run->channels.values[i] != durable->base[i]) return true;
    return false;
}

/* For a snapshot, in the form of delta_apply_take: "" lists the ephemeral channels that have a value. */
static tn_value durable_whole_state(void *user) {
    struct run *run = ((struct durable *)user)->run;
    tn_value state = channels_object(&run->channels, true), names = value_array();
    for (uint32_t i = 0; i < run->channels.count; i++) {
        tn_value name = run->graph->document->channels[i].name;
        if (channel_is_ephemeral(run, i) && value_get_key(state, name)) names = value_push_take(names, value_ref(name));
    }
    return value_count(names) ? value_set_take(state, "", names) : state;
}

static tn_value plan_node_names(tn_value plan) {
    tn_value next = value_array();
    for (size_t i = 0; i < value_count(plan) && i < 100; i++) {
        tn_value entry = value_at(plan, i), node = value_is(entry, TN_STRING) ? entry : value_get(entry, "node");
        next = value_push_take(next, value_ref(node));
    }
    return next;
}

/* The outcomes of the step that are saved (activation_outcome_is_saved): a replay uses them. */
static void durable_log_outcomes(const struct durable *durable) {
    const struct run *run = durable->run;
    if (durable->replay || durable->exit_only) return;
    for (uint32_t i = 0; i < run->activation_count; i++) {
        const struct activation *activation = &run->activations[i];
        if (activation->refused || !activation_outcome_is_saved(activation) ||
            (activation->state != ACTIVATION_DONE && activation->state != ACTIVATION_FAILED))
            continue;
        tn_value entry = activation->state == ACTIVATION_DONE
                             ? activation_save(activation)
                             : value_set_take(value_object(), "failed", error_to_value(&activation->error));
        thread_log_outcome_take(durable->log, durable->scope, run->step, i, entry);
    }
}

static tn_value activation_node_names(const struct run *run) {
    tn_value ran = value_array();
    for (uint32_t i = 0; i < run->activation_count && i < 100; i++)
        ran = value_push_take(ran, value_ref(run->graph->document->nodes[run->activations[i].plan.node].id));
    return ran;
}

/* The configuration of the invocation. Resuming the thread uses it by default. */
static tn_value run_config(const struct run *run) {
    const struct run_options *options = &run->options;
    tn_value config = value_object();
    if (options->tags) config = value_set_take(config, "tags", value_ref(options->tags));
    if (options->metadata) config = value_set_take(config, "metadata", value_ref(options->metadata));
    if (options->configurable) config = value_set_take(config, "configurable", value_ref(options->configurable));
    if (options->runner_id) config = value_set_take(config, "runner_id", value_text(options->runner_id));
    if (options->durability == RUN_DURABLE_EXIT) config = value_set_take(config, "durability", value_text("exit"));
    return options->seed ? value_set_take(config, "seed", value_int((int64_t)options->seed)) : config;
}

/* The position of the run between two steps, with the changes of the state instead of the state. */
static tn_value durable_checkpoint(struct durable *durable, const char *source, int64_t now_ms) {
    static const char *const members[] = {"step",   "plan", "joins",        "deferred", "used",
                                          "before", "uses", "unrepeatable", "after"};
    struct run *run = durable->run;
    tn_value saved = run_position(run), checkpoint = value_object_reserve(12);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(saved, members[i]);
        if (member) checkpoint = value_set_take(checkpoint, members[i], value_ref(member));
    }
    checkpoint = value_set_take(checkpoint, "source", value_text(source));
    checkpoint = value_set_take(checkpoint, "now", value_int(now_ms));
    if (!run_in_step(run)) {
        tn_value ran = activation_node_names(run);
        if (value_count(ran)) checkpoint = value_set_take(checkpoint, "ran", ran);
    }
    if (strcmp(source, "input") == 0) {
        checkpoint = value_set_take(checkpoint, "input", value_ref(run->input));
        checkpoint = value_set_take(checkpoint, "run_id", value_text(run_id(run)));
        if (run->options.thread_id)
            checkpoint = value_set_take(checkpoint, "thread_id", value_text(run->options.thread_id));
        tn_value config = run_config(run);
        if (value_count(config)) checkpoint = value_set_take(checkpoint, "config", config);
    }
    if (strcmp(source, "input") == 0 || strcmp(source, "update") == 0) {
        tn_value incarnation = run_loaded_incarnation(run);
        if (incarnation) checkpoint = value_set_take(checkpoint, "incarnation", value_ref(incarnation));
    }
    tn_value rewound = strcmp(source, "update") == 0 ? value_get(run->options.loaded, "rewound") : NULL;
    if (rewound) checkpoint = value_set_take(checkpoint, "rewound", value_ref(rewound));
    checkpoint = value_set_take(checkpoint, "delta", durable_delta(durable));
    value_unref(saved);
    return checkpoint;
}

/* True if no host is to continue the run by itself: it is not served, or a client has stopped it. */
static bool durable_forgets_served(const struct durable *durable, const char *status) {
    const struct run *run = durable->run;
    bool stopped = strcmp(status, "stopped") == 0 && run->graph->engine->end == ENGINE_STAYS;
    if (run->options.served) return stopped;
    return !durable->written && value_get(value_get(run->options.loaded, "record"), THREAD_SERVED);
}

/* A run that is cancelled by the end of its host has only stopped, if the next host continues it. */
static const char *durable_status_name(const struct run *run, enum run_status status) {
    bool host_ends = run->options.served && run->graph->engine->end == ENGINE_CANCELS;
    return run_status_name(status == RUN_CANCELLED && host_ends ? RUN_STOPPED : status);
}

static tn_value durable_record(const struct durable *durable, const char *status, tn_value plan, int64_t now_ms) {
    struct run *run = durable->run;
    const struct document *document = run->graph->document;
    tn_value record = value_set_take(value_object_reserve(16), "status", value_text(status));
    record = value_set_take(record, "updated_at", time_value(now_ms));
    record = value_set_take(record, "run_id", value_text(run_id(run)));
    record = value_set_take(record, "step", value_int(run->step - run_in_step(run)));
    if (plan) record = value_set_take(record, "next", plan_node_names(plan));
    if (durable->seq > 0) record = value_set_take(record, "head", value_int(durable->seq - 1));
    if (!durable->written) {
        if (durable->is_new) record = value_set_take(record, "created_at", time_value(now_ms));
        tn_value incarnation = run_loaded_incarnation(run);
        if (incarnation) record = value_set_take(record, "incarnation", value_ref(incarnation));
        tn_value batch = value_get(run->options.loaded, THREAD_BATCH);
        if (batch) record = value_set_take(record, THREAD_BATCH, value_ref(batch));
        record = value_set_take(record, "config", run_config(run));
        record = value_set_take(record, "agent", value_ref(document->name));
        record = value_set_take(record, "graph", value_text(graph_identity(run->graph)));
        if (run->options.document) record = value_set_take(record, "document", value_text(run->options.document));
        if (run->options.served) record = value_set_take(record, THREAD_SERVED, value_ref(run->options.served));
    }
    if (durable_forgets_served(durable, status)) record = value_set_take(record, THREAD_SERVED, value_null());
    bool failed = strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0;
    tn_value interrupts = strcmp(status, "interrupted") == 0 ? run_pending_interrupts(run) : value_null();
    if (!durable->is_new || failed || !value_is(interrupts, TN_NULL)) {
        record = value_set_take(record, "error", failed ? error_to_value(&run->error) : value_null());
        record = value_set_take(record, "interrupts", interrupts);
        record = value_set_take(record, "answers", value_null());
    } else {
        value_unref(interrupts);
    }
    return record;
}

/* The activations of an unfinished step: {"STEP/INDEX": entry}. */
static tn_value unfinished_activations(const struct run *run) {
    char key[32];
    if (!run_in_step(run)) return NULL;
    snprintf(key, sizeof key, "%010u/~", run->step);
    tn_value activations = value_set_take(value_object(), key, value_bool(true));
    for (uint32_t i = 0; i < run->activation_count; i++) {
        tn_value entry = activation_save(&run->activations[i]);
        snprintf(key, sizeof key, "%010u/%u", run->step, i);
        if (value_count(entry)) activations = value_set_take(activations, key, entry);
    }
    return activations;
}

/* ---- Notes ---- */

/*
 * Activations often end together, and then the step ends with them: its commit makes their notes unnecessary. So notes
 * are written after one complete turn of the loop, in which the step would have ended.
 */
static void durable_write_notes(struct loop_work *work) {
    struct durable *durable = CONTAINER_OF(work, struct durable, notes);
    durable->notes_next = !durable->notes_next;
    if (durable->notes_next)
        loop_defer(durable->run->loop, work);
    else
        thread_log_hold_notes(durable->log, false);
}

static void durable_hold_notes(struct durable *durable) {
    thread_log_hold_notes(durable->log, true);
    if (!durable->notes.queued) durable->notes_next = false;
    loop_defer(durable->run->loop, &durable->notes);
}

/* ---- Writing ---- */

/*
 * A commit has failed. Notes what the step has done, so that a resumed run need not repeat it: the activations that are
 * done. One that failed or asks is started again: its question was not reported. Those of a nested run are noted only
 * after its first commit, which removes what an earlier start has left.
 */
static void durable_note_activations(const struct durable *durable) {
    const struct run *run = durable->run;
    if (durable->exit_only || !durable->committed) return;
    for (uint32_t i = 0; i < run->activation_count; i++)
        if (run->activations[i].state == ACTIVATION_DONE && !run->activations[i].refused)
            thread_log_activation_take(durable->log, durable->scope, run->step, i,
                                       activation_save(&run->activations[i]));
}

/* The record of a run that ends because of a failed commit. A run that failed or was cancelled keeps its own error. */
static tn_value durable_failure_record(const struct durable *durable) {
    const struct run *run = durable->run;
    bool ended_badly = run_has_ended_badly(run);
    tn_value record = value_set_take(value_object_reserve(4), "status",
                                     value_text(run_status_name(ended_badly ? run->status : RUN_FAILED)));
    record = value_set_take(record, "updated_at", time_value(loop_wall_ms(run->loop)));
    return value_set_take(record, "error", error_to_value(ended_badly ? &run->error : &durable->error));
}

/* If not even the record could be written, the thread stays `running`, as if the process had died. */
static void durable_on_failure_written(void *user, int32_t status, tn_value result, const struct error *error) {
    struct durable *durable = user;
    (void)status, (void)result, (void)error;
    struct error why = ERROR_INIT;
    error_move(&why, &durable->error);
    run_on_written(durable->run, &why); /* frees `durable` */
    error_finish(&why);
}

/* The run is done: its next invocation in this process need not read the thread. */
static void durable_remember(struct durable *durable) {
    struct run *run = durable->run;
    if (!durable->root || strcmp(durable->written, "done") != 0 || !durable->last) return;
    if (!thread_log_may_remember(durable->log)) return;
    tn_value state = durable_whole_state(durable), saved = thread_saved_after(state, durable->last);
    value_unref(state);
    thread_log_remember(durable->log, saved, channels_take_indexes(&run->channels), channel_indexes_free);
}

static void durable_on_written(void *user, int32_t status, tn_value result, const struct error *error) {
    struct durable *durable = user;
    if (status == TN_OK) {
        durable->committed = true;
        durable_remember(durable);
        run_on_written(durable->run, NULL);
        return;
    }
    durable->broken = true;
    if (!result) durable_note_activations(durable); /* otherwise this commit was written, and another one failed */
    if (durable->root) {
        error_copy(&durable->error, error);
        if (thread_log_fail_take(durable->log, durable_failure_record(durable), durable_on_failure_written, durable))
            return;
    }
    run_on_written(durable->run, error);
}

static void durable_write(struct durable *durable, const char *source, const char *status, bool checkpoint) {
    struct run *run = durable->run;
    int64_t now_ms = loop_wall_ms(run->loop);
    struct thread_commit commit = {.scope = durable->scope,
                                   .state = durable->root ? durable_whole_state : NULL,
                                   .user = durable,
                                   .fresh = durable->fresh,
                                   .tasks = unfinished_activations(run)};
    tn_value plan = NULL;
    durable_log_outcomes(durable);
    if (checkpoint) {
        commit.checkpoint = durable_checkpoint(durable, source, now_ms);
        if (durable->root) {
            value_unref(durable->last);
            durable->last = value_ref(commit.checkpoint);
        }
        commit.seq = durable->seq++;
        commit.step_ended = !commit.tasks;
        plan = value_get(commit.checkpoint, "plan");
        run->planned_ms = now_ms;
    }
    if (durable->root) commit.record = durable_record(durable, status, plan, now_ms);
    durable->written = status;
    durable->fresh = false;
    thread_log_commit(durable->log, commit, durable_on_written, durable);
}

/* Compares a checkpoint with the recorded one. Only the calls of nested runs are recorded, not their checkpoints. */
static void durable_compare(struct durable *durable, const char *source, bool checkpoint) {
    struct run *run = durable->run;
    if (!durable->root || !checkpoint) return;
    tn_value made = durable_checkpoint(durable, source, 0);
    run->planned_ms = replay_step(durable->replay, durable->seq++, made);
    durable->written = "running";
    value_unref(made);
    if (replay_is_left(durable->replay)) run_cancel(run);
}

/* ---- Called by the run ---- */

/* The number of checkpoints. */
static int64_t loaded_checkpoint_count(tn_value loaded) {
    return thread_record_int(value_get(loaded, "record"), "head", -1) + 1;
}

void durable_start(struct run *run) {
    struct run *root = run_outermost(run);
    if ((!root->options.log && !root->options.replay) || run->durable) return;
    struct durable *durable = mem_zalloc(sizeof *durable);
    run->durable = durable;
    durable->run = run;
    durable->notes.run = durable_write_notes;
    durable->log = root->options.log;
    durable->replay = root->options.replay;
    durable->root = root == run;
    durable->exit_only = root->options.durability == RUN_DURABLE_EXIT;
    durable->seq = durable->root ? (uint32_t)loaded_checkpoint_count(root->options.loaded) : run->nested_checkpoint;
    durable->is_new = durable->fresh = durable->seq == 0;
    durable->base = mem_array(NULL, run->channels.count, sizeof *durable->base);
    for (uint32_t i = 0; i < run->channels.count; i++)
        durable->base[i] = durable->is_new ? NULL : value_ref(run->channels.values[i]);
    if (durable->root && durable->log) channels_give_indexes(&run->channels, thread_log_take_extra(durable->log));
    if (durable->root)
        snprintf(durable->scope, sizeof durable->scope, THREAD_ROOT);
    else
        snprintf(durable->scope, sizeof durable->scope, "%016" PRIx64, run->scope);
}

void durable_free(struct run *run) {
    struct durable *durable = run->durable;
    if (!durable) return;
    if (durable->notes.queued) {
        loop_undefer(run->loop, &durable->notes);
        thread_log_hold_notes(durable->log, false);
    }
    for (uint32_t i = 0; i < run->channels.count; i++) value_unref(durable->base[i]);
    mem_free((void *)durable->base);
    value_unref(durable->last);
    error_finish(&durable->error);
    mem_free(durable);
    run->durable = NULL;
}

int32_t durable_check_write(const struct run *run, uint32_t channel, tn_value value, struct error *error) {
    if (!run->durable || !value_is_deeper(value, DURABLE_LARGE_DEPTH_MAX - 1)) return TN_OK;
    const char *name = value_chars(run->graph->document->channels[channel].name, NULL);
    if (value_is_deeper(value, DURABLE_DEPTH_MAX))
        return error_set(error, TN_LIMIT, "LIMIT",
                         "channel `%s`: the value has more than %d arrays and objects in each other, which a saved "
                         "thread cannot contain; nest it less, or run it without a thread",
                         name, DURABLE_DEPTH_MAX);
    if (!value_is_large_below(value, DURABLE_LARGE_DEPTH_MAX, DURABLE_PART_MAX)) return TN_OK;
    return error_set(error, TN_LIMIT, "LIMIT",
                     "channel `%s`: the value has a part of more than %d MiB inside of %d arrays and objects, which a "
                     "saved thread cannot contain; nest it less, or run it without a thread",
                     name, DURABLE_PART_MAX / 1048576, DURABLE_LARGE_DEPTH_MAX);
}

uint32_t durable_seq(const struct run *run) { return run->durable->seq; }

bool durable_commit(struct run *run, const char *source) {
    struct durable *durable = run->durable;
    if (!durable || durable->broken) return false;
    bool first = durable->root && !durable->written;
    if (durable->exit_only && !first) return false;
    bool checkpoint = source && !run_in_step(run);
    if (durable->replay) {
        durable_compare(durable, source, checkpoint);
        return false;
    }
    /* An `interrupt: after` must be in the same commit as its step: resuming the thread passes it. */
    durable_write(durable, source, run_status_name(run->interrupt_after ? RUN_INTERRUPTED : RUN_RUNNING), checkpoint);
    return true;
}

bool durable_finish(struct run *run, enum run_status status, const char *source) {
    struct durable *durable = run->durable;
    if (!durable || durable->broken) return false;
    /* The end of a nested run is in the entry of its call. Only its interrupts need a checkpoint. */
    if (!durable->root && (status != RUN_INTERRUPTED || durable->exit_only)) return false;
    if (durable->replay) {
        durable_compare(durable, source, durable_has_changed(durable));
        return false;
    }
    bool update = strcmp(source, "update") == 0;
    durable_write(durable, source, durable_status_name(run, status),
                  update || durable_has_changed(durable) || durable->seq == 0);
    return true;
}

void durable_save_outcome(struct activation *activation) {
    const struct run *run = activation->run;
    struct durable *durable = run->durable;
    if (!durable || durable->broken || durable->exit_only || durable->replay || run->activation_count == 1) return;
    durable_hold_notes(durable);
    thread_log_activation_take(durable->log, durable->scope, run->step, activation->index, activation_save(activation));
}

void durable_answer(struct run *run, const char *id, tn_value answer) {
    const struct durable *durable = run->durable;
    if (!durable || durable->broken || durable->replay) return;
    thread_log_answer(durable->log, id, answer);
}

bool durable_replays(const struct run *run) { return run->durable && run->durable->replay; }

tn_value durable_recorded(const struct activation *activation) {
    const struct durable *durable = activation->run->durable;
    return replay_outcome(durable->replay, durable->scope, activation->run->step, activation->index);
}

tn_value durable_recorded_call(const struct activation *activation, const char *path) {
    const struct durable *durable = activation->run->durable;
    return replay_call(durable->replay, durable->scope, activation->run->step, activation->index, activation->round,
                       path);
}

void durable_save_call(struct activation *activation, const char *path) {
    const struct run *run = activation->run;
    struct durable *durable = run->durable;
    if (!durable || durable->broken || durable->exit_only || durable->replay) return;
    durable_hold_notes(durable);
    thread_log_call_take(durable->log, durable->scope, run->step, activation->index, activation->round, path,
                         value_ref(activation_child_entry(activation, path)));
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
