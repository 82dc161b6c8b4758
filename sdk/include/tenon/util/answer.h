/*
 * tenon/util/answer.h - a model's answer from the pieces that a service streams: deltas go out, a message is built.
 *
 * Every piece is emitted at once while the host accepts deltas; later ones wait in a queue. The message is built at the
 * end from the collected parts and has the same content. The shapes are those of tenon/message.h.
 *
 *     struct tn_answer answer;
 *     tn_answer_init(&answer, task, input, "acme");
 *     tn_answer_add_text(&answer, tn_get(delta, "content"));         // for each piece that the service sends
 *     tn_answer_add_call(&answer, index, id, name, arguments_piece);
 *     if (tn_answer_is_waiting(&answer)) http->pause(…);             // `ready` will call tn_answer_flush
 *     tn_answer_finish(&answer, "stop");                             // the service named the reason
 *     tn_answer_end(&answer);                                        // the stream is complete
 *     if (tn_answer_is_complete(&answer)) output = tn_answer_output(&answer);
 *
 * A component that only needs the message sets `is_silent`, so that no delta is emitted. A component that is not a
 * model sets `is_marked`: its deltas are emitted as {messages: DELTA}, as the host marks those of models for the run's
 * events.
 *
 * Invariant: the first failure stays in `status`, and after it every function does nothing, so that a provider checks
 * once for each event. tn_answer_error describes it. Thread: the one of the task, usually the loop.
 */
#ifndef TENON_UTIL_ANSWER_H
#define TENON_UTIL_ANSWER_H

#include <stdbool.h>
#include <tenon/easy.h>
#include <tenon/util/build.h>
#include <tenon/util/text.h>
#include <tenon/util/tool_names.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of one answer. Beyond them `status` is TN_LIMIT. */
#define TN_ANSWER_CALLS_MAX 1024
#define TN_ANSWER_PARTS_MAX 65536
#define TN_ANSWER_TEXT_MAX  67108864 /* bytes of one part, or of one call's arguments */
/* The largest number of tokens that is believed, so that sums do not overflow. */
#define TN_ANSWER_COUNT_MAX (INT64_C(1) << 50)

#define TN_ANSWER_TEXT      0 /* kinds of a part */
#define TN_ANSWER_REASONING 1
#define TN_ANSWER_REFUSAL   2
#define TN_ANSWER_PART      3 /* added as a whole */

struct tn_answer_part {
    int32_t kind;
    struct tn_text_buffer text;
    tn_value value; /* of TN_ANSWER_PART */
    tn_value extra; /* {PROVIDER: …}, or NULL */
};

struct tn_answer_call {
    int64_t index; /* the service's number */
    tn_value id, name;
    struct tn_text_buffer arguments;
    tn_value extra;
};

/* Tokens; -1: not reported. */
struct tn_answer_usage {
    int64_t input, output, total, cached, cache_write, reasoning;
};
/* clang-format off */
#define TN_ANSWER_USAGE {-1, -1, -1, -1, -1, -1}
/* clang-format on */

/* Its members are read-only outside of this header, except `names`, `is_silent` and `is_marked`. */
struct tn_answer {
    tn_task task;
    const char *provider;              /* the provider's member of every `extra` */
    const struct tn_tool_names *names; /* maps the names of called tools back; NULL, the default: they are unchanged */
    uint64_t message_count;
    int32_t status;      /* TN_OK; TN_LIMIT, TN_NO_MEMORY, TN_INVALID; or what emit returned: TN_CANCELLED, TN_STALE */
    const char *problem; /* with TN_LIMIT and TN_INVALID: what the service sent */
    struct tn_answer_part *parts;
    uint64_t part_count, part_capacity;
    bool is_open; /* the last part can still grow */
    bool is_ended;
    bool is_silent, is_marked; /* set after tn_answer_init; see above */
    struct tn_answer_call *calls;
    uint64_t call_count, call_capacity;
    tn_value extra, model;
    struct tn_answer_usage usage;
    const char *reason; /* NULL until tn_answer_finish */
    tn_value *waiting;  /* queued deltas; the first is at `next` */
    uint64_t waiting_count, waiting_capacity, next;
};

/* `input` is that of the task. `provider` is borrowed, and usually a literal. */
static inline void tn_answer_init(struct tn_answer *answer, tn_task task, tn_value input, const char *provider) {
    static const struct tn_answer_usage unknown = TN_ANSWER_USAGE;
    tn_value messages = tn_get(input, "messages");
    memset(answer, 0, sizeof(*answer));
    answer->task = task;
    answer->provider = provider;
    answer->message_count = tn.value->kind(messages) == TN_ARRAY ? tn.value->count(messages) : 1;
    answer->usage = unknown;
}

/* Discards what was received so far. Queued deltas stay. */
static inline void tn_answer_clear(struct tn_answer *answer) {
    static const struct tn_answer_usage unknown = TN_ANSWER_USAGE;
    for (uint64_t i = 0; i < answer->part_count; i++) {
        tn_text_free(&answer->parts[i].text);
        tn.value->release(answer->parts[i].value);
        tn.value->release(answer->parts[i].extra);
    }
    for (uint64_t i = 0; i < answer->call_count; i++) {
        tn_text_free(&answer->calls[i].arguments);
        tn.value->release(answer->calls[i].id);
        tn.value->release(answer->calls[i].name);
        tn.value->release(answer->calls[i].extra);
    }
    tn.value->release(answer->extra);
    tn.value->release(answer->model);
    answer->extra = answer->model = NULL;
    answer->part_count = answer->call_count = 0;
    answer->is_open = false;
    answer->reason = NULL;
    answer->usage = unknown;
}

static inline void tn_answer_free(struct tn_answer *answer) {
    tn_answer_clear(answer);
    for (uint64_t i = answer->next; i < answer->waiting_count; i++) tn.value->release(answer->waiting[i]);
    if (answer->parts != NULL) TN_UTIL_RELEASE(answer->parts);
    if (answer->calls != NULL) TN_UTIL_RELEASE(answer->calls);
    if (answer->waiting != NULL) TN_UTIL_RELEASE(answer->waiting);
    memset(answer, 0, sizeof(*answer));
}

static inline void tn_answer_set_failed(struct tn_answer *answer, int32_t status, const char *problem) {
    if (answer->status != TN_OK) return;
    answer->status = status;
    answer->problem = problem;
}

/* Room for one more item. NULL after a failure; otherwise *items, possibly moved. */
static inline void *tn_answer_reserve(struct tn_answer *answer, void *items, uint64_t count, uint64_t *capacity,
                                      uint64_t size) {
    uint64_t wanted = *capacity * 2 + 8;
    void *grown = items;
    if (count == *capacity) {
        grown = TN_UTIL_RESIZE(items, wanted * size);
        if (grown != NULL)
            *capacity = wanted;
        else
            tn_answer_set_failed(answer, TN_NO_MEMORY, NULL);
    }
    return answer->status == TN_OK ? grown : NULL;
}

static inline bool tn_answer_append(struct tn_answer *answer, struct tn_text_buffer *buffer, tn_value text) {
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    int32_t status;
    buffer->limit = TN_ANSWER_TEXT_MAX;
    status = tn_text_append_n(buffer, chars, length);
    if (status != TN_OK) tn_answer_set_failed(answer, status, "more than 64 MiB in one part of the answer");
    return status == TN_OK;
}

static inline tn_value tn_answer_buffer_text(const struct tn_text_buffer *buffer) {
    return tn_text_n(tn_text_chars(buffer), buffer->length);
}

static inline bool tn_answer_has_text(tn_value value) {
    uint64_t length = 0;
    return tn_chars(value, &length) != NULL && length > 0;
}

/* ---- Deltas -------------------------------------------------------------------------------------------------- */

/* Returns false if the delta must be queued, or if the task does not accept it any more. */
static inline bool tn_answer_emit_now(struct tn_answer *answer, tn_value delta) {
    int32_t status = tn.task->emit(answer->task, delta);
    if (status != TN_OK && status != TN_AGAIN) tn_answer_set_failed(answer, status, NULL);
    return status == TN_OK;
}

static inline void tn_answer_emit_take(struct tn_answer *answer, tn_value delta) {
    void *items;
    if (answer->is_silent) {
        tn.value->release(delta);
        return;
    }
    if (answer->is_marked && delta != NULL) delta = tn_build("{s:V}", "messages", delta);
    if (delta == NULL) tn_answer_set_failed(answer, TN_NO_MEMORY, NULL);
    if (answer->status == TN_OK && (answer->next < answer->waiting_count || !tn_answer_emit_now(answer, delta)) &&
        answer->status == TN_OK) {
        items = tn_answer_reserve(answer, answer->waiting, answer->waiting_count, &answer->waiting_capacity,
                                  sizeof(*answer->waiting));
        if (items != NULL) {
            answer->waiting = TN_UTIL_CAST(tn_value *, items);
            answer->waiting[answer->waiting_count++] = tn.value->retain(delta);
        }
    }
    tn.value->release(delta);
}

/* True if deltas wait for the task's `ready`: pause the exchange. */
static inline bool tn_answer_is_waiting(const struct tn_answer *answer) {
    return answer->status == TN_OK && answer->next < answer->waiting_count;
}

/* In `ready`: emits what waits. Returns true if nothing waits any more: resume the exchange. */
static inline bool tn_answer_flush(struct tn_answer *answer) {
    while (tn_answer_is_waiting(answer)) {
        if (!tn_answer_emit_now(answer, answer->waiting[answer->next])) return false;
        tn.value->release(answer->waiting[answer->next++]);
    }
    if (answer->status != TN_OK) return false;
    answer->next = answer->waiting_count = 0;
    return true;
}

/* ---- Parts --------------------------------------------------------------------------------------------------- */

/* `extra` with the member `key` of this provider set. Takes `extra`, which may be NULL. */
static inline tn_value tn_answer_extra_take(const struct tn_answer *answer, tn_value extra, const char *key,
                                            tn_value value) {
    tn_value members = tn.value->retain(tn_get(extra, answer->provider));
    if (members == NULL) members = tn_build("{}");
    if (extra == NULL) extra = tn_build("{}");
    return tn_set_take(extra, answer->provider, tn_set_take(members, key, tn.value->retain(value)));
}

static inline struct tn_answer_part *tn_answer_add_empty_part(struct tn_answer *answer, int32_t kind) {
    struct tn_answer_part *part;
    void *items;
    if (answer->part_count >= TN_ANSWER_PARTS_MAX)
        tn_answer_set_failed(answer, TN_LIMIT, "more than 65536 parts in one answer");
    items = tn_answer_reserve(answer, answer->parts, answer->part_count, &answer->part_capacity, sizeof(*part));
    if (items == NULL) return NULL;
    answer->parts = TN_UTIL_CAST(struct tn_answer_part *, items);
    part = &answer->parts[answer->part_count++];
    memset(part, 0, sizeof(*part));
    part->kind = kind;
    return part;
}

static inline tn_value tn_answer_part_value(const struct tn_answer_part *part) {
    static const char *const types[] = {"text", "reasoning", "refusal"};
    tn_builder *builder;
    if (part->kind == TN_ANSWER_PART && part->extra == NULL) return tn.value->retain(part->value);
    if (part->kind == TN_ANSWER_PART)
        return tn_set_take(tn.value->retain(part->value), "extra", tn.value->retain(part->extra));
    builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", types[part->kind]);
    if (part->text.length > 0 || part->extra == NULL) tn_put_take(builder, "text", tn_answer_buffer_text(&part->text));
    if (part->extra != NULL) tn_put(builder, "extra", part->extra);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* Closes the open part: the next piece opens another. A refusal is emitted here, as one part. */
static inline void tn_answer_end_part(struct tn_answer *answer) {
    const struct tn_answer_part *part;
    if (!answer->is_open) return;
    answer->is_open = false;
    part = &answer->parts[answer->part_count - 1];
    if (part->kind == TN_ANSWER_REFUSAL && answer->status == TN_OK)
        tn_answer_emit_take(answer, tn_build("{s:V}", "part", tn_answer_part_value(part)));
}

static inline bool tn_answer_append_part(struct tn_answer *answer, int32_t kind, tn_value text) {
    if (answer->status != TN_OK || !tn_answer_has_text(text)) return false;
    if (answer->is_open && answer->parts[answer->part_count - 1].kind != kind) tn_answer_end_part(answer);
    if (!answer->is_open && tn_answer_add_empty_part(answer, kind) == NULL) return false;
    answer->is_open = true;
    return tn_answer_append(answer, &answer->parts[answer->part_count - 1].text, text);
}

/* Append a piece to the open part of that kind, or open one. Values that are not text, or are empty, are ignored. */
static inline void tn_answer_add_text(struct tn_answer *answer, tn_value text) {
    if (tn_answer_append_part(answer, TN_ANSWER_TEXT, text))
        tn_answer_emit_take(answer, tn_build("{s:v}", "content", text));
}
static inline void tn_answer_add_reasoning(struct tn_answer *answer, tn_value text) {
    if (tn_answer_append_part(answer, TN_ANSWER_REASONING, text))
        tn_answer_emit_take(answer, tn_build("{s:v}", "reasoning", text));
}
static inline void tn_answer_add_refusal(struct tn_answer *answer, tn_value text) {
    (void)tn_answer_append_part(answer, TN_ANSWER_REFUSAL, text);
}

/* Adds a complete part, such as an image. */
static inline void tn_answer_add_part(struct tn_answer *answer, tn_value value) {
    struct tn_answer_part *part;
    if (answer->status != TN_OK || value == NULL) return;
    tn_answer_end_part(answer);
    part = tn_answer_add_empty_part(answer, TN_ANSWER_PART);
    if (part == NULL) return;
    part->value = tn.value->retain(value);
    tn_answer_emit_take(answer, tn_build("{s:v}", "part", value));
}

/* Sets a member of the last part's extra.PROVIDER. If there is no part, adds a reasoning part without text. */
static inline void tn_answer_set_part_extra(struct tn_answer *answer, const char *key, tn_value value) {
    struct tn_answer_part *part;
    if (answer->status != TN_OK || value == NULL) return;
    if (answer->part_count == 0) {
        if (tn_answer_add_empty_part(answer, TN_ANSWER_REASONING) == NULL) return;
        answer->is_open = true;
    }
    part = &answer->parts[answer->part_count - 1];
    part->extra = tn_answer_extra_take(answer, part->extra, key, value);
}

/* ---- Tool calls ------------------------------------------------------------------------------------------------ */

static inline struct tn_answer_call *tn_answer_find_call(const struct tn_answer *answer, int64_t index) {
    for (uint64_t i = answer->call_count; i > 0; i--)
        if (answer->calls[i - 1].index == index) return &answer->calls[i - 1];
    return NULL;
}

/*
 * The id differs between the calls of a conversation. It does not depend on the random part of the task's id, because a
 * run that is recorded must send the same ids when the recording is replayed.
 */
static inline tn_value tn_answer_make_id(const struct tn_answer *answer, uint64_t number) {
    char text[48];
    tn_value context = tn_context(answer->task);
    const char *id = tn_get_text(context, "task_id", "task"), *path = strchr(id, '.');
    uint64_t hash = 14695981039346656037u;
    if (tn_get(context, "seed") != NULL) {
        id = path != NULL ? path : "";
        hash = (hash ^ TN_UTIL_CAST(uint64_t, tn_get_int(context, "seed", 0))) * 1099511628211u;
        hash = (hash ^ answer->message_count) * 1099511628211u;
    }
    for (; *id != '\0'; id++) hash = (hash ^ TN_UTIL_CAST(unsigned char, *id)) * 1099511628211u;
    hash ^= TN_UTIL_CAST(uint64_t, tn_get_int(context, "attempt", 0));
    tn.value->release(context);
    (void)snprintf(text, sizeof(text), "call_%016llx_%llu", TN_UTIL_CAST(unsigned long long, hash),
                   TN_UTIL_CAST(unsigned long long, number));
    return tn_text(text);
}

static inline struct tn_answer_call *tn_answer_add_empty_call(struct tn_answer *answer, int64_t index, tn_value id) {
    struct tn_answer_call *added;
    void *items;
    if (answer->call_count >= TN_ANSWER_CALLS_MAX)
        tn_answer_set_failed(answer, TN_LIMIT, "more than 1024 tool calls in one answer");
    items = tn_answer_reserve(answer, answer->calls, answer->call_count, &answer->call_capacity, sizeof(*added));
    if (items == NULL) return NULL;
    answer->calls = TN_UTIL_CAST(struct tn_answer_call *, items);
    added = &answer->calls[answer->call_count];
    memset(added, 0, sizeof(*added));
    added->index = index;
    added->id = id != NULL ? tn.value->retain(id) : tn_answer_make_id(answer, answer->call_count);
    answer->call_count++;
    return added;
}

/* True for a text that is neither empty nor contains a NUL. */
static inline bool tn_answer_is_name(tn_value value) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    return text != NULL && length > 0 && strlen(text) == length;
}

/* A piece of JSON text, or complete arguments as JSON text. A new reference; NULL if there are none. */
static inline tn_value tn_answer_arguments_piece(tn_value arguments) {
    if (tn_answer_has_text(arguments)) return tn.value->retain(arguments);
    return tn.value->kind(arguments) > TN_NULL && tn.value->kind(arguments) != TN_STRING ? tn_to_json(arguments) : NULL;
}

/*
 * Adds a piece of the tool call that has the number `index` in the service's answer. Numbers need not be consecutive.
 * Each value may be NULL. `name` is the service's name of the tool; `arguments` is a piece of JSON text, or the
 * complete arguments. If the service sends no id, one is made. At the end of the answer the text is parsed; an empty
 * text becomes
 * {}. A text that is not JSON stays a text in the message: the model then receives an error for this call, and the rest
 * of the answer remains valid.
 */
static inline void tn_answer_add_call(struct tn_answer *answer, int64_t index, tn_value id, tn_value name,
                                      tn_value arguments) {
    struct tn_answer_call *call = tn_answer_find_call(answer, index);
    const char *service;
    tn_value piece;
    bool is_new, is_named;
    if (!tn_answer_has_text(id)) id = NULL;
    tn_answer_end_part(answer);
    if (answer->status != TN_OK) return;
    /* Some services send the index 0 for every call; then the id distinguishes them. */
    is_new = call == NULL || (id != NULL && !tn.value->equal(call->id, id) && tn_answer_is_name(name));
    if (is_new) call = tn_answer_add_empty_call(answer, index, id);
    if (call == NULL) return;
    is_named = call->name == NULL && tn_answer_is_name(name);
    if (is_named) {
        service = tn_chars(name, NULL);
        call->name = tn_text(answer->names != NULL ? tn_tool_names_from_service(answer->names, service) : service);
    }
    piece = tn_answer_arguments_piece(arguments);
    if (!tn_answer_append(answer, &call->arguments, piece) || (!is_new && !is_named && piece == NULL)) {
        tn.value->release(piece);
        return;
    }
    tn_answer_emit_take(answer, tn_build("{s:{s:I, s:v*, s:v*, s:V*}}", "tool_call_delta", "index",
                                         TN_UTIL_CAST(int64_t, call - answer->calls), "id", is_new ? call->id : NULL,
                                         "name", is_named ? call->name : NULL, "arguments", piece));
}

static inline void tn_answer_set_call_extra(struct tn_answer *answer, int64_t index, const char *key, tn_value value) {
    struct tn_answer_call *call = tn_answer_find_call(answer, index);
    if (answer->status == TN_OK && call != NULL && value != NULL)
        call->extra = tn_answer_extra_take(answer, call->extra, key, value);
}

/* The arguments as the message has them. */
static inline tn_value tn_answer_call_arguments(const struct tn_answer_call *call) {
    tn_value parsed = NULL;
    int32_t kind;
    if (call->arguments.length == 0) return tn_build("{}");
    parsed = tn_from_json(call->arguments.bytes, call->arguments.length);
    kind = tn.value->kind(parsed);
    if (parsed != NULL && kind != TN_NULL && kind != TN_STRING) return parsed;
    tn.value->release(parsed);
    /* a JSON string, too, stays as it was sent */
    return kind == TN_NULL ? tn_build("{}") : tn_answer_buffer_text(&call->arguments);
}

/* ---- Metadata ------------------------------------------------------------------------------------------------- */

/* Sets a member of the message's extra.PROVIDER. */
static inline void tn_answer_set_extra(struct tn_answer *answer, const char *key, tn_value value) {
    if (answer->status == TN_OK && value != NULL)
        answer->extra = tn_answer_extra_take(answer, answer->extra, key, value);
}

/* The name that the service reports for the model that answered. */
static inline void tn_answer_set_model(struct tn_answer *answer, tn_value name) {
    if (!tn_answer_has_text(name)) return;
    tn.value->release(answer->model);
    answer->model = tn.value->retain(name);
}

/* A number of tokens in the service's answer. -1 if it is not an integer of 0 to TN_ANSWER_COUNT_MAX. */
static inline int64_t tn_answer_get_count(tn_value object, const char *key) {
    int64_t count = tn_get_int(object, key, -1);
    return count >= 0 && count <= TN_ANSWER_COUNT_MAX ? count : -1;
}

/* Members that are -1 stay as they were. */
static inline void tn_answer_set_usage(struct tn_answer *answer, const struct tn_answer_usage *usage) {
    if (usage->input >= 0) answer->usage.input = usage->input;
    if (usage->output >= 0) answer->usage.output = usage->output;
    if (usage->total >= 0) answer->usage.total = usage->total;
    if (usage->cached >= 0) answer->usage.cached = usage->cached;
    if (usage->cache_write >= 0) answer->usage.cache_write = usage->cache_write;
    if (usage->reasoning >= 0) answer->usage.reasoning = usage->reasoning;
}

static inline void tn_answer_put_count(tn_builder *builder, const char *name, int64_t count) {
    if (count >= 0) tn_put_int(builder, name, count);
}

/* USAGE of tenon/message.h: a new reference; NULL if the service reported none. */
static inline tn_value tn_answer_usage_value(const struct tn_answer *answer) {
    const struct tn_answer_usage *usage = &answer->usage;
    int64_t input = usage->input >= 0 ? usage->input : 0, output = usage->output >= 0 ? usage->output : 0;
    tn_builder *builder;
    if (usage->input < 0 && usage->output < 0 && usage->total < 0) return NULL;
    builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "input_tokens", input);
    tn_put_int(builder, "output_tokens", output);
    tn_put_int(builder, "total_tokens", usage->total >= 0 ? usage->total : input + output);
    tn_answer_put_count(builder, "cached_tokens", usage->cached);
    tn_answer_put_count(builder, "cache_write_tokens", usage->cache_write);
    tn_answer_put_count(builder, "reasoning_tokens", usage->reasoning);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* ---- The end -------------------------------------------------------------------------------------------------- */

/*
 * The answer is complete, except for metadata that may follow. `reason` is one of tenon/message.h, a literal. If called
 * again, the last reason is used. With tool calls "stop" becomes "tool_calls"; with a refusal, "content_filter".
 */
static inline void tn_answer_finish(struct tn_answer *answer, const char *reason) { answer->reason = reason; }
static inline bool tn_answer_is_finished(const struct tn_answer *answer) { return answer->reason != NULL; }

/* The service restarts its answer: everything so far is discarded, which the delta {reset: {code}} reports. */
static inline void tn_answer_restart(struct tn_answer *answer, const char *code) {
    bool had_content = answer->part_count > 0 || answer->call_count > 0;
    if (answer->status != TN_OK || answer->is_ended) return;
    tn_answer_clear(answer);
    if (had_content) tn_answer_emit_take(answer, tn_build("{s:{s:s}}", "reset", "code", code));
}

static inline const char *tn_answer_reason(const struct tn_answer *answer) {
    const char *reason = answer->reason != NULL ? answer->reason : "other";
    bool stop = strcmp(reason, "stop") == 0;
    if (stop && answer->call_count > 0) return "tool_calls";
    if (strcmp(reason, "tool_calls") == 0 && answer->call_count == 0) return "stop";
    for (uint64_t i = 0; stop && i < answer->part_count; i++)
        if (answer->parts[i].kind == TN_ANSWER_REFUSAL) return "content_filter";
    return reason;
}

/* Ends the answer: emits {done}. Call it once, when the stream has ended and tn_answer_is_finished. */
static inline void tn_answer_end(struct tn_answer *answer) {
    if (answer->status != TN_OK || answer->is_ended) return;
    tn_answer_end_part(answer);
    for (uint64_t i = 0; i < answer->call_count; i++)
        if (answer->calls[i].name == NULL) {
            tn_answer_set_failed(answer, TN_INVALID, "a tool call without a name");
            return;
        }
    tn_answer_emit_take(answer, tn_build("{s:{s:s, s:V*}}", "done", "finish_reason", tn_answer_reason(answer), "usage",
                                         tn_answer_usage_value(answer)));
    answer->is_ended = answer->status == TN_OK;
}

/* True if the answer has ended and all deltas are emitted: complete the task with tn_answer_output. */
static inline bool tn_answer_is_complete(const struct tn_answer *answer) {
    return answer->is_ended && answer->status == TN_OK && answer->next == answer->waiting_count;
}

static inline void tn_answer_put_content(const struct tn_answer *answer, tn_builder *builder) {
    const struct tn_answer_part *first = answer->parts;
    if (answer->part_count == 0)
        tn_put_text(builder, "content", "");
    else if (answer->part_count == 1 && first->kind == TN_ANSWER_TEXT && first->extra == NULL)
        tn_put_take(builder, "content", tn_answer_buffer_text(&first->text));
    else {
        tn_put_begin(builder, "content", TN_ARRAY);
        for (uint64_t i = 0; i < answer->part_count; i++)
            tn_put_take(builder, NULL, tn_answer_part_value(&answer->parts[i]));
        tn.value->end(builder);
    }
}

static inline void tn_answer_put_calls(const struct tn_answer *answer, tn_builder *builder) {
    if (answer->call_count == 0) return;
    tn_put_begin(builder, "tool_calls", TN_ARRAY);
    for (uint64_t i = 0; i < answer->call_count; i++) {
        const struct tn_answer_call *call = &answer->calls[i];
        tn_put_take(builder, NULL,
                    tn_build("{s:v, s:v, s:V, s:v*}", "id", call->id, "name", call->name, "arguments",
                             tn_answer_call_arguments(call), "extra", call->extra));
    }
    tn.value->end(builder);
}

/* The output of the model, {message, usage, finish_reason}: a new reference; NULL if it could not be built. */
static inline tn_value tn_answer_output(const struct tn_answer *answer) {
    tn_value usage = tn_answer_usage_value(answer), message, output;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "ai");
    tn_answer_put_content(answer, builder);
    tn_answer_put_calls(answer, builder);
    if (usage != NULL) tn_put(builder, "usage", usage);
    tn_put_text(builder, "finish_reason", tn_answer_reason(answer));
    if (answer->model != NULL) tn_put(builder, "model", answer->model);
    if (answer->extra != NULL) tn_put(builder, "extra", answer->extra);
    tn.value->end(builder);
    message = tn_finish(builder);
    output =
        tn_build("{s:V, s:v*, s:s}", "message", message, "usage", usage, "finish_reason", tn_answer_reason(answer));
    tn.value->release(usage);
    return output;
}

/* Why `status` is not TN_OK, as an ERROR for task_1.fail: a new reference. */
static inline tn_value tn_answer_error(const struct tn_answer *answer) {
    char message[200];
    if (answer->status == TN_CANCELLED || answer->status == TN_STALE) return tn_error("CANCELLED", "cancelled");
    if (answer->status == TN_NO_MEMORY) return tn_error("LIMIT", "not enough memory for the answer; limit its length");
    if (answer->problem == NULL)
        (void)snprintf(message, sizeof(message), "the host did not accept a part of the answer (status %d)",
                       TN_UTIL_CAST(int, answer->status));
    else
        (void)snprintf(message, sizeof(message), "%.40s sent %.100s; try again", answer->provider, answer->problem);
    return answer->problem == NULL ? tn_error("ERROR", message)
                                   : tn_set_take(tn_error("INVALID_RESPONSE", message), "retryable", tn_bool(1));
}

#ifdef __cplusplus
}
#endif
#endif
