/*
 * response_load.c - responses of saved threads.
 *
 * Of a response that has ended, the events are made from its conversation: they are the same ones each time. If its run
 * was interrupted by the end of its host, this host has continued it, or does so now.
 */
#include "response.h"
#include <stdlib.h>
#include <tenon/message.h>

struct load {
    struct exchange *exchange;
    char *id, thread_id[RESPONSE_ID_MAX];
    response_then *then;
    struct serving_lookup *lookup; /* open */
    uint64_t call;                 /* open */
    tn_value thread, graph;
    char *run_id; /* the run that is followed; NULL: the thread is continued */
};

static void load_free(struct load *load) {
    serving_graphs_cancel(load->lookup);
    serving_cancel(&load->exchange->openai->serving, load->call);
    tn_release(load->thread);
    tn_release(load->graph);
    serving_free(load->run_id);
    serving_free(load->id);
    serving_free(load);
}

/* The exchange is free again. */
static struct exchange *load_end(struct load *load) {
    struct exchange *exchange = load->exchange;
    exchange->object = NULL;
    exchange->on_event = NULL;
    load_free(load);
    return exchange;
}

static void load_event(struct exchange *exchange, int32_t event) {
    if (event == TN_SERVER_CLOSED) load_free(exchange->object);
}

void response_not_found(struct exchange *exchange, const char *id) {
    struct openai_error error = {0};
    (void)openai_invalid(&error, NULL, NULL, "Response with id '%.60s' not found.", id);
    error.status = 404;
    exchange_refuse(exchange, &error);
}

static void load_refuse(struct load *load, tn_value of) {
    struct openai_error error = {0};
    bool absent = of == NULL || serving_is(tn_get(of, "code"), "NOT_FOUND");
    if (absent) {
        response_not_found(load->exchange, load->id);
    } else {
        openai_error_of(&error, of);
        exchange_refuse(load->exchange, &error);
    }
    (void)load_end(load);
}

tn_value response_saved(tn_value thread) {
    tn_value saved = tn_get(tn_get(tn_get(thread, "config"), "metadata"), "openai");
    return tn.value->kind(saved) == TN_OBJECT ? saved : NULL;
}

/* The place of `_N` in the id, or its end; NULL if it is not the id of a response. */
static const char *number_of(const char *id) {
    size_t digits = strncmp(id, "resp_", 5) == 0 ? strspn(id + 5, "0123456789abcdef") : 0;
    const char *end = id + 5 + digits;
    if (digits != 32) return NULL;
    bool numbered = *end == '_' && end[1] >= '1' && end[1] <= '9' && strspn(end + 1, "0123456789") == strlen(end + 1);
    return *end == '\0' || (numbered && strlen(end) < 12) ? end : NULL;
}

void response_thread(const char *id, char out[RESPONSE_ID_MAX]) {
    const char *end = number_of(id);
    (void)snprintf(out, RESPONSE_ID_MAX, "%.*s", end != NULL ? (int)(end - id) : 1, end != NULL ? id : "-");
}

int64_t response_number(const char *id) {
    const char *end = number_of(id);
    return end != NULL && *end == '_' ? strtoll(end + 1, NULL, 10) : 0;
}

bool response_is_saved(tn_value saved, const char *id) { return tn_get_int(saved, "number", 0) == response_number(id); }

/* True if another request has loaded it meanwhile: this one has it, too. */
static bool load_is_known(struct load *load) {
    struct response *known = response_find(load->exchange, load->id);
    response_then *then = load->then;
    if (known != NULL) then(load_end(load), known);
    return known != NULL;
}

/* ---- A response that has ended ---- */

/* The messages behind the last one of the input: new. */
static tn_value new_messages(tn_value messages, const char *last_input) {
    uint64_t count = tn.value->count(messages), at = count;
    tn_value slice = NULL;
    while (at > 0 && !serving_is(tn_get(tn.value->at(messages, at - 1), "id"), last_input)) at--;
    if (at > 0) (void)tn.value->slice(messages, at, count - at, &slice);
    return slice;
}

static tn_value usage_of(tn_value messages) {
    static const char *const names[] = {"input_tokens", "output_tokens", "total_tokens", "cached_tokens",
                                        "reasoning_tokens"};
    int64_t sums[sizeof names / sizeof *names] = {0};
    tn_value usage = tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(messages); i < count; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            sums[k] += tn_get_int(tn_get(tn.value->at(messages, i), "usage"), names[k], 0);
    for (size_t k = 0; usage != NULL && k < sizeof names / sizeof *names; k++)
        usage = tn_set_take(usage, names[k], tn_int(sums[k]));
    return usage;
}

static void TN_ABI on_state(void *user, int32_t status, tn_value value) {
    struct load *load = user;
    tn_value saved = response_saved(load->thread), state = tn_get(value, "state");
    const char *last_input = tn_get_text(saved, "last_input", "");
    struct serving_graph graph;
    load->call = 0;
    if (load_is_known(load)) return;
    if (status != TN_OK) {
        load_refuse(load, value);
        return;
    }
    serving_graph_read(load->graph, &graph);
    struct response *response =
        response_new(load->exchange, load->id, tn_get_text(saved, "model", ""), tn_get(saved, "echo"), true);
    if (response == NULL) {
        tn_value error = tn_error("LIMIT", "too many responses are open; try again later");
        load_refuse(load, error);
        tn_release(error);
        return;
    }
    tn_value messages = graph.input == SERVING_MESSAGES ? new_messages(tn_get(state, graph.channel), last_input) : NULL;
    tn_value error = tn_get(load->thread, "error"), interrupts = tn_get(load->thread, "interrupts");
    tn_value report =
        tn_build("{s:s, s:v, s:v, s:v*, s:v*, s:V}", "type", "result", "status", tn_get(load->thread, "status"),
                 "state", state, "error", error, "interrupts", interrupts, "usage", usage_of(messages));
    response->events.created = tn_get_int(saved, "created", 0);
    response->events.background = serving_true(tn_get(saved, "background"));
    response->again = true;
    response_replay(response, &graph, last_input, messages, report);
    tn_release(report);
    tn_release(messages);
    response_then *then = load->then;
    then(load_end(load), response);
}

/* ---- A response whose run has not ended ---- */

static tn_value resume_params(const struct load *load, const struct serving_graph *graph) {
    return tn_build("{s:s, s:{s:s}, s:V}", "document", graph->document, "config", "thread_id", load->thread_id, "modes",
                    tn_from_json(SERVING_MODES, strlen(SERVING_MODES)));
}

/* `before`: the messages of the steps that have ended. */
static void load_run(struct load *load, tn_value before) {
    tn_value saved = response_saved(load->thread);
    struct openai_request request = {.tool_names = tn_get(saved, "tools")};
    struct serving_graph graph;
    (void)snprintf(request.last_input, sizeof request.last_input, "%s", tn_get_text(saved, "last_input", ""));
    serving_graph_read(load->graph, &graph);
    struct response *response =
        response_new(load->exchange, load->id, tn_get_text(saved, "model", ""), tn_get(saved, "echo"), true);
    bool runs = false;
    if (response != NULL) {
        response->events.created = tn_get_int(saved, "created", 0);
        response->events.background = serving_true(tn_get(saved, "background"));
        response->before = tn_retain(before);
        response->again = true;
        runs = load->run_id != NULL
                   ? response_follow_run(response, &graph, &request, load->run_id)
                   : response_run(response, &graph, &request, "run/resume", resume_params(load, &graph));
    }
    if (runs) {
        response_then *then = load->then;
        then(load_end(load), response);
        return;
    }
    tn_value error = tn_error("LIMIT", "too many responses are open; try again later");
    if (response != NULL) response_free(response);
    load_refuse(load, error);
    tn_release(error);
}

static void TN_ABI on_run_state(void *user, int32_t status, tn_value value) {
    struct load *load = user;
    struct serving_graph graph;
    load->call = 0;
    if (load_is_known(load)) return;
    serving_graph_read(load->graph, &graph);
    tn_value known =
        status == TN_OK && graph.input == SERVING_MESSAGES ? tn_get(tn_get(value, "state"), graph.channel) : NULL;
    tn_value before = new_messages(known, tn_get_text(response_saved(load->thread), "last_input", ""));
    load_run(load, before);
    tn_release(before);
}

static void load_call(struct load *load, const char *method, tn_value params, tn_host_handler handler) {
    serving_call_take(&load->exchange->openai->serving, load->exchange->caller, method, params, handler, load,
                      &load->call);
}

/* The events of a run that the host has continued are those after a checkpoint. */
static void TN_ABI on_runs(void *user, int32_t status, tn_value value) {
    struct load *load = user;
    tn_value run = tn.value->at(tn_get(value, "runs"), 0), from = tn_get(run, "continued_from");
    load->call = 0;
    if (load_is_known(load)) return;
    if (status != TN_OK) {
        load_refuse(load, value);
        return;
    }
    load->run_id = serving_text_copy(tn_get_text(run, "run_id", NULL));
    load_call(load, "thread/state", tn_build("{s:s, s:v*}", "thread_id", load->thread_id, "seq", from), on_run_state);
}

/* ---- Looking ---- */

static void on_graphs(void *user, tn_value graphs, tn_value of) {
    struct load *load = user;
    const char *status = tn_get_text(load->thread, "status", "");
    load->lookup = NULL;
    if (load_is_known(load)) return;
    load->graph = tn_retain(serving_graph_find(graphs, tn_get_text(response_saved(load->thread), "model", "")));
    if (load->graph == NULL)
        load_refuse(load, of);
    else if (strcmp(status, "running") == 0 || strcmp(status, "stopped") == 0)
        load_call(load, "run/list",
                  tn_build("{s:s, s:s, s:i}", "thread_id", load->thread_id, "status", "running", "limit", 1), on_runs);
    else
        load_call(load, "thread/state", tn_build("{s:s}", "thread_id", load->thread_id), on_state);
}

static void TN_ABI on_thread(void *user, int32_t status, tn_value value) {
    struct load *load = user;
    load->call = 0;
    if (status != TN_OK || response_saved(value) == NULL || !response_is_saved(response_saved(value), load->id)) {
        load_refuse(load, status != TN_OK ? value : NULL);
        return;
    }
    load->thread = tn_retain(value);
    load->lookup = serving_graph_named(&load->exchange->openai->serving, load->exchange->caller,
                                       tn_get_text(response_saved(value), "model", ""), on_graphs, load);
    if (load->lookup == NULL) exchange_abort(load->exchange);
}

void response_load(struct exchange *exchange, const char *id, response_then *then) {
    struct response *known = response_find(exchange, id);
    struct load *load = known == NULL && number_of(id) != NULL ? serving_alloc(sizeof *load) : NULL;
    if (known != NULL) {
        then(exchange, known);
        return;
    }
    if (load == NULL) {
        response_not_found(exchange, id);
        return;
    }
    *load = (struct load){.exchange = exchange, .id = serving_text_copy(id), .then = then};
    response_thread(id, load->thread_id);
    exchange->object = load;
    exchange->on_event = load_event;
    load_call(load, "thread/get", tn_build("{s:s}", "thread_id", load->thread_id), on_thread);
}
