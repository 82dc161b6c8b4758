/*
 * oci_client_auth.c - answers the challenge of a registry: with the password (Basic), or with a token that a token
 * service issues for it (Bearer; docker.com's "token authentication", which all registries use).
 *
 * The user and the name of the secret come from packs.registries in tenon.yaml, or both from `docker login`
 * (oci_docker.h). Without them, a token is requested anonymously, which public repositories allow. A password is sent
 * only with encryption, unless the registry is this machine or tenon.yaml allows it for this registry; and only to the
 * secret's `hosts`, if it has such a list. The challenge must have come with encryption, too: otherwise any machine on
 * the network could name its own token service.
 */
#include "host/net/oci/oci_client_auth.h"
#include "adl/value/base64.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/base/secrets/secrets.h"
#include "host/net/oci/oci_challenge.h"
#include "host/net/oci/oci_docker.h"
#include <string.h>

/* ---- The password ---- */

static bool may_send_plainly(const struct oci_client *client, tn_value configured) {
    return oci_reference_is_loopback(&client->reference) || value_get(configured, "plain_http") == value_bool(true);
}

/* True if the registry's challenge and the password, which is sent to `to`, are both encrypted. */
static bool is_encrypted(const struct oci_client *client, const struct url *to) {
    return client->base.secure && to->secure;
}

static bool secret_allows(const struct oci_client *client, const char *name, const struct url *to) {
    tn_value hosts = config_secret_hosts(client->options.config, name);
    if (!hosts) return true;
    for (size_t i = 0; i < value_count(hosts); i++)
        if (url_matches(to, value_chars(value_at(hosts, i), NULL))) return true;
    return false;
}

static int32_t refuse_plain(const char *host, const char *what, struct error *error) {
    return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                     "the password for the registry %s is not sent without encryption%s", host, what);
}

/* Returns "Basic …" for USER:PASSWORD, a new reference. */
static tn_value basic_text(const void *pair, size_t length) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, "Basic ");
    base64_write(&text, pair, length);
    tn_value header = value_text_n(text.data, text.length);
    buffer_wipe(&text);
    return header;
}

/* The password that another client has saved. */
static int32_t saved_header(const struct oci_client *client, const struct url *to, tn_value *out, struct error *error) {
    const char *host = client->reference.host;
    tn_value pair;
    size_t length;
    int32_t status = oci_docker_password(host, &pair, error);
    if (status != TN_OK || !pair) return status;
    const char *text = value_data(pair, &length), *colon = memchr(text, ':', length);
    if (is_encrypted(client, to) || oci_reference_is_loopback(&client->reference)) {
        secrets_learn_sent(client->options.secrets, colon + 1, length - (size_t)(colon + 1 - text));
        *out = basic_text(text, length);
    } else {
        status = refuse_plain(host, "", error);
    }
    value_unref(pair);
    return status;
}

/* Sets *out to "Basic …", a new reference, or to NULL if there is no password for this registry. */
static int32_t basic_header(const struct oci_client *client, const struct url *to, tn_value *out, struct error *error) {
    const char *host = client->reference.host;
    tn_value configured = config_registry(client->options.config, host);
    tn_value user = configured ? value_get(configured, "user") : NULL, password = NULL;
    *out = NULL;
    if (!user) return saved_header(client, to, out, error);
    const char *name = value_chars(value_get(value_get(configured, "password"), "secret"), NULL);
    if (!secret_allows(client, name, to))
        return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                         "the registry %s needs the secret `%s` at %s, but tenon.yaml allows only other hosts; add the "
                         "host to `secrets.%s.hosts` to allow it",
                         host, name, to->host, name);
    if (!is_encrypted(client, to) && !may_send_plainly(client, configured))
        return refuse_plain(host, "; `plain_http: true` in `packs.registries` of tenon.yaml allows it", error);
    int32_t status = secrets_get(client->options.secrets, name, loop_now_ms(client->options.loop), &password, error);
    if (status != TN_OK) return status;
    struct buffer pair;
    size_t length;
    const char *chars = value_chars(password, &length);
    buffer_init(&pair, SIZE_MAX);
    buffer_format(&pair, "%s:", value_chars(user, NULL));
    buffer_append(&pair, chars, length);
    *out = basic_text(pair.data, pair.length);
    buffer_wipe(&pair);
    value_unref(password);
    return TN_OK;
}

static int32_t password_missing(const struct oci_client *client, struct error *error) {
    return error_set(error, TN_ERROR, "AUTH",
                     "%s: the registry requires a user and a password; add `packs: {registries: {\"%s\": {user: NAME, "
                     "password: {secret: NAME}}}}` to tenon.yaml",
                     oci_client_where(client), client->reference.host);
}

static int32_t password_refused(const struct oci_client *client, struct error *error) {
    return error_set(error, TN_ERROR, "AUTH",
                     "%s: the registry refuses the user and the password that `packs.registries` in tenon.yaml, or "
                     "`docker login`, has set",
                     oci_client_where(client));
}

static int32_t answer_basic(struct oci_client *client, struct error *error) {
    tn_value header;
    int32_t status = basic_header(client, &client->base, &header, error);
    if (status != TN_OK) return status;
    if (!header) return password_missing(client, error);
    value_unref(client->authorization);
    client->authorization = header;
    client->has_password = true;
    return TN_OK;
}

/* ---- A token ---- */

/* The scope that the challenge names, or what this client needs; a new reference. */
static tn_value token_scope(const struct oci_client *client, const struct oci_challenge *challenge) {
    tn_value pull = value_format("repository:%s:pull", client->reference.name);
    const char *scope = challenge->scope ? challenge->scope : value_chars(pull, NULL);
    /* The challenge to the first request of a push may name only what that request needs. */
    bool extend = client->options.push && strcmp(scope, value_chars(pull, NULL)) == 0;
    tn_value made = value_format("%s%s", scope, extend ? ",push" : "");
    value_unref(pull);
    return made;
}

static int32_t token_url(const struct oci_client *client, const char *realm, struct url *out, struct error *error) {
    const char *why = url_read(out, realm, strlen(realm), &client->base);
    if (why)
        return error_set(error, TN_ERROR, "PROTOCOL", "%s: the address of the registry's token service is invalid: %s",
                         oci_client_where(client), why);
    /* A registry on this machine may have its token service there, on another port. */
    if (out->secure || (!client->base.secure && strcmp(out->host, client->base.host) == 0)) return TN_OK;
    error_set(error, TN_INVALID, "PERMISSION_DENIED",
              "%s: the registry's token service %s is not used, because it is not encrypted", oci_client_where(client),
              out->host);
    url_finish(out);
    return TN_INVALID;
}

static tn_value token_request(const struct oci_client *client, const struct oci_challenge *challenge,
                              const struct url *url, tn_value basic) {
    struct buffer text;
    tn_value query = value_set_take(value_object(), "scope", token_scope(client, challenge)), made = value_object();
    buffer_init(&text, SIZE_MAX);
    url_write(&text, url);
    made = value_set_take(made, "url", value_text(buffer_cstr(&text)));
    buffer_finish(&text);
    if (challenge->service)
        query = value_set_take(query, "service", value_string_lossy(challenge->service, strlen(challenge->service)));
    made = value_set_take(made, "query", query);
    if (basic)
        made = value_set_take(made, "headers", value_set_take(value_object(), "authorization", value_ref(basic)));
    made = value_set_take(made, "private", value_text("oci-token"));
    made = value_set_take(made, "max_bytes", value_int(OCI_TOKEN_RESPONSE_MAX));
    made = value_set_take(made, "timeout", value_set_take(value_object(), "total_ms", value_int(OCI_TOTAL_MS)));
    return value_set_take(made, "retry", oci_retry());
}

/* Returns the token in {"token" or "access_token": …}, borrowed, or NULL. */
static const char *token_of(tn_value body) {
    tn_value token = value_get(body, "token");
    if (!value_is(token, TN_STRING)) token = value_get(body, "access_token");
    if (!value_is(token, TN_STRING)) return NULL;
    size_t length;
    const char *text = value_chars(token, &length);
    bool good = length > 0 && length <= OCI_TOKEN_MAX;
    for (size_t i = 0; good && i < length; i++) good = text[i] > ' ' && text[i] <= '~';
    return good ? text : NULL;
}

static int32_t token_take(struct oci_client *client, const struct url *url, bool anonymous, tn_value end,
                          struct error *error) {
    int64_t http_status = value_to_int(value_get(end, "status"));
    size_t length = 0;
    const char *text = value_get(end, "body") ? value_data(value_get(end, "body"), &length) : NULL;
    tn_value body = NULL;
    if ((http_status == 401 || http_status == 403) && anonymous) return password_missing(client, error);
    if (http_status == 401 || http_status == 403) return password_refused(client, error);
    if (http_status / 100 != 2)
        return error_set(error, TN_ERROR, "AUTH", "%s: the registry's token service %s answered with the status %d",
                         oci_client_where(client), url->host, (int)http_status);
    (void)json_read(text ? text : "", length, NULL, &body, NULL);
    const char *token = token_of(body);
    int32_t status = TN_OK;
    if (token) {
        value_unref(client->authorization);
        client->authorization = value_format("Bearer %s", token);
        client->has_password = !anonymous;
    } else {
        status = error_set(error, TN_ERROR, "INVALID_RESPONSE",
                           "%s: the registry's token service %s answered without a token of at most %u KiB",
                           oci_client_where(client), url->host, OCI_TOKEN_MAX >> 10);
    }
    value_unref(body);
    return status;
}

static int32_t answer_bearer(struct oci_client *client, const struct oci_challenge *challenge, struct error *error) {
    struct url url;
    tn_value basic = NULL, end = NULL;
    int32_t status = token_url(client, challenge->realm, &url, error);
    if (status != TN_OK) return status;
    status = basic_header(client, &url, &basic, error);
    if (status == TN_OK) {
        tn_value object = token_request(client, challenge, &url, basic);
        status = oci_exchange(client, &(struct oci_request){.max_bytes = OCI_TOKEN_RESPONSE_MAX}, object, &end, error);
        value_unref(object);
    }
    if (status == TN_OK) status = token_take(client, &url, basic == NULL, end, error);
    value_unref(end);
    value_unref(basic);
    url_finish(&url);
    return status;
}

/* ---- Challenges ---- */

int32_t oci_authenticate(struct oci_client *client, const char *header, struct error *error) {
    struct oci_challenge challenge;
    int32_t status;
    oci_challenge_read(header ? header : "", header ? strlen(header) : 0, &challenge);
    bool basic = client->authorization && strncmp(value_chars(client->authorization, NULL), "Basic ", 6) == 0;
    if (challenge.scheme == OCI_NO_CHALLENGE)
        status = error_set(error, TN_ERROR, "AUTH",
                           "%s: the registry refuses access (status 401) and does not say how to authenticate",
                           oci_client_where(client));
    else if (challenge.scheme == OCI_BASIC)
        status = basic ? password_refused(client, error) : answer_basic(client, error);
    else
        status = answer_bearer(client, &challenge, error);
    oci_challenge_finish(&challenge);
    return status;
}
