/*
 * orphans.c - the process beside, and the pipe to it: numbers of groups, negative ones where they are over.
 *
 * Invariant: nobody but the process that tells it holds the pipe's other end, for longer than from a fork to an exec;
 * so its end is that process's. Between fork and _exit only calls are made that are safe there.
 */
#include "orphans.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOKS 20 /* in ORPHANS_GRACE_MS */

static pid_t beside; /* 0: there is none */
static int told = -1;

/* ---- Beside ---- */

struct groups {
    int32_t list[ORPHANS_MAX];
    uint32_t count;
};

static void note(struct groups *groups, int32_t word) {
    if (word > 0 && groups->count < ORPHANS_MAX) groups->list[groups->count++] = word;
    for (uint32_t i = 0; word < 0 && i < groups->count; i++)
        if (groups->list[i] == -word) groups->list[i] = groups->list[--groups->count];
}

/* False: none of them is there any more. */
static bool signal_all(const struct groups *groups, int number) {
    bool any = false;
    for (uint32_t i = 0; i < groups->count; i++) any |= kill(-groups->list[i], number) == 0;
    return any;
}

static _Noreturn void keep(int end) {
    static struct groups groups;
    const struct timespec pause = {.tv_nsec = ORPHANS_GRACE_MS / LOOKS * 1000000L};
    sigset_t all;
    int32_t word;
    ssize_t got;
    /* Ctrl-C and the like are for the others, of whose group it is no more. */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "tenon-orphans");
    if (dup2(end, 0) < 0) _exit(1);
    (void)syscall(SYS_close_range, 1u, ~0u, 0u);
    while ((got = read(0, &word, sizeof word)) == sizeof word || (got < 0 && errno == EINTR))
        if (got > 0) note(&groups, word);
    bool any = signal_all(&groups, SIGTERM);
    for (int i = 0; any && i < LOOKS; i++) {
        (void)nanosleep(&pause, NULL);
        any = signal_all(&groups, 0);
    }
    (void)signal_all(&groups, SIGKILL);
    _exit(0);
}

/* ---- Here ---- */

void orphans_begin(void) {
    int both[2];
    if (beside != 0) return;
    if (pipe2(both, O_CLOEXEC) != 0) return;
    beside = fork();
    if (beside == 0) keep(both[0]);
    (void)close(both[0]);
    if (beside > 0) {
        told = both[1];
        (void)fcntl(told, F_SETFL, O_NONBLOCK);
        return;
    }
    beside = 0;
    (void)close(both[1]);
}

static void tell(int32_t word) {
    while (write(told, &word, sizeof word) < 0 && errno == EINTR) continue;
}

void orphans_add(pid_t group) {
    if (beside != 0) tell(group);
}

void orphans_remove(pid_t group) {
    if (beside != 0) tell(-group);
}

void orphans_finish(void) {
    if (beside == 0) return;
    (void)close(told);
    while (waitpid(beside, NULL, 0) < 0 && errno == EINTR) continue;
    beside = 0;
    told = -1;
}
