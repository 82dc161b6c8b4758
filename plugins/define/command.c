/*
 * command.c - a program as an implementation: started with the arguments filled in, read, and waited for, on the loop.
 *
 * No shell is between: an argument of the tool is one word of the command, or a part of one, whatever is in it. The
 * program gets PATH, HOME, LANG, LC_ALL, TZ and TMPDIR of the host's environment and nothing else, and is killed, with
 * what it has started, when it takes too long or is no longer wanted, or this process is gone. The call ends when the
 * program does: what has left its group (a daemon) lives on, and is not waited for. A program that fails says why on
 * standard error.
 */
#include "call.h"
#include "fill.h"
#include "orphans.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX (4u << 20)
#define ERRORS_MAX (16u << 10) /* of standard error; the rest is read and dropped */
#define WORDS_MAX  256
#define WORD_MAX   (128u << 10) /* bytes of one of its words: the system takes no longer ones */
#define DRAIN_MAX  64u          /* reads of 16 KiB once it has ended: the largest pipe there is holds 1 MiB */

enum { OUT, ERR, IN, ENDS };

struct command {
    struct call *call; /* NULL: it has ended, and what it was for is gone */
    pid_t pid;
    int pid_descriptor;
    int ends[ENDS]; /* -1: closed */
    uint64_t watches[ENDS], pid_watch, timer;
    tn_value input;
    uint64_t written;
    struct text out, err;
    bool leads; /* a group: a sandbox may not have any, and ends with all that is in it */
    bool exited, too_long, timed_out, cancelled;
    int status;
};

static void end_if_over(struct command *command);

static void close_end(struct command *command, int end) {
    if (command->ends[end] < 0) return;
    if (command->watches[end] != 0) (void)call_poll->unwatch(tn.host, command->watches[end]);
    command->watches[end] = 0;
    (void)close(command->ends[end]);
    command->ends[end] = -1;
}

/* What it has started as well, where it leads a group. */
static void kill_all(const struct command *command) {
    if (!command->exited) (void)kill(command->leads ? -command->pid : command->pid, SIGKILL);
}

static void command_free(struct command *command) {
    for (int i = 0; i < ENDS; i++) close_end(command, i);
    if (command->pid_watch != 0) (void)call_poll->unwatch(tn.host, command->pid_watch);
    if (command->pid_descriptor >= 0) (void)close(command->pid_descriptor);
    if (command->timer != 0) (void)tn.core->unpost(tn.host, command->timer);
    tn_release(command->input);
    text_free(&command->out);
    text_free(&command->err);
    tn.core->release(tn.host, command);
}

/* ---- Its end ---- */

static void fail(struct command *command, const char *code, const char *what, bool retryable) {
    struct text message = {.limit = ERRORS_MAX + 1024};
    tn_builder *more = tn.value->builder();
    text_put(&message, what);
    while (command->err.length > 0 && command->err.data[command->err.length - 1] == '\n')
        command->err.data[--command->err.length] = 0;
    if (command->err.length > 0) {
        text_put(&message, ": ");
        text_put(&message, command->err.data);
    }
    tn.value->begin(more, TN_OBJECT);
    tn_put_bool(more, "retryable", retryable);
    tn_put_begin(more, "detail", TN_OBJECT);
    if (WIFEXITED(command->status)) tn_put_int(more, "exit_code", WEXITSTATUS(command->status));
    if (WIFSIGNALED(command->status)) tn_put_int(more, "signal", WTERMSIG(command->status));
    tn.value->end(more);
    tn.value->end(more);
    tn_value told = tn.value->finish(more);
    /* What a program writes may be anything, also no text. */
    tn_value readable = tn_text_n(text_chars(&message), message.length);
    call_fail(command->call, code, readable != NULL ? text_chars(&message) : what, told);
    tn_release(readable);
    tn_release(told);
    text_free(&message);
}

static void complete(struct command *command) {
    bool json = strcmp(tn_get_text(command->call->definition->value, "output_as", "text"), "json") == 0;
    tn_value output = NULL;
    if (json)
        (void)tn.value->from_json(text_chars(&command->out), command->out.length, &output);
    else
        output = tn_text_n(text_chars(&command->out), command->out.length);
    if (output != NULL)
        call_complete(command->call, output);
    else
        fail(command, "INVALID_OUTPUT",
             json ? "what the command wrote is no JSON" : "what the command wrote is not UTF-8", false);
    tn_release(output);
}

static void end_if_over(struct command *command) {
    if (!command->exited || command->ends[OUT] >= 0 || command->ends[ERR] >= 0) return;
    char what[96];
    if (command->cancelled)
        call_fail(command->call, "CANCELLED", "the call was cancelled", NULL);
    else if (command->timed_out)
        fail(command, "TIMEOUT", "the command took longer than its timeout_ms, and was killed", true);
    else if (command->too_long)
        fail(command, "LIMIT", "the command wrote more than 4 MiB, and was killed", false);
    else if (WIFEXITED(command->status) && WEXITSTATUS(command->status) == 0)
        complete(command);
    else {
        if (WIFSIGNALED(command->status))
            (void)snprintf(what, sizeof(what), "the command was ended by signal %d", WTERMSIG(command->status));
        else
            (void)snprintf(what, sizeof(what), "the command failed with exit code %d", WEXITSTATUS(command->status));
        fail(command, "COMMAND_FAILED", what, false);
    }
    command_free(command);
}

/* ---- While it runs ---- */

/* What is there to read now, some of it. False: nothing more, for now or at all. */
static bool read_end(struct command *command, int end) {
    struct text *text = end == OUT ? &command->out : &command->err;
    char chunk[16384];
    ssize_t got = read(command->ends[end], chunk, sizeof(chunk));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        close_end(command, end);
        return false;
    }
    uint64_t room = text->limit - text->length, take = (uint64_t)got < room ? (uint64_t)got : room;
    text_add(text, chunk, take);
    if (end != OUT || take == (uint64_t)got) return true;
    command->too_long = true;
    kill_all(command);
    close_end(command, OUT);
    return false;
}

static void on_out(void *user, int32_t events) {
    (void)events;
    (void)read_end(user, OUT);
    end_if_over(user);
}

static void on_err(void *user, int32_t events) {
    (void)events;
    (void)read_end(user, ERR);
    end_if_over(user);
}

/* What has left its group may hold the ends for as long as it likes: what is in them is all that is waited for. */
static void drain(struct command *command, int end) {
    for (uint32_t i = 0; i < DRAIN_MAX && command->ends[end] >= 0 && read_end(command, end); i++) continue;
    close_end(command, end);
}

static void on_in(void *user, int32_t events) {
    struct command *command = user;
    uint64_t length;
    const char *bytes = tn_chars(command->input, &length);
    (void)events;
    ssize_t put = write(command->ends[IN], bytes + command->written, length - command->written);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (put > 0) command->written += (uint64_t)put;
    if (put <= 0 || command->written == length) close_end(command, IN); /* EPIPE: it does not want the rest */
}

static void on_ended(void *user, int32_t events) {
    struct command *command = user;
    (void)events;
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    kill_all(command); /* until it is waited for, the number of its group is nobody else's */
    if (command->leads) orphans_remove(command->pid);
    (void)waitpid(command->pid, &command->status, 0);
    command->exited = true;
    (void)call_poll->unwatch(tn.host, command->pid_watch);
    command->pid_watch = 0;
    close_end(command, IN);
    drain(command, OUT);
    drain(command, ERR);
    end_if_over(command);
}

static void on_time(void *user) {
    struct command *command = user;
    command->timer = 0;
    command->timed_out = true;
    kill_all(command);
}

void command_cancel(struct call *call) {
    call->command->cancelled = true;
    kill_all(call->command);
}

/* ---- Its start ---- */

static bool open_pipe(int both[2], bool ours_reads) {
    if (pipe2(both, O_CLOEXEC) != 0) return false;
    int ours = both[ours_reads ? 0 : 1];
    return fcntl(ours, F_SETFL, fcntl(ours, F_GETFL) | O_NONBLOCK) == 0;
}

static void free_words(char **words) {
    for (size_t i = 0; words[i] != NULL; i++) tn.core->release(tn.host, words[i]);
}

/* Its words, each memory of its own. False: one is too long, or has a NUL, or there is no memory. */
static bool fill_words(tn_value template, tn_value input, char *words[WORDS_MAX + 1]) {
    uint64_t count = tn.value->count(template);
    memset((void *)words, 0, (WORDS_MAX + 1) * sizeof(words[0]));
    for (uint64_t i = 0; i < count && i < WORDS_MAX; i++) {
        struct text word = {.limit = WORD_MAX};
        fill_text(&word, tn_chars(tn.value->at(template, i), NULL), input, false);
        text_add(&word, "", 1); /* also where it is empty */
        if (word.failed || strlen(word.data) + 1 != word.length) {
            text_free(&word);
            return false;
        }
        words[i] = word.data;
    }
    return words[0] != NULL;
}

static void fill_environment(char *environment[8], char space[8][4096]) {
    static const char *const names[] = {"PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value == NULL || strlen(value) > 4000) continue;
        (void)snprintf(space[count], sizeof(space[count]), "%s=%s", names[i], value);
        environment[count] = space[count];
        count++;
    }
    environment[count] = NULL;
}

static int spawn(struct command *command, char **words, int in, int out, int err) {
    char space[8][4096], *environment[8];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    orphans_begin();
    fill_environment(environment, space);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawn_file_actions_adddup2(&actions, in, 0);
    (void)posix_spawn_file_actions_adddup2(&actions, out, 1);
    (void)posix_spawn_file_actions_adddup2(&actions, err, 2);
    (void)sigemptyset(&none);
    (void)sigfillset(&defaults);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    int failure = EPERM;
    for (int alone = 0; alone < 2 && failure == EPERM; alone++) {
        short group = alone ? 0 : POSIX_SPAWN_SETPGROUP;
        command->leads = !alone;
        (void)posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
        failure = posix_spawnp(&command->pid, words[0], &actions, &attributes, words, environment);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return failure;
}

static bool watch_all(struct command *command) {
    static const tn_poll_ready readies[ENDS] = {on_out, on_err, on_in};
    for (int i = 0; i < ENDS; i++)
        if (call_poll->watch(tn.host, command->ends[i], i == IN ? TN_POLL_WRITE : TN_POLL_READ, readies[i], command,
                             &command->watches[i]) != TN_OK)
            return false;
    command->pid_descriptor = (int)syscall(SYS_pidfd_open, command->pid, 0);
    if (command->pid_descriptor < 0) return false;
    (void)fcntl(command->pid_descriptor, F_SETFD, FD_CLOEXEC);
    return call_poll->watch(tn.host, command->pid_descriptor, TN_POLL_READ, on_ended, command, &command->pid_watch) ==
           TN_OK;
}

static void refuse(struct call *call, const char *program, int failure) {
    char message[512];
    (void)snprintf(message, sizeof(message), "the command `%.200s` cannot be started: %s", program, strerror(failure));
    call_fail(call, failure == ENOENT ? "NOT_FOUND" : "COMMAND_FAILED", message, NULL);
}

/* Pipes and the program; errno's number, 0: it runs. */
static int begin(struct command *command, char **words) {
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
    bool piped = open_pipe(in, false) && open_pipe(out, true) && open_pipe(err, true);
    int failure = piped ? spawn(command, words, in[0], out[1], err[1]) : errno;
    int *const theirs[] = {&in[0], &out[1], &err[1]};
    for (size_t i = 0; i < 3; i++)
        if (*theirs[i] >= 0) (void)close(*theirs[i]);
    command->ends[IN] = in[1];
    command->ends[OUT] = out[0];
    command->ends[ERR] = err[0];
    return failure;
}

static tn_value stdin_of(tn_value description, tn_value input) {
    const char *template = tn_get_text(description, "stdin", NULL);
    struct text text = {.limit = FILL_BYTES_MAX};
    if (template == NULL) return tn.value->to_json(input);
    fill_text(&text, template, input, false);
    return text_finish(&text);
}

int32_t command_start(struct call *call, tn_value input) {
    char *words[WORDS_MAX + 1];
    tn_value description = call->definition->value;
    struct command *command = tn.core->alloc(tn.host, sizeof(*command));
    if (command == NULL) return TN_NO_MEMORY;
    *command = (struct command){
        .call = call, .pid_descriptor = -1, .out = {.limit = OUTPUT_MAX}, .err = {.limit = ERRORS_MAX}};
    command->ends[OUT] = command->ends[ERR] = command->ends[IN] = -1;
    command->input = stdin_of(description, input);
    bool filled = fill_words(tn.value->get(description, "command"), input, words) && command->input != NULL;
    int failure = filled ? begin(command, words) : 0;
    if (!filled || failure != 0) {
        if (filled)
            refuse(call, words[0], failure);
        else
            call_fail(call, "INVALID_INPUT",
                      "with these arguments a word of the command is longer than 128 KiB, or has a NUL in it, or what "
                      "it reads is longer than 16 MiB",
                      NULL);
        command_free(command);
        free_words(words);
        return TN_OK;
    }
    free_words(words);
    call->command = command;
    if (command->leads) orphans_add(command->pid);
    if (!watch_all(command)) {
        kill_all(command);
        if (command->leads) orphans_remove(command->pid);
        (void)waitpid(command->pid, NULL, 0);
        call_fail(call, "LIMIT", "the command cannot be watched: too many descriptors are open", NULL);
        command_free(command);
        return TN_OK;
    }
    int64_t timeout = tn_get_int(description, "timeout_ms", 60000);
    command->timer = tn.core->post(tn.host, (uint64_t)timeout, on_time, command);
    return TN_OK;
}
