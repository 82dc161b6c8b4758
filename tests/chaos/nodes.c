/*
 * nodes.c - a node and a tool with an effect outside of the store: they append a line to the file CHAOS_LINES.
 *
 * A line is `THREAD STEP KEY`: the Task, the name of the effect in its document, and the idempotency key of the task.
 * One write(2) with O_APPEND appends it, so lines of several processes do not mix. What they return depends only on the
 * document, so that logs of two runs can be compared. CHAOS_PAUSE_MS is the longest pause before and after the line: it
 * makes it likely that a process is killed between the effect and the commit of its result.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <tenon/easy.h>
#include <time.h>
#include <unistd.h>

TN_PLUGIN("test.chaos", "1.0.0", "Effects that are recorded, for the test with killed workers")

#define LINE_MAX_SIZE 400

/* Differs from task to task and attempt to attempt; the pause is not a result. */
static void pause_randomly(void) {
    const char *text = getenv("CHAOS_PAUSE_MS");
    long most_ms = text != NULL ? strtol(text, NULL, 10) : 0;
    struct timespec now;
    if (most_ms <= 0) return;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    long ns = (long)((uint64_t)now.tv_nsec * 2654435761U % (uint64_t)(most_ms * 1000000));
    (void)nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

/* Writes nothing without such a file, for example when the manifest of the plugin is checked. */
static void append_line(tn_task task, const char *step) {
    const char *path = getenv("CHAOS_LINES");
    char line[LINE_MAX_SIZE];
    tn_value context = tn_context(task);
    int length = snprintf(line, sizeof line, "%s %s %s\n", tn_get_text(context, "thread_id", "?"), step,
                          tn_get_text(context, "task_id", "?"));
    tn_release(context);
    int fd = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0) return;
    if (length >= (int)sizeof line || write(fd, line, (size_t)length) != length) abort();
    (void)close(fd);
}

static void act(tn_task task, const char *step) {
    pause_randomly();
    append_line(task, step);
    pause_randomly();
}

TN_NODE_BLOCKING(effect, "chaos.effect", "Appends a line, and writes the name of the effect.",
                 TN_EFFECTS("destructive"), (TEMPLATE, name, "the name of the effect, unique in its Task"),
                 (WRITE, out, "the channel for the name")) {
    tn_value name = tn_render(task, config->name, NULL);
    (void)input;
    if (name == NULL) return TN_FAILED;
    act(task, tn_chars(name, NULL));
    return tn_done_written(task, tn_write_take(task, config->out, name));
}

TN_TOOL_BLOCKING(tool, "chaos.tool", "Appends a line, and returns the name of the effect.", TN_EFFECTS("destructive"),
                 (TEXT, name, "the name of the effect, unique in its Task")) {
    act(task, args->name);
    return tn_done_text(task, args->name);
}
