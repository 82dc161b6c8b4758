/*
 * tasks.c - tasks: their memory, their thread, and one change after the other.
 */
#include "tasks.h"
#include "catalogue.h"
#include "question.h"
#include "result.h"

#define THREAD_PREFIX "mcp-task-"
#define NUMBER_MAX    (INT64_MAX / 4)

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

/* ---- Times ---- */

static int64_t now_ms(void) { return tn.core->wall_ms(tn.host); }

/* A client can write the memories of its tasks by another protocol. */
int64_t task_number(tn_value task, const char *name) {
    int64_t found = tn_get_int(task, name, 0);
    return found < 0 ? 0 : found > NUMBER_MAX ? NUMBER_MAX : found;
}

bool task_has_expired(tn_value task) {
    return task_number(task, "created_ms") + task_number(task, "ttl_ms") < now_ms();
}

/* ---- A task as the client sees it ---- */

tn_value task_value(const struct exchange *exchange, enum task_status status) {
    static const char *const names[] = {"working", "input_required", "completed", "failed", "cancelled"};
    const char *created = tn_get_text(exchange->task, "created_at", "1970-01-01T00:00:00.000Z");
    const char *updated = tn_get_text(exchange->record, "updated_at", created);
    return tn_build("{s:s, s:s, s:s, s:s, s:I, s:i}", "taskId", exchange->task_id, "status", names[status], "createdAt",
                    created, "lastUpdatedAt", updated, exchange->modern ? "ttlMs" : "ttl",
                    task_number(exchange->task, "ttl_ms"), exchange->modern ? "pollIntervalMs" : "pollInterval",
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
        return task_number(exchange->task, "created_ms") + MCPS_TASK_BEGIN_MS < now_ms() ? TASK_FAILED : TASK_WORKING;
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

bool task_same_user(const struct exchange *a, const struct exchange *b) {
    size_t length = strcspn(a->owner, "\n");
    return strncmp(a->owner, b->owner, length + 1) == 0;
}

static bool same_task(const struct exchange *a, const struct exchange *b) {
    return a != b && strcmp(a->task_id, b->task_id) == 0 && task_same_user(a, b);
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
    int64_t round = task_number(exchange->task, "round");
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
    int64_t seconds = task_number(task, "ttl_ms") / 1000 + MCPS_TASK_KEPT_S;
    task_ask_take(exchange, "memory/put",
                  tn_build("{s:V, s:s, s:v, s:b, s:I}", "namespace", tasks_namespace(), "key", exchange->task_id,
                           "value", task, "text", 0, "ttl_seconds", seconds),
                  step);
}
