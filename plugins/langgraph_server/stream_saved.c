/*
 * stream_saved.c - events that survive the process: those of a run with `stream_resumable`.
 *
 * The events are memories in the namespace [langgraph, events, THREAD, RUN], some in each; the key is the number of the
 * first one. Clients get an event when it is saved, so that no client has an event that a restarted server does not
 * have. While one record is being written, more events come, and are in the next one.
 */
#include "stream.h"

#define RECORD_MAX (8u << 10) /* bytes of a record that is written again with more events */
#define PUT_MAX    (1u << 20) /* bytes of the events that one record gets at once, roughly */
#define RETRY_MS   500

tn_value events_namespace(const char *thread, const char *run) {
    return run != NULL ? tn_build("[ssss]", "langgraph", "events", thread, run)
                       : tn_build("[sss]", "langgraph", "events", thread);
}

static bool is_saved(const struct run *run) { return run->resumable && !run->unsaved; }

uint64_t run_visible_end(const struct run *run) { return (is_saved(run) ? run->saved : (uint64_t)run_newest(run)) + 1; }

static void retry(void *argument) {
    struct run *run = argument;
    run->save_retry = 0;
    run_save_events(run);
}

/* The store may accept it later. */
static bool is_temporary(tn_value error) {
    static const char *const others[] = {"LIMIT", "INVALID_INPUT", "PERMISSION_DENIED"};
    const char *code = tn_get_text(error, "code", "");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i], code) == 0) return false;
    return true;
}

static void TN_ABI on_saved(void *user, int32_t status, tn_value value) {
    struct run *run = user;
    run->save_call = 0;
    if (status != TN_OK && is_temporary(value)) {
        if (tn.core->post(tn.host, RETRY_MS, retry, NULL, run, &run->save_retry) == TN_OK) return;
    } else if (status == TN_OK) {
        run->saved = run->saving;
    }
    if (status != TN_OK) run->resumable = false; /* it cannot be saved: clients get it all the same */
    run_save_events(run);
    run_pump(run);
}

void run_save_events(struct run *run) {
    uint64_t newest = (uint64_t)run_newest(run), last = run->saved, size = 0;
    char key[24];
    tn_value events = NULL;
    if (!is_saved(run) || run->save_call != 0 || run->save_retry != 0 || last >= newest) return;
    if (run->record_first < run->log_first || run->record_size > RECORD_MAX) {
        run->record_first = last + 1;
        run->record_size = 0;
    }
    for (; last < newest && size < PUT_MAX; last++)
        size += run_event_size(tn.value->at(run->log, last + 1 - run->log_first));
    (void)snprintf(key, sizeof key, "%010llu", (unsigned long long)run->record_first);
    if (tn.value->slice(run->log, run->record_first - run->log_first, last + 1 - run->record_first, &events) != TN_OK)
        return;
    run->record_size += size;
    run->saving = last;
    serving_call_take(&run->langgraph->serving, run->caller, "memory/put",
                      tn_build("{s:V, s:s, s:{s:V}, s:b, s:i}", "namespace",
                               run_namespace_take(run, events_namespace(run->thread, run->id)), "key", key, "value",
                               "events", events, "text", 0, "ttl_seconds", STREAM_TTL),
                      on_saved, run, &run->save_call);
    if (run->save_call == 0) run->resumable = false; /* memory ran out */
}

void run_save_stop(struct run *run) {
    serving_cancel(&run->langgraph->serving, run->save_call);
    if (run->save_retry != 0) (void)tn.core->unpost(tn.host, run->save_retry);
    run->save_call = run->save_retry = 0;
}
