/*
 * exchange_chat.c - requests about a chat: its active answer again, the end of it, its messages.
 */
#include "exchange_internal.h"
#include "history.h"

static void TN_ABI on_runs(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    tn_value run = tn.value->at(tn_get(value, "runs"), 0);
    exchange->call = 0;
    if (status != TN_OK)
        answer_error(exchange, value);
    else
        exchange->with_run(exchange, run);
}

static void exchange_of_chat(struct exchange *exchange, void (*with_run)(struct exchange *exchange, tn_value run)) {
    uint64_t length = 0;
    const char *chat_id = tn_chars(tn_get(tn_get(exchange->request, "params"), "chatId"), &length);
    exchange->graph_name = serving_text_copy(tn_get_text(tn_get(exchange->request, "query"), "graph", NULL));
    if (chat_id == NULL || !chat_id_is_valid(chat_id, length)) {
        answer_nothing(exchange); /* no chat has this id */
        return;
    }
    exchange->with_run = with_run;
    exchange->chat_id = serving_text_copy(chat_id);
    if (exchange->chat_id != NULL)
        list_active(exchange, on_runs);
    else
        answer(exchange, 503, "The server is out of memory; try again later.");
}

static void on_followed(void *user, struct leg *leg, tn_value error) {
    struct exchange *exchange = user;
    exchange->leg = NULL;
    if (leg == NULL) {
        if (serving_is(tn_get(error, "code"), "NOT_FOUND") || serving_is(tn_get(error, "code"), "PERMISSION_DENIED"))
            answer_nothing(exchange); /* it has ended meanwhile, or the key can only read */
        else
            answer_error(exchange, error);
        return;
    }
    exchange_end(exchange);
    (void)leg_add_reader(leg, exchange->number, true);
}

/* A run that another protocol has started: its texts are those of a graph with messages. */
static void follow_run(struct exchange *exchange, const char *run_id) {
    struct serving_graph graph;
    tn_value item =
        tn_from_json("{\"name\": \"\", \"channels\": [{\"name\": \"messages\", \"type\": \"append\"}]}", TN_Z);
    serving_graph_read(item, &graph);
    struct leg_options options = {.caller = exchange->caller,
                                  .graph = &graph,
                                  .resets = exchange->resets,
                                  .on_started = on_followed,
                                  .user = exchange};
    exchange->leg = leg_follow(exchange->all->legs, run_id, &options);
    tn_release(item);
    if (exchange->leg == NULL) answer(exchange, 503, "The server has too many active chats; try again later.");
}

/* ---- A run whose process has ended: this host has continued it, or does so now ---- */

/* The answer so far is in the thread; what the unfinished step had sent is made again. */
static void TN_ABI on_dead_state(void *user, int32_t status, tn_value value) {
    static const char modes[] = "[\"updates\", \"messages\", \"custom\", \"tasks\"]";
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status != TN_OK) {
        answer_nothing(exchange);
        return;
    }
    bool messages = exchange->graph.input == SERVING_MESSAGES;
    tn_value known = messages ? tn_get(tn_get(value, "state"), exchange->graph.channel) : NULL;
    tn_value parts = history_parts(known, history_last_answer(known));
    struct leg_options options = {.caller = exchange->caller,
                                  .graph = &exchange->graph,
                                  .message_id = id_without_owner(tn_get_text(exchange->thread, "run_id", "answer")),
                                  .resets = exchange->resets,
                                  .known = known,
                                  .parts = parts,
                                  .on_started = on_followed,
                                  .user = exchange};
    if (exchange->active != NULL) {
        exchange->leg = leg_follow(exchange->all->legs, exchange->active, &options);
    } else {
        tn_value params = tn_build("{s:s, s:{s:s}, s:V}", "document", exchange->graph.document, "config", "thread_id",
                                   exchange->chat_id, "modes", tn_from_json(modes, sizeof modes - 1));
        exchange->leg = params != NULL ? leg_start(exchange->all->legs, "run/resume", params, &options) : NULL;
    }
    tn_release(parts);
    if (exchange->leg == NULL) answer(exchange, 503, "The server has too many active chats; try again later.");
}

static void on_dead_graphs(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    if (!select_graph(exchange, exchange->graph_name, graphs, error)) return;
    tn_value params = tn_build("{s:s}", "thread_id", exchange->chat_id);
    if (params != NULL && exchange->active != NULL)
        params = tn_set_take(params, "seq", tn_int(exchange->continued_from));
    call_take(exchange, "thread/state", params, on_dead_state);
}

static void TN_ABI on_dead_thread(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    bool dead = exchange->active != NULL || serving_is(tn_get(value, "status"), "running") ||
                serving_is(tn_get(value, "status"), "stopped");
    exchange->call = 0;
    if (status != TN_OK && !serving_is(tn_get(value, "code"), "NOT_FOUND")) {
        answer_error(exchange, value);
    } else if (status != TN_OK || !dead) {
        answer_nothing(exchange);
    } else {
        exchange->thread = tn_retain(value);
        exchange->lookup = look_up_graph(exchange, exchange->graph_name, on_dead_graphs);
        if (exchange->lookup == NULL) answer(exchange, 503, "The server is out of memory; try again later.");
    }
}

static void read_thread(struct exchange *exchange) {
    call_take(exchange, "thread/get", tn_build("{s:s}", "thread_id", exchange->chat_id), on_dead_thread);
}

static void follow_continued(struct exchange *exchange, tn_value run) {
    static const char prefix[] = "graph:";
    const char *document = tn_get_text(run, "document", "");
    exchange->continued_from = tn_get_int(run, "continued_from", -1);
    exchange->active = serving_text_copy(tn_get_text(run, "run_id", ""));
    if (strncmp(document, prefix, sizeof prefix - 1) == 0) {
        serving_free(exchange->graph_name);
        exchange->graph_name = serving_text_copy(document + sizeof prefix - 1);
    }
    read_thread(exchange);
}

/* A continued run can have ended before its client came back: it reads the answer once. */
static void TN_ABI on_newest(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    tn_value run = tn.value->at(tn_get(value, "runs"), 0);
    exchange->call = 0;
    if (status != TN_OK)
        answer_error(exchange, value);
    else if (tn_get_int(run, "continued_from", -1) >= 0 &&
             !legs_has_followed(exchange->all->legs, tn_get_text(run, "run_id", "")))
        follow_continued(exchange, run);
    else
        read_thread(exchange);
}

static void resume_run(struct exchange *exchange, tn_value run) {
    const char *run_id = tn_get_text(run, "run_id", "");
    struct leg *leg = legs_lookup(exchange->all->legs, run_id);
    if (run == NULL) {
        call_take(exchange, "run/list", tn_build("{s:s, s:i}", "thread_id", exchange->chat_id, "limit", 1), on_newest);
    } else if (leg == NULL && tn_get_int(run, "continued_from", -1) >= 0) {
        follow_continued(exchange, run);
    } else if (leg == NULL) {
        follow_run(exchange, run_id);
    } else if (leg_resets(leg) && !exchange->resets) {
        answer(exchange, 409, "The active answer is for version 7 of the AI SDK: ask for it with `version=7`.");
    } else if (!leg_is_whole(leg)) {
        answer(exchange, 409, "The answer is too long to be sent again; read it when it is complete.");
    } else {
        exchange_end(exchange);
        (void)leg_add_reader(leg, exchange->number, true);
    }
}

static void TN_ABI on_cancelled(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK)
        answer_nothing(exchange);
    else
        answer_error(exchange, value);
}

static void cancel_run(struct exchange *exchange, tn_value run) {
    if (run == NULL)
        answer_nothing(exchange);
    else
        call_take(exchange, "run/cancel", tn_build("{s:v}", "run_id", tn_get(run, "run_id")), on_cancelled);
}

void exchange_resume(struct exchange *exchange) { exchange_of_chat(exchange, resume_run); }

void exchange_cancel(struct exchange *exchange) { exchange_of_chat(exchange, cancel_run); }

/* ---- The messages of a chat ---- */

static void TN_ABI on_history(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status != TN_OK) {
        answer_error(exchange, value);
        return;
    }
    tn_value messages = history_messages(tn_get(tn_get(value, "state"), "messages"));
    serving_respond_take(&exchange->all->serving, exchange->number,
                         tn_build("{s:i, s:V}", "status", 200, "json", messages));
    exchange_end(exchange);
}

void exchange_history(struct exchange *exchange) {
    uint64_t length = 0;
    const char *chat_id = tn_chars(tn_get(tn_get(exchange->request, "params"), "chatId"), &length);
    if (chat_id == NULL || !chat_id_is_valid(chat_id, length))
        answer(exchange, 404, "There is no such chat.");
    else
        call_take(exchange, "thread/state", tn_build("{s:s}", "thread_id", chat_id), on_history);
}
