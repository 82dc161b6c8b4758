/*
 * answer.c - converts the service's events, or its answer in one piece, to a message.
 *
 * A stream consists of message_start; for each block a start, deltas and a stop; message_delta with the stop reason and
 * the usage; and message_stop. Any other order is an error. The service may add event, block and delta types at any
 * time: unknown events and deltas are skipped, unknown blocks are kept. A second message_start restarts the answer,
 * because some gateways retry in the middle of a stream.
 */
#include "anthropic.h"

static struct reading *reading_get(const struct model_call *call) { return call->provider_data; }

/* ---- Pieces ---- */

/* Only one member of a block is sent in pieces. Pieces of other members are skipped. */
static void pieces_add(struct model_call *call, const char *key, tn_value text) {
    struct pieces *pieces = &reading_get(call)->pieces;
    uint64_t length = 0;
    if (tn_chars(text, &length) == NULL || length == 0) return;
    if (pieces->key != NULL && strcmp(pieces->key, key) != 0) return;
    pieces->key = key;
    if (length > TN_ANSWER_TEXT_MAX - pieces->length) {
        model_fail_response(call, "a block of more than %d bytes", TN_ANSWER_TEXT_MAX);
        return;
    }
    pieces->length += length;
    (void)tn_append_take(&pieces->list, tn_retain(text));
}

static void pieces_clear(struct pieces *pieces) {
    tn_release(pieces->list);
    *pieces = (struct pieces){NULL, NULL, 0};
}

/* Returns the concatenated text, a new reference. */
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
    tn_value text_value = tn_text_n(joined, used);
    tn.core->release(tn.host, joined);
    return text_value;
}

/* ---- Usage ---- */

static void usage_read_count(int64_t *sum, tn_value usage, const char *key) {
    int64_t count = tn_answer_get_count(usage, key);
    if (count >= 0) *sum = count;
}

static int64_t usage_count_or_zero(int64_t count) { return count > 0 ? count : 0; }

static int64_t usage_add_counts(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

/* Returns the sum of the input: new, read from the cache, and written to the cache. */
static int64_t usage_total_input(int64_t input, int64_t read, int64_t written) {
    return usage_add_counts(usage_add_counts(usage_count_or_zero(input), usage_count_or_zero(read)),
                            usage_count_or_zero(written));
}

/* The service's sums do not include compactions, although they are billed. */
static void usage_read_compactions(struct counts *counts, tn_value usage) {
    tn_value iterations = tn_get(usage, "iterations");
    if (tn.value->kind(iterations) != TN_ARRAY) return;
    counts->more_input = counts->more_output = 0;
    for (uint64_t i = 0, count = tn.value->count(iterations); i < count; i++) {
        tn_value iteration = tn.value->at(iterations, i);
        if (!anthropic_has_type(iteration, "compaction")) continue;
        int64_t input = usage_total_input(tn_answer_get_count(iteration, "input_tokens"),
                                          tn_answer_get_count(iteration, "cache_read_input_tokens"),
                                          tn_answer_get_count(iteration, "cache_creation_input_tokens"));
        counts->more_input = usage_add_counts(counts->more_input, input);
        counts->more_output =
            usage_add_counts(counts->more_output, usage_count_or_zero(tn_answer_get_count(iteration, "output_tokens")));
    }
}

/* The counts are sums since the start of the answer, so the last value is used. */
static void usage_read(struct model_call *call, tn_value usage) {
    struct counts *counts = &reading_get(call)->counts;
    if (tn.value->kind(usage) != TN_OBJECT) return;
    usage_read_count(&counts->input, usage, "input_tokens");
    usage_read_count(&counts->output, usage, "output_tokens");
    usage_read_count(&counts->read, usage, "cache_read_input_tokens");
    usage_read_count(&counts->written, usage, "cache_creation_input_tokens");
    usage_read_count(&counts->reasoning, tn_get(usage, "output_tokens_details"), "thinking_tokens");
    usage_read_compactions(counts, usage);
    struct tn_answer_usage sums = TN_ANSWER_USAGE;
    if (counts->input >= 0)
        sums.input =
            usage_add_counts(usage_total_input(counts->input, counts->read, counts->written), counts->more_input);
    if (counts->output >= 0) sums.output = usage_add_counts(counts->output, counts->more_output);
    sums.cached = counts->read;
    sums.cache_write = counts->written;
    sums.reasoning = counts->reasoning;
    model_set_usage(call, &sums);
    model_set_extra(call, "server_tool_use", tn_get(usage, "server_tool_use"));
    model_set_extra(call, "iterations", tn_get(usage, "iterations"));
}

/* ---- Blocks ---- */

static bool block_is_answer_tool(tn_value block) {
    return anthropic_has_type(block, "tool_use") && strcmp(tn_get_text(block, "name", ""), ANTHROPIC_ANSWER_TOOL) == 0;
}

/* Counts the block as the next part of the content. */
static void reading_count_part(struct reading *reading) {
    if (reading->counted) return;
    reading->counted = true;
    (void)tn_append_take(&reading->order, tn_build("{s:I}", "part", (int64_t)reading->parts++));
    if (reading->calls) reading->keep_order = true; /* in a message, all parts precede the calls */
}

static bool block_has_text(tn_value text) {
    uint64_t length = 0;
    return tn_chars(text, &length) != NULL && length > 0;
}

static void block_add_text(struct model_call *call, tn_value text) {
    if (!block_has_text(text)) return;
    model_add_text(call, text);
    reading_count_part(reading_get(call));
}

static void block_add_thinking(struct model_call *call, tn_value text) {
    if (!block_has_text(text)) return;
    model_add_reasoning(call, text);
    reading_count_part(reading_get(call));
}

/* True if the input is complete at the start, as in an answer in one piece. A stream starts with {}. */
static bool block_has_input(tn_value input) { return tn.value->kind(input) == TN_OBJECT && tn.value->count(input) > 0; }

static void block_start_tool(struct model_call *call, tn_value block) {
    struct reading *reading = reading_get(call);
    tn_value input = tn_get(block, "input"), caller = tn_get(block, "caller");
    if (block_is_answer_tool(block)) {
        tn_value text = block_has_input(input) ? tn_to_json(input) : NULL;
        block_add_text(call, text);
        tn_release(text);
        return;
    }
    tn_value id = tn_get(block, "id"), name = tn_get(block, "name");
    if (!block_has_text(id) || !block_has_text(name)) {
        model_fail_response(call, "a tool call without %s", block_has_text(id) ? "a name" : "an id");
        return;
    }
    model_add_tool_call(call, reading->index, id, name, block_has_input(input) ? input : NULL);
    if (caller != NULL && !anthropic_has_type(caller, "direct"))
        model_set_tool_call_extra(call, reading->index, "caller", caller);
    model_set_tool_call_extra(call, reading->index, "toolset_name", tn_get(block, "toolset_name"));
    (void)tn_append_take(&reading->order, tn_build("{s:v}", "call", id));
    reading->calls = true;
}

static void block_add_citation(struct model_call *call, tn_value citation) {
    if (tn.value->kind(citation) == TN_OBJECT) (void)tn_append_take(&reading_get(call)->citations, tn_retain(citation));
}

static void block_start(struct model_call *call, int64_t index, tn_value block) {
    struct reading *reading = reading_get(call);
    tn_value citations = tn_get(block, "citations");
    reading->block = tn_retain(block);
    reading->index = index;
    reading->counted = false;
    model_end_part(call);
    if (anthropic_has_type(block, "text")) {
        block_add_text(call, tn_get(block, "text"));
        for (uint64_t i = 0, count = tn.value->count(citations); i < count; i++)
            block_add_citation(call, tn.value->at(citations, i));
    } else if (anthropic_has_type(block, "thinking")) {
        block_add_thinking(call, tn_get(block, "thinking"));
        pieces_add(call, "signature", tn_get(block, "signature"));
    } else if (anthropic_has_type(block, "tool_use")) {
        block_start_tool(call, block);
    }
}

static void block_set(struct reading *reading, const char *key, tn_value value) {
    (void)tn.value->set(&reading->block, key, TN_Z, value);
}

/* Adds a delta to the open block. Unknown kinds of deltas are skipped. */
static void block_add_delta(struct model_call *call, tn_value delta) {
    struct reading *reading = reading_get(call);
    const char *type = tn_get_text(delta, "type", "");
    if (strcmp(type, "text_delta") == 0) {
        tn_value text = tn_get(delta, "text");
        if (anthropic_has_type(reading->block, "text"))
            block_add_text(call, text);
        else
            pieces_add(call, "text", text);
    } else if (strcmp(type, "thinking_delta") == 0) {
        tn_value text = tn_get(delta, "thinking");
        if (anthropic_has_type(reading->block, "thinking"))
            block_add_thinking(call, text);
        else
            pieces_add(call, "thinking", text);
    } else if (strcmp(type, "signature_delta") == 0) {
        if (anthropic_has_type(reading->block, "thinking"))
            pieces_clear(&reading->pieces); /* each delta has the complete signature */
        pieces_add(call, "signature", tn_get(delta, "signature"));
    } else if (strcmp(type, "citations_delta") == 0) {
        block_add_citation(call, tn_get(delta, "citation"));
    } else if (strcmp(type, "input_json_delta") == 0) {
        tn_value piece = tn_get(delta, "partial_json");
        if (block_is_answer_tool(reading->block))
            block_add_text(call, piece);
        else if (anthropic_has_type(reading->block, "tool_use"))
            model_add_tool_call(call, reading->index, NULL, NULL, piece);
        else
            pieces_add(call, "input", piece);
    } else if (strcmp(type, "compaction_delta") == 0) {
        tn_value content = tn_get(delta, "content"), encrypted = tn_get(delta, "encrypted_content");
        if (content != NULL) block_set(reading, "content", content);
        if (encrypted != NULL) block_set(reading, "encrypted_content", encrypted);
    }
}

/* Adds one `source` part for each URL of the citations. */
static void block_emit_sources(struct model_call *call, tn_value citations) {
    struct reading *reading = reading_get(call);
    for (uint64_t i = 0, count = tn.value->count(citations); i < count; i++) {
        tn_value citation = tn.value->at(citations, i), url = tn_get(citation, "url");
        bool emitted = !block_has_text(url);
        for (uint64_t k = 0; k < i && !emitted; k++)
            emitted = tn.value->equal(url, tn_get(tn.value->at(citations, k), "url"));
        if (emitted) continue;
        tn_builder *builder = tn_builder_new();
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "type", "source");
        tn_put(builder, "url", url);
        anthropic_put(builder, "title", tn_get(citation, "title"));
        tn.value->end(builder);
        tn_value part = tn_finish(builder);
        model_add_part(call, part);
        reading->parts++;
        tn_release(part);
    }
}

static void block_emit_thinking(struct model_call *call, const char *key, tn_value value) {
    tn_value part = tn_build("{s:s,s:{s:{s:v}}}", "type", "reasoning", "extra", "anthropic", key, value);
    model_add_part(call, part);
    reading_count_part(reading_get(call));
    tn_release(part);
}

/* Keeps a block without an equivalent unchanged. */
static void block_keep(struct model_call *call) {
    struct reading *reading = reading_get(call);
    if (reading->pieces.length > 0) {
        tn_value text = pieces_join(&reading->pieces), member = NULL;
        uint64_t length = 0;
        const char *chars = tn_chars(text, &length);
        if (strcmp(reading->pieces.key, "input") != 0)
            member = tn_retain(text);
        else if (chars != NULL)
            member = tn_from_json(chars, length);
        if (member == NULL)
            model_fail_response(call, "a block of type %.60s whose input is not JSON",
                                tn_get_text(reading->block, "type", "(unknown)"));
        else
            block_set(reading, reading->pieces.key, member);
        tn_release(member);
        tn_release(text);
    }
    (void)tn_append_take(&reading->order, tn_retain(reading->block));
    reading->keep_order = true;
}

static void block_end(struct model_call *call) {
    struct reading *reading = reading_get(call);
    if (anthropic_has_type(reading->block, "text")) {
        if (reading->counted && reading->citations != NULL) model_set_part_extra(call, "citations", reading->citations);
        model_end_part(call);
        block_emit_sources(call, reading->counted ? reading->citations : NULL);
    } else if (anthropic_has_type(reading->block, "thinking")) {
        tn_value signature = reading->pieces.length > 0 ? pieces_join(&reading->pieces) : NULL;
        if (reading->counted && signature != NULL)
            model_set_part_extra(call, "signature", signature);
        else if (signature != NULL)
            block_emit_thinking(call, "signature", signature);
        model_end_part(call);
        tn_release(signature);
    } else if (anthropic_has_type(reading->block, "redacted_thinking")) {
        tn_value data = tn_get(reading->block, "data");
        if (data != NULL) block_emit_thinking(call, "redacted", data);
    } else if (!anthropic_has_type(reading->block, "tool_use")) {
        block_keep(call);
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

void anthropic_release(struct model_call *call) { reading_clear(call->provider_data); }

static void reading_copy_member(struct model_call *call, tn_value from, const char *key) {
    tn_value value = tn_get(from, key);
    if (tn.value->kind(value) > TN_NULL) model_set_extra(call, key, value);
}

/* Reads the metadata of the answer, which the service sends at the start or at the end. */
static void reading_read_metadata(struct model_call *call, tn_value about) {
    static const char *const kept[] = {"id", "container", "stop_sequence", "context_management",
                                       "input_transformations"};
    struct reading *reading = reading_get(call);
    tn_value reason = tn_get(about, "stop_reason"), details = tn_get(about, "stop_details");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) reading_copy_member(call, about, kept[i]);
    if (block_has_text(reason)) {
        tn_release(reading->stop_reason);
        reading->stop_reason = tn_retain(reason);
    }
    if (tn.value->kind(details) == TN_OBJECT) {
        tn_release(reading->stop_details);
        reading->stop_details = tn_retain(details);
        model_set_extra(call, "stop_details", details);
    }
}

static void reading_start_message(struct model_call *call, tn_value message) {
    struct reading *reading = reading_get(call);
    tn_value content = tn_get(message, "content");
    if (reading->started) model_restart(call, "RESTARTED");
    reading_clear(reading);
    reading->started = true;
    model_set_model_name(call, tn_get(message, "model"));
    reading_read_metadata(call, message);
    usage_read(call, tn_get(message, "usage"));
    uint64_t count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0;
    for (uint64_t i = 0; i < count; i++) {
        tn_value block = tn.value->at(content, i);
        if (tn.value->kind(block) != TN_OBJECT) {
            model_fail_response(call, "a block that is %s, not an object", tn_kind_name(block));
            return;
        }
        block_start(call, (int64_t)i, block);
        block_end(call);
    }
}

static const char *anthropic_finish_reason(const char *stop_reason) {
    static const char *const reasons[][2] = {{"end_turn", "stop"},       {"stop_sequence", "stop"},
                                             {"max_tokens", "length"},   {"model_context_window_exceeded", "length"},
                                             {"tool_use", "tool_calls"}, {"refusal", "content_filter"}};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i][0], stop_reason) == 0) return reasons[i][1];
    return "other"; /* pause_turn (send the message back to continue); compaction; future reasons */
}

static void reading_end_message(struct model_call *call) {
    struct reading *reading = reading_get(call);
    const char *reason = tn_chars(reading->stop_reason, NULL);
    if (reading->block != NULL || reason == NULL) {
        model_fail_response(call, "message_stop %s", reason == NULL ? "without a stop_reason" : "inside of a block");
        return;
    }
    const char *finish = anthropic_finish_reason(reason);
    if (strcmp(finish, "content_filter") == 0) model_add_refusal(call, tn_get(reading->stop_details, "explanation"));
    if (strcmp(reason, "end_turn") != 0 && strcmp(reason, "tool_use") != 0)
        model_set_extra(call, "stop_reason", reading->stop_reason);
    if (reading->keep_order) {
        uint64_t parts = reading->parts;
        if (block_has_text(tn_get(reading->stop_details, "explanation"))) parts++;
        tn_value blocks = tn_build("{s:I,s:v}", "parts", (int64_t)parts, "list", reading->order);
        model_set_extra(call, "blocks", blocks);
        tn_release(blocks);
    }
    reading->stopped = true;
    model_finish(call, finish);
}

/* ---- Events ---- */

static void anthropic_on_block_start(struct model_call *call, tn_value json) {
    struct reading *reading = reading_get(call);
    tn_value block = tn_get(json, "content_block");
    if (reading->block != NULL)
        model_fail_response(call, "content_block_start before the block %lld has ended", (long long)reading->index);
    else if (tn.value->kind(block) != TN_OBJECT)
        model_fail_response(call, "content_block_start without a block");
    else
        block_start(call, tn_get_int(json, "index", 0), block);
}

static bool anthropic_block_is_open(struct model_call *call, tn_value json) {
    const struct reading *reading = reading_get(call);
    int64_t index = tn_get_int(json, "index", 0);
    if (reading->block != NULL && reading->index == index) return true;
    model_fail_response(call, "%.60s of the block %lld, which is not open", tn_get_text(json, "type", ""),
                        (long long)index);
    return false;
}

static void anthropic_on_block_delta(struct model_call *call, tn_value json) {
    if (anthropic_block_is_open(call, json)) block_add_delta(call, tn_get(json, "delta"));
}

static void anthropic_on_block_stop(struct model_call *call, tn_value json) {
    if (anthropic_block_is_open(call, json)) block_end(call);
}

static void anthropic_on_message_delta(struct model_call *call, tn_value json) {
    reading_read_metadata(call, json);
    reading_read_metadata(call, tn_get(json, "delta"));
    usage_read(call, tn_get(json, "usage"));
}

static void anthropic_on_message_stop(struct model_call *call, tn_value json) {
    (void)json;
    reading_end_message(call);
}

void anthropic_event(struct model_call *call, const char *name, tn_value json) {
    static const struct {
        const char *type;
        void (*take)(struct model_call *call, tn_value json);
    } events[] = {{"content_block_start", anthropic_on_block_start},
                  {"content_block_delta", anthropic_on_block_delta},
                  {"content_block_stop", anthropic_on_block_stop},
                  {"message_delta", anthropic_on_message_delta},
                  {"message_stop", anthropic_on_message_stop}};
    const struct reading *reading = reading_get(call);
    const char *type = tn_get_text(json, "type", name);
    if (reading->stopped) return; /* events after message_stop are ignored */
    if (strcmp(type, "error") == 0) {
        model_fail_service(call, json);
        return;
    }
    if (strcmp(type, "message_start") == 0) {
        reading_start_message(call, tn_get(json, "message"));
        return;
    }
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(events[i].type, type) != 0) continue;
        if (reading->started)
            events[i].take(call, json);
        else
            model_fail_response(call, "%s before message_start", type);
        return;
    }
}

void anthropic_answer(struct model_call *call, tn_value json) {
    if (anthropic_has_type(json, "error")) {
        model_fail_service(call, json);
    } else if (tn.value->kind(tn_get(json, "content")) != TN_ARRAY) {
        model_fail_response(call, "an answer without the list `content`");
    } else {
        reading_start_message(call, json);
        reading_end_message(call);
    }
}
