/*
 * openai_server.c - the plugin `tenon.openai_server`: routes, and the requests that are open.
 */
#include "openai_server.h"

TN_PLUGIN("tenon.openai_server", "0.1.0", "Graphs as models of OpenAI's API")

static struct openai *openai_state; /* between init and deinit */

#define BODY   "{\"refusals\": true, \"body\": {\"max\": 16777216, \"types\": [\"application/json\"]}}"
#define NOBODY "{\"refusals\": true}"
#define ANY    "{\"refusals\": true, \"body\": {\"max\": 65536, \"optional\": true}}"
_Static_assert(BODY_MAX == 16777216, "the body of the routes");

static const struct route {
    const char *method, *path, *scope, *more;
    exchange_begin *begin;
} routes[] = {
    {"GET", "/v1/models", "read", NOBODY, models_list},
    {"GET", "/v1/models/{id}", "read", NOBODY, models_get},
    {"POST", "/v1/chat/completions", "run", BODY, chat_post},
    {"POST", "/v1/responses", "run", BODY, response_post},
    {"GET", "/v1/responses/{id}", "run", NOBODY, response_get},
    {"POST", "/v1/responses/{id}/cancel", "run", ANY, response_cancel},
    {"DELETE", "/v1/responses/{id}", "run", ANY, response_delete},
    {"GET", "/v1/responses/{id}/input_items", "read", NOBODY, response_input_items},
};

/* ---- Exchanges ---- */

static struct exchange **exchange_at(struct openai *openai, uint64_t number) {
    struct exchange **at = &openai->exchanges[number % (sizeof openai->exchanges / sizeof *openai->exchanges)];
    while (*at != NULL && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void exchange_free(struct exchange *exchange) {
    tn_release(exchange->request);
    serving_free(exchange->owner);
    serving_free(exchange);
}

static struct exchange *exchange_new(struct openai *openai, uint64_t number, tn_value request) {
    struct exchange *exchange = serving_alloc(sizeof *exchange);
    if (exchange == NULL) return NULL;
    exchange->openai = openai;
    exchange->number = number;
    exchange->caller = serving_caller(request);
    exchange->owner = serving_text_copy(tn_get_text(tn_get(request, "caller"), "owner", ""));
    exchange->request = tn_retain(request);
    if (exchange->owner != NULL) return exchange;
    exchange_free(exchange);
    return NULL;
}

void exchange_reply(struct exchange *exchange, int32_t status, tn_value json) {
    tn_value response = tn_build("{s:i, s:V}", "status", (int)status, "json", json);
    if (response != NULL) (void)exchange->openai->serving.server->respond(tn.host, exchange->number, response);
    if (response == NULL) (void)exchange->openai->serving.server->abort(tn.host, exchange->number);
    tn_release(response);
}

void exchange_abort(struct exchange *exchange) {
    (void)exchange->openai->serving.server->abort(tn.host, exchange->number);
}

void exchange_refuse(struct exchange *exchange, const struct openai_error *error) {
    exchange_reply(exchange, error->status, openai_error_json(error));
}

const char *exchange_param(const struct exchange *exchange, const char *name) {
    return tn_get_text(tn_get(exchange->request, "params"), name, "");
}

static void refuse(uint64_t request, tn_value value) {
    tn_value response = openai_refusal(value);
    (void)openai_state->serving.server->respond(tn.host, request, response);
    tn_release(response);
}

static void TN_ABI on_request(void *user, uint64_t number, int32_t event, tn_value value) {
    const struct route *route = user;
    struct openai *openai = openai_state;
    struct exchange **at, *exchange;
    if (openai == NULL) return;
    if (event == TN_SERVER_REFUSED) {
        refuse(number, value);
        return;
    }
    at = exchange_at(openai, number);
    exchange = *at;
    if (event == TN_SERVER_REQUEST && exchange == NULL) {
        exchange = *at = exchange_new(openai, number, value);
        if (exchange != NULL)
            route->begin(exchange);
        else
            (void)openai->serving.server->abort(tn.host, number);
        return;
    }
    if (exchange == NULL) return;
    if (event == TN_SERVER_CLOSED) *at = exchange->next;
    if (exchange->on_event != NULL) exchange->on_event(exchange, event);
    if (event == TN_SERVER_CLOSED) exchange_free(exchange);
}

/* ---- The plugin ---- */

static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    struct openai *openai = serving_alloc(sizeof *openai);
    if (openai == NULL) return TN_NO_MEMORY;
    if (!serving_open(&openai->serving)) {
        serving_free(openai);
        return TN_OK;
    }
    openai->started = serving_now_s();
    openai_state = openai;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        const struct route *route = &routes[i];
        int32_t status = serving_route(&openai->serving, route->method, route->path, route->scope, route->more,
                                       on_request, (void *)(uintptr_t)route);
        if (status == TN_UNSUPPORTED) break; /* the host serves nothing */
    }
    return TN_OK;
}

static void TN_ABI deinit(void *self) {
    (void)self;
    struct openai *openai = openai_state;
    if (openai == NULL) return;
    for (size_t i = 0; i < sizeof openai->exchanges / sizeof *openai->exchanges; i++)
        while (openai->exchanges[i] != NULL) {
            struct exchange *exchange = openai->exchanges[i];
            openai->exchanges[i] = exchange->next;
            if (exchange->on_event != NULL) exchange->on_event(exchange, TN_SERVER_CLOSED);
            exchange_free(exchange);
        }
    responses_free(openai);
    openai_state = NULL;
    serving_free(openai);
}

TN_LIFECYCLE(init, NULL, deinit)
