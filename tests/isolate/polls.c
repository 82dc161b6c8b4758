/*
 * polls.c - a plugin that watches a pipe with tenon.poll, for tests/e2e/poll.sh. A child process writes to the pipe.
 *
 * The node completes with the bytes that arrived. The host removes a watch that the plugin leaves behind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tenon/easy.h>
#include <tenon/poll.h>
#include <unistd.h>

TN_PLUGIN("test.polls", "1.0.0", "Waits for a pipe")

struct wait {
    tn_task task;
    uint32_t out;
    uint64_t watch;
    int descriptor;
    pid_t child;
    char got[64];
    size_t length;
};

static const tn_poll_1 *polls;

static int32_t init(void *self, tn_value config) {
    (void)self, (void)config;
    polls = tn_easy_interface(tn.host, TN_POLL_1, sizeof(*polls));
    return polls != NULL ? TN_OK : TN_UNSUPPORTED;
}
TN_LIFECYCLE(init, NULL, NULL)

static void complete_wait(struct wait *wait) {
    wait->got[wait->length] = '\0';
    (void)polls->unwatch(tn.host, wait->watch);
    (void)close(wait->descriptor);
    (void)waitpid(wait->child, NULL, 0);
    (void)tn_write_text(wait->task, wait->out, wait->got);
    (void)tn_done(wait->task);
    free(wait);
}

static void on_ready(void *user, int32_t events) {
    struct wait *wait = user;
    ssize_t got = read(wait->descriptor, wait->got + wait->length, sizeof wait->got - 1 - wait->length);
    (void)events;
    if (got > 0)
        wait->length += (size_t)got;
    else
        complete_wait(wait);
}

static pid_t start_child(int descriptor) {
    pid_t child = fork();
    if (child != 0) return child;
    for (int i = 0; i < 3; i++)
        if (write(descriptor, "tick ", 5) != 5) _exit(1);
    _exit(0);
}

TN_NODE(wait_for_pipe, "test.wait", "Waits.", TN_EFFECTS("process.spawn"), (WRITE, out, "a channel"),
        (BOOL_OR, leave, 0, "leave a watch to the host")) {
    int pair[2], idle[2];
    uint64_t unused_watch = 0;
    struct wait *wait = calloc(1, sizeof *wait);
    (void)input;
    if (wait == NULL || pipe(pair) != 0) return TN_ERROR;
    if (config->leave &&
        (pipe(idle) != 0 || polls->watch(tn.host, idle[0], TN_POLL_READ, on_ready, NULL, &unused_watch) != 0))
        return TN_ERROR;
    wait->task = task;
    wait->out = config->out;
    wait->descriptor = pair[0];
    wait->child = start_child(pair[1]);
    (void)close(pair[1]);
    return polls->watch(tn.host, pair[0], TN_POLL_READ, on_ready, wait, &wait->watch);
}
