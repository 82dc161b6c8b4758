/*
 * embed.c - `embed`: turns the text, or the list of texts, of a channel into vectors.
 *
 * The host splits a long list into batches (host/engine/model/model_embed.h), so the node makes one call.
 */
#include "chat.h"

struct embed {
    uint32_t model, input, output, usage;
    tn_value dimensions, purpose, batch; /* borrowed from the configuration; may be NULL */
    const char *input_name;
};

/* One use of the node. */
struct embed_task {
    const struct embed *embed;
    tn_task task;
    bool list; /* the channel has a list: so has the result */
};

static int32_t embed_create(tn_value config, tn_binder *binder, void **self) {
    struct embed *embed = agents_alloc_zeroed(sizeof(*embed));
    if (embed == NULL) return TN_NO_MEMORY;
    embed->dimensions = tn_get(config, "dimensions");
    embed->purpose = tn_get(config, "purpose");
    embed->batch = tn_get(config, "batch");
    embed->input_name = tn_get_text(config, "input_key", "");
    int32_t status = chat_bind_model(config, binder, &embed->model);
    if (status == TN_OK) status = agents_bind_read(config, "input_key", binder, &embed->input);
    if (status == TN_OK) status = agents_bind_write(config, "output_key", binder, &embed->output);
    if (status == TN_OK) status = agents_bind_write(config, "usage_key", binder, &embed->usage);
    if (status == TN_OK)
        *self = embed;
    else
        agents_release(embed);
    return status;
}

/* Ends the task. Returns the status of the last write; the task is open if it is not TN_OK. */
static int32_t embed_write(const struct embed *embed, tn_task task, tn_value vectors, tn_value usage) {
    int32_t status = tn_write(task, embed->output, vectors);
    if (status == TN_OK && embed->usage != TN_UNBOUND) {
        struct chat_usage sum = {.calls = 0};
        if (usage != NULL) chat_usage_add(&sum, usage); /* NULL: the model was not called */
        status = tn_write_take(task, embed->usage, chat_usage_to_value(&sum));
    }
    return status == TN_OK ? tn_done(task) : status;
}

static int32_t embed_on_answer(void *user, int32_t status, tn_value result) {
    struct embed_task state = *(struct embed_task *)user;
    agents_release(user);
    if (status != TN_OK) {
        (void)agents_fail_with(state.task, status, result);
        return TN_OK;
    }
    tn_value vectors = tn_get(result, "embeddings");
    if (tn.value->kind(vectors) != TN_ARRAY || (!state.list && tn.value->count(vectors) != 1)) {
        (void)agents_fail(state.task, "INVALID_RESPONSE", NULL, "the model returned no embeddings");
        return TN_OK;
    }
    status =
        embed_write(state.embed, state.task, state.list ? vectors : tn.value->at(vectors, 0), tn_get(result, "usage"));
    if (status != TN_OK)
        (void)agents_fail(state.task, "CHANNEL", NULL, "a channel did not accept the vectors (status %d)", (int)status);
    return TN_OK;
}

/* Returns the request, or NULL if allocation fails. */
static tn_value embed_build_request(const struct embed *embed, tn_value texts, bool list) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    if (list) {
        tn_put(builder, "embed", texts);
    } else {
        tn_put_begin(builder, "embed", TN_ARRAY);
        tn_put(builder, NULL, texts);
        tn.value->end(builder);
    }
    if (embed->dimensions != NULL || embed->purpose != NULL) {
        tn_put_begin(builder, "options", TN_OBJECT);
        if (embed->dimensions != NULL) tn_put(builder, "dimensions", embed->dimensions);
        if (embed->purpose != NULL) tn_put(builder, "purpose", embed->purpose);
        tn.value->end(builder);
    }
    if (embed->batch != NULL) tn_put(builder, "batch", embed->batch);
    tn.value->end(builder);
    return tn_finish(builder);
}

/* Fails the task unless the channel has a text or a list of texts. */
static bool embed_check(const struct embed *embed, tn_task task, tn_value texts) {
    int32_t kind = tn.value->kind(texts);
    if (kind != TN_STRING && kind != TN_ARRAY) {
        (void)agents_fail(task, "INVALID_INPUT", NULL, "`%s`: found %s, expected a text or a list of texts",
                          embed->input_name, texts != NULL ? tn_kind_name(texts) : "no value");
        return false;
    }
    for (uint64_t i = 0; kind == TN_ARRAY && i < tn.value->count(texts); i++) {
        tn_value text = tn.value->at(texts, i);
        if (tn.value->kind(text) == TN_STRING) continue;
        (void)agents_fail(task, "INVALID_INPUT", NULL, "`%s`, item %llu: found %s, expected a text", embed->input_name,
                          (unsigned long long)i, tn_kind_name(text));
        return false;
    }
    return true;
}

static int32_t embed_start(void *self, tn_task task, tn_value input) {
    const struct embed *embed = self;
    (void)input;
    tn_value texts = NULL;
    int32_t status = tn.task->read(task, embed->input, &texts);
    if (status != TN_OK && status != TN_NOT_FOUND) return status;
    bool list = tn.value->kind(texts) == TN_ARRAY;
    if (!embed_check(embed, task, texts)) {
        tn_release(texts);
        return TN_FAILED;
    }
    if (list && tn.value->count(texts) == 0) { /* nothing to ask a service for */
        status = embed_write(embed, task, texts, NULL);
        tn_release(texts);
        return status;
    }
    struct embed_task *state = agents_alloc_zeroed(sizeof(*state));
    tn_value request = embed_build_request(embed, texts, list);
    status = TN_NO_MEMORY;
    if (state != NULL && request != NULL) {
        *state = (struct embed_task){embed, task, list};
        status = tn.task->call(task, embed->model, request, NULL, embed_on_answer, state, NULL);
    }
    tn_release(request);
    tn_release(texts);
    if (status != TN_OK) agents_release(state);
    return status;
}

TN_COMPONENT(embed, "embed", embed_create, embed_start, NULL, NULL, agents_release)
