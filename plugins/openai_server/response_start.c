/*
 * response_start.c - POST /v1/responses.
 *
 * A stored response is a thread with its id. One that continues another is a fork of that one's thread, so both can be
 * continued, and deleted, independently. But an answer continues the thread that asked, because a fork has other tasks:
 * `resp_ID` is then followed by `resp_ID_1`, and so on, and the thread is that of the last one.
 */
#include "response.h"
#include <tenon/message.h>

struct start {
    struct exchange *exchange;
    struct openai_request request;
    char id[RESPONSE_ID_MAX];
    struct serving_lookup *lookup; /* open */
    uint64_t call;                 /* open */
    tn_value graph, previous;      /* the thread of the previous response */
    tn_value before;               /* its messages, for a response that is not stored */
};

static void start_free(struct start *start) {
    serving_graphs_cancel(start->lookup);
    serving_cancel(&start->exchange->openai->serving, start->call);
    openai_request_finish(&start->request);
    tn_release(start->graph);
    tn_release(start->previous);
    tn_release(start->before);
    serving_free(start);
}

static void start_end(struct start *start) {
    start->exchange->object = NULL;
    start->exchange->on_event = NULL;
    start_free(start);
}

static void start_refuse(struct start *start, const struct openai_error *error) {
    exchange_refuse(start->exchange, error);
    start_end(start);
}

static void start_refuse_of(struct start *start, tn_value of) {
    struct openai_error error = {0};
    openai_error_of(&error, of);
    start_refuse(start, &error);
}

static void start_event(struct exchange *exchange, int32_t event) {
    if (event == TN_SERVER_CLOSED) start_free(exchange->object);
}

static void start_call(struct start *start, const char *method, tn_value params, tn_host_handler handler) {
    serving_call_take(&start->exchange->openai->serving, start->exchange->caller, method, params, handler, start,
                      &start->call);
}

/* ---- What is saved ---- */

/* Members of the request that a Response repeats: new. */
static tn_value echo_of(tn_value body) {
    static const struct {
        const char *name;
        int32_t kind, or_kind;
    } rows[] = {{"instructions", TN_STRING, 0},
                {"max_output_tokens", TN_INT, 0},
                {"metadata", TN_OBJECT, 0},
                {"parallel_tool_calls", TN_BOOL, 0},
                {"previous_response_id", TN_STRING, 0},
                {"store", TN_BOOL, 0},
                {"temperature", TN_INT, TN_DOUBLE},
                {"tool_choice", TN_STRING, TN_OBJECT},
                {"tools", TN_ARRAY, 0},
                {"top_p", TN_INT, TN_DOUBLE},
                {"truncation", TN_STRING, 0}};
    tn_value echo = tn_build("{}");
    for (size_t i = 0; echo != NULL && i < sizeof rows / sizeof *rows; i++) {
        tn_value member = tn_get(body, rows[i].name);
        int32_t kind = tn.value->kind(member);
        if (member != NULL && (kind == rows[i].kind || kind == rows[i].or_kind))
            echo = tn_set_take(echo, rows[i].name, tn_retain(member));
    }
    return echo;
}

/* The value, or NULL if its JSON is too long to keep with a thread: a new reference. */
static tn_value if_short(tn_value value) {
    uint64_t length = 0;
    tn_value json = value != NULL ? tn_to_json(value) : NULL;
    const char *chars = tn_chars(json, &length);
    tn_release(json);
    return chars != NULL && length <= INPUT_KEPT_MAX ? tn_retain(value) : NULL;
}

static tn_value saved_of(const struct start *start, const struct response *response) {
    const struct openai_request *request = &start->request;
    return tn_build("{s:I, s:s, s:I, s:b, s:s, s:V*, s:V*, s:v*}", "number", response_number(start->id), "model",
                    request->model, "created", response->events.created, "background", (int)request->background,
                    "last_input", request->last_input, "echo", if_short(response->events.echo), "items",
                    if_short(request->items), "tools", request->tool_names);
}

/* ---- The run ---- */

/* {thread_id, metadata, …}: new. */
static tn_value config_of(const struct start *start, const struct response *response, bool replaces) {
    tn_value metadata = tn_retain(start->request.metadata);
    if (metadata != NULL && start->request.store) metadata = tn_set_take(metadata, "openai", saved_of(start, response));
    tn_value config = tn_build("{s:V}", "metadata", metadata);
    char thread[RESPONSE_ID_MAX];
    response_thread(start->id, thread);
    if (config != NULL && start->request.store) config = tn_set_take(config, "thread_id", tn_text(thread));
    if (config != NULL && replaces) config = tn_set_take(config, "replace", tn_bool(1));
    return config;
}

static tn_value run_params(const struct start *start, const struct response *response, bool replaces) {
    return tn_build("{s:v, s:V, s:V}", "document", tn_get(start->graph, "document"), "config",
                    config_of(start, response, replaces), "modes", tn_from_json(SERVING_MODES, strlen(SERVING_MODES)));
}

/* Takes `more`: `input` of run/start, or `answers` of run/resume. */
static void start_run(struct start *start, const char *method, const char *name, tn_value more, bool replaces) {
    struct exchange *exchange = start->exchange;
    const struct openai_request *request = &start->request;
    struct serving_graph graph;
    struct openai_error error = {.status = 429, .type = "rate_limit_error", .code = "rate_limit_exceeded"};
    tn_value echo = echo_of(tn_get(exchange->request, "json")), params;
    struct response *response = response_new(exchange, start->id, request->model, echo, request->store);
    tn_release(echo);
    serving_graph_read(start->graph, &graph);
    exchange->object = NULL;
    exchange->on_event = NULL;
    if (response != NULL) response->events.background = request->background;
    if (response != NULL && response_follow(response, exchange, request->stream, 0, true)) {
        params = run_params(start, response, replaces);
        if (params != NULL) params = tn_set_take(params, name, more);
        /* Nobody else can find it. */
        if (params != NULL && !request->store) params = tn_set_take(params, "ends_with_client", tn_bool(1));
        if (response_run(response, &graph, request, method, params)) {
            start_free(start);
            return;
        }
    } else {
        tn_release(more);
    }
    if (response != NULL) response_free(response);
    (void)snprintf(error.text, sizeof error.text, "too many responses are open; try again later");
    exchange_refuse(exchange, &error);
    start_free(start);
}

static void start_new(struct start *start, bool replaces) {
    struct serving_graph graph;
    struct openai_error error = {0};
    serving_graph_read(start->graph, &graph);
    tn_value input = openai_input(&start->request, &graph, start->before, &error);
    if (input != NULL)
        start_run(start, "run/start", "input", input, replaces);
    else
        start_refuse(start, &error);
}

/* ---- The previous response ---- */

/* The answers of the request as the interrupts expect them: new; NULL with the error. */
static tn_value answers_of(const struct start *start, struct openai_error *error) {
    tn_value interrupts = tn_get(start->previous, "interrupts"), answers = tn_build("{}");
    uint64_t count = tn.value->count(interrupts), length = 0, given = 0;
    tn_value messages = start->request.messages, last = tn.value->at(messages, tn.value->count(messages) - 1);
    tn_value text = count == 1 && last != NULL ? tn_content_text(tn_get(last, "content")) : NULL;
    for (uint64_t i = 0; i < count; i++) {
        tn_value interrupt = tn.value->at(interrupts, i), made = NULL;
        const char *id = tn_get_text(interrupt, "id", "");
        tn_value answer = tn_get(start->request.answers, id);
        if (answer == NULL) answer = text;
        const char *chars = tn_chars(answer, &length);
        if (answer == NULL) continue;
        if (serving_ask_is_approval(interrupt))
            made = openai_approval(answer);
        else if (chars != NULL)
            made = serving_ask_answer(interrupt, chars, length);
        if (made != NULL && answers != NULL) answers = tn_set_take(answers, id, made);
        given++;
    }
    tn_release(text);
    if (given > 0) return answers;
    tn_release(answers);
    (void)openai_invalid(error, "input", "invalid_value",
                         "the previous response waits for an answer: send an `mcp_approval_response`, or a "
                         "`function_call_output` for `tenon_answer`");
    return NULL;
}

static void start_after(struct start *start) {
    start_new(start, strcmp(tn_get_text(start->previous, "status", ""), "done") != 0);
}

/* The response after one that has asked. */
static void start_answer(struct start *start) {
    struct openai_error error = {0};
    char thread[RESPONSE_ID_MAX];
    tn_value answers = answers_of(start, &error);
    if (answers == NULL) {
        start_refuse(start, &error);
        return;
    }
    response_thread(start->request.previous, thread);
    (void)snprintf(start->id, sizeof start->id, "%.40s_%u", thread,
                   (unsigned)tn_get_int(response_saved(start->previous), "number", 0) + 1);
    struct response *known = response_find(start->exchange, start->id);
    if (known != NULL && known->ended && known->followers == NULL) {
        response_free(known); /* it has failed, and the thread still waits */
        known = NULL;
    }
    if (known == NULL) {
        start_run(start, "run/resume", "answers", answers, false);
        return;
    }
    tn_release(answers);
    (void)openai_invalid(&error, "previous_response_id", "conflict", "the response '%.60s' is being answered by '%s'",
                         start->request.previous, start->id);
    error.status = 409;
    start_refuse(start, &error);
}

static void TN_ABI on_asked_state(void *user, int32_t status, tn_value value) {
    struct start *start = user;
    start->call = 0;
    if (status != TN_OK) {
        start_refuse_of(start, value);
        return;
    }
    openai_answer_begin(&start->request, tn_get(value, "state"), tn_get(start->previous, "interrupts"));
    start_answer(start);
}

static void TN_ABI on_forked(void *user, int32_t status, tn_value value) {
    struct start *start = user;
    start->call = 0;
    if (status == TN_OK)
        start_after(start);
    else
        start_refuse_of(start, value);
}

/* Without a thread, the run gets the conversation as its input. */
static void TN_ABI on_state(void *user, int32_t status, tn_value value) {
    struct start *start = user;
    start->call = 0;
    if (status != TN_OK) {
        start_refuse_of(start, value);
        return;
    }
    struct serving_graph graph;
    serving_graph_read(start->graph, &graph);
    if (graph.input == SERVING_MESSAGES) start->before = tn_retain(tn_get(tn_get(value, "state"), graph.channel));
    start_new(start, false);
}

static bool check_previous(const struct start *start, struct openai_error *error) {
    const char *status = tn_get_text(start->previous, "status", ""), *id = start->request.previous;
    tn_value saved = response_saved(start->previous);
    bool asks = strcmp(status, "interrupted") == 0,
         runs = strcmp(status, "running") == 0 || strcmp(status, "stopped") == 0;
    if (saved == NULL || !response_is_saved(saved, id))
        return openai_invalid(error, "previous_response_id", "previous_response_not_found",
                              "previous response with id '%.60s' not found", id);
    if (!serving_is(tn_get(saved, "model"), start->request.model))
        return openai_invalid(error, "model", "invalid_value", "the previous response is of the model `%.80s`",
                              tn_get_text(saved, "model", ""));
    if (runs)
        return openai_invalid(error, "previous_response_id", "response_in_progress",
                              "the response '%.60s' has not ended; wait for it, or cancel it", id);
    if (asks && !start->request.store)
        return openai_invalid(error, "store", "unsupported_value", "an answer needs `store`: true");
    return true;
}

static void TN_ABI on_previous(void *user, int32_t status, tn_value value) {
    struct start *start = user;
    struct openai_error error = {0};
    char thread[RESPONSE_ID_MAX];
    response_thread(start->request.previous, thread);
    start->call = 0;
    start->previous = status == TN_OK ? tn_retain(value) : NULL;
    if (status != TN_OK && !serving_is(tn_get(value, "code"), "NOT_FOUND")) {
        start_refuse_of(start, value);
    } else if (!check_previous(start, &error)) {
        start_refuse(start, &error);
    } else if (serving_is(tn_get(value, "status"), "interrupted")) {
        start_call(start, "thread/state", tn_build("{s:s}", "thread_id", thread), on_asked_state);
    } else if (start->request.store) {
        start_call(start, "thread/fork", tn_build("{s:s, s:s}", "thread_id", thread, "new_thread_id", start->id),
                   on_forked);
    } else {
        start_call(start, "thread/state", tn_build("{s:s}", "thread_id", thread), on_state);
    }
}

/* ---- The request ---- */

static void on_graphs(void *user, tn_value graphs, tn_value of) {
    struct start *start = user;
    struct openai_error error = {0};
    start->lookup = NULL;
    start->graph = tn_retain(serving_graph_find(graphs, start->request.model));
    if (of != NULL) {
        start_refuse_of(start, of);
    } else if (start->graph == NULL) {
        openai_no_model(&error, start->request.model);
        start_refuse(start, &error);
    } else if (start->request.previous != NULL) {
        char thread[RESPONSE_ID_MAX];
        response_thread(start->request.previous, thread);
        start_call(start, "thread/get", tn_build("{s:s}", "thread_id", thread), on_previous);
    } else {
        start_new(start, false);
    }
}

void response_post(struct exchange *exchange) {
    struct openai_error error = {0};
    char digits[33];
    struct start *start = serving_alloc(sizeof *start);
    if (start == NULL) {
        exchange_abort(exchange);
        return;
    }
    start->exchange = exchange;
    exchange->object = start;
    exchange->on_event = start_event;
    serving_random_hex(digits, 32);
    (void)snprintf(start->id, sizeof start->id, "resp_%s", digits);
    if (!openai_read_response(tn_get(exchange->request, "json"), digits, &start->request, &error)) {
        start_refuse(start, &error);
        return;
    }
    start->lookup =
        serving_graph_named(&exchange->openai->serving, exchange->caller, start->request.model, on_graphs, start);
    if (start->lookup == NULL) exchange_abort(exchange);
}
