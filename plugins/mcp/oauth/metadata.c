/*
 * metadata.c - checks metadata. Every URL in a document must be https, or on this machine if the server is also on it,
 * so that a document cannot make the client send a secret to an unsafe place.
 */
#include "metadata.h"
#include "address.h"
#include "challenge.h"

__attribute__((format(printf, 3, 4))) static tn_value metadata_fail(char *why, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(why, size, format, arguments);
    va_end(arguments);
    return NULL;
}

bool metadata_contains(tn_value list, const char *text) {
    for (uint64_t i = 0, count = tn.value->count(list); i < count; i++)
        if (value_is(tn.value->at(list, i), text)) return true;
    return false;
}

static bool is_safe_url(const char *url, bool local) {
    struct address address;
    return address_read(url, &address) && address_is_safe(&address, local);
}

/* ---- The resource ---- */

static tn_value join_scope_list(tn_value list) {
    tn_value scope = NULL;
    for (uint64_t i = 0, count = tn.value->count(list); i < count && i < OAUTH_SCOPES_MAX; i++) {
        tn_value longer = scopes_join(tn_chars(scope, NULL), tn_chars(tn.value->at(list, i), NULL));
        tn_release(scope);
        scope = longer;
    }
    return scope;
}

static void put_issuers(tn_builder *builder, tn_value list, bool local, uint64_t *count) {
    tn_put_begin(builder, "authorization_servers", TN_ARRAY);
    for (uint64_t i = 0; i < tn.value->count(list) && i < OAUTH_ISSUERS_MAX; i++) {
        const char *url = tn_chars(tn.value->at(list, i), NULL);
        if (url == NULL || !is_safe_url(url, local)) continue;
        tn_put_text(builder, NULL, url);
        ++*count;
    }
    tn.value->end(builder);
}

tn_value metadata_read_resource(tn_value document, const char *server, bool local, char *why, size_t size) {
    const char *resource = tn_get_text(document, "resource", NULL);
    tn_value list = tn_get(document, "authorization_servers");
    uint64_t count = 0;
    if (resource == NULL || !address_covers(resource, server))
        return metadata_fail(why, size, "its metadata is for the resource `%.200s`; expected %.200s or a parent of it",
                             resource != NULL ? resource : "(none)", server);
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "resource", resource);
    put_issuers(builder, list, local, &count);
    tn_value scope = join_scope_list(tn_get(document, "scopes_supported"));
    if (scope != NULL) tn_put_take(builder, "scope", scope);
    if (value_is_true(tn_get(document, "dpop_bound_access_tokens_required"))) tn_put_bool(builder, "dpop", 1);
    tn.value->end(builder);
    tn_value result = tn_finish(builder);
    if (count > 0) return result;
    tn_release(result);
    const char *first = tn_chars(tn.value->at(list, 0), NULL);
    return metadata_fail(why, size,
                         "its metadata names %s%.200s%s; expected `authorization_servers` with an https address",
                         first != NULL ? "the authorization server `" : "no authorization server",
                         first != NULL ? first : "", first != NULL ? "`" : "");
}

/* ---- The authorization server ---- */

static bool put_endpoint(tn_builder *builder, tn_value document, const char *name, bool local, char *why, size_t size) {
    const char *url = tn_get_text(document, name, NULL);
    if (url == NULL) return true;
    if (is_safe_url(url, local)) {
        tn_put_text(builder, name, url);
        return true;
    }
    (void)metadata_fail(why, size, "its `%s` is `%.200s`; expected an https URL", name, url);
    return false;
}

static bool put_endpoints(tn_builder *builder, tn_value document, bool local, char *why, size_t size) {
    static const char *const names[] = {"token_endpoint", "authorization_endpoint", "registration_endpoint"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!put_endpoint(builder, document, names[i], local, why, size)) return false;
    return true;
}

static bool check_server_metadata(tn_value document, const char *issuer, bool person, char *why, size_t size) {
    const char *found = tn_get_text(document, "issuer", "(none)");
    tn_value challenges = tn_get(document, "code_challenge_methods_supported");
    tn_value responses = tn_get(document, "response_types_supported");
    if (strcmp(found, issuer) != 0)
        return metadata_fail(why, size, "its metadata is for the issuer `%.200s`; expected exactly `%.200s`", found,
                             issuer);
    if (tn_get_text(document, "token_endpoint", NULL) == NULL)
        return metadata_fail(why, size, "its metadata has no `token_endpoint`");
    if (!person) return true;
    if (tn_get_text(document, "authorization_endpoint", NULL) == NULL)
        return metadata_fail(why, size,
                             "its metadata has no `authorization_endpoint`, which is needed to ask a person");
    if (responses != NULL && !metadata_contains(responses, "code"))
        return metadata_fail(why, size,
                             "its `response_types_supported` does not contain `code`, which is needed to ask a person");
    if (!metadata_contains(challenges, "S256"))
        return metadata_fail(
            why, size,
            "its `code_challenge_methods_supported` %s; expected S256: without it a code could be stolen, "
            "so none is requested",
            challenges != NULL ? "does not have S256" : "is missing");
    return true;
}

tn_value metadata_read_server(tn_value document, const char *issuer, bool local, bool person, char *why, size_t size) {
    if (!check_server_metadata(document, issuer, person, why, size)) return NULL;
    tn_value methods = tn_get(document, "token_endpoint_auth_methods_supported");
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "issuer", issuer);
    bool good = put_endpoints(builder, document, local, why, size);
    if (tn.value->kind(methods) == TN_ARRAY) tn_put(builder, "methods", methods);
    tn_put_bool(builder, "iss", value_is_true(tn_get(document, "authorization_response_iss_parameter_supported")));
    tn_put_bool(builder, "url_clients", value_is_true(tn_get(document, "client_id_metadata_document_supported")));
    if (metadata_contains(tn_get(document, "dpop_signing_alg_values_supported"), "ES256"))
        tn_put_bool(builder, "dpop", 1);
    tn_put_bool(builder, "offline", metadata_contains(tn_get(document, "scopes_supported"), "offline_access"));
    tn.value->end(builder);
    tn_value result = tn_finish(builder);
    if (good && result != NULL) return result;
    if (good) (void)metadata_fail(why, size, "not enough memory");
    tn_release(result);
    return NULL;
}

tn_value metadata_make_default(const char *origin) {
    static const char *const names[][2] = {
        {"authorization_endpoint", "/authorize"}, {"token_endpoint", "/token"}, {"registration_endpoint", "/register"}};
    tn_builder *builder = tn_builder_new();
    tn.value->begin(builder, TN_OBJECT);
    tn_put_text(builder, "issuer", origin);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        tn_put_take(builder, names[i][0], format_value("%s%s", origin, names[i][1]));
    tn.value->end(builder);
    return tn_finish(builder);
}
