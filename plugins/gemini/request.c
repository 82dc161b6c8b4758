/*
 * request.c - the body of generateContent: contents, tools, and how to generate.
 *
 * Schemas go as they are, in the members that take JSON Schema (parametersJsonSchema, responseJsonSchema); the older
 * ones take a dialect of OpenAPI that has no $ref. What our options have no word for is in `extra`, put over it all.
 */
#include "gemini.h"

/* ---- Tools ---- */

/* A schema of no arguments: the service wants none at all then. */
static bool takes_nothing(tn_value schema) {
    static const char *const more[] = {"$ref", "anyOf", "oneOf", "allOf", "patternProperties", "if"};
    if (tn.value->kind(schema) != TN_OBJECT) return true;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (tn.value->get(schema, more[i]) != NULL) return false;
    int32_t open = 0;
    tn_value others = tn.value->get(schema, "additionalProperties");
    if (tn.value->as_bool(others, &open) != TN_OK) open = others != NULL;
    return tn.value->count(tn.value->get(schema, "properties")) == 0 && !open;
}

static void put_tools(struct model_call *call, tn_builder *body) {
    uint64_t count = tn.value->count(call->tools);
    if (count == 0) return;
    tn_put_begin(body, "tools", TN_ARRAY);
    tn.value->begin(body, TN_OBJECT);
    tn_put_begin(body, "functionDeclarations", TN_ARRAY);
    for (uint64_t i = 0; i < count; i++) {
        tn_value tool = tn.value->at(call->tools, i), schema = tn.value->get(tool, "input_schema");
        tn_value description = tn.value->get(tool, "description");
        tn.value->begin(body, TN_OBJECT);
        tn_put_text(body, "name", model_tool_name(call, tn_get_text(tool, "name", "")));
        if (tn.value->kind(description) == TN_STRING) tn_put(body, "description", description);
        if (!takes_nothing(schema)) tn_put(body, "parametersJsonSchema", schema);
        tn.value->end(body);
    }
    tn.value->end(body);
    tn.value->end(body);
    tn.value->end(body);
}

/* "auto", "none", "required" or {name}. */
static void put_tool_choice(struct model_call *call, tn_builder *body) {
    static const char *const modes[][2] = {{"auto", "AUTO"}, {"none", "NONE"}, {"required", "ANY"}};
    tn_value choice = model_option(call, "tool_choice");
    const char *word = tn_chars(choice, NULL), *name = tn_get_text(choice, "name", NULL), *mode = NULL;
    if (choice == NULL || call->tools == NULL) return;
    for (size_t i = 0; word != NULL && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(word, modes[i][0]) == 0) mode = modes[i][1];
    if (name != NULL) mode = "ANY";
    if (mode == NULL) {
        model_refuse(call, "`tool_choice` is %s; expected \"auto\", \"none\", \"required\" or {name: a tool's}",
                     word != NULL ? word : tn_kind_name(choice));
        return;
    }
    tn_put_begin(body, "toolConfig", TN_OBJECT);
    tn_put_begin(body, "functionCallingConfig", TN_OBJECT);
    tn_put_text(body, "mode", mode);
    if (name != NULL) {
        tn_put_begin(body, "allowedFunctionNames", TN_ARRAY);
        tn_put_text(body, NULL, model_tool_name(call, name));
        tn.value->end(body);
    }
    tn.value->end(body);
    tn.value->end(body);
}

/* ---- How to generate ---- */

/*
 * `effort` is a level for models that have levels, a number of tokens for those before (generation 2), which know 0
 * for none. A level below "low" is "MINIMAL".
 */
static void put_thinking(struct model_call *call, tn_builder *body) {
    static const struct {
        const char *effort, *level;
        int64_t budget;
    } efforts[] = {{"none", "MINIMAL", 0}, {"low", "LOW", 1024}, {"medium", "MEDIUM", 8192}, {"high", "HIGH", 24576}};
    tn_value reasoning = model_option(call, "reasoning");
    const char *effort = tn_get_text(reasoning, "effort", NULL);
    int64_t budget = tn_get_int(reasoning, "max_tokens", -1), none = 0;
    bool second = strncmp(gemini_short_name(call->model->own), "gemini-2", 8) == 0;
    if (tn.value->kind(reasoning) != TN_OBJECT || (effort == NULL && budget < 0)) return;
    tn_put_begin(body, "thinkingConfig", TN_OBJECT);
    for (size_t i = 0; budget < 0 && i < sizeof efforts / sizeof *efforts; i++) {
        if (strcmp(effort, efforts[i].effort) != 0) continue;
        none = i == 0;
        if (second)
            tn_put_int(body, "thinkingBudget", efforts[i].budget);
        else
            tn_put_text(body, "thinkingLevel", efforts[i].level);
    }
    if (budget >= 0) tn_put_int(body, "thinkingBudget", budget);
    if (!none && budget != 0) tn_put_bool(body, "includeThoughts", 1);
    tn.value->end(body);
}

static void put_modalities(struct model_call *call, tn_builder *body) {
    tn_value modalities = model_option(call, "modalities");
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

/* One text, or several. */
static void put_stop(struct model_call *call, tn_builder *body) {
    tn_value stop = model_option(call, "stop");
    if (tn.value->kind(stop) == TN_ARRAY) {
        if (tn.value->count(stop) > 0) tn_put(body, "stopSequences", stop);
    } else if (stop != NULL) {
        tn_put_begin(body, "stopSequences", TN_ARRAY);
        tn_put(body, NULL, stop);
        tn.value->end(body);
    }
}

static tn_value generation(struct model_call *call) {
    static const char *const names[][2] = {
        {"temperature", "temperature"}, {"top_p", "topP"}, {"max_tokens", "maxOutputTokens"}, {"seed", "seed"}};
    tn_builder *body = tn.value->builder();
    tn.value->begin(body, TN_OBJECT);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) model_put_option(call, body, names[i][0], names[i][1]);
    put_stop(call, body);
    put_modalities(call, body);
    put_thinking(call, body);
    if (call->schema != NULL) {
        tn_put_text(body, "responseMimeType", "application/json");
        if (tn.value->kind(call->schema) == TN_OBJECT) tn_put(body, "responseJsonSchema", call->schema);
    }
    tn.value->end(body);
    return tn.value->finish(body);
}

/* ---- Extra ---- */

/* "safety_settings" is "safetySettings". False: the name is longer than any of them. */
static bool camel(const char *name, char *out, size_t size) {
    size_t length = 0;
    for (; *name != '\0'; name++) {
        if (length + 1 >= size) return false;
        bool joint = *name == '_' && length > 0 && name[1] >= 'a' && name[1] <= 'z';
        if (joint) name++;
        out[length++] = joint ? (char)(*name - 'a' + 'A') : *name;
    }
    out[length] = '\0';
    return true;
}

/* Members whose own members have names of the service's, too. All else is data. */
static bool is_settings(const char *name) {
    static const char *const settings[] = {"generationConfig", "toolConfig",   "functionCallingConfig",
                                           "thinkingConfig",   "imageConfig",  "speechConfig",
                                           "retrievalConfig",  "googleSearch", "embedContentConfig"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(name, settings[i]) == 0) return true;
    return false;
}

#define MERGE_DEPTH_MAX 8 /* below, what is there is replaced */

static tn_value merge_take(tn_value under, tn_value over, int depth);

static tn_value empty(int32_t kind) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, kind);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

/* Our tools, and behind them those that `extra` has: what the service has built in. */
static tn_value add_tools(tn_value tools, tn_value more) {
    tn_value all = tools != NULL ? tn_retain(tools) : empty(TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(more); i < count; i++) {
        tn_value item = tn.value->at(more, i), next;
        item = tn.value->kind(item) == TN_OBJECT ? merge_take(empty(TN_OBJECT), item, 1) : tn_retain(item);
        next = tn.value->append(all, item);
        tn_release(item);
        tn_release(all);
        all = next;
    }
    return all;
}

static tn_value merge_member(tn_value under, const char *name, tn_value value, int depth) {
    tn_value old = tn.value->get(under, name);
    if (depth == 0 && strcmp(name, "tools") == 0 && tn.value->kind(value) == TN_ARRAY) return add_tools(old, value);
    bool both = tn.value->kind(old) == TN_OBJECT || is_settings(name);
    if (tn.value->kind(value) != TN_OBJECT || !both || depth + 1 >= MERGE_DEPTH_MAX) return tn_retain(value);
    return merge_take(tn.value->kind(old) == TN_OBJECT ? tn_retain(old) : empty(TN_OBJECT), value, depth + 1);
}

static tn_value merge_take(tn_value under, tn_value over, int depth) {
    for (uint64_t i = 0, count = tn.value->count(over); i < count; i++) {
        tn_value key, value, member, next;
        char name[128];
        if (tn.value->entry(over, i, &key, &value) != TN_OK) break;
        const char *given = tn_chars(key, NULL), *as = camel(given, name, sizeof name) ? name : given;
        member = merge_member(under, as, value, depth);
        next = tn.value->set(under, as, member);
        tn_release(member);
        tn_release(under);
        under = next;
    }
    return under;
}

tn_value gemini_merge_take(tn_value body, tn_value over) { return merge_take(body, over, 0); }

/* ---- The whole ---- */

tn_value gemini_request(struct model_call *call) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    if (gemini_put_contents(call, builder)) {
        put_tools(call, builder);
        put_tool_choice(call, builder);
        tn_value how = generation(call);
        if (tn.value->count(how) > 0 || how == NULL) tn_put(builder, "generationConfig", how);
        tn_release(how);
    }
    tn.value->end(builder);
    tn_value body = tn.value->finish(builder);
    if (!call->over) return gemini_merge_take(body, model_option(call, "extra"));
    tn_release(body);
    return NULL;
}
