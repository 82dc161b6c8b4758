/*
 * remote_internal.h - shared by the files of a remote plugin: instances (remote.c), its tasks (remote_task.c), which
 * process runs them (remote_pool.c), deaths (remote_pause.c), idle processes (remote_idle.c), one process
 * (remote_child.c), its messages (remote_message.c), its HTTP exchanges (remote_http.c), its requests and subscriptions
 * (remote_host.c), and what it serves (remote_server.c, remote_ping.c). Stores are apart from these (remote_store.c):
 * each has another process.
 *
 * A remote lives as long as the plugin is loaded. Its processes end and are started again; instances survive that,
 * tasks do not. Async components share one process. Each task of a blocking component has a process to itself, from a
 * pool. A process creates an instance when it first needs it. Thread: loop.
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_REMOTE_INTERNAL_H
#define TENON_HOST_PLUGIN_ISOLATE_REMOTE_INTERNAL_H

#include "adl/value/value.h"
#include "host/base/loop.h"
#include "host/plugin/isolate/frame.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/remote.h"

struct process;
struct remote;
struct remote_child;
struct remote_idle_timer;

#define REMOTE_TASKS_MAX (1u << 20)
#define REMOTE_TICK_MS                                                                                                 \
    250 /* a limit for a process is counted in steps, so that a machine that stood still costs one                     \
         */

struct remote_instance {
    struct remote_instance *next;
    struct remote *remote;
    int64_t number;               /* its number on the wire */
    const char *kind, *component; /* borrowed from the manifest */
    tn_value config, bound;       /* bound: the result of the first `create` */
    tn_value channels;            /* names of all fields that it may read; NULL: unknown */
    tn_value needed;              /* names of fields for which null means that no value was given */
    bool uses_run;
    bool pooled;  /* its tasks run in the pool */
    bool dynamic; /* of a component that the plugin has added at run time */
    struct remote_copy *copies;
};

enum remote_copy_state {
    COPY_CREATING, /* `create` was sent */
    COPY_READY,
    COPY_LOST /* this process did not create it like the first one */
};

/* An instance in one process. */
struct remote_copy {
    struct remote_copy *next; /* of the same instance */
    struct remote_copy *next_in_child, *previous_in_child;
    struct remote_instance *instance;
    struct remote_child *child;
    enum remote_copy_state state;
    tn_value *sent; /* last sent: for each channel read, its array; then for each tool set, its description */
};

enum remote_task_state {
    TASK_FREE,
    TASK_WAITING,  /* for a process; in a queue of the remote */
    TASK_CREATING, /* of a blocking component: its process creates the instance */
    TASK_OPEN      /* sent to its process */
};

struct remote_queue {
    struct remote_task *first, *last;
    uint32_t count;
};

struct remote_task {
    enum remote_task_state state;
    uint32_t index, generation, next_free;
    struct remote_instance *instance;
    struct remote_child *child; /* NULL while waiting */
    tn_task token;
    struct remote_queue *queue;          /* the queue that contains it; NULL unless it waits */
    struct remote_task *next, *previous; /* in the queue */
    uint32_t uncredited;                 /* chunks that were consumed and not yet credited to the child */
    uint32_t nested;                     /* its open calls that may need a process of the same pool */
    uint32_t failed_starts;              /* processes that did not start while it waited for one */
    bool was_cancelled;                  /* the task that had this entry before: it was asked to end it */
    bool reader_full;                    /* the caller accepts no more chunks: send no credit until it is ready */
    struct loop_timer deadline;          /* after a cancel: kills the child if the task does not end */
};

enum remote_child_state {
    CHILD_STARTING, /* `initialize` was sent */
    CHILD_RUNNING,
    CHILD_STOPPING /* `shutdown` was sent; it gets nothing more */
};

/* One process of the plugin. */
struct remote_child {
    struct remote_child *next; /* in the pool, the last used first */
    struct remote *remote;
    struct process *process;
    enum remote_child_state state;
    bool shared;
    bool blameless;           /* the host kills it because of one task: not counted as a death of the plugin */
    uint32_t deaths_before;   /* deaths of the plugin when it was started */
    struct remote_task *task; /* of the pool: what it runs, or NULL if it is idle */
    uint32_t open;            /* tasks in it */
    int64_t used_ms;          /* when it became idle, or was asked to stop; real time */
    struct remote_copy *copies;
    struct remote_exchange **exchanges; /* HTTP exchanges by number: TASK_BUCKETS lists; NULL before the first one */
    uint32_t exchange_count;
    struct remote_use *uses;          /* requests and subscriptions of tenon.host */
    struct remote_request **requests; /* of tenon.server, by number: TASK_BUCKETS lists; NULL before the first one */
    uint32_t request_count;
    bool watched, pinging; /* watched: the timer runs; pinging: it has not answered `ping` */
    struct loop_timer ping_timer;
    int64_t ping_left_ms;
    struct loop_timer start_timer;
    int64_t start_left_ms;
    uint32_t creating; /* `create` requests that it has not answered, but for those that the host waits for */
    struct loop_timer create_timer;
    int64_t create_left_ms;
    struct error start_error; /* the response to `initialize` */
};

struct remote {
    tn_plugin plugin_entry; /* what the registry sees */
    const struct remote_services *host;
    struct plugin *plugin;
    tn_value config;
    tn_value environment; /* of its processes; NULL: the next start collects it. A death may mean that it is outdated */
    struct remote_instance *instances;
    int64_t instance_count;
    /* Processes. */
    bool shares; /* some of its components need the shared process */
    bool serves; /* it has had routes: the shared process is started again when it has ended */
    struct remote_route *routes;
    void (*started)(struct plugin *plugin, const struct error *error); /* remote_start_later, until it is called */
    bool closing;                                                      /* remote_close: nothing is started any more */
    struct remote_child *shared;                                       /* NULL if it does not run */
    uint32_t shared_starts;
    struct remote_child *pool;
    uint32_t pool_count, pool_starting; /* without the stopping ones */
    uint32_t pool_busy;                 /* those with a task */
    uint32_t pool_nested;               /* those whose task waits for a call that may need a process of the pool */
    uint32_t pool_max;                  /* limit of the others */
    uint32_t processes_max;             /* limit of all: REMOTE_PROCESSES_MAX; tests lower it */
    struct remote_idle_timer *idle_timer;
    /* Tasks. */
    struct remote_task **tasks; /* blocks of 64, so that tasks never move */
    uint32_t task_count, free_task;
    uint32_t tasks_max;                      /* REMOTE_TASKS_MAX; tests lower it */
    uint32_t open_calls;                     /* calls of its tasks that have not ended */
    struct remote_call *calls[TASK_BUCKETS]; /* the same, by number */
    struct remote_queue shared_queue, pool_queue;
    /* Components that it may add (remote_demand.c). */
    struct remote_demand *demands;
    uint32_t demand_count;
    bool child_expects; /* the last `expect` of the shared process */
    bool quiesced;      /* it was asked to quiesce: nothing more is demanded */
    /* Deaths. */
    uint32_t deaths, in_a_row; /* in a row: see remote_pause.c */
    int64_t record;            /* the id of the record that has them, or 0; if it is gone, they were reset */
    int64_t restart_ms;        /* no start before */
    struct loop_timer restart;
    struct error last_end; /* how the last process ended */
    /* Stores (remote_store.c), whose threads read these; set before a store is opened. */
    tn_value store_environment;               /* of their processes */
    int64_t store_ms, store_pause_ms;         /* REMOTE_STORE_MS, REMOTE_STORE_PAUSE_MS; tests lower them */
    struct remote_store_deaths *store_deaths; /* of all its stores; has a lock */
};

/* ---- remote_store.c: deaths of the processes of stores. Thread: any ---- */

struct remote_store_deaths *store_deaths_new(void);
void store_deaths_clear(struct remote_store_deaths *deaths);
void store_deaths_free(struct remote_store_deaths *deaths);

/* ---- remote_demand.c: what the host looks for ---- */

/* The shared process runs; `initialized` is what it answered. */
void remote_demand_begin(struct remote *remote, tn_value initialized);
void remote_demand_end(struct remote *remote); /* the shared process adds nothing more */
void remote_demand_free(struct remote *remote);
void remote_on_demanded(struct remote *remote, tn_value params); /* nothing more comes for a pattern */
void remote_on_expect(struct remote *remote, bool more);

/* ---- remote_task.c: tasks ---- */

/*
 * The number of a task on the wire is an index into the table and a generation, so that a message about a task that has
 * ended or never existed finds nothing. A task stays in the table until the child reports its end or has ended itself,
 * even if the host has already cancelled it.
 */
struct remote_task *remote_task_at(const struct remote *remote, uint32_t index);
int64_t remote_task_number(const struct remote_task *task);
struct remote_task *remote_task_lookup(const struct remote *remote, int64_t number); /* only open ones */
/* True if it was the last task of its entry, and the process has ended it without a cancel, which may have crossed. */
bool remote_task_was_ended(const struct remote *remote, int64_t number);
struct remote_task *remote_task_lookup_by_token(const struct remote *remote, tn_task token);
struct remote_task *remote_task_acquire(struct remote *remote); /* NULL if the table is full */
void remote_task_leave_child(struct remote_task *task);
/* Frees the entry. The task leaves its queue and its process; call remote_pump_pool afterwards. */
void remote_task_release(struct remote *remote, struct remote_task *task);
void remote_task_fail(struct remote *remote, struct remote_task *task, const struct error *why); /* and releases it */
void remote_task_reserve(struct remote_task *task,
                         struct remote_child *child); /* the child is its process from now on */
/* Sends the task to its process, which must have a copy that is ready. */
void remote_task_open(struct remote_task *task, struct remote_copy *copy);
/* Asks the process to end an open task. If it does not do so in time, the process is killed. Repeatable. */
void remote_task_cancel(struct remote_task *task);
/* Sends the child credit for the consumed chunks if they are at least `least`. */
void remote_task_send_credit(struct remote_task *task, uint32_t least);
void remote_queue_append(struct remote_queue *queue, struct remote_task *task);
void remote_queue_remove(struct remote_task *task);

/* ---- remote_message.c: callbacks of a process (process.h); `user` is the child ---- */

void remote_on_message(void *user, tn_value message);
void remote_on_log(const struct remote *remote, tn_value params); /* any thread */
bool remote_on_message_now(void *user, tn_value message);

/* ---- remote_call.c: calls that tasks make ---- */

/* Handles `call`, `cancel_call` and `call_credit` of an open task; ignores any other method. */
void remote_call_on_message(struct remote_task *task, const char *method, tn_value params);
/* Reports that the input of a call was nested too deep. */
void remote_call_refuse_deep(const struct remote_task *task, tn_value params);
/* An integer member of a message, or `otherwise`. */
int64_t remote_int_member(tn_value object, const char *key, int64_t otherwise);

/* ---- remote_http.c: HTTP exchanges ---- */

/* Handles a message about an exchange. Returns false if `method` is not one of them. */
bool remote_http_on_message(struct remote_child *child, const char *method, tn_value message);
/* Cancels all exchanges of a process that has ended. */
void remote_http_cancel_all(struct remote_child *child);

/* ---- remote_host.c: requests and subscriptions of tenon.host ---- */

/* Handles a message about one of them. Returns false if `method` is not such a message. */
bool remote_host_on_message(struct remote_child *child, const char *method, tn_value message);
/* Cancels the requests of a process that has ended, and ends its subscriptions. */
void remote_host_end_all(struct remote_child *child);

/* ---- remote_server.c: tenon.server ---- */

/* Handles a message about a route or a request. Returns false if `method` is not such a message. */
bool remote_server_on_message(struct remote_child *child, const char *method, tn_value message);
/* Removes the routes of a process that has ended, and ends its requests. */
void remote_server_end_all(struct remote_child *child);
void remote_server_free(struct remote *remote);

/* ---- remote_ping.c: whether a process with requests of tenon.server answers ---- */

/* It has a request. Kills it if it does not answer within REMOTE_PING_MS, as long as it has any. Repeatable. */
void remote_watch_requests(struct remote_child *child);

/* ---- remote_child.c: one process ---- */

/* For remote_store.c too; any thread. The params of `initialize`, and what its result and the plugin's file must be. */
tn_value remote_initialize_params(const struct remote *remote);
int32_t remote_check_initialized(const struct remote *remote, struct process *process, tn_value result,
                                 struct error *error);
int32_t remote_check_file(const struct remote *remote, struct error *error);
/* Starts a process without waiting. NULL with the error if it cannot be started. */
struct remote_child *child_launch(struct remote *remote, bool shared, struct error *error);
/* Starts a process, and waits until it runs. */
struct remote_child *child_start_wait(struct remote *remote, bool shared, struct error *error);
/* Kills the process if it still runs, and frees the child with its copies. Its tasks must have ended. */
void child_free(struct remote_child *child);
void child_stop(struct remote_child *child); /* asks an idle process to end */
/* It has not answered the request `method` within this time. */
void child_kill_late(struct remote_child *child, const char *method, int limit_ms);

struct remote_copy *child_copy(const struct remote_child *child, const struct remote_instance *instance);
/* Sends `create`, and calls remote_on_created when it is answered. NULL, with *fit, if it does not fit into a message.
 */
struct remote_copy *child_create(struct remote_child *child, struct remote_instance *instance, enum frame_fit *fit);
/* Creates the instance and waits; *bound is the result, a new reference. NULL with the error. */
struct remote_copy *child_create_wait(struct remote_child *child, struct remote_instance *instance, tn_value *bound,
                                      int32_t *status, struct error *error);
void child_remove_copy(struct remote_copy *copy);
size_t copy_sent_count(const struct remote_copy *copy); /* the length of `sent` */
/* Forgets what was sent: the next task of the instance sends everything whole. */
void copy_discard_sent(struct remote_copy *copy);

/* ---- remote_pool.c: which process runs a task, and when one is started ---- */

/* Sends waiting tasks to processes, and starts processes for them. Call it after each change. */
void remote_pump(struct remote *remote);
void remote_pump_pool(struct remote *remote); /* the same for the pool only: a process may have become idle */
void remote_enqueue(struct remote *remote, struct remote_task *task);
/* A process that is about to create the instance: for callers that cannot wait for a pause. NULL with the error. */
struct remote_child *remote_child_for_create(struct remote *remote, const struct remote_instance *instance,
                                             struct error *error);
void remote_copy_set_ready(struct remote_copy *copy); /* requires instance->bound */
void remote_on_created(struct remote_copy *copy, int32_t status, tn_value bound, const struct error *error);
void remote_on_started(struct remote_child *child);
void remote_on_child_end(void *user, const struct error *why); /* process_options.ended; `user` is the child */
bool child_takes_tasks(const struct remote_child *child);      /* it runs, and was not asked to end */
void remote_pool_close(struct remote *remote);                 /* stops the timers */

/* ---- remote_pause.c: deaths and pauses ---- */

int64_t remote_pause_after(uint32_t deaths_in_a_row);
/* Until the next process may be started; 0 if there is no pause. */
int64_t remote_pause_left(struct remote *remote);
void remote_pause(struct remote *remote); /* starts the pause that follows the deaths so far */
void remote_log_death(const struct remote *remote, const struct error *why);
void remote_on_task_ended(struct remote_child *child); /* its process has ended a task: the plugin works */
/* `child` is the process that has ended, or NULL if none was started. */
void remote_count_death(struct remote *remote, const struct remote_child *child, const struct error *why);
/* Sets retryable and retry_after_ms, which is 0 if other processes can run the task. */
void remote_describe_pause(const struct remote *remote, bool others_run, struct error *error);
void remote_clear_deaths(struct remote *remote);

/* ---- remote_idle.c: ends idle processes of the pool ---- */

/* Ends the processes that have been idle for REMOTE_IDLE_MS at that (real) time, but not the last used one. */
void remote_end_idle(struct remote *remote, int64_t now_ms);
void remote_watch_idle(struct remote *remote); /* ends them from now on; repeatable */
void remote_unwatch_idle(struct remote *remote);

#endif
