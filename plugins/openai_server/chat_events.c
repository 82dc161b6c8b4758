/*
 * chat_events.c - the items of a run as a chat completion, or as its chunks.
 *
 * Tools that the graph executes do not appear: a client would execute them again. A question of the run is a call of
 * `tenon_approve` or `tenon_answer`, because nothing else in this protocol can be answered.
 */
#include "openai_server.h"
#include <tenon/message.h>

void chat_events_open(struct chat_events *events, const char *model) {
    char digits[33];
    *events = (struct chat_events){.created = serving_now_s(), .model = model};
    serving_random_hex(digits, 32);
    (void)snprintf(events->id, sizeof events->id, "chatcmpl-%s", digits);
}

void chat_events_close(struct chat_events *events) {
    tn_text_free(&events->text);
    tn_text_free(&events->reasoning);
    tn_text_free(&events->refusal);
    tn_release(events->calls);
    tn_release(events->annotations);
    tn_release(events->images);
    tn_release(events->last);
}

/* ---- Chunks ---- */

static tn_value chunk(const struct chat_events *events, tn_value choices) {
    return tn_build("{s:s, s:s, s:I, s:s, s:V}", "id", events->id, "object", "chat.completion.chunk", "created",
                    events->created, "model", events->model, "choices", choices);
}

static void send_chunk_take(struct chat_events *events, tn_value value) {
    if (value != NULL) events->handler(events->user, value);
    tn_release(value);
}

/* A delta of the message. Takes it. */
static void send_delta(struct chat_events *events, tn_value delta, const char *finish) {
    if (!events->stream) {
        tn_release(delta);
        return;
    }
    if (!events->begun) {
        events->begun = true;
        send_delta(events, tn_build("{s:s, s:s}", "role", "assistant", "content", ""), NULL);
    }
    tn_value value = chunk(
        events, tn_build("[{s:i, s:V, s:n, s:s?}]", "index", 0, "delta", delta, "logprobs", "finish_reason", finish));
    if (value != NULL && events->include_usage) value = tn_set_take(value, "usage", tn_null());
    send_chunk_take(events, value);
}

/* ---- Items ---- */

/* Messages are separated, because the protocol has only one. */
static void add_text(struct chat_events *events, const struct serving_item *item) {
    bool separate = events->text.length > 0 && item->message != events->message;
    struct tn_text_buffer piece = {0};
    events->message = item->message;
    if (separate) (void)tn_text_append(&piece, "\n\n");
    (void)tn_text_append_n(&piece, item->text, item->length);
    (void)tn_text_append_n(&events->text, tn_text_chars(&piece), piece.length);
    send_delta(events, tn_build("{s:V}", "content", tn_text_finish(&piece)), NULL);
}

static void add_reasoning(struct chat_events *events, const struct serving_item *item) {
    (void)tn_text_append_n(&events->reasoning, item->text, item->length);
    send_delta(events, tn_build("{s:s#}", "reasoning_content", item->text, item->length), NULL);
}

/* The address of a part: its URL, or its data as one. New; NULL if it has neither. */
static tn_value part_url(tn_value part) {
    const char *url = tn_get_text(part, "url", NULL), *data = tn_get_text(part, "data", NULL);
    struct tn_text_buffer text = {0};
    if (url == NULL && data == NULL) return NULL;
    if (url == NULL)
        (void)tn_text_append_format(&text, "data:%s;base64,",
                                    tn_get_text(part, "media_type", "application/octet-stream"));
    (void)tn_text_append(&text, url != NULL ? url : data);
    return tn_text_finish(&text);
}

static void add_source(struct chat_events *events, tn_value part) {
    const char *url = tn_get_text(part, "url", NULL);
    if (url == NULL) return;
    tn_value note =
        tn_build("{s:s, s:{s:s, s:s, s:I, s:I}}", "type", "url_citation", "url_citation", "url", url, "title",
                 tn_get_text(part, "title", url), "start_index", (int64_t)0, "end_index", (int64_t)0);
    send_delta(events, tn_build("{s:[v]}", "annotations", note), NULL);
    (void)tn_append_take(&events->annotations, note);
}

static void add_part(struct chat_events *events, const struct serving_item *item) {
    const char *type = tn_get_text(item->value, "type", "");
    if (strcmp(type, "source") == 0) {
        add_source(events, item->value);
    } else if (strcmp(type, "refusal") == 0) {
        const char *text = tn_get_text(item->value, "text", "");
        (void)tn_text_append(&events->refusal, text);
        send_delta(events, tn_build("{s:s}", "refusal", text), NULL);
    } else if (strcmp(type, "image") == 0) {
        tn_value url = part_url(item->value);
        tn_value image = url != NULL ? tn_build("{s:s, s:{s:V}}", "type", "image_url", "image_url", "url", url) : NULL;
        if (image == NULL) return;
        send_delta(events, tn_build("{s:[v]}", "images", image), NULL);
        (void)tn_append_take(&events->images, image);
    }
}

/* Takes the arguments, a text. */
static void add_call(struct chat_events *events, const char *id, const char *name, tn_value arguments) {
    uint64_t index = tn.value->count(events->calls);
    tn_value function = tn_build("{s:s, s:V}", "name", name, "arguments", arguments);
    tn_value call = tn_build("{s:s, s:s, s:V}", "id", id, "type", "function", "function", function);
    if (call == NULL) return;
    send_delta(events, tn_build("{s:[V]}", "tool_calls", tn_set_take(tn_retain(call), "index", tn_int((int64_t)index))),
               NULL);
    (void)tn_append_take(&events->calls, call);
}

static void add_client_call(struct chat_events *events, tn_value call) {
    tn_value given = tn_get(call, "arguments");
    tn_value arguments = tn.value->kind(given) == TN_STRING ? tn_retain(given)
                         : given != NULL                    ? tn_to_json(given)
                                                            : tn_text("{}");
    add_call(events, tn_get_text(call, "id", ""), tn_get_text(call, "name", ""), arguments);
}

static void add_question(struct chat_events *events, const struct serving_item *item) {
    bool approval = serving_ask_is_approval(item->value);
    tn_value question = serving_ask_text(item->value), payload = tn_get(item->value, "payload");
    struct serving_item text = {.kind = SERVING_TEXT, .message = UINT64_MAX - tn.value->count(events->calls)};
    struct tn_text_buffer id = TN_TEXT_BUFFER(1024);
    text.text = tn_chars(question, &text.length);
    if (text.text != NULL) add_text(events, &text);
    (void)tn_text_append_format(&id, ASK_PREFIX "%s_%s", events->run_id != NULL ? events->run_id : "",
                                tn_get_text(item->value, "id", ""));
    tn_value arguments =
        tn_build("{s:v?, s:v*, s:v*, s:v*}", "question", question, "tool", approval ? tn_get(payload, "tool") : NULL,
                 "arguments", approval ? tn_get(payload, "arguments") : NULL, "schema", tn_get(item->value, "schema"));
    add_call(events, tn_text_chars(&id), approval ? "tenon_approve" : "tenon_answer",
             arguments != NULL ? tn_to_json(arguments) : NULL);
    tn_release(arguments);
    tn_release(question);
    tn_text_free(&id);
}

/* ---- The end ---- */

static tn_value usage_value(tn_value usage) {
    int64_t in = tn_get_int(usage, "input_tokens", 0), out = tn_get_int(usage, "output_tokens", 0);
    return tn_build("{s:I, s:I, s:I, s:{s:I}, s:{s:I}}", "prompt_tokens", in, "completion_tokens", out, "total_tokens",
                    tn_get_int(usage, "total_tokens", in + out), "prompt_tokens_details", "cached_tokens",
                    tn_get_int(usage, "cached_tokens", 0), "completion_tokens_details", "reasoning_tokens",
                    tn_get_int(usage, "reasoning_tokens", 0));
}

static const char *finish_reason(const struct chat_events *events, const char *finish) {
    if (events->calls != NULL) return "tool_calls";
    bool known = finish != NULL && (strcmp(finish, "length") == 0 || strcmp(finish, "content_filter") == 0);
    return known ? finish : "stop";
}

/* The text as a string, or null if it is empty. */
static tn_value text_or_null(const struct tn_text_buffer *text) {
    return text->length > 0 ? tn_text_n(tn_text_chars(text), text->length) : tn_null();
}

static tn_value completion(const struct chat_events *events, const char *finish, tn_value usage) {
    bool only_calls = events->calls != NULL && events->text.length == 0;
    tn_value content = only_calls || events->refusal.length > 0
                           ? text_or_null(&events->text)
                           : tn_text_n(tn_text_chars(&events->text), events->text.length);
    tn_value message = tn_build("{s:s, s:V, s:V, s:v*, s:v*, s:v*}", "role", "assistant", "content", content, "refusal",
                                text_or_null(&events->refusal), "tool_calls", events->calls, "annotations",
                                events->annotations, "images", events->images);
    if (message != NULL && events->reasoning.length > 0)
        message = tn_set_take(message, "reasoning_content", text_or_null(&events->reasoning));
    tn_value choices =
        tn_build("[{s:i, s:V, s:n, s:s}]", "index", 0, "message", message, "logprobs", "finish_reason", finish);
    return tn_build("{s:s, s:s, s:I, s:s, s:V, s:V}", "id", events->id, "object", "chat.completion", "created",
                    events->created, "model", events->model, "choices", choices, "usage", usage_value(usage));
}

static void end_failed(struct chat_events *events, tn_value report) {
    struct openai_error error = {0};
    tn_value of = tn_get(report, "error");
    if (of != NULL) {
        openai_error_of(&error, of);
    } else {
        (void)openai_invalid(&error, NULL, "cancelled", "the run has ended early: %s",
                             tn_get_text(report, "status", "failed"));
        error.status = 500;
        error.type = "server_error";
    }
    events->failed = true;
    events->status = error.status;
    tn_value value = openai_error_json(&error);
    if (events->stream)
        send_chunk_take(events, value);
    else
        events->last = value;
}

static void end_chat(struct chat_events *events, const struct serving_item *item) {
    const char *status = tn_get_text(item->value, "status", "");
    tn_value usage = tn_get(item->value, "usage");
    if (strcmp(status, "done") != 0 && strcmp(status, "interrupted") != 0) {
        end_failed(events, item->value);
        return;
    }
    const char *finish = finish_reason(events, item->finish);
    if (!events->stream) {
        events->last = completion(events, finish, usage);
        return;
    }
    send_delta(events, tn_build("{}"), finish);
    if (!events->include_usage) return;
    tn_value last = chunk(events, tn_build("[]"));
    send_chunk_take(events, last != NULL ? tn_set_take(last, "usage", usage_value(usage)) : NULL);
}

void chat_events_item(void *user, const struct serving_item *item) {
    struct chat_events *events = user;
    switch (item->kind) {
    case SERVING_TEXT: add_text(events, item); break;
    case SERVING_REASONING: add_reasoning(events, item); break;
    case SERVING_PART: add_part(events, item); break;
    case SERVING_CLIENT_CALL: add_client_call(events, item->value); break;
    case SERVING_ASK: add_question(events, item); break;
    case SERVING_END: end_chat(events, item); break;
    default: break; /* the protocol has nothing for them */
    }
}
