/*
 * chat.c - POST /v1/chat/completions.
 *
 * A request has the whole conversation, so its run has no thread. If a run asks, its id is in the id of the call that
 * asks, and the next request continues it; the host keeps it as long as run/answer says.
 */
#include "openai_server.h"

struct chat {
    struct exchange *exchange;
    struct openai_request request;
    struct chat_events events;
    struct serving_lookup *lookup; /* open */
    uint64_t call;                 /* run/get, open */
    tn_value graph;                /* of the request */
    struct serving_items *items;
    struct serving_run *run;
    struct serving_stream stream; /* with `stream` in the request */
};

static void chat_free(struct chat *chat) {
    serving_graphs_cancel(chat->lookup);
    serving_cancel(&chat->exchange->openai->serving, chat->call);
    serving_run_close(chat->run);
    serving_items_free(chat->items);
    chat_events_close(&chat->events);
    openai_request_finish(&chat->request);
    tn_release(chat->graph);
    serving_stream_close(&chat->stream);
    chat->exchange->object = NULL;
    chat->exchange->on_event = NULL;
    serving_free(chat);
}

static void chat_refuse(struct chat *chat, const struct openai_error *error) {
    struct exchange *exchange = chat->exchange;
    exchange_refuse(exchange, error);
    chat_free(chat);
}

static void chat_refuse_of(struct chat *chat, tn_value of) {
    struct openai_error error = {0};
    openai_error_of(&error, of);
    chat_refuse(chat, &error);
}

/* ---- The response ---- */

static void on_chunk(void *user, tn_value value) {
    struct chat *chat = user;
    serving_stream_send(&chat->stream, value, chat->run);
}

static void chat_event(struct exchange *exchange, int32_t event) {
    struct chat *chat = exchange->object;
    if (event == TN_SERVER_ROOM) {
        serving_stream_room(&chat->stream, chat->run);
    } else if (event == TN_SERVER_CLOSED) {
        if (chat->run != NULL) serving_run_cancel(chat->run);
        chat_free(chat);
    }
}

/* ---- The run ---- */

static void on_started(void *user, const char *run_id) {
    struct chat *chat = user;
    chat->events.run_id = run_id;
    if (chat->request.stream && !serving_stream_begin(&chat->stream)) serving_run_cancel(chat->run);
}

static void on_run_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    struct chat *chat = user;
    (void)seq, (void)missed; /* its client is the only one, and it reads all */
    serving_items_event(chat->items, event);
}

static void on_run_end(void *user, tn_value report) {
    struct chat *chat = user;
    if (chat->events.run_id == NULL) { /* it did not start */
        chat_refuse_of(chat, tn_get(report, "error"));
        return;
    }
    serving_run_cancel(chat->run); /* if its key was revoked: no client can continue it */
    serving_items_end(chat->items, report);
    if (chat->request.stream) {
        tn_value done = tn_text("[DONE]");
        serving_stream_send(&chat->stream, done, NULL);
        serving_stream_end(&chat->stream);
        tn_release(done);
        return;
    }
    struct exchange *exchange = chat->exchange;
    exchange_reply(exchange, chat->events.failed ? chat->events.status : 200, tn_retain(chat->events.last));
    chat_free(chat);
}

static const struct serving_run_handler run_handler = {on_started, on_run_event, on_run_end};

static void chat_run(struct chat *chat, const char *method, tn_value params) {
    struct serving_graph graph;
    struct openai_error error = {0};
    serving_graph_read(chat->graph, &graph);
    struct serving_items_options options = {.graph = &graph,
                                            .last_input = chat->request.last_input,
                                            .client_tools = chat->request.tool_names,
                                            .handler = chat_events_item,
                                            .user = &chat->events};
    chat->items = serving_items_new(&options);
    if (chat->items != NULL)
        chat->run = serving_run_start(&chat->exchange->openai->serving, chat->exchange->caller, method, params,
                                      &run_handler, chat);
    else
        tn_release(params);
    if (chat->run != NULL) return;
    (void)openai_invalid(&error, NULL, "server_error", "memory ran out");
    error.status = 500;
    chat_refuse(chat, &error);
}

static void chat_start(struct chat *chat) {
    struct serving_graph graph;
    struct openai_error error = {0};
    serving_graph_read(chat->graph, &graph);
    tn_value input = openai_input(&chat->request, &graph, NULL, &error);
    if (input == NULL) {
        chat_refuse(chat, &error);
        return;
    }
    tn_value modes = tn_from_json(SERVING_MODES, strlen(SERVING_MODES));
    chat_run(chat, "run/start",
             tn_build("{s:s, s:V, s:{s:v}, s:V, s:b}", "document", graph.document, "input", input, "config", "metadata",
                      chat->request.metadata, "modes", modes, "ends_with_client", 1));
}

/* ---- Answers to a run that has asked ---- */

/* The answers of the request to the interrupts: new. */
static tn_value answers_of(const struct chat *chat, tn_value interrupts, const char *run_id) {
    tn_value answers = tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(interrupts); i < count; i++) {
        tn_value interrupt = tn.value->at(interrupts, i), made;
        const char *id = tn_get_text(interrupt, "id", "");
        struct tn_text_buffer key = TN_TEXT_BUFFER(1024);
        (void)tn_text_append_format(&key, "%s_%s", run_id, id);
        uint64_t length = 0;
        const char *text = tn_chars(tn_get(chat->request.answers, tn_text_chars(&key)), &length);
        tn_text_free(&key);
        if (text == NULL) continue;
        made = serving_ask_answer(interrupt, text, length);
        if (serving_ask_is_approval(interrupt)) {
            tn_value approval = openai_approval(made);
            tn_release(made);
            made = approval;
        }
        if (made != NULL && answers != NULL) answers = tn_set_take(answers, id, made);
    }
    return answers;
}

static void TN_ABI on_asked(void *user, int32_t status, tn_value value) {
    struct chat *chat = user;
    const char *run_id = tn_get_text(value, "run_id", "");
    struct openai_error error = {0};
    chat->call = 0;
    if (status != TN_OK || !serving_is(tn_get(value, "status"), "interrupted")) {
        (void)openai_invalid(
            &error, "messages", "invalid_value",
            "the run that asked does not wait for an answer any more; send the conversation without the "
            "call of `tenon_…`, as a new question");
        chat_refuse(chat, &error);
        return;
    }
    tn_value report = tn_get(value, "report"), answers = answers_of(chat, tn_get(report, "interrupts"), run_id);
    openai_answer_begin(&chat->request, tn_get(report, "state"), NULL); /* calls are not shown */
    chat_run(chat, "run/answer", tn_build("{s:s, s:V}", "run_id", run_id, "answers", answers));
}

/* `RUN_INTERRUPT`: the id of the run, new; NULL if the text is something else. */
static tn_value run_of_answer(tn_value answers) {
    tn_value key = NULL, value;
    uint64_t length = 0;
    (void)tn.value->entry(answers, 0, &key, &value);
    const char *text = tn_chars(key, &length), *mark = text != NULL ? strrchr(text, '_') : NULL;
    return mark != NULL && mark > text ? tn_text_n(text, (uint64_t)(mark - text)) : NULL;
}

static void on_graphs(void *user, tn_value graphs, tn_value of) {
    struct chat *chat = user;
    struct openai_error error = {0};
    chat->lookup = NULL;
    chat->graph = tn_retain(serving_graph_find(graphs, chat->request.model));
    if (of != NULL) {
        chat_refuse_of(chat, of);
    } else if (chat->graph == NULL) {
        openai_no_model(&error, chat->request.model);
        chat_refuse(chat, &error);
    } else if (chat->request.answers != NULL) {
        serving_call_take(&chat->exchange->openai->serving, chat->exchange->caller, "run/get",
                          tn_build("{s:V}", "run_id", run_of_answer(chat->request.answers)), on_asked, chat,
                          &chat->call);
    } else {
        chat_start(chat);
    }
}

void chat_post(struct exchange *exchange) {
    struct openai_error error = {0};
    struct chat *chat = serving_alloc(sizeof *chat);
    if (chat == NULL) {
        exchange_abort(exchange);
        return;
    }
    chat->exchange = exchange;
    chat->stream = (struct serving_stream){.serving = &exchange->openai->serving, .number = exchange->number};
    exchange->object = chat;
    exchange->on_event = chat_event;
    if (!openai_read_chat(tn_get(exchange->request, "json"), &chat->request, &error)) {
        chat_refuse(chat, &error);
        return;
    }
    chat_events_open(&chat->events, chat->request.model);
    chat->events.stream = chat->request.stream;
    chat->events.include_usage = chat->request.include_usage;
    chat->events.handler = on_chunk;
    chat->events.user = chat;
    chat->lookup =
        serving_graph_named(&exchange->openai->serving, exchange->caller, chat->request.model, on_graphs, chat);
    if (chat->lookup == NULL) exchange_abort(exchange);
}
