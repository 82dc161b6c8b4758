/*
 * serve.c - the child process: receives messages and dispatches them, sends messages, loads the plugin.
 *
 * An instance is an instance of the call layer with a scope that accepts every name. The names that a component binds
 * are recorded and returned to the host when create returns; the host checks them. A task is a call of such an
 * instance.
 */
#include "host/plugin/isolate/serve.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/abi/abi_builder.h"
#include "host/plugin/call/instance_internal.h"
#include "host/plugin/isolate/frame.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/serve_internal.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <assert.h>
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

struct server server;

/* ---- Sending ---- */

/* Writes what the socket accepts; `wait`: blocks until everything is written. */
static void serve_write(bool wait) {
    while (server.outgoing_sent < server.outgoing.length) {
        ssize_t wrote = send(server.socket, server.outgoing.data + server.outgoing_sent,
                             server.outgoing.length - server.outgoing_sent, MSG_NOSIGNAL);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait) break;
            struct pollfd ready = {.fd = server.socket, .events = POLLOUT};
            poll(&ready, 1, -1);
            continue;
        }
        if (wrote < 0) _exit(0); /* the host has ended */
        server.outgoing_sent += (size_t)wrote;
    }
    frame_discard_sent(&server.outgoing, &server.outgoing_sent);
}

static void serve_on_socket(uv_poll_t *poll, int status, int events);

static void serve_flush_work(struct loop_work *work) {
    (void)work;
    serve_write(false);
    bool writes = server.outgoing_sent < server.outgoing.length;
    if (writes == server.polling_writes) return;
    server.polling_writes = writes;
    uv_poll_start(&server.poll, UV_READABLE | (writes ? UV_WRITABLE : 0), serve_on_socket);
}

/* Returns why the message was not sent, or FRAME_FITS. */
static enum frame_fit serve_send_take(tn_value message) {
    enum frame_fit fit = serve_write_message_take(message);
    loop_defer(server.loop, &server.flush);
    return fit;
}

void serve_set_unsendable(struct error *error, const char *what, enum frame_fit fit) {
    error_set(error, TN_LIMIT, "LIMIT", "%s is %s that an isolated plugin can send at once", what, frame_fit_text(fit));
}

static tn_value serve_message_new(void) {
    return value_set_take(value_object_reserve(4), "jsonrpc", value_text("2.0"));
}

enum frame_fit serve_notify_take(const char *method, tn_value params) {
    tn_value message = value_set_take(serve_message_new(), "method", value_text(method));
    return serve_send_take(value_set_take(message, "params", params));
}

static enum frame_fit serve_send_error(tn_value id, const struct error *why) {
    tn_value failure = value_set_take(value_object_reserve(3), "code", value_int(-32000));
    failure = value_set_take(failure, "message", value_text(why->message ? why->message : "failed"));
    failure = value_set_take(failure, "data", error_to_value(why));
    tn_value message = value_set_take(serve_message_new(), "id", value_ref(id));
    return serve_send_take(value_set_take(message, "error", failure));
}

void serve_respond_error(tn_value id, const struct error *why) {
    struct error error = ERROR_INIT;
    enum frame_fit fit = serve_send_error(id, why);
    if (fit == FRAME_FITS) return;
    serve_set_unsendable(&error, "the error", fit);
    serve_send_error(id, &error);
    error_finish(&error);
}

enum frame_fit serve_send_result_take(tn_value id, tn_value result) {
    tn_value message = value_set_take(serve_message_new(), "id", value_ref(id));
    return serve_send_take(value_set_take(message, "result", result));
}

void serve_respond_take(tn_value id, tn_value result) {
    struct error error = ERROR_INIT;
    enum frame_fit fit = serve_send_result_take(id, result);
    if (fit == FRAME_FITS) return;
    serve_set_unsendable(&error, "the response", fit);
    serve_respond_error(id, &error);
    error_finish(&error);
}

/* ---- The plugin ---- */

/* registry_options.config: the section that the host sent. */
static int32_t serve_plugin_config(void *user, const char *plugin_id, tn_value *out, struct error *error) {
    (void)user, (void)plugin_id, (void)error;
    *out = value_ref(server.config);
    return TN_OK;
}

static int32_t serve_add_component(const tn_host *host, tn_value component, tn_value *error) {
    int32_t status = interface_registry.add(host, component, error);
    if (status == TN_OK)
        serve_notify_take("add", value_set_take(value_object_reserve(1), "component", value_ref(component)));
    return status;
}

static int32_t serve_remove_component(const tn_host *host, const char *kind, uint64_t kind_length, const char *id,
                                      uint64_t id_length) {
    int32_t status = interface_registry.remove(host, kind, kind_length, id, id_length);
    if (status != TN_OK) return status;
    tn_value params = value_object_reserve(2);
    params = value_set_take(params, "kind", value_text_n(kind, abi_text_length(kind, kind_length)));
    serve_notify_take("remove", value_set_take(params, "id", value_text_n(id, abi_text_length(id, id_length))));
    return TN_OK;
}

static void serve_notify_expect(bool more) {
    server.expecting = more;
    serve_notify_take("expect", value_set_take(value_object_reserve(1), "more", value_bool(more)));
}

static int32_t serve_expect_components(const tn_host *host, int32_t more) {
    if (!plugin_of(host) || (more != 0 && more != 1)) return TN_INVALID;
    serve_notify_expect(more == 1);
    return TN_OK;
}

static const tn_registry_1 serve_registry = {.size = sizeof(tn_registry_1),
                                             .add = serve_add_component,
                                             .remove = serve_remove_component,
                                             .expect = serve_expect_components};

/* Copies the host's table, and replaces the interfaces that the host must implement. */
static const struct registry_interface *serve_interfaces(void) {
    const struct {
        const char *id;
        const void *vtable;
    } replaced[] = {{TN_REGISTRY_1, &serve_registry}, {TN_HOST_1, &serve_host},
                    {TN_HTTP_1, &serve_http},         {TN_SERVER_DRAFT, &serve_server},
                    {TN_STATE_DRAFT, &serve_state},   {TN_DOCUMENT_DRAFT, &serve_document}};
    size_t count = 0;
    for (const struct registry_interface *row = server.options->interfaces; row->id; row++) {
        assert(count + 1 < SERVE_INTERFACES_MAX);
        server.interfaces[count] = *row;
        for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
            if (strcmp(row->id, replaced[i].id) == 0) server.interfaces[count].vtable = replaced[i].vtable;
        count++;
    }
    return server.interfaces;
}

static void serve_initialize(tn_value id, tn_value params) {
    struct error error = ERROR_INIT;
    tn_value level = value_get(params, "log");
    if (level) log_set_level(NULL, (int32_t)value_to_int(level));
    server.config = value_ref(value_get(params, "config"));
    server.shares = value_get(params, "shared") == value_bool(true);
    server.serves = value_get(params, "serves") == value_bool(true);
    server.registry =
        registry_new(&(struct registry_options){.interfaces = serve_interfaces(),
                                                .allow_drafts = value_to_bool(value_get(params, "drafts")),
                                                .names_checked = true,
                                                .config = serve_plugin_config,
                                                .loop = server.loop});
    int32_t status = registry_add_file(server.registry, server.path, "host", &error);
    const char *name = value_chars(value_get(params, "plugin"), NULL);
    server.plugin = status == TN_OK ? registry_plugin(server.registry, name ? name : "") : NULL;
    if (status == TN_OK && !server.plugin)
        status = error_set(&error, TN_NOT_FOUND, "PLUGIN_REFUSED", "%s is not the plugin `%s`", server.path, name);
    if (status == TN_OK) status = plugin_load(server.plugin, &error);
    if (status == TN_OK) {
        bool demand = registry_has_demand(server.plugin), asks = value_get(params, "demand") == value_bool(true);
        if (!asks) registry_demand_all(server.plugin); /* the host cannot say what it looks for */
        tn_value result = value_set_take(value_object_reserve(5), "protocol", value_text(PROTOCOL_VERSION));
        result = value_set_take(result, "plugin", value_text(plugin_id(server.plugin)));
        if (demand && asks) result = value_set_take(result, "demand", value_bool(true));
        if (server.shares) result = value_set_take(result, "shared", value_bool(true));
        serve_respond_take(id, value_set_take(result, "version", value_text(plugin_version(server.plugin))));
    } else {
        serve_respond_error(id, &error);
    }
    error_finish(&error);
}

/* The host waits for `expect` with `more: false`, which the plugin sends later if it needs time to quiesce. */
static void serve_quiesce(void) {
    if (!server.plugin) return;
    server.expecting = false;
    plugin_quiesce(server.plugin);
    if (!server.expecting) serve_notify_expect(false);
}

static void serve_shut_down(tn_value id) {
    while (server.instances) served_instance_free(server.instances);
    serve_discard_demands();
    registry_free(server.registry);
    server.registry = NULL;
    server.plugin = NULL;
    serve_discard_exchanges();
    serve_discard_host_uses();
    serve_discard_server();
    serve_respond_take(id, value_null());
}

/* ---- Messages ---- */

static void serve_handle_message(tn_value message) {
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
        serve_on_called(params);
    } else if (strcmp(method, "chunk") == 0) {
        serve_on_call_chunk(params);
    } else if (strcmp(method, "http") == 0) {
        serve_on_http_event(params);
    } else if (strcmp(method, "server") == 0) {
        serve_on_server_event(params);
    } else if (strcmp(method, "host_event") == 0) {
        serve_on_host_event(params);
    } else if (strcmp(method, "host_ended") == 0) {
        serve_on_host_ended(params);
    } else if (strcmp(method, "create") == 0) {
        serve_create(id, params);
    } else if (strcmp(method, "reduce") == 0) {
        serve_reduce(id, params);
    } else if (strcmp(method, "destroy") == 0) {
        serve_destroy(params);
    } else if (strcmp(method, "initialize") == 0) {
        serve_initialize(id, params);
    } else if (strcmp(method, "demand") == 0) {
        serve_demand(id, params);
    } else if (strcmp(method, "ping") == 0) {
        serve_respond_take(id, value_null());
    } else if (strcmp(method, "quiesce") == 0) {
        serve_quiesce();
    } else if (strcmp(method, "shutdown") == 0) {
        serve_shut_down(id);
    } else if (strcmp(method, "exit") == 0) {
        server.exiting = true;
    } else if (!serve_store(method, id, params) && id) {
        struct error error = ERROR_INIT;
        error_set(&error, TN_UNSUPPORTED, "UNSUPPORTED", "the method `%s` does not exist", method);
        serve_respond_error(id, &error);
        error_finish(&error);
    }
}

static void serve_on_socket(uv_poll_t *poll, int status, int events) {
    static char chunk[65536];
    tn_value message;
    struct error error = ERROR_INIT;
    (void)poll, (void)events;
    ssize_t got = status < 0 ? 0 : serve_receive(chunk, sizeof chunk);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) _exit(0);
    if (got > 0) frame_feed(&server.reader, chunk, (size_t)got);
    while (!server.exiting && frame_next(&server.reader, &message, &error) == TN_OK && message) {
        int32_t shared = serve_read_shared(&message, &error);
        if (shared == TN_OK) serve_handle_message(message);
        value_unref(message);
        if (shared == TN_INVALID) break;
    }
    if (error.code) {
        fprintf(stderr, "%s\n", error.message);
        _exit(1);
    }
    serve_flush_work(NULL);
}

static bool serve_is_exiting(void *user) {
    (void)user;
    return server.exiting;
}

/* Signal handler: the host has ended. Kills everything that the plugin has started: the group that it leads. */
static void serve_on_host_end(int number) {
    (void)number;
    if (getpgrp() == getpid()) kill(0, SIGKILL);
    kill(getpid(), SIGKILL); /* the sandbox always allows this signal */
}

static void serve_write_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)who;
    char text[LOG_LINE_MAX + 8];
    int length = snprintf(text, sizeof text, "%c%d%s\n", PROTOCOL_LOG_MARK, (int)level, line);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0) return;
}

/*
 * Enters the sandbox. Prints the error and returns false on failure. After this call nothing in this process is
 * trusted.
 */
static bool serve_confine_process(const char *path, bool *program, const struct serve_options *options) {
    struct error error = ERROR_INIT;
    struct manifest manifest;
    int32_t status = manifest_read(path, &manifest, &error);
    if (status == TN_OK) {
        *program = manifest.program;
        status = options->confine(options->confine_user, manifest.value, path, manifest.program, &error);
        manifest_finish(&manifest);
    }
    if (status != TN_OK) fprintf(stderr, "%s\n", error.message);
    error_finish(&error);
    return status == TN_OK;
}

static int serve_execute(int socket, const char *path) {
    char *name = mem_text(path), serve_text[] = "serve", *const arguments[] = {name, serve_text, name, NULL};
    fcntl(socket, F_SETFD, 0);
    signal(SIGTERM, SIG_DFL);
    execv(path, arguments);
    fprintf(stderr, "%s cannot be executed: %s\n", path, strerror(errno));
    return 1;
}

int serve(const struct serve_options *options) {
    const char *path = options->path;
    int socket = options->socket;
    struct error error = ERROR_INIT;
    bool program = false;
    int type;
    socklen_t size = sizeof type;
    if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        fprintf(stderr, "tenon: only a host runs this command; it needs a socket as descriptor %d\n", socket);
        return 2;
    }
    signal(SIGTERM, serve_on_host_end);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setvbuf(stdout, NULL, _IOLBF, 0);
    log_set_sink(NULL, serve_write_log, NULL);
    if (!serve_confine_process(path, &program, options)) return 1;
    if (program) return serve_execute(socket, path);
    server.options = options;
    server.socket = socket;
    server.path = path;
    server.loop = loop_new(&error);
    if (!server.loop) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    loop_enter(server.loop);
    frame_reader_init(&server.reader);
    buffer_init(&server.outgoing, SIZE_MAX);
    server.flush.run = serve_flush_work;
    loop_spin(server.loop, true);
    uv_poll_init(loop_uv(server.loop), &server.poll, socket);
    uv_poll_start(&server.poll, UV_READABLE, serve_on_socket);
    loop_run(server.loop, serve_is_exiting, NULL);
    serve_write(true);
    fflush(stdout);
    _exit(0); /* does not run exit hooks of the plugin, nor wait for its threads */
}
