/*
 * conformance_child.c - the child processes of a check: how they start, report and end, and how long they may take.
 *
 * The parent measures time in short parts, and counts no part for longer than it should have taken. A machine that
 * stands still, or a stopped process, therefore uses up only one part, and no correct plugin is called hung.
 */
#include "adl/value/buffer.h"
#include "host/base/clock.h"
#include "host/plugin/conformance/conformance_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- In the child ---- */

void conformance_child_write(int pipe_end, const char *prefix, const char *format, va_list args) {
    char line[CONFORMANCE_LINE_MAX];
    int length = snprintf(line, sizeof line, "%s", prefix);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, args);
    if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    for (int i = 0; i < length; i++)
        if (line[i] == '\n') line[i] = ' ';
    line[length] = '\n';
    for (int done = 0; done <= length;) {
        ssize_t wrote = write(pipe_end, line + done, (size_t)(length + 1 - done));
        if (wrote < 0 && errno != EINTR) _exit(1);
        if (wrote > 0) done += (int)wrote;
    }
}

void conformance_child_print(int pipe_end, const char *format, ...) {
    va_list args;
    va_start(args, format);
    conformance_child_write(pipe_end, "", format, args);
    va_end(args);
}

void conformance_child_reset_signals(void) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], SIG_DFL);
}

void conformance_child_exit(int pipe_end) {
    fflush(stdout); /* the output of the plugin is a finding; that of a sanitizer's exit hooks is not */
    conformance_child_print(pipe_end, "E");
    _exit(0);
}

/* ---- In the parent ---- */

pid_t conformance_fork(struct conformance *conformance, const char *path, int *pipe_end, int *output) {
    int ends[2];
    pid_t pid = -1;
    *output = memfd_create("tenon-check", MFD_CLOEXEC);
    bool piped = *output >= 0 && pipe2(ends, O_CLOEXEC) == 0;
    if (piped) {
        fflush(NULL); /* otherwise the child would write the buffered output a second time */
        pid = fork();
    }
    if (pid < 0)
        conformance_add(conformance, FINDING_CHECK,
                        "%s: was not run, because the process for the check cannot be started: %s; try again when the "
                        "system has more resources",
                        path, strerror(errno));
    if (pid < 0 && *output >= 0) close(*output);
    if (pid == 0) dup2(*output, STDOUT_FILENO);
    if (piped) {
        *pipe_end = ends[pid == 0];
        close(ends[pid != 0]);
        if (pid < 0) close(*pipe_end);
    }
    return pid;
}

/* True if a signal has stopped the process: the letter after its name in /proc/PID/stat is T or t. */
static bool process_is_stopped(pid_t pid) {
    char name[64], text[512];
    snprintf(name, sizeof name, "/proc/%ld/stat", (long)pid);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && (end[2] == 'T' || end[2] == 't');
}

/* What has passed since *last, at most two ticks. */
static int64_t time_passed(int64_t *last) {
    int64_t now = clock_now_ms(), passed = now - *last;
    *last = now;
    return passed > 2 * CONFORMANCE_TICK_MS ? 2 * CONFORMANCE_TICK_MS : passed;
}

/* Returns the number of complete lines. */
static int read_lines(struct conformance_child *child, struct buffer *line, const char *bytes, size_t length) {
    int count = 0;
    for (size_t i = 0; i < length && !child->ended; i++) {
        if (bytes[i] != '\n') {
            buffer_char(line, bytes[i]);
            continue;
        }
        buffer_char(line, 0);
        child->ended = !line->overflow && strcmp(line->data, "E") == 0;
        if (!line->overflow && !child->ended) child->line(child->user, line->data);
        buffer_clear(line);
        count++;
    }
    return count;
}

static void read_report(struct conformance *conformance, struct conformance_child *child, pid_t pid) {
    struct buffer line;
    int64_t last = clock_now_ms(), total = 0, silent = 0;
    buffer_init(&line, CONFORMANCE_LINE_MAX);
    while (!child->ended && !child->hung) {
        char bytes[4096];
        struct pollfd ready = {.fd = child->pipe_end, .events = POLLIN};
        int got = poll(&ready, 1, CONFORMANCE_TICK_MS);
        int64_t passed = time_passed(&last);
        if (got < 0 && errno != EINTR) break;
        if (got > 0) {
            ssize_t length = read(child->pipe_end, bytes, sizeof bytes);
            if (length == 0 || (length < 0 && errno != EINTR)) break;
            if (length > 0 && read_lines(child, &line, bytes, (size_t)length) > 0) silent = -passed;
        } else if (process_is_stopped(pid)) {
            continue;
        }
        total += passed;
        silent += passed;
        child->hung = total >= child->limit_ms || (child->silence_max_ms > 0 && silent >= child->silence_max_ms);
        if (conformance->progress) conformance->progress(conformance->user, child->step);
    }
    buffer_finish(&line);
}

/* A child that has closed the pipe before its report was complete has a moment to end. */
static void wait_for_end(struct conformance_child *child, pid_t pid) {
    const struct timespec pause = {0, 10 * 1000000};
    for (int left = 200; !child->ended && !child->hung; left--) {
        if (waitpid(pid, &child->status, WNOHANG) == pid) return;
        child->hung = left == 0;
        nanosleep(&pause, NULL);
    }
    if (child->hung) kill(pid, SIGKILL);
    while (waitpid(pid, &child->status, 0) < 0 && errno == EINTR) continue;
}

void conformance_child_wait(struct conformance *conformance, struct conformance_child *child, pid_t pid) {
    struct stat written;
    child->ended = child->hung = false;
    read_report(conformance, child, pid);
    close(child->pipe_end);
    wait_for_end(child, pid);
    child->printed = fstat(child->output, &written) == 0 ? (long long)written.st_size : 0;
    close(child->output);
}
