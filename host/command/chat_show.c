/*
 * chat_show.c - words, tool calls and their results, on a terminal or into a pipe.
 *
 * The same message may be told more than once: by the node inside an agent, and by the agent; or by a node that writes
 * the conversation anew. What a graph inside has told, in this process or in one before, its node does not tell again.
 * A message has no id before a channel has given it one: such a one is new, although models repeat the ids of calls.
 * Text is shown as it is streamed, and what was not streamed is shown when the turn is over.
 */
#include "host/command/chat_show.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/command/approve.h"
#include "host/command/command.h"
#include <stdio.h>
#include <string.h>

#define SHOWN_MAX 240         /* bytes of arguments and results that are shown */
#define SAID_MAX  (64u << 20) /* bytes of an answer */

void chat_show_init(struct chat_show *show, bool colour, bool streams) {
    *show = (struct chat_show){.colour = colour, .streams = streams};
    show->shown = value_object();
    show->inside_of = value_object();
    buffer_init(&show->said, SAID_MAX);
}

void chat_show_finish(struct chat_show *show) {
    buffer_finish(&show->said);
    value_unref(show->last);
    value_unref(show->shown);
    value_unref(show->inside_of);
}

void chat_show_line(struct chat_show *show) {
    if (!show->inside) return;
    putchar('\n');
    fflush(stdout);
    show->inside = false;
}

/* ---- Text ---- */

tn_value chat_text(tn_value message) {
    tn_value content = value_get(message, "content");
    if (!content || value_is(content, TN_STRING)) return content ? value_ref(content) : value_text("");
    struct buffer text;
    buffer_init(&text, SAID_MAX);
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

static void say(struct chat_show *show, tn_value words) {
    size_t length;
    const char *text = value_chars(words, &length);
    if (length == 0) return;
    buffer_append(&show->said, text, length);
    if (!show->streams) return;
    command_say(stdout, "%s", text);
    fflush(stdout);
    show->inside = text[length - 1] != '\n';
}

static void answer_over(struct chat_show *show) {
    if (!show->streams && show->said.length) {
        const char *text = buffer_cstr(&show->said);
        command_say(stdout, "%s", text);
        show->inside = text[show->said.length - 1] != '\n';
    }
    chat_show_line(show);
    if (show->said.length) {
        value_unref(show->last);
        show->last = value_string_lossy(buffer_cstr(&show->said), show->said.length);
    }
    buffer_clear(&show->said);
}

/* ---- Notes beside the text ---- */

static const char *dim(const struct chat_show *show) { return show->colour ? "\033[2m" : ""; }
static const char *plain(const struct chat_show *show) { return show->colour ? "\033[0m" : ""; }

/* One line, cut between characters. */
static void note(struct chat_show *show, const char *mark, const char *name, const char *text) {
    size_t length = strlen(text), cut = length;
    chat_show_line(show);
    if (cut > SHOWN_MAX) {
        cut = SHOWN_MAX;
        while (cut && ((unsigned char)text[cut] & 0xc0) == 0x80) cut--;
    }
    fputs(dim(show), stderr);
    char *one_line = mem_text_n(text, cut);
    for (char *at = one_line; *at; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t') *at = ' ';
    command_say(stderr, "%s %s %s%s", mark, name, one_line, cut < length ? "…" : "");
    mem_free(one_line);
    fprintf(stderr, "%s\n", plain(show));
}

/* Whether it is told for the first time: call `id`, or its result, as `mark` says, of `message`. */
static bool is_new(struct chat_show *show, const char *mark, tn_value message, tn_value id) {
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

static void show_call(struct chat_show *show, tn_value name, tn_value arguments) {
    char *text = arguments ? json_text(arguments, JSON_COMPACT) : mem_text("");
    note(show, "→", value_is(name, TN_STRING) ? value_chars(name, NULL) : "?", text);
    mem_free(text);
}

static void show_message(struct chat_show *show, tn_value message) {
    tn_value type = value_get(message, "type"), calls = value_get(message, "tool_calls");
    for (size_t i = 0; value_is(calls, TN_ARRAY) && i < value_count(calls); i++) {
        tn_value call = value_at(calls, i);
        if (is_new(show, "", message, value_get(call, "id")))
            show_call(show, value_get(call, "name"), value_get(call, "arguments"));
    }
    if (!value_text_is(type, "tool") || !is_new(show, "=", message, value_get(message, "tool_call_id"))) return;
    tn_value text = chat_text(message), name = value_get(message, "name");
    bool failed = value_text_is(value_get(message, "status"), "error");
    note(show, failed ? "✗" : "←", value_is(name, TN_STRING) ? value_chars(name, NULL) : "", value_chars(text, NULL));
    value_unref(text);
}

void chat_show_waiting(struct chat_show *show, tn_value interrupts) {
    tn_value approvals = approvals_of(interrupts);
    for (size_t i = 0; i < value_count(approvals); i++) {
        tn_value asked = value_get(value_at(approvals, i), "payload");
        show_call(show, value_get(asked, "tool"), value_get(asked, "arguments"));
    }
    value_unref(approvals);
}

/* ---- Graphs inside ---- */

/* The path of the graph that `node` of the graph at `path` runs, as a key; of that graph itself where `node` is NULL.
 */
static tn_value path_key(tn_value path, tn_value node) {
    tn_value whole = value_is(path, TN_ARRAY) ? value_ref(path) : value_array();
    if (node) whole = value_push_take(whole, value_ref(node));
    char *text = json_text(whole, JSON_COMPACT);
    tn_value key = value_text(text);
    mem_free(text);
    value_unref(whole);
    return key;
}

static void note_inside(struct chat_show *show, tn_value path) {
    if (path) show->inside_of = value_set_key_take(show->inside_of, path_key(path, NULL), value_bool(true));
}

static bool was_told_inside(const struct chat_show *show, tn_value event) {
    tn_value key = path_key(value_get(event, "path"), value_get(event, "node"));
    bool told = value_get_key(show->inside_of, key) != NULL;
    value_unref(key);
    return told;
}

/* ---- Events ---- */

static void show_delta(struct chat_show *show, tn_value delta) {
    tn_value content = value_get(delta, "content"), reset = value_get(delta, "reset");
    if (value_is(content, TN_STRING)) say(show, content);
    if (reset) {
        tn_value model = value_get(reset, "model");
        buffer_clear(&show->said);
        note(show, "↻", "begun again", value_is(model, TN_STRING) ? value_chars(model, NULL) : "");
    }
    if (value_get(delta, "done")) answer_over(show);
}

static void show_writes(struct chat_show *show, tn_value writes) {
    for (size_t i = 0; value_is(writes, TN_OBJECT) && i < value_count(writes); i++) {
        tn_value written = value_value_at(writes, i);
        if (value_is(written, TN_OBJECT)) show_message(show, written);
        for (size_t k = 0; value_is(written, TN_ARRAY) && k < value_count(written); k++)
            if (value_is(value_at(written, k), TN_OBJECT)) show_message(show, value_at(written, k));
    }
}

void chat_show_event(struct chat_show *show, tn_value event) {
    tn_value delta = value_get(event, "delta"), writes = value_get(event, "writes");
    note_inside(show, value_get(event, "path"));
    if (delta) show_delta(show, delta);
    if (writes && !was_told_inside(show, event)) show_writes(show, writes);
    if (value_text_is(value_get(event, "event"), "retry")) {
        tn_value message = value_get(value_get(event, "error"), "message");
        buffer_clear(&show->said);
        note(show, "↻", "tried again:", value_is(message, TN_STRING) ? value_chars(message, NULL) : "");
    }
}

void chat_show_rest(struct chat_show *show, tn_value messages, size_t from) {
    answer_over(show);
    for (size_t i = from; value_is(messages, TN_ARRAY) && i < value_count(messages); i++) {
        tn_value message = value_at(messages, i), text;
        if (!value_text_is(value_get(message, "type"), "ai") || value_get(message, "tool_calls")) continue;
        text = chat_text(message);
        if (!show->last || !value_equal(show->last, text)) {
            say(show, text);
            answer_over(show);
        }
        value_unref(text);
    }
    buffer_clear(&show->said);
    value_unref(show->last);
    show->last = NULL;
}

void chat_show_history(tn_value messages) {
    for (size_t i = 0; value_is(messages, TN_ARRAY) && i < value_count(messages); i++) {
        tn_value message = value_at(messages, i), type = value_get(message, "type"), calls, text;
        if (!value_is(type, TN_STRING)) continue;
        text = chat_text(message);
        command_say(stderr, "%-6s %s\n", value_chars(type, NULL), value_chars(text, NULL));
        calls = value_get(message, "tool_calls");
        for (size_t k = 0; value_is(calls, TN_ARRAY) && k < value_count(calls); k++) {
            tn_value name = value_get(value_at(calls, k), "name");
            if (value_is(name, TN_STRING)) command_say(stderr, "       → %s\n", value_chars(name, NULL));
        }
        value_unref(text);
    }
}
