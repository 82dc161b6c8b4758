/*
 * responses_answer.c - answers of the Responses interface, as events or whole.
 *
 * Items are told apart by output_index: ids change from event to event behind some gateways. Text, reasoning and
 * arguments are given on as they come; what an item is as a whole (its citations, an image, reasoning's encrypted
 * content) is read when it is done. The answer is whole with response.completed or response.incomplete, and these alone
 * say why and what it cost.
 */
#include "openai.h"

/* In bounds that can be counted in. */
static int64_t place_of(tn_value event) {
    int64_t place = tn_get_int(event, "output_index", 0);
    return place >= 0 && place < INT32_MAX ? place : INT32_MAX;
}

/* ---- Items that are done ---- */

/* Keeps an item for the next request: whole, or only that it was here. */
static void keep_take(struct openai_call *own, tn_value item, bool counts) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    tn_put_take(builder, NULL, item);
    tn.value->end(builder);
    tn_value one = tn.value->finish(builder);
    openai_append_all(&own->items, one);
    tn_release(one);
    own->keep = own->keep || counts;
}

static tn_value place_holder(tn_value item, const char *member) {
    const char *type = tn_get_text(item, "type", ""), *text = tn_get_text(item, member, NULL);
    tn_builder *builder = tn.value->builder();
    openai_begin(builder, NULL, type);
    if (text != NULL) tn_put_text(builder, member, text);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

static void read_message(struct model_call *call, int64_t place, tn_value item) {
    struct openai_call *own = call->own;
    tn_value content = tn.value->get(item, "content");
    uint64_t count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0;
    for (uint64_t i = 0; i < count && own->text_at != place + 1; i++) {
        tn_value part = tn.value->at(content, i);
        bool refusal = strcmp(tn_get_text(part, "type", ""), "refusal") == 0;
        if (refusal)
            model_refusal(call, tn.value->get(part, "refusal"));
        else
            model_text(call, tn.value->get(part, "text"));
        model_part_end(call);
    }
    model_part_end(call);
    for (uint64_t i = 0; i < count; i++) {
        tn_value part = tn.value->at(content, i), notes = tn.value->get(part, "annotations");
        for (uint64_t k = 0; k < (tn.value->kind(notes) == TN_ARRAY ? tn.value->count(notes) : 0); k++) {
            tn_value source = openai_source(tn.value->at(notes, k));
            model_part(call, source);
            tn_release(source);
        }
        openai_append_all(&own->logprobs, tn.value->get(part, "logprobs"));
    }
    keep_take(own, place_holder(item, "phase"), tn.value->kind(tn.value->get(item, "phase")) == TN_STRING);
}

static void read_reasoning(struct model_call *call, int64_t place, tn_value item) {
    static const char *const members[] = {"summary", "content"};
    struct openai_call *own = call->own;
    for (size_t m = 0; m < 2 && own->reasoning_at != place + 1; m++) {
        tn_value texts = tn.value->get(item, members[m]);
        for (uint64_t i = 0; i < (tn.value->kind(texts) == TN_ARRAY ? tn.value->count(texts) : 0); i++) {
            model_part_end(call);
            model_reasoning(call, tn.value->get(tn.value->at(texts, i), "text"));
        }
    }
    model_part_end(call);
    /* Without its content it could not be looked up at the service, which stores nothing. */
    if (openai_is_text(tn.value->get(item, "encrypted_content"))) keep_take(own, tn_retain(item), true);
}

static void read_call(struct model_call *call, int64_t place, tn_value item, bool done) {
    static const char *const members[] = {"namespace", "caller"};
    struct openai_call *own = call->own;
    if (openai_is_wrapper(call, item)) { /* not told before it is known what it holds */
        own->wrapper = done ? 0 : place + 1;
        if (done) openai_unwrap(call, place, item);
        return;
    }
    tn_value arguments = model_tool_call_length(call, place) == 0 ? tn.value->get(item, "arguments") : NULL;
    model_tool_call(call, place, tn.value->get(item, "call_id"), tn.value->get(item, "name"), arguments);
    if (!done) return;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        tn_value value = tn.value->get(item, members[i]);
        if (tn.value->kind(value) > TN_NULL) model_tool_call_extra(call, place, members[i], value);
    }
    keep_take(own, place_holder(item, "call_id"), false);
}

/* A tool that takes a text instead of JSON: the text is its argument `input`. */
static void read_custom(struct model_call *call, int64_t place, tn_value item) {
    tn_value type = tn_text("custom");
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "input", tn_get_text(item, "input", ""));
    tn.value->end(builder);
    tn_value arguments = tn.value->finish(builder);
    model_tool_call(call, place, tn.value->get(item, "call_id"), tn.value->get(item, "name"), arguments);
    model_tool_call_extra(call, place, "type", type);
    keep_take(call->own, place_holder(item, "call_id"), false);
    tn_release(arguments);
    tn_release(type);
}

static void read_image(struct model_call *call, tn_value item) {
    tn_value result = tn.value->get(item, "result"), id = tn.value->get(item, "id");
    char type[32];
    if (openai_is_text(result)) {
        (void)snprintf(type, sizeof type, "image/%.20s", tn_get_text(item, "output_format", "png"));
        tn_builder *builder = tn.value->builder();
        openai_begin(builder, NULL, "image");
        tn_put_text(builder, "media_type", type);
        tn_put(builder, "data", result);
        tn.value->end(builder);
        tn_value part = tn.value->finish(builder);
        model_part(call, part);
        model_part_extra(call, "id", id);
        tn_release(part);
    }
    tn_builder *builder = tn.value->builder();
    openai_begin(builder, NULL, "image_generation_call");
    tn_put_text(builder, "id", tn_get_text(item, "id", ""));
    tn_put_text(builder, "status", tn_get_text(item, "status", "completed"));
    tn.value->end(builder);
    keep_take(call->own, tn.value->finish(builder), true);
}

static void read_item(struct model_call *call, int64_t place, tn_value item) {
    const char *type = tn_get_text(item, "type", "");
    ((struct openai_call *)call->own)->said = true;
    if (strcmp(type, "message") == 0)
        read_message(call, place, item);
    else if (strcmp(type, "reasoning") == 0)
        read_reasoning(call, place, item);
    else if (strcmp(type, "function_call") == 0)
        read_call(call, place, item, true);
    else if (strcmp(type, "custom_tool_call") == 0)
        read_custom(call, place, item);
    else if (strcmp(type, "image_generation_call") == 0)
        read_image(call, item);
    else if (tn.value->kind(item) == TN_OBJECT)
        keep_take(call->own, tn_retain(item), true);
}

/* ---- The answer's end ---- */

static void read_usage(struct model_call *call, tn_value usage) {
    struct model_usage counts = MODEL_USAGE_NONE;
    if (tn.value->kind(usage) != TN_OBJECT) return;
    counts.input = model_count(usage, "input_tokens");
    counts.output = model_count(usage, "output_tokens");
    counts.total = model_count(usage, "total_tokens");
    counts.cached = model_count(tn.value->get(usage, "input_tokens_details"), "cached_tokens");
    counts.cache_write = model_count(tn.value->get(usage, "input_tokens_details"), "cache_write_tokens");
    counts.reasoning = model_count(tn.value->get(usage, "output_tokens_details"), "reasoning_tokens");
    model_usage(call, &counts);
}

/* A response that is whole; its items are read unless events have told them. */
static void read_response(struct model_call *call, tn_value response) {
    const struct openai_call *own = call->own;
    const char *status = tn_get_text(response, "status", "completed");
    const char *why = tn_get_text(tn.value->get(response, "incomplete_details"), "reason", "");
    tn_value output = tn.value->get(response, "output");
    bool told = own->said;
    if (strcmp(status, "failed") == 0 || strcmp(status, "cancelled") == 0) {
        model_error(call, response);
        return;
    }
    for (uint64_t i = 0; i < (tn.value->kind(output) == TN_ARRAY && !told ? tn.value->count(output) : 0); i++)
        read_item(call, (int64_t)i, tn.value->at(output, i));
    model_model(call, tn.value->get(response, "model"));
    read_usage(call, tn.value->get(response, "usage"));
    if (own->keep) model_extra(call, "items", own->items);
    model_extra(call, "logprobs", own->logprobs);
    if (strcmp(status, "incomplete") != 0)
        model_finish(call, "stop");
    else
        model_finish(call, strcmp(why, "max_output_tokens") == 0 ? "length"
                           : strcmp(why, "content_filter") == 0  ? "content_filter"
                                                                 : "other");
}

void responses_answer(struct model_call *call, tn_value json) {
    if (tn.value->kind(json) != TN_OBJECT || tn.value->kind(tn.value->get(json, "output")) != TN_ARRAY) {
        if (tn.value->kind(tn.value->get(json, "error")) > TN_NULL)
            model_error(call, json);
        else
            model_invalid(call, "an answer without `output`");
        return;
    }
    read_response(call, json);
}

/* ---- Events ---- */

static void on_added(struct model_call *call, tn_value event) {
    tn_value item = tn.value->get(event, "item");
    ((struct openai_call *)call->own)->said = true;
    model_part_end(call);
    if (strcmp(tn_get_text(item, "type", ""), "function_call") == 0) read_call(call, place_of(event), item, false);
}

static void on_done(struct model_call *call, tn_value event) {
    read_item(call, place_of(event), tn.value->get(event, "item"));
}

static void on_text(struct model_call *call, tn_value event) {
    ((struct openai_call *)call->own)->text_at = place_of(event) + 1;
    model_text(call, tn.value->get(event, "delta"));
}

static void on_refusal(struct model_call *call, tn_value event) {
    ((struct openai_call *)call->own)->text_at = place_of(event) + 1;
    model_refusal(call, tn.value->get(event, "delta"));
}

static void on_reasoning(struct model_call *call, tn_value event) {
    ((struct openai_call *)call->own)->reasoning_at = place_of(event) + 1;
    model_reasoning(call, tn.value->get(event, "delta"));
}

static void on_part(struct model_call *call, tn_value event) {
    (void)event;
    model_part_end(call);
}

static void on_arguments(struct model_call *call, tn_value event) {
    int64_t place = place_of(event);
    uint64_t before = model_tool_calls(call);
    if (((struct openai_call *)call->own)->wrapper == place + 1) return;
    model_tool_call(call, place, NULL, NULL, tn.value->get(event, "delta"));
    if (model_tool_calls(call) != before)
        model_invalid(call, "arguments of a tool call that has not begun (output %lld)", (long long)place);
}

static void on_response(struct model_call *call, tn_value event) {
    read_response(call, tn.value->get(event, "response"));
    model_done(call);
}

static void on_error(struct model_call *call, tn_value event) { model_error(call, event); }

static const struct {
    const char *type;
    void (*read)(struct model_call *call, tn_value event);
} events[] = {
    {"response.output_item.added", on_added},
    {"response.output_item.done", on_done},
    {"response.content_part.added", on_part},
    {"response.content_part.done", on_part},
    {"response.output_text.delta", on_text},
    {"response.refusal.delta", on_refusal},
    {"response.reasoning_summary_part.added", on_part},
    {"response.reasoning_summary_text.delta", on_reasoning},
    {"response.reasoning_text.delta", on_reasoning},
    {"response.function_call_arguments.delta", on_arguments},
    {"response.completed", on_response},
    {"response.incomplete", on_response},
    {"response.failed", on_response},
    {"error", on_error},
};

void responses_event(struct model_call *call, const char *name, tn_value json) {
    struct openai_call *own = call->own;
    if (json == NULL) return; /* "[DONE]", of some gateways */
    const char *type = tn_get_text(json, "type", name);
    int64_t number = tn_get_int(json, "sequence_number", own->sequence);
    if (number < own->sequence) {
        model_invalid(call, "event %lld after event %lld", (long long)number, (long long)own->sequence);
        return;
    }
    own->sequence = number;
    if (model_finished(call)) return;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (strcmp(events[i].type, type) == 0) events[i].read(call, json);
}
