/*
 * work_view.c - draws the view of a worker.
 *
 * The live view is a block of lines that is drawn again in place. What it counts comes from the host (work/get), so it
 * is right even if events were dropped; the events only add the newest errors. The rate is that of the Tasks that have
 * ended in the last RATE_SAMPLES intervals.
 */
#include "host/program/work_view.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/terminal.h"
#include "host/program/command.h"
#include "host/program/questions.h"
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RATE_SAMPLES 20u /* of WORK_VIEW_MS: the last 10 seconds */
#define COLUMNS      80u /* of a terminal that does not say its size */
#define ROWS         24u
/* The head, the names of the columns, a fault, and two rows that stay free. */
#define VIEW_OTHER_LINES 5u
#define TYPE_MIN         12u /* columns of the name of a type */
#define TYPE_MAX         32u
#define LINE_BYTES       4096u

/* What has ended until `at_ms`. */
struct rate_sample {
    int64_t at_ms, ended;
};

struct work_view {
    bool json, quiet, live, colour;
    unsigned drawn;                 /* lines of the block on the terminal */
    char *errors[WORK_VIEW_ERRORS]; /* the newest one is the last; NULL: there are fewer */
    struct rate_sample samples[RATE_SAMPLES];
    unsigned sample_count; /* so far; the ring has the last ones */
};

struct work_view *work_view_new(const struct arguments *arguments) {
    struct work_view *view = mem_zalloc(sizeof *view);
    view->json = argument_given(arguments, "json");
    view->quiet = view->json || argument_given(arguments, "quiet");
    view->live = !view->quiet && isatty(STDERR_FILENO);
    view->colour = command_colour(arguments, STDERR_FILENO);
    return view;
}

bool work_view_is_live(const struct work_view *view) { return view->live; }

int64_t work_view_total(tn_value worker, const char *member) {
    tn_value types = value_get(worker, "types");
    int64_t total = 0;
    for (size_t i = 0; i < value_count(types); i++) total += value_to_int(value_get(value_at(types, i), member));
    return total;
}

static const char *view_paint(const struct work_view *view, const char *code) { return view->colour ? code : ""; }

/* ---- JSON lines ---- */

/* {"type": TYPE, …members}; false if standard output takes no more. */
static bool view_print_json(const char *type, tn_value members) {
    tn_value line = value_set_take(value_object_reserve(8), "type", value_text(type));
    for (size_t i = 0; i < value_count(members); i++) {
        if (value_text_is(value_key_at(members, i), "subscription")) continue;
        line = value_set_key_take(line, value_ref(value_key_at(members, i)), value_ref(value_value_at(members, i)));
    }
    command_put_json(stdout, line, JSON_COMPACT);
    value_unref(line);
    return command_flush();
}

/* ---- Lines ---- */

/*
 * "failed    work  0193…  message [CODE]", with the questions of a Task that waits. A line of the view is cut at the
 * width of the terminal, so there the code comes first.
 */
static void view_format_task(struct buffer *out, tn_value params, bool live) {
    tn_value error = value_get(params, "error"), asked = value_get(params, "interrupts");
    buffer_format(out, "%-8s  %s  %s", command_text(params, "outcome", ""), command_text(params, "task_type", ""),
                  command_text(params, "task_id", ""));
    const char *code = command_text(error, "code", ""), *message = command_text(error, "message", "");
    if (error && live)
        buffer_format(out, "  %s: %s", code, message);
    else if (error)
        buffer_format(out, "  %s [%s]", message, code);
    for (size_t i = 0; i < value_count(asked); i++) {
        tn_value id = value_get(value_at(asked, i), "id");
        buffer_text(out, "  ");
        question_line(out, value_at(asked, i));
        if (id)
            buffer_format(out, "; answer: tenon thread answer %s %s=VALUE", command_text(params, "task_id", ""),
                          value_chars(id, NULL));
    }
}

static void view_keep_error(struct work_view *view, const char *line) {
    mem_free(view->errors[0]);
    memmove(view->errors, view->errors + 1, (WORK_VIEW_ERRORS - 1) * sizeof *view->errors);
    view->errors[WORK_VIEW_ERRORS - 1] = mem_text(line);
}

bool work_view_event(struct work_view *view, const char *event, tn_value params) {
    bool ended = strcmp(event, "task/ended") == 0;
    struct buffer line;
    if (view->json) return view_print_json(ended ? "ended" : "claimed", params);
    if (!ended || view->quiet) return true;
    buffer_init(&line, LINE_BYTES);
    view_format_task(&line, params, view->live);
    if (!view->live)
        command_print_line(stderr, "%s", buffer_cstr(&line));
    else if (value_get(params, "error") || value_get(params, "interrupts"))
        view_keep_error(view, buffer_cstr(&line));
    buffer_finish(&line);
    return true;
}

/* ---- The live view ---- */

static unsigned view_columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : COLUMNS;
}

/* A line of the block, no longer than the terminal is wide: a line that wraps could not be drawn again. */
static void view_draw_line(struct work_view *view, const char *text) {
    struct buffer safe;
    unsigned room = view_columns() - 1;
    buffer_init(&safe, SIZE_MAX);
    for (size_t length = strlen(text); length > 0;) {
        uint32_t columns;
        size_t used = terminal_character(NULL, text, length, &columns);
        if (columns > room) break;
        room -= columns;
        terminal_character(&safe, text, length, &columns);
        text += used;
        length -= used;
    }
    fprintf(stderr, "%s\n", buffer_cstr(&safe));
    buffer_finish(&safe);
    view->drawn++;
}

static void view_clear(struct work_view *view) {
    if (view->drawn) fprintf(stderr, "\033[%uA\r\033[J", view->drawn);
    view->drawn = 0;
}

static int64_t view_ended(tn_value worker) {
    return work_view_total(worker, "claimed") - work_view_total(worker, "running");
}

/* Tasks per second, since the oldest sample that is kept. */
static double view_rate(struct work_view *view, tn_value worker, int64_t now_ms) {
    unsigned count = view->sample_count++;
    struct rate_sample now = {now_ms, view_ended(worker)},
                       oldest = view->samples[count < RATE_SAMPLES ? 0 : count % RATE_SAMPLES];
    view->samples[count % RATE_SAMPLES] = now;
    if (!count || now.at_ms <= oldest.at_ms) return 0;
    return (double)(now.ended - oldest.ended) * 1000.0 / (double)(now.at_ms - oldest.at_ms);
}

static void view_draw_head(struct work_view *view, tn_value worker, double rate) {
    tn_value line =
        value_format("worker %s  %s  %lld of at most %lld Tasks  %.1f Tasks/s", command_text(worker, "name", ""),
                     command_text(worker, "status", ""), (long long)work_view_total(worker, "running"),
                     (long long)value_to_int(value_get(worker, "concurrency")), rate);
    fputs(view_paint(view, "\033[1m"), stderr);
    view_draw_line(view, value_chars(line, NULL));
    fputs(view_paint(view, "\033[0m"), stderr);
    value_unref(line);
}

static unsigned view_rows(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row : ROWS;
}

static void view_draw_type_row(struct work_view *view, struct buffer *line, tn_value type, const char *const *members,
                               size_t count, size_t width) {
    buffer_clear(line);
    buffer_format(line, "%-*.*s", (int)width, (int)width, command_text(type, "task_type", ""));
    for (size_t m = 0; m < count; m++)
        buffer_format(line, " %8lld", (long long)value_to_int(value_get(type, members[m])));
    view_draw_line(view, buffer_cstr(line));
}

/* At most `rows` types; those that have claimed something come first. */
static void view_draw_types(struct work_view *view, tn_value worker, unsigned rows) {
    static const char *const rare[] = {"released", "lost"};
    const char *members[8] = {"claimed", "running", "done", "failed", "waiting", "retried"};
    tn_value types = value_get(worker, "types");
    size_t count = 6, width = TYPE_MIN;
    struct buffer line;
    for (size_t i = 0; i < value_count(types); i++) {
        size_t length = strlen(command_text(value_at(types, i), "task_type", ""));
        if (length > width) width = length < TYPE_MAX ? length : TYPE_MAX;
    }
    for (size_t m = 0; m < 2; m++)
        if (work_view_total(worker, rare[m])) members[count++] = rare[m];
    buffer_init(&line, LINE_BYTES);
    buffer_format(&line, "%-*s", (int)width, "");
    for (size_t m = 0; m < count; m++) buffer_format(&line, " %8s", members[m]);
    view_draw_line(view, buffer_cstr(&line));
    for (int unused = 0; unused < 2; unused++)
        for (size_t i = 0; i < value_count(types) && rows; i++) {
            tn_value type = value_at(types, i);
            if ((value_to_int(value_get(type, "claimed")) == 0) != unused) continue;
            view_draw_type_row(view, &line, type, members, count, width);
            rows--;
        }
    buffer_finish(&line);
}

void work_view_counts(struct work_view *view, tn_value worker, int64_t now_ms) {
    if (!view->live) return;
    double rate = view_rate(view, worker, now_ms);
    view_clear(view);
    view_draw_head(view, worker, rate);
    unsigned rows = view_rows(), others = VIEW_OTHER_LINES;
    for (unsigned i = 0; i < WORK_VIEW_ERRORS; i++) others += view->errors[i] != NULL;
    view_draw_types(view, worker, rows > others ? rows - others : 1);
    fputs(view_paint(view, "\033[31m"), stderr);
    for (unsigned i = 0; i < WORK_VIEW_ERRORS; i++)
        if (view->errors[i]) view_draw_line(view, view->errors[i]);
    const char *fault = command_text(worker, "fault", NULL);
    tn_value line = fault ? value_format("cannot claim Tasks: %s", fault) : NULL;
    if (line) view_draw_line(view, value_chars(line, NULL));
    value_unref(line);
    fputs(view_paint(view, "\033[0m"), stderr);
    fflush(stderr);
}

/* ---- Begin and end ---- */

void work_view_begin(struct work_view *view, tn_value worker) {
    tn_value types = value_get(worker, "types");
    struct buffer names;
    if (view->json) (void)view_print_json("started", worker);
    if (view->quiet || view->live) return;
    buffer_init(&names, SIZE_MAX);
    for (size_t i = 0; i < value_count(types); i++)
        buffer_format(&names, "%s%s", i ? ", " : "", command_text(value_at(types, i), "task_type", ""));
    command_print_line(stderr, "worker %s claims Tasks: %s", command_text(worker, "name", ""), buffer_cstr(&names));
    buffer_finish(&names);
}

void work_view_note(struct work_view *view, const char *message) {
    if (view->quiet) return;
    view_clear(view);
    fprintf(stderr, "%s\n", message);
}

static void view_print_outcome(tn_value worker) {
    static const char *const members[] = {"failed", "waiting", "retried", "released", "lost"};
    struct buffer line;
    buffer_init(&line, SIZE_MAX);
    buffer_format(&line, "worker %s has ended: %lld done", command_text(worker, "name", ""),
                  (long long)work_view_total(worker, "done"));
    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
        int64_t count = work_view_total(worker, members[m]);
        if (count) buffer_format(&line, ", %lld %s", (long long)count, members[m]);
    }
    if (value_get(worker, "fault"))
        buffer_format(&line, "; it cannot claim Tasks: %s", command_text(worker, "fault", ""));
    command_print_line(stderr, "%s", buffer_cstr(&line));
    buffer_finish(&line);
}

void work_view_end(struct work_view *view, tn_value worker) {
    if (worker && view->json) (void)view_print_json("result", worker);
    if (worker && !view->quiet) view_print_outcome(worker);
    for (unsigned i = 0; i < WORK_VIEW_ERRORS; i++) mem_free(view->errors[i]);
    mem_free(view);
}
