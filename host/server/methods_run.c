/*
 * methods_run.c - runs: methods/run.yaml.
 */
#include "adl/value/memory.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/owner.h"
#include "host/server/client.h"
#include "host/server/document_open.h"
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/server.h"
#include "host/server/server_continue.h"
#include "host/server/server_internal.h"
#include "host/server/server_run.h"
#include <string.h>

static struct server_run *run_named(const struct method_call *call, struct error *error) {
    return server_run_find(server_runs_of(call->server), call->owner, method_text(call, "run_id"), error);
}

/* The modes of the run include those of its first subscription. */
static unsigned modes_param(const struct method_call *call) {
    tn_value subscribe = value_get(call->params, "subscribe");
    return server_run_modes(value_get(call->params, "modes")) | server_run_modes(value_get(subscribe, "modes"));
}

/* ---- Starting ---- */

static tn_value started(const struct server_run *run, const struct subscription *subscription) {
    tn_value result = value_set_take(value_object_reserve(3), "run_id", value_text(server_run_id(run)));
    if (server_run_thread(run)) result = value_set_take(result, "thread_id", value_text(server_run_thread(run)));
    if (!subscription) return result;
    return value_set_take(result, "subscription", value_int((int64_t)subscription_number(subscription)));
}

static int32_t run_begin(const struct method_call *call, bool resumes, struct error *error) {
    struct graph *graph = NULL;
    int32_t status = document_open_run(call, &graph, error);
    if (status != TN_OK) return status;
    const char *document = method_text(call, "document");
    tn_value subscribe = value_get(call->params, "subscribe");
    struct server_run *run =
        server_run_new(server_runs_of(call->server),
                       &(struct server_run_options){.client = call->client,
                                                    .owner = call->owner,
                                                    .graph = graph,
                                                    .file = document,
                                                    .document = document ? document : method_text(call, "name"),
                                                    .input = value_get(call->params, "input"),
                                                    .config = value_get(call->params, "config"),
                                                    .modes = modes_param(call),
                                                    .resumes = resumes,
                                                    .ends_with_client = method_flag(call, "ends_with_client"),
                                                    .answers = value_get(call->params, "answers"),
                                                    .continued = -1},
                       error);
    graph_unref(graph);
    if (!run) return TN_INVALID;
    struct subscription *subscription = subscribe ? server_run_subscribe(call->client, run, subscribe, error) : NULL;
    if (subscribe && !subscription) {
        server_run_forget(run);
        return TN_INVALID;
    }
    status = server_run_start(run, method_authority(call), error);
    return status == TN_OK ? method_done_take(call, started(run, subscription)) : status;
}

static int32_t run_start_method(const struct method_call *call, struct error *error) {
    return run_begin(call, false, error);
}

/* The host may have continued the thread since the client has looked; the client then gets that run. NULL: it has not.
 * *later: it is about to. */
static struct server_run *continued_run(const struct method_call *call, bool *later) {
    tn_value id = value_get(value_get(call->params, "config"), "thread_id");
    if (!id || !value_is(id, TN_STRING) || value_get(call->params, "answers")) return NULL;
    char *whole = owner_confine(call->owner, value_chars(id, NULL));
    struct server_run *run = server_runs_find_continued(server_runs_of(call->server), whole);
    *later = !run && server_continue_claims(server_continue_of(call->server), whole);
    mem_free(whole);
    return run && server_run_is_of(run, call->owner) ? run : NULL;
}

static int32_t run_resume_method(const struct method_call *call, struct error *error) {
    bool later = false;
    struct server_run *run = continued_run(call, &later);
    tn_value subscribe = value_get(call->params, "subscribe");
    if (later) return METHOD_RETRY;
    if (!run) return run_begin(call, true, error);
    struct subscription *subscription = subscribe ? server_run_subscribe(call->client, run, subscribe, error) : NULL;
    return subscribe && !subscription ? TN_INVALID : method_done_take(call, started(run, subscription));
}

/* ---- Runs that have started ---- */

static int32_t run_answer(const struct method_call *call, struct error *error) {
    struct server_run *run = run_named(call, error);
    if (!run) return TN_NOT_FOUND;
    int32_t status = server_run_answer(run, method_authority(call), value_get(call->params, "answers"), error);
    return status == TN_OK ? method_done_take(call, value_object()) : status;
}

static int32_t run_cancel_method(const struct method_call *call, struct error *error) {
    struct server_run *run = run_named(call, error);
    if (!run) return TN_NOT_FOUND;
    server_run_cancel(run, method_flag(call, "drain"));
    return method_done_take(call, value_object());
}

static int32_t run_get(const struct method_call *call, struct error *error) {
    const struct server_run *run = run_named(call, error);
    return run ? method_done_take(call, server_run_describe(run, true)) : TN_NOT_FOUND;
}

static int32_t run_wait(const struct method_call *call, struct error *error) {
    struct server_run *run = run_named(call, error);
    if (!run) return TN_NOT_FOUND;
    server_run_await(run, call->token);
    return TN_OK;
}

static int32_t run_list(const struct method_call *call, struct error *error) {
    const struct server_runs *runs = server_runs_of(call->server);
    const struct server_run *run = NULL;
    const char *status = method_text(call, "status"), *thread = method_text(call, "thread_id");
    size_t limit = (size_t)method_int(call, "limit", 100);
    tn_value list = value_array();
    bool more = false;
    (void)error;
    while (!more && (run = server_run_older(runs, run)) != NULL) {
        if (!server_run_is_of(run, call->owner) || !server_run_matches(run, status, thread)) continue;
        more = value_count(list) == limit;
        if (!more) list = value_push_take(list, server_run_describe(run, false));
    }
    tn_value result = value_set_take(value_object_reserve(2), "runs", list);
    return method_done_take(call, value_set_take(result, "more", value_bool(more)));
}

static int32_t run_state_method(const struct method_call *call, struct error *error) {
    const struct server_run *run = run_named(call, error);
    if (!run) return TN_NOT_FOUND;
    if (server_run_await_state(run, call->token)) return TN_OK;
    tn_value state = server_run_state(run);
    tn_value result = value_set_take(value_object_reserve(2), "state", state ? state : value_null());
    return method_done_take(call, value_set_take(result, "steps", value_int(server_run_steps(run))));
}

const struct method_handler run_methods[] = {
    {"run/start", run_start_method},
    {"run/resume", run_resume_method},
    {"run/answer", run_answer},
    {"run/cancel", run_cancel_method},
    {"run/get", run_get},
    {"run/wait", run_wait},
    {"run/list", run_list},
    {"run/state", run_state_method},
    {"run/subscribe", method_subscribe_start},
    {NULL, NULL},
};
