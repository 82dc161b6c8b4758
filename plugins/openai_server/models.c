/*
 * models.c - GET /v1/models and /v1/models/{id}: a model is a graph that is served.
 */
#include "openai_server.h"

static void models_event(struct exchange *exchange, int32_t event) {
    if (event == TN_SERVER_CLOSED) serving_graphs_cancel(exchange->object);
}

static tn_value model_value(const struct exchange *exchange, tn_value item) {
    return tn_build("{s:v, s:s, s:I, s:s}", "id", tn_get(item, "name"), "object", "model", "created",
                    exchange->openai->started, "owned_by", "tenon");
}

static void refuse_lookup(struct exchange *exchange, tn_value of) {
    struct openai_error error = {0};
    openai_error_of(&error, of);
    exchange_refuse(exchange, &error);
}

static void on_list(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    tn_value models = tn_build("[]");
    exchange->object = NULL;
    if (error != NULL) {
        tn_release(models);
        refuse_lookup(exchange, error);
        return;
    }
    for (uint64_t i = 0, count = tn.value->count(graphs); i < count; i++)
        (void)tn_append_take(&models, model_value(exchange, tn.value->at(graphs, i)));
    exchange_reply(exchange, 200, tn_build("{s:s, s:V}", "object", "list", "data", models));
}

void openai_no_model(struct openai_error *error, const char *name) {
    (void)openai_invalid(error, "model", "model_not_found",
                         "the model `%.100s` does not exist; GET /v1/models lists the graphs that are served", name);
    error->status = 404;
}

static void on_one(void *user, tn_value graphs, tn_value of) {
    struct exchange *exchange = user;
    struct openai_error error = {0};
    const char *name = exchange_param(exchange, "id");
    tn_value item = serving_graph_find(graphs, name);
    exchange->object = NULL;
    if (of != NULL) {
        refuse_lookup(exchange, of);
    } else if (item == NULL) {
        openai_no_model(&error, name);
        exchange_refuse(exchange, &error);
    } else {
        exchange_reply(exchange, 200, model_value(exchange, item));
    }
}

void models_list(struct exchange *exchange) {
    exchange->on_event = models_event;
    exchange->object = serving_graphs(&exchange->openai->serving, exchange->caller, on_list, exchange);
    if (exchange->object == NULL) exchange_abort(exchange);
}

void models_get(struct exchange *exchange) {
    exchange->on_event = models_event;
    exchange->object = serving_graph_named(&exchange->openai->serving, exchange->caller, exchange_param(exchange, "id"),
                                           on_one, exchange);
    if (exchange->object == NULL) exchange_abort(exchange);
}
