/*
 * serving_items.c - the events of a run as items in one order.
 *
 * A stream is what one activation of a node receives from its model. One stream is `current`, and its deltas become
 * items at once; deltas of the others wait until its message has ended. Texts that were sent are kept, so that the
 * message that a node writes later, or the result, does not repeat them.
 */
#include "serving_items.h"

/* ---- Sending ---- */

void items_emit(struct serving_items *items, struct serving_item item) {
    item.message = item.message == 0 ? items->message : item.message;
    if (item.text == NULL) item.text = "";
    if (item.path == NULL) item.path = items->path;
    items->options.handler(items->options.user, &item);
}

static void begin_message(struct serving_items *items) {
    if (!items->open) items->message++;
    items->open = true;
}

static void send_text(struct serving_items *items, enum serving_kind kind, tn_value value, const char *node) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    if (text == NULL || length == 0) return;
    begin_message(items);
    if (kind == SERVING_TEXT) (void)tn_text_append_n(&items->text, text, length);
    items_emit(items, (struct serving_item){.kind = kind, .text = text, .length = length, .node = node});
}

void items_note_sent(struct serving_items *items, tn_value text) {
    tn_value present = tn_bool(1);
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (chars != NULL && present != NULL && items->sent != NULL)
        (void)tn.value->set(&items->sent, chars, length, present);
    tn_release(present);
}

bool items_was_sent(const struct serving_items *items, tn_value text) {
    return text != NULL && tn_get_key(items->sent, text) != NULL;
}

static void note_finish(struct serving_items *items, const char *finish) {
    static const char *const known[] = {"stop", "length", "tool_calls", "content_filter", "other"};
    items->finish = NULL;
    for (size_t i = 0; finish != NULL && i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], finish) == 0) items->finish = known[i];
}

/* `done` is {finish_reason, usage}, or NULL. */
static void end_message(struct serving_items *items, tn_value done, const char *node) {
    const char *finish = tn_get_text(done, "finish_reason", NULL);
    if (done != NULL && (finish != NULL || !items->missed)) note_finish(items, finish);
    if (items->text.length > 0) {
        tn_value text = tn_text_n(tn_text_chars(&items->text), items->text.length);
        items_note_sent(items, text);
        tn_release(text);
    }
    tn_text_clear(&items->text, 1 << 16);
    if (!items->open) return;
    items->open = false;
    items_emit(items, (struct serving_item){
                          .kind = SERVING_MESSAGE_END, .value = done, .node = node, .finish = items->finish});
}

static void reset_message(struct serving_items *items, const char *node) {
    tn_text_clear(&items->text, 1 << 16);
    if (!items->open) return;
    items->open = false;
    items_emit(items, (struct serving_item){.kind = SERVING_RESET, .node = node});
}

static void send_delta(struct serving_items *items, tn_value delta, const char *node) {
    tn_value part = tn_get(delta, "part"), done = tn_get(delta, "done");
    if (tn_get(delta, "reset") != NULL) reset_message(items, node);
    send_text(items, SERVING_REASONING, tn_get(delta, "reasoning"), node);
    send_text(items, SERVING_TEXT, tn_get(delta, "content"), node);
    if (part != NULL) {
        begin_message(items);
        items_emit(items, (struct serving_item){.kind = SERVING_PART, .value = part, .node = node});
    }
    if (done != NULL) end_message(items, done, node);
}

/* ---- Streams ---- */

/* The graph of the stream: what is sent from here on is of it. A whole message has no graph. */
static void set_path(struct serving_items *items, const struct items_stream *stream) {
    tn_value path = stream != NULL ? tn.value->at(stream->key, 0) : NULL;
    items->path = tn.value->kind(path) == TN_ARRAY ? path : NULL;
}

static void stream_free(struct items_stream *stream) {
    tn_release(stream->key);
    tn_release(stream->waiting);
    serving_free(stream->node);
    serving_free(stream);
}

static struct items_stream *stream_find(struct serving_items *items, tn_value key) {
    struct items_stream *stream = items->streams;
    while (stream != NULL && !tn.value->equal(stream->key, key)) stream = stream->next;
    return stream;
}

static struct items_stream *stream_new(struct serving_items *items, tn_value key, const char *node) {
    struct items_stream **end = &items->streams, *stream = serving_alloc(sizeof *stream);
    if (stream == NULL) return NULL;
    while (*end != NULL) end = &(*end)->next;
    stream->key = tn_retain(key);
    stream->node = serving_text_copy(node);
    *end = stream;
    return stream;
}

static void stream_remove(struct serving_items *items, struct items_stream *stream) {
    struct items_stream **at = &items->streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    items->waiting_size -= stream->size;
    if (items->current == stream) items->current = NULL;
    stream_free(stream);
}

/* Sends what the streams have, as long as their messages end. */
static void send_waiting(struct serving_items *items) {
    for (;;) {
        struct items_stream *stream = items->streams;
        while (stream != NULL && stream->lost) stream = stream->next;
        if (items->current != NULL || stream == NULL) return;
        items->current = stream;
        tn_value waiting = stream->waiting;
        uint64_t at = 0, count = tn.value->count(waiting);
        stream->waiting = NULL;
        items->waiting_size -= stream->size;
        stream->size = 0;
        set_path(items, stream);
        while (at < count) send_delta(items, tn.value->at(waiting, at++), stream->node);
        tn_release(waiting);
        if (stream->ended || !items->open) end_message(items, NULL, stream->node);
        set_path(items, NULL);
        if (!stream->ended && items->open) return;
        stream_remove(items, stream);
    }
}

/* A delta's size in memory, roughly. */
static uint64_t delta_size(tn_value delta) {
    uint64_t length = 64, more = 0;
    static const char *const texts[] = {"content", "reasoning"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (tn_chars(tn_get(delta, texts[i]), &more) != NULL) length += more;
    if (tn_chars(tn_get(tn_get(delta, "part"), "data"), &more) != NULL) length += more;
    return length;
}

static void stream_wait(struct serving_items *items, struct items_stream *stream, tn_value delta) {
    uint64_t size = delta_size(delta);
    if (items->waiting_size + size > SERVING_WAITING_MAX ||
        tn_append_take(&stream->waiting, tn_retain(delta)) != TN_OK) {
        tn_release(stream->waiting); /* its message is sent whole, later */
        stream->waiting = NULL;
        items->waiting_size -= stream->size;
        stream->size = 0;
        stream->lost = true;
        return;
    }
    items->waiting_size += size;
    stream->size += size;
}

/* A key for an activation: its graph, node and item. New. */
static tn_value activation_key(tn_value event) {
    return tn_build("[v?, v?, v?]", tn_get(event, "path"), tn_get(event, "node"), tn_get(event, "item"));
}

static void stream_delta(struct serving_items *items, struct items_stream *stream, tn_value delta) {
    bool done = tn_get(delta, "done") != NULL;
    if (!stream->lost && items->current == NULL) items->current = stream;
    if (items->current != stream) {
        if (!stream->lost) stream_wait(items, stream, delta);
        if (stream->lost && done) stream_remove(items, stream);
        return;
    }
    set_path(items, stream);
    send_delta(items, delta, stream->node);
    set_path(items, NULL);
    if (!done) return;
    stream_remove(items, stream);
    send_waiting(items);
}

static void take_delta(struct serving_items *items, tn_value event) {
    tn_value done = tn_get(tn_get(event, "delta"), "done");
    if (items->missed && done != NULL) note_finish(items, tn_get_text(done, "finish_reason", NULL));
    if (items->missed) return;
    tn_value key = activation_key(event);
    struct items_stream *stream = stream_find(items, key);
    if (stream == NULL) stream = stream_new(items, key, tn_get_text(event, "node", NULL));
    tn_release(key);
    if (stream != NULL) stream_delta(items, stream, tn_get(event, "delta"));
}

/* An activation has ended, or begins again. */
static void take_task(struct serving_items *items, tn_value event) {
    const char *what = tn_get_text(event, "event", "");
    tn_value key = activation_key(event);
    struct items_stream *stream = stream_find(items, key);
    tn_release(key);
    if (strcmp(what, "start") == 0) items_calls_continue(items, tn_get(event, "path"));
    if (stream == NULL) return;
    if (strcmp(what, "reset") == 0 || strcmp(what, "retry") == 0) {
        tn_value delta = tn_build("{s:{}}", "reset");
        stream_delta(items, stream, delta);
        tn_release(delta);
    } else if (strcmp(what, "end") == 0) {
        stream->ended = true;
        if (items->current != stream && !stream->lost) return;
        set_path(items, stream);
        if (items->current == stream) end_message(items, NULL, stream->node);
        set_path(items, NULL);
        stream_remove(items, stream);
        send_waiting(items);
    }
}

void items_send_whole(struct serving_items *items, tn_value message, const char *node) {
    tn_value content = tn_get(message, "content"), text = tn_content_text(content), key, delta;
    bool sent = items_was_sent(items, text);
    tn_release(text);
    if (content == NULL || sent) return;
    key = tn_build("[I]", (int64_t)++items->whole);
    struct items_stream *stream = stream_new(items, key, node);
    tn_release(key);
    if (stream == NULL) return;
    tn_value parts = tn.value->kind(content) == TN_ARRAY ? tn_retain(content)
                                                         : tn_build("[{s:s, s:v}]", "type", "text", "text", content);
    for (uint64_t i = 0, count = tn.value->count(parts); i < count; i++) {
        tn_value part = tn.value->at(parts, i);
        const char *type = tn_get_text(part, "type", "");
        bool thought = strcmp(type, "reasoning") == 0;
        if (thought || strcmp(type, "text") == 0)
            delta = tn_build("{s:v}", thought ? "reasoning" : "content", tn_get(part, "text"));
        else
            delta = tn_build("{s:v}", "part", part);
        if (delta != NULL) stream_delta(items, stream, delta);
        tn_release(delta);
    }
    tn_release(parts);
    delta = tn_build("{s:{s:v*, s:v*}}", "done", "finish_reason", tn_get(message, "finish_reason"), "usage",
                     tn_get(message, "usage"));
    stream->ended = true;
    stream_delta(items, stream, delta);
    tn_release(delta);
}

/* ---- Events ---- */

void serving_items_event(struct serving_items *items, tn_value event) {
    const char *type = tn_get_text(event, "type", ""), *node = tn_get_text(event, "node", NULL);
    items_note_path(items, tn_get(event, "path"));
    if (strcmp(type, "messages") == 0)
        take_delta(items, event);
    else if (strcmp(type, "tasks") == 0)
        take_task(items, event);
    else if (strcmp(type, "updates") == 0)
        items_take_writes(items, event);
    else if (strcmp(type, "custom") == 0)
        items_emit(items, (struct serving_item){.kind = SERVING_CUSTOM,
                                                .value = tn_get(event, "data"),
                                                .node = node,
                                                .path = tn_get(event, "path")});
}

void serving_items_missed(struct serving_items *items) {
    items->missed = true;
    items->finish = NULL;
    reset_message(items, NULL);
    while (items->streams != NULL) stream_remove(items, items->streams);
}

static void end_streams(struct serving_items *items) {
    for (struct items_stream *stream = items->streams; stream != NULL; stream = stream->next) stream->ended = true;
    if (items->current != NULL) {
        struct items_stream *stream = items->current;
        set_path(items, stream);
        end_message(items, NULL, stream->node);
        set_path(items, NULL);
        stream_remove(items, stream);
    }
    send_waiting(items);
}

void serving_items_end(struct serving_items *items, tn_value report) {
    if (items->ended) return;
    items->ended = true;
    end_streams(items);
    items_take_result(items, report);
    items_emit(items, (struct serving_item){.kind = SERVING_END, .value = report, .finish = items->finish});
}

struct serving_items *serving_items_new(const struct serving_items_options *options) {
    struct serving_items *items = serving_alloc(sizeof *items);
    if (items == NULL) return NULL;
    items->options = *options;
    items->item = tn_retain(options->graph->item);
    serving_graph_read(items->item, &items->graph);
    items->last_input = serving_text_copy(options->last_input);
    items->client_tools = tn_retain(options->client_tools);
    items->asked = tn_retain(options->asked);
    items->sent = tn_build("{}");
    items->seen = tn_build("{}");
    items->nested = tn_build("{}");
    items->results = tn_build("{}");
    items->calls = tn_build("{}");
    return items;
}

void serving_items_free(struct serving_items *items) {
    if (items == NULL) return;
    for (struct items_stream *stream = items->streams, *next; stream != NULL; stream = next) {
        next = stream->next;
        stream_free(stream);
    }
    const tn_value values[] = {items->item,    items->client_tools, items->sent, items->seen,      items->nested,
                               items->results, items->calls,        items->held, items->held_path, items->asked};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) tn_release(values[i]);
    tn_text_free(&items->text);
    serving_free(items->last_input);
    serving_free(items);
}
