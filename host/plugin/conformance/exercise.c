/*
 * exercise.c - the child process, which uses the plugin, and the parent, which reads its report and its exit status.
 *
 * The pipe carries lines: "D" and the current step, used if the child dies; "F", a code of EXERCISE_CODES as a letter,
 * and a message; "E" at the end. A plugin that finds the pipe and writes to it can report wrong results about itself,
 * but cannot harm the parent. Standard output is a separate file: a plugin must not write to it, because it is for
 * results.
 */
#include "host/plugin/conformance/exercise.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/plugin/conformance/conformance_internal.h"
#include "host/plugin/conformance/exercise_internal.h"
#include "host/plugin/conformance/guard.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2560

/* ---- In the child ---- */

/* The state of the child process. Process-wide because the log calls exercise_on_log without a pointer to it. */
static struct {
    int pipe_end;
    const struct exercise *current;
} exercise_child;

static void exercise_write_line(const char *prefix, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void exercise_write_line(const char *prefix, const char *format, va_list args) {
    char line[LINE_MAX_BYTES];
    int length = snprintf(line, sizeof line, "%s", prefix);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, args);
    if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    for (int i = 0; i < length; i++)
        if (line[i] == '\n') line[i] = ' ';
    line[length] = '\n';
    for (int done = 0; done <= length;) {
        ssize_t wrote = write(exercise_child.pipe_end, line + done, (size_t)(length + 1 - done));
        if (wrote < 0 && errno != EINTR) _exit(1);
        if (wrote > 0) done += (int)wrote;
    }
}

void exercise_report_step(const char *format, ...) {
    va_list args;
    va_start(args, format);
    exercise_write_line("D", format, args);
    va_end(args);
}

void exercise_report(const struct exercise *it, enum exercise_code code, const char *format, ...) {
    char prefix[512];
    const struct component_info *info = it->component ? it->component->info : NULL;
    va_list args;
    if (info)
        snprintf(prefix, sizeof prefix, "F%c%.300s: component `%.100s` (%.20s): ", 'A' + (int)code, it->path, info->id,
                 info->kind);
    else
        snprintf(prefix, sizeof prefix, "F%c%.300s: ", 'A' + (int)code, it->path);
    va_start(args, format);
    exercise_write_line(prefix, format, args);
    va_end(args);
}

/* Reports the findings of check mode, which arrive as log lines. */
static void exercise_on_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)level, (void)who;
    if (strncmp(line, "check: ", 7) != 0 || !exercise_child.current) return;
    if (exercise_child.current->leaks_explained && strstr(line, "has not released")) return;
    exercise_report(exercise_child.current, strstr(line, GUARD_SHAPE_REPORT) ? EXERCISE_SHAPE : EXERCISE_CONTRACT, "%s",
                    line + 7);
}

static void exercise_component(struct exercise *it) {
    it->config_count = 0;
    it->ignores_cancel = false;
    exercise_try_configs(it);
    if (it->config_count) {
        exercise_try_lifetimes(it);
        if (exercise_may_run(it)) {
            exercise_run_examples(it);
            exercise_run_and_cancel(it);
            if (!it->ignores_cancel && exercise_is_pure(it)) exercise_compare(it);
        }
        exercise_fail_allocations(it);
    }
    if (!exercise_has_time(it))
        exercise_report(it, EXERCISE_NOT_TRIED, "needs too much time: not everything was tried");
    for (uint32_t i = 0; i < it->config_count; i++) value_unref(it->configs[i]);
}

static bool exercise_includes(const struct exercise *it, const struct component_info *info) {
    const struct plugin *plugin = registry_plugin(it->host->registry, info->plugin_id);
    return plugin && strcmp(plugin_path(plugin), it->path) == 0 && strcmp(info->kind, "reducer") != 0;
}

static bool exercise_count_component(void *user, const struct component_info *info) {
    struct exercise *it = user;
    it->components_left += exercise_includes(it, info);
    return true;
}

static bool exercise_visit_component(void *user, const struct component_info *info) {
    struct exercise *it = user;
    if (!exercise_includes(it, info)) return true;
    /* Each gets an equal share of the remaining time, so that the others can use time that is left. */
    int64_t now = clock_now_ms();
    it->component_deadline_ms =
        now + (it->deadline_ms - now) /
                  (it->components_left ? it->components_left-- : 1); /* components can be added at run time */
    if (registry_resolve(it->host->registry, info->kind, info->id, &it->component, NULL) != TN_OK) return true;
    /* A separate seed for each component, so that adding one does not change the sequence of the others. */
    it->generator.state = it->seed;
    for (const char *at = info->id; *at; at++) it->generator.state = it->generator.state * 31 + (unsigned char)*at;
    exercise_component(it);
    it->component = NULL;
    return true;
}

static _Noreturn void exercise_run_child(const char *path, const struct exercise_options *options, int timeout_ms) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    struct error error = ERROR_INIT;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], SIG_DFL);
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDERR_FILENO);
    struct exercise it = {.path = path, .deadline_ms = clock_now_ms() + timeout_ms / 2, .seed = options->seed};
    exercise_child.current = &it;
    log_set_sink(NULL, exercise_on_log, NULL);
    struct exercise_host here = {0};
    it.options = options;
    it.host = &here;
    if (!options->open(path, NULL, options->allow_drafts, &here, &error))
        _exit(0); /* conformance_check has reported the reason */
    here.catalog->each(here.catalog->self, NULL, exercise_count_component, &it);
    here.catalog->each(here.catalog->self, NULL, exercise_visit_component, &it);
    for (size_t i = 0; i < EXERCISE_FIELDS; i++) value_unref(it.reads[i]);
    exercise_report_step("be unloaded");
    options->close(&it.isolated_host);
    options->close(&here);
    fflush(stdout); /* the output of the plugin is a finding */
    if (write(exercise_child.pipe_end, "E\n", 2) != 2) _exit(1);
    _exit(0);
}

/* ---- In the parent ---- */

#define EXERCISE_ROW(code, severity) {#code, severity},
static const struct {
    const char *code;
    enum conformance_severity severity;
} exercise_codes[] = {EXERCISE_CODES(EXERCISE_ROW)};
#undef EXERCISE_ROW

/* What the parent has read. */
struct exercise_results {
    struct conformance *conformance;
    uint64_t seed;
    char step[LINE_MAX_BYTES]; /* what the plugin has to do now */
    bool ended;                /* the report is complete */
};

static void exercise_add_finding(const struct exercise_results *results, enum exercise_code code, const char *text) {
    conformance_add(results->conformance, exercise_codes[code].severity, exercise_codes[code].code, "%s (seed %llu)",
                    text, (unsigned long long)results->seed);
}

static void exercise_read_line(struct exercise_results *results, char *line) {
    if (line[0] == 'D')
        snprintf(results->step, sizeof results->step, "%s", line + 1);
    else if (line[0] == 'E')
        results->ended = true;
    else if (line[0] == 'F' && line[1] >= 'A' && line[1] < 'A' + (int)EXERCISE_CODE_COUNT)
        exercise_add_finding(results, (enum exercise_code)(line[1] - 'A'), line + 2);
}

/* Reads until the report is complete, the child has ended, or the time is up. */
static void exercise_read_report(int from, int64_t end, struct exercise_results *results) {
    struct buffer line;
    buffer_init(&line, LINE_MAX_BYTES);
    while (!results->ended) {
        char bytes[4096];
        int64_t left = end - clock_now_ms();
        struct pollfd ready = {.fd = from, .events = POLLIN};
        int got = left > 0 ? poll(&ready, 1, (int)left) : 0;
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        ssize_t length = read(from, bytes, sizeof bytes);
        if (length <= 0) break;
        for (ssize_t i = 0; i < length; i++) {
            if (bytes[i] != '\n') {
                buffer_char(&line, bytes[i]);
                continue;
            }
            buffer_char(&line, 0);
            if (!line.overflow) exercise_read_line(results, line.data);
            buffer_clear(&line);
        }
    }
    buffer_finish(&line);
}

static void exercise_add_end(struct exercise_results *results, const char *path, int status, bool hung, off_t printed) {
    char text[LINE_MAX_BYTES + PATH_MAX + 256];
    if (printed > 0) {
        snprintf(text, sizeof text,
                 "%s: wrote %lld bytes to standard output while it was used, which is for results; use tn_core_1.log",
                 path, (long long)printed);
        exercise_add_finding(results, EXERCISE_STDOUT, text);
    }
    if (hung)
        snprintf(text, sizeof text, "%s: hung; it had to %s", path, results->step);
    else if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "%s: ended by signal %d (%s); it had to %s", path, WTERMSIG(status),
                 strsignal(WTERMSIG(status)), results->step);
    else if (!results->ended && WEXITSTATUS(status) != 0)
        snprintf(text, sizeof text, "%s: ended the process with status %d; it had to %s", path, WEXITSTATUS(status),
                 results->step);
    else
        return;
    exercise_add_finding(results, hung ? EXERCISE_HUNG : EXERCISE_CRASHED, text);
}

void exercise(const char *path, const struct exercise_options *options, struct conformance *conformance) {
    int pipe_end, output, status = 0;
    int timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : EXERCISE_TIMEOUT_MS;
    struct exercise_results results = {.conformance = conformance, .seed = options->seed, .step = "be loaded"};
    pid_t pid = conformance_fork(conformance, path, &pipe_end, &output);
    if (pid < 0) return;
    if (pid == 0) {
        exercise_child.pipe_end = pipe_end;
        exercise_run_child(path, options, timeout_ms);
    }
    int64_t end = clock_now_ms() + timeout_ms;
    struct stat written = {0};
    exercise_read_report(pipe_end, end, &results);
    bool hung = !results.ended && clock_now_ms() >= end;
    if (hung) kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    (void)fstat(output, &written);
    exercise_add_end(&results, path, status, hung, written.st_size);
    close(pipe_end);
    close(output);
}
