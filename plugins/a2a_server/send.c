/*
 * send.c - SendMessage and SendStreamingMessage: a new task, or a message for one that waits.
 */
#include "push.h"
#include "task.h"

struct send {
    struct exchange *exchange;
    struct serving_lookup *lookup; /* open */
    struct follower how;
    bool continues; /* the message names a task */
};

static void send_free(struct send *send) {
    serving_graphs_cancel(send->lookup);
    serving_free(send);
}

static struct exchange *send_end(struct send *send) {
    struct exchange *exchange = send->exchange;
    exchange->object = NULL;
    exchange->on_event = NULL;
    send_free(send);
    return exchange;
}

static void send_event(struct exchange *exchange, int32_t event) {
    if (event == TN_SERVER_CLOSED) send_free(exchange->object);
}

/* ---- Runs ---- */

/* Parameters of run/start or run/resume; takes `value`, its `input` or `answers`. New. */
static tn_value run_params(const struct task *task, const struct serving_graph *graph, const char *last_input,
                           const char *name, tn_value value) {
    return tn_build("{s:s, s:{s:s, s:V}, s:V, s:V}", "document", graph->document, "config", "thread_id", task->id,
                    "metadata", task_metadata(task, last_input), "modes",
                    tn_from_json(SERVING_MODES, strlen(SERVING_MODES)), name, value);
}

/* The configuration of push notifications in the request, if there is one: false, and the request is answered, if the
 * task has too many. It was checked before. */
static bool add_push(struct exchange *exchange, struct task *task) {
    struct a2a_problem problem;
    tn_value given = tn_get(tn_get(exchange->params, "configuration"), "taskPushNotificationConfig");
    if (given == NULL) return true;
    tn_value config = push_config_read(exchange->a2a, given, exchange->old ? task->id : NULL, &problem);
    bool added = config != NULL && push_add(task, config, exchange->old);
    tn_release(config);
    if (added)
        push_save(task, exchange->caller, NULL, NULL, NULL);
    else
        exchange_fail(exchange, A2A_LIMIT, "the task has too many configurations of push notifications");
    return added;
}

/* False, and the request is answered, if the message is too much for this user. */
static bool has_room(struct exchange *exchange, const struct task *task) {
    uint64_t bytes = serving_json_size(tn_get(exchange->params, "message"));
    bool has = tasks_make_room(exchange->a2a, exchange->owner, task, bytes);
    if (!has) exchange_fail(exchange, A2A_LIMIT, TASKS_FULL);
    return has;
}

/* Takes `value`. Frees the task if it cannot run. */
static void run_task(struct exchange *exchange, const struct follower *how, struct task *task,
                     const struct serving_graph *graph, const char *method, const char *name, tn_value value) {
    tn_value message = tn_get(exchange->params, "message");
    const char *last_input = tn_get_text(message, "messageId", "");
    task->caller = exchange->caller;
    task_add_message(task, message);
    if (!task_follow(task, exchange, how)) {
        tn_release(value);
        exchange_abort(exchange);
        return;
    }
    tn_value params = run_params(task, graph, last_input, name, value);
    if (!task_run(task, graph, last_input, method, params)) task_free(task);
}

static void start_task(struct exchange *exchange, const struct follower *how, const struct serving_graph *graph) {
    struct a2a_problem problem;
    tn_value message = tn_get(exchange->params, "message"), input = message_input(message, graph, &problem);
    char id[37], context[37];
    serving_random_hex(id, 32);
    serving_random_hex(context, 32);
    if (input == NULL) {
        exchange_problem(exchange, &problem);
        return;
    }
    struct task *task = task_new(exchange->a2a, exchange->caller, exchange->owner, id,
                                 tn_get_text(message, "contextId", context), graph->name);
    if (task == NULL) exchange_fail(exchange, A2A_LIMIT, TASKS_FULL);
    if (task == NULL || !has_room(exchange, task) || !add_push(exchange, task)) {
        tn_release(input);
        if (task != NULL) task_free(task);
        return;
    }
    run_task(exchange, how, task, graph, "run/start", "input", input);
}

/* False, with the problem, if the task cannot take the message. */
static bool can_continue(const struct exchange *exchange, const struct task *task, struct a2a_problem *problem) {
    tn_value context = tn_get(tn_get(exchange->params, "message"), "contextId");
    if (task == NULL || strcmp(task->graph, exchange->graph) != 0)
        return problem_set(problem, A2A_TASK_NOT_FOUND, "the task was not found");
    if (context != NULL && !serving_is(context, task->context))
        return problem_set(problem, A2A_INVALID_PARAMS, "message.contextId is not that of the task");
    if (task_is_ended(task))
        return problem_set(problem, A2A_UNSUPPORTED, "the task is at its end: send the message without `taskId`");
    if (task->asked == NULL)
        return problem_set(problem, A2A_UNSUPPORTED, "the task works; wait until it asks, or send a new task");
    return true;
}

static void continue_task(struct exchange *exchange, const struct follower *how, const struct serving_graph *graph) {
    tn_value message = tn_get(exchange->params, "message");
    struct task *task = task_find(exchange->a2a, exchange->owner, tn_get_text(message, "taskId", ""));
    struct a2a_problem problem;
    tn_value answers = can_continue(exchange, task, &problem) ? message_answers(message, task->asked, &problem) : NULL;
    if (answers == NULL) {
        exchange_problem(exchange, &problem);
        return;
    }
    if (!has_room(exchange, task) || !add_push(exchange, task)) {
        tn_release(answers);
        return;
    }
    task->state = TASK_SUBMITTED;
    task->started = false;
    run_task(exchange, how, task, graph, "run/resume", "answers", answers);
}

/* ---- The request ---- */

static task_then on_loaded, on_loaded_stream;

static void on_graphs(void *user, tn_value graphs, tn_value error) {
    struct send *send = user;
    struct serving_graph graph;
    tn_value item = serving_graph_find(graphs, send->exchange->graph);
    struct follower how = send->how;
    bool continues = send->continues;
    const char *id = tn_get_text(tn_get(send->exchange->params, "message"), "taskId", "");
    send->lookup = NULL;
    struct exchange *exchange = send_end(send);
    if (item != NULL) serving_graph_read(item, &graph);
    if (error != NULL)
        exchange_fail_of(exchange, error);
    else if (item == NULL)
        exchange_fail(exchange, A2A_NO_AGENT, "there is no agent of this name");
    else if (continues && task_find(exchange->a2a, exchange->owner, id) == NULL) /* it was forgotten meanwhile */
        task_load(exchange, id, how.streams ? on_loaded_stream : on_loaded);
    else if (continues)
        continue_task(exchange, &how, &graph);
    else
        start_task(exchange, &how, &graph);
}

static bool read_how(const struct exchange *exchange, struct follower *how, struct a2a_problem *problem) {
    tn_value configuration = tn_get(exchange->params, "configuration");
    tn_value history = tn_get(configuration, "historyLength");
    how->history = tn_get_int(configuration, "historyLength", history == NULL ? -1 : -2);
    how->at_once = serving_true(tn_get(configuration, "returnImmediately"));
    if (how->history < -1 || (history != NULL && how->history < 0))
        return problem_set(problem, A2A_INVALID_PARAMS, "configuration.historyLength must be an integer from 0 on");
    tn_value push = tn_get(configuration, "taskPushNotificationConfig");
    tn_value config = push != NULL ? push_config_read(exchange->a2a, push, NULL, problem) : NULL;
    tn_release(config);
    return (push == NULL || config != NULL) && message_check(tn_get(exchange->params, "message"), problem);
}

static void look_up(struct exchange *exchange, const struct follower *how, bool continues) {
    struct send *send = serving_alloc(sizeof *send);
    if (send == NULL) {
        exchange_abort(exchange);
        return;
    }
    *send = (struct send){.exchange = exchange, .how = *how, .continues = continues};
    exchange->object = send;
    exchange->on_event = send_event;
    send->lookup = serving_graph_named(&exchange->a2a->serving, exchange->caller, exchange->graph, on_graphs, send);
    if (send->lookup == NULL) exchange_abort(exchange);
}

static void send_loaded(struct exchange *exchange, struct task *task, tn_value error, bool streams) {
    struct a2a_problem problem;
    struct follower how = {.streams = streams};
    (void)read_how(exchange, &how, &problem); /* it was checked before */
    how.streams = streams;
    if (error != NULL)
        exchange_fail_of(exchange, error);
    else if (!can_continue(exchange, task, &problem))
        exchange_problem(exchange, &problem);
    else
        look_up(exchange, &how, true);
}

static void on_loaded(struct exchange *exchange, struct task *task, tn_value error) {
    send_loaded(exchange, task, error, false);
}

static void on_loaded_stream(struct exchange *exchange, struct task *task, tn_value error) {
    send_loaded(exchange, task, error, true);
}

static void begin(struct exchange *exchange, bool streams) {
    struct a2a_problem problem;
    struct follower how = {.streams = streams};
    const char *task = tn_get_text(tn_get(exchange->params, "message"), "taskId", NULL);
    if (!read_how(exchange, &how, &problem))
        exchange_problem(exchange, &problem);
    else if (task != NULL && *task != '\0')
        task_load(exchange, task, streams ? on_loaded_stream : on_loaded);
    else
        look_up(exchange, &how, false);
}

void send_begin(struct exchange *exchange) { begin(exchange, false); }

void stream_begin(struct exchange *exchange) { begin(exchange, true); }
