/*
 * google.c - sources of access tokens for Google Cloud, and what is the same in all addresses of Vertex.
 */
#include "google.h"
#include "credentials.h"

bool google_build_token_request(tn_value settings, struct token_request *out, char message[TOKEN_MESSAGE_MAX]) {
    struct credentials credentials;
    if (!credentials_find(tn_get_text(settings, "file", NULL), &credentials, message)) return false;
    out->uses_machine = credentials.kind == CREDENTIALS_MACHINE;
    out->request = credentials_request(&credentials, tn_get_text(settings, "token_url", NULL), message);
    tn_value project = tn_get(credentials.json, "quota_project_id");
    out->note = out->request != NULL && tn.value->kind(project) == TN_STRING ? tn_retain(project) : NULL;
    credentials_finish(&credentials);
    return out->request != NULL;
}

struct token_source *google_source_new(const struct token_maker *maker, const char *file, const char *token_url,
                                       const tn_http_1 *http) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    if (file != NULL) tn_put_text(builder, "file", file);
    if (token_url != NULL) tn_put_text(builder, "token_url", token_url);
    tn.value->end(builder);
    tn_value settings = tn_finish(builder);
    struct token_source *source = token_source_new(maker, settings, http);
    tn_release(settings);
    return source;
}

/* ---- Addresses ---- */

bool google_url_is_google(const char *url) {
    static const char domain[] = ".googleapis.com";
    if (strncmp(url, "https://", 8) != 0) return false;
    size_t length = strcspn(url + 8, "/?#");
    if (length < sizeof domain || memchr(url + 8, '@', length) != NULL || memchr(url + 8, '\\', length) != NULL)
        return false;
    return memcmp(url + 8 + length - (sizeof domain - 1), domain, sizeof domain - 1) == 0;
}

bool google_location_is_valid(const char *location) {
    for (const char *at = location; *at != '\0'; at++)
        if (!((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '-' || *at == '.')) return false;
    return *location != '\0' && *location != '.';
}

bool google_project_is_valid(const char *project) {
    for (const char *at = project; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || strchr("/?#&%\\", *at) != NULL) return false;
    return *project != '\0';
}

int google_format_vertex_host(char out[GOOGLE_HOST_MAX], const char *location) {
    if (strcmp(location, "global") == 0) return snprintf(out, GOOGLE_HOST_MAX, "https://aiplatform.googleapis.com");
    if (strcmp(location, "us") == 0 || strcmp(location, "eu") == 0)
        return snprintf(out, GOOGLE_HOST_MAX, "https://aiplatform.%s.rep.googleapis.com", location);
    return snprintf(out, GOOGLE_HOST_MAX, "https://%s-aiplatform.googleapis.com", location);
}
