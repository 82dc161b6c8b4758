/*
 * serve.c - messages in, calls of components; what these do, messages out.
 *
 * An instance here is an instance of the call layer whose scope knows no names: each name that the component binds is
 * taken down, and the host is told of all of them when create returns; it is the host that knows whether they lead
 * anywhere. A task here is a call of such an instance. Numbers of instances, tasks and calls are the host's.
 */
#include "host/isolate/serve.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/call/instance_internal.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/interface/interface.h"
#include "host/isolate/frame.h"
#include "host/isolate/protocol.h"
#include "host/log.h"
#include "host/loop/loop.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define LOG_MARK '\1'

/* An instance by the host's number. */
struct served {
    struct served *next;
    int64_t number;
    struct callable *callable;
    char **reads, **writes; /* names, by field and channel; both in the order bound */
    uint32_t read_count, write_count;
    struct callee *callees;
    uint32_t callee_count;
    tn_value *kept; /* by field: what the last start gave, for what only grows */
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

static struct server server;

/* ---- Sending ---- */

static void flush_now(bool wait) {
    while (server.sent < server.unsent.length) {
        ssize_t wrote =
            send(server.socket, server.unsent.data + server.sent, server.unsent.length - server.sent, MSG_NOSIGNAL);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait) break;
            struct pollfd ready = {.fd = server.socket, .events = POLLOUT};
            poll(&ready, 1, -1);
            continue;
        }
        if (wrote < 0) _exit(0); /* the host is gone */
        server.sent += (size_t)wrote;
    }
    frame_sent(&server.unsent, &server.sent);
}

static void on_socket(uv_poll_t *poll, int status, int events);

static void flush_work(struct loop_work *work) {
    (void)work;
    flush_now(false);
    bool writes = server.sent < server.unsent.length;
    if (writes == server.polling_writes) return;
    server.polling_writes = writes;
    uv_poll_start(&server.poll, UV_READABLE | (writes ? UV_WRITABLE : 0), on_socket);
}

/* False: it is too long, and was not sent. */
static bool send_take(tn_value message) {
    bool fits = frame_write(&server.unsent, message);
    value_unref(message);
    loop_defer(server.host.loop, &server.flush);
    return fits;
}

static void set_too_long(struct error *error, const char *what) {
    error_set(error, TN_LIMIT, "LIMIT", "%s is longer than the 64 MiB that a process of its own can say at once", what);
}

static tn_value message_new(void) { return value_set_take(value_object_reserve(4), "jsonrpc", value_text("2.0")); }

static bool notify_take(const char *method, tn_value params) {
    tn_value message = value_set_take(message_new(), "method", value_text(method));
    return send_take(value_set_take(message, "params", params));
}

static void refuse(tn_value id, const struct error *why) {
    tn_value failure = value_set_take(value_object_reserve(3), "code", value_int(-32000));
    failure = value_set_take(failure, "message", value_text(why->message ? why->message : "failed"));
    failure = value_set_take(failure, "data", error_to_value(why));
    tn_value message = value_set_take(message_new(), "id", value_ref(id));
    send_take(value_set_take(message, "error", failure));
}

static void answer_take(tn_value id, tn_value result) {
    tn_value message = value_set_take(message_new(), "id", value_ref(id));
    struct error error = ERROR_INIT;
    if (send_take(value_set_take(message, "result", result))) return;
    set_too_long(&error, "the answer");
    refuse(id, &error);
    error_finish(&error);
}

static tn_value of_task(const struct task *task, uint32_t more) {
    return value_set_take(value_object_reserve(1 + more), "task", value_int(task->number));
}

/* ---- Tasks ---- */

static struct task **find_task(int64_t number) {
    struct task **at = &server.tasks[(uint64_t)number % TASK_BUCKETS];
    while (*at && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void task_free(struct task *task) {
    *find_task(task->number) = task->next;
    for (uint32_t i = 0; i < task->instance->read_count; i++) value_unref(task->reads[i]);
    mem_free((void *)task->reads);
    value_unref(task->context);
    value_unref(task->run);
    call_free(task->call);
    mem_free(task);
}

static tn_value task_writes(const struct task *task) {
    uint32_t count;
    const struct call_write *writes = call_writes(task->call, &count);
    if (!count) return NULL;
    tn_value list = value_array();
    for (uint32_t i = 0; i < count; i++) {
        tn_value pair = value_push_take(value_array(), value_text(task->instance->writes[writes[i].channel]));
        list = value_push_take(list, value_push_take(pair, value_ref(writes[i].value)));
    }
    return list;
}

static bool tell_end(const struct task *task) {
    tn_value params = of_task(task, 4), writes, given;
    switch (call_outcome(task->call)) {
    case CALL_COMPLETED:
        writes = task_writes(task);
        if (call_output(task->call)) params = value_set_take(params, "output", value_ref(call_output(task->call)));
        if (writes) params = value_set_take(params, "writes", writes);
        return notify_take("complete", params);
    case CALL_INTERRUPTED:
        given = call_interrupt_value(task->call);
        for (uint32_t i = 0; i < value_count(given); i++)
            params = value_set_key_take(params, value_ref(value_key_at(given, i)), value_ref(value_value_at(given, i)));
        return notify_take("interrupt", params);
    default: return notify_take("fail", value_set_take(params, "error", error_to_value(call_error(task->call))));
    }
}

static void task_over(struct task *task) {
    if (task->chunk_lost || !tell_end(task)) {
        struct error error = ERROR_INIT;
        set_too_long(&error, task->chunk_lost ? "a chunk" : "what the task ended with");
        notify_take("fail", value_set_take(of_task(task, 1), "error", error_to_value(&error)));
        error_finish(&error);
    }
    task_free(task);
}

static void on_ended(struct call *call) { task_over(call_owner(call)); }

static void fail_too_long(const struct call *call, const char *what) {
    struct error error = ERROR_INIT;
    set_too_long(&error, what);
    call_fail(call_token(call), &error);
    error_finish(&error);
}

static bool on_chunk(struct call *call, tn_value chunk) {
    struct task *task = call_owner(call);
    if (!notify_take("emit", value_set_take(of_task(task, 1), "chunk", value_ref(chunk)))) {
        task->chunk_lost = true; /* it may have ended already: then that is not what is told */
        fail_too_long(call, "a chunk");
        return true;
    }
    return --task->room > 0;
}

static tn_value on_read(struct call *call, uint32_t field) {
    const struct task *task = call_owner(call);
    return field < task->instance->read_count ? task->reads[field] : NULL;
}

static tn_value on_context(struct call *call) { return value_ref(((struct task *)call_owner(call))->context); }
static tn_value on_run(struct call *call) { return value_ref(((struct task *)call_owner(call))->run); }

static const struct call_ops task_ops = {
    .ended = on_ended, .chunk = on_chunk, .read = on_read, .context = on_context, .run_value = on_run};

static struct served *find_instance(int64_t number) {
    struct served *served = server.instances;
    while (served && served->number != number) served = served->next;
    return served;
}

static void start_task(tn_value params) {
    int64_t number = value_to_int(value_get(params, "task"));
    struct served *served = find_instance(value_to_int(value_get(params, "instance")));
    if (!served || *find_task(number)) return; /* the host does not do that */
    struct task *task = mem_zalloc(sizeof *task), **place = find_task(number);
    tn_value reads = value_get(params, "reads"), grown = value_get(params, "grown");
    *place = task;
    task->number = number;
    task->instance = served;
    task->room = PROTOCOL_CHUNKS;
    task->context = value_ref(value_get(params, "context"));
    task->run = value_ref(value_get(params, "run"));
    task->reads = mem_zalloc((served->read_count + 1) * sizeof *task->reads);
    for (uint32_t i = 0; i < served->read_count; i++) {
        tn_value value = reads ? value_ref(value_get(reads, served->reads[i])) : NULL;
        tn_value more = grown ? value_get(grown, served->reads[i]) : NULL;
        if (more && served->kept[i]) value = protocol_grow(served->kept[i], more);
        task->reads[i] = value;
        value_unref(served->kept[i]);
        served->kept[i] = value_is(value, TN_ARRAY) ? value_ref(value) : NULL;
    }
    task->call = call_new(server.host.loop, served->callable, &task_ops, task);
    if (call_start(task->call, value_get(params, "input"))) task_over(task);
}

static void cancel_task(tn_value params) {
    struct task *task = *find_task(value_to_int(value_get(params, "task")));
    if (task) call_cancel(task->call);
}

static void credit_task(tn_value params) {
    struct task *task = *find_task(value_to_int(value_get(params, "task")));
    if (!task) return;
    bool full = task->room <= 0;
    task->room += value_to_int(value_get(params, "chunks"));
    if (full && task->room > 0) call_resume(task->call);
}

/* A reducer has no state and no context, and completes inside start; the host says what it is to one that does not. */
static void reduce(tn_value id, tn_value params) {
    static const struct call_ops nothing = {.ended = call_free};
    struct served *served = find_instance(value_to_int(value_get(params, "instance")));
    if (!served) return;
    struct call *call = call_new(server.host.loop, served->callable, &nothing, NULL);
    bool completed = call_start(call, value_get(params, "input"));
    tn_value result = value_set_take(value_object_reserve(2), "completed", value_bool(completed));
    if (completed && call_outcome(call) != CALL_COMPLETED) {
        refuse(id, call_error(call));
        value_unref(result);
    } else {
        if (completed && call_output(call)) result = value_set_take(result, "output", value_ref(call_output(call)));
        answer_take(id, result);
    }
    if (completed) call_free(call);
}

/* ---- Components of the host's, called from here ---- */

static int32_t callee_start(struct callable *callable, struct call *call, tn_value input) {
    const struct callee *callee = (const struct callee *)callable;
    const struct task *task = call_owner(call_parent(call));
    tn_value params = value_set_take(of_task(task, 3), "call", value_int(++server.calls));
    if (callee->operation)
        params = value_set_take(params, "operation", value_text(callee->operation));
    else
        params = value_set_take(params, "callee", value_int(callee->index));
    if (input) params = value_set_take(params, "input", value_ref(input));
    if (!notify_take("call", params)) {
        fail_too_long(call, "what a component is called with");
        return TN_OK;
    }
    struct asked *asked = mem_zalloc(sizeof *asked);
    asked->number = server.calls;
    asked->token = call_token(call);
    asked->next = server.asked;
    server.asked = asked;
    return TN_OK;
}

static void callee_free(struct callable *callable) {
    struct callee *callee = (struct callee *)callable;
    mem_free(callee->kind);
    mem_free(callee->name);
    mem_free(callee->operation);
    value_unref(callee->config);
    mem_free(callee);
}

static const struct callable_ops callee_ops = {.start = callee_start, .free = callee_free};

/* The store is the host's. */
static struct callable *operation_callee(const char *operation) {
    struct callee *callee = mem_zalloc(sizeof *callee);
    callee->callable = (struct callable){&callee_ops, 1};
    callee->operation = mem_text(operation);
    return &callee->callable;
}

static void called(tn_value params) {
    int64_t number = value_to_int(value_get(params, "call"));
    struct asked **at = &server.asked;
    while (*at && (*at)->number != number) at = &(*at)->next;
    struct asked *asked = *at;
    if (!asked) return;
    *at = asked->next;
    tn_value failure = value_get(params, "error");
    if (failure) {
        struct error error = ERROR_INIT;
        error_from_value(&error, failure);
        call_fail(asked->token, &error);
        error_finish(&error);
    } else {
        call_complete(asked->token, value_get(params, "output"));
    }
    mem_free(asked);
}

/* ---- Instances ---- */

static uint32_t take_down(char ***names, uint32_t *count, const char *name) {
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp((*names)[i], name) == 0) return i;
    if ((*count & (*count - 1)) == 0) *names = mem_array((void *)*names, *count ? *count * 2 : 1, sizeof **names);
    (*names)[*count] = mem_text(name);
    return (*count)++;
}

static int32_t scope_field(void *self, const char *name) {
    struct served *served = self;
    return (int32_t)take_down(&served->reads, &served->read_count, name);
}

static const char *scope_field_name(void *self, uint32_t field) {
    const struct served *served = self;
    return field < served->read_count ? served->reads[field] : "";
}

static int32_t scope_channel(void *self, const char *name) {
    struct served *served = self;
    return (int32_t)take_down(&served->writes, &served->write_count, name);
}

static struct callable *scope_callee(void *self, const char *kind, const char *name, tn_value config,
                                     struct error *error) {
    struct served *served = self;
    struct callee *callee = mem_zalloc(sizeof *callee), **last = &served->callees;
    (void)error;
    callee->callable = (struct callable){&callee_ops, 1};
    callee->kind = mem_text(kind);
    callee->name = mem_text(name);
    callee->config = value_ref(config);
    callee->index = served->callee_count++;
    while (*last) last = &(*last)->next;
    *last = callee;
    return &callee->callable;
}

static void served_free(struct served *served) {
    struct served **at = &server.instances;
    while (*at != served) at = &(*at)->next;
    *at = served->next;
    callable_unref(served->callable);
    for (uint32_t i = 0; i < served->read_count; i++) {
        mem_free(served->reads[i]);
        if (served->kept) value_unref(served->kept[i]);
    }
    for (uint32_t i = 0; i < served->write_count; i++) mem_free(served->writes[i]);
    mem_free((void *)served->reads);
    mem_free((void *)served->writes);
    mem_free((void *)served->kept);
    mem_free(served);
}

static tn_value names_value(char **names, uint32_t count) {
    tn_value list = value_array();
    for (uint32_t i = 0; i < count; i++) list = value_push_take(list, value_text(names[i]));
    return list;
}

/* {reads, writes, calls, run}: what it bound. */
static tn_value describe(const struct served *served) {
    const struct bindings *bindings = &((const struct instance *)served->callable)->bindings;
    tn_value calls = value_array();
    for (const struct callee *callee = served->callees; callee; callee = callee->next) {
        tn_value row = value_set_take(value_object_reserve(3), "kind", value_text(callee->kind));
        row = value_set_take(row, "name", value_text(callee->name));
        if (callee->config) row = value_set_take(row, "config", value_ref(callee->config));
        calls = value_push_take(calls, row);
    }
    tn_value result = value_set_take(value_object_reserve(4), "reads", names_value(served->reads, served->read_count));
    result = value_set_take(result, "writes", names_value(served->writes, served->write_count));
    result = value_set_take(result, "calls", calls);
    return value_set_take(result, "run", value_bool(bindings->uses_run));
}

static void create(tn_value id, tn_value params) {
    struct error error = ERROR_INIT;
    struct component *component = NULL;
    struct served *served = mem_zalloc(sizeof *served);
    const char *kind = value_chars(value_get(params, "kind"), NULL),
               *name = value_chars(value_get(params, "component"), NULL);
    served->number = value_to_int(value_get(params, "instance"));
    served->next = server.instances;
    server.instances = served;
    const struct instance_scope scope = {.self = served,
                                         .field = scope_field,
                                         .channel = scope_channel,
                                         .callee = scope_callee,
                                         .field_name = scope_field_name,
                                         .where = name};
    int32_t status = registry_resolve(server.host.registry, kind, name, &component, &error);
    if (status == TN_OK)
        status = instance_new(component, value_get(params, "config"), &scope, &served->callable, &error);
    if (status == TN_OK) {
        served->kept = mem_zalloc((served->read_count + 1) * sizeof *served->kept);
        answer_take(id, describe(served));
    } else {
        refuse(id, &error);
        served_free(served);
    }
    error_finish(&error);
}

static void destroy(tn_value params) {
    struct served *served = find_instance(value_to_int(value_get(params, "instance")));
    if (served) served_free(served);
}

/* ---- The plugin ---- */

static int32_t plugin_config(void *user, const char *plugin_id, tn_value *out, struct error *error) {
    (void)user, (void)plugin_id, (void)error;
    *out = value_ref(server.config);
    return TN_OK;
}

static int32_t add_component(const tn_host *host, tn_value component) {
    struct plugin *plugin = plugin_of(host);
    struct error error = ERROR_INIT;
    int32_t status = plugin ? registry_add_component(plugin, component, &error) : TN_INVALID;
    if (status == TN_OK)
        notify_take("add", value_set_take(value_object_reserve(1), "component", value_ref(component)));
    else
        log_write(LOG_WARN, NULL, "%s", error.message ? error.message : "a component was refused");
    error_finish(&error);
    return status;
}

static int32_t remove_component(const tn_host *host, const char *kind, const char *id) {
    struct plugin *plugin = plugin_of(host);
    int32_t status = plugin && kind && id ? registry_remove_component(plugin, kind, id, NULL) : TN_INVALID;
    if (status != TN_OK) return status;
    tn_value params = value_set_take(value_object_reserve(2), "kind", value_text(kind));
    notify_take("remove", value_set_take(params, "id", value_text(id)));
    return TN_OK;
}

static const tn_registry_draft registry_stub = {sizeof(tn_registry_draft), 0, add_component, remove_component};

/* The host's own table, except for what must be told to the real host. */
static const struct registry_interface *interfaces(void) {
    static struct registry_interface table[32];
    size_t count = 0;
    for (const struct registry_interface *row = interface_table; row->id && count < 31; row++) {
        table[count] = *row;
        if (strcmp(row->id, TN_REGISTRY_DRAFT) == 0) table[count].vtable = &registry_stub;
        count++;
    }
    return table;
}

static void initialize(tn_value id, tn_value params) {
    struct error error = ERROR_INIT;
    tn_value level = value_get(params, "log");
    if (level) log_set_level((int32_t)value_to_int(level));
    server.config = value_ref(value_get(params, "config"));
    interface_state_elsewhere = operation_callee;
    server.host.registry =
        registry_new(&(struct registry_options){.interfaces = interfaces(),
                                                .allow_drafts = value_to_bool(value_get(params, "drafts")),
                                                .config = plugin_config,
                                                .user = &server.host});
    int32_t status = registry_add_file(server.host.registry, server.path, "host", &error);
    const char *name = value_chars(value_get(params, "plugin"), NULL);
    server.plugin = status == TN_OK ? registry_plugin(server.host.registry, name ? name : "") : NULL;
    if (status == TN_OK && !server.plugin)
        status = error_set(&error, TN_NOT_FOUND, "PLUGIN_REFUSED", "%s is not the plugin `%s`", server.path, name);
    if (status == TN_OK) status = plugin_load(server.plugin, &error);
    if (status == TN_OK) {
        tn_value result = value_set_take(value_object_reserve(3), "protocol", value_text(PROTOCOL_VERSION));
        result = value_set_take(result, "plugin", value_text(plugin_id(server.plugin)));
        answer_take(id, value_set_take(result, "version", value_text(plugin_version(server.plugin))));
    } else {
        refuse(id, &error);
    }
    error_finish(&error);
}

static void shut_down(tn_value id) {
    while (server.instances) served_free(server.instances);
    registry_free(server.host.registry);
    server.host.registry = NULL;
    answer_take(id, value_null());
}

/* ---- Messages ---- */

static void handle(tn_value message) {
    tn_value name = value_get(message, "method"), id = value_get(message, "id"), params = value_get(message, "params");
    const char *method = name ? value_chars(name, NULL) : "";
    if (!params || !value_is(params, TN_OBJECT)) params = NULL;
    if (strcmp(method, "start") == 0) {
        start_task(params);
    } else if (strcmp(method, "cancel") == 0) {
        cancel_task(params);
    } else if (strcmp(method, "credit") == 0) {
        credit_task(params);
    } else if (strcmp(method, "called") == 0) {
        called(params);
    } else if (strcmp(method, "create") == 0) {
        create(id, params);
    } else if (strcmp(method, "reduce") == 0) {
        reduce(id, params);
    } else if (strcmp(method, "destroy") == 0) {
        destroy(params);
    } else if (strcmp(method, "initialize") == 0) {
        initialize(id, params);
    } else if (strcmp(method, "shutdown") == 0) {
        shut_down(id);
    } else if (strcmp(method, "exit") == 0) {
        server.over = true;
    } else if (id) {
        struct error error = ERROR_INIT;
        error_set(&error, TN_UNSUPPORTED, "UNSUPPORTED", "there is no method `%s`", method);
        refuse(id, &error);
        error_finish(&error);
    }
}

static void on_socket(uv_poll_t *poll, int status, int events) {
    static char chunk[65536];
    tn_value message;
    struct error error = ERROR_INIT;
    (void)poll, (void)events;
    ssize_t got = status < 0 ? 0 : recv(server.socket, chunk, sizeof chunk, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) _exit(0);
    if (got > 0) frame_feed(&server.reader, chunk, (size_t)got);
    while (!server.over && frame_next(&server.reader, &message, &error) == TN_OK && message) {
        handle(message);
        value_unref(message);
    }
    if (error.code) {
        fprintf(stderr, "%s\n", error.message);
        _exit(1);
    }
    flush_work(NULL);
}

static bool is_over(void *user) {
    (void)user;
    return server.over;
}

/* Whatever the plugin left running goes with its process. */
static void on_parent_gone(int number) {
    (void)number;
    kill(0, SIGKILL);
    kill(getpid(), SIGKILL); /* which a sandbox always allows */
}

static void write_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)who;
    char text[LOG_LINE_MAX + 8];
    int length = snprintf(text, sizeof text, "%c%d%s\n", LOG_MARK, (int)level, line);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0) return;
}

/* False: said. From here on nothing that the plugin does is trusted. */
static bool enter(const char *path, bool *program, serve_confine *confine) {
    struct error error = ERROR_INIT;
    struct manifest manifest;
    int32_t status = manifest_read(path, &manifest, &error);
    if (status == TN_OK) {
        *program = manifest.program;
        status = confine(manifest.value, path, manifest.program, &error);
        manifest_finish(&manifest);
    }
    if (status != TN_OK) fprintf(stderr, "%s\n", error.message);
    error_finish(&error);
    return status == TN_OK;
}

static int execute(int socket, const char *path) {
    char *name = mem_text(path), serve_text[] = "serve", *const arguments[] = {name, serve_text, name, NULL};
    fcntl(socket, F_SETFD, 0);
    signal(SIGTERM, SIG_DFL);
    execv(path, arguments);
    fprintf(stderr, "%s cannot be executed: %s\n", path, strerror(errno));
    return 1;
}

int serve(int socket, const char *path, serve_confine *confine) {
    struct error error = ERROR_INIT;
    bool program = false;
    int type;
    socklen_t size = sizeof type;
    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        fprintf(stderr, "tenon: a host starts this command, with a socket as descriptor %d\n", socket);
        return 2;
    }
    signal(SIGTERM, on_parent_gone);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setvbuf(stdout, NULL, _IOLBF, 0);
    log_set_sink(write_log, NULL);
    if (!enter(path, &program, confine)) return 1;
    if (program) return execute(socket, path);
    server.socket = socket;
    server.path = path;
    server.host.loop = loop_new(&error);
    if (!server.host.loop) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    loop_enter(server.host.loop);
    server.host.config = config_empty();
    server.host.concurrency_max = server.host.recursion_max = UINT32_MAX;
    frame_reader_init(&server.reader);
    buffer_init(&server.unsent, SIZE_MAX);
    server.flush.run = flush_work;
    loop_spin(server.host.loop, true);
    uv_poll_init(loop_uv(server.host.loop), &server.poll, socket);
    uv_poll_start(&server.poll, UV_READABLE, on_socket);
    loop_run(server.host.loop, is_over, NULL);
    flush_now(true);
    fflush(stdout);
    _exit(0); /* a plugin's exit hooks and threads are nobody's business any more */
}
