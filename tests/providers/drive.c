/*
 * drive.c - runs a provider's plugin without a network: a host and an HTTP of the test's own, in one process.
 *
 * provider_drive PLUGIN.so reads cases from standard input, a JSON object a line, and writes a result for each:
 *
 *   {component, config, input,
 *    exchanges: [{status? 200, headers? {}, stream? TEXT, body? TEXT, failed? ERROR, hangs?}],   one for each request,
 * in order; one that hangs does not end, though an hour passes room? N            deltas that are taken before each
 * TN_AGAIN; not said: all cancel_after? N    the task is cancelled after so many events cuts? true         see below
 *    no_http? true      the host does not offer tenon.http
 *    starves? true}     also runs it with the Nth allocation failing, for every N: {starved: {CODE: how many}}
 *   -> {requests: [...], deltas: [...], output | error | open: true, paused: N}; or {refused: why}, by create
 *
 * A stream's bytes go through the parser of the HTTP client, so its framing is the service's. With `cuts` the last
 * exchange's stream is cut at every byte, the connection then closed well and badly; what a cut gives is
 *   {runs, same: how many cuts gave the whole stream's output, codes: {CODE: how many}, first_same: the least such
 * length} A run that leaves its task open is a hang, and counted as the code OPEN. Cuts between which the parser gives
 * the same events are run once.
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

#include "tests/unit/fake_host.h"

#include <sse.h>
#include <tenon/http.h>

/* ---- HTTP ---- */

#define EXCHANGES_MAX 16

static struct {
    tn_http_handler handler;
    void *user;
    uint64_t sent; /* exchanges so far; the last one's token */
    bool open;     /* the last one */
    bool paused;
    uint64_t pauses;
    tn_value requests; /* an array */
} http;

static int32_t http_send(const void *self, tn_value request, tn_http_handler handler, void *user, uint64_t *exchange) {
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
static int32_t http_pause(const void *self, uint64_t exchange) {
    (void)self;
    if (http_open(exchange) != TN_OK) return TN_STALE;
    http.paused = true;
    http.pauses++;
    return TN_OK;
}
static int32_t http_resume(const void *self, uint64_t exchange) {
    (void)self;
    if (http_open(exchange) != TN_OK) return TN_STALE;
    http.paused = false;
    return TN_OK;
}
static int32_t http_cancel(const void *self, uint64_t exchange) {
    (void)self;
    if (http_open(exchange) != TN_OK) return TN_STALE;
    http.open = false;
    return TN_OK;
}
static const tn_http_draft http_interface = {sizeof(tn_http_draft), 0,           http_send, http_pause,
                                             http_resume,           http_cancel, NULL};

static void http_give(int32_t event, tn_value value_take) {
    uint64_t exchange = http.sent;
    if (event == TN_HTTP_END || event == TN_HTTP_FAILED) http.open = false; /* stale from here on */
    http.handler(http.user, event, value_take);
    value_unref(value_take);
    (void)exchange;
}

/* ---- Memory that runs out ---- */

static uint64_t memory_left = UINT64_MAX; /* allocations that still succeed; then one fails */

static bool memory_out(void) { return memory_left != UINT64_MAX && memory_left-- == 0; }
static void *memory_alloc(const tn_host *host, uint64_t size) { return memory_out() ? NULL : fake_alloc(host, size); }
static void *memory_resize(const tn_host *host, void *memory, uint64_t size) {
    return memory_out() ? NULL : fake_resize(host, memory, size);
}

/* ---- The host and the plugin ---- */

static const tn_plugin *(*entry)(const tn_host *host);

static bool no_http;

static const void *host_interface(void *self, const char *id) {
    static tn_core_1 core;
    core = fake_core;
    core.alloc = memory_alloc;
    core.resize = memory_resize;
    if (strcmp(id, TN_CORE_1) == 0) return &core;
    if (strcmp(id, TN_HTTP_DRAFT) == 0) return no_http ? NULL : &http_interface;
    return fake_interface(self, id);
}

const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_host mine = {sizeof(tn_host), 0, NULL, host_interface};
    (void)host;
    return entry(&mine);
}

/* ---- One run ---- */

struct running {
    tn_value test;
    uint64_t room, cancel_after, events;
    bool cancels;
    struct fake_task *task;
};

static bool is_open(const struct running *running) { return running->task->end == FAKE_OPEN; }

/* Whatever waits is let go on, a few deltas at a time. */
static void let_go_on(struct running *running) {
    while (is_open(running) && fake.room == 0 && (http.paused || !http.open))
        fake_ready(running->task, (uint32_t)running->room);
}

static void after_event(struct running *running) {
    running->events++;
    if (running->cancels && running->events >= running->cancel_after && is_open(running)) fake_cancel(running->task);
    let_go_on(running);
}

static tn_value head_of(tn_value exchange) {
    int64_t status = 200;
    tn_value headers = value_get(exchange, "headers");
    (void)value_as_int(value_get(exchange, "status"), &status);
    tn_value head = value_set_take(value_object(), "status", value_int(status));
    return value_set_take(head, "headers", headers ? value_ref(headers) : value_object());
}

static tn_value event_of(const struct sse *sse) {
    tn_value event = value_object();
    if (sse->event.length > 0)
        event = value_set_take(event, "event", value_string(sse->event.data, sse->event.length));
    else
        event = value_set_take(event, "event", value_text("message"));
    return value_set_take(event, "data", value_string(sse->data.length ? sse->data.data : "", sse->data.length));
}

/* Gives the first `length` bytes of a stream; how many events these were. */
static uint64_t give_stream(struct running *running, const char *stream, size_t length) {
    struct sse sse = SSE_INIT;
    const char *at = stream;
    uint64_t events = 0;
    while (http.open && sse_next(&sse, &at, stream + length) == PARSE_FOUND) {
        events++;
        http_give(TN_HTTP_DATA, event_of(&sse));
        after_event(running);
    }
    sse_finish(&sse);
    return events;
}

static tn_value end_of(tn_value exchange, bool body) {
    tn_value end = head_of(exchange), text = value_get(exchange, "body");
    size_t length;
    if (!body || !text) return end;
    const char *chars = value_chars(text, &length);
    return value_set_take(end, "body", value_bytes(chars, length));
}

static tn_value lost(void) {
    tn_value error = fake_error("CONNECTION_LOST", "the connection was lost");
    return value_set_take(error, "retryable", value_bool(true));
}

static bool asked(tn_value test, const char *name) {
    int32_t truth = 0;
    return fake_as_bool(value_get(test, name), &truth) == TN_OK && truth;
}

/* `length` and `badly` are of the last exchange's stream, where it has one. */
static void run_exchanges(struct running *running, size_t length, bool badly) {
    tn_value exchanges = value_get(running->test, "exchanges");
    for (uint64_t i = 0; http.open; i++) {
        assert(i < value_count(exchanges)); /* more requests than the case has answers for */
        tn_value exchange = value_at(exchanges, i), failed = value_get(exchange, "failed");
        tn_value stream = value_get(exchange, "stream");
        bool last = i + 1 == value_count(exchanges);
        size_t size = 0;
        const char *chars = stream ? value_chars(stream, &size) : NULL;
        if (!failed || value_get(exchange, "status")) http_give(TN_HTTP_HEAD, head_of(exchange));
        if (http.open && chars) (void)give_stream(running, chars, last && length < size ? length : size);
        let_go_on(running);
        if (!http.open) continue;
        if (asked(exchange, "hangs")) {
            fake_advance(3600000);
            let_go_on(running);
            return;
        }
        if (failed || (last && badly))
            http_give(TN_HTTP_FAILED, failed ? value_ref(failed) : lost());
        else
            http_give(TN_HTTP_END, end_of(exchange, true));
        let_go_on(running);
    }
}

/* False where the plugin could not be entered, or no instance be made. */
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
    int32_t status = fake_create(value_chars(value_get(test, "component"), NULL), config);
    fake.room = (uint32_t)running->room;
    running->task = status == TN_OK ? fake_start(input) : NULL;
    if (running->task) let_go_on(running);
    mem_free(config);
    mem_free(input);
    return running->task != NULL;
}

static tn_value run_result(const struct running *running) {
    const struct fake_task *task = running->task;
    tn_value result = value_set_take(value_object(), "requests", value_ref(http.requests));
    result = value_set_take(result, "deltas", value_ref(fake.emitted));
    result = value_set_take(result, "paused", value_int((int64_t)http.pauses));
    if (task->end == FAKE_COMPLETED) return value_set_take(result, "output", value_ref(task->output));
    if (task->end == FAKE_FAILED) return value_set_take(result, "error", value_ref(task->error));
    return value_set_take(result, "open", value_bool(true));
}

static void run_end(struct running *running) {
    if (running->task && is_open(running)) fake_cancel(running->task);
    fake_finish();
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

/* The output, but for usage: it is told last, and an answer is whole without it. */
static tn_value unpaid(tn_value output) {
    static const char *const kept[] = {"message", "finish_reason", "embeddings"};
    tn_value made = value_object();
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        tn_value member = value_get(output, kept[i]);
        if (!member) continue;
        member = i == 0 ? value_set_take(value_ref(member), "usage", value_null()) : value_ref(member);
        made = value_set_take(made, kept[i], member);
    }
    return made;
}

static const char *ended_as(const struct cuts *cuts, const struct fake_task *task) {
    if (task->end == FAKE_OPEN) return "OPEN";
    if (task->end == FAKE_FAILED) return value_chars(value_get(task->error, "code"), NULL);
    if (value_equal(task->output, cuts->whole)) return "SAME";
    tn_value found = unpaid(task->output), expected = unpaid(cuts->whole);
    bool same = value_equal(found, expected);
    value_unref(found);
    value_unref(expected);
    return same ? "NO_USAGE" : "OTHER";
}

/* Every byte, but events that are the same only once. */
static void cut(struct cuts *cuts, tn_value test, const char *stream, size_t size, bool badly) {
    struct sse sse = SSE_INIT;
    const char *at = stream;
    uint64_t events = 0, ran = UINT64_MAX;
    char code[32] = "";
    for (size_t length = 0; length <= size; length++) {
        while (sse_next(&sse, &at, stream + length) == PARSE_FOUND) events++;
        if (events != ran) {
            struct running running;
            (void)run_try(&running, test);
            run_exchanges(&running, length, badly);
            snprintf(code, sizeof code, "%s", ended_as(cuts, running.task));
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
    cut(&cuts, test, stream, size, false);
    cut(&cuts, test, stream, size, true);
    tn_value told = value_set_take(value_object(), "runs", value_int((int64_t)cuts.runs));
    told = value_set_take(told, "same", value_int((int64_t)cuts.same));
    told = value_set_take(told, "first_same", value_int(cuts.first_same));
    told = value_set_take(told, "codes", cuts.codes);
    return value_set_take(result, "cuts", told);
}

/* ---- Each allocation fails once ---- */

static tn_value run_starved(tn_value test, tn_value result) {
    tn_value codes = value_object(), whole = value_get(result, "output");
    for (uint64_t n = 0;; n++) {
        struct running running;
        memory_left = n;
        const char *code = "CREATE";
        if (run_try(&running, test)) {
            run_exchanges(&running, SIZE_MAX, false);
            code = running.task->end == FAKE_OPEN     ? "OPEN"
                   : running.task->end == FAKE_FAILED ? value_chars(value_get(running.task->error, "code"), NULL)
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
    return value_set_take(result, "starved", codes);
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
            fprintf(stderr, "a case is no JSON: %.200s\n", line);
            return 2;
        }
        no_http = asked(test, "no_http");
        tn_value result = NULL;
        if (run_try(&running, test)) {
            run_exchanges(&running, SIZE_MAX, false);
            result = run_result(&running);
        } else
            result = value_set_take(value_object(), "refused", value_text(fake.refusal));
        run_end(&running);
        if (asked(test, "cuts")) result = run_cuts(test, result);
        if (asked(test, "starves")) result = run_starved(test, result);
        char *text = json_text(result, JSON_COMPACT);
        puts(text);
        mem_free(text);
        value_unref(result);
        value_unref(test);
    }
    free(line);
    return 0;
}
