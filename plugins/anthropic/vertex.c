/*
 * vertex.c - Claude on Google's Vertex: addresses, access tokens, and what differs in requests and errors.
 *
 * The model is in the address and not in the body, which has `anthropic_version` instead of the header. A token is sent
 * only to Google's hosts, and to the host that the operator sets in `vertex_url`.
 */
#include "anthropic.h"
#include "google.h"

#include <stdlib.h>

#define VERTEX_LOCATION "global" /* the default location of these models */
#define VERTEX_PATH_MAX 1024

struct vertex {
    char path[VERTEX_PATH_MAX]; /* ".../publishers/anthropic/models/NAME"; a method is appended */
    struct token_source *source;
};

static tn_value section; /* the plugin's section of tenon.yaml */
static const struct token_maker vertex_maker = GOOGLE_MAKER("anthropic");

/* ---- Create ---- */

static const char *vertex_get_setting(tn_value config, const char *name) {
    const char *text = tn_get_text(config, name, "");
    if (*text == '\0') text = tn_get_text(section, name, "");
    return *text != '\0' ? text : NULL;
}

static bool vertex_name_is_valid(const char *name) {
    for (const char *at = name; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || strchr("/?#&%\\:", *at) != NULL) return false;
    return *name != '\0' && strstr(name, "..") == NULL;
}

static bool vertex_build_path(struct vertex *vertex, const char *model, const char *base, const char *project,
                              const char *location) {
    char host[GOOGLE_HOST_MAX];
    int length = base != NULL ? 0 : google_format_vertex_host(host, location);
    if (length < 0 || length >= GOOGLE_HOST_MAX) return false;
    size_t base_length = base != NULL ? strlen(base) : 0;
    while (base_length > 0 && base[base_length - 1] == '/') base_length--;
    length =
        snprintf(vertex->path, sizeof vertex->path, "%.*s%s/projects/%s/locations/%s/publishers/anthropic/models/%s",
                 base != NULL ? (int)base_length : (int)strlen(host), base != NULL ? base : host,
                 base != NULL ? "" : "/v1", project, location, model);
    return length > 0 && length < VERTEX_PATH_MAX;
}

int32_t anthropic_vertex_create(struct model *model) {
    tn_value config = model->config;
    const char *own_project = tn_get_text(config, "project", ""), *base = tn_get_text(config, "base_url", NULL);
    if (model->is_default_host) base = NULL; /* Anthropic's own address says nothing about Vertex */
    bool has_endpoint = base != NULL || tn.value->kind(tn_get(config, "api_key")) > TN_NULL;
    const char *project = has_endpoint && *own_project == '\0' ? NULL : vertex_get_setting(config, "project");
    const char *location = vertex_get_setting(config, "location");
    if (project == NULL) return TN_OK;
    if (location == NULL) location = getenv("VERTEX_LOCATION");
    if (location == NULL || *location == '\0') location = VERTEX_LOCATION;
    if (base != NULL && !google_url_is_google(base))
        return tn_refuse(
            "INVALID_CONFIG",
            "credentials of Vertex are sent only to https://….googleapis.com, and `base_url` is another address. If "
            "it is right, set it as plugins.config.tenon.anthropic.vertex_url in tenon.yaml");
    if (base == NULL) base = tn_get_text(section, "vertex_url", NULL);
    if (!vertex_name_is_valid(model->name) || !google_project_is_valid(project) || !google_location_is_valid(location))
        return tn_refuse(
            "INVALID_CONFIG",
            "on Vertex `model` must be a model's name such as claude-sonnet-4-5@20250929, `project` a project's id, "
            "and `location` a location such as us-east5 or global");
    struct vertex *vertex = tn.core->alloc(tn.host, sizeof *vertex);
    if (vertex == NULL) return TN_NO_MEMORY;
    memset(vertex, 0, sizeof *vertex);
    int32_t status = TN_OK;
    if (!vertex_build_path(vertex, model->name, base, project, location))
        status = tn_refuse("INVALID_CONFIG", "base_url, project, location and model are too long together");
    if (status == TN_OK) {
        vertex->source = google_source_new(&vertex_maker, tn_get_text(section, "credentials", NULL),
                                           tn_get_text(section, "token_url", NULL), model->http);
        if (vertex->source == NULL) status = TN_NO_MEMORY;
    }
    model->credentials = "the credentials for Vertex, their roles in `project`, and whether the Vertex AI API and the "
                         "model, in Model Garden, are enabled there";
    if (status == TN_OK)
        model->provider_data = vertex;
    else
        tn.core->release(tn.host, vertex);
    return status;
}

void anthropic_vertex_destroy(struct model *model) {
    struct vertex *vertex = model->provider_data;
    token_source_free(vertex->source);
    tn.core->release(tn.host, vertex);
}

bool anthropic_is_on_vertex(const struct model_call *call) { return call->model->provider_data != NULL; }

/* ---- Requests ---- */

static struct vertex_call *vertex_call_get(const struct model_call *call) {
    return &((struct anthropic_call *)call->provider_data)->vertex;
}

/* Returns the headers with the token, a new reference. */
static tn_value vertex_headers(const struct vertex *vertex, const struct vertex_call *state, tn_value headers) {
    tn_value made = tn_retain(headers), payer = token_get_note(vertex->source);
    made = tn_set_take(made, "authorization", tn_retain(state->header));
    if (payer != NULL) made = tn_set_take(made, "x-goog-user-project", tn_retain(payer));
    return made;
}

static void vertex_send(struct model_call *call, struct vertex_call *state) {
    const struct vertex *vertex = call->model->provider_data;
    char path[VERTEX_PATH_MAX + 32];
    bool streams = model_is_streaming(call);
    (void)snprintf(path, sizeof path, "%s:%s", vertex->path, streams ? "streamRawPredict" : "rawPredict");
    tn_value own = anthropic_headers(call), headers = vertex_headers(vertex, state, own);
    struct model_request request = {
        .path = path, .body = state->body, .headers = headers, .whole = !streams, .keyless = true};
    model_send(call, &request);
    tn_release(headers);
    tn_release(own);
}

static void vertex_on_token(struct token_wait *wait, tn_value header, const struct token_failure *failure) {
    struct vertex_call *state = (struct vertex_call *)((char *)wait - offsetof(struct vertex_call, wait));
    if (failure != NULL) {
        model_fail(state->call, failure->code, "%s", failure->message);
        return;
    }
    tn_release(state->header);
    state->header = tn_retain(header);
    model_hide_token(state->call, header);
    vertex_send(state->call, state);
}

static void vertex_send_when_authorized(struct model_call *call, struct vertex_call *state) {
    const struct vertex *vertex = call->model->provider_data;
    tn_value header = token_get_cached(vertex->source);
    if (header == NULL) {
        state->call = call;
        state->wait.ready = vertex_on_token;
        token_wait(vertex->source, &state->wait);
        return;
    }
    tn_release(state->header);
    state->header = tn_retain(header);
    model_hide_token(call, header);
    vertex_send(call, state);
}

void anthropic_vertex_start(struct model_call *call, tn_value body) {
    struct vertex_call *state = vertex_call_get(call);
    tn_release(state->body);
    state->body = tn_retain(body);
    vertex_send_when_authorized(call, state);
}

bool anthropic_vertex_retry(struct model_call *call, int64_t status, const char *code) {
    const struct vertex *vertex = call->model->provider_data;
    struct vertex_call *state = vertex_call_get(call);
    (void)code;
    if (vertex == NULL || status != 401 || state->retried) return false;
    state->retried = true;
    token_discard(vertex->source, state->header);
    vertex_send_when_authorized(call, state);
    return true;
}

void anthropic_vertex_release(struct model_call *call) {
    const struct vertex *vertex = call->model->provider_data;
    struct vertex_call *state = vertex_call_get(call);
    if (vertex != NULL) token_cancel(vertex->source, &state->wait);
    tn_release(state->body);
    tn_release(state->header);
}

/* Google's own errors have a `status` instead of a `type`. */
void anthropic_vertex_error(struct model_call *call, tn_value body, struct tn_model_failure *failure) {
    tn_value error = tn_get(tn.value->kind(body) == TN_ARRAY ? tn.value->at(body, 0) : body, "error");
    if (!anthropic_is_on_vertex(call) || tn.value->kind(tn_get(error, "status")) != TN_STRING) return;
    failure->type = tn_get(error, "status");
    failure->message = tn_get(error, "message");
}

/* ---- The plugin ---- */

static int32_t vertex_init(void *self, tn_value config) {
    (void)self;
    section = tn_retain(config);
    return TN_OK;
}

static void vertex_deinit(void *self) {
    (void)self;
    token_sources_free_unused();
    tn_release(section);
    section = NULL;
}

TN_LIFECYCLE(vertex_init, NULL, vertex_deinit)
