/*
 * drive.c - runs a provider's plugin without a network: with a fake host and a fake HTTP client, in one process.
 *
 * provider_drive PLUGIN.so reads cases from standard input, a JSON object a line, and writes a result for each:
 *
 *   {component, config, input,
 *    exchanges: [{status? 200, headers? {}, stream? TEXT, body? TEXT, failed? ERROR, hangs?}],
 *                       one for each request, in order; one with `hangs` does not end within an hour
 *    room? N            deltas that are accepted before each TN_AGAIN; by default all
 *    cancel_after? N    cancels the task after N events
 *    cuts? true         see below
 *    tool? true         the component is a tool: its chunks and its output are not those of a model
 *    resumes? true      the service continues a stream behind the event that a request names (last_event_id or
 *                       starting_after), else from its start; an event's number is its event_id or sequence_number.
 * There is one exchange, with a stream; `cuts` cuts the first connection only no_http? true      the host does not
 * offer tenon.http fail_allocations? true} also runs it with the Nth allocation failing, for every N; the result has
 *                       {allocation_failures: {CODE: number of runs}}
 *   -> {requests: [...], deltas: [...], output | error | open: true, paused: N}; or {refused: message} if create
 * refuses
 *
 * The bytes of a stream pass through the parser of the HTTP client, so the framing is the service's. With `cuts` the
 * last stream is cut at every byte, and the connection is closed cleanly and with an error. The result is {runs, same:
 * number of cuts with the output of the whole stream, codes: {CODE: number of cuts}, first_same: the shortest length
 * with the same output} A run that leaves its task open is a hang, counted as the code OPEN. Cuts with the same events
 * are run once.
 */
#include <assert.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define assert_true(condition)     assert(condition)
#define assert_non_null(pointer)   assert((pointer) != NULL)
#define assert_null(pointer)       assert((pointer) == NULL)
#define assert_int_equal(a, b)     assert((a) == (b))
#define assert_int_not_equal(a, b) assert((a) != (b))
#define print_message(...)         ((void)fprintf(stderr, __VA_ARGS__))

#include "host/plugin/conformance/payload.h"
#include "tests/unit/fake_host.h"

#include <sse.h>
#include <tenon/http.h>

/* ---- HTTP ---- */

#define EXCHANGES_MAX 16

static struct {
    tn_http_handler handler;
    void *user;
    uint64_t sent; /* number of exchanges; the token of the last one */
    bool open;     /* the last one */
    bool paused;
    uint64_t pauses;
    tn_value requests; /* an array */
} http;

static int32_t http_send(const tn_host *self, tn_value request, tn_http_handler handler, void *user,
                         uint64_t *exchange) {
    (void)self;
    assert(!http.open && http.sent < EXCHANGES_MAX); /* one at a time */
    http.handler = handler;
    http.user = user;
    http.open = true;
    http.paused = false;
    http.requests = value_push_take(http.requests, value_ref(request));
    *exchange = ++http.sent;
    return TN_OK;
}
static int32_t http_open(uint64_t exchange) { return http.open && exchange == http.sent ? TN_OK : TN_STALE; }
static int32_t http_pause(const tn_host *self, uint64_t exchange) {
    (void)self;
    if (http_open(exchange) != TN_OK) return TN_STALE;
    http.paused = true;
    http.pauses++;
    return TN_OK;
}
static int32_t http_resume(const tn_host *self, uint64_t exchange) {
    (void)self;
    if (http_open(exchange) != TN_OK) return TN_STALE;
    http.paused = false;
    return TN_OK;
}
static int32_t http_cancel(const tn_host *self, uint64_t exchange) {
    (void)self;
    if (http_open(exchange) != TN_OK) return TN_STALE;
    http.open = false;
    return TN_OK;
}
static const tn_http_1 http_interface = {
    .size = sizeof(tn_http_1), .send = http_send, .pause = http_pause, .resume = http_resume, .cancel = http_cancel};

static void http_deliver(int32_t event, tn_value value_take) {
    uint64_t exchange = http.sent;
    if (event == TN_HTTP_END || event == TN_HTTP_FAILED) http.open = false; /* from now on its token is stale */
    http.handler(http.user, event, value_take);
    value_unref(value_take);
    (void)exchange;
}

/* ---- Failing allocations ---- */

static uint64_t memory_left = UINT64_MAX; /* allocations before the one that fails */

static bool memory_limit_reached(void) { return memory_left != UINT64_MAX && memory_left-- == 0; }
static void *memory_alloc(const tn_host *host, uint64_t size) {
    return memory_limit_reached() ? NULL : tn_test_alloc(host, size);
}
static void *memory_resize(const tn_host *host, void *memory, uint64_t size) {
    return memory_limit_reached() ? NULL : tn_test_resize(host, memory, size);
}

/* ---- The host and the plugin ---- */

static const tn_plugin *(*entry)(const tn_host *host);

static bool no_http;

static const void *host_interface(void *self, const char *id) {
    static tn_core_1 core;
    core = tn_test_core;
    core.alloc = memory_alloc;
    core.resize = memory_resize;
    if (strcmp(id, TN_CORE_1) == 0) return &core;
    if (strcmp(id, TN_HTTP_1) == 0) return no_http ? NULL : &http_interface;
    return tn_test_interface(self, id);
}

const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_host test_host = {sizeof(tn_host), NULL, host_interface};
    (void)host;
    return entry(&test_host);
}

/* ---- One run ---- */

struct running {
    tn_value test;
    uint64_t room, cancel_after, events;
    bool cancels;
    struct tn_test_task *task;
};

static bool is_open(const struct running *running) { return running->task->state == TN_TEST_OPEN; }

/* Resumes waiting tasks, a few deltas at a time. */
static void resume_task(struct running *running) {
    while (is_open(running) && tn_test.room == 0 && (http.paused || !http.open))
        tn_test_ready(running->task, (uint32_t)running->room);
}

static void after_event(struct running *running) {
    running->events++;
    if (running->cancels && running->events >= running->cancel_after && is_open(running)) tn_test_cancel(running->task);
    resume_task(running);
}

static tn_value exchange_head(tn_value exchange) {
    int64_t status = 200;
    tn_value headers = value_get(exchange, "headers");
    (void)value_as_int(value_get(exchange, "status"), &status);
    tn_value head = value_set_take(value_object(), "status", value_int(status));
    return value_set_take(head, "headers", headers ? value_ref(headers) : value_object());
}

static tn_value event_value(const struct sse *sse) {
    tn_value event = value_object();
    if (sse->event.length > 0)
        event = value_set_take(event, "event", value_string(sse->event.bytes, sse->event.length));
    else
        event = value_set_take(event, "event", value_text("message"));
    return value_set_take(event, "data", value_string(tn_text_chars(&sse->data), sse->data.length));
}

/* Delivers the first `length` bytes of a stream. Returns the number of events. */
static uint64_t deliver_stream(struct running *running, const char *stream, size_t length) {
    struct sse sse = SSE_INIT;
    const char *at = stream;
    uint64_t events = 0;
    while (http.open && sse_next(&sse, &at, stream + length) == PARSE_FOUND) {
        events++;
        http_deliver(TN_HTTP_DATA, event_value(&sse));
        after_event(running);
    }
    sse_finish(&sse);
    return events;
}

/* Delivers the events behind the one with this number; NULL: all. */
static void deliver_stream_after(struct running *running, const char *stream, size_t size, tn_value number) {
    struct sse sse = SSE_INIT;
    const char *at = stream;
    bool found = number == NULL;
    while (http.open && sse_next(&sse, &at, stream + size) == PARSE_FOUND) {
        tn_value event = NULL;
        if (found) {
            http_deliver(TN_HTTP_DATA, event_value(&sse));
            after_event(running);
        } else if (json_read(tn_text_chars(&sse.data), sse.data.length, NULL, &event, NULL) == TN_OK) {
            tn_value id = value_get(event, "event_id"), sequence = value_get(event, "sequence_number");
            found = value_equal(id ? id : sequence, number);
        }
        value_unref(event);
    }
    assert(found); /* the request names an event of the stream */
    sse_finish(&sse);
}

static tn_value exchange_end(tn_value exchange, bool body) {
    tn_value end = exchange_head(exchange), text = value_get(exchange, "body");
    size_t length;
    if (!body || !text) return end;
    const char *chars = value_chars(text, &length);
    return value_set_take(end, "body", value_bytes(chars, length));
}

static tn_value connection_lost_error(void) {
    tn_value error = tn_test_error("CONNECTION_LOST", "the connection was lost");
    return value_set_take(error, "retryable", value_bool(true));
}

static bool is_set(tn_value test, const char *name) {
    int32_t flag = 0;
    return interface_value.as_bool(value_get(test, name), &flag) == TN_OK && flag;
}

/* The first connection delivers `length` bytes, the next ones continue. */
static void run_resumed(struct running *running, size_t length, bool with_error) {
    tn_value exchange = value_at(value_get(running->test, "exchanges"), 0);
    size_t size = 0;
    const char *stream = value_chars(value_get(exchange, "stream"), &size);
    for (uint64_t i = 0; is_open(running) && i < EXCHANGES_MAX; i++) {
        if (!http.open) tn_test_advance(60000);
        if (!http.open) return;
        tn_value query = value_get(value_at(http.requests, value_count(http.requests) - 1), "query");
        tn_value after = value_get(query, "last_event_id");
        http_deliver(TN_HTTP_HEAD, exchange_head(exchange));
        if (i == 0)
            (void)deliver_stream(running, stream, length < size ? length : size);
        else
            deliver_stream_after(running, stream, size, after ? after : value_get(query, "starting_after"));
        resume_task(running);
        if (!http.open) continue;
        if (i == 0 && with_error)
            http_deliver(TN_HTTP_FAILED, connection_lost_error());
        else
            http_deliver(TN_HTTP_END, exchange_end(exchange, true));
        resume_task(running);
    }
}

/* The stream of the last exchange, if it has one, is cut after `length` bytes, and closed with an error or cleanly. */
static void run_exchanges(struct running *running, size_t length, bool with_error) {
    tn_value exchanges = value_get(running->test, "exchanges");
    assert(running->task != NULL);
    if (is_set(running->test, "resumes")) {
        run_resumed(running, length, with_error);
        return;
    }
    for (uint64_t i = 0; http.open; i++) {
        assert(i < value_count(exchanges)); /* the case has an answer for each request */
        tn_value exchange = value_at(exchanges, i), failed = value_get(exchange, "failed");
        tn_value stream = value_get(exchange, "stream");
        bool last = i + 1 == value_count(exchanges);
        size_t size = 0;
        const char *chars = stream ? value_chars(stream, &size) : NULL;
        if (!failed || value_get(exchange, "status")) http_deliver(TN_HTTP_HEAD, exchange_head(exchange));
        if (http.open && chars) (void)deliver_stream(running, chars, last && length < size ? length : size);
        resume_task(running);
        if (!http.open && !last && is_open(running)) tn_test_advance(60000); /* the next request comes later */
        if (!http.open || http.sent > i + 1) continue;
        if (is_set(exchange, "hangs")) {
            tn_test_advance(3600000);
            resume_task(running);
            return;
        }
        if (failed || (last && with_error))
            http_deliver(TN_HTTP_FAILED, failed ? value_ref(failed) : connection_lost_error());
        else
            http_deliver(TN_HTTP_END, exchange_end(exchange, true));
        resume_task(running);
        if (!http.open && !last && is_open(running)) tn_test_advance(60000); /* the next request comes later */
    }
}

/* Returns false if the plugin could not be initialized, or no instance could be created. */
static bool run_try(struct running *running, tn_value test) {
    int64_t number = 0;
    memset(running, 0, sizeof *running);
    running->test = test;
    running->room = value_as_int(value_get(test, "room"), &number) ? (uint64_t)number : UINT32_MAX;
    running->cancels = value_as_int(value_get(test, "cancel_after"), &number);
    running->cancel_after = (uint64_t)number;
    memset(&http, 0, sizeof http);
    http.requests = value_array();
    char *config = json_text(value_get(test, "config"), JSON_COMPACT),
         *input = json_text(value_get(test, "input"), JSON_COMPACT);
    int32_t status = tn_test_create(value_chars(value_get(test, "component"), NULL), config);
    tn_test.room = (uint32_t)running->room;
    running->task = status == TN_OK ? tn_test_start(input) : NULL;
    if (running->task) resume_task(running);
    mem_free(config);
    mem_free(input);
    return running->task != NULL;
}

static tn_value run_result(const struct running *running) {
    const struct tn_test_task *task = running->task;
    tn_value result = value_set_take(value_object(), "requests", value_ref(http.requests));
    result = value_set_take(result, "deltas", value_ref(tn_test.emitted));
    result = value_set_take(result, "paused", value_int((int64_t)http.pauses));
    if (task->state == TN_TEST_COMPLETED) return value_set_take(result, "output", value_ref(task->output));
    if (task->state == TN_TEST_FAILED) return value_set_take(result, "error", value_ref(task->error));
    return value_set_take(result, "open", value_bool(true));
}

/* Everything that a provider emits, returns and fails with has the shape of sdk/schema/component/1. */
static void check_shape(const char *shape, tn_value value) {
    char *difference = payload_check(shape, value);
    if (!difference) return;
    char *text = json_text(value, JSON_COMPACT);
    (void)fprintf(stderr, "provider_drive: %s: %s: %s\n", shape, difference, text);
    abort();
}

static void check_payloads(const struct running *running) {
    const struct tn_test_task *task = running->task;
    bool model = !is_set(running->test, "tool");
    for (size_t i = 0; model && i < value_count(tn_test.emitted); i++)
        check_shape("model#delta", value_at(tn_test.emitted, i));
    if (model && task->state == TN_TEST_COMPLETED) check_shape("model#output", task->output);
    /* If start returned a status, the fake host has made the error. */
    tn_value code = value_get(task->error, "code");
    if (task->state == TN_TEST_FAILED && (!value_is(code, TN_STRING) || *value_chars(code, NULL) != '-'))
        check_shape("error", task->error);
}

static void run_end(struct running *running) {
    if (running->task) check_payloads(running);
    if (running->task && is_open(running)) tn_test_cancel(running->task);
    tn_test_finish();
    value_unref(http.requests);
    http.requests = NULL;
}

/* ---- Cuts ---- */

struct cuts {
    tn_value whole; /* the output of the whole stream */
    uint64_t runs, same;
    int64_t first_same;
    tn_value codes; /* an object of counts */
};

/* The output without usage, which is sent last: an answer is complete without it. */
static tn_value without_usage(tn_value output) {
    static const char *const members[] = {"message", "finish_reason", "embeddings"};
    tn_value result = value_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(output, members[i]);
        if (!member) continue;
        member = i == 0 ? value_set_take(value_ref(member), "usage", value_null()) : value_ref(member);
        result = value_set_take(result, members[i], member);
    }
    return result;
}

static const char *cut_outcome(const struct cuts *cuts, const struct tn_test_task *task) {
    if (task->state == TN_TEST_OPEN) return "OPEN";
    if (task->state == TN_TEST_FAILED) return value_chars(value_get(task->error, "code"), NULL);
    if (value_equal(task->output, cuts->whole)) return "SAME";
    tn_value found = without_usage(task->output), expected = without_usage(cuts->whole);
    bool same = value_equal(found, expected);
    value_unref(found);
    value_unref(expected);
    return same ? "NO_USAGE" : "OTHER";
}

/* Cuts at every byte, but runs cuts with the same events once. */
static void run_each_cut(struct cuts *cuts, tn_value test, const char *stream, size_t size, bool with_error) {
    struct sse sse = SSE_INIT;
    const char *at = stream;
    uint64_t events = 0, ran = UINT64_MAX;
    char code[32] = "";
    for (size_t length = 0; length <= size; length++) {
        while (sse_next(&sse, &at, stream + length) == PARSE_FOUND) events++;
        if (events != ran) {
            struct running running;
            bool created = run_try(&running, test); /* as for the whole stream */
            assert(created && running.task != NULL);
            run_exchanges(&running, length, with_error);
            snprintf(code, sizeof code, "%s", cut_outcome(cuts, running.task));
            run_end(&running);
            ran = events;
        }
        cuts->runs++;
        if (strcmp(code, "SAME") == 0) {
            if (cuts->first_same < 0) cuts->first_same = (int64_t)length;
            cuts->same++;
        } else {
            int64_t before = 0;
            (void)value_as_int(value_get(cuts->codes, code), &before);
            cuts->codes = value_set_take(cuts->codes, code, value_int(before + 1));
        }
    }
    sse_finish(&sse);
}

static tn_value run_cuts(tn_value test, tn_value result) {
    tn_value exchanges = value_get(test, "exchanges"), last = value_at(exchanges, value_count(exchanges) - 1);
    size_t size = 0;
    const char *stream = value_chars(value_get(last, "stream"), &size);
    struct cuts cuts = {value_get(result, "output"), 0, 0, -1, value_object()};
    run_each_cut(&cuts, test, stream, size, false);
    run_each_cut(&cuts, test, stream, size, true);
    tn_value summary = value_set_take(value_object(), "runs", value_int((int64_t)cuts.runs));
    summary = value_set_take(summary, "same", value_int((int64_t)cuts.same));
    summary = value_set_take(summary, "first_same", value_int(cuts.first_same));
    summary = value_set_take(summary, "codes", cuts.codes);
    return value_set_take(result, "cuts", summary);
}

/* ---- Each allocation fails once ---- */

static tn_value run_allocation_failures(tn_value test, tn_value result) {
    tn_value codes = value_object(), whole = value_get(result, "output");
    for (uint64_t n = 0;; n++) {
        struct running running;
        memory_left = n;
        const char *code = "CREATE";
        if (run_try(&running, test)) {
            run_exchanges(&running, SIZE_MAX, false);
            code = running.task->state == TN_TEST_OPEN     ? "OPEN"
                   : running.task->state == TN_TEST_FAILED ? value_chars(value_get(running.task->error, "code"), NULL)
                   : value_equal(running.task->output, whole) ? "SAME"
                                                              : "OTHER";
        }
        int64_t before = 0;
        (void)value_as_int(value_get(codes, code), &before);
        codes = value_set_take(codes, code, value_int(before + 1));
        run_end(&running);
        bool failed = memory_left == UINT64_MAX; /* the counter wraps when it fails one */
        memory_left = UINT64_MAX;
        if (!failed) break;
    }
    return value_set_take(result, "allocation_failures", codes);
}

int main(int argc, char **argv) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!plugin) {
        fprintf(stderr, "usage: provider_drive PLUGIN.so <cases (%s)\n", argc == 2 ? dlerror() : "no plugin");
        return 2;
    }
    *(void **)&entry = dlsym(plugin, "tn_plugin_entry_1");
    assert(entry != NULL);
    while ((length = getline(&line, &room, stdin)) > 0) {
        struct running running;
        tn_value test = NULL;
        if (json_read(line, (size_t)length, NULL, &test, NULL) != TN_OK) {
            fprintf(stderr, "a case is not JSON: %.200s\n", line);
            return 2;
        }
        no_http = is_set(test, "no_http");
        tn_value result = NULL;
        if (run_try(&running, test)) {
            run_exchanges(&running, SIZE_MAX, false);
            result = run_result(&running);
        } else
            result = value_set_take(value_object(), "refused", value_text(tn_test.refusal));
        run_end(&running);
        if (is_set(test, "cuts")) result = run_cuts(test, result);
        if (is_set(test, "fail_allocations")) result = run_allocation_failures(test, result);
        char *text = json_text(result, JSON_COMPACT);
        puts(text);
        mem_free(text);
        value_unref(result);
        value_unref(test);
    }
    free(line);
    return 0;
}
