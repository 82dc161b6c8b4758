/*
 * live.c - draws the live view. Lines of finished activations scroll up; the bottom line is rewritten in place.
 *
 * The bottom line names the running nodes, with the time since they were started and, for a map, the number of items
 * that have ended. It must change while nothing happens. A timer of the loop would hide that a run waits for nothing,
 * so a thread wakes the loop each second, and live_tick draws the line again.
 */
#include "host/program/live.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/terminal.h"
#include "host/base/clock.h"
#include "host/base/loop.h"
#include "host/engine/execution/invocation.h"
#include "host/engine/graph/graph.h"
#include "host/program/command.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define NODES_MAX 8u   /* running nodes named on the bottom line */
#define TICK_MS   1000 /* between two updates of the times */
#define DATA_MAX  100u /* bytes shown of an emitted value */
#define WORDS_MAX 60u  /* last characters of a model's answer, shown at the end of the bottom line */

/* A node of the current step that has not ended, or a map over it that has not ended. */
struct live_node {
    tn_value node, path;            /* path: NULL for a node of the outermost run; both owned */
    uint32_t running, ended, total; /* activations; total is 0 if it is unknown, and without a map */
    int64_t started_ms;
};

struct live {
    bool colour, bottom; /* bottom: the bottom line is drawn */
    int64_t started_ms, drawn_ms;
    int64_t step; /* of the outermost run */
    struct live_node *nodes;
    uint32_t node_count, node_capacity;
    struct buffer words; /* the end of the text that models have streamed in this step */
    struct loop *loop;
    pthread_t ticker;
    bool ticks;                /* the thread was started */
    pthread_mutex_t tick_lock; /* guards `ends` */
    pthread_cond_t tick_ends;
    bool ends;
};

static const char *live_paint(const struct live *live, const char *code) { return live->colour ? code : ""; }

/* ---- The thread that wakes the loop ---- */

static void *live_ticker_main(void *user) {
    struct live *live = user;
    pthread_mutex_lock(&live->tick_lock);
    while (!live->ends) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += TICK_MS / 1000;
        pthread_cond_timedwait(&live->tick_ends, &live->tick_lock, &until);
        if (!live->ends) loop_wake(live->loop);
    }
    pthread_mutex_unlock(&live->tick_lock);
    return NULL;
}

/* Signals are for the thread of the loop, which waits for them. Without the thread, the times are updated by events. */
static void live_start_ticker(struct live *live) {
    sigset_t all, before;
    pthread_mutex_init(&live->tick_lock, NULL);
    pthread_cond_init(&live->tick_ends, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    live->ticks = pthread_create(&live->ticker, NULL, live_ticker_main, live) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void live_stop_ticker(struct live *live) {
    pthread_mutex_lock(&live->tick_lock);
    live->ends = true;
    pthread_cond_signal(&live->tick_ends);
    pthread_mutex_unlock(&live->tick_lock);
    if (live->ticks) pthread_join(live->ticker, NULL);
    pthread_mutex_destroy(&live->tick_lock);
    pthread_cond_destroy(&live->tick_ends);
}

/* ---- The view ---- */

struct live *live_new(const struct graph *graph, struct loop *loop, bool colour) {
    struct live *live = mem_zalloc(sizeof *live);
    live->colour = colour;
    live->loop = loop;
    live_start_ticker(live);
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

/* " fetch 12s", " judge 128/300 3m05s". */
static void live_draw_node(const struct live_node *node, int64_t now_ms) {
    long long seconds = (long long)(now_ms - node->started_ms) / 1000;
    command_printf(stderr, " %s", value_chars(node->node, NULL));
    if (node->total) fprintf(stderr, " %u/%u", node->ended, node->total);
    if (seconds >= 60)
        fprintf(stderr, " %lldm%02llds", seconds / 60, seconds % 60);
    else if (seconds > 0)
        fprintf(stderr, " %llds", seconds);
}

static void live_draw_bottom(struct live *live) {
    live_clear_bottom(live);
    live->drawn_ms = clock_now_ms();
    if (!live->node_count) return;
    fprintf(stderr, "%s…", live_paint(live, "\033[2m"));
    for (uint32_t i = 0; i < live->node_count && i < NODES_MAX; i++) {
        if (i) fputc(',', stderr);
        live_draw_node(&live->nodes[i], live->drawn_ms);
    }
    if (live->node_count > NODES_MAX) fprintf(stderr, " and %u more", live->node_count - NODES_MAX);
    if (live->words.length) command_printf(stderr, ": %s", buffer_cstr(&live->words));
    fputs(live_paint(live, "\033[0m"), stderr);
    live->bottom = true;
    fflush(stderr);
}

void live_tick(struct live *live) {
    if (live && live->bottom && clock_now_ms() - live->drawn_ms >= TICK_MS) live_draw_bottom(live);
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

static bool same_or_both_null(tn_value one, tn_value other) {
    return one && other ? value_equal(one, other) : one == other;
}

static struct live_node *live_find_node(struct live *live, tn_value event) {
    for (uint32_t i = 0; i < live->node_count; i++)
        if (value_equal(live->nodes[i].node, value_get(event, "node")) &&
            same_or_both_null(live->nodes[i].path, value_get(event, "path")))
            return &live->nodes[i];
    return NULL;
}

static void live_remove_node(struct live *live, struct live_node *node) {
    value_unref(node->node);
    value_unref(node->path);
    live->node_count--;
    memmove(node, node + 1, (live->node_count - (size_t)(node - live->nodes)) * sizeof *node);
}

/* A map whose other items were not started any more does not end; it disappears with its step. */
static void live_begin_step(struct live *live, int64_t step) {
    if (live->step == step) return;
    live->step = step;
    for (uint32_t i = live->node_count; i-- > 0;)
        if (!live->nodes[i].running) live_remove_node(live, &live->nodes[i]);
}

static void live_add_running(struct live *live, const struct invocation *invocation, tn_value event) {
    if (!value_get(event, "path")) live_begin_step(live, value_to_int(value_get(event, "step")));
    struct live_node *node = live_find_node(live, event);
    tn_value path = value_get(event, "path");
    if (!node) {
        MEM_GROW(live->nodes, live->node_count, live->node_capacity);
        node = &live->nodes[live->node_count++];
        *node = (struct live_node){.node = value_ref(value_get(event, "node")),
                                   .path = path ? value_ref(path) : NULL,
                                   .started_ms = clock_now_ms()};
        if (value_get(event, "item") && !path) node->total = invocation_mapped_items(invocation, node->node);
    }
    node->running++;
}

/* `ended`: the activation is not attempted again. A map stays until all of its items have ended. */
static void live_remove_running(struct live *live, tn_value event, bool ended) {
    struct live_node *node = live_find_node(live, event);
    if (!node) return;
    if (node->running) node->running--;
    node->ended += ended;
    if (!node->running && node->ended >= node->total) live_remove_node(live, node);
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

void live_event(struct live *live, const struct invocation *invocation, tn_value event) {
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
        live_add_running(live, invocation, event);
    } else if (value_text_is(what, "end")) {
        live_remove_running(live, event, true);
        live_show_end(live, event, node);
    } else if (value_text_is(what, "retry")) {
        live_remove_running(live, event, false);
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

static void live_show_last(struct live *live, tn_value report) {
    tn_value used = value_get(report, "usage"), cost = value_get(used, "cost"), steps = value_get(report, "steps");
    long long count = steps ? (long long)value_to_int(steps) : 0;
    fprintf(stderr, "%s%s%s after %lld step%s, %lld ms", live_paint(live, "\033[1m"),
            command_text(report, "status", ""), live_paint(live, "\033[0m"), count, count == 1 ? "" : "s",
            (long long)(clock_now_ms() - live->started_ms));
    if (used) {
        long long tokens = (long long)value_to_int(value_get(used, "total_tokens"));
        fprintf(stderr, ", %lld token%s", tokens, tokens == 1 ? "" : "s");
    }
    if (cost) fprintf(stderr, ", cost %.4g", value_to_double(cost));
    fputc('\n', stderr);
}

void live_end(struct live *live, tn_value report) {
    if (!live) return;
    live_stop_ticker(live);
    live_clear_bottom(live);
    if (report) live_show_last(live, report);
    buffer_finish(&live->words);
    while (live->node_count) live_remove_node(live, &live->nodes[live->node_count - 1]);
    mem_free(live->nodes);
    mem_free(live);
}
