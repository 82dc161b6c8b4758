/*
 * serve_internal.h - shared by the files of the child's side: the process and its messages (serve.c), tasks
 * (serve_task.c), instances and the host's components that they call (serve_instance.c), tool sets (serve_tool.c),
 * demands (serve_demand.c), shared memory (serve_shared.c), HTTP exchanges (serve_http.c), tenon.host (serve_host.c),
 * operations of the host (serve_operation.c), and stores (serve_store.c).
 *
 * Numbers of instances and tasks are assigned by the host; those of calls, exchanges, requests and subscriptions are
 * assigned here. Thread: the loop of this process.
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_SERVE_INTERNAL_H
#define TENON_HOST_PLUGIN_ISOLATE_SERVE_INTERNAL_H

#include "adl/value/buffer.h"
#include "adl/value/error.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/plugin/isolate/frame.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/registry/registry.h"
#include <tenon/document.h>
#include <tenon/host.h>
#include <tenon/http.h>
#include <tenon/server.h>
#include <tenon/state.h>
#include <uv.h>

/* An instance that the host created in this process. */
struct authority;
struct served_instance {
    struct served_instance *next;
    int64_t number;
    struct callable *callable;
    tn_value needed;        /* names of channels for which null means that no value was given; or NULL */
    char **reads, **writes; /* names of the channels that it can read and writes; see `closed` */
    uint32_t read_count, write_count;
    bool closed; /* the host has listed all channels that it can read; otherwise `reads` is what it has bound so far */
    struct served_callee *callees;
    uint32_t callee_count;
    struct served_set *sets; /* tool sets in the order bound; NULL if none */
    tn_value *last_reads;    /* [channel read]: its array at the last start, which the host may extend */
};

/* A component of the host that an instance has bound. */
struct served_callee {
    struct callable callable;
    struct served_callee *next;
    char *kind, *name;
    tn_value config;
    uint32_t index;
    char *operation; /* name of an operation of the host, or NULL; if set, the fields above are unused */
};

struct served_task {
    struct served_task *next;
    int64_t number;
    struct served_instance *instance;
    struct call *call;
    tn_value *reads; /* [channel read]: its value */
    tn_value context, run;
    int64_t credit;           /* chunks that the host accepts */
    enum frame_fit chunk_fit; /* why a chunk could not be sent */
};

/* A call of the host that a task made and that has not ended. */
struct served_call {
    struct served_call *next; /* in the same bucket */
    int64_t number, task;
    uint64_t token;
    int64_t uncredited; /* chunks received since the last credit */
    bool full;          /* the call's queue of chunks is full: no credit until `ready` */
};

struct served_demand;
struct served_exchange;
struct served_request;
struct served_route;
struct served_use;
struct serve_options;

#define SERVE_INTERFACES_MAX 32u

/*
 * The whole state of the child's side. It is process-wide because a child process serves exactly one plugin, and
 * because functions of tn_http_1 and of the registry's interfaces get no pointer to it.
 */
struct server {
    const struct serve_options *options;
    const char *path; /* the plugin's file */
    struct loop *loop;
    struct registry *registry;
    struct registry_interface interfaces[SERVE_INTERFACES_MAX]; /* the host's table, with some rows replaced */
    struct plugin *plugin;
    bool expecting;                /* the last argument of tn_registry_1.expect */
    struct served_demand *demands; /* what the host looks for, and the plugin may still add */
    struct loop_timer demand_timer;
    tn_value config;
    /* The connection to the host. */
    int socket;
    uv_poll_t poll;
    bool polling_writes;
    bool exiting; /* the host has sent `exit` */
    struct frame_reader reader;
    bool shares, shared_asked; /* the host offers shared memory; this process has requested it */
    struct shared_memory *shared_out,
        *shared_in;  /* this process writes in the first, the host in the second; or NULL */
    int received[2]; /* descriptors that the host has sent, and that no message has used */
    size_t received_count;
    struct buffer outgoing; /* messages for the host */
    size_t outgoing_sent;   /* bytes at the start of `outgoing` that were sent */
    struct loop_work flush;
    /* What the host and the plugin have open. */
    struct served_instance *instances;
    struct served_task *tasks[TASK_BUCKETS];
    struct served_call *calls[TASK_BUCKETS];
    int64_t last_call; /* the highest number of a call */
    struct served_exchange *exchanges[TASK_BUCKETS];
    int64_t last_exchange; /* the highest number of an exchange; a number is never reused */
    uint32_t exchange_count;
    struct served_use *uses; /* requests and subscriptions of tenon.host */
    int64_t last_use;        /* the highest number of both */
    uint32_t use_counts[2];  /* requests, subscriptions */
    bool serves;             /* the host has routes */
    struct served_route *routes;
    int64_t last_route; /* the highest number of a route */
    uint32_t route_count;
    tn_value trace;                                /* serve_set_trace; borrowed */
    struct served_request *requests[TASK_BUCKETS]; /* of tenon.server */
};

extern struct server server;

/* ---- serve.c: messages to the host ---- */

/* Each takes the references of its values. Returns why the message was not sent, or FRAME_FITS. */
enum frame_fit serve_notify_take(const char *method, tn_value params);
/* The response to request `id`. Returns why it was not sent, or FRAME_FITS. */
enum frame_fit serve_send_result_take(tn_value id, tn_value result);
/* The same. If the result cannot be sent, responds with an error. */
void serve_respond_take(tn_value id, tn_value result);
void serve_respond_error(tn_value id, const struct error *why);
/* Sets the error for `what`, a message that the protocol does not allow. */
void serve_set_unsendable(struct error *error, const char *what, enum frame_fit fit);

/* ---- serve_shared.c: memory for large texts (shared.h) ---- */

/* recv() on the host's socket that also takes descriptors. */
ssize_t serve_receive(void *bytes, size_t size);
/* frame_write that moves large texts into the shared memory. Takes the message. */
enum frame_fit serve_write_message_take(tn_value message);
/*
 * Puts the texts of the message in their places, and handles messages about the memory. TN_AGAIN: it was one of these.
 * TN_INVALID: the host has sent something impossible.
 */
int32_t serve_read_shared(tn_value *message, struct error *error);

/* ---- serve_task.c: messages about tasks ---- */

void serve_start_task(tn_value params);
void serve_cancel_task(tn_value params);
void serve_credit_task(tn_value params);
void serve_reduce(tn_value id, tn_value params);
/* Returns {task: number}, with space for `more` members. */
tn_value served_task_params(const struct served_task *task, uint32_t more);
void serve_fail_unsendable(const struct call *call, const char *what, enum frame_fit fit);

/* ---- serve_instance.c ---- */

struct served_instance *served_instance_lookup(int64_t number); /* NULL if there is no such instance */
void served_instance_free(struct served_instance *instance);
void serve_create(tn_value id, tn_value params);
void serve_destroy(tn_value params);
/* Sends a call to the host: `key` and `target` say what is called, e.g. "callee" and its index. Takes `target`. */
int32_t serve_call_host_take(struct call *call, const char *key, tn_value target, tn_value input);
/* The result of a call of the host, and a chunk of it. */
void serve_on_called(tn_value params);
void serve_on_call_chunk(tn_value params);
/* `cancel` and `ready` of callables whose start is serve_call_host_take. */
void serve_call_cancel(struct callable *callable, struct call *call);
void serve_call_ready(struct callable *callable, struct call *call);
/* [any] A callable for an operation of the host: of tenon.state or tenon.document, PROTOCOL_HTTP_SEND, or a method. */
struct callable *serve_operation(const char *operation);

/* ---- serve_tool.c ---- */

/* Implements instance_scope.tools; `self` is the instance. */
int32_t serve_scope_tools(void *self, struct authority *caller, tn_value names, struct callable **out,
                          struct error *error);
tn_value served_sets_names(const struct served_instance *instance); /* [names or null]; a new reference */
/* Stores the descriptions that came with the start of a task: {index: definitions}; NULL if none has changed. */
void served_sets_update(struct served_instance *instance, tn_value tools);

/* ---- serve_demand.c ---- */

/* The host looks for components: a notification, or a request for what is known. */
void serve_demand(tn_value id, tn_value params);
/* Discards what the host still waits for, because the plugin is shut down. */
void serve_discard_demands(void);

/* ---- serve_store.c ---- */

/* Handles a request about a store, and responds later. Returns false if `method` is not one of them. */
bool serve_store(const char *method, tn_value id, tn_value params);

/* ---- serve_http.c, serve_host.c, serve_operation.c: interfaces that the host implements ---- */

extern const tn_host_1 serve_host;
extern const tn_http_1 serve_http;
extern const tn_server_draft serve_server;
extern const tn_state_draft serve_state;
extern const tn_document_draft serve_document;
/* An event of an exchange. */
void serve_on_http_event(tn_value params);
/* Discards all exchanges without further events, because the plugin has been shut down. */
void serve_discard_exchanges(void);
/* TN_OK, TN_INVALID for what is not a host of ours, or TN_WRONG_THREAD. */
int32_t serve_check_loop(const tn_host *self);
/* An event of a subscription; the end of a request or a subscription. */
void serve_on_host_event(tn_value params);
void serve_on_host_ended(tn_value params);
/* As the functions of tn_server_draft. */
int32_t serve_host_request_as(const tn_host *self, uint64_t caller, const char *method, uint64_t length,
                              tn_value params, tn_host_handler handler, void *user, uint64_t *request);
int32_t serve_host_subscribe_as(const tn_host *self, uint64_t caller, tn_value params, tn_host_handler handler,
                                void *user, uint64_t *subscription);
/*
 * What the plugin does from now on is caused by a request with this trace context, as plugin_clients_set_trace in the
 * host's process. Borrowed, or NULL; returns the one before. (serve_server.c)
 */
tn_value serve_set_trace(tn_value trace);
/* An event of a request of tenon.server (serve_server.c). */
void serve_on_server_event(tn_value params);
void serve_discard_server(void); /* as serve_discard_exchanges */
/* The same as serve_discard_exchanges, for requests and subscriptions. */
void serve_discard_host_uses(void);

#endif
