/*
 * sim_worker.c - workers, clients and persons of the simulation.
 *
 * A worker claims Tasks, and for each one opens the log of its thread, writes the steps that are missing, and ends the
 * claim. Each part of that is one event, so that anything can happen in between.
 */
#include "adl/value/memory.h"
#include "host/data/kernel/kernel_wake.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_delta.h"
#include "host/data/thread/thread_records.h"
#include "tests/sim/sim_world.h"
#include <stdio.h>
#include <string.h>

#define ANSWERS "answers" /* a collection: the answers of persons, by Task */

static const char *const end_names[] = {"completes", "fails", "releases (retry)", "releases (drain)",
                                        "releases (wait)"};
static const char *const outcomes[] = {"done", "failed", "retried", "released", "waiting"};

static tn_value with_text(tn_value object, const char *name, const char *text) {
    return value_set_take(object, name, value_text(text));
}

/* Calls an operation of the kernel as the present actor. Takes the arguments. *result is NULL on failure. */
static int32_t perform_take(struct sim *sim, kernel_operation_fn *operation, const char *name, tn_value arguments,
                            tn_value *result, struct error *error) {
    struct request request = {
        .operation = name, .session = &sim->session, .arguments = arguments, .now_ms = sim->actor.now_ms};
    *result = NULL;
    int32_t status = operation(&request, result, error);
    if (status != TN_OK || sim->actor.crashed) {
        value_unref(*result);
        *result = NULL;
    }
    value_unref(arguments);
    return status;
}

static bool error_is(const struct error *error, const char *code) {
    return error->code && strcmp(error->code, code) == 0;
}

/* ---- Clients and persons ---- */

void sim_create(struct sim *sim, const char *key) {
    struct error error = ERROR_INIT;
    tn_value task, arguments = with_text(value_object(), "task_type", "work");
    arguments = value_set_take(arguments, "payload", with_text(value_object(), "key", key));
    arguments = with_text(arguments, "idempotency_key", key);
    if (sim->actor.now_ms % 3 == 1)
        arguments = value_set_take(arguments, "not_before", time_value(sim->actor.now_ms + 700));
    sim_note(sim, " a Task with the key %s", key);
    if (perform_take(sim, task_create, "task.create", arguments, &task, &error) == TN_OK && task) {
        int index = sim_task_by_id(sim, value_chars(value_get(task, "task_id"), NULL));
        if (index < 0)
            sim_fail(sim, "created", "the Task that task.create returned for %s is not in the store", key);
        else if (strcmp(sim->tasks[index].key, key) != 0)
            sim_fail(sim, "created", "task.create returned the Task of %s for %s", sim->tasks[index].key, key);
        sim_note(sim, ": Task %d", index);
    } else {
        sim_note(sim, ": %s", error.code ? error.code : "no result");
    }
    value_unref(task);
    error_finish(&error);
}

static void on_fired(void *user, int32_t status, tn_value result, const struct error *error) {
    if (status == TN_OK)
        sim_note(user, ": %d Tasks", (int)value_to_int(value_get(result, "created")));
    else
        sim_note(user, ": %s", error->code);
}

void sim_fire(struct sim *sim, int worker) {
    sim->schedulers[worker] = (struct store){sim, worker, 0, 0};
    schedule_create_due(&sim->schedulers[worker], sim->schedule, SIM_EPOCH_MS, on_fired, sim);
}

static int32_t try_answer(struct sim *sim, const char *id, struct error *error) {
    tn_value wake = NULL;
    int32_t status = task_wake_operation(&sim->session, id, sim->actor.now_ms, &wake, error);
    if (status != TN_OK) return status;
    tn_value batch = value_push_take(value_array(), store_put(ANSWERS, id, value_object()));
    if (wake) batch = value_push_take(batch, wake);
    return session_commit_take(&sim->session, batch, NULL, error);
}

/* A Task that asks is answered, in one commit with its wake, as execution_change.c does it. */
void sim_answer(struct sim *sim, int task) {
    struct error error = ERROR_INIT;
    tn_value result = NULL;
    const char *id = sim->tasks[task].id;
    int32_t status;
    if (sim->tasks[task].asks) {
        int tries = 0;
        do {
            error_finish(&error);
            status = try_answer(sim, id, &error);
        } while (status != TN_OK && error_is(&error, "CONFLICT") && ++tries < 8);
    } else {
        status = perform_take(sim, task_wake, "task.wake", with_text(value_object(), "task_id", id), &result, &error);
    }
    sim_note(sim, " Task %d: %s", task, status == TN_OK ? sim->tasks[task].asks ? "answered" : "woken" : error.code);
    value_unref(result);
    error_finish(&error);
}

/* ---- What a worker has in its memory ---- */

static void close_log(struct sim_worker *worker) {
    worker->remembered = worker->held_count ? worker->held[0].task : -1;
    worker->remembered_seq = worker->seq;
    thread_log_free(worker->log);
    value_unref(worker->steps);
    worker->log = NULL;
    worker->steps = NULL;
    worker->in_flight = 0;
    worker->log_failed = worker->asked = false;
}

/* The first Task is over: the worker continues with the next one that it has claimed. */
static void drop_first(struct sim_worker *worker) {
    close_log(worker);
    worker->held_count--;
    memmove(worker->held, worker->held + 1, worker->held_count * sizeof *worker->held);
    worker->work = worker->held_count ? SIM_CLAIMED : SIM_IDLE;
}

void sim_worker_crash(struct sim *sim, int index) {
    struct sim_worker *worker = &sim->workers[index];
    close_log(worker);
    worker->remembered = -1;
    worker->life++;
    worker->held_count = 0;
    worker->paused_until_ms = 0;
    worker->work = SIM_IDLE;
}

/* ---- Claims ---- */

static void hold_task(struct sim *sim, struct sim_worker *worker, tn_value task, const char *claimer) {
    int index = sim_task_by_id(sim, value_chars(value_get(task, "task_id"), NULL));
    if (index < 0 || sim->claim_count == SIM_CLAIMS || worker->held_count == SIM_HELD) {
        sim_fail(sim, "claimed", "a claim returned a Task that was not created, or too many");
        return;
    }
    struct sim_claim *claim = &sim->claims[sim->claim_count];
    struct sim_held *held = &worker->held[worker->held_count++];
    *claim = (struct sim_claim){.task = index};
    snprintf(claim->claimer, sizeof claim->claimer, "%s", claimer);
    *held = (struct sim_held){.task = index, .claim = sim->claim_count++};
    snprintf(held->token, sizeof held->token, "%s", value_chars(value_get(task, "claim_token"), NULL));
    sim_note(sim, ": Task %d, attempt %d", index, (int)value_to_int(value_get(task, "attempts")));
    worker->work = SIM_CLAIMED;
}

/* 200 to 3000 ms, half of them below a second: leases end in the middle of the work. */
static uint32_t ttl_ms(uint32_t number) { return 200 + number / 2 % (number % 2 ? 800 : 2800); }

static void claim_tasks(struct sim *sim, int index, uint32_t number) {
    struct sim_worker *worker = &sim->workers[index];
    struct error error = ERROR_INIT;
    tn_value result, list;
    char claimer[24];
    uint32_t limit = number % 3 == 0 ? 1 + number / 3 % SIM_HELD : 0;
    snprintf(claimer, sizeof claimer, "w%d-%u", index, sim->claim_calls++);
    tn_value arguments = with_text(value_object(), "claimer_id", claimer);
    arguments = value_set_take(arguments, "ttl_seconds", value_double(ttl_ms(number / 16) / 1000.0));
    if (limit) arguments = value_set_take(arguments, "limit", value_int(limit));
    sim_note(sim, " claims");
    sim->actor.claiming = true;
    (void)perform_take(sim, task_claim, "task.claim", arguments, &result, &error);
    list = value_get(result, "tasks");
    if (limit)
        for (size_t i = 0; i < value_count(list); i++) hold_task(sim, worker, value_at(list, i), claimer);
    else if (value_is(result, TN_OBJECT))
        hold_task(sim, worker, result, claimer);
    if (!worker->held_count) sim_note(sim, ": %s", error.code ? error.code : "nothing");
    value_unref(result);
    error_finish(&error);
}

static tn_value claim_arguments(struct sim *sim, const struct sim_held *held) {
    const char *id = sim->tasks[held->task].id, *token = held->token;
    tn_value record = NULL, arguments = with_text(value_object(), "task_id", id);
    sim->actor.token = held->token;
    if (sim->options->broken == SIM_BREAK_TOKEN) {
        record = sim_store_find(sim, STORE_TASKS, id);
        tn_value now = value_get(record, "claim_token");
        if (now) token = value_chars(now, NULL);
    }
    arguments = with_text(arguments, "claim_token", token);
    value_unref(record);
    return arguments;
}

static void renew_claim(struct sim *sim, struct sim_worker *worker, uint32_t number) {
    struct error error = ERROR_INIT;
    tn_value result, arguments = claim_arguments(sim, &worker->held[0]);
    arguments = value_set_take(arguments, "ttl_seconds", value_double(ttl_ms(number / 64) / 1000.0));
    (void)perform_take(sim, task_renew, "task.renew", arguments, &result, &error);
    sim_note(sim, " renews Task %d: %s", worker->held[0].task, result ? "ok" : error.code ? error.code : "no result");
    value_unref(result);
    error_finish(&error);
}

/* ---- The log of a thread ---- */

struct log_commit {
    struct sim *sim;
    int worker;
    uint32_t life, writer;
};

static void on_log_committed(void *user, int32_t status, tn_value result, const struct error *error) {
    struct log_commit commit = *(struct log_commit *)user;
    struct sim_worker *worker = &commit.sim->workers[commit.worker];
    (void)result, (void)error;
    mem_free(user);
    if (worker->life != commit.life || worker->writer != commit.writer || !worker->log) return;
    worker->in_flight--;
    if (status != TN_OK) worker->log_failed = true;
}

static void commit_log(struct sim *sim, int index, const char *status, tn_value checkpoint) {
    struct sim_worker *worker = &sim->workers[index];
    struct log_commit *user = mem_alloc(sizeof *user);
    *user = (struct log_commit){sim, index, worker->life, worker->writer};
    tn_value record = with_text(value_object(), "status", status);
    record = value_set_take(record, "updated_at", time_value(sim->actor.now_ms));
    int64_t head = (int64_t)worker->seq - (checkpoint ? 0 : 1);
    if (head >= 0) record = value_set_take(record, "head", value_int(head));
    worker->in_flight++;
    thread_log_commit(worker->log,
                      (struct thread_commit){.scope = THREAD_ROOT,
                                             .seq = (uint32_t)(head < 0 ? 0 : head),
                                             .checkpoint = checkpoint,
                                             .record = record,
                                             .step_ended = checkpoint != NULL},
                      on_log_committed, user);
}

/* Reads the thread, and takes it over with the first commit. */
static void open_log(struct sim *sim, int index) {
    struct sim_worker *worker = &sim->workers[index];
    const char *id = sim->tasks[worker->held[0].task].id;
    struct error error = ERROR_INIT;
    tn_value loaded = NULL;
    if (thread_read(&sim->session, id, THREAD_HEAD, &loaded, &error) != TN_OK || sim->actor.crashed) {
        sim_note(sim, " cannot read thread %d: %s", worker->held[0].task, error.code ? error.code : "dead");
        value_unref(loaded);
        error_finish(&error);
        return;
    }
    int64_t head = thread_record_int(value_get(loaded, "record"), "head", -1);
    tn_value steps = value_get(value_get(value_get(loaded, "saved"), "state"), "steps");
    worker->seq = (uint32_t)(head + 1);
    if (sim->options->broken == SIM_BREAK_RESUME && worker->remembered == worker->held[0].task)
        worker->seq = worker->remembered_seq;
    worker->steps = steps ? value_ref(steps) : NULL;
    worker->writer = sim->writer_count++ % SIM_WRITERS;
    struct store *store = &sim->writers[worker->writer];
    *store = (struct store){sim, index, worker->life, worker->writer};
    worker->log = thread_log_new(store, id, loaded);
    worker->work = SIM_WORKING;
    sim_note(sim, " opens thread %d at step %u as writer %u", worker->held[0].task, worker->seq, worker->writer);
    commit_log(sim, index, "running", NULL);
    value_unref(loaded);
}

/* One more step, sometimes with a note before it, which is a separate batch. */
static void write_step(struct sim *sim, int index, bool note) {
    struct sim_worker *worker = &sim->workers[index];
    uint32_t seq = worker->seq;
    tn_value before = worker->steps;
    worker->steps = value_push_take(before ? value_ref(before) : value_array(), value_int(seq));
    tn_value name = value_text("steps");
    tn_value delta = delta_channel_take(value_object(), name, before, worker->steps, false);
    value_unref(name);
    value_unref(before);
    if (note)
        thread_log_activation_take(worker->log, THREAD_ROOT, seq, 0,
                                   value_set_take(value_object(), "result", value_int(seq)));
    tn_value checkpoint = value_set_take(value_object(), "step", value_int(seq));
    checkpoint = value_set_take(checkpoint, "plan", value_array());
    checkpoint = value_set_take(checkpoint, "delta", delta);
    sim_note(sim, " submits step %u of thread %d", seq, worker->held[0].task);
    commit_log(sim, index, seq + 1 == SIM_STEPS ? "done" : "running", checkpoint);
    worker->seq++;
}

/* ---- The end of a claim ---- */

static void begin_end(struct sim_worker *worker, enum sim_end end) {
    worker->end = end;
    worker->work = SIM_ENDING;
}

static void end_claim(struct sim *sim, int index) {
    struct sim_worker *worker = &sim->workers[index];
    struct sim_held *held = &worker->held[0];
    struct sim_claim *claim = &sim->claims[held->claim];
    static const char *const reasons[] = {NULL, NULL, "retry", "drain", "wait"};
    struct error error = ERROR_INIT;
    tn_value result, arguments = claim_arguments(sim, held);
    kernel_operation_fn *operation = task_release;
    sim_note(sim, " %s Task %d", end_names[worker->end], held->task);
    if (worker->end == SIM_DONE) operation = task_complete;
    if (worker->end == SIM_FAILED) operation = task_fail;
    if (worker->end == SIM_FAILED) arguments = with_text(arguments, "error", "no");
    if (reasons[worker->end]) arguments = with_text(arguments, "reason", reasons[worker->end]);
    if (worker->end == SIM_RETRY && held->claim % 2) /* later, if it is tried again */
        arguments = value_set_take(arguments, "not_before", time_value(sim->actor.now_ms + held->claim % 16 * 100));
    if (claim->tried) sim->result->repeated++;
    claim->tried = outcomes[worker->end];
    (void)perform_take(sim, operation, "task.end", arguments, &result, &error);
    sim_note(sim, ": %s", result ? "ok" : error.code ? error.code : "no result");
    if (result) {
        claim->ended = outcomes[worker->end];
        if (worker->end <= SIM_FAILED && ++sim->tasks[held->task].completed_by > 1)
            sim_fail(sim, "ended-once", "Task %d was ended by two claims", held->task);
    }
    bool lost = error_is(&error, "CLAIM_LOST") || error_is(&error, "INVALID_TRANSITION");
    if (lost) sim->result->lost++;
    if (!sim->actor.crashed && (result || lost)) drop_first(worker);
    value_unref(result);
    error_finish(&error);
}

/* ---- The next part of the work ---- */

static bool is_answered(struct sim *sim, int task) {
    tn_value found = sim_store_find(sim, ANSWERS, sim->tasks[task].id);
    value_unref(found);
    return found != NULL;
}

static enum sim_end choose_end(const struct sim *sim, uint32_t number) {
    static const enum sim_end ends[] = {SIM_DONE, SIM_DONE, SIM_DONE, SIM_DONE, SIM_FAILED, SIM_RETRY, SIM_DRAIN};
    return sim->healing ? SIM_DONE : ends[number / 8 % (sizeof ends / sizeof *ends)];
}

static void work_on_thread(struct sim *sim, int index, uint32_t number) {
    struct sim_worker *worker = &sim->workers[index];
    int task = worker->held[0].task;
    bool asks = sim->tasks[task].asks && worker->seq == 1 && !is_answered(sim, task);
    if (worker->log_failed) {
        sim_note(sim, " has lost thread %d", task);
        begin_end(worker, SIM_RETRY);
    } else if (worker->asked) {
        begin_end(worker, SIM_WAIT);
        end_claim(sim, index);
    } else if (worker->seq == SIM_STEPS) {
        begin_end(worker, choose_end(sim, number));
        end_claim(sim, index);
    } else if (asks) {
        sim_note(sim, " asks in thread %d", task);
        worker->asked = true;
        commit_log(sim, index, "interrupted", NULL);
    } else {
        write_step(sim, index, number / 8 % 2);
    }
}

void sim_worker_step(struct sim *sim, int index, uint32_t number) {
    struct sim_worker *worker = &sim->workers[index];
    bool renews = number % 8 == 0 && !sim->healing, drains = number % 32 == 1 && !sim->healing;
    switch (worker->work) {
    case SIM_IDLE: claim_tasks(sim, index, number); break;
    case SIM_CLAIMED:
    case SIM_WORKING:
        if (renews) {
            renew_claim(sim, worker, number);
        } else if (drains) {
            begin_end(worker, SIM_DRAIN);
            end_claim(sim, index);
        } else if (worker->work == SIM_CLAIMED) {
            open_log(sim, index);
        } else if (worker->in_flight) {
            (void)sim_store_deliver(sim, index);
        } else {
            work_on_thread(sim, index, number);
        }
        break;
    case SIM_ENDING: end_claim(sim, index); break;
    }
    if (sim->actor.crashed && sim->actor.life == worker->life) sim_worker_crash(sim, index);
}
