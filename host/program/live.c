/*
 * live.c - draws the live view. Lines of finished activations scroll up; the bottom line is rewritten in place.
 */
#include "host/program/live.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/terminal.h"
#include "host/base/clock.h"
#include "host/engine/graph/graph.h"
#include "host/program/command.h"
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 8u   /* running nodes named on the bottom line */
#define DATA_MAX  100u /* bytes shown of an emitted value */
#define WORDS_MAX 60u  /* last characters of a model's answer, shown at the end of the bottom line */

struct live {
    bool colour, bottom; /* bottom: the bottom line is drawn */
    int64_t started_ms;
    uint32_t running;
    tn_value names[NAMES_MAX];
    struct buffer words; /* the end of the text that models have streamed in this step */
};

static const char *live_paint(const struct live *live, const char *code) { return live->colour ? code : ""; }

struct live *live_new(const struct graph *graph, bool colour) {
    struct live *live = mem_zalloc(sizeof *live);
    live->colour = colour;
    live->started_ms = clock_now_ms();
    buffer_init(&live->words, SIZE_MAX);
    uint32_t nodes = graph->document->node_count;
    fputs(live_paint(live, "\033[1m"), stderr);
    command_printf(stderr, "%s", value_chars(graph->document->name, NULL));
    fprintf(stderr, "%s: %u node%s\n", live_paint(live, "\033[0m"), nodes, nodes == 1 ? "" : "s");
    return live;
}

static void live_clear_bottom(struct live *live) {
    if (live->bottom) fputs("\r\033[K", stderr);
    live->bottom = false;
}

static void live_draw_bottom(struct live *live) {
    live_clear_bottom(live);
    if (!live->running) return;
    fprintf(stderr, "%s…", live_paint(live, "\033[2m"));
    for (uint32_t i = 0; i < live->running && i < NAMES_MAX; i++)
        command_printf(stderr, " %s", live->names[i] ? value_chars(live->names[i], NULL) : "");
    if (live->running > NAMES_MAX) fprintf(stderr, " and %u more", live->running - NAMES_MAX);
    if (live->words.length) command_printf(stderr, ": %s", buffer_cstr(&live->words));
    fputs(live_paint(live, "\033[0m"), stderr);
    live->bottom = true;
    fflush(stderr);
}

/* Appends text as one line and keeps its last WORDS_MAX characters. */
static void live_add_words(struct live *live, tn_value text) {
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

static void live_add_running(struct live *live, tn_value node) {
    if (live->running < NAMES_MAX) live->names[live->running] = value_ref(node);
    live->running++;
}

static void live_remove_running(struct live *live, tn_value node) {
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

/* Prints an error as the rest of a line. Control characters are replaced, so the text cannot control the terminal. */
static void live_show_error(tn_value error) {
    struct buffer safe;
    tn_value message = value_get(error, "message");
    size_t length = 0;
    const char *text = message ? value_chars(message, &length) : "";
    buffer_init(&safe, SIZE_MAX);
    terminal_text(&safe, text, length, TERMINAL_LINE);
    fprintf(stderr, "%s%s\n", error ? "  " : "", buffer_cstr(&safe));
    buffer_finish(&safe);
}

/* The last row is for all other outcomes. */
static const struct mark {
    const char *outcome, *colour, *sign;
} marks[] = {{"done", "\033[32m", "✓"}, {"interrupted", "\033[33m", "?"}, {NULL, "\033[31m", "✗"}};

static void live_show_end(struct live *live, tn_value event, tn_value node) {
    tn_value outcome = value_get(event, "outcome"), error = value_get(event, "error"), item = value_get(event, "item");
    const struct mark *mark = marks;
    while (mark->outcome && !value_text_is(outcome, mark->outcome)) mark++;
    live_clear_bottom(live);
    fprintf(stderr, "%s%s%s %3lld  ", live_paint(live, mark->colour), mark->sign, live_paint(live, "\033[0m"),
            (long long)value_to_int(value_get(event, "step")));
    command_printf(stderr, "%s", value_chars(node, NULL));
    if (item) fprintf(stderr, "[%lld]", (long long)value_to_int(item));
    fprintf(stderr, "  %s%lld ms%s", live_paint(live, "\033[2m"), (long long)value_to_int(value_get(event, "ms")),
            live_paint(live, "\033[0m"));
    live_show_error(error);
}

static void live_show_data(struct live *live, tn_value node, tn_value data) {
    char *text = json_text(data, JSON_COMPACT);
    size_t length = strlen(text);
    if (length > DATA_MAX) {
        length = DATA_MAX;
        while (length && ((unsigned char)text[length] & 0xc0) == 0x80) length--; /* not inside a character */
    }
    live_clear_bottom(live);
    fputs(live_paint(live, "\033[2m"), stderr);
    command_printf(stderr, "     %s: %.*s", value_chars(node, NULL), (int)length, text);
    fprintf(stderr, "%s\n", live_paint(live, "\033[0m"));
    mem_free(text);
}

void live_event(struct live *live, tn_value event) {
    tn_value node = value_get(event, "node"), what = value_get(event, "event"), data = value_get(event, "data");
    tn_value delta = value_get(event, "delta"), words = delta ? value_get(delta, "content") : NULL;
    if (!node) return;
    if (words && value_is(words, TN_STRING)) {
        live_add_words(live, words);
    } else if (delta) {
        if (value_get(delta, "done") || value_get(delta, "reset")) buffer_clear(&live->words);
    } else if (data) {
        live_show_data(live, node, data);
    } else if (value_text_is(what, "start")) {
        live_add_running(live, node);
    } else if (value_text_is(what, "end")) {
        live_remove_running(live, node);
        live_show_end(live, event, node);
    } else if (value_text_is(what, "retry")) {
        live_remove_running(live, node);
        live_clear_bottom(live);
        tn_value error = value_get(event, "error");
        fprintf(stderr, "%s↻%s      ", live_paint(live, "\033[33m"), live_paint(live, "\033[0m"));
        command_printf(stderr, "%s", value_chars(node, NULL));
        live_show_error(error);
    }
    live_draw_bottom(live);
}

void live_clear(struct live *live) {
    if (live) live_clear_bottom(live);
}

static void live_show_usage(const struct run *run) {
    tn_value used = run_usage(run), cost = used ? value_get(used, "cost") : NULL;
    if (!used) return;
    long long tokens = (long long)value_to_int(value_get(used, "total_tokens"));
    fprintf(stderr, ", %lld token%s", tokens, tokens == 1 ? "" : "s");
    if (cost) fprintf(stderr, ", cost %.4g", value_to_double(cost));
    value_unref(used);
}

void live_end(struct live *live, struct run *run) {
    if (!live) return;
    live_clear_bottom(live);
    fprintf(stderr, "%s%s%s after %u step%s, %lld ms", live_paint(live, "\033[1m"), run_status_name(run_status(run)),
            live_paint(live, "\033[0m"), run_steps(run), run_steps(run) == 1 ? "" : "s",
            (long long)(clock_now_ms() - live->started_ms));
    live_show_usage(run);
    fputc('\n', stderr);
    buffer_finish(&live->words);
    for (uint32_t i = 0; i < NAMES_MAX; i++) value_unref(live->names[i]);
    mem_free(live);
}
