/*
 * bedrock.c - the plugin `tenon.bedrock`: models of Amazon Bedrock, over Converse and ConverseStream, and embeddings.
 *
 * A request has either a bearer token (`api_key`, or the secret AWS_BEARER_TOKEN_BEDROCK) or AWS's signature, which the
 * host makes with the secrets of the keys. The default credentials are used only for Amazon's own hosts and the
 * operator's `endpoint`, so that a document cannot send them to another host.
 */
#include "bedrock.h"

#include <stdlib.h>

TN_PLUGIN("tenon.bedrock", "0.1.0", "Models of Amazon Bedrock")

#define BEARER_SECRET    "AWS_BEARER_TOKEN_BEDROCK"
#define SKEW_SMALLEST_MS 60000 /* a smaller difference of the clocks is not the reason of a refusal */
#define SKEW_LARGEST_MS  (365 * INT64_C(86400000)) /* that the host signs with */

static tn_value section; /* the plugin's section of tenon.yaml */

void bedrock_put(tn_builder *builder, const char *key, tn_value value) {
    if (tn.value->kind(value) > TN_NULL) tn_put(builder, key, value);
}

bool bedrock_has_type(tn_value object, const char *type) { return strcmp(tn_get_text(object, "type", ""), type) == 0; }

/* ---- Addresses ---- */

static bool bedrock_region_is_valid(const char *region) {
    for (const char *at = region; *at != '\0'; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '-')) return false;
    return *region != '\0' && strlen(region) <= BEDROCK_REGION_MAX;
}

/* Copies the region of "arn:aws:bedrock:REGION:…". */
static void bedrock_region_of_arn(const char *model, char out[BEDROCK_REGION_MAX + 1]) {
    const char *at = strncmp(model, "arn:", 4) == 0 ? model : "";
    for (int colons = 0; *at != '\0' && colons < 3; at++) colons += *at == ':';
    size_t length = strcspn(at, ":");
    if (length <= BEDROCK_REGION_MAX) (void)snprintf(out, BEDROCK_REGION_MAX + 1, "%.*s", (int)length, at);
}

/* Returns false if the configured region is not a region's name. */
static bool bedrock_find_region(struct bedrock *bedrock, tn_value config, const char *model) {
    const char *region = tn_get_text(config, "region", "");
    if (*region == '\0') bedrock_region_of_arn(model, bedrock->region);
    if (*region == '\0' && bedrock->region[0] == '\0') region = tn_get_text(section, "region", "");
    static const char *const variables[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
    for (size_t i = 0; i < 2 && *region == '\0' && bedrock->region[0] == '\0'; i++)
        if (getenv(variables[i]) != NULL) region = getenv(variables[i]);
    if (*region != '\0') (void)snprintf(bedrock->region, sizeof bedrock->region, "%s", region);
    return (*region == '\0' || strlen(region) <= BEDROCK_REGION_MAX) &&
           (bedrock->region[0] == '\0' || bedrock_region_is_valid(bedrock->region));
}

/* True for https://….amazonaws.com/… and ….amazonaws.com.cn. */
static bool bedrock_url_is_amazon(const char *url) {
    static const char *const domains[] = {".amazonaws.com", ".amazonaws.com.cn", ".api.aws"};
    if (strncmp(url, "https://", 8) != 0) return false;
    size_t length = strcspn(url + 8, "/?#:");
    if (memchr(url, '@', strlen(url)) != NULL || memchr(url, '\\', strlen(url)) != NULL) return false;
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        size_t domain = strlen(domains[i]);
        if (length > domain && memcmp(url + 8 + length - domain, domains[i], domain) == 0) return true;
    }
    return false;
}

static enum bedrock_family bedrock_family_of(const char *model) {
    static const struct {
        const char *part;
        enum bedrock_family family;
    } families[] = {{"anthropic.", FAMILY_ANTHROPIC},
                    {"amazon.nova", FAMILY_NOVA},
                    {"openai.", FAMILY_OPENAI},
                    {"mistral.", FAMILY_MISTRAL}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strstr(model, families[i].part) != NULL) return families[i].family;
    return FAMILY_OTHER;
}

/* Writes "https://HOST/model/MODEL". Returns false if it does not fit. */
static bool bedrock_build_url(struct bedrock *bedrock, const char *base, const char *model) {
    struct tn_text_buffer url = TN_TEXT_BUFFER(BEDROCK_URL_MAX - 1);
    if (base != NULL)
        (void)tn_text_append_n(&url, base, strlen(base));
    else
        (void)tn_text_append_format(&url, "https://bedrock-runtime.%s.amazonaws.com%s", bedrock->region,
                                    strncmp(bedrock->region, "cn-", 3) == 0 ? ".cn" : "");
    while (url.length > 0 && url.bytes[url.length - 1] == '/') url.length--;
    (void)tn_text_append(&url, "/model/");
    for (const char *at = model; *at != '\0'; at++) {
        bool plain = (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') || (*at >= 'a' && *at <= 'z') ||
                     strchr("-._~", *at) != NULL;
        if (plain)
            (void)tn_text_append_char(&url, *at);
        else
            (void)tn_text_append_format(&url, "%%%02X", (unsigned)(unsigned char)*at);
    }
    bool fits = url.status == TN_OK;
    if (fits) (void)snprintf(bedrock->url, sizeof bedrock->url, "%s", tn_text_chars(&url));
    tn_text_free(&url);
    return fits;
}

/* What signs the requests, or replaces a signature; NULL: the configured key. */
static const char *bedrock_credentials(const struct bedrock *bedrock, tn_value config) {
    if (tn.value->kind(tn_get(config, "api_key")) > TN_NULL) return NULL;
    if (tn.value->kind(tn_get(config, "credentials")) > TN_NULL) return "`credentials`, and what they have access to";
    return bedrock->uses_default_credentials
               ? "the secret " BEARER_SECRET " if it exists, otherwise AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
                 "AWS_SESSION_TOKEN, and what they have access to"
               : "`credentials`: the request had none, because `base_url` is not an address of Amazon";
}

static int32_t bedrock_create(struct model *model) {
    tn_value config = model->config;
    const char *base = tn_get_text(config, "base_url", NULL), *endpoint = tn_get_text(section, "endpoint", NULL);
    bool own = base == NULL || bedrock_url_is_amazon(base);
    struct bedrock *bedrock = tn.core->alloc(tn.host, sizeof *bedrock);
    if (bedrock == NULL) return TN_NO_MEMORY;
    memset(bedrock, 0, sizeof *bedrock);
    bedrock->family = bedrock_family_of(model->name);
    bedrock->uses_default_credentials = own && tn.value->kind(tn_get(config, "api_key")) <= TN_NULL &&
                                        tn.value->kind(tn_get(config, "credentials")) <= TN_NULL;
    model->credentials = bedrock_credentials(bedrock, config);
    int32_t status = TN_OK;
    if (!bedrock_find_region(bedrock, config, model->name))
        status =
            tn_refuse("INVALID_CONFIG", "the region is not a name of letters, digits and -, such as us-east-1; check "
                                        "`region`, AWS_REGION, and the model's ARN");
    else if (!bedrock_build_url(bedrock, base != NULL ? base : endpoint, model->name))
        status = tn_refuse("INVALID_CONFIG", "`base_url` and `model` are too long together");
    if (status == TN_OK)
        model->provider_data = bedrock;
    else
        tn.core->release(tn.host, bedrock);
    return status;
}

static void bedrock_destroy(struct model *model) { tn.core->release(tn.host, model->provider_data); }

/* ---- Credentials ---- */

static void bedrock_put_secret(tn_builder *out, const char *key, const char *name, bool optional) {
    tn_put_begin(out, key, TN_OBJECT);
    tn_put_text(out, "secret", name);
    if (optional) tn_put_bool(out, "optional", 1);
    tn.value->end(out);
}

/* Returns {authorization}, for a bearer token. An array: the prefix, and the token. */
static tn_value bedrock_headers(const struct model_call *call) {
    const struct bedrock *bedrock = call->model->provider_data;
    tn_value key = model_get_config(call, "api_key");
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    if (call->embed != NULL) tn_put_text(out, "accept", "application/json");
    if (!call->whole) tn_put_text(out, "accept", "application/vnd.amazon.eventstream");
    if (key != NULL || bedrock->uses_default_credentials) {
        tn_put_begin(out, "authorization", TN_ARRAY);
        tn_put_text(out, NULL, "Bearer ");
        if (key != NULL)
            tn_put(out, NULL, key);
        else
            bedrock_put_secret(out, NULL, BEARER_SECRET, true);
        tn.value->end(out);
    }
    tn.value->end(out);
    return tn_finish(out);
}

/* Returns the member `sign` of the request. NULL if the request is not signed. */
static tn_value bedrock_sign(const struct model_call *call) {
    const struct bedrock *bedrock = call->model->provider_data;
    tn_value credentials = model_get_config(call, "credentials");
    if (credentials == NULL && !bedrock->uses_default_credentials) return NULL;
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_begin(out, "aws", TN_OBJECT);
    tn_put_text(out, "service", "bedrock");
    tn_put_text(out, "region", bedrock->region);
    if (credentials != NULL) {
        bedrock_put(out, "key_id", tn_get(credentials, "key_id"));
        bedrock_put(out, "secret_key", tn_get(credentials, "secret_key"));
        bedrock_put(out, "session_token", tn_get(credentials, "session_token"));
    } else {
        bedrock_put_secret(out, "key_id", "AWS_ACCESS_KEY_ID", false);
        bedrock_put_secret(out, "secret_key", "AWS_SECRET_ACCESS_KEY", false);
        bedrock_put_secret(out, "session_token", "AWS_SESSION_TOKEN", true);
    }
    if (bedrock->skew_ms != 0) tn_put_int(out, "clock_skew_ms", bedrock->skew_ms);
    tn.value->end(out);
    tn.value->end(out);
    return tn_finish(out);
}

/* ---- Requests ---- */

static void bedrock_send(struct model_call *call) {
    const struct bedrock *bedrock = call->model->provider_data;
    struct bedrock_call *state = call->provider_data;
    char url[BEDROCK_URL_MAX + 32];
    bool streams = call->embed == NULL && model_is_streaming(call);
    const char *operation = call->embed != NULL ? "invoke" : streams ? "converse-stream" : "converse";
    (void)snprintf(url, sizeof url, "%s/%s", bedrock->url, operation);
    call->whole = !streams;
    state->skew_ms = bedrock->skew_ms;
    tn_value headers = bedrock_headers(call), sign = bedrock_sign(call);
    struct model_request request = {.path = url,
                                    .body = state->body,
                                    .headers = headers,
                                    .sign = sign,
                                    .whole = !streams,
                                    .keyless = true,
                                    .merged = true};
    model_send(call, &request);
    tn_release(headers);
    tn_release(sign);
}

static void bedrock_start(struct model_call *call) {
    const struct bedrock *bedrock = call->model->provider_data;
    struct bedrock_call *state = call->provider_data;
    if (call->model->name[0] == '\0')
        model_fail_request(call, "`model` is not set; set it to a model's id, an inference profile or an ARN, such as "
                                 "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0");
    else if (bedrock->region[0] == '\0')
        model_fail_request(call, "bedrock has no region: set `region`, AWS_REGION in the environment, or "
                                 "plugins.config.tenon.bedrock.region in tenon.yaml");
    if (call->ended) return;
    tn_release(state->body);
    state->body = call->embed != NULL ? bedrock_embed_request(call) : bedrock_request(call);
    if (call->ended) return;
    if (state->body == NULL)
        model_fail_request(
            call,
            "cannot build the request: check that all values can be represented in JSON, and the available memory");
    else
        bedrock_send(call);
}

static void bedrock_take_answer(struct model_call *call, tn_value json) {
    if (call->embed == NULL)
        bedrock_answer(call, json);
    else if (bedrock_embed_answer(call, json))
        bedrock_start(call);
}

/*
 * Measures how far the service's clock is ahead. Returns false if the request was signed with that time, or if the
 * service sent none. Another call may have changed the model's clock meanwhile.
 */
static bool bedrock_adjust_clock(const struct model_call *call) {
    struct bedrock *bedrock = call->model->provider_data;
    const struct bedrock_call *state = call->provider_data;
    int64_t at = tn_model_http_date(tn_get_text(tn_get(call->head, "headers"), "date", ""));
    int64_t skew_ms = at - tn.core->wall_ms(tn.host), change = skew_ms - state->skew_ms;
    if (at < 0 || (change < SKEW_SMALLEST_MS && change > -SKEW_SMALLEST_MS)) return false;
    if (skew_ms > SKEW_LARGEST_MS || skew_ms < -SKEW_LARGEST_MS) return false;
    bedrock->skew_ms = skew_ms;
    return true;
}

static bool bedrock_retry(struct model_call *call, int64_t status, const char *code) {
    const struct bedrock *bedrock = call->model->provider_data;
    struct bedrock_call *state = call->provider_data;
    if (status == 403 && !state->retried && bedrock_is_clock_error(tn_get(call->head, "headers")) &&
        bedrock_adjust_clock(call)) {
        state->retried = true;
        bedrock_send(call);
        return true;
    }
    if (strcmp(code, "SECRET_NOT_FOUND") != 0 || !bedrock->uses_default_credentials) return false;
    model_fail(call, "AUTH",
               "bedrock has no credentials: set the secrets AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and "
               "AWS_SESSION_TOKEN if they are temporary), or " BEARER_SECRET ", an API key; or set `credentials` or "
               "`api_key`");
    return true;
}

static void bedrock_release(struct model_call *call) {
    struct bedrock_call *state = call->provider_data;
    bedrock_answer_release(state);
    frames_free(&state->frames);
    tn_release(state->body);
}

static const struct model_provider bedrock = {.name = "bedrock",
                                              .base_url = "https://bedrock-runtime.us-east-1.amazonaws.com",
                                              .secret = BEARER_SECRET,
                                              .key_header = "authorization",
                                              .key_prefix = "Bearer ",
                                              .call_size = sizeof(struct bedrock_call),
                                              .create = bedrock_create,
                                              .destroy = bedrock_destroy,
                                              .start = bedrock_start,
                                              .event = bedrock_event,
                                              .data = bedrock_data,
                                              .stream_type = "amazon.eventstream",
                                              .answer = bedrock_take_answer,
                                              .error = bedrock_error,
                                              .release = bedrock_release,
                                              .retry = bedrock_retry,
                                              .has_embeddings = true};

MODEL_COMPONENT(bedrock_model, "bedrock", &bedrock)

/* ---- The plugin ---- */

static int32_t bedrock_init(void *self, tn_value config) {
    (void)self;
    section = tn_retain(config);
    return TN_OK;
}

static void bedrock_deinit(void *self) {
    (void)self;
    tn_release(section);
    section = NULL;
}

TN_LIFECYCLE(bedrock_init, NULL, bedrock_deinit)
