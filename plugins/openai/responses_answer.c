/*
 * responses_answer.c - reads answers of the Responses interface, as events or in one piece.
 *
 * Items are identified by output_index, because some gateways change the ids between events. Text, reasoning and
 * arguments are emitted as they arrive. Other data of an item (citations, an image, encrypted reasoning) is read when
 * the item is done. response.completed or response.incomplete completes the answer; only these events have the finish
 * reason and the usage.
 */
#include "openai.h"

/* Returns the event's output_index; INT32_MAX if it is out of range. */
static int64_t responses_event_index(tn_value event) {
    int64_t index = tn_get_int(event, "output_index", 0);
    return index >= 0 && index < INT32_MAX ? index : INT32_MAX;
}

/* ---- Items that are done ---- */

/* Stores an item, or a placeholder that has only its position, for the next request. `required`: the next request needs
 * the item itself. */
static void responses_keep_item_take(struct openai_call *state, tn_value item, bool required) {
    tn_value list = tn_build("[V]", item);
    openai_append_all(&state->items, list);
    tn_release(list);
    state->keep_items = state->keep_items || required;
}

static tn_value responses_item_placeholder(tn_value item, const char *member) {
    const char *type = tn_get_text(item, "type", ""), *text = tn_get_text(item, member, NULL);
    tn_builder *builder = tn_builder_new();
    openai_begin_item(builder, NULL, type);
    if (text != NULL) tn_put_text(builder, member, text);
    tn.value->end(builder);
    return tn_finish(builder);
}

static void responses_read_message_item(struct model_call *call, int64_t index, tn_value item) {
    struct openai_call *state = call->provider_data;
    tn_value content = tn_get(item, "content");
    uint64_t count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0;
    for (uint64_t i = 0; i < count && state->text_at != index + 1; i++) {
        tn_value part = tn.value->at(content, i);
        bool refusal = strcmp(tn_get_text(part, "type", ""), "refusal") == 0;
        if (refusal)
            model_add_refusal(call, tn_get(part, "refusal"));
        else
            model_add_text(call, tn_get(part, "text"));
        model_end_part(call);
    }
    model_end_part(call);
    for (uint64_t i = 0; i < count; i++) {
        tn_value part = tn.value->at(content, i), notes = tn_get(part, "annotations");
        for (uint64_t k = 0; k < (tn.value->kind(notes) == TN_ARRAY ? tn.value->count(notes) : 0); k++) {
            tn_value source = openai_build_source(tn.value->at(notes, k));
            model_add_part(call, source);
            tn_release(source);
        }
        openai_append_all(&state->logprobs, tn_get(part, "logprobs"));
    }
    responses_keep_item_take(state, responses_item_placeholder(item, "phase"),
                             tn.value->kind(tn_get(item, "phase")) == TN_STRING);
}

static void responses_read_reasoning_item(struct model_call *call, int64_t index, tn_value item) {
    static const char *const members[] = {"summary", "content"};
    struct openai_call *state = call->provider_data;
    for (size_t m = 0; m < 2 && state->reasoning_at != index + 1; m++) {
        tn_value texts = tn_get(item, members[m]);
        for (uint64_t i = 0; i < (tn.value->kind(texts) == TN_ARRAY ? tn.value->count(texts) : 0); i++) {
            model_end_part(call);
            model_add_reasoning(call, tn_get(tn.value->at(texts, i), "text"));
        }
    }
    model_end_part(call);
    /* The service stores nothing, so an item without encrypted content cannot be sent back. */
    if (openai_is_text(tn_get(item, "encrypted_content"))) responses_keep_item_take(state, tn_retain(item), true);
}

static void responses_read_call_item(struct model_call *call, int64_t index, tn_value item, bool done) {
    static const char *const members[] = {"namespace", "caller"};
    struct openai_call *state = call->provider_data;
    if (openai_is_parallel_call(call, item)) { /* not emitted before its arguments are complete */
        state->parallel_index = done ? 0 : index + 1;
        if (done) openai_expand_parallel_call(call, index, item);
        return;
    }
    tn_value arguments = model_get_arguments_length(call, index) == 0 ? tn_get(item, "arguments") : NULL;
    model_add_tool_call(call, index, tn_get(item, "call_id"), tn_get(item, "name"), arguments);
    if (!done) return;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        tn_value value = tn_get(item, members[i]);
        if (tn.value->kind(value) > TN_NULL) model_set_tool_call_extra(call, index, members[i], value);
    }
    responses_keep_item_take(state, responses_item_placeholder(item, "call_id"), false);
}

/* Reads a call of a tool with text input: the text becomes the argument `input`. */
static void responses_read_custom_item(struct model_call *call, int64_t index, tn_value item) {
    tn_value type = tn_text("custom");
    tn_value arguments = tn_build("{s:s}", "input", tn_get_text(item, "input", ""));
    model_add_tool_call(call, index, tn_get(item, "call_id"), tn_get(item, "name"), arguments);
    model_set_tool_call_extra(call, index, "type", type);
    responses_keep_item_take(call->provider_data, responses_item_placeholder(item, "call_id"), false);
    tn_release(arguments);
    tn_release(type);
}

static void responses_read_image_item(struct model_call *call, tn_value item) {
    tn_value result = tn_get(item, "result"), id = tn_get(item, "id");
    char type[32];
    if (openai_is_text(result)) {
        (void)snprintf(type, sizeof type, "image/%.20s", tn_get_text(item, "output_format", "png"));
        tn_builder *builder = tn_builder_new();
        openai_begin_item(builder, NULL, "image");
        tn_put_text(builder, "media_type", type);
        tn_put(builder, "data", result);
        tn.value->end(builder);
        tn_value part = tn_finish(builder);
        model_add_part(call, part);
        model_set_part_extra(call, "id", id);
        tn_release(part);
    }
    tn_builder *builder = tn_builder_new();
    openai_begin_item(builder, NULL, "image_generation_call");
    tn_put_text(builder, "id", tn_get_text(item, "id", ""));
    tn_put_text(builder, "status", tn_get_text(item, "status", "completed"));
    tn.value->end(builder);
    responses_keep_item_take(call->provider_data, tn_finish(builder), true);
}

static void responses_read_item(struct model_call *call, int64_t index, tn_value item) {
    const char *type = tn_get_text(item, "type", "");
    ((struct openai_call *)call->provider_data)->received = true;
    if (strcmp(type, "message") == 0)
        responses_read_message_item(call, index, item);
    else if (strcmp(type, "reasoning") == 0)
        responses_read_reasoning_item(call, index, item);
    else if (strcmp(type, "function_call") == 0)
        responses_read_call_item(call, index, item, true);
    else if (strcmp(type, "custom_tool_call") == 0)
        responses_read_custom_item(call, index, item);
    else if (strcmp(type, "image_generation_call") == 0)
        responses_read_image_item(call, item);
    else if (tn.value->kind(item) == TN_OBJECT)
        responses_keep_item_take(call->provider_data, tn_retain(item), true);
}

/* ---- The answer's end ---- */

static void responses_read_usage(struct model_call *call, tn_value usage) {
    struct tn_answer_usage counts = TN_ANSWER_USAGE;
    if (tn.value->kind(usage) != TN_OBJECT) return;
    counts.input = tn_answer_get_count(usage, "input_tokens");
    counts.output = tn_answer_get_count(usage, "output_tokens");
    counts.total = tn_answer_get_count(usage, "total_tokens");
    counts.cached = tn_answer_get_count(tn_get(usage, "input_tokens_details"), "cached_tokens");
    counts.cache_write = tn_answer_get_count(tn_get(usage, "input_tokens_details"), "cache_write_tokens");
    counts.reasoning = tn_answer_get_count(tn_get(usage, "output_tokens_details"), "reasoning_tokens");
    model_set_usage(call, &counts);
}

/* Reads a complete response. Its items are skipped if events have already reported them. */
static void responses_read(struct model_call *call, tn_value response) {
    const struct openai_call *state = call->provider_data;
    const char *status = tn_get_text(response, "status", "completed");
    const char *reason = tn_get_text(tn_get(response, "incomplete_details"), "reason", "");
    tn_value output = tn_get(response, "output");
    bool already_read = state->received;
    if (strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0) {
        model_fail_service(call, response);
        return;
    }
    for (uint64_t i = 0; i < (tn.value->kind(output) == TN_ARRAY && !already_read ? tn.value->count(output) : 0); i++)
        responses_read_item(call, (int64_t)i, tn.value->at(output, i));
    model_set_model_name(call, tn_get(response, "model"));
    responses_read_usage(call, tn_get(response, "usage"));
    if (state->keep_items) model_set_extra(call, "items", state->items);
    model_set_extra(call, "logprobs", state->logprobs);
    openai_keep_response_id(call, response);
    if (strcmp(status, "incomplete") != 0)
        model_finish(call, "stop");
    else
        model_finish(call, strcmp(reason, "max_output_tokens") == 0 ? "length"
                           : strcmp(reason, "content_filter") == 0  ? "content_filter"
                                                                    : "other");
}

void openai_responses_answer(struct model_call *call, tn_value json) {
    if (tn.value->kind(json) != TN_OBJECT || tn.value->kind(tn_get(json, "output")) != TN_ARRAY) {
        if (tn.value->kind(tn_get(json, "error")) > TN_NULL)
            model_fail_service(call, json);
        else
            model_fail_response(call, "an answer without `output`");
        return;
    }
    if (!openai_wait_for_stored(call, json)) responses_read(call, json);
}

/* ---- Events ---- */

static void responses_on_added(struct model_call *call, tn_value event) {
    tn_value item = tn_get(event, "item");
    ((struct openai_call *)call->provider_data)->received = true;
    model_end_part(call);
    if (strcmp(tn_get_text(item, "type", ""), "function_call") == 0)
        responses_read_call_item(call, responses_event_index(event), item, false);
}

static void responses_on_done(struct model_call *call, tn_value event) {
    responses_read_item(call, responses_event_index(event), tn_get(event, "item"));
}

static void responses_on_text(struct model_call *call, tn_value event) {
    ((struct openai_call *)call->provider_data)->text_at = responses_event_index(event) + 1;
    model_add_text(call, tn_get(event, "delta"));
}

static void responses_on_refusal(struct model_call *call, tn_value event) {
    ((struct openai_call *)call->provider_data)->text_at = responses_event_index(event) + 1;
    model_add_refusal(call, tn_get(event, "delta"));
}

static void responses_on_reasoning(struct model_call *call, tn_value event) {
    ((struct openai_call *)call->provider_data)->reasoning_at = responses_event_index(event) + 1;
    model_add_reasoning(call, tn_get(event, "delta"));
}

static void responses_on_part(struct model_call *call, tn_value event) {
    (void)event;
    model_end_part(call);
}

static void responses_on_arguments(struct model_call *call, tn_value event) {
    int64_t index = responses_event_index(event);
    uint64_t before = model_count_tool_calls(call);
    if (((struct openai_call *)call->provider_data)->parallel_index == index + 1) return;
    model_add_tool_call(call, index, NULL, NULL, tn_get(event, "delta"));
    if (model_count_tool_calls(call) != before)
        model_fail_response(call, "arguments of a tool call that has not started (output %lld)", (long long)index);
}

static void responses_on_response(struct model_call *call, tn_value event) {
    responses_read(call, tn_get(event, "response"));
    model_end_stream(call);
}

static void responses_on_error(struct model_call *call, tn_value event) { model_fail_service(call, event); }

static const struct {
    const char *type;
    void (*read)(struct model_call *call, tn_value event);
} events[] = {
    {"response.output_item.added", responses_on_added},
    {"response.output_item.done", responses_on_done},
    {"response.content_part.added", responses_on_part},
    {"response.content_part.done", responses_on_part},
    {"response.output_text.delta", responses_on_text},
    {"response.refusal.delta", responses_on_refusal},
    {"response.reasoning_summary_part.added", responses_on_part},
    {"response.reasoning_summary_text.delta", responses_on_reasoning},
    {"response.reasoning_text.delta", responses_on_reasoning},
    {"response.function_call_arguments.delta", responses_on_arguments},
    {"response.completed", responses_on_response},
    {"response.incomplete", responses_on_response},
    {"response.failed", responses_on_response},
    {"error", responses_on_error},
};

void openai_responses_event(struct model_call *call, const char *name, tn_value json) {
    struct openai_call *state = call->provider_data;
    if (json == NULL) return; /* "[DONE]", which some gateways send */
    const char *type = tn_get_text(json, "type", name);
    int64_t number = tn_get_int(json, "sequence_number", state->sequence);
    if (number < state->sequence) {
        model_fail_response(call, "event %lld after event %lld", (long long)number, (long long)state->sequence);
        return;
    }
    state->sequence = number;
    if (model_is_finished(call)) return;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (strcmp(events[i].type, type) == 0) events[i].read(call, json);
}
