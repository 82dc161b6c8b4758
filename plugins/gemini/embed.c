/*
 * embed.c - embeddings: batchEmbedContents of AI Studio; on Vertex :predict, or for newer models :embedContent, which
 * takes one text.
 *
 * If one request cannot contain all texts, several are sent, one after the other.
 */
#include "gemini.h"

enum embed_api { BATCH, PREDICT, SINGLE };

static bool embed_model_is_newer(const struct model_call *call) {
    const char *name = gemini_get_short_name(call->model->provider_data);
    return strstr(name, "gemini") != NULL && strcmp(name, "gemini-embedding-001") != 0;
}

static enum embed_api embed_method(const struct model_call *call) {
    const struct gemini *gemini = call->model->provider_data;
    if (gemini->project == NULL) return BATCH;
    return embed_model_is_newer(call) || strstr(gemini_get_short_name(gemini), "maas") != NULL ? SINGLE : PREDICT;
}

/* Returns the number of texts for one request. gemini-embedding-001 accepts only one, also with :predict. */
static uint64_t embed_texts_per_request(const struct model_call *call) {
    enum embed_api api = embed_method(call);
    bool one = api == SINGLE ||
               (api == PREDICT && strncmp(gemini_get_short_name(call->model->provider_data), "gemini", 6) == 0);
    return one ? 1 : GEMINI_EMBED_MAX;
}

static void embed_put_content(tn_builder *out, tn_value text) {
    tn_put_begin(out, "content", TN_OBJECT);
    tn_put_begin(out, "parts", TN_ARRAY);
    tn.value->begin(out, TN_OBJECT);
    tn_put(out, "text", text);
    tn.value->end(out);
    tn.value->end(out);
    tn.value->end(out);
}

/* The type of task for `purpose`, or NULL. Newer models have none: they expect it in the text. */
static const char *embed_task_of_purpose(const struct model_call *call) {
    const char *purpose = tn_chars(model_get_option(call, "purpose"), NULL);
    if (purpose == NULL || embed_model_is_newer(call)) return NULL;
    return strcmp(purpose, "query") == 0 ? "RETRIEVAL_QUERY" : "RETRIEVAL_DOCUMENT";
}

/* Writes taskType and title, which `extra` sets once, into one request or instance. */
static void embed_put_options(const struct model_call *call, tn_builder *out, const char *task, const char *title) {
    tn_value extra = model_get_option(call, "extra"), value = tn_get(extra, "taskType");
    if (value == NULL) value = tn_get(extra, "task_type");
    if (tn.value->kind(value) == TN_STRING)
        tn_put(out, task, value);
    else if (embed_task_of_purpose(call) != NULL)
        tn_put_text(out, task, embed_task_of_purpose(call));
    value = tn_get(extra, "title");
    if (tn.value->kind(value) == TN_STRING) tn_put(out, title, value);
}

static void embed_put_batch(const struct model_call *call, tn_builder *out, uint64_t from, uint64_t to) {
    const struct gemini *gemini = call->model->provider_data;
    tn_put_begin(out, "requests", TN_ARRAY);
    for (uint64_t i = from; i < to; i++) {
        tn.value->begin(out, TN_OBJECT);
        tn_put_text(out, "model", gemini->model);
        embed_put_content(out, tn.value->at(call->embed, i));
        model_put_option(call, out, "dimensions", "outputDimensionality");
        embed_put_options(call, out, "taskType", "title");
        tn.value->end(out);
    }
    tn.value->end(out);
}

static void embed_put_instances(const struct model_call *call, tn_builder *out, uint64_t from, uint64_t to) {
    tn_put_begin(out, "instances", TN_ARRAY);
    for (uint64_t i = from; i < to; i++) {
        tn.value->begin(out, TN_OBJECT);
        tn_put(out, "content", tn.value->at(call->embed, i));
        embed_put_options(call, out, "task_type", "title");
        tn.value->end(out);
    }
    tn.value->end(out);
    if (model_get_option(call, "dimensions") == NULL) return;
    tn_put_begin(out, "parameters", TN_OBJECT);
    model_put_option(call, out, "dimensions", "outputDimensionality");
    tn.value->end(out);
}

tn_value gemini_embed_request(struct model_call *call, const char **method) {
    static const char *const methods[] = {"batchEmbedContents", "predict", "embedContent"};
    struct gemini_call *state = call->provider_data;
    uint64_t from = state->embedded, to = from + embed_texts_per_request(call), count = tn.value->count(call->embed);
    if (from == 0 && !model_check_embedded_texts(call)) return NULL;
    if (to > count) to = count;
    enum embed_api api = embed_method(call);
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    if (api == BATCH) embed_put_batch(call, out, from, to);
    if (api == PREDICT) embed_put_instances(call, out, from, to);
    if (api == SINGLE) {
        embed_put_content(out, tn.value->at(call->embed, from));
        tn_put_begin(out, "embedContentConfig", TN_OBJECT);
        model_put_option(call, out, "dimensions", "outputDimensionality");
        embed_put_options(call, out, "taskType", "title");
        tn.value->end(out);
    }
    tn.value->end(out);
    *method = methods[api];
    state->embedded = to;
    return tn_finish(out);
}

bool gemini_embed_answer(struct model_call *call, tn_value json) {
    struct gemini_call *state = call->provider_data;
    enum embed_api api = embed_method(call);
    tn_value list = tn_get(json, api == PREDICT ? "predictions" : "embeddings");
    if (api == SINGLE) {
        if (!model_add_embedding(call, tn_get(tn_get(json, "embedding"), "values"))) return false;
    } else {
        for (uint64_t i = 0, count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0; i < count; i++) {
            tn_value item = tn.value->at(list, i);
            if (api == PREDICT) item = tn_get(item, "embeddings");
            if (!model_add_embedding(call, tn_get(item, "values"))) return false;
            model_add_embedding_tokens(call, tn_answer_get_count(tn_get(item, "statistics"), "token_count"));
        }
    }
    model_add_embedding_tokens(call, tn_answer_get_count(tn_get(json, "usageMetadata"), "promptTokenCount"));
    return model_end_embeddings(call, state->embedded);
}
