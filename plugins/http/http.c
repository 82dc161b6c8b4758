/*
 * http.c - the HTTP client: its entry, its settings and its interfaces.
 *
 * The manifest http.json documents the settings, tenon/http.h the requests. The host checks requests before they arrive
 * here: a plugin's effects are verified and secrets are replaced by their values. exchange.c has the life of an
 * exchange, delivery.c the delivery of its events, transfer.c and driver.c use libcurl.
 */
#include "driver.h"
#include "exchange.h"
#include "queue.h"
#include "transfer.h"
#include <tenon/http_client.h>

struct settings settings;
const tn_poll_1 *http_poll;

/* The host has checked `section` against the schema in http.json, which has the ranges. */
static void http_read_settings(tn_value section) {
    int32_t http2 = 1;
    settings.section = tn_retain(section);
    settings.proxy = tn_get_text(section, "proxy", NULL);
    settings.no_proxy = tn_get_text(section, "no_proxy", NULL);
    settings.ca_bundle = tn_get_text(section, "ca_bundle", NULL);
    settings.user_agent = tn_get_text(section, "user_agent", "tenon/" TENON_VERSION);
    settings.per_origin = (uint32_t)tn_get_int(section, "per_origin", 1024);
    settings.connections = (uint32_t)tn_get_int(section, "connections", 16384);
    (void)tn.value->as_bool(tn_get(section, "http2"), &http2);
    settings.http2 = http2 != 0;
    queue_set_limits(settings.per_origin, settings.connections);
}

static int32_t http_init(void *self, tn_value config) {
    (void)self;
    http_poll = tn_easy_interface(tn.host, TN_POLL_1, sizeof *http_poll);
    if (http_poll == NULL) return TN_UNSUPPORTED;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return TN_ERROR;
    if ((curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_ASYNCHDNS) == 0)
        tn_log(TN_LOG_WARN, "this libcurl blocks while it resolves names; use a build with an asynchronous resolver");
    http_read_settings(config);
    if (driver_open(exchanges_advance)) return TN_OK;
    tn_release(settings.section);
    curl_global_cleanup();
    return TN_NO_MEMORY;
}

static void http_deinit(void *self) {
    (void)self;
    /* The driver must not have any transfers left when it is closed. */
    exchanges_close();
    transfers_close();
    driver_close();
    tn_release(settings.section);
    curl_global_cleanup();
}

static int32_t interface_http_send(void *self, tn_value request, tn_http_handler handler, void *user,
                                   uint64_t *handle) {
    (void)self;
    return exchange_send(request, handler, user, handle);
}

static int32_t interface_http_pause(void *self, uint64_t handle) {
    (void)self;
    return exchange_pause(handle);
}

static int32_t interface_http_resume(void *self, uint64_t handle) {
    (void)self;
    return exchange_resume(handle);
}

static int32_t interface_http_cancel(void *self, uint64_t handle) {
    (void)self;
    return exchange_cancel(handle);
}

static const void *http_get_interface(void *self, const char *id) {
    static const tn_http_client_draft client = {.size = sizeof client,
                                                .send = interface_http_send,
                                                .pause = interface_http_pause,
                                                .resume = interface_http_resume,
                                                .cancel = interface_http_cancel};
    static const tn_lifecycle_1 lifecycle = {.size = sizeof lifecycle, .init = http_init, .deinit = http_deinit};
    (void)self;
    if (strcmp(id, TN_HTTP_CLIENT_DRAFT) == 0) return &client;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {.size = sizeof plugin, .get = http_get_interface};
    tn.host = host;
    tn.value = tn_easy_interface(host, TN_VALUE_1, sizeof(tn_value_1));
    tn.core = tn_easy_interface(host, TN_CORE_1, sizeof(tn_core_1));
    if (tn.core == NULL) return NULL;
    if (tn.value != NULL) return &plugin;
    tn_log(TN_LOG_ERROR, "declined: the host does not offer " TN_VALUE_1);
    return NULL;
}
