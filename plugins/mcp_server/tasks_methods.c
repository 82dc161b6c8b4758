/*
 * tasks_methods.c - tasks/get, tasks/list, tasks/update and tasks/cancel.
 */
#include "catalogue.h"
#include "question.h"
#include "tasks.h"

static void fail(struct exchange *exchange, int32_t code, const char *text) {
    struct problem problem = {0};
    (void)problem_set(&problem, 200, code, "%s", text);
    exchange_fail(exchange, &problem);
}

static void acknowledge(struct exchange *exchange) { exchange_result_take(exchange, tn_build("{}")); }

/* ---- tasks/get ---- */

/* Takes `value`. 2025-11-25 has no such members: what failed is a text there. */
static void respond_task_take(struct exchange *exchange, enum task_status status, const char *member, tn_value value,
                              const char *text) {
    tn_value task = task_value(exchange, status);
    if (exchange->modern && member != NULL)
        task = tn_set_take(task, member, value);
    else
        tn_release(value);
    if (text != NULL) task = tn_set_take(task, "statusMessage", tn_text_lossy(text, strlen(text)));
    exchange_result_take(exchange, task);
}

static void respond_failed(struct exchange *exchange, const char *text) {
    tn_value error = tn_build("{s:i, s:V}", "code", MCPS_INTERNAL, "message", tn_text_lossy(text, strlen(text)));
    respond_task_take(exchange, TASK_FAILED, "error", error, text);
}

/* Takes both. */
static void have_result(struct exchange *exchange, tn_value result, struct problem *problem) {
    bool failed = serving_true(tn_get(result, "isError"));
    if (problem->status != 0) {
        tn_release(problem->data);
        tn_release(result);
        respond_failed(exchange, problem->text);
    } else if (failed && !exchange->modern) {
        tn_value first = tn.value->at(tn_get(result, "content"), 0);
        tn_value text = tn_retain(tn_get(first, "text"));
        const char *chars = tn_chars(text, NULL);
        respond_task_take(exchange, TASK_FAILED, NULL, result, chars != NULL ? chars : "the tool has failed");
        tn_release(text);
    } else {
        respond_task_take(exchange, TASK_COMPLETED, "result", result, NULL);
    }
}

/* Those that were not answered; all of them if that would be none. New; NULL if the client cannot answer any. */
static tn_value open_requests(const struct exchange *exchange, tn_value questions) {
    tn_value responses = tn_get(exchange->task, "responses"), missing = NULL, key, request;
    tn_value all = questions_requests(questions, tn_get(exchange->task, "capabilities"), &missing);
    tn_value left = all != NULL ? tn_build("{}") : NULL;
    tn_release(missing);
    for (uint64_t i = 0, count = tn.value->count(all); i < count; i++)
        if (tn.value->entry(all, i, &key, &request) == TN_OK && tn_get_key(responses, key) == NULL)
            left = tn_set_take(left, tn_chars(key, NULL), tn_retain(request));
    if (all == NULL || tn.value->count(left) > 0) {
        tn_release(all);
        return left;
    }
    tn_release(left);
    return all;
}

static void respond_questions(struct exchange *exchange) {
    tn_value questions = task_questions(exchange), requests = open_requests(exchange, questions);
    tn_release(questions);
    if (requests != NULL)
        respond_task_take(exchange, TASK_INPUT_REQUIRED, "inputRequests", requests, NULL);
    else
        respond_failed(exchange, "the graph asks a question that the client of the task cannot answer");
}

static void get_then(struct exchange *exchange) {
    enum task_status status = task_status(exchange);
    if (status == TASK_COMPLETED)
        task_read_result(exchange, have_result);
    else if (status == TASK_INPUT_REQUIRED)
        respond_questions(exchange);
    else if (status == TASK_FAILED)
        respond_failed(exchange, "the task was lost, or has waited for an answer for too long");
    else
        respond_task_take(exchange, status, NULL, NULL, NULL);
}

void method_task_get(struct exchange *exchange) { task_read(exchange, get_then); }

/* ---- tasks/list ---- */

static void list_next(struct exchange *exchange);

static void on_listed_thread(struct exchange *exchange, bool ok, tn_value value) {
    tn_release(exchange->record);
    exchange->record = ok ? tn_retain(value) : NULL;
    (void)tn_append_take(&exchange->made, task_value(exchange, task_status(exchange)));
    list_next(exchange);
}

static void list_next(struct exchange *exchange) {
    tn_value memory;
    while ((memory = tn.value->at(exchange->found, exchange->at)) != NULL) {
        tn_value task = tn_get(memory, "value");
        const char *id = tn_get_text(memory, "key", "");
        exchange->at++;
        if (!value_is_object(task) || task_has_expired(task) || strlen(id) != 32) continue;
        tn_release(exchange->task);
        exchange->task = tn_retain(task);
        task_set_id(exchange, id);
        task_ask_take(exchange, "thread/get", tn_build("{s:s}", "thread_id", exchange->thread), on_listed_thread);
        return;
    }
    exchange_result_take(exchange, tn_build("{s:v}", "tasks", exchange->made));
}

static void on_found(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok) {
        exchange_fail_with(exchange, value);
        return;
    }
    exchange->found = tn_retain(tn_get(value, "memories"));
    exchange->made = tn_build("[]");
    list_next(exchange);
}

/* A user has so few tasks that they are one page. */
void method_task_list(struct exchange *exchange) {
    if (tn_get(exchange->params, "cursor") != NULL)
        fail(exchange, MCPS_INVALID_PARAMS, "`cursor` is not one that this server has returned");
    else
        task_ask_take(exchange, "memory/search",
                      tn_build("{s:V, s:i}", "namespace", tasks_namespace(), "limit", 2 * MCPS_TASKS_MAX), on_found);
}

/* ---- tasks/update ---- */

static void on_acknowledged(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        acknowledge(exchange);
    else
        exchange_fail_with(exchange, value);
}

static void acknowledge_resumed(void *argument) {
    struct exchange *exchange = argument;
    exchange->post = 0;
    acknowledge(exchange);
}

static void on_resumed(void *user, const char *run_id) {
    (void)run_id;
    task_answer_later(user, acknowledge_resumed);
}

static void on_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    (void)user, (void)event, (void)seq, (void)missed;
}

/* The answers were refused: the client is asked again, with other keys. */
static void on_refused(void *user, tn_value report) {
    const struct exchange *exchange = user;
    tn_value error = tn_get(report, "error");
    if (exchange->post != 0) return; /* it has started */
    if (serving_is(tn_get(error, "code"), "INVALID_INPUT"))
        acknowledge(user);
    else
        exchange_fail_with(user, error);
}

static void resume(struct exchange *exchange, bool ok, tn_value value) {
    static const struct serving_run_handler handler = {on_resumed, on_event, on_refused};
    if (!ok) {
        exchange_fail_with(exchange, value);
        return;
    }
    exchange->run = serving_run_start(&exchange->plugin->serving, exchange->caller, "run/resume",
                                      task_resume_params(exchange, exchange->found), &handler, exchange);
    if (exchange->run == NULL) fail(exchange, MCPS_INTERNAL, "memory ran out");
}

/* The responses so far, with those of the request that answer something: new. */
static tn_value merge_responses(const struct exchange *exchange, tn_value questions) {
    tn_value given = tn_get(exchange->params, "inputResponses"), before = tn_get(exchange->task, "responses");
    tn_value all = before != NULL ? tn_retain(before) : tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(questions); i < count; i++) {
        const char *key = tn_get_text(tn.value->at(questions, i), "key", "");
        tn_value response = tn_get(given, key);
        if (response != NULL) all = tn_set_take(all, key, tn_retain(response));
    }
    return all;
}

static tn_value next_round(const struct exchange *exchange) {
    tn_value task = value_without(exchange->task, "responses");
    return tn_set_take(task, "round", tn_int(task_number(exchange->task, "round") + 1));
}

static void update_with_entry(struct exchange *exchange) {
    tn_value capabilities = tn_get(exchange->task, "capabilities"), answers = NULL, missing = NULL;
    exchange->entry =
        tn_retain(catalogue_find(exchange->catalogue, "tools", "name", tn_get_text(exchange->task, "tool", "")));
    if (exchange->entry == NULL) {
        fail(exchange, MCPS_INTERNAL, "the tool of the task does not exist any more");
        return;
    }
    tn_value questions = task_questions(exchange), responses = merge_responses(exchange, questions);
    tn_value requests = questions_requests(questions, capabilities, &missing);
    bool all = requests != NULL && tn.value->count(responses) >= tn.value->count(requests);
    enum questions_state state = questions_answer(questions, capabilities, responses, &answers);
    tn_value task = state == QUESTIONS_DECLINED ? tn_set_take(tn_retain(exchange->task), "cancelled", tn_bool(1))
                    : state == QUESTIONS_COMPLETE || all
                        ? next_round(exchange) /* complete, or in the wrong form: asked again */
                        : tn_set_take(tn_retain(exchange->task), "responses", tn_retain(responses));
    tn_value owned[] = {questions, responses, requests, missing};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) tn_release(owned[i]);
    exchange->found = answers;
    task_write_take(exchange, task, state == QUESTIONS_COMPLETE ? resume : on_acknowledged);
}

static void update_then(struct exchange *exchange) {
    if (task_status(exchange) == TASK_INPUT_REQUIRED)
        exchange_with_catalogue(exchange, update_with_entry);
    else
        acknowledge(exchange); /* nothing is asked any more */
}

void method_task_update(struct exchange *exchange) {
    if (value_is_object(tn_get(exchange->params, "inputResponses")))
        task_hold(exchange, update_then);
    else
        fail(exchange, MCPS_INVALID_PARAMS, "`inputResponses` must be an object");
}

/* ---- tasks/cancel ---- */

static void on_run_cancelled(struct exchange *exchange, bool ok, tn_value value) {
    (void)ok, (void)value; /* the run may have ended, or wait */
    exchange_result_take(exchange, exchange->modern ? tn_build("{}") : task_value(exchange, TASK_CANCELLED));
}

static void on_marked(struct exchange *exchange, bool ok, tn_value value) {
    const char *run_id = tn_get_text(exchange->record, "run_id", NULL);
    if (!ok)
        exchange_fail_with(exchange, value);
    else if (run_id == NULL)
        on_run_cancelled(exchange, true, NULL);
    else
        task_ask_take(exchange, "run/cancel", tn_build("{s:s}", "run_id", run_id), on_run_cancelled);
}

static void cancel_then(struct exchange *exchange) {
    enum task_status status = task_status(exchange);
    bool ended = status != TASK_WORKING && status != TASK_INPUT_REQUIRED;
    if (ended && exchange->modern)
        acknowledge(exchange);
    else if (ended)
        fail(exchange, MCPS_INVALID_PARAMS, "the task has ended already");
    else
        task_write_take(exchange, tn_set_take(tn_retain(exchange->task), "cancelled", tn_bool(1)), on_marked);
}

void method_task_cancel(struct exchange *exchange) { task_hold(exchange, cancel_then); }
