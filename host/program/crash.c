/*
 * crash.c - prints a message when the program crashes, which is usually caused by a plugin in the process.
 *
 * The handler uses only async-signal-safe functions and runs on an alternate stack. Then the signal is raised again, so
 * that exit status and core dump do not change. An existing handler (a sanitizer's) is kept. If memory runs out, which
 * also ends the program with a signal, the message is that of adl/value/memory.c instead.
 */
#include "adl/value/memory.h"
#include "host/program/command.h"
#include <signal.h>
#include <unistd.h>

#define STACK_BYTES 16384

static void on_crash(int number) {
    static const char text[] =
        "tenon: the program crashed. If a plugin caused it, `--isolate ID` runs that plugin in a separate process and "
        "reports how it died. Threads are saved up to their last checkpoint: `tenon run FILE --thread ID --resume`\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    (void)raise(number); /* SA_RESETHAND: the default action, on return */
}

static void on_memory_exhausted(void *user, uint64_t size) {
    struct sigaction now;
    (void)user, (void)size;
    if (sigaction(SIGABRT, NULL, &now) == 0 && now.sa_handler == on_crash) (void)signal(SIGABRT, SIG_DFL);
}

void command_report_crashes(void) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char stack[STACK_BYTES];
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    mem_set_handler(on_memory_exhausted, NULL);
    struct sigaction before, action = {.sa_handler = on_crash};
    action.sa_flags = (int)(SA_RESETHAND | SA_ONSTACK);
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        if (sigaction(fatal[i], NULL, &before) != 0 || before.sa_handler != SIG_DFL) continue;
        if (i == 0 && sigaltstack(&own, NULL) != 0) return;
        (void)sigaction(fatal[i], &action, NULL);
    }
}
