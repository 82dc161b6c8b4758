/*
 * command.c - the input, the output and the end of a program that implements a tool (command_start.c starts it).
 *
 * The program and its process group are killed when it times out, when the call is cancelled and when this process
 * ends. The call ends when the program does: a daemon that has left its group stays alive and is not awaited. If a
 * program fails, its standard error becomes part of the message. What the sandbox refuses goes to the log.
 */
#include "command.h"
#include "call.h"
#include "orphans.h"
#include "pipe.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRAIN_MAX 64u /* reads of 16 KiB after the program has ended: the largest pipe holds 1 MiB */

static void command_finish_if_done(struct command *command);
static void command_drain(struct command *command, int end);

static void command_close_end(struct command *command, int end) {
    if (command->ends[end] < 0) return;
    if (command->watches[end] != 0) (void)define_poll->unwatch(tn.host, command->watches[end]);
    command->watches[end] = 0;
    (void)close(command->ends[end]);
    command->ends[end] = -1;
}

/* Kills the program, and its process group if it leads one. */
void command_kill(const struct command *command) {
    if (!command->exited) (void)kill(command->leads_group ? -command->pid : command->pid, SIGKILL);
}

void command_free(struct command *command) {
    for (int i = 0; i < COMMAND_ENDS; i++) command_close_end(command, i);
    if (command->pid_watch != 0) (void)define_poll->unwatch(tn.host, command->pid_watch);
    if (command->pid_descriptor >= 0) (void)close(command->pid_descriptor);
    if (command->timer != 0) (void)tn.core->unpost(tn.host, command->timer);
    tn_release(command->input);
    tn_text_free(&command->out);
    tn_text_free(&command->err);
    tn_text_free(&command->log);
    tn.core->release(tn.host, command);
}

/* ---- End of the program ---- */

static void command_fail(struct command *command, const char *code, const char *what, bool retryable) {
    struct tn_text_buffer message = {.limit = COMMAND_ERRORS_MAX + 1024};
    tn_builder *out = tn_builder_new();
    tn_text_append(&message, what);
    while (command->err.length > 0 && command->err.bytes[command->err.length - 1] == '\n')
        command->err.bytes[--command->err.length] = 0;
    if (command->err.length > 0) {
        tn_text_append(&message, ": ");
        tn_text_append(&message, command->err.bytes);
    }
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "code", code);
    /* The output of a program may not be UTF-8. */
    tn_put_take(out, "message", tn_text_lossy(tn_text_chars(&message), message.length));
    tn_put_bool(out, "retryable", retryable);
    tn_put_begin(out, "detail", TN_OBJECT);
    if (WIFEXITED(command->status)) tn_put_int(out, "exit_code", WEXITSTATUS(command->status));
    if (WIFSIGNALED(command->status)) tn_put_int(out, "signal", WTERMSIG(command->status));
    tn.value->end(out);
    tn.value->end(out);
    tn_value error = tn_finish(out);
    define_call_fail_with(command->call, error);
    tn_release(error);
    tn_text_free(&message);
}

static void command_complete(struct command *command) {
    bool json = strcmp(tn_get_text(command->call->definition->value, "output_as", "text"), "json") == 0;
    tn_value output = NULL;
    if (json)
        output = tn_from_json(tn_text_chars(&command->out), command->out.length);
    else
        output = tn_text_n(tn_text_chars(&command->out), command->out.length);
    if (output != NULL)
        define_call_complete(command->call, output);
    else
        command_fail(command, "INVALID_OUTPUT",
                     json ? "the output of the command is not JSON" : "the output of the command is not UTF-8", false);
    tn_release(output);
}

static void command_finish_if_done(struct command *command) {
    if (!command->exited || command->ends[COMMAND_OUT] >= 0 || command->ends[COMMAND_ERR] >= 0) return;
    command_drain(command, COMMAND_LOG);
    char what[96];
    if (command->cancelled)
        define_call_fail(command->call, "CANCELLED", "the call was cancelled");
    else if (command->timed_out)
        command_fail(command, "TIMEOUT", "the command took longer than its timeout_ms and was killed", true);
    else if (command->output_too_long)
        command_fail(command, "LIMIT", "the command wrote more than 4 MiB and was killed", false);
    else if (WIFEXITED(command->status) && WEXITSTATUS(command->status) == 0)
        command_complete(command);
    else {
        if (WIFSIGNALED(command->status))
            (void)snprintf(what, sizeof(what), "the command was ended by signal %d", WTERMSIG(command->status));
        else
            (void)snprintf(what, sizeof(what), "the command failed with exit code %d", WEXITSTATUS(command->status));
        command_fail(command, "COMMAND_FAILED", what, false);
    }
    command_free(command);
}

/* ---- Input and output ---- */

/* Logs complete lines of the sandbox: a digit, the level, and a text. */
static void command_log(struct command *command, const char *bytes, size_t length) {
    struct tn_text_buffer *line = &command->log;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != '\n') {
            if (line->length < line->limit) tn_text_append_n(line, bytes + i, 1);
            continue;
        }
        const char *text = tn_text_chars(line), *id = tn_chars(command->call->definition->id, NULL);
        char whole[COMMAND_LOG_MAX + 256];
        int32_t level = *text >= '0' + TN_LOG_DEBUG && *text <= '0' + TN_LOG_ERROR ? *text - '0' : TN_LOG_WARN;
        (void)snprintf(whole, sizeof whole, "`%.200s`: %s", id, *text != '\0' ? text + 1 : "");
        tn_log(level, whole);
        tn_text_clear(line, 0);
    }
}

/* Reads one chunk. Returns false if nothing more can be read now, or ever. */
static bool command_read(struct command *command, int end) {
    struct tn_text_buffer *const texts[] = {&command->out, &command->err, &command->log}, *text = texts[end];
    char chunk[16384];
    ssize_t got = read(command->ends[end], chunk, sizeof(chunk));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        command_close_end(command, end);
        return false;
    }
    if (end == COMMAND_LOG) {
        command_log(command, chunk, (size_t)got);
        return true;
    }
    uint64_t room = text->limit - text->length, take = (uint64_t)got < room ? (uint64_t)got : room;
    tn_text_append_n(text, chunk, take);
    if (end != COMMAND_OUT || take == (uint64_t)got) return true;
    command->output_too_long = true;
    command_kill(command);
    command_close_end(command, COMMAND_OUT);
    return false;
}

static void on_stdout(void *user, int32_t events) {
    (void)events;
    (void)command_read(user, COMMAND_OUT);
    command_finish_if_done(user);
}

static void on_sandbox_log(void *user, int32_t events) {
    (void)events;
    (void)command_read(user, COMMAND_LOG);
}

static void on_stderr(void *user, int32_t events) {
    (void)events;
    (void)command_read(user, COMMAND_ERR);
    command_finish_if_done(user);
}

/* Reads only what is in the pipe: a process that has left the group may keep it open for any time. */
static void command_drain(struct command *command, int end) {
    for (uint32_t i = 0; i < DRAIN_MAX && command->ends[end] >= 0 && command_read(command, end); i++) continue;
    command_close_end(command, end);
}

static void on_stdin(void *user, int32_t events) {
    struct command *command = user;
    uint64_t length;
    const char *bytes = tn_chars(command->input, &length);
    (void)events;
    ssize_t put = pipe_write(command->ends[COMMAND_IN], bytes + command->written, length - command->written);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (put > 0) command->written += (uint64_t)put;
    if (put <= 0 || command->written == length)
        command_close_end(command, COMMAND_IN); /* EPIPE: the program does not read the rest */
}

static void on_program_exit(void *user, int32_t events) {
    struct command *command = user;
    (void)events;
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    command_kill(command); /* before waitpid, because afterwards another process group may get this number */
    if (command->leads_group) orphans_remove(command->pid);
    (void)waitpid(command->pid, &command->status, 0);
    command->exited = true;
    (void)define_poll->unwatch(tn.host, command->pid_watch);
    command->pid_watch = 0;
    command_close_end(command, COMMAND_IN);
    command_drain(command, COMMAND_OUT);
    command_drain(command, COMMAND_ERR);
    command_finish_if_done(command);
}

static void on_command_timeout(void *user) {
    struct command *command = user;
    command->timer = 0;
    command->timed_out = true;
    command_kill(command);
}

void command_cancel(struct call *call) {
    call->command->cancelled = true;
    command_kill(call->command);
}

/* ---- The loop ---- */

bool command_watch(struct command *command, int64_t timeout_ms) {
    static const tn_poll_ready readies[COMMAND_ENDS] = {on_stdout, on_stderr, on_sandbox_log, on_stdin};
    for (int i = 0; i < COMMAND_ENDS; i++)
        if (command->ends[i] >= 0 &&
            define_poll->watch(tn.host, command->ends[i], i == COMMAND_IN ? TN_POLL_WRITE : TN_POLL_READ, readies[i],
                               command, &command->watches[i]) != TN_OK)
            return false;
    command->timer = tn_post((uint64_t)timeout_ms, on_command_timeout, command);
    command->pid_descriptor = (int)syscall(SYS_pidfd_open, command->pid, 0);
    if (command->pid_descriptor < 0) return false;
    (void)fcntl(command->pid_descriptor, F_SETFD, FD_CLOEXEC);
    return define_poll->watch(tn.host, command->pid_descriptor, TN_POLL_READ, on_program_exit, command,
                              &command->pid_watch) == TN_OK;
}
