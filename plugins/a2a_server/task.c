/*
 * task.c - tasks: the table of those that are known, and what clients that follow one get.
 *
 * A client gets the task as it is, and then each change. So nothing has to be repeated, and no events are kept.
 */
#include "task.h"
#include "push.h"
#include <time.h>

/* ---- The table ---- */

struct task *task_new(struct a2a *a2a, uint64_t caller, const char *owner, const char *id, const char *context,
                      const char *graph) {
    struct task *task = tasks_make_room(a2a, owner, NULL, 0) ? serving_alloc(sizeof *task) : NULL;
    if (task == NULL) return NULL;
    *task = (struct task){.next = a2a->tasks, .a2a = a2a, .caller = caller, .state = TASK_SUBMITTED};
    task->id = serving_text_copy(id);
    task->context = serving_text_copy(context);
    task->graph = serving_text_copy(graph);
    task->owner = serving_text_copy(owner);
    task->history = tn_build("[]");
    task->artifacts = tn_build("[]");
    task->changed = tn.core->wall_ms(tn.host);
    a2a->tasks = task;
    a2a->active++;
    if (task->id != NULL && task->context != NULL && task->graph != NULL && task->owner != NULL) return task;
    task_free(task);
    return NULL;
}

struct task *task_find(struct a2a *a2a, const char *owner, const char *id) {
    struct task *task = a2a->tasks;
    while (task != NULL && (strcmp(task->id, id) != 0 || strcmp(task->owner, owner) != 0)) task = task->next;
    return task;
}

static bool state_is_end(const char *state) {
    return state != TASK_SUBMITTED && state != TASK_WORKING && state != TASK_INPUT_REQUIRED;
}

bool task_is_ended(const struct task *task) { return state_is_end(task->state); }

static void follower_remove(struct follower *follower) {
    struct follower **at = &follower->task->followers;
    while (*at != follower) at = &(*at)->next;
    *at = follower->next;
    follower->exchange->object = NULL;
    follower->exchange->on_event = NULL;
    serving_free(follower);
}

void task_free(struct task *task) {
    struct task **at = &task->a2a->tasks;
    while (task->followers != NULL) {
        exchange_abort(task->followers->exchange);
        follower_remove(task->followers);
    }
    push_remove_all(task);
    task->a2a->bytes -= task->bytes;
    while (*at != task) at = &(*at)->next;
    *at = task->next;
    if (task_is_ended(task))
        task->a2a->ended--;
    else
        task->a2a->active--;
    serving_run_close(task->run);
    serving_items_free(task->items);
    tn_text_free(&task->text);
    tn_release(task->history);
    tn_release(task->artifacts);
    tn_release(task->message);
    tn_release(task->asked);
    tn_release(task->open);
    serving_free(task->id);
    serving_free(task->context);
    serving_free(task->graph);
    serving_free(task->owner);
    serving_free(task->rejected);
    serving_free(task);
}

void tasks_free(struct a2a *a2a) {
    while (a2a->tasks != NULL) task_free(a2a->tasks);
}

/* ---- Values ---- */

static tn_value time_value(int64_t ms) {
    char text[32];
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) == NULL) return NULL;
    size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text + length, sizeof text - length, ".%03dZ", (int)(ms % 1000));
    return tn_text(text);
}

tn_value task_status(const struct task *task) {
    return tn_build("{s:s, s:v*, s:V}", "state", task->state, "message", task->message, "timestamp",
                    time_value(task->changed));
}

static tn_value history_value(const struct task *task, int64_t most) {
    uint64_t count = tn.value->count(task->history), take = most < 0 || (uint64_t)most > count ? count : (uint64_t)most;
    tn_value slice = NULL;
    if (take > 0) (void)tn.value->slice(task->history, count - take, take, &slice);
    return slice;
}

static tn_value artifacts_value(const struct task *task) {
    tn_value artifacts = tn_retain(task->artifacts);
    if (task->open != NULL)
        (void)tn_append_take(&artifacts, tn_build("{s:v, s:[{s:s}]}", "artifactId", tn_get(task->open, "artifactId"),
                                                  "parts", "text", tn_text_chars(&task->text)));
    if (tn.value->count(artifacts) > 0) return artifacts;
    tn_release(artifacts);
    return NULL;
}

tn_value task_value(const struct task *task, int64_t history, bool artifacts) {
    return tn_build("{s:s, s:s, s:V, s:V*, s:V*}", "id", task->id, "contextId", task->context, "status",
                    task_status(task), "artifacts", artifacts ? artifacts_value(task) : NULL, "history",
                    history_value(task, history));
}

/* The answer as a message: new. */
static tn_value message_value(const struct task *task) {
    tn_value parts = tn_build("[]"), artifacts = artifacts_value(task);
    for (uint64_t i = 0, count = tn.value->count(artifacts); i < count; i++) {
        tn_value from = tn_get(tn.value->at(artifacts, i), "parts");
        for (uint64_t k = 0; k < tn.value->count(from); k++)
            (void)tn_append_take(&parts, tn_retain(tn.value->at(from, k)));
    }
    tn_release(artifacts);
    return tn_build("{s:{s:s, s:s, s:s, s:V}}", "message", "messageId", task->id, "contextId", task->context, "role",
                    "ROLE_AGENT", "parts", parts);
}

/* ---- Followers ---- */

/* The run waits for the slowest client that reads its events. */
static void task_look_full(struct task *task) {
    bool full = false;
    for (const struct follower *follower = task->followers; follower != NULL; follower = follower->next)
        full |= follower->full;
    if (task->run == NULL) return;
    if (full)
        serving_run_pause(task->run);
    else
        serving_run_flow(task->run);
}

static void begin_stream(struct follower *follower) {
    struct task *task = follower->task;
    tn_value begin = tn_build("{s:i, s:s}", "status", 200, "stream", "events");
    (void)task->a2a->serving.server->respond(tn.host, follower->exchange->number, begin);
    tn_release(begin);
    follower->begun = true;
    tn_value event = tn_build("{s:V}", "task", task_value(task, follower->history, true));
    exchange_event(follower, event);
    tn_release(event);
}

static void reply(struct follower *follower) {
    struct exchange *exchange = follower->exchange;
    struct task *task = follower->task;
    if (follower->cancels && task->state != TASK_CANCELED)
        exchange_fail(exchange, A2A_NOT_CANCELABLE, "the task has ended before it was cancelled");
    else if (follower->cancels)
        exchange_reply(exchange, RESULT_TASK, task_value(task, follower->history, true));
    else if (task->replies && task->state == TASK_COMPLETED)
        exchange_reply(exchange, RESULT_EVENT, message_value(task));
    else
        exchange_reply(exchange, RESULT_EVENT, tn_build("{s:V}", "task", task_value(task, follower->history, true)));
}

/* Answers the client if it is time. May remove the follower. */
static void pump(struct follower *follower) {
    struct task *task = follower->task;
    bool ended = task_is_ended(task), waits = task->state == TASK_INPUT_REQUIRED && !follower->subscribed;
    if (!task->started) return;
    if (!follower->streams) {
        if (!ended && !(waits && !follower->cancels) && !follower->at_once) return;
        reply(follower);
        follower_remove(follower);
        return;
    }
    if (!follower->begun) begin_stream(follower);
    if (!ended && !waits) return;
    (void)task->a2a->serving.server->finish(tn.host, follower->exchange->number);
    follower_remove(follower);
}

static void pump_all(struct task *task) {
    for (struct follower *follower = task->followers, *next; follower != NULL; follower = next) {
        next = follower->next;
        pump(follower);
    }
    task_look_full(task);
}

/* Sends an event to all that have begun to read. Takes it. */
void task_send_take(struct task *task, tn_value event) {
    for (struct follower *follower = task->followers; follower != NULL && event != NULL; follower = follower->next)
        if (follower->begun) exchange_event(follower, event);
    tn_release(event);
    task_look_full(task);
}

void task_set_state(struct task *task, const char *state) {
    bool was = task_is_ended(task), is = state_is_end(state);
    task->state = state;
    task->changed = tn.core->wall_ms(tn.host);
    task->a2a->active = task->a2a->active + was - is;
    task->a2a->ended = task->a2a->ended + is - was;
    tn_value event = tn_build("{s:{s:s, s:s, s:V}}", "statusUpdate", "taskId", task->id, "contextId", task->context,
                              "status", task_status(task));
    task_notify(task, event);
    task_send_take(task, event);
    pump_all(task);
    tasks_trim(task->a2a, task);
}

static void follower_event(struct exchange *exchange, int32_t event) {
    struct follower *follower = exchange->object;
    struct task *task = follower->task;
    if (event == TN_SERVER_ROOM) {
        follower->full = false;
    } else if (event == TN_SERVER_CLOSED) {
        follower_remove(follower);
    } else if (event == TN_SERVER_DRAIN && follower->begun) {
        (void)task->a2a->serving.server->finish(tn.host, exchange->number); /* the client subscribes again */
        follower_remove(follower);
    }
    task_look_full(task);
}

bool task_follow(struct task *task, struct exchange *exchange, const struct follower *how) {
    struct follower *follower = serving_alloc(sizeof *follower);
    if (follower == NULL) return false;
    *follower = *how;
    follower->next = task->followers;
    follower->exchange = exchange;
    follower->task = task;
    task->followers = follower;
    exchange->object = follower;
    exchange->on_event = follower_event;
    pump(follower);
    return true;
}

/* The run could not be started: the clients get the error. */
void task_refuse_all(struct task *task, tn_value error) {
    while (task->followers != NULL) {
        exchange_fail_of(task->followers->exchange, error);
        follower_remove(task->followers);
    }
    task_free(task);
}

/* The run is not followed any more: no client waits for it here. */
void task_stop_all(struct task *task) {
    while (task->followers != NULL) {
        struct follower *follower = task->followers;
        if (follower->begun)
            (void)task->a2a->serving.server->finish(tn.host, follower->exchange->number);
        else
            exchange_fail(follower->exchange, A2A_UNAVAILABLE, "the task cannot be followed now; get it later");
        follower_remove(follower);
    }
    task_free(task);
}
