/*
 * chunks_content.c - steps, texts, reasoning, files and sources.
 *
 * Events report a message more than once: as deltas, as a write, and in the result. A fingerprint of its text and its
 * other parts decides whether the client has it.
 */
#include "chunks_internal.h"
#include <tenon/base64.h>
#include <tenon/message.h>

void send_take(struct chunks *chunks, tn_value chunk) {
    if (chunk != NULL) step_note(chunks, chunk);
    if (chunk != NULL) chunks->handler(chunks->user, chunk);
    tn_release(chunk);
}

/* ---- Steps ---- */

void parts_close(struct chunks *chunks) {
    for (struct stream *stream = chunks->streams; stream != NULL; stream = stream->next) stream_close(chunks, stream);
}

void step_end(struct chunks *chunks) {
    if (!chunks->in_step) return;
    parts_close(chunks); /* the client forgets open parts with the step */
    send_take(chunks, tn_build("{s:s}", "type", "finish-step"));
    chunks->in_step = chunks->step_has_output = false;
}

static bool a_call_streams(const struct chunks *chunks) {
    for (const struct call *call = chunks->calls; call != NULL; call = call->next)
        if (call->state == CALL_STREAMS) return true;
    return false;
}

void step_for_part(struct chunks *chunks) {
    /* The client looks for a call that streams only in the current step. */
    if (chunks->step_has_output && !a_call_streams(chunks)) step_end(chunks);
    if (!chunks->in_step) send_take(chunks, tn_build("{s:s}", "type", "start-step"));
    chunks->in_step = true;
}

/* ---- Parts ---- */

/* A data: URL of base64 text or bytes; NULL if it has neither. */
static tn_value data_url(tn_value data, const char *media_type) {
    struct tn_text_buffer url = TN_TEXT_BUFFER(0);
    uint64_t length = 0;
    const char *text = tn_chars(data, &length);
    const void *bytes = text == NULL ? tn.value->as_bytes(data, &length) : NULL;
    if (text == NULL && bytes == NULL) return NULL;
    (void)tn_text_append_format(&url, "data:%s;base64,", media_type);
    if (text != NULL) {
        (void)tn_text_append_n(&url, text, length);
    } else if (tn_text_reserve(&url, (length + 2) / 3 * 4) == TN_OK) {
        url.length = (uint64_t)(tn_base64_put(url.bytes + url.length, bytes, length) - url.bytes);
        url.bytes[url.length] = '\0';
    }
    return tn_text_finish(&url);
}

static void send_file(struct chunks *chunks, tn_value part, const char *fallback) {
    const char *media_type = tn_get_text(part, "media_type", fallback);
    tn_value url = tn_retain(tn_get(part, "url"));
    if (tn.value->kind(url) != TN_STRING) {
        tn_release(url);
        url = data_url(tn_get(part, "data"), media_type);
    }
    if (url == NULL) return; /* a file that only its service knows */
    step_for_part(chunks);
    send_take(chunks, tn_build("{s:s, s:V, s:s}", "type", "file", "url", url, "mediaType", media_type));
}

static void send_source(struct chunks *chunks, tn_value part) {
    const char *url = tn_get_text(part, "url", NULL), *title = tn_get_text(part, "title", NULL);
    char id[ID_MAX];
    if (url == NULL && title == NULL) return;
    step_for_part(chunks);
    (void)snprintf(id, sizeof id, "source-%llu", (unsigned long long)++chunks->part_count);
    if (url != NULL)
        send_take(chunks,
                  tn_build("{s:s, s:s, s:s, s:s*}", "type", "source-url", "sourceId", id, "url", url, "title", title));
    else
        send_take(chunks, tn_build("{s:s, s:s, s:s, s:s}", "type", "source-document", "sourceId", id, "mediaType",
                                   "text/plain", "title", title));
}

void text_send(struct chunks *chunks, tn_value text) {
    char id[ID_MAX];
    uint64_t length = 0;
    if (tn_chars(text, &length) == NULL || length == 0) return;
    step_for_part(chunks);
    (void)snprintf(id, sizeof id, "text-%llu", (unsigned long long)++chunks->part_count);
    send_take(chunks, tn_build("{s:s, s:s}", "type", "text-start", "id", id));
    send_take(chunks, tn_build("{s:s, s:s, s:v}", "type", "text-delta", "id", id, "delta", text));
    send_take(chunks, tn_build("{s:s, s:s}", "type", "text-end", "id", id));
}

static void reasoning_send(struct chunks *chunks, tn_value text) {
    char id[ID_MAX];
    uint64_t length = 0;
    if (tn_chars(text, &length) == NULL || length == 0) return;
    step_for_part(chunks);
    (void)snprintf(id, sizeof id, "reasoning-%llu", (unsigned long long)++chunks->part_count);
    send_take(chunks, tn_build("{s:s, s:s}", "type", "reasoning-start", "id", id));
    send_take(chunks, tn_build("{s:s, s:s, s:v}", "type", "reasoning-delta", "id", id, "delta", text));
    send_take(chunks, tn_build("{s:s, s:s}", "type", "reasoning-end", "id", id));
}

void part_send(struct chunks *chunks, tn_value part) {
    const char *type = tn_get_text(part, "type", "");
    if (strcmp(type, "text") == 0 || strcmp(type, "refusal") == 0)
        text_send(chunks, tn_get(part, "text"));
    else if (strcmp(type, "reasoning") == 0)
        reasoning_send(chunks, tn_get(part, "text"));
    else if (strcmp(type, "image") == 0)
        send_file(chunks, part, "image/png");
    else if (strcmp(type, "audio") == 0 || strcmp(type, "file") == 0)
        send_file(chunks, part, "application/octet-stream");
    else if (strcmp(type, "source") == 0)
        send_source(chunks, part);
}

/* ---- What was sent ---- */

uint64_t print_add(uint64_t print, const char *text, uint64_t length) {
    for (uint64_t i = 0; i < length; i++) print = (print ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return print;
}

uint64_t print_of_part(tn_value part) {
    tn_value json = tn_to_json(part);
    uint64_t length = 0;
    const char *text = tn_chars(json, &length);
    uint64_t print = text != NULL ? print_add(PRINT_START, text, length) : 0;
    tn_release(json);
    return print;
}

/* The order of texts among other parts is not kept, because the deltas may have another one. */
static uint64_t print_of_content(tn_value content) {
    uint64_t text = PRINT_START, rest = 0, length = 0;
    const char *whole = tn_chars(content, &length);
    if (whole != NULL) return print_add(text, whole, length);
    for (uint64_t i = 0, count = tn.value->count(content); i < count; i++) {
        tn_value part = tn.value->at(content, i);
        const char *words = tn_part_text(part, &length);
        if (words != NULL)
            text = print_add(text, words, length);
        else if (!serving_is(tn_get(part, "type"), "reasoning"))
            rest += print_of_part(part);
    }
    return text + rest;
}

void print_note(struct chunks *chunks, uint64_t print) { chunks->sent[chunks->sent_count++ % CHUNKS_SENT_MAX] = print; }

void print_forget(struct chunks *chunks, uint64_t print) {
    for (uint64_t i = 0; i < CHUNKS_SENT_MAX; i++)
        if (chunks->sent[i] == print) chunks->sent[i] = 0;
}

static bool print_is_known(const struct chunks *chunks, uint64_t print) {
    uint64_t count = chunks->sent_count < CHUNKS_SENT_MAX ? chunks->sent_count : CHUNKS_SENT_MAX;
    for (uint64_t i = 0; i < count; i++)
        if (chunks->sent[i] == print) return true;
    return false;
}

void content_send(struct chunks *chunks, tn_value content) {
    uint64_t print = print_of_content(content);
    if (print_is_known(chunks, print)) return;
    print_note(chunks, print);
    if (tn.value->kind(content) == TN_STRING) text_send(chunks, content);
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++)
        part_send(chunks, tn.value->at(content, i));
}
