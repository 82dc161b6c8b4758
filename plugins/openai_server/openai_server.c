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

static const struct serving_row routes[] = {
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

void exchange_reply(struct exchange *exchange, int32_t status, tn_value json) {
    serving_respond_take(&exchange->openai->serving, exchange->number,
                         tn_build("{s:i, s:V}", "status", (int)status, "json", json));
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

static void begin(void *plugin, struct exchange *exchange, const struct serving_row *row) {
    exchange->openai = plugin;
    row->begin(exchange);
}

static void on_event(struct exchange *exchange, int32_t event, tn_value value) {
    (void)value;
    if (exchange->on_event != NULL) exchange->on_event(exchange, event);
}

static tn_value refusal(const struct serving_row *row, tn_value refused) {
    (void)row;
    return openai_refusal(refused);
}

static const struct serving_protocol protocol = {.size = sizeof(struct exchange),
                                                 .rows = routes,
                                                 .count = sizeof routes / sizeof *routes,
                                                 .begin = begin,
                                                 .event = on_event,
                                                 .refusal = refusal};

/* ---- The plugin ---- */

static void TN_ABI deinit(void *self) {
    (void)self;
    struct openai *openai = openai_state;
    if (openai == NULL) return;
    serving_exchanges_close(&openai->exchanges);
    responses_free(openai);
    openai_state = NULL;
    serving_free(openai);
}

static int32_t TN_ABI init(void *self, tn_value config) {
    (void)config;
    struct openai *openai = serving_alloc(sizeof *openai);
    if (openai == NULL) return TN_NO_MEMORY;
    if (!serving_open(&openai->serving)) {
        serving_free(openai);
        return TN_OK;
    }
    openai->started = serving_now_s();
    openai_state = openai;
    int32_t status = serving_exchanges_open(&openai->exchanges, &openai->serving, &protocol, openai);
    if (status != TN_OK) deinit(self);
    return status;
}

TN_LIFECYCLE(init, NULL, deinit)
