/*
 * gemini.c - the plugin `tenon.gemini`: Google's models, with an API key of AI Studio, or on Vertex with credentials.
 *
 * Vertex is used if a project is set: by the model's configuration, by the plugin's section of tenon.yaml, or by
 * VERTEX_PROJECT_ID. A model with an API key or a base_url, and no project, uses these instead. A key is sent to the
 * provider's own host, or if `api_key` is configured. A token of the credentials is sent only to Google's hosts, and to
 * the host that the operator sets in `vertex_url`.
 */
#include "gemini.h"

#include <stdlib.h>

TN_PLUGIN("tenon.gemini", "0.1.0", "Gemini, with an API key or on Vertex")

static tn_value section; /* the plugin's section of tenon.yaml */

/* ---- Create ---- */

const char *gemini_get_setting(tn_value config, const char *name, const char *variable) {
    const char *text = tn_get_text(config, name, "");
    if (*text == '\0') text = tn_get_text(section, name, "");
    if (*text == '\0' && variable != NULL) text = getenv(variable);
    return text != NULL && *text != '\0' ? text : NULL;
}

const struct token_maker gemini_maker = GOOGLE_MAKER("gemini");

static int32_t gemini_create(struct model *model) {
    tn_value config = model->config;
    const char *model_project = tn_get_text(config, "project", ""), *base = tn_get_text(config, "base_url", NULL);
    bool has_endpoint = base != NULL || tn.value->kind(tn_get(config, "api_key")) > TN_NULL;
    const char *project =
        has_endpoint && *model_project == '\0' ? NULL : gemini_get_setting(config, "project", "VERTEX_PROJECT_ID");
    const char *location = gemini_get_setting(config, "location", "VERTEX_LOCATION");
    char message[256];
    if (project != NULL && base != NULL && !google_url_is_google(base)) {
        (void)snprintf(message, sizeof message,
                       "`base_url` is \"%.80s\"; credentials of Vertex are sent only to https://….googleapis.com. If "
                       "this address is right, set it as plugins.config.tenon.gemini.vertex_url in tenon.yaml",
                       base);
        return tn_refuse("INVALID_CONFIG", message);
    }
    if (project != NULL && base == NULL) base = tn_get_text(section, "vertex_url", NULL);
    struct gemini *gemini = tn.core->alloc(tn.host, sizeof *gemini);
    if (gemini == NULL) return TN_NO_MEMORY;
    memset(gemini, 0, sizeof *gemini);
    int32_t status = TN_OK;
    if (!gemini_build_address(gemini, model->name, base, project, location != NULL ? location : GOOGLE_LOCATION,
                              message))
        status = tn_refuse("INVALID_CONFIG", message);
    if (status == TN_OK && project != NULL) {
        model->credentials = "the credentials for Vertex, their roles in `project`, and whether the Vertex AI API is "
                             "enabled there";
        gemini->project = tn_text(project);
        gemini->source = google_source_new(&gemini_maker, tn_get_text(section, "credentials", NULL),
                                           tn_get_text(section, "token_url", NULL), model->http);
        if (gemini->project == NULL || gemini->source == NULL) status = TN_NO_MEMORY;
    }
    if (status == TN_OK) {
        model->provider_data = gemini;
        return TN_OK;
    }
    token_source_free(gemini->source);
    tn_release(gemini->project);
    tn.core->release(tn.host, gemini);
    return status;
}

static void gemini_destroy(struct model *model) {
    struct gemini *gemini = model->provider_data;
    token_source_free(gemini->source);
    tn_release(gemini->project);
    tn.core->release(tn.host, gemini);
}

/* ---- Requests ---- */

#define SECOND_SECRET "GOOGLE_API_KEY" /* used if GEMINI_API_KEY does not exist */

static tn_value gemini_headers(const struct gemini *gemini, const struct gemini_call *state) {
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    if (state->header != NULL) {
        tn_put(out, "authorization", state->header);
        if (token_get_note(gemini->source) != NULL) tn_put(out, "x-goog-user-project", token_get_note(gemini->source));
    } else if (gemini->uses_second_key) {
        tn_put_begin(out, "x-goog-api-key", TN_OBJECT);
        tn_put_text(out, "secret", SECOND_SECRET);
        tn.value->end(out);
    }
    tn.value->end(out);
    return tn_finish(out);
}

static bool gemini_uses_default_secret(const struct model_call *call) {
    const struct gemini *gemini = call->model->provider_data;
    return gemini->project == NULL && call->model->is_default_host && model_get_config(call, "api_key") == NULL;
}

/* Sends the prepared request. The call may have been freed when this returns. */
static void gemini_send(struct model_call *call) {
    const struct gemini *gemini = call->model->provider_data;
    struct gemini_call *state = call->provider_data;
    bool streams = gemini_streams(call), keyless = gemini->project != NULL;
    char path[GEMINI_PATH_MAX * 2 + 64];
    (void)snprintf(path, sizeof path, "%s/%s:%s", gemini->base, gemini->model, state->method);
    tn_builder *query = tn_builder_new();
    tn.value->begin(query, TN_OBJECT);
    if (streams) tn_put_text(query, "alt", "sse");
    tn.value->end(query);
    struct model_request request = {.path = path, .body = state->body, .whole = !streams, .merged = true};
    request.keyless = keyless || (gemini->uses_second_key && gemini_uses_default_secret(call));
    request.headers = gemini_headers(gemini, state);
    request.query = tn_finish(query);
    tn_value headers = request.headers, query_value = request.query;
    model_send(call, &request);
    tn_release(headers);
    tn_release(query_value);
}

static void gemini_on_token(struct token_wait *wait, tn_value header, const struct token_failure *failure) {
    struct gemini_call *state = (struct gemini_call *)((char *)wait - offsetof(struct gemini_call, wait));
    struct model_call *call = state->call;
    if (failure != NULL) {
        model_fail(call, failure->code, "%s", failure->message);
        return;
    }
    tn_release(state->header);
    state->header = tn_retain(header);
    model_hide_token(call, header);
    gemini_send(call);
}

static void gemini_send_when_authorized(struct model_call *call) {
    const struct gemini *gemini = call->model->provider_data;
    struct gemini_call *state = call->provider_data;
    tn_value header = gemini->source != NULL ? token_get_cached(gemini->source) : NULL;
    if (gemini->source != NULL && header == NULL) {
        state->call = call;
        state->wait.ready = gemini_on_token;
        token_wait(gemini->source, &state->wait);
        return;
    }
    tn_release(state->header);
    state->header = tn_retain(header);
    model_hide_token(call, header);
    gemini_send(call);
}

static void gemini_start(struct model_call *call) {
    struct gemini_call *state = call->provider_data;
    tn_release(state->body);
    state->method = gemini_streams(call) ? "streamGenerateContent" : "generateContent";
    state->body = call->embed != NULL ? gemini_embed_request(call, &state->method) : gemini_request(call);
    if (call->ended) return;
    if (state->body == NULL)
        model_fail_request(
            call,
            "cannot build the request: check that all values can be represented in JSON, and the available memory");
    else
        gemini_send_when_authorized(call);
}

static void gemini_answer(struct model_call *call, tn_value json) {
    if (call->embed == NULL)
        gemini_event(call, "", json);
    else if (tn_get(json, "error") != NULL)
        model_fail_service(call, json);
    else if (gemini_embed_answer(call, json))
        gemini_start(call);
}

/* Sends the request again: once with a new token if the service refused the token, or with the second secret if the
 * first does not exist. Returns false if neither applies. */
static bool gemini_retry(struct model_call *call, int64_t status, const char *code) {
    struct gemini *gemini = call->model->provider_data;
    struct gemini_call *state = call->provider_data;
    if (gemini->source != NULL && status == 401 && !state->retried) {
        state->retried = true;
        token_discard(gemini->source, state->header);
        gemini_send_when_authorized(call);
        return true;
    }
    if (strcmp(code, "SECRET_NOT_FOUND") != 0 || !gemini_uses_default_secret(call)) return false;
    gemini->uses_second_key = !gemini->uses_second_key;
    if (gemini->uses_second_key) {
        gemini_send(call);
        return true;
    }
    model_fail(call, "AUTH",
               "gemini has no key: neither the secret GEMINI_API_KEY nor " SECOND_SECRET
               " is available; set one of them, "
               "set `api_key`, or for Vertex `project` (or VERTEX_PROJECT_ID)");
    return true;
}

static void gemini_release(struct model_call *call) {
    const struct gemini *gemini = call->model->provider_data;
    struct gemini_call *state = call->provider_data;
    if (gemini->source != NULL) token_cancel(gemini->source, &state->wait);
    gemini_answer_release(state);
    tn_release(state->body);
    tn_release(state->header);
}

static const struct model_provider gemini = {.name = "gemini",
                                             .base_url = GEMINI_BASE_URL,
                                             .secret = "GEMINI_API_KEY",
                                             .key_header = "x-goog-api-key",
                                             .key_prefix = "",
                                             .call_size = sizeof(struct gemini_call),
                                             .create = gemini_create,
                                             .destroy = gemini_destroy,
                                             .start = gemini_start,
                                             .event = gemini_event,
                                             .answer = gemini_answer,
                                             .error = gemini_error,
                                             .release = gemini_release,
                                             .retry = gemini_retry,
                                             .has_embeddings = true};

MODEL_COMPONENT(gemini_model, "gemini", &gemini)

/* ---- The plugin ---- */

static int32_t gemini_init(void *self, tn_value config) {
    (void)self;
    section = tn_retain(config);
    return TN_OK;
}

static void gemini_deinit(void *self) {
    (void)self;
    token_sources_free_unused();
    tn_release(section);
    section = NULL;
}

TN_LIFECYCLE(gemini_init, NULL, gemini_deinit)
