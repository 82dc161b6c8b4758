/*
 * environment_test.c - moving secrets out of the environment of a process, and what the kernel shows afterwards.
 *
 * Each case runs in a separate process, which is started with a known environment, because the block that the kernel
 * shows is written only when a program is started.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* After those: */
#include "adl/value/value.h"
#include "host/base/environment.h"
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* True if the block that the kernel shows contains `text`. */
static bool kernel_shows(const char *text) {
    char block[4096];
    int file = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, block, sizeof block);
    CHECK(got > 0);
    close(file);
    return memmem(block, (size_t)got, text, strlen(text)) != NULL;
}

static void check_text(const char *name, const char *expected) {
    tn_value text = environment_get(name);
    CHECK(value_is(text, TN_STRING) && strcmp(value_chars(text, NULL), expected) == 0);
    value_unref(text);
}

static bool is_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1; }

static void in_unprotected(void) {
    environment_take("KEY");
    environment_hide_memory();
    check_text("KEY", "first-secret");
    CHECK(environment_has("KEY") && kernel_shows("KEY=first-secret") && is_dumpable());
    CHECK(strcmp(getenv("KEY"), "first-secret") == 0);
}

static void in_protected(void) {
    environment_protect();
    CHECK(is_dumpable());
    environment_take("ABSENT");
    CHECK(is_dumpable() && !environment_has("ABSENT") && !environment_get("ABSENT"));
    environment_take("KEY"); /* it occurs twice */
    CHECK(!is_dumpable() && !getenv("KEY") && environment_has("KEY"));
    CHECK(!kernel_shows("first-secret") && !kernel_shows("second-secret"));
    check_text("KEY", "first-secret");
    environment_take("KEY");
    check_text("KEY", "first-secret");
    CHECK(environment_is_secret("KEY") && !environment_is_secret("LATE"));
    CHECK(kernel_shows("LATE=late-secret"));
}

static void in_late(void) {
    environment_protect();
    tn_value text = environment_peek("LATE"); /* for a child */
    CHECK(value_text_is(text, "late-secret") && kernel_shows("LATE=late-secret") && !environment_is_secret("LATE"));
    value_unref(text);
    CHECK(!environment_peek("ABSENT") && is_dumpable());
    environment_overwrite("LATE");
    CHECK(!kernel_shows("late-secret") && environment_is_secret("LATE") && strcmp(getenv("LATE"), "") == 0);
    text = environment_peek("LATE");
    CHECK(value_text_is(text, "late-secret"));
    value_unref(text);
    check_text("LATE", "late-secret");
    CHECK(!kernel_shows("late-secret") && !is_dumpable());
    check_text("LATE", "late-secret");
    tn_value bytes = environment_get("BYTES");
    CHECK(value_is(bytes, TN_BYTES) && !kernel_shows("bytes-"));
    value_unref(bytes);
}

static void in_needed(void) { /* a manifest must not take what the host needs */
    environment_protect();
    environment_take("PATH");
    environment_take("TENON_PROGRAM");
    check_text("PATH", "/bin");
    CHECK(getenv("PATH") && getenv("TENON_PROGRAM") && kernel_shows("PATH=/bin") && is_dumpable());
    CHECK(environment_is_basic("PATH") && environment_is_basic("TMPDIR") && !environment_is_basic("KEY"));
}

static void in_debugged(void) {
    environment_protect();
    environment_take("KEY");
    environment_hide_memory();
    CHECK(is_dumpable() && !kernel_shows("first-secret"));
}

static const struct {
    const char *name;
    void (*run)(void);
} inside[] = {{"unprotected", in_unprotected},
              {"protected", in_protected},
              {"late", in_late},
              {"needed", in_needed},
              {"debugged", in_debugged}};

static void run_case(const char *name) {
    const char *arguments[] = {"environment_test", name, NULL};
    const char *environment[] = {"KEY=first-secret",
                                 "LATE=late-secret",
                                 "BYTES=bytes-\xff",
                                 "PATH=/bin",
                                 "KEY=second-secret",
                                 "TENON_PROGRAM=/none",
                                 "PREFIX_KEY=more",
                                 NULL,
                                 NULL};
    if (strcmp(name, "debugged") == 0) environment[7] = "TENON_DUMPABLE=1";
    int status;
    pid_t child = fork();
    if (child == 0) {
        execve("/proc/self/exe", (char *const *)(uintptr_t)arguments, (char *const *)(uintptr_t)environment);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_environment(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) run_case(inside[i].name);
}

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof inside / sizeof *inside; i++) {
        if (strcmp(inside[i].name, argv[1]) != 0) continue;
        inside[i].run();
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_environment)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
