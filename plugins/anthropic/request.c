/*
 * request.c - the options of a request: our words in the service's.
 *
 * What is not said is not sent, so that the service's own defaults hold; max_tokens it must be told. `extra` of the
 * options is put over all this by the library.
 */
#include "anthropic.h"

/* ---- Tools ---- */

/* A schema of arguments: the service wants an object. */
static void put_input_schema(tn_builder *builder, tn_value schema) {
    if (tn.value->kind(schema) == TN_OBJECT && tn.value->get(schema, "type") != NULL) {
        tn_put(builder, "input_schema", schema);
        return;
    }
    tn_put_begin(builder, "input_schema", TN_OBJECT);
    tn_put_text(builder, "type", "object");
    for (uint64_t i = 0, count = tn.value->count(schema); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(schema, i, &key, &value) == TN_OK) tn_put(builder, tn_chars(key, NULL), value);
    }
    tn.value->end(builder);
}

/* What a tool's extra.anthropic has: cache_control, strict, defer_loading, input_examples and the like. */
static void put_tool_extra(const struct model_call *call, tn_builder *builder, tn_value tool) {
    tn_value extra = model_extra_of(call, tool), key, value;
    for (uint64_t i = 0; tn.value->entry(extra, i, &key, &value) == TN_OK; i++) {
        const char *name = tn_chars(key, NULL);
        if (strcmp(name, "name") != 0 && strcmp(name, "description") != 0 && strcmp(name, "input_schema") != 0)
            tn_put(builder, name, value);
    }
}

static bool answers_by_tool(const struct model_call *call) {
    tn_value how = model_config(call, "structured_output");
    return call->schema != NULL && strcmp(how != NULL ? tn_chars(how, NULL) : "", "tool") == 0;
}

static bool has_tools(const struct model_call *call) {
    return call->tools != NULL || answers_by_tool(call) || tn.value->count(model_config(call, "server_tools")) > 0;
}

static void put_tools(struct model_call *call, tn_builder *builder) {
    tn_value own = model_config(call, "server_tools");
    tn_put_begin(builder, "tools", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(call->tools); i < count; i++) {
        tn_value tool = tn.value->at(call->tools, i);
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "name", model_tool_name(call, tn_get_text(tool, "name", "")));
        anthropic_put(builder, "description", tn.value->get(tool, "description"));
        put_input_schema(builder, tn.value->get(tool, "input_schema"));
        put_tool_extra(call, builder, tool);
        tn.value->end(builder);
    }
    for (uint64_t i = 0, count = tn.value->count(own); i < count; i++) tn_put(builder, NULL, tn.value->at(own, i));
    if (answers_by_tool(call)) {
        tn.value->begin(builder, TN_OBJECT);
        tn_put_text(builder, "name", ANTHROPIC_ANSWER_TOOL);
        tn_put_text(builder, "description", "Gives the answer. Call it once, with the whole answer as its input.");
        put_input_schema(builder, call->schema);
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static void put_tool_choice(struct model_call *call, tn_builder *builder) {
    static const char *const words[][2] = {{"auto", "auto"}, {"none", "none"}, {"required", "any"}};
    tn_value choice = model_option(call, "tool_choice"), parallel = model_option(call, "parallel_tool_calls");
    const char *named = tn_get_text(choice, "name", NULL), *type = named != NULL ? "tool" : NULL;
    int32_t together = 1;
    (void)tn.value->as_bool(parallel, &together);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (tn_chars(choice, NULL) != NULL && strcmp(tn_chars(choice, NULL), words[i][0]) == 0) type = words[i][1];
    if (choice != NULL && type == NULL) {
        model_refuse(call, "`tool_choice` is %s; expected \"auto\", \"none\", \"required\" or {name: TOOL}",
                     tn.value->kind(choice) == TN_STRING ? tn_chars(choice, NULL) : tn_kind_name(choice));
        return;
    }
    /* The answer is a tool's input: one has to be called, and where there is no other it is that one. */
    if (answers_by_tool(call) && named == NULL) {
        type = call->tools != NULL && (type == NULL || strcmp(type, "none") != 0) ? "any" : "tool";
        named = ANTHROPIC_ANSWER_TOOL;
    }
    if (type == NULL && together) return;
    if (type == NULL) type = "auto";
    tn_put_begin(builder, "tool_choice", TN_OBJECT);
    tn_put_text(builder, "type", type);
    if (strcmp(type, "tool") == 0)
        tn_put_text(builder, "name", strcmp(named, ANTHROPIC_ANSWER_TOOL) != 0 ? model_tool_name(call, named) : named);
    if (!together && strcmp(type, "none") != 0) tn_put_bool(builder, "disable_parallel_tool_use", 1);
    tn.value->end(builder);
}

/* ---- Output ---- */

/* {effort?, format?}: how much thought, and the answer's schema. */
static void put_output(const struct model_call *call, tn_builder *builder) {
    tn_value effort = tn.value->get(model_option(call, "reasoning"), "effort");
    bool format = call->schema != NULL && !answers_by_tool(call) && tn.value->kind(call->schema) == TN_OBJECT;
    bool some = effort != NULL && strcmp(tn_chars(effort, NULL) != NULL ? tn_chars(effort, NULL) : "", "none") != 0;
    if (!format && !some) return;
    tn_put_begin(builder, "output_config", TN_OBJECT);
    if (some) tn_put(builder, "effort", effort);
    if (format) {
        tn_put_begin(builder, "format", TN_OBJECT);
        tn_put_text(builder, "type", "json_schema");
        tn_put_take(builder, "schema", anthropic_structure(call->schema));
        tn.value->end(builder);
    }
    tn.value->end(builder);
}

static void put_thinking(const struct model_call *call, tn_builder *builder) {
    tn_value reasoning = model_option(call, "reasoning");
    const char *effort = tn_get_text(reasoning, "effort", NULL);
    int64_t budget = tn_get_int(reasoning, "max_tokens", 0);
    if (effort == NULL && budget <= 0) return;
    bool none = effort != NULL && strcmp(effort, "none") == 0;
    tn_put_begin(builder, "thinking", TN_OBJECT);
    tn_put_text(builder, "type", none ? "disabled" : budget > 0 ? "enabled" : "adaptive");
    if (!none && budget > 0) tn_put_int(builder, "budget_tokens", budget);
    tn.value->end(builder);
}

/* What is thought counts as well: a budget for it is not taken from what we give the answer ourselves. */
static int64_t max_tokens(const struct model_call *call) {
    tn_value reasoning = model_option(call, "reasoning");
    int64_t budget = tn_get_int(reasoning, "max_tokens", 0), given;
    if (tn.value->as_int(model_option(call, "max_tokens"), &given) == TN_OK) return given;
    return ANTHROPIC_MAX_TOKENS + (budget > 0 && budget < INT32_MAX ? budget : 0);
}

static void put_stop(const struct model_call *call, tn_builder *builder) {
    tn_value stop = model_option(call, "stop");
    if (stop == NULL) return;
    tn_put_begin(builder, "stop_sequences", TN_ARRAY);
    if (tn.value->kind(stop) == TN_STRING) tn_put(builder, NULL, stop);
    for (uint64_t i = 0, count = tn.value->count(stop); i < count; i++) tn_put(builder, NULL, tn.value->at(stop, i));
    tn.value->end(builder);
}

/* true, or how long: "5m", "1h". */
static void put_cache(const struct model_call *call, tn_builder *builder) {
    tn_value cache = model_config(call, "cache");
    const char *ttl = tn_chars(cache, NULL);
    int32_t on = ttl != NULL;
    (void)tn.value->as_bool(cache, &on);
    if (!on) return;
    tn_put_begin(builder, "cache_control", TN_OBJECT);
    tn_put_text(builder, "type", "ephemeral");
    if (ttl != NULL) tn_put_text(builder, "ttl", ttl);
    tn.value->end(builder);
}

/*
 * The service's container, with the files and the programs in it, belongs to a turn: while its tools wait for our
 * results it has to be named again. After the turn it may be gone any time: who wants it then says so in `extra`.
 */
static void put_container(const struct model_call *call, tn_builder *builder) {
    uint64_t count = tn.value->count(call->messages);
    if (count == 0 || tn_message_is(tn.value->at(call->messages, count - 1), "user")) return;
    while (count > 0 && !tn_message_is(tn.value->at(call->messages, count - 1), "ai")) count--;
    if (count == 0) return;
    tn_value container = tn.value->get(model_extra_of(call, tn.value->at(call->messages, count - 1)), "container");
    anthropic_put(builder, "container", tn.value->get(container, "id"));
}

static void refuse_what_it_cannot(struct model_call *call) {
    tn_value modalities = model_option(call, "modalities");
    for (uint64_t i = 0, count = tn.value->count(modalities); i < count; i++) {
        const char *modality = tn_chars(tn.value->at(modalities, i), NULL);
        if (modality != NULL && strcmp(modality, "text") != 0)
            model_fail(call, "UNSUPPORTED",
                       "`modalities` has \"%s\", and anthropic gives text alone: ask another model", modality);
    }
    if (answers_by_tool(call) && !anthropic_is(call->schema, "object"))
        model_fail(
            call, "UNSUPPORTED",
            "`structured_output: tool` needs a response_schema of type \"object\"; put it into one, or leave the "
            "option out");
    if (call->model->name[0] == '\0')
        model_refuse(call, "no `model` is named; say one, such as anthropic:claude-opus-5");
}

tn_value anthropic_request(struct model_call *call) {
    refuse_what_it_cannot(call);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "model", call->model->name);
    tn_put_int(builder, "max_tokens", max_tokens(call));
    if (model_streams(call)) tn_put_bool(builder, "stream", 1);
    anthropic_put_messages(call, builder);
    model_put_option(call, builder, "temperature", "temperature");
    model_put_option(call, builder, "top_p", "top_p");
    put_stop(call, builder);
    put_thinking(call, builder);
    put_output(call, builder);
    if (has_tools(call)) {
        put_tools(call, builder);
        put_tool_choice(call, builder);
    }
    put_cache(call, builder);
    put_container(call, builder);
    anthropic_put(builder, "metadata", model_config(call, "metadata"));
    tn.value->end(builder);
    return tn.value->finish(builder);
}
