/*
 * embed.c - texts to vectors: batchEmbedContents of AI Studio; of Vertex :predict, or :embedContent, which newer models
 * have and which takes one text.
 *
 * More texts than one request takes are several, one after the other; the vectors are in the order of the texts.
 */
#include "gemini.h"

enum way { BATCH, PREDICT, SINGLE };

static enum way way_of(const struct model_call *call) {
    const struct gemini *gemini = call->model->own;
    const char *name = gemini_short_name(gemini);
    if (gemini->project == NULL) return BATCH;
    bool newer = strstr(name, "gemini") != NULL && strcmp(name, "gemini-embedding-001") != 0;
    return newer || strstr(name, "maas") != NULL ? SINGLE : PREDICT;
}

/* Texts of one request: gemini-embedding-001 takes one by :predict, too. */
static uint64_t most(const struct model_call *call) {
    enum way way = way_of(call);
    bool one = way == SINGLE || (way == PREDICT && strncmp(gemini_short_name(call->model->own), "gemini", 6) == 0);
    return one ? 1 : GEMINI_EMBED_MAX;
}

static void put_content(tn_builder *out, tn_value text) {
    tn_put_begin(out, "content", TN_OBJECT);
    tn_put_begin(out, "parts", TN_ARRAY);
    tn.value->begin(out, TN_OBJECT);
    tn_put(out, "text", text);
    tn.value->end(out);
    tn.value->end(out);
    tn.value->end(out);
}

/* taskType and title are of each request; for :predict, of each instance. */
static void put_about(const struct model_call *call, tn_builder *out, const char *task, const char *title) {
    tn_value extra = model_option(call, "extra"), value = tn.value->get(extra, "taskType");
    if (value == NULL) value = tn.value->get(extra, "task_type");
    if (tn.value->kind(value) == TN_STRING) tn_put(out, task, value);
    value = tn.value->get(extra, "title");
    if (tn.value->kind(value) == TN_STRING) tn_put(out, title, value);
}

static void put_batch(const struct model_call *call, tn_builder *out, uint64_t from, uint64_t to) {
    const struct gemini *gemini = call->model->own;
    tn_put_begin(out, "requests", TN_ARRAY);
    for (uint64_t i = from; i < to; i++) {
        tn.value->begin(out, TN_OBJECT);
        tn_put_text(out, "model", gemini->model);
        put_content(out, tn.value->at(call->embed, i));
        model_put_option(call, out, "dimensions", "outputDimensionality");
        put_about(call, out, "taskType", "title");
        tn.value->end(out);
    }
    tn.value->end(out);
}

static void put_instances(const struct model_call *call, tn_builder *out, uint64_t from, uint64_t to) {
    tn_put_begin(out, "instances", TN_ARRAY);
    for (uint64_t i = from; i < to; i++) {
        tn.value->begin(out, TN_OBJECT);
        tn_put(out, "content", tn.value->at(call->embed, i));
        put_about(call, out, "task_type", "title");
        tn.value->end(out);
    }
    tn.value->end(out);
    if (model_option(call, "dimensions") == NULL) return;
    tn_put_begin(out, "parameters", TN_OBJECT);
    model_put_option(call, out, "dimensions", "outputDimensionality");
    tn.value->end(out);
}

tn_value gemini_embed_request(struct model_call *call, const char **method) {
    static const char *const methods[] = {"batchEmbedContents", "predict", "embedContent"};
    struct gemini_call *own = call->own;
    uint64_t from = own->embedded, to = from + most(call), count = tn.value->count(call->embed);
    for (uint64_t i = 0; own->embedded == 0 && i < count; i++) {
        if (tn.value->kind(tn.value->at(call->embed, i)) == TN_STRING) continue;
        model_refuse(call, "embed[%llu] is %s; expected a text", (unsigned long long)i,
                     tn_kind_name(tn.value->at(call->embed, i)));
        return NULL;
    }
    if (to > count) to = count;
    enum way way = way_of(call);
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    if (way == BATCH) put_batch(call, out, from, to);
    if (way == PREDICT) put_instances(call, out, from, to);
    if (way == SINGLE) {
        put_content(out, tn.value->at(call->embed, from));
        tn_put_begin(out, "embedContentConfig", TN_OBJECT);
        model_put_option(call, out, "dimensions", "outputDimensionality");
        put_about(call, out, "taskType", "title");
        tn.value->end(out);
    }
    tn.value->end(out);
    *method = methods[way];
    own->embedded = to;
    return tn.value->finish(out);
}

/* One more vector; false: the call has been failed. */
static bool add(struct model_call *call, tn_value values) {
    struct gemini_call *own = call->own;
    uint64_t count = tn.value->count(values);
    bool numbers = tn.value->kind(values) == TN_ARRAY && count > 0;
    for (uint64_t i = 0; numbers && i < count; i++) {
        int32_t kind = tn.value->kind(tn.value->at(values, i));
        numbers = kind == TN_INT || kind == TN_DOUBLE;
    }
    if (!numbers) {
        model_invalid(call, "an embedding that is no list of numbers");
        return false;
    }
    tn_value more = tn.value->append(own->vectors, values);
    tn_release(own->vectors);
    own->vectors = more;
    return true;
}

static void add_usage(struct model_call *call, int64_t tokens) {
    struct gemini_call *own = call->own;
    struct model_usage usage = MODEL_USAGE_NONE;
    if (tokens < 0) return;
    own->tokens = tokens < MODEL_COUNT_MAX - own->tokens ? own->tokens + tokens : MODEL_COUNT_MAX;
    usage.input = usage.total = own->tokens;
    usage.output = 0;
    model_usage(call, &usage);
}

bool gemini_embed_answer(struct model_call *call, tn_value json) {
    struct gemini_call *own = call->own;
    enum way way = way_of(call);
    tn_value list = tn.value->get(json, way == PREDICT ? "predictions" : "embeddings");
    if (own->vectors == NULL) {
        tn_builder *empty = tn.value->builder();
        tn.value->begin(empty, TN_ARRAY);
        tn.value->end(empty);
        own->vectors = tn.value->finish(empty);
    }
    if (way == SINGLE) {
        if (!add(call, tn.value->get(tn.value->get(json, "embedding"), "values"))) return false;
    } else {
        for (uint64_t i = 0, count = tn.value->kind(list) == TN_ARRAY ? tn.value->count(list) : 0; i < count; i++) {
            tn_value item = tn.value->at(list, i);
            if (way == PREDICT) item = tn.value->get(item, "embeddings");
            if (!add(call, tn.value->get(item, "values"))) return false;
            add_usage(call, model_count(tn.value->get(item, "statistics"), "token_count"));
        }
    }
    add_usage(call, model_count(tn.value->get(json, "usageMetadata"), "promptTokenCount"));
    uint64_t got = tn.value->count(own->vectors), count = tn.value->count(call->embed);
    if (got == own->embedded && got < count) return true;
    if (got == count)
        model_embeddings(call, own->vectors);
    else
        model_invalid(call, "%llu embeddings for %llu texts", (unsigned long long)got,
                      (unsigned long long)own->embedded);
    return false;
}
