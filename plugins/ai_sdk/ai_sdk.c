/*
 * ai_sdk.c - the plugin `tenon.ai_sdk`: graphs for `useChat` of the AI SDK, as UI message streams. README.md describes
 * the protocol.
 */
#include "exchange.h"
#include "request.h"

TN_PLUGIN("tenon.ai_sdk", "0.1.0", "Graphs for the chat pages of the AI SDK")

/* The state of the plugin, which the host initialises once in a process. */
static struct {
    struct serving serving;
    struct legs *legs;
    struct exchanges *exchanges;
} ai_sdk;

/* The text of a refusal is what the client shows. */
static void refuse(uint64_t request, tn_value value) {
    answer_text(&ai_sdk.serving, request, (int32_t)tn_get_int(value, "status", 500),
                tn_get_text(value, "message", "The request was refused."));
}

static void dispatch(uint64_t request, int32_t event, tn_value value,
                     void (*on_request)(struct exchanges *exchanges, uint64_t request, tn_value value)) {
    switch (event) {
    case TN_SERVER_REQUEST: on_request(ai_sdk.exchanges, request, value); break;
    case TN_SERVER_ROOM: legs_on_room(ai_sdk.legs, request); break;
    case TN_SERVER_CLOSED:
        exchanges_on_closed(ai_sdk.exchanges, request);
        legs_on_closed(ai_sdk.legs, request);
        break;
    case TN_SERVER_REFUSED: refuse(request, value); break;
    default: break; /* DRAIN: the run ends soon, and its stream with it */
    }
}

static void TN_ABI on_post(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user;
    dispatch(request, event, value, exchange_post);
}

static void TN_ABI on_get(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user;
    dispatch(request, event, value, exchange_resume);
}

static void TN_ABI on_messages(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user;
    dispatch(request, event, value, exchange_history);
}

static void TN_ABI on_delete(void *user, uint64_t request, int32_t event, tn_value value) {
    (void)user;
    dispatch(request, event, value, exchange_cancel);
}

static int32_t add_routes(void) {
    static const struct {
        const char *method, *path, *scope;
        tn_server_handler handler;
        const char *more;
    } rows[] = {
        {"POST", "", "run", on_post,
         "\"summary\": \"Answers a chat of the AI SDK as a UI message stream\", "
         "\"body\": {\"max\": 33554432, \"types\": [\"application/json\"]}"},
        {"GET", "/{chatId}/stream", "read", on_get, "\"summary\": \"Sends the active answer of a chat again\""},
        {"GET", "/{chatId}/messages", "read", on_messages, "\"summary\": \"Lists the messages of a chat\""},
        {"DELETE", "/{chatId}/stream", "run", on_delete, "\"summary\": \"Cancels the active answer of a chat\""}};
    static const char *const bases[] = {"/api/chat", "/api/chat/stream"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t k = 0; k < sizeof bases / sizeof *bases; k++) {
            char path[64], more[256];
            (void)snprintf(path, sizeof path, "%s%s", bases[k], rows[i].path);
            (void)snprintf(more, sizeof more, "{\"refusals\": true, %s}", rows[i].more);
            int32_t status =
                serving_route(&ai_sdk.serving, rows[i].method, path, rows[i].scope, more, rows[i].handler, NULL);
            if (status != TN_OK) return status;
        }
    }
    return TN_OK;
}

static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    if (!serving_open(&ai_sdk.serving)) return TN_OK; /* the host serves nothing */
    ai_sdk.legs = legs_new(&ai_sdk.serving);
    ai_sdk.exchanges = exchanges_new(&ai_sdk.serving, ai_sdk.legs);
    if (ai_sdk.legs == NULL || ai_sdk.exchanges == NULL) return TN_NO_MEMORY;
    int32_t status = add_routes();
    return status == TN_UNSUPPORTED ? TN_OK : status;
}

static void TN_ABI deinit(void *self) {
    (void)self;
    exchanges_free(ai_sdk.exchanges);
    legs_free(ai_sdk.legs);
    ai_sdk.exchanges = NULL;
    ai_sdk.legs = NULL;
}

TN_LIFECYCLE(init, NULL, deinit)
