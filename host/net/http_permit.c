/*
 * http_permit.c - checks whether a plugin may send a request to a host, and secrets with it.
 *
 * The host itself (a NULL plugin) may use all of them. A plugin may do what any component of its manifest declares, as
 * in isolation, and what the operator grants in the plugin's section (plugin_declares).
 */
#include "host/base/config/config.h"
#include "host/net/http_request_internal.h"
#include "host/net/http_sign.h"
#include "host/net/http_text.h"
#include "host/plugin/registry/plugin.h"
#include <string.h>

static bool effect_allows_host(const char *effect, const void *subject) {
    static const char name[] = "network.http";
    if (strncmp(effect, name, sizeof name - 1) != 0) return false;
    effect += sizeof name - 1;
    return *effect == 0 || (*effect == ':' && url_matches(subject, effect + 1));
}

int32_t http_request_permit_url(const struct url *url, const struct plugin *plugin, struct error *error) {
    if (!plugin || plugin_declares(plugin, effect_allows_host, url)) return TN_OK;
    return error_set(
        error, TN_INVALID, "PERMISSION_DENIED",
        "plugin `%s` sends a request to %s, which its manifest does not declare; add \"network.http:%s\" to "
        "the `effects` of the component that needs it",
        plugin_id(plugin), url->host, url->host);
}

/* ---- Secrets ---- */

static tn_value collect_secrets(tn_value names, tn_value text) {
    if (value_is(text, TN_BYTES) || value_is_number(text) || value_is(text, TN_BOOL)) return names;
    for (size_t i = 0; i < http_text_count(text); i++) {
        const char *name = http_text_part_at(text, i).secret;
        if (name) names = value_set_take(names, name, value_bool(true));
    }
    return names;
}

tn_value http_request_secrets(const struct http_request *request) {
    tn_value headers = value_get(request->object, "headers"), query = value_get(request->object, "query");
    tn_value names = value_object();
    for (size_t i = 0; i < value_count(headers); i++) names = collect_secrets(names, value_value_at(headers, i));
    for (size_t i = 0; i < value_count(query); i++)
        if (!http_request_query_lists(value_value_at(query, i)))
            names = collect_secrets(names, value_value_at(query, i));
    tn_value texts = http_sign_texts(value_get(request->object, "sign"));
    for (size_t i = 0; i < value_count(texts); i++) names = collect_secrets(names, value_at(texts, i));
    value_unref(texts);
    return request->body && !request->json ? collect_secrets(names, request->body) : names;
}

static int32_t http_permit_secret(const char *name, const struct http_request *request, const struct plugin *plugin,
                                  const struct config *config, struct error *error) {
    tn_value hosts = config_secret_hosts(config, name);
    bool allowed = hosts == NULL;
    if (plugin && !plugin_may_use_secret(plugin, name))
        return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                         "plugin `%s` sends the secret `%s`, which its manifest does not declare; add \"secret:%s\" to "
                         "the `effects` of the component that needs it",
                         plugin_id(plugin), name, name);
    for (size_t i = 0; !allowed && i < value_count(hosts); i++)
        allowed = url_matches(&request->url, value_chars(value_at(hosts, i), NULL));
    if (allowed) return TN_OK;
    return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                     "%s%s%s sends the secret `%s` to %s, but tenon.yaml allows only other hosts; add the host "
                     "to `secrets.%s.hosts` to allow it",
                     plugin ? "plugin `" : "Tenon", plugin ? plugin_id(plugin) : "", plugin ? "`" : "", name,
                     request->url.host, name);
}

int32_t http_request_permit(const struct http_request *request, const struct plugin *plugin,
                            const struct config *config, struct error *error) {
    tn_value names = http_request_secrets(request);
    int32_t status = http_request_permit_url(&request->url, plugin, error);
    for (size_t i = 0; status == TN_OK && i < value_count(names); i++)
        status = http_permit_secret(value_chars(value_key_at(names, i), NULL), request, plugin, config, error);
    value_unref(names);
    return status;
}
