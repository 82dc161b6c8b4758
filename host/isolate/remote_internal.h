/*
 * remote_internal.h - what the files of a remote plugin share: its instances and tasks (remote.c), its process
 * (remote_process.c), and what that says (remote_said.c).
 */
#ifndef TENON_HOST_ISOLATE_REMOTE_INTERNAL_H
#define TENON_HOST_ISOLATE_REMOTE_INTERNAL_H

#include "adl/value/value.h"
#include "host/isolate/remote.h"
#include "host/loop/loop.h"

struct process;
struct remote;

#define REMOTE_TASKS_MAX (1u << 20)

struct instance {
    struct instance *next;
    struct remote *remote;
    int64_t number;
    const char *kind, *component; /* the manifest's */
    tn_value config, bound;       /* bound: what create answered */
    tn_value *sent;      /* by read: the array that the child was last given; by set of tools: its description */
    bool uses_run, lost; /* lost: the present process does not have it */
};

struct task {
    struct instance *instance; /* NULL: free */
    tn_task token;
    uint32_t generation, next_free;
    uint32_t owed; /* chunks that it has room for again, and has not been told */
    bool full;     /* the reader is: owed waits */
    struct loop_timer deadline;
};

struct remote {
    tn_plugin end;
    struct host *host;
    struct plugin *plugin;
    struct process *process;
    tn_value config;
    struct instance *instances;
    int64_t instance_count;
    struct task **tasks; /* blocks of 64: tasks do not move */
    uint32_t task_count, free_task, open;
    uint32_t asked; /* calls of its tasks that have not ended */
    struct crossing *
        *crossings; /* exchanges over HTTP, by number: TASK_BUCKETS lists; NULL while there has been none */
    uint32_t deaths, recent_deaths;
    int64_t first_death_ms, restart_ms;
    struct error why; /* of the last death */
};

/* ---- remote_said.c: the table of tasks, and what the child says of them ---- */

/*
 * Tasks have numbers of their own on the wire: an index into a table and a generation, so that what a child says of a
 * task that has ended, or never was, finds nothing. A task stays in the table until the child has ended it or is gone,
 * even when the host has long given it up.
 */
struct task *remote_task_at(const struct remote *remote, uint32_t index);
int64_t remote_task_number(const struct task *task, uint32_t index);
/* The index of a free task, or UINT32_MAX. The process must be there. */
uint32_t remote_task_take(struct remote *remote);
void remote_task_give(struct remote *remote, struct task *task, uint32_t index);
/* Tells the child of the room that it has again, where it is `least` at least. */
void remote_give_room(struct remote *remote, struct task *task, int64_t number, uint32_t least);
/* A process's callbacks (process.h); `user` is the remote. */
void remote_hear(void *user, tn_value message);
bool remote_hear_at_once(void *user, tn_value message);

/* ---- remote_http.c: its exchanges ---- */

/* What the child says of one; false: it is nothing of that kind. */
bool remote_http_hear(struct remote *remote, const char *method, tn_value params);
/* The process is gone: cancels all. */
void remote_http_end(struct remote *remote);

/* ---- remote_process.c: its start and its end ---- */

/* A process, with every instance; or an error that says when to come again. */
int32_t remote_bring_up(struct remote *remote, struct error *error);
/* Has the process make an instance; *bound, a new reference, is what it answered. */
int32_t remote_ask_create(struct instance *instance, tn_value *bound, struct error *error);
size_t remote_sent_count(const struct instance *instance); /* of `sent` */
/* What the child has been given of what it reads counts no more. */
void remote_forget_sent(struct instance *instance);

#endif
