/*
 * tasks_begin.c - which calls become tasks, and how they begin.
 */
#include "catalogue.h"
#include "session.h"
#include "tasks.h"
#include <time.h>

/* ---- Which calls ---- */

static bool has_extension(const struct exchange *exchange) {
    return value_is_object(tn_get(tn_get(exchange->capabilities, "extensions"), MCPS_TASKS_EXTENSION));
}

bool task_check_extension(const struct exchange *exchange, struct problem *problem) {
    if (has_extension(exchange)) return true;
    problem->data = tn_build("{s:{s:{s:{}}}}", "requiredCapabilities", "extensions", MCPS_TASKS_EXTENSION);
    return problem_set(problem, 400, MCPS_MISSING_CAPABILITY,
                       "this needs the extension " MCPS_TASKS_EXTENSION ", which the client has not declared");
}

bool task_is_wanted(const struct exchange *exchange, bool *begins, struct problem *problem) {
    bool serves = serving_true(tn_get(exchange->plugin->config, "tasks")) && tn_get(exchange->entry, "tool") == NULL;
    const char *support =
        serves ? tn_get_text(tn_get(tn_get(exchange->entry, "shown"), "execution"), "taskSupport", "") : "";
    bool required = strcmp(support, "required") == 0, supported = required || strcmp(support, "optional") == 0;
    *begins = false;
    if (exchange->modern) {
        if (required && !task_check_extension(exchange, problem)) return false;
        *begins = supported && has_extension(exchange);
        return true;
    }
    if (strcmp(exchange->session->version, MCPS_LEGACY) < 0) return true; /* it knows no tasks */
    bool wanted = value_is_object(tn_get(exchange->params, "task"));
    if (wanted && !supported)
        return problem_set(problem, 200, MCPS_METHOD_NOT_FOUND, "the tool cannot be called as a task");
    if (required && !wanted)
        return problem_set(problem, 200, MCPS_METHOD_NOT_FOUND, "the tool must be called as a task");
    *begins = wanted;
    return true;
}

static tn_value time_text(int64_t ms) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    char day[24], text[40];
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text, sizeof text, "%s.%03dZ", day, (int)(ms % 1000));
    return tn_text(text);
}

/* What the client wishes (2025-11-25), within the limits. */
static int64_t ttl_of(const struct exchange *exchange) {
    tn_value wished = exchange->modern ? NULL : tn_get(tn_get(exchange->params, "task"), "ttl");
    double ttl = 0;
    if (wished == NULL || tn.value->as_double(wished, &ttl) != TN_OK) return MCPS_TASK_TTL_MS;
    return ttl < MCPS_TASK_TTL_MIN_MS   ? MCPS_TASK_TTL_MIN_MS
           : ttl > MCPS_TASK_TTL_MAX_MS ? MCPS_TASK_TTL_MAX_MS
                                        : (int64_t)ttl;
}

/* ---- Beginning ---- */

static void answer_begun(void *argument) {
    struct exchange *exchange = argument;
    tn_value task = task_value(exchange, TASK_WORKING);
    exchange->post = 0;
    if (exchange->modern)
        exchange_result_take(exchange, tn_set_take(task, "resultType", tn_text("task")));
    else
        exchange_result_take(exchange, tn_build("{s:V}", "task", task));
}

void task_answer_later(struct exchange *exchange, void (*answer)(void *exchange)) {
    exchange->post = tn_post(0, answer, exchange); /* without memory, the end of the run answers */
}

static void on_started(void *user, const char *run_id) {
    (void)run_id;
    task_answer_later(user, answer_begun);
}

static void on_event(void *user, tn_value event, uint64_t seq, uint64_t missed) {
    (void)user, (void)event, (void)seq, (void)missed;
}

/* Before it has started: the host has refused it. */
static void on_end(void *user, tn_value report) {
    struct exchange *exchange = user;
    if (exchange->post != 0) return; /* it has started, and is answered soon */
    task_remove(exchange, exchange->task_id);
    tn_release(exchange->task);
    exchange->task = NULL;
    exchange->task_id[0] = '\0';
    call_end(exchange, report);
}

static void on_written(struct exchange *exchange, bool ok, tn_value value) {
    static const struct serving_run_handler handler = {on_started, on_event, on_end};
    struct problem problem = {0};
    if (!ok) {
        exchange_fail_with(exchange, value);
        return;
    }
    tn_value input = catalogue_input(exchange->entry, exchange->method->name, exchange->params, NULL);
    tn_value params = tn_build("{s:v, s:V, s:[s], s:{s:s}}", "document", tn_get(exchange->entry, "document"), "input",
                               input, "modes", "custom", "config", "thread_id", exchange->thread);
    exchange->run =
        serving_run_start(&exchange->plugin->serving, exchange->caller, "run/start", params, &handler, exchange);
    if (exchange->run != NULL) return;
    (void)problem_set(&problem, 500, MCPS_INTERNAL, "memory ran out");
    exchange_fail(exchange, &problem);
}

/* What of the client's capabilities the questions of the task need. */
static tn_value known_capabilities(tn_value declared) {
    tn_value elicitation = tn_get(declared, "elicitation");
    bool pages = tn_get(elicitation, "url") != NULL;
    tn_value forms = value_is_object(elicitation) ? (pages ? tn_build("{s:{}}", "url") : tn_build("{}")) : NULL;
    return tn_build("{s:V*, s:V*, s:V*}", "elicitation", forms, "sampling",
                    value_is_object(tn_get(declared, "sampling")) ? tn_build("{}") : NULL, "roots",
                    value_is_object(tn_get(declared, "roots")) ? tn_build("{}") : NULL);
}

/* Others of the user that begin now. */
static uint64_t others_begin(const struct exchange *exchange) {
    uint64_t count = 0;
    for (const struct exchange *other = exchange->plugin->exchanges; other != NULL; other = other->next)
        count += other != exchange && other->begins_task && task_same_user(other, exchange);
    return count;
}

static void on_listed(struct exchange *exchange, bool ok, tn_value value) {
    tn_value memories = tn_get(value, "memories");
    struct problem problem = {0};
    char id[33];
    uint64_t kept = others_begin(exchange);
    if (!ok) {
        exchange_fail_with(exchange, value);
        return;
    }
    for (uint64_t i = 0, count = tn.value->count(memories); i < count; i++) {
        tn_value memory = tn.value->at(memories, i);
        if (task_has_expired(tn_get(memory, "value")))
            task_remove(exchange, tn_get_text(memory, "key", ""));
        else
            kept++;
    }
    if (kept >= MCPS_TASKS_MAX) {
        (void)problem_set(&problem, 429, MCPS_INTERNAL,
                          "a user has at most %d tasks; wait until the time of one is over", MCPS_TASKS_MAX);
        exchange_fail(exchange, &problem);
        return;
    }
    int64_t now = tn.core->wall_ms(tn.host);
    serving_random_hex(id, 32);
    task_set_id(exchange, id);
    task_write_take(exchange,
                    tn_build("{s:v, s:V, s:I, s:I, s:V, s:i}", "tool", tn_get(exchange->params, "name"), "created_at",
                             time_text(now), "created_ms", now, "ttl_ms", ttl_of(exchange), "capabilities",
                             known_capabilities(exchange->capabilities), "round", 0),
                    on_written);
}

void task_create(struct exchange *exchange) {
    exchange->begins_task = true;
    task_ask_take(exchange, "memory/search",
                  tn_build("{s:V, s:i}", "namespace", tasks_namespace(), "limit", 2 * MCPS_TASKS_MAX), on_listed);
}
