/*
 * server.c - tenon-serve-test OPTIONS: the plugin `serve` behind a handler that answers by path, for the scripts here.
 *
 * OPTIONS is the JSON text of what `listen` takes. Prints the bound address as a line of JSON, and ends when stdin
 * does. /head        the value of REQUEST, at once: a body is not received /echo        the body, as it came; /echo?N
 * refuses more than N bytes /count       the number of bytes of the body /paused      as /count, but pauses after each
 * part, until the next millisecond /midway      answers 409 after the first part of the body /big?N       N bytes, with
 * Content-Length /stream?N    N lines of 100 bytes, as fast as the client reads; /stream?0 has no end /ticks?N     N
 * lines with the time in nanoseconds, one each millisecond /idle        a stream of one line that does not end; /never
 * is not answered at all; /cut is aborted after a line /socket      WebSocket: echoes messages; /socket-flood sends
 * without end; /socket-close closes with 4000 /log         all events CLOSED and REFUSED since the last /log, an array
 *   any other    REQUEST as a line of JSON, then the body
 *   /invalid     responses that cannot be sent are refused, then an empty one
 *   /drain       drains; /unlisten ends the listener inside the handler, and starts another one on the same port
 */
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/value.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <tenon/http_server.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define BUCKETS 4096

struct request {
    struct request *next;
    uint64_t number, count, left;
    char path[64];
    tn_value head; /* of any other path */
    struct buffer body;
    struct loop_timer timer;
    bool endless;
};

static struct {
    struct loop *loop;
    struct registry *registry;
    struct config *config;
    struct http *http;
} host;
static const tn_http_server_draft *server;
static void *self;
static uint64_t listener;
static tn_value options, events;
static struct request *requests[BUCKETS]; /* by their numbers */
static size_t open_requests;
static bool ended;

static void fail(const char *why) {
    (void)fprintf(stderr, "tenon-serve-test: %s\n", why);
    exit(1);
}

static const char *text_of(tn_value value, const char *key) { return value_chars(value_get(value, key), NULL); }

static struct request *find(uint64_t number) {
    struct request *request = requests[number % BUCKETS];
    while (request && request->number != number) request = request->next;
    return request;
}

static tn_value header(const char *name, const char *text) {
    return value_push_take(value_push_take(value_array(), value_text(name)), value_text(text));
}

/* Some of them are the server's. */
static tn_value headers_of(const char *type) {
    tn_value headers = value_push_take(value_array(), header("content-type", type));
    headers = value_push_take(headers, header("content-length", "7"));
    headers = value_push_take(headers, header("connection", "keep-alive"));
    headers = value_push_take(headers, header("set-cookie", "a=b"));
    return value_push_take(headers, header("set-cookie", "c=d"));
}

static void answer(uint64_t number, int32_t status, const char *type, const void *data, size_t length, int32_t more) {
    tn_value headers = headers_of(type);
    (void)server->respond(self, number, status, headers, data, length, more);
    value_unref(headers);
}

static void answer_text(uint64_t number, int32_t status, const char *text) {
    answer(number, status, "text/plain", text, strlen(text), 0);
}

static void answer_value(uint64_t number, tn_value value) {
    char *text = json_text(value, JSON_COMPACT);
    answer(number, 200, "application/json", text, strlen(text), 0);
    mem_free(text);
}

/* ---- Streams ---- */

static void write_lines(struct request *request) {
    char line[101];
    memset(line, 'x', 99);
    line[99] = '\n';
    while (request->endless || request->left > 0) {
        request->left--;
        if (server->write(self, request->number, line, 100) != TN_OK) return; /* full: ROOM follows */
    }
    (void)server->finish(self, request->number);
}

static void flood(struct request *request) {
    static char block[16384];
    while (server->send(self, request->number, block, sizeof block, 0) == TN_OK) {
    }
}

static void on_tick(struct loop_timer *timer) {
    struct request *request = (struct request *)(void *)((char *)timer - offsetof(struct request, timer));
    struct timespec now;
    char line[40];
    clock_gettime(CLOCK_MONOTONIC, &now);
    int length = snprintf(line, sizeof line, "%" PRId64 "\n", (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
    if (request->left-- == 0)
        (void)server->finish(self, request->number);
    else if (server->write(self, request->number, line, (uint64_t)length) >= 0)
        loop_timer_start(host.loop, timer, 1, on_tick);
}

static void on_unpause(struct loop_timer *timer) {
    struct request *request = (struct request *)(void *)((char *)timer - offsetof(struct request, timer));
    (void)server->resume(self, request->number);
}

/* ---- Requests ---- */

static void on_event(void *user, uint64_t number, int32_t event, tn_value value);

static void listen_again(void) {
    tn_value address = NULL, error = NULL;
    if (server->listen(self, options, on_event, NULL, &listener, &address, &error) != TN_OK) {
        char *text = json_text(error, JSON_COMPACT);
        fail(text);
    }
    options = value_set_take(options, "port", value_int(value_to_int(value_get(address, "port"))));
    char *text = json_text(address, JSON_COMPACT);
    (void)printf("%s\n", text);
    (void)fflush(stdout);
    mem_free(text);
    value_unref(address);
}

static void answer_invalid(uint64_t number) {
    const tn_value pairs[] = {header("a b", "c"), header("a", "b\r\nc: d"), header("", "a"), value_text("a"),
                              value_array()};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        tn_value headers = value_push_take(value_array(), pairs[i]);
        if (server->respond(self, number, 200, headers, NULL, 0, 0) != TN_INVALID) fail("a header was accepted");
        value_unref(headers);
    }
    if (server->respond(self, number, 101, NULL, NULL, 0, 0) != TN_INVALID ||
        server->respond(self, number, 600, NULL, NULL, 0, 0) != TN_INVALID ||
        server->respond(self, number, 200, NULL, NULL, 1, 0) != TN_INVALID ||
        server->write(self, number, "a", 1) != TN_INVALID || server->finish(self, number) != TN_INVALID ||
        server->send(self, number, "a", 1, 1) != TN_INVALID ||
        server->close(self, number, 1000, NULL, 0) != TN_INVALID || server->accept(self, number, NULL) != TN_INVALID)
        fail("a mistake was accepted");
    answer_text(number, 200, "");
    if (server->respond(self, number, 200, NULL, NULL, 0, 0) != TN_INVALID) fail("a second response was accepted");
}

static void begin(struct request *request, tn_value head) {
    const char *path = text_of(head, "path"), *query = text_of(head, "query");
    uint64_t number = request->number, amount = strtoull(query, NULL, 10);
    snprintf(request->path, sizeof request->path, "%s", path);
    request->left = amount;
    if (strcmp(path, "/invalid") == 0) {
        answer_invalid(number);
    } else if (strcmp(path, "/head") == 0) {
        answer_value(number, head);
    } else if (strcmp(path, "/big") == 0) {
        char *bytes = mem_zalloc(amount + 1);
        memset(bytes, 'b', amount);
        answer(number, 200, "text/plain", bytes, amount, 0);
        mem_free(bytes);
    } else if (strcmp(path, "/stream") == 0 || strcmp(path, "/ticks") == 0) {
        answer(number, 200, "text/plain", NULL, 0, 1);
        request->endless = amount == 0;
        if (path[1] == 's')
            write_lines(request);
        else
            on_tick(&request->timer);
    } else if (strcmp(path, "/idle") == 0 || strcmp(path, "/cut") == 0) {
        answer(number, 200, "text/event-stream", "data: 1\n\n", 9, 1);
        if (path[1] == 'c') (void)server->abort(self, number);
    } else if (strncmp(path, "/socket", 7) == 0) {
        if (server->accept(self, number, NULL) != TN_OK) answer_text(number, 426, "not a WebSocket request\n");
    } else if (strcmp(path, "/log") == 0) {
        answer_value(number, events);
        value_unref(events);
        events = value_array();
    } else if (strcmp(path, "/drain") == 0) {
        (void)server->drain(self, listener);
        answer_text(number, 200, "draining\n");
    } else if (strcmp(path, "/unlisten") == 0) {
        (void)server->unlisten(self, listener);
        listen_again();
    } else if (strcmp(path, "/never") != 0) {
        request->head = value_ref(head);
        (void)server->receive(self, number, strcmp(path, "/echo") == 0 && amount > 0 ? amount : 64 << 20);
    }
}

static bool counts(const struct request *request) {
    static const char *const paths[] = {"/echo", "/count", "/paused", "/midway"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (strcmp(request->path, paths[i]) == 0) return true;
    return false;
}

static void answer_head(const struct request *request) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    json_write(&text, request->head, JSON_COMPACT);
    buffer_char(&text, '\n');
    buffer_append(&text, request->body.data, request->body.length);
    answer(request->number, 200, "application/json", text.data, text.length, 0);
    buffer_finish(&text);
}

static void end_of_body(const struct request *request) {
    char text[32];
    if (!counts(request)) {
        answer_head(request);
    } else if (strcmp(request->path, "/echo") == 0) {
        answer(request->number, 200, "application/octet-stream", request->body.data, request->body.length, 0);
    } else if (strcmp(request->path, "/midway") != 0) {
        (void)snprintf(text, sizeof text, "%" PRIu64 "\n", request->count);
        answer_text(request->number, 200, text);
    }
}

static void on_body(struct request *request, tn_value value) {
    size_t length;
    const void *bytes = value_data(value, &length);
    if (request->count == 0 && strcmp(request->path, "/midway") == 0) answer_text(request->number, 409, "not wanted\n");
    request->count += length;
    if (!counts(request) || strcmp(request->path, "/echo") == 0) buffer_append(&request->body, bytes, length);
    if (strcmp(request->path, "/paused") != 0) return;
    (void)server->pause(self, request->number);
    loop_timer_stop(host.loop, &request->timer);
    loop_timer_start(host.loop, &request->timer, 1, on_unpause);
}

static void on_message(const struct request *request, tn_value value) {
    size_t length;
    bool text = value_is(value, TN_STRING);
    const void *bytes = text ? (const void *)value_chars(value, &length) : value_data(value, &length);
    if (strcmp(request->path, "/socket-close") == 0)
        (void)server->close(self, request->number, 4000, "enough", 6);
    else
        (void)server->send(self, request->number, bytes, length, text);
}

static void end(uint64_t number) {
    struct request **place = &requests[number % BUCKETS];
    while (*place && (*place)->number != number) place = &(*place)->next;
    struct request *request = *place;
    if (!request) fail("CLOSED of an unknown request");
    *place = request->next;
    open_requests--;
    loop_timer_stop(host.loop, &request->timer);
    buffer_finish(&request->body);
    value_unref(request->head);
    mem_free(request);
    if (server->write(self, number, "x", 1) != TN_STALE) fail("a function after CLOSED did not return TN_STALE");
}

static void log_event(const char *path, tn_value value) {
    tn_value entry = value_ref(value);
    if (path) entry = value_set_take(entry, "path", value_text(path));
    if (value_count(events) < 100000)
        events = value_push_take(events, entry);
    else
        value_unref(entry);
}

static void on_event(void *user, uint64_t number, int32_t event, tn_value value) {
    (void)user;
    struct request *request = find(number);
    if (event == TN_HTTP_SERVER_REFUSED) {
        if (number != 0) fail("REFUSED with a number");
        log_event(NULL, value);
        return;
    }
    if (event == TN_HTTP_SERVER_REQUEST) {
        if (request) fail("a number was used again");
        request = mem_zalloc(sizeof *request);
        request->number = number;
        buffer_init(&request->body, SIZE_MAX);
        request->next = requests[number % BUCKETS];
        requests[number % BUCKETS] = request;
        open_requests++;
        begin(request, value);
        return;
    }
    if (!request) fail("an event of an unknown request");
    switch (event) {
    case TN_HTTP_SERVER_BODY: on_body(request, value); break;
    case TN_HTTP_SERVER_BODY_END: end_of_body(request); break;
    case TN_HTTP_SERVER_MESSAGE:
        if (strcmp(request->path, "/socket-flood") == 0)
            flood(request);
        else
            on_message(request, value);
        break;
    case TN_HTTP_SERVER_ROOM:
        if (strcmp(request->path, "/socket-flood") == 0)
            flood(request);
        else
            write_lines(request);
        break;
    default:
        if (strcmp(request->path, "/log") != 0) log_event(request->path, value);
        end(number);
    }
}

/* ---- The program ---- */

static void on_stdin(uv_poll_t *poll, int status, int ready) {
    char bytes[64];
    (void)status, (void)ready;
    if (read(0, bytes, sizeof bytes) > 0) return;
    uv_poll_stop(poll);
    uv_close((uv_handle_t *)poll, NULL);
    ended = true;
}

static bool has_ended(void *user) {
    (void)user;
    return ended;
}

int main(int count, char **arguments) {
    struct error error = ERROR_INIT;
    struct rlimit descriptors;
    uv_poll_t input;
    if (count != 2 || json_read(arguments[1], strlen(arguments[1]), NULL, &options, &error) != TN_OK)
        fail("expected one argument: the options of `listen` as JSON");
    (void)signal(SIGPIPE, SIG_IGN);
    getrlimit(RLIMIT_NOFILE, &descriptors);
    descriptors.rlim_cur = descriptors.rlim_max;
    setrlimit(RLIMIT_NOFILE, &descriptors);
    host.loop = loop_new(NULL);
    loop_enter(host.loop);
    host.registry = registry_new(
        &(struct registry_options){.interfaces = interface_table, .allow_drafts = true, .loop = host.loop});
    if (registry_add_file(host.registry, TENON_SERVE_PLUGIN, "a test", &error) != TN_OK ||
        plugin_load(registry_plugin(host.registry, "tenon.serve"), &error) != TN_OK)
        fail(error.message);
    struct plugin *plugin = registry_plugin(host.registry, "tenon.serve");
    server = plugin_interface(plugin, TN_HTTP_SERVER_DRAFT);
    self = plugin_self(plugin);
    if (!server || server->size != sizeof *server) fail("the plugin has no HTTP server");
    events = value_array();
    listen_again();
    uv_poll_init(loop_uv(host.loop), &input, 0);
    uv_poll_start(&input, UV_READABLE, on_stdin);
    (void)loop_run(host.loop, has_ended, NULL);
    (void)server->unlisten(self, listener);
    if (open_requests > 0) fail("a request did not end with its listener");
    registry_free(host.registry);
    loop_free(host.loop);
    value_unref(options);
    value_unref(events);
    if (value_live_count() != 0) fail("a value was not released");
    return 0;
}
