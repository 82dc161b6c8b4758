/*
 * remote_pool.c - which process of a remote plugin runs a task, when one is started, and what its end means.
 *
 * A task of an async component waits for the shared process, a task of a blocking one for an idle process of the pool.
 * A waiting task is an ordinary open task of its caller: its time limits and its cancellation apply. A death delays the
 * next start (remote_pause.c); processes that run are not affected. If REMOTE_STARTS_MAX starts fail, and no
 * process is left that could run them, waiting tasks fail with the reason, so that none waits without end.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/plugin/call/call.h"
#include "host/plugin/isolate/process.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <string.h>

/* ---- Starting ---- */

/* True if a process of the pool, other than `except`, can run tasks. */
static bool pool_runs(const struct remote *remote, const struct remote_child *except) {
    const struct remote_child *child = remote->pool;
    while (child && (child == except || child->state != CHILD_RUNNING)) child = child->next;
    return child != NULL;
}

static void remote_on_restart(struct loop_timer *timer) { remote_pump(CONTAINER_OF(timer, struct remote, restart)); }

/* True if a process may be started now. Otherwise the waiting tasks are looked at again after the pause. */
static bool remote_may_start(struct remote *remote) {
    int64_t left = remote_pause_left(remote);
    if (left == 0) return true;
    /* In steps, so that a reset is noticed soon. */
    if (!loop_timer_is_running(&remote->restart))
        loop_timer_start(remote->host->loop, &remote->restart, left < REMOTE_RESET_MS ? left : REMOTE_RESET_MS,
                         remote_on_restart);
    return false;
}

static void queue_fail(struct remote *remote, struct remote_queue *queue, const struct error *why) {
    while (queue->first) remote_task_fail(remote, queue->first, why);
}

/*
 * A process did not start. The tasks that wait for it wait for the next attempts, too, but fail if the plugin cannot
 * start, or if no attempt succeeds. They may not have a time limit.
 */
static void remote_on_start_failed(struct remote *remote, bool shared, const struct error *why) {
    struct remote_queue *queue = shared ? &remote->shared_queue : &remote->pool_queue;
    bool final = strcmp(why->code, "PLUGIN_REFUSED") == 0;
    if (!shared && pool_runs(remote, NULL)) return;
    for (struct remote_task *task = queue->first, *next; task; task = next) {
        next = task->next;
        if (++task->failed_starts >= REMOTE_STARTS_MAX || final) remote_task_fail(remote, task, why);
    }
}

/* Returns false if no process was started. */
static bool remote_start_child(struct remote *remote, bool shared) {
    struct error error = ERROR_INIT;
    if (!remote_may_start(remote)) return false;
    struct remote_child *child = child_launch(remote, shared, &error);
    if (!child) {
        remote_count_death(remote, NULL, &error);
        remote_log_death(remote, &error);
        remote_describe_pause(remote, false, &error);
        remote_on_start_failed(remote, shared, &error);
        if (remote->shared_queue.first || remote->pool_queue.first || remote->serves)
            (void)remote_may_start(remote); /* after the pause */
    } else if (remote->in_a_row) {
        /* Until one has proved to work, they are started one after the other. */
        remote_pause(remote);
    }
    error_finish(&error);
    return child != NULL;
}

/* ---- The shared process ---- */

static void task_fail_lost(struct remote_task *task) {
    struct error error = ERROR_INIT;
    struct remote *remote = task->instance->remote;
    error_set(&error, TN_FAILED, "PLUGIN_CRASHED", "plugin `%s` was restarted and did not create `%s` as before",
              plugin_id(remote->plugin), task->instance->component);
    remote_task_fail(remote, task, &error);
    error_finish(&error);
}

static void task_fail_limit(struct remote_task *task, enum frame_fit fit) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_LIMIT, "LIMIT", "the configuration of `%s` is %s that can be sent", task->instance->component,
              frame_fit_text(fit));
    remote_task_fail(task->instance->remote, task, &error);
    error_finish(&error);
}

bool child_takes_tasks(const struct remote_child *child) {
    return child->state == CHILD_RUNNING && !process_has_ended(child->process);
}

/* Sends a waiting task to the shared process if the process has its instance; otherwise creates it there. */
static void shared_try(struct remote_child *child, struct remote_task *task) {
    struct remote_copy *copy = child_copy(child, task->instance);
    enum frame_fit fit = FRAME_FITS;
    if (!copy) copy = child_create(child, task->instance, &fit);
    if (!copy) {
        task_fail_limit(task, fit);
    } else if (copy->state == COPY_LOST) {
        task_fail_lost(task);
    } else if (copy->state == COPY_READY) {
        remote_queue_remove(task);
        remote_task_reserve(task, child);
        remote_task_open(task, copy);
    }
}

static void pump_shared(struct remote *remote) {
    if (!remote->shared_queue.first && !remote->serves) return;
    if (!remote->shared && !remote_start_child(remote, true)) return;
    struct remote_child *child = remote->shared;
    for (struct remote_task *task = remote->shared_queue.first, *next; task && child_takes_tasks(child); task = next) {
        next = task->next;
        shared_try(child, task);
    }
}

/* ---- The pool ---- */

/* An idle process, if possible one that has the instance. */
static struct remote_child *pool_idle(const struct remote *remote, const struct remote_instance *instance) {
    struct remote_child *best = NULL;
    int best_rank = -1;
    for (struct remote_child *child = remote->pool; child && best_rank < 2; child = child->next) {
        if (child->task || child->creating || !child_takes_tasks(child)) continue;
        const struct remote_copy *copy = child_copy(child, instance);
        int rank = !copy ? 1 : copy->state == COPY_READY ? 2 : 0;
        if (rank <= best_rank) continue;
        best = child;
        best_rank = rank;
    }
    return best;
}

static void pool_move_to_front(struct remote *remote, struct remote_child *child) {
    struct remote_child **at = &remote->pool;
    if (*at == child) return;
    while (*at != child) at = &(*at)->next;
    *at = child->next;
    child->next = remote->pool;
    remote->pool = child;
}

/*
 * A process of the pool does not create the instance. If the plugin has added the component at run time, the shared
 * process has it.
 */
static void pool_on_lost(struct remote *remote, struct remote_task *task) {
    struct remote_instance *instance = task->instance;
    if (!instance->dynamic) {
        task_fail_lost(task);
        return;
    }
    instance->pooled = false;
    remote_task_leave_child(task);
    remote_enqueue(remote, task);
}

/* Requires that the task is in the queue of the pool and that the child is idle. */
static void pool_assign(struct remote *remote, struct remote_child *child, struct remote_task *task) {
    struct remote_copy *copy = child_copy(child, task->instance);
    enum frame_fit fit = FRAME_FITS;
    pool_move_to_front(remote, child);
    remote_queue_remove(task);
    remote_task_reserve(task, child);
    task->state = TASK_CREATING;
    if (!copy) copy = child_create(child, task->instance, &fit);
    if (!copy)
        task_fail_limit(task, fit);
    else if (copy->state == COPY_LOST)
        pool_on_lost(remote, task);
    else if (copy->state == COPY_READY)
        remote_task_open(task, copy);
}

/* Every process waits for a call that its task made, and none may be added for that call. */
static void pool_fail_deadlocked(struct remote *remote) {
    struct error error = ERROR_INIT;
    error_set(&error, TN_LIMIT, "LIMIT",
              "all %u processes of plugin `%s` wait for calls that their tasks made, and more are not allowed",
              remote->processes_max, plugin_id(remote->plugin));
    queue_fail(remote, &remote->pool_queue, &error);
    error_finish(&error);
}

/* There may be more processes than pool_max, because one was started to create an instance while all were busy. */
static bool pool_may_run_more(const struct remote *remote) {
    return remote->pool_busy - remote->pool_nested < remote->pool_max;
}

static void pump_pool(struct remote *remote) {
    struct remote_child *child;
    while (remote->pool_queue.first && pool_may_run_more(remote) &&
           (child = pool_idle(remote, remote->pool_queue.first->instance)) != NULL)
        pool_assign(remote, child, remote->pool_queue.first);
    while (remote->pool_queue.count > remote->pool_starting &&
           remote->pool_count - remote->pool_nested < remote->pool_max && remote->pool_count < remote->processes_max)
        if (!remote_start_child(remote, false)) break;
    if (remote->pool_queue.first && remote->pool_nested == remote->processes_max) pool_fail_deadlocked(remote);
}

/* ---- Events ---- */

void remote_pump(struct remote *remote) {
    if (remote->closing) return;
    pump_shared(remote);
    pump_pool(remote);
}

void remote_pump_pool(struct remote *remote) {
    if (remote->pool_queue.first && !remote->closing) pump_pool(remote);
}

void remote_enqueue(struct remote *remote, struct remote_task *task) {
    remote_queue_append(task->instance->pooled ? &remote->pool_queue : &remote->shared_queue, task);
    if (task->instance->pooled)
        pump_pool(remote);
    else if (!remote->shared)
        pump_shared(remote);
    else if (child_takes_tasks(remote->shared))
        shared_try(remote->shared, task);
}

struct remote_child *remote_child_for_create(struct remote *remote, const struct remote_instance *instance,
                                             struct error *error) {
    struct remote_child *child = remote->shared;
    bool shared = !instance->pooled || instance->dynamic;
    if (!shared)
        for (child = remote->pool; child; child = child->next)
            if (!child->task && !child->creating && child->state != CHILD_STOPPING &&
                !process_has_ended(child->process))
                break;
    if (child) return child;
    if (!shared && remote->pool_count >= remote->processes_max) {
        error_set(error, TN_LIMIT, "LIMIT", "plugin `%s` has %u processes, and all of them are busy",
                  plugin_id(remote->plugin), remote->processes_max);
        return NULL;
    }
    child = child_start_wait(remote, shared, error);
    if (!child) {
        remote_count_death(remote, NULL, error);
        remote_describe_pause(remote, false, error);
    }
    return child;
}

/* Reports the result of remote_start_later, once. With an error, the receiver frees the remote. */
static void remote_report_start(struct remote *remote, const struct error *error) {
    void (*started)(struct plugin *, const struct error *) = remote->started;
    remote->started = NULL;
    started(remote->plugin, error);
}

void remote_on_started(struct remote_child *child) {
    if (child->remote->started) remote_report_start(child->remote, NULL);
    remote_pump(child->remote);
}

void remote_copy_set_ready(struct remote_copy *copy) {
    copy->state = COPY_READY;
    if (!copy->sent) copy->sent = mem_zalloc((copy_sent_count(copy) + 1) * sizeof *copy->sent);
}

void remote_on_created(struct remote_copy *copy, int32_t status, tn_value bound, const struct error *error) {
    struct remote_instance *instance = copy->instance;
    struct remote *remote = instance->remote;
    struct remote_task *task = copy->child->task;
    if (status == TN_OK && value_equal(bound, instance->bound)) {
        remote_copy_set_ready(copy);
    } else {
        copy->state = COPY_LOST;
        log_write(instance->dynamic ? LOG_DEBUG : LOG_ERROR, plugin_id(remote->plugin),
                  "after the restart it did not create `%s` as before%s%s", instance->component,
                  status == TN_OK ? "" : ": ", status == TN_OK ? "" : error->message);
    }
    if (copy->child->shared) {
        pump_shared(remote);
    } else if (task && task->state == TASK_CREATING && task->instance == instance) {
        if (copy->state == COPY_READY)
            remote_task_open(task, copy);
        else
            pool_on_lost(remote, task);
    }
    remote_pump_pool(remote);
}

/* The instance whose `create` the process has not answered, or NULL. It answers in order, so this one ended it. */
static const struct remote_instance *child_creating(const struct remote_child *child) {
    const struct remote_instance *first = NULL;
    for (const struct remote_copy *copy = child->copies; copy; copy = copy->next_in_child)
        if (copy->state == COPY_CREATING) first = copy->instance; /* the list has the newest first */
    return first;
}

static void shared_fail_tasks(struct remote_child *child, const struct error *why) {
    struct remote *remote = child->remote;
    const struct remote_instance *creating = child_creating(child);
    for (uint32_t i = 0; i < remote->task_count; i++) {
        struct remote_task *task = remote_task_at(remote, i);
        bool waits_for_it = task->state == TASK_WAITING && task->instance == creating;
        if (task->state != TASK_FREE && (task->child == child || waits_for_it)) remote_task_fail(remote, task, why);
    }
    remote_demand_end(remote);
    registry_expect(remote->plugin, false);
}

void remote_on_child_end(void *user, const struct error *why) {
    struct remote_child *child = user;
    struct remote *remote = child->remote;
    struct error error = ERROR_INIT;
    bool shared = child->shared, failed_to_start = child->state == CHILD_STARTING;
    if (child->state == CHILD_STOPPING) {
        child_free(child);
        return;
    }
    error_copy(&error, child->start_error.code ? &child->start_error : why);
    if (remote->started) { /* the first process */
        if (strcmp(error.code, "PLUGIN_CRASHED") == 0) remote_count_death(remote, NULL, &error);
        child_free(child);
        remote_report_start(remote, &error);
        error_finish(&error);
        return;
    }
    if (child->blameless) {
        log_write(LOG_WARN, NULL, "%s", error.message);
    } else {
        remote_count_death(remote, child, &error);
        remote_log_death(remote, &error);
    }
    remote_describe_pause(remote, !shared && pool_runs(remote, child), &error);
    if (shared)
        shared_fail_tasks(child, &error);
    else if (child->task)
        remote_task_fail(remote, child->task, &error);
    child_free(child);
    if (failed_to_start) remote_on_start_failed(remote, shared, &error);
    error_finish(&error);
    remote_pump(remote);
}

void remote_pool_close(struct remote *remote) {
    remote->closing = true;
    loop_timer_stop(remote->host->loop, &remote->restart);
    remote_unwatch_idle(remote);
}
