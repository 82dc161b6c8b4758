/*
 * serving_exchange.c - the requests of a plugin that are open, by their number, and its routes.
 */
#include "serving.h"

/* A row that was registered: what the handler of its route gets. */
struct serving_binding {
    struct serving_exchanges *exchanges;
    const struct serving_row *row;
};

/* `struct exchange` begins with its members. */
static struct exchange *whole(struct serving_exchange *exchange) { return (struct exchange *)(void *)exchange; }

static struct serving_exchange **exchange_at(struct serving_exchanges *exchanges, uint64_t number) {
    struct serving_exchange **at = &exchanges->slots[number % SERVING_SLOTS];
    while (*at != NULL && (*at)->number != number) at = &(*at)->next;
    return at;
}

static void exchange_begin(struct serving_exchange **at, const struct serving_binding *binding, uint64_t number,
                           tn_value request) {
    struct serving_exchanges *exchanges = binding->exchanges;
    struct serving_exchange *exchange = serving_alloc(exchanges->protocol->size);
    if (exchange == NULL) {
        (void)exchanges->serving->server->abort(tn.host, number);
        return;
    }
    exchange->number = number;
    exchange->caller = serving_caller(request);
    exchange->request = tn_retain(request);
    exchange->owner = tn_get_text(tn_get(request, "caller"), "owner", "");
    *at = exchange;
    exchanges->open++;
    exchanges->protocol->begin(exchanges->plugin, whole(exchange), binding->row);
}

static void exchange_end(struct serving_exchanges *exchanges, struct serving_exchange **at, tn_value value) {
    struct serving_exchange *exchange = *at;
    *at = exchange->next;
    exchanges->open--;
    exchanges->protocol->event(whole(exchange), TN_SERVER_CLOSED, value);
    tn_release(exchange->request);
    serving_free(exchange);
}

static void TN_ABI on_request(void *user, uint64_t number, int32_t event, tn_value value) {
    const struct serving_binding *binding = user;
    struct serving_exchanges *exchanges = binding->exchanges;
    if (event == TN_SERVER_REFUSED) {
        serving_respond_take(exchanges->serving, number, exchanges->protocol->refusal(binding->row, value));
        return;
    }
    struct serving_exchange **at = exchange_at(exchanges, number);
    if (*at == NULL && event == TN_SERVER_REQUEST)
        exchange_begin(at, binding, number, value);
    else if (*at != NULL && event == TN_SERVER_CLOSED)
        exchange_end(exchanges, at, value);
    else if (*at != NULL)
        exchanges->protocol->event(whole(*at), event, value);
}

int32_t serving_exchanges_open(struct serving_exchanges *exchanges, const struct serving *serving,
                               const struct serving_protocol *protocol, void *plugin) {
    struct serving_binding *bindings = serving_alloc(protocol->count * sizeof *bindings);
    *exchanges =
        (struct serving_exchanges){.serving = serving, .protocol = protocol, .plugin = plugin, .bindings = bindings};
    if (bindings == NULL) return TN_NO_MEMORY;
    for (size_t i = 0; i < protocol->count; i++) {
        const struct serving_row *row = &protocol->rows[i];
        bindings[i] = (struct serving_binding){exchanges, row};
        int32_t status =
            serving_route(serving, row->method, row->path, row->scope, row->more, on_request, &bindings[i]);
        if (status == TN_UNSUPPORTED) break; /* the host serves nothing */
    }
    return TN_OK;
}

void serving_exchanges_close(struct serving_exchanges *exchanges) {
    for (size_t i = 0; i < SERVING_SLOTS; i++)
        while (exchanges->slots[i] != NULL) exchange_end(exchanges, &exchanges->slots[i], NULL);
    serving_free(exchanges->bindings);
    exchanges->bindings = NULL;
}

void serving_respond_take(const struct serving *serving, uint64_t number, tn_value response) {
    if (response != NULL)
        (void)serving->server->respond(tn.host, number, response);
    else
        (void)serving->server->abort(tn.host, number);
    tn_release(response);
}
