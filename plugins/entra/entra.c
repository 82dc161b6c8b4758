/*
 * entra.c - the requests for tokens, and the hosts that tokens are sent to.
 */
#include "entra.h"
#include <tenon/util/build.h>

#include <stdlib.h>

#define ENTRA_FORM_MAX        4096
#define ENTRA_TOTAL_MS        30000
#define ENTRA_CONNECT_MS      10000
#define ENTRA_IDENTITY_MS     3000 /* to connect: short, so that a machine without an identity fails quickly */
#define ENTRA_TOKEN_BYTES_MAX 65536

/* ---- Settings ---- */

static bool entra_is_true(tn_value object, const char *name) {
    int32_t truth = 0;
    return tn.value->as_bool(tn_get(object, name), &truth) == TN_OK && truth;
}

static const char *entra_get(tn_value entra, const char *name, const char *variable) {
    const char *text = tn_get_text(entra, name, "");
    if (*text == '\0' && getenv(variable) != NULL) text = getenv(variable);
    return text;
}

/* A tenant is a part of the address: an id or a domain. */
static bool entra_is_tenant(const char *text) {
    for (const char *at = text; *at != '\0'; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
              strchr("-.", *at) != NULL))
            return false;
    return *text != '\0' && *text != '.' && strlen(text) <= 200;
}

static bool entra_host_is_azure(const char *url) {
    static const char *const domains[] = {
        ".openai.azure.com",       ".services.ai.azure.com",     ".cognitiveservices.azure.com",
        ".inference.ai.azure.com", ".openai.azure.us",           ".cognitiveservices.azure.us",
        ".openai.azure.cn",        ".cognitiveservices.azure.cn"};
    if (strncmp(url, "https://", 8) != 0 || strchr(url, '@') != NULL || strchr(url, '\\') != NULL) return false;
    size_t length = strcspn(url + 8, ":/?#");
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        size_t size = strlen(domains[i]);
        if (length > size && memcmp(url + 8 + length - size, domains[i], size) == 0) return true;
    }
    return false;
}

/* Compares scheme, host and port. */
static bool entra_same_origin(const char *a, const char *b) {
    const char *host_a = strstr(a, "://"), *host_b = strstr(b, "://");
    if (host_a == NULL || host_b == NULL) return false;
    size_t length = (size_t)(host_a + 3 - a) + strcspn(host_a + 3, "/?#");
    return length == (size_t)(host_b + 3 - b) + strcspn(host_b + 3, "/?#") && strncmp(a, b, length) == 0;
}

const char *entra_fault(tn_value entra, const char *base_url, const char *trusted_url) {
    if (!entra_host_is_azure(base_url) && (trusted_url == NULL || !entra_same_origin(base_url, trusted_url)))
        return "with `entra`, `base_url` must be an address of Azure (https://NAME.openai.azure.com/…): tokens are "
               "sent to no "
               "other host. If this address is right, set it as plugins.config.tenon.openai.azure_url in tenon.yaml";
    if (entra_is_true(entra, "managed_identity")) return NULL;
    if (!entra_is_tenant(entra_get(entra, "tenant", "AZURE_TENANT_ID")))
        return "`entra.tenant` is missing, or is not an id or a domain: set it, or AZURE_TENANT_ID, or "
               "`managed_identity: true` on "
               "a machine of Azure";
    if (*entra_get(entra, "client_id", "AZURE_CLIENT_ID") == '\0')
        return "`entra.client_id` is missing: set it, or AZURE_CLIENT_ID, to the id of the application";
    return NULL;
}

struct token_source *entra_source_new(const struct token_maker *maker, tn_value entra, tn_value section,
                                      const tn_http_1 *http) {
    static const char *const kept[] = {"entra_authority", "identity_url"};
    tn_value settings = tn_retain(entra);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const char *text = tn_get_text(section, kept[i], NULL);
        if (text != NULL) settings = tn_set_take(settings, kept[i], tn_text(text));
    }
    struct token_source *source = token_source_new(maker, settings, http);
    tn_release(settings);
    return source;
}

/* ---- Requests ---- */

/* Writes the members that both kinds of requests have, and ends the object. */
static tn_value entra_finish_request(tn_builder *out, int64_t connect_ms) {
    tn_put_text(out, "private", "azure-access-token");
    tn_put_begin(out, "timeout", TN_OBJECT);
    tn_put_int(out, "connect_ms", connect_ms);
    tn_put_int(out, "total_ms", ENTRA_TOTAL_MS);
    tn.value->end(out);
    tn_put_int(out, "max_bytes", ENTRA_TOKEN_BYTES_MAX);
    tn.value->end(out);
    return tn_finish(out);
}

/* The machine's server wants a resource instead of a scope: without "/.default". */
static tn_value entra_build_identity(tn_value settings) {
    const char *scope = tn_get_text(settings, "scope", ENTRA_SCOPE),
               *id = entra_get(settings, "client_id", "AZURE_CLIENT_ID");
    const char *end = strstr(scope, "/.default");
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "url", tn_get_text(settings, "identity_url", ENTRA_IDENTITY));
    tn_put_begin(out, "query", TN_OBJECT);
    tn_put_text(out, "api-version", "2018-02-01");
    tn_put_take(out, "resource", tn_text_n(scope, end != NULL ? (uint64_t)(end - scope) : strlen(scope)));
    if (*id != '\0') tn_put_text(out, "client_id", id);
    tn.value->end(out);
    tn_put_begin(out, "headers", TN_OBJECT);
    tn_put_text(out, "metadata", "true");
    tn.value->end(out);
    return entra_finish_request(out, ENTRA_IDENTITY_MS);
}

static void entra_put_secret(tn_builder *out, tn_value secret) {
    if (tn.value->kind(secret) > TN_NULL) {
        tn_put(out, NULL, secret);
        return;
    }
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put_text(out, "secret", "AZURE_CLIENT_SECRET");
    tn.value->end(out);
}

/* The host inserts the secret at the end of the form as it is: Azure makes secrets that need no encoding. */
static tn_value entra_build_client(tn_value settings, char message[TOKEN_MESSAGE_MAX]) {
    const char *authority = tn_get_text(settings, "entra_authority", ENTRA_AUTHORITY);
    const char *tenant = entra_get(settings, "tenant", "AZURE_TENANT_ID");
    char form[ENTRA_FORM_MAX] = "", url[1024];
    size_t length = strlen(authority);
    while (length > 0 && authority[length - 1] == '/') length--;
    int written = snprintf(url, sizeof url, "%.*s/%s/oauth2/v2.0/token", (int)length, authority, tenant);
    bool fits =
        written > 0 && written < (int)sizeof url &&
        token_put_form_field(form, sizeof form, "grant_type", "client_credentials") &&
        token_put_form_field(form, sizeof form, "client_id", entra_get(settings, "client_id", "AZURE_CLIENT_ID")) &&
        token_put_form_field(form, sizeof form, "scope", tn_get_text(settings, "scope", ENTRA_SCOPE)) &&
        token_put_form_field(form, sizeof form, "client_secret", "");
    if (!fits) {
        (void)snprintf(message, TOKEN_MESSAGE_MAX, "the settings of `entra` are too long");
        return NULL;
    }
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "url", url);
    tn_put_text(out, "method", "POST");
    tn_put_begin(out, "headers", TN_OBJECT);
    tn_put_text(out, "content-type", "application/x-www-form-urlencoded");
    tn.value->end(out);
    tn_put_begin(out, "body", TN_ARRAY);
    tn_put_text(out, NULL, form);
    entra_put_secret(out, tn_get(settings, "client_secret"));
    tn.value->end(out);
    return entra_finish_request(out, ENTRA_CONNECT_MS);
}

bool entra_build_token_request(tn_value settings, struct token_request *out, char message[TOKEN_MESSAGE_MAX]) {
    (void)snprintf(message, TOKEN_MESSAGE_MAX, "not enough memory for the token request");
    out->uses_machine = entra_is_true(settings, "managed_identity");
    out->request = out->uses_machine ? entra_build_identity(settings) : entra_build_client(settings, message);
    out->note = NULL;
    return out->request != NULL;
}
