/*
 * permit.c - whether a plugin may send a request to a host, and secrets with it.
 *
 * What counts is what any component of the plugin's manifest declares, as for a process of its own, and what the
 * operator grants in the plugin's section. A component without `effects` declares nothing here. Of a plugin that adds
 * all its components at run time, it is the manifest that must have them: `effects` beside `dynamic`.
 */
#include "host/config/config.h"
#include "host/http/request_internal.h"
#include "host/http/text.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin.h"
#include <string.h>

/* ---- What a plugin declares ---- */

typedef bool effect_test(const char *effect, const void *wanted);

static bool any_of(tn_value effects, effect_test *test, const void *wanted) {
    for (size_t i = 0; i < value_count(effects); i++) {
        tn_value effect = value_at(effects, i);
        if (value_is(effect, TN_STRING) && test(value_chars(effect, NULL), wanted)) return true;
    }
    return false;
}

static bool declares(const struct plugin *plugin, effect_test *test, const void *wanted) {
    tn_value components = manifest_components(plugin_manifest(plugin));
    for (size_t i = 0; i < value_count(components); i++)
        if (any_of(value_get(value_at(components, i), "effects"), test, wanted)) return true;
    return any_of(value_get(manifest_plugin(plugin_manifest(plugin)), "effects"), test, wanted) ||
           any_of(plugin_grants(plugin), test, wanted);
}

static bool is_host(const char *effect, const void *wanted) {
    static const char name[] = "network.http";
    if (strncmp(effect, name, sizeof name - 1) != 0) return false;
    effect += sizeof name - 1;
    return *effect == 0 || (*effect == ':' && url_matches(wanted, effect + 1));
}

static bool is_secret(const char *effect, const void *wanted) {
    if (strncmp(effect, "secret", 6) != 0) return false;
    return effect[6] == 0 || (effect[6] == ':' && strcmp(effect + 7, wanted) == 0);
}

int32_t http_request_permit_url(const struct url *url, const struct plugin *plugin, struct error *error) {
    if (declares(plugin, is_host, url)) return TN_OK;
    return error_set(
        error, TN_INVALID, "PERMISSION_DENIED",
        "plugin `%s` sends a request to %s, which its manifest does not declare; add \"network.http:%s\" to "
        "the `effects` of the component that needs it",
        plugin_id(plugin), url->host, url->host);
}

/* ---- Secrets ---- */

static tn_value add_secrets(tn_value names, tn_value text) {
    if (value_is(text, TN_BYTES) || value_is_number(text) || value_is(text, TN_BOOL)) return names;
    for (size_t i = 0; i < text_count(text); i++) {
        const char *name = text_at(text, i).secret;
        if (name) names = value_set_take(names, name, value_bool(true));
    }
    return names;
}

tn_value http_request_secrets(const struct http_request *request) {
    tn_value headers = value_get(request->given, "headers"), query = value_get(request->given, "query");
    tn_value names = value_object();
    for (size_t i = 0; i < value_count(headers); i++) names = add_secrets(names, value_value_at(headers, i));
    for (size_t i = 0; i < value_count(query); i++)
        if (!http_request_query_lists(value_value_at(query, i))) names = add_secrets(names, value_value_at(query, i));
    return request->body && !request->json ? add_secrets(names, request->body) : names;
}

static int32_t permit_secret(const char *name, const struct http_request *request, const struct plugin *plugin,
                             const struct config *config, struct error *error) {
    tn_value hosts = config_secret_hosts(config, name);
    bool allowed = hosts == NULL;
    if (!declares(plugin, is_secret, name))
        return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                         "plugin `%s` sends the secret `%s`, which its manifest does not declare; add \"secret:%s\" to "
                         "the `effects` of the component that needs it",
                         plugin_id(plugin), name, name);
    for (size_t i = 0; !allowed && i < value_count(hosts); i++)
        allowed = url_matches(&request->url, value_chars(value_at(hosts, i), NULL));
    if (allowed) return TN_OK;
    return error_set(
        error, TN_INVALID, "PERMISSION_DENIED",
        "plugin `%s` sends the secret `%s` to %s, and tenon.yaml has it sent to other hosts alone; add the "
        "host to `secrets.%s.hosts` if it is right",
        plugin_id(plugin), name, request->url.host, name);
}

int32_t http_request_permit(const struct http_request *request, const struct plugin *plugin,
                            const struct config *config, struct error *error) {
    tn_value names = http_request_secrets(request);
    int32_t status = http_request_permit_url(&request->url, plugin, error);
    for (size_t i = 0; status == TN_OK && i < value_count(names); i++)
        status = permit_secret(value_chars(value_key_at(names, i), NULL), request, plugin, config, error);
    value_unref(names);
    return status;
}
