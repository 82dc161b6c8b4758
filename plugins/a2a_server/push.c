/*
 * push.c - the addresses of a task, and the requests to them: for each address one after the other, in the order of the
 * changes. The host repeats a request that fails; what still fails is dropped, and after a few of them the
 * configuration, too.
 */
#include "push.h"
#include "task.h"

static void pump(struct push *push);

/* ---- Requests that are open ---- */

/* Where a request of the user may be open; NULL if all places are taken. */
static struct push **free_place(struct a2a *a2a, const char *owner) {
    struct push **place = NULL;
    uint32_t of_owner = 0;
    for (size_t i = 0; i < PUSH_OPEN_MAX; i++) {
        if (a2a->sending[i] == NULL)
            place = &a2a->sending[i];
        else
            of_owner += strcmp(a2a->sending[i]->task->owner, owner) == 0;
    }
    return of_owner < PUSH_OWNER_MAX ? place : NULL;
}

static void leave_place(const struct push *push) {
    struct a2a *a2a = push->task->a2a;
    for (size_t i = 0; i < PUSH_OPEN_MAX; i++)
        if (a2a->sending[i] == push) a2a->sending[i] = NULL;
}

/* ---- The table ---- */

struct push *push_find(const struct task *task, const char *id) {
    struct push *push = task->pushes;
    while (push != NULL && !serving_is(tn_get(push->config, "id"), id)) push = push->next;
    return push;
}

bool push_add(struct task *task, tn_value config, bool old) {
    struct push *push = push_find(task, tn_get_text(config, "id", "")), **end = &task->pushes;
    uint32_t count = 0;
    for (; *end != NULL; end = &(*end)->next) count++;
    if (push == NULL) {
        push = count < PUSH_CONFIGS_MAX ? serving_alloc(sizeof *push) : NULL;
        if (push == NULL) return false;
        push->task = task;
        *end = push;
    }
    tn_release(push->config);
    push->config = tn_retain(config);
    push->old = old;
    push->failures = 0;
    return true;
}

void push_remove(struct push *push) {
    struct push **at = &push->task->pushes;
    struct a2a *a2a = push->task->a2a;
    while (*at != push) at = &(*at)->next;
    *at = push->next;
    if (push->exchange != 0) {
        (void)a2a->http->cancel(tn.host, push->exchange);
        leave_place(push);
    }
    a2a->push_queued -= push->queued;
    tn_release(push->queue);
    tn_release(push->config);
    serving_free(push);
}

void push_remove_all(struct task *task) {
    while (task->pushes != NULL) push_remove(task->pushes);
}

bool push_is_busy(const struct task *task) {
    const struct push *push = task->pushes;
    while (push != NULL && push->exchange == 0 && tn.value->count(push->queue) == 0) push = push->next;
    return push != NULL;
}

/* ---- Requests ---- */

static void pump_all(const struct a2a *a2a) {
    for (struct task *task = a2a->tasks; task != NULL; task = task->next)
        for (struct push *push = task->pushes; push != NULL; push = push->next) pump(push);
}

/* The log has the id, not the address, which can contain a secret. */
static void log_failure(const struct push *push, tn_value end) {
    struct tn_text_buffer text = TN_TEXT_BUFFER(1024);
    (void)tn_text_append_format(&text, "a2a_server: a notification of the task %s to the configuration %s has failed: ",
                                push->task->id, tn_get_text(push->config, "id", ""));
    if (tn_get(end, "code") != NULL)
        (void)tn_text_append_format(&text, "[%s]", tn_get_text(end, "code", ""));
    else
        (void)tn_text_append_format(&text, "status %d", (int)tn_get_int(end, "status", 0));
    if (push->failures >= PUSH_FAILURES) (void)tn_text_append(&text, "; the configuration is deleted");
    tn_log(TN_LOG_WARN, tn_text_chars(&text));
    tn_text_free(&text);
}

static void TN_ABI on_http(void *user, int32_t event, tn_value value) {
    struct push *push = user;
    struct task *task = push->task;
    struct a2a *a2a = task->a2a;
    int64_t status = event == TN_HTTP_END ? tn_get_int(value, "status", 0) : 0;
    if (event != TN_HTTP_END && event != TN_HTTP_FAILED) return;
    push->exchange = 0;
    leave_place(push);
    push->failures = status >= 200 && status < 300 ? 0 : push->failures + 1;
    if (push->failures > 0) log_failure(push, value);
    if (push->failures >= PUSH_FAILURES) {
        push_remove(push);
        push_save(task, task->caller, NULL, NULL, NULL);
    }
    pump_all(a2a);
}

static tn_value headers_of(const struct push *push) {
    tn_value authentication = tn_get(push->config, "authentication");
    const char *credentials = tn_get_text(authentication, "credentials", NULL);
    tn_value headers = tn_build("{s:s, s:s, s:v*}", "Content-Type", "application/json", "A2A-Version",
                                push->old ? "0.3" : "1.0", "X-A2A-Notification-Token", tn_get(push->config, "token"));
    if (credentials == NULL || headers == NULL) return headers;
    struct tn_text_buffer text = TN_TEXT_BUFFER(PUSH_SECRET_MAX + 100);
    (void)tn_text_append_format(&text, "%s %s", tn_get_text(authentication, "scheme", ""), credentials);
    return tn_set_take(headers, "Authorization", tn_text_finish(&text));
}

/* Takes the first body from the queue. */
static void take_first(struct push *push) {
    uint64_t length = 0;
    (void)tn_chars(tn.value->at(push->queue, 0), &length);
    push->queued -= length;
    push->task->a2a->push_queued -= length;
    (void)tn.value->splice(&push->queue, 0, 1, NULL);
}

static void pump(struct push *push) {
    struct a2a *a2a = push->task->a2a;
    struct push **place = NULL;
    if (push->exchange == 0 && tn.value->count(push->queue) > 0) place = free_place(a2a, push->task->owner);
    if (place == NULL) return;
    tn_value request =
        serving_post(tn_get_text(push->config, "url", ""), headers_of(push), tn.value->at(push->queue, 0));
    take_first(push);
    if (request != NULL && a2a->http->send(tn.host, request, on_http, push, &push->exchange) == TN_OK)
        *place = push;
    else
        push->exchange = 0;
    tn_release(request);
}

/* ---- What is sent ---- */

/* True if so many bytes more would be too many. Above the half of all, each user has an eighth. */
static bool is_full(const struct task *owner, uint64_t length) {
    const struct a2a *a2a = owner->a2a;
    uint64_t of_owner = length;
    if (a2a->push_queued + length <= PUSH_QUEUED_MAX / 2) return false;
    for (const struct task *task = a2a->tasks; task != NULL; task = task->next)
        for (const struct push *push = task->pushes; push != NULL; push = push->next)
            if (push->queued > 0 && strcmp(task->owner, owner->owner) == 0) of_owner += push->queued;
    return a2a->push_queued + length > PUSH_QUEUED_MAX || of_owner > PUSH_QUEUED_MAX / 8;
}

/* Takes the body. The oldest notifications give way to newer ones. */
static void enqueue(struct push *push, tn_value body) {
    struct a2a *a2a = push->task->a2a;
    uint64_t length = 0;
    (void)tn_chars(body, &length);
    while (tn.value->count(push->queue) >= PUSH_QUEUE_MAX || (push->queued > 0 && is_full(push->task, length)))
        take_first(push);
    if (body == NULL || length > PUSH_BODY_MAX || is_full(push->task, length)) {
        tn_release(body);
        return;
    }
    if (tn_append_take(&push->queue, body) != TN_OK) return;
    push->queued += length;
    a2a->push_queued += length;
    pump(push);
}

/* The task as 0.3 gets it; without its artifacts if they are too large. */
static tn_value old_body(const struct task *task) {
    uint64_t length = 0;
    for (int artifacts = 1; artifacts >= 0; artifacts--) {
        tn_value value = task_value(task, 0, artifacts != 0), old = wire_old(RESULT_TASK, value);
        tn_value body = tn_to_json(old);
        tn_release(old);
        tn_release(value);
        if (artifacts == 0 || (tn_chars(body, &length) != NULL && length <= PUSH_BODY_MAX)) return body;
        tn_release(body);
    }
    return NULL;
}

void task_notify(struct task *task, tn_value event) {
    bool is_status = tn_get(event, "statusUpdate") != NULL;
    for (struct push *push = task->pushes; push != NULL; push = push->next) {
        if (push->old && !is_status) continue;
        enqueue(push, push->old ? old_body(task) : tn_to_json(event));
    }
}
