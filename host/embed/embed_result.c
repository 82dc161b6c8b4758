/*
 * embed_result.c - what a program asks a run: its status, its output, its error and its questions; and its callbacks.
 */
#include "host/embed/embed_run.h"

const char *embed_run_status_name(const tenon_run *run) { return run_status_name(invocation_status(run->invocation)); }

/* A run whose callbacks can still be set. */
static bool embed_run_has_not_begun(tenon_run *run) {
    if (invocation_phase(run->invocation) == INVOCATION_QUEUED) return true;
    error_set(&run->host->error, TN_INVALID, "INVALID_INPUT",
              "the callbacks of a run are set right after tenon_start or tenon_run_resume, before the next turn");
    return false;
}

int32_t tenon_run_on_event(tenon_run *run, const char *modes, tenon_event event, void *user) {
    if (!embed_enter_of(run)) return TN_INVALID;
    unsigned parsed = run_modes_parse(modes ? modes : "values", &run->host->error);
    if (!parsed || !embed_run_has_not_begun(run)) return TN_INVALID;
    embed_run_set_event(run, parsed, event, user);
    return TN_OK;
}

int32_t tenon_run_on_ended(tenon_run *run, tenon_ended ended, void *user) {
    if (!embed_enter_of(run) || !embed_run_has_not_begun(run)) return TN_INVALID;
    run->ended = ended;
    run->ended_user = user;
    return TN_OK;
}

int32_t tenon_run_status(tenon_run *run) {
    static const int32_t statuses[] = {[RUN_NEW] = TENON_RUN_RUNNING, /* until tenon_start has returned */
                                       [RUN_RUNNING] = TENON_RUN_RUNNING,
                                       [RUN_DONE] = TENON_RUN_DONE,
                                       [RUN_FAILED] = TENON_RUN_FAILED,
                                       [RUN_CANCELLED] = TENON_RUN_CANCELLED,
                                       [RUN_INTERRUPTED] = TENON_RUN_INTERRUPTED,
                                       [RUN_STOPPED] = TENON_RUN_STOPPED};
    return embed_enter_of(run) ? statuses[invocation_status(run->invocation)] : -1;
}

tn_value tenon_run_output(tenon_run *run) {
    if (!embed_enter_of(run)) return NULL;
    tn_value output = invocation_output(run->invocation);
    if (output) return value_ref(output);
    error_set(&run->host->error, TN_INVALID, "INVALID_INPUT", "the run is %s: it has no output",
              embed_run_status_name(run));
    return NULL;
}

tn_value tenon_run_error(tenon_run *run) {
    if (!embed_enter_of(run)) return NULL;
    const struct error *error = invocation_error(run->invocation);
    if (error->code && !run->error_value) run->error_value = error_to_value(error);
    return run->error_value;
}

tn_value tenon_run_questions(tenon_run *run) {
    return embed_enter_of(run) ? invocation_interrupts(run->invocation) : NULL;
}

tn_value tenon_run_report(tenon_run *run) { return embed_enter_of(run) ? invocation_report(run->invocation) : NULL; }
