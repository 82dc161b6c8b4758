/*
 * operations.c - GetTask, CancelTask, SubscribeToTask and ListTasks.
 */
#include "task.h"

static void no_task(struct exchange *exchange, tn_value error) {
    if (error != NULL)
        exchange_fail_of(exchange, error);
    else
        exchange_fail(exchange, A2A_TASK_NOT_FOUND, "the task was not found");
}

bool exchange_has_task(struct exchange *exchange, const struct task *task, tn_value error) {
    bool found = task != NULL && strcmp(task->graph, exchange->graph) == 0;
    if (!found) no_task(exchange, error);
    return found;
}

/* historyLength: -1 if it is absent; -2, and the request is answered, if it is not valid. */
static int64_t history_length(struct exchange *exchange) {
    tn_value given = tn_get(exchange->params, "historyLength");
    int64_t length = tn_get_int(exchange->params, "historyLength", -1);
    if (given == NULL || length >= 0) return length;
    exchange_fail(exchange, A2A_INVALID_PARAMS, "historyLength must be an integer from 0 on");
    return -2;
}

static void load(struct exchange *exchange, task_then *then) {
    const char *id = tn_get_text(exchange->params, "id", NULL);
    if (id == NULL)
        exchange_fail(exchange, A2A_INVALID_PARAMS, "`id` must be a string; it is required");
    else
        task_load(exchange, id, then);
}

static void follow(struct exchange *exchange, struct task *task, const struct follower *how) {
    if (!task_follow(task, exchange, how)) exchange_abort(exchange);
}

/* ---- GetTask ---- */

static void on_get(struct exchange *exchange, struct task *task, tn_value error) {
    if (!exchange_has_task(exchange, task, error)) return;
    int64_t history = history_length(exchange);
    if (history >= -1) exchange_reply(exchange, RESULT_TASK, task_value(task, history, true));
}

void get_begin(struct exchange *exchange) { load(exchange, on_get); }

/* ---- CancelTask ---- */

static void on_cancel(struct exchange *exchange, struct task *task, tn_value error) {
    struct follower how = {.history = -1, .cancels = true};
    if (!exchange_has_task(exchange, task, error)) return;
    if (task_is_ended(task)) {
        exchange_fail(exchange, A2A_NOT_CANCELABLE, "the task is at its end");
        return;
    }
    if (task_follow(task, exchange, &how))
        task_cancel(task);
    else
        exchange_abort(exchange);
}

void cancel_begin(struct exchange *exchange) { load(exchange, on_cancel); }

/* ---- SubscribeToTask ---- */

static void on_subscribe(struct exchange *exchange, struct task *task, tn_value error) {
    struct follower how = {.history = -1, .streams = true, .subscribed = true};
    if (!exchange_has_task(exchange, task, error)) return;
    if (task_is_ended(task))
        exchange_fail(exchange, A2A_UNSUPPORTED, "the task is at its end: get it instead");
    else
        follow(exchange, task, &how);
}

void subscribe_begin(struct exchange *exchange) { load(exchange, on_subscribe); }

/* ---- ListTasks ---- */

struct list {
    uint64_t call; /* open */
    tn_value ids;  /* of the tasks that match, but for their status */
    uint64_t next; /* in `ids` */
    tn_value tasks;
    int64_t size, history;
    bool artifacts;
};

static void list_free(struct exchange *exchange, struct list *list) {
    serving_cancel(&exchange->a2a->serving, list->call);
    tn_release(list->ids);
    tn_release(list->tasks);
    serving_free(list);
}

void list_drop(struct exchange *exchange) {
    if (exchange->then_object != NULL) list_free(exchange, exchange->then_object);
    exchange->then_object = NULL;
}

static void list_event(struct exchange *exchange, int32_t event) {
    if (event == TN_SERVER_CLOSED) list_free(exchange, exchange->object);
}

static void list_end(struct exchange *exchange, struct list *list) {
    uint64_t count = tn.value->count(list->ids);
    const char *token = "";
    if (list->next < count && list->next > 0) token = tn_chars(tn.value->at(list->ids, list->next - 1), NULL);
    tn_value result = tn_build("{s:v, s:s, s:I, s:I}", "tasks", list->tasks, "nextPageToken", token, "pageSize",
                               list->size, "totalSize", (int64_t)count);
    exchange->object = NULL;
    exchange->on_event = NULL;
    list_free(exchange, list);
    exchange_reply(exchange, RESULT_OTHER, result);
}

static void list_next(struct exchange *exchange, struct list *list);

static void on_listed_task(struct exchange *exchange, struct task *task, tn_value error) {
    struct list *list = exchange->then_object;
    tn_value status = tn_get(exchange->params, "status");
    exchange->then_object = NULL;
    if (error != NULL && error_kind_of(error) == A2A_LIMIT) {
        list_free(exchange, list);
        exchange_fail_of(exchange, error);
        return;
    } /* otherwise it was deleted meanwhile */
    exchange->object = list;
    exchange->on_event = list_event;
    if (task != NULL && (status == NULL || serving_is(status, task->state)))
        (void)tn_append_take(&list->tasks, task_value(task, list->history, list->artifacts));
    list_next(exchange, list);
}

static void list_next(struct exchange *exchange, struct list *list) {
    const char *id = tn_chars(tn.value->at(list->ids, list->next), NULL);
    if (id == NULL || (int64_t)tn.value->count(list->tasks) >= list->size) {
        list_end(exchange, list);
        return;
    }
    list->next++;
    exchange->then_object = list;
    task_load(exchange, id, on_listed_task);
}

/* The id as the user knows it: without `@OWNER:`. */
static const char *own_id(const struct exchange *exchange, const char *id) {
    size_t length = strlen(exchange->owner);
    bool own = length > 0 && id[0] == '@' && strncmp(id + 1, exchange->owner, length) == 0 && id[length + 1] == ':';
    return own ? id + length + 2 : id;
}

static bool matches(const struct exchange *exchange, tn_value thread) {
    tn_value saved = task_saved(thread), context = tn_get(exchange->params, "contextId");
    const char *after = tn_get_text(exchange->params, "statusTimestampAfter", NULL);
    if (saved == NULL || !serving_is(tn_get(saved, "graph"), exchange->graph)) return false;
    if (after != NULL && strcmp(tn_get_text(thread, "updated_at", ""), after) < 0) return false;
    return context == NULL || serving_is(context, "") || tn.value->equal(context, tn_get(saved, "context")) == 1;
}

static void TN_ABI on_threads(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    struct list *list = exchange->object;
    tn_value threads = tn_get(value, "threads");
    const char *token = tn_get_text(exchange->params, "pageToken", "");
    bool found = *token == '\0';
    list->call = 0;
    for (uint64_t i = 0, count = status == TN_OK ? tn.value->count(threads) : 0; i < count; i++) {
        tn_value thread = tn.value->at(threads, i);
        if (!matches(exchange, thread)) continue;
        const char *id = own_id(exchange, tn_get_text(thread, "thread_id", ""));
        (void)tn_append_take(&list->ids, tn_text(id));
        if (found || strcmp(id, token) != 0) continue;
        found = true;
        list->next = tn.value->count(list->ids);
    }
    if (status == TN_OK && found) {
        list_next(exchange, list);
        return;
    }
    exchange->object = NULL;
    exchange->on_event = NULL;
    list_free(exchange, list);
    if (status != TN_OK)
        exchange_fail_of(exchange, value);
    else
        exchange_fail(exchange, A2A_INVALID_PARAMS, "pageToken is not one of this list");
}

/* A time as records have it: "2026-01-31T12:00:00.000Z". */
static bool is_time(const char *text) {
    static const char form[] = "0000-00-00T00:00:00";
    size_t i = 0;
    for (; form[i] != '\0'; i++)
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
    return text[i] == 'Z' || text[i] == '.' || text[i] == '+' || text[i] == '-';
}

static bool list_check(const struct exchange *exchange, int64_t size, struct a2a_problem *problem) {
    static const char *const texts[] = {"contextId", "status", "pageToken", "statusTimestampAfter"};
    const char *status = tn_get_text(exchange->params, "status", NULL);
    const char *after = tn_get_text(exchange->params, "statusTimestampAfter", NULL);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tn_value member = tn_get(exchange->params, texts[i]);
        if (member != NULL && tn.value->kind(member) != TN_STRING)
            return problem_set(problem, A2A_INVALID_PARAMS, "%s must be a string", texts[i]);
    }
    if (size < 1 || size > PAGE_MAX)
        return problem_set(problem, A2A_INVALID_PARAMS, "pageSize must be an integer from 1 to %d", PAGE_MAX);
    if (status != NULL && !wire_state_is_known(status))
        return problem_set(problem, A2A_INVALID_PARAMS, "status: found %.40s, expected a TASK_STATE_… of 1.0", status);
    if (after != NULL && !is_time(after))
        return problem_set(problem, A2A_INVALID_PARAMS,
                           "statusTimestampAfter: expected a time such as 2026-01-31T12:00:00Z");
    return true;
}

void list_begin(struct exchange *exchange) {
    struct a2a_problem problem;
    tn_value given = tn_get(exchange->params, "pageSize");
    int64_t size = tn_get_int(exchange->params, "pageSize", given == NULL ? PAGE_DEFAULT : 0);
    int64_t history = history_length(exchange);
    if (history < -1) return;
    if (!list_check(exchange, size, &problem)) {
        exchange_problem(exchange, &problem);
        return;
    }
    struct list *list = serving_alloc(sizeof *list);
    if (list == NULL) {
        exchange_abort(exchange);
        return;
    }
    *list = (struct list){.size = size,
                          .history = history,
                          .artifacts = serving_true(tn_get(exchange->params, "includeArtifacts")),
                          .ids = tn_build("[]"),
                          .tasks = tn_build("[]")};
    exchange->object = list;
    exchange->on_event = list_event;
    serving_call_take(&exchange->a2a->serving, exchange->caller, "thread/list", tn_build("{s:i}", "limit", LIST_MAX),
                      on_threads, exchange, &list->call);
}
