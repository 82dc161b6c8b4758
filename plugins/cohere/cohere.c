/*
 * cohere.c - the plugin `tenon.cohere`: models and embeddings of Cohere, over /v2/chat and /v2/embed.
 *
 * The service also has an interface that is compatible with OpenAI's, but without documents, citations, plans and the
 * kind of an embedding.
 */
#include "cohere.h"

TN_PLUGIN("tenon.cohere", "0.1.0", "Models and embeddings of Cohere")

/* ---- Embeddings ---- */

static const char *embed_input_type(const struct model_call *call) {
    const char *purpose = tn_chars(model_get_option(call, "purpose"), NULL);
    return purpose != NULL && strcmp(purpose, "query") == 0 ? "search_query" : "search_document";
}

static void embed_start(struct model_call *call) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "model", call->model->name);
    tn_put(builder, "texts", call->embed);
    tn_put_text(builder, "input_type", embed_input_type(call));
    tn_put_begin(builder, "embedding_types", TN_ARRAY);
    tn_put_text(builder, NULL, "float");
    tn.value->end(builder);
    model_put_option(call, builder, "dimensions", "output_dimension");
    tn.value->end(builder);
    tn_value body = tn_finish(builder);
    model_send(call, &(struct model_request){.path = "/embed", .body = body, .whole = true});
    tn_release(body);
}

static void embed_answer(struct model_call *call, tn_value json) {
    tn_value vectors = tn_get(tn_get(json, "embeddings"), "float");
    uint64_t count = tn.value->count(call->embed),
             found = tn.value->kind(vectors) == TN_ARRAY ? tn.value->count(vectors) : 0;
    struct tn_answer_usage usage = TN_ANSWER_USAGE;
    if (found != count) {
        model_fail_response(call, "%llu embeddings for %llu texts", (unsigned long long)found,
                            (unsigned long long)count);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        if (tn.value->kind(tn.value->at(vectors, i)) != TN_ARRAY) {
            model_fail_response(call, "no embedding for text %llu, or one that is not an array of numbers",
                                (unsigned long long)i);
            return;
        }
    usage.input = usage.total = cohere_count(tn_get(tn_get(json, "meta"), "billed_units"), "input_tokens");
    model_set_usage(call, &usage);
    model_finish_embeddings(call, vectors);
}

/* ---- Errors ---- */

/* {message}, or a body that answer_finish has made: {message, type}. */
static void cohere_error(struct model_call *call, tn_value body, struct tn_model_failure *failure) {
    static const struct tn_model_error_words known[] = {
        {"too many tokens", "CONTEXT_LENGTH"}, {"calls / month", "QUOTA"}, {"calls per month", "QUOTA"}};
    const char *message = tn_get_text(body, "message", ""), *type = tn_get_text(body, "type", "");
    (void)call;
    if (failure->status == 498) failure->code = "AUTH"; /* the token is not valid */
    if (failure->status == 0 && strcmp(type, "ERROR") == 0) failure->code = "OVERLOADED";
    if (failure->status == 0 && strcmp(type, "TIMEOUT") == 0) failure->code = "TIMEOUT";
    if (failure->status == 0 && strcmp(type, "ERROR_LIMIT") == 0) failure->code = "CONTEXT_LENGTH";
    for (size_t i = 0; i < sizeof known / sizeof *known && failure->status < 500; i++)
        if (tn_model_contains(message, known[i].words)) failure->code = known[i].code;
}

/* ---- The provider ---- */

static void cohere_start(struct model_call *call) {
    bool streams = model_is_streaming(call);
    if (call->embed != NULL) {
        embed_start(call);
        return;
    }
    tn_value body = cohere_request(call);
    if (!call->ended && body == NULL)
        model_fail_request(
            call,
            "cannot build the request: check that all values can be represented in JSON, and the available memory");
    model_send(call, &(struct model_request){.path = "/chat", .body = body, .whole = !streams, .merged = true});
    tn_release(body);
}

static void cohere_answer(struct model_call *call, tn_value json) {
    (call->embed != NULL ? embed_answer : cohere_answer_message)(call, json);
}

static void cohere_release(struct model_call *call) {
    struct cohere_call *state = call->provider_data;
    tn_release(state->citations);
    tn_release(state->sources);
    tn_release(state->logprobs);
}

static const struct model_provider cohere = {.name = "cohere",
                                             .base_url = "https://api.cohere.com/v2",
                                             .secret = "COHERE_API_KEY",
                                             .key_header = "authorization",
                                             .key_prefix = "Bearer ",
                                             .call_size = sizeof(struct cohere_call),
                                             .start = cohere_start,
                                             .event = cohere_event,
                                             .answer = cohere_answer,
                                             .error = cohere_error,
                                             .release = cohere_release,
                                             .has_embeddings = true};

MODEL_COMPONENT(cohere, "cohere", &cohere)
