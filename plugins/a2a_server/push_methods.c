/*
 * push_methods.c - the methods of push notifications: configurations of a task are created, read, listed and deleted.
 */
#include "push.h"
#include "task.h"

/* In HTTP+JSON, the ids stand in the path. */
static const char *id_of(const struct exchange *exchange, const char *in_path, const char *in_params) {
    const char *id = tn_get_text(tn_get(exchange->request, "params"), in_path, NULL);
    return id != NULL && exchange->id == NULL ? id : tn_get_text(exchange->params, in_params, NULL);
}

static const char *task_id(const struct exchange *exchange) { return id_of(exchange, "id", "taskId"); }

static const char *config_id(const struct exchange *exchange) { return id_of(exchange, "config", "id"); }

static void load(struct exchange *exchange, task_then *then) {
    const char *id = task_id(exchange);
    if (exchange->a2a->http == NULL)
        exchange_fail(exchange, A2A_NO_PUSH, "the agent does not send push notifications: subscribe to the task");
    else if (id == NULL)
        exchange_fail(exchange, A2A_INVALID_PARAMS, "the id of the task must be a string; it is required");
    else
        task_load(exchange, id, then);
}

/* ---- The answer waits until the store has the change ---- */

struct saving {
    struct exchange *exchange;
    tn_value result;
    uint64_t call; /* open */
};

static void saving_free(struct saving *saving) {
    serving_cancel(&saving->exchange->a2a->serving, saving->call);
    tn_release(saving->result);
    serving_free(saving);
}

static void saving_event(struct exchange *exchange, int32_t event) {
    if (event == TN_SERVER_CLOSED) saving_free(exchange->object);
}

/* A host without memories has them in this process only. */
static void TN_ABI on_saved(void *user, int32_t status, tn_value value) {
    struct saving *saving = user;
    struct exchange *exchange = saving->exchange;
    tn_value result = tn_retain(saving->result);
    bool saved = status == TN_OK || serving_is(tn_get(value, "code"), "UNSUPPORTED");
    saving->call = 0;
    exchange->object = NULL;
    exchange->on_event = NULL;
    saving_free(saving);
    if (saved) {
        exchange_reply(exchange, RESULT_OTHER, result);
    } else {
        tn_release(result);
        exchange_fail_of(exchange, value);
    }
}

/* Takes the result. */
static void save_and_reply(struct exchange *exchange, const struct task *task, tn_value result) {
    struct saving *saving = serving_alloc(sizeof *saving);
    if (saving == NULL || result == NULL) {
        serving_free(saving);
        tn_release(result);
        exchange_abort(exchange);
        return;
    }
    *saving = (struct saving){.exchange = exchange, .result = result};
    exchange->object = saving;
    exchange->on_event = saving_event;
    push_save(task, exchange->caller, on_saved, saving, &saving->call);
}

/* ---- Methods ---- */

static void on_create(struct exchange *exchange, struct task *task, tn_value error) {
    struct a2a_problem problem;
    if (!exchange_has_task(exchange, task, error)) return;
    tn_value config = push_config_read(exchange->a2a, exchange->params, exchange->old ? task->id : NULL, &problem);
    if (config == NULL) {
        exchange_problem(exchange, &problem);
        return;
    }
    if (push_add(task, config, exchange->old))
        save_and_reply(exchange, task,
                       push_config_value(push_find(task, tn_get_text(config, "id", "")), exchange->old));
    else
        exchange_fail(exchange, A2A_LIMIT, "the task has too many configurations of push notifications");
    tn_release(config);
}

void push_create_begin(struct exchange *exchange) { load(exchange, on_create); }

static void on_get(struct exchange *exchange, struct task *task, tn_value error) {
    const char *id = config_id(exchange);
    if (!exchange_has_task(exchange, task, error)) return;
    const struct push *push = push_find(task, id != NULL ? id : task->id);
    if (push == NULL && exchange->old && id == NULL) push = task->pushes;
    if (push != NULL)
        exchange_reply(exchange, RESULT_OTHER, push_config_value(push, exchange->old));
    else if (id == NULL && !exchange->old)
        exchange_fail(exchange, A2A_INVALID_PARAMS, "`id` must be a string; it is required");
    else
        exchange_fail(exchange, A2A_TASK_NOT_FOUND, "the task has no such configuration of push notifications");
}

void push_get_begin(struct exchange *exchange) { load(exchange, on_get); }

static void on_list(struct exchange *exchange, struct task *task, tn_value error) {
    if (!exchange_has_task(exchange, task, error)) return;
    tn_value configs = tn_build("[]");
    for (const struct push *push = task->pushes; push != NULL; push = push->next)
        (void)tn_append_take(&configs, push_config_value(push, exchange->old));
    exchange_reply(exchange, RESULT_OTHER, exchange->old ? configs : tn_build("{s:V}", "configs", configs));
}

void push_list_begin(struct exchange *exchange) { load(exchange, on_list); }

static void on_delete(struct exchange *exchange, struct task *task, tn_value error) {
    const char *id = config_id(exchange);
    if (!exchange_has_task(exchange, task, error)) return;
    if (id == NULL) {
        exchange_fail(exchange, A2A_INVALID_PARAMS, "the id of the configuration must be a string; it is required");
        return;
    }
    struct push *push = push_find(task, id);
    if (push != NULL) push_remove(push);
    save_and_reply(exchange, task,
                   exchange->old ? tn_null() : tn_build("{}")); /* an earlier one may have failed here */
}

void push_delete_begin(struct exchange *exchange) { load(exchange, on_delete); }
