/*
 * task_room.c - how many tasks are in memory, and how large they are: of one user, and of all. A task that the store
 * has, and that nobody follows, is forgotten to make room; task_load.c reads it again.
 */
#include "push.h"
#include "task.h"

/* ---- How large a task is ---- */

void task_count(struct task *task, uint64_t added, uint64_t removed) {
    uint64_t bytes = task->bytes + added;
    bytes -= removed < bytes ? removed : bytes;
    task->a2a->bytes += bytes - task->bytes;
    task->bytes = bytes;
}

/* ---- Room ---- */

/* One that waits keeps the addresses of its notifications, which the store may not have. */
static bool can_forget(const struct task *task, bool ended) {
    if (task->followers != NULL || push_is_busy(task)) return false;
    return ended ? task_is_ended(task) : task->state == TASK_INPUT_REQUIRED && task->pushes == NULL;
}

/* Forgets the oldest task of the user (NULL: of all) that can be. False if there is none. */
static bool forget(struct a2a *a2a, const char *owner, const struct task *kept, bool ended) {
    struct task *oldest = NULL;
    for (struct task *task = a2a->tasks; task != NULL; task = task->next)
        if (task != kept && can_forget(task, ended) && (owner == NULL || strcmp(task->owner, owner) == 0))
            oldest = task;
    if (oldest != NULL) task_free(oldest);
    return oldest != NULL;
}

struct room {
    uint64_t active, bytes;
};

static struct room used(const struct a2a *a2a, const char *owner) {
    struct room sum = {0};
    if (owner == NULL) return (struct room){a2a->active, a2a->bytes};
    for (const struct task *task = a2a->tasks; task != NULL; task = task->next) {
        if (strcmp(task->owner, owner) != 0) continue;
        sum.active += !task_is_ended(task);
        sum.bytes += task->bytes;
    }
    return sum;
}

static bool make_room(struct a2a *a2a, const char *owner, const struct task *kept, struct room more, struct room most) {
    while (a2a->active + more.active > most.active || a2a->bytes + more.bytes > most.bytes) {
        struct room sum = used(a2a, owner);
        bool active = sum.active + more.active > most.active, bytes = sum.bytes + more.bytes > most.bytes;
        if (!active && !bytes) return true;
        bool forgotten = bytes && forget(a2a, owner, kept, true);
        if (!forgotten && !forget(a2a, owner, kept, false)) return false;
    }
    return true;
}

bool tasks_make_room(struct a2a *a2a, const char *owner, const struct task *kept, uint64_t bytes) {
    struct room more = {kept == NULL, bytes};
    return make_room(a2a, owner, kept, more, (struct room){TASKS_OWNER_MAX, TASKS_OWNER_BYTES}) &&
           make_room(a2a, NULL, kept, more, (struct room){TASKS_MAX, TASKS_BYTES});
}

void tasks_trim(struct a2a *a2a, const struct task *kept) {
    if (a2a->ended > ENDED_MAX) (void)forget(a2a, NULL, kept, true);
    (void)tasks_make_room(a2a, kept->owner, kept, 0);
}
