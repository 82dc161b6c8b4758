/*
 * exercise.c - the child that does it, and the parent that reads what it says and how it ended.
 *
 * What crosses the pipe is lines: "Dwhat is being done now", kept for when the child dies; "F<code>message", a code of
 * EXERCISE_CODES as a letter; and "E" at the end. A plugin that finds the pipe and writes into it can lie about itself;
 * it cannot do harm. Standard output is a file of its own: a plugin must not write there, since results go there.
 */
#include "host/check/exercise.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/check/exercise_internal.h"
#include "host/log.h"
#include "host/plugin/check_internal.h"
#include "host/store/store.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2560

/* ---- In the child ---- */

static int pipe_end;
static const struct exercised *exercised; /* the one in this process, for what comes by the log */

static void say(const char *prefix, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

static void say(const char *prefix, const char *format, va_list args) {
    char line[LINE_MAX_BYTES];
    int length = snprintf(line, sizeof line, "%s", prefix);
    length += vsnprintf(line + length, sizeof line - (size_t)length - 1, format, args);
    if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    for (int i = 0; i < length; i++)
        if (line[i] == '\n') line[i] = ' ';
    line[length] = '\n';
    for (int done = 0; done <= length;) {
        ssize_t wrote = write(pipe_end, line + done, (size_t)(length + 1 - done));
        if (wrote < 0 && errno != EINTR) _exit(1);
        if (wrote > 0) done += (int)wrote;
    }
}

void exercise_doing(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say("D", format, args);
    va_end(args);
}

void exercise_find(const struct exercised *it, enum exercise_code code, const char *format, ...) {
    char prefix[512];
    const struct component_info *info = it->component ? it->component->info : NULL;
    va_list args;
    if (info)
        snprintf(prefix, sizeof prefix, "F%c%.300s: component `%.100s` (%.20s): ", 'A' + (int)code, it->path, info->id,
                 info->kind);
    else
        snprintf(prefix, sizeof prefix, "F%c%.300s: ", 'A' + (int)code, it->path);
    va_start(args, format);
    say(prefix, format, args);
    va_end(args);
}

/* Check mode's findings come by the log: of the plugin, whichever component it is. */
static void on_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)level, (void)who;
    if (strncmp(line, "check: ", 7) != 0 || !exercised) return;
    if (exercised->leaked && strstr(line, "values that it never released")) return; /* has been said, and of whom */
    exercise_find(exercised, EXERCISE_CONTRACT, "%s", line + 7);
}

static void exercise_component(struct exercised *it) {
    it->config_count = 0;
    it->deaf = false;
    exercise_configs(it);
    if (it->config_count) {
        exercise_lifetimes(it);
        if (exercise_harmless(it)) {
            exercise_examples(it);
            exercise_runs(it);
            if (!it->deaf && exercise_pure(it)) exercise_compare(it);
        }
        exercise_allocations(it);
    }
    if (!exercise_has_time(it))
        exercise_find(it, EXERCISE_NOT_TRIED, "takes its time: not everything that is tried has been tried on it");
    for (uint32_t i = 0; i < it->config_count; i++) value_unref(it->configs[i]);
}

static bool is_tried(const struct exercised *it, const struct component_info *info) {
    const struct plugin *plugin = registry_plugin(it->host->registry, info->plugin_id);
    return plugin && strcmp(plugin_path(plugin), it->path) == 0 && strcmp(info->kind, "reducer") != 0;
}

static bool count(void *user, const struct component_info *info) {
    struct exercised *it = user;
    it->left += is_tried(it, info);
    return true;
}

static bool visit(void *user, const struct component_info *info) {
    struct exercised *it = user;
    if (!is_tried(it, info)) return true;
    /* An equal share of what is left: those that need less leave it to the others. */
    int64_t now = clock_now_ms();
    it->end_ms = now + (it->over_ms - now) / (it->left ? it->left-- : 1); /* more may have come at run time */
    if (registry_resolve(it->host->registry, info->kind, info->id, &it->component, NULL) != TN_OK) return true;
    /* Of its own, so that a component added to the plugin changes nothing for the others. */
    it->generator.state = it->seed;
    for (const char *at = info->id; *at; at++) it->generator.state = it->generator.state * 31 + (unsigned char)*at;
    exercise_component(it);
    it->component = NULL;
    return true;
}

void exercise_store(struct host *host) {
    tn_value options = value_set_take(value_object(), "use", value_text("memory"));
    options = value_set_take(options, "path", value_text("check"));
    host->store = store_open(host, options, NULL);
    value_unref(options);
}

static _Noreturn void child(const char *path, const struct exercise_options *options, int timeout_ms) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    const char *const paths[] = {path, NULL};
    struct error error = ERROR_INIT;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], SIG_DFL);
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDERR_FILENO);
    struct exercised it = {.path = path, .over_ms = clock_now_ms() + timeout_ms / 2, .seed = options->seed};
    exercised = &it;
    log_set_sink(on_log, NULL);
    it.host = host_new(
        &(struct host_options){
            .plugin_paths = paths, .no_config = true, .allow_drafts = options->allow_drafts, .check_plugins = true},
        &error);
    if (!it.host) _exit(0); /* the first part has said why */
    exercise_store(it.host);
    it.host->catalog.each(it.host->catalog.self, NULL, count, &it);
    it.host->catalog.each(it.host->catalog.self, NULL, visit, &it);
    for (size_t i = 0; i < EXERCISE_FIELDS; i++) value_unref(it.reads[i]);
    exercise_doing("be unloaded");
    host_free(it.apart);
    host_free(it.host);
    fflush(stdout); /* what the plugin printed counts */
    if (write(pipe_end, "E\n", 2) != 2) _exit(1);
    _exit(0);
}

/* ---- In the parent ---- */

#define EXERCISE_ROW(code, severity) {#code, severity},
static const struct {
    const char *code;
    enum check_severity severity;
} codes[] = {EXERCISE_CODES(EXERCISE_ROW)};
#undef EXERCISE_ROW

struct told {
    struct check *check;
    uint64_t seed;
    char doing[LINE_MAX_BYTES];
    bool ended;
};

static void add(const struct told *told, enum exercise_code code, const char *text) {
    check_add(told->check, codes[code].severity, codes[code].code, "%s (seed %llu)", text,
              (unsigned long long)told->seed);
}

static void take_line(struct told *told, char *line) {
    if (line[0] == 'D')
        snprintf(told->doing, sizeof told->doing, "%s", line + 1);
    else if (line[0] == 'E')
        told->ended = true;
    else if (line[0] == 'F' && line[1] >= 'A' && line[1] < 'A' + (int)EXERCISE_CODE_COUNT)
        add(told, (enum exercise_code)(line[1] - 'A'), line + 2);
}

/* Until the child is gone, has ended, or the time is up. */
static void read_lines(int from, int64_t end, struct told *told) {
    struct buffer line;
    buffer_init(&line, LINE_MAX_BYTES);
    while (!told->ended) {
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
            if (!line.overflow) take_line(told, line.data);
            buffer_clear(&line);
        }
    }
    buffer_finish(&line);
}

static void add_end(struct told *told, const char *path, int status, bool hung, off_t printed) {
    char text[LINE_MAX_BYTES + PATH_MAX + 256];
    if (printed > 0) {
        snprintf(text, sizeof text,
                 "%s: wrote %lld bytes to standard output while it was used, which is for results; use tn_core_1.log",
                 path, (long long)printed);
        add(told, EXERCISE_STDOUT, text);
    }
    if (hung)
        snprintf(text, sizeof text, "%s: hung; it was asked to %s", path, told->doing);
    else if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "%s: ended by signal %d (%s); it was asked to %s", path, WTERMSIG(status),
                 strsignal(WTERMSIG(status)), told->doing);
    else if (!told->ended && WEXITSTATUS(status) != 0)
        snprintf(text, sizeof text, "%s: ended the process with status %d; it was asked to %s", path,
                 WEXITSTATUS(status), told->doing);
    else
        return;
    add(told, hung ? EXERCISE_HUNG : EXERCISE_CRASHED, text);
}

void exercise(const char *path, const struct exercise_options *options, struct check *check) {
    int ends[2], status = 0, output = memfd_create("tenon-exercise", MFD_CLOEXEC);
    int timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : EXERCISE_TIMEOUT_MS;
    struct told told = {.check = check, .seed = options->seed, .doing = "be loaded"};
    if (output < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        check_add(check, CHECK_ERROR, "CHECK", "%s: cannot be run for the check: %s", path, strerror(errno));
        if (output >= 0) close(output);
        return;
    }
    fflush(NULL); /* or the child would write what is waiting a second time */
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        pipe_end = ends[1];
        dup2(output, STDOUT_FILENO);
        child(path, options, timeout_ms);
    }
    close(ends[1]);
    int64_t end = clock_now_ms() + timeout_ms;
    if (pid > 0) {
        struct stat written = {0};
        read_lines(ends[0], end, &told);
        bool hung = !told.ended && clock_now_ms() >= end;
        if (hung) kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
        (void)fstat(output, &written);
        add_end(&told, path, status, hung, written.st_size);
    } else {
        check_add(check, CHECK_ERROR, "CHECK", "%s: cannot be run for the check: %s", path, strerror(errno));
    }
    close(ends[0]);
    close(output);
}
