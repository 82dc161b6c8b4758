/*
 * run_move.c - a run that continues on another loop: it is carried there as a value, between two super-steps.
 *
 *     run_request_move --> the step ends --> RUN_STOPPED, run_has_moved --> run_carry ==> run_new, run_carry_on
 *
 * The carried value is what run_save returns, and what belongs to the invocation instead of the state: its limit of
 * steps, the time that is left, its input, and its names. So the run cannot tell that it has moved: the same limits
 * apply, and the ids and keys that derive from the run are equal. It stays in memory of this process, and is not saved.
 */
#include "adl/value/memory.h"
#include "host/engine/graph/run_internal.h"
#include <inttypes.h>
#include <stdio.h>

bool run_may_move(const struct run *run) {
    bool silent = !run->options.modes && !run->outer && !run->options.log && !run->options.replay && !run->durable;
    bool ended = run->state == RUN_STATE_IDLE ? run->status != RUN_NEW : run->state == RUN_STATE_ENDING;
    return silent && !ended && run->stop == RUN_STOP_NONE;
}

void run_request_move(struct run *run) {
    assert(run_may_move(run));
    run_request_stop(run, RUN_STOP_MOVE);
}

bool run_has_moved(const struct run *run) {
    return run->state == RUN_STATE_IDLE && run->status == RUN_STOPPED && run->stop == RUN_STOP_MOVE;
}

static int64_t time_left_ms(const struct run *run) {
    int64_t left = run->timeout.due_ms - loop_now_ms(run->loop);
    return left > 0 ? left : 0;
}

tn_value run_carry(struct run *run) {
    assert(run_has_moved(run));
    tn_value saved = run_save(run), carried = value_object_reserve(6);
    if (run->planned_ms) saved = value_set_take(saved, "now", value_int(run->planned_ms));
    carried = value_set_take(carried, "saved", saved);
    carried = value_set_take(carried, "limit", value_int(run->limit_step));
    carried = value_set_take(carried, "input", run->input ? value_ref(run->input) : value_null());
    if (run_timeout_ms(run)) carried = value_set_take(carried, "time", value_int(time_left_ms(run)));
    if (run->id) carried = value_set_take(carried, "id", value_text(run->id));
    if (!run->incarnation) return carried;
    char incarnation[33];
    (void)snprintf(incarnation, sizeof incarnation, "%016" PRIx64 "%016" PRIx64, run->incarnation[0],
                   run->incarnation[1]);
    return value_set_take(carried, "incarnation", value_text(incarnation));
}

int32_t run_carry_on(struct run *run, tn_value carried, bool *ended, struct error *error) {
    tn_value id = value_get(carried, "id"), incarnation = value_get(carried, "incarnation");
    tn_value time = value_get(carried, "time");
    int32_t status = run_restore(run, value_get(carried, "saved"), error);
    if (status != TN_OK) return status;
    run->input = value_ref(value_get(carried, "input"));
    run->limit_step = (uint32_t)value_to_int(value_get(carried, "limit"));
    if (id && !run->id) run->id = mem_text(value_chars(id, NULL));
    if (incarnation) run_set_incarnation(run, value_chars(incarnation, NULL));
    run->carried = true;
    run_set_state(run, RUN_STATE_STARTING);
    if (time) run_start_timeout_after(run, value_to_int(time));
    run_commit(run, NULL, RUN_STATE_PLANNING);
    *ended = run_drive(run);
    return TN_OK;
}
