/*
 * child.c - posix_spawn, a pidfd, and the termination of children.
 *
 * Children that must end are in a list; a timer takes each to the next step: SIGTERM, SIGKILL. Signals go to the
 * process group, whose number is valid until the child is reaped. If this process ends earlier, orphans.c sends the
 * signals.
 */
#include "child.h"
#include "launched.h"
#include "orphans.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct child {
    struct child *next; /* in the list of children that must end */
    pid_t pid;
    int pidfd;
    uint64_t watch, timer;
    int step; /* number of signals sent */
    bool ending, reaped;
    child_ended ended;
    void *user;
};

static struct child *ending;
static bool no_more_timers; /* start no timers */

/* ---- The end ---- */

static void describe_exit(const siginfo_t *info, char *how, size_t size) {
    if (info->si_code == CLD_EXITED)
        (void)snprintf(how, size, "it ended with status %d", info->si_status);
    else
        (void)snprintf(how, size, "it was killed by signal %d (%s)", info->si_status, strsignal(info->si_status));
}

static bool child_reap(struct child *child, char *how, size_t size) {
    siginfo_t info = {0};
    if (child->reaped) return true;
    if (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) return false;
    orphans_remove(child->pid);
    if (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG) == 0)
        describe_exit(&info, how, size);
    else
        (void)snprintf(how, size, "it has ended"); /* another waitpid reaped it */
    child->reaped = true;
    return true;
}

static void child_free(struct child *child) {
    if (child->watch != 0) (void)mcp_poll->unwatch(tn.host, child->watch);
    if (child->timer != 0) (void)tn.core->unpost(tn.host, child->timer);
    if (child->pidfd >= 0) (void)close(child->pidfd);
    mcp_free(child);
}

static void child_release(struct child *child) {
    struct child **at = &ending;
    while (*at != child) at = &(*at)->next;
    *at = child->next;
    child_free(child);
}

static void on_child_exit(void *user, int32_t events) {
    struct child *child = user;
    char how[96];
    (void)events;
    if (!child_reap(child, how, sizeof how)) return;
    if (child->ending) {
        child_release(child);
        return;
    }
    (void)mcp_poll->unwatch(tn.host, child->watch);
    child->watch = 0;
    child->ended(child->user, how);
}

static void child_send_next_signal(struct child *child) {
    int signal_number = child->step++ == 0 ? SIGTERM : SIGKILL;
    (void)kill(-child->pid, signal_number);
    (void)kill(child->pid, signal_number);
}

static void child_next_step(void *argument) {
    struct child *child = argument;
    child->timer = 0;
    child_send_next_signal(child);
    if (child->step < 2) child->timer = tn_post(MCP_GRACE_MS, child_next_step, child);
}

void child_end(struct child *child, bool has_output) {
    if (child == NULL) return;
    if (child->reaped) {
        child_free(child);
        return;
    }
    child->ending = true;
    child->next = ending;
    ending = child;
    if (!has_output) child_send_next_signal(child);
    if (!no_more_timers) child->timer = tn_post(MCP_GRACE_MS, child_next_step, child);
}

void child_stop_timers(void) { no_more_timers = true; }

static int64_t child_now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

void child_end_all(void) {
    char how[96];
    for (int step = 0; ending != NULL && step < 3; step++) {
        int64_t until = child_now_ms() + MCP_GRACE_MS;
        while (ending != NULL) {
            struct pollfd item = {.fd = ending->pidfd, .events = POLLIN};
            int64_t left = until - child_now_ms();
            if (poll(&item, 1, left > 0 ? (int)left : 0) <= 0 && left <= 0) break;
            if (child_reap(ending, how, sizeof how)) child_release(ending);
        }
        if (step < 2)
            for (struct child *child = ending; child != NULL; child = child->next) child_send_next_signal(child);
    }
    while (ending != NULL) child_release(ending); /* not even SIGKILL ended it: it hangs in the kernel */
}

/* ---- The start ---- */

/* {command, env, inherit_env}, a new reference; NULL if memory runs out. */
static tn_value child_request(const struct child_options *options) {
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put(out, "command", options->command);
    if (options->env != NULL) tn_put(out, "env", options->env);
    if (options->inherit_env != NULL) tn_put(out, "inherit_env", options->inherit_env);
    tn.value->end(out);
    return tn_finish(out);
}

/* All pipes are close-on-exec; the dup2 of spawn makes the child's ends inheritable. */
static bool child_open_pipes(int pipes[3][2]) {
    for (int i = 0; i < 3; i++) pipes[i][0] = pipes[i][1] = -1;
    for (int i = 0; i < 3; i++)
        if (pipe2(pipes[i], O_CLOEXEC) != 0) return false;
    return true;
}

static void child_close_pipes(int pipes[3][2]) {
    for (int i = 0; i < 3; i++) {
        if (pipes[i][0] >= 0) (void)close(pipes[i][0]);
        if (pipes[i][1] >= 0) (void)close(pipes[i][1]);
    }
}

static int child_spawn(pid_t *pid, const struct launched *program, const char *cwd, int pipes[3][2], short group) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    int error = posix_spawn_file_actions_adddup2(&actions, pipes[0][0], 0);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, pipes[1][1], 1);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, pipes[2][1], 2);
    if (error == 0 && cwd != NULL) error = posix_spawn_file_actions_addchdir_np(&actions, cwd);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
    if (error == 0)
        error = posix_spawn(pid, program->path, &actions, &attributes, program->arguments, program->environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

static bool child_watch(struct child *child) {
    child->pidfd = pidfd_open(child->pid, 0);
    return child->pidfd >= 0 &&
           mcp_poll->watch(tn.host, child->pidfd, TN_POLL_READ, on_child_exit, child, &child->watch) == TN_OK;
}

static void keep_parent_ends(int pipes[3][2], int ends[3]) {
    for (int i = 0; i < 3; i++) {
        int parent_end = i == 0 ? 1 : 0;
        ends[i] = pipes[i][parent_end];
        pipes[i][parent_end] = -1;
        (void)fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
}

struct child *child_new(const struct child_options *options, child_ended ended, void *user, int ends[3], char *why,
                        size_t size) {
    struct child *child = mcp_alloc(sizeof *child);
    tn_value request = child_request(options);
    struct launched program;
    const char *name = tn_chars(tn.value->at(options->command, 0), NULL), *code;
    char reason[512] = "not enough memory";
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    bool good = launched_init(&program, mcp_launch, request, &code, reason, sizeof reason) == TN_OK && child != NULL;
    if (!good) (void)snprintf(why, size, "`%s` cannot be started: %s", name, reason);
    if (good && !child_open_pipes(pipes)) {
        (void)snprintf(why, size, "cannot open a pipe: %s", strerror(errno));
        good = false;
    }
    if (child != NULL) child->pidfd = -1;
    if (good) {
        child->ended = ended;
        child->user = user;
        orphans_begin();
        int error = child_spawn(&child->pid, &program, options->cwd, pipes, POSIX_SPAWN_SETPGROUP);
        /* A sandbox may forbid process groups: then only the child gets signals, and its children end with the sandbox.
         */
        if (error == EPERM) error = child_spawn(&child->pid, &program, options->cwd, pipes, 0);
        if (error != 0)
            (void)snprintf(why, size, "`%s` cannot be started%s%s: %s", name, options->cwd != NULL ? " in " : "",
                           options->cwd != NULL ? options->cwd : "", strerror(error));
        good = error == 0;
        if (good && !child_watch(child)) {
            (void)snprintf(why, size, "`%s` cannot be watched: %s", name, strerror(errno));
            (void)kill(-child->pid, SIGKILL);
            (void)kill(child->pid, SIGKILL);
            (void)waitpid(child->pid, NULL, 0);
            good = false;
        }
    }
    if (good) orphans_add(child->pid);
    if (good) keep_parent_ends(pipes, ends);
    child_close_pipes(pipes);
    launched_finish(&program);
    tn_release(request);
    if (good) return child;
    if (child != NULL) child_free(child);
    return NULL;
}
