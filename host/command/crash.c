/*
 * crash.c - a last word where the program itself crashes: mostly a plugin does, of those that run in it.
 *
 * Only what is safe in a signal's handler is done, on a stack of its own; then the signal takes its course, so that
 * exit status and core dump are as ever. Whoever has a handler already (a sanitizer) keeps it.
 */
#include "host/command/command.h"
#include <signal.h>
#include <unistd.h>

#define STACK_BYTES 16384

static void on_crash(int number) {
    static const char text[] =
        "tenon: the program has crashed; where it is a plugin's doing, `--isolate ID` runs that plugin in a process of "
        "its own, and says how it died. Threads are as of their last checkpoint: `tenon run FILE --thread ID "
        "--resume`\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    (void)raise(number); /* SA_RESETHAND: on return, without us */
}

void command_tell_crashes(void) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char stack[STACK_BYTES];
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction before, action = {.sa_handler = on_crash};
    action.sa_flags = (int)(SA_RESETHAND | SA_ONSTACK);
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        if (sigaction(fatal[i], NULL, &before) != 0 || before.sa_handler != SIG_DFL) continue;
        if (i == 0 && sigaltstack(&own, NULL) != 0) return;
        (void)sigaction(fatal[i], &action, NULL);
    }
}
