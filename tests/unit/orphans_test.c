/*
 * orphans_test.c - the process that ends the children of a plugin after the plugin's process has ended. tests/e2e and
 * tests/mcp test that it does so; this tests how it starts and ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plugins/programs/orphans.h"
#include "tests/unit/deny_call.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_S 60 /* seconds; after that the child is killed, and the test fails */

/*
 * Without close_range, the reaper must not keep the writing end of the pipe: it would not notice the end of this
 * process, and orphans_finish would wait forever.
 */
static void test_ends_without_close_range(void **state) {
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        alarm(END_S);
        if (!deny_call(SYS_close_range)) _exit(77);
        orphans_begin();
        orphans_finish();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int handled[2] = {-1, -1}; /* a pipe; on_urgent writes to it, in whichever process it runs */
static bool raise_after_fork;

static void on_urgent(int number) {
    (void)number;
    if (write(handled[1], "x", 1) != 1) _exit(1);
}

static void after_fork_in_child(void) {
    if (raise_after_fork) raise(SIGURG);
}

/* A signal that arrives before the reaper has blocked them does not run a handler of this process in the reaper. */
static void test_handlers_do_not_run_in_reaper(void **state) {
    struct sigaction action = {.sa_handler = on_urgent}, before;
    sigset_t blocked;
    char byte;
    (void)state;
    assert_int_equal(pipe2(handled, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(sigaction(SIGURG, &action, &before), 0);
    assert_int_equal(pthread_atfork(NULL, NULL, after_fork_in_child), 0);
    raise_after_fork = true;
    orphans_begin();
    raise_after_fork = false;
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &blocked), 0);
    assert_true(sigisemptyset(&blocked));
    orphans_finish();
    assert_int_equal(read(handled[0], &byte, 1), -1);
    assert_int_equal(sigaction(SIGURG, &before, NULL), 0);
    close(handled[0]);
    close(handled[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends_without_close_range),
                                       cmocka_unit_test(test_handlers_do_not_run_in_reaper)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
