/*
 * run.c - the life of a run: its options, the loop of steps, and its end.
 *
 * run_advance is the only driver. It starts tasks while the concurrency limit allows, and when all have ended applies
 * the step; a task that completes inside start costs no queue, so a chain of such nodes is a plain loop (it gives way
 * to other runs after RUN_INLINE_MAX of them). Whatever can end a run only notes it; the run ends at one place, when
 * no task is open any more.
 */
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/engine/durable.h"
#include "host/engine/run_internal.h"
#include "host/host.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

const char *run_status_name(enum run_status status) {
    static const char *const names[] = {
        [RUN_NEW] = "new",        [RUN_RUNNING] = "running",     [RUN_DONE] = "done",
        [RUN_FAILED] = "failed",  [RUN_CANCELLED] = "cancelled", [RUN_INTERRUPTED] = "interrupted",
        [RUN_STOPPED] = "stopped"};
    return names[status];
}

uint64_t run_mix(uint64_t hash, uint64_t more) {
    uint64_t mixed = (hash ^ more) + 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

/* ---- Making and freeing ---- */

static size_t align8(size_t size) { return (size + 7u) & ~(size_t)7u; }

static void deferred_work(struct loop_work *work) {
    run_advance((struct run *)(void *)((char *)work - offsetof(struct run, work)));
}

struct run *run_new(struct graph *graph, const struct run_options *options) {
    const struct document *document = graph->document;
    size_t head = align8(sizeof(struct run)), state = align8(state_size(document->channel_count));
    size_t marks = align8((document->node_count + graph->join_count) * sizeof(uint32_t));
    struct run *run = mem_zalloc(head + state + marks + graph->member_count + document->node_count);
    char *memory = (char *)run + head;
    run->graph = graph_ref(graph);
    run->loop = graph->host->loop;
    run->options = *options;
    value_ref(options->tags);
    value_ref(options->metadata);
    value_ref(options->configurable);
    run->options.run_id = NULL;
    if (options->run_id) run->id = mem_text(options->run_id);
    run->options.thread_id = options->thread_id ? mem_text(options->thread_id) : NULL;
    run->options.runner_id = options->runner_id ? mem_text(options->runner_id) : NULL;
    if (!options->event) run->options.modes = 0;
    run->options.loaded = options->loaded ? value_ref(options->loaded) : NULL;
    run->options.document = options->document ? mem_text(options->document) : NULL;
    run->recursion_limit = options->recursion_limit ? options->recursion_limit : document->recursion_limit;
    if (run->recursion_limit > graph->host->recursion_max) run->recursion_limit = graph->host->recursion_max;
    run->limit_step = run->recursion_limit;
    run->concurrency = options->concurrency ? options->concurrency : document->concurrency;
    if (run->concurrency > graph->host->concurrency_max) run->concurrency = graph->host->concurrency_max;
    run->strategy = options->strategy >= 0 ? (enum run_strategy)options->strategy : document->strategy;
    run->failed_at = NO_INDEX;
    run->tasks = &run->one_task;
    run->task_capacity = 1;
    run->triggered.items = run->few_triggered;
    run->triggered.capacity = RUN_FEW_TRIGGERED;
    run->sorted = true;
    run->work.run = deferred_work;
    state_init(&run->state, graph, memory);
    run->planned_in = (uint32_t *)(void *)(memory + state);
    run->fired_in = run->planned_in + document->node_count;
    run->arrived = (uint8_t *)memory + state + marks;
    run->deferred = (bool *)(run->arrived + graph->member_count);
    return run;
}

static void tasks_clear(struct run *run) {
    for (uint32_t i = 0; i < run->task_count; i++) task_finish(&run->tasks[i]);
    run->task_count = run->next_task = 0;
    run->open = run->retrying = run->interrupted = 0;
    run->failed_at = NO_INDEX;
    run->planning_done = run->applied = false;
}

void run_drop_tasks(struct run *run) { tasks_clear(run); }

void run_free(struct run *run) {
    if (!run) return;
    loop_timer_stop(run->loop, &run->timeout);
    loop_undefer(run->loop, &run->work);
    tasks_clear(run);
    plan_clear(run);
    if (run->tasks != &run->one_task) mem_free(run->tasks);
    if (run->triggered.items != run->few_triggered) mem_free(run->triggered.items);
    mem_free(run->mapped.items);
    durable_end(run);
    if (run->uses) run_forget_uses(run);
    mem_free(run->used);
    mem_free(run->settled);
    mem_free(run->before);
    state_finish(&run->state);
    value_unref(run->options.loaded);
    mem_free((void *)(uintptr_t)run->options.document);
    value_unref(run->options.tags);
    value_unref(run->options.metadata);
    value_unref(run->options.configurable);
    mem_free((void *)(uintptr_t)run->options.thread_id);
    mem_free((void *)(uintptr_t)run->options.runner_id);
    value_unref(run->input);
    value_unref(run->path);
    mem_free(run->id);
    error_finish(&run->error);
    graph_unref(run->graph);
    mem_free(run);
}

/* ---- Ending ---- */

/* The run's end, or its stop: tells the owner unless run_start is going to. */
void run_end(struct run *run, enum run_status status) {
    if (status != RUN_INTERRUPTED) tasks_clear(run);
    if (status == RUN_CANCELLED || (status == RUN_FAILED && !run->at_limit)) plan_clear(run);
    run->status = status;
    run->advancing = false;
    emit_debug(run, run_status_name(status), DOCUMENT_NOWHERE, run->error.message);
    if (!run->in_start && run->options.ended) run->options.ended(run, run->options.user); /* may free the run */
}

static void finish(struct run *run, enum run_status status) {
    loop_timer_stop(run->loop, &run->timeout);
    if (run->durable && durable_finish(run, status))
        run->advancing = false; /* run_end comes when that is written */
    else
        run_end(run, status);
}

void run_break(struct run *run, struct error *error) {
    loop_timer_stop(run->loop, &run->timeout);
    error_move(&run->error, error);
    run->at_limit = false;
    run_end(run, RUN_FAILED);
}

void run_fail(struct run *run, struct error *error) {
    state_rollback(&run->state);
    error_move(&run->error, error);
    finish(run, RUN_FAILED);
}

static void finish_cancelled(struct run *run) {
    struct error error = ERROR_INIT;
    if (run->timed_out) {
        const struct document *document = run->graph->document;
        int64_t limit = run->options.timeout_ms ? run->options.timeout_ms : document->timeout_ms;
        error_set(&error, TN_FAILED, "TIMEOUT", "the run took longer than its %lld ms; what was committed is kept",
                  (long long)limit);
        run_fail(run, &error);
        return;
    }
    error_set(&run->error, TN_CANCELLED, "CANCELLED", "the run was cancelled in step %u; what was committed is kept",
              run->step);
    finish(run, RUN_CANCELLED);
}

/* ---- One step ---- */

static int32_t add_write(void *user, struct task *task, uint32_t channel, tn_value value, struct error *error) {
    struct run *run = user;
    uint32_t other = NO_INDEX;
    /* Only messages get ids made, and hashing is not free. */
    bool makes_ids = run->graph->document->channels[channel].reducer == REDUCER_MESSAGES;
    uint64_t origin = makes_ids ? task_hash(task) : 0;
    int32_t status = state_write(&run->state, channel, value, task->index, origin, &other, error);
    if (status != TN_OK && other != NO_INDEX) {
        const struct graph *graph = run->graph;
        const char *first = graph_node_name(graph, (int32_t)run->tasks[other].plan.node);
        const char *second = graph_node_name(graph, (int32_t)task->plan.node);
        error_set(error, status, "CONCURRENT_UPDATE",
                  "channel `%s` is of type %s, and was written in one step by `%s` and by `%s`; make it an "
                  "append or reduce channel, or put one node after the other",
                  value_chars(graph->document->channels[channel].name, NULL),
                  graph->document->channels[channel].type == CHANNEL_EPHEMERAL ? "ephemeral" : "last_value", first,
                  second);
    }
    return status;
}

/* What the `error` channel gets for a failure that on_error handles. */
static tn_value handled_error(const struct task *task) {
    tn_value entry = error_to_value(&task->error);
    entry = value_set_take(entry, "node", value_ref(task->run->graph->document->nodes[task->plan.node].id));
    if (task->plan.input) entry = value_set_take(entry, "item", value_ref(task->plan.input));
    return entry;
}

/* Says which node an error of a write is about, unless the message does already. */
static void blame(struct run *run, const struct task *task, struct error *error) {
    if (error->code && strcmp(error->code, "CONCURRENT_UPDATE") == 0) return;
    struct error inner = ERROR_INIT;
    error_move(&inner, error);
    error_set(error, TN_ERROR, inner.code, "node `%s`: %s", graph_node_name(run->graph, (int32_t)task->plan.node),
              inner.message ? inner.message : "its writes do not fit");
    error->more = value_ref(inner.more);
    error_finish(&inner);
}

static int32_t apply_writes(struct run *run, struct error *error) {
    const struct document *document = run->graph->document;
    for (uint32_t i = 0; i < run->task_count; i++) {
        struct task *task = &run->tasks[i];
        int32_t status;
        if (task->state == TASK_FAILED) {
            tn_value entry = handled_error(task);
            status = state_write(&run->state, document->channel_count - 1, entry, i, 0, NULL, error);
            value_unref(entry);
        } else {
            status = task_each_write(task, add_write, run, error);
        }
        if (status != TN_OK) {
            blame(run, task, error);
            return status;
        }
    }
    return state_commit(&run->state, error);
}

/* The first failing task, in task order, is the run's error. */
static void fail_by_task(struct run *run) {
    struct task *task = &run->tasks[run->failed_at];
    struct error error = ERROR_INIT;
    error_set(&error, TN_FAILED, task->error.code, "node `%s`%s%s: %s",
              graph_node_name(run->graph, (int32_t)task->plan.node), task->attempt > 1 ? ", every attempt" : "", "",
              task->error.message ? task->error.message : "failed");
    error.more = value_ref(task->error.more);
    run_fail(run, &error);
}

static void warn_half_filled_joins(struct run *run) {
    const struct graph *graph = run->graph;
    for (uint32_t i = 0; i < graph->join_count; i++) {
        const struct graph_join *join = &graph->joins[i];
        for (uint32_t m = 0; m < join->count; m++) {
            if (!run->arrived[join->first + m]) continue;
            int32_t to = graph->document->edges[join->edge].to[0];
            emit_warning(run, "half_filled_join", to, "the run ends while a join still waits for some of its sources");
            break;
        }
    }
}

/* All tasks of the step have ended. False: the run has ended, and may be gone. */
static bool finish_step(struct run *run) {
    if (run->cancelling) {
        finish_cancelled(run);
        return false;
    }
    if (run->failed_at != NO_INDEX) {
        fail_by_task(run);
        return false;
    }
    if (run->interrupted) {
        finish(run, RUN_INTERRUPTED);
        return false;
    }
    struct error error = ERROR_INIT;
    int32_t status = apply_writes(run, &error);
    bool interrupts_after = false, applied = status == TN_OK;
    run->applied = applied;
    for (uint32_t i = 0; status == TN_OK && i < run->task_count; i++) {
        status = route_task(run, &run->tasks[i], &error);
        interrupts_after |= run->graph->document->nodes[run->tasks[i].plan.node].interrupt_after;
    }
    if (status != TN_OK && applied && run_outermost(run)->options.modes) {
        /* The writes are committed, and stay: what is told must agree with the state. Nothing comes next. */
        plan_clear(run);
        run->told = 0;
        while (emit_next(run)) {
        }
    }
    if (status != TN_OK) {
        if (applied) plan_clear(run); /* of what was routed before */
        run_fail(run, &error);
        return false;
    }
    plan_finish(run);
    run_settle(run);
    if (run->uses != run->settled_uses) run_settle_uses(run);
    run->interrupt_after = interrupts_after;
    run->told = 0;
    run->telling = run->options.modes || run->outer;
    if (run->durable) (void)durable_commit(run, "step");
    if (!run->telling) tasks_clear(run);
    return true;
}

/* Subscribers are told of the committed step, then its tasks are let go. False: the reader is full before the end. */
static bool tell(struct run *run) {
    const struct run *root = run_outermost(run);
    if (root->options.modes)
        while (!root->paused && emit_next(run)) {
        }
    if (root->paused && !run->cancelling) return false;
    run->telling = false;
    tasks_clear(run);
    return true;
}

/* What the document promises to give is checked before the run counts as done. */
static void finish_done(struct run *run) {
    const struct document *document = run->graph->document;
    if (document->output) {
        tn_value result = run_result(run);
        struct schema_errors errors = SCHEMA_ERRORS_INIT;
        if (schema_validate(document->output, result, &errors) != TN_OK) {
            struct error error = ERROR_INIT;
            error_set(&error, TN_INVALID, "INVALID_OUTPUT", "the result%s%s does not fit the document's `output`: %s",
                      errors.count && *errors.items[0].pointer ? " at " : "",
                      errors.count ? errors.items[0].pointer : "", errors.count ? errors.items[0].message : "");
            schema_errors_finish(&errors);
            value_unref(result);
            run_fail(run, &error);
            return;
        }
        schema_errors_finish(&errors);
        value_unref(result);
    }
    if (document->budget) run_warn_overspent(run);
    finish(run, RUN_DONE);
}

static bool must_wait_before(struct run *run) {
    if (!run->graph->has_interrupts) return false;
    for (uint32_t i = 0; i < run->task_count; i++) {
        const struct task *task = &run->tasks[i];
        if (run->graph->document->nodes[task->plan.node].interrupt_before && !task->approved) return true;
    }
    return false;
}

void run_lay_out(struct run *run) {
    uint32_t count = run->triggered.count + run->mapped.count;
    if (count > run->task_capacity) {
        run->task_capacity = count;
        run->tasks = mem_array(run->tasks == &run->one_task ? NULL : run->tasks, count, sizeof *run->tasks);
    }
    for (uint32_t i = 0; i < run->triggered.count; i++) task_init(&run->tasks[i], run, i, run->triggered.items[i]);
    for (uint32_t i = 0; i < run->mapped.count; i++)
        task_init(&run->tasks[run->triggered.count + i], run, run->triggered.count + i, run->mapped.items[i]);
    run->task_count = count;
    run->triggered.count = run->mapped.count = 0; /* their inputs have moved to the tasks */
    run->planning_done = true;
    run->now_ms = run->planned_ms;
    run->planned_ms = 0;
}

/* Begins the step that is planned. False: the run has ended. */
static bool begin_step(struct run *run) {
    uint32_t count = run->triggered.count + run->mapped.count;
    if (run->interrupt_after) {
        finish(run, RUN_INTERRUPTED);
        return false;
    }
    if (count == 0) {
        if (run->graph->member_count) warn_half_filled_joins(run);
        finish_done(run);
        return false;
    }
    if (run->draining) {
        finish(run, RUN_STOPPED);
        return false;
    }
    if (run->step >= run->limit_step) {
        struct error error = ERROR_INIT;
        bool operators = run->recursion_limit == run->graph->host->recursion_max; /* tenon.yaml's is the least */
        error_set(&error, TN_LIMIT, "RECURSION_LIMIT",
                  "the run has taken %u step%s, which is its limit, and `%s` would be next; raise %s, or give the loop "
                  "a way to END",
                  run->step, run->step == 1 ? "" : "s",
                  graph_node_name(run->graph, (int32_t)(run->triggered.count ? run->triggered.items[0].node
                                                                             : run->mapped.items[0].node)),
                  operators ? "limits.recursion_limit in tenon.yaml" : "recursion_limit");
        error_move(&run->error, &error);
        run->at_limit = true; /* with its plan: run_resume goes on from here */
        finish(run, RUN_FAILED);
        return false;
    }
    struct error budget = ERROR_INIT;
    if (run->graph->document->budget && run_check_steps(run, &budget) != TN_OK) {
        error_move(&run->error, &budget);
        run->at_limit = true;
        finish(run, RUN_FAILED);
        return false;
    }
    run->step++;
    run_lay_out(run);
    if (must_wait_before(run)) {
        finish(run, RUN_INTERRUPTED);
        return false;
    }
    return true;
}

/* Tasks before the first that has failed go on: a retry of theirs, too. */
static bool may_start(const struct run *run) {
    return run->next_task < run->task_count && run->next_task < run->failed_at && !run->cancelling;
}

/* Asking the time costs as much as starting a small node, so it is asked once in CLOCK_EVERY. */
#define CLOCK_EVERY 4u

static bool has_had_its_time(struct run *run, int64_t *since_us) {
    int64_t now = loop_clock_us(run->loop);
    if (!*since_us) *since_us = now;
    return now - *since_us >= RUN_INLINE_US;
}

void run_advance(struct run *run) {
    if (run->advancing || run->status != RUN_RUNNING) return;
    run->advancing = true;
    uint32_t inline_left = RUN_INLINE_MAX;
    int64_t since_us = 0;
    const struct run *root = run_outermost(run);
    while (!root->paused || run->cancelling) { /* cancelling does not wait for the reader */
        if (run->durable && durable_waits(run)) break;
        if (run->telling && !tell(run)) break;
        if (!run->planning_done && !run->cancelling) {
            if (!begin_step(run)) return; /* ended: `run` may be gone */
        }
        while (may_start(run) && run->open < run->concurrency && inline_left && !root->paused) {
            struct task *task = &run->tasks[run->next_task++];
            if (task->state != TASK_WAITING) continue;
            task_begin(task);
            if (--inline_left % CLOCK_EVERY == 0 && has_had_its_time(run, &since_us)) inline_left = 0;
        }
        bool more = may_start(run);
        if (more && inline_left && run->open < run->concurrency) continue; /* paused */
        if (more && !inline_left) {
            loop_defer(run->loop, &run->work);
            break;
        }
        if (run->open || run->retrying || more) break; /* somebody's end brings us back */
        if (!finish_step(run)) return;
        if (!inline_left) {
            loop_defer(run->loop, &run->work);
            break;
        }
    }
    run->advancing = false;
}

/* ---- From outside ---- */

void run_give_up_plan(struct run *run) {
    const struct document *document = run->graph->document;
    /* Its number is not used again: task ids are made of it, and the journal has what its tasks were given. */
    if (!run_in_step(run) && (run->triggered.count || run->mapped.count || run->deferred_count)) run->step++;
    tasks_clear(run);
    plan_clear(run);
    memset(run->arrived, 0, run->graph->member_count);
    memset(run->deferred, 0, document->node_count * sizeof *run->deferred);
    run->deferred_count = 0;
    run->interrupt_after = false;
    run->planned_ms = 0;
}

tn_value run_loaded(const struct run *run) { return run->options.loaded; }

static void timeout_due(struct loop_timer *timer) {
    struct run *run = (struct run *)(void *)((char *)timer - offsetof(struct run, timeout));
    run->timed_out = true;
    run_cancel(run);
}

void run_begin_limit(struct run *run, uint32_t counted) {
    uint64_t limit = (uint64_t)run->step + run->recursion_limit - counted;
    run->limit_step = limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
}

void run_begin_time(struct run *run) {
    int64_t timeout = run->options.timeout_ms ? run->options.timeout_ms : run->graph->document->timeout_ms;
    if (timeout) loop_timer_start(run->loop, &run->timeout, timeout, timeout_due);
}

int32_t run_write_channels(struct run *run, tn_value input, struct error *error) {
    const struct document *document = run->graph->document;
    for (size_t i = 0, n = input ? value_count(input) : 0; i < n; i++) {
        size_t length;
        const char *name = value_chars(value_key_at(input, i), &length);
        int32_t channel = document_find_channel(document, name, length);
        if (channel < 0 || document->channels[channel].implicit) {
            const char *near = document_near_channel(document, name, length);
            return error_set(error, TN_NOT_FOUND, "INVALID_INPUT",
                             "the input has the key `%s`, which is no channel of the document%s%s%s", name,
                             near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
        }
        uint64_t origin = value_hash(document->channels[channel].name);
        /* Another invocation's messages are others; of a thread, though it took no step. */
        uint32_t invocation = run->durable ? durable_seq(run) : run->step;
        if (invocation) origin = run_mix(origin, invocation);
        int32_t status = state_write(&run->state, (uint32_t)channel, value_value_at(input, i), STATE_WRITER_INPUT,
                                     origin, NULL, error);
        if (status != TN_OK) return status;
    }
    return state_commit(&run->state, error);
}

static int32_t apply_input(struct run *run, tn_value input, struct error *error) {
    const struct document *document = run->graph->document;
    if (input && !value_is(input, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the input is %s, expected an object of channels",
                         value_kind_name(value_kind(input)));
    if (document->input) {
        struct schema_errors errors = SCHEMA_ERRORS_INIT;
        int32_t status = schema_validate(document->input, input ? input : value_object(), &errors);
        if (status != TN_OK)
            error_set(error, status, "INVALID_INPUT", "the input%s%s does not fit the document's `input`: %s",
                      errors.count && *errors.items[0].pointer ? " at " : "",
                      errors.count ? errors.items[0].pointer : "", errors.count ? errors.items[0].message : "");
        schema_errors_finish(&errors);
        if (status != TN_OK) return status;
    }
    return run_write_channels(run, input, error);
}

/* The input's writes, and what comes first after START. Where it is refused, nothing is pending or planned. */
static int32_t take_input(struct run *run, tn_value input, struct error *error) {
    value_unref(run->input);
    run->input = input ? value_ref(input) : value_object();
    if (run->uses) run_forget_uses(run); /* of another run of the same thread */
    run_begin_spending(run);
    durable_begin(run);
    int32_t status = apply_input(run, input, error);
    if (status == TN_OK) status = route_start(run, error);
    if (status == TN_OK) return TN_OK;
    plan_clear(run);
    state_rollback(&run->state);
    return status;
}

static void set_out(struct run *run) {
    plan_finish(run);
    run->telling = run->options.modes || run->outer;
    if (!run->durable || !durable_commit(run, "input")) run_advance(run);
}

bool run_start(struct run *run, tn_value input) {
    struct error error = ERROR_INIT;
    run->status = RUN_RUNNING;
    run_begin_limit(run, 0);
    run->in_start = true;
    run_begin_time(run);
    if (take_input(run, input, &error) == TN_OK)
        set_out(run);
    else
        run_fail(run, &error);
    run->in_start = false;
    return run->status != RUN_RUNNING;
}

int32_t run_begin(struct run *run, tn_value input, bool *ended, struct error *error) {
    enum run_status was = run->status;
    run->status = RUN_RUNNING;
    run->in_start = true;
    int32_t status = take_input(run, input, error);
    if (status == TN_OK) {
        run_begin_limit(run, 0);
        run_begin_time(run);
        set_out(run);
        *ended = run->status != RUN_RUNNING;
    } else {
        run->status = was;
    }
    run->in_start = false;
    return status;
}

void run_cancel(struct run *run) {
    if (run->status != RUN_RUNNING || run->cancelling) return;
    run->cancelling = true;
    run_stop_tasks(run, 0);
    loop_defer(run->loop, &run->work); /* where nothing is open any more, the end comes from there */
}

void run_drain(struct run *run) { run->draining = run->status == RUN_RUNNING; }

static void resume_calls(struct run *run) {
    for (uint32_t i = 0; i < run->task_count; i++)
        if (run->tasks[i].state == TASK_OPEN && run->tasks[i].call) call_resume(run->tasks[i].call);
    if (run->status == RUN_RUNNING) loop_defer(run->loop, &run->work);
}

void run_continue(struct run *run) {
    if (!run->paused) return;
    run->paused = false;
    resume_calls(run);
    for (struct run *nested = run->nested; nested; nested = nested->next_nested) resume_calls(nested);
}

/* ---- Reading ---- */

enum run_status run_status(const struct run *run) { return run->status; }
const struct error *run_error(const struct run *run) { return &run->error; }
uint32_t run_steps(const struct run *run) { return run->step; }
struct graph *run_graph(const struct run *run) {
    return run->graph;
}
tn_value run_state(const struct run *run) { return state_object(&run->state, true); }

tn_value run_result(struct run *run) {
    const struct document *document = run->graph->document;
    tn_value state = state_object(&run->state, false);
    tn_value properties = document->output_value ? value_get(document->output_value, "properties") : NULL;
    if (!properties) return state;
    tn_value result = value_object_reserve(value_count(properties));
    for (size_t i = 0, n = value_count(properties); i < n; i++) {
        tn_value key = value_key_at(properties, i), value = value_get_key(state, key);
        if (value) result = value_set_key_take(result, value_ref(key), value_ref(value));
    }
    value_unref(state);
    return result;
}

const char *run_id(struct run *run) {
    if (run->outer) return run_id(run->outer);
    if (run->id) return run->id;
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) memset(bytes, 0, sizeof bytes);
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* a random UUID, RFC 9562 version 4 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    run->id = mem_alloc(37);
    char *at = run->id;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
        at += snprintf(at, 3, "%02x", bytes[i]);
    }
    return run->id;
}

tn_value run_context(struct run *run) {
    const struct run_options *options = &run->options;
    tn_value context = value_object_reserve(10);
    context = value_set_take(context, "run_id", value_text(run_id(run)));
    context = value_set_take(context, "thread_id", options->thread_id ? value_text(options->thread_id) : value_null());
    context = value_set_take(context, "runner_id", options->runner_id ? value_text(options->runner_id) : value_null());
    context = value_set_take(context, "step", value_int(run->step));
    if (!run->now_ms) run->now_ms = loop_wall_ms(run->loop); /* one time for all of a step */
    context = value_set_take(context, "now", value_int(run->now_ms));
    context = value_set_take(context, "path", run->path ? value_ref(run->path) : value_array());
    context = value_set_take(context, "tags", options->tags ? value_ref(options->tags) : value_array());
    context = value_set_take(context, "metadata", options->metadata ? value_ref(options->metadata) : value_object());
    return value_set_take(context, "configurable",
                          options->configurable ? value_ref(options->configurable) : value_object());
}

struct run *run_of_call(const struct call *call) {
    for (const struct call *at = call; at; at = call_parent(at))
        if (call_ops_of(at) == &task_call_ops) return ((struct task *)call_owner(at))->run;
    return NULL;
}
