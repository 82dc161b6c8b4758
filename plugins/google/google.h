/*
 * google.h - access tokens of Google Cloud, and the addresses of Vertex, for plugins with models there.
 *
 *     struct token_source *source = google_source_new(&maker, file, token_url, http);
 *
 * token.h has what a source can do; its note is the project that is billed (quota_project_id).
 */
#ifndef TENON_PLUGINS_GOOGLE_H
#define TENON_PLUGINS_GOOGLE_H

#include "token.h"

#define GOOGLE_LOCATION "asia-northeast1" /* the default location on Vertex */
#define GOOGLE_HOST_MAX 256

/* A maker for a plugin: `name` is the provider, and its plugin is tenon.NAME. */
#define GOOGLE_MAKER(name)                                                                                             \
    {                                                                                                                  \
        name, "Google", google_build_token_request,                                                                    \
            ": the credentials have expired, were revoked, or have no access; create them again with gcloud auth "     \
            "application-default login, or check the service account's key",                                           \
            "found no credentials for Vertex: no file in GOOGLE_APPLICATION_CREDENTIALS or in gcloud's folder, and "   \
            "no metadata server; run gcloud auth application-default login, or set the file as "                       \
            "plugins.config.tenon." name ".credentials in tenon.yaml"                                                  \
    }

/* `build` of a maker. */
bool google_build_token_request(tn_value settings, struct token_request *out, char message[TOKEN_MESSAGE_MAX]);
/* The texts may be NULL. Returns NULL if allocation fails. */
struct token_source *google_source_new(const struct token_maker *maker, const char *file, const char *token_url,
                                       const tn_http_1 *http);

/* True for https://….googleapis.com/…. A document can send a token only to such an address. */
bool google_url_is_google(const char *url);
/* True if the location can be a part of a host name and of a path. */
bool google_location_is_valid(const char *location);
/* True if the project can be a part of a path. "example.com:project" is an old form of a project's id. */
bool google_project_is_valid(const char *project);
/* Writes "https://LOCATION-aiplatform.googleapis.com", or the host of a multi-region or of `global`. Returns the length
 * as snprintf. */
int google_format_vertex_host(char out[GOOGLE_HOST_MAX], const char *location);

#endif
