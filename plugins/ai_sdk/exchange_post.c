/*
 * exchange_post.c - a message of the client, until its run has started.
 */
#include "exchange_internal.h"
#include "history.h"
#include "plan.h"

static void on_started(void *user, struct leg *leg, tn_value error) {
    struct exchange *exchange = user;
    exchange->leg = NULL;
    if (leg == NULL) {
        answer_error(exchange, error);
        return;
    }
    exchange_end(exchange);
    (void)leg_add_reader(leg, exchange->number, false);
}

/* The messages that the client has: those of the thread, and the last input. */
static tn_value known_messages(const struct exchange *exchange, tn_value state, const struct chat_plan *plan) {
    const char *channel = exchange->graph.channel;
    tn_value list, input = tn_get(tn_get(plan->params, "input"), channel != NULL ? channel : "");
    if (exchange->graph.input != SERVING_MESSAGES) return NULL;
    list = tn_retain(tn_get(state, channel));
    if (list == NULL) list = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(input); i < count; i++)
        (void)tn_append_take(&list, tn_retain(tn.value->at(input, i)));
    return list;
}

/* Of the client's last step, what is in the thread counts: the rest is done again. *last_step: what counts. */
static void take_back_parts(tn_value *parts, tn_value *last_step, tn_value messages) {
    uint64_t count = tn.value->count(*parts), step = history_last_step(*parts);
    uint64_t kept = history_committed(*parts, messages);
    tn_value before = NULL;
    if (kept == count || tn.value->slice(*parts, 0, kept, &before) != TN_OK) return;
    if (tn.value->slice(before, step, kept - step, last_step) == TN_OK) {
        tn_release(*parts);
        *parts = tn_retain(before);
    }
    tn_release(before);
}

static void start_run(struct exchange *exchange, tn_value state) {
    struct chat_plan plan;
    chat_plan_make(&plan, &exchange->chat, &exchange->graph, exchange->thread, state);
    if (plan.method == NULL) {
        answer(exchange, plan.status, plan.reason);
        chat_plan_finish(&plan);
        return;
    }
    tn_value known = known_messages(exchange, state, &plan), last_step = NULL;
    tn_value parts = plan.continues ? tn_retain(exchange->chat.parts) : NULL;
    if (exchange->resets && plan.repeats) take_back_parts(&parts, &last_step, known);
    struct leg_options options = {.caller = exchange->caller,
                                  .graph = &exchange->graph,
                                  .message_id = plan.continues ? exchange->chat.message_id : NULL,
                                  .resets = exchange->resets,
                                  .known = known,
                                  .parts = parts,
                                  .last_step = last_step,
                                  .used = exchange->chat.used,
                                  .on_started = on_started,
                                  .user = exchange};
    exchange->leg = leg_start(exchange->all->legs, plan.method, tn_retain(plan.params), &options);
    if (exchange->leg == NULL) answer(exchange, 503, "The server has too many active chats; try again later.");
    tn_release(known);
    tn_release(parts);
    tn_release(last_step);
    chat_plan_finish(&plan);
}

static void on_thread(void *user, tn_value thread, tn_value state, tn_value error) {
    struct exchange *exchange = user;
    exchange->reading = NULL;
    if (error != NULL) {
        answer_error(exchange, error);
        return;
    }
    exchange->thread = tn_retain(thread);
    start_run(exchange, state);
}

static void read_thread(struct exchange *exchange) {
    exchange->reading =
        serving_thread_read(&exchange->all->serving, exchange->caller, exchange->chat_id, on_thread, exchange);
    if (exchange->reading == NULL) answer(exchange, 503, "The server is out of memory; try again later.");
}

/* ---- An answer that is active ---- */

static void TN_ABI on_waited(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK || serving_is(tn_get(value, "code"), "NOT_FOUND"))
        read_thread(exchange);
    else
        answer_error(exchange, value);
}

static void TN_ABI on_stopped(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    if (status == TN_OK || serving_is(tn_get(value, "code"), "NOT_FOUND"))
        call_take(exchange, "run/wait", tn_build("{s:s}", "run_id", exchange->active), on_waited);
    else
        answer_error(exchange, value);
}

/* A page that stops an answer only closes its connection. So a message of the user replaces the active answer. */
static void TN_ABI on_active(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    const char *run_id = tn_get_text(tn.value->at(tn_get(value, "runs"), 0), "run_id", NULL);
    exchange->call = 0;
    if (status != TN_OK) {
        answer_error(exchange, value);
    } else if (run_id == NULL) {
        read_thread(exchange);
    } else if (exchange->chat.parts != NULL) {
        answer(exchange, 409, "The chat already has an active answer: wait for its end, or cancel it.");
    } else {
        exchange->active = serving_text_copy(run_id);
        call_take(exchange, "run/cancel", tn_build("{s:s}", "run_id", run_id), on_stopped);
    }
}

static void on_graphs(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    if (!select_graph(exchange, exchange->chat.graph, graphs, error)) return;
    if (chat_request_fits(&exchange->chat, &exchange->graph))
        list_active(exchange, on_active);
    else
        answer(exchange, 400, exchange->chat.reason);
}

void exchange_post(struct exchange *exchange) {
    tn_value body = tn_get(exchange->request, "json"), query = tn_get(exchange->request, "query");
    if (!chat_request_read(&exchange->chat, body, query)) {
        answer(exchange, 400, exchange->chat.reason);
        return;
    }
    exchange->chat_id = serving_text_copy(exchange->chat.chat_id);
    exchange->lookup = look_up_graph(exchange, exchange->chat.graph, on_graphs);
    if (exchange->lookup == NULL || exchange->chat_id == NULL)
        answer(exchange, 503, "The server is out of memory; try again later.");
}
