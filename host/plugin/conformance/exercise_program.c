/*
 * exercise_program.c - what is different about a plugin that runs in a separate process: a program.
 *
 * It is used through the same components as a shared object, but check mode does not see its calls. Its process may
 * end and is started again, so each step asks how often it has ended, and resets that number, because otherwise each
 * start would wait longer. The host's log has the reason. Its memory is measured from outside.
 */
#include "adl/value/memory.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/plugin/call/call.h"
#include "host/plugin/conformance/exercise_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GROWTH_PARTS     4    /* the memory must grow in each of these parts of the rounds */
#define GROWTH_MIN_KIB   8192 /* in all: a garbage collector may wait until so much is used */
#define GROWTH_REPEATS   4
#define GROWTH_SURE_KIB  65536  /* so much is reported even if there was no time for all parts */
#define GROWTH_MAX_KIB   262144 /* so much in two parts is reported at once, before the machine has no memory left */
#define GROWTH_INSTANCES 1000
#define GROWTH_TASKS     400

/* ---- The end of its process ---- */

/* The last end of a process that the host has logged. Process-wide because the log has no pointer to the exercise. */
static char last_end[1024];

/* `line`: of the host about the plugin (isolate/remote_message.c), or of the plugin, which harms only itself. */
static void exercise_note_second_end(struct exercise *it, const char *line) {
    static const char *const ends[] = {"complete", "fail", "interrupt"};
    if (!it->remote || it->end_reported || !strstr(line, "` for a task that it has already ended")) return;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char start[32];
        (void)snprintf(start, sizeof start, "it sent `%s`", ends[i]);
        if (strncmp(line, start, strlen(start)) != 0) continue;
        exercise_report(it, FINDING_CONTRACT, "%s; a task ends once", line);
        it->end_reported = true;
    }
}

void exercise_note_log(struct exercise *it, const char *who, const char *line) {
    const char *end;
    if (who) exercise_note_second_end(it, line);
    if (who || strncmp(line, "plugin `", 8) != 0 || !strstr(line, "`: its process ")) return;
    snprintf(last_end, sizeof last_end, "%s", strstr(line, "its process "));
    static const char *const tails[] = {"; it is started again", "; it has ended"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if ((end = strstr(last_end, tails[i])) != NULL) last_end[end - last_end] = 0;
}

/* The reasons for which the host kills a process (isolate/): what they mean for the plugin. */
static enum finding finding_of_end(const char *reason) {
    if (strstr(reason, "did not end a cancelled task")) return FINDING_DEAF;
    if (strstr(reason, "did not answer") || strstr(reason, "did not read")) return FINDING_HUNG;
    return strstr(reason, ": it sent ") || strstr(reason, ": it emitted ") ? FINDING_CONTRACT : FINDING_CRASHED;
}

static void exercise_report_end(struct exercise *it) {
    enum finding finding = finding_of_end(last_end);
    const char *reason = *last_end ? last_end : "its process ended";
    if (finding == FINDING_DEAF)
        it->ignores_cancel = true; /* reported when the tasks have been cancelled */
    else
        exercise_report(it, finding, "%s; it had to %s", reason, it->step);
    it->unusable = finding != FINDING_DEAF;
    last_end[0] = 0;
}

struct exercise_waiting {
    struct loop_timer timer;
    bool late;
    struct exercise *it;
    bool (*done)(void *user);
};

static void exercise_on_late(struct loop_timer *timer) {
    CONTAINER_OF(timer, struct exercise_waiting, timer)->late = true;
}

static bool exercise_has_waited(void *user) {
    const struct exercise_waiting *waiting = user;
    return waiting->late || waiting->done(waiting->it);
}

/* Runs the loop until `done`, for a while at most. */
static void exercise_wait(struct exercise *it, bool (*done)(void *user)) {
    struct exercise_waiting waiting = {.it = it, .done = done};
    loop_timer_start(it->host->loop, &waiting.timer, EXERCISE_DEAF_MS, exercise_on_late);
    loop_run(it->host->loop, exercise_has_waited, &waiting);
    loop_timer_stop(it->host->loop, &waiting.timer);
}

/* True if a process has ended since the last call. */
static bool exercise_process_has_ended(void *user) {
    const struct exercise *it = user;
    int64_t ends = 0;
    (void)registry_reset_plugin(it->host->registry, it->component->info->plugin_id, &ends, NULL);
    return ends > 0;
}

void exercise_check_process(struct exercise *it) {
    if (!it->remote || it->unusable || !exercise_process_has_ended(it)) return;
    exercise_report_end(it);
}

/* ---- What it answers ---- */

void exercise_check_answer(struct exercise *it, const struct error *error) {
    if (error && error->code && strcmp(error->code, "PLUGIN_CRASHED") == 0 && !it->unusable) {
        /* The loop notices the end of the process later: it must not be the end of the next component. */
        exercise_wait(it, exercise_process_has_ended);
        exercise_report_end(it);
        return;
    }
    exercise_check_process(it);
    if (!error || !error->code || strcmp(error->code, "PLUGIN_INVALID") != 0) return;
    exercise_report(it, FINDING_CONTRACT, "%s; protocol.md in the documentation of the SDK has the form",
                    error->message);
    it->unusable = true;
}

/* ---- Its memory ---- */

/* The anonymous memory of a process in KiB, 0 if it is unknown. */
static int64_t process_memory(long pid) {
    char name[64], line[256];
    long long found = 0;
    snprintf(name, sizeof name, "/proc/%ld/status", pid);
    FILE *file = fopen(name, "re");
    while (file && !found && fgets(line, sizeof line, file)) (void)sscanf(line, "RssAnon: %lld", &found);
    if (file) fclose(file);
    return found;
}

/* Of all processes that this thread has started, which are those of the plugin. */
static int64_t exercise_process_memory(int *count) {
    char name[64];
    long pid;
    int64_t sum = 0;
    *count = 0;
    snprintf(name, sizeof name, "/proc/self/task/%ld/children", (long)getpid());
    FILE *file = fopen(name, "re");
    for (; file && fscanf(file, "%ld", &pid) == 1; ++*count) sum += process_memory(pid);
    if (file) fclose(file);
    return sum;
}

static void exercise_round(struct exercise *it, bool run, tn_value input) {
    if (run)
        value_unref(exercise_record(it, it->host, it->component, it->configs[0], input));
    else
        callable_unref(exercise_create_instance(it->component, it->configs[0], NULL));
    exercise_check_process(it);
    exercise_report_alive();
}

/*
 * By how many KiB the memory has grown, 0 if it has not grown in each part. The first part of the rounds is not
 * measured: a single allocation is not a leak. *parts: those that were measured; fewer than GROWTH_PARTS if the time
 * was up or the memory has grown by GROWTH_MAX_KIB. -1 if the time was up before the growth was sure.
 */
static int64_t exercise_growth(struct exercise *it, bool run, int rounds, tn_value input, int *parts) {
    int64_t first = 0, last = 0;
    int processes = 0;
    *parts = 0;
    for (int part = 0; part <= GROWTH_PARTS && (part <= 2 || last - first < GROWTH_MAX_KIB); part++) {
        for (int i = 0; i < rounds / (GROWTH_PARTS + 1); i++) {
            if (!exercise_has_time(it) || it->ignores_cancel)
                return !it->ignores_cancel && last - first >= GROWTH_SURE_KIB ? last - first : -1;
            exercise_round(it, run, input);
        }
        int count;
        int64_t memory = exercise_process_memory(&count);
        /* A process that was started meanwhile has its own memory. */
        if (memory == 0 || (part > 0 && (memory <= last || count != processes))) return 0;
        first = part == 0 ? memory : first;
        last = memory;
        processes = count;
        *parts = part;
    }
    return last - first;
}

/* A garbage collector lets the memory grow for a while; a leak does not stop. */
static void exercise_measure_rounds(struct exercise *it, bool run, int rounds) {
    tn_value input = run ? exercise_make_input(it) : NULL;
    int64_t least = INT64_MAX;
    int parts = GROWTH_PARTS, counted = 0;
    exercise_report_step(it, run ? "run `%s` %d times" : "create and destroy `%s` %d times", it->component->info->id,
                         rounds);
    for (int i = 0; i < GROWTH_REPEATS && least >= GROWTH_MIN_KIB && parts == GROWTH_PARTS; i++) {
        int64_t growth = exercise_growth(it, run, rounds, input, &parts);
        if (growth < 0) break; /* what was measured before counts */
        if (growth >= least) continue;
        least = growth;
        counted = parts;
    }
    if (counted > 0 && least >= GROWTH_MIN_KIB)
        exercise_report(
            it, FINDING_GROWS,
            "%d %s made the memory of its process grow by %lld KiB, again and again; free what %s has taken",
            rounds / (GROWTH_PARTS + 1) * counted, run ? "tasks" : "instances", (long long)least,
            run ? "a task" : "`create`");
    value_unref(input);
}

void exercise_measure_growth(struct exercise *it) {
    exercise_measure_rounds(it, false, GROWTH_INSTANCES);
    if (exercise_may_run(it) && !it->ignores_cancel) exercise_measure_rounds(it, true, GROWTH_TASKS);
}

void exercise_report_program(struct exercise *it) {
    it->component = NULL;
    exercise_report(
        it, FINDING_PROGRAM,
        "runs in a separate process. Not checked, because this cannot be seen from outside: symbols, hidden "
        "interfaces, failing allocations, values that it keeps (only the memory of the process was measured), "
        "and standard output (its lines go to the log). Not needed: configurations that its schema does not "
        "allow (the host does not send them), and a comparison with isolation");
}
