/*
 * embed.c - collects the vectors of a call with `embed`, for services that take several requests for its texts.
 */
#include "internal.h"

static bool embed_is_vector(tn_value vector) {
    uint64_t count = tn.value->count(vector);
    bool numbers = tn.value->kind(vector) == TN_ARRAY && count > 0;
    for (uint64_t i = 0; numbers && i < count; i++) {
        int32_t kind = tn.value->kind(tn.value->at(vector, i));
        numbers = kind == TN_INT || kind == TN_DOUBLE;
    }
    return numbers;
}

bool model_check_embedded_texts(struct model_call *call) {
    for (uint64_t i = 0, count = tn.value->count(call->embed); i < count; i++) {
        if (tn.value->kind(tn.value->at(call->embed, i)) == TN_STRING) continue;
        model_fail_request(call, "embed[%llu] is %s; expected a text", (unsigned long long)i,
                           tn_kind_name(tn.value->at(call->embed, i)));
        return false;
    }
    return true;
}

bool model_add_embedding(struct model_call *call, tn_value vector) {
    if (call->ended) return false;
    if (call->embeddings == NULL) call->embeddings = tn_build("[]");
    if (!embed_is_vector(vector))
        model_fail_response(call, "an embedding that is not a list of numbers");
    else if (tn.value->append(&call->embeddings, vector) != TN_OK)
        model_fail(call, "NO_MEMORY", "not enough memory for the embeddings");
    return !call->ended;
}

void model_add_embedding_tokens(struct model_call *call, int64_t tokens) {
    struct tn_answer_usage usage = TN_ANSWER_USAGE;
    if (tokens < 0) return;
    int64_t room = TN_ANSWER_COUNT_MAX - call->embedding_tokens;
    call->embedding_tokens = tokens < room ? call->embedding_tokens + tokens : TN_ANSWER_COUNT_MAX;
    usage.input = usage.total = call->embedding_tokens;
    usage.output = 0;
    model_set_usage(call, &usage);
}

bool model_end_embeddings(struct model_call *call, uint64_t requested) {
    uint64_t received = tn.value->count(call->embeddings);
    if (call->ended) return false;
    if (received != requested)
        model_fail_response(call, "%llu embeddings for %llu texts", (unsigned long long)received,
                            (unsigned long long)requested);
    else if (received < tn.value->count(call->embed))
        return true;
    else
        model_finish(call, "stop");
    return false;
}
