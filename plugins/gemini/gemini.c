/*
 * gemini.c - the plugin `tenon.gemini`: Google's models, by an API key of AI Studio, or on Vertex by credentials.
 *
 * Vertex comes first where a project is said: by the model's configuration, by the plugin's section of tenon.yaml, or
 * by VERTEX_PROJECT_ID; but a model with an API key or a base_url of its own, and no project, uses these. What is sent
 * to whom: a key to the provider's own host or where its `api_key` was said; a token of the credentials to Google's
 * hosts alone, and to the one that the operator names in `vertex_url`.
 */
#include "gemini.h"

#include <stdlib.h>

TN_PLUGIN("tenon.gemini", "0.1.0", "Gemini, with an API key or on Vertex")

static tn_value section; /* of tenon.yaml */

/* ---- Creating ---- */

/* A text that is not empty: of the configuration, the section, or the environment; NULL. */
static const char *setting(tn_value config, const char *name, const char *variable) {
    const char *text = tn_get_text(config, name, "");
    if (*text == '\0') text = tn_get_text(section, name, "");
    if (*text == '\0' && variable != NULL) text = getenv(variable);
    return text != NULL && *text != '\0' ? text : NULL;
}

/* https://….googleapis.com/…: who may be given a token because a document says so. */
static bool is_google(const char *url) {
    static const char domain[] = ".googleapis.com";
    if (strncmp(url, "https://", 8) != 0) return false;
    size_t length = strcspn(url + 8, "/?#");
    if (length < sizeof domain || memchr(url + 8, '@', length) != NULL || memchr(url + 8, '\\', length) != NULL)
        return false;
    return memcmp(url + 8 + length - (sizeof domain - 1), domain, sizeof domain - 1) == 0;
}

static int32_t gemini_create(struct model *model, tn_binder *binder) {
    tn_value config = model->config;
    const char *own_project = tn_get_text(config, "project", ""), *base = tn_get_text(config, "base_url", NULL);
    bool keyed = base != NULL || tn.value->kind(tn.value->get(config, "api_key")) > TN_NULL;
    const char *project = keyed && *own_project == '\0' ? NULL : setting(config, "project", "VERTEX_PROJECT_ID");
    const char *location = setting(config, "location", "VERTEX_LOCATION");
    char message[256];
    if (project != NULL && base != NULL && !is_google(base)) {
        (void)snprintf(
            message, sizeof message,
            "`base_url` is \"%.80s\"; credentials of Vertex are sent to https://….googleapis.com alone. Where "
            "this is right, say it as plugins.config.tenon.gemini.vertex_url of tenon.yaml",
            base);
        return tn.task->refuse(binder, "INVALID_CONFIG", message);
    }
    if (project != NULL && base == NULL) base = tn_get_text(section, "vertex_url", NULL);
    struct gemini *gemini = tn.core->alloc(tn.host, sizeof *gemini);
    if (gemini == NULL) return TN_NO_MEMORY;
    memset(gemini, 0, sizeof *gemini);
    int32_t status = TN_OK;
    if (!gemini_locate(gemini, model->name, base, project, location != NULL ? location : GEMINI_LOCATION, message))
        status = tn.task->refuse(binder, "INVALID_CONFIG", message);
    if (status == TN_OK && project != NULL) {
        gemini->project = tn_text(project);
        gemini->source = token_source_new(tn_get_text(section, "credentials", NULL),
                                          tn_get_text(section, "token_url", NULL), model->http);
        if (gemini->project == NULL || gemini->source == NULL) status = TN_NO_MEMORY;
    }
    if (status == TN_OK) {
        model->own = gemini;
        return TN_OK;
    }
    token_source_free(gemini->source);
    tn_release(gemini->project);
    tn.core->release(tn.host, gemini);
    return status;
}

static void gemini_destroy(struct model *model) {
    struct gemini *gemini = model->own;
    token_source_free(gemini->source);
    tn_release(gemini->project);
    tn.core->release(tn.host, gemini);
}

/* ---- Asking ---- */

#define SECOND_SECRET "GOOGLE_API_KEY" /* where there is no GEMINI_API_KEY */

static tn_value headers_of(const struct gemini *gemini, const struct gemini_call *own) {
    tn_builder *out = tn.value->builder();
    tn.value->begin(out, TN_OBJECT);
    if (own->header != NULL) {
        tn_put(out, "authorization", own->header);
        if (token_payer(gemini->source) != NULL) tn_put(out, "x-goog-user-project", token_payer(gemini->source));
    } else if (gemini->second_key) {
        tn_put_begin(out, "x-goog-api-key", TN_OBJECT);
        tn_put_text(out, "secret", SECOND_SECRET);
        tn.value->end(out);
    }
    tn.value->end(out);
    return tn.value->finish(out);
}

static bool uses_own_secret(const struct model_call *call) {
    const struct gemini *gemini = call->model->own;
    return gemini->project == NULL && call->model->own_host && model_config(call, "api_key") == NULL;
}

/* With what it needs to be sent. The call may be gone afterwards. */
static void dispatch(struct model_call *call) {
    const struct gemini *gemini = call->model->own;
    struct gemini_call *own = call->own;
    bool streams = call->embed == NULL && model_streams(call), keyless = gemini->project != NULL;
    char path[GEMINI_PATH_MAX * 2 + 64];
    (void)snprintf(path, sizeof path, "%s/%s:%s", gemini->base, gemini->model, own->method);
    tn_builder *query = tn.value->builder();
    tn.value->begin(query, TN_OBJECT);
    if (streams) tn_put_text(query, "alt", "sse");
    tn.value->end(query);
    struct model_request request = {.path = path, .body = own->body, .whole = !streams, .merged = true};
    request.keyless = keyless || (gemini->second_key && uses_own_secret(call));
    request.headers = headers_of(gemini, own);
    request.query = tn.value->finish(query);
    tn_value headers = request.headers, asked = request.query;
    model_send(call, &request);
    tn_release(headers);
    tn_release(asked);
}

static void token_ready(struct token_wait *wait, tn_value header, const struct token_failure *failure) {
    struct gemini_call *own = (struct gemini_call *)((char *)wait - offsetof(struct gemini_call, wait));
    struct model_call *call = own->call;
    if (failure != NULL) {
        model_fail(call, failure->code, "%s", failure->message);
        return;
    }
    tn_release(own->header);
    own->header = tn_retain(header);
    dispatch(call);
}

static void send_body(struct model_call *call) {
    const struct gemini *gemini = call->model->own;
    struct gemini_call *own = call->own;
    tn_value header = gemini->source != NULL ? token_now(gemini->source) : NULL;
    if (gemini->source != NULL && header == NULL) {
        own->call = call;
        own->wait.ready = token_ready;
        token_wait(gemini->source, &own->wait);
        return;
    }
    tn_release(own->header);
    own->header = tn_retain(header);
    dispatch(call);
}

static void gemini_start(struct model_call *call) {
    struct gemini_call *own = call->own;
    tn_release(own->body);
    own->method = model_streams(call) ? "streamGenerateContent" : "generateContent";
    own->body = call->embed != NULL ? gemini_embed_request(call, &own->method) : gemini_request(call);
    if (call->over) return;
    if (own->body == NULL)
        model_refuse(call, "the request cannot be made: expected values that JSON can hold, and memory for them");
    else
        send_body(call);
}

static void gemini_answer(struct model_call *call, tn_value json) {
    if (call->embed == NULL)
        gemini_event(call, "", json);
    else if (tn.value->get(json, "error") != NULL)
        model_error(call, json);
    else if (gemini_embed_answer(call, json))
        gemini_start(call);
}

/* Another token where one was not taken, once; another secret where the first is not there. */
static bool gemini_again(struct model_call *call, int64_t status, const char *code) {
    struct gemini *gemini = call->model->own;
    struct gemini_call *own = call->own;
    if (gemini->source != NULL && status == 401 && !own->tried_again) {
        own->tried_again = true;
        token_forget(gemini->source, own->header);
        send_body(call);
        return true;
    }
    if (strcmp(code, "SECRET_NOT_FOUND") != 0 || !uses_own_secret(call)) return false;
    gemini->second_key = !gemini->second_key;
    if (gemini->second_key) {
        dispatch(call);
        return true;
    }
    model_fail(call, "AUTH",
               "gemini has no key: neither the secret GEMINI_API_KEY nor " SECOND_SECRET
               " can be had; set one of them, "
               "give `api_key`, or for Vertex `project` (or VERTEX_PROJECT_ID)");
    return true;
}

static void gemini_release(struct model_call *call) {
    const struct gemini *gemini = call->model->own;
    struct gemini_call *own = call->own;
    if (gemini->source != NULL) token_cancel(gemini->source, &own->wait);
    gemini_answer_release(own);
    tn_release(own->vectors);
    tn_release(own->body);
    tn_release(own->header);
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
                                             .again = gemini_again,
                                             .embeds = true};

MODEL_COMPONENT(gemini_model, "gemini", &gemini)

/* ---- The plugin ---- */

static int32_t gemini_init(void *self, tn_value config) {
    (void)self;
    section = tn_retain(config);
    return TN_OK;
}

static void gemini_deinit(void *self) {
    (void)self;
    token_sources_end();
    tn_release(section);
    section = NULL;
}

TN_LIFECYCLE(gemini_init, NULL, gemini_deinit)
