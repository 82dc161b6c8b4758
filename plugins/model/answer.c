/*
 * answer.c - what comes, put together: parts, tool calls, usage; and given on meanwhile, as deltas.
 *
 * Every piece is emitted at once, while the host takes them; from its TN_AGAIN on pieces wait in a list, and the
 * exchange is paused, so that no more comes than one event has. The message is made at the end from what was kept,
 * never from the deltas: both say the same.
 */
#include "inside.h"

enum part_kind { PART_TEXT, PART_REASONING, PART_REFUSAL, PART_WHOLE };

struct text_buffer {
    char *data;
    uint64_t length, room;
};

struct part {
    enum part_kind kind;
    struct text_buffer text;
    tn_value value; /* of PART_WHOLE */
    tn_value extra; /* {PROVIDER: …}, or NULL */
};

struct tool_call {
    int64_t index; /* the service's */
    tn_value id, name;
    struct text_buffer arguments;
    tn_value extra;
};

struct model_answer {
    struct part *parts;
    uint64_t part_count, part_room;
    bool open; /* the last part goes on */
    struct tool_call *calls;
    uint64_t call_count, call_room;
    tn_value extra, model, embeddings;
    struct model_usage usage;
    const char *reason; /* NULL until the answer is whole */
    tn_value *waiting;  /* deltas, from `next` on */
    uint64_t waiting_count, waiting_room, next;
    bool ended;
};

bool inside_answer_init(struct model_call *call) {
    call->answer = inside_alloc(sizeof *call->answer);
    if (call->answer != NULL) call->answer->usage = MODEL_USAGE_NONE;
    return call->answer != NULL;
}

/* What it has been told so far; the deltas that wait stay. */
static void answer_clear(struct model_answer *answer) {
    for (uint64_t i = 0; i < answer->part_count; i++) {
        inside_free(answer->parts[i].text.data);
        tn_release(answer->parts[i].value);
        tn_release(answer->parts[i].extra);
    }
    for (uint64_t i = 0; i < answer->call_count; i++) {
        inside_free(answer->calls[i].arguments.data);
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

void inside_answer_free(struct model_answer *answer) {
    if (answer == NULL) return;
    answer_clear(answer);
    for (uint64_t i = answer->next; i < answer->waiting_count; i++) tn_release(answer->waiting[i]);
    inside_free(answer->parts);
    inside_free(answer->calls);
    inside_free(answer->waiting);
    inside_free(answer);
}

static void no_memory(struct model_call *call) {
    model_fail(call, "LIMIT", "there is no memory left for this answer; ask for less at once");
}

static bool text_add(struct model_call *call, struct text_buffer *buffer, const char *text, uint64_t length) {
    if (length > MODEL_TEXT_MAX - buffer->length) {
        model_invalid(call, "more than %d bytes in one part of the answer", MODEL_TEXT_MAX);
        return false;
    }
    uint64_t wanted = buffer->room > 0 ? buffer->room : 64;
    while (wanted < buffer->length + length) wanted *= 2;
    if (wanted > buffer->room) {
        char *larger = tn.core->resize(tn.host, buffer->data, wanted);
        if (larger == NULL) {
            no_memory(call);
            return false;
        }
        buffer->data = larger;
        buffer->room = wanted;
    }
    memcpy(buffer->data + buffer->length, text, length);
    buffer->length += length;
    return true;
}

static tn_value text_value(const struct text_buffer *buffer) {
    return tn_text_n(buffer->length > 0 ? buffer->data : "", buffer->length);
}

/* ---- Deltas ---- */

/* False where it has to wait, or the task is no more. */
static bool emit_now(struct model_call *call, tn_value delta) {
    int32_t status = tn.task->emit(call->task, delta);
    if (status == TN_OK) return true;
    if (status == TN_AGAIN) return false;
    if (status == TN_CANCELLED)
        model_fail(call, "CANCELLED", "cancelled");
    else if (status == TN_STALE)
        inside_over(call);
    else
        model_fail(call, "ERROR", "what the model said could not be given on (status %d)", (int)status);
    return false;
}

static void emit_take(struct model_call *call, tn_value delta) {
    struct model_answer *answer = call->answer;
    if (call->over || delta == NULL) {
        if (delta == NULL) no_memory(call);
    } else if (answer->next < answer->waiting_count || !emit_now(call, delta)) {
        void *items = answer->waiting;
        bool room = inside_room(&items, answer->waiting_count, &answer->waiting_room, sizeof(tn_value));
        answer->waiting = items;
        if (!room)
            no_memory(call);
        else if (!call->over) {
            if (answer->next == answer->waiting_count && call->exchange != 0)
                (void)call->model->http->pause(tn.host, call->exchange);
            answer->waiting[answer->waiting_count++] = tn_retain(delta);
        }
    }
    tn_release(delta);
}

static void emit_member(struct model_call *call, const char *name, tn_value value) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put(builder, name, value);
    tn.value->end(builder);
    emit_take(call, tn.value->finish(builder));
}

static void complete(struct model_call *call);

bool inside_answer_flush(struct model_call *call) {
    struct model_answer *answer = call->answer;
    while (!call->over && answer->next < answer->waiting_count) {
        if (!emit_now(call, answer->waiting[answer->next])) return false;
        tn_release(answer->waiting[answer->next++]);
    }
    if (call->over) return false;
    answer->next = answer->waiting_count = 0;
    if (answer->ended) complete(call);
    return true;
}

/* ---- Parts ---- */

static struct part *part_add(struct model_call *call, enum part_kind kind) {
    struct model_answer *answer = call->answer;
    if (answer->part_count >= MODEL_PARTS_MAX) {
        model_invalid(call, "more than %d parts in one answer", MODEL_PARTS_MAX);
        return NULL;
    }
    void *items = answer->parts;
    bool room = inside_room(&items, answer->part_count, &answer->part_room, sizeof(struct part));
    answer->parts = items;
    if (!room) {
        no_memory(call);
        return NULL;
    }
    struct part *part = &answer->parts[answer->part_count++];
    memset(part, 0, sizeof *part);
    part->kind = kind;
    return part;
}

static tn_value part_value(const struct part *part) {
    static const char *const types[] = {"text", "reasoning", "refusal"};
    if (part->kind == PART_WHOLE && part->extra == NULL) return tn_retain(part->value);
    if (part->kind == PART_WHOLE) return tn.value->set(part->value, "extra", part->extra);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", types[part->kind]);
    if (part->text.length > 0 || part->extra == NULL) tn_put_take(builder, "text", text_value(&part->text));
    if (part->extra != NULL) tn_put(builder, "extra", part->extra);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* Parts that are told in one piece are told now: those that came so are already. */
void model_part_end(struct model_call *call) {
    struct model_answer *answer = call->answer;
    if (!answer->open) return;
    answer->open = false;
    const struct part *part = &answer->parts[answer->part_count - 1];
    if (part->kind != PART_REFUSAL || call->over) return;
    tn_value value = part_value(part);
    emit_member(call, "part", value);
    tn_release(value);
}

static bool part_text(struct model_call *call, enum part_kind kind, tn_value text) {
    struct model_answer *answer = call->answer;
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (call->over || chars == NULL || length == 0) return false;
    if (answer->open && answer->parts[answer->part_count - 1].kind != kind) model_part_end(call);
    if (!answer->open && part_add(call, kind) == NULL) return false;
    answer->open = true;
    return text_add(call, &answer->parts[answer->part_count - 1].text, chars, length);
}

void model_text(struct model_call *call, tn_value text) {
    if (part_text(call, PART_TEXT, text)) emit_member(call, "content", text);
}

void model_reasoning(struct model_call *call, tn_value text) {
    if (part_text(call, PART_REASONING, text)) emit_member(call, "reasoning", text);
}

void model_refusal(struct model_call *call, tn_value text) { (void)part_text(call, PART_REFUSAL, text); }

void model_part_extra(struct model_call *call, const char *key, tn_value value) {
    struct model_answer *answer = call->answer;
    if (call->over || value == NULL) return;
    if (answer->part_count == 0) {
        if (part_add(call, PART_REASONING) == NULL) return;
        answer->open = true;
    }
    struct part *part = &answer->parts[answer->part_count - 1];
    part->extra = inside_extra_take(part->extra, call->model->provider->name, key, value);
}

void model_part(struct model_call *call, tn_value value) {
    if (call->over || value == NULL) return;
    model_part_end(call);
    struct part *part = part_add(call, PART_WHOLE);
    if (part == NULL) return;
    part->value = tn_retain(value);
    emit_member(call, "part", value);
}

/* ---- Tool calls ---- */

static struct tool_call *tool_call_find(const struct model_answer *answer, int64_t index) {
    for (uint64_t i = answer->call_count; i > 0; i--)
        if (answer->calls[i - 1].index == index) return &answer->calls[i - 1];
    return NULL;
}

/* The same for the same task, so that a run that is replayed makes the same; of another task another. */
static tn_value make_id(const struct model_call *call, uint64_t number) {
    char text[48];
    tn_value context = tn.task->context(call->task);
    uint64_t hash = 14695981039346656037u;
    for (const char *at = tn_get_text(context, "task_id", "task"); *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    hash ^= (uint64_t)tn_get_int(context, "attempt", 0);
    tn_release(context);
    (void)snprintf(text, sizeof text, "call_%016llx_%llu", (unsigned long long)hash, (unsigned long long)number);
    return tn_text(text);
}

static struct tool_call *tool_call_add(struct model_call *call, int64_t index, tn_value id) {
    struct model_answer *answer = call->answer;
    if (answer->call_count >= MODEL_CALLS_MAX) {
        model_invalid(call, "more than %d tool calls in one answer", MODEL_CALLS_MAX);
        return NULL;
    }
    void *items = answer->calls;
    bool room = inside_room(&items, answer->call_count, &answer->call_room, sizeof(struct tool_call));
    answer->calls = items;
    if (!room) {
        no_memory(call);
        return NULL;
    }
    struct tool_call *made = &answer->calls[answer->call_count];
    memset(made, 0, sizeof *made);
    made->index = index;
    made->id = id != NULL ? tn_retain(id) : make_id(call, answer->call_count);
    answer->call_count++;
    return made;
}

static bool is_text(tn_value value) {
    uint64_t length = 0;
    return tn_chars(value, &length) != NULL && length > 0;
}

/* As a text is in C. */
static bool is_name(tn_value value) {
    uint64_t length = 0;
    const char *text = tn_chars(value, &length);
    return text != NULL && length > 0 && strlen(text) == length;
}

void model_tool_call(struct model_call *call, int64_t index, tn_value id, tn_value name, tn_value arguments) {
    struct model_answer *answer = call->answer;
    struct tool_call *tool = tool_call_find(answer, index);
    if (call->over) return;
    if (!is_text(id)) id = NULL;
    model_part_end(call);
    /* Some services number every call 0, and tell them apart by their ids. */
    bool first = tool == NULL || (id != NULL && !tn.value->equal(tool->id, id) && is_name(name));
    if (first) tool = tool_call_add(call, index, id);
    if (tool == NULL) return;
    bool named = tool->name == NULL && is_name(name);
    if (named) tool->name = tn_text(model_tool_name_back(call, tn_chars(name, NULL)));
    tn_value text = NULL;
    if (is_text(arguments))
        text = tn_retain(arguments);
    else if (tn.value->kind(arguments) > TN_NULL && tn.value->kind(arguments) != TN_STRING)
        text = tn.value->to_json(arguments);
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    if (chars != NULL && !text_add(call, &tool->arguments, chars, length)) {
        tn_release(text);
        return;
    }
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "tool_call_delta", TN_OBJECT);
    tn_put_int(builder, "index", (int64_t)(tool - answer->calls));
    if (first) tn_put(builder, "id", tool->id);
    if (named) tn_put(builder, "name", tool->name);
    if (text != NULL) tn_put_take(builder, "arguments", text);
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value delta = tn.value->finish(builder);
    if (first || named || text != NULL)
        emit_take(call, delta);
    else
        tn_release(delta);
}

uint64_t model_tool_call_length(const struct model_call *call, int64_t index) {
    const struct tool_call *tool = tool_call_find(call->answer, index);
    return tool != NULL ? tool->arguments.length : 0;
}

void model_tool_call_extra(struct model_call *call, int64_t index, const char *key, tn_value value) {
    struct tool_call *tool = tool_call_find(call->answer, index);
    if (call->over || tool == NULL || value == NULL) return;
    tool->extra = inside_extra_take(tool->extra, call->model->provider->name, key, value);
}

uint64_t model_tool_calls(const struct model_call *call) { return call->answer->call_count; }

static tn_value tool_call_arguments(const struct tool_call *tool) {
    tn_value read = NULL;
    if (tool->arguments.length == 0) return inside_object();
    if (tn.value->from_json(tool->arguments.data, tool->arguments.length, &read) != TN_OK)
        return text_value(&tool->arguments);
    if (tn.value->kind(read) == TN_NULL) {
        tn_release(read);
        return inside_object();
    }
    if (tn.value->kind(read) == TN_STRING) { /* a text that holds the arguments, or is none: either way as it came */
        tn_release(read);
        return text_value(&tool->arguments);
    }
    return read;
}

/* ---- About the answer ---- */

void model_extra(struct model_call *call, const char *key, tn_value value) {
    if (call->over || value == NULL) return;
    call->answer->extra = inside_extra_take(call->answer->extra, call->model->provider->name, key, value);
}

void model_model(struct model_call *call, tn_value name) {
    if (call->over || !is_text(name)) return;
    tn_release(call->answer->model);
    call->answer->model = tn_retain(name);
}

int64_t model_count(tn_value object, const char *key) {
    int64_t count = tn_get_int(object, key, -1);
    return count >= 0 && count <= MODEL_COUNT_MAX ? count : -1;
}

void model_usage(struct model_call *call, const struct model_usage *usage) {
    struct model_usage *mine = &call->answer->usage;
    if (usage->input >= 0) mine->input = usage->input;
    if (usage->output >= 0) mine->output = usage->output;
    if (usage->total >= 0) mine->total = usage->total;
    if (usage->cached >= 0) mine->cached = usage->cached;
    if (usage->cache_write >= 0) mine->cache_write = usage->cache_write;
    if (usage->reasoning >= 0) mine->reasoning = usage->reasoning;
}

void model_finish(struct model_call *call, const char *reason) {
    if (!call->over) call->answer->reason = reason;
}

void model_reset(struct model_call *call, const char *code) {
    struct model_answer *answer = call->answer;
    bool said = answer->part_count > 0 || answer->call_count > 0;
    if (call->over || answer->ended) return;
    answer_clear(answer);
    if (!said) return;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_begin(builder, "reset", TN_OBJECT);
    tn_put_text(builder, "code", code);
    tn.value->end(builder);
    tn.value->end(builder);
    emit_take(call, tn.value->finish(builder));
}

bool model_finished(const struct model_call *call) { return call->answer->reason != NULL; }

void model_embeddings(struct model_call *call, tn_value embeddings) {
    if (call->over) return;
    tn_release(call->answer->embeddings);
    call->answer->embeddings = tn_retain(embeddings);
    call->answer->reason = "stop";
}

bool inside_answer_ended(const struct model_call *call) { return call->answer->ended; }

/* ---- The end ---- */

static void put_count(tn_builder *builder, const char *name, int64_t count) {
    if (count >= 0) tn_put_int(builder, name, count);
}

/* NULL where the service told nothing. */
static tn_value usage_value(const struct model_usage *usage) {
    if (usage->input < 0 && usage->output < 0 && usage->total < 0) return NULL;
    int64_t input = usage->input >= 0 ? usage->input : 0, output = usage->output >= 0 ? usage->output : 0;
    int64_t sum = input > INT64_MAX - output ? INT64_MAX : input + output;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_int(builder, "input_tokens", input);
    tn_put_int(builder, "output_tokens", output);
    tn_put_int(builder, "total_tokens", usage->total >= 0 ? usage->total : sum);
    put_count(builder, "cached_tokens", usage->cached);
    put_count(builder, "cache_write_tokens", usage->cache_write);
    put_count(builder, "reasoning_tokens", usage->reasoning);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static const char *reason_of(const struct model_answer *answer) {
    bool stop = strcmp(answer->reason, "stop") == 0;
    if (stop && answer->call_count > 0) return "tool_calls";
    if (!stop && strcmp(answer->reason, "tool_calls") == 0 && answer->call_count == 0) return "stop";
    for (uint64_t i = 0; stop && i < answer->part_count; i++)
        if (answer->parts[i].kind == PART_REFUSAL) return "content_filter";
    return answer->reason;
}

static void put_content(const struct model_answer *answer, tn_builder *builder) {
    const struct part *first = answer->parts;
    if (answer->part_count == 0)
        tn_put_text(builder, "content", "");
    else if (answer->part_count == 1 && first->kind == PART_TEXT && first->extra == NULL)
        tn_put_take(builder, "content", text_value(&first->text));
    else {
        tn_put_begin(builder, "content", TN_ARRAY);
        for (uint64_t i = 0; i < answer->part_count; i++) tn_put_take(builder, NULL, part_value(&answer->parts[i]));
        tn.value->end(builder);
    }
}

static void put_calls(const struct model_answer *answer, tn_builder *builder) {
    if (answer->call_count == 0) return;
    tn_put_begin(builder, "tool_calls", TN_ARRAY);
    for (uint64_t i = 0; i < answer->call_count; i++) {
        const struct tool_call *tool = &answer->calls[i];
        tn_put_begin(builder, NULL, TN_OBJECT);
        tn_put(builder, "id", tool->id);
        tn_put(builder, "name", tool->name);
        tn_put_take(builder, "arguments", tool_call_arguments(tool));
        if (tool->extra != NULL) tn_put(builder, "extra", tool->extra);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static tn_value message_value(const struct model_answer *answer, tn_value usage) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "ai");
    put_content(answer, builder);
    put_calls(answer, builder);
    if (usage != NULL) tn_put(builder, "usage", usage);
    tn_put_text(builder, "finish_reason", reason_of(answer));
    if (answer->model != NULL) tn_put(builder, "model", answer->model);
    if (answer->extra != NULL) tn_put(builder, "extra", answer->extra);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static void complete(struct model_call *call) {
    const struct model_answer *answer = call->answer;
    tn_value usage = usage_value(&answer->usage);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    if (call->embed != NULL)
        tn_put(builder, "embeddings", answer->embeddings);
    else
        tn_put_take(builder, "message", message_value(answer, usage));
    if (usage != NULL) tn_put(builder, "usage", usage);
    if (call->embed == NULL) tn_put_text(builder, "finish_reason", reason_of(answer));
    tn.value->end(builder);
    tn_value output = tn.value->finish(builder);
    tn_release(usage);
    if (output == NULL) {
        model_invalid(call, "an answer that cannot be put together");
        return;
    }
    inside_over(call);
    (void)tn.task->complete(call->task, output);
    tn_release(output);
}

void inside_answer_end(struct model_call *call) {
    struct model_answer *answer = call->answer;
    if (call->over || answer->ended) return;
    model_part_end(call);
    for (uint64_t i = 0; i < answer->call_count; i++)
        if (answer->calls[i].name == NULL) {
            model_invalid(call, "a tool call without a name (the %lluth)", (unsigned long long)i + 1);
            return;
        }
    if (call->embed == NULL) {
        tn_value usage = usage_value(&answer->usage);
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_begin(builder, "done", TN_OBJECT);
        tn_put_text(builder, "finish_reason", reason_of(answer));
        if (usage != NULL) tn_put(builder, "usage", usage);
        tn.value->end(builder);
        tn.value->end(builder);
        tn_release(usage);
        emit_take(call, tn.value->finish(builder));
    }
    if (call->over) return;
    answer->ended = true;
    if (answer->next == answer->waiting_count) complete(call);
}
