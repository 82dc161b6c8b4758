/*
 * embed_result.c - what a program asks a run: its status, its output, its error and its questions; and its callbacks.
 */
#include "host/embed/embed_run.h"
#include "host/engine/execution/execution.h"

const char *embed_run_status_name(const tenon_run *run) {
    static const char *const names[] = {"running", "done", "failed", "cancelled", "interrupted", "stopped"};
    return names[run->status];
}

/* A run whose callbacks can still be set. */
static bool embed_run_has_not_begun(tenon_run *run) {
    if (run->start.queued) return true;
    error_set(&run->host->error, TN_INVALID, "INVALID_INPUT",
              "the callbacks of a run are set right after tenon_start or tenon_run_resume, before the next turn");
    return false;
}

int32_t tenon_run_on_event(tenon_run *run, const char *modes, tenon_event event, void *user) {
    if (!embed_enter_of(run)) return TN_INVALID;
    unsigned parsed = run_modes_parse(modes ? modes : "values", &run->host->error);
    if (!parsed || !embed_run_has_not_begun(run)) return TN_INVALID;
    run->modes = event ? parsed : 0;
    run->event = event;
    run->event_user = user;
    return TN_OK;
}

int32_t tenon_run_on_ended(tenon_run *run, tenon_ended ended, void *user) {
    if (!embed_enter_of(run) || !embed_run_has_not_begun(run)) return TN_INVALID;
    run->ended = ended;
    run->ended_user = user;
    return TN_OK;
}

int32_t tenon_run_status(tenon_run *run) { return embed_enter_of(run) ? run->status : -1; }

tn_value tenon_run_output(tenon_run *run) {
    if (!embed_enter_of(run)) return NULL;
    if (run->output) return value_ref(run->output);
    error_set(&run->host->error, TN_INVALID, "INVALID_INPUT", "the run is %s: it has no output",
              embed_run_status_name(run));
    return NULL;
}

tn_value tenon_run_error(tenon_run *run) {
    if (!embed_enter_of(run) || !run->error.code) return NULL;
    if (!run->error_value) run->error_value = error_to_value(&run->error);
    return run->error_value;
}

/* Borrowed; NULL while the run is active, and if it failed before it began. */
static tn_value embed_run_report(tenon_run *run) {
    if (!run->report && !run->active && run->execution) run->report = execution_report(run->execution);
    return run->report;
}

tn_value embed_run_questions(tenon_run *run) {
    tn_value questions = value_get(embed_run_report(run), "interrupts");
    return questions ? value_ref(questions) : value_array();
}

tn_value tenon_run_questions(tenon_run *run) { return embed_enter_of(run) ? embed_run_questions(run) : NULL; }

tn_value tenon_run_report(tenon_run *run) {
    if (!embed_enter_of(run)) return NULL;
    tn_value report = embed_run_report(run);
    if (report) return value_ref(report);
    report = value_set_take(value_object_reserve(3), "type", value_text("result"));
    report = value_set_take(report, "status", value_text(embed_run_status_name(run)));
    return run->error.code ? value_set_take(report, "error", error_to_value(&run->error)) : report;
}
