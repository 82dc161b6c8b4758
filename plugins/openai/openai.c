/*
 * openai.c - the plugin `tenon.openai`: the model `openai`, over Chat Completions or Responses, and embeddings.
 *
 * `api` selects the interface. Chat is the default: it has every option of tenon/message.h, and compatible servers
 * (Ollama, vLLM, llama.cpp, xAI, …) implement it, with `base_url`. Responses keeps reasoning between turns, has the
 * service's own tools (through `extra`), and returns images. Nothing is stored at the service unless the
 * configuration requests it (stored.c).
 */
#include "openai.h"
#include "dialect.h"

TN_PLUGIN("tenon.openai", "0.1.0", "Models of OpenAI, and of every server with a compatible API")

/* ---- For both interfaces ---- */

bool openai_is_text(tn_value value) {
    uint64_t length = 0;
    return tn_chars(value, &length) != NULL && length > 0;
}

void openai_begin_item(tn_builder *builder, const char *key, const char *type) {
    tn_put_begin(builder, key, TN_OBJECT);
    tn_put_text(builder, "type", type);
}

tn_value openai_join_text(tn_value content) { return openai_join_parts(content, "text", "refusal"); }

tn_value openai_join_parts(tn_value content, const char *first, const char *second) {
    uint64_t length = 0, used = 0, size;
    if (tn.value->kind(content) == TN_STRING) return tn_retain(content);
    for (int pass = 0; pass < 2; pass++) {
        char *joined = pass > 0 ? tn.core->alloc(tn.host, length + 1) : NULL;
        if (pass > 0 && joined == NULL) return NULL;
        for (uint64_t i = 0, count = tn.value->count(content); i < count; i++) {
            tn_value part = tn.value->at(content, i);
            const char *type = tn_get_text(part, "type", ""), *text = tn_chars(tn_get(part, "text"), &size);
            bool wanted = strcmp(type, first) == 0 || (second != NULL && strcmp(type, second) == 0);
            if (text == NULL || !wanted) continue;
            if (joined == NULL)
                length += size;
            else {
                memcpy(joined + used, text, size);
                used += size;
            }
        }
        if (joined == NULL) continue;
        tn_value text_value = tn_text_n(joined, used);
        tn.core->release(tn.host, joined);
        return text_value;
    }
    return NULL;
}

tn_value openai_get_parameters(tn_value tool) {
    tn_value schema = tn_get(tool, "input_schema");
    if (tn.value->kind(schema) == TN_OBJECT) return tn_retain(schema);
    tn_builder *builder = tn_builder_new();
    openai_begin_item(builder, NULL, "object");
    tn_put_begin(builder, "properties", TN_OBJECT);
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value openai_build_source(tn_value annotation) {
    const char *type = tn_get_text(annotation, "type", "");
    tn_value inner = tn_get(annotation, type), from = tn.value->kind(inner) == TN_OBJECT ? inner : annotation;
    tn_value url = tn_get(from, "url"), title = tn_get(from, "title");
    if (tn.value->kind(annotation) != TN_OBJECT) return NULL;
    if (!openai_is_text(title)) title = tn_get(from, "filename");
    tn_builder *builder = tn_builder_new();
    openai_begin_item(builder, NULL, "source");
    if (openai_is_text(url)) tn_put(builder, "url", url);
    if (openai_is_text(title)) tn_put(builder, "title", title);
    tn_put_begin(builder, "extra", TN_OBJECT);
    tn_put(builder, "openai", annotation);
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

void openai_append_all(tn_value *array, tn_value items) {
    for (uint64_t i = 0, count = tn.value->kind(items) == TN_ARRAY ? tn.value->count(items) : 0; i < count; i++)
        if (tn_append_take(array, tn_retain(tn.value->at(items, i))) != TN_OK) return;
}

/* ---- Errors ---- */

/* The class of a word of the service, or of a compatible server, in an error. NULL if it does not say. */
static const char *openai_code_from_word(const char *word) {
    static const char *const codes[][2] = {{"vector_store_timeout", "OVERLOADED"},
                                           {"invalid_request_error", "INVALID_REQUEST"},
                                           {"invalid_prompt", "INVALID_REQUEST"},
                                           {"content_policy_violation", "INVALID_REQUEST"},
                                           {"bio_policy", "INVALID_REQUEST"}};
    const char *shared = tn_model_code_of_word(word);
    if (shared != NULL) return shared;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(codes[i][0], word) == 0) return codes[i][1];
    return strstr(word, "image") != NULL ? "INVALID_REQUEST" : NULL;
}

/*
 * Reads {error: {message, type, code, param}}, or the inner object alone; `code` may be a number. A code takes
 * precedence over the status, the status over the type, unless that is more specific.
 */
static void openai_error(struct model_call *call, tn_value body, struct tn_model_failure *failure) {
    tn_value inner = tn_get(body, "error"), from = tn.value->kind(inner) == TN_OBJECT ? inner : body;
    tn_value code = tn_get(from, "code"), type = tn_get(from, "type"), message = tn_get(from, "message");
    int64_t number = 0;
    (void)call;
    if (openai_is_text(inner) && !openai_is_text(message)) message = inner;
    if (openai_is_text(code) || openai_is_text(type)) failure->type = openai_is_text(code) ? code : type;
    if (openai_is_text(message)) failure->message = message;
    const char *by_code = openai_is_text(code) ? openai_code_from_word(tn_chars(code, NULL)) : NULL;
    const char *by_type = openai_is_text(type) ? openai_code_from_word(tn_chars(type, NULL)) : NULL;
    bool type_is_specific =
        by_type != NULL && (strcmp(by_type, "CONTEXT_LENGTH") == 0 || strcmp(by_type, "QUOTA") == 0);
    if (by_code == NULL && failure->status == 0 && tn.value->as_int(code, &number) == TN_OK && number >= 400)
        by_code = tn_model_error_code(number);
    /* Some servers, such as vLLM, report it only in the message. */
    if (by_code == NULL || strcmp(by_code, "INVALID_REQUEST") == 0) {
        const char *by_message =
            openai_is_text(message) ? tn_model_code_of_message(tn_chars(message, NULL), failure->status) : NULL;
        if (by_message != NULL) by_code = by_message;
    }
    if (by_code == NULL && (failure->status == 0 || type_is_specific)) by_code = by_type;
    if (by_code != NULL && (failure->status < 500 || strcmp(by_code, "CONTEXT_LENGTH") == 0)) failure->code = by_code;
}

/* ---- Embeddings ---- */

static void openai_embed_start(struct model_call *call) {
    const char *dimensions = openai_dialect(call)->dimensions;
    if (dimensions == NULL && model_get_option(call, "dimensions") != NULL) {
        model_fail(call, "UNSUPPORTED", "this service has no `dimensions`: remove the option, or use another model");
        return;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "model", call->model->name);
    tn_put(builder, "input", call->embed);
    tn_put_text(builder, "encoding_format", "float");
    if (dimensions != NULL) model_put_option(call, builder, "dimensions", dimensions);
    tn.value->end(builder);
    tn_value body = tn_finish(builder);
    model_send(call, &(struct model_request){.path = "/embeddings", .body = body, .whole = true});
    tn_release(body);
}

/* Reads the embeddings and sorts them into the order of the texts. */
static void openai_embed_answer(struct model_call *call, tn_value json) {
    tn_value data = tn_get(json, "data");
    uint64_t count = tn.value->count(call->embed),
             received = tn.value->kind(data) == TN_ARRAY ? tn.value->count(data) : 0;
    struct tn_answer_usage usage = TN_ANSWER_USAGE;
    if (received != count) {
        model_fail_response(call, "%llu embeddings for %llu texts", (unsigned long long)received,
                            (unsigned long long)count);
        return;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    for (uint64_t i = 0; i < count && !call->ended; i++) {
        tn_value found = tn.value->at(data, i);
        if (tn_get_int(found, "index", (int64_t)i) != (int64_t)i)
            for (uint64_t k = 0; k < count; k++)
                if (tn_get_int(tn.value->at(data, k), "index", -1) == (int64_t)i) found = tn.value->at(data, k);
        tn_value embedding = tn_get(found, "embedding");
        if (tn.value->kind(embedding) != TN_ARRAY || tn_get_int(found, "index", (int64_t)i) != (int64_t)i)
            model_fail_response(call, "no embedding for text %llu, or one that is not an array of numbers",
                                (unsigned long long)i);
        else
            tn.value->add(builder, embedding);
    }
    tn.value->end(builder);
    tn_value embeddings = tn_finish(builder);
    usage.input = tn_answer_get_count(tn_get(json, "usage"), "prompt_tokens");
    usage.total = tn_answer_get_count(tn_get(json, "usage"), "total_tokens");
    model_set_usage(call, &usage);
    if (embeddings != NULL) model_finish_embeddings(call, embeddings);
    tn_release(embeddings);
}

/* ---- The provider ---- */

static bool openai_uses_responses(const struct model_call *call) {
    return strcmp(tn_get_text(call->model->config, "api", "chat"), "responses") == 0;
}

static void openai_start(struct model_call *call) {
    if (call->embed != NULL)
        openai_embed_start(call);
    else if (openai_uses_responses(call))
        openai_responses_start(call);
    else
        openai_chat_start(call);
}

static void openai_event(struct model_call *call, const char *name, tn_value json) {
    (openai_uses_responses(call) ? openai_responses_event : openai_chat_event)(call, name, json);
}

static void openai_answer(struct model_call *call, tn_value json) {
    if (call->embed != NULL)
        openai_embed_answer(call, json);
    else
        (openai_uses_responses(call) ? openai_responses_answer : openai_chat_answer)(call, json);
}

static void openai_release(struct model_call *call) {
    struct openai_call *state = call->provider_data;
    openai_release_stored(call);
    tn_release(state->items);
    tn_release(state->logprobs);
    openai_extras_release(&state->extras);
}

static bool openai_retry(struct model_call *call, int64_t status, const char *code) {
    return openai_retry_stored(call, status, code) || openai_speech_retry(call, status, code);
}

static const struct model_provider openai = {
    .name = "openai",
    .base_url = "https://api.openai.com/v1",
    .secret = "OPENAI_API_KEY",
    .key_header = "authorization",
    .key_prefix = "Bearer ",
    .call_size = sizeof(struct openai_call),
    .create = openai_azure_create,
    .destroy = openai_dialect_destroy,
    .start = openai_start,
    .event = openai_event,
    .answer = openai_answer,
    .error = openai_error,
    .retry = openai_retry,
    .release = openai_release,
    .has_embeddings = true,
};

MODEL_COMPONENT(openai, "openai", &openai)
