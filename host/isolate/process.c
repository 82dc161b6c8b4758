/*
 * process.c - starting the child, moving bytes, and finding out how it ended.
 *
 * All descriptors are non-blocking. Output is collected and written when the turn is over, or when the socket takes it;
 * process_call alone waits, with poll. The child's end shows as the end of its socket: then its group is killed, what
 * it still said is read, and it is waited for.
 */
#include "host/isolate/process.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/clock.h"
#include "host/isolate/frame.h"
#include "host/log.h"
#include "host/loop/loop.h"
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

#define READ_MAX   (256u << 10) /* bytes taken from the socket in one turn */
#define CHUNK      65536u
#define OUTPUT_MAX (64u << 10) /* bytes of output taken at once */
#define END_MS     50          /* that a process has for ending, once its socket has ended */
#define LOG_MARK   '\1'        /* begins a line that the child's log wrote; its level follows */

struct process {
    struct loop *loop;
    struct process_options options;
    char *name;
    pid_t pid;
    int socket, output;
    int end; /* a pidfd; -1 where the kernel has none */
    uv_poll_t socket_poll, output_poll, end_poll;
    unsigned open_handles, holds;
    bool polling_writes;
    bool over;  /* the socket has ended */
    bool freed; /* process_free was called: only the handles are left */
    bool told;  /* ended() was called, or need not be */
    int dispatching;
    struct frame_reader reader;
    struct buffer unsent;
    size_t sent;
    struct loop_work flush, deliver;
    tn_value *waiting; /* messages that arrived while process_call waited */
    size_t waiting_count, waiting_capacity;
    size_t waiting_bytes; /* of them, as they came */
    int64_t next_id;
    char *lines[PROCESS_LINES];
    size_t line_next;
    struct buffer line;
    char *kill_reason;
    struct error why;
};

/* ---- What it prints ---- */

static void keep_line(struct process *process, const char *text, size_t length) {
    int32_t level = LOG_INFO;
    if (length > 2 && text[0] == LOG_MARK) {
        level = text[1] - '0';
        text += 2;
        length -= 2;
    }
    char *line = mem_text_n(text, length);
    char *safe = process->options.safe ? process->options.safe(process->options.safe_user, line) : NULL;
    if (safe) {
        mem_free(line);
        line = safe;
    }
    log_write(level, process->name, "%s", line);
    if (level < LOG_INFO) {
        mem_free(line);
        return;
    }
    char **place = &process->lines[process->line_next++ % PROCESS_LINES];
    mem_free(*place);
    *place = line;
}

static void take_output(struct process *process, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n') {
            keep_line(process, buffer_cstr(&process->line), process->line.length);
            buffer_clear(&process->line);
        } else {
            buffer_char(&process->line, bytes[i]); /* past its limit: dropped */
        }
    }
}

/* What there is now, but no more than so much: who prints for ever is not listened to for ever. */
static void read_output(struct process *process) {
    char bytes[4096];
    ssize_t got = 1;
    for (size_t total = 0; got > 0 && total < OUTPUT_MAX; total += (size_t)got) {
        got = read(process->output, bytes, sizeof bytes);
        if (got > 0) take_output(process, bytes, (size_t)got);
    }
}

tn_value process_lines(const struct process *process) {
    tn_value lines = value_array();
    for (size_t i = 0; i < PROCESS_LINES; i++) {
        const char *line = process->lines[(process->line_next + i) % PROCESS_LINES];
        if (line) lines = value_push_take(lines, value_string_lossy(line, strlen(line)));
    }
    return lines;
}

/* ---- How it ended ---- */

static void describe_end(struct process *process, int status, const char *what) {
    tn_value lines = process_lines(process), detail = value_object_reserve(3);
    const char *reason = process->kill_reason ? process->kill_reason : what;
    char how[160];
    if (WIFSIGNALED(status)) {
        snprintf(how, sizeof how, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
        detail = value_set_take(detail, "signal", value_int(WTERMSIG(status)));
    } else {
        snprintf(how, sizeof how, "exited with status %d", WEXITSTATUS(status));
        detail = value_set_take(detail, "exit", value_int(WEXITSTATUS(status)));
    }
    detail = value_set_take(detail, "log", lines);
    size_t count = value_count(lines);
    tn_value last = count ? value_at(lines, count - 1) : NULL;
    error_set(&process->why, TN_FAILED, "PLUGIN_CRASHED", "plugin `%s`: its process %s%s%s%s%s", process->name, how,
              reason ? ": " : "", reason ? reason : "", last ? "; its last line was: " : "",
              last ? value_chars(last, NULL) : "");
    process->why.more = value_set_take(value_object_reserve(1), "detail", detail);
}

static void close_handles(struct process *process);

/* Who has closed the socket is most likely about to end, and how is worth a moment. True: it has. */
static bool ends_by_itself(const struct process *process) {
    struct pollfd ended = {.fd = process->end, .events = POLLIN};
    return process->end < 0 || poll(&ended, 1, END_MS) == 1;
}

/* The socket has ended, or must. */
static void finish(struct process *process) {
    if (process->over) return;
    const char *what = NULL;
    int status = 0;
    process->over = true;
    if (!process->kill_reason && !ends_by_itself(process)) what = "it had closed its socket, and not ended";
    kill(-process->pid, SIGKILL);
    kill(process->pid, SIGKILL); /* before it had become a group */
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR) continue;
    read_output(process);
    if (process->line.length) take_output(process, "\n", 1);
    describe_end(process, status, what);
    close_handles(process);
    loop_defer(process->loop, &process->deliver); /* tells it, after the messages that came before */
}

void process_kill(struct process *process, const char *why) {
    if (process->over) return;
    if (!process->kill_reason) process->kill_reason = mem_text(why);
    finish(process);
}

/* ---- Bytes ---- */

static void on_socket(uv_poll_t *poll, int status, int events);

static void poll_socket(struct process *process) {
    bool writes = process->unsent.length > process->sent;
    if (process->over || writes == process->polling_writes) return;
    process->polling_writes = writes;
    uv_poll_start(&process->socket_poll, UV_READABLE | (writes ? UV_WRITABLE : 0), on_socket);
}

/* False: the child is gone. */
static bool write_some(struct process *process) {
    while (!process->over && process->sent < process->unsent.length) {
        ssize_t wrote = send(process->socket, process->unsent.data + process->sent,
                             process->unsent.length - process->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (wrote < 0) return false;
        process->sent += (size_t)wrote;
    }
    frame_sent(&process->unsent, &process->sent);
    return true;
}

/* What is left unsent shows when the socket is read: its end says how the child ended. */
static void flush_work(struct loop_work *work) {
    struct process *process = (struct process *)(void *)((char *)work - offsetof(struct process, flush));
    if (process->over) return;
    write_some(process);
    poll_socket(process);
}

/* Bytes until there are none now; false: the end. */
static bool read_some(struct process *process) {
    static _Thread_local char chunk[CHUNK];
    for (size_t total = 0; total < READ_MAX;) {
        ssize_t got = recv(process->socket, chunk, sizeof chunk, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
        if (got <= 0) return false;
        frame_feed(&process->reader, chunk, (size_t)got);
        total += (size_t)got;
        if ((size_t)got < sizeof chunk) return true; /* most likely all: poll says where not */
    }
    return true;
}

static void collect(struct process *process);

static void dispatch(struct process *process) {
    tn_value message;
    struct error error = ERROR_INIT;
    process->dispatching++;
    while (!process->freed && !process->waiting_count) {
        if (frame_next(&process->reader, &message, &error) != TN_OK) {
            log_write(LOG_ERROR, process->name, "wrote to the host what is no message: %s", error.message);
            process_kill(process, "it wrote what is no message of the protocol");
            break;
        }
        if (!message) break;
        process->options.message(process->options.user, message);
        value_unref(message);
    }
    process->dispatching--;
    error_finish(&error);
    collect(process);
}

static void on_socket(uv_poll_t *poll, int status, int events) {
    struct process *process = poll->data;
    (void)events;
    bool alive = status >= 0 && read_some(process);
    if (alive) write_some(process);
    if (!alive) finish(process);
    if (alive) poll_socket(process);
    dispatch(process);
}

/* It has ended, while what it left behind may hold its socket. What it said still comes. */
static void end_of_it(struct process *process) {
    kill(-process->pid, SIGKILL);
    if (!process->over) read_some(process);
    finish(process);
}

static void on_end(uv_poll_t *poll, int status, int events) {
    struct process *process = poll->data;
    (void)status, (void)events;
    end_of_it(process);
    dispatch(process);
}

static void on_output(uv_poll_t *poll, int status, int events) {
    struct process *process = poll->data;
    (void)events;
    if (status < 0) uv_poll_stop(poll);
    char bytes[4096];
    ssize_t got = read(process->output, bytes, sizeof bytes);
    if (got > 0) take_output(process, bytes, (size_t)got);
    if (got == 0) uv_poll_stop(poll); /* closed its output and lives on */
}

/* Messages that process_call passed over, then the end if there was one. */
static void deliver_work(struct loop_work *work) {
    struct process *process = (struct process *)(void *)((char *)work - offsetof(struct process, deliver));
    size_t count = process->waiting_count;
    tn_value *waiting = process->waiting;
    process->waiting = NULL;
    process->waiting_count = process->waiting_capacity = process->waiting_bytes = 0;
    process->dispatching++;
    for (size_t i = 0; i < count; i++) {
        if (!process->freed) process->options.message(process->options.user, waiting[i]);
        value_unref(waiting[i]);
    }
    process->dispatching--;
    mem_free((void *)waiting);
    dispatch(process); /* frees it where that was asked for */
}

/* ---- Waiting for an answer ---- */

static void put_aside(struct process *process, tn_value message, size_t size) {
    process->waiting_bytes += size + sizeof message;
    if (process->waiting_bytes > PROCESS_WAITING_MAX) process_kill(process, "it said too much before its answer");
    if (process->over) {
        value_unref(message);
        return;
    }
    if (process->waiting_count == process->waiting_capacity) {
        process->waiting_capacity = process->waiting_capacity ? process->waiting_capacity * 2 : 8;
        process->waiting = mem_array((void *)process->waiting, process->waiting_capacity, sizeof *process->waiting);
    }
    process->waiting[process->waiting_count++] = message;
    loop_defer(process->loop, &process->deliver);
}

static bool answers(tn_value message, int64_t id) {
    tn_value found = value_get(message, "id");
    return found && !value_get(message, "method") && value_is(found, TN_INT) && value_to_int(found) == id;
}

static int32_t no_answer(struct process *process, struct error *error) {
    error_copy(error, &process->why);
    return TN_ERROR;
}

static int32_t read_answer(const struct process *process, const char *method, tn_value message, tn_value *result,
                           struct error *error) {
    tn_value failure = value_get(message, "error"), data = failure ? value_get(failure, "data") : NULL;
    if (!failure) {
        *result = value_ref(value_get(message, "result"));
        return TN_OK;
    }
    error_from_value(error, data ? data : failure);
    if (error && !*error->message)
        error_set(error, TN_FAILED, value_get(data ? data : failure, "code") ? error->code : "PLUGIN_INVALID",
                  "plugin `%s` refuses `%s`, and does not say why", process->name, method);
    return TN_FAILED;
}

int32_t process_call_take(struct process *process, const char *method, tn_value params, int64_t timeout_ms,
                          tn_value *result, struct error *error) {
    int64_t id = ++process->next_id, end = clock_now_ms() + timeout_ms;
    tn_value message = value_set_take(value_object_reserve(4), "jsonrpc", value_text("2.0"));
    message = value_set_take(message, "id", value_int(id));
    message = value_set_take(message, "method", value_text(method));
    if (!process_send_take(process, value_set_take(message, "params", params)))
        return error_set(error, TN_LIMIT, "LIMIT", "what plugin `%s` is given with `%s` is longer than 64 MiB",
                         process->name, method);
    bool ended = false; /* what was read before that is looked at first */
    while (!process->over) {
        size_t left_before = frame_unread(&process->reader);
        while (!process->over && frame_next(&process->reader, &message, NULL) == TN_OK && message) {
            size_t unread = frame_unread(&process->reader), size = left_before - unread;
            left_before = unread;
            if (!answers(message, id)) {
                if (process->options.at_once && process->options.at_once(process->options.user, message))
                    value_unref(message);
                else
                    put_aside(process, message, size);
                continue;
            }
            int32_t status = read_answer(process, method, message, result, error);
            value_unref(message);
            poll_socket(process);
            return status;
        }
        int64_t left = end - clock_now_ms();
        if (process->over) break;
        if (ended) {
            end_of_it(process);
        } else if (process->reader.broken) {
            process_kill(process, "it wrote what is no message of the protocol");
        } else if (left <= 0) {
            tn_value why = value_format("it did not answer `%s` within %lld ms", method, (long long)timeout_ms);
            process_kill(process, value_chars(why, NULL));
            value_unref(why);
        } else {
            short writes = process->sent < process->unsent.length ? POLLOUT : 0;
            struct pollfd ready[3] = {{.fd = process->socket, .events = (short)(POLLIN | writes)},
                                      {.fd = process->output, .events = POLLIN},
                                      {.fd = process->end, .events = POLLIN}};
            poll(ready, 3, left > 1000 ? 1000 : (int)left);
            if (ready[1].revents & POLLIN) read_output(process);
            write_some(process);
            if (!read_some(process)) finish(process);
            if (ready[2].revents) ended = true;
        }
    }
    return no_answer(process, error);
}

/* ---- Sending ---- */

bool process_send_take(struct process *process, tn_value message) {
    bool fits = true;
    if (!process->over) {
        fits = frame_write(&process->unsent, message);
        if (process->unsent.overflow)
            process_kill(process, "it did not read what the host sent");
        else
            loop_defer(process->loop, &process->flush);
    }
    value_unref(message);
    return fits;
}

bool process_notify_take(struct process *process, const char *method, tn_value params) {
    tn_value message = value_set_take(value_object_reserve(3), "jsonrpc", value_text("2.0"));
    message = value_set_take(message, "method", value_text(method));
    return process_send_take(process, value_set_take(message, "params", params));
}

/* ---- Starting ---- */

static bool make_pair(int pair[2]) { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0; }

/* In the forked child: only what is safe between fork and exec. */
static _Noreturn void become(const struct process_options *options, int socket, int output, pid_t parent) {
    static char *const nothing[] = {NULL};
    int nil = open("/dev/null", O_RDONLY);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Away from the places that they are put in. */
    socket = fcntl(socket, F_DUPFD, 10);
    output = fcntl(output, F_DUPFD, 10);
    if (getppid() != parent || nil < 0 || socket < 0 || output < 0 || dup2(nil, 0) < 0 || dup2(output, 1) < 0 ||
        dup2(output, 2) < 0 || dup2(socket, PROCESS_SOCKET) < 0)
        _exit(126);
    close_range(PROCESS_SOCKET + 1, ~0u, 0);
    execve(options->arguments[0], (char *const *)(uintptr_t)options->arguments,
           options->environment ? (char *const *)(uintptr_t)options->environment : nothing);
    dprintf(2, "cannot run %s: %s\n", options->arguments[0], strerror(errno));
    _exit(127);
}

static void on_closed(uv_handle_t *handle) {
    struct process *process = handle->data;
    process->open_handles--;
    collect(process);
}

static void close_handles(struct process *process) {
    uv_close((uv_handle_t *)&process->socket_poll, on_closed);
    uv_close((uv_handle_t *)&process->output_poll, on_closed);
    if (process->end >= 0) uv_close((uv_handle_t *)&process->end_poll, on_closed);
}

struct process *process_start(struct loop *loop, const struct process_options *options, struct error *error) {
    int pair[2] = {-1, -1}, output[2] = {-1, -1};
    pid_t parent = getpid(), pid = -1;
    if (make_pair(pair) && pipe2(output, O_CLOEXEC) == 0) pid = fork();
    if (pid == 0) become(options, pair[1], output[1], parent);
    int failure = errno;
    if (pair[1] >= 0) close(pair[1]);
    if (output[1] >= 0) close(output[1]);
    if (pid < 0) {
        if (pair[0] >= 0) close(pair[0]);
        if (output[0] >= 0) close(output[0]);
        error_set(error, TN_ERROR, "PLUGIN_CRASHED", "plugin `%s`: no process can be started for it: %s", options->name,
                  strerror(failure));
        return NULL;
    }
    setpgid(pid, pid); /* whoever is first */
    struct process *process = mem_zalloc(sizeof *process);
    process->loop = loop;
    process->options = *options;
    process->options.arguments = process->options.environment = NULL;
    process->name = mem_text(options->name);
    process->pid = pid;
    process->socket = pair[0];
    process->output = output[0];
    process->end = (int)syscall(SYS_pidfd_open, pid, 0);
    fcntl(process->socket, F_SETFL, O_NONBLOCK);
    fcntl(process->output, F_SETFL, O_NONBLOCK);
    frame_reader_init(&process->reader);
    buffer_init(&process->unsent, PROCESS_UNSENT_MAX);
    buffer_init(&process->line, PROCESS_LINE_MAX);
    process->flush.run = flush_work;
    process->deliver.run = deliver_work;
    uv_poll_init(loop_uv(loop), &process->socket_poll, process->socket);
    uv_poll_init(loop_uv(loop), &process->output_poll, process->output);
    process->socket_poll.data = process->output_poll.data = process;
    process->open_handles = 2;
    uv_poll_start(&process->socket_poll, UV_READABLE, on_socket);
    uv_poll_start(&process->output_poll, UV_READABLE, on_output);
    uv_unref((uv_handle_t *)&process->socket_poll);
    uv_unref((uv_handle_t *)&process->output_poll);
    if (process->end < 0) return process;
    uv_poll_init(loop_uv(loop), &process->end_poll, process->end);
    process->end_poll.data = process;
    process->open_handles++;
    uv_poll_start(&process->end_poll, UV_READABLE, on_end);
    uv_unref((uv_handle_t *)&process->end_poll);
    return process;
}

pid_t process_id(const struct process *process) { return process->pid; }

void process_hold(struct process *process) {
    if (process->holds++ > 0) return;
    loop_hold(process->loop); /* a fake clock stands still: the child's does not */
    loop_spin(process->loop, true);
    if (!process->over) uv_ref((uv_handle_t *)&process->socket_poll);
}

void process_release(struct process *process) {
    if (--process->holds > 0) return;
    loop_release(process->loop);
    loop_spin(process->loop, false);
    if (!process->over) uv_unref((uv_handle_t *)&process->socket_poll);
}

/* ---- Ending ---- */

/* Tells the end, once all that came before has been told; frees what was let go, once nothing uses it. */
static void collect(struct process *process) {
    if (process->dispatching) return;
    if (process->over && !process->told && !process->freed && !process->waiting_count) {
        process->told = true;
        process->dispatching++;
        process->options.ended(process->options.user, &process->why);
        process->dispatching--;
    }
    if (!process->freed || process->open_handles) return;
    close(process->socket);
    close(process->output);
    if (process->end >= 0) close(process->end);
    process->holds = process->holds ? 1 : 0;
    if (process->holds) process_release(process);
    loop_undefer(process->loop, &process->flush);
    loop_undefer(process->loop, &process->deliver);
    for (size_t i = 0; i < process->waiting_count; i++) value_unref(process->waiting[i]);
    mem_free((void *)process->waiting);
    for (size_t i = 0; i < PROCESS_LINES; i++) mem_free(process->lines[i]);
    frame_reader_finish(&process->reader);
    buffer_finish(&process->unsent);
    buffer_finish(&process->line);
    error_finish(&process->why);
    mem_free(process->kill_reason);
    mem_free(process->name);
    mem_free(process);
}

void process_free(struct process *process) {
    if (!process) return;
    process->freed = true;
    process_kill(process, "the host ended it");
    collect(process);
}
