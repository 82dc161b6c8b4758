/*
 * loop.c - the host in the event loop of a program, as of a window: it draws a frame every 20 ms, and meanwhile one run
 * streams and another one waits, until the program cancels it.
 *
 *     cc loop.c $(pkg-config --cflags --libs tenon) -o loop && ./loop
 *
 * The loop polls the descriptor of the host beside its own, with the timeout of the host, and calls tenon_turn. The
 * same three functions connect a host to the loops of GLib, Qt, libuv or epoll.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <tenon/embed.h>
#include <time.h>
#include <unistd.h>

/* Reports three times what it has done, with pauses. */
static const char works[] =
    "version: '1.0'\n"
    "agent: {name: works}\n"
    "channels: [{name: done, type: last_value, default: 0}]\n"
    "nodes:\n"
    "  - {id: pause, type: delay, config: {ms: 60}}\n"
    "  - {id: work, type: set, config: {values: {done: state.done + 1}}}\n"
    "  - {id: report, type: emit, config: {value: state.done}}\n"
    "edges:\n"
    "  - {from: START, to: pause}\n"
    "  - {from: pause, to: work}\n"
    "  - {from: work, to: report}\n"
    "  - {from: report, type: conditional, conditions: [{expression: state.done < 3, to: pause}, "
    "{expression: default, to: END}]}\n";
/* Would take an hour. */
static const char waits[] = "version: '1.0'\n"
                            "agent: {name: waits}\n"
                            "nodes: [{id: hour, type: delay, config: {ms: 3600000}}]\n"
                            "edges: [{from: START, to: hour}, {from: hour, to: END}]\n";

struct window {
    const tn_value_1 *value;
    tenon *host;
    tenon_run *waiting;
    uint64_t frames; /* drawn while the runs were active */
    int active;
};

static int32_t show_progress(void *user, tn_value event) {
    const struct window *window = user;
    int64_t done = 0;
    window->value->as_int(window->value->get(event, "data", TN_Z), &done);
    printf("progress: %lld of 3\n", (long long)done);
    return 1; /* 0 would cancel the run */
}

/* A callback may not wait, but it may ask its run, start runs, cancel others, and release. */
static void show_end(void *user, tenon_run *run) {
    static const char *const names[] = {"running", "done", "failed", "cancelled", "interrupted", "stopped"};
    struct window *window = user;
    bool waiting = run == window->waiting;
    printf("%s: %s\n", waiting ? "waits" : "works", names[tenon_run_status(run)]);
    if (!waiting) tenon_run_cancel(window->waiting);
    tenon_run_release(run);
    window->active--;
}

static tenon_run *start(struct window *window, const char *text) {
    tenon_runnable *graph = tenon_graph_text(window->host, "loop.yaml", text, strlen(text));
    tenon_run *run = graph ? tenon_start(graph, NULL, NULL) : NULL;
    tenon_release(graph);
    if (!run) return NULL;
    tenon_run_on_event(run, "custom", show_progress, window);
    tenon_run_on_ended(run, show_end, window);
    window->active++;
    return run;
}

int main(void) {
    struct window window = {.value = tenon_values(), .host = tenon_open(NULL, NULL)};
    int clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct itimerspec every = {{0, 20000000}, {0, 20000000}};
    if (!window.host || clock < 0 || timerfd_settime(clock, 0, &every, NULL) < 0) {
        fprintf(stderr, "%s\n", tenon_error(NULL));
        return 1;
    }
    window.waiting = start(&window, waits);
    if (!window.waiting || !start(&window, works)) {
        fprintf(stderr, "%s\n", tenon_error(window.host));
        return 1;
    }
    struct pollfd set[] = {{.fd = tenon_descriptor(window.host), .events = POLLIN}, {.fd = clock, .events = POLLIN}};
    while (window.active > 0) {
        uint64_t ticks;
        if (poll(set, 2, (int)tenon_timeout(window.host)) < 0) break;
        if (set[1].revents && read(clock, &ticks, sizeof ticks) == (ssize_t)sizeof ticks) window.frames++;
        tenon_turn(window.host);
    }
    printf("frames were drawn meanwhile: %s\n", window.frames > 1 ? "yes" : "no");
    close(clock);
    tenon_close(window.host);
    return 0;
}
