/*
 * serve_internal.h - what the files of the child's side share: the process and its messages (serve.c), tasks
 * (serve_task.c), instances and what they call (serve_instance.c), their tools (serve_tool.c), exchanges over HTTP
 * (serve_http.c).
 */
#ifndef TENON_HOST_SERVE_INTERNAL_H
#define TENON_HOST_SERVE_INTERNAL_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "host/call/call.h"
#include "host/host.h"
#include "host/isolate/frame.h"
#include "host/isolate/protocol.h"
#include "host/loop/loop.h"
#include <tenon/http.h>
#include <uv.h>

/* An instance by the host's number. */
struct served {
    struct served *next;
    int64_t number;
    struct callable *callable;
    char **reads, **writes; /* names, by field and channel; both in the order bound */
    uint32_t read_count, write_count;
    struct callee *callees;
    uint32_t callee_count;
    struct served_set *sets; /* of tools, in the order bound; NULL */
    tn_value *kept;          /* by field: what the last start gave, for what only grows */
};

/* A component of the host's, as bound by an instance. */
struct callee {
    struct callable callable;
    struct callee *next;
    struct server *server;
    char *kind, *name;
    tn_value config;
    uint32_t index;
    char *operation; /* of the state kernel, instead of all that; NULL */
};

struct task {
    struct task *next;
    int64_t number;
    struct served *instance;
    struct call *call;
    tn_value *reads; /* by field */
    tn_value context, run;
    int64_t room;    /* chunks that the host still takes */
    bool chunk_lost; /* one was too long */
};

/* A call that a task made, by our number. */
struct asked {
    struct asked *next;
    int64_t number;
    uint64_t token;
};

struct server {
    struct host host;
    int socket;
    uv_poll_t poll;
    struct frame_reader reader;
    struct buffer unsent;
    size_t sent;
    struct loop_work flush;
    const char *path;
    struct plugin *plugin;
    tn_value config;
    struct served *instances;
    struct task *tasks[TASK_BUCKETS];
    struct asked *asked;
    int64_t calls;
    bool over, polling_writes;
};

/* The one of this process. */
extern struct server server;

/* ---- serve.c ---- */

/* False: it is too long, and was not sent. Each takes what it is given to say. */
bool serve_notify_take(const char *method, tn_value params);
void serve_answer_take(tn_value id, tn_value result);
void serve_refuse(tn_value id, const struct error *why);
void serve_set_too_long(struct error *error, const char *what);

/* ---- serve_task.c: what the host says of tasks ---- */

void serve_start_task(tn_value params);
void serve_cancel_task(tn_value params);
void serve_credit_task(tn_value params);
void serve_reduce(tn_value id, tn_value params);
/* {task}, with room for more. */
tn_value serve_of_task(const struct task *task, uint32_t more);
void serve_fail_too_long(const struct call *call, const char *what);

/* ---- serve_instance.c ---- */

struct served *serve_instance(int64_t number); /* NULL: there is none */
void serve_instance_free(struct served *served);
void serve_create(tn_value id, tn_value params);
void serve_destroy(tn_value params);
/* A call of the host's, `which` of what `by` names; taken. For a callable's start. */
int32_t serve_ask_take(struct call *call, const char *by, tn_value which, tn_value input);
/* What a task called has ended. */
void serve_called(tn_value params);
/* An operation of the host's, by its name: of the state kernel, or HTTP's. */
struct callable *serve_operation(const char *operation);

/* ---- serve_tool.c ---- */

/* As instance_scope.tools; self is the instance. */
int32_t serve_scope_tools(void *self, tn_value names, struct callable **out, struct error *error);
tn_value serve_sets(const struct served *served); /* [names or null]; a new reference */
/* A task is started: {index: definitions} of sets that are not what they were; NULL: all are. */
void serve_take_tools(struct served *served, tn_value tools);

/* ---- serve_http.c ---- */

/* tenon.http in this process: the host makes the requests. */
extern const tn_http_draft serve_http;
/* An event of an exchange. */
void serve_http_event(tn_value params);
/* The plugin has ended: nothing more is told of what it has left open. */
void serve_http_end(void);

#endif
