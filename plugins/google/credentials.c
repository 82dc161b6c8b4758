/*
 * credentials.c - reads credentials files and builds the requests for access tokens.
 *
 * Messages name files and members, but never quote their content. Nothing is cached: a file is read again for every
 * token, so a replaced file takes effect with the next token.
 */
#include "credentials.h"
#include "sign.h"
#include "token.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define JWT_SECONDS         3600
#define METADATA_CONNECT_MS 3000 /* short, so that a machine without a metadata server fails quickly */
#define TOKEN_TOTAL_MS      30000
#define TOKEN_BYTES_MAX     65536

/* ---- Files ---- */

/* Returns the path of the credentials file. *is_explicit: the configuration or the environment names it. Returns false
 * if there is no path. */
static bool credentials_find_file(const char *file, char path[PATH_MAX], bool *is_explicit) {
    const char *configured = file != NULL ? file : getenv("GOOGLE_APPLICATION_CREDENTIALS");
    const char *folder = getenv("CLOUDSDK_CONFIG"), *home = getenv("HOME");
    int length = 0;
    *is_explicit = configured != NULL && *configured != '\0';
    if (*is_explicit)
        length = snprintf(path, PATH_MAX, "%s", configured);
    else if (folder != NULL && *folder != '\0')
        length = snprintf(path, PATH_MAX, "%s/application_default_credentials.json", folder);
    else if (home != NULL && *home != '\0')
        length = snprintf(path, PATH_MAX, "%s/.config/gcloud/application_default_credentials.json", home);
    return length > 0 && length < PATH_MAX;
}

/* Reads a file as JSON, a new reference. On failure returns NULL and sets errno; errno is 0 if the content is not a
 * JSON object. */
static tn_value credentials_read_json(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) return NULL;
    char *text = tn.core->alloc(tn.host, CREDENTIALS_FILE_MAX);
    tn_value json = NULL;
    size_t used = 0;
    ssize_t got = -1;
    while (text != NULL && used < CREDENTIALS_FILE_MAX) {
        got = read(descriptor, text + used, CREDENTIALS_FILE_MAX - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        used += (size_t)got;
    }
    int failure = got < 0 ? errno : 0;
    (void)close(descriptor);
    if (got == 0 && tn.value->from_json(tn.host, text, used, &json, NULL) == TN_OK &&
        tn.value->kind(json) != TN_OBJECT) {
        tn_release(json);
        json = NULL;
    }
    if (text != NULL) explicit_bzero(text, CREDENTIALS_FILE_MAX);
    tn.core->release(tn.host, text);
    errno = failure;
    return json;
}

static bool credentials_is_text(tn_value object, const char *name) { return tn_get_text(object, name, "")[0] != '\0'; }

static bool credentials_check_members(tn_value json, const char *path, const char *const *names, size_t count,
                                      char message[CREDENTIALS_MESSAGE_MAX]) {
    for (size_t i = 0; i < count; i++) {
        if (credentials_is_text(json, names[i])) continue;
        (void)snprintf(message, CREDENTIALS_MESSAGE_MAX, "%.300s: `%s` is missing; create the credentials again", path,
                       names[i]);
        return false;
    }
    return true;
}

static bool credentials_check_kind(struct credentials *out, const char *path, char message[CREDENTIALS_MESSAGE_MAX]) {
    static const char *const user[] = {"client_id", "client_secret", "refresh_token"};
    static const char *const service[] = {"client_email", "private_key"};
    const char *type = tn_get_text(out->json, "type", "");
    if (strcmp(type, "authorized_user") == 0) {
        out->kind = CREDENTIALS_USER;
        return credentials_check_members(out->json, path, user, sizeof user / sizeof *user, message);
    }
    if (strcmp(type, "service_account") == 0) {
        out->kind = CREDENTIALS_SERVICE;
        return credentials_check_members(out->json, path, service, sizeof service / sizeof *service, message);
    }
    (void)snprintf(message, CREDENTIALS_MESSAGE_MAX,
                   "%.200s: unknown credentials type \"%.40s\"; expected authorized_user (gcloud auth "
                   "application-default login) or service_account (a key)",
                   path, type);
    return false;
}

bool credentials_find(const char *file, struct credentials *out, char message[CREDENTIALS_MESSAGE_MAX]) {
    char path[PATH_MAX];
    bool is_explicit = false;
    *out = (struct credentials){CREDENTIALS_MACHINE, NULL};
    if (!credentials_find_file(file, path, &is_explicit)) return true;
    out->json = credentials_read_json(path);
    if (out->json == NULL && !is_explicit && (errno == ENOENT || errno == EACCES || errno == EPERM)) return true;
    if (out->json == NULL) {
        (void)snprintf(message, CREDENTIALS_MESSAGE_MAX, "%.300s: %s", path,
                       errno != 0 ? strerror(errno)
                                  : "expected credentials of Google Cloud, a JSON object of at most 64 KiB");
        return false;
    }
    if (credentials_check_kind(out, path, message)) return true;
    credentials_finish(out);
    return false;
}

void credentials_finish(struct credentials *credentials) {
    tn_release(credentials->json);
    credentials->json = NULL;
}

/* ---- Requests ---- */

static tn_value credentials_sign_assertion(tn_value json, const char *audience) {
    uint64_t length = 0;
    const char *pem = tn_chars(tn_get(json, "private_key"), &length), *id = tn_get_text(json, "private_key_id", NULL);
    int64_t now = tn.core->wall_ms(tn.host) / 1000;
    tn_builder *header = tn_builder_new(), *claims = tn_builder_new();
    tn.value->begin(header, TN_OBJECT);
    tn_put_text(header, "alg", "RS256");
    tn_put_text(header, "typ", "JWT");
    if (id != NULL) tn_put_text(header, "kid", id);
    tn.value->end(header);
    tn.value->begin(claims, TN_OBJECT);
    tn_put(claims, "iss", tn_get(json, "client_email"));
    tn_put_text(claims, "scope", CREDENTIALS_SCOPE);
    tn_put_text(claims, "aud", audience);
    tn_put_int(claims, "iat", now);
    tn_put_int(claims, "exp", now + JWT_SECONDS);
    tn.value->end(claims);
    return sign_jwt_take(tn_finish(header), tn_finish(claims), pem, length);
}

static bool credentials_build_form(const struct credentials *credentials, const char *url, char *out, size_t size,
                                   char message[CREDENTIALS_MESSAGE_MAX]) {
    static const char *const members[] = {"client_id", "client_secret", "refresh_token"};
    bool fits = true;
    if (credentials->kind == CREDENTIALS_USER) {
        fits = token_put_form_field(out, size, "grant_type", "refresh_token");
        for (size_t i = 0; fits && i < sizeof members / sizeof *members; i++)
            fits = token_put_form_field(out, size, members[i], tn_get_text(credentials->json, members[i], ""));
    } else {
        tn_value assertion = credentials_sign_assertion(credentials->json, url);
        if (assertion == NULL) {
            (void)snprintf(
                message, CREDENTIALS_MESSAGE_MAX,
                "the service account's `private_key` cannot sign; expected an RSA key of 2048 bits or more, as "
                "PEM: create the key again");
            return false;
        }
        fits = token_put_form_field(out, size, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer") &&
               token_put_form_field(out, size, "assertion", tn_chars(assertion, NULL));
        tn_release(assertion);
    }
    if (!fits) (void)snprintf(message, CREDENTIALS_MESSAGE_MAX, "the credentials are too long");
    return fits;
}

/* Writes the members of the request that do not depend on the credentials, and ends the object. `private` lets a
 * recording match requests with any credentials, or without. */
static void credentials_put_limits(tn_builder *out, int64_t connect_ms) {
    tn_put_text(out, "private", "google-access-token");
    tn_put_begin(out, "timeout", TN_OBJECT);
    tn_put_int(out, "connect_ms", connect_ms);
    tn_put_int(out, "total_ms", TOKEN_TOTAL_MS);
    tn.value->end(out);
    tn_put_int(out, "max_bytes", TOKEN_BYTES_MAX);
    tn.value->end(out);
}

static tn_value credentials_metadata_request(const char *token_url) {
    const char *host = getenv("GCE_METADATA_HOST");
    char url[512];
    (void)snprintf(url, sizeof url, "http://%.200s/computeMetadata/v1/instance/service-accounts/default/token",
                   host != NULL && *host != '\0' ? host : CREDENTIALS_METADATA);
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "url", token_url != NULL ? token_url : url);
    tn_put_begin(out, "headers", TN_OBJECT);
    tn_put_text(out, "metadata-flavor", "Google");
    tn.value->end(out);
    credentials_put_limits(out, METADATA_CONNECT_MS);
    return tn_finish(out);
}

tn_value credentials_request(const struct credentials *credentials, const char *token_url,
                             char message[CREDENTIALS_MESSAGE_MAX]) {
    (void)snprintf(message, CREDENTIALS_MESSAGE_MAX, "not enough memory for the token request");
    if (credentials->kind == CREDENTIALS_MACHINE) return credentials_metadata_request(token_url);
    char *body = tn.core->alloc(tn.host, CREDENTIALS_FILE_MAX * 2);
    tn_value request = NULL;
    if (token_url == NULL) token_url = tn_get_text(credentials->json, "token_uri", CREDENTIALS_TOKEN_URL);
    if (body != NULL) body[0] = '\0';
    if (body != NULL && credentials_build_form(credentials, token_url, body, CREDENTIALS_FILE_MAX * 2, message)) {
        tn_builder *out = tn_builder_new();
        tn.value->begin(out, TN_OBJECT);
        tn_put_text(out, "url", token_url);
        tn_put_text(out, "method", "POST");
        tn_put_begin(out, "headers", TN_OBJECT);
        tn_put_text(out, "content-type", "application/x-www-form-urlencoded");
        tn.value->end(out);
        tn_put_text(out, "body", body);
        credentials_put_limits(out, 10000);
        request = tn_finish(out);
    }
    if (body != NULL) explicit_bzero(body, CREDENTIALS_FILE_MAX * 2);
    tn.core->release(tn.host, body);
    return request;
}
