/*
 * model.c - runs one task: prepares the input, sends the request, and handles the events of the exchange.
 *
 * A provider may end the call while it handles an event of the exchange. Therefore `busy` counts the functions that use
 * the call, and the call is freed when its task has ended and `busy` is 0. An instance looks up its calls by task in a
 * small hash table, because thousands of streams may be open at the same time.
 */
#include "internal.h"

#define BUCKETS (sizeof(((struct model *)0)->calls) / sizeof(struct model_call *))

static struct model_call **model_call_bucket(struct model *model, tn_task task) {
    return &model->calls[((task ^ (task >> 32)) * 0x9e3779b97f4a7c15u >> 32) % BUCKETS];
}

/* ---- Instances ---- */

static uint64_t url_origin_length(const char *url) {
    const char *host = strstr(url, "://");
    if (host == NULL) return strlen(url);
    return (uint64_t)(host + 3 - url) + strcspn(host + 3, "/?#");
}

static bool url_has_same_origin(const char *a, const char *b) {
    uint64_t length = url_origin_length(a);
    return length == url_origin_length(b) && strncmp(a, b, length) == 0;
}

/* Returns a copy with a NUL for the '?' of its query, and without slashes before it. *query is what follows, or "". */
static char *url_copy_split(const char *url, const char **query) {
    uint64_t size = strlen(url), length = strcspn(url, "?");
    char *copy = model_memory_alloc(size + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, url, size);
    *query = length < size ? copy + length + 1 : copy + size;
    while (length > 0 && url[length - 1] == '/') length--;
    copy[length] = '\0';
    return copy;
}

int32_t model_component_create(const struct model_provider *provider, tn_value config, void **self) {
    const tn_http_1 *http = tn_easy_interface(tn.host, TN_HTTP_1, sizeof(*http));
    const char *base_url = tn_get_text(config, "base_url", provider->base_url);
    if (http == NULL)
        return tn_refuse("UNSUPPORTED", "this host does not provide HTTP to plugins (" TN_HTTP_1
                                        "), which this model needs; use a host with the plugin tenon.http");
    struct model *model = model_memory_alloc(sizeof *model);
    const char *query = "";
    char *url = url_copy_split(base_url, &query);
    if (model == NULL || url == NULL) {
        model_memory_free(model);
        model_memory_free(url);
        return TN_NO_MEMORY;
    }
    model->provider = provider;
    model->config = tn_retain(config);
    model->name = tn_get_text(config, "model", "");
    model->base_url = url;
    model->query = query;
    model->key_header = provider->key_header;
    model->key_prefix = provider->key_prefix;
    model->is_default_host = url_has_same_origin(url, provider->base_url);
    model->http = http;
    int32_t status = provider->create != NULL ? provider->create(model) : TN_OK;
    if (status == TN_OK)
        *self = model;
    else {
        model->provider_data = NULL;
        model_component_destroy(model);
    }
    return status;
}

void model_component_destroy(void *self) {
    struct model *model = self;
    if (model->provider_data != NULL && model->provider->destroy != NULL) model->provider->destroy(model);
    token_source_free(model->tokens);
    tn_release(model->config);
    model_memory_free((void *)(uintptr_t)model->base_url);
    model_memory_free(model);
}

/* ---- Calls ---- */

static void model_call_destroy(struct model_call *call) {
    if (call->provider_data != NULL && call->model->provider->release != NULL) call->model->provider->release(call);
    model_authorize_release(call);
    tn_answer_free(&call->answer);
    tn_tool_names_free(&call->names);
    tn_release(call->embeddings);
    tn_release(call->token);
    tn_release(call->input);
    tn_release(call->messages);
    tn_release(call->options);
    tn_release(call->head);
    model_memory_free(call->provider_data);
    model_memory_free(call);
}

void model_call_enter(struct model_call *call) { call->busy++; }

void model_call_leave(struct model_call *call) {
    if (--call->busy == 0 && call->ended) model_call_destroy(call);
}

void model_call_end(struct model_call *call) {
    if (call->ended) return;
    call->ended = true;
    struct model_call **at = model_call_bucket(call->model, call->task);
    while (*at != NULL && *at != call) at = &(*at)->next;
    if (*at == call) *at = call->next;
    if (call->exchange != 0) (void)call->model->http->cancel(tn.host, call->exchange);
    call->exchange = 0;
    if (call->grace != 0) (void)tn.core->unpost(tn.host, call->grace);
    call->grace = 0;
    model_authorize_cancel(call);
}

static struct model_call *model_call_find(struct model *model, tn_task task) {
    struct model_call *call = *model_call_bucket(model, task);
    while (call != NULL && call->task != task) call = call->next;
    return call;
}

static struct model_call *model_call_new(struct model *model, tn_task task, tn_value input) {
    struct model_call *call = model_memory_alloc(sizeof *call), **bucket = model_call_bucket(model, task);
    if (call == NULL) return NULL;
    call->model = model;
    call->task = task;
    call->input = tn_retain(input);
    call->provider_data = model_memory_alloc(model->provider->call_size + 1);
    tn_answer_init(&call->answer, task, input, model->provider->name);
    call->answer.names = &call->names;
    if (call->provider_data == NULL || !model_names_init(call)) {
        model_call_destroy(call);
        return NULL;
    }
    call->next = *bucket;
    *bucket = call;
    return call;
}

static void model_call_read_messages(struct model_call *call) {
    tn_value given = tn_get(call->input, "messages");
    int32_t kind = tn.value->kind(given);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_ARRAY);
    tn_value one = kind == TN_STRING || kind == TN_OBJECT ? tn_message_normal(given) : NULL;
    if (one != NULL) { /* a text is one user's message; an object is one message */
        if (!tn_message_is(one, "error")) tn_put(builder, NULL, one);
        tn_release(one);
    } else if (kind != TN_ARRAY)
        model_fail_request(call, "`messages` is %s; expected an array of messages, one message or a text",
                           tn_kind_name(given));
    for (uint64_t i = 0, count = kind == TN_ARRAY ? tn.value->count(given) : 0; i < count && !call->ended; i++) {
        tn_value message = tn_message_normal(tn.value->at(given, i));
        if (message == NULL)
            model_fail_request(
                call,
                "messages[%llu] is not a message: expected {type: system, developer, user, ai, tool or error, "
                "content: a text or parts}, or a text",
                (unsigned long long)i);
        else if (!tn_message_is(message, "error"))
            tn_put(builder, NULL, message);
        tn_release(message);
    }
    tn.value->end(builder);
    call->messages = tn_finish(builder);
}

static const char *const option_names[] = {"temperature", "top_p",       "max_tokens",          "stop",
                                           "seed",        "tool_choice", "parallel_tool_calls", "reasoning",
                                           "modalities",  "speech",      "dimensions",          "purpose"};

/* Returns the members of both objects; those of `overrides` take precedence. A new reference. */
static tn_value object_merge_members(tn_value base, tn_value overrides) {
    tn_value result = tn.value->kind(base) == TN_OBJECT ? tn_retain(base) : tn_build("{}");
    for (uint64_t i = 0, count = tn.value->count(overrides); i < count; i++) {
        tn_value key, value;
        uint64_t length;
        if (tn.value->entry(overrides, i, &key, &value) != TN_OK) break;
        const char *name = tn_chars(key, &length);
        if (tn.value->set(&result, name, length, value) == TN_OK) continue;
        tn_release(result);
        return NULL;
    }
    return result;
}

static void model_call_read_options(struct model_call *call) {
    tn_value given = tn_get(call->input, "options"), config = call->model->config;
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    for (size_t i = 0; i < sizeof(option_names) / sizeof(option_names[0]); i++) {
        tn_value value = tn_get(given, option_names[i]);
        if (value == NULL) value = tn_get(config, option_names[i]);
        if (tn.value->kind(value) > TN_NULL) tn_put(builder, option_names[i], value);
    }
    tn_put_take(builder, "extra", object_merge_members(tn_get(config, "extra"), tn_get(given, "extra")));
    tn.value->end(builder);
    call->options = tn_finish(builder);
}

static void model_call_read_tools(struct model_call *call) {
    tn_value tools = tn_get(call->input, "tools");
    uint64_t count = tn.value->kind(tools) == TN_ARRAY ? tn.value->count(tools) : 0;
    if (count > MODEL_TOOLS_MAX)
        model_fail_request(call, "found %llu tools; a request may have at most %d: offer fewer tools",
                           (unsigned long long)count, MODEL_TOOLS_MAX);
    for (uint64_t i = 0; i < count && !call->ended; i++)
        if (tn_get_text(tn.value->at(tools, i), "name", "")[0] == '\0')
            model_fail_request(call, "tools[%llu] has no name: expected {name, description?, input_schema}",
                               (unsigned long long)i);
    call->tools = count > 0 ? tools : NULL;
}

/* Returns false if the task has failed. */
static bool model_call_prepare(struct model_call *call) {
    call->embed = tn_get(call->input, "embed");
    if (tn.value->kind(call->embed) <= TN_NULL) call->embed = NULL;
    tn_value schema = tn_get(call->input, "response_schema");
    call->schema = tn.value->kind(schema) > TN_NULL ? schema : NULL;
    model_call_read_options(call);
    if (call->embed == NULL) {
        model_call_read_messages(call);
        if (!call->ended) model_call_read_tools(call);
    } else if (!call->model->provider->has_embeddings)
        model_fail(call, "UNSUPPORTED", "%s does not support embeddings: use a model that does",
                   call->model->provider->name);
    else if (tn.value->kind(call->embed) != TN_ARRAY || tn.value->count(call->embed) == 0)
        model_fail_request(call, "`embed` is %s; expected a non-empty array of texts", tn_kind_name(call->embed));
    return !call->ended;
}

int32_t model_component_start(void *self, tn_task task, tn_value input) {
    struct model_call *call = model_call_new(self, task, input);
    if (call == NULL) return TN_NO_MEMORY;
    model_call_enter(call);
    if (model_call_prepare(call)) call->model->provider->start(call);
    model_call_leave(call);
    return TN_OK;
}

void model_component_cancel(void *self, tn_task task) {
    struct model_call *call = model_call_find(self, task);
    if (call == NULL) return;
    model_call_enter(call);
    model_fail(call, "CANCELLED", "cancelled");
    model_call_leave(call);
}

void model_component_ready(void *self, tn_task task) {
    struct model_call *call = model_call_find(self, task);
    if (call == NULL) return;
    model_call_enter(call);
    if (model_answer_flush(call) && !call->ended && !call->answer.is_ended && call->exchange != 0)
        (void)call->model->http->resume(tn.host, call->exchange);
    model_call_leave(call);
}

/* ---- The exchange ---- */

static void model_on_event(struct model_call *call, tn_value event) {
    uint64_t length = 0;
    const char *data = tn_chars(tn_get(event, "data"), &length), *name = tn_get_text(event, "event", "");
    const struct model_provider *provider = call->model->provider;
    tn_value json = NULL;
    if (data == NULL || length == 0) return; /* a keep-alive event */
    call->received_event = true;
    if (strcmp(data, "[DONE]") == 0)
        provider->event(call, name, NULL);
    else if ((json = tn_from_json(data, length)) != NULL)
        provider->event(call, name, json);
    else
        model_fail_event(call, data, length);
    tn_release(json);
}

static void model_on_bytes(struct model_call *call, tn_value bytes) {
    uint64_t length = 0;
    const void *data = tn.value->as_bytes(bytes, &length);
    if (data == NULL || length == 0) return;
    call->received_event = true;
    if (call->head_not_events)
        model_fail_response(
            call,
            "`%s` instead of a stream of events; if the service cannot stream, set `stream: false`; if it "
            "is another service, check `base_url`",
            tn_get_text(tn_get(call->head, "headers"), "content-type", "nothing"));
    else
        call->model->provider->data(call, data, length);
}

/* Returns the body as JSON, a new reference. NULL if it is not JSON. */
static tn_value model_parse_body(tn_value end, uint64_t *length) {
    tn_value body = tn_get(end, "body");
    const char *text = tn.value->as_bytes(body, length);
    if (text == NULL) text = tn_chars(body, length);
    return text != NULL ? tn_from_json(text, *length) : NULL;
}

static void model_on_whole_body(struct model_call *call, tn_value end) {
    uint64_t length = 0;
    tn_value json = model_parse_body(end, &length);
    if (json != NULL)
        call->model->provider->answer(call, json);
    else
        model_fail_unexpected_body(call, end, "check `base_url`, or try again");
    tn_release(json);
}

/* A stream was requested, but the service sent an answer in one piece, or an error with status 200. Both are read. */
static void model_on_body_instead_of_stream(struct model_call *call, tn_value end) {
    uint64_t length = 0;
    tn_value json = model_parse_body(end, &length);
    call->whole = tn.value->kind(json) == TN_OBJECT || tn.value->kind(json) == TN_ARRAY;
    if (call->whole) call->model->provider->answer(call, json);
    tn_release(json);
}

static bool model_retry_request(struct model_call *call, int64_t status, const char *code) {
    bool allowed = !call->ended && !call->received_event && (status != 0 || call->status == 0);
    if (allowed && status == 401 && model_authorize_again(call)) return true;
    return allowed && call->model->provider->retry != NULL && call->model->provider->retry(call, status, code);
}

static void model_on_end(struct model_call *call, tn_value end) {
    int64_t status = tn_get_int(end, "status", call->status);
    call->status = status;
    if (call->head == NULL) call->head = tn_retain(end);
    if (status < 200 || status > 299) {
        if (model_retry_request(call, status, "")) return;
        model_fail_http_status(call, end);
        return;
    }
    if (call->whole)
        model_on_whole_body(call, end);
    else if (!call->received_event && call->head_not_events)
        model_on_body_instead_of_stream(call, end);
    if (call->ended || call->exchange != 0 || call->waits) return; /* the provider sends another request */
    if (model_is_finished(call))
        model_answer_end(call);
    else if (call->whole)
        model_fail_response(call, "an answer without a finish reason");
    else if (!call->received_event && call->head_not_events)
        model_fail_unexpected_body(call, end,
                                   "if the service cannot stream, set `stream: false`; if it is another service, check "
                                   "`base_url`; or try again");
    else
        model_fail_response(call, "a stream that stopped before its end");
}

static void model_on_http(void *user, int32_t event, tn_value value) {
    struct model_call *call = user;
    model_call_enter(call);
    if (event == TN_HTTP_HEAD) {
        tn_release(call->head);
        call->head = tn_retain(value);
        call->status = tn_get_int(value, "status", 0);
        const char *stream = call->model->provider->data != NULL ? call->model->provider->stream_type : "event-stream";
        call->head_not_events = strstr(tn_get_text(tn_get(value, "headers"), "content-type", ""), stream) == NULL;
    } else if (event == TN_HTTP_DATA && call->model->provider->data != NULL)
        model_on_bytes(call, value);
    else if (event == TN_HTTP_DATA)
        model_on_event(call, value);
    else {
        call->exchange = 0; /* the exchange has ended; do not cancel it */
        if (event == TN_HTTP_END)
            model_on_end(call, value);
        else if (model_is_finished(call) && !call->whole)
            model_answer_end(call); /* the connection was lost after the complete answer */
        else if (!model_retry_request(call, 0, tn_get_text(value, "code", "")))
            model_fail_exchange(call, value);
    }
    model_call_leave(call);
}

/* The service did not close the stream after its end: completes the answer with what was received. */
static void model_on_grace_timer(void *argument) {
    struct model_call *call = argument;
    model_call_enter(call);
    call->grace = 0;
    if (call->exchange != 0) (void)call->model->http->cancel(tn.host, call->exchange);
    call->exchange = 0;
    model_answer_end(call);
    model_call_leave(call);
}

void model_end_stream(struct model_call *call) {
    if (call->ended || call->exchange == 0 || call->grace != 0 || !model_is_finished(call)) return;
    call->grace = tn_post(MODEL_GRACE_MS, model_on_grace_timer, call);
}

/* ---- Requests ---- */

/*
 * The W3C trace context of the run's metadata, for the service of the model only: a request to a complete address can
 * be for another one.
 */
static void model_request_put_trace(struct model_call *call, tn_builder *builder, const struct model_request *request) {
    static const char *const names[] = {"traceparent", "tracestate"};
    tn_value context = tn_context(call->task), metadata = tn_get(context, "metadata");
    tn_value configured = model_get_config(call, "headers");
    bool elsewhere = strncmp(request->path, "http://", 7) == 0 || strncmp(request->path, "https://", 8) == 0;
    for (size_t i = 0; i < 2 && !elsewhere; i++) {
        uint64_t length = 0;
        const char *text = tn_chars(tn_get(metadata, names[i]), &length);
        bool fits = text != NULL && (i == 0 ? length == 55 : length > 0 && length <= 512);
        for (uint64_t at = 0; fits && at < length; at++) fits = text[at] >= ' ' && text[at] <= '~';
        if (!fits) break; /* without a traceparent, there is no tracestate */
        if (tn_get(configured, names[i]) == NULL && tn_get(request->headers, names[i]) == NULL)
            tn_put(builder, names[i], tn_get(metadata, names[i]));
    }
    tn_release(context);
}

static void model_request_put_headers(struct model_call *call, tn_builder *builder,
                                      const struct model_request *request) {
    const struct model_provider *provider = call->model->provider;
    tn_value configured = model_get_config(call, "headers"), key = model_get_config(call, "api_key");
    tn_put_begin(builder, "headers", TN_OBJECT);
    for (uint64_t i = 0; i < tn.value->count(request->headers); i++) {
        tn_value name, value;
        if (tn.value->entry(request->headers, i, &name, &value) != TN_OK) break;
        if (tn_get_key(configured, name) == NULL) tn_put_key(builder, name, value);
    }
    model_request_put_trace(call, builder, request);
    bool default_key = key == NULL && provider->secret != NULL && call->model->is_default_host;
    if (!request->keyless && (key != NULL || default_key) && tn_get(configured, call->model->key_header) == NULL) {
        tn_put_begin(builder, call->model->key_header, TN_ARRAY);
        if (call->model->key_prefix[0] != '\0') tn_put_text(builder, NULL, call->model->key_prefix);
        if (key != NULL)
            tn_put(builder, NULL, key);
        else {
            tn_put_begin(builder, NULL, TN_OBJECT);
            tn_put_text(builder, "secret", provider->secret);
            tn.value->end(builder);
        }
        tn.value->end(builder);
    }
    for (uint64_t i = 0; i < tn.value->count(configured); i++) {
        tn_value name, value;
        if (tn.value->entry(configured, i, &name, &value) != TN_OK) break;
        tn_put_key(builder, name, value);
    }
    tn.value->end(builder);
}

static void model_request_put_url(const struct model_call *call, tn_builder *builder, const char *path) {
    bool complete = strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0;
    const char *base = complete ? "" : call->model->base_url, *query = complete ? "" : call->model->query;
    const char *mark = query[0] == '\0' ? "" : strchr(path, '?') != NULL ? "&" : "?";
    uint64_t length = strlen(base) + strlen(path) + strlen(mark) + strlen(query);
    char *url = model_memory_alloc(length + 1);
    if (url != NULL) (void)snprintf(url, length + 1, "%s%s%s%s", base, path, mark, query);
    tn_put_take(builder, "url", url != NULL ? tn_text_n(url, length) : NULL);
    model_memory_free(url);
}

/* The request of tenon/http.h; a new reference, or NULL. */
static tn_value model_build_request(struct model_call *call, const struct model_request *request) {
    static const char *const timeouts[][2] = {{"connect", "connect_ms"}, {"idle", "idle_ms"}, {"total", "total_ms"}};
    tn_value timeout = model_get_config(call, "timeout_ms");
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    model_request_put_url(call, builder, request->path);
    tn_put_text(builder, "method", request->method != NULL ? request->method : "POST");
    if (request->query != NULL) tn_put(builder, "query", request->query);
    model_request_put_headers(call, builder, request);
    if (request->body != NULL)
        tn_put_take(builder, "json",
                    object_merge_members(request->body, request->merged ? NULL : model_get_option(call, "extra")));
    tn_put_text(builder, "receive",
                request->whole                        ? "whole"
                : call->model->provider->data != NULL ? "bytes"
                                                      : "events");
    if (request->sign != NULL) tn_put(builder, "sign", request->sign);
    tn_put_begin(builder, "timeout", TN_OBJECT);
    for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
        int64_t ms = tn_get_int(timeout, timeouts[i][0], i == 1 ? MODEL_IDLE_MS : 0);
        if (ms > 0) tn_put_int(builder, timeouts[i][1], ms);
    }
    tn.value->end(builder);
    tn.value->end(builder);
    return tn_finish(builder);
}

void model_send_message_take(struct model_call *call, tn_value message) {
    int32_t status =
        message != NULL ? call->model->http->send(tn.host, message, model_on_http, call, &call->exchange) : TN_INVALID;
    tn_release(message);
    if (status != TN_OK)
        model_fail(call, status == TN_UNSUPPORTED ? "UNSUPPORTED" : "INVALID_REQUEST",
                   "cannot send the request to %s (status %d); check that all values can be represented in JSON and "
                   "that the host provides HTTP",
                   call->model->provider->name, (int)status);
}

void model_send(struct model_call *call, const struct model_request *request) {
    if (call->ended) return;
    model_call_enter(call);
    call->whole = request->whole;
    call->waits = false;
    call->status = 0;
    tn_value message = model_build_request(call, request);
    if (message != NULL && call->model->tokens != NULL && !request->keyless)
        model_authorize_take(call, message);
    else
        model_send_message_take(call, message);
    model_call_leave(call);
}

static void model_ignore_http(void *user, int32_t event, tn_value value) { (void)user, (void)event, (void)value; }

void model_send_detached(struct model_call *call, const struct model_request *request) {
    uint64_t exchange = 0;
    tn_value message = model_build_request(call, request);
    if (message != NULL) (void)call->model->http->send(tn.host, message, model_ignore_http, NULL, &exchange);
    tn_release(message);
}

/* ---- Values for providers ---- */

static tn_value value_or_null(tn_value value) { return tn.value->kind(value) > TN_NULL ? value : NULL; }

tn_value model_get_option(const struct model_call *call, const char *name) {
    return value_or_null(tn_get(call->options, name));
}

void model_put_option(const struct model_call *call, tn_builder *builder, const char *name, const char *as) {
    tn_value value = model_get_option(call, name);
    if (value != NULL) tn_put(builder, as, value);
}

tn_value model_get_config(const struct model_call *call, const char *name) {
    return value_or_null(tn_get(call->model->config, name));
}

bool model_is_streaming(const struct model_call *call) {
    int32_t truth = 1;
    (void)tn.value->as_bool(model_get_config(call, "stream"), &truth);
    return truth != 0;
}

tn_value model_get_extra(const struct model_call *call, tn_value holder) {
    return value_or_null(tn_get(tn_get(holder, "extra"), call->model->provider->name));
}

/* ---- Shared helpers ---- */

void *model_memory_alloc(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

void model_memory_free(void *memory) { tn.core->release(tn.host, memory); }
