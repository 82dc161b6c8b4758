/*
 * exercise.c - the child process, which uses the plugin, and the parent, which reads its report and its exit status.
 *
 * The report (conformance_child) has lines: "D" and the current step, used if the child dies or hangs; "W", the same if
 * a process of the plugin has to answer; "B", the child is alive; "I", an interface that it requests; "F",
 * a code of the table as a letter, and a message. A plugin that finds the pipe and writes to it can report wrong
 * results about itself, but cannot harm the parent.
 */
#include "host/plugin/conformance/exercise.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/plugin/conformance/conformance_internal.h"
#include "host/plugin/conformance/exercise_internal.h"
#include "host/plugin/conformance/guard.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- In the child ---- */

/* The state of the child process. Process-wide because the log calls exercise_on_log without a pointer to it. */
static struct {
    int pipe_end;
    struct exercise *current;
} exercise_child;

void exercise_report_step(struct exercise *it, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(it->step, sizeof it->step, format, args);
    va_end(args);
    va_start(args, format);
    conformance_child_write(exercise_child.pipe_end, it->remote ? "W" : "D", format, args);
    va_end(args);
}

void exercise_report_alive(void) {
    static int64_t last; /* only the loop's thread of this process */
    int64_t now = clock_now_ms();
    if (now - last < EXERCISE_BEAT_MS) return;
    last = now;
    conformance_child_print(exercise_child.pipe_end, "B");
}

static void exercise_on_beat(struct loop_timer *timer) {
    exercise_report_alive();
    loop_timer_start(exercise_child.current->host->loop, timer, EXERCISE_BEAT_MS, exercise_on_beat);
}

void exercise_report(struct exercise *it, enum finding finding, const char *format, ...) {
    char prefix[512];
    it->reports++;
    const struct component_info *info = it->component ? it->component->info : NULL;
    va_list args;
    if (info)
        snprintf(prefix, sizeof prefix, "F%c%.300s: component `%.100s` (%.20s): ", 'A' + (int)finding, it->path,
                 info->id, info->kind);
    else
        snprintf(prefix, sizeof prefix, "F%c%.300s: ", 'A' + (int)finding, it->path);
    va_start(args, format);
    conformance_child_write(exercise_child.pipe_end, prefix, format, args);
    va_end(args);
}

void exercise_on_requested(const struct plugin *plugin, const char *interface_id, bool offered) {
    const struct exercise *it = exercise_child.current;
    (void)offered;
    if (it && strcmp(plugin_path(plugin), it->path) == 0)
        conformance_child_print(exercise_child.pipe_end, "I%.200s", interface_id);
}

/* Reports the findings of check mode, which arrive as log lines. */
static void exercise_on_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)level;
    if (!exercise_child.current) return;
    exercise_note_log(exercise_child.current, who, line);
    if (strncmp(line, "check: ", 7) != 0) return;
    bool leak = strstr(line, GUARD_LEAK_REPORT);
    if (leak && exercise_child.current->leaks_explained) return;
    exercise_report(exercise_child.current,
                    leak                               ? FINDING_LEAK
                    : strstr(line, GUARD_SHAPE_REPORT) ? FINDING_SHAPE
                                                       : FINDING_CONTRACT,
                    "%s", line + 7);
}

/* The process of a program is not asked what this process is asked: whether it survives failing allocations, and so on.
 */
static void exercise_component(struct exercise *it) {
    it->config_count = it->refusal_count = 0;
    it->ignores_cancel = it->unusable = it->shape_reported = it->end_reported = it->leak_reported = false;
    exercise_try_configs(it);
    if (!it->remote) exercise_try_refusals(it);
    if (it->config_count) {
        if (!it->remote) exercise_try_lifetimes(it);
        if (exercise_may_run(it)) {
            exercise_run_examples(it);
            exercise_run_and_cancel(it);
            if (!it->ignores_cancel && exercise_is_pure(it)) exercise_compare(it);
        }
        if (it->remote)
            exercise_measure_growth(it);
        else
            exercise_fail_allocations(it);
    }
    if (!exercise_has_time(it) && !it->unusable)
        exercise_report(it, FINDING_NOT_TRIED,
                        "needs too much time, so that not everything was tried; use a longer --timeout");
    for (uint32_t i = 0; i < it->config_count; i++) value_unref(it->configs[i]);
    for (uint32_t i = 0; i < it->refusal_count; i++) value_unref(it->refusals[i]);
}

static bool exercise_includes(const struct exercise *it, const struct component_info *info) {
    const struct plugin *plugin = registry_plugin(it->host->registry, info->plugin_id);
    bool preset = value_get(info->manifest, "preset") != NULL; /* the same component again */
    return plugin && strcmp(plugin_path(plugin), it->path) == 0 && strcmp(info->kind, "reducer") != 0 && !preset;
}

static bool exercise_count_component(void *user, const struct component_info *info) {
    struct exercise *it = user;
    it->components_left += exercise_includes(it, info);
    return true;
}

/* conformance_run.c has reported why a shared object cannot be loaded; only here is a program started. */
static bool exercise_resolve(struct exercise *it, const struct component_info *info) {
    struct error error = ERROR_INIT;
    struct component *component = NULL;
    it->remote = plugin_isolated(registry_plugin(it->host->registry, info->plugin_id));
    if (it->remote) exercise_report_step(it, "start its process");
    bool resolved = registry_resolve(it->host->registry, info->kind, info->id, &component, &error) == TN_OK;
    if (!resolved && it->remote && !it->refused)
        exercise_report(it, FINDING_LOAD_REFUSED, "cannot be loaded: %s", error.message);
    if (!resolved) it->refused = true;
    error_finish(&error);
    it->component = component;
    return resolved;
}

static bool exercise_visit_component(void *user, const struct component_info *info) {
    struct exercise *it = user;
    if (!exercise_includes(it, info)) return true;
    /* Each gets an equal share of the remaining time, so that the others can use time that is left. */
    int64_t now = clock_now_ms();
    it->component_deadline_ms =
        now + (it->deadline_ms - now) /
                  (it->components_left ? it->components_left-- : 1); /* components can be added at run time */
    if (!exercise_resolve(it, info)) return true;
    /* A separate seed for each component, so that adding one does not change the sequence of the others. */
    it->generator.state = it->seed;
    for (const char *at = info->id; *at; at++) it->generator.state = it->generator.state * 31 + (unsigned char)*at;
    exercise_component(it);
    it->component = NULL;
    return true;
}

static _Noreturn void exercise_run_child(const char *path, const struct exercise_options *options, int timeout_ms) {
    struct error error = ERROR_INIT;
    conformance_child_reset_signals();
    exercise_prepare_heap();
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDERR_FILENO);
    struct exercise it = {.path = path, .deadline_ms = clock_now_ms() + timeout_ms / 2, .seed = options->seed};
    exercise_child.current = &it;
    log_set_sink(NULL, exercise_on_log, NULL);
    struct exercise_host here = {0};
    it.options = options;
    it.host = &here;
    if (!options->open(path, NULL, options->allow_drafts, &here, &error)) {
        if (manifest_is_program(path))
            exercise_report(&it, FINDING_LOAD_REFUSED, "cannot be loaded: %s", error.message);
        conformance_child_exit(exercise_child.pipe_end); /* of a shared object, conformance_check has reported why */
    }
    exercise_on_beat(&it.beat);
    here.catalog->each(here.catalog->self, NULL, exercise_count_component, &it);
    here.catalog->each(here.catalog->self, NULL, exercise_visit_component, &it);
    if (manifest_is_program(path)) exercise_report_program(&it);
    for (size_t i = 0; i < EXERCISE_FIELDS; i++) value_unref(it.reads[i]);
    exercise_report_step(&it, "be unloaded");
    loop_timer_stop(here.loop, &it.beat);
    options->close(&it.isolated_host);
    options->close(&here);
    conformance_child_exit(exercise_child.pipe_end);
}

/* ---- In the parent ---- */

/* What the parent has read. */
struct exercise_results {
    struct conformance *conformance;
    const struct registry_options *registry;
    struct manifest manifest; /* its value is NULL if it cannot be read */
    struct conformance_child child;
    uint64_t seed;
};

static void exercise_add_finding(const struct exercise_results *results, enum finding finding, const char *text) {
    conformance_add(results->conformance, finding, "%s (seed %llu)", text, (unsigned long long)results->seed);
}

/* `line`: the id of an interface that the plugin has requested. */
static void exercise_read_request(const struct exercise_results *results, const char *line) {
    if (results->registry && results->manifest.value)
        (void)conformance_add_request(results->conformance, results->child.path, results->manifest.value,
                                      results->registry, line);
}

static void exercise_read_line(void *user, char *line) {
    struct exercise_results *results = user;
    if (line[0] == 'D' || line[0] == 'W') {
        snprintf(results->child.step, sizeof results->child.step, "%s", line + 1);
        results->child.silence_max_ms = line[0] == 'W' ? EXERCISE_PROCESS_MS : EXERCISE_SILENT_MS;
    } else if (line[0] == 'I') {
        exercise_read_request(results, line + 1);
    } else if (line[0] == 'F' && line[1] >= 'A' && line[1] < 'A' + (int)FINDING_COUNT) {
        exercise_add_finding(results, (enum finding)(line[1] - 'A'), line + 2);
    }
}

static void exercise_add_end(const struct exercise_results *results) {
    const struct conformance_child *child = &results->child;
    char text[CONFORMANCE_LINE_MAX + PATH_MAX + 256];
    if (child->printed > 0) {
        snprintf(text, sizeof text,
                 "%s: wrote %lld bytes to standard output while it was used, which is for results; use tn_core_1.log",
                 child->path, child->printed);
        exercise_add_finding(results, FINDING_STDOUT, text);
    }
    if (child->hung)
        snprintf(text, sizeof text, "%s: hung; it had to %s", child->path, child->step);
    else if (WIFSIGNALED(child->status))
        snprintf(text, sizeof text, "%s: ended by signal %d (%s); it had to %s", child->path, WTERMSIG(child->status),
                 strsignal(WTERMSIG(child->status)), child->step);
    else if (!child->ended)
        snprintf(text, sizeof text, "%s: ended the process with status %d; it had to %s", child->path,
                 WEXITSTATUS(child->status), child->step);
    else
        return;
    exercise_add_finding(results, child->hung ? FINDING_HUNG : FINDING_CRASHED, text);
}

void exercise(const char *path, const struct exercise_options *options, struct conformance *conformance) {
    int timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : EXERCISE_TIMEOUT_MS;
    struct exercise_results *results = mem_zalloc(sizeof *results);
    struct conformance_child *child = &results->child;
    results->conformance = conformance;
    results->registry = options->registry;
    results->seed = options->seed;
    (void)manifest_read(path, &results->manifest, NULL);
    *child = (struct conformance_child){.path = path,
                                        .line = exercise_read_line,
                                        .user = results,
                                        .limit_ms = timeout_ms,
                                        .silence_max_ms = EXERCISE_PROCESS_MS,
                                        .step = "be loaded"};
    pid_t pid = conformance_fork(conformance, path, &child->pipe_end, &child->output);
    if (pid == 0) {
        exercise_child.pipe_end = child->pipe_end;
        exercise_run_child(path, options, timeout_ms);
    }
    if (pid > 0) {
        conformance_child_wait(conformance, child, pid);
        exercise_add_end(results);
    }
    if (results->manifest.value) manifest_finish(&results->manifest);
    mem_free(results);
}
