/*
 * orphans.c - the reaper process and the pipe to it. The pipe carries numbers of process groups; a negative number
 * removes the group.
 *
 * Invariant: only this process holds the writing end of the pipe, apart from the time between a fork and an exec. So
 * the reaper reads the end of the pipe when this process ends. Between fork and _exit, the reaper makes only calls that
 * are safe after a fork.
 */
#include "orphans.h"
#include "pipe.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECKS 20 /* during ORPHANS_GRACE_MS */

static pid_t reaper; /* 0 if it does not run */
static int reaper_pipe = -1;

/* ---- The reaper ---- */

struct groups {
    int32_t list[ORPHANS_MAX];
    uint32_t count;
};

static void update_groups(struct groups *groups, int32_t word) {
    if (word > 0 && groups->count < ORPHANS_MAX) groups->list[groups->count++] = word;
    for (uint32_t i = 0; word < 0 && i < groups->count; i++)
        if (groups->list[i] == -word) groups->list[i] = groups->list[--groups->count];
}

/* Returns false if none of the groups exists any more. */
static bool signal_groups(const struct groups *groups, int number) {
    bool any = false;
    for (uint32_t i = 0; i < groups->count; i++) any |= kill(-groups->list[i], number) == 0;
    return any;
}

static _Noreturn void run_reaper(int end) {
    static struct groups groups;
    const struct timespec pause = {.tv_nsec = ORPHANS_GRACE_MS / CHECKS * 1000000L};
    int32_t word;
    ssize_t got;
    for (char **entry = environ; entry && *entry; entry++) explicit_bzero(*entry, strlen(*entry)); /* its copy */
    (void)setsid(); /* signals from the terminal are not for the reaper */
    (void)prctl(PR_SET_NAME, "tenon-orphans");
    if (dup2(end, 0) < 0) _exit(1);
    closefrom(1);
    while ((got = read(0, &word, sizeof word)) == sizeof word || (got < 0 && errno == EINTR))
        if (got > 0) update_groups(&groups, word);
    bool any = signal_groups(&groups, SIGTERM);
    for (int i = 0; any && i < CHECKS; i++) {
        (void)nanosleep(&pause, NULL);
        any = signal_groups(&groups, 0);
    }
    (void)signal_groups(&groups, SIGKILL);
    _exit(0);
}

/* ---- This process ---- */

/* The reaper inherits a mask that blocks all signals, so no handler of this process ever runs there. */
static pid_t fork_reaper(int end) {
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) run_reaper(end);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

void orphans_begin(void) {
    int both[2];
    if (reaper != 0) return;
    if (pipe2(both, O_CLOEXEC) != 0) return;
    reaper = fork_reaper(both[0]);
    (void)close(both[0]);
    if (reaper > 0) {
        reaper_pipe = both[1];
        (void)fcntl(reaper_pipe, F_SETFL, O_NONBLOCK);
        return;
    }
    reaper = 0;
    (void)close(both[1]);
}

static void write_group(int32_t word) {
    while (pipe_write(reaper_pipe, (const char *)&word, sizeof word) < 0 && errno == EINTR) continue;
}

void orphans_add(pid_t group) {
    if (reaper != 0) write_group(group);
}

void orphans_remove(pid_t group) {
    if (reaper != 0) write_group(-group);
}

void orphans_finish(void) {
    if (reaper == 0) return;
    (void)close(reaper_pipe);
    while (waitpid(reaper, NULL, 0) < 0 && errno == EINTR) continue;
    reaper = 0;
    reaper_pipe = -1;
}
