/*
 * task.c - one task of a step: its attempts, its cache, its end; and the state it reads.
 *
 * A task is called as often as its retry policy allows, each time with a new call, always with the same task id. The
 * call is kept after its end, because it holds the writes, until run.c has applied the step. Cancelling never takes a
 * task away: it ends, and the run goes on when all have.
 */
#include "adl/value/memory.h"
#include "host/call/instance.h"
#include "host/engine/cache.h"
#include "host/engine/durable.h"
#include "host/engine/run_internal.h"
#include "host/plugin/registry.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct graph_node *node_of(const struct task *task) { return &task->run->graph->nodes[task->plan.node]; }

static const struct document_node *def_of(const struct task *task) {
    return &task->run->graph->document->nodes[task->plan.node];
}

void task_init(struct task *task, struct run *run, uint32_t index, struct planned plan) {
    memset(task, 0, sizeof *task);
    task->run = run;
    task->index = index;
    task->plan = plan;
    task->attempt = 1;
}

void task_finish(struct task *task) {
    loop_timer_stop(task->run->loop, &task->retry_timer);
    call_free(task->call);
    value_unref(task->plan.input);
    value_unref(task->answer);
    value_unref(task->asked);
    value_unref(task->children);
    value_unref(task->inside);
    value_unref(task->cached);
    value_unref(task->cache_key);
    if (task->uses) task_forget_uses(task);
    mem_free(task->used);
    mem_free(task->kept);
    error_finish(&task->error);
}

/* ---- Identity ---- */

uint64_t task_hash(const struct task *task) {
    const struct run *run = task->run;
    uint64_t hash = run_mix(run_mix(run->scope, run->step), value_hash(def_of(task)->id));
    /* The source as well: tasks of several sources reach one node with the same edge and item. */
    hash = run_mix(hash, (uint64_t)task->plan.edge << 32 | task->plan.item);
    return run_mix(hash, task->plan.source);
}

char *task_id(struct task *task, char out[40]) {
    struct run *run = task->run;
    const char *thread = run->options.thread_id ? run->options.thread_id : run_id(run);
    uint64_t scope = 14695981039346656037u;
    for (const char *at = thread; *at; at++) scope = (scope ^ (unsigned char)*at) * 1099511628211u;
    uint64_t hash = task_hash(task);
    snprintf(out, 40, "%016" PRIx64 "%016" PRIx64, run_mix(scope, hash), run_mix(run_mix(scope, 1), hash));
    return out;
}

/* ---- What the callable sees ---- */

static tn_value task_read(struct call *call, uint32_t field) {
    const struct task *task = call_owner(call);
    const struct run *run = task->run;
    if (field < run->state.count) return run->state.values[field];
    return field == task->plan.as_field ? task->plan.input : NULL;
}

tn_value task_context(struct task *task) {
    struct run *run = task->run;
    char id[40];
    tn_value context = run_context(run);
    context = value_set_take(context, "task_id", value_text(task_id(task, id)));
    context = value_set_take(context, "attempt", value_int(task->attempt));
    context = value_set_take(context, "node", value_ref(def_of(task)->id));
    context = value_set_take(context, "seed", value_int((int64_t)(run_mix(run->options.seed, task_hash(task)) >> 4)));
    return context;
}

static tn_value context_of_call(struct call *call) { return task_context(call_owner(call)); }

static tn_value run_value_of_call(struct call *call) { return run_context(((struct task *)call_owner(call))->run); }

static bool task_chunk(struct call *call, tn_value chunk) {
    struct task *task = call_owner(call);
    emit_chunk(task, chunk);
    return !run_outermost(task->run)->paused;
}

static bool task_hears(const struct call *call) {
    const struct task *task = call_owner(call);
    return run_wants(task->run, RUN_MODE_MESSAGES | RUN_MODE_CUSTOM);
}

/* ---- Calls that it makes ---- */

tn_value task_child(const struct task *task, const char *path) {
    return task->children ? value_get(task->children, path) : NULL;
}

void task_set_child_take(struct task *task, const char *path, tn_value entry) {
    task->children = value_set_take(task->children ? task->children : value_object(), path, entry);
}

uint64_t task_child_hash(const struct task *task, const char *path) {
    tn_value text = value_text(path);
    uint64_t hash = run_mix(task_hash(task), value_hash(text));
    value_unref(text);
    return hash;
}

static tn_value not_recorded(void) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_NOT_FOUND, "NOT_RECORDED",
              "what this gave when the thread was run is not in its journal, and a replay calls nothing outside");
    tn_value value = error_to_value(&error);
    error_finish(&error);
    return value;
}

/* Computed again it would be the same; everything else happens once. */
static bool is_pure(struct callable *callable) {
    if (callable->ops->memory != CALLABLE_BY_EFFECTS) return callable->ops->memory == CALLABLE_FORGOTTEN;
    const struct component *component = instance_component(callable);
    return component && value_is(component->info->effects, TN_ARRAY) && value_count(component->info->effects) == 0;
}

static tn_value recall(struct call *call, const char *path, struct callable *callee) {
    struct task *task = call_owner(call);
    tn_value entry = task_child(task, path);
    if (entry) task_recall_used(task, value_get(entry, "used"));
    if (entry || !durable_replays(task->run) || is_pure(callee)) return entry ? value_ref(entry) : NULL;
    /* A replay does not go outside: but graphs are run again, as their nodes are looked up by themselves. */
    if (graph_of_callable(callee)) return NULL;
    entry = durable_recorded_call(task, path);
    return entry ? value_ref(entry) : value_set_take(value_object_reserve(1), "error", not_recorded());
}

bool task_is_pure(const struct task *task) { return is_pure(node_of(task)->callable); }

/* It ended because of a call that it made, which waits: with the answer, it is made again. */
static bool waits_inside(const struct task *task, const char *path, const struct error *error) {
    size_t length = strlen(path);
    if (!error->code || strcmp(error->code, "INTERRUPTED") != 0) return false;
    for (size_t i = 0; i < value_count(task->children); i++) {
        const char *below = value_chars(value_key_at(task->children, i), NULL);
        if (strncmp(below, path, length) == 0 && below[length] == '.' &&
            value_get(value_value_at(task->children, i), "asked"))
            return true;
    }
    return false;
}

static bool record(struct call *call, const char *path, struct call *child) {
    struct task *task = call_owner(call);
    tn_value entry = NULL;
    bool kept = !is_pure(call_callable(child)) && !call_callable(call_parent(child))->ops->stands_before;
    switch (call_outcome(child)) {
    case CALL_COMPLETED:;
        tn_value output = call_output(child);
        if (kept) entry = value_set_take(value_object_reserve(1), "output", output ? value_ref(output) : value_null());
        break;
    case CALL_FAILED:
        if (kept && !waits_inside(task, path, call_error(child)))
            entry = value_set_take(value_object_reserve(1), "error", error_to_value(call_error(child)));
        break;
    case CALL_INTERRUPTED:
        entry = value_set_take(value_object_reserve(1), "asked", value_ref(call_interrupt_value(child)));
        task->waits = true;
        break;
    default: break;
    }
    tn_value used = task_take_inside(task, path);
    if (entry && used) entry = value_set_take(entry, "used", value_ref(used));
    value_unref(used);
    if (entry) {
        task_set_child_take(task, path, entry);
        durable_call(task, path);
    }
    return task->waits && call_outcome(child) == CALL_INTERRUPTED;
}

static void ended(struct task *task);

static void task_ended(struct call *call) {
    struct task *task = call_owner(call);
    struct run *run = task->run;
    ended(task);
    run_advance(run);
}

const struct call_ops task_call_ops = {.ended = task_ended,
                                       .chunk = task_chunk,
                                       .hears = task_hears,
                                       .read = task_read,
                                       .context = context_of_call,
                                       .run_value = run_value_of_call,
                                       .recall = recall,
                                       .uses = task_uses,
                                       .used = task_used,
                                       .record = record,
                                       .may_spend = task_may_spend,
                                       .spent = task_spent};

/* ---- Cache ---- */

static tn_value cache_key_of(const struct task *task) {
    const struct graph_node *node = node_of(task);
    const struct run_options *options = &task->run->options;
    tn_value key = value_array_reserve(node->read_count + 2);
    key = value_push_take(key, options->configurable ? value_ref(options->configurable) : value_null());
    key = value_push_take(key, task->plan.input ? value_ref(task->plan.input) : value_null());
    for (uint32_t i = 0; i < node->read_count; i++) {
        uint32_t field = node->reads[i];
        tn_value read = field < task->run->state.count ? task->run->state.values[field]
                        : field == task->plan.as_field ? task->plan.input
                                                       : NULL;
        key = value_push_take(key, read ? value_ref(read) : value_null());
    }
    return key;
}

tn_value task_outcome(const struct task *task) {
    if (task->cached) return value_ref(task->cached);
    uint32_t count;
    const struct call_write *writes = call_writes(task->call, &count);
    tn_value list = value_array_reserve(count);
    for (uint32_t i = 0; i < count; i++) {
        tn_value pair = value_push_take(value_array_reserve(2), value_int(writes[i].channel));
        list = value_push_take(list, value_push_take(pair, value_ref(writes[i].value)));
    }
    tn_value outcome = value_set_take(value_object_reserve(2), "writes", list);
    tn_value output = call_output(task->call);
    return output ? value_set_take(outcome, "output", value_ref(output)) : outcome;
}

/* ---- Attempts ---- */

static void start_attempt(struct task *task) {
    struct run *run = task->run;
    const struct document_node *def = def_of(task);
    if (run->options.modes || run->outer) {
        task->started_ms = loop_now_ms(run->loop);
        if (task->attempt > 1) emit_task(task, "reset");
        emit_task(task, "start");
        if (task->state != TASK_WAITING) return; /* a subscriber has cancelled the run from inside the event */
    }
    task->state = TASK_OPEN;
    task->waits = false;
    run->open++;
    task->call = call_new(run->loop, node_of(task)->callable, &task_call_ops, task);
    if (def->timeout_total_ms || def->timeout_idle_ms)
        call_timeout(task->call, def->timeout_total_ms, def->timeout_idle_ms);
    bool inside = call_start(task->call, task->resumed ? task->answer : task->plan.input);
    if (inside) ended(task);
}

/* It waits for its turn like any other: the limit of concurrency holds for attempts, not only for first ones. */
static void retry_due(struct loop_timer *timer) {
    struct task *task = (struct task *)(void *)((char *)timer - offsetof(struct task, retry_timer));
    struct run *run = task->run;
    run->retrying--;
    task->attempt++;
    task->round++;
    task_settle(task);
    task_settle_uses(task);
    value_unref(task->children); /* what it calls, it calls again */
    task->children = NULL;
    error_finish(&task->error);
    task->state = TASK_WAITING;
    if (task->index < run->next_task) run->next_task = task->index;
    run_advance(run);
}

static int64_t retry_delay(const struct task *task) {
    const struct document_retry *retry = &def_of(task)->retry;
    double delay = retry->initial_ms ? (double)retry->initial_ms * pow(retry->factor, task->attempt - 1) : 0;
    int64_t wait = delay < (double)retry->max_ms ? (int64_t)delay : retry->max_ms;
    tn_value after = task->error.more ? value_get(task->error.more, "retry_after_ms") : NULL;
    int64_t asked;
    return after && value_as_int(after, &asked) && asked > wait ? asked : wait;
}

static bool may_retry(const struct task *task) {
    if (task->run->cancelling || task->attempt >= def_of(task)->retry.max_attempts) return false;
    if (task->index > task->run->failed_at || !error_retryable(&task->error)) return false;
    if (node_of(task)->may_retry && !task->unrepeatable) return true;
    emit_debug(task->run, "not_retried", (int32_t)task->plan.node,
               "its component declares effects that must not be repeated, and is not marked idempotent");
    return false;
}

static void failed(struct task *task) {
    struct run *run = task->run;
    if (may_retry(task)) {
        task->state = TASK_RETRYING;
        call_free(task->call);
        task->call = NULL;
        run->retrying++;
        loop_timer_start(run->loop, &task->retry_timer, retry_delay(task), retry_due);
        emit_task(task, "retry"); /* last: a subscriber may cancel from inside it */
        return;
    }
    task->state = TASK_FAILED;
    /* Only tasks later in task order are cancelled, so that the first failing one is always the same. */
    if (def_of(task)->on_error != DOCUMENT_NOWHERE) {
        durable_task(task);
    } else if (task->index < run->failed_at) {
        run->failed_at = task->index;
        run_stop_tasks(run, task->index + 1);
    }
    emit_task(task, "end");
}

static void interrupted(struct task *task) {
    task->state = TASK_INTERRUPTED;
    task->run->interrupted++;
    emit_task(task, "end");
}

/* The call has ended: what became of the task. */
static void ended(struct task *task) {
    struct run *run = task->run;
    run->open--;
    switch (call_outcome(task->call)) {
    case CALL_COMPLETED:
        task->state = TASK_DONE;
        if (task->cache_key) {
            tn_value outcome = task_outcome(task);
            cache_put(node_of(task)->cache, task->cache_key, outcome, loop_now_ms(run->loop));
            value_unref(outcome);
        }
        if (run->durable) durable_task(task);
        emit_task(task, "end");
        return;
    case CALL_INTERRUPTED:
        /* It goes on from its continuation: what it called until now is over. */
        task->waits = false;
        task->round++;
        task_settle(task);
        task_settle_uses(task);
        value_unref(task->children);
        task->children = NULL;
        interrupted(task);
        return;
    case CALL_CANCELLED:
        if (run->cancelling || task->index > run->failed_at) {
            task->state = TASK_CANCELLED;
            emit_task(task, "end");
            return;
        }
        break; /* a component that gave up by itself has failed */
    default: break;
    }
    /* It cannot go on without what it called: as if it had asked itself. */
    if (task->waits && !run->cancelling && task->index < run->failed_at) {
        interrupted(task);
        return;
    }
    const struct error *error = call_error(task->call);
    if (error && error->code)
        error_copy(&task->error, error);
    else
        error_set(&task->error, TN_ERROR, "NODE_EXECUTION", "the component ended without saying why");
    failed(task);
}

/* As it was recorded. */
static void replayed(struct task *task, tn_value recorded) {
    struct error error = ERROR_INIT;
    tn_value failure = recorded ? value_get(recorded, "failed") : NULL, none = recorded ? NULL : not_recorded();
    if (none) failure = none;
    if (!failure && task_restore(task, recorded, &error) == TN_OK && task->state == TASK_DONE) {
        emit_task(task, "end");
        return;
    }
    if (failure)
        error_from_value(&task->error, failure);
    else
        error_move(&task->error, &error);
    value_unref(none);
    task->attempt = UINT32_MAX;
    failed(task);
}

void task_begin(struct task *task) {
    if (task->run->durable && durable_replays(task->run) && !task_is_pure(task) && !task->resumed) {
        replayed(task, durable_recorded(task));
        return;
    }
    struct cache *cache = node_of(task)->cache;
    if (cache && !task->resumed) {
        tn_value key = cache_key_of(task);
        tn_value known = cache_get(cache, key, loop_now_ms(task->run->loop));
        if (known) {
            task->cached = value_ref(known);
            task->state = TASK_DONE;
            value_unref(key);
            emit_task(task, "cached");
            return;
        }
        value_unref(task->cache_key);
        task->cache_key = key;
    }
    start_attempt(task);
}

static void task_stop(struct task *task) {
    struct run *run = task->run;
    switch (task->state) {
    case TASK_WAITING: task->state = TASK_CANCELLED; break;
    case TASK_OPEN: call_cancel(task->call); break;
    case TASK_RETRYING:
        loop_timer_stop(run->loop, &task->retry_timer);
        run->retrying--;
        task->state = TASK_CANCELLED;
        break;
    default: break;
    }
}

void run_stop_tasks(struct run *run, uint32_t from) {
    bool advancing = run->advancing;
    run->advancing = true; /* an end that comes while we cancel must not apply the step under our feet */
    for (uint32_t i = from; i < run->task_count; i++) task_stop(&run->tasks[i]);
    run->advancing = advancing;
}

/* ---- Outcome ---- */

tn_value task_asked(const struct task *task) {
    if (task->asked) return task->asked;
    return task->call && !task->waits ? call_interrupt_value(task->call) : NULL;
}

tn_value task_output(const struct task *task) {
    if (task->cached) return value_get(task->cached, "output");
    return task->call && task->state == TASK_DONE ? call_output(task->call) : NULL;
}

static int32_t write_named(struct task *task, tn_value writes, task_write_fn *write, void *user, struct error *error) {
    const struct document *document = task->run->graph->document;
    if (!value_is(writes, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_OUTPUT", "`writes` is %s, expected an object of channels",
                         value_kind_name(value_kind(writes)));
    for (size_t i = 0, n = value_count(writes); i < n; i++) {
        size_t length;
        const char *name = value_chars(value_key_at(writes, i), &length);
        int32_t channel = document_find_channel(document, name, length);
        if (channel < 0 || document->channels[channel].implicit) {
            const char *near = document_near_channel(document, name, length);
            return error_set(error, TN_NOT_FOUND, "CHANNEL", "it writes `%s`, which is no channel%s%s%s", name,
                             near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
        }
        int32_t status = write(user, task, (uint32_t)channel, value_value_at(writes, i), error);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

int32_t task_each_write(struct task *task, task_write_fn *write, void *user, struct error *error) {
    int32_t status = TN_OK;
    if (task->cached) {
        tn_value list = value_get(task->cached, "writes");
        for (size_t i = 0, n = value_count(list); status == TN_OK && i < n; i++) {
            tn_value pair = value_at(list, i);
            status = write(user, task, (uint32_t)value_to_int(value_at(pair, 0)), value_at(pair, 1), error);
        }
    } else {
        uint32_t count;
        const struct call_write *writes = call_writes(task->call, &count);
        for (uint32_t i = 0; status == TN_OK && i < count; i++)
            status = write(user, task, writes[i].channel, writes[i].value, error);
    }
    tn_value output = task_output(task);
    if (status != TN_OK || !output || value_is(output, TN_NULL)) return status;
    if (!value_is(output, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_OUTPUT",
                         "it completed with %s, expected nothing or an object with `writes`, `goto` or `send`",
                         value_kind_name(value_kind(output)));
    for (size_t i = 0, n = value_count(output); status == TN_OK && i < n; i++) {
        tn_value key = value_key_at(output, i);
        if (value_text_is(key, "writes"))
            status = write_named(task, value_value_at(output, i), write, user, error);
        else if (!value_text_is(key, "goto") && !value_text_is(key, "send"))
            status = error_set(error, TN_INVALID, "INVALID_OUTPUT",
                               "it completed with the key `%s`, expected `writes`, `goto` or `send`",
                               value_chars(key, NULL));
    }
    return status;
}
