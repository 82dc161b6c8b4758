/*
 * activation.c - one activation of a step: its attempts, the calls that it makes, its end and its writes.
 *
 * Each attempt is a new call with the same `task_id`. The call is kept after its end, because it holds the writes,
 * until the step has been reported. A cancelled activation stays in its step until its call has ended.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/trace.h"
#include "host/engine/graph/durable.h"
#include "host/engine/graph/node_gate.h"
#include "host/engine/graph/run_internal.h"
#include "host/engine/tool/approval.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RETRY_AFTER_MAX_MS 60000 /* of a failure's retry_after_ms, unless the document's maximum is longer */

static const struct graph_node *activation_node(const struct activation *activation) {
    return &activation->run->graph->nodes[activation->plan.node];
}

static const struct document_node *activation_definition(const struct activation *activation) {
    return &activation->run->graph->document->nodes[activation->plan.node];
}

bool activation_failure_is_handled(const struct activation *activation) {
    const struct document_node *node = activation_definition(activation);
    if (node->on_error == DOCUMENT_NOWHERE) return false;
    bool handled = !node->error_codes;
    for (size_t i = 0; !handled && i < value_count(node->error_codes); i++)
        handled = activation->error.code && value_text_is(value_at(node->error_codes, i), activation->error.code);
    return handled;
}

void activation_init(struct activation *activation, struct run *run, uint32_t index, struct plan_entry plan) {
    memset(activation, 0, sizeof *activation);
    activation->run = run;
    activation->index = index;
    activation->plan = plan;
    activation->attempt = 1;
}

void activation_finish(struct activation *activation) {
    loop_timer_stop(activation->run->loop, &activation->retry_timer);
    call_free(activation->call);
    value_unref(activation->plan.input);
    value_unref(activation->answer);
    value_unref(activation->restored_interrupt);
    value_unref(activation->child_calls);
    value_unref(activation->call_usage);
    value_unref(activation->unrepeatable_calls);
    value_unref(activation->known_outcome);
    if (activation->cache_use) activation_clear_cache_use(activation);
    if (activation->tool_uses) activation_clear_tool_uses(activation);
    mem_free(activation->usage);
    mem_free(activation->usage_settled);
    error_finish(&activation->error);
}

/* ---- Identity ---- */

uint64_t activation_hash(const struct activation *activation) {
    const struct run *run = activation->run;
    uint64_t hash = run_mix(run_mix(run->scope, run->step), value_hash(activation_definition(activation)->id));
    /* The source is necessary, because several sources can reach one node with the same edge and item. */
    hash = run_mix(hash, (uint64_t)activation->plan.map_edge << 32 | activation->plan.item);
    return run_mix(hash, activation->plan.source);
}

char *activation_id(struct activation *activation, char out[ACTIVATION_ID_SIZE]) {
    const uint64_t *incarnation = run_incarnation(activation->run);
    uint64_t hash = activation_hash(activation);
    /* Two hashes, because an id must be unique among all threads: 64 bits are too few. */
    snprintf(out, ACTIVATION_ID_SIZE, "%016" PRIx64 "%016" PRIx64, run_mix(incarnation[0], hash),
             run_mix(incarnation[1], hash));
    return out;
}

/* ---- What its call reads and emits ---- */

tn_value activation_field(const struct activation *activation, uint32_t field) {
    const struct run *run = activation->run;
    if (field < run->channels.count) return run->channels.values[field];
    return field == activation->plan.as_field ? activation->plan.input : NULL;
}

static tn_value activation_read(struct call *call, uint32_t field) { return activation_field(call_owner(call), field); }

static tn_value activation_context(struct activation *activation) {
    struct run *run = activation->run;
    char id[ACTIVATION_ID_SIZE];
    tn_value context = run_context(run);
    context = value_set_take(context, "task_id", value_text(activation_id(activation, id)));
    context = value_set_take(context, "attempt", value_int(activation->attempt));
    context = value_set_take(context, "node", value_ref(activation_definition(activation)->id));
    if (activation->resumed) context = value_set_take(context, "resumed", value_bool(true));
    uint64_t seed = run_mix(run->options.seed, activation_hash(activation)) >> 4; /* never negative as an int64_t */
    return value_set_take(context, "seed", value_int((int64_t)seed));
}

static tn_value activation_call_context(struct call *call) {
    struct activation *activation = call_owner(call);
    tn_value context = activation_context(activation);
    return trace_wanted(activation->run->loop) ? trace_activation_context_take(activation, context) : context;
}

static tn_value activation_run_value(struct call *call) {
    return run_context(((struct activation *)call_owner(call))->run);
}

static bool activation_chunk(struct call *call, tn_value chunk) {
    struct activation *activation = call_owner(call);
    emit_chunk(activation, chunk);
    return !run_outermost(activation->run)->subscriber_full;
}

static bool activation_wants_chunks(const struct call *call) {
    const struct activation *activation = call_owner(call);
    return run_has_subscriber(activation->run, RUN_MODE_MESSAGES | RUN_MODE_CUSTOM);
}

/* ---- Calls that it makes ---- */

tn_value activation_child_entry(const struct activation *activation, const char *path) {
    return activation->child_calls ? value_get(activation->child_calls, path) : NULL;
}

static void activation_set_child_entry_take(struct activation *activation, const char *path, tn_value entry) {
    activation->child_calls =
        value_set_take(activation->child_calls ? activation->child_calls : value_object(), path, entry);
}

uint64_t activation_child_hash(const struct activation *activation, const char *path) {
    tn_value text = value_text(path);
    uint64_t hash = run_mix(activation_hash(activation), value_hash(text));
    value_unref(text);
    return hash;
}

static tn_value not_recorded_error(void) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_NOT_FOUND, "NOT_RECORDED",
              "the thread's journal has no result of this call, and a replay does not make calls with effects");
    tn_value value = error_to_value(&error);
    error_finish(&error);
    return value;
}

/* True if its outcome is saved, so that neither a resume nor a replay repeats it. */
static bool callable_is_saved(struct callable *callable) {
    if (callable->ops->saving != CALLABLE_SAVED_BY_EFFECTS) return callable->ops->saving == CALLABLE_SAVED;
    const struct component *component = instance_component(callable);
    /* Unknown effects count as effects; only an empty list means that it is pure. */
    return !component || !value_is(component->info->effects, TN_ARRAY) || value_count(component->info->effects) > 0;
}

static tn_value activation_recall_call(struct call *call, const char *path, struct callable *callee) {
    struct activation *activation = call_owner(call);
    tn_value entry = activation_child_entry(activation, path);
    if (value_get(entry, "input") && !approval_is_for(entry, callee)) { /* another callee receives no answer */
        tn_value denied = approval_without_rule(entry, callee);
        return denied ? value_set_take(value_object_reserve(1), "error", denied) : NULL;
    }
    if (entry) {
        activation_add_recalled_usage(activation, path, value_get(entry, "used"));
        if (value_get(entry, "unrepeatable")) activation_set_unrepeatable(activation, path);
        return value_ref(entry);
    }
    if (!durable_replays(activation->run) || !callable_is_saved(callee)) return NULL; /* make the call */
    /* A replay does not make the call. Only graphs run again, because the journal has the outcomes of their nodes. */
    if (graph_of_callable(callee)) return NULL;
    entry = durable_recorded_call(activation, path);
    activation_add_recalled_usage(activation, path, value_get(entry, "used"));
    return entry ? value_ref(entry) : value_set_take(value_object_reserve(1), "error", not_recorded_error());
}

bool activation_outcome_is_saved(const struct activation *activation) {
    return callable_is_saved(activation_node(activation)->callable);
}

/* Returns true if the call failed because a call that it made waits for an answer. It is then made again later. */
static bool child_waits_for_answer(const struct activation *activation, const char *path, const struct error *error) {
    size_t length = strlen(path);
    if (!error->code || strcmp(error->code, "INTERRUPTED") != 0) return false;
    for (size_t i = 0; i < value_count(activation->child_calls); i++) {
        const char *below = value_chars(value_key_at(activation->child_calls, i), NULL);
        if (strncmp(below, path, length) == 0 && below[length] == '.' &&
            value_get(value_value_at(activation->child_calls, i), "asked"))
            return true;
    }
    return false;
}

static bool activation_record_call(struct call *call, const char *path, struct call *child) {
    struct activation *activation = call_owner(call);
    tn_value entry = NULL;
    /* Of a wrapper and the callable that it calls, only the wrapper's own result is saved. */
    bool called_by_wrapper = call_callable(call_parent(child))->ops->is_wrapper;
    bool saved = callable_is_saved(call_callable(child)) && !called_by_wrapper;
    switch (call_outcome(child)) {
    case CALL_COMPLETED:;
        tn_value output = call_output(child);
        if (saved) entry = value_set_take(value_object_reserve(1), "output", output ? value_ref(output) : value_null());
        break;
    case CALL_FAILED:
        if (saved && !child_waits_for_answer(activation, path, call_error(child)))
            entry = value_set_take(value_object_reserve(1), "error", error_to_value(call_error(child)));
        break;
    case CALL_INTERRUPTED:
        entry = value_set_take(value_object_reserve(2), "asked", value_ref(call_interrupt_value(child)));
        entry = approval_keep_callee_take(entry, activation_child_entry(activation, path), call_callable(child));
        activation->waits_for_child_call = true;
        break;
    case CALL_CANCELLED: /* one call of a race: the task continues, and a resumed one must not make the call again */
        if (saved && call_cancelled_by_caller(child))
            entry = value_set_take(value_object_reserve(1), "error", error_to_value(call_error(child)));
        break;
    default: break;
    }
    /* Without an entry the call is made again, and what it uses is counted again. */
    tn_value used = entry ? activation_call_usage(activation, path) : NULL;
    if (used) entry = value_set_take(entry, "used", used);
    if (entry && activation_call_is_unrepeatable(activation, path))
        entry = value_set_take(entry, "unrepeatable", value_bool(true));
    if (entry) {
        activation_set_child_entry_take(activation, path, entry);
        durable_save_call(activation, path);
    }
    return call_outcome(child) == CALL_INTERRUPTED;
}

static void activation_end_attempt(struct activation *activation);

static void activation_on_call_ended(struct call *call) {
    struct activation *activation = call_owner(call);
    struct run *run = activation->run;
    activation_end_attempt(activation);
    run_advance(run);
}

static tn_value activation_trace_id(struct call *call) { return trace_id_of_activation(call_owner(call)); }

const struct call_ops activation_call_ops = {.ended = activation_on_call_ended,
                                             .chunk = activation_chunk,
                                             .wants_chunks = activation_wants_chunks,
                                             .read = activation_read,
                                             .context = activation_call_context,
                                             .run_value = activation_run_value,
                                             .recall = activation_recall_call,
                                             .on_use = activation_count_tool_use,
                                             .use_count = activation_tool_use_count,
                                             .record = activation_record_call,
                                             .check_budget = activation_check_budget,
                                             .add_usage = activation_add_usage,
                                             .trace_id = activation_trace_id};

/* ---- Attempts ---- */

/*
 * Returns what is called now: the node, or its gate, which asks for an approval or refuses the node. A new reference.
 * The answer may have come after the operator has added or removed the rule: it belongs to whom it answers.
 */
static struct callable *activation_pass_gate(struct activation *activation) {
    const struct graph_node *node = activation_node(activation);
    bool answered = activation->resumed && node_gate_is_answer(activation->answer);
    if (answered && !node_gate_approves(activation->answer))
        return node->gate ? callable_ref(node->gate) : node_gate_refusal(instance_component(node->callable)->info);
    if (!answered && node->gate && !activation->agreed) return callable_ref(node->gate);
    if (answered) {
        activation->agreed = true;
        activation->resumed = false;
        value_unref(activation->answer);
        activation->answer = NULL;
    }
    return callable_ref(node->callable);
}

static void activation_start_attempt(struct activation *activation) {
    struct run *run = activation->run;
    const struct document_node *def = activation_definition(activation);
    if (run_may_report(run)) { /* started_us and the events are only for a subscriber */
        trace_activation_start(activation);
        if (activation->attempt > 1) emit_activation(activation, "reset");
        emit_activation(activation, "start");
        if (activation->state != ACTIVATION_WAITING) { /* the subscriber cancelled the run */
            emit_activation(activation, "end");
            return;
        }
    }
    activation->state = ACTIVATION_OPEN;
    activation->waits_for_child_call = false;
    value_unref(activation->call_usage);
    value_unref(activation->unrepeatable_calls);
    activation->call_usage = activation->unrepeatable_calls = NULL;
    run->open++;
    struct callable *callable = activation_pass_gate(activation);
    activation->call = call_new(run->loop, callable, &activation_call_ops, activation);
    callable_unref(callable);
    if (def->timeout_total_ms || def->timeout_idle_ms)
        call_set_time_limits(activation->call, def->timeout_total_ms, def->timeout_idle_ms);
    bool ended = call_start(activation->call, activation->resumed ? activation->answer : activation->plan.input);
    if (ended) activation_end_attempt(activation);
}

/*
 * The node will be started again, by a retry or with the answer to its own interrupt. The saved results of its calls
 * are not needed any more, because it makes its calls again or continues after them. What they used is settled. A node
 * that is started again because of an interrupt of a call that it made stays in its round, and these results are used.
 */
static void activation_begin_round(struct activation *activation) {
    activation->round++;
    activation_settle_usage(activation);
    activation_settle_tool_uses(activation);
    activation_settle_unrepeatable(activation);
    value_unref(activation->child_calls);
    activation->child_calls = NULL;
}

/*
 * The retry delay has passed. The limit of concurrent attempts decides when run_advance starts the next one. It calls
 * activation_start again, so the next attempt, too, looks into the cache first.
 */
static void activation_on_retry_timer(struct loop_timer *timer) {
    struct activation *activation = CONTAINER_OF(timer, struct activation, retry_timer);
    struct run *run = activation->run;
    run->retrying--;
    activation->attempt++;
    activation_begin_round(activation);
    error_finish(&activation->error);
    activation->state = ACTIVATION_WAITING;
    if (activation->index < run->next_activation) run->next_activation = activation->index;
    run_advance(run);
}

/*
 * Returns the ms to wait: the document's delay, or a longer one that the failure asks for with `retry_after_ms`, for
 * example until a plugin's process may be started again. That one is limited, so that a service cannot make a run wait
 * for years.
 */
static int64_t activation_retry_delay(const struct activation *activation) {
    const struct document_retry *retry = &activation_definition(activation)->retry;
    double delay = retry->initial_ms ? (double)retry->initial_ms * pow(retry->factor, activation->attempt - 1) : 0;
    int64_t wait = delay < (double)retry->max_ms ? (int64_t)delay : retry->max_ms;
    int64_t limit = retry->max_ms > RETRY_AFTER_MAX_MS ? retry->max_ms : RETRY_AFTER_MAX_MS, requested;
    tn_value after = activation->error.more ? value_get(activation->error.more, "retry_after_ms") : NULL;
    if (!after || !value_as_int(after, &requested) || requested <= wait) return wait;
    return requested < limit ? requested : limit;
}

/* True if the document asks for a retry of this failure, and the result of the activation still matters. */
static bool activation_wants_retry(const struct activation *activation) {
    const struct run *run = activation->run;
    if (run_is_cancelled(run) || !error_retryable(&activation->error)) return false;
    if (activation->index > run->first_failed) return false; /* one before it has failed, so the run fails */
    return activation->attempt < activation_definition(activation)->retry.max_attempts;
}

/* False if a retry would repeat effects: those of the component, or those of a tool that it has used. */
static bool activation_is_repeatable(const struct activation *activation) {
    return activation_node(activation)->may_retry && !activation->unrepeatable;
}

/* Ends the activation with activation->error. If `retry_allowed` and the document wants it, waits for a retry. */
static void activation_fail(struct activation *activation, bool retry_allowed) {
    struct run *run = activation->run;
    bool retry = retry_allowed && activation_wants_retry(activation);
    if (retry && !activation_is_repeatable(activation)) {
        emit_debug(run, "not_retried", (int32_t)activation->plan.node,
                   activation_node(activation)->may_retry
                       ? "it has used a tool whose effects must not be repeated"
                       : "its component declares effects that must not be repeated, and is not marked idempotent");
        retry = false;
    }
    if (retry) {
        activation->state = ACTIVATION_RETRYING;
        call_free(activation->call);
        activation->call = NULL;
        run->retrying++;
        loop_timer_start(run->loop, &activation->retry_timer, activation_retry_delay(activation),
                         activation_on_retry_timer);
        trace_activation_end(activation);
        emit_activation(activation, "retry"); /* must come last: the subscriber may cancel the run */
        return;
    }
    activation->state = ACTIVATION_FAILED;
    if (activation_failure_is_handled(activation)) {
        durable_save_outcome(activation); /* an error edge handles it: it is an outcome like any other */
    } else if (activation->index < run->first_failed) {
        /* Activations before it continue. Thus the run always fails with the same error: the first in their order. */
        run->first_failed = activation->index;
        activation_cancel_all_from(run, activation->index + 1);
    }
    trace_activation_end(activation);
    emit_activation(activation, "end");
}

static void activation_interrupt(struct activation *activation) {
    activation->state = ACTIVATION_INTERRUPTED;
    activation->run->interrupted++;
    trace_activation_end(activation);
    emit_activation(activation, "end");
}

/* Handles the end of an attempt's call. */
static void activation_end_attempt(struct activation *activation) {
    struct run *run = activation->run;
    run->open--;
    switch (call_outcome(activation->call)) {
    case CALL_COMPLETED:
        activation->state = ACTIVATION_DONE;
        if (activation->cache_use) activation_fill_cache(activation);
        /* The conditions only save time: both functions check them. */
        if (run->durable) durable_save_outcome(activation);
        if (run_may_report(run)) {
            trace_activation_end(activation);
            emit_activation(activation, "end");
        }
        return;
    case CALL_INTERRUPTED:
        /* It will resume from its continuation, so a new round begins. It begins now, because the number of the round
         * and what is settled are saved with the interrupt. */
        activation->waits_for_child_call = false;
        activation_begin_round(activation);
        activation_interrupt(activation);
        return;
    case CALL_CANCELLED:
        if (run_is_cancelled(run) || activation->index > run->first_failed) {
            activation->state = ACTIVATION_CANCELLED;
            trace_activation_end(activation);
            emit_activation(activation, "end");
            return;
        }
        break; /* the callable itself reported CANCELLED, which is a failure like any other */
    default: break;
    }
    /* The node failed because one of its calls waits for an answer. It is interrupted, too, and is started again. */
    if (activation->waits_for_child_call && !run_is_cancelled(run) && activation->index < run->first_failed) {
        activation_interrupt(activation);
        return;
    }
    const struct error *error = call_error(activation->call);
    if (error && error->code)
        error_copy(&activation->error, error);
    else
        error_set(&activation->error, TN_ERROR, "NODE_EXECUTION", "the component failed without an error message");
    activation_fail(activation, true);
}

/*
 * In a replay, ends the activation with its outcome from the journal: `recorded`, borrowed, which is {failed: error} or
 * {done: …}; NULL if there is none. It is never retried: the journal has the outcome of the last attempt.
 */
static void activation_replay_outcome(struct activation *activation, tn_value recorded) {
    tn_value failure = recorded ? value_get(recorded, "failed") : NULL;
    if (!recorded) {
        tn_value not_recorded = not_recorded_error();
        error_from_value(&activation->error, not_recorded);
        value_unref(not_recorded);
    } else if (failure) {
        error_from_value(&activation->error, failure);
    } else if (!value_get(recorded, "done")) {
        error_set(&activation->error, TN_INVALID, "INVALID_STATE",
                  "the thread's journal is malformed: the outcome of the node has neither `done` nor `failed`");
    } else if (activation_restore(activation, recorded, &activation->error) == TN_OK) {
        emit_activation(activation, "end");
        return;
    }
    activation_fail(activation, false);
}

/*
 * In a replay, only activations whose outcome is not saved start an attempt: they compute it again. One that was
 * interrupted is interrupted again, and run_resume starts it with the recorded answer.
 */
void activation_start(struct activation *activation) {
    /* The first condition only saves time. */
    if (activation->run->durable && durable_replays(activation->run) && activation_outcome_is_saved(activation)) {
        activation_replay_outcome(activation, durable_recorded(activation));
        return;
    }
    const struct graph_node *node = activation_node(activation);
    bool cached = node->cache || node->cached_in_store;
    if (!cached || activation_use_cache(activation) == ACTIVATION_NOT_CACHED) activation_start_attempt(activation);
}

static void activation_cancel(struct activation *activation) {
    struct run *run = activation->run;
    switch (activation->state) {
    case ACTIVATION_WAITING: activation->state = ACTIVATION_CANCELLED; break;
    case ACTIVATION_LOOKING:
        activation_cancel_lookup(activation);
        activation->state = ACTIVATION_CANCELLED;
        break;
    case ACTIVATION_OPEN: call_cancel(activation->call); break;
    case ACTIVATION_RETRYING:
        loop_timer_stop(run->loop, &activation->retry_timer);
        run->retrying--;
        activation->state = ACTIVATION_CANCELLED;
        break;
    default: break;
    }
}

void activation_cancel_all_from(struct run *run, uint32_t from) {
    for (uint32_t i = from; i < run->activation_count; i++) activation_cancel(&run->activations[i]);
}

/* ---- Outcome ---- */

tn_value activation_interrupt_value(const struct activation *activation) {
    if (activation->restored_interrupt) return activation->restored_interrupt;
    return activation->call && !activation->waits_for_child_call ? call_interrupt_value(activation->call) : NULL;
}

tn_value activation_output(const struct activation *activation) {
    if (activation->known_outcome) return value_get(activation->known_outcome, "output");
    return activation->call && activation->state == ACTIVATION_DONE ? call_output(activation->call) : NULL;
}

tn_value activation_outcome(const struct activation *activation) {
    if (activation->known_outcome) return value_ref(activation->known_outcome);
    uint32_t count;
    const struct call_write *writes = call_writes(activation->call, &count);
    tn_value list = value_array_reserve(count);
    for (uint32_t i = 0; i < count; i++) {
        tn_value pair = value_push_take(value_array_reserve(2), value_int(writes[i].channel));
        list = value_push_take(list, value_push_take(pair, value_ref(writes[i].value)));
    }
    tn_value outcome = value_set_take(value_object_reserve(2), "writes", list);
    tn_value output = call_output(activation->call);
    return output ? value_set_take(outcome, "output", value_ref(output)) : outcome;
}

static int32_t activation_each_named_write(struct activation *activation, tn_value writes, activation_write_fn *write,
                                           void *user, struct error *error) {
    const struct document *document = activation->run->graph->document;
    if (!value_is(writes, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_OUTPUT", "`writes` is %s, expected an object of channels",
                         value_kind_name(value_kind(writes)));
    if (activation->run->graph->whole) {
        int32_t status = write(user, activation, GRAPH_WHOLE_CHANNEL_STATE, writes, error);
        return status == TN_OK ? write(user, activation, GRAPH_WHOLE_CHANNEL_OUTPUT, writes, error) : status;
    }
    for (size_t i = 0, n = value_count(writes); i < n; i++) {
        size_t length;
        const char *name = value_chars(value_key_at(writes, i), &length);
        int32_t channel = document_find_channel(document, name, length);
        if (channel < 0 || document->channels[channel].implicit) {
            return error_set(error, TN_NOT_FOUND, "CHANNEL", "it writes `%s`, which is not a channel%s", name,
                             document_channel_hint(document, name, length).text);
        }
        int32_t status = write(user, activation, (uint32_t)channel, value_value_at(writes, i), error);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

int32_t activation_each_write(struct activation *activation, activation_write_fn *write, void *user,
                              struct error *error) {
    int32_t status = TN_OK;
    if (activation->known_outcome) {
        tn_value list = value_get(activation->known_outcome, "writes");
        for (size_t i = 0, n = value_count(list); status == TN_OK && i < n; i++) {
            tn_value pair = value_at(list, i);
            status = write(user, activation, (uint32_t)value_to_int(value_at(pair, 0)), value_at(pair, 1), error);
        }
    } else {
        uint32_t count;
        const struct call_write *writes = call_writes(activation->call, &count);
        for (uint32_t i = 0; status == TN_OK && i < count; i++)
            status = write(user, activation, writes[i].channel, writes[i].value, error);
    }
    tn_value output = activation_output(activation);
    if (status != TN_OK || !output || value_is(output, TN_NULL)) return status;
    if (!value_is(output, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_OUTPUT",
                         "it completed with %s, expected nothing or an object with `writes`, `goto` or `send`",
                         value_kind_name(value_kind(output)));
    for (size_t i = 0, n = value_count(output); status == TN_OK && i < n; i++) {
        tn_value key = value_key_at(output, i);
        if (value_text_is(key, "writes"))
            status = activation_each_named_write(activation, value_value_at(output, i), write, user, error);
        else if (!value_text_is(key, "goto") && !value_text_is(key, "send"))
            status = error_set(error, TN_INVALID, "INVALID_OUTPUT",
                               "it completed with the key `%s`, expected `writes`, `goto` or `send`",
                               value_chars(key, NULL));
    }
    return status;
}
