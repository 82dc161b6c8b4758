/*
 * ai_sdk.c - the plugin `tenon.ai_sdk`: graphs for `useChat` of the AI SDK, as UI message streams. README.md describes
 * the protocol.
 */
#include "exchange.h"

TN_PLUGIN("tenon.ai_sdk", "0.1.0", "Graphs for the chat pages of the AI SDK")

/* The state of the plugin, which the host initialises once in a process. */
static struct ai_sdk ai_sdk;

static int32_t TN_ABI init(void *self, tn_value config) {
    (void)self, (void)config;
    if (!serving_open(&ai_sdk.serving)) return TN_OK; /* the host serves nothing */
    ai_sdk.legs = legs_new(&ai_sdk.serving);
    if (ai_sdk.legs == NULL) return TN_NO_MEMORY;
    return serving_exchanges_open(&ai_sdk.exchanges, &ai_sdk.serving, &ai_sdk_protocol, &ai_sdk);
}

static void TN_ABI deinit(void *self) {
    (void)self;
    serving_exchanges_close(&ai_sdk.exchanges);
    legs_free(ai_sdk.legs);
    ai_sdk.legs = NULL;
}

TN_LIFECYCLE(init, NULL, deinit)
