/*
 * tasks.c - tasks: which calls become one, their memory and their thread, and how they begin.
 */
#include "tasks.h"
#include "catalogue.h"
#include "question.h"
#include "result.h"
#include "session.h"
#include <time.h>

#define THREAD_PREFIX "mcp-task-"

/* ---- The host ---- */

static void TN_ABI on_answer(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    exchange->step(exchange, status == TN_OK, value);
}

void task_ask_take(struct exchange *exchange, const char *method, tn_value params,
                   void (*step)(struct exchange *exchange, bool ok, tn_value value)) {
    struct problem problem = {0};
    exchange->step = step;
    serving_call_take(&exchange->plugin->serving, exchange->caller, method, params, on_answer, exchange,
                      &exchange->call);
    if (exchange->call != 0) return;
    (void)problem_set(&problem, 500, MCPS_INTERNAL, "memory ran out");
    exchange_fail(exchange, &problem);
}

static void TN_ABI on_ignored(void *user, int32_t status, tn_value value) { (void)user, (void)status, (void)value; }

static void ask_only(const struct exchange *exchange, const char *method, tn_value params) {
    serving_call_take(&exchange->plugin->serving, exchange->caller, method, params, on_ignored, NULL, NULL);
}

tn_value tasks_namespace(void) { return tn_build("[ss]", "mcp", "tasks"); }

void task_set_id(struct exchange *exchange, const char *id) {
    (void)snprintf(exchange->task_id, sizeof exchange->task_id, "%.32s", id);
    (void)snprintf(exchange->thread, sizeof exchange->thread, THREAD_PREFIX "%s", exchange->task_id);
}

void task_remove(const struct exchange *exchange, const char *id) {
    char thread[64];
    (void)snprintf(thread, sizeof thread, THREAD_PREFIX "%.40s", id);
    ask_only(exchange, "memory/delete", tn_build("{s:V, s:s}", "namespace", tasks_namespace(), "key", id));
    ask_only(exchange, "thread/delete", tn_build("{s:s, s:b}", "thread_id", thread, "force", 1));
}

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

/* ---- Times ---- */

static int64_t now_ms(void) { return tn.core->wall_ms(tn.host); }

static tn_value time_text(int64_t ms) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    char day[24], text[40];
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(text, sizeof text, "%s.%03dZ", day, (int)(ms % 1000));
    return tn_text(text);
}

bool task_has_expired(tn_value task) {
    return tn_get_int(task, "created_ms", 0) + tn_get_int(task, "ttl_ms", 0) < now_ms();
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

/* ---- A task as the client sees it ---- */

tn_value task_value(const struct exchange *exchange, enum task_status status) {
    static const char *const names[] = {"working", "input_required", "completed", "failed", "cancelled"};
    tn_value updated = tn_get(exchange->record, "updated_at");
    if (tn_chars(updated, NULL) == NULL) updated = tn_get(exchange->task, "created_at");
    return tn_build("{s:s, s:s, s:v, s:v, s:I, s:i}", "taskId", exchange->task_id, "status", names[status], "createdAt",
                    tn_get(exchange->task, "created_at"), "lastUpdatedAt", updated, exchange->modern ? "ttlMs" : "ttl",
                    tn_get_int(exchange->task, "ttl_ms", 0), exchange->modern ? "pollIntervalMs" : "pollInterval",
                    MCPS_TASK_POLL_MS);
}

enum task_status task_status(const struct exchange *exchange) {
    static const struct {
        const char *thread;
        enum task_status status;
    } rows[] = {{"running", TASK_WORKING},    {"stopped", TASK_WORKING},  {"interrupted", TASK_INPUT_REQUIRED},
                {"done", TASK_COMPLETED},     {"failed", TASK_COMPLETED}, /* a result with isError */
                {"cancelled", TASK_CANCELLED}};
    if (serving_true(tn_get(exchange->task, "cancelled"))) return TASK_CANCELLED;
    if (exchange->record == NULL) /* the host has ended before the run has begun */
        return tn_get_int(exchange->task, "created_ms", 0) + MCPS_TASK_BEGIN_MS < now_ms() ? TASK_FAILED : TASK_WORKING;
    if (serving_true(tn_get(exchange->record, "expired"))) return TASK_FAILED;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (serving_is(tn_get(exchange->record, "status"), rows[i].thread)) return rows[i].status;
    return TASK_WORKING;
}

/* ---- Reading one ---- */

static void not_found(struct exchange *exchange) {
    struct problem problem = {0};
    (void)problem_set(&problem, 200, MCPS_INVALID_PARAMS, "there is no task `%.64s`; its time may be over",
                      exchange->task_id);
    exchange_fail(exchange, &problem);
}

static void on_thread(struct exchange *exchange, bool ok, tn_value value) {
    if (!ok && !serving_is(tn_get(value, "code"), "NOT_FOUND")) {
        exchange_fail_with(exchange, value);
        return;
    }
    tn_release(exchange->record);
    exchange->record = ok ? tn_retain(value) : NULL;
    exchange->with_task(exchange);
}

static void on_memory(struct exchange *exchange, bool ok, tn_value value) {
    tn_value task = tn_get(value, "value");
    if (!ok) {
        exchange_fail_with(exchange, value);
        return;
    }
    if (!value_is_object(task)) {
        not_found(exchange);
        return;
    }
    if (task_has_expired(task)) {
        task_remove(exchange, exchange->task_id);
        not_found(exchange);
        return;
    }
    tn_release(exchange->task);
    exchange->task = tn_retain(task);
    task_ask_take(exchange, "thread/get", tn_build("{s:s}", "thread_id", exchange->thread), on_thread);
}

void task_read(struct exchange *exchange, void (*then)(struct exchange *exchange)) {
    struct problem problem = {0};
    const char *id = tn_get_text(exchange->params, "taskId", "");
    if (exchange->modern && !task_check_extension(exchange, &problem)) {
        exchange_fail(exchange, &problem);
        return;
    }
    exchange->detached = true; /* what it changes is changed as a whole */
    exchange->with_task = then;
    task_set_id(exchange, id);
    if (strlen(id) != 32 || strspn(id, "0123456789abcdef") != 32)
        not_found(exchange);
    else
        task_ask_take(exchange, "memory/get", tn_build("{s:V, s:s}", "namespace", tasks_namespace(), "key", id),
                      on_memory);
}

/* ---- One change after the other ---- */

static bool same_task(const struct exchange *a, const struct exchange *b) {
    return a != b && strcmp(a->task_id, b->task_id) == 0 && strcmp(a->owner, b->owner) == 0;
}

static void hold_now(void *argument) {
    struct exchange *exchange = argument;
    exchange->post = 0;
    exchange->holds_task = true;
    task_read(exchange, exchange->with_task);
}

void task_hold(struct exchange *exchange, void (*then)(struct exchange *exchange)) {
    exchange->with_task = then;
    exchange->detached = true;
    task_set_id(exchange, tn_get_text(exchange->params, "taskId", ""));
    for (const struct exchange *other = exchange->plugin->exchanges; other != NULL; other = other->next)
        if ((other->holds_task || other->waits_for_task) && same_task(other, exchange)) exchange->waits_for_task = true;
    if (!exchange->waits_for_task) hold_now(exchange);
}

/* The one that has waited longest is the last one of the list. */
void task_release(struct exchange *exchange) {
    struct exchange *next = NULL;
    if (exchange->post != 0) (void)tn.core->unpost(tn.host, exchange->post);
    if (!exchange->holds_task && exchange->post == 0) return;
    for (struct exchange *other = exchange->plugin->exchanges; other != NULL; other = other->next)
        if (other->waits_for_task && same_task(other, exchange)) next = other;
    if (next == NULL) return;
    next->waits_for_task = false;
    next->holds_task = true; /* so that no other one overtakes it */
    next->post = tn_post(0, hold_now, next);
}

/* ---- Its result ---- */

/* As the report of the run has it: the members of `output`, if the document has one. New. */
static tn_value output_of(tn_value entry, tn_value state) {
    tn_value members = tn_get(tn_get(tn_get(entry, "graph"), "output"), "properties"), made, key, member;
    if (!value_is_object(members)) return tn_retain(state);
    made = tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(state); i < count; i++)
        if (tn.value->entry(state, i, &key, &member) == TN_OK && tn_get_key(members, key) != NULL)
            made = tn_set_take(made, tn_chars(key, NULL), tn_retain(member));
    return made;
}

static void have_report(struct exchange *exchange, tn_value state) {
    struct problem problem = {0};
    tn_value result = NULL, report = NULL;
    if (exchange->entry == NULL) {
        (void)problem_set(&problem, 200, MCPS_INTERNAL, "the tool of the task does not exist any more");
    } else {
        report = tn_build("{s:v, s:V*, s:v*}", "status", tn_get(exchange->record, "status"), "state",
                          output_of(exchange->entry, state), "error", tn_get(exchange->record, "error"));
        result = result_of_tool(exchange->entry, report, &problem);
    }
    tn_release(report);
    exchange->with_result(exchange, result, &problem);
}

static void on_state(struct exchange *exchange, bool ok, tn_value value) {
    if (ok)
        have_report(exchange, tn_get(value, "state"));
    else
        exchange_fail_with(exchange, value);
}

static void with_catalogue(struct exchange *exchange) {
    tn_value entry = catalogue_find(exchange->catalogue, "tools", "name", tn_get_text(exchange->task, "tool", ""));
    tn_release(exchange->entry);
    exchange->entry = tn_retain(entry);
    if (entry != NULL && serving_is(tn_get(exchange->record, "status"), "done"))
        task_ask_take(exchange, "thread/state", tn_build("{s:s}", "thread_id", exchange->thread), on_state);
    else
        have_report(exchange, NULL);
}

void task_read_result(struct exchange *exchange,
                      void (*then)(struct exchange *exchange, tn_value result, struct problem *problem)) {
    exchange->with_result = then;
    tn_release(exchange->catalogue);
    exchange->catalogue = NULL;
    exchange_with_catalogue(exchange, with_catalogue);
}

/* ---- Its questions ---- */

tn_value task_questions(const struct exchange *exchange) {
    tn_value plain = questions_new(tn_get(exchange->record, "interrupts")), made = tn_build("[]");
    int64_t round = tn_get_int(exchange->task, "round", 0);
    for (uint64_t i = 0, count = tn.value->count(plain); i < count; i++) {
        tn_value question = tn_retain(tn.value->at(plain, i));
        char key[200];
        (void)snprintf(key, sizeof key, "%.150s.%lld", tn_get_text(question, "key", ""), (long long)round);
        question = tn_set_take(question, "name", tn_retain(tn_get(question, "key"))); /* in the graph's answer */
        (void)tn_append_take(&made, tn_set_take(question, "key", tn_text_lossy(key, strlen(key))));
    }
    tn_release(plain);
    return made;
}

tn_value task_resume_params(const struct exchange *exchange, tn_value answers) {
    return tn_build("{s:v, s:{s:s}, s:[s], s:v*}", "document", tn_get(exchange->entry, "document"), "config",
                    "thread_id", exchange->thread, "modes", "custom", "answers", answers);
}

void task_write_take(struct exchange *exchange, tn_value task,
                     void (*step)(struct exchange *exchange, bool ok, tn_value value)) {
    tn_release(exchange->task);
    exchange->task = task;
    int64_t seconds = tn_get_int(task, "ttl_ms", 0) / 1000 + MCPS_TASK_KEPT_S;
    task_ask_take(exchange, "memory/put",
                  tn_build("{s:V, s:s, s:v, s:b, s:I}", "namespace", tasks_namespace(), "key", exchange->task_id,
                           "value", task, "text", 0, "ttl_seconds", seconds),
                  step);
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
        count += other != exchange && other->begins_task && strcmp(other->owner, exchange->owner) == 0;
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
    int64_t now = now_ms();
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
