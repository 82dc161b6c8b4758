/*
 * agents.c - tenon-agents WORKLOAD [N]: the cost of agents without that of their models.
 *
 *   react     an agent with a tool and a model in this process, as the peers' `react`; unit: run
 *   turn      an llm node that calls a service on this machine over HTTP, compared with the same exchange by libcurl;
 *             unit: turn; `overhead_us` is the difference
 *   tokens    an answer of N pieces from that service, streamed to a subscriber; unit: piece
 *   waiting   N agents that wait for their models at once; unit: run; `kib_a_run` is what each holds
 *
 * The service is a separate process: one connection at a time, with prepared answers in the format of OpenAI.
 */
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/engine/graph/graph.h"
#include "host/engine/graph/run.h"
#include "tests/bench/harness.h"
#include <arpa/inet.h>
#include <curl/curl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- The service ---- */

#define PIECES 8 /* pieces of an answer, in `turn` */

static void add_chunk(struct buffer *out, const char *text) { buffer_format(out, "%zx\r\n%s\r\n", strlen(text), text); }

/* A whole response; each piece is a chunk. */
static char *response_of(int64_t pieces, size_t *length) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    buffer_text(&out, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n");
    add_chunk(&out,
              "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{"
              "\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n");
    for (int64_t i = 0; i < pieces; i++)
        add_chunk(&out,
                  "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":["
                  "{\"index\":0,\"delta\":{\"content\":\"token \"},\"finish_reason\":null}]}\n\n");
    add_chunk(&out,
              "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{"
              "\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
    add_chunk(&out,
              "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[],"
              "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":8,\"total_tokens\":17}}\n\n");
    add_chunk(&out, "data: [DONE]\n\n");
    buffer_text(&out, "0\r\n\r\n");
    *length = out.length;
    return buffer_detach(&out, NULL);
}

/* Reads a request with its body. Returns false if the client has gone. */
static bool read_request(int connection) {
    static char text[1 << 20];
    size_t have = 0;
    for (;;) {
        ssize_t got = read(connection, text + have, sizeof text - 1 - have);
        if (got <= 0) return false;
        have += (size_t)got;
        text[have] = 0;
        const char *end = strstr(text, "\r\n\r\n"), *length = strcasestr(text, "content-length:");
        if (end && length && have >= (size_t)(end + 4 - text) + strtoul(length + 15, NULL, 10)) return true;
    }
}

static _Noreturn void serve(int listener, int64_t pieces) {
    size_t length;
    char *response = response_of(pieces, &length);
    for (;;) {
        int connection = accept(listener, NULL, NULL), on = 1;
        setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (fork() != 0) {
            close(connection);
            continue;
        }
        while (read_request(connection))
            for (size_t put = 0; put < length;) {
                ssize_t more = write(connection, response + put, length - put);
                if (more <= 0) _exit(0);
                put += (size_t)more;
            }
        _exit(0);
    }
}

static pid_t service;
static char url[64];

static void start_service(int64_t pieces) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, size) != 0 || listen(listener, 16) != 0) die("cannot listen", "");
    getsockname(listener, (struct sockaddr *)&at, &size);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/v1", ntohs(at.sin_port));
    fflush(stdout);
    service = fork();
    if (service == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if the benchmark is killed */
        signal(SIGCHLD, SIG_IGN);
        serve(listener, pieces);
    }
    close(listener);
}

static void stop_service(void) { kill(-service, SIGKILL); }

/* ---- By plain libcurl ---- */

static size_t drop(char *data, size_t size, size_t count, void *user) {
    (void)data;
    *(size_t *)user += size * count;
    return size * count;
}

/* Seconds for an exchange on a connection that stays open. */
static double raw_exchange(int64_t n) {
    static const char body[] =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Say something\"}],\"stream\":true,"
        "\"stream_options\":{\"include_usage\":true}}";
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "content-type: application/json");
    char whole[96];
    size_t got = 0;
    struct measure measure;
    snprintf(whole, sizeof whole, "%s/chat/completions", url);
    curl_easy_setopt(curl, CURLOPT_URL, whole);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &got);
    for (int64_t i = 0; i < n / 10 + 10; i++)
        if (curl_easy_perform(curl) != CURLE_OK) die("the service does not answer", "");
    measure_begin(&measure);
    for (int64_t i = 0; i < n; i++)
        if (curl_easy_perform(curl) != CURLE_OK) die("the service does not answer", "");
    double wall = seconds(&measure.wall, CLOCK_MONOTONIC);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return wall / (double)n;
}

/* ---- Runs ---- */

static tn_value user_input(const char *text) {
    tn_value message = value_set_take(value_object_reserve(2), "type", value_text("user"));
    message = value_set_take(message, "content", value_text(text));
    return value_set_take(value_object_reserve(1), "messages", value_push_take(value_array(), message));
}

static void run_to_end(struct graph *graph, tn_value input, size_t messages, const struct run_options *given) {
    bool ended = false;
    struct run_options options = given ? *given : (struct run_options)RUN_OPTIONS_INIT;
    options.ended = set_flag;
    options.user = &ended;
    struct run *run = run_new(graph, &options);
    if (!run_start(run, input)) loop_run(host_loop(host), flag_set, &ended);
    if (run_status(run) != RUN_DONE) die("the run failed", run_error(run)->message ? run_error(run)->message : "?");
    tn_value result = run_result(run), list = value_get(result, "messages");
    if (value_count(list) != messages) die("a wrong number of messages", "");
    if (messages == 4 && (!value_text_is(value_get(value_at(list, 2), "content"), "result for weather") ||
                          !value_text_is(value_get(value_at(list, 3), "content"), "It is sunny.")))
        die("a wrong answer", "");
    value_unref(result);
    run_free(run);
}

#define CHANNELS "channels: [{name: messages, type: reduce, reducer: messages}]\n"

#define AGENT(model)                                                                                                   \
    "version: \"1.0\"\nmodels: {default: {provider: scripted, " model                                                  \
    "replies: [{content: \"\", tool_calls: [{id: call-1, name: bench.lookup, arguments: {query: weather}}]}, \"It is " \
    "sunny.\"]}}\n" CHANNELS                                                                                           \
    "nodes: [{id: agent, type: agent, config: {messages_key: messages, tools: [bench.lookup]}}]\n"                     \
    "edges: [{from: START, to: agent}, {from: agent, to: END}]\n"

static void react(int64_t n) {
    struct graph *graph = build(AGENT(""));
    tn_value input = user_input("What is the weather?");
    struct measure measure;
    for (int64_t i = 0; i < (n < 100 ? n : 100); i++) run_to_end(graph, input, 4, NULL);
    measure_begin(&measure);
    for (int64_t i = 0; i < n; i++) run_to_end(graph, input, 4, NULL);
    report(&measure, "react", n, (double)n, "\"unit\":\"run\"");
    value_unref(input);
    graph_unref(graph);
}

/* ---- Over HTTP ---- */

static struct graph *asking(void) {
    struct buffer text;
    buffer_init(&text, 4096);
    buffer_format(&text,
                  "version: \"1.0\"\nmodels: {default: {provider: openai, model: m, base_url: \"%s\"}}\n" CHANNELS
                  "nodes: [{id: ask, type: llm, config: {messages_key: messages}}]\n"
                  "edges: [{from: START, to: ask}, {from: ask, to: END}]\n",
                  url);
    struct graph *graph = build(buffer_cstr(&text));
    buffer_finish(&text);
    return graph;
}

static void turn(int64_t n) {
    char notes[160];
    struct measure measure;
    start_service(PIECES);
    struct graph *graph = asking();
    tn_value input = user_input("Say something");
    for (int64_t i = 0; i < n / 10 + 10; i++) run_to_end(graph, input, 2, NULL);
    /* In turn, because the speed of the machine changes from second to second. */
    double ours = 0, raw = 0;
    int64_t round = n / 10 > 0 ? n / 10 : 1, rounds = (n + round - 1) / round;
    for (int64_t k = 0; k < rounds; k++) {
        raw += raw_exchange(round);
        measure_begin(&measure);
        for (int64_t i = 0; i < round; i++) run_to_end(graph, input, 2, NULL);
        ours += seconds(&measure.wall, CLOCK_MONOTONIC) / (double)round;
    }
    ours /= (double)rounds;
    raw /= (double)rounds;
    snprintf(notes, sizeof notes, "\"unit\":\"turn\",\"raw_us\":%.2f,\"overhead_us\":%.2f", raw * 1e6,
             (ours - raw) * 1e6);
    report_of(ours * (double)n, 0, "turn", n, (double)n, notes);
    value_unref(input);
    graph_unref(graph);
    stop_service();
}

static int64_t pieces_seen;

static bool on_event(void *user, tn_value event) {
    (void)user;
    pieces_seen += value_get(value_get(event, "delta"), "content") != NULL;
    return true;
}

static void tokens(int64_t n) {
    char notes[96];
    struct run_options options = RUN_OPTIONS_INIT;
    struct measure measure;
    start_service(n);
    struct graph *graph = asking();
    tn_value input = user_input("Say much");
    options.modes = RUN_MODE_MESSAGES;
    options.event = on_event;
    measure_begin(&measure);
    run_to_end(graph, input, 2, &options);
    if (pieces_seen != n) die("pieces are missing", "");
    double wall = seconds(&measure.wall, CLOCK_MONOTONIC);
    snprintf(notes, sizeof notes, "\"unit\":\"piece\",\"per_second\":%.0f", (double)n / wall);
    report(&measure, "tokens", n, (double)n, notes);
    value_unref(input);
    graph_unref(graph);
    stop_service();
}

/* ---- Waiting ---- */

static int64_t open_runs;

static void one_less(struct run *run, void *user) {
    (void)run, (void)user;
    open_runs--;
}

static bool none_open(void *user) {
    (void)user;
    return open_runs == 0;
}

static bool rested;

static void on_rest(struct loop_timer *timer) {
    (void)timer;
    rested = true;
}

static bool has_rested(void *user) {
    (void)user;
    return rested;
}

static void waiting(int64_t n) {
    char notes[96];
    struct graph *graph = build(AGENT("delay_ms: 600000, "));
    tn_value input = user_input("What is the weather?");
    struct run **runs = mem_array(NULL, (size_t)n, sizeof *runs);
    struct run_options options = RUN_OPTIONS_INIT;
    struct measure measure;
    struct loop_timer rest = {0};
    options.ended = one_less;
    double before = rss_mib();
    measure_begin(&measure);
    for (int64_t i = 0; i < n; i++) {
        runs[i] = run_new(graph, &options);
        open_runs += !run_start(runs[i], input);
    }
    loop_timer_start(host_loop(host), &rest, 100, on_rest); /* deferred work has been done by then */
    loop_run(host_loop(host), has_rested, NULL);
    double after = rss_mib();
    if (open_runs != n) die("a run does not wait", "");
    for (int64_t i = 0; i < n; i++) run_cancel(runs[i]);
    loop_run(host_loop(host), none_open, NULL);
    snprintf(notes, sizeof notes, "\"unit\":\"run\",\"kib_a_run\":%.2f", (after - before) * 1024 / (double)n);
    report(&measure, "waiting", n, (double)n, notes);
    for (int64_t i = 0; i < n; i++) run_free(runs[i]);
    mem_free(runs);
    value_unref(input);
    graph_unref(graph);
}

static const struct {
    const char *name;
    void (*run)(int64_t n);
    int64_t n;
} workloads[] = {{"react", react, 500}, {"turn", turn, 2000}, {"tokens", tokens, 100000}, {"waiting", waiting, 10000}};

int main(int argc, char **argv) {
    static const char *const paths[] = {TENON_BENCH_NODES, TENON_CORE_PLUGIN, TENON_PLUGINS, NULL};
    const char *name = argc > 1 ? argv[1] : "";
    size_t row = 0;
    while (row < sizeof workloads / sizeof *workloads && strcmp(workloads[row].name, name) != 0) row++;
    if (row == sizeof workloads / sizeof *workloads) {
        fputs("usage: tenon-agents react|turn|tokens|waiting [N]\n", stderr);
        return 2;
    }
    int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : workloads[row].n;
    if (n <= 0) {
        fputs("tenon-agents: N must be a whole number above 0\n", stderr);
        return 2;
    }
    struct error error = ERROR_INIT;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    setenv("TENON_PROGRAM", TENON_PROGRAM_FILE, 0);
    host = host_new(&(struct host_options){.plugin_paths = paths, .no_config = true, .allow_drafts = true}, &error);
    if (!host) die("cannot start", error.message);
    workloads[row].run(n);
    host_free(host);
    curl_global_cleanup();
    return 0;
}
