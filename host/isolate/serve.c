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
#include "host/isolate/serve_internal.h"
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

struct server server;

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

void serve_set_too_long(struct error *error, const char *what) {
    error_set(error, TN_LIMIT, "LIMIT", "%s is longer than the 64 MiB that a process of its own can say at once", what);
}

static tn_value message_new(void) { return value_set_take(value_object_reserve(4), "jsonrpc", value_text("2.0")); }

bool serve_notify_take(const char *method, tn_value params) {
    tn_value message = value_set_take(message_new(), "method", value_text(method));
    return send_take(value_set_take(message, "params", params));
}

void serve_refuse(tn_value id, const struct error *why) {
    tn_value failure = value_set_take(value_object_reserve(3), "code", value_int(-32000));
    failure = value_set_take(failure, "message", value_text(why->message ? why->message : "failed"));
    failure = value_set_take(failure, "data", error_to_value(why));
    tn_value message = value_set_take(message_new(), "id", value_ref(id));
    send_take(value_set_take(message, "error", failure));
}

void serve_answer_take(tn_value id, tn_value result) {
    tn_value message = value_set_take(message_new(), "id", value_ref(id));
    struct error error = ERROR_INIT;
    if (send_take(value_set_take(message, "result", result))) return;
    serve_set_too_long(&error, "the answer");
    serve_refuse(id, &error);
    error_finish(&error);
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
        serve_notify_take("add", value_set_take(value_object_reserve(1), "component", value_ref(component)));
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
    serve_notify_take("remove", value_set_take(params, "id", value_text(id)));
    return TN_OK;
}

static const tn_registry_draft registry_stub = {sizeof(tn_registry_draft), 0, add_component, remove_component};

static int32_t expect_components(const tn_host *host, int32_t more) {
    if (!plugin_of(host) || (more != 0 && more != 1)) return TN_INVALID;
    serve_notify_take("expect", value_set_take(value_object_reserve(1), "more", value_bool(more == 1)));
    return TN_OK;
}

static const tn_expect_draft expect_stub = {sizeof(tn_expect_draft), 0, expect_components};

/* The host's own table, except for what must be told to the real host. */
static const struct registry_interface *interfaces(void) {
    static struct registry_interface table[32];
    size_t count = 0;
    for (const struct registry_interface *row = interface_table; row->id && count < 31; row++) {
        table[count] = *row;
        if (strcmp(row->id, TN_REGISTRY_DRAFT) == 0) table[count].vtable = &registry_stub;
        if (strcmp(row->id, TN_EXPECT_DRAFT) == 0) table[count].vtable = &expect_stub;
        count++;
    }
    return table;
}

static void initialize(tn_value id, tn_value params) {
    struct error error = ERROR_INIT;
    tn_value level = value_get(params, "log");
    if (level) log_set_level((int32_t)value_to_int(level));
    server.config = value_ref(value_get(params, "config"));
    interface_state_elsewhere = serve_operation;
    interface_http_elsewhere = &serve_http;
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
        serve_answer_take(id, value_set_take(result, "version", value_text(plugin_version(server.plugin))));
    } else {
        serve_refuse(id, &error);
    }
    error_finish(&error);
}

static void shut_down(tn_value id) {
    while (server.instances) serve_instance_free(server.instances);
    registry_free(server.host.registry);
    server.host.registry = NULL;
    serve_http_end();
    serve_answer_take(id, value_null());
}

/* ---- Messages ---- */

static void handle(tn_value message) {
    tn_value name = value_get(message, "method"), id = value_get(message, "id"), params = value_get(message, "params");
    const char *method = name ? value_chars(name, NULL) : "";
    if (!params || !value_is(params, TN_OBJECT)) params = NULL;
    if (strcmp(method, "start") == 0) {
        serve_start_task(params);
    } else if (strcmp(method, "cancel") == 0) {
        serve_cancel_task(params);
    } else if (strcmp(method, "credit") == 0) {
        serve_credit_task(params);
    } else if (strcmp(method, "called") == 0) {
        serve_called(params);
    } else if (strcmp(method, "http") == 0) {
        serve_http_event(params);
    } else if (strcmp(method, "create") == 0) {
        serve_create(id, params);
    } else if (strcmp(method, "reduce") == 0) {
        serve_reduce(id, params);
    } else if (strcmp(method, "destroy") == 0) {
        serve_destroy(params);
    } else if (strcmp(method, "initialize") == 0) {
        initialize(id, params);
    } else if (strcmp(method, "shutdown") == 0) {
        shut_down(id);
    } else if (strcmp(method, "exit") == 0) {
        server.over = true;
    } else if (id) {
        struct error error = ERROR_INIT;
        error_set(&error, TN_UNSUPPORTED, "UNSUPPORTED", "there is no method `%s`", method);
        serve_refuse(id, &error);
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
