/*
 * client.c - chooses how this client is identified, and authenticates it in one of four ways.
 */
#include "client.h"
#include "metadata.h"
#include "sign.h" /* in plugins/sign */
#include <sys/random.h>
#include <tenon/base64.h>

#define ASSERTION     "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
#define ASSERTION_S   300 /* life of an assertion */
#define JTI_BYTES     16
#define CLIENT_SECRET "client_secret"

void form_put(struct tn_text_buffer *form, const char *name, const char *value) {
    if (form->length > 0) tn_text_append(form, "&");
    tn_text_append(form, name);
    tn_text_append(form, "=");
    tn_text_append_percent(form, value, strlen(value), "");
}

/* ---- Authentication method ---- */

/* True if the server supports the method. Without metadata, RFC 8414's default and clients without a secret are
 * supported. */
static bool server_accepts_method(tn_value server, const char *method) {
    tn_value methods = tn_get(server, "methods");
    if (methods == NULL) return strcmp(method, "none") == 0 || strcmp(method, "client_secret_basic") == 0;
    return metadata_contains(methods, method);
}

static const char *choose_auth_method(tn_value config, tn_value server, bool secret, bool key) {
    static const char *const secrets[] = {"client_secret_basic", "client_secret_post"};
    const char *chosen = tn_get_text(config, "auth_method", NULL);
    if (chosen != NULL) return chosen;
    if (key) return "private_key_jwt";
    for (size_t i = 0; secret && i < 2; i++)
        if (server_accepts_method(server, secrets[i])) return secrets[i];
    return secret ? secrets[0] : "none";
}

static tn_value client_new(const char *id, const char *secret, const char *method, const char *redirect_uri) {
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "client_id", id);
    if (secret != NULL) tn_put_text(builder, CLIENT_SECRET, secret);
    tn_put_text(builder, "method", method);
    if (redirect_uri != NULL) tn_put_text(builder, "redirect_uri", redirect_uri);
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value client_from_config(tn_value config, tn_value server, char *why, size_t size) {
    const char *id = tn_get_text(config, "client_id", NULL), *url = tn_get_text(config, "client_metadata_url", NULL);
    const char *secret = tn_get_text(config, CLIENT_SECRET, NULL), *key = tn_get_text(config, "private_key", NULL);
    bool registers = tn_get_text(server, "registration_endpoint", NULL) != NULL;
    *why = '\0';
    if (id != NULL)
        return client_new(id, secret, choose_auth_method(config, server, secret != NULL, key != NULL), NULL);
    if (url != NULL && value_is_true(tn_get(server, "url_clients")))
        return client_new(url, NULL, choose_auth_method(config, server, false, key != NULL), NULL);
    if (!registers)
        (void)snprintf(why, size,
                       "the authorization server %.200s does not register clients%s; register one manually and set its "
                       "`client_id` (and `client_secret`) in `oauth` of the server in tenon.yaml",
                       tn_get_text(server, "issuer", "?"),
                       url != NULL ? " and does not support client metadata documents" : "");
    return NULL;
}

/* ---- Registration ---- */

static void put_string_list(tn_builder *builder, const char *name, const char *const *texts, size_t count) {
    tn_put_begin(builder, name, TN_ARRAY);
    for (size_t i = 0; i < count; i++) tn_put_text(builder, NULL, texts[i]);
    tn.value->end(builder);
}

tn_value client_make_registration(tn_value config, tn_value server, const char *redirect_uri, bool bound) {
    static const char *const grants[] = {"authorization_code", "refresh_token"}, *const code[] = {"code"};
    static const char *const methods[] = {"none", "client_secret_basic", "client_secret_post"};
    const char *method = methods[0];
    bool loopback = strncmp(redirect_uri, "http://", 7) == 0;
    for (size_t i = 0; i < 3; i++) {
        if (!server_accepts_method(server, methods[i])) continue;
        method = methods[i];
        break;
    }
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "client_name", tn_get_text(config, "client_name", "Tenon"));
    tn_put_text(builder, "application_type", loopback ? "native" : "web");
    put_string_list(builder, "redirect_uris", &redirect_uri, 1);
    put_string_list(builder, "grant_types", grants, 2);
    put_string_list(builder, "response_types", code, 1);
    if (bound) tn_put_bool(builder, "dpop_bound_access_tokens", 1);
    tn_put_text(builder, "token_endpoint_auth_method", tn_get_text(config, "auth_method", method));
    tn.value->end(builder);
    return tn_finish(builder);
}

tn_value client_read_registration(tn_value answer, tn_value server, const char *redirect_uri, char *why, size_t size) {
    uint64_t length = 0, secret_length = 0;
    const char *id = tn_chars(tn_get(answer, "client_id"), &length);
    const char *secret = tn_chars(tn_get(answer, CLIENT_SECRET), &secret_length);
    const char *method = tn_get_text(answer, "token_endpoint_auth_method", NULL);
    if (id == NULL || length == 0 || length > OAUTH_TEXT_MAX || secret_length > OAUTH_TEXT_MAX) {
        (void)snprintf(why, size, "the authorization server %.200s registered this client without a `client_id`",
                       tn_get_text(server, "issuer", "?"));
        return NULL;
    }
    if (method == NULL)
        method = choose_auth_method(NULL, server,
                                    secret != NULL && server_accepts_method(server, "client_secret_basic"), false);
    if (strcmp(method, "none") == 0 && !server_accepts_method(server, "none") && secret != NULL)
        method = "client_secret_post";
    tn_value client = client_new(id, secret, method, redirect_uri);
    int64_t ends = tn_get_int(answer, "client_secret_expires_at", 0);
    return secret != NULL && ends > 0 && ends < INT64_MAX / 1000
               ? tn_set_take(client, "expires_at", tn_int(ends * 1000))
               : client;
}

bool client_is_valid(tn_value client) {
    int64_t ends = tn_get_int(client, "expires_at", 0);
    return client != NULL && (ends <= 0 || ends > tn.core->wall_ms(tn.host));
}

/* ---- Authentication ---- */

static bool client_fail(char *why, size_t size, const char *text) {
    (void)snprintf(why, size, "%s", text);
    return false;
}

static tn_value make_basic_header(const char *id, const char *secret) { /* RFC 6749, 2.3.1: both are encoded first */
    struct tn_text_buffer first = {.limit = 3u * OAUTH_TEXT_MAX}, second = {.limit = 3u * OAUTH_TEXT_MAX};
    tn_text_append_percent(&first, id, strlen(id), "");
    tn_text_append_percent(&second, secret, strlen(secret), "");
    tn_value result = first.status != TN_OK || second.status != TN_OK
                          ? NULL
                          : rest_basic_auth(tn_text_chars(&first), tn_text_chars(&second));
    tn_text_free(&first);
    tn_text_free(&second);
    return result;
}

/* RFC 7523, 3: only for the issuer, and for one use. */
static tn_value make_client_assertion(const char *id, tn_value config, tn_value server) {
    uint64_t length = 0;
    const char *pem = tn_chars(tn_get(config, "private_key"), &length);
    const char *algorithm = sign_key_algorithm(pem, length), *key_id = tn_get_text(config, "key_id", NULL);
    int64_t now = tn.core->wall_ms(tn.host) / 1000;
    unsigned char chance[JTI_BYTES];
    char jti[JTI_BYTES * 2];
    if (algorithm == NULL || getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) return NULL;
    *tn_base64url_put(jti, chance, sizeof chance) = '\0';
    tn_builder *header = tn_builder_new(), *claims = tn_builder_new();
    tn.value->begin(header, TN_OBJECT);
    tn_put_text(header, "alg", algorithm);
    tn_put_text(header, "typ", "JWT");
    if (key_id != NULL) tn_put_text(header, "kid", key_id);
    tn.value->end(header);
    tn.value->begin(claims, TN_OBJECT);
    tn_put_text(claims, "iss", id);
    tn_put_text(claims, "sub", id);
    tn_put_text(claims, "aud", tn_get_text(server, "issuer", ""));
    tn_put_text(claims, "jti", jti);
    tn_put_int(claims, "iat", now);
    tn_put_int(claims, "exp", now + ASSERTION_S);
    tn.value->end(claims);
    return sign_jwt_take(tn_finish(header), tn_finish(claims), pem, length);
}

bool client_authenticate(tn_value client, tn_value config, tn_value server, struct tn_text_buffer *form,
                         tn_value *authorization, char *why, size_t size) {
    const char *id = tn_get_text(client, "client_id", ""), *secret = tn_get_text(client, CLIENT_SECRET, NULL);
    const char *method = tn_get_text(client, "method", "none");
    bool is_basic = strcmp(method, "client_secret_basic") == 0, is_post = strcmp(method, "client_secret_post") == 0;
    *authorization = NULL;
    if ((is_basic || is_post) && secret == NULL)
        return client_fail(why, size,
                           "the authorization server requires a client secret, but none is set; set "
                           "`client_secret` in `oauth` of the server in tenon.yaml");
    if (is_basic) {
        *authorization = make_basic_header(id, secret);
        return *authorization != NULL || client_fail(why, size, "`client_id` and `client_secret` are too long");
    }
    form_put(form, "client_id", id);
    if (is_post) form_put(form, CLIENT_SECRET, secret);
    if (strcmp(method, "private_key_jwt") != 0) return true;
    tn_value proof = make_client_assertion(id, config, server);
    if (proof == NULL)
        return client_fail(why, size,
                           sign_is_available()
                               ? "`private_key` cannot sign; expected an RSA key (2048 bits or more) or a key of the "
                                 "curve P-256, in PEM without a password, as {secret: NAME}"
                               : "`private_key` cannot be used: this build has no libcrypto");
    form_put(form, "client_assertion_type", ASSERTION);
    form_put(form, "client_assertion", tn_chars(proof, NULL));
    tn_release(proof);
    return true;
}
