/*
 * source.c - the plugin acme.tools: it connects to the service, and connects again when the stream ends.
 *
 * While the first list of tools is not complete, the plugin expects more (registry->expect), so that a document which
 * names a tool of the service waits for it. It stops expecting when the list is complete or the service has failed.
 */
#include "source.h"

TN_PLUGIN("acme.tools", "1.0.0", "Tools of a service")

#define RECONNECT_FIRST_MS 200
#define RECONNECT_MAX_MS   30000

struct source source;

static uint64_t stream;       /* the exchange; 0: not connected */
static uint64_t timer;        /* the posted source_connect; 0: none */
static uint64_t reconnect_ms; /* the next pause */
static bool is_expecting;

static void source_set_expecting(bool more) {
    if (is_expecting == more) return;
    is_expecting = more;
    (void)source.registry->expect(tn.host, more);
}

tn_value source_request(const char *path, const char *receive, tn_value body, tn_value idempotency_key) {
    tn_value key = tn_get(source.config, "api_key");
    struct tn_text_buffer url = TN_TEXT_BUFFER(4096);
    tn_text_append_format(&url, "%s%s", source.url, path);
    /* The host inserts the text of the secret: this plugin never has it. */
    return tn_build("{s:V, s:{s:V*, s:v*}, s:v*, s:s}", "url", tn_text_finish(&url), "headers", "authorization",
                    key != NULL ? tn_build("[s, v]", "Bearer ", key) : NULL, "idempotency-key", idempotency_key, "json",
                    body, "receive", receive);
}

static void source_connect(void *argument);

/* `reason` is the error of the exchange, or NULL if the service has closed the stream. */
static void source_disconnected(tn_value reason, int64_t status) {
    struct tn_text_buffer line = TN_TEXT_BUFFER(1000);
    stream = 0;
    if (reason != NULL)
        tn_text_append_format(&line, "%s: %s", source.name, tn_get_text(reason, "message", "cannot be reached"));
    else
        tn_text_append_format(&line, "%s: the service closed its list of tools (status %lld)", source.name,
                              (long long)status);
    tn_log(TN_LOG_WARN, tn_text_chars(&line));
    tn_text_free(&line);
    source_set_expecting(false);
    timer = tn_post(reconnect_ms, source_connect, NULL);
    reconnect_ms = reconnect_ms * 2 < RECONNECT_MAX_MS ? reconnect_ms * 2 : RECONNECT_MAX_MS;
}

static void source_read_event(tn_value event) {
    const char *type = tn_get_text(event, "event", "");
    uint64_t length = 0;
    const char *data = tn_chars(tn_get(event, "data"), &length);
    tn_value json = data != NULL ? tn_from_json(data, length) : NULL;
    if (strcmp(type, "add") == 0)
        tools_add(json);
    else if (strcmp(type, "remove") == 0)
        tools_remove(tn_get(json, "name"));
    else if (strcmp(type, "complete") == 0) {
        tools_end_list();
        source_set_expecting(false);
        reconnect_ms = RECONNECT_FIRST_MS;
    } /* other events may be added to the protocol */
    tn_release(json);
}

static void TN_ABI on_stream(void *user, int32_t event, tn_value value) {
    (void)user;
    if (event == TN_HTTP_DATA)
        source_read_event(value);
    else if (event == TN_HTTP_END)
        source_disconnected(NULL, tn_get_int(value, "status", 0));
    else if (event == TN_HTTP_FAILED)
        source_disconnected(value, 0);
}

static void TN_ABI source_connect(void *argument) {
    tn_value request = source_request("/tools", "events", NULL, NULL);
    (void)argument;
    timer = 0;
    tools_begin();
    if (source.http->send(tn.host, request, on_stream, NULL, &stream) != TN_OK) source_set_expecting(false);
    tn_release(request);
}

/* ---- The plugin ---- */

static int32_t TN_ABI source_init(void *self, tn_value config) {
    (void)self;
    source.http = tn_easy_interface(tn.host, TN_HTTP_1, sizeof *source.http);
    source.registry = tn_easy_interface(tn.host, TN_REGISTRY_1, sizeof *source.registry);
    if (source.http == NULL || source.registry == NULL)
        return tn_refuse("UNSUPPORTED", "this host does not offer " TN_HTTP_1 " and " TN_REGISTRY_1);
    source.config = tn_retain(config);
    source.url = tn_get_text(config, "url", NULL);
    source.name = tn_get_text(config, "name", "service");
    if (source.url == NULL) return TN_OK;
    reconnect_ms = RECONNECT_FIRST_MS;
    source_set_expecting(true);
    source_connect(NULL);
    return TN_OK;
}

static void TN_ABI source_quiesce(void *self) {
    (void)self;
    if (stream != 0) (void)source.http->cancel(tn.host, stream);
    if (timer != 0) (void)tn.core->unpost(tn.host, timer);
    stream = timer = 0;
    source_set_expecting(false);
}

static void TN_ABI source_deinit(void *self) {
    (void)self;
    tools_free();
    tn_release(source.config);
    source = (struct source){0};
}

TN_LIFECYCLE(source_init, source_quiesce, source_deinit)
