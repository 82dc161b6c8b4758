/*
 * execution_report.c - the outcome of an execution as an event, as programs that start runs print or store it.
 */
#include "host/engine/execution/execution.h"

/* The result, or the state of a run that is not done: null, with an error, if the store does not have all of it. */
static tn_value add_state(tn_value event, struct run *run) {
    struct error error = ERROR_INIT;
    tn_value state = run_status(run) == RUN_DONE ? run_result(run) : run_state_read(run, &error);
    if (!state) event = value_set_take(event, "error", error_to_value(&error));
    error_finish(&error);
    return value_set_take(event, "state", state ? state : value_null());
}

/* What a run reports besides its status. */
static tn_value add_run_members(tn_value event, struct run *run) {
    event = value_set_take(event, "run_id", value_text(run_id(run)));
    event = value_set_take(event, "steps", value_int(run_steps(run)));
    tn_value used = run_usage(run);
    if (used) event = value_set_take(event, "usage", used);
    return add_state(event, run);
}

tn_value execution_report(const struct execution *execution) {
    struct run *run = execution_run(execution);
    enum run_status status = execution_status(execution);
    tn_value event = value_set_take(value_object_reserve(6), "type", value_text("result"));
    event = value_set_take(event, "status", value_text(run_status_name(status)));
    if (run) event = add_run_members(event, run);
    const struct error *error = execution_error(execution);
    if ((status == RUN_FAILED || status == RUN_CANCELLED) && error)
        event = value_set_take(event, "error", error_to_value(error));
    if (run && status == RUN_INTERRUPTED) event = value_set_take(event, "interrupts", run_interrupts(run));
    if (run && status == RUN_STOPPED) event = value_set_take(event, "next", run_next_nodes(run));
    return event;
}
