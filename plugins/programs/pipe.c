/*
 * pipe.c - SIGPIPE is sent to the writing thread. It is blocked there during the write, and removed from the pending
 * signals if the write raised it.
 */
#include "pipe.h"
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

ssize_t pipe_write(int descriptor, const char *bytes, size_t length) {
    sigset_t broken, pending, before;
    (void)sigemptyset(&broken);
    (void)sigaddset(&broken, SIGPIPE);
    (void)sigpending(&pending);
    bool was_pending = sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &broken, &before);
    ssize_t written = write(descriptor, bytes, length);
    int error = errno;
    if (written < 0 && error == EPIPE && !was_pending) {
        const struct timespec now = {0, 0};
        while (sigtimedwait(&broken, NULL, &now) < 0 && errno == EINTR) continue;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}
