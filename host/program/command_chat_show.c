/*
 * command_chat_show.c - prints text, tool calls and their results, on a terminal or into a pipe.
 *
 * Events can report the same message more than once: from the node inside an agent and from the agent, or from a node
 * that writes the whole conversation again. If a nested graph has reported messages, in this process or in an earlier
 * one, the messages of its node are not printed again. A message has no id until a channel assigns one; a message
 * without an id is new, even if the model repeats the ids of tool calls. Text is printed as it is streamed; text that
 * was not streamed is printed at the end of the turn.
 */
#include "host/program/command_chat_show.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/engine/model/message_text.h"
#include "host/program/approve.h"
#include "host/program/command.h"
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX   240         /* bytes shown of arguments and results */
#define ANSWER_MAX  (64u << 20) /* bytes of an answer */
#define THOUGHT_MAX (4u << 20)  /* bytes of reasoning that are kept for a turn */
#define SOURCES_MAX 1000u       /* sources that are kept for a turn */
#define HOSTS_SHOWN 3u          /* names of sources in the line about them */

void chat_show_init(struct chat_show *show, bool colour, bool streams) {
    *show = (struct chat_show){.colour = colour, .streams = streams};
    show->shown = value_object();
    show->nested_paths = value_object();
    buffer_init(&show->answer, ANSWER_MAX);
    buffer_init(&show->thought, THOUGHT_MAX);
    show->sources = value_array();
}

void chat_show_finish(struct chat_show *show) {
    buffer_finish(&show->answer);
    buffer_finish(&show->thought);
    value_unref(show->sources);
    value_unref(show->last);
    value_unref(show->shown);
    value_unref(show->nested_paths);
}

void chat_show_line(struct chat_show *show) {
    if (!show->line_open) return;
    putchar('\n');
    fflush(stdout);
    show->line_open = false;
}

/* ---- Text ---- */

/* A message's text, with names for its other parts; a new reference. */
static tn_value chat_text(tn_value message) {
    tn_value content = value_get(message, "content");
    if (!content || value_is(content, TN_STRING)) return content ? value_ref(content) : value_text("");
    struct buffer text;
    buffer_init(&text, ANSWER_MAX);
    for (size_t i = 0; value_is(content, TN_ARRAY) && i < value_count(content); i++) {
        tn_value part = value_at(content, i), words = value_get(part, "text"), type = value_get(part, "type");
        if (value_text_is(type, "text") && value_is(words, TN_STRING))
            buffer_text(&text, value_chars(words, NULL));
        else if (value_is(type, TN_STRING) && !value_text_is(type, "reasoning") && !value_text_is(type, "source"))
            buffer_format(&text, "[%s]", value_chars(type, NULL));
    }
    tn_value joined = value_string_lossy(buffer_cstr(&text), text.length);
    buffer_finish(&text);
    return joined;
}

static void chat_show_text(struct chat_show *show, tn_value words) {
    size_t length;
    const char *text = value_chars(words, &length);
    if (length == 0) return;
    show->thinking = false;
    buffer_append(&show->answer, text, length);
    if (!show->streams) return;
    command_put(stdout, text, length);
    fflush(stdout);
    show->line_open = text[length - 1] != '\n';
}

static void chat_show_answer_end(struct chat_show *show) {
    if (!show->streams && show->answer.length) {
        const char *text = buffer_cstr(&show->answer);
        command_put(stdout, text, show->answer.length);
        show->line_open = text[show->answer.length - 1] != '\n';
    }
    chat_show_line(show);
    if (show->answer.length) {
        value_unref(show->last);
        show->last = value_string_lossy(buffer_cstr(&show->answer), show->answer.length);
    }
    buffer_clear(&show->answer);
}

/* ---- Notes beside the text ---- */

static const char *chat_style_dim(const struct chat_show *show) { return show->colour ? "\033[2m" : ""; }
static const char *chat_style_plain(const struct chat_show *show) { return show->colour ? "\033[0m" : ""; }

/* One line, cut between characters. */
static void chat_show_note(struct chat_show *show, const char *mark, const char *name, const char *text) {
    size_t length = strlen(text), cut = length;
    chat_show_line(show);
    if (show->quiet) return;
    if (cut > SHOWN_MAX) {
        cut = SHOWN_MAX;
        while (cut && ((unsigned char)text[cut] & 0xc0) == 0x80) cut--;
    }
    fputs(chat_style_dim(show), stderr);
    struct buffer line;
    buffer_init(&line, SIZE_MAX);
    buffer_format(&line, "%s %s ", mark, name);
    buffer_append(&line, text, cut);
    for (size_t i = 0; i < line.length; i++)
        if (line.data[i] == '\n' || line.data[i] == '\r' || line.data[i] == '\t') line.data[i] = ' ';
    command_printf(stderr, "%s%s", buffer_cstr(&line), cut < length ? "…" : "");
    buffer_finish(&line);
    fprintf(stderr, "%s\n", chat_style_plain(show));
}

/* ---- Reasoning, sources, images ---- */

static void chat_show_reasoning(struct chat_show *show, tn_value text) {
    size_t length;
    const char *words = value_chars(text, &length);
    if (!show->terminal || length == 0) return;
    if (!show->thinking) {
        if (show->thought.length) buffer_text(&show->thought, "\n\n");
        chat_show_note(show, "∴", "thinking…", "/more shows it");
    }
    show->thinking = true;
    buffer_append(&show->thought, words, length);
}

/* A part that is not text: an image, audio, a source, or reasoning that was not streamed. */
static void chat_show_part(struct chat_show *show, tn_value part) {
    tn_value type = value_get(part, "type"), text = value_get(part, "text");
    if (!show->terminal) return;
    if (value_text_is(type, "source")) {
        if (value_count(show->sources) < SOURCES_MAX) show->sources = value_push_take(show->sources, value_ref(part));
    } else if (value_text_is(type, "reasoning")) {
        if (value_is(text, TN_STRING)) chat_show_reasoning(show, text);
    } else if (!value_text_is(type, "text") && !value_text_is(type, "refusal")) {
        chat_show_line(show);
        chat_media_show(&show->media, part);
        show->media_shown++;
    }
}

/* The name of a source: the host of its URL, else its title. Appended without control characters by the caller. */
static void append_source_name(struct buffer *out, tn_value source) {
    const char *url = command_text(source, "url", ""), *host = strstr(url, "://");
    if (host)
        buffer_append(out, host + 3, strcspn(host + 3, "/?#"));
    else
        buffer_text(out, command_text(source, "title", "?"));
}

static void chat_show_sources(struct chat_show *show) {
    size_t count = value_count(show->sources);
    struct buffer names;
    if (!count) return;
    buffer_init(&names, SIZE_MAX);
    for (size_t i = 0; i < count && i < HOSTS_SHOWN; i++) {
        buffer_text(&names, i ? ", " : "");
        append_source_name(&names, value_at(show->sources, i));
    }
    buffer_text(&names, count > HOSTS_SHOWN ? ", …; /more shows them" : "; /more shows them");
    chat_show_note(show, "·", count == 1 ? "1 source:" : "sources:", buffer_cstr(&names));
    buffer_finish(&names);
}

void chat_show_folded(struct chat_show *show) {
    if (show->thought.length) command_printf(stderr, "%s\n", buffer_cstr(&show->thought));
    if (show->thought.overflow) fputs("… (the rest is not kept)\n", stderr);
    for (size_t i = 0; i < value_count(show->sources); i++) {
        tn_value source = value_at(show->sources, i);
        command_print_line(stderr, "%3zu. %s %s", i + 1, command_text(source, "title", ""),
                           command_text(source, "url", ""));
    }
    if (!show->thought.length && !value_count(show->sources))
        fputs("the last answer has neither reasoning nor sources\n", stderr);
}

void chat_show_begin(struct chat_show *show) {
    buffer_clear(&show->thought);
    value_unref(show->sources);
    show->sources = value_array();
    show->thinking = false;
    show->media_shown = 0;
}

/* ---- Usage ---- */

static double usage_grown(tn_value before, tn_value after, const char *key) {
    tn_value old = value_get(before, key), now = value_get(after, key);
    double from = old ? value_to_double(old) : 0, to = now ? value_to_double(now) : 0;
    return to > from ? to - from : 0;
}

void chat_show_usage(struct chat_show *show, tn_value before, tn_value after) {
    double in = usage_grown(before, after, "input_tokens"), out = usage_grown(before, after, "output_tokens");
    double cached = usage_grown(before, after, "cached_tokens"), cost = usage_grown(before, after, "cost");
    struct buffer line;
    if (!show->terminal || (in == 0 && out == 0 && cost == 0)) return;
    buffer_init(&line, SIZE_MAX);
    if (cached > 0) buffer_format(&line, "(%.0f cached) ", cached);
    buffer_format(&line, "%.0f out", out);
    if (cost > 0) buffer_format(&line, ", cost %.4g", cost);
    char name[64];
    snprintf(name, sizeof name, "%.0f tokens in,", in);
    chat_show_note(show, "·", name, buffer_cstr(&line));
    buffer_finish(&line);
}

/* ---- Calls of tools ---- */

/* True if the call `id` of `message` (mark "") or its result (mark "=") has not been printed yet. */
static bool chat_show_is_new(struct chat_show *show, const char *mark, tn_value message, tn_value id) {
    tn_value own = value_get(message, "id");
    if (!value_is(id, TN_STRING)) return true;
    tn_value key = value_format("%s%s", mark, value_chars(id, NULL));
    bool fresh = true;
    if (value_is(own, TN_STRING)) {
        tn_value whole = value_format("%s\n%s", value_chars(key, NULL), value_chars(own, NULL));
        fresh = !value_get_key(show->shown, key) && !value_get_key(show->shown, whole);
        value_unref(key);
        key = whole;
    }
    show->shown = value_set_key_take(show->shown, key, value_bool(true));
    return fresh;
}

static void chat_show_call(struct chat_show *show, tn_value name, tn_value arguments) {
    char *text = arguments ? json_text(arguments, JSON_COMPACT) : mem_text("");
    chat_show_note(show, "→", value_is(name, TN_STRING) ? value_chars(name, NULL) : "?", text);
    mem_free(text);
}

static void chat_show_message(struct chat_show *show, tn_value message) {
    tn_value type = value_get(message, "type"), calls = value_get(message, "tool_calls");
    for (size_t i = 0; value_is(calls, TN_ARRAY) && i < value_count(calls); i++) {
        tn_value call = value_at(calls, i);
        if (chat_show_is_new(show, "", message, value_get(call, "id")))
            chat_show_call(show, value_get(call, "name"), value_get(call, "arguments"));
    }
    if (!value_text_is(type, "tool") || !chat_show_is_new(show, "=", message, value_get(message, "tool_call_id")))
        return;
    tn_value text = chat_text(message), name = value_get(message, "name");
    bool failed = value_text_is(value_get(message, "status"), "error");
    chat_show_note(show, failed ? "✗" : "←", value_is(name, TN_STRING) ? value_chars(name, NULL) : "",
                   value_chars(text, NULL));
    value_unref(text);
}

void chat_show_waiting(struct chat_show *show, tn_value interrupts) {
    tn_value approvals = approval_questions(interrupts);
    for (size_t i = 0; i < value_count(approvals); i++) {
        tn_value request = value_get(value_at(approvals, i), "payload");
        if (value_get(request, "tool")) /* not of a node */
            chat_show_call(show, value_get(request, "tool"), value_get(request, "arguments"));
    }
    value_unref(approvals);
}

/* ---- Nested graphs ---- */

/* A key for the graph that `node` runs in the graph at `path`, or for the graph at `path` itself if `node` is NULL. */
static tn_value nested_path_key(tn_value path, tn_value node) {
    tn_value whole = value_is(path, TN_ARRAY) ? value_ref(path) : value_array();
    if (node) whole = value_push_take(whole, value_ref(node));
    char *text = json_text(whole, JSON_COMPACT);
    tn_value key = value_text(text);
    mem_free(text);
    value_unref(whole);
    return key;
}

static void chat_show_add_nested(struct chat_show *show, tn_value path) {
    if (path)
        show->nested_paths = value_set_key_take(show->nested_paths, nested_path_key(path, NULL), value_bool(true));
}

static bool chat_show_is_nested(const struct chat_show *show, tn_value event) {
    tn_value key = nested_path_key(value_get(event, "path"), value_get(event, "node"));
    bool reported = value_get_key(show->nested_paths, key) != NULL;
    value_unref(key);
    return reported;
}

/* ---- Events ---- */

static void chat_show_delta(struct chat_show *show, tn_value delta) {
    tn_value content = value_get(delta, "content"), reset = value_get(delta, "reset");
    tn_value reasoning = value_get(delta, "reasoning"), part = value_get(delta, "part");
    if (value_is(content, TN_STRING)) chat_show_text(show, content);
    if (value_is(reasoning, TN_STRING)) chat_show_reasoning(show, reasoning);
    if (value_is(part, TN_OBJECT)) chat_show_part(show, part);
    if (reset) {
        tn_value model = value_get(reset, "model");
        buffer_clear(&show->answer);
        chat_show_begin(show);
        chat_show_note(show, "↻", "restarted", value_is(model, TN_STRING) ? value_chars(model, NULL) : "");
    }
    if (value_get(delta, "done")) chat_show_answer_end(show);
}

static void chat_show_writes(struct chat_show *show, tn_value writes) {
    for (size_t i = 0; value_is(writes, TN_OBJECT) && i < value_count(writes); i++) {
        tn_value written = value_value_at(writes, i);
        if (value_is(written, TN_OBJECT)) chat_show_message(show, written);
        for (size_t k = 0; value_is(written, TN_ARRAY) && k < value_count(written); k++)
            if (value_is(value_at(written, k), TN_OBJECT)) chat_show_message(show, value_at(written, k));
    }
}

void chat_show_event(struct chat_show *show, tn_value event) {
    tn_value delta = value_get(event, "delta"), writes = value_get(event, "writes");
    chat_show_add_nested(show, value_get(event, "path"));
    if (delta) chat_show_delta(show, delta);
    if (writes && !chat_show_is_nested(show, event)) chat_show_writes(show, writes);
    if (value_text_is(value_get(event, "event"), "retry")) {
        tn_value message = value_get(value_get(event, "error"), "message");
        buffer_clear(&show->answer);
        chat_show_note(show, "↻", "retry:", value_is(message, TN_STRING) ? value_chars(message, NULL) : "");
    }
}

/* Prints an answer that was not streamed. */
static void chat_show_whole(struct chat_show *show, tn_value message, tn_value text) {
    tn_value content = value_get(message, "content");
    chat_show_text(show, text);
    for (size_t i = 0; value_is(content, TN_ARRAY) && i < value_count(content); i++)
        chat_show_part(show, value_at(content, i));
    chat_show_answer_end(show);
}

void chat_show_rest(struct chat_show *show, tn_value messages, size_t from) {
    chat_show_answer_end(show);
    for (size_t i = from; value_is(messages, TN_ARRAY) && i < value_count(messages); i++) {
        tn_value message = value_at(messages, i);
        if (!value_text_is(value_get(message, "type"), "ai") || value_get(message, "tool_calls")) continue;
        /* In a pipe, the other parts are at least named. */
        tn_value text = show->terminal ? message_text(value_get(message, "content")) : chat_text(message);
        tn_value streamed = show->terminal ? value_ref(text) : message_text(value_get(message, "content"));
        bool empty = value_text_is(streamed, "");
        bool known = show->last ? value_equal(show->last, streamed) : show->media_shown > 0 && empty;
        if (!known) chat_show_whole(show, message, text);
        value_unref(streamed);
        value_unref(text);
    }
    chat_show_sources(show);
    buffer_clear(&show->answer);
    value_unref(show->last);
    show->last = NULL;
}

void chat_show_history(tn_value messages) {
    for (size_t i = 0; value_is(messages, TN_ARRAY) && i < value_count(messages); i++) {
        tn_value message = value_at(messages, i), type = value_get(message, "type"), calls, text;
        if (!value_is(type, TN_STRING)) continue;
        text = chat_text(message);
        command_printf(stderr, "%-6s %s\n", value_chars(type, NULL), value_chars(text, NULL));
        calls = value_get(message, "tool_calls");
        for (size_t k = 0; value_is(calls, TN_ARRAY) && k < value_count(calls); k++) {
            tn_value name = value_get(value_at(calls, k), "name");
            if (value_is(name, TN_STRING)) command_printf(stderr, "       → %s\n", value_chars(name, NULL));
        }
        value_unref(text);
    }
}
