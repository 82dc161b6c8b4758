/*
 * chunks.c - events of a run: deltas of models, writes of nodes, and what nodes emit.
 *
 * The messages that a node writes are left out if the graph inside it has reported them, and so are messages with an id
 * that is known.
 */
#include "chunks_internal.h"
#include <tenon/message.h>

/* ---- Sets ---- */

static bool set_has(tn_value set, tn_value key) { return tn_get_key(set, key) != NULL; }

static void set_add(tn_value *set, tn_value key) {
    uint64_t length = 0;
    const char *text = tn_chars(key, &length);
    tn_value yes = tn_bool(1);
    if (text != NULL) (void)tn.value->set(set, text, length, yes);
    tn_release(yes);
}

/* True if the message has an id that is known; otherwise it is known from now on. */
bool message_was_seen(struct chunks *chunks, tn_value message) {
    tn_value id = tn_get(message, "id");
    if (tn_chars(id, NULL) == NULL) return false;
    if (set_has(chunks->seen, id)) return true;
    set_add(&chunks->seen, id);
    return false;
}

/* ---- Streams ---- */

static tn_value stream_key(tn_value event) {
    tn_value place = tn_build("[v?, v?, v?]", tn_get(event, "path"), tn_get(event, "node"), tn_get(event, "item"));
    tn_value key = place != NULL ? tn_to_json(place) : NULL;
    tn_release(place);
    return key;
}

static void stream_free(struct stream *stream) {
    tn_release(stream->key);
    serving_free(stream);
}

static void stream_remove(struct chunks *chunks, struct stream *stream) {
    struct stream **link = &chunks->streams;
    while (*link != stream) link = &(*link)->next;
    *link = stream->next;
    chunks->stream_count--;
    stream_free(stream);
}

void stream_close(struct chunks *chunks, struct stream *stream) {
    struct step_owner before = chunks->owner;
    chunks->owner = stream->owner;
    if (*stream->text) send_take(chunks, tn_build("{s:s, s:s}", "type", "text-end", "id", stream->text));
    if (*stream->reasoning) send_take(chunks, tn_build("{s:s, s:s}", "type", "reasoning-end", "id", stream->reasoning));
    *stream->text = *stream->reasoning = '\0';
    chunks->owner = before;
}

/* The next delta begins another message. */
static void stream_end(struct chunks *chunks, struct stream *stream, enum stream_end how) {
    struct step_owner before = chunks->owner;
    if (how == STREAM_REPEATED && step_take_back(chunks, &stream->owner, STEP_STREAM)) {
        stream_remove(chunks, stream);
        return;
    }
    stream_close(chunks, stream);
    chunks->owner = stream->owner;
    calls_stream_end(chunks, stream, how != STREAM_COMPLETE);
    chunks->owner = before;
    if (stream->any && how == STREAM_COMPLETE) {
        print_note(chunks, stream->print + stream->print_rest);
        step_note_print(chunks, stream);
    }
    stream_remove(chunks, stream);
}

/* Behind the fingerprint of the nodes around it, or PRINT_START. Never 0. */
static uint64_t print_node(uint64_t around, tn_value node) {
    uint64_t length = 0;
    const char *text = tn_chars(node, &length);
    return print_add(print_add(around, text, text != NULL ? length : 0), "/", 1) | 1;
}

/* A super-step repeats the place of an activation: only attempts of the same one replace each other. */
static struct step_owner owner_of(struct chunks *chunks, tn_value key, tn_value event) {
    tn_value path = tn_get(event, "path");
    uint64_t length = 0, around = PRINT_START;
    const char *text = tn_chars(key, &length);
    uint64_t place = print_add(PRINT_START, text, text != NULL ? length : 0);
    struct step_owner owner = {.place = place + (uint64_t)tn_get_int(event, "step", 0) * PRINT_START,
                               .number = ++chunks->stream_number,
                               .attempt = tn_get_int(event, "attempt", 1)};
    for (uint64_t i = 0; i < tn.value->count(path) && i < CHUNKS_DEPTH_MAX; i++)
        owner.around[i] = around = print_node(around, tn.value->at(path, i));
    return owner;
}

/* NULL: there are too many, or memory has run out. */
static struct stream *stream_of(struct chunks *chunks, tn_value event) {
    tn_value key = stream_key(event);
    int64_t attempt = tn_get_int(event, "attempt", 1);
    struct stream *stream = chunks->streams;
    while (stream != NULL && tn.value->equal(stream->key, key) == 0) stream = stream->next;
    if (stream != NULL && stream->owner.attempt != attempt) { /* what the earlier attempt sent does not count */
        stream_end(chunks, stream, STREAM_REPEATED);
        stream = NULL;
    }
    if (stream == NULL && key != NULL && chunks->stream_count < CHUNKS_STREAMS_MAX)
        stream = serving_alloc(sizeof *stream);
    else
        return tn_release(key), stream;
    if (stream == NULL) return tn_release(key), NULL;
    *stream = (struct stream){
        .next = chunks->streams, .key = key, .owner = owner_of(chunks, key, event), .print = PRINT_START};
    if (attempt > 1) (void)step_take_back(chunks, &stream->owner, STEP_EARLIER);
    chunks->streams = stream;
    chunks->stream_count++;
    return stream;
}

/* ---- Deltas ---- */

/* A piece of the text or the reasoning, in the part that is open. `other` is closed. */
static void delta_text(struct chunks *chunks, const char *kind, char *open, tn_value text) {
    char start[32], delta[32];
    uint64_t length = 0;
    if (tn_chars(text, &length) == NULL || length == 0) return;
    step_for_part(chunks);
    (void)snprintf(start, sizeof start, "%s-start", kind);
    (void)snprintf(delta, sizeof delta, "%s-delta", kind);
    if (!*open) {
        (void)snprintf(open, ID_MAX, "%s-%llu", kind, (unsigned long long)++chunks->part_count);
        send_take(chunks, tn_build("{s:s, s:s}", "type", start, "id", open));
    }
    send_take(chunks, tn_build("{s:s, s:s, s:v}", "type", delta, "id", open, "delta", text));
}

static void delta_close(struct chunks *chunks, const char *end, char *open) {
    if (*open) send_take(chunks, tn_build("{s:s, s:s}", "type", end, "id", open));
    *open = '\0';
}

static void show_part(struct chunks *chunks, struct stream *stream, tn_value part) {
    uint64_t length = 0;
    const char *text = tn_part_text(part, &length);
    stream->any = true;
    if (text != NULL) {
        stream->print = print_add(stream->print, text, length);
    } else if (!serving_is(tn_get(part, "type"), "reasoning")) {
        stream->print_rest += print_of_part(part);
    }
    delta_close(chunks, "text-end", stream->text);
    delta_close(chunks, "reasoning-end", stream->reasoning);
    part_send(chunks, part);
}

static void show_content(struct chunks *chunks, struct stream *stream, tn_value delta) {
    tn_value content = tn_get(delta, "content"), reasoning = tn_get(delta, "reasoning"), part = tn_get(delta, "part");
    uint64_t length = 0;
    const char *text = tn_chars(content, &length);
    if (tn_chars(reasoning, NULL) != NULL) {
        delta_close(chunks, "text-end", stream->text);
        delta_text(chunks, "reasoning", stream->reasoning, reasoning);
    }
    if (text != NULL) {
        if (length > 0) delta_close(chunks, "reasoning-end", stream->reasoning);
        delta_text(chunks, "text", stream->text, content);
        stream->print = print_add(stream->print, text, length);
        stream->any = true;
    }
    if (part != NULL) show_part(chunks, stream, part);
}

static void show_delta(struct chunks *chunks, tn_value event, tn_value delta) {
    struct stream *stream = chunks->missed ? NULL : stream_of(chunks, event);
    tn_value call = tn_get(delta, "tool_call_delta"), done = tn_get(delta, "done");
    if (done != NULL) {
        serving_free(chunks->finish);
        chunks->finish = serving_text_copy(tn_get_text(done, "finish_reason", NULL));
    }
    if (stream == NULL) return;
    if (tn_get(delta, "reset") != NULL) {
        stream_end(chunks, stream, STREAM_REPEATED);
        return;
    }
    chunks->owner = stream->owner;
    show_content(chunks, stream, delta);
    if (call != NULL) {
        delta_close(chunks, "text-end", stream->text);
        delta_close(chunks, "reasoning-end", stream->reasoning);
        calls_delta(chunks, stream, call);
    }
    chunks->owner = (struct step_owner){0};
    if (done != NULL) stream_end(chunks, stream, STREAM_COMPLETE);
}

/* ---- Messages that nodes write ---- */

static void show_message(struct chunks *chunks, tn_value message) {
    tn_value calls = tn_message_calls(message);
    bool tool = tn_message_is(message, "tool");
    if ((calls == NULL && !tool) || message_was_seen(chunks, message)) return;
    if (tool) {
        calls_result(chunks, message);
        return;
    }
    content_send(chunks, tn_get(message, "content"));
    for (uint64_t i = 0, count = tn.value->count(calls); i < count; i++) calls_start(chunks, tn.value->at(calls, i));
}

static void show_writes(struct chunks *chunks, tn_value writes) {
    tn_value key, written;
    for (uint64_t i = 0, count = tn.value->count(writes); i < count; i++) {
        if (tn.value->entry(writes, i, &key, &written) != TN_OK) return;
        if (tn.value->kind(written) == TN_OBJECT) show_message(chunks, written);
        if (tn.value->kind(written) != TN_ARRAY) continue;
        for (uint64_t k = 0, items = tn.value->count(written); k < items; k++)
            if (tn.value->kind(tn.value->at(written, k)) == TN_OBJECT) show_message(chunks, tn.value->at(written, k));
    }
}

/* ---- Nested graphs ---- */

/* A key for the graph that `node` runs in the graph at `path`; for the graph at `path` itself if `node` is NULL. */
static tn_value nested_key(tn_value path, tn_value node) {
    tn_value whole = tn.value->kind(path) == TN_ARRAY ? tn_retain(path) : tn_build("[]");
    if (node != NULL) (void)tn_append_take(&whole, tn_retain(node));
    tn_value key = tn_to_json(whole);
    tn_release(whole);
    return key;
}

static bool event_is_nested(const struct chunks *chunks, tn_value event) {
    tn_value key = nested_key(tn_get(event, "path"), tn_get(event, "node"));
    bool reported = set_has(chunks->nested, key);
    tn_release(key);
    return reported;
}

static void note_nested(struct chunks *chunks, tn_value path) {
    tn_value key = path != NULL ? nested_key(path, NULL) : NULL;
    if (key != NULL && !set_has(chunks->nested, key)) set_add(&chunks->nested, key);
    tn_release(key);
}

/* ---- What nodes emit ---- */

static bool name_is_plain(const char *name) {
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
    return length > 0 && length <= 64 && name[length] == '\0';
}

/* {type: "progress", …} is data-progress; its `id` and `transient` are those of the chunk. */
static void show_custom(struct chunks *chunks, tn_value event, tn_value data) {
    static const char *const own[] = {"type", "id", "transient", NULL};
    const char *name = tn_get_text(data, "type", NULL);
    char type[80];
    if (name == NULL || !name_is_plain(name)) {
        send_take(chunks, tn_build("{s:s, s:{s:v*, s:v}}", "type", "data-custom", "data", "node", tn_get(event, "node"),
                                   "value", data));
        return;
    }
    tn_value value = tn_retain(tn_get(data, "data"));
    if (value == NULL) {
        tn_builder *builder = tn_builder_new();
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put_members(builder, data, own);
        tn.value->end(builder);
        value = tn_finish(builder);
    }
    (void)snprintf(type, sizeof type, "data-%s", name);
    tn_value chunk = tn_build("{s:s, s:s*, s:V}", "type", type, "id", tn_get_text(data, "id", NULL), "data", value);
    if (chunk != NULL && serving_true(tn_get(data, "transient"))) chunk = tn_set_take(chunk, "transient", tn_bool(1));
    send_take(chunks, chunk);
}

/* A node with a graph begins again, and so does everything inside. Of items, events inside do not say which they are
 * of. */
static void show_task(struct chunks *chunks, tn_value event) {
    tn_value path = tn_get(event, "path");
    struct step_owner owner = {.place = PRINT_START};
    if (!serving_is(tn_get(event, "event"), "reset") || tn_get(event, "item") != NULL) return;
    for (uint64_t i = 0, count = tn.value->count(path); i < count; i++)
        owner.place = print_node(owner.place, tn.value->at(path, i));
    owner.place = print_node(owner.place, tn_get(event, "node"));
    for (struct stream *stream = chunks->streams, *next; stream != NULL; stream = next) {
        next = stream->next;
        if (step_is_meant(&stream->owner, &owner, STEP_INSIDE)) stream_end(chunks, stream, STREAM_REPEATED);
    }
    (void)step_take_back(chunks, &owner, STEP_INSIDE);
}

void chunks_event(struct chunks *chunks, tn_value event) {
    tn_value delta = tn_get(event, "delta"), writes = tn_get(event, "writes"), data = tn_get(event, "data");
    if (serving_is(tn_get(event, "type"), "tasks")) {
        show_task(chunks, event);
        return;
    }
    note_nested(chunks, tn_get(event, "path"));
    if (delta != NULL) show_delta(chunks, event, delta);
    if (writes != NULL && !event_is_nested(chunks, event)) show_writes(chunks, writes);
    if (data != NULL) show_custom(chunks, event, data);
}

void streams_end(struct chunks *chunks, enum stream_end how) {
    while (chunks->streams != NULL) stream_end(chunks, chunks->streams, how);
}

void chunks_missed(struct chunks *chunks) {
    streams_end(chunks, STREAM_REPEATED);
    chunks->missed = true;
}

/* ---- Life ---- */

static void know_messages(struct chunks *chunks, tn_value messages) {
    chunks->known = tn.value->kind(messages) == TN_ARRAY ? tn.value->count(messages) : 0;
    for (uint64_t i = 0; i < chunks->known; i++) (void)message_was_seen(chunks, tn.value->at(messages, i));
}

struct chunks *chunks_new(const struct chunks_options *options) {
    struct chunks *chunks = serving_alloc(sizeof *chunks);
    if (chunks == NULL) return NULL;
    chunks->item = tn_retain(options->graph->item);
    chunks->graph = *options->graph;
    chunks->message_id = serving_text_copy(options->message_id);
    chunks->resets = options->resets;
    chunks->handler = options->handler;
    chunks->user = options->user;
    chunks->seen = tn_build("{}");
    chunks->nested = tn_build("{}");
    chunks->used = tn_retain(options->used);
    if (chunks->message_id == NULL || chunks->seen == NULL || chunks->nested == NULL) {
        chunks_free(chunks);
        return NULL;
    }
    chunks->knows = options->known != NULL;
    know_messages(chunks, options->known);
    calls_read(chunks, options->parts);
    return chunks;
}

void chunks_free(struct chunks *chunks) {
    if (chunks == NULL) return;
    while (chunks->streams != NULL) stream_remove(chunks, chunks->streams);
    calls_free(chunks);
    step_forget(chunks, false);
    tn_release(chunks->item);
    tn_release(chunks->seen);
    tn_release(chunks->nested);
    tn_release(chunks->used);
    serving_free(chunks->message_id);
    serving_free(chunks->finish);
    serving_free(chunks);
}
