/*
 * remote_internal.h - shared by the files of a remote plugin: instances and tasks (remote.c), the child process
 * (remote_process.c), its messages (remote_message.c), and its HTTP exchanges (remote_http.c).
 *
 * A remote lives as long as the plugin is loaded. Its process may end and be started again; instances survive that,
 * tasks do not. Thread: loop.
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_REMOTE_INTERNAL_H
#define TENON_HOST_PLUGIN_ISOLATE_REMOTE_INTERNAL_H

#include "adl/value/value.h"
#include "host/base/loop.h"
#include "host/plugin/isolate/remote.h"

struct process;
struct remote;

#define REMOTE_TASKS_MAX (1u << 20)

struct remote_instance {
    struct remote_instance *next;
    struct remote *remote;
    int64_t number;               /* its number on the wire */
    const char *kind, *component; /* borrowed from the manifest */
    tn_value config, bound;       /* bound: the result of `create` */
    tn_value *sent;      /* last sent: for each channel read, its array; then for each tool set, its description */
    bool uses_run, lost; /* lost: the current process does not have this instance */
};

struct remote_task {
    struct remote_instance *instance; /* NULL if this entry is free */
    tn_task token;
    uint32_t generation, next_free;
    uint32_t uncredited;        /* chunks that were consumed and not yet credited to the child */
    bool reader_full;           /* the caller accepts no more chunks: send no credit until it is ready */
    struct loop_timer deadline; /* after a cancel: kills the child if the task does not end */
};

struct remote {
    tn_plugin plugin_entry; /* what the registry sees */
    const struct remote_services *host;
    struct plugin *plugin;
    struct process *process;
    tn_value config;
    struct remote_instance *instances;
    int64_t instance_count;
    struct remote_task **tasks; /* blocks of 64, so that tasks never move */
    uint32_t task_count, free_task, open;
    uint32_t open_calls;                /* calls of its tasks that have not ended */
    struct remote_exchange **exchanges; /* HTTP exchanges by number: TASK_BUCKETS lists; NULL before the first one */
    uint32_t deaths, recent_deaths;
    int64_t first_death_ms, restart_ms;
    struct error last_end; /* how the last process ended */
};

/* ---- remote_message.c: the table of tasks, and messages about them ---- */

/*
 * The number of a task on the wire is an index into the table and a generation, so that a message about a task that has
 * ended or never existed finds nothing. A task stays in the table until the child reports its end or has ended itself,
 * even if the host has already cancelled it.
 */
struct remote_task *remote_task_at(const struct remote *remote, uint32_t index);
int64_t remote_task_number(const struct remote_task *task, uint32_t index);
/* Returns the index of a free task, or UINT32_MAX if the table is full. Requires a running process. */
uint32_t remote_task_acquire(struct remote *remote);
void remote_task_release(struct remote *remote, struct remote_task *task, uint32_t index);
/* Sends the child credit for the consumed chunks if they are at least `least`. */
void remote_task_send_credit(struct remote *remote, struct remote_task *task, int64_t number, uint32_t least);
/* Callbacks of the process (process.h); `user` is the remote. */
void remote_on_message(void *user, tn_value message);
bool remote_on_message_now(void *user, tn_value message);

/* ---- remote_http.c: HTTP exchanges ---- */

/* Handles a message about an exchange. Returns false if `method` is not one of them. */
bool remote_http_on_message(struct remote *remote, const char *method, tn_value message);
/* Cancels all exchanges, because the process has ended. */
void remote_http_cancel_all(struct remote *remote);

/* ---- remote_process.c: start and end of the process ---- */

/*
 * Ensures that a process runs and has all instances. On failure the error's `retry_after_ms` says when to try again.
 */
int32_t remote_ensure_process(struct remote *remote, struct error *error);
/* Creates the instance in the process; *bound is the result, a new reference. */
int32_t remote_create_instance(struct remote_instance *instance, tn_value *bound, struct error *error);
size_t remote_sent_count(const struct remote_instance *instance); /* the length of `sent` */
/* Forgets what was sent: the next task of the instance sends everything whole. */
void remote_discard_sent(struct remote_instance *instance);

#endif
