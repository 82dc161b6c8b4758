/*
 * execution_batch.c - one execution for each input, a bounded number at once, results in the order of inputs.
 */
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution.h"

struct batch {
    struct engine *engine;
    struct callable *callable;
    const struct batch_options *options;
    tn_value inputs;
    tn_value *results; /* [count]; NULL until the execution has ended */
    size_t count, next, ended, delivered;
    uint32_t open;
    const _Atomic bool *cancel;
    bool starting, cancelling;
    struct batch_item {
        struct batch *batch;
        struct execution *execution;
    } * items;
};

static tn_value batch_result(const struct execution *execution) {
    tn_value output = execution_output(execution);
    if (output) return value_set_take(value_object_reserve(1), "output", output);
    struct run *run = execution_run(execution);
    const struct error *error = execution_error(execution);
    if (run && run_status(run) == RUN_STOPPED) { /* by its strategy: not a failure */
        tn_value stopped = value_set_take(value_object_reserve(2), "output", run_state(run));
        return value_set_take(stopped, "next", run_next_nodes(run));
    }
    if (run && run_status(run) == RUN_INTERRUPTED) {
        struct error waits = ERROR_INIT;
        error_set(&waits, TN_FAILED, "INTERRUPTED", "the run is interrupted; a batch does not wait for answers");
        tn_value result = value_set_take(value_object_reserve(1), "error", error_to_value(&waits));
        error_finish(&waits);
        return result;
    }
    return value_set_take(value_object_reserve(1), "error", error_to_value(error));
}

static void batch_start_more(struct batch *batch);

/* ---- Sharing the inputs with other loops ---- */

/* The end of a run that this loop has taken: it has ended, or has left. */
static void batch_share_finish(struct batch *batch, struct batch_item *item) {
    const struct batch_share *share = batch->options->share;
    size_t index = (size_t)(item - batch->items);
    struct run *run = execution_run(item->execution);
    bool leaves = run && run_has_moved(run);
    tn_value result = leaves ? run_carry(run) : batch_result(item->execution);
    execution_free(item->execution);
    item->execution = NULL;
    batch->open--;
    if (leaves)
        share->moved(share->user, index, result);
    else
        share->ended(share->user, index, result);
    value_unref(result);
}

/* A run that was moved here and does not fit the graph; the documents of the loops are equal, so it does not happen. */
static bool batch_carry_on(struct batch_item *item, tn_value carried) {
    struct error error = ERROR_INIT;
    bool ended = true;
    if (run_carry_on(execution_run(item->execution), carried, &ended, &error) != TN_OK)
        log_write(LOG_ERROR, NULL, "a run cannot continue on another loop: %s", error.message);
    error_finish(&error);
    value_unref(carried);
    return ended;
}

void batch_wake(struct batch *batch) { batch_start_more(batch); }
uint32_t batch_open(const struct batch *batch) { return batch->open; }

bool batch_move(struct batch *batch, size_t *index) {
    for (size_t i = batch->count; i-- > 0;) {
        struct run *run = batch->items[i].execution ? execution_run(batch->items[i].execution) : NULL;
        if (!run || !run_may_move(run)) continue;
        run_request_move(run);
        *index = i;
        return true;
    }
    return false;
}

/* ---- Running ---- */

static void batch_item_finish(struct batch *batch, struct batch_item *item) {
    if (batch->options->share) {
        batch_share_finish(batch, item);
        return;
    }
    size_t index = (size_t)(item - batch->items);
    batch->results[index] = batch_result(item->execution);
    execution_free(item->execution);
    item->execution = NULL;
    batch->open--;
    batch->ended++;
    if (batch->options->progress) batch->options->progress(batch->options->user, batch->ended, batch->count);
    while (batch->options->result && batch->delivered < batch->count && batch->results[batch->delivered]) {
        batch->options->result(batch->options->user, batch->delivered, batch->results[batch->delivered]);
        value_unref(batch->results[batch->delivered]);
        batch->results[batch->delivered++] = value_null();
    }
}

static void batch_on_item_ended(struct execution *execution, void *user) {
    (void)execution;
    struct batch_item *item = user;
    batch_item_finish(item->batch, item);
    batch_start_more(item->batch);
}

/* Returns false if there is no input to run now. */
static bool batch_take(struct batch *batch, size_t *index, tn_value *moved) {
    const struct batch_share *share = batch->options->share;
    if (share) return share->take(share->user, index, moved);
    if (batch->next == batch->count) return false;
    *index = batch->next++;
    return true;
}

static void batch_start_more(struct batch *batch) {
    if (batch->starting) return;
    batch->starting = true;
    uint32_t limit = batch->options->concurrency ? batch->options->concurrency : BATCH_CONCURRENCY;
    size_t index;
    tn_value moved = NULL;
    while (batch->open < limit && !(batch->cancel && *batch->cancel) && batch_take(batch, &index, &moved)) {
        struct batch_item *item = &batch->items[index];
        item->batch = batch;
        item->execution =
            execution_new(batch->engine, batch->callable, &batch->options->options, batch_on_item_ended, item);
        batch->open++;
        bool ended =
            moved ? batch_carry_on(item, moved) : execution_start(item->execution, value_at(batch->inputs, index));
        if (ended) batch_item_finish(batch, item);
        moved = NULL;
    }
    batch->starting = false;
}

static bool batch_has_ended(void *user) {
    struct batch *batch = user;
    const struct batch_share *share = batch->options->share;
    if (batch->cancel && *batch->cancel && !batch->cancelling) {
        batch->cancelling = true;
        for (size_t i = 0; i < batch->count; i++)
            if (batch->items[i].execution) execution_cancel(batch->items[i].execution);
        if (share) share->cancelled(share->user);
    }
    if (share) return batch->open == 0 && share->is_over(share->user);
    return batch->open == 0 && (batch->next == batch->count || batch->cancelling);
}

tn_value batch_cancelled_result(void) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_CANCELLED, "CANCELLED", "the batch was cancelled before this input");
    tn_value result = value_set_take(value_object_reserve(1), "error", error_to_value(&error));
    error_finish(&error);
    return result;
}

tn_value batch_run(struct engine *engine, struct callable *callable, tn_value inputs,
                   const struct batch_options *options, const _Atomic bool *cancel) {
    struct batch batch = {
        .engine = engine, .callable = callable, .options = options, .inputs = inputs, .cancel = cancel};
    batch.count = value_count(inputs);
    batch.results = mem_zalloc((batch.count + 1) * sizeof *batch.results);
    batch.items = mem_zalloc((batch.count + 1) * sizeof *batch.items);
    if (options->share) {
        options->share->begun(options->share->user, &batch);
        loop_hold(engine->loop); /* another loop can give it more */
    }
    batch_start_more(&batch);
    loop_run(engine->loop, batch_has_ended, &batch);
    if (options->share) {
        loop_release(engine->loop);
        mem_free(batch.results);
        mem_free(batch.items);
        return NULL;
    }
    tn_value all = options->result ? NULL : value_array_reserve(batch.count);
    for (size_t i = 0; i < batch.count; i++) {
        tn_value result = batch.results[i] ? batch.results[i] : batch_cancelled_result();
        if (!options->result) {
            all = value_push_take(all, result);
            continue;
        }
        if (i >= batch.delivered) options->result(options->user, i, result);
        value_unref(result);
    }
    mem_free(batch.results);
    mem_free(batch.items);
    return all;
}
