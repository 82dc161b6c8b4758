/*
 * execution_batch.c - one execution for each input, a bounded number at once, results in the order of inputs.
 *
 * Without threads, an input is an execution. With threads, it is an invocation, and a resumed batch looks at the thread
 * first:
 *
 *     thread_look --+--> done, and its line belongs to this batch ----------------------------> the saved output
 *                   +--> it has begun in this batch -----> invocation_resume --+
 *                   +--> otherwise ----------------------> invocation_start ---+--> ended --> the result
 *
 * A loop that shares the inputs with others (batch_share) takes them one by one. A run can leave it, and be continued
 * by another loop.
 *
 * A request to cancel or to drain the batch is noted, and passed to each invocation. An input that is being looked at
 * ends when that has ended.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/data/thread/thread_batch.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution.h"
#include "host/engine/execution/invocation.h"
#include "host/engine/graph/graph.h"
#include <string.h>
#include <tenon/util/sha256.h>

struct batch {
    struct engine *engine;
    struct callable *callable;
    const struct batch_options *options;
    tn_value inputs;
    tn_value *results; /* [count]; NULL until the execution has ended */
    size_t count, next, ended, delivered;
    uint32_t open;
    const _Atomic bool *cancel;
    bool starting, cancelling, draining;
    struct batch_item {
        struct batch *batch;
        struct execution *execution;   /* without threads, while it runs */
        struct invocation *invocation; /* with threads, while it runs */
    } * items;
};

static size_t batch_item_index(const struct batch_item *item) { return (size_t)(item - item->batch->items); }

/* ---- Results ---- */

static tn_value batch_error_result(const struct error *error) {
    return value_set_take(value_object_reserve(1), "error", error_to_value(error));
}

/* Moves the error. */
static tn_value batch_error_result_move(struct error *error) {
    tn_value result = batch_error_result(error);
    error_finish(error);
    return result;
}

tn_value batch_unrun_result(bool drained) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_CANCELLED, "CANCELLED",
              drained ? "the batch was stopped before this input was done; a resumed batch continues it"
                      : "the batch was cancelled before this input");
    return batch_error_result_move(&error);
}

/* Of an input that has not ended, because the batch was cancelled or drained. */
static tn_value batch_unfinished_result(const struct batch *batch) { return batch_unrun_result(batch->draining); }

/* By its strategy, which is not a failure. Takes the arguments. */
static tn_value batch_stopped_result_take(tn_value state, tn_value next) {
    return value_set_take(value_set_take(value_object_reserve(2), "output", state), "next", next);
}

static tn_value batch_execution_result(const struct execution *execution) {
    tn_value output = execution_output(execution);
    if (output) return value_set_take(value_object_reserve(1), "output", output);
    struct run *run = execution_run(execution);
    if (run && run_status(run) == RUN_STOPPED) return batch_stopped_result_take(run_state(run), run_next_nodes(run));
    if (run && run_status(run) == RUN_INTERRUPTED) {
        struct error waits = ERROR_INIT;
        error_set(&waits, TN_FAILED, "INTERRUPTED", "the run is interrupted; a batch does not wait for answers");
        return batch_error_result_move(&waits);
    }
    return batch_error_result(execution_error(execution));
}

static tn_value batch_invocation_result(const struct batch_item *item) {
    struct invocation *invocation = item->invocation;
    struct error error = ERROR_INIT;
    tn_value report, next;
    switch (invocation_status(invocation)) {
    case RUN_DONE: return value_set_take(value_object_reserve(1), "output", value_ref(invocation_output(invocation)));
    case RUN_INTERRUPTED:
        error_set(&error, TN_FAILED, "INTERRUPTED",
                  "the run waits for answers: give them to its thread `%s`, and resume the batch",
                  value_chars(value_at(item->batch->options->threads->ids, batch_item_index(item)), NULL));
        error_set_detail_take(&error, invocation_interrupts(invocation));
        return batch_error_result_move(&error);
    case RUN_STOPPED:
        if (item->batch->draining) return batch_unfinished_result(item->batch);
        report = invocation_report(invocation);
        next = value_get(report, "next");
        next = next ? value_ref(next) : value_array();
        value_unref(report);
        return batch_stopped_result_take(invocation_state(invocation), next);
    default: return batch_error_result(invocation_error(invocation));
    }
}

static void batch_item_close(struct batch_item *item) {
    execution_free(item->execution);
    invocation_free(item->invocation);
    item->execution = NULL;
    item->invocation = NULL;
    item->batch->open--;
}

/* Takes the result. */
static void batch_item_finish_take(struct batch_item *item, tn_value result) {
    struct batch *batch = item->batch;
    const struct batch_share *share = batch->options->share;
    batch_item_close(item);
    if (share) {
        share->ended(share->user, batch_item_index(item), result);
        value_unref(result);
        return;
    }
    batch->results[batch_item_index(item)] = result;
    batch->ended++;
    if (batch->options->progress) batch->options->progress(batch->options->user, batch->ended, batch->count);
    while (batch->options->result && batch->delivered < batch->count && batch->results[batch->delivered]) {
        batch->options->result(batch->options->user, batch->delivered, batch->results[batch->delivered]);
        value_unref(batch->results[batch->delivered]);
        batch->results[batch->delivered++] = value_null();
    }
}

static void batch_start_more(struct batch *batch);

/* ---- With threads ---- */

static bool batch_stops(const struct batch *batch) {
    return batch->draining || batch->cancelling || (batch->cancel && *batch->cancel);
}

/* {id of the batch, digest of the input}, for the record of the thread; a new reference. */
static tn_value batch_item_mark(const struct batch_item *item) {
    const struct batch *batch = item->batch;
    struct tn_sha256 state;
    char digest[TN_SHA256_TEXT];
    char *text = json_text(value_at(batch->inputs, batch_item_index(item)), JSON_COMPACT);
    tn_sha256_init(&state);
    tn_sha256_update(&state, text, strlen(text));
    tn_sha256_finish_text(&state, digest);
    mem_free(text);
    tn_value mark = value_set_take(value_object_reserve(2), "id", value_text(batch->options->threads->batch));
    return value_set_take(mark, "input", value_text(digest));
}

static void batch_on_invocation_ended(void *user) {
    struct batch_item *item = user;
    struct batch *batch = item->batch;
    batch_item_finish_take(item, batch_invocation_result(item));
    batch_start_more(batch);
}

/* `answers` is for THREAD_RESUME. Returns NULL if the invocation runs; otherwise the result. */
static tn_value batch_item_invoke(struct batch_item *item, enum thread_mode mode, tn_value answers, tn_value mark) {
    const struct batch *batch = item->batch;
    const struct batch_threads *threads = batch->options->threads;
    tn_value input = value_at(batch->inputs, batch_item_index(item));
    struct error error = ERROR_INIT;
    struct invocation_options options = {.run = batch->options->options,
                                         .request = *threads->request,
                                         .config = mark, /* the request borrows it */
                                         .input = value_is(input, TN_NULL) ? NULL : input,
                                         .ended = batch_on_invocation_ended};
    options.run.event = NULL;
    options.run.user = item;
    options.request.id = value_chars(value_at(threads->ids, batch_item_index(item)), NULL);
    options.request.mode = mode;
    options.request.answers = NULL;
    options.request.batch = mark;
    item->invocation = invocation_new(batch->engine, batch->callable, &options, &error);
    if (!item->invocation) return batch_error_result_move(&error);
    if (mode != THREAD_RESUME)
        invocation_start(item->invocation);
    else if (invocation_resume(item->invocation, answers, &error) != TN_OK)
        return batch_error_result_move(&error);
    return NULL;
}

/* Those of the answers for which the thread with this record waits; a new reference. */
static tn_value batch_answers_of(tn_value record, tn_value answers) {
    tn_value own = value_object(), interrupts = value_get(record, "interrupts");
    for (size_t i = 0; value_is(interrupts, TN_ARRAY) && i < value_count(interrupts); i++) {
        tn_value id = value_get(value_at(interrupts, i), "id");
        tn_value answer = value_is(id, TN_STRING) ? value_get_key(answers, id) : NULL;
        if (answer) own = value_set_key_take(own, value_ref(id), value_ref(answer));
    }
    return own;
}

/* The batch was done, so the thread has been removed, or has another batch: to run it again would be a surprise. */
static tn_value batch_gone_result(tn_value id) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_NOT_FOUND, "NOT_FOUND",
              "the batch was done, but the thread `%s` does not have its result any more: start the batch again",
              value_chars(id, NULL));
    return batch_error_result_move(&error);
}

static tn_value batch_changed_result(tn_value id) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_INVALID, "BATCH_CHANGED",
              "the thread `%s` has begun with another input in this batch: restore the line, or start the batch again",
              value_chars(id, NULL));
    return batch_error_result_move(&error);
}

/* The thread has begun as a line of this batch. Returns NULL if it continues; otherwise the result. */
static tn_value batch_item_continue(struct batch_item *item, tn_value looked, tn_value mark) {
    const struct batch *batch = item->batch;
    const struct batch_threads *threads = batch->options->threads;
    tn_value record = value_get(looked, "record"), output = NULL;
    struct error error = ERROR_INIT;
    if (!value_equal(value_get(record, THREAD_BATCH), mark))
        return batch_changed_result(value_at(threads->ids, batch_item_index(item)));
    if (!value_text_is(value_get(record, "status"), "done")) {
        tn_value answers = batch_answers_of(record, threads->request->answers);
        tn_value result = batch_item_invoke(item, THREAD_RESUME, answers, mark);
        value_unref(answers);
        return result;
    }
    struct thread_request request = *threads->request;
    request.id = value_chars(value_at(threads->ids, batch_item_index(item)), NULL);
    struct graph *graph = graph_current(graph_of_callable(batch->callable));
    if (thread_saved_output(graph, &request, looked, &output, &error) != TN_OK) return batch_error_result_move(&error);
    return value_set_take(value_object_reserve(1), "output", output);
}

static tn_value batch_item_decide(struct batch_item *item, tn_value looked) {
    const struct batch *batch = item->batch;
    tn_value mark = batch_item_mark(item), result = NULL;
    tn_value known = value_get(value_get(looked, "record"), THREAD_BATCH);
    if (batch_stops(batch))
        result = batch_unfinished_result(batch);
    else if (value_is(value_get(known, "id"), TN_STRING) &&
             value_text_is(value_get(known, "id"), batch->options->threads->batch))
        result = batch_item_continue(item, looked, mark);
    else if (batch->options->threads->was_done)
        result = batch_gone_result(value_at(batch->options->threads->ids, batch_item_index(item)));
    else
        result = batch_item_invoke(item, batch->options->threads->replaces ? THREAD_REPLACE : THREAD_INPUT, NULL, mark);
    value_unref(mark);
    return result;
}

static void batch_on_looked(void *user, int32_t status, tn_value looked, const struct error *error) {
    struct batch_item *item = user;
    struct batch *batch = item->batch;
    tn_value result = status == TN_OK ? batch_item_decide(item, looked) : batch_error_result(error);
    if (!result) return;
    batch_item_finish_take(item, result);
    batch_start_more(batch);
}

/* Returns NULL if the item ends later; otherwise the result. */
static tn_value batch_item_start_saved(struct batch_item *item) {
    const struct batch *batch = item->batch;
    const struct batch_threads *threads = batch->options->threads;
    if (threads->request->mode != THREAD_RESUME) {
        tn_value mark = batch_item_mark(item);
        tn_value result = batch_item_invoke(item, threads->request->mode, NULL, mark);
        value_unref(mark);
        return result;
    }
    struct error error = ERROR_INIT;
    const char *id = value_chars(value_at(threads->ids, batch_item_index(item)), NULL);
    int32_t status = thread_look(batch->engine, graph_of_callable(batch->callable), id, batch_on_looked, item, &error);
    return status == TN_OK ? NULL : batch_error_result_move(&error);
}

/* ---- Sharing the inputs with other loops ---- */

static void batch_item_leave(struct batch_item *item) {
    const struct batch_share *share = item->batch->options->share;
    tn_value carried = run_carry(execution_run(item->execution));
    batch_item_close(item);
    share->moved(share->user, batch_item_index(item), carried);
    value_unref(carried);
}

/* Continues a run that was moved here. Takes `carried`. Returns true if it has ended. */
static bool batch_item_carry_on_take(struct batch_item *item, tn_value carried) {
    struct error error = ERROR_INIT;
    bool ended = true;
    /* The documents of the loops are equal, so a run fits on each of them. */
    if (run_carry_on(execution_run(item->execution), carried, &ended, &error) != TN_OK)
        log_write(LOG_ERROR, NULL, "a run cannot continue on another loop: %s", error.message);
    error_finish(&error);
    value_unref(carried);
    return ended;
}

static bool batch_take(struct batch *batch, size_t *index, tn_value *moved) {
    const struct batch_share *share = batch->options->share;
    if (!share && batch->next == batch->count) return false;
    if (!share)
        *index = batch->next;
    else if (!share->take(share->user, index, moved))
        return false;
    if (*index >= batch->next) batch->next = *index + 1;
    return true;
}

void batch_wake(struct batch *batch) { batch_start_more(batch); }
uint32_t batch_open_count(const struct batch *batch) { return batch->open; }

bool batch_move(struct batch *batch, size_t *index) {
    for (size_t i = batch->next; i-- > 0;) {
        struct run *run = batch->items[i].execution ? execution_run(batch->items[i].execution) : NULL;
        if (!run || !run_may_move(run)) continue;
        run_request_move(run);
        *index = i;
        return true;
    }
    return false;
}

/* ---- The batch ---- */

/* Returns true if the run continues on another loop instead. */
static bool batch_item_left(struct batch_item *item) {
    struct run *run = item->batch->options->share ? execution_run(item->execution) : NULL;
    if (!run || !run_has_moved(run)) return false;
    batch_item_leave(item);
    return true;
}

static void batch_on_execution_ended(struct execution *execution, void *user) {
    struct batch_item *item = user;
    struct batch *batch = item->batch;
    if (!batch_item_left(item)) batch_item_finish_take(item, batch_execution_result(execution));
    batch_start_more(batch);
}

static void batch_item_start(struct batch_item *item, tn_value moved) {
    struct batch *batch = item->batch;
    tn_value result = NULL;
    if (batch->options->threads) {
        result = batch_item_start_saved(item);
    } else {
        tn_value input = value_at(batch->inputs, batch_item_index(item));
        item->execution =
            execution_new(batch->engine, batch->callable, &batch->options->options, batch_on_execution_ended, item);
        bool ended = moved ? batch_item_carry_on_take(item, moved) : execution_start(item->execution, input);
        if (ended) result = batch_execution_result(item->execution);
    }
    if (result) batch_item_finish_take(item, result);
}

static void batch_start_more(struct batch *batch) {
    if (batch->starting) return;
    batch->starting = true;
    uint32_t limit = batch->options->concurrency ? batch->options->concurrency : BATCH_CONCURRENCY;
    size_t index;
    tn_value moved = NULL;
    while (batch->open < limit && !batch_stops(batch) && batch_take(batch, &index, &moved)) {
        batch->items[index].batch = batch;
        batch->open++;
        batch_item_start(&batch->items[index], moved);
        moved = NULL;
    }
    batch->starting = false;
}

static void batch_cancel_all(struct batch *batch) {
    batch->cancelling = true;
    for (size_t i = 0; i < batch->next; i++) {
        if (batch->items[i].execution) execution_cancel(batch->items[i].execution);
        if (batch->items[i].invocation) invocation_cancel(batch->items[i].invocation);
    }
}

static void batch_drain_all(struct batch *batch) {
    batch->draining = true;
    for (size_t i = 0; i < batch->next; i++)
        if (batch->items[i].invocation) invocation_drain(batch->items[i].invocation);
}

static bool batch_has_ended(void *user) {
    struct batch *batch = user;
    const struct batch_threads *threads = batch->options->threads;
    const struct batch_share *share = batch->options->share;
    bool drains = threads && threads->drains && threads->drains(batch->options->user) && !batch->draining;
    bool cancels = batch->cancel && *batch->cancel && !batch->cancelling;
    if (drains) batch_drain_all(batch);
    if (cancels) batch_cancel_all(batch);
    if (share && (drains || cancels)) share->stops(share->user);
    if (batch->open) return false;
    return batch_stops(batch) || (share ? share->is_over(share->user) : batch->next == batch->count);
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
        tn_value result = batch.results[i] ? batch.results[i] : batch_unfinished_result(&batch);
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
