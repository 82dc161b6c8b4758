/*
 * rollback.c - a run that was cancelled leaves nothing: it is removed, and with it the checkpoints of its thread that
 * are newer than the one before it.
 *
 *     the run has ended ─▶ its memory ─▶ thread/truncate, or thread/delete ─▶ thread/get ─▶ `with_thread`
 */
#include "stream.h"

static void on_record(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok && !serving_is(tn_get(value, "code"), "NOT_FOUND")) {
        refuse_error(exchange, value);
        return;
    }
    tn_release(exchange->record);
    exchange->record = ok ? tn_retain(value) : NULL;
    exchange->with_thread(exchange);
}

static void on_cut(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok && !serving_is(tn_get(value, "code"), "NOT_FOUND"))
        refuse_error(exchange, value);
    else
        ask(exchange, "thread/get", tn_build("{s:s}", "thread_id", exchange->thread), on_record);
}

static void on_removed(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok)
        refuse_error(exchange, value);
    else if (exchange->head >= 0)
        ask(exchange, "thread/truncate", tn_build("{s:s, s:I}", "thread_id", exchange->thread, "seq", exchange->head),
            on_cut);
    else if (exchange->head == BASE_NONE)
        ask(exchange, "thread/delete", tn_build("{s:s}", "thread_id", exchange->thread), on_cut);
    else
        on_cut(exchange, true, NULL);
}

static void on_ended(struct exchange *exchange, struct run *run) {
    run->unsaved = true;
    exchange->head = run->base;
    ask(exchange, "memory/delete",
        tn_build("{s:V, s:s}", "namespace", runs_namespace(exchange->thread), "key", run->id), on_removed);
}

void run_roll_back(struct run *run, struct exchange *exchange, void (*then)(struct exchange *exchange)) {
    exchange->with_thread = then;
    run_await(run, exchange, on_ended);
}
