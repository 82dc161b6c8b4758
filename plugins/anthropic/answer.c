/*
 * answer.c - what the service sends, event by event or in one piece, as a message.
 *
 * A stream is message_start, then blocks one after the other, each begun, added to and ended, then message_delta with
 * what it ended by and the usage, then message_stop. What comes out of that order is no answer; what is unknown within
 * it (events, kinds of blocks, kinds of additions) is passed over or kept, as the service announces that there will be
 * more of them. A second message_start begins the answer anew: gateways that try again in the middle of a stream do so.
 */
#include "anthropic.h"

static struct reading *reading_of(const struct model_call *call) { return call->own; }

static tn_value new_array(void) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* Adds to a list that may be NULL; takes the item. */
static void list_add_take(tn_value *list, tn_value item) {
    tn_value old = *list != NULL ? *list : new_array();
    *list = tn.value->append(old, item);
    tn_release(old);
    tn_release(item);
}

static tn_value object1_take(const char *key, tn_value value) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_take(builder, key, value);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* ---- Pieces ---- */

/* Of a block there is one member that comes in pieces: those of another are passed over. */
static void pieces_add(struct model_call *call, const char *key, tn_value text) {
    struct pieces *pieces = &reading_of(call)->pieces;
    uint64_t length = 0;
    if (tn_chars(text, &length) == NULL || length == 0) return;
    if (pieces->key != NULL && strcmp(pieces->key, key) != 0) return;
    pieces->key = key;
    if (length > MODEL_TEXT_MAX - pieces->length) {
        model_invalid(call, "a block of more than %d bytes", MODEL_TEXT_MAX);
        return;
    }
    pieces->length += length;
    list_add_take(&pieces->list, tn_retain(text));
}

static void pieces_clear(struct pieces *pieces) {
    tn_release(pieces->list);
    *pieces = (struct pieces){NULL, NULL, 0};
}

/* All of them; a new reference. */
static tn_value pieces_join(const struct pieces *pieces) {
    if (tn.value->count(pieces->list) == 1) return tn_retain(tn.value->at(pieces->list, 0));
    char *joined = tn.core->alloc(tn.host, pieces->length + 1);
    if (joined == NULL) return NULL;
    uint64_t used = 0;
    for (uint64_t i = 0, count = tn.value->count(pieces->list); i < count; i++) {
        uint64_t length = 0;
        const char *text = tn_chars(tn.value->at(pieces->list, i), &length);
        memcpy(joined + used, text, length);
        used += length;
    }
    tn_value made = tn_text_n(joined, used);
    tn.core->release(tn.host, joined);
    return made;
}

/* ---- Usage ---- */

static void take_count(int64_t *mine, tn_value usage, const char *key) {
    int64_t count = model_count(usage, key);
    if (count >= 0) *mine = count;
}

static int64_t at_least_0(int64_t count) { return count > 0 ? count : 0; }

static int64_t sum(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

/* All that was read in: new, from the cache and into it. */
static int64_t all_input(int64_t input, int64_t read, int64_t written) {
    return sum(sum(at_least_0(input), at_least_0(read)), at_least_0(written));
}

/* What the service did on the way to make room is not in its sums, but is paid for. */
static void take_compactions(struct counts *counts, tn_value usage) {
    tn_value iterations = tn.value->get(usage, "iterations");
    if (tn.value->kind(iterations) != TN_ARRAY) return;
    counts->more_input = counts->more_output = 0;
    for (uint64_t i = 0, count = tn.value->count(iterations); i < count; i++) {
        tn_value one = tn.value->at(iterations, i);
        if (!anthropic_is(one, "compaction")) continue;
        int64_t input = all_input(model_count(one, "input_tokens"), model_count(one, "cache_read_input_tokens"),
                                  model_count(one, "cache_creation_input_tokens"));
        counts->more_input = sum(counts->more_input, input);
        counts->more_output = sum(counts->more_output, at_least_0(model_count(one, "output_tokens")));
    }
}

/* The numbers are sums since the start: the last that is told counts. */
static void take_usage(struct model_call *call, tn_value usage) {
    struct counts *counts = &reading_of(call)->counts;
    if (tn.value->kind(usage) != TN_OBJECT) return;
    take_count(&counts->input, usage, "input_tokens");
    take_count(&counts->output, usage, "output_tokens");
    take_count(&counts->read, usage, "cache_read_input_tokens");
    take_count(&counts->written, usage, "cache_creation_input_tokens");
    take_count(&counts->thought, tn.value->get(usage, "output_tokens_details"), "thinking_tokens");
    take_compactions(counts, usage);
    struct model_usage told = MODEL_USAGE_NONE;
    if (counts->input >= 0)
        told.input = sum(all_input(counts->input, counts->read, counts->written), counts->more_input);
    if (counts->output >= 0) told.output = sum(counts->output, counts->more_output);
    told.cached = counts->read;
    told.cache_write = counts->written;
    told.reasoning = counts->thought;
    model_usage(call, &told);
    model_extra(call, "server_tool_use", tn.value->get(usage, "server_tool_use"));
    model_extra(call, "iterations", tn.value->get(usage, "iterations"));
}

/* ---- Blocks ---- */

static bool is_answer_tool(tn_value block) {
    return anthropic_is(block, "tool_use") && strcmp(tn_get_text(block, "name", ""), ANTHROPIC_ANSWER_TOOL) == 0;
}

/* The block is the content's next part. */
static void show(struct reading *reading) {
    if (reading->shown) return;
    reading->shown = true;
    list_add_take(&reading->order, object1_take("part", tn_int((int64_t)reading->parts++)));
    if (reading->calls) reading->strange = true; /* behind a call, where our order has none */
}

static bool has_text(tn_value text) {
    uint64_t length = 0;
    return tn_chars(text, &length) != NULL && length > 0;
}

static void add_text(struct model_call *call, tn_value text) {
    if (!has_text(text)) return;
    model_text(call, text);
    show(reading_of(call));
}

static void add_thought(struct model_call *call, tn_value text) {
    if (!has_text(text)) return;
    model_reasoning(call, text);
    show(reading_of(call));
}

/* An input that is there from the start, as in an answer in one piece; the start of a stream has {}. */
static bool has_input(tn_value input) { return tn.value->kind(input) == TN_OBJECT && tn.value->count(input) > 0; }

static void begin_tool(struct model_call *call, tn_value block) {
    struct reading *reading = reading_of(call);
    tn_value input = tn.value->get(block, "input"), caller = tn.value->get(block, "caller");
    if (is_answer_tool(block)) {
        tn_value text = has_input(input) ? tn.value->to_json(input) : NULL;
        add_text(call, text);
        tn_release(text);
        return;
    }
    tn_value id = tn.value->get(block, "id"), name = tn.value->get(block, "name");
    if (!has_text(id) || !has_text(name)) {
        model_invalid(call, "a tool call without %s", has_text(id) ? "a name" : "an id");
        return;
    }
    model_tool_call(call, reading->index, id, name, has_input(input) ? input : NULL);
    if (caller != NULL && !anthropic_is(caller, "direct"))
        model_tool_call_extra(call, reading->index, "caller", caller);
    model_tool_call_extra(call, reading->index, "toolset_name", tn.value->get(block, "toolset_name"));
    list_add_take(&reading->order, object1_take("call", tn_retain(id)));
    reading->calls = true;
}

static void add_citation(struct model_call *call, tn_value citation) {
    if (tn.value->kind(citation) == TN_OBJECT) list_add_take(&reading_of(call)->citations, tn_retain(citation));
}

static void begin_block(struct model_call *call, int64_t index, tn_value block) {
    struct reading *reading = reading_of(call);
    tn_value citations = tn.value->get(block, "citations");
    reading->block = tn_retain(block);
    reading->index = index;
    reading->shown = false;
    model_part_end(call);
    if (anthropic_is(block, "text")) {
        add_text(call, tn.value->get(block, "text"));
        for (uint64_t i = 0, count = tn.value->count(citations); i < count; i++)
            add_citation(call, tn.value->at(citations, i));
    } else if (anthropic_is(block, "thinking")) {
        add_thought(call, tn.value->get(block, "thinking"));
        pieces_add(call, "signature", tn.value->get(block, "signature"));
    } else if (anthropic_is(block, "tool_use")) {
        begin_tool(call, block);
    }
}

static void block_set(struct reading *reading, const char *key, tn_value value) {
    tn_value changed = tn.value->set(reading->block, key, value);
    if (changed == NULL) return;
    tn_release(reading->block);
    reading->block = changed;
}

/* What an event adds to the open block. Kinds that are not known are passed over. */
static void add_to_block(struct model_call *call, tn_value delta) {
    struct reading *reading = reading_of(call);
    const char *type = tn_get_text(delta, "type", "");
    if (strcmp(type, "text_delta") == 0) {
        tn_value text = tn.value->get(delta, "text");
        if (anthropic_is(reading->block, "text"))
            add_text(call, text);
        else
            pieces_add(call, "text", text);
    } else if (strcmp(type, "thinking_delta") == 0) {
        tn_value text = tn.value->get(delta, "thinking");
        if (anthropic_is(reading->block, "thinking"))
            add_thought(call, text);
        else
            pieces_add(call, "thinking", text);
    } else if (strcmp(type, "signature_delta") == 0) {
        if (anthropic_is(reading->block, "thinking")) pieces_clear(&reading->pieces); /* it comes whole */
        pieces_add(call, "signature", tn.value->get(delta, "signature"));
    } else if (strcmp(type, "citations_delta") == 0) {
        add_citation(call, tn.value->get(delta, "citation"));
    } else if (strcmp(type, "input_json_delta") == 0) {
        tn_value piece = tn.value->get(delta, "partial_json");
        if (is_answer_tool(reading->block))
            add_text(call, piece);
        else if (anthropic_is(reading->block, "tool_use"))
            model_tool_call(call, reading->index, NULL, NULL, piece);
        else
            pieces_add(call, "input", piece);
    } else if (strcmp(type, "compaction_delta") == 0) {
        tn_value content = tn.value->get(delta, "content"), hidden = tn.value->get(delta, "encrypted_content");
        if (content != NULL) block_set(reading, "content", content);
        if (hidden != NULL) block_set(reading, "encrypted_content", hidden);
    }
}

/* What citations lead to, for those who show an answer: once each. */
static void tell_sources(struct model_call *call, tn_value citations) {
    struct reading *reading = reading_of(call);
    for (uint64_t i = 0, count = tn.value->count(citations); i < count; i++) {
        tn_value citation = tn.value->at(citations, i), url = tn.value->get(citation, "url");
        bool told = !has_text(url);
        for (uint64_t k = 0; k < i && !told; k++)
            told = tn.value->equal(url, tn.value->get(tn.value->at(citations, k), "url"));
        if (told) continue;
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "type", "source");
        tn_put(builder, "url", url);
        anthropic_put(builder, "title", tn.value->get(citation, "title"));
        tn.value->end(builder);
        tn_value part = tn.value->finish(builder);
        model_part(call, part);
        reading->parts++;
        tn_release(part);
    }
}

static void tell_thought(struct model_call *call, const char *key, tn_value value) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "type", "reasoning");
    tn_put_begin(builder, "extra", TN_OBJECT);
    tn_put_begin(builder, "anthropic", TN_OBJECT);
    tn_put(builder, key, value);
    tn.value->end(builder);
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value part = tn.value->finish(builder);
    model_part(call, part);
    show(reading_of(call));
    tn_release(part);
}

/* A block that has no place in ours: as it came. */
static void keep_block(struct model_call *call) {
    struct reading *reading = reading_of(call);
    if (reading->pieces.length > 0) {
        tn_value text = pieces_join(&reading->pieces), member = NULL;
        uint64_t length = 0;
        const char *chars = tn_chars(text, &length);
        if (strcmp(reading->pieces.key, "input") != 0)
            member = tn_retain(text);
        else if (chars != NULL)
            (void)tn.value->from_json(chars, length, &member);
        if (member == NULL)
            model_invalid(call, "a block of type %.60s whose input is no JSON",
                          tn_get_text(reading->block, "type", "that is not said"));
        else
            block_set(reading, reading->pieces.key, member);
        tn_release(member);
        tn_release(text);
    }
    list_add_take(&reading->order, tn_retain(reading->block));
    reading->strange = true;
}

static void end_block(struct model_call *call) {
    struct reading *reading = reading_of(call);
    if (anthropic_is(reading->block, "text")) {
        if (reading->shown && reading->citations != NULL) model_part_extra(call, "citations", reading->citations);
        model_part_end(call);
        tell_sources(call, reading->shown ? reading->citations : NULL);
    } else if (anthropic_is(reading->block, "thinking")) {
        tn_value signature = reading->pieces.length > 0 ? pieces_join(&reading->pieces) : NULL;
        if (reading->shown && signature != NULL)
            model_part_extra(call, "signature", signature);
        else if (signature != NULL)
            tell_thought(call, "signature", signature);
        model_part_end(call);
        tn_release(signature);
    } else if (anthropic_is(reading->block, "redacted_thinking")) {
        tn_value data = tn.value->get(reading->block, "data");
        if (data != NULL) tell_thought(call, "redacted", data);
    } else if (!anthropic_is(reading->block, "tool_use")) {
        keep_block(call);
    }
    pieces_clear(&reading->pieces);
    tn_release(reading->citations);
    tn_release(reading->block);
    reading->citations = reading->block = NULL;
}

/* ---- The message ---- */

static void reading_clear(struct reading *reading) {
    pieces_clear(&reading->pieces);
    tn_release(reading->block);
    tn_release(reading->citations);
    tn_release(reading->order);
    tn_release(reading->stop_reason);
    tn_release(reading->stop_details);
    *reading = (struct reading){.counts = {-1, -1, -1, -1, -1, 0, 0}};
}

void anthropic_release(struct model_call *call) { reading_clear(call->own); }

static void take_member(struct model_call *call, tn_value from, const char *key) {
    tn_value value = tn.value->get(from, key);
    if (tn.value->kind(value) > TN_NULL) model_extra(call, key, value);
}

/* What is said about the whole: at the start, or with the end. */
static void take_about(struct model_call *call, tn_value about) {
    static const char *const kept[] = {"id", "container", "stop_sequence", "context_management",
                                       "input_transformations"};
    struct reading *reading = reading_of(call);
    tn_value reason = tn.value->get(about, "stop_reason"), details = tn.value->get(about, "stop_details");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) take_member(call, about, kept[i]);
    if (has_text(reason)) {
        tn_release(reading->stop_reason);
        reading->stop_reason = tn_retain(reason);
    }
    if (tn.value->kind(details) == TN_OBJECT) {
        tn_release(reading->stop_details);
        reading->stop_details = tn_retain(details);
        model_extra(call, "stop_details", details);
    }
}

static void begin_message(struct model_call *call, tn_value message) {
    struct reading *reading = reading_of(call);
    tn_value content = tn.value->get(message, "content");
    if (reading->began) model_reset(call, "RESTARTED");
    reading_clear(reading);
    reading->began = true;
    model_model(call, tn.value->get(message, "model"));
    take_about(call, message);
    take_usage(call, tn.value->get(message, "usage"));
    uint64_t count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0;
    for (uint64_t i = 0; i < count; i++) {
        tn_value block = tn.value->at(content, i);
        if (tn.value->kind(block) != TN_OBJECT) {
            model_invalid(call, "a block that is %s, not an object", tn_kind_name(block));
            return;
        }
        begin_block(call, (int64_t)i, block);
        end_block(call);
    }
}

static const char *finish_of(const char *stop_reason) {
    static const char *const reasons[][2] = {{"end_turn", "stop"},       {"stop_sequence", "stop"},
                                             {"max_tokens", "length"},   {"model_context_window_exceeded", "length"},
                                             {"tool_use", "tool_calls"}, {"refusal", "content_filter"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i][0], stop_reason) == 0) return reasons[i][1];
    return "other"; /* pause_turn: to be sent back as it is; compaction; what is yet to come */
}

static void end_message(struct model_call *call) {
    struct reading *reading = reading_of(call);
    const char *reason = tn_chars(reading->stop_reason, NULL);
    if (reading->block != NULL || reason == NULL) {
        model_invalid(call, "message_stop %s", reason == NULL ? "without a stop_reason" : "inside of a block");
        return;
    }
    const char *finish = finish_of(reason);
    if (strcmp(finish, "content_filter") == 0) model_refusal(call, tn.value->get(reading->stop_details, "explanation"));
    if (strcmp(reason, "end_turn") != 0 && strcmp(reason, "tool_use") != 0)
        model_extra(call, "stop_reason", reading->stop_reason);
    if (reading->strange) {
        uint64_t parts = reading->parts;
        if (has_text(tn.value->get(reading->stop_details, "explanation"))) parts++;
        tn_builder *builder = tn.value->builder();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_int(builder, "parts", (int64_t)parts);
        tn_put(builder, "list", reading->order);
        tn.value->end(builder);
        tn_value blocks = tn.value->finish(builder);
        model_extra(call, "blocks", blocks);
        tn_release(blocks);
    }
    reading->stopped = true;
    model_finish(call, finish);
}

/* ---- Events ---- */

static void on_block_start(struct model_call *call, tn_value json) {
    struct reading *reading = reading_of(call);
    tn_value block = tn.value->get(json, "content_block");
    if (reading->block != NULL)
        model_invalid(call, "content_block_start before the block %lld has ended", (long long)reading->index);
    else if (tn.value->kind(block) != TN_OBJECT)
        model_invalid(call, "content_block_start without a block");
    else
        begin_block(call, tn_get_int(json, "index", 0), block);
}

static bool block_is_open(struct model_call *call, tn_value json) {
    const struct reading *reading = reading_of(call);
    int64_t index = tn_get_int(json, "index", 0);
    if (reading->block != NULL && reading->index == index) return true;
    model_invalid(call, "%.60s of the block %lld, which is not open", tn_get_text(json, "type", ""), (long long)index);
    return false;
}

static void on_block_delta(struct model_call *call, tn_value json) {
    if (block_is_open(call, json)) add_to_block(call, tn.value->get(json, "delta"));
}

static void on_block_stop(struct model_call *call, tn_value json) {
    if (block_is_open(call, json)) end_block(call);
}

static void on_message_delta(struct model_call *call, tn_value json) {
    take_about(call, json);
    take_about(call, tn.value->get(json, "delta"));
    take_usage(call, tn.value->get(json, "usage"));
}

static void on_message_stop(struct model_call *call, tn_value json) {
    (void)json;
    end_message(call);
}

void anthropic_event(struct model_call *call, const char *name, tn_value json) {
    static const struct {
        const char *type;
        void (*take)(struct model_call *call, tn_value json);
    } events[] = {{"content_block_start", on_block_start},
                  {"content_block_delta", on_block_delta},
                  {"content_block_stop", on_block_stop},
                  {"message_delta", on_message_delta},
                  {"message_stop", on_message_stop}};
    const struct reading *reading = reading_of(call);
    const char *type = tn_get_text(json, "type", name);
    if (reading->stopped) return; /* what comes behind the end says nothing about the answer */
    if (strcmp(type, "error") == 0) {
        model_error(call, json);
        return;
    }
    if (strcmp(type, "message_start") == 0) {
        begin_message(call, tn.value->get(json, "message"));
        return;
    }
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(events[i].type, type) != 0) continue;
        if (reading->began)
            events[i].take(call, json);
        else
            model_invalid(call, "%s before message_start", type);
        return;
    }
}

void anthropic_answer(struct model_call *call, tn_value json) {
    if (anthropic_is(json, "error")) {
        model_error(call, json);
    } else if (tn.value->kind(tn.value->get(json, "content")) != TN_ARRAY) {
        model_invalid(call, "an answer that is no message: it has no list `content`");
    } else {
        begin_message(call, json);
        end_message(call);
    }
}
