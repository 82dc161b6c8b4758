/*
 * process.c - starts the child, waits for its socket and its output, and determines how it ended. What passes the
 * socket is in process_messages.c.
 *
 * All descriptors are non-blocking. Messages are queued, and written at the end of the loop's turn or when the socket
 * accepts more. When the socket is closed or the pidfd becomes readable, the child has ended: its group is killed, the
 * remaining messages are read, and its exit status is read with waitpid. The states of a process are:
 *
 *     running
 *     dead          the child was killed and reaped; the handles are closing
 *     end reported  ended() was called, after the last message; skipped if process_free was called before
 *     memory freed  when process_free was called, all handles are closed, and no callback is running
 *
 * Two functions block: process_call_take, with poll, and process_reap, for at most EXIT_WAIT_MS with poll and then with
 * waitpid until the killed child has ended.
 */
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/plugin/isolate/isolate_protocol.h"
#include "host/plugin/isolate/process_internal.h"
#include "host/plugin/isolate/shared.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#define OUTPUT_MAX (64u << 10) /* bytes of output read in one turn */

/* ---- The child's output ---- */

/*
 * Logs a line of output, and keeps it for the error that reports the child's end. A line of the child's own log begins
 * with PROTOCOL_LOG_MARK and its level, a digit; all other lines are LOG_INFO.
 */
static void process_log_line(struct process *process, const char *text, size_t length) {
    int32_t level = LOG_INFO;
    if (length > 2 && text[0] == PROTOCOL_LOG_MARK && text[1] >= '0' + LOG_DEBUG && text[1] <= '0' + LOG_ERROR) {
        level = text[1] - '0';
        text += 2;
        length -= 2;
    }
    char *line = mem_text_n(text, length);
    char *scrubbed = process->options.scrub ? process->options.scrub(process->options.scrub_user, line) : NULL;
    if (scrubbed) {
        mem_free(line);
        line = scrubbed;
    }
    log_write(level, process->name, "%s", line);
    if (level < LOG_INFO) {
        mem_free(line);
        return;
    }
    char **place = &process->lines[process->line_count++ % PROCESS_LINES];
    mem_free(*place);
    *place = line;
}

/* Splits output into lines, and logs each complete one. */
static void process_split_output(struct process *process, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') {
            process_log_line(process, buffer_cstr(&process->line), process->line.length);
            buffer_clear(&process->line);
        } else {
            buffer_char(&process->line, bytes[i]); /* drops bytes beyond PROCESS_LINE_MAX */
        }
    }
}

/* Reads the output that is available, but at most OUTPUT_MAX bytes, because the child may print without end. */
void process_read_output(struct process *process) {
    char bytes[4096];
    ssize_t got = 1;
    for (size_t total = 0; got > 0 && total < OUTPUT_MAX; total += (size_t)got) {
        got = read(process->output, bytes, sizeof bytes);
        if (got > 0) process_split_output(process, bytes, (size_t)got);
    }
    if (got == 0) process->output_closed = true; /* the child may still run */
}

static void process_on_output(uv_poll_t *poll, int status, int events) {
    struct process *process = poll->data;
    (void)events;
    process_read_output(process);
    if (status < 0 || process->output_closed) uv_poll_stop(poll);
}

/* The last lines of output, oldest first: an array of strings; a new reference. */
static tn_value process_lines(const struct process *process) {
    tn_value lines = value_array();
    for (size_t i = 0; i < PROCESS_LINES; i++) {
        const char *line = process->lines[(process->line_count + i) % PROCESS_LINES];
        if (line) lines = value_push_take(lines, value_string_lossy(line, strlen(line)));
    }
    return lines;
}

/* ---- Ending: kill, reap, report, free ---- */

/* Sets end_error from the status of waitpid. `own_reason` (or NULL) is stated, unless the host killed the child. */
static void process_describe_end(struct process *process, int status, const char *own_reason) {
    tn_value lines = process_lines(process), detail = value_object_reserve(3);
    const char *reason = process->kill_reason ? process->kill_reason : own_reason;
    char how[160];
    if (WIFSIGNALED(status)) {
        snprintf(how, sizeof how, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        detail = value_set_take(detail, "signal", value_int(WTERMSIG(status)));
    } else {
        snprintf(how, sizeof how, "exited with status %d", WEXITSTATUS(status));
        detail = value_set_take(detail, "exit", value_int(WEXITSTATUS(status)));
    }
    detail = value_set_take(detail, "log", lines);
    size_t count = value_count(lines);
    tn_value last = count ? value_at(lines, count - 1) : NULL;
    error_set(&process->end_error, TN_FAILED, "PLUGIN_CRASHED", "plugin `%s`: its process %s%s%s%s%s", process->name,
              how, reason ? ": " : "", reason ? reason : "", last ? "; its last line of output was: " : "",
              last ? value_chars(last, NULL) : "");
    error_set_detail_take(&process->end_error, detail);
}

/*
 * Calls ended() if the child has ended and all messages were delivered. Frees the memory if process_free was called,
 * all handles are closed, and no callback is running. Otherwise does nothing; it is called again after each such
 * change. The process may be freed when it returns: call it last.
 */
void process_report_or_free(struct process *process) {
    if (process->callbacks_running) return;
    if (process->dead && !process->end_reported && !process->free_requested && !process->postponed_count) {
        process->end_reported = true;
        process->callbacks_running++;
        process->options.ended(process->options.user, &process->end_error);
        process->callbacks_running--;
    }
    if (!process->free_requested || process->open_handles) return;
    close(process->socket);
    close(process->output);
    if (process->pidfd >= 0) close(process->pidfd);
    if (process->holds) {
        process->holds = 1; /* nested holds count once in the loop: end them together */
        process_unhold(process);
    }
    loop_undefer(process->loop, &process->flush);
    loop_undefer(process->loop, &process->deliver);
    for (size_t i = 0; i < process->postponed_count; i++) value_unref(process->postponed[i]);
    mem_free((void *)process->postponed);
    mem_free(process->requests);
    for (size_t i = 0; i < PROCESS_LINES; i++) mem_free(process->lines[i]);
    frame_reader_finish(&process->reader);
    shared_free(process->shared_out);
    shared_free(process->shared_in);
    buffer_finish(&process->outgoing);
    buffer_finish(&process->line);
    error_finish(&process->end_error);
    mem_free(process->kill_reason);
    mem_free(process->name);
    mem_free(process);
}

static void process_on_closed(uv_handle_t *handle) {
    struct process *process = handle->data;
    process->open_handles--;
    process_report_or_free(process);
}

static void process_close_handles(struct process *process) {
    uv_close((uv_handle_t *)&process->socket_poll, process_on_closed);
    uv_close((uv_handle_t *)&process->output_poll, process_on_closed);
    uv_close((uv_handle_t *)&process->exit_timer, process_on_closed);
    if (process->pidfd >= 0) uv_close((uv_handle_t *)&process->pidfd_poll, process_on_closed);
}

/*
 * Blocks until the child has exited, at most `wait_ms`. Returns false if it still runs after that. Without a pidfd,
 * which is needed to determine that, it returns true at once.
 */
static bool process_exit_wait(const struct process *process, int wait_ms) {
    struct pollfd exit = {.fd = process->pidfd, .events = POLLIN};
    int64_t deadline_ms = clock_now_ms() + wait_ms;
    int ready;
    if (process->pidfd < 0) return true;
    do {
        int64_t left_ms = deadline_ms - clock_now_ms();
        ready = poll(&exit, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (ready < 0 && errno == EINTR);
    return ready == 1;
}

/*
 * Kills the child and its group, reads its exit status and the rest of its output, and schedules ended(). A child that
 * has closed its socket usually exits soon: it has `wait_ms` for that, so that its status is not that of being killed.
 */
void process_reap(struct process *process, int wait_ms) {
    if (process->dead) return;
    const char *own_reason = NULL;
    int status = 0;
    process->dead = true;
    if (!process->kill_reason && !process_exit_wait(process, wait_ms))
        own_reason = "it closed its socket and did not exit";
    kill(-process->pid, SIGKILL);
    kill(process->pid, SIGKILL); /* if it has not called setpgid yet, it is not in the group */
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) continue;
    process_read_output(process);
    if (process->line.length) process_split_output(process, "\n", 1);
    process_describe_end(process, status, own_reason);
    process_close_handles(process);
    if (process->socket_closed) process_unhold(process);
    /* process_on_deliver reports the end, after the messages that arrived before it. */
    loop_defer(process->loop, &process->deliver);
}

void process_kill(struct process *process, const char *why) {
    if (process->dead) return;
    if (!process->kill_reason) process->kill_reason = mem_text(why);
    process_reap(process, 0);
}

void process_free(struct process *process) {
    if (!process) return;
    process->free_requested = true;
    process_kill(process, "the host stopped it");
    process_report_or_free(process);
}

/* ---- Events ---- */

static void process_on_exit_timer(uv_timer_t *timer) {
    struct process *process = timer->data;
    process_reap(process, 0);
    process_dispatch(process);
}

/* Waits for the exit, which process_on_pidfd notices, at most EXIT_WAIT_MS. */
static void process_await_exit(struct process *process) {
    if (process->pidfd < 0) {
        process_reap(process, 0);
        return;
    }
    process_hold(process);
    process->socket_closed = true;
    uv_poll_stop(&process->socket_poll);
    uv_update_time(loop_uv(process->loop));
    uv_timer_start(&process->exit_timer, process_on_exit_timer, EXIT_WAIT_MS, 0);
}

void process_on_socket(uv_poll_t *poll, int status, int events) {
    struct process *process = poll->data;
    (void)events;
    if (status >= 0 && process_read(process)) {
        process_write(process); /* the next read notices a failure */
        process_update_poll(process);
    } else {
        process_await_exit(process);
    }
    process_dispatch(process);
}

static void process_on_pidfd(uv_poll_t *poll, int status, int events) {
    struct process *process = poll->data;
    (void)status, (void)events;
    if (!process->dead) {
        kill(-process->pid, SIGKILL); /* the child has exited, but its own children may still hold the socket open */
        process_read(process);        /* once is enough: READ_MAX is larger than a socket's default buffer */
    }
    process_reap(process, 0);
    process_dispatch(process);
}

/* Delivers the messages that process_call_take postponed or left unread, then reports the end if the child has ended.
 */
static void process_on_deliver(struct loop_work *work) {
    struct process *process = CONTAINER_OF(work, struct process, deliver);
    size_t count = process->postponed_count;
    tn_value *postponed = process->postponed;
    process->postponed = NULL;
    process->postponed_count = process->postponed_capacity = process->postponed_bytes = 0;
    process->callbacks_running++;
    for (size_t i = 0; i < count; i++) {
        if (!process->free_requested) process_deliver(process, postponed[i]);
        value_unref(postponed[i]);
    }
    process->callbacks_running--;
    mem_free((void *)postponed);
    process_dispatch(process); /* also frees the memory if process_free was called */
}

/* ---- Starting ---- */

/*
 * Runs in the forked child. Before execve, it may call only async-signal-safe functions; the report that execve failed
 * is an exception. Exits with 127 if the program cannot be run, as a shell does, and with 126 after other failures.
 */
static _Noreturn void process_exec(const struct process_options *options, int socket, int output, pid_t parent) {
    static char *const no_environment[] = {NULL};
    int null_device = open("/dev/null", O_RDONLY);
    sigset_t no_signals;
    sigemptyset(&no_signals);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &no_signals, NULL); /* process_fork has blocked all */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Moves both descriptors above those that dup2 overwrites. */
    socket = fcntl(socket, F_DUPFD, 10);
    output = fcntl(output, F_DUPFD, 10);
    if (getppid() != parent) _exit(126); /* the host ended before prctl took effect */
    if (null_device < 0 || socket < 0 || output < 0 || dup2(null_device, 0) < 0 || dup2(output, 1) < 0 ||
        dup2(output, 2) < 0 || dup2(socket, PROCESS_SOCKET) < 0)
        _exit(126);
    closefrom(PROCESS_SOCKET + 1);
    execve(options->arguments[0], (char *const *)(uintptr_t)options->arguments,
           options->environment ? (char *const *)(uintptr_t)options->environment : no_environment);
    dprintf(2, "cannot run %s: %s\n", options->arguments[0], strerror(errno));
    _exit(127);
}

/*
 * Forks, and executes the program in the child. All signals are blocked until the child has reset the handlers: a
 * handler of this process must not run there. Returns -1 with errno on failure.
 */
static pid_t process_fork(const struct process_options *options, int socket, int output) {
    pid_t parent = getpid();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) process_exec(options, socket, output, parent);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static void process_watch(struct process *process, uv_poll_t *poll, int descriptor, uv_poll_cb callback) {
    uv_poll_init(loop_uv(process->loop), poll, descriptor);
    poll->data = process;
    uv_poll_start(poll, UV_READABLE, callback);
    uv_unref((uv_handle_t *)poll); /* handles do not keep the loop running; process_hold does */
    process->open_handles++;
}

struct process *process_start(struct loop *loop, const struct process_options *options, struct error *error) {
    int pair[2] = {-1, -1}, output[2] = {-1, -1};
    pid_t pid = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 && pipe2(output, O_CLOEXEC) == 0)
        pid = process_fork(options, pair[1], output[1]);
    int failure = errno;
    if (pair[1] >= 0) close(pair[1]);
    if (output[1] >= 0) close(output[1]);
    if (pid < 0) {
        if (pair[0] >= 0) close(pair[0]);
        if (output[0] >= 0) close(output[0]);
        error_set(error, TN_ERROR, "PLUGIN_CRASHED", "plugin `%s`: its process cannot be started: %s", options->name,
                  strerror(failure));
        return NULL;
    }
    setpgid(pid, pid); /* parent and child both call it, because either may run first */
    struct process *process = mem_zalloc(sizeof *process);
    process->loop = loop;
    process->options = *options;
    process->options.arguments = process->options.environment = NULL;
    process->name = mem_text(options->name);
    process->pid = pid;
    process->socket = pair[0];
    process->output = output[0];
    process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    fcntl(process->socket, F_SETFL, O_NONBLOCK);
    fcntl(process->output, F_SETFL, O_NONBLOCK);
    frame_reader_init(&process->reader);
    buffer_init(&process->outgoing, PROCESS_OUTGOING_MAX);
    buffer_init(&process->line, PROCESS_LINE_MAX);
    process->flush.run = process_on_flush;
    process->deliver.run = process_on_deliver;
    process_watch(process, &process->socket_poll, process->socket, process_on_socket);
    process_watch(process, &process->output_poll, process->output, process_on_output);
    uv_timer_init(loop_uv(loop), &process->exit_timer);
    process->exit_timer.data = process;
    uv_unref((uv_handle_t *)&process->exit_timer);
    process->open_handles++;
    if (process->pidfd >= 0) process_watch(process, &process->pidfd_poll, process->pidfd, process_on_pidfd);
    return process;
}

pid_t process_id(const struct process *process) { return process->pid; }
bool process_has_ended(const struct process *process) { return process->dead || process->socket_closed; }

/* ---- Holding ---- */

void process_hold(struct process *process) {
    if (process->holds++ > 0) return;
    loop_hold(process->loop); /* while held, a test's fake clock does not advance: the child works in real time */
    loop_spin(process->loop, true);
    if (!process->dead) uv_ref((uv_handle_t *)&process->socket_poll);
}

void process_unhold(struct process *process) {
    if (--process->holds > 0) return;
    loop_release(process->loop);
    loop_spin(process->loop, false);
    if (!process->dead) uv_unref((uv_handle_t *)&process->socket_poll);
}
