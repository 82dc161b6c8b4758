/*
 * model.c - the life of one task: its input made ready, its request sent, its exchange followed to the end.
 *
 * A call is freed when its task has ended and nobody is inside it any more: `busy` counts who is, as a provider may end
 * the call in the middle of an event that the exchange gave. An instance finds its calls by their tasks, in a small
 * hash table: thousands of streams may be open at once.
 */
#include "inside.h"

#define BUCKETS (sizeof(((struct model *)0)->calls) / sizeof(struct model_call *))

static struct model_call **bucket_of(struct model *model, tn_task task) {
    return &model->calls[((task ^ (task >> 32)) * 0x9e3779b97f4a7c15u >> 32) % BUCKETS];
}

/* ---- Instances ---- */

static uint64_t origin_length(const char *url) {
    const char *host = strstr(url, "://");
    if (host == NULL) return strlen(url);
    return (uint64_t)(host + 3 - url) + strcspn(host + 3, "/?#");
}

static bool same_origin(const char *a, const char *b) {
    uint64_t length = origin_length(a);
    return length == origin_length(b) && strncmp(a, b, length) == 0;
}

static char *copy_url(const char *url) {
    uint64_t length = strlen(url);
    while (length > 0 && url[length - 1] == '/') length--;
    char *copy = inside_alloc(length + 1);
    if (copy != NULL) (void)snprintf(copy, length + 1, "%s", url); /* without what was taken off its end */
    return copy;
}

int32_t model_create(const struct model_provider *provider, tn_value config, tn_binder *binder, void **self) {
    const tn_http_draft *http = tn_easy_interface(tn.host, TN_HTTP_DRAFT, sizeof(*http));
    const char *base_url = tn_get_text(config, "base_url", provider->base_url);
    if (http == NULL)
        return tn.task->refuse(binder, "UNSUPPORTED",
                               "this host has no HTTP for plugins (" TN_HTTP_DRAFT
                               "), which this model needs: use a host that offers it, with the plugin tenon.http");
    struct model *model = inside_alloc(sizeof *model);
    char *url = copy_url(base_url);
    if (model == NULL || url == NULL) {
        inside_free(model);
        inside_free(url);
        return TN_NO_MEMORY;
    }
    model->provider = provider;
    model->config = tn_retain(config);
    model->name = tn_get_text(config, "model", "");
    model->base_url = url;
    model->own_host = same_origin(url, provider->base_url);
    model->http = http;
    int32_t status = provider->create != NULL ? provider->create(model, binder) : TN_OK;
    if (status == TN_OK)
        *self = model;
    else {
        model->own = NULL;
        model_destroy(model);
    }
    return status;
}

void model_destroy(void *self) {
    struct model *model = self;
    if (model->own != NULL && model->provider->destroy != NULL) model->provider->destroy(model);
    tn_release(model->config);
    inside_free((void *)(uintptr_t)model->base_url);
    inside_free(model);
}

/* ---- Calls ---- */

static void call_free(struct model_call *call) {
    if (call->own != NULL && call->model->provider->release != NULL) call->model->provider->release(call);
    inside_answer_free(call->answer);
    inside_names_free(call->names);
    tn_release(call->input);
    tn_release(call->messages);
    tn_release(call->options);
    tn_release(call->head);
    inside_free(call->own);
    inside_free(call);
}

void inside_enter(struct model_call *call) { call->busy++; }

void inside_leave(struct model_call *call) {
    if (--call->busy == 0 && call->over) call_free(call);
}

void inside_over(struct model_call *call) {
    if (call->over) return;
    call->over = true;
    struct model_call **at = bucket_of(call->model, call->task);
    while (*at != NULL && *at != call) at = &(*at)->next;
    if (*at == call) *at = call->next;
    if (call->exchange != 0) (void)call->model->http->cancel(tn.host, call->exchange);
    call->exchange = 0;
    if (call->grace != 0) (void)tn.core->unpost(tn.host, call->grace);
    call->grace = 0;
}

static struct model_call *call_find(struct model *model, tn_task task) {
    struct model_call *call = *bucket_of(model, task);
    while (call != NULL && call->task != task) call = call->next;
    return call;
}

static struct model_call *call_new(struct model *model, tn_task task, tn_value input) {
    struct model_call *call = inside_alloc(sizeof *call), **bucket = bucket_of(model, task);
    if (call == NULL) return NULL;
    call->model = model;
    call->task = task;
    call->input = tn_retain(input);
    call->own = inside_alloc(model->provider->call_size + 1);
    if (call->own == NULL || !inside_answer_init(call) || !inside_names_init(call)) {
        call_free(call);
        return NULL;
    }
    call->next = *bucket;
    *bucket = call;
    return call;
}

static void call_messages(struct model_call *call) {
    tn_value given = tn.value->get(call->input, "messages");
    int32_t kind = tn.value->kind(given);
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_ARRAY);
    if (kind == TN_STRING) /* a text alone is a user's message */
        tn_put_take(builder, NULL, tn_message_normal(given));
    else if (kind != TN_ARRAY)
        model_refuse(call, "`messages` is %s; expected an array of messages, or a text", tn_kind_name(given));
    for (uint64_t i = 0, count = kind == TN_ARRAY ? tn.value->count(given) : 0; i < count && !call->over; i++) {
        tn_value message = tn_message_normal(tn.value->at(given, i));
        if (message == NULL)
            model_refuse(call,
                         "messages[%llu] is no message: expected {type: system, developer, user, ai, tool or error, "
                         "content: a text or parts}, or a text",
                         (unsigned long long)i);
        else if (!tn_message_is(message, "error"))
            tn_put(builder, NULL, message);
        tn_release(message);
    }
    tn.value->end(builder);
    call->messages = tn.value->finish(builder);
}

static const char *const option_names[] = {"temperature", "top_p",       "max_tokens",          "stop",
                                           "seed",        "tool_choice", "parallel_tool_calls", "reasoning",
                                           "modalities",  "dimensions"};

/* The members of both objects, `over` winning. A new reference. */
static tn_value merged(tn_value under, tn_value over) {
    tn_value result = tn.value->kind(under) == TN_OBJECT ? tn_retain(under) : inside_object();
    for (uint64_t i = 0, count = tn.value->count(over); i < count; i++) {
        tn_value key, value, next;
        if (tn.value->entry(over, i, &key, &value) != TN_OK) break;
        next = tn.value->set(result, tn_chars(key, NULL), value);
        tn_release(result);
        result = next;
    }
    return result;
}

static void call_options(struct model_call *call) {
    tn_value given = tn.value->get(call->input, "options"), config = call->model->config;
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    for (size_t i = 0; i < sizeof(option_names) / sizeof(option_names[0]); i++) {
        tn_value value = tn.value->get(given, option_names[i]);
        if (value == NULL) value = tn.value->get(config, option_names[i]);
        if (tn.value->kind(value) > TN_NULL) tn_put(builder, option_names[i], value);
    }
    tn_put_take(builder, "extra", merged(tn.value->get(config, "extra"), tn.value->get(given, "extra")));
    tn.value->end(builder);
    call->options = tn.value->finish(builder);
}

static void call_tools(struct model_call *call) {
    tn_value tools = tn.value->get(call->input, "tools");
    uint64_t count = tn.value->kind(tools) == TN_ARRAY ? tn.value->count(tools) : 0;
    if (count > MODEL_TOOLS_MAX)
        model_refuse(call, "there are %llu tools; %d are the most a request may have: offer fewer",
                     (unsigned long long)count, MODEL_TOOLS_MAX);
    for (uint64_t i = 0; i < count && !call->over; i++)
        if (tn_get_text(tn.value->at(tools, i), "name", "")[0] == '\0')
            model_refuse(call, "tools[%llu] has no name: expected {name, description?, input_schema}",
                         (unsigned long long)i);
    call->tools = count > 0 ? tools : NULL;
}

/* False: the task has been failed. */
static bool call_prepare(struct model_call *call) {
    call->embed = tn.value->get(call->input, "embed");
    if (tn.value->kind(call->embed) <= TN_NULL) call->embed = NULL;
    tn_value schema = tn.value->get(call->input, "response_schema");
    call->schema = tn.value->kind(schema) > TN_NULL ? schema : NULL;
    call_options(call);
    if (call->embed == NULL) {
        call_messages(call);
        if (!call->over) call_tools(call);
    } else if (!call->model->provider->embeds)
        model_fail(call, "UNSUPPORTED", "%s makes no embeddings: ask a model that does", call->model->provider->name);
    else if (tn.value->kind(call->embed) != TN_ARRAY || tn.value->count(call->embed) == 0)
        model_refuse(call, "`embed` is %s; expected an array of texts that is not empty", tn_kind_name(call->embed));
    return !call->over;
}

int32_t model_start(void *self, tn_task task, tn_value input) {
    struct model_call *call = call_new(self, task, input);
    if (call == NULL) return TN_NO_MEMORY;
    inside_enter(call);
    if (call_prepare(call)) call->model->provider->start(call);
    inside_leave(call);
    return TN_OK;
}

void model_cancel(void *self, tn_task task) {
    struct model_call *call = call_find(self, task);
    if (call == NULL) return;
    inside_enter(call);
    model_fail(call, "CANCELLED", "cancelled");
    inside_leave(call);
}

void model_ready(void *self, tn_task task) {
    struct model_call *call = call_find(self, task);
    if (call == NULL) return;
    inside_enter(call);
    if (inside_answer_flush(call) && !call->over && !inside_answer_ended(call) && call->exchange != 0)
        (void)call->model->http->resume(tn.host, call->exchange);
    inside_leave(call);
}

/* ---- The exchange ---- */

static void got_event(struct model_call *call, tn_value event) {
    uint64_t length = 0;
    const char *data = tn_chars(tn.value->get(event, "data"), &length), *name = tn_get_text(event, "event", "");
    const struct model_provider *provider = call->model->provider;
    tn_value json = NULL;
    if (data == NULL || length == 0) return; /* kept alive */
    call->eventful = true;
    if (strcmp(data, "[DONE]") == 0)
        provider->event(call, name, NULL);
    else if (tn.value->from_json(data, length, &json) == TN_OK)
        provider->event(call, name, json);
    else
        model_invalid(call, "an event whose data is no JSON (%llu bytes)", (unsigned long long)length);
    tn_release(json);
}

/* Its body as JSON, a new reference; NULL where it is none. */
static tn_value body_json(tn_value end, uint64_t *length) {
    tn_value body = tn.value->get(end, "body"), json = NULL;
    const char *text = tn.value->as_bytes(body, length);
    if (text == NULL) text = tn_chars(body, length);
    return text != NULL && tn.value->from_json(text, *length, &json) == TN_OK ? json : NULL;
}

static void got_whole(struct model_call *call, tn_value end) {
    uint64_t length = 0;
    tn_value json = body_json(end, &length);
    if (json != NULL)
        call->model->provider->answer(call, json);
    else
        model_invalid(call, "an answer that is no JSON (%llu bytes of %s)", (unsigned long long)length,
                      tn_get_text(tn.value->get(call->head, "headers"), "content-type", "an unknown type"));
    tn_release(json);
}

/* A stream was asked for, and an answer in one piece came, or an error with 200: that is as good. */
static void got_unstreamed(struct model_call *call, tn_value end) {
    uint64_t length = 0;
    tn_value json = body_json(end, &length);
    call->whole = tn.value->kind(json) == TN_OBJECT || tn.value->kind(json) == TN_ARRAY;
    if (call->whole) call->model->provider->answer(call, json);
    tn_release(json);
}

static bool sent_again(struct model_call *call, int64_t status, const char *code) {
    bool fresh = !call->over && !call->eventful && (status != 0 || call->status == 0);
    return fresh && call->model->provider->again != NULL && call->model->provider->again(call, status, code);
}

static void got_end(struct model_call *call, tn_value end) {
    int64_t status = tn_get_int(end, "status", call->status);
    call->status = status;
    if (call->head == NULL) call->head = tn_retain(end);
    if (status < 200 || status > 299) {
        if (sent_again(call, status, "")) return;
        inside_fail_status(call, end);
        return;
    }
    if (call->whole)
        got_whole(call, end);
    else if (!call->eventful && call->head_wrong)
        got_unstreamed(call, end);
    if (call->over || call->exchange != 0) return; /* it asks for more */
    if (model_finished(call))
        inside_answer_end(call);
    else if (call->whole)
        model_invalid(call, "an answer without an end: it says not why it stopped");
    else if (!call->eventful && call->head_wrong)
        model_invalid(
            call,
            "no stream of events but `%s`; where the service cannot stream, say `stream: false`, and where it "
            "is another service, look at `base_url`",
            tn_get_text(tn.value->get(call->head, "headers"), "content-type", "nothing"));
    else
        model_invalid(call, "a stream that stopped before its end");
}

static void on_http(void *user, int32_t event, tn_value value) {
    struct model_call *call = user;
    inside_enter(call);
    if (event == TN_HTTP_HEAD) {
        tn_release(call->head);
        call->head = tn_retain(value);
        call->status = tn_get_int(value, "status", 0);
        call->head_wrong =
            strstr(tn_get_text(tn.value->get(value, "headers"), "content-type", ""), "event-stream") == NULL;
    } else if (event == TN_HTTP_DATA)
        got_event(call, value);
    else {
        call->exchange = 0; /* it has ended, and is not ours to cancel */
        if (event == TN_HTTP_END)
            got_end(call, value);
        else if (model_finished(call) && !call->whole)
            inside_answer_end(call); /* what was lost came after all that counts */
        else if (!sent_again(call, 0, tn_get_text(value, "code", "")))
            inside_fail_http(call, value);
    }
    inside_leave(call);
}

/* It left its stream open: what it said was all. */
static void grace_over(void *argument) {
    struct model_call *call = argument;
    inside_enter(call);
    call->grace = 0;
    if (call->exchange != 0) (void)call->model->http->cancel(tn.host, call->exchange);
    call->exchange = 0;
    inside_answer_end(call);
    inside_leave(call);
}

void model_done(struct model_call *call) {
    if (call->over || call->exchange == 0 || call->grace != 0 || !model_finished(call)) return;
    call->grace = tn.core->post(tn.host, MODEL_GRACE_MS, grace_over, call);
}

/* ---- Requests ---- */

static void put_headers(struct model_call *call, tn_builder *builder, const struct model_request *request) {
    const struct model_provider *provider = call->model->provider;
    tn_value mine = model_config(call, "headers"), key = model_config(call, "api_key");
    tn_put_begin(builder, "headers", TN_OBJECT);
    for (uint64_t i = 0; i < tn.value->count(request->headers); i++) {
        tn_value name, value;
        if (tn.value->entry(request->headers, i, &name, &value) != TN_OK) break;
        if (tn.value->get(mine, tn_chars(name, NULL)) == NULL) tn_put(builder, tn_chars(name, NULL), value);
    }
    bool ours = key == NULL && provider->secret != NULL && call->model->own_host;
    if (!request->keyless && (key != NULL || ours) && tn.value->get(mine, provider->key_header) == NULL) {
        tn_put_begin(builder, provider->key_header, TN_ARRAY);
        if (provider->key_prefix[0] != '\0') tn_put_text(builder, NULL, provider->key_prefix);
        if (key != NULL)
            tn_put(builder, NULL, key);
        else {
            tn_put_begin(builder, NULL, TN_OBJECT);
            tn_put_text(builder, "secret", provider->secret);
            tn.value->end(builder);
        }
        tn.value->end(builder);
    }
    for (uint64_t i = 0; i < tn.value->count(mine); i++) {
        tn_value name, value;
        if (tn.value->entry(mine, i, &name, &value) != TN_OK) break;
        tn_put(builder, tn_chars(name, NULL), value);
    }
    tn.value->end(builder);
}

static void put_url(const struct model_call *call, tn_builder *builder, const char *path) {
    const char *base =
        strncmp(path, "http://", 7) == 0 || strncmp(path, "https://", 8) == 0 ? "" : call->model->base_url;
    uint64_t length = strlen(base) + strlen(path);
    char *url = inside_alloc(length + 1);
    if (url != NULL) (void)snprintf(url, length + 1, "%s%s", base, path);
    tn_put_take(builder, "url", url != NULL ? tn_text_n(url, length) : NULL);
    inside_free(url);
}

void model_send(struct model_call *call, const struct model_request *request) {
    static const char *const waits[][2] = {{"connect", "connect_ms"}, {"idle", "idle_ms"}, {"total", "total_ms"}};
    if (call->over) return;
    inside_enter(call);
    tn_value timeout = model_config(call, "timeout_ms");
    tn_builder *builder = tn.value->builder();
    call->whole = request->whole;
    call->status = 0;
    tn.value->begin(builder, TN_OBJECT);
    put_url(call, builder, request->path);
    tn_put_text(builder, "method", "POST");
    if (request->query != NULL) tn_put(builder, "query", request->query);
    put_headers(call, builder, request);
    tn_put_take(builder, "json", merged(request->body, request->merged ? NULL : model_option(call, "extra")));
    tn_put_text(builder, "receive", request->whole ? "whole" : "events");
    tn_put_begin(builder, "timeout", TN_OBJECT);
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        int64_t ms = tn_get_int(timeout, waits[i][0], i == 1 ? MODEL_IDLE_MS : 0);
        if (ms > 0) tn_put_int(builder, waits[i][1], ms);
    }
    tn.value->end(builder);
    tn.value->end(builder);
    tn_value made = tn.value->finish(builder);
    int32_t status = made != NULL ? call->model->http->send(tn.host, made, on_http, call, &call->exchange) : TN_INVALID;
    tn_release(made);
    if (status != TN_OK)
        model_fail(call, status == TN_UNSUPPORTED ? "UNSUPPORTED" : "INVALID_REQUEST",
                   "the request to %s could not be sent (status %d): expected values that JSON can hold, and a host "
                   "that has HTTP",
                   call->model->provider->name, (int)status);
    inside_leave(call);
}

/* ---- What providers read ---- */

static tn_value present(tn_value value) { return tn.value->kind(value) > TN_NULL ? value : NULL; }

tn_value model_option(const struct model_call *call, const char *name) {
    return present(tn.value->get(call->options, name));
}

void model_put_option(const struct model_call *call, tn_builder *builder, const char *name, const char *as) {
    tn_value value = model_option(call, name);
    if (value != NULL) tn_put(builder, as, value);
}

tn_value model_config(const struct model_call *call, const char *name) {
    return present(tn.value->get(call->model->config, name));
}

bool model_streams(const struct model_call *call) {
    int32_t truth = 1;
    (void)tn.value->as_bool(model_config(call, "stream"), &truth);
    return truth != 0;
}

tn_value model_extra_of(const struct model_call *call, tn_value holder) {
    return present(tn.value->get(tn.value->get(holder, "extra"), call->model->provider->name));
}

/* ---- Small things of all files ---- */

void *inside_alloc(uint64_t size) {
    void *memory = tn.core->alloc(tn.host, size);
    if (memory != NULL) memset(memory, 0, size);
    return memory;
}

void inside_free(void *memory) { tn.core->release(tn.host, memory); }

bool inside_room(void **items, uint64_t count, uint64_t *room, uint64_t item) {
    if (count < *room) return true;
    uint64_t wanted = *room > 0 ? *room * 2 : 8;
    void *larger = tn.core->resize(tn.host, *items, wanted * item);
    if (larger == NULL) return false;
    *items = larger;
    *room = wanted;
    return true;
}

uint64_t inside_cut(const char *text, uint64_t length, uint64_t most) {
    if (length <= most) return length;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) most--;
    return most;
}

tn_value inside_object(void) {
    tn_builder *builder = tn.value->builder();
    tn.value->begin(builder, TN_OBJECT);
    tn.value->end(builder);
    return tn.value->finish(builder);
}

tn_value inside_extra_take(tn_value extra, const char *provider, const char *key, tn_value value) {
    tn_value empty = inside_object(), old = tn.value->get(extra, provider);
    tn_value mine = tn.value->set(old != NULL ? old : empty, key, value);
    tn_value made = tn.value->set(extra != NULL ? extra : empty, provider, mine);
    tn_release(mine);
    tn_release(empty);
    tn_release(extra);
    return made;
}
