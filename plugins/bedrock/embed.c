/*
 * embed.c - embeddings over InvokeModel, whose bodies are those of each family of models.
 *
 * Titan and Nova take one text in a request, so that several texts are several requests, one after the other. The host
 * knows that from bedrock.json and makes batches of one text; the loop here is for callers that do not.
 */
#include "bedrock.h"

#include <stdlib.h>

enum embed_api { TITAN, TITAN_IMAGE, COHERE, NOVA };

struct embed_row {
    const char *part; /* of the model's id, which can be an inference profile or an ARN */
    enum embed_api api;
    uint64_t texts;         /* of one request */
    const char *dimensions; /* the service's name of this option; NULL if the model does not have it */
};

static const struct embed_row embed_rows[] = {
    {"amazon.titan-embed-text-v2", TITAN, 1, "dimensions"},
    {"amazon.titan-embed-image", TITAN_IMAGE, 1, "outputEmbeddingLength"},
    {"amazon.titan-embed", TITAN, 1, NULL},
    {"cohere.embed-v4", COHERE, 96, "output_dimension"},
    {"cohere.embed", COHERE, 96, NULL},
    {"amazon.nova-2-multimodal-embeddings", NOVA, 1, "embeddingDimension"},
};

static const struct embed_row *embed_find_row(const struct model_call *call) {
    for (size_t i = 0; i < sizeof embed_rows / sizeof *embed_rows; i++)
        if (strstr(call->model->name, embed_rows[i].part) != NULL) return &embed_rows[i];
    return NULL;
}

/* ---- Requests ---- */

static bool embed_is_query(const struct model_call *call) {
    const char *purpose = tn_chars(model_get_option(call, "purpose"), NULL);
    return purpose != NULL && strcmp(purpose, "query") == 0;
}

static void embed_put_texts(const struct model_call *call, tn_builder *out, uint64_t from, uint64_t to) {
    tn_put_begin(out, "texts", TN_ARRAY);
    for (uint64_t i = from; i < to; i++) tn_put(out, NULL, tn.value->at(call->embed, i));
    tn.value->end(out);
    tn_put_text(out, "input_type", embed_is_query(call) ? "search_query" : "search_document"); /* required */
}

static void embed_put_nova(const struct model_call *call, const struct embed_row *row, tn_builder *out, tn_value text) {
    tn_put_text(out, "taskType", "SINGLE_EMBEDDING");
    tn_put_begin(out, "singleEmbeddingParams", TN_OBJECT);
    tn_put_text(out, "embeddingPurpose", embed_is_query(call) ? "TEXT_RETRIEVAL" : "GENERIC_INDEX"); /* required */
    model_put_option(call, out, "dimensions", row->dimensions);
    tn_put_begin(out, "text", TN_OBJECT);
    tn_put_text(out, "truncationMode", "NONE"); /* required; as the other models, it refuses what is too long */
    tn_put(out, "value", text);
    tn.value->end(out);
    tn.value->end(out);
}

static tn_value embed_build_body(const struct model_call *call, const struct embed_row *row, uint64_t from,
                                 uint64_t to) {
    tn_value text = tn.value->at(call->embed, from);
    bool has_dimensions = row->dimensions != NULL && model_get_option(call, "dimensions") != NULL;
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    if (row->api == COHERE) embed_put_texts(call, out, from, to);
    if (row->api == NOVA) embed_put_nova(call, row, out, text);
    if (row->api == TITAN || row->api == TITAN_IMAGE) tn_put(out, "inputText", text);
    if (row->api == TITAN_IMAGE && has_dimensions) tn_put_begin(out, "embeddingConfig", TN_OBJECT);
    if (row->api != NOVA && has_dimensions) model_put_option(call, out, "dimensions", row->dimensions);
    if (row->api == TITAN_IMAGE && has_dimensions) tn.value->end(out);
    tn.value->end(out);
    return tn_finish(out);
}

/* `body` with the members of `extra`, objects merged with objects. Takes `body`; NULL if memory runs out. */
static tn_value embed_merge_take(tn_value body, tn_value extra) {
    tn_value key, value;
    for (uint64_t i = 0; body != NULL && tn.value->entry(extra, i, &key, &value) == TN_OK; i++) {
        uint64_t length;
        const char *name = tn_chars(key, &length);
        tn_value there = tn_get(body, name);
        bool both = tn.value->kind(there) == TN_OBJECT && tn.value->kind(value) == TN_OBJECT;
        tn_value merged = both ? embed_merge_take(tn_retain(there), value) : tn_retain(value);
        bool set = merged != NULL && tn.value->set(&body, name, length, merged) == TN_OK;
        tn_release(merged);
        if (set) continue;
        tn_release(body);
        return NULL;
    }
    return body;
}

tn_value bedrock_embed_request(struct model_call *call) {
    struct bedrock_call *state = call->provider_data;
    const struct embed_row *row = embed_find_row(call);
    uint64_t from = state->embedded, count = tn.value->count(call->embed);
    if (row == NULL)
        model_fail(call, "UNSUPPORTED",
                   "bedrock cannot embed with `%.200s`: use a model whose id contains amazon.titan-embed, cohere.embed "
                   "or amazon.nova-2-multimodal-embeddings",
                   call->model->name);
    else if (row->dimensions == NULL && model_get_option(call, "dimensions") != NULL)
        model_fail(call, "UNSUPPORTED",
                   "`dimensions` is set, but `%.200s` has only one size of embeddings: remove it, or use another model",
                   call->model->name);
    else if (from == 0)
        (void)model_check_embedded_texts(call);
    if (call->ended) return NULL;
    state->embedded = row->texts < count - from ? from + row->texts : count;
    return embed_merge_take(embed_build_body(call, row, from, state->embedded), model_get_option(call, "extra"));
}

/* ---- Answers ---- */

/* Cohere's and Nova's input tokens are only in a header. */
static int64_t embed_tokens(const struct model_call *call, tn_value json) {
    static const char *const names[] = {"inputTextTokenCount", "inputTokenCount"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tn_get(json, names[i]) != NULL) return tn_answer_get_count(json, names[i]);
    const char *text = tn_get_text(tn_get(call->head, "headers"), "x-amzn-bedrock-input-token-count", "");
    char *end = NULL;
    long long tokens = strtoll(text, &end, 10);
    return *text != '\0' && *end == '\0' && tokens >= 0 ? tokens : -1;
}

bool bedrock_embed_answer(struct model_call *call, tn_value json) {
    const struct bedrock_call *state = call->provider_data;
    const struct embed_row *row = embed_find_row(call);
    tn_value list = tn_get(json, "embeddings");
    if (row->api == COHERE && tn.value->kind(list) == TN_OBJECT) list = tn_get(list, "float");
    model_add_embedding_tokens(call, embed_tokens(call, json));
    if (row->api == TITAN || row->api == TITAN_IMAGE) {
        (void)model_add_embedding(call, tn_get(json, "embedding"));
    } else {
        for (uint64_t i = 0, count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0; i < count; i++) {
            tn_value item = tn.value->at(list, i);
            if (!model_add_embedding(call, row->api == NOVA ? tn_get(item, "embedding") : item)) break;
        }
    }
    return model_end_embeddings(call, state->embedded);
}
