/*
 * live.c - draws the live view. Lines of finished tasks scroll by; the line at the bottom is rewritten in place.
 */
#include "host/command/live.h"
#include "adl/diagnostic/print.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/clock.h"
#include "host/command/command.h"
#include "host/engine/graph.h"
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 8u   /* running tasks named on the bottom line */
#define DATA_MAX  100u /* bytes of an emitted value that are shown */
#define WORDS_MAX 60u  /* characters of a model's answer that the bottom line ends with */

struct live {
    bool colour, bottom; /* bottom: the line at the bottom is drawn */
    int64_t started_ms;
    uint32_t running;
    tn_value names[NAMES_MAX];
    struct buffer words; /* the end of what models have said in this step */
};

static const char *paint(const struct live *live, const char *code) { return live->colour ? code : ""; }

struct live *live_new(const struct graph *graph, bool colour) {
    struct live *live = mem_zalloc(sizeof *live);
    live->colour = colour;
    live->started_ms = clock_now_ms();
    buffer_init(&live->words, SIZE_MAX);
    uint32_t nodes = graph->document->node_count;
    fputs(paint(live, "\033[1m"), stderr);
    command_say(stderr, "%s", value_chars(graph->document->name, NULL));
    fprintf(stderr, "%s: %u node%s\n", paint(live, "\033[0m"), nodes, nodes == 1 ? "" : "s");
    return live;
}

static void clear_bottom(struct live *live) {
    if (live->bottom) fputs("\r\033[K", stderr);
    live->bottom = false;
}

static void draw_bottom(struct live *live) {
    clear_bottom(live);
    if (!live->running) return;
    fprintf(stderr, "%s…", paint(live, "\033[2m"));
    for (uint32_t i = 0; i < live->running && i < NAMES_MAX; i++)
        fprintf(stderr, " %s", live->names[i] ? value_chars(live->names[i], NULL) : "");
    if (live->running > NAMES_MAX) fprintf(stderr, " and %u more", live->running - NAMES_MAX);
    if (live->words.length) command_say(stderr, ": %s", buffer_cstr(&live->words));
    fputs(paint(live, "\033[0m"), stderr);
    live->bottom = true;
    fflush(stderr);
}

/* Text on one line, of which the end stays: whole characters. */
static void add_words(struct live *live, tn_value text) {
    size_t length;
    const char *chars = value_chars(text, &length);
    for (size_t i = 0; i < length; i++) buffer_char(&live->words, (unsigned char)chars[i] < ' ' ? ' ' : chars[i]);
    const char *all = buffer_cstr(&live->words);
    size_t characters = 0, at = live->words.length;
    while (at > 0 && characters < WORDS_MAX) characters += ((unsigned char)all[--at] & 0xc0) != 0x80;
    if (at == 0) return;
    char *end = mem_text_n(all + at, live->words.length - at);
    buffer_clear(&live->words);
    buffer_text(&live->words, end);
    mem_free(end);
}

static void add_running(struct live *live, tn_value node) {
    if (live->running < NAMES_MAX) live->names[live->running] = value_ref(node);
    live->running++;
}

static void remove_running(struct live *live, tn_value node) {
    uint32_t shown = live->running < NAMES_MAX ? live->running : NAMES_MAX;
    for (uint32_t i = 0; i < shown; i++) {
        if (!live->names[i] || !value_equal(live->names[i], node)) continue;
        value_unref(live->names[i]);
        memmove(&live->names[i], &live->names[i + 1], (shown - i - 1) * sizeof live->names[0]);
        live->names[shown - 1] = NULL;
        break;
    }
    if (live->running) live->running--;
}

/* The rest of a line: what a component says is shown on one, and cannot act on the terminal. */
static void show_error(tn_value error) {
    struct buffer safe;
    buffer_init(&safe, SIZE_MAX);
    if (error) diagnostic_text(&safe, value_chars(value_get(error, "message"), NULL));
    fprintf(stderr, "%s%s\n", error ? "  " : "", buffer_cstr(&safe));
    buffer_finish(&safe);
}

/* The last row is of every other outcome. */
static const struct mark {
    const char *outcome, *colour, *sign;
} marks[] = {{"done", "\033[32m", "✓"}, {"interrupted", "\033[33m", "?"}, {NULL, "\033[31m", "✗"}};

static void show_end(struct live *live, tn_value event, tn_value node) {
    tn_value outcome = value_get(event, "outcome"), error = value_get(event, "error"), item = value_get(event, "item");
    const struct mark *mark = marks;
    while (mark->outcome && !value_text_is(outcome, mark->outcome)) mark++;
    clear_bottom(live);
    fprintf(stderr, "%s%s%s %3lld  %s", paint(live, mark->colour), mark->sign, paint(live, "\033[0m"),
            (long long)value_to_int(value_get(event, "step")), value_chars(node, NULL));
    if (item) fprintf(stderr, "[%lld]", (long long)value_to_int(item));
    fprintf(stderr, "  %s%lld ms%s", paint(live, "\033[2m"), (long long)value_to_int(value_get(event, "ms")),
            paint(live, "\033[0m"));
    show_error(error);
}

static void show_data(struct live *live, tn_value node, tn_value data) {
    char *text = json_text(data, JSON_COMPACT);
    size_t length = strlen(text);
    if (length > DATA_MAX) {
        length = DATA_MAX;
        while (length && ((unsigned char)text[length] & 0xc0) == 0x80) length--; /* not inside a character */
    }
    clear_bottom(live);
    fputs(paint(live, "\033[2m"), stderr);
    command_say(stderr, "     %s: %.*s", value_chars(node, NULL), (int)length, text);
    fprintf(stderr, "%s\n", paint(live, "\033[0m"));
    mem_free(text);
}

void live_event(struct live *live, tn_value event) {
    tn_value node = value_get(event, "node"), what = value_get(event, "event"), data = value_get(event, "data");
    tn_value delta = value_get(event, "delta"), words = delta ? value_get(delta, "content") : NULL;
    if (!node) return;
    if (words && value_is(words, TN_STRING)) {
        add_words(live, words);
    } else if (delta) {
        if (value_get(delta, "done") || value_get(delta, "reset")) buffer_clear(&live->words);
    } else if (data) {
        show_data(live, node, data);
    } else if (value_text_is(what, "start")) {
        add_running(live, node);
    } else if (value_text_is(what, "end")) {
        remove_running(live, node);
        show_end(live, event, node);
    } else if (value_text_is(what, "retry")) {
        remove_running(live, node);
        clear_bottom(live);
        tn_value error = value_get(event, "error");
        fprintf(stderr, "%s↻%s      %s", paint(live, "\033[33m"), paint(live, "\033[0m"), value_chars(node, NULL));
        show_error(error);
    }
    draw_bottom(live);
}

void live_clear(struct live *live) {
    if (live) clear_bottom(live);
}

static void show_used(const struct run *run) {
    tn_value used = run_used(run), cost = used ? value_get(used, "cost") : NULL;
    if (!used) return;
    long long tokens = (long long)value_to_int(value_get(used, "total_tokens"));
    fprintf(stderr, ", %lld token%s", tokens, tokens == 1 ? "" : "s");
    if (cost) fprintf(stderr, ", cost %.4g", value_to_double(cost));
    value_unref(used);
}

void live_end(struct live *live, struct run *run) {
    if (!live) return;
    clear_bottom(live);
    fprintf(stderr, "%s%s%s after %u step%s, %lld ms", paint(live, "\033[1m"), run_status_name(run_status(run)),
            paint(live, "\033[0m"), run_steps(run), run_steps(run) == 1 ? "" : "s",
            (long long)(clock_now_ms() - live->started_ms));
    show_used(run);
    fputc('\n', stderr);
    buffer_finish(&live->words);
    for (uint32_t i = 0; i < NAMES_MAX; i++) value_unref(live->names[i]);
    mem_free(live);
}
