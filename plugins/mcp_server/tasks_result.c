/*
 * tasks_result.c - tasks/result of 2025-11-25: waits for the end of a task, and asks its questions meanwhile.
 */
#include "catalogue.h"
#include "tasks.h"

static void result_then(struct exchange *exchange);

static void fail(struct exchange *exchange, const char *text) {
    struct problem problem = {0};
    (void)problem_set(&problem, 200, MCPS_INTERNAL, "%s", text);
    exchange_fail(exchange, &problem);
}

/* The result names its task. Takes it. */
tn_value task_result_take(const struct exchange *exchange, tn_value result) {
    tn_value meta = tn_get(result, "_meta");
    meta = value_is_object(meta) ? tn_retain(meta) : tn_build("{}");
    meta = tn_set_take(meta, MCPS_RELATED_TASK, tn_build("{s:s}", "taskId", exchange->task_id));
    return result != NULL ? tn_set_take(result, "_meta", meta) : (tn_release(meta), result);
}

static void have_result(struct exchange *exchange, tn_value result, struct problem *problem) {
    if (problem->status == 0) {
        exchange_result_take(exchange, task_result_take(exchange, result));
        return;
    }
    tn_release(result);
    exchange_fail(exchange, problem);
}

/* ---- Waiting ---- */

static void look_again(void *argument) {
    struct exchange *exchange = argument;
    exchange->post = 0;
    task_read(exchange, result_then);
}

static void look_later(struct exchange *exchange) {
    exchange->post = tn_post(MCPS_TASK_POLL_MS, look_again, exchange);
    if (exchange->post == 0) fail(exchange, "memory ran out");
}

static void on_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    (void)user, (void)event, (void)seq, (void)missed;
}

static void on_end(void *user, tn_value report) {
    struct exchange *exchange = user;
    tn_value started = tn_get(report, "started");
    serving_run_close(exchange->run);
    exchange->run = NULL;
    if (serving_is(tn_get(report, "status"), "stopped"))
        fail(exchange, "the server ends; ask for the result of the task again");
    else if (started != NULL && !serving_true(started))
        look_later(exchange); /* another host has the run */
    else
        task_read(exchange, result_then);
}

static void wait_for_run(struct exchange *exchange) {
    static const struct serving_run_handler handler = {NULL, on_event, on_end};
    const char *run_id = tn_get_text(exchange->record, "run_id", NULL);
    if (run_id == NULL) {
        look_later(exchange); /* it has not begun */
        return;
    }
    exchange->run = serving_run_follow(&exchange->plugin->serving, exchange->caller, run_id, 0, &handler, exchange);
    if (exchange->run == NULL) fail(exchange, "memory ran out");
}

static void ask_with_entry(struct exchange *exchange) {
    tn_release(exchange->entry);
    exchange->entry =
        tn_retain(catalogue_find(exchange->catalogue, "tools", "name", tn_get_text(exchange->task, "tool", "")));
    if (exchange->entry == NULL)
        fail(exchange, "the tool of the task does not exist any more");
    else
        call_ask(exchange, exchange->record);
}

static void result_then(struct exchange *exchange) {
    switch (task_status(exchange)) {
    case TASK_WORKING: wait_for_run(exchange); break;
    case TASK_INPUT_REQUIRED:
        tn_release(exchange->catalogue);
        exchange->catalogue = NULL;
        exchange_with_catalogue(exchange, ask_with_entry);
        break;
    case TASK_COMPLETED: task_read_result(exchange, have_result); break;
    case TASK_CANCELLED: fail(exchange, "the task was cancelled"); break;
    case TASK_FAILED: fail(exchange, "the task was lost, or has waited for an answer for too long"); break;
    }
}

void method_task_result(struct exchange *exchange) { task_read(exchange, result_then); }

/* ---- Questions that are not answered ---- */

static void on_marked(struct exchange *exchange, bool ok, tn_value value) {
    (void)ok, (void)value;
    fail(exchange, "the task was cancelled, because its question was declined");
}

void task_give_up(struct exchange *exchange, bool declined, const char *text) {
    if (declined)
        task_write_take(exchange, tn_set_take(tn_retain(exchange->task), "cancelled", tn_bool(1)), on_marked);
    else
        fail(exchange, text); /* another request can answer */
}
