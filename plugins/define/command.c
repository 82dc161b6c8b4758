/*
 * command.c - a program as an implementation: it is started with the tool's arguments filled in, and read and awaited
 * on the loop. No shell is used: an argument of the tool is one word of the command, or a part of one, whatever
 * characters it contains. The program gets PATH, HOME, LANG, LC_ALL, TZ and TMPDIR from the host's environment and
 * nothing else. The program and its process group are killed when it times out, when the call is cancelled and when
 * this process ends. The call ends when the program does: a daemon that has left its group stays alive and is not
 * awaited. If a program fails, its standard error becomes part of the message.
 */
#include "call.h"
#include "fill.h"
#include "orphans.h"
#include "pipe.h"
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
#define ERRORS_MAX (16u << 10) /* of standard error; the rest is read and discarded */
#define WORDS_MAX  256
#define WORD_MAX   (128u << 10) /* bytes of one word: Linux does not accept longer ones */
#define DRAIN_MAX  64u          /* reads of 16 KiB after the program has ended: the largest pipe holds 1 MiB */

enum { OUT, ERR, IN, ENDS };

struct command {
    struct call *call; /* NULL: the call has ended */
    pid_t pid;
    int pid_descriptor;
    int ends[ENDS]; /* our ends of the pipes; -1: closed */
    uint64_t watches[ENDS], pid_watch, timer;
    tn_value input;
    uint64_t written;
    struct tn_text_buffer out, err;
    bool leads_group; /* a process group; false in a sandbox that forbids groups and ends with all its processes */
    bool exited, output_too_long, timed_out, cancelled;
    int status;
};

static void command_finish_if_done(struct command *command);

static void command_close_end(struct command *command, int end) {
    if (command->ends[end] < 0) return;
    if (command->watches[end] != 0) (void)define_poll->unwatch(tn.host, command->watches[end]);
    command->watches[end] = 0;
    (void)close(command->ends[end]);
    command->ends[end] = -1;
}

/* Kills the program, and its process group if it leads one. */
static void command_kill(const struct command *command) {
    if (!command->exited) (void)kill(command->leads_group ? -command->pid : command->pid, SIGKILL);
}

static void command_free(struct command *command) {
    for (int i = 0; i < ENDS; i++) command_close_end(command, i);
    if (command->pid_watch != 0) (void)define_poll->unwatch(tn.host, command->pid_watch);
    if (command->pid_descriptor >= 0) (void)close(command->pid_descriptor);
    if (command->timer != 0) (void)tn.core->unpost(tn.host, command->timer);
    tn_release(command->input);
    tn_text_free(&command->out);
    tn_text_free(&command->err);
    tn.core->release(tn.host, command);
}

/* ---- End of the program ---- */

static void command_fail(struct command *command, const char *code, const char *what, bool retryable) {
    struct tn_text_buffer message = {.limit = ERRORS_MAX + 1024};
    tn_builder *more = tn.value->builder();
    tn_text_append(&message, what);
    while (command->err.length > 0 && command->err.bytes[command->err.length - 1] == '\n')
        command->err.bytes[--command->err.length] = 0;
    if (command->err.length > 0) {
        tn_text_append(&message, ": ");
        tn_text_append(&message, command->err.bytes);
    }
    tn.value->begin(more, TN_OBJECT);
    tn_put_bool(more, "retryable", retryable);
    tn_put_begin(more, "detail", TN_OBJECT);
    if (WIFEXITED(command->status)) tn_put_int(more, "exit_code", WEXITSTATUS(command->status));
    if (WIFSIGNALED(command->status)) tn_put_int(more, "signal", WTERMSIG(command->status));
    tn.value->end(more);
    tn.value->end(more);
    tn_value error = tn.value->finish(more);
    /* The output of a program may not be UTF-8. */
    tn_value valid_text = tn_text_n(tn_text_chars(&message), message.length);
    define_call_fail(command->call, code, valid_text != NULL ? tn_text_chars(&message) : what, error);
    tn_release(valid_text);
    tn_release(error);
    tn_text_free(&message);
}

static void command_complete(struct command *command) {
    bool json = strcmp(tn_get_text(command->call->definition->value, "output_as", "text"), "json") == 0;
    tn_value output = NULL;
    if (json)
        (void)tn.value->from_json(tn_text_chars(&command->out), command->out.length, &output);
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
    if (!command->exited || command->ends[OUT] >= 0 || command->ends[ERR] >= 0) return;
    char what[96];
    if (command->cancelled)
        define_call_fail(command->call, "CANCELLED", "the call was cancelled", NULL);
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

/* Reads one chunk. Returns false if nothing more can be read now, or ever. */
static bool command_read(struct command *command, int end) {
    struct tn_text_buffer *text = end == OUT ? &command->out : &command->err;
    char chunk[16384];
    ssize_t got = read(command->ends[end], chunk, sizeof(chunk));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
        command_close_end(command, end);
        return false;
    }
    uint64_t room = text->limit - text->length, take = (uint64_t)got < room ? (uint64_t)got : room;
    tn_text_append_n(text, chunk, take);
    if (end != OUT || take == (uint64_t)got) return true;
    command->output_too_long = true;
    command_kill(command);
    command_close_end(command, OUT);
    return false;
}

static void on_stdout(void *user, int32_t events) {
    (void)events;
    (void)command_read(user, OUT);
    command_finish_if_done(user);
}

static void on_stderr(void *user, int32_t events) {
    (void)events;
    (void)command_read(user, ERR);
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
    ssize_t put = pipe_write(command->ends[IN], bytes + command->written, length - command->written);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (put > 0) command->written += (uint64_t)put;
    if (put <= 0 || command->written == length)
        command_close_end(command, IN); /* EPIPE: the program does not read the rest */
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
    command_close_end(command, IN);
    command_drain(command, OUT);
    command_drain(command, ERR);
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

/* ---- Start of the program ---- */

static bool command_open_pipe(int both[2], bool we_read) {
    if (pipe2(both, O_CLOEXEC) != 0) return false;
    int end = both[we_read ? 0 : 1];
    return fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) == 0;
}

static void command_free_words(char **words) {
    for (size_t i = 0; words[i] != NULL; i++) tn.core->release(tn.host, words[i]);
}

/* Each word is separate memory. Returns false if a word is too long or contains a NUL, or if memory runs out. */
static bool command_fill_words(tn_value template, tn_value input, char *words[WORDS_MAX + 1]) {
    uint64_t count = tn.value->count(template);
    memset((void *)words, 0, (WORDS_MAX + 1) * sizeof(words[0]));
    for (uint64_t i = 0; i < count && i < WORDS_MAX; i++) {
        struct tn_text_buffer word = {.limit = WORD_MAX};
        fill_append_text(&word, tn_chars(tn.value->at(template, i), NULL), input, false);
        tn_text_append_n(&word, "", 1); /* allocates also if the word is empty */
        if (word.status != TN_OK || strlen(word.bytes) + 1 != word.length) {
            tn_text_free(&word);
            return false;
        }
        words[i] = word.bytes;
    }
    return words[0] != NULL;
}

static void command_fill_environment(char *environment[8], char space[8][4096]) {
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

static int command_spawn(struct command *command, char **words, int in, int out, int err) {
    char space[8][4096], *environment[8];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    orphans_begin();
    command_fill_environment(environment, space);
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
    for (int attempt = 0; attempt < 2 && failure == EPERM; attempt++) {
        short group = attempt ? 0 : POSIX_SPAWN_SETPGROUP;
        command->leads_group = !attempt;
        (void)posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
        failure = posix_spawnp(&command->pid, words[0], &actions, &attributes, words, environment);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return failure;
}

static bool command_watch(struct command *command) {
    static const tn_poll_ready readies[ENDS] = {on_stdout, on_stderr, on_stdin};
    for (int i = 0; i < ENDS; i++)
        if (define_poll->watch(tn.host, command->ends[i], i == IN ? TN_POLL_WRITE : TN_POLL_READ, readies[i], command,
                               &command->watches[i]) != TN_OK)
            return false;
    command->pid_descriptor = (int)syscall(SYS_pidfd_open, command->pid, 0);
    if (command->pid_descriptor < 0) return false;
    (void)fcntl(command->pid_descriptor, F_SETFD, FD_CLOEXEC);
    return define_poll->watch(tn.host, command->pid_descriptor, TN_POLL_READ, on_program_exit, command,
                              &command->pid_watch) == TN_OK;
}

static void command_report_spawn_error(struct call *call, const char *program, int failure) {
    char message[512];
    (void)snprintf(message, sizeof(message), "the command `%.200s` cannot be started: %s", program, strerror(failure));
    define_call_fail(call, failure == ENOENT ? "NOT_FOUND" : "COMMAND_FAILED", message, NULL);
}

/* Opens the pipes and starts the program. Returns 0 or an errno value. */
static int command_open(struct command *command, char **words) {
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
    bool piped = command_open_pipe(in, false) && command_open_pipe(out, true) && command_open_pipe(err, true);
    int failure = piped ? command_spawn(command, words, in[0], out[1], err[1]) : errno;
    int *const theirs[] = {&in[0], &out[1], &err[1]};
    for (size_t i = 0; i < 3; i++)
        if (*theirs[i] >= 0) (void)close(*theirs[i]);
    command->ends[IN] = in[1];
    command->ends[OUT] = out[0];
    command->ends[ERR] = err[0];
    return failure;
}

static tn_value command_stdin(tn_value description, tn_value input) {
    const char *template = tn_get_text(description, "stdin", NULL);
    struct tn_text_buffer text = {.limit = FILL_BYTES_MAX};
    if (template == NULL) return tn.value->to_json(input);
    fill_append_text(&text, template, input, false);
    return tn_text_finish(&text);
}

int32_t command_start(struct call *call, tn_value input) {
    char *words[WORDS_MAX + 1];
    tn_value description = call->definition->value;
    struct command *command = tn.core->alloc(tn.host, sizeof(*command));
    if (command == NULL) return TN_NO_MEMORY;
    *command = (struct command){
        .call = call, .pid_descriptor = -1, .out = {.limit = OUTPUT_MAX}, .err = {.limit = ERRORS_MAX}};
    command->ends[OUT] = command->ends[ERR] = command->ends[IN] = -1;
    command->input = command_stdin(description, input);
    bool filled = command_fill_words(tn.value->get(description, "command"), input, words) && command->input != NULL;
    int failure = filled ? command_open(command, words) : 0;
    if (!filled || failure != 0) {
        if (filled)
            command_report_spawn_error(call, words[0], failure);
        else
            define_call_fail(
                call, "INVALID_INPUT",
                "with these arguments a word of the command is longer than 128 KiB or contains a NUL, or its "
                "standard input is longer than 16 MiB",
                NULL);
        command_free(command);
        command_free_words(words);
        return TN_OK;
    }
    command_free_words(words);
    call->command = command;
    if (command->leads_group) orphans_add(command->pid);
    if (!command_watch(command)) {
        command_kill(command);
        if (command->leads_group) orphans_remove(command->pid);
        (void)waitpid(command->pid, NULL, 0);
        define_call_fail(call, "LIMIT", "the command cannot be watched: too many descriptors are open", NULL);
        command_free(command);
        return TN_OK;
    }
    int64_t timeout = tn_get_int(description, "timeout_ms", 60000);
    command->timer = tn.core->post(tn.host, (uint64_t)timeout, on_command_timeout, command);
    return TN_OK;
}
