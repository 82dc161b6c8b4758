/*
 * answer.c - collects the parts, tool calls and usage of the answer, and emits them as deltas.
 *
 * Every piece is emitted immediately while the host accepts deltas. After TN_AGAIN, deltas are queued and the exchange
 * is paused, so the queue holds at most the deltas of one event. The message is built at the end from the collected
 * parts, not from the deltas; both have the same content.
 */
#include "internal.h"

enum part_kind { PART_TEXT, PART_REASONING, PART_REFUSAL, PART_COMPLETE };

struct part {
    enum part_kind kind;
    struct tn_text_buffer text;
    tn_value value; /* of PART_COMPLETE */
    tn_value extra; /* {PROVIDER: …}, or NULL */
};

struct tool_call {
    int64_t index; /* the service's number */
    tn_value id, name;
    struct tn_text_buffer arguments;
    tn_value extra;
};

struct model_answer {
    struct part *parts;
    uint64_t part_count, part_room;
    bool open; /* the last part can still grow */
    struct tool_call *calls;
    uint64_t call_count, call_room;
    tn_value extra, model, embeddings;
    struct model_usage usage;
    const char *reason; /* NULL until the answer is complete */
    tn_value *waiting;  /* queued deltas; the first is at `next` */
    uint64_t waiting_count, waiting_room, next;
    bool ended;
};

bool model_answer_init(struct model_call *call) {
    call->answer = model_memory_alloc(sizeof *call->answer);
    if (call->answer != NULL) call->answer->usage = MODEL_USAGE_NONE;
    return call->answer != NULL;
}

/* Discards what was received so far. Queued deltas stay. */
static void answer_clear(struct model_answer *answer) {
    for (uint64_t i = 0; i < answer->part_count; i++) {
        tn_text_free(&answer->parts[i].text);
        tn_release(answer->parts[i].value);
        tn_release(answer->parts[i].extra);
    }
    for (uint64_t i = 0; i < answer->call_count; i++) {
        tn_text_free(&answer->calls[i].arguments);
        tn_release(answer->calls[i].id);
        tn_release(answer->calls[i].name);
        tn_release(answer->calls[i].extra);
    }
    tn_release(answer->extra);
    tn_release(answer->model);
    tn_release(answer->embeddings);
    answer->extra = answer->model = answer->embeddings = NULL;
    answer->part_count = answer->call_count = 0;
    answer->open = false;
    answer->reason = NULL;
    answer->usage = MODEL_USAGE_NONE;
}

void model_answer_free(struct model_answer *answer) {
    if (answer == NULL) return;
    answer_clear(answer);
    for (uint64_t i = answer->next; i < answer->waiting_count; i++) tn_release(answer->waiting[i]);
    model_memory_free(answer->parts);
    model_memory_free(answer->calls);
    model_memory_free(answer->waiting);
    model_memory_free(answer);
}

static void answer_fail_no_memory(struct model_call *call) {
    model_fail(call, "LIMIT", "not enough memory for the answer; limit its length");
}

/* Returns false if the call has failed. */
static bool answer_append(struct model_call *call, struct tn_text_buffer *buffer, const char *text, uint64_t length) {
    buffer->limit = MODEL_TEXT_MAX;
    int32_t status = tn_text_append_n(buffer, text, length);
    if (status == TN_LIMIT) model_fail_response(call, "more than %d bytes in one part of the answer", MODEL_TEXT_MAX);
    if (status == TN_NO_MEMORY) answer_fail_no_memory(call);
    return status == TN_OK;
}

static tn_value answer_text(const struct tn_text_buffer *buffer) {
    return tn_text_n(tn_text_chars(buffer), buffer->length);
}

/* ---- Deltas ---- */

/* Returns false if the delta must be queued, or if the task has ended. */
static bool answer_emit_now(struct model_call *call, tn_value delta) {
    int32_t status = tn.task->emit(call->task, delta);
    if (status == TN_OK) return true;
    if (status == TN_AGAIN) return false;
    if (status == TN_CANCELLED)
        model_fail(call, "CANCELLED", "cancelled");
    else if (status == TN_STALE)
        model_call_end(call);
    else
        model_fail(call, "ERROR", "the host did not accept a part of the answer (status %d)", (int)status);
    return false;
}

static void answer_emit_take(struct model_call *call, tn_value delta) {
    struct model_answer *answer = call->answer;
    if (call->ended || delta == NULL) {
        if (delta == NULL) answer_fail_no_memory(call);
    } else if (answer->next < answer->waiting_count || !answer_emit_now(call, delta)) {
        void *items = answer->waiting;
        bool room = model_memory_reserve(&items, answer->waiting_count, &answer->waiting_room, sizeof(tn_value));
        answer->waiting = items;
        if (!room)
            answer_fail_no_memory(call);
        else if (!call->ended) {
            if (answer->next == answer->waiting_count && call->exchange != 0)
                (void)call->model->http->pause(tn.host, call->exchange);
            answer->waiting[answer->waiting_count++] = tn_retain(delta);
        }
    }
    tn_release(delta);
}

static void answer_emit_member(struct model_call *call, const char *name, tn_value value) {
    answer_emit_take(call, tn_build("{s:v}", name, value));
}

static void answer_complete(struct model_call *call);

bool model_answer_flush(struct model_call *call) {
    struct model_answer *answer = call->answer;
    while (!call->ended && answer->next < answer->waiting_count) {
        if (!answer_emit_now(call, answer->waiting[answer->next])) return false;
        tn_release(answer->waiting[answer->next++]);
    }
    if (call->ended) return false;
    answer->next = answer->waiting_count = 0;
    if (answer->ended) answer_complete(call);
    return true;
}

/* ---- Parts ---- */

static struct part *answer_add_part(struct model_call *call, enum part_kind kind) {
    struct model_answer *answer = call->answer;
    if (answer->part_count >= MODEL_PARTS_MAX) {
        model_fail_response(call, "more than %d parts in one answer", MODEL_PARTS_MAX);
        return NULL;
    }
    void *items = answer->parts;
    bool room = model_memory_reserve(&items, answer->part_count, &answer->part_room, sizeof(struct part));
    answer->parts = items;
    if (!room) {
        answer_fail_no_memory(call);
        return NULL;
    }
    struct part *part = &answer->parts[answer->part_count++];
    memset(part, 0, sizeof *part);
    part->kind = kind;
    return part;
}

static tn_value answer_part_value(const struct part *part) {
    static const char *const types[] = {"text", "reasoning", "refusal"};
    if (part->kind == PART_COMPLETE && part->extra == NULL) return tn_retain(part->value);
    if (part->kind == PART_COMPLETE) return tn_set_take(tn_retain(part->value), "extra", tn_retain(part->extra));
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", types[part->kind]);
    if (part->text.length > 0 || part->extra == NULL) tn_put_take(builder, "text", answer_text(&part->text));
    if (part->extra != NULL) tn_put(builder, "extra", part->extra);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* A refusal is emitted as one part when it ends. All other kinds were already emitted. */
void model_end_part(struct model_call *call) {
    struct model_answer *answer = call->answer;
    if (!answer->open) return;
    answer->open = false;
    const struct part *part = &answer->parts[answer->part_count - 1];
    if (part->kind != PART_REFUSAL || call->ended) return;
    tn_value value = answer_part_value(part);
    answer_emit_member(call, "part", value);
    tn_release(value);
}

static bool answer_append_part_text(struct model_call *call, enum part_kind kind, tn_value text) {
    struct model_answer *answer = call->answer;
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (call->ended || chars == NULL || length == 0) return false;
    if (answer->open && answer->parts[answer->part_count - 1].kind != kind) model_end_part(call);
    if (!answer->open && answer_add_part(call, kind) == NULL) return false;
    answer->open = true;
    return answer_append(call, &answer->parts[answer->part_count - 1].text, chars, length);
}

void model_add_text(struct model_call *call, tn_value text) {
    if (answer_append_part_text(call, PART_TEXT, text)) answer_emit_member(call, "content", text);
}

void model_add_reasoning(struct model_call *call, tn_value text) {
    if (answer_append_part_text(call, PART_REASONING, text)) answer_emit_member(call, "reasoning", text);
}

void model_add_refusal(struct model_call *call, tn_value text) {
    (void)answer_append_part_text(call, PART_REFUSAL, text);
}

void model_set_part_extra(struct model_call *call, const char *key, tn_value value) {
    struct model_answer *answer = call->answer;
    if (call->ended || value == NULL) return;
    if (answer->part_count == 0) {
        if (answer_add_part(call, PART_REASONING) == NULL) return;
        answer->open = true;
    }
    struct part *part = &answer->parts[answer->part_count - 1];
    part->extra = model_extra_set_take(part->extra, call->model->provider->name, key, value);
}

void model_add_part(struct model_call *call, tn_value value) {
    if (call->ended || value == NULL) return;
    model_end_part(call);
    struct part *part = answer_add_part(call, PART_COMPLETE);
    if (part == NULL) return;
    part->value = tn_retain(value);
    answer_emit_member(call, "part", value);
}

/* ---- Tool calls ---- */

static struct tool_call *answer_lookup_tool_call(const struct model_answer *answer, int64_t index) {
    for (uint64_t i = answer->call_count; i > 0; i--)
        if (answer->calls[i - 1].index == index) return &answer->calls[i - 1];
    return NULL;
}

/*
 * The id differs between the calls of a conversation. It does not depend on the random part of the task's id, because a
 * run that is recorded must send the same ids when the recording is replayed.
 */
static tn_value answer_generate_call_id(const struct model_call *call, uint64_t number) {
    char text[48];
    tn_value context = tn_context(call->task);
    const char *id = tn_get_text(context, "task_id", "task"), *path = strchr(id, '.');
    uint64_t hash = 14695981039346656037u;
    if (tn_get(context, "seed") != NULL) {
        id = path != NULL ? path : "";
        hash = (hash ^ (uint64_t)tn_get_int(context, "seed", 0)) * 1099511628211u;
        hash = (hash ^ tn.value->count(call->messages)) * 1099511628211u;
    }
    for (; *id != '\0'; id++) hash = (hash ^ (unsigned char)*id) * 1099511628211u;
    hash ^= (uint64_t)tn_get_int(context, "attempt", 0);
    tn_release(context);
    (void)snprintf(text, sizeof text, "call_%016llx_%llu", (unsigned long long)hash, (unsigned long long)number);
    return tn_text(text);
}

static struct tool_call *answer_add_tool_call(struct model_call *call, int64_t index, tn_value id) {
    struct model_answer *answer = call->answer;
    if (answer->call_count >= MODEL_CALLS_MAX) {
        model_fail_response(call, "more than %d tool calls in one answer", MODEL_CALLS_MAX);
        return NULL;
    }
    void *items = answer->calls;
    bool room = model_memory_reserve(&items, answer->call_count, &answer->call_room, sizeof(struct tool_call));
    answer->calls = items;
    if (!room) {
        answer_fail_no_memory(call);
        return NULL;
    }
    struct tool_call *added = &answer->calls[answer->call_count];
    memset(added, 0, sizeof *added);
    added->index = index;
    added->id = id != NULL ? tn_retain(id) : answer_generate_call_id(call, answer->call_count);
    answer->call_count++;
    return added;
}

static bool answer_is_text(tn_value value) {
    uint64_t length = 0;
    return tn_chars(value, &length) != NULL && length > 0;
}

/* True for a non-empty text without NUL bytes. */
static bool answer_is_name(tn_value value) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    return text != NULL && length > 0 && strlen(text) == length;
}

void model_add_tool_call(struct model_call *call, int64_t index, tn_value id, tn_value name, tn_value arguments) {
    struct model_answer *answer = call->answer;
    struct tool_call *tool = answer_lookup_tool_call(answer, index);
    if (call->ended) return;
    if (!answer_is_text(id)) id = NULL;
    model_end_part(call);
    /* Some services send the index 0 for every call; then the id distinguishes them. */
    bool first = tool == NULL || (id != NULL && !tn.value->equal(tool->id, id) && answer_is_name(name));
    if (first) tool = answer_add_tool_call(call, index, id);
    if (tool == NULL) return;
    bool has_name = tool->name == NULL && answer_is_name(name);
    if (has_name) tool->name = tn_text(model_tool_name_from_service(call, tn_chars(name, NULL)));
    tn_value text = NULL;
    if (answer_is_text(arguments))
        text = tn_retain(arguments);
    else if (tn.value->kind(arguments) > TN_NULL && tn.value->kind(arguments) != TN_STRING)
        text = tn_to_json(arguments);
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (chars != NULL && !answer_append(call, &tool->arguments, chars, length)) {
        tn_release(text);
        return;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "tool_call_delta", TN_OBJECT);
    tn_put_int(builder, "index", (int64_t)(tool - answer->calls));
    if (first) tn_put(builder, "id", tool->id);
    if (has_name) tn_put(builder, "name", tool->name);
    if (text != NULL) tn_put_take(builder, "arguments", text);
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value delta = tn_finish(builder);
    if (first || has_name || text != NULL)
        answer_emit_take(call, delta);
    else
        tn_release(delta);
}

uint64_t model_get_arguments_length(const struct model_call *call, int64_t index) {
    const struct tool_call *tool = answer_lookup_tool_call(call->answer, index);
    return tool != NULL ? tool->arguments.length : 0;
}

void model_set_tool_call_extra(struct model_call *call, int64_t index, const char *key, tn_value value) {
    struct tool_call *tool = answer_lookup_tool_call(call->answer, index);
    if (call->ended || tool == NULL || value == NULL) return;
    tool->extra = model_extra_set_take(tool->extra, call->model->provider->name, key, value);
}

uint64_t model_count_tool_calls(const struct model_call *call) { return call->answer->call_count; }

static tn_value answer_tool_call_arguments(const struct tool_call *tool) {
    tn_value parsed = NULL;
    if (tool->arguments.length == 0) return tn_build("{}");
    if (tn.value->from_json(tn.host, tool->arguments.bytes, tool->arguments.length, &parsed, NULL) != TN_OK)
        return answer_text(&tool->arguments);
    if (tn.value->kind(parsed) == TN_NULL) {
        tn_release(parsed);
        return tn_build("{}");
    }
    if (tn.value->kind(parsed) == TN_STRING) { /* a JSON string: keep the text as it was sent */
        tn_release(parsed);
        return answer_text(&tool->arguments);
    }
    return parsed;
}

/* ---- Metadata ---- */

void model_set_extra(struct model_call *call, const char *key, tn_value value) {
    if (call->ended || value == NULL) return;
    call->answer->extra = model_extra_set_take(call->answer->extra, call->model->provider->name, key, value);
}

void model_set_model_name(struct model_call *call, tn_value name) {
    if (call->ended || !answer_is_text(name)) return;
    tn_release(call->answer->model);
    call->answer->model = tn_retain(name);
}

int64_t model_get_count(tn_value object, const char *key) {
    int64_t count = tn_get_int(object, key, -1);
    return count >= 0 && count <= MODEL_COUNT_MAX ? count : -1;
}

void model_set_usage(struct model_call *call, const struct model_usage *usage) {
    struct model_usage *sums = &call->answer->usage;
    if (usage->input >= 0) sums->input = usage->input;
    if (usage->output >= 0) sums->output = usage->output;
    if (usage->total >= 0) sums->total = usage->total;
    if (usage->cached >= 0) sums->cached = usage->cached;
    if (usage->cache_write >= 0) sums->cache_write = usage->cache_write;
    if (usage->reasoning >= 0) sums->reasoning = usage->reasoning;
}

void model_finish(struct model_call *call, const char *reason) {
    if (!call->ended) call->answer->reason = reason;
}

void model_restart(struct model_call *call, const char *code) {
    struct model_answer *answer = call->answer;
    bool had_content = answer->part_count > 0 || answer->call_count > 0;
    if (call->ended || answer->ended) return;
    answer_clear(answer);
    if (!had_content) return;
    answer_emit_take(call, tn_build("{s:{s:s}}", "reset", "code", code));
}

bool model_is_finished(const struct model_call *call) { return call->answer->reason != NULL; }

void model_finish_embeddings(struct model_call *call, tn_value embeddings) {
    if (call->ended) return;
    tn_release(call->answer->embeddings);
    call->answer->embeddings = tn_retain(embeddings);
    call->answer->reason = "stop";
}

bool model_answer_has_ended(const struct model_call *call) { return call->answer->ended; }

/* ---- The end ---- */

static void answer_put_count(tn_builder *builder, const char *name, int64_t count) {
    if (count >= 0) tn_put_int(builder, name, count);
}

/* Returns NULL if the service reported no usage. */
static tn_value answer_usage(const struct model_usage *usage) {
    if (usage->input < 0 && usage->output < 0 && usage->total < 0) return NULL;
    int64_t input = usage->input >= 0 ? usage->input : 0, output = usage->output >= 0 ? usage->output : 0;
    int64_t sum = input > INT64_MAX - output ? INT64_MAX : input + output;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "input_tokens", input);
    tn_put_int(builder, "output_tokens", output);
    tn_put_int(builder, "total_tokens", usage->total >= 0 ? usage->total : sum);
    answer_put_count(builder, "cached_tokens", usage->cached);
    answer_put_count(builder, "cache_write_tokens", usage->cache_write);
    answer_put_count(builder, "reasoning_tokens", usage->reasoning);
    tn.value->end(builder);
    return tn_finish(builder);
}

static const char *answer_reason(const struct model_answer *answer) {
    bool stop = strcmp(answer->reason, "stop") == 0;
    if (stop && answer->call_count > 0) return "tool_calls";
    if (!stop && strcmp(answer->reason, "tool_calls") == 0 && answer->call_count == 0) return "stop";
    for (uint64_t i = 0; stop && i < answer->part_count; i++)
        if (answer->parts[i].kind == PART_REFUSAL) return "content_filter";
    return answer->reason;
}

static void answer_put_content(const struct model_answer *answer, tn_builder *builder) {
    const struct part *first = answer->parts;
    if (answer->part_count == 0)
        tn_put_text(builder, "content", "");
    else if (answer->part_count == 1 && first->kind == PART_TEXT && first->extra == NULL)
        tn_put_take(builder, "content", answer_text(&first->text));
    else {
        tn_put_begin(builder, "content", TN_ARRAY);
        for (uint64_t i = 0; i < answer->part_count; i++)
            tn_put_take(builder, NULL, answer_part_value(&answer->parts[i]));
        tn.value->end(builder);
    }
}

static void answer_put_calls(const struct model_answer *answer, tn_builder *builder) {
    if (answer->call_count == 0) return;
    tn_put_begin(builder, "tool_calls", TN_ARRAY);
    for (uint64_t i = 0; i < answer->call_count; i++) {
        const struct tool_call *tool = &answer->calls[i];
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put(builder, "id", tool->id);
        tn_put(builder, "name", tool->name);
        tn_put_take(builder, "arguments", answer_tool_call_arguments(tool));
        if (tool->extra != NULL) tn_put(builder, "extra", tool->extra);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static tn_value answer_message(const struct model_answer *answer, tn_value usage) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "ai");
    answer_put_content(answer, builder);
    answer_put_calls(answer, builder);
    if (usage != NULL) tn_put(builder, "usage", usage);
    tn_put_text(builder, "finish_reason", answer_reason(answer));
    if (answer->model != NULL) tn_put(builder, "model", answer->model);
    if (answer->extra != NULL) tn_put(builder, "extra", answer->extra);
    tn.value->end(builder);
    return tn_finish(builder);
}

static void answer_complete(struct model_call *call) {
    const struct model_answer *answer = call->answer;
    tn_value usage = answer_usage(&answer->usage);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    if (call->embed != NULL)
        tn_put(builder, "embeddings", answer->embeddings);
    else
        tn_put_take(builder, "message", answer_message(answer, usage));
    if (usage != NULL) tn_put(builder, "usage", usage);
    if (call->embed == NULL) tn_put_text(builder, "finish_reason", answer_reason(answer));
    tn.value->end(builder);
    tn_value output = tn_finish(builder);
    tn_release(usage);
    if (output == NULL) {
        model_fail_response(call, "an answer that cannot be converted to a message");
        return;
    }
    model_call_end(call);
    (void)tn.task->complete(call->task, output);
    tn_release(output);
}

void model_answer_end(struct model_call *call) {
    struct model_answer *answer = call->answer;
    if (call->ended || answer->ended) return;
    model_end_part(call);
    for (uint64_t i = 0; i < answer->call_count; i++)
        if (answer->calls[i].name == NULL) {
            model_fail_response(call, "a tool call without a name (number %llu)", (unsigned long long)i + 1);
            return;
        }
    if (call->embed == NULL) {
        tn_value usage = answer_usage(&answer->usage);
        tn_builder *builder = tn_builder_new();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_begin(builder, "done", TN_OBJECT);
        tn_put_text(builder, "finish_reason", answer_reason(answer));
        if (usage != NULL) tn_put(builder, "usage", usage);
        tn.value->end(builder);
        tn.value->end(builder);
        tn_release(usage);
        answer_emit_take(call, tn_finish(builder));
    }
    if (call->ended) return;
    answer->ended = true;
    if (answer->next == answer->waiting_count) answer_complete(call);
}
