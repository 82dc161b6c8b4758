/*
 * request.c - builds the body of generateContent: contents, tools, and generation options.
 *
 * Schemas are sent unchanged, in the members for JSON Schema (parametersJsonSchema, responseJsonSchema); the older
 * members accept only a dialect of OpenAPI without $ref. Members of `extra` override those of the body.
 */
#include "gemini.h"

/* ---- Tools ---- */

/* True for a schema without arguments. The service requires that it is left out. */
static bool gemini_schema_is_empty(tn_value schema) {
    static const char *const keywords[] = {"$ref", "anyOf", "oneOf", "allOf", "patternProperties", "if"};
    if (tn.value->kind(schema) != TN_OBJECT) return true;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (tn_get(schema, keywords[i]) != NULL) return false;
    int32_t open = 0;
    tn_value additional = tn_get(schema, "additionalProperties");
    if (tn.value->as_bool(additional, &open) != TN_OK) open = additional != NULL;
    return tn.value->count(tn_get(schema, "properties")) == 0 && !open;
}

static void gemini_put_tools(struct model_call *call, tn_builder *body) {
    uint64_t count = tn.value->count(call->tools);
    if (count == 0) return;
    tn_put_begin(body, "tools", TN_ARRAY);
    tn.value->begin(body, TN_OBJECT);
    tn_put_begin(body, "functionDeclarations", TN_ARRAY);
    for (uint64_t i = 0; i < count; i++) {
        tn_value tool = tn.value->at(call->tools, i), schema = tn_get(tool, "input_schema");
        tn_value description = tn_get(tool, "description");
        tn.value->begin(body, TN_OBJECT);
        tn_put_text(body, "name", model_tool_name_to_service(call, tn_get_text(tool, "name", "")));
        if (tn.value->kind(description) == TN_STRING) tn_put(body, "description", description);
        if (!gemini_schema_is_empty(schema)) tn_put(body, "parametersJsonSchema", schema);
        tn.value->end(body);
    }
    tn.value->end(body);
    tn.value->end(body);
    tn.value->end(body);
}

/* "auto", "none", "required" or {name}. */
static void gemini_put_tool_choice(struct model_call *call, tn_builder *body) {
    static const char *const modes[][2] = {{"auto", "AUTO"}, {"none", "NONE"}, {"required", "ANY"}};
    tn_value choice = model_get_option(call, "tool_choice");
    const char *word = tn_chars(choice, NULL), *name = tn_get_text(choice, "name", NULL), *mode = NULL;
    if (choice == NULL || call->tools == NULL) return;
    for (size_t i = 0; word != NULL && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(word, modes[i][0]) == 0) mode = modes[i][1];
    if (name != NULL) mode = "ANY";
    if (mode == NULL) {
        model_fail_request(call, "`tool_choice` is %s; expected \"auto\", \"none\", \"required\" or {name: TOOL}",
                           word != NULL ? word : tn_kind_name(choice));
        return;
    }
    tn_put_begin(body, "toolConfig", TN_OBJECT);
    tn_put_begin(body, "functionCallingConfig", TN_OBJECT);
    tn_put_text(body, "mode", mode);
    if (name != NULL) {
        tn_put_begin(body, "allowedFunctionNames", TN_ARRAY);
        tn_put_text(body, NULL, model_tool_name_to_service(call, name));
        tn.value->end(body);
    }
    tn.value->end(body);
    tn.value->end(body);
}

/* ---- Generation options ---- */

/*
 * `effort` becomes a level; for models of generation 2 it becomes a number of tokens, 0 for "none". As a level, "none"
 * becomes "MINIMAL", the lowest.
 */
static void gemini_put_thinking(struct model_call *call, tn_builder *body) {
    static const struct {
        const char *effort, *level;
        int64_t budget;
    } efforts[] = {{"none", "MINIMAL", 0}, {"low", "LOW", 1024}, {"medium", "MEDIUM", 8192}, {"high", "HIGH", 24576}};
    tn_value reasoning = model_get_option(call, "reasoning");
    const char *effort = tn_get_text(reasoning, "effort", NULL);
    int64_t budget = tn_get_int(reasoning, "max_tokens", -1), none = 0;
    bool generation_2 = strncmp(gemini_get_short_name(call->model->provider_data), "gemini-2", 8) == 0;
    if (tn.value->kind(reasoning) != TN_OBJECT || (effort == NULL && budget < 0)) return;
    tn_put_begin(body, "thinkingConfig", TN_OBJECT);
    for (size_t i = 0; budget < 0 && i < sizeof efforts / sizeof *efforts; i++) {
        if (strcmp(effort, efforts[i].effort) != 0) continue;
        none = i == 0;
        if (generation_2)
            tn_put_int(body, "thinkingBudget", efforts[i].budget);
        else
            tn_put_text(body, "thinkingLevel", efforts[i].level);
    }
    if (budget >= 0) tn_put_int(body, "thinkingBudget", budget);
    if (!none && budget != 0) tn_put_bool(body, "includeThoughts", 1);
    tn.value->end(body);
}

/* The models for speech return nothing but audio, and refuse a request for text beside it. */
static void gemini_put_speech(struct model_call *call, tn_builder *body) {
    const char *format = model_get_speech(call, "format", "wav"), *voice = model_get_speech(call, "voice", NULL);
    if (strcmp(format, "wav") != 0 && strcmp(format, "pcm16") != 0)
        model_fail(call, "UNSUPPORTED", "`speech.format` is \"%.40s\"; gemini returns only \"wav\" and \"pcm16\"",
                   format);
    tn_put_begin(body, "responseModalities", TN_ARRAY);
    tn_put_text(body, NULL, "AUDIO");
    tn.value->end(body);
    if (voice == NULL) return;
    tn_put_take(body, "speechConfig",
                tn_build("{s:{s:{s:s}}}", "voiceConfig", "prebuiltVoiceConfig", "voiceName", voice));
}

static void gemini_put_modalities(struct model_call *call, tn_builder *body) {
    tn_value modalities = model_get_option(call, "modalities");
    if (model_wants(call, "audio")) {
        gemini_put_speech(call, body);
        return;
    }
    if (tn.value->kind(modalities) != TN_ARRAY || tn.value->count(modalities) == 0) return;
    tn_put_begin(body, "responseModalities", TN_ARRAY);
    for (uint64_t i = 0; i < tn.value->count(modalities); i++) {
        const char *given = tn_chars(tn.value->at(modalities, i), NULL);
        char word[32];
        size_t length = 0;
        for (; given != NULL && given[length] != '\0' && length < sizeof word - 1; length++)
            word[length] =
                given[length] >= 'a' && given[length] <= 'z' ? (char)(given[length] - 'a' + 'A') : given[length];
        tn_put_take(body, NULL, tn_text_n(word, length));
    }
    tn.value->end(body);
}

/* `stop` is one text, or a list. */
static void gemini_put_stop(struct model_call *call, tn_builder *body) {
    tn_value stop = model_get_option(call, "stop");
    if (tn.value->kind(stop) == TN_ARRAY) {
        if (tn.value->count(stop) > 0) tn_put(body, "stopSequences", stop);
    } else if (stop != NULL) {
        tn_put_begin(body, "stopSequences", TN_ARRAY);
        tn_put(body, NULL, stop);
        tn.value->end(body);
    }
}

static tn_value gemini_put_generation(struct model_call *call) {
    static const char *const names[][2] = {
        {"temperature", "temperature"}, {"top_p", "topP"}, {"max_tokens", "maxOutputTokens"}, {"seed", "seed"}};
    tn_builder *body = tn_builder_new();
    tn.value->begin(body, TN_OBJECT);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) model_put_option(call, body, names[i][0], names[i][1]);
    gemini_put_stop(call, body);
    gemini_put_modalities(call, body);
    gemini_put_thinking(call, body);
    if (call->schema != NULL) {
        tn_put_text(body, "responseMimeType", "application/json");
        if (tn.value->kind(call->schema) == TN_OBJECT) tn_put(body, "responseJsonSchema", call->schema);
    }
    tn.value->end(body);
    return tn_finish(body);
}

/* ---- Extra ---- */

/* Converts "safety_settings" to "safetySettings", with its length. False if the name is too long. */
static bool extra_to_camel_case(const char *name, uint64_t *length, char *out, size_t size) {
    const char *end = name + *length;
    size_t used = 0;
    for (; name < end; name++) {
        if (used + 1 >= size) return false;
        bool upper = *name == '_' && used > 0 && name[1] >= 'a' && name[1] <= 'z';
        if (upper) name++;
        out[used++] = upper ? (char)(*name - 'a' + 'A') : *name;
    }
    out[used] = '\0';
    *length = used;
    return true;
}

/* True for members that contain names of the service's API. All other members are data. */
static bool extra_member_has_api_names(const char *name) {
    static const char *const settings[] = {"generationConfig", "toolConfig",   "functionCallingConfig",
                                           "thinkingConfig",   "imageConfig",  "speechConfig",
                                           "retrievalConfig",  "googleSearch", "embedContentConfig"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(name, settings[i]) == 0) return true;
    return false;
}

#define MERGE_DEPTH_MAX 8 /* at deeper levels, the value of `extra` replaces the other */

static tn_value extra_merge_take(tn_value under, tn_value over, int depth);

static tn_value empty_value_new(int32_t kind) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, kind);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* Appends the tools of `extra`, which are built into the service, to our tools. */
static tn_value extra_concat_tools(tn_value tools, tn_value more) {
    tn_value all = tools != NULL ? tn_retain(tools) : empty_value_new(TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(more); i < count; i++) {
        tn_value item = tn.value->at(more, i);
        item =
            tn.value->kind(item) == TN_OBJECT ? extra_merge_take(empty_value_new(TN_OBJECT), item, 1) : tn_retain(item);
        if (tn_append_take(&all, item) == TN_OK) continue;
        tn_release(all);
        return NULL;
    }
    return all;
}

static tn_value extra_merge_member(tn_value base, const char *name, uint64_t length, tn_value value, int depth) {
    tn_value old = tn.value->get(base, name, length);
    if (depth == 0 && strcmp(name, "tools") == 0 && tn.value->kind(value) == TN_ARRAY)
        return extra_concat_tools(old, value);
    bool both = tn.value->kind(old) == TN_OBJECT || extra_member_has_api_names(name);
    if (tn.value->kind(value) != TN_OBJECT || !both || depth + 1 >= MERGE_DEPTH_MAX) return tn_retain(value);
    return extra_merge_take(tn.value->kind(old) == TN_OBJECT ? tn_retain(old) : empty_value_new(TN_OBJECT), value,
                            depth + 1);
}

static tn_value extra_merge_take(tn_value base, tn_value overrides, int depth) {
    for (uint64_t i = 0, count = tn.value->count(overrides); i < count; i++) {
        tn_value key, value, member;
        char camel[128];
        uint64_t length;
        if (tn.value->entry(overrides, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, &length);
        if (extra_to_camel_case(name, &length, camel, sizeof camel)) name = camel;
        member = extra_merge_member(base, name, length, value, depth);
        int32_t status = tn.value->set(&base, name, length, member);
        tn_release(member);
        if (status == TN_OK) continue;
        tn_release(base);
        return NULL;
    }
    return base;
}

/* Merges `over` into `body`: objects member by member, `tools` by concatenation, anything else by replacement. Names in
 * snake_case, which Google's libraries accept, are converted to camelCase. Takes `body`. */
static tn_value gemini_merge_extra_take(tn_value body, tn_value over) { return extra_merge_take(body, over, 0); }

/* ---- Body ---- */

bool gemini_streams(const struct model_call *call) {
    return call->embed == NULL && model_is_streaming(call) && !model_wants(call, "audio");
}

tn_value gemini_request(struct model_call *call) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    if (gemini_put_contents(call, builder)) {
        gemini_put_tools(call, builder);
        gemini_put_tool_choice(call, builder);
        tn_value generation = gemini_put_generation(call);
        if (tn.value->count(generation) > 0 || generation == NULL) tn_put(builder, "generationConfig", generation);
        tn_release(generation);
    }
    tn.value->end(builder);
    tn_value body = tn_finish(builder);
    if (!call->ended) return gemini_merge_extra_take(body, model_get_option(call, "extra"));
    tn_release(body);
    return NULL;
}
